//! Why a value does not fit its schema, in words.

use core::fmt::{self, Write as _};

use super::keyword::literals_of;
use super::path::Path;
use super::reference::References;
use super::types::Types;
use super::{Exhausted, Work};
use crate::limits::{OPTIONS, VALUE};
use hub_json::{Text, Value};

/// The first thing that was wrong. Its `Display` is for the caller, usually a language model:
/// `'level' must be at most 99`.
#[derive(Clone, Debug)]
pub struct Invalid<'s> {
    /// Where it was.
    pub path: Path,
    /// What it was.
    pub reason: Reason<'s>,
    pub(super) root: Value<'s>,
    pub(super) tag: Option<Text<'s>>,
}

/// What was wrong. The values are the schema's.
#[derive(Clone, Copy, Debug)]
pub enum Reason<'s> {
    /// A required member is not there.
    Missing,
    /// A member that the schema does not declare.
    Unknown,
    /// The schema accepts no value here.
    Never,
    /// It has to be one of these types.
    Type(Types),
    /// It has to be one of the items of this array.
    Options(Value<'s>),
    /// It has to be this.
    Constant(Value<'s>),
    /// A number is out of bounds.
    Number(Limit, Value<'s>),
    /// A number is no multiple of this one.
    MultipleOf(Value<'s>),
    /// A string is too short or too long.
    Characters(Limit, Value<'s>),
    /// An array is too short or too long.
    Items(Limit, Value<'s>),
    /// An array has the same item twice.
    Repeated,
    /// A member is missing that has to be there with this other one.
    Needed(Text<'s>),
    /// A string does not match this pattern.
    Pattern(Value<'s>),
    /// An object has too few or too many members.
    Members(Limit, Value<'s>),
    /// Too few or too many items match; at least one without a number.
    Contains(Limit, Option<Value<'s>>),
    /// None of these schemas accepts it.
    NoneFits(Value<'s>),
    /// None of these schemas accepts it: it is none of their literals, and has none of their types.
    NoLiteral(Value<'s>),
    /// It is the member that tells these schemas apart, and none of them has its value.
    NoTag(Value<'s>),
    /// Several of these schemas accept it; only one may.
    SeveralFit(Value<'s>),
    /// This schema must not accept it, but does.
    Excluded(Value<'s>),
    /// The check takes more steps or levels than the limits in the [module](super) allow.
    TooComplex,
}

/// On which side of a bound a number has to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Limit {
    AtLeast,
    AtMost,
    MoreThan,
    LessThan,
}

impl From<Exhausted> for Reason<'_> {
    fn from(_: Exhausted) -> Self {
        Self::TooComplex
    }
}

impl fmt::Display for Invalid<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.as_str();
        match self.reason {
            Reason::Missing => return write!(f, "missing '{path}'"),
            Reason::Needed(by) => return write!(f, "missing '{path}', which '{by}' needs"),
            Reason::Unknown => return write!(f, "unknown parameter '{path}'"),
            Reason::TooComplex => return f.write_str("too complex to check"),
            _ if self.path.is_to_name() => write!(f, "the name '{path}' ")?,
            _ if path.is_empty() => {}
            _ => write!(f, "'{path}' ")?,
        }
        self.sentence(f)
    }
}

impl<'s> Invalid<'s> {
    /// The sentence without the name.
    fn sentence(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.reason {
            // These have sentences of their own.
            Reason::Missing | Reason::Needed(_) | Reason::Unknown | Reason::TooComplex => Ok(()),
            Reason::Never => f.write_str("is not allowed"),
            Reason::Type(types) => write!(f, "must be {types}"),
            Reason::Options(options) => write_options(f, "must be", &mut options.items()),
            Reason::Constant(constant) => write_options(f, "must be", &mut core::iter::once(constant)),
            Reason::Number(limit, bound) => write!(f, "must be {limit} {}", Shown::plain(bound)),
            Reason::MultipleOf(divisor) => write!(f, "must be a multiple of {}", Shown::plain(divisor)),
            Reason::Characters(limit, bound) => {
                write!(f, "must have {limit} {}", Counted(bound, "character"))
            }
            Reason::Pattern(pattern) => write!(f, "must match the pattern {}", Shown::plain(pattern)),
            Reason::Items(limit, bound) => write!(f, "must have {limit} {}", Counted(bound, "item")),
            Reason::Members(limit, bound) => write!(f, "must have {limit} {}", Counted(bound, "member")),
            Reason::Contains(_, None) => f.write_str("has no item that is required"),
            Reason::Contains(limit, Some(bound)) => {
                write!(f, "must have {limit} {} of the required kind", Counted(bound, "item"))
            }
            Reason::Repeated => f.write_str("must not have the same item twice"),
            Reason::NoTag(schemas) => write_options(f, "must be", &mut self.tags(schemas)),
            Reason::NoLiteral(schemas) => self.allowed(f, schemas),
            Reason::NoneFits(schemas) => {
                write!(f, "must match one of {} alternatives", schemas.items().count())
            }
            Reason::SeveralFit(schemas) => {
                write!(f, "must match only one of {} alternatives", schemas.items().count())
            }
            Reason::Excluded(schema) => match (schema.get("const"), schema.get("enum"), schema.get("type")) {
                (Some(constant), ..) => write_options(f, "must not be", &mut core::iter::once(constant)),
                (_, Some(options), _) => write_options(f, "must not be", &mut options.items()),
                (.., Some(types)) if schema.members().count() == 1 => {
                    write!(f, "must not be {}", Types::named(types).unwrap_or(Types::ANY))
                }
                _ => f.write_str("has a value that is not allowed"),
            },
        }
    }

    /// The schemas that `schemas` are or lead to.
    fn followed(&self, schemas: Value<'s>) -> impl Iterator<Item = Value<'s>> + Clone + use<'s> {
        let root = self.root;
        schemas.items().map(move |schema| {
            References::new(root).follow(schema, &mut Work::new()).unwrap_or(Value::EMPTY_OBJECT)
        })
    }

    /// The values that the tag has in `schemas`.
    fn tags(&self, schemas: Value<'s>) -> impl Iterator<Item = Value<'s>> + Clone {
        let tag = self.tag;
        self.followed(schemas).flat_map(move |schema| {
            let properties = schema.get("properties").unwrap_or(Value::EMPTY_OBJECT);
            let tagged = properties.members().find(|(name, _)| Some(*name) == tag);
            literals_of(tagged.map_or(Value::EMPTY_OBJECT, |(_, schema)| schema))
        })
    }

    /// Writes `must be one of: on, off`, or with types beside the literals `must be "on", "off" or an integer`.
    fn allowed(&self, f: &mut fmt::Formatter<'_>, schemas: Value<'s>) -> fmt::Result {
        let schemas = self.followed(schemas);
        let mut literals = schemas.clone().flat_map(literals_of);
        let types = schemas
            .filter(|schema| literals_of(*schema).next().is_none())
            .filter_map(|schema| schema.get("type").and_then(Types::named))
            .fold(Types::NONE, Types::with);
        write_literals(f, "must be", &mut literals, types != Types::NONE)?;
        if types != Types::NONE {
            write!(f, " or {types}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::AtLeast => "at least",
            Self::AtMost => "at most",
            Self::MoreThan => "more than",
            Self::LessThan => "less than",
        })
    }
}

/// Writes `must be on`, or `must be one of: on, off`. A list that is too long ends in `…`.
fn write_options(
    f: &mut fmt::Formatter<'_>,
    must: &str,
    options: &mut dyn Iterator<Item = Value<'_>>,
) -> fmt::Result {
    write_literals(f, must, options, false)
}

/// The same, with strings in quotes if they are `quoted`.
fn write_literals(
    f: &mut fmt::Formatter<'_>,
    must: &str,
    options: &mut dyn Iterator<Item = Value<'_>>,
    quoted: bool,
) -> fmt::Result {
    let first = [options.next(), options.next()];
    f.write_str(match first {
        [None, _] => return f.write_str("is not allowed"),
        _ => must,
    })?;
    f.write_str(if first[1].is_some() { " one of: " } else { " " })?;
    let mut room = OPTIONS;
    for (at, option) in first.into_iter().flatten().chain(options).enumerate() {
        let shown = Shown { value: option, quoted };
        let length = shown.length();
        if at > 0 {
            if length > room {
                return f.write_str(", …");
            }
            f.write_str(", ")?;
        }
        write!(f, "{shown}")?;
        room = room.saturating_sub(length + 2);
    }
    Ok(())
}

/// A value as a person would write it: a string without quotes, unless they are asked for. What is too long is cut.
struct Shown<'a> {
    value: Value<'a>,
    quoted: bool,
}

impl<'a> Shown<'a> {
    const fn plain(value: Value<'a>) -> Self {
        Self { value, quoted: false }
    }

    fn chars(&self) -> impl Iterator<Item = char> {
        let text = self.value.as_text().filter(|text| !self.quoted && !text.escaped().is_empty());
        let other = if text.is_some() { "" } else { self.value.text() };
        text.into_iter().flat_map(|text| text.chars()).chain(other.chars())
    }

    /// In characters, as far as it matters.
    fn length(&self) -> usize {
        self.chars().take(VALUE + 1).count()
    }
}

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cut = self.length() > VALUE;
        self.chars().take(VALUE).try_for_each(|character| f.write_char(character))?;
        f.write_str(if cut { "…" } else { "" })
    }
}

/// A number of things, such as `1 item`.
struct Counted<'a>(Value<'a>, &'static str);

impl fmt::Display for Counted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plural = if self.0.as_i64() == Some(1) { "" } else { "s" };
        write!(f, "{} {}{plural}", Shown::plain(self.0), self.1)
    }
}
