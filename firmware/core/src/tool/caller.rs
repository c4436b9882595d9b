//! Who wants a call.

use crate::json::Value;

/// Who wants a call: what a model wants may need a person's approval.
#[derive(Clone, Copy, Debug)]
pub enum Caller<'a> {
    /// A person, or a program of theirs.
    Person,
    /// A model.
    Model {
        /// The conversation in which it was asked.
        conversation: &'a str,
        /// From where people talk with it.
        satellite: Option<Value<'a>>,
        /// Whether its answer is spoken.
        is_spoken: bool,
    },
}
