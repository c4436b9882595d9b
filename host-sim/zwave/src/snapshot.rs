//! A device as it stands: what tools and resources tell of it, whichever network it is in.

use std::fmt;

use serde_json::{Map, Value, json};

use super::device::{Command, FULL, Mode, NodeId};
use super::press::Buttons;

/// The kinds of devices, as `list_devices` has them.
pub(super) const KINDS: [&str; 17] = [
    "switch",
    "dimmer",
    "lock",
    "thermostat",
    "temperature_sensor",
    "motion_sensor",
    "contact_sensor",
    "color_light",
    "cover",
    "siren",
    "sensor",
    "leak_sensor",
    "smoke_sensor",
    "gas_sensor",
    "binary_sensor",
    "button",
    "unknown",
];

/// A device as it stands.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Snapshot {
    /// Its node and endpoint, like `5-0`.
    pub(super) id: String,
    /// Its number in the network.
    pub(super) node: NodeId,
    /// What people call it.
    pub(super) name: String,
    /// Where it is; empty if nobody has said so.
    pub(super) room: String,
    /// Its kind and its state.
    pub(super) status: Status,
    /// What else it measures.
    pub(super) readings: Vec<Reading>,
    /// Its buttons, if it sends scenes.
    pub(super) buttons: Option<Buttons>,
    /// How full its battery is, in percent, if it has one.
    pub(super) battery: Option<u8>,
    /// Whether it can be reached.
    pub(super) presence: Presence,
    /// When its state last changed, in seconds since the beginning of 1970, if that was seen.
    pub(super) changed: Option<i64>,
    /// What became of the last command to it.
    pub(super) last_command: LastCommand,
}

/// What became of the last command to a device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum LastCommand {
    /// There was none, or its outcome is known and in the state.
    #[default]
    Settled,
    /// Nobody knows whether the device did it, so its state is not known either.
    Unconfirmed,
    /// The device sleeps and gets it when it wakes.
    Pending,
    /// It was promised to a sleeping device and never delivered.
    Lost,
}

/// Whether a device can be reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Presence {
    /// It listens.
    Awake,
    /// It listens when it wakes.
    Asleep,
    /// It does not answer.
    Dead,
    /// Nobody knows: the network itself is not there.
    Lost,
}

/// The kind of a device, and its state; None where it has not told it.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Status {
    Switch(Option<bool>),
    Light {
        level: Option<u8>,
        has_color: bool,
        /// Six hexadecimal digits: red, green, blue.
        color: Option<String>,
    },
    Lock {
        is_locked: Option<bool>,
        is_jammed: bool,
    },
    Climate(Climate),
    Cover {
        /// 0 is closed, [`FULL`] is open.
        position: Option<u8>,
        is_moving: bool,
    },
    /// A garage door or a gate, which people come in by.
    Garage(Option<Barrier>),
    Siren(Option<bool>),
    /// Its readings are all there is.
    Sensor,
    Binary {
        class: Class,
        is_active: Option<bool>,
    },
    /// Its buttons are all there is.
    Button,
    /// Something that this program cannot drive.
    Unknown,
}

/// A thermostat's state, and what it can be set to.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Climate {
    pub(super) mode: Option<String>,
    pub(super) modes: Vec<Mode>,
    pub(super) setpoint: Option<f64>,
    pub(super) bounds: (f64, f64),
    pub(super) unit: String,
}

/// Where a garage door is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Barrier {
    Closed,
    Closing,
    /// On its way, and at which position if it knows that.
    Stopped(Option<u8>),
    Opening,
    Open,
}

/// What a binary sensor watches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    Motion,
    /// A door or anything else that opens. Active means open.
    Contact,
    /// A window. Active means open.
    Window,
    Leak,
    Smoke,
    Gas,
    Heat,
    Tamper,
    Other,
}

/// Something that a device measures.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Reading {
    pub(super) name: String,
    pub(super) value: f64,
    pub(super) unit: String,
}

impl Barrier {
    /// As a cover has it; None where it does not know it.
    const fn position(self) -> Option<u8> {
        match self {
            Self::Closed => Some(0),
            Self::Open => Some(FULL),
            Self::Stopped(position) => position,
            Self::Closing | Self::Opening => None,
        }
    }

