//! A simulated Z-Wave controller: an MCP server on a line, one JSON-RPC message a line, with a home behind it.
//!
//! From the bottom up: the [`Device`]s and scenes of a house; the tools that act on it; an MCP server, built on the
//! official SDK, that checks arguments by the tools' schemas; and the wire to the hub, on which [`Faults`] happen.
//! [`Home`] is all of it in one handle. What reaches the controller is in its [`Record`].

mod arguments;
mod device;
mod fault;
mod faults;
mod home;
mod house;
mod inventory;
mod names;
mod noise;
mod pace;
mod record;
mod server;
mod tools;
pub mod transport;
mod wire;

#[cfg(test)]
mod tests;

pub use device::{Command, Device, FULL, Mode, NodeId, State};
pub use fault::{Fault, FaultRate, STRAY_ANSWER};
pub use faults::Faults;
pub use home::Home;
pub use record::{Call, Fate, Record};
