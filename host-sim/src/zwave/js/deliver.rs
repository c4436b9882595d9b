//! Sends a command to a device, and finds out what became of it.
//!
//! A server that says "success" has only run the command. What the device made of it is in the status of the result: done,
//! refused, begun, or merely sent. Of the last two, only what the device reports afterwards tells the truth, and a value
//! right after a command is what the driver hopes for, not a report: the device is asked.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::broadcast;
use tokio::time::{Instant, sleep, timeout, timeout_at};

use super::super::controller::{Change, Outcome};
use super::super::device::Command;
use super::super::snapshot::{Snapshot, Status};
use super::node::NodeStatus;
use super::session::Failure;
use super::state::Shared;
use super::write::{Write, writes};

/// For a command with all that follows; a hub waits for 30 seconds.
const WHOLE: Duration = Duration::from_secs(22);

/// For a node that sleeps: it may have been about to wake.
const DROWSY: Duration = Duration::from_millis(1500);

/// For a report that comes with the result.
const REPORT: Duration = Duration::from_secs(1);

/// Between a command and the question how the device stands, and between two such questions.
const BREATH: Duration = Duration::from_millis(300);
const ASK_AGAIN: Duration = Duration::from_millis(1200);

/// Beyond the time that a device says it needs.
const OVERTIME: Duration = Duration::from_secs(1);

/// What the driver says of a node that does not acknowledge.
const NO_ACKNOWLEDGEMENT: u64 = 204;

/// What became of one write.
enum Fate {
    Done,
    Moving,
    Later,
}

/// Sends a command that the device takes, and waits until it is known what became of it.
pub(super) async fn deliver(shared: &Shared, device: &Snapshot, command: Command) -> Result<Outcome, String> {
    let Snapshot { name, node, .. } = device;
    let gone = || format!("{name} is no longer there");
    let planned = shared.node(*node, |node, _| writes(node, device, command)).ok_or_else(gone)?;
    let planned = planned.map_err(|why| format!("{name} {why}"))?;
    let delivery = Delivery { shared, device, until: Instant::now() + WHOLE };
    let mut fate = Fate::Done;
    for write in &planned {
        fate = delivery.write(write).await?;
        if matches!(fate, Fate::Later) {
            // The rest waits with it.
            for write in planned.iter().skip_while(|other| *other != write).skip(1) {
                let _ = timeout(DROWSY, delivery.send(write)).await;
            }
            return Ok(Outcome::Later);
        }
    }
    let now = delivery.now().ok_or_else(gone)?;
    Ok(match fate {
        Fate::Moving => Outcome::Moving(now),
        Fate::Done | Fate::Later => Outcome::Done(now),
    })
}

struct Delivery<'a> {
    shared: &'a Shared,
    device: &'a Snapshot,
    /// When the caller has to be told something.
    until: Instant,
}

