//! The simulated home as the rest of the program sees it.

use std::sync::Arc;

use tokio::io::{AsyncRead, AsyncWrite, DuplexStream};

use super::device::Device;
use super::faults::Faults;
use super::house::House;
use super::names;
use super::pace::Pace;
use super::record::Record;
use super::wire;

/// Room on the line to a hub in the same process.
const LINE: usize = 64 * 1024;

/// A home behind a Z-Wave controller. Cloning it gives another handle to the same.
#[derive(Clone, Debug)]
pub struct Home(Arc<Parts>);

#[derive(Debug)]
struct Parts {
    house: House,
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
        Self::with(seed, Pace::real(seed))
    }

    /// A new home, in which nothing takes time. The seed decides the details of the faults.
    pub fn fast(seed: u64) -> Self {
        Self::with(seed, Pace::fast())
    }

    fn with(seed: u64, pace: Pace) -> Self {
        // Faults do not change how long commands take.
        let faults = Faults::new(!seed);
        Self(Arc::new(Parts { house: House::new(pace), record: Record::default(), faults }))
    }

    /// What goes wrong on the lines to it.
    pub fn faults(&self) -> &Faults {
        &self.0.faults
    }

    /// The calls that reached it.
    pub fn record(&self) -> &Record {
        &self.0.record
    }

    pub(super) fn house(&self) -> &House {
        &self.0.house
    }

    /// All devices, as they stand.
    pub fn devices(&self) -> Vec<Device> {
        self.0.house.devices().clone()
    }

    /// The device with this name, in any case.
    pub fn device(&self, name: &str) -> Option<Device> {
        let devices = self.0.house.devices();
        let found = names::find(name, devices.iter().map(|device| device.name));
        devices.iter().find(|device| Some(device.name) == found).cloned()
    }

    /// Serves MCP on a stream, one JSON-RPC message a line, until its far end closes it or a fault does. A client
    /// that begins anew with `initialize` gets a session of its own; what the one before waited for is called off.
    pub async fn serve(self, stream: impl AsyncRead + AsyncWrite + Send + 'static) {
        wire::serve(self, stream).await;
    }

    /// The hub's end of a new line to it, served in the background until it is dropped.
    pub fn connect(&self) -> DuplexStream {
        let (ours, theirs) = tokio::io::duplex(LINE);
        tokio::spawn(self.clone().serve(theirs));
        ours
    }

    /// The hub's end of a line to a new home.
    pub fn start() -> DuplexStream {
        Self::default().connect()
    }
}
