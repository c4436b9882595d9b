//! The link to the Z-Wave controller: an MCP client on a serial line, one JSON-RPC message a line.
//!
//! ```text
//!   callers ──► Port ──► wire ──► serial line      McpClient: what to send and when, without I/O or a clock
//!           ◄──      ◄── lines ◄──                 report: log lines and notices for people
//! ```
//!
//! [`McpClient`] decides what to send and when; [`run`] moves the lines. Calls go through the [`Port`], which also holds
//! what is known about the controller. The controller's tools are registered when they
//! are discovered, and are not offered while it is away.

mod client;
mod controller;
mod line;
mod log_report;
mod port;
mod rpc;
mod wire;

#[cfg(test)]
mod tests;

pub use client::{McpClient, News, Reaction};
pub use controller::{Controller, LinkCounts, LinkState, Loss, Offer, ResourceNews, Retries, Status};
pub use line::{Lines, Message, Piece};
pub use port::{CallError, Port};
pub use rpc::{Incoming, Method, Outgoing, RpcError, VERSIONS};
pub use wire::{LinkContext, run};
