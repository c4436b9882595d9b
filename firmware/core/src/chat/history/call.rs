//! The parts of a call, as they are kept: such that every provider takes them back.

use core::fmt::{self, Display, Write};

use crate::json::Text;
use crate::limits;
use crate::text::{Escape, Measure};

/// What a call is called.
pub(super) enum Id<'a> {
    /// By the model.
    Given(Text<'a>),
    /// By the hub: some providers give none.
    Made(u32),
}

impl<'a> Id<'a> {
    /// An id that providers take: not every one takes those of the others.
    pub(super) fn given(id: Text<'a>) -> Option<Self> {
        let is_short = (1..=limits::CALL_ID).contains(&id.escaped().len());
        (is_short && id.escaped().chars().all(suits)).then_some(Self::Given(id))
    }

    /// Whether it is this one.
    pub(super) fn is(&self, other: &str) -> bool {
        match self {
            Self::Given(id) => *id == *other,
            Self::Made(number) => {
                other.strip_prefix(MADE).and_then(|other| other.parse().ok()) == Some(*number)
            }
        }
    }
}

const MADE: &str = "call_";

impl Display for Id<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Given(id) => id.fmt(f),
            Self::Made(number) => write!(f, "{MADE}{number}"),
        }
    }
}

/// The name of a tool as providers take it. A model may have invented one that they do not.
pub(super) struct ToolName<'a>(pub(super) Text<'a>);

impl Display for ToolName<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut characters = self.0.chars().take(limits::TOOL_NAME).peekable();
        if characters.peek().is_none() {
            return f.write_char('_');
        }
        characters.try_for_each(|character| f.write_char(if suits(character) { character } else { '_' }))
    }
}

const fn suits(character: char) -> bool {
    character.is_ascii_alphanumeric() || character == '_' || character == '-'
}

/// Arguments that are no JSON object, quoted in one.
pub(super) struct Wrong<'a>(pub(super) &'a dyn Display);

impl Display for Wrong<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("{\"invalid_arguments\":\"")?;
        Measure::Escaped.write(self.0, limits::WRONG_ARGUMENTS, &mut Escape(f))?;
        f.write_str("\"}")
    }
}
