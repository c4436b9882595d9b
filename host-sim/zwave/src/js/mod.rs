//! A real Z-Wave network, run by a Z-Wave JS server and reached over its WebSocket.
//!
//! A task of its own keeps the session (`session`) and what is known (`state`); the network is served from its beginning,
//! whether or not the server is there. Nodes become devices in `view`, commands become writes in `write`, and `deliver`
//! finds out what became of them.

mod deliver;
mod node;
mod session;
mod state;
mod view;
mod write;

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;
use tokio::sync::{broadcast, mpsc};
use tokio::task::JoinHandle;

use self::node::NodeStatus;
use self::state::Shared;
use super::controller::{Bounds, Change, CommandError, Controller, Outcome, Pending};
use super::device::{Command, NodeId};
use super::faults::Faults;
use super::gateway::Gateway;
use super::plans::Plans;
use super::snapshot::Snapshot;

/// Questions on their way to the session.
const QUESTIONS: usize = 64;

/// How long a node that does not sleep may take to answer a ping.
const PING: Duration = Duration::from_secs(20);

/// Degrees that a thermostat may be set to at all, Celsius or Fahrenheit; each has its own bounds.
const SETPOINT: (f64, f64) = (-20.0, 120.0);

/// Highest number of a node, with Long Range.
const LAST_NODE: NodeId = 4000;

/// The gateway to the network of the server at `url`, with these scenes and groups. Returns at once; the connection is made,
/// and made again, in the background.
pub fn connect(url: &str, plans: Plans) -> Gateway {
    let (questions, receiver) = mpsc::channel(QUESTIONS);
    let shared = Arc::new(Shared::new(url.into(), questions));
    let session = tokio::spawn(session::run(shared.clone(), receiver));
    Gateway::new(Arc::new(Network { shared, session }), plans, Faults::new(0))
}

/// A real network.
#[derive(Debug)]
struct Network {
    shared: Arc<Shared>,
    session: JoinHandle<()>,
}

impl Drop for Network {
    fn drop(&mut self) {
        self.session.abort();
    }
}

impl Controller for Network {
    fn name(&self) -> &'static str {
        "zwave-js"
    }

    fn own_node(&self) -> NodeId {
        self.shared.own_node()
    }

    fn bounds(&self) -> Bounds {
        Bounds { setpoint: SETPOINT, unit: "Degrees, in the thermostat's unit,", last_node: LAST_NODE }
    }

    fn ready(&self) -> Result<(), String> {
        self.shared.ready()
    }

    fn complete(&self) -> Result<(), String> {
        self.shared.complete()
    }

    fn confirm<'a>(&'a self, id: &'a str) -> Pending<'a, ()> {
        Box::pin(deliver::confirm(&self.shared, id))
    }

    fn devices(&self) -> Vec<Snapshot> {
        self.shared.devices()
    }

    fn look_up(&self) -> Pending<'_, ()> {
        Box::pin(std::future::ready(()))
    }

    fn command<'a>(
        &'a self,
        device: &'a Snapshot,
        command: Command,
    ) -> Pending<'a, Result<Outcome, CommandError>> {
        Box::pin(deliver::deliver(&self.shared, device, command))
    }

    fn ping(&self, node: NodeId) -> Pending<'_, Result<Option<Duration>, String>> {
        Box::pin(async move {
            let status = self.shared.node(node, |node, _| node.status);
            match status {
                None => return Err(format!("Node {node} is not in this network")),
                Some(NodeStatus::Asleep) => {
                    return Err(format!("Node {node} is asleep; it can be asked when it wakes"));
                }
                Some(_) if node == self.shared.own_node() => return Ok(Some(Duration::ZERO)),
                Some(_) => {}
            }
            let start = Instant::now();
            let asking = self.shared.ask(json!({ "command": "node.ping", "nodeId": node }));
            let answer = tokio::time::timeout(PING, asking).await;
            let answer = answer
                .map_err(|_| format!("Nobody knows whether node {node} answers: the server does not say"))?;
            let answer = answer.map_err(|failure| failure.words)?;
            Ok((answer["responded"] == true).then(|| start.elapsed()))
        })
    }

    fn changes(&self) -> broadcast::Receiver<Change> {
        self.shared.changes.subscribe()
    }
}
