//! Conversations with a language model, as pure code: no I/O, no clock, nothing to wait for.
//!
//! A [`Rule`] says how to answer: which service and model, with which prompt (a [template](template::render)) and which
//! tools. What is said is kept in a [`History`]. A [`Turn`] leads from a person's message to the answer: it says when to
//! ask the model, which call to run, and when it is over. What goes over the wire is the business of [`provider`], and
//! [`prompts`] are messages that people call by a name.
//!
//! ```text
//!   message ─► Turn::start ─► Step::Ask ─► provider::write ┄┄► model ┄┄► provider::read ─► Event::Reply ─┐
//!                                ▲                                                                       │
//!                                └── Event::ToolDone ◄┄┄ tool ◄── Turn::call ◄── Step::Run ◄─────────────┤
//!                                                                                                        ▼
//!   chat reply ◄──────────────────────── Ending::write ◄──────────────────────────────────────── Step::Finish
//! ```
//!
//! Dotted lines are what the driver does.

pub mod ending;
pub mod history;
pub mod prompts;
pub mod provider;
mod reply;
pub mod rule;
pub mod template;
pub mod turn;

#[cfg(test)]
mod tests;

pub use ending::{Ending, Failed, Reason};
pub use history::History;
pub use provider::{Ask, ProviderError, Trouble};
pub use reply::{Arguments, Content, Finish, Reply, Requested};
pub use rule::{Rule, RuleError, Service};
pub use turn::{Event, Stage, Step, Turn};
