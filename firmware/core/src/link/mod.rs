//! The link to the Z-Wave controller: an MCP client on a serial line, one JSON-RPC message a line.
//!
//! [`Client`] decides what to say and when, without I/O or a clock of its own; [`run`] moves the lines. What
//! is known about the controller is in [`Status`], for the rest of the hub to read.

mod client;
mod line;
mod rpc;
mod status;
mod wire;

#[cfg(test)]
mod tests;

pub use client::Client;
pub use line::{Line, Lines};
pub use rpc::{Id, Message, Outgoing};
pub use status::{Controller, Loss, State, Status};
pub use wire::{Memory, run};
