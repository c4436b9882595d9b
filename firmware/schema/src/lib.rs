//! JSON Schema without a heap: checks a value against a schema, both as JSON text.
//!
//! ```
//! use hub_json::Value;
//! use hub_schema::{Unknown, validate};
//!
//! let schema = Value::parse(br#"{"type":"object","properties":{"level":{"type":"integer","maximum":99}}}"#)?;
//! let arguments = Value::parse(br#"{"level":120}"#)?;
//! let invalid = validate(schema, arguments, Unknown::Ignore).unwrap_err();
//! assert_eq!(invalid.to_string(), "'level' must be at most 99");
//! # Ok::<(), hub_json::Error>(())
//! ```
//!
//! [`validate`] knows the keywords that `docs/tools.md` lists, with the meaning of draft 2020-12, and `items` as a list
//! as in the drafts before it. `default` fills in nothing.
//!
//! A check has three outcomes: valid, invalid, and unclear. Unclear is a keyword that is not known or whose own value
//! makes no sense, such as `"minimum": "1"`, a reference that leads out of the schema, a pattern that engines read
//! differently, and what is nested deeper than [`DEPTH`](crate::limits::DEPTH). Only what is certainly
//! invalid is refused: an alternative that is unclear counts as one that may be valid, whether it is asked for or
//! forbidden. [`unknown_keywords`] lists such keywords, for the log.
//!
//! Numbers are compared as the decimals they are written as, so that nothing is lost to rounding: `1.0` and
//! `1e0` are integers, 9007199254740993 is more than 9007199254740992, and 0.3 is a multiple of 0.1.
//!
//! Schemas come from controllers and values from language models, so neither is trusted: a check takes at most
//! [`STEPS`]. Where that does not do, short arguments are unclear, because it is the schema that takes so
//! long, and long ones are [`Reason::TooComplex`].
//!
//! Written by hand because `jsonschema`, which the tests compare it with, needs a heap and a parsed document.
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
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing))]

#[cfg(test)]
extern crate std;

mod assertions;
mod equal;
mod exact;
mod invalid;
mod keyword;
pub mod limits;
mod markdown;
mod path;
mod pattern;
mod reference;
mod types;
mod union;
mod validate;
mod walk;

#[cfg(test)]
mod tests;

use limits::STEPS;

pub use invalid::{Invalid, Limit, Reason};
pub use markdown::write_markdown;
pub use path::Path;
pub use types::Types;
pub use validate::{Unknown, Verdict, judge, validate};
pub use walk::{undescribed, unknown_keywords};

/// The steps that a check has left. One step is about one byte of text read.
#[derive(Debug)]
struct Work(u32);

/// No steps are left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Exhausted;

impl Work {
    /// All steps.
    const fn new() -> Self {
        Self(STEPS)
    }

    /// Takes the cost of reading `bytes` of text; a short value costs a minimum.
    fn spend(&mut self, bytes: usize) -> Result<(), Exhausted> {
        const EACH: u32 = 16;
        let steps = u32::try_from(bytes).unwrap_or(u32::MAX).saturating_add(EACH);
        let left = self.0.checked_sub(steps);
        self.0 = left.unwrap_or_default();
        left.map(drop).ok_or(Exhausted)
    }

    /// Whether it was the steps that did not suffice.
    const fn is_spent(&self) -> bool {
        self.0 == 0
    }
}
