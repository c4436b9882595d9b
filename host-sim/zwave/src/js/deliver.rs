//! Sends a command to a device, and finds out what became of it.
//!
//! A server that says "success" has only run the command. What the device made of it is in the status of the result: done,
//! refused, begun, or merely sent. Of the last two, only what the device reports afterwards tells the truth, and a value
//! right after a command is what the driver hopes for, not a report: the device is asked.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::broadcast;
use tokio::time::{Instant, sleep, timeout, timeout_at};

use super::super::controller::{Change, CommandError, Outcome, sentences};
use super::super::device::{Command, NodeId};
use super::super::snapshot::{LastCommand, Snapshot, Status};
use super::node::NodeStatus;
use super::session::Failure;
use super::state::{Answered, Shared};
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

/// A device that has told a new value within this time still moves.
const MOVING: Duration = Duration::from_secs(4);

/// For a device to tell its state when that is unconfirmed; a hub waits for 8 seconds.
const CONFIRM: Duration = Duration::from_secs(5);

/// What the driver says of a node that does not acknowledge.
const NO_ACKNOWLEDGEMENT: u64 = 204;

/// Errors of the driver after which a device may have got the command: the driver or the stick ended in the middle, somebody
/// did not answer in time, or the command was given up.
const MAYBE_DONE: [u64; 8] = [102, 112, 200, 201, 202, NO_ACKNOWLEDGEMENT, 206, 215];

/// Errors of the server before it has passed a command to the driver. Any other that is not the driver's may come from
/// the middle of it.
const NOT_RUN: [&str; 7] = [
    "unknown_command",
    "node_not_found",
    "endpoint_not_found",
    "virtual_endpoint_not_found",
    "schema_incompatible",
    "invalid_params_passed_to_command",
    "no_longer_supported",
];

/// Whether a device may have got a command that failed so.
fn may_be_done(failure: &Failure) -> bool {
    match failure.zwave {
        Some(code) => MAYBE_DONE.contains(&code),
        None => !failure.is_unsent() && !NOT_RUN.contains(&failure.code.as_str()),
    }
}

/// What became of one write.
enum Fate {
    Done,
    Moving,
    /// The answer comes when the node wakes.
    Later(Answered),
}

/// Sends a command that the device takes, and waits until it is known what became of it.
pub(super) async fn deliver(
    shared: &Arc<Shared>,
    device: &Snapshot,
    command: Command,
) -> Result<Outcome, CommandError> {
    let Snapshot { id, name, node, .. } = device;
    let gone = || format!("{name} is no longer there");
    let planned = shared.node(*node, |node, _| writes(node, device, command)).ok_or_else(gone)?;
    let planned = planned.map_err(|why| format!("{name} {why}"))?;
    let status = shared.node(*node, |node, _| node.status);
    let is_guarded = device.status.guarded_effect(command).is_some();
    // What a person approved now must not happen hours later.
    if status == Some(NodeStatus::Asleep) && is_guarded {
        return Err(format!("{name} is asleep, and this is not kept for later. Nothing was done").into());
    }
    let until = Instant::now() + WHOLE;
    let delivery = Delivery { shared, device, until, session: shared.session(), status, is_guarded };
    let mut fate = Fate::Done;
    for (index, write) in planned.iter().enumerate() {
        fate = match delivery.write(write).await {
            Ok(Fate::Later(answer)) => {
                let mut answers = vec![answer];
                // The rest waits with it.
                for write in &planned[index + 1..] {
                    answers.extend(delivery.send(write).await.ok());
                }
                shared.note(id, LastCommand::Pending, Vec::new());
                tokio::spawn(follow(shared.clone(), device.clone(), answers));
                return Ok(Outcome::Later);
            }
            Ok(fate) => fate,
            // A part was done.
            Err(error) if index > 0 => return Err(CommandError::unknown(error.words)),
            Err(error) => return Err(error),
        };
    }
    let now = delivery.now().ok_or_else(gone)?;
    Ok(match fate {
        Fate::Moving => Outcome::Moving(now),
        Fate::Done | Fate::Later(_) => Outcome::Done(now),
    })
}

/// Waits until a sleeping node has woken and got its commands. Z-Wave JS keeps them in memory only: when it is lost, they are.
async fn follow(shared: Arc<Shared>, device: Snapshot, answers: Vec<Answered>) {
    let Snapshot { id, name, .. } = &device;
    for mut answer in answers {
        let why = match shared.answer(&mut answer).await {
            Ok(result) => match result["result"]["status"].as_u64() {
                Some(1 | 254 | 255) => continue,
                status => format!("the device refused it, status {status:?}"),
            },
            Err(failure) => failure.words,
        };
        log::warn!(
            "zwave: the command for {name}, which was asleep, is lost: {}",
            sentences(&why, "Send it again")
        );
        shared.note(id, LastCommand::Lost, Vec::new());
        return;
    }
    log::info!("zwave: {name} has woken and got its command");
    shared.note(id, LastCommand::Settled, Vec::new());
}

