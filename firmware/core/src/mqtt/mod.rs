//! MQTT: the names of topics, and a session with the broker that is kept whatever happens to connections.
//!
//! A [`Client`] outlives connections: it dials, explains failures and waits between attempts. A [`Connection`] is
//! subscribed, publishes what it is handed and hands over what arrives. What is in a message is none of its business. The
//! hub and the relay both use it.

mod backoff;
mod client;
mod congestion;
mod connection;
mod reached;
mod reply_to;
mod topic;
mod transport;

#[cfg(test)]
mod tests;

pub use backoff::Backoff;
pub use client::{Client, Memory, Role, explain};
pub use connection::{Connection, Lost, Payload, Received, Rejection, Sent, copy};
pub use reached::Reached;
pub use reply_to::{ReplyTo, UnusableReplyTo};
pub use topic::{Topic, Topics};
pub use transport::{PacketInfo, Transport};