    /// Its state in words, after "is".
    fn words(self) -> String {
        match self {
            Self::Closed => "closed".into(),
            Self::Closing => "closing".into(),
            Self::Stopped(None) => "stopped on its way".into(),
            Self::Stopped(Some(position)) => format!("stopped on its way, open to {position} of {FULL}"),
            Self::Opening => "opening".into(),
            Self::Open => "open".into(),
        }
    }
}

impl Class {
    /// Its name in resources.
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Motion => "motion",
            Self::Contact => "contact",
            Self::Window => "window",
            Self::Leak => "leak",
            Self::Smoke => "smoke",
            Self::Gas => "gas",
            Self::Heat => "heat",
            Self::Tamper => "tamper",
            Self::Other => "other",
        }
    }

    /// The key of its state in the results of tools.
    const fn key(self) -> &'static str {
        match self {
            Self::Contact | Self::Window => "open",
            Self::Other => "active",
            Self::Motion | Self::Leak | Self::Smoke | Self::Gas | Self::Heat | Self::Tamper => self.word(),
        }
    }

    const fn kind(self) -> &'static str {
        match self {
            Self::Motion => "motion_sensor",
            Self::Contact | Self::Window => "contact_sensor",
            Self::Leak => "leak_sensor",
            Self::Smoke => "smoke_sensor",
            Self::Gas => "gas_sensor",
            Self::Heat | Self::Tamper | Self::Other => "binary_sensor",
        }
    }

    /// Its state in words, after "is".
    const fn words(self, is_active: bool) -> &'static str {
        match (self, is_active) {
            (Self::Motion, true) => "seeing motion",
            (Self::Motion, false) => "seeing no motion",
            (Self::Contact | Self::Window, true) => "open",
            (Self::Contact | Self::Window, false) => "closed",
            (Self::Leak, true) => "reporting a leak",
            (Self::Leak, false) => "dry",
            (Self::Smoke, true) => "reporting smoke",
            (Self::Smoke, false) => "seeing no smoke",
            (Self::Gas, true) => "reporting gas",
            (Self::Gas, false) => "smelling no gas",
            (Self::Heat, true) => "reporting heat",
            (Self::Heat, false) => "reporting no heat",
            (Self::Tamper, true) => "reporting that somebody opened it",
            (Self::Tamper, false) => "untouched",
            (Self::Other, true) => "active",
            (Self::Other, false) => "not active",
        }
    }
}

