//! The Hearthwave hub, as a library without an operating system, a heap or an executor.
//!
//! [`Hub`] joins a session with an MQTT broker, conversations, a link to the Z-Wave controller and the tools. What differs
//! between a board and the desktop simulator is handed to [`Hub::run`]: two serial lines (`embedded_io_async`), to the controller
//! and to people, a [`Dial`] that opens the way to the broker, the [`Network`] that it is on, a flash
//! (`embedded_storage_async`) and a [`Platform`]. The binary links the time driver of
//! `embassy-time`.
//!
//! ```
//! use embedded_io_async::{Read, Write};
//! use embedded_storage_async::nor_flash::MultiwriteNorFlash;
//! use hub_core::{Config, Dial, Hub, Memory, Network, Platform};
//!
//! /// Runs for ever. `memory` is large, and all zeros when new: a static costs no flash.
//! async fn run_hub(
//!     memory: &'static mut Memory,
//!     uart: (impl Read, impl Write),
//!     console: (impl Read, impl Write),
//!     dial: impl Dial,
//!     network: impl Network,
//!     flash: &mut impl MultiwriteNorFlash,
//!     board: impl Platform,
//! ) -> ! {
//!     let config = Config { target: "my-board", ..Config::DEFAULT };
//!     Hub::new(config, memory).run(uart, console, dial, network, flash, board).await
//! }
//! ```
//!
//! Modules, from the bottom up. Each uses those above it in this list, never those below; `./tests/run direction` checks
//! that.
//!
//! | module | one noun |
//! | --- | --- |
//! | [`limits`], `log`, [`text`] | every capacity with its reason; the log macros; cutting and escaping text |
//! | [`platform`], [`boot`], [`config`] | what a board brings; why the hub started; what a hub is started with |
//! | [`math`] | an arithmetic evaluator |
//! | [`zone`], [`sntp`], [`clock`] | time zones; the packets of a time server; what time it is |
//! | [`store`], [`settings`] | entries on a flash; settings declared as rows |
//! | [`queue`], [`notice`], [`speaker`] | a queue that keeps the newest; what people should know; how loud it is said |
//! | [`pending`], [`questions`] | requests that wait for an answer; what the hub asks others |
//! | [`mqtt`] | topics and sessions, and nothing of what they carry |
//! | [`tool`], [`link`] | definition, registry and outcome; the MCP client |
//! | [`home`] | the devices that the controller offers: name, room, kind, state; undo, read-back, the gate |
//! | [`approval`] | asks a person before a model does something dangerous |
//! | [`chat`] | decides about a conversation: rule, prompt, history, turn, providers |
//! | [`conversations`] | keeps them: what was said in each, and in which a turn runs |
//! | [`request`], [`discovery`] | reads requests and refuses them; Home Assistant's announcements |
//! | `context` | references to every shared part of a running hub |
//! | [`tools`] | the executor; the hub's own tools, one file each |
//! | [`panel`] | the button that resets the settings, and the lamp |
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

pub mod approval;
pub mod boot;
pub mod chat;
pub mod clock;
pub mod config;
pub mod console;
mod context;
pub mod conversations;
pub mod discovery;
pub mod home;
pub mod hub;
pub mod limits;
pub mod link;
pub mod math;
pub mod mqtt;
pub mod notice;
pub mod panel;
pub mod pending;
pub mod platform;
pub mod questions;
pub mod queue;
pub mod request;
pub mod settings;
pub mod sntp;
pub mod speaker;
pub mod store;
pub mod text;
pub mod tool;
pub mod tools;
pub mod zone;

pub use hub_json as json;
pub use hub_json::hash;
pub use hub_schema as schema;

pub use config::{Address, Broker, Config, DEFAULT_TOOL_PREFIX, HubId, SERIAL_HINT, is_tool_prefix};
pub use hub::{Hub, Memory, Start};
pub use platform::{
    AccessPoint, Credentials, Destination, Dial, DialError, Network, NetworkState, NetworkStatus, NoConsole,
    Pattern, Platform, Tls, Usage, Wired,
};
