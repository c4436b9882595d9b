//! What is known of a real network, and who is told when it changes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use host_desktop::clock::unix_seconds;
use serde_json::{Value, json};
use tokio::sync::{broadcast, mpsc, oneshot};
use tokio::time::Instant;

use super::super::controller::{CHANGES, Change};
use super::super::device::NodeId;
use super::super::snapshot::{LastCommand, Presence, Snapshot, Status};
use super::node::{Node, NodeStatus};
use super::session::{Failure, Question};
use super::{view, write};

/// Most nodes of a network, with Long Range.
const NODES: usize = 4096;

/// Nodes whose interview does not go on for so long do not keep the list from being complete.
const STUCK: Duration = Duration::from_secs(60);

/// Why a node was removed, if another device takes its number: it was replaced, by this controller or by another one.
const REPLACED: [u64; 2] = [3, 4];

/// The answer to a question is to come here.
pub(super) type Answered = oneshot::Receiver<Result<Value, Failure>>;

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
    /// Whether the present session has not told of it. It stays until that list is complete.
    is_missing: bool,
}

#[derive(Debug)]
struct State {
    phase: Phase,
    nodes: BTreeMap<NodeId, Known>,
    own_node: NodeId,
    /// The number of the present session, or of the last one.
    session: u64,
    /// Whether all devices have been known at least once.
    is_complete: bool,
    /// When an interview last went on.
    progress: Instant,
    /// What became of the last command to a device, if that is not known or not settled.
    last_commands: BTreeMap<String, Unsettled>,
    /// Devices that were asked for their state in this process.
    asked: BTreeSet<String>,
}