impl Delivery<'_> {
    /// The device as it stands now.
    fn now(&self) -> Option<Snapshot> {
        let Snapshot { id, node, .. } = self.device;
        self.shared
            .node(*node, |_, devices| devices.iter().find(|device| device.id == *id).cloned())
            .flatten()
    }

    fn status(&self) -> Option<NodeStatus> {
        self.shared.node(self.device.node, |node, _| node.status)
    }

    async fn send(&self, write: &Write) -> Result<Value, Failure> {
        let command = json!({
            "command": "node.set_value", "nodeId": self.device.node,
            "valueId": write.value_id(write.property), "value": write.value,
        });
        self.shared.ask(command).await
    }

    async fn write(&self, write: &Write) -> Result<Fate, String> {
        let name = &self.device.name;
        let mut changes = self.shared.changes.subscribe();
        let start = self.now();
        let Some(result) = self.result(write, &mut changes).await? else { return Ok(Fate::Later) };
        match result["result"]["status"].as_u64() {
            // Done. The report may be a moment behind.
            Some(255) => {
                self.await_report(write, &mut changes, Instant::now() + REPORT).await;
                Ok(Fate::Done)
            }
            // Sent, and no more.
            Some(254) => self.verify(write, &mut changes, start).await,
            // Begun.
            Some(1) => {
                let needed = duration(&result["result"]["remainingDuration"]).unwrap_or(write.patience);
                let end = (Instant::now() + needed + OVERTIME).min(self.until);
                if self.await_report(write, &mut changes, end).await {
                    return Ok(Fate::Done);
                }
                self.verify(write, &mut changes, start).await
            }
            Some(0) => Err(format!("{name} cannot do that: it does not have such a function")),
            Some(2) => Err(self.refusal()),
            Some(3) => Err(format!("{name} is no longer a part of node {}", self.device.node)),
            Some(4) => Err(format!("{name} cannot do that: the Z-Wave driver does not have it yet")),
            Some(5) => {
                let why = result["result"]["message"].as_str().unwrap_or("it is not a valid value");
                Err(format!("{name} did not get it: {}", why.chars().take(200).collect::<String>()))
            }
            _ => Err(format!("{name}: nobody knows whether it was done; the server says nothing about it")),
        }
    }

    /// Writes, and waits for the result; None if the node sleeps and gets it later.
    async fn result(
        &self,
        write: &Write,
        changes: &mut broadcast::Receiver<Change>,
    ) -> Result<Option<Value>, String> {
        let name = &self.device.name;
        let mut sending = std::pin::pin!(self.send(write));
        let mut nap = std::pin::pin!(sleep(DROWSY));
        loop {
            let is_asleep = self.status() == Some(NodeStatus::Asleep);
            tokio::select! {
                result = &mut sending => return match result {
                    Ok(result) => Ok(Some(result)),
                    Err(failure) => Err(self.explain(failure, changes).await),
                },
                () = &mut nap, if is_asleep => return Ok(None),
                _ = changes.recv() => {}
                () = tokio::time::sleep_until(self.until) => return Err(format!(
                    "{name} has not answered within {} seconds; it may still do it. Look at it before you try again",
                    WHOLE.as_secs()
                )),
            }
        }
    }

    /// Waits until the device reports that it was done; false if it does not in time.
    async fn await_report(
        &self,
        write: &Write,
        changes: &mut broadcast::Receiver<Change>,
        until: Instant,
    ) -> bool {
        loop {
            let is_done =
                self.shared.node(self.device.node, |node, _| write.expected.is_met(write.current(node)));
            if is_done == Some(true) {
                return true;
            }
            // A receiver that fell behind looks again.
            if timeout_at(until, changes.recv()).await.is_err() {
                return false;
            }
        }
    }

    /// Asks the device how it stands until it stands as it was told to, or it is clear that it does not.
    async fn verify(
        &self,
        write: &Write,
        changes: &mut broadcast::Receiver<Change>,
        start: Option<Snapshot>,
    ) -> Result<Fate, String> {
        let name = &self.device.name;
        if !write.can_ask {
            self.await_report(write, changes, Instant::now() + REPORT).await;
            return Ok(Fate::Done);
        }
        let is_cover = matches!(self.device.status, Status::Cover { .. } | Status::Garage(_));
        let patience = if is_cover { WHOLE } else { write.patience };
        let end = (Instant::now() + patience).min(self.until);
        sleep(BREATH).await;
        let last = loop {
            let question = json!({
                "command": "node.poll_value", "nodeId": self.device.node, "valueId": write.value_id(write.seen),
            });
            match timeout_at(self.until, self.shared.ask(question)).await {
                Ok(Ok(answer)) if write.expected.is_met(&answer["value"]) => {
                    self.await_report(write, changes, Instant::now() + BREATH).await;
                    return Ok(Fate::Done);
                }
                Ok(Ok(answer)) if Instant::now() + ASK_AGAIN > end => break answer,
                Ok(Ok(_)) => {}
                Ok(Err(failure)) => {
                    let why = self.explain(failure, changes).await;
                    return Err(format!("{name} was told, but does not say whether it did it: {why}"));
                }
                Err(_) => return Err(format!("{name} was told, but does not say whether it did it")),
            }
            sleep(ASK_AGAIN).await;
        };
        let now = self.now();
        let is_moving = match &write.under_way {
            // It may have begun, and then stopped or turned back.
            Some(under_way) => last["value"] == *under_way,
            None => is_cover && now.as_ref().map(Snapshot::state) != start.as_ref().map(Snapshot::state),
        };
        if is_moving {
            return Ok(Fate::Moving);
        }
        let words = now.map(|now| now.words()).unwrap_or_default();
        Err(format!("{name} took the command, but did not do it: it is {words}"))
    }

    /// The device said no.
    fn refusal(&self) -> String {
        let name = &self.device.name;
        let now = self.now();
        match now.as_ref().map(|now| &now.status) {
            Some(Status::Lock { is_jammed: true, .. }) => {
                let words = now.map(|now| now.words()).unwrap_or_default();
                format!("{name} did not do it: its bolt is stuck. It is {words}; go and look at the door")
            }
            _ => {
                let words = now.map(|now| now.words()).unwrap_or_default();
                format!("{name} refused, and is still {words}")
            }
        }
    }

    /// A failure in words. That a node is dead is known only a moment after the command failed.
    async fn explain(&self, failure: Failure, changes: &mut broadcast::Receiver<Change>) -> String {
        let Snapshot { name, node, .. } = self.device;
        if failure.code == "lost" {
            return failure.words;
        }
        if failure.zwave == Some(NO_ACKNOWLEDGEMENT) && self.status() != Some(NodeStatus::Dead) {
            let _ = timeout(BREATH, changes.recv()).await;
        }
        if self.status() == Some(NodeStatus::Dead) || failure.zwave == Some(NO_ACKNOWLEDGEMENT) {
            return format!("{name} (node {node}) does not answer; it is marked as dead. Check its power");
        }
        format!("{name} (node {node}): {}", failure.words)
    }
}

/// A duration as the server writes it.
fn duration(told: &Value) -> Option<Duration> {
    let value = told["value"].as_f64().filter(|value| (0.0..86_400.0).contains(value))?;
    match told["unit"].as_str()? {
        "seconds" => Some(Duration::from_secs_f64(value)),
        "minutes" => Some(Duration::from_secs_f64(value * 60.0)),
        _ => None,
    }
}
