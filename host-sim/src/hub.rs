//! One hub in this process.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};

use embedded_io_async::{Read, Write};
use hub_core::{Broker, Config, Dial, Hub, HubId, Memory, Platform};

/// Where the broker is, and who the hub is there.
#[derive(Clone)]
pub struct Settings {
    /// The hub's name in every topic.
    pub hub_id: String,
    /// The broker's name or address.
    pub host: String,
    /// The broker's port.
    pub port: u16,
    /// User name and password.
    pub login: Option<(String, String)>,
}

impl Settings {
    /// A hub `hub_id` whose broker is in this process, where host and port mean nothing.
    pub fn in_memory(hub_id: &str) -> Self {
        Self { hub_id: hub_id.into(), host: "in-memory".into(), port: 1883, login: None }
    }
}

/// Runs a hub for ever. `seed` decides its random waits.
///
/// # Panics
/// If the id is not a valid one.
pub async fn run(settings: &Settings, uart: (impl Read, impl Write), dial: impl Dial, seed: u64) -> ! {
    let config = Config {
        id: HubId::new(&settings.hub_id).expect("a hub id has 1 to 32 letters, digits, '-' and '_'"),
        target: "sim",
        broker: Broker {
            host: &settings.host,
            port: settings.port,
            login: settings.login.as_ref().map(|(user, password)| (user.as_str(), password.as_str())),
        },
    };
    let mut memory = Box::new(Memory::new());
    Hub::new(config, &mut memory).run(uart, dial, Desktop { seed }).await
}

/// A seed that differs from run to run.
pub fn random_seed() -> u64 {
    RandomState::new().build_hasher().finish()
}

struct Desktop {
    seed: u64,
}

impl Platform for Desktop {
    fn seed(&self) -> u64 {
        self.seed
    }
}
