//! JSON as text: a borrowed view of a value, a reader for texts of any length, and a writer into a fixed buffer.
//!
//! Arguments, schemas and replies are free-form, so they stay text: [`Value::parse`] checks a whole
//! document once against RFC 8259, and everything after that is slicing. Nothing is copied or allocated, and
//! nothing recurses. Written by hand because the pull parsers without `alloc` return events, not the
//! borrowed slices that let a value pass through the hub untouched.

mod condense;
mod cut;
mod number;
mod scan;
mod shortest;
mod text;
mod value;
mod writer;

#[cfg(test)]
mod tests;

use core::fmt;

pub use condense::{Condenser, ItemOf};
pub use cut::{Cut, Ending};
pub(crate) use number::read as read_number;
pub(crate) use shortest::Shortest;
pub use text::Text;
pub use value::{Items, Kind, Members, Value};
pub use writer::{Bracket, Encode, Mark, Overflow, Writer};

/// Why a JSON document is malformed, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Error {
    /// Byte offset in the text.
    pub at: usize,
    /// What was wrong there.
    pub reason: Reason,
}

/// What was wrong with a JSON text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The bytes are not UTF-8.
    NotUtf8,
    /// The text ends inside a value.
    Incomplete,
    /// Something else was expected here.
    Expected(&'static str),
    /// Arrays and objects are nested deeper than [`limits::JSON_DEPTH`](crate::limits::JSON_DEPTH).
    TooDeep,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.reason {
            Reason::NotUtf8 => write!(f, "not UTF-8 at byte {}", self.at),
            Reason::Incomplete => write!(f, "not valid JSON: ends too early, at byte {}", self.at),
            Reason::Expected(what) => write!(f, "not valid JSON: expected {what} at byte {}", self.at),
            Reason::TooDeep => {
                write!(f, "nested deeper than {} levels at byte {}", crate::limits::JSON_DEPTH, self.at)
            }
        }
    }
}
