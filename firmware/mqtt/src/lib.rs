//! A session with an MQTT broker that is kept whatever happens to connections, without a heap; and what the hub and the services
//! beside it have agreed on.
//!
//! A [`Client`] outlives connections: it dials, explains failures and waits between attempts. A [`Connection`] is
//! subscribed, publishes what it is handed and hands over what arrives. What is in a message is none of its business. The
//! hub, the relay and the voice service use it. [`Dial`] is what a board or a desktop brings.
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

mod backoff;
mod base64;
pub mod certificate;
mod client;
mod congestion;
mod connection;
mod dial;
pub mod limits;
mod log;
pub mod model;
mod transport;

#[cfg(test)]
mod tests;

pub use backoff::Backoff;
pub use client::{Client, Role, explain};
pub use connection::{Connection, Lost, Payload, Received, Rejection, Sent, copy};
pub use dial::{Destination, Dial, DialError, Tls};
pub use transport::{PacketInfo, Transport};

/// Waits until an instant, or for ever if there is none.
pub async fn sleep_until(at: Option<embassy_time::Instant>) {
    match at {
        Some(at) => embassy_time::Timer::at(at).await,
        None => core::future::pending().await,
    }
}
