//! The simulated home, as other modules use it.

use std::sync::Arc;

use tokio::io::{AsyncRead, AsyncWrite, DuplexStream};

use super::device::{Device, DeviceState};
use super::faults::Faults;
use super::gateway::Gateway;
use super::inventory;
use super::latency::Latency;
use super::plans::Plans;
use super::press::Press;
use super::record::Record;
use super::simulation::Simulation;

/// A simulated home behind a Z-Wave controller. Cloning it gives another handle to the same.
#[derive(Clone, Debug)]
pub struct Home {
    simulation: Arc<Simulation>,
    gateway: Gateway,
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
        let simulation = Arc::new(Simulation::new(latency));
        let plans = Plans { scenes: inventory::scenes(), groups: Vec::new() };
        let gateway = Gateway::new(simulation.clone(), plans, faults);
        Self { simulation, gateway }
    }

    /// With scenes and groups of the owner beside its own. The lines to the former stay as they were.
    #[must_use]
    pub fn with_plans(self, plans: Plans) -> Self {
        let mut all = Plans::clone(&self.gateway.plans);
        all.add(plans);
        let gateway = Gateway { plans: Arc::new(all), ..self.gateway };
        Self { gateway, ..self }
    }

    /// With another device.
    #[must_use]
    pub fn with_device(self, device: Device) -> Self {
        self.simulation.add(device);
        self
    }

    /// The faults of the lines to it.
    pub fn faults(&self) -> &Faults {
        &self.gateway.faults
    }

    /// The calls that reached it.
    pub fn record(&self) -> &Record {
        &self.gateway.record
    }

    /// What serves it.
    pub fn gateway(&self) -> &Gateway {
        &self.gateway
    }

    /// All devices, in their current state.
    pub fn devices(&self) -> Vec<Device> {
        self.simulation.all().clone()
    }

    /// The device with this name, in any case.
    pub fn device(&self, name: &str) -> Option<Device> {
        let wanted = name.trim().to_lowercase();
        self.simulation.all().iter().find(|device| device.name.to_lowercase() == wanted).cloned()
    }

    /// Somebody in the house acts on a device, past the controller: presses the switch on the wall, turns the key, walks
    /// past the sensor. Those who watch are told at once. Returns the device as it is now; None if there is no such one, or
    /// nothing on it to press.
    pub fn press(&self, name: &str) -> Option<Device> {
        self.touch(name, DeviceState::pressed)
    }

    /// Somebody presses one of the buttons of a scene controller. None if there is no such one, or no such button on it.
    pub fn press_button(&self, name: &str, button: u16, press: Press) -> Option<Device> {
        self.touch(name, |state| state.pressed_button(button, press))
    }

    fn touch(&self, name: &str, to: impl FnOnce(DeviceState) -> Option<DeviceState>) -> Option<Device> {
        let device = self.device(name)?;
        self.simulation
            .change(device.node, |device| {
                let state = to(device.state).ok_or("nothing to press")?;
                Ok(Device { state, ..device })
            })?
            .ok()?;
        self.device(name)
    }

    /// Takes the power from a device, or gives it back.
    pub fn set_alive(&self, name: &str, is_alive: bool) -> Option<Device> {
        let device = self.device(name)?;
        self.simulation.change(device.node, |device| Ok(Device { is_alive, ..device }))?.ok()?;
        self.device(name)
    }

    /// Serves MCP on a stream, as [`Gateway::serve`] does.
    pub async fn serve(self, stream: impl AsyncRead + AsyncWrite + Send + 'static) {
        self.gateway.serve(stream).await;
    }

    /// The hub's end of a new line to it, served in the background until it is dropped.
    pub fn connect(&self) -> DuplexStream {
        self.gateway.connect()
    }
}
