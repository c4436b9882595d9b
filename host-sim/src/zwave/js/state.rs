//! What is known of a real network, and who is told when it changes.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard};

use serde_json::Value;
use tokio::sync::{broadcast, mpsc, oneshot};

use super::super::controller::{CHANGES, Change};
use super::super::device::NodeId;
use super::super::snapshot::{Presence, Snapshot};
use super::node::Node;
use super::session::{Failure, Question};
use super::view;
use crate::clock::unix_seconds;

/// Most nodes of a network, with Long Range.
const NODES: usize = 4096;

/// Where the way to the network stands.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Phase {
    Connecting,
    /// Why.
    Lost(String),
    Ready,
    /// The server is there, and its stick does not respond.
    Unresponsive,
    /// The radio hears nothing but noise.
    Jammed,
}

/// A node, and the devices that it is.
#[derive(Debug)]
struct Known {
    node: Node,
    devices: Vec<Snapshot>,
}

#[derive(Debug)]
struct State {
    phase: Phase,
    nodes: BTreeMap<NodeId, Known>,
    own_node: NodeId,
}

/// What the session, the commands and the tools share.
#[derive(Debug)]
pub(super) struct Shared {
    /// Where the server is.
    pub(super) url: String,
    state: Mutex<State>,
    pub(super) changes: broadcast::Sender<Change>,
    questions: mpsc::Sender<Question>,
}

impl Shared {
    pub(super) fn new(url: String, questions: mpsc::Sender<Question>) -> Self {
        let state = State { phase: Phase::Connecting, nodes: BTreeMap::new(), own_node: 1 };
        Self { url, state: Mutex::new(state), changes: broadcast::Sender::new(CHANGES), questions }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no holder panics")
    }

    /// Asks the server something.
    pub(super) async fn ask(&self, command: Value) -> Result<Value, Failure> {
        let (answer, answered) = oneshot::channel();
        let lost = || {
            let words =
                self.ready().err().unwrap_or_else(|| format!("The Z-Wave server at {} is lost", self.url));
            Failure { code: "lost".into(), zwave: None, words }
        };
        self.questions.send(Question { command, answer }).await.map_err(|_| lost())?;
        answered.await.map_err(|_| lost())?
    }

    /// Whether the network is there; if not why, and what to do.
    pub(super) fn ready(&self) -> Result<(), String> {
        let url = &self.url;
        match &self.state().phase {
            Phase::Ready => Ok(()),
            Phase::Connecting => Err(format!(
                "The Z-Wave network is not there yet: connecting to the server at {url}. Try again in a moment"
            )),
            Phase::Lost(why) => Err(format!(
                "The Z-Wave server at {url} cannot be reached ({why}); it is tried again and again. Is zwave-js-server \
                 running there, and the stick plugged in?"
            )),
            Phase::Unresponsive => {
                Err("The Z-Wave stick does not respond. Pull it out, plug it in again, and wait a minute"
                    .into())
            }
            Phase::Jammed => {
                Err("The Z-Wave radio hears nothing but noise. Move the stick away from other devices, \
                 on a USB extension cable"
                    .into())
            }
        }
    }

    /// Whether the first try to connect is still under way.
    pub(super) fn is_beginning(&self) -> bool {
        self.state().phase == Phase::Connecting
    }

    /// The number of the controller's own node.
    pub(super) fn own_node(&self) -> NodeId {
        self.state().own_node
    }

    /// All devices as they were last known.
    pub(super) fn devices(&self) -> Vec<Snapshot> {
        let state = self.state();
        let is_there = state.phase == Phase::Ready;
        let devices = state.nodes.values().flat_map(|known| known.devices.iter().cloned());
        let seen = |device: Snapshot| match is_there {
            true => device,
            false => Snapshot { presence: Presence::Lost, ..device },
        };
        devices.map(seen).collect()
    }

    /// A look at a node; None if there is no such one.
    pub(super) fn node<T>(&self, id: NodeId, look: impl FnOnce(&Node, &[Snapshot]) -> T) -> Option<T> {
        self.state().nodes.get(&id).map(|known| look(&known.node, &known.devices))
    }

    /// A session has begun, and the server told all it knows. Returns how many devices that are.
    pub(super) fn begin(&self, dump: &Value) -> usize {
        let mut state = self.state();
        let former = std::mem::take(&mut state.nodes);
        let changed: BTreeMap<&str, Option<i64>> = former
            .values()
            .flat_map(|known| &known.devices)
            .map(|device| (device.id.as_str(), device.changed))
            .collect();
        for told in dump["nodes"].as_array().map_or(&[][..], Vec::as_slice).iter().take(NODES) {
            let Some(node) = Node::parse(told) else { continue };
            let before = former.get(&node.id).map(|known| &known.node);
            let node = node.after(before);
            let mut devices = view::snapshots(&node);
            for device in &mut devices {
                device.changed = changed.get(device.id.as_str()).copied().flatten();
            }
            state.nodes.insert(node.id, Known { node, devices });
        }
        if let Some(own) = dump["controller"]["ownNodeId"].as_u64() {
            state.own_node = own.try_into().unwrap_or(1);
        }
        state.phase = phase(dump["controller"]["status"].as_u64());
        let ids = state.ids();
        drop(state);
        self.tell(Change::List);
        let count = ids.len();
        ids.into_iter().for_each(|id| self.tell(Change::Device(id)));
        count
    }

