//! The simulated controller: devices in memory, and how long operations on them take.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use host_desktop::clock::unix_seconds;
use tokio::sync::broadcast;

use super::controller::{Bounds, CHANGES, Change, CommandError, Controller, Outcome, Pending};
use super::device::{Command, Device, NodeId, SETPOINT};
use super::inventory;
use super::latency::{Latency, Operation};
use super::snapshot::Snapshot;

/// Highest number of a node in a network without Long Range.
const LAST_NODE: NodeId = 232;

/// The devices, and how long operations on them take.
#[derive(Debug)]
pub(super) struct Simulation {
    devices: Mutex<Vec<Device>>,
    /// When the state of a node changed, in seconds since the beginning of 1970.
    changed: Mutex<BTreeMap<NodeId, i64>>,
    latency: Latency,
    changes: broadcast::Sender<Change>,
}

impl Simulation {
    pub(super) fn new(latency: Latency) -> Self {
        Self {
            devices: Mutex::new(inventory::devices()),
            changed: Mutex::default(),
            latency,
            changes: broadcast::Sender::new(CHANGES),
        }
    }

    /// All devices, in their current state.
    pub(super) fn all(&self) -> MutexGuard<'_, Vec<Device>> {
        self.devices.lock().expect("no holder panics")
    }

    /// Adds a device, and tells those who watch.
    pub(super) fn add(&self, device: Device) {
        self.all().push(device);
        let _ = self.changes.send(Change::List);
    }

    /// Changes a device, and tells those who watch. None if there is no such node.
    pub(super) fn change(
        &self,
        node: NodeId,
        to: impl FnOnce(Device) -> Result<Device, String>,
    ) -> Option<Result<Snapshot, String>> {
        let mut devices = self.all();
        let device = devices.iter_mut().find(|device| device.node == node)?;
        let next = match to(device.clone()) {
            Ok(next) => next,
            Err(error) => return Some(Err(error)),
        };
        let is_new = *device != next;
        *device = next;
        let mut changed = self.changed.lock().expect("no holder panics");
        if is_new {
            changed.extend(unix_seconds().map(|now| (node, now)));
        }
        let snapshot = device.snapshot(changed.get(&node).copied());
        if is_new {
            log::debug!("zwave: node {node} ({}) is now {}", snapshot.name, snapshot.words());
            // Nobody may be watching.
            let _ = self.changes.send(Change::Device(snapshot.id.clone()));
        }
        Some(Ok(snapshot))
    }

    async fn run(&self, device: &Snapshot, command: Command) -> Result<Outcome, CommandError> {
        let Snapshot { name, node, .. } = device;
        let is_alive = self.all().iter().any(|device| device.node == *node && device.is_alive);
        if !is_alive {
            self.latency.wait(Operation::Dead).await;
            return Err(format!(
                "{name} (node {node}) does not answer; it is marked as dead. Check its power"
            )
            .into());
        }
        self.latency.wait(Operation::Radio).await;
        // By its present state: another client may have changed it in the meantime.
        let to = |device: Device| {
            let state = device.state.after(command).map_err(|why| format!("{name} {why}"))?;
            Ok(Device { state, ..device })
        };
        Ok(self.change(*node, to).ok_or_else(|| format!("{name} is no longer there"))?.map(Outcome::Done)?)
    }
}

impl Controller for Simulation {
    fn name(&self) -> &'static str {
        "simulated-zwave"
    }

    fn own_node(&self) -> NodeId {
        1
    }

    fn bounds(&self) -> Bounds {
        Bounds { setpoint: SETPOINT, unit: "Degrees Celsius", last_node: LAST_NODE }
    }

    fn ready(&self) -> Result<(), String> {
        Ok(())
    }

    fn devices(&self) -> Vec<Snapshot> {
        let devices = self.all();
        let changed = self.changed.lock().expect("no holder panics");
        devices.iter().map(|device| device.snapshot(changed.get(&device.node).copied())).collect()
    }

    fn look_up(&self) -> Pending<'_, ()> {
        Box::pin(self.latency.wait(Operation::Cached))
    }

    fn command<'a>(
        &'a self,
        device: &'a Snapshot,
        command: Command,
    ) -> Pending<'a, Result<Outcome, CommandError>> {
        Box::pin(self.run(device, command))
    }

    fn ping(&self, node: NodeId) -> Pending<'_, Result<Option<Duration>, String>> {
        Box::pin(async move {
            if node == self.own_node() {
                return Ok(Some(Duration::ZERO));
            }
            let device = self.all().iter().find(|device| device.node == node).cloned();
            let device = device.ok_or_else(|| format!("Node {node} is not in this network"))?;
            let operation = if device.is_alive { Operation::Radio } else { Operation::Dead };
            let time = self.latency.time(operation);
            tokio::time::sleep(time).await;
            Ok(device.is_alive.then_some(time))
        })
    }

    fn changes(&self) -> broadcast::Receiver<Change> {
        self.changes.subscribe()
    }
}
