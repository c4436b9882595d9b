//! Why a value does not fit its schema, in words.

use core::fmt::{self, Write as _};

use super::Exhausted;
use super::path::Path;
use super::types::Types;
use crate::json::Value;
use crate::limits::SCHEMA_OPTIONS;

/// The first thing that was wrong. Its `Display` is for the caller, usually a language model:
/// `'level' must be at most 99`.
#[derive(Clone, Debug)]
pub struct Invalid<'s> {
    /// Where it was.
    pub path: Path,
    /// What it was.
    pub reason: Reason<'s>,
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
    /// None of these schemas accepts it.
    NoneFits(Value<'s>),
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
            Reason::Unknown => return write!(f, "unknown parameter '{path}'"),
            Reason::TooComplex => return f.write_str("too complex to check"),
            _ if path.is_empty() => {}
            _ => write!(f, "'{path}' ")?,
        }
        write!(f, "{}", self.reason)
    }
}

/// The sentence without the name.
impl fmt::Display for Reason<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Missing => f.write_str("is missing"),
            Self::Unknown => f.write_str("is unknown"),
            Self::TooComplex => f.write_str("is too complex to check"),
            Self::Never => f.write_str("is not allowed"),
            Self::Type(types) => write!(f, "must be {types}"),
            Self::Options(options) => write_options(f, "must be", options.items()),
            Self::Constant(constant) => write_options(f, "must be", core::iter::once(constant)),
            Self::Number(limit, bound) => write!(f, "must be {limit} {}", Shown(bound)),
            Self::MultipleOf(divisor) => write!(f, "must be a multiple of {}", Shown(divisor)),
            Self::Characters(limit, bound) => write!(f, "must have {limit} {}", Counted(bound, "character")),
            Self::Items(limit, bound) => write!(f, "must have {limit} {}", Counted(bound, "item")),
            Self::Repeated => f.write_str("must not have the same item twice"),
            Self::NoneFits(schemas) if schemas.items().all(|schema| schema.get("const").is_some()) => {
                write_options(f, "must be", schemas.items().filter_map(|schema| schema.get("const")))
            }
            Self::NoneFits(schemas) => {
                write!(f, "must match one of {} alternatives", schemas.items().count())
            }
            Self::SeveralFit(schemas) => {
                write!(f, "must match only one of {} alternatives", schemas.items().count())
            }
            Self::Excluded(schema) => match (schema.get("const"), schema.get("enum"), schema.get("type")) {
                (Some(constant), ..) => write_options(f, "must not be", core::iter::once(constant)),
                (_, Some(options), _) => write_options(f, "must not be", options.items()),
                (.., Some(types)) if schema.members().count() == 1 => {
                    write!(f, "must not be {}", Types::named(types).unwrap_or(Types::ANY))
                }
                _ => f.write_str("has a value that is not allowed"),
            },
        }
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
fn write_options<'a>(
    f: &mut fmt::Formatter<'_>,
    must: &str,
    options: impl Iterator<Item = Value<'a>> + Clone,
) -> fmt::Result {
    match options.clone().take(2).count() {
        0 => return f.write_str("is not allowed"),
        1 => write!(f, "{must} ")?,
        _ => write!(f, "{must} one of: ")?,
    }
    let mut room = SCHEMA_OPTIONS;
    for (at, option) in options.enumerate() {
        let length = Shown(option).length();
        if at > 0 {
            if length > room {
                return f.write_str(", …");
            }
            f.write_str(", ")?;
        }
        write!(f, "{}", Shown(option))?;
        room = room.saturating_sub(length + 2);
    }
    Ok(())
}

/// A value as a person would write it: a string without quotes. What is too long is cut.
struct Shown<'a>(Value<'a>);

impl Shown<'_> {
    fn chars(&self) -> impl Iterator<Item = char> {
        let text = self.0.as_text().filter(|text| !text.escaped().is_empty());
        let other = if text.is_some() { "" } else { self.0.text() };
        text.into_iter().flat_map(|text| text.chars()).chain(other.chars())
    }

    /// In characters, as far as it matters.
    fn length(&self) -> usize {
        self.chars().take(SCHEMA_OPTIONS + 1).count()
    }
}

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cut = self.length() > SCHEMA_OPTIONS;
        self.chars().take(SCHEMA_OPTIONS).try_for_each(|character| f.write_char(character))?;
        f.write_str(if cut { "…" } else { "" })
    }
}

/// A number of things, such as `1 item`.
struct Counted<'a>(Value<'a>, &'static str);

impl fmt::Display for Counted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plural = if self.0.as_i64() == Some(1) { "" } else { "s" };
        write!(f, "{} {}{plural}", Shown(self.0), self.1)
    }
}