    /// The session is lost. Returns whether that is news.
    pub(super) fn lost(&self, why: &str) -> bool {
        let mut state = self.state();
        let former = std::mem::replace(&mut state.phase, Phase::Lost(why.into()));
        let ids = state.ids();
        drop(state);
        if former == Phase::Ready {
            ids.into_iter().for_each(|id| self.tell(Change::Device(id)));
        }
        former != Phase::Lost(why.into())
    }

    /// The server told that something happened.
    pub(super) fn apply(&self, event: &Value) {
        match (event["source"].as_str(), event["event"].as_str()) {
            (Some("node"), Some("statistics updated")) => {}
            (Some("node"), Some("ready")) => {
                if let Some(node) = Node::parse(&event["nodeState"]) {
                    self.update(node.id, |former| Some(node.after(former.as_ref())));
                }
            }
            (Some("node"), Some(_)) => {
                if let Some(id) = event["nodeId"].as_u64().and_then(|id| NodeId::try_from(id).ok()) {
                    self.update(id, |node| {
                        let mut node = node?;
                        node.apply(event);
                        Some(node)
                    });
                }
            }
            (Some("controller"), Some("node added")) => {
                if let Some(node) = Node::parse(&event["node"]) {
                    self.update(node.id, |_| Some(node));
                }
            }
            (Some("controller"), Some("node removed")) => {
                let id = event["node"]["nodeId"].as_u64().and_then(|id| NodeId::try_from(id).ok());
                let known = id.and_then(|id| self.state().nodes.remove(&id));
                if known.is_some() {
                    self.tell(Change::List);
                }
            }
            (Some("controller"), Some("status changed")) => {
                let mut state = self.state();
                state.phase = phase(event["status"].as_u64());
                let ids = state.ids();
                drop(state);
                ids.into_iter().for_each(|id| self.tell(Change::Device(id)));
                if let Err(why) = self.ready() {
                    log::warn!("zwave: {why}");
                }
            }
            _ => {}
        }
    }

    /// Changes a node, and tells what is new about its devices. What becomes None is forgotten, and too many are not kept.
    fn update(&self, id: NodeId, change: impl FnOnce(Option<Node>) -> Option<Node>) {
        let mut state = self.state();
        let has_room = state.nodes.len() < NODES || state.nodes.contains_key(&id);
        let (node, former) = match state.nodes.remove(&id) {
            Some(known) => (Some(known.node), known.devices),
            None => (None, Vec::new()),
        };
        let Some(node) = change(node).filter(|_| has_room) else { return };
        let mut devices = view::snapshots(&node);
        // Room and kind with them: a group finds its devices by the one, and can do what the other can.
        let listed = |devices: &[Snapshot]| -> Vec<(String, String, String, &'static str)> {
            let entry = |device: &Snapshot| {
                (device.id.clone(), device.name.clone(), device.room.clone(), device.kind())
            };
            devices.iter().map(entry).collect()
        };
        let is_listed_anew = listed(&former) != listed(&devices);
        let mut changed = Vec::new();
        for device in &mut devices {
            let before = former.iter().find(|before| before.id == device.id);
            device.changed = before.and_then(|before| before.changed);
            if before != Some(device) {
                if before.is_some_and(|before| before.state() != device.state()) {
                    device.changed = unix_seconds();
                    log::debug!("zwave: {device}");
                }
                changed.push(device.id.clone());
            }
        }
        state.nodes.insert(id, Known { node, devices });
        drop(state);
        if is_listed_anew {
            self.tell(Change::List);
        }
        changed.into_iter().for_each(|id| self.tell(Change::Device(id)));
    }

    fn tell(&self, change: Change) {
        // Nobody may be watching.
        let _ = self.changes.send(change);
    }
}

impl State {
    fn ids(&self) -> Vec<String> {
        let devices = self.nodes.values().flat_map(|known| &known.devices);
        devices.map(|device| device.id.clone()).collect()
    }
}

/// What the status of the controller means.
const fn phase(status: Option<u64>) -> Phase {
    match status {
        Some(1) => Phase::Unresponsive,
        Some(2) => Phase::Jammed,
        _ => Phase::Ready,
    }
}