impl Status {
    /// Whether a device can do this; if not why, after its name.
    pub(super) fn takes(&self, command: Command) -> Result<(), &'static str> {
        use Command::{Climate, Color, Level, Lock, Open, Power, Stop, Toggle};
        match (self, command) {
            (Self::Light { has_color: false, .. }, Color(_)) => Err("has no colour"),
            (Self::Switch(_) | Self::Light { .. } | Self::Siren(_), Power(_) | Toggle)
            | (Self::Light { .. }, Level(_) | Color(_))
            | (Self::Cover { .. }, Open(_) | Stop | Level(_))
            | (Self::Garage(_), Open(_))
            | (Self::Lock { .. }, Lock(_))
            | (Self::Climate(_), Climate(..)) => Ok(()),
            (Self::Switch(_), Level(_)) => Err("is a switch and has no level; it can be on or off"),
            (Self::Siren(_), Level(_)) => Err("is a siren and has no level; it can be on or off"),
            (Self::Lock { .. }, _) => Err("is a lock; use lock_door"),
            (Self::Climate(_), _) => Err("is a thermostat; use set_thermostat"),
            (Self::Sensor | Self::Binary { .. }, _) => Err("is a sensor and cannot be controlled"),
            (Self::Button, _) => Err("is a button and cannot be controlled"),
            (Self::Unknown, _) => Err("is of a kind that this controller cannot drive"),
            (_, Lock(_)) => Err("is not a lock"),
            (_, Climate(..)) => Err("is not a thermostat"),
            (Self::Cover { .. }, _) => Err("is a cover; it can open, close, stop, or be set to a level"),
            (Self::Garage(_), _) => Err("is a garage door; it can open or close"),
            (_, Open(_) | Stop) => Err("is not a cover"),
            (_, Color(_)) => Err("has no colour"),
        }
    }

    /// What a command does that a person has to approve first: it lets somebody in, or makes noise. Everything but the
    /// harmless commands of such a device counts. None if the command is not guarded.
    pub(super) const fn guarded_effect(&self, command: Command) -> Option<&'static str> {
        match (self, command) {
            (Self::Lock { .. }, Command::Lock(true))
            | (Self::Garage(_), Command::Open(false))
            | (Self::Siren(_), Command::Power(false)) => None,
            (Self::Lock { .. }, _) => Some("is unlocked"),
            (Self::Garage(_), _) => Some("is opened"),
            // A siren that is toggled may be off by now, whatever it said last.
            (Self::Siren(_), _) => Some("is switched on"),
            (Self::Switch(_) | Self::Light { .. } | Self::Climate(_) | Self::Cover { .. }, _)
            | (Self::Sensor | Self::Binary { .. } | Self::Button | Self::Unknown, _) => None,
        }
    }

    /// The same device with an unknown state.
    #[must_use]
    pub(super) fn unconfirmed(self) -> Self {
        match self {
            Self::Switch(_) => Self::Switch(None),
            Self::Light { has_color, .. } => Self::Light { level: None, has_color, color: None },
            Self::Lock { is_jammed, .. } => Self::Lock { is_locked: None, is_jammed },
            Self::Climate(climate) => Self::Climate(Climate { mode: None, setpoint: None, ..climate }),
            Self::Cover { .. } => Self::Cover { position: None, is_moving: false },
            Self::Garage(_) => Self::Garage(None),
            Self::Siren(_) => Self::Siren(None),
            Self::Sensor | Self::Binary { .. } | Self::Button | Self::Unknown => self,
        }
    }

    /// Whether a device has guarded commands. If it has, a toggle is one of them.
    pub(super) const fn is_guarded(&self) -> bool {
        self.guarded_effect(Command::Toggle).is_some()
    }

    /// Its state, with each key as resources have it.
    fn state(&self) -> Map<String, Value> {
        let state = match self {
            Self::Switch(on) | Self::Siren(on) => json!({ "on": on }),
            Self::Light { level, color, .. } => {
                json!({ "on": level.map(|level| level > 0), "level": level, "color": color })
            }
            Self::Lock { is_locked, is_jammed } => {
                json!({ "locked": is_locked, "jammed": is_jammed.then_some(true) })
            }
            Self::Climate(climate) => json!({ "mode": climate.mode, "setpoint": climate.setpoint }),
            Self::Cover { position, is_moving } => {
                json!({ "position": position, "moving": is_moving.then_some(true) })
            }
            Self::Garage(barrier) => {
                let is_moving = matches!(barrier, Some(Barrier::Closing | Barrier::Opening));
                let is_stopped = matches!(barrier, Some(Barrier::Stopped(_)));
                json!({
                    "class": "garage", "position": barrier.and_then(Barrier::position),
                    "moving": is_moving.then_some(true), "stopped": is_stopped.then_some(true),
                })
            }
            Self::Binary { class, is_active } => json!({ "class": class.word(), "active": is_active }),
            Self::Sensor | Self::Button | Self::Unknown => json!({}),
        };
        let Value::Object(state) = state else { return Map::new() };
        // What it has not told is left out.
        state.into_iter().filter(|(_, value)| !value.is_null()).collect()
    }
}

