//! The Hearthwave hub, as a library without an operating system, a heap or an executor.
//!
//! [`Hub`] joins a session with an MQTT broker, conversations, a link to the Z-Wave controller and the tools. What differs
//! between a board and the desktop simulator is handed to [`Hub::run`]: a serial line (`embedded_io_async`), a [`Dial`] that
//! opens the way to the broker, a flash (`embedded_storage_async`) and a [`Platform`]. The binary links the time driver of
//! `embassy-time`.
//!
//! ```
//! use embedded_io_async::{Read, Write};
//! use embedded_storage_async::nor_flash::MultiwriteNorFlash;
//! use hub_core::{Broker, Config, DEFAULT_TOOL_PREFIX, Dial, Hub, HubId, Memory, Platform, SERIAL_HINT};
//!
//! /// Runs for ever. `memory` is large, and all zeros when new: a static costs no flash.
//! async fn run_hub(
//!     memory: &'static mut Memory,
//!     uart: (impl Read, impl Write),
//!     dial: impl Dial,
//!     flash: impl MultiwriteNorFlash,
//!     board: impl Platform,
//! ) -> ! {
//!     let config = Config {
//!         id: const { HubId::new("kitchen").unwrap() },
//!         target: "my-board",
//!         broker: Broker { host: "homeassistant.local", port: 1883, login: None },
//!         tool_prefix: DEFAULT_TOOL_PREFIX,
//!         rule: "",
//!         controller_hint: SERIAL_HINT,
//!         example_tools: false,
//!     };
//!     Hub::new(config, memory).run(uart, dial, flash, board).await
//! }
//! ```
//!
//! Modules, from the bottom up. Each uses those above it in this list, never those below; `./tests/run direction` checks
//! that.
//!
//! | module | one noun |
//! | --- | --- |
//! | [`limits`], `log`, [`platform`], [`config`] | every capacity with its reason; the log macros; what a board brings; what a hub is started with |
//! | [`text`], [`json`] | cutting and escaping text; a borrowed view of JSON text, and a writer into a fixed buffer |
//! | [`math`], [`schema`] | an arithmetic evaluator; checks a value against a JSON Schema |
//! | [`store`], [`settings`] | entries on a flash; settings declared as rows |
//! | [`queue`], [`notice`], [`speaker`] | a queue that keeps the newest; what people should know; how loud it is said |
//! | [`pending`], [`questions`] | requests that wait for an answer; what the hub asks others |
//! | [`mqtt`] | topics and sessions, and nothing of what they carry |
//! | [`tool`], [`link`], [`tools`] | definition, registry and executor; the MCP client; the hub's own tools, one file each |
//! | [`chat`] | decides about a conversation: rule, prompt, history, turn, providers |
//! | [`conversations`] | keeps them: what was said in each, and in which a turn runs |
//! | [`request`] | reads requests and refuses them |
//! | [`console`] | commands and Improv on the serial port of people |
//! | [`hub`] | drives: joins all of it |
//!
//! All memory is the caller's ([`Memory`]), every capacity is a constant in [`limits`], and nothing here panics on what a
//! wire brings.
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
#![allow(clippy::new_without_default, reason = "memory is made by `const fn new`, in a static")]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing))]

#[cfg(test)]
extern crate std;

mod log;

pub mod chat;
pub mod config;
pub mod console;
pub mod conversations;
pub mod hub;
pub mod json;
pub mod limits;
pub mod link;
pub mod math;
pub mod mqtt;
pub mod notice;
pub mod pending;
pub mod platform;
pub mod questions;
pub mod queue;
pub mod request;
pub mod schema;
pub mod settings;
pub mod speaker;
pub mod store;
pub mod text;
pub mod tool;
pub mod tools;

pub use config::{Broker, Config, DEFAULT_TOOL_PREFIX, HubId, SERIAL_HINT};
pub use hub::{Hub, Memory};
pub use platform::{Dial, DialError, Platform, WallClock};
