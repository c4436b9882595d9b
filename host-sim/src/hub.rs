//! One hub in this process.

use std::cell::Cell;
use std::time::{SystemTime, UNIX_EPOCH};

use embedded_io_async::{Read, Write};
use embedded_storage_async::nor_flash::MultiwriteNorFlash;
use hub_core::{
    Broker, Config, DEFAULT_TOOL_PREFIX, Dial, Hub, HubId, Memory, Platform, SERIAL_HINT, WallClock,
};
use tokio::sync::Notify;

use crate::network::BrokerUrl;

/// The settings of a hub.
#[derive(Clone)]
pub struct Settings {
    /// The hub's name in every topic.
    pub hub_id: String,
    /// Where its broker is.
    pub broker: BrokerUrl,
    /// The prefix of the names of its own tools.
    pub tool_prefix: String,
    /// The default rule for conversations, as JSON; the built-in one if it is empty.
    pub rule: String,
    /// What to check when the controller is not reached.
    pub controller_hint: String,
    /// Whether the example tools are there.
    pub example_tools: bool,
}

impl Settings {
    /// A hub `hub_id` whose broker is in this process.
    pub fn in_memory(hub_id: &str) -> Self {
        Self {
            hub_id: hub_id.into(),
            broker: BrokerUrl::in_memory(),
            tool_prefix: DEFAULT_TOOL_PREFIX.into(),
            rule: String::new(),
            controller_hint: SERIAL_HINT.into(),
            example_tools: false,
        }
    }
}

/// Runs a hub for ever. When it restarts, it begins again with what is in `flash`. `seed` decides its random waits.
///
/// # Panics
/// If the hub's id is not valid.
pub async fn run(
    settings: &Settings,
    uart: (impl Read, impl Write),
    mut dial: impl Dial,
    mut flash: impl MultiwriteNorFlash,
    seed: u64,
) -> ! {
    let broker = &settings.broker;
    let config = Config {
        id: HubId::new(&settings.hub_id).expect("a hub id has 1 to 32 letters, digits, '-' and '_'"),
        target: "sim",
        broker: Broker {
            host: &broker.host,
            port: broker.port,
            login: broker.login.as_ref().map(|(user, password)| (user.as_str(), password.as_str())),
        },
        tool_prefix: &settings.tool_prefix,
        rule: &settings.rule,
        controller_hint: &settings.controller_hint,
        example_tools: settings.example_tools,
    };
    let (mut rx, mut tx) = uart;
    let mut memory = Box::new(Memory::new());
    let desktop = Desktop { seed, volume: Cell::new(50), restart: Notify::new() };
    loop {
        let mut hub = Hub::new(config, &mut memory);
        tokio::select! {
            biased;
            () = desktop.restart.notified() => {}
            never = hub.run((&mut rx, &mut tx), &mut dial, &mut flash, &desktop) => never,
        }
    }
}

/// The desktop as the hub's platform.
struct Desktop {
    seed: u64,
    volume: Cell<u8>,
    restart: Notify,
}

impl Platform for &Desktop {
    fn seed(&self) -> u64 {
        self.seed
    }

    fn wall_clock(&self) -> Option<WallClock> {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).ok()?;
        let offset = jiff::Zoned::now().offset().seconds() / 60;
        let utc_offset_minutes = offset.try_into().unwrap_or_default();
        Some(WallClock { unix_seconds: since.as_secs().try_into().ok()?, utc_offset_minutes })
    }

    fn volume(&self) -> u8 {
        self.volume.get()
    }

    fn set_volume(&self, percent: u8) {
        self.volume.set(percent);
    }

    fn restart(&self) {
        self.restart.notify_one();
    }
}
