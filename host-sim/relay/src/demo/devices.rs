//! The devices of the home, as far as the model knows them, and finding those that a person names.

use serde_json::Value;

use super::conversation::{Conversation, result};
use super::grammar::Target;

/// A device.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Device {
    pub(super) name: String,
    pub(super) room: String,
    pub(super) kind: String,
    /// Null if it is not known.
    pub(super) state: Value,
    pub(super) is_dead: bool,
}

/// The devices that the model knows.
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
    pub(super) fn is_of(self, kind: &str) -> bool {
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
    let mut listed = lists.filter_map(|made| listed(&made.result.as_ref()?.content));
    match listed.next_back() {
        Some((devices, true)) => Known::listed(devices),
        Some((mut devices, false)) => {
            // The hub cuts old results when room is short. If this is the simulated home, the rest is known by name.
            let home = simulated();
            let is_simulated =
                devices.iter().all(|device| home.iter().any(|other| other.name == device.name));
            let rest = home
                .into_iter()
                .filter(|_| is_simulated)
                .filter(|other| devices.iter().all(|device| device.name != other.name));
            let rest: Vec<_> = rest.collect();
            devices.extend(rest);
            Known::listed(devices)
        }
        None => Known { devices: simulated(), is_listed: false },
    }
}

/// The devices of the simulated home, which the model knows by heart: name, room and kind. `tests/demo` holds them against it.
pub const HOME: [(&str, &str, &str); 20] = [
    ("Switch One", "Living Room", "switch"),
    ("Ceiling Lamp", "Living Room", "dimmer"),
    ("Floor Lamp", "Living Room", "switch"),
    ("Living Room Thermostat", "Living Room", "thermostat"),
    ("Living Room Window", "Living Room", "contact_sensor"),
    ("Kitchen Light", "Kitchen", "switch"),
    ("Coffee Machine", "Kitchen", "switch"),
    ("Kitchen Temperature", "Kitchen", "temperature_sensor"),
    ("Hall Light", "Hall", "dimmer"),
    ("Hall Motion", "Hall", "motion_sensor"),
    ("Front Door", "Hall", "lock"),
    ("Front Door Contact", "Hall", "contact_sensor"),
    ("Bedside Lamp", "Bedroom", "dimmer"),
    ("Bedroom Temperature", "Bedroom", "temperature_sensor"),
    ("Porch Light", "Outside", "switch"),
    ("Porch Motion", "Outside", "motion_sensor"),
    ("Garden Pump", "Outside", "switch"),
    ("Porch Awning", "Outside", "cover"),
    ("Alarm Siren", "Hall", "siren"),
    ("Bedside Button", "Bedroom", "button"),
];

fn simulated() -> Vec<Device> {
    let devices = HOME.map(|(name, room, kind)| Device {
        name: name.into(),
        room: room.into(),
        kind: kind.into(),
        state: Value::Null,
        is_dead: false,
    });
    devices.into()
}

/// The devices in a result, and whether that is all of it: of one that was cut, those before the cut.
pub(super) fn listed(content: &Value) -> Option<(Vec<Device>, bool)> {
    if let Some(devices) = result(content)["devices"].as_array() {
        return Some((devices.iter().filter_map(device).collect(), true));
    }
    let (_, devices) = content.as_str()?.split_once("\"devices\":[")?;
    let mut rest = devices.trim_start_matches(',');
    let mut found = Vec::new();
    loop {
        let mut values = serde_json::Deserializer::from_str(rest).into_iter::<Value>();
        let Some(Ok(value)) = values.next() else { break };
        found.extend(device(&value));
        rest = rest[values.byte_offset()..].trim_start_matches(',');
    }
    (!found.is_empty()).then_some((found, false))
}

fn device(listed: &Value) -> Option<Device> {
    let text = |name: &str| listed[name].as_str().unwrap_or_default().to_owned();
    Some(Device {
        name: listed["name"].as_str()?.into(),
        room: text("room"),
        kind: text("kind"),
        state: listed["state"].clone(),
        is_dead: listed["dead"] == true,
    })
}

impl Device {
    /// Whether people call it a light.
    pub(super) fn is_light(&self) -> bool {
        let name = self.name.to_lowercase();
        let is_named =
            name.split_whitespace().any(|word| ["light", "lamp", "lights", "lamps"].contains(&word));
        is_named || self.kind == "dimmer"
    }
}

