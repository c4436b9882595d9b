//! The MCP server in front of a controller, simulated or real, with the line that it is served on.

use std::sync::Arc;

use tokio::io::{AsyncRead, AsyncWrite, DuplexStream};

use super::controller::Controller;
use super::faults::Faults;
use super::plans::Plans;
use super::record::Record;
use super::run::Toolbox;
use super::wire;

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
