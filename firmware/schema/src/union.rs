//! `anyOf` and `oneOf`, and which of their alternatives was meant.

use super::Exhausted;
use super::equal::member;
use super::invalid::Reason;
use super::keyword::literals_of;
use super::types::Types;
use super::validate::{Check, Unknown, Verdict};
use hub_json::{Text, Value};

impl<'s> Check<'s> {
    /// `anyOf`, or `oneOf` with `only_one`. If none matches, the reason is that of the alternative that was meant, or
    /// names what is allowed.
    #[inline(never)]
    pub(super) fn alternatives(
        &mut self,
        schemas: Value<'s>,
        value: Value<'_>,
        only_one: bool,
        depth: u8,
    ) -> Result<(), Reason<'s>> {
        self.work.spend(schemas.text().len())?;
        let mark = self.path.mark();
        let mut types = Types::NONE;
        let mut literals = false;
        let (mut valid, mut unclear) = (0usize, 0usize);
        for schema in schemas.items() {
            match self.probe(schema, value, depth)? {
                Ok(Verdict::Valid) if !only_one => return Ok(()),
                Ok(Verdict::Valid) => valid += 1,
                Ok(Verdict::Unclear) => unclear += 1,
                Err(_) if self.path.mark() != mark => types = types.with(Types::ANY),
                Err(Reason::Type(wanted)) => types = types.with(wanted),
                Err(Reason::Constant(_) | Reason::Options(_)) => literals = true,
                Err(_) => types = types.with(Types::ANY),
            }
            self.path.rewind(mark);
        }
        match (valid, unclear) {
            (1, 0) => Ok(()),
            (0 | 1, 1..) => {
                self.doubt = true;
                Ok(())
            }
            (0, 0) if types == Types::ANY && self.probing => Err(Reason::NoneFits(schemas)),
            (0, 0) if types == Types::ANY => self.explain(schemas, value, depth),
            (0, 0) if literals => Err(Reason::NoLiteral(schemas)),
            (0, 0) => Err(Reason::Type(types)),
            _ => Err(Reason::SeveralFit(schemas)),
        }
    }

    /// Why none of the alternatives matches.
    #[inline(never)]
    fn explain(&mut self, schemas: Value<'s>, value: Value<'_>, depth: u8) -> Result<(), Reason<'s>> {
        let mark = self.path.mark();
        let (mut meant, mut candidates) = (None, 0usize);
        let (mut other, mut others) = (None, 0usize);
        let mut same_tag = true;
        for schema in schemas.items() {
            let failed = self.probe(schema, value, depth)?;
            let is_whole = self.path.mark() == mark;
            self.path.rewind(mark);
            if is_whole && matches!(failed, Err(Reason::Type(_) | Reason::Constant(_) | Reason::Options(_))) {
                continue;
            }
            match self.tag(schema, value, depth)? {
                Some(tag) => {
                    same_tag &= self.tag.is_none_or(|known| others == 0 || known == tag);
                    self.tag = Some(tag);
                    (other, others) = (Some(schema), others + 1);
                }
                None => (meant, candidates) = (Some(schema), candidates + 1),
            }
        }
        match (meant, candidates, other, others) {
            (Some(schema), 1, ..) | (_, 0, Some(schema), 1) => {
                self.schema(schema, value, Unknown::Ignore, depth)
            }
            (_, 0, ..) if same_tag => {
                if let Some(tag) = self.tag {
                    self.path.enter(tag);
                }
                Err(Reason::NoTag(schemas))
            }
            _ => Err(Reason::NoneFits(schemas)),
        }
    }

    /// The member that shows that an object was not written for `schema`: one that has fixed values there, but another one in
    /// the object, or is missing.
    #[inline(never)]
    fn tag(
        &mut self,
        schema: Value<'s>,
        object: Value<'_>,
        depth: u8,
    ) -> Result<Option<Text<'s>>, Exhausted> {
        let schema = self.references.follow(schema, &mut self.work)?;
        // Three searches.
        self.work.spend(schema.text().len().saturating_mul(3))?;
        let required = |name| {
            let names = schema.get("required");
            names.is_some_and(|names| names.items().any(|item| item.as_text() == Some(name)))
        };
        for (name, property) in schema.get("properties").iter().flat_map(Value::members) {
            self.work.spend(property.text().len())?;
            if literals_of(property).next().is_none() {
                continue;
            }
            let fits = match member(object, name, &mut self.work)? {
                None => !required(name),
                Some(value) => {
                    let mut fits = false;
                    for literal in literals_of(property) {
                        fits |= self.may_be(literal, value, depth)?;
                    }
                    fits
                }
            };
            if !fits {
                return Ok(Some(name));
            }
        }
        Ok(None)
    }
}
