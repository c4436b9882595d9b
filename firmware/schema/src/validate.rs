//! Checks a value against a schema.

use super::equal::{has, member};
use super::invalid::{Invalid, Limit, Reason};
use super::keyword::{Keyword, Keywords};
use super::path::Path;
use super::pattern::{self, Match};
use super::reference::References;
use super::{Exhausted, Work};
use crate::limits::{DEPTH, REFS, SHORT};
use hub_json::{Kind, Text, Value};

/// Whether the value may have members that the schema's own `properties` do not name. An `additionalProperties` in the
/// schema overrides it, and it does not apply to nested objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unknown {
    /// It may.
    Ignore,
    /// It must not.
    Forbid,
}

/// What is known about a value that is not certainly invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is valid.
    Valid,
    /// It cannot be told; the [module](super) says why.
    Unclear,
}

/// Checks `value` against `schema`, up to the first thing that is certainly wrong.
pub fn validate<'s>(schema: Value<'s>, value: Value<'_>, unknown: Unknown) -> Result<(), Invalid<'s>> {
    judge(schema, value, unknown).map(|_| ())
}

/// The same, and whether anything was unclear.
pub fn judge<'s>(schema: Value<'s>, value: Value<'_>, unknown: Unknown) -> Result<Verdict, Invalid<'s>> {
    let mut check = Check {
        references: References::new(schema),
        path: Path::new(),
        work: Work::new(),
        doubt: false,
        probing: false,
        tag: None,
    };
    match check.schema(schema, value, unknown, DEPTH) {
        Ok(()) if !check.doubt => Ok(Verdict::Valid),
        Ok(()) => Ok(Verdict::Unclear),
        Err(Reason::TooComplex) if value.text().len() <= SHORT => Ok(Verdict::Unclear),
        Err(reason) => Err(Invalid { path: check.path, reason, root: schema, tag: check.tag }),
    }
}

/// The path leads to the value that is checked, and after a failure to the invalid one.
pub(super) struct Check<'s> {
    pub(super) references: References<'s>,
    pub(super) path: Path,
    pub(super) work: Work,
    /// Something could not be judged.
    pub(super) doubt: bool,
    /// Nobody will read the reason of a failure.
    pub(super) probing: bool,
    /// The member that tells apart the alternatives of [`Reason::NoTag`].
    pub(super) tag: Option<Text<'s>>,
}

/// The schemas inside a schema. This stays on the stack while they are checked.
#[derive(Default)]
struct Subschemas<'s> {
    shape: Shape<'s>,
    all_of: Option<Value<'s>>,
    any_of: Option<Value<'s>>,
    one_of: Option<Value<'s>>,
    not: Option<Value<'s>>,
    condition: Option<Value<'s>>,
    /// If the condition is met, and if not.
    branches: [Option<Value<'s>>; 2],
    /// Where a reference leads.
    target: Option<Value<'s>>,
}

/// Those for what is inside the value, which is never both.
#[derive(Default)]
enum Shape<'s> {
    #[default]
    Scalar,
    Object {
        properties: Option<Value<'s>>,
        patterns: Option<Value<'s>>,
        others: Option<Value<'s>>,
        names: Option<Value<'s>>,
    },
    Array {
        /// One for each of the first items.
        first: Option<Value<'s>>,
        rest: Option<Value<'s>>,
        contains: Option<Value<'s>>,
        counts: [Option<Value<'s>>; 2],
    },
}

impl<'s> Check<'s> {
    /// Checks `value` against one schema and, through the functions below, those inside it: at most `depth` levels.
    /// They are not inlined, so that only the one in use takes stack.
    pub(super) fn schema(
        &mut self,
        mut schema: Value<'s>,
        value: Value<'_>,
        unknown: Unknown,
        depth: u8,
    ) -> Result<(), Reason<'s>> {
        let Some(depth) = depth.checked_sub(1) else {
            self.doubt = true;
            return Ok(());
        };
        // References are followed here, so that they take no stack.
        for _ in 0..REFS {
            let mut inside = Subschemas::default();
            self.value(schema, value, depth, &mut inside)?;
            match inside.shape {
                Shape::Scalar => {}
                Shape::Object { properties, patterns, others, names } => {
                    // What a reference leads to declares members too.
                    let unknown = if inside.target.is_some() { Unknown::Ignore } else { unknown };
                    if properties.is_some() || others.is_some() || unknown == Unknown::Forbid {
                        self.members([properties, patterns, others], value, unknown, depth)?;
                    }
                    if let Some(patterns) = patterns {
                        self.patterns(patterns, value, depth)?;
                    }
                    if let Some(schema) = names {
                        self.names(schema, value, depth)?;
                    }
                }
                Shape::Array { first, rest, contains, counts } => {
                    if first.is_some() || rest.is_some() {
                        self.items(first, rest, value, depth)?;
                    }
                    if let Some(schema) = contains {
                        self.contains(schema, counts, value, depth)?;
                    }
                }
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
            if let Some(schema) = inside.not {
                self.negation(schema, value, depth)?;
            }
            if let Some(schema) = inside.condition {
                self.condition(schema, inside.branches, value, depth)?;
            }
            match inside.target {
                Some(target) => schema = target,
                None => return Ok(()),
            }
        }
        self.doubt = true;
        Ok(())
    }

