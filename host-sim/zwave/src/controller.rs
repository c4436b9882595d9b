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

    /// Whether all devices of the network have been known at least once; if not why. Until then the list of devices says
    /// nothing: a lock may be missing in it.
    fn complete(&self) -> Result<(), String> {
        Ok(())
    }

    /// All devices as they were last known, in the order of their nodes.
    fn devices(&self) -> Vec<Snapshot>;

    /// Asks the device with this id for its state if an earlier command left that unconfirmed. Takes a few seconds at most.
    fn confirm<'a>(&'a self, _id: &'a str) -> Pending<'a, ()> {
        Box::pin(std::future::ready(()))
    }

    /// Waits as long as it takes to look up what the controller knows.
    fn look_up(&self) -> Pending<'_, ()>;

    /// Sends a command that the device takes, and waits until it is known what became of it.
    fn command<'a>(
        &'a self,
        device: &'a Snapshot,
        command: Command,
    ) -> Pending<'a, Result<Outcome, CommandError>>;

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

/// Why a command did not succeed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CommandError {
    /// For people.
    pub(super) words: String,
    /// Whether the device may have done it all the same.
    pub(super) is_unknown: bool,
}

impl CommandError {
    /// The command was sent, and the device may have done it.
    pub(super) const fn unknown(words: String) -> Self {
        Self { words, is_unknown: true }
    }
}

/// Nothing was done.
impl From<String> for CommandError {
    fn from(words: String) -> Self {
        Self { words, is_unknown: false }
    }
}

/// Two sentences in a row. The first may lack its full stop.
pub(super) fn sentences(first: &str, second: &str) -> String {
    let stop = if first.ends_with(['.', '?', '!']) { "" } else { "." };
    format!("{first}{stop} {second}")
}

/// What changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// The device with this id.
    Device(String),
    /// Which devices there are, or what they are called.
    List,
}
