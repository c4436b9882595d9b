//! Checks a value against a schema.

use core::cmp::Ordering;
use core::fmt::Write as _;

use super::equal::{equal, has, member};
use super::exact::Exact;
use super::invalid::{Invalid, Limit, Reason};
use super::keyword::{Keyword, Keywords};
use super::path::Path;
use super::types::Types;
use super::{Exhausted, Work};
use crate::json::{Kind, Value};
use crate::limits::SCHEMA_DEPTH;

/// Whether the value may have members that the schema's own `properties` do not name. An `additionalProperties` in the
/// schema overrides it, and it does not apply to nested objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unknown {
    /// It may.
    Ignore,
    /// It must not.
    Forbid,
}

/// Checks `value` against `schema`, up to the first thing that is wrong.
pub fn validate<'s>(schema: Value<'s>, value: Value<'_>, unknown: Unknown) -> Result<(), Invalid<'s>> {
    let mut check = Check { path: Path::new(), work: Work::new() };
    match check.schema(schema, value, unknown, SCHEMA_DEPTH) {
        Ok(()) => Ok(()),
        Err(reason) => Err(Invalid { path: check.path, reason }),
    }
}

/// The path leads to the value that is checked, and after a failure to the invalid one.
struct Check {
    path: Path,
    work: Work,
}

/// The schemas inside a schema. This stays on the stack while they are checked.
#[derive(Default)]
struct Subschemas<'s> {
    properties: Option<Value<'s>>,
    others: Option<Value<'s>>,
    /// Which members `others` applies to is unknown: it depends on a pattern.
    others_unclear: bool,
    items: Option<Value<'s>>,
    /// How many items come before those that `items` applies to.
    prefix: usize,
    all_of: Option<Value<'s>>,
    any_of: Option<Value<'s>>,
    one_of: Option<Value<'s>>,
    not: Option<Value<'s>>,
}