    /// `properties` and `additionalProperties`, which concerns what neither those nor `patternProperties` name.
    #[inline(never)]
    fn members(
        &mut self,
        [properties, patterns, others]: [Option<Value<'s>>; 3],
        object: Value<'_>,
        unknown: Unknown,
        depth: u8,
    ) -> Result<(), Reason<'s>> {
        let mut members = object.members();
        while let Some((name, value)) = members.next() {
            if has(members.clone(), name, &mut self.work)? {
                continue;
            }
            let declared = match properties {
                Some(properties) => member(properties, name, &mut self.work)?,
                None => None,
            };
            let mark = self.path.mark();
            self.path.enter(name);
            let schema = match (declared, others) {
                (Some(schema), _) => Some(schema),
                (None, None) if unknown == Unknown::Ignore => None,
                _ if self.is_patterned(patterns, name)? => None,
                (None, Some(schema)) if schema.text() != "false" => Some(schema),
                _ => return Err(Reason::Unknown),
            };
            if let Some(schema) = schema {
                self.schema(schema, value, Unknown::Ignore, depth)?;
            }
            self.path.rewind(mark);
        }
        Ok(())
    }

    /// Whether a pattern matches `name`, or may do so.
    fn is_patterned(&mut self, patterns: Option<Value<'s>>, name: Text<'_>) -> Result<bool, Exhausted> {
        let mut is = false;
        for (pattern, _) in patterns.iter().flat_map(Value::members) {
            self.work.spend(pattern.escaped().len())?;
            let found = pattern::search(pattern, name, &mut self.work);
            self.doubt |= found == Match::Unclear;
            is |= found != Match::No;
        }
        Ok(is)
    }

