//! One hub in this process.

use std::cell::Cell;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use embedded_io_async::{Read, Write};
use embedded_storage_async::nor_flash::MultiwriteNorFlash;
use host_desktop::broker::BrokerUrl;
use host_desktop::clock::unix_seconds;
use hub_core::platform::{Credentials, Pattern};
use hub_core::{
    Broker, Config, DEFAULT_TOOL_PREFIX, Dial, Hub, HubId, Memory, Network, Platform, SERIAL_HINT,
};
use tokio::sync::Notify;

use crate::boot::BootMemory;

/// What a hub is started with. Settings that somebody has set in its flash come first.
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
    /// Whether it announces itself to Home Assistant, unless the setting says otherwise.
    pub discovery: bool,
    /// Whether the hub may use the desktop's clock. A board has none, and has to be told the time.
    pub has_clock: bool,
    /// The name of its Wi-Fi network, and the password.
    pub wifi: (String, String),
    /// Its button and its lamp.
    pub panel: Panel,
    /// What it knows of its last start.
    pub boot: BootMemory,
}

/// The front of a hub. Clones are the same one.
#[derive(Clone, Debug, Default)]
pub struct Panel(Arc<Mutex<(bool, Option<Pattern>)>>);

impl Panel {
    /// Somebody presses the button, or lets it go.
    pub fn press(&self, is_pressed: bool) {
        self.state().0 = is_pressed;
    }

    /// What the lamp shows.
    pub fn lamp(&self) -> Option<Pattern> {
        self.state().1
    }

    fn state(&self) -> MutexGuard<'_, (bool, Option<Pattern>)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
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
            discovery: true,
            has_clock: true,
            wifi: Default::default(),
            panel: Panel::default(),
            boot: BootMemory::default(),
        }
    }
}

/// The id that a hub of these settings has: the one that was set in its flash, or else the one that it is started with.
pub async fn id(settings: &Settings, flash: &mut impl MultiwriteNorFlash) -> String {
    let Some(id) = HubId::new(&settings.hub_id) else { return settings.hub_id.clone() };
    let mut memory = Box::new(Memory::new());
    Hub::new(Config { id, ..Config::DEFAULT }, &mut memory).prepare(flash).await.id.as_str().into()
}

/// Runs a hub for ever. When it restarts, it begins again with what is in `flash`. `seed` decides its random waits.
///
/// # Panics
/// If the hub's id is not valid.
pub async fn run(
    settings: &Settings,
    uart: (impl Read, impl Write),
    console: (impl Read, impl Write),
    mut dial: impl Dial,
    network: impl Network,
    mut flash: impl MultiwriteNorFlash,
    seed: u64,
) -> ! {
    let url = settings.broker.url();
    let login = settings.broker.login.as_ref();
    let (user, password) = login.map_or(("", ""), |(user, password)| (user.as_str(), password.as_str()));
    let system_zone = jiff::tz::TimeZone::system();
    let config = Config {
        id: HubId::new(&settings.hub_id).expect("a hub id has 1 to 32 letters, digits, '-' and '_'"),
        target: "sim",
        wifi: Credentials { ssid: &settings.wifi.0, password: &settings.wifi.1 },
        broker: Broker { url: &url, user, password, ca: &settings.broker.ca.base64 },
        time_zone: system_zone.iana_name().unwrap_or("UTC"),
        tool_prefix: &settings.tool_prefix,
        rule: &settings.rule,
        controller_hint: &settings.controller_hint,
        example_tools: settings.example_tools,
        discovery: settings.discovery,
        ..Config::DEFAULT
    };
    let ((mut rx, mut tx), (mut keyboard, mut screen)) = (uart, console);
    let mut memory = Box::new(Memory::new());
    let desktop = Desktop {
        seed: Cell::new(seed),
        has_clock: settings.has_clock,
        volume: Cell::new(50),
        restart: Notify::new(),
        panel: settings.panel.clone(),
        boot: settings.boot.clone(),
    };
    loop {
        let boot = desktop.boot.begin();
        let mut hub = Hub::new(Config { boot, ..config }, &mut memory);
        let console = (&mut keyboard, &mut screen);
        // Tens of kilobytes: in the heap, since a debug build copies it into the stack frame of all that wait for it, and the
        // stack of a test's thread is soon full of that.
        let running = Box::pin(async {
            if boot.is_safe_mode() {
                hub.run_safe(console, &network, &mut flash, &desktop).await
            } else {
                hub.run((&mut rx, &mut tx), console, &mut dial, &network, &mut flash, &desktop).await
            }
        });
        tokio::select! {
            biased;
            () = desktop.restart.notified() => {
                desktop.boot.restarting();
                desktop.seed.set(desktop.seed.get().wrapping_add(1 << 32));
            }
            never = running => never,
        }
    }
}

/// The desktop as the hub's platform.
struct Desktop {
    /// Differs from start to start.
    seed: Cell<u64>,
    has_clock: bool,
    volume: Cell<u8>,
    restart: Notify,
    panel: Panel,
    boot: BootMemory,
}

impl Platform for &Desktop {
    fn seed(&self) -> u64 {
        self.seed.get()
    }

    fn wall_clock(&self) -> Option<i64> {
        if self.has_clock { unix_seconds() } else { None }
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

    fn settled(&self) {
        self.boot.settled();
    }

    fn is_button_pressed(&self) -> bool {
        self.panel.state().0
    }

    fn indicate(&self, pattern: Pattern) {
        self.panel.state().1 = Some(pattern);
    }
}
