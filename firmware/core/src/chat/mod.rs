//! Decides what happens in a conversation with a language model: pure code, no I/O, no clock, nothing to wait for.
//!
//! A [`Rule`] says how to answer: which provider and model, with which prompt (a [template](template::render)) and which
//! tools; read once, it becomes the [`TurnSettings`]. What is said is kept in a [`History`]. A [`Turn`] leads from a
//! person's message to the answer: it says when to ask the model, which call to run, and when it is over. The wire formats
//! are in [`provider`]; [`prompts`] are messages that people call by a name, and [`wake`] recognises the phrases by which
//! people address the hub.
//!
//! ```text
//!   message ─► Turn::start ─► Step::Ask ─► provider::write ┄┄► model ┄┄► provider::read ─► Input::Reply ─┐
//!                                ▲                                                                       │
//!                                └── Input::ToolDone ◄┄┄ tool ◄── Turn::call ◄── Step::Run ◄─────────────┤
//!                                                                                                        ▼
//!   chat reply ◄──────────────────────── Ending::write ◄──────────────────────────────────────── Step::Finish
//! ```
//!
//! Dotted lines are what the driver does, `hub::turn`.

pub mod ending;
pub mod history;
pub mod prompts;
pub mod provider;
mod reply;
pub mod rule;
pub mod settings;
pub mod template;
pub mod turn;
pub mod wake;

#[cfg(test)]
mod tests;

pub use ending::{Ending, Failed, Reason};
pub use history::History;
pub use provider::{Ask, Provider, ProviderError, Trouble};
pub use reply::{Arguments, Content, Finish, Reply, Requested};
pub use rule::{Rule, RuleError};
pub use settings::TurnSettings;
pub use turn::{Context, Input, Step, Turn};
