//! JSON Schema, as tools use it: checks a value against a schema, both as JSON text.
//!
//! [`validate`] knows these keywords, with the meaning of draft 2020-12: `type`, `enum`, `const`, `required`,
//! `properties`, `additionalProperties`, `items`, `minimum`, `maximum`, `exclusiveMinimum`,
//! `exclusiveMaximum`, `multipleOf`, `minLength`, `maxLength`, `minItems`, `maxItems`, `uniqueItems`, `anyOf`,
//! `oneOf`, `allOf`, `not`, and the schemas `true` and `false`. The rest is ignored, as the standard says:
//! `default` fills in nothing, `$ref` is not followed. So is a keyword whose own value makes no sense, such as
//! `"minimum": "1"`. [`unknown_keywords`] lists both, for the log.
//!
//! Numbers are compared as the decimals they are written as, so that nothing is lost to rounding: `1.0` and
//! `1e0` are integers, 9007199254740993 is more than 9007199254740992, and 0.3 is a multiple of 0.1.
//!
//! Schemas come from controllers and values from language models, so neither is trusted: a check takes at most
//! [`SCHEMA_STEPS`] and goes [`SCHEMA_DEPTH`](crate::limits::SCHEMA_DEPTH) levels
//! deep. Where that does not do, or a number cannot be handled exactly, the answer is
//! [`Reason::TooComplex`]: what was not checked is never called valid.
//!
//! Written by hand because `jsonschema`, which the tests compare it with, needs a heap and a parsed document.

mod equal;
mod exact;
mod invalid;
mod keyword;
mod markdown;
mod path;
mod types;
mod validate;
mod walk;

#[cfg(test)]
mod tests;

use crate::limits::SCHEMA_STEPS;

pub use invalid::{Invalid, Limit, Reason};
pub use markdown::write_markdown;
pub use path::Path;
pub use types::Types;
pub use validate::{Unknown, validate};
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
        Self(SCHEMA_STEPS)
    }

    /// Takes the cost of reading `bytes` of text; a short value costs a minimum.
    fn spend(&mut self, bytes: usize) -> Result<(), Exhausted> {
        const EACH: u32 = 16;
        let steps = u32::try_from(bytes).unwrap_or(u32::MAX).saturating_add(EACH);
        self.0 = self.0.checked_sub(steps).ok_or(Exhausted)?;
        Ok(())
    }
}
