//! Home Assistant's MQTT discovery: announces the hub and its devices, so that they appear there by themselves.
//!
//! ```text
//!   PREFIX/device/HUB/config              the hub
//!   PREFIX/device/HUB/DEVICE/config       a device of the home
//! ```
//!
//! Each announcement is one retained message that says where a thing's state is published, how to read it, and what to
//! publish to command it. An empty message removes the thing. It is sent only if the broker retains an announcement,
//! because Home Assistant logs a warning otherwise. An announcement is composed when it is sent, straight into the
//! packet. What it consists of are rows of JSON, in which `@` stands for the hub's id and `$` for the device's.
//!
//! Commands are sent at most once: one that waits at the broker until the hub is back would surprise people.

mod device_entities;
mod hub_entities;

#[cfg(test)]
mod tests;

use core::cell::{Cell, RefCell};
use core::fmt::Write as _;

use embedded_storage_async::nor_flash::MultiwriteNorFlash;
use heapless::String;

pub use self::hub_entities::About;
use crate::config::{Config, HubId};
use crate::hash::Fingerprint;
use crate::home::Device;
use crate::json::{Overflow, Writer};
use crate::limits;
use crate::mqtt::Topic;
use crate::settings::{HOMEASSISTANT_DEVICES, HOMEASSISTANT_DISCOVERY, HOMEASSISTANT_PREFIX};
use crate::store::Store;

