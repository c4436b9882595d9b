//! JSON without a heap: borrowed values, a writer into a fixed buffer, and a condenser for texts of any length.
//!
//! ```
//! use hub_json::{Value, Writer};
//!
//! let request = Value::parse(br#"{"name":"echo","arguments":{"text":"hello"}}"#)?;
//! let arguments = request.get("arguments").unwrap_or(Value::EMPTY_OBJECT);
//!
//! let mut buffer = [0; 64];
//! let mut reply = Writer::new(&mut buffer);
//! reply.object(|reply| {
//!     reply.field("success", true);
//!     reply.field("result", arguments);
//! });
//! let length = reply.finish().unwrap();
//! assert_eq!(&buffer[..length], br#"{"success":true,"result":{"text":"hello"}}"#);
//! # Ok::<(), hub_json::Error>(())
//! ```
//!
//! Arguments, schemas and replies are free-form, so they stay text. [`Value::parse`] checks a whole document once
//! against RFC 8259; everything after that is slicing. Nothing is copied or allocated, and nothing recurses.
//! Written by hand because the pull parsers without `alloc` return events, not the borrowed slices that let a value
//! pass through the hub untouched.
//!
//! | type | use it to |
//! | --- | --- |
//! | [`Value`], [`Text`] | read a document that is in memory |
//! | [`Writer`], [`Encode`] | write a document into a buffer |
//! | [`Cut`] | write a value into less room than it needs, as valid JSON with a mark |
//! | [`Condenser`] | keep what fits of a document that arrives byte by byte |
//! | [`text`], [`hash`] | measure, cut, escape and hash text |
#![no_std]
#![forbid(unsafe_code)]
#![deny(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::unreachable,
    clippy::todo
)]
#![allow(clippy::new_without_default, reason = "memory is made by `const fn new`, in a static")]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing))]

#[cfg(test)]
extern crate std;

mod condense;
mod cut;
pub mod hash;
pub mod limits;
mod scan;
mod shortest;
mod string;
pub mod text;
mod value;
mod writer;

#[cfg(test)]
mod tests;

use core::fmt;

pub use condense::{Condenser, ItemOf};
pub use cut::{Cut, Ending};
pub use shortest::Shortest;
pub use string::Text;
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
    /// Arrays and objects are nested deeper than [`limits::JSON_DEPTH`].
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
