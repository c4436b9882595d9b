//! The kinds of devices: what the hub knows of each.

use crate::json::{self, Text, Value};

/// A kind of device. The first is all zeros, as a new hub's memory is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// One that the hub does not know. It is kept and shown with its state.
    Other,
    /// On or off.
    Switch,
    /// On or off, with a level and perhaps a colour.
    Light,
    /// Locked or not.
    Lock,
    /// A thermostat.
    Climate,
    /// A blind or a curtain.
    Cover,
    /// A garage door: a cover that lets people in.
    Garage,
    /// On or off, and loud.
    Siren,
    /// Measures something.
    Sensor,
    /// Sees something or does not.
    BinarySensor,
    /// Several commands under one name.
    Scene,
    /// Several devices under one name.
    Group,
    /// Something that people press.
    Button,
}

/// The kinds by their names in resources.
const NAMES: [(&str, Kind); 11] = [
    ("switch", Kind::Switch),
    ("light", Kind::Light),
    ("lock", Kind::Lock),
    ("climate", Kind::Climate),
    ("cover", Kind::Cover),
    ("siren", Kind::Siren),
    ("sensor", Kind::Sensor),
    ("binary_sensor", Kind::BinarySensor),
    ("scene", Kind::Scene),
    ("group", Kind::Group),
    ("button", Kind::Button),
];

impl Kind {
    /// The kind of this name, of a device in this state.
    pub(super) fn named(word: Option<Text<'_>>, state: Value<'_>) -> Self {
        let known = word.and_then(|word| NAMES.into_iter().find(|(name, _)| word == **name));
        let kind = known.map_or(Self::Other, |(_, kind)| kind);
        let is_garage = || state.get("class").is_some_and(|class| class.text() == "\"garage\"");
        if kind == Self::Cover && is_garage() { Self::Garage } else { kind }
    }

    /// Its name in resources; none for [`Other`](Self::Other).
    pub fn name(self) -> Option<&'static str> {
        let known = if self == Self::Garage { Self::Cover } else { self };
        NAMES.into_iter().find(|(_, kind)| *kind == known).map(|(name, _)| name)
    }

    /// Whether some of what it can do needs approval if a model asks for it.
    pub const fn is_guarded(self) -> bool {
        matches!(self, Self::Lock | Self::Garage | Self::Siren)
    }

    /// How much it matters that the hub keeps it, if there is not room for all: guarded devices first, then what stands for
    /// several devices.
    pub(super) const fn rank(self) -> u8 {
        match self {
            Self::Lock | Self::Garage | Self::Siren => 2,
            Self::Scene | Self::Group => 1,
            Self::Other
            | Self::Switch
            | Self::Light
            | Self::Climate
            | Self::Cover
            | Self::Sensor
            | Self::BinarySensor
            | Self::Button => 0,
        }
    }

    /// What people look for when they ask what is not as it should be: whether it is on, open or unlocked, by its state.
    /// `None` if it is not, or cannot be.
    pub fn stands_out(self, state: Value<'_>) -> Option<Notable> {
        let is = |name: &str, wanted: &str| state.get(name).is_some_and(|value| value.text() == wanted);
        let is_open = || state.get("position").and_then(|at| at.as_f64()).is_some_and(|at| at > 0.0);
        match self {
            Self::Switch | Self::Light => is("on", "true").then_some(Notable::On),
            Self::Siren => is("on", "true").then_some(Notable::Alarm),
            Self::Lock => is("locked", "false").then_some(Notable::Unlocked),
            // One that moves or has stopped on its way is not closed, wherever it is.
            Self::Cover | Self::Garage => {
                (is_open() || is("moving", "true") || is("stopped", "true")).then_some(Notable::Open)
            }
            Self::BinarySensor => is("active", "true").then(|| sensed(state)),
            _ => None,
        }
    }
}

/// The meaning of an active binary sensor of this class.
fn sensed(state: Value<'_>) -> Notable {
    const ALARMS: [&str; 5] = ["smoke", "gas", "leak", "heat", "tamper"];
    const CONTACTS: [&str; 2] = ["contact", "window"];
    let class = state.get("class").and_then(|class| class.as_text());
    let is_one = |words: &[&str]| class.is_some_and(|class| words.iter().any(|word| class == **word));
    match () {
        () if is_one(&ALARMS) => Notable::Alarm,
        () if is_one(&CONTACTS) => Notable::Open,
        () => Notable::Active,
    }
}

/// How a device can stand out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notable {
    /// A warning of danger: a siren that is on, or an active sensor for smoke, gas, water, heat or tampering.
    Alarm,
    /// It is on.
    On,
    /// It is open.
    Open,
    /// It is unlocked.
    Unlocked,
    /// A sensor sees what it looks for.
    Active,
}

/// The state of a device in words, after "is".
pub(super) struct Standing<'a> {
    pub(super) kind: Kind,
    pub(super) state: Value<'a>,
}

impl core::fmt::Display for Standing<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let Self { kind, state } = *self;
        let get = |name: &str| state.get(name);
        let is_true = |name: &str| get(name).map(|value| value.text() == "true");
        let number = |name: &str| get(name).filter(|value| value.kind() == json::Kind::Number);
        let word = |is: Option<bool>, yes: &'static str, no: &'static str| match is {
            Some(true) => yes,
            Some(false) => no,
            None => "not telling how it stands",
        };
        match kind {
            Kind::Switch | Kind::Siren => f.write_str(word(is_true("on"), "on", "off")),
            Kind::Light => match (is_true("on"), number("level")) {
                (Some(true), Some(level)) => write!(f, "on at level {}", level.text()),
                (is_on, _) => f.write_str(word(is_on, "on", "off")),
            },
            Kind::Lock => f.write_str(word(is_true("locked"), "locked", "unlocked")),
            Kind::Cover | Kind::Garage => match number("position") {
                Some(at) if is_true("moving") == Some(true) => write!(f, "moving, at {}", at.text()),
                Some(at) if at.as_f64() == Some(0.0) => f.write_str("closed"),
                Some(at) if at.as_f64().is_some_and(|at| at < 99.0) => write!(f, "open to {}", at.text()),
                Some(_) => f.write_str("open"),
                None if is_true("moving") == Some(true) => f.write_str("moving"),
                None => f.write_str(word(None, "", "")),
            },
            Kind::Climate => {
                let mode = get("mode").and_then(|mode| mode.as_text());
                match (mode, number("setpoint")) {
                    (Some(mode), Some(degrees)) => write!(f, "set to {mode}, {} degrees", degrees.text()),
                    (Some(mode), None) => write!(f, "set to {mode}"),
                    (None, Some(degrees)) => write!(f, "set to {} degrees", degrees.text()),
                    (None, None) => f.write_str(word(None, "", "")),
                }
            }
            Kind::BinarySensor if sensed(state) == Notable::Open => {
                f.write_str(word(is_true("active"), "open", "closed"))
            }
            Kind::BinarySensor => f.write_str(word(is_true("active"), "active", "not active")),
            _ => {
                let mut separator = "at ";
                for (name, value) in state.members().filter(|(_, value)| value.kind() == json::Kind::Number) {
                    write!(f, "{separator}{} {name}", value.text())?;
                    separator = ", ";
                }
                if separator == "at " { f.write_str(word(None, "", "")) } else { Ok(()) }
            }
        }
    }
}
