//! What the MCP server needs of a controller, simulated or real.

use std::fmt;
use std::pin::Pin;
use std::time::Duration;

use tokio::sync::broadcast;

use super::device::{Command, NodeId};
use super::snapshot::Snapshot;

/// Work that ends later. Dropping it cancels what has not been sent to a device yet.
pub(super) type Pending<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Changes that a session can fall behind before it has to look at everything again.
pub(super) const CHANGES: usize = 256;

/// A controller of a Z-Wave network. Errors are for a person to read.
pub(super) trait Controller: fmt::Debug + Send + Sync {
    /// Its name in handshakes.
    fn name(&self) -> &'static str;

    /// The number of its own node.
    fn own_node(&self) -> NodeId;

    /// What numbers in arguments can be at all.
    fn bounds(&self) -> Bounds;

    /// Whether the network is there; if not why, and what to do.
    fn ready(&self) -> Result<(), String>;

    /// Waits a little for a network that is just beginning to be there, and then tells as [`ready`](Self::ready).
    fn begun(&self) -> Pending<'_, Result<(), String>> {
        Box::pin(std::future::ready(self.ready()))
    }

    /// All devices as they were last known, in the order of their nodes.
    fn devices(&self) -> Vec<Snapshot>;

    /// Waits as long as it takes to look up what the controller knows.
    fn look_up(&self) -> Pending<'_, ()>;

    /// Sends a command that the device takes, and waits until it is known what became of it.
    fn command<'a>(&'a self, device: &'a Snapshot, command: Command) -> Pending<'a, Result<Outcome, String>>;

    /// Asks a node for a sign of life, and returns how long it took; None if it does not answer.
    fn ping(&self, node: NodeId) -> Pending<'_, Result<Option<Duration>, String>>;

    /// What changes from now on.
    fn changes(&self) -> broadcast::Receiver<Change>;
}

/// What numbers in arguments can be at all; each device may be narrower.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    /// Degrees, least and most.
    pub(super) setpoint: (f64, f64),
    /// What these degrees are.
    pub(super) unit: &'static str,
    /// Highest number of a node.
    pub(super) last_node: NodeId,
}

/// What became of a command that did not fail.
#[derive(Clone, Debug)]
pub(super) enum Outcome {
    /// It was done, and the device now stands like this.
    Done(Snapshot),
    /// The device has begun, and will take a while.
    Moving(Snapshot),
    /// The device sleeps, and gets it when it wakes.
    Later,
}

/// What changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// The device with this id.
    Device(String),
    /// Which devices there are, or what they are called.
    List,
}
