//! Conversations with a language model, as pure code: no I/O, no clock, nothing to wait for.
//!
//! A [`Rule`] says how to answer: which service and model, with which prompt (a [template](template::render)) and which
//! tools. [`prompts`] are messages that people call by a name.

pub mod prompts;
pub mod rule;
pub mod template;

#[cfg(test)]
mod tests;

pub use rule::{Rule, RuleError, Service};
