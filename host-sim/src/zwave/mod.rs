//! A simulated Z-Wave controller: an MCP server on a line, one JSON-RPC message a line, with a home behind it.
//!
//! From the bottom up: the [`Device`]s and scenes; the controller, whose tools act on them; an MCP server, built on the
//! official SDK, that checks arguments by the tools' schemas; and the wire to the hub, on which [`Faults`] happen.
//! [`Home`] is all of it in one handle. What reaches the controller is in its [`Record`].

mod arguments;
mod controller;
mod device;
mod fault;
mod faults;
mod home;
mod inventory;
mod latency;
mod names;
mod noise;
mod record;
mod server;
mod tools;
pub mod transport;
mod wire;

#[cfg(test)]
mod tests;

pub use device::{Command, Device, DeviceState, FULL, Mode, NodeId};
pub use fault::{Fault, FaultRate, STRAY_ANSWER};
pub use faults::Faults;
pub use home::Home;
pub use record::{Call, Fate, Record};
