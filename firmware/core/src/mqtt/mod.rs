//! The MQTT side of the hub: topics, session, requests and replies.
//!
//! [`run`] keeps a session with the broker. What arrives is copied into a free job slot ([`Slots`]) and worked
//! on there, so that the session goes on polling; what cannot be is refused at once ([`Refusal`]). Replies go
//! out when they are ready, in whatever order that is, and are kept until the broker has them.

mod backoff;
mod desk;
mod info;
mod publish;
mod questions;
mod redelivery;
mod replies;
mod request;
mod session;
mod sieve;
mod slot;
mod topic;

#[cfg(test)]
mod tests;

pub use backoff::Backoff;
pub use redelivery::Redeliveries;
pub use request::{Refusal, Request};
pub(crate) use request::{read, text};
pub use session::{Inside, Memory, explain, run};
pub use sieve::{Margin, Sieve};
pub use slot::{Happening, Job, ReplyTo, Slot, Slots};
pub use topic::{Topic, Topics};