impl Check {
    /// Checks `value` against one schema and, through the next four functions, those inside it: at most `depth`
    /// levels. They are not inlined, so that only the one in use takes stack.
    fn schema<'s>(
        &mut self,
        schema: Value<'s>,
        value: Value<'_>,
        unknown: Unknown,
        depth: u8,
    ) -> Result<(), Reason<'s>> {
        let depth = depth.checked_sub(1).ok_or(Reason::TooComplex)?;
        let mut inside = Subschemas::default();
        self.value(schema, value, depth, &mut inside)?;
        match value.kind() {
            Kind::Object => self.members(&inside, value, unknown, depth)?,
            Kind::Array => self.items(&inside, value, depth)?,
            _ => {}
        }
        if let Some(schemas) = inside.all_of {
            self.work.spend(schemas.text().len())?;
            for schema in schemas.items() {
                self.schema(schema, value, Unknown::Ignore, depth)?;
            }
        }
        if let Some(schemas) = inside.any_of {
            self.alternatives(schemas, value, false, depth)?;
        }
        if let Some(schemas) = inside.one_of {
            self.alternatives(schemas, value, true, depth)?;
        }
        match inside.not {
            Some(schema) => self.negation(schema, value, depth),
            None => Ok(()),
        }
    }

    #[inline(never)]
    fn members<'s>(
        &mut self,
        inside: &Subschemas<'s>,
        object: Value<'_>,
        unknown: Unknown,
        depth: u8,
    ) -> Result<(), Reason<'s>> {
        if inside.properties.is_none() && inside.others.is_none() && unknown == Unknown::Ignore {
            return Ok(());
        }
        let mut members = object.members();
        while let Some((name, value)) = members.next() {
            if has(members.clone(), name, &mut self.work)? {
                continue;
            }
            let declared = match inside.properties {
                Some(properties) => member(properties, name, &mut self.work)?,
                None => None,
            };
            let mark = self.path.mark();
            self.path.enter(name);
            let schema = match (declared, inside.others) {
                (Some(schema), _) => Some(schema),
                _ if inside.others_unclear => None,
                (None, Some(schema)) if schema.text() == "false" => return Err(Reason::Unknown),
                (None, Some(schema)) => Some(schema),
                (None, None) if unknown == Unknown::Forbid => return Err(Reason::Unknown),
                (None, None) => None,
            };
            if let Some(schema) = schema {
                self.schema(schema, value, Unknown::Ignore, depth)?;
            }
            self.path.rewind(mark);
        }
        Ok(())
    }

    #[inline(never)]
    fn items<'s>(&mut self, inside: &Subschemas<'s>, array: Value<'_>, depth: u8) -> Result<(), Reason<'s>> {
        let Some(schema) = inside.items else { return Ok(()) };
        self.work.spend(array.text().len())?;
        for (index, item) in array.items().enumerate().skip(inside.prefix) {
            let mark = self.path.mark();
            self.path.enter_item(index);
            self.schema(schema, item, Unknown::Ignore, depth)?;
            self.path.rewind(mark);
        }
        Ok(())
    }

    /// `anyOf`, or `oneOf` with `only_one`. If none matches, the reason names all types that are accepted, or, if only one
    /// alternative accepts the value's type, what is wrong with the value there.
    #[inline(never)]
    fn alternatives<'s>(
        &mut self,
        schemas: Value<'s>,
        value: Value<'_>,
        only_one: bool,
        depth: u8,
    ) -> Result<(), Reason<'s>> {
        self.work.spend(schemas.text().len())?;
        let mark = self.path.mark();
        let mut types = Types::NONE;
        let mut matches = 0usize;
        let mut close = 0usize;
        let mut closest = None;
        for schema in schemas.items() {
            match self.schema(schema, value, Unknown::Ignore, depth) {
                Ok(()) if !only_one => return Ok(()),
                Ok(()) => matches += 1,
                Err(Reason::TooComplex) => return Err(Reason::TooComplex),
                Err(Reason::Type(wanted)) if self.path.mark() == mark => types = types.with(wanted),
                Err(_) => {
                    close += 1;
                    closest = Some(schema);
                }
            }
            self.path.rewind(mark);
        }
        match (matches, close, closest) {
            (1, ..) => Ok(()),
            (0, 0, _) => Err(Reason::Type(types)),
            // Once more, for its reason and its path.
            (0, 1, Some(schema)) => self.schema(schema, value, Unknown::Ignore, depth),
            (0, ..) => Err(Reason::NoneFits(schemas)),
            _ => Err(Reason::SeveralFit(schemas)),
        }
    }

    #[inline(never)]
    fn negation<'s>(&mut self, schema: Value<'s>, value: Value<'_>, depth: u8) -> Result<(), Reason<'s>> {
        let mark = self.path.mark();
        match self.schema(schema, value, Unknown::Ignore, depth) {
            Ok(()) => Err(Reason::Excluded(schema)),
            Err(Reason::TooComplex) => Err(Reason::TooComplex),
            Err(_) => {
                self.path.rewind(mark);
                Ok(())
            }
        }
    }

    /// Checks `value` itself; the schemas inside `schema` go into `inside`. Not inlined, because all keywords together take
    /// much stack.
    #[inline(never)]
    fn value<'s>(
        &mut self,
        schema: Value<'s>,
        value: Value<'_>,
        depth: u8,
        inside: &mut Subschemas<'s>,
    ) -> Result<(), Reason<'s>> {
        // What an empty schema costs.
        const VISIT: usize = 64;
        self.work.spend(schema.text().len() + VISIT)?;
        match schema.text() {
            "false" => return Err(Reason::Never),
            "true" => return Ok(()),
            _ => {}
        }
        let keywords = Keywords::read(schema);
        self.choice(&keywords, value, depth)?;
        match value.kind() {
            Kind::Number => self.number(&keywords, value)?,
            Kind::String => self.string(&keywords, value)?,
            Kind::Array => self.array(&keywords, value, depth)?,
            Kind::Object => self.object(&keywords, value)?,
            Kind::Null | Kind::Bool => {}
        }
        *inside = Subschemas {
            properties: keywords.get(Keyword::Properties),
            others: keywords.get(Keyword::AdditionalProperties),
            others_unclear: keywords.get(Keyword::PatternProperties).is_some(),
            items: keywords.get(Keyword::Items),
            prefix: keywords.get(Keyword::PrefixItems).map_or(0, |schemas| schemas.items().count()),
            all_of: keywords.get(Keyword::AllOf),
            any_of: keywords.get(Keyword::AnyOf),
            one_of: keywords.get(Keyword::OneOf),
            not: keywords.get(Keyword::Not),
        };
        Ok(())
    }

    /// `type`, `const` and `enum`.
    fn choice<'s>(&mut self, keywords: &Keywords<'s>, value: Value<'_>, depth: u8) -> Result<(), Reason<'s>> {
        if let Some(types) = keywords.get(Keyword::Type).and_then(Types::named) {
            let own = Types::of(value);
            let fits = types.meets(own)
                || own == Types::NUMBER
                    && types.meets(Types::INTEGER)
                    && Exact::read(value, &mut self.work)?.is_integer();
            if !fits {
                return Err(Reason::Type(types));
            }
        }
        if let Some(constant) = keywords.get(Keyword::Const)
            && !equal(constant, value, &mut self.work, depth)?
        {
            return Err(Reason::Constant(constant));
        }
        if let Some(options) = keywords.get(Keyword::Enum) {
            for option in options.items() {
                self.work.spend(option.text().len())?;
                if equal(option, value, &mut self.work, depth)? {
                    return Ok(());
                }
            }
            return Err(Reason::Options(options));
        }
        Ok(())
    }

    fn number<'s>(&mut self, keywords: &Keywords<'s>, value: Value<'_>) -> Result<(), Reason<'s>> {
        const BOUNDS: [(Keyword, Limit); 4] = [
            (Keyword::Minimum, Limit::AtLeast),
            (Keyword::Maximum, Limit::AtMost),
            (Keyword::ExclusiveMinimum, Limit::MoreThan),
            (Keyword::ExclusiveMaximum, Limit::LessThan),
        ];
        for (keyword, limit) in BOUNDS {
            if let Some(bound) = keywords.get(keyword) {
                let number = Exact::read(value, &mut self.work)?;
                if !self.within(&number, limit, bound)? {
                    return Err(Reason::Number(limit, bound));
                }
            }
        }
        if let Some(divisor) = keywords.get(Keyword::MultipleOf) {
            let number = Exact::read(value, &mut self.work)?;
            let exact = Exact::read(divisor, &mut self.work)?;
            if !exact.is_zero() && !number.is_multiple_of(&exact, &mut self.work)? {
                return Err(Reason::MultipleOf(divisor));
            }
        }
        Ok(())
    }

    fn string<'s>(&mut self, keywords: &Keywords<'s>, value: Value<'_>) -> Result<(), Reason<'s>> {
        for (keyword, limit) in [(Keyword::MinLength, Limit::AtLeast), (Keyword::MaxLength, Limit::AtMost)] {
            if let (Some(bound), Some(text)) = (keywords.get(keyword), value.as_text()) {
                self.work.spend(value.text().len())?;
                if !self.count_within(text.chars().count(), limit, bound)? {
                    return Err(Reason::Characters(limit, bound));
                }
            }
        }
        Ok(())
    }

    fn array<'s>(&mut self, keywords: &Keywords<'s>, value: Value<'_>, depth: u8) -> Result<(), Reason<'s>> {
        for (keyword, limit) in [(Keyword::MinItems, Limit::AtLeast), (Keyword::MaxItems, Limit::AtMost)] {
            if let Some(bound) = keywords.get(keyword) {
                self.work.spend(value.text().len())?;
                if !self.count_within(value.items().count(), limit, bound)? {
                    return Err(Reason::Items(limit, bound));
                }
            }
        }
        if keywords.get(Keyword::UniqueItems).is_some_and(|unique| unique.text() == "true") {
            let mut items = value.items();
            while let Some(item) = items.next() {
                for later in items.clone() {
                    self.work.spend(later.text().len())?;
                    if equal(item, later, &mut self.work, depth)? {
                        return Err(Reason::Repeated);
                    }
                }
            }
        }
        Ok(())
    }

    fn object<'s>(&mut self, keywords: &Keywords<'s>, value: Value<'_>) -> Result<(), Reason<'s>> {
        for name in keywords.get(Keyword::Required).iter().flat_map(Value::items) {
            self.work.spend(name.text().len())?;
            if let Some(name) = name.as_text()
                && !has(value.members(), name, &mut self.work)?
            {
                self.path.enter(name);
                return Err(Reason::Missing);
            }
        }
        Ok(())
    }

    fn within(&mut self, number: &Exact<'_>, limit: Limit, bound: Value<'_>) -> Result<bool, Exhausted> {
        let order = number.compare(&Exact::read(bound, &mut self.work)?);
        Ok(match limit {
            Limit::AtLeast => order != Ordering::Less,
            Limit::AtMost => order != Ordering::Greater,
            Limit::MoreThan => order == Ordering::Greater,
            Limit::LessThan => order == Ordering::Less,
        })
    }

    fn count_within(&mut self, count: usize, limit: Limit, bound: Value<'_>) -> Result<bool, Exhausted> {
        let mut text = heapless::String::<20>::new();
        // Twenty digits are enough for any count.
        let _ = write!(text, "{count}");
        let count = Exact::parse(text.as_bytes()).ok_or(Exhausted)?;
        self.within(&count, limit, bound)
    }
}
