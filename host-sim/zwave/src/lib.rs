//! The program at the hub's serial line: an MCP server, one JSON-RPC message a line, with a Z-Wave controller behind it.
//!
//! From the bottom up: a `Controller`, which is the simulated one with its [`Device`]s or a real network; the tools and the
//! resources, which are the same for both; an MCP server, built on the official SDK, that checks arguments by the tools'
//! schemas; and the wire to the hub, on which [`Faults`] happen. [`Gateway`] is all of it, and [`Home`] is a gateway with
//! the simulated controller. What reaches the controller is in its [`Record`].

mod address;
mod arguments;
mod controller;
mod device;
mod fault;
mod faults;
mod gateway;
mod home;
mod inventory;
pub mod js;
mod latency;
mod names;
mod noise;
pub mod options;
mod plans;
mod press;
mod record;
mod resource;
mod run;
mod server;
mod simulation;
mod snapshot;
mod tools;
pub mod transport;
mod updates;
mod wire;

#[cfg(test)]
mod tests;

pub use device::{Command, Device, DeviceState, FULL, Mode, NodeId};
pub use fault::{Fault, FaultRate, STRAY_ANSWER};
pub use faults::Faults;
pub use gateway::Gateway;
pub use home::Home;
pub use plans::Plans;
pub use press::{Buttons, Press};
pub use record::{Call, Fate, Record};
