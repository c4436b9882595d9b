//! The MCP server in front of a controller, simulated or real, with the line that it is served on.

use std::sync::Arc;

use tokio::io::{AsyncRead, AsyncWrite, DuplexStream};

use super::controller::Controller;
use super::faults::Faults;
use super::plans::Plans;
use super::record::Record;
use super::run::Toolbox;
use super::snapshot::Snapshot;
use super::{resource, wire};

/// Room on the line to a hub in the same process.
const LINE: usize = 64 * 1024;

/// A controller with all that is served of it. Cloning it gives another handle to the same.
#[derive(Clone, Debug)]
pub struct Gateway {
    pub(super) controller: Arc<dyn Controller>,
    pub(super) plans: Arc<Plans>,
    pub(super) record: Record,
    pub(super) faults: Faults,
}

impl Gateway {
    /// One in front of a controller, on lines with these faults.
    pub(super) fn new(controller: Arc<dyn Controller>, plans: Plans, faults: Faults) -> Self {
        Self { controller, plans: Arc::new(plans), record: Record::default(), faults }
    }

    pub(super) fn toolbox(&self) -> Toolbox<'_> {
        Toolbox { controller: &self.controller, plans: &self.plans }
    }

    /// The resource with this URI as JSON; `devices` are all there are.
    pub(super) fn resource(&self, uri: &str, devices: &[Snapshot]) -> Option<String> {
        let id = uri.strip_prefix(resource::PREFIX)?;
        let plans = &*self.plans;
        let Plans { groups, scenes } = plans;
        if let Some(device) = devices.iter().find(|device| device.id == id) {
            return Some(resource::device(device, devices, plans));
        }
        let is_it = |other: &String| other == id;
        if let Some(index) = resource::group_ids(groups).iter().position(is_it) {
            return Some(resource::group(&groups[index], id, devices, plans));
        }
        let index = resource::scene_ids(scenes).iter().position(is_it)?;
        Some(resource::scene(&scenes[index], id))
    }

    /// Serves MCP on a stream, one JSON-RPC message a line, until its far end closes it or a fault does. A client
    /// that sends another `initialize` gets a new session; the calls of the former one are cancelled.
    pub async fn serve(self, stream: impl AsyncRead + AsyncWrite + Send + 'static) {
        wire::serve(self, stream).await;
    }

    /// The hub's end of a new line to it, served in the background until it is dropped.
    pub fn connect(&self) -> DuplexStream {
        let (ours, theirs) = tokio::io::duplex(LINE);
        tokio::spawn(self.clone().serve(theirs));
        ours
    }
}
