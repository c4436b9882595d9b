//! The simulated home, as other modules use it.

use std::sync::Arc;

use tokio::io::{AsyncRead, AsyncWrite, DuplexStream};

use super::controller::Controller;
use super::device::Device;
use super::faults::Faults;
use super::latency::Latency;
use super::record::Record;
use super::wire;

/// Room on the line to a hub in the same process.
const LINE: usize = 64 * 1024;

/// A home behind a Z-Wave controller. Cloning it gives another handle to the same.
#[derive(Clone, Debug)]
pub struct Home(Arc<Parts>);

#[derive(Debug)]
struct Parts {
    controller: Controller,
    record: Record,
    faults: Faults,
}

/// A new home, in which commands take as long as in a real one.
impl Default for Home {
    fn default() -> Self {
        Self::new(0)
    }
}

impl Home {
    /// A new home, in which commands take as long as in a real one. The seed decides how long exactly, and the
    /// details of the faults.
    pub fn new(seed: u64) -> Self {
        Self::with(seed, Latency::real(seed))
    }

    /// A new home, in which nothing takes time. The seed decides the details of the faults.
    pub fn fast(seed: u64) -> Self {
        Self::with(seed, Latency::fast())
    }

    fn with(seed: u64, latency: Latency) -> Self {
        // Faults do not change how long commands take.
        let faults = Faults::new(!seed);
        Self(Arc::new(Parts { controller: Controller::new(latency), record: Record::default(), faults }))
    }

    /// The faults of the lines to it.
    pub fn faults(&self) -> &Faults {
        &self.0.faults
    }

    /// The calls that reached it.
    pub fn record(&self) -> &Record {
        &self.0.record
    }

    pub(super) fn controller(&self) -> &Controller {
        &self.0.controller
    }

    /// All devices, in their current state.
    pub fn devices(&self) -> Vec<Device> {
        self.0.controller.devices().clone()
    }

    /// The device with this name, in any case.
    pub fn device(&self, name: &str) -> Option<Device> {
        self.0.controller.device(name)
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