/// A command whose outcome is not known or not settled.
#[derive(Debug)]
struct Unsettled {
    last_command: LastCommand,
    /// The values by which the device tells its state.
    seen: Vec<Value>,
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
        let state = State {
            phase: Phase::Connecting,
            nodes: BTreeMap::new(),
            own_node: 1,
            session: 0,
            is_complete: false,
            progress: Instant::now(),
            last_commands: BTreeMap::new(),
            asked: BTreeSet::new(),
        };
        Self { url, state: Mutex::new(state), changes: broadcast::Sender::new(CHANGES), questions }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no holder panics")
    }

    /// The number of the present session; None if there is none.
    pub(super) fn session(&self) -> Option<u64> {
        let state = self.state();
        let is_there = !matches!(state.phase, Phase::Connecting | Phase::Lost(_));
        is_there.then_some(state.session)
    }

    /// Asks the server something, in this session only: nothing is carried out after the server was lost.
    pub(super) async fn post(&self, session: Option<u64>, command: Value) -> Result<Answered, Failure> {
        let unsent = || Failure::unsent(self.lost_words());
        let session = session.filter(|session| self.session() == Some(*session)).ok_or_else(unsent)?;
        let (answer, answered) = oneshot::channel();
        self.questions.send(Question { command, answer, session }).await.map_err(|_| unsent())?;
        Ok(answered)
    }

    /// The answer to a question that was asked.
    pub(super) async fn answer(&self, answered: &mut Answered) -> Result<Value, Failure> {
        answered.await.map_err(|_| Failure::lost(self.lost_words()))?
    }

    /// Asks the server something, and waits for the answer.
    pub(super) async fn ask(&self, command: Value) -> Result<Value, Failure> {
        let mut answered = self.post(self.session(), command).await?;
        self.answer(&mut answered).await
    }

    fn lost_words(&self) -> String {
        self.ready().err().unwrap_or_else(|| format!("The Z-Wave server at {} is lost", self.url))
    }

    /// Whether all devices have been known at least once; if not why.
    pub(super) fn complete(&self) -> Result<(), String> {
        self.settle();
        let state = self.state();
        if state.is_complete {
            return Ok(());
        }
        let unsettled = state.nodes.values().filter(|known| !known.node.is_settled()).count();
        let total = state.nodes.len();
        drop(state);
        self.ready()?;
        Err(format!(
            "The devices are not all known yet: Z-Wave JS still interviews {unsettled} of {total} nodes"
        ))
    }

    /// Looks whether the list of the present session is complete. If so, what is missing in it is gone for good.
    pub(super) fn settle(&self) {
        let mut state = self.state();
        let is_there = !matches!(state.phase, Phase::Connecting | Phase::Lost(_));
        let has_own = state.nodes.get(&state.own_node).is_some_and(|known| !known.is_missing);
        let mut told = state.nodes.values().filter(|known| !known.is_missing);
        let is_settled = told.all(|known| known.node.is_settled()) || state.progress.elapsed() > STUCK;
        if !(is_there && has_own && is_settled) {
            return;
        }
        let count = state.nodes.len();
        state.nodes.retain(|_, known| !known.is_missing);
        let is_news = !std::mem::replace(&mut state.is_complete, true) || state.nodes.len() != count;
        drop(state);
        if is_news {
            self.tell(Change::List);
        }
    }

    /// Notes what became of the last command to a device. `seen` are the values that tell its state.
    pub(super) fn note(&self, id: &str, last_command: LastCommand, seen: Vec<Value>) {
        let mut state = self.state();
        let former = match last_command {
            LastCommand::Settled => state.last_commands.remove(id).is_some(),
            _ => {
                state.last_commands.insert(id.into(), Unsettled { last_command, seen });
                true
            }
        };
        drop(state);
        if former {
            self.tell(Change::Device(id.into()));
        }
    }

    /// Makes the state of an actuator unconfirmed if nobody has asked the device for it in this process. Returns whether it
    /// did so. A node that cannot be asked now is left for later.
    pub(super) fn doubt(&self, node: NodeId, id: &str) -> bool {
        let mut state = self.state();
        let State { phase, nodes, last_commands, asked, .. } = &mut *state;
        let Some(Known { node, devices, is_missing: false }) = nodes.get(&node) else { return false };
        let Some(device) = devices.iter().find(|device| device.id == id) else { return false };
        let can_answer = node.is_interviewed && node.status == NodeStatus::Awake;
        if *phase != Phase::Ready || !can_answer || !asked.insert(id.into()) || last_commands.contains_key(id)
        {
            return false;
        }
        let seen = write::told_by(node, device);
        if seen.is_empty() {
            return false;
        }
        last_commands.insert(id.into(), Unsettled { last_command: LastCommand::Unconfirmed, seen });
        true
    }

    /// A device whose state was unconfirmed has told it. `is_quiet` if nobody has been told that it was.
    pub(super) fn confirmed(&self, id: &str, is_quiet: bool) {
        let mut state = self.state();
        let is_it = |unsettled: &Unsettled| unsettled.last_command == LastCommand::Unconfirmed;
        if !state.last_commands.get(id).is_some_and(is_it) {
            return;
        }
        state.last_commands.remove(id);
        drop(state);
        if !is_quiet {
            self.tell(Change::Device(id.into()));
        }
    }

    /// The values to ask a device for if its state is unconfirmed.
    pub(super) fn unconfirmed(&self, id: &str) -> Option<Vec<Value>> {
        let state = self.state();
        let unsettled = state.last_commands.get(id)?;
        (unsettled.last_command == LastCommand::Unconfirmed).then(|| unsettled.seen.clone())
    }

    /// A device has told a value.
    pub(super) fn set(&self, node: NodeId, value_id: &Value, value: &Value) {
        let mut arguments = value_id.clone();
        arguments["newValue"] = value.clone();
        let event = json!({ "source": "node", "event": "value updated", "nodeId": node, "args": arguments });
        self.apply(&event);
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

    /// The number of the controller's own node.
    pub(super) fn own_node(&self) -> NodeId {
        self.state().own_node
    }

    /// All devices as they were last known.
    pub(super) fn devices(&self) -> Vec<Snapshot> {
        let state = self.state();
        let is_there = state.phase == Phase::Ready;
        let mut all = Vec::new();
        for known in state.nodes.values() {
            for device in &known.devices {
                let mut device = device.clone();
                if !is_there || known.is_missing {
                    device.presence = Presence::Lost;
                }
                if let Some(unsettled) = state.last_commands.get(&device.id) {
                    device.last_command = unsettled.last_command;
                    if device.last_command == LastCommand::Unconfirmed {
                        device.status = device.status.unconfirmed();
                    }
                }
                all.push(device);
            }
        }
        all
    }

    /// A look at a node; None if there is no such one.
    pub(super) fn node<T>(&self, id: NodeId, look: impl FnOnce(&Node, &[Snapshot]) -> T) -> Option<T> {
        self.state().nodes.get(&id).map(|known| look(&known.node, &known.devices))
    }

    /// A session has begun, and the server told all it knows. Returns the number of the session, and how many devices there
    /// are. Former ones that the server did not tell of stay until the list is complete.
    pub(super) fn begin(&self, dump: &Value) -> (u64, usize) {
        let mut state = self.state();
        let mut former = std::mem::take(&mut state.nodes);
        state.session += 1;
        state.progress = Instant::now();
        for told in dump["nodes"].as_array().map_or(&[][..], Vec::as_slice).iter().take(NODES) {
            let Some(node) = Node::parse(told) else { continue };
            let before = former.remove(&node.id);
            let node = node.after(before.as_ref().map(|known| &known.node));
            let before = before.map(|known| known.devices).unwrap_or_default();
            let mut devices = view::known(&node, &before);
            for device in &mut devices {
                let before = before.iter().find(|before| before.id == device.id);
                device.changed = before.and_then(|before| before.changed);
            }
            state.nodes.insert(node.id, Known { node, devices, is_missing: false });
        }
        let missing = former.into_iter().map(|(id, known)| (id, Known { is_missing: true, ..known }));
        state.nodes.extend(missing.collect::<Vec<_>>());
        if let Some(own) = dump["controller"]["ownNodeId"].as_u64() {
            state.own_node = own.try_into().unwrap_or(1);
        }
        state.phase = phase(dump["controller"]["status"].as_u64());
        let (ids, session) = (state.ids(), state.session);
        drop(state);
        self.settle();
        self.tell(Change::List);
        let count = ids.len();
        ids.into_iter().for_each(|id| self.tell(Change::Device(id)));
        (session, count)
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
            (Some("node"), Some(what)) => {
                if what.starts_with("interview") {
                    self.state().progress = Instant::now();
                }
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
                    // One that is known under this number was another device.
                    self.replaced(node.id);
                    self.update(node.id, |_| Some(node));
                }
            }
            (Some("controller"), Some("node removed")) => {
                let id = event["node"]["nodeId"].as_u64().and_then(|id| NodeId::try_from(id).ok());
                let Some(id) = id else { return };
                if event["reason"].as_u64().is_some_and(|reason| REPLACED.contains(&reason)) {
                    return self.replaced(id);
                }
                let known = self.state().nodes.remove(&id);
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

    /// A node was replaced by another device. Its endpoints stay listed, as something unknown that cannot be driven, until
    /// the new device has been interviewed: a hub removes what is missing from the list.
    fn replaced(&self, id: NodeId) {
        let mut state = self.state();
        let Some(known) = state.nodes.get_mut(&id) else { return };
        known.node.is_interviewed = false;
        for device in &mut known.devices {
            *device = Snapshot {
                status: Status::Unknown,
                readings: Vec::new(),
                buttons: None,
                battery: None,
                changed: None,
                ..device.clone()
            };
        }
        let ids: Vec<_> = known.devices.iter().map(|device| device.id.clone()).collect();
        state.asked.retain(|asked| !ids.contains(asked));
        drop(state);
        self.tell(Change::List);
        ids.into_iter().for_each(|id| self.tell(Change::Device(id)));
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
        let mut devices = view::known(&node, &former);
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
        state.nodes.insert(id, Known { node, devices, is_missing: false });
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
