//! Tools: what one is, how one is called, and what comes out.

mod call;

pub use call::call;

use crate::json::{Value, Writer};

/// A tool the hub offers, declared as a `static` next to its handler.
#[derive(Debug)]
pub struct Tool {
    /// Unique among the hub's tools.
    pub name: &'static str,
    /// What runs: reads the arguments, an object, and writes one value as the result.
    pub handler: fn(arguments: Value<'_>, result: &mut Writer<'_>),
}