/// The devices that a person named.
#[derive(Debug, PartialEq)]
pub(super) enum Matched<'a> {
    All(Vec<&'a Device>),
    /// One of these.
    Ambiguous(Vec<&'a Device>),
    None,
}

impl Known {
    pub(super) fn listed(devices: Vec<Device>) -> Self {
        Self { devices, is_listed: true }
    }

    /// The devices that a target names and that have an ability.
    pub(super) fn find(&self, target: &Target, ability: Ability) -> Matched<'_> {
        let (left_out, _) = self.named(&target.except);
        let is_able = |device: &&Device| ability.is_of(&device.kind) && !left_out.contains(device);
        let able = || self.devices.iter().filter(is_able);
        let name = target.words.join(" ");
        if let Some(device) = able().find(|device| device.name.to_lowercase() == name) {
            return Matched::All(vec![device]);
        }
        let those: Vec<_> = able().filter(|device| fits(device, &target.words)).collect();
        match those.len() {
            0 => Matched::None,
            1 => Matched::All(those),
            _ if target.is_plural => Matched::All(those),
            _ => Matched::Ambiguous(those),
        }
    }

    /// The devices that are named one after the other, by name, room or kind; and the words that name none.
    pub(super) fn named(&self, words: &[String]) -> (Vec<&Device>, Vec<String>) {
        let (mut found, mut unknown) = (Vec::new(), Vec::new());
        for phrase in words.split(|word| ["and", "or", "nor", "|"].contains(&word.as_str())) {
            let target = Target::new(phrase);
            let mut rest = target.words.as_slice();
            while !rest.is_empty() {
                let fitting =
                    |length: &usize| self.devices.iter().any(|device| fits(device, &rest[..*length]));
                match (1..=rest.len()).rev().find(fitting) {
                    Some(length) => {
                        let name = rest[..length].join(" ");
                        let is_it = |device: &&Device| device.name.to_lowercase() == name;
                        match self.devices.iter().find(is_it) {
                            Some(device) => found.push(device),
                            None => found
                                .extend(self.devices.iter().filter(|device| fits(device, &rest[..length]))),
                        }
                        rest = &rest[length..];
                    }
                    None => {
                        unknown.push(rest[0].clone());
                        rest = &rest[1..];
                    }
                }
            }
        }
        (found, unknown)
    }
}

/// Whether every word is one of the device's name, its room or its kind.
fn fits(device: &Device, words: &[String]) -> bool {
    let own = format!("{} {}", device.name, device.room).to_lowercase();
    let has = |word: &str| own.split_whitespace().any(|other| other == word);
    words.iter().all(|word| match word.as_str() {
        "light" | "lamp" | "lighting" => device.is_light(),
        "everything" | "all" => matches!(device.kind.as_str(), "switch" | "dimmer"),
        "device" | "sensor" => true,
        "lock" => device.kind == "lock",
        "thermostat" | "heating" | "heater" => device.kind == "thermostat",
        "motion" | "movement" => device.kind == "motion_sensor",
        word => has(word),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn of_a_list_that_was_cut_the_beginning_counts() {
        let cut = r#"{"success":true,"result":{"devices":[{"kind":"switch","name":"Fan","state":{"on":true}},{"kind":"sw... [cut"#;
        let (devices, is_all) = listed(&json!(cut)).expect("some");
        assert_eq!((devices.len(), devices[0].name.as_str(), is_all), (1, "Fan", false));
        assert_eq!(listed(&json!("... [cut: the rest did not fit]")), None);
    }

    #[test]
    fn things_are_named_one_after_the_other() {
        let known = Known::listed(simulated());
        for (said, names, unknown) in [
            ("hall light fan", "Hall Light", "fan"),
            ("the light in the hall", "Hall Light", ""),
            ("floor lamp bedside lamp", "Floor Lamp, Bedside Lamp", ""),
            ("front door", "Front Door", ""),
            ("kitchen", "Kitchen Light, Coffee Machine, Kitchen Temperature", ""),
            ("submarine", "", "submarine"),
        ] {
            let words: Vec<String> = said.split(' ').map(str::to_owned).collect();
            let (found, lost) = known.named(&words);
            let found: Vec<_> = found.iter().map(|device| device.name.as_str()).collect();
            assert_eq!((found.join(", ").as_str(), lost.join(" ").as_str()), (names, unknown), "{said}");
        }
    }
}