impl Snapshot {
    /// Its kind, one of [`KINDS`].
    pub(super) fn kind(&self) -> &'static str {
        match &self.status {
            Status::Switch(_) => "switch",
            Status::Light { has_color: true, .. } => "color_light",
            Status::Light { .. } => "dimmer",
            Status::Lock { .. } => "lock",
            Status::Climate(_) => "thermostat",
            Status::Cover { .. } | Status::Garage(_) => "cover",
            Status::Siren(_) => "siren",
            Status::Sensor if self.reading("temperature").is_some() => "temperature_sensor",
            Status::Sensor => "sensor",
            Status::Binary { class, .. } => class.kind(),
            Status::Button => "button",
            Status::Unknown => "unknown",
        }
    }

    fn reading(&self, name: &str) -> Option<&Reading> {
        self.readings.iter().find(|reading| reading.name == name)
    }

    /// Its state for resources.
    pub(super) fn state(&self) -> Map<String, Value> {
        let mut state = self.status.state();
        for Reading { name, value, .. } in &self.readings {
            state.entry(name).or_insert_with(|| number(*value));
        }
        if let Some(buttons) = &self.buttons {
            buttons.tell(&mut state);
        }
        state
    }

    /// Its state for the results of tools.
    pub(super) fn tool_state(&self) -> Value {
        let mut state = self.state();
        if let Status::Binary { class, .. } = &self.status {
            state.remove("class");
            if let Some(is_active) = state.remove("active") {
                state.insert(class.key().into(), is_active);
            }
        }
        state.into()
    }

    /// The units of the numbers in its state, by their keys.
    pub(super) fn units(&self) -> Map<String, Value> {
        let mut units = Map::new();
        if let Status::Climate(Climate { unit, setpoint: Some(_), .. }) = &self.status {
            units.insert("setpoint".into(), unit.as_str().into());
        }
        for Reading { name, unit, .. } in &self.readings {
            if !unit.is_empty() {
                units.insert(name.clone(), unit.as_str().into());
            }
        }
        units
    }

    /// Everything about it for the results of tools.
    pub(super) fn json(&self) -> Value {
        let mut about = json!({
            "name": self.name, "nodeId": self.node, "room": self.room, "kind": self.kind(),
            "state": self.tool_state(),
        });
        // The usual is left out: a line to a hub is not long.
        if let Some(percent) = self.battery {
            about["battery"] = percent.into();
        }
        match self.presence {
            Presence::Dead | Presence::Lost => about["dead"] = true.into(),
            Presence::Asleep => about["asleep"] = true.into(),
            Presence::Awake => {}
        }
        about
    }

    /// Its state in words, after "is".
    pub(super) fn words(&self) -> String {
        let mut words = Vec::new();
        let unknown = || "not telling how it stands".to_owned();
        let is_on = |on: Option<bool>| on.map_or_else(unknown, |on| if on { "on" } else { "off" }.into());
        match &self.status {
            Status::Switch(on) | Status::Siren(on) => words.push(is_on(*on)),
            Status::Light { level: None, .. } | Status::Cover { position: None, .. } => words.push(unknown()),
            Status::Light { level: Some(0), .. } => words.push("off".into()),
            Status::Light { level: Some(level), .. } => words.push(format!("on at level {level}")),
            Status::Lock { is_locked, is_jammed } => {
                let word = is_locked.map(|is_locked| if is_locked { "locked" } else { "unlocked" });
                words.push(word.map_or_else(unknown, Into::into));
                if *is_jammed {
                    words.push("jammed".into());
                }
            }
            Status::Climate(climate) => match (climate.mode.as_deref(), climate.setpoint) {
                (Some("off"), _) => words.push("off".into()),
                (mode, setpoint) => {
                    words.extend(mode.map(|mode| format!("in mode {mode}")));
                    words.extend(setpoint.map(|degrees| format!("set to {degrees} degrees")));
                }
            },
            Status::Cover { is_moving: true, position: Some(position) } => {
                words.push(format!("moving, at {position} of 99"));
            }
            Status::Cover { position: Some(0), .. } => words.push("closed".into()),
            Status::Cover { position: Some(position), .. } if *position >= FULL => {
                words.push("open".into());
            }
            Status::Cover { position: Some(position), .. } => words.push(format!("open to {position} of 99")),
            Status::Garage(barrier) => words.push(barrier.map_or_else(unknown, Barrier::words)),
            Status::Binary { class, is_active } => {
                words.push(is_active.map_or_else(unknown, |is_active| class.words(is_active).into()));
            }
            Status::Sensor => {}
            Status::Button => words.extend(self.buttons.map(|buttons| buttons.words())),
            Status::Unknown => words.push("of a kind that this controller does not know".into()),
        }
        for reading in &self.readings {
            let Reading { name, value, unit } = reading;
            words.push(match name.as_str() {
                "temperature" => format!("at {value} degrees"),
                _ if unit.is_empty() => format!("at {} {value}", name.replace('_', " ")),
                _ => format!("at {value} {unit} {}", name.replace('_', " ")),
            });
        }
        if words.is_empty() { unknown() } else { words.join(", ") }
    }
}

/// Whole numbers without a point.
fn number(value: f64) -> Value {
    if value.fract() == 0.0 && value.abs() < 1e15 { json!(value as i64) } else { json!(value) }
}

impl fmt::Display for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, presence, .. } = self;
        match presence {
            Presence::Dead => write!(f, "{name} does not answer"),
            Presence::Lost => write!(f, "{name} cannot be reached"),
            Presence::Awake | Presence::Asleep => write!(f, "{name} is {}", self.words()),
        }
    }
}