/// Who announces, in every announcement.
const ORIGIN: &str = concat!(r#""o":{"name":"Hearthwave","sw":""#, env!("CARGO_PKG_VERSION"), r#""}"#);

/// Where Home Assistant says that it has started, whatever its discovery prefix is.
pub const STATUS: &str = "homeassistant/status";

/// What is announced, and where. All zeros when new: nothing is.
pub struct Discovery {
    prefix: RefCell<String<{ limits::DISCOVERY_PREFIX }>>,
    is_on: Cell<bool>,
    has_devices: Cell<bool>,
    hub_is_due: Cell<bool>,
    /// Whether the broker retains the hub's announcement although the hub is not to be announced.
    hub_is_left: Cell<bool>,
    /// Whether the retained announcements have to be compared with the current ones.
    sweep_is_due: Cell<bool>,
}

impl Discovery {
    /// Nothing is announced.
    pub const fn new() -> Self {
        Self {
            prefix: RefCell::new(String::new()),
            is_on: Cell::new(false),
            has_devices: Cell::new(false),
            hub_is_due: Cell::new(false),
            hub_is_left: Cell::new(false),
            sweep_is_due: Cell::new(false),
        }
    }

    /// Reads the settings at the start. The prefix holds until the next one.
    pub async fn start<F: MultiwriteNorFlash>(&self, store: &mut Store<'_, F>, config: &Config<'_>) {
        let prefix = HOMEASSISTANT_PREFIX.value(store, config).await;
        let prefix = if prefix.is_empty() { "homeassistant" } else { &*prefix };
        // The row takes only what fits.
        self.prefix.replace(String::try_from(prefix).unwrap_or_default());
        self.apply(store, config).await;
    }

    /// Reads the settings that somebody has changed. The hub and all devices have to be announced again then, or removed.
    pub async fn apply<F: MultiwriteNorFlash>(&self, store: &mut Store<'_, F>, config: &Config<'_>) {
        self.is_on.set(HOMEASSISTANT_DISCOVERY.get(store, config).await);
        self.has_devices.set(HOMEASSISTANT_DEVICES.get(store, config).await);
        self.announce_hub();
        self.sweep_if_off();
    }

    /// Requests a sweep if devices are not announced, so that announcements of any age are removed. Called when a
    /// connection begins or a setting has changed.
    pub fn sweep_if_off(&self) {
        if !self.announces_devices() {
            self.sweep_later();
        }
    }

    /// Whether the retained announcements have to be compared with the current ones. Clears the flag.
    pub fn take_sweep(&self) -> bool {
        self.sweep_is_due.take()
    }

    /// Requests that comparison, also if it could not be completed.
    pub fn sweep_later(&self) {
        self.sweep_is_due.set(true);
    }

    /// Whether something is announced at all.
    pub fn is_on(&self) -> bool {
        self.is_on.get()
    }

    /// The hub has to be announced again, or removed.
    pub fn announce_hub(&self) {
        self.hub_is_due.set(true);
    }

    /// Whether the hub has to be announced or removed. Clears the flags. If the broker `is_retaining`, the hub is
    /// removed only after its announcement was [found](Self::hub_is_left) there.
    pub fn take_hub(&self, is_retaining: bool) -> bool {
        let is_left = self.hub_is_left.take();
        self.hub_is_due.take() && (self.is_on() || is_left || !is_retaining)
    }

    /// Notes that the broker retains the hub's announcement although it is not wanted.
    pub fn hub_is_left(&self) {
        self.hub_is_left.set(true);
        self.announce_hub();
    }

    /// The filter for all announcements of this hub.
    pub fn topics(&self, hub: HubId<'_>) -> Topic {
        self.topic(&["/device/", hub.as_str(), "/#"])
    }

    /// The thing that is announced on `topic`: an empty string for the hub, or a device id as it appears in the topic.
    pub fn announced_on<'t>(&self, hub: HubId<'_>, topic: &'t str) -> Option<&'t str> {
        let prefix = self.prefix.try_borrow().ok()?;
        let rest = topic.strip_prefix(&**prefix)?.strip_prefix("/device/")?.strip_prefix(hub.as_str())?;
        let of = rest.strip_suffix("/config")?;
        if of.is_empty() { Some(of) } else { of.strip_prefix('/') }
    }

    /// Where the hub is announced.
    pub fn hub_topic(&self, hub: HubId<'_>) -> Topic {
        self.topic(&["/device/", hub.as_str(), "/config"])
    }

    /// Where a device is announced.
    pub fn device_topic(&self, hub: HubId<'_>, id: &str) -> Topic {
        let mut name = String::<{ limits::DEVICE_ID + HASH }>::new();
        // Home Assistant takes no others.
        for letter in id.chars().map(|letter| if ".:".contains(letter) { '_' } else { letter }) {
            let _ = name.push(letter);
        }
        // `a.b`, `a:b` and `a_b` are three devices.
        if name != id {
            let _ = write!(name, "-{:08x}", Fingerprint::of(&[id.as_bytes()]) as u32);
        }
        self.topic(&["/device/", hub.as_str(), "/", &name, "/config"])
    }

    /// Writes the announcement of the hub; nothing if it is to be removed.
    pub fn write_hub(&self, about: &About<'_>, buffer: &mut [u8]) -> Result<usize, Overflow> {
        if !self.is_on.get() {
            return Ok(0);
        }
        let mut writer = Writer::new(buffer);
        hub_entities::write(about, &mut writer);
        writer.finish()
    }

    /// Whether the announcement of a device stays as it is: Home Assistant can show nothing of the device as it is described
    /// now. An empty announcement would remove it, with all that people have set for it there.
    pub fn keeps_announcement(&self, device: &Device<'_>) -> bool {
        self.announces_devices() && !device_entities::has_components(device)
    }

    /// Whether devices are announced.
    pub fn announces_devices(&self) -> bool {
        self.is_on.get() && self.has_devices.get()
    }

    /// Writes the announcement of a device; nothing if it is to be removed.
    pub fn write_device(
        &self,
        hub: HubId<'_>,
        device: Option<&Device<'_>>,
        buffer: &mut [u8],
    ) -> Result<usize, Overflow> {
        let Some(device) = device.filter(|_| self.announces_devices()) else { return Ok(0) };
        let mut writer = Writer::new(buffer);
        device_entities::write(hub, device, &mut writer);
        writer.finish()
    }

    fn topic(&self, parts: &[&str]) -> Topic {
        let mut topic = Topic::new();
        if let Ok(prefix) = self.prefix.try_borrow() {
            let _ = topic.push_str(&prefix);
        }
        for part in parts {
            // All fit, as is asserted below.
            let _ = topic.write_str(part);
        }
        topic
    }
}

/// What a topic has behind an id that Home Assistant would not take.
const HASH: usize = "-01234567".len();

const _: () = assert!(
    limits::DISCOVERY_PREFIX + "/device///config".len() + limits::HUB_ID + limits::DEVICE_ID + HASH
        <= limits::RESPONSE_TOPIC
);