    /// `patternProperties`.
    #[inline(never)]
    fn patterns(&mut self, patterns: Value<'s>, object: Value<'_>, depth: u8) -> Result<(), Reason<'s>> {
        let mut members = object.members();
        while let Some((name, value)) = members.next() {
            if has(members.clone(), name, &mut self.work)? {
                continue;
            }
            let mark = self.path.mark();
            self.path.enter(name);
            let mut rest = patterns.members();
            while let Some((pattern, schema)) = rest.next() {
                if has(rest.clone(), pattern, &mut self.work)? {
                    continue;
                }
                match pattern::search(pattern, name, &mut self.work) {
                    Match::Yes => self.schema(schema, value, Unknown::Ignore, depth)?,
                    Match::No => {}
                    Match::Unclear => self.doubt = true,
                }
            }
            self.path.rewind(mark);
        }
        Ok(())
    }

    /// `propertyNames`.
    #[inline(never)]
    fn names(&mut self, schema: Value<'s>, object: Value<'_>, depth: u8) -> Result<(), Reason<'s>> {
        self.work.spend(object.text().len())?;
        for name in object.names() {
            let mark = self.path.mark();
            if let Some(name) = name.as_text() {
                self.path.enter_name(name);
            }
            self.schema(schema, name, Unknown::Ignore, depth)?;
            self.path.rewind(mark);
        }
        Ok(())
    }

    /// `prefixItems` and `items`.
    #[inline(never)]
    fn items(
        &mut self,
        first: Option<Value<'s>>,
        rest: Option<Value<'s>>,
        array: Value<'_>,
        depth: u8,
    ) -> Result<(), Reason<'s>> {
        self.work.spend(array.text().len() + first.map_or(0, |schemas| schemas.text().len()))?;
        let mut first = first.unwrap_or(Value::NULL).items();
        for (index, item) in array.items().enumerate() {
            let Some(schema) = first.next().or(rest) else { break };
            let mark = self.path.mark();
            self.path.enter_item(index);
            self.schema(schema, item, Unknown::Ignore, depth)?;
            self.path.rewind(mark);
        }
        Ok(())
    }

    /// `contains`, with the least and the most items that have to match.
    #[inline(never)]
    fn contains(
        &mut self,
        schema: Value<'s>,
        counts: [Option<Value<'s>>; 2],
        array: Value<'_>,
        depth: u8,
    ) -> Result<(), Reason<'s>> {
        self.work.spend(array.text().len())?;
        let (mut least, mut most) = (0, 0);
        for item in array.items() {
            let mark = self.path.mark();
            match self.probe(schema, item, depth)? {
                Ok(verdict) => {
                    least += usize::from(verdict == Verdict::Valid);
                    most += 1;
                }
                Err(_) => self.path.rewind(mark),
            }
        }
        let bounds = [(Limit::AtLeast, counts[0], most, least), (Limit::AtMost, counts[1], least, most)];
        for (limit, bound, best, worst) in bounds {
            match bound {
                None if limit == Limit::AtLeast && best == 0 => return Err(Reason::Contains(limit, None)),
                None => self.doubt |= limit == Limit::AtLeast && worst == 0,
                Some(bound) if !self.count_within(best, limit, bound)? => {
                    return Err(Reason::Contains(limit, Some(bound)));
                }
                Some(bound) => self.doubt |= !self.count_within(worst, limit, bound)?,
            }
        }
        Ok(())
    }

    #[inline(never)]
    fn negation(&mut self, schema: Value<'s>, value: Value<'_>, depth: u8) -> Result<(), Reason<'s>> {
        let mark = self.path.mark();
        match self.probe(schema, value, depth)? {
            Ok(Verdict::Valid) => return Err(Reason::Excluded(schema)),
            Ok(Verdict::Unclear) => self.doubt = true,
            Err(_) => self.path.rewind(mark),
        }
        Ok(())
    }

    /// `if`, `then` and `else`.
    #[inline(never)]
    fn condition(
        &mut self,
        schema: Value<'s>,
        [met, otherwise]: [Option<Value<'s>>; 2],
        value: Value<'_>,
        depth: u8,
    ) -> Result<(), Reason<'s>> {
        let mark = self.path.mark();
        let branch = match self.probe(schema, value, depth)? {
            Ok(Verdict::Valid) => met,
            Ok(Verdict::Unclear) => {
                self.doubt |= met.is_some() || otherwise.is_some();
                None
            }
            Err(_) => {
                self.path.rewind(mark);
                otherwise
            }
        };
        branch.map_or(Ok(()), |schema| self.schema(schema, value, Unknown::Ignore, depth))
    }

    /// The verdict of a schema that does not decide alone. After a failure the path has to be rewound.
    #[inline(always)]
    pub(super) fn probe(
        &mut self,
        schema: Value<'s>,
        value: Value<'_>,
        depth: u8,
    ) -> Result<Result<Verdict, Reason<'s>>, Exhausted> {
        let doubt = core::mem::replace(&mut self.doubt, false);
        let probing = core::mem::replace(&mut self.probing, true);
        let judged = self.schema(schema, value, Unknown::Ignore, depth);
        self.probing = probing;
        let unclear = core::mem::replace(&mut self.doubt, doubt);
        match judged {
            Err(Reason::TooComplex) => Err(Exhausted),
            Err(reason) => Ok(Err(reason)),
            Ok(()) => Ok(Ok(if unclear { Verdict::Unclear } else { Verdict::Valid })),
        }
    }

    /// Checks `value` itself; the schemas inside `schema` go into `inside`. Not inlined, because all keywords together take
    /// much stack.
    #[inline(never)]
    fn value(
        &mut self,
        schema: Value<'s>,
        value: Value<'_>,
        depth: u8,
        inside: &mut Subschemas<'s>,
    ) -> Result<(), Reason<'s>> {
        // What an empty schema costs.
        const VISIT: usize = 64;
        self.work.spend(schema.text().len() + VISIT)?;
        match schema.kind() {
            Kind::Object => {}
            Kind::Bool if schema.text() == "false" => return Err(Reason::Never),
            Kind::Bool => return Ok(()),
            _ => {
                self.doubt = true;
                return Ok(());
            }
        }
        let keywords = Keywords::read(schema);
        let get = |keyword| keywords.get(keyword);
        if let Some(reference) = get(Keyword::Ref).and_then(|reference| reference.as_text()) {
            inside.target = self.references.target(reference, &mut self.work)?;
            self.doubt |= inside.target.is_none();
            if self.references.stand_alone() {
                return Ok(());
            }
        }
        self.doubt |= keywords.incomplete;
        self.assertions(&keywords, value, depth)?;
        inside.shape = match value.kind() {
            Kind::Object => Shape::Object {
                properties: get(Keyword::Properties),
                patterns: get(Keyword::PatternProperties),
                others: get(Keyword::AdditionalProperties),
                names: get(Keyword::PropertyNames),
            },
            Kind::Array => {
                let items = get(Keyword::Items);
                let is_list = items.is_some_and(|items| items.kind() == Kind::Array);
                let (first, rest) = match is_list {
                    true => (items, get(Keyword::AdditionalItems)),
                    false => (get(Keyword::PrefixItems), items),
                };
                Shape::Array {
                    first,
                    rest,
                    contains: get(Keyword::Contains),
                    counts: [get(Keyword::MinContains), get(Keyword::MaxContains)],
                }
            }
            _ => Shape::Scalar,
        };
        inside.all_of = get(Keyword::AllOf);
        inside.any_of = get(Keyword::AnyOf);
        inside.one_of = get(Keyword::OneOf);
        inside.not = get(Keyword::Not);
        inside.condition = get(Keyword::If);
        inside.branches = [get(Keyword::Then), get(Keyword::Else)];
        Ok(())
    }
}