/// Asks a device for its state if that is unconfirmed. The first time that an actuator is read in this process counts as
/// such: an earlier process may have ended in the middle of a command, and the server tells what it knew before.
pub(super) async fn confirm(shared: &Shared, id: &str) {
    let Some(node) = id.split_once('-').and_then(|(node, _)| node.parse().ok()) else { return };
    let is_first = shared.doubt(node, id);
    let Some(seen) = shared.unconfirmed(id) else { return };
    // It is asked when it wakes, which is a change that is read.
    if shared.node(node, |node, _| node.status) == Some(NodeStatus::Asleep) {
        return;
    }
    let is_confirmed = match timeout(CONFIRM, poll(shared, node, &seen)).await {
        Ok(Ok(values)) => is_first || !values.contains(&Value::Null),
        // The driver cannot ask for it, so what the server knows is all there is.
        Ok(Err(failure)) => is_first && !failure.is_unsent() && !may_be_done(&failure),
        Err(_) => false,
    };
    if is_confirmed {
        shared.confirmed(id, is_first);
    }
}

/// Asks a node for values, and keeps what it tells; null is no answer.
async fn poll(shared: &Shared, node: NodeId, seen: &[Value]) -> Result<Vec<Value>, Failure> {
    let mut values = Vec::new();
    for id in seen {
        let question = json!({ "command": "node.poll_value", "nodeId": node, "valueId": id });
        let value = shared.ask(question).await?["value"].take();
        if !value.is_null() {
            shared.set(node, id, &value);
        }
        values.push(value);
    }
    Ok(values)
}

struct Delivery<'a> {
    shared: &'a Arc<Shared>,
    device: &'a Snapshot,
    /// When the caller has to be told something.
    until: Instant,
    /// The session in which all of it happens.
    session: Option<u64>,
    /// Whether the node could be reached when it began.
    status: Option<NodeStatus>,
    /// Whether a person had to approve the command.
    is_guarded: bool,
}

