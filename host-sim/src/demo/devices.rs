//! The devices of the home, as far as the model can know them, and which of them is meant.

use serde_json::Value;

use super::conversation::Conversation;
use super::grammar::Target;
use crate::zwave::Home;

/// A device.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Device {
    pub(super) name: String,
    pub(super) room: String,
    pub(super) kind: String,
    pub(super) state: Value,
}

/// What is known about the home.
#[derive(Debug)]
pub(super) struct Known {
    pub(super) devices: Vec<Device>,
    /// Whether the controller has listed them. Otherwise they are those of the simulated home.
    pub(super) is_listed: bool,
}

/// What a device can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ability {
    Power,
    Level,
    Lock,
    Open,
    Motion,
    Temperature,
    Anything,
}

impl Ability {
    fn is_of(self, kind: &str) -> bool {
        match self {
            Self::Power => matches!(kind, "switch" | "dimmer"),
            Self::Level => kind == "dimmer",
            Self::Lock => kind == "lock",
            Self::Open => kind == "contact_sensor",
            Self::Motion => kind == "motion_sensor",
            Self::Temperature => matches!(kind, "temperature_sensor" | "thermostat"),
            Self::Anything => true,
        }
    }
}

/// The devices that the controller listed last, or else those of the simulated home.
pub(super) fn known(conversation: &Conversation) -> Known {
    // A list of some devices is not one of all.
    let is_whole = |arguments: &Value| arguments.as_object().is_none_or(serde_json::Map::is_empty);
    let lists = conversation
        .calls
        .iter()
        .filter(|made| made.call.name.ends_with("list_devices") && is_whole(&made.call.arguments));
    let mut listed = lists.filter_map(|made| {
        let content = &made.outcome.as_ref()?.content;
        let result = content.get("result").unwrap_or(content);
        Some(result["devices"].as_array()?.iter().filter_map(device).collect())
    });
    match listed.next_back() {
        Some(devices) => Known { devices, is_listed: true },
        None => {
            let devices = Home::fast(0).devices().into_iter().map(|device| Device {
                name: device.name.into(),
                room: device.room.into(),
                kind: device.state.kind().into(),
                state: device.state.json(),
            });
            Known { devices: devices.collect(), is_listed: false }
        }
    }
}

pub(super) fn device(listed: &Value) -> Option<Device> {
    let text = |name: &str| listed[name].as_str().unwrap_or_default().to_owned();
    Some(Device {
        name: listed["name"].as_str()?.into(),
        room: text("room"),
        kind: text("kind"),
        state: listed["state"].clone(),
    })
}

/// Who is meant.
#[derive(Debug, PartialEq)]
pub(super) enum Meant<'a> {
    These(Vec<&'a Device>),
    OneOf(Vec<&'a Device>),
    Nobody,
}

impl Known {
    /// The devices that are meant by a target and can do something.
    pub(super) fn meant(&self, target: &Target, ability: Ability) -> Meant<'_> {
        let able = || self.devices.iter().filter(|device| ability.is_of(&device.kind));
        let name = target.words.join(" ");
        if let Some(device) = able().find(|device| device.name.to_lowercase() == name) {
            return Meant::These(vec![device]);
        }
        let those: Vec<_> = able().filter(|device| fits(device, target)).collect();
        match those.len() {
            0 => Meant::Nobody,
            1 => Meant::These(those),
            _ if target.is_plural => Meant::These(those),
            _ => Meant::OneOf(those),
        }
    }
}

/// Whether every word is one of the device's name, its room or what it is.
fn fits(device: &Device, target: &Target) -> bool {
    let own = format!("{} {}", device.name, device.room).to_lowercase();
    let has = |word: &str| own.split_whitespace().any(|other| other == word);
    let is_light = has("light") || has("lamp") || device.kind == "dimmer";
    target.words.iter().all(|word| match word.as_str() {
        "light" | "lamp" => is_light,
        "everything" | "all" => matches!(device.kind.as_str(), "switch" | "dimmer"),
        "device" | "sensor" => true,
        "lock" => device.kind == "lock",
        "thermostat" | "heating" => device.kind == "thermostat",
        "motion" | "movement" => device.kind == "motion_sensor",
        word => has(word),
    })
}
