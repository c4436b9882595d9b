//! Decides what happens in a conversation with a language model: pure code, without I/O, clock or async.
//!
//! A [`Rule`] declares how to answer: the provider and model, the prompt (a [template](template::render)) and the tools;
//! parsed once a turn, it becomes the [`TurnSettings`]. A [`History`] keeps what is said. A [`Turn`] is a state machine from
//! a person's message to the answer: it decides when to ask the model, which call to run, and when the turn is over. The
//! wire formats are in [`provider`]; [`prompts`] are messages that people call by name, and [`wake`] recognises the
//! phrases by which people address the hub.
//!
//! ```text
//!   message ─► Turn::start ─► TurnStep::Ask ─► provider::write ┄┄► model ┄┄► provider::read ─► TurnEvent::Reply ─┐
//!                                ▲                                                                               │
//!                                └── TurnEvent::ToolDone ◄┄┄ tool ◄── Turn::call ◄── TurnStep::Run ◄─────────────┤
//!                                                                                                                ▼
//!   chat reply ◄──────────────────────── Ending::write ◄──────────────────────────────────────────── TurnStep::Finish
//! ```
//!
//! Dotted lines are done by the driver, `hub::turn`.

mod call_report;
pub mod ending;
pub mod history;
pub mod prompts;
pub mod provider;
mod reply;
pub mod rule;
pub mod template;
pub mod turn;
pub mod wake;

#[cfg(test)]
mod tests;

pub use ending::{Ending, FailureText, TurnFailure};
pub use history::History;
pub use hub_mqtt::model::Provider;
pub use provider::{Ask, ProviderError, RelayError};
pub use reply::{Arguments, FinishReason, ModelReply, ModelText, RequestedCall};
pub use rule::{Rule, RuleError};
pub use turn::{Context, Turn, TurnEvent, TurnSettings, TurnStep};
