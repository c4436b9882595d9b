//! The Hearthwave hub, as a library without an operating system, a heap or an executor.
//!
//! [`Hub`] joins an MQTT session, conversations, a link to the Z-Wave controller and the tools. Everything that differs
//! between a board and the desktop simulator comes in through the seams: a serial line
//! (`embedded_io_async`), a [`Dial`] that opens the way to the broker, a [`Platform`], and the time driver
//! of `embassy-time`.
//!
//! ```text
//!   broker ◄── Dial ── mqtt ──► job slots ──► chat ──► tool ── link ──► serial line ──► controller
//!                       ▲ ▲                     │                │
//!                       │ └─ questions to models┘                │
//!                       └───────────── link status ◄─────────────┘
//! ```
//!
//! Modules use those above them in this list, never those below: [`limits`], `log`, [`seam`], [`config`],
//! [`text`], [`json`], [`math`], [`schema`], [`store`], [`pending`], [`service`], [`notice`], [`tool`], [`link`], [`tools`], [`chat`], [`talk`],
//! [`mqtt`], [`hub`]. All memory is the caller's ([`Memory`]), every capacity is a constant in [`limits`], and nothing here
//! panics on what a wire brings.
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

mod log;

pub mod chat;
pub mod config;
pub mod hub;
pub mod json;
pub mod limits;
pub mod link;
pub mod math;
pub mod mqtt;
pub mod notice;
pub mod pending;
pub mod schema;
pub mod seam;
pub mod service;
pub mod store;
pub mod talk;
pub mod text;
pub mod tool;
pub mod tools;

pub use config::{Broker, Config, DEFAULT_TOOL_PREFIX, HubId, SERIAL_HINT};
pub use hub::{Hub, Memory};
pub use seam::{Dial, DialError, Platform, WallClock};