/// A write on its way. If it is given up or its outcome is unknown, the state of the device is unconfirmed.
struct InFlight<'a> {
    shared: &'a Shared,
    id: &'a str,
    seen: Vec<Value>,
    is_settled: bool,
}

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        if !self.is_settled {
            self.shared.note(self.id, LastCommand::Unconfirmed, std::mem::take(&mut self.seen));
        }
    }
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

    async fn send(&self, write: &Write) -> Result<Answered, Failure> {
        let command = json!({
            "command": "node.set_value", "nodeId": self.device.node,
            "valueId": write.value_id(), "value": write.value,
        });
        self.shared.post(self.session, command).await
    }

    async fn write(&self, write: &Write) -> Result<Fate, CommandError> {
        let id = &self.device.id;
        let mut changes = self.shared.changes.subscribe();
        let answer = self.send(write).await;
        let mut answer = answer.map_err(|failure| sentences(&failure.words, "Nothing was done"))?;
        let mut flight = InFlight { shared: self.shared, id, seen: write.seen_ids(), is_settled: false };
        let fate = match self.result(&mut answer, &mut changes).await {
            Ok(None) => Ok(Fate::Later(answer)),
            Ok(Some(result)) => self.outcome(write, &result, &mut changes).await,
            Err(error) => Err(error),
        };
        flight.is_settled = !fate.as_ref().is_err_and(|error| error.is_unknown);
        if matches!(fate, Ok(Fate::Done | Fate::Moving)) {
            self.shared.note(id, LastCommand::Settled, Vec::new());
        }
        fate
    }

    /// What the result of a write means.
    async fn outcome(
        &self,
        write: &Write,
        result: &Value,
        changes: &mut broadcast::Receiver<Change>,
    ) -> Result<Fate, CommandError> {
        let name = &self.device.name;
        let words = match result["result"]["status"].as_u64() {
            // Done. The report may be a moment behind.
            Some(255) => {
                self.await_report(write, changes, Instant::now() + REPORT).await;
                return Ok(Fate::Done);
            }
            // Sent, and no more.
            Some(254) => return self.verify(write, changes, false).await,
            // Begun.
            Some(1) => {
                let needed = duration(&result["result"]["remainingDuration"]).unwrap_or(write.patience);
                let end = (Instant::now() + needed + OVERTIME).min(self.until);
                if self.await_report(write, changes, end).await {
                    return Ok(Fate::Done);
                }
                return self.verify(write, changes, true).await;
            }
            Some(0) => format!("{name} cannot do that: it does not have such a function"),
            Some(2) => self.refusal(),
            Some(3) => format!("{name} is no longer a part of node {}", self.device.node),
            Some(4) => format!("{name} cannot do that: the Z-Wave driver does not have it yet"),
            Some(5) => {
                let why = result["result"]["message"].as_str().unwrap_or("it is not a valid value");
                format!("{name} did not get it: {}", why.chars().take(200).collect::<String>())
            }
            _ => {
                let words =
                    format!("{name}: nobody knows whether it was done; the server says nothing about it");
                return Err(CommandError::unknown(words));
            }
        };
        Err(words.into())
    }

    /// Waits for the result of a write; None if the node sleeps and gets it later.
    async fn result(
        &self,
        answer: &mut Answered,
        changes: &mut broadcast::Receiver<Change>,
    ) -> Result<Option<Value>, CommandError> {
        let name = &self.device.name;
        let mut nap = std::pin::pin!(sleep(DROWSY));
        loop {
            let is_asleep = self.status() == Some(NodeStatus::Asleep);
            tokio::select! {
                result = self.shared.answer(answer) => return match result {
                    Ok(result) => Ok(Some(result)),
                    Err(failure) => Err(self.explain(failure, changes).await),
                },
                () = &mut nap, if is_asleep => return match self.is_guarded {
                    // It was sent, and cannot be called back.
                    true => Err(CommandError::unknown(format!(
                        "{name} fell asleep before it answered; it may still do it when it wakes. Look at it before you \
                         try again"
                    ))),
                    false => Ok(None),
                },
                _ = changes.recv() => {}
                () = tokio::time::sleep_until(self.until) => return Err(CommandError::unknown(format!(
                    "{name} has not answered within {} seconds; it may still do it. Look at it before you try again",
                    WHOLE.as_secs()
                ))),
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
            let is_done = self.shared.node(self.device.node, |node, _| write.is_met(&write.current(node)));
            if is_done == Some(true) {
                return true;
            }
            // A receiver that fell behind looks again.
            if timeout_at(until, changes.recv()).await.is_err() {
                return false;
            }
        }
    }

    /// Polls the device until it reaches its target, stands still, or the time is up. `has_begun` says that the device has
    /// confirmed its beginning.
    async fn verify(
        &self,
        write: &Write,
        changes: &mut broadcast::Receiver<Change>,
        has_begun: bool,
    ) -> Result<Fate, CommandError> {
        let Snapshot { name, node, status, .. } = self.device;
        let is_cover = matches!(status, Status::Cover { .. } | Status::Garage(_));
        let patience = if is_cover { WHOLE } else { write.patience };
        let seen = write.seen_ids();
        let mut last: Option<Vec<Value>> = None;
        let mut still_since = Instant::now();
        let mut has_moved = false;
        sleep(BREATH).await;
        let values = loop {
            let values = match timeout_at(self.until, poll(self.shared, *node, &seen)).await {
                Ok(Ok(values)) => values,
                Ok(Err(failure)) => {
                    let why = self.explain(failure, changes).await.words;
                    let words = format!("{name} was told, but does not say whether it did it: {why}");
                    return Err(CommandError::unknown(words));
                }
                Err(_) => {
                    let words = format!("{name} was told, but does not say whether it did it");
                    return Err(CommandError::unknown(words));
                }
            };
            if write.is_met(&values) {
                return Ok(Fate::Done);
            }
            if last.as_ref().is_some_and(|last| *last != values) {
                has_moved = true;
                still_since = Instant::now();
            }
            let next = Instant::now() + ASK_AGAIN;
            if next > self.until || next > still_since + patience {
                break values;
            }
            last = Some(values);
            sleep(ASK_AGAIN).await;
        };
        if write.is_best(&values) {
            return Ok(Fate::Done);
        }
        if values.contains(&Value::Null) {
            let words = format!("{name} was told, but does not say whether it did it");
            return Err(CommandError::unknown(words));
        }
        let is_moving = match &write.under_way {
            // It may have begun, and then stopped or turned back.
            Some(under_way) => values.first() == Some(under_way),
            None => has_moved && still_since.elapsed() < MOVING,
        };
        if is_moving {
            return Ok(Fate::Moving);
        }
        let words = self.now().map(|now| now.words()).unwrap_or_default();
        // It says that it works, or moves without saying so.
        if !has_moved && write.under_way.is_none() && (has_begun || is_cover) {
            let words = format!("{name} took the command, and may still be at it: it is {words}");
            return Err(CommandError::unknown(words));
        }
        Err(format!("{name} took the command, but did not do it: it is {words}").into())
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
    async fn explain(&self, failure: Failure, changes: &mut broadcast::Receiver<Change>) -> CommandError {
        let Snapshot { name, node, .. } = self.device;
        if failure.is_unsent() {
            return sentences(&failure.words, "Nothing was done").into();
        }
        if failure.zwave.is_none() && may_be_done(&failure) {
            let words = format!("{name} may have done it, nobody knows: {}", failure.words);
            return CommandError::unknown(words);
        }
        let is_silent = failure.zwave == Some(NO_ACKNOWLEDGEMENT);
        if is_silent && self.status() != Some(NodeStatus::Dead) {
            let _ = timeout(BREATH, changes.recv()).await;
        }
        let words = if is_silent || self.status() == Some(NodeStatus::Dead) {
            format!("{name} (node {node}) does not answer; it is marked as dead. Check its power")
        } else {
            format!("{name} (node {node}): {}", failure.words)
        };
        // One that was dead before got nothing.
        let was_dead = self.status == Some(NodeStatus::Dead);
        let is_unknown = !was_dead && may_be_done(&failure);
        CommandError { words, is_unknown }
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
