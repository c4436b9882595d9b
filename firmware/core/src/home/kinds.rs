//! Every kind of device, one row each. To add one, add a row; `docs/topics.md` has the same table, which a test compares. What
//! Home Assistant shows of each kind is in `discovery/device_entities.rs`.

use core::fmt::{self, Formatter};

use crate::json::{self, Text, Value};
use crate::limits;

/// Something that a model may need approval for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Risk {
    /// A lock is unlocked.
    Unlock,
    /// A lock is locked.
    Lock,
    /// A garage door is opened.
    Open,
    /// A garage door is closed.
    Close,
    /// A siren is switched on.
    Alarm,
    /// A tool is called that may destroy something.
    Destructive,
    /// A tool is called whose effects the controller does not declare.
    Unmarked,
}

/// What the hub knows of a kind.
#[derive(Clone, Copy)]
pub struct KindRow {
    /// Its name in resources. Empty for [`Kind::Other`].
    pub name: &'static str,
    /// The `class` in the state of its devices, if another kind has the same name. That kind's row comes first.
    pub class: Option<&'static str>,
    /// What its devices can do, as far as the hub knows the action by name, and what that puts at risk.
    pub actions: &'static [(&'static str, Option<Risk>)],
    /// The most dangerous thing that its devices can do. A call that is none of their actions counts as this. Devices with
    /// such a risk are guarded.
    pub worst: Option<Risk>,
    /// Whether it stands for several devices.
    pub(super) is_several: bool,
    /// The member of the state that is true or false, and the actions that make it true and false. `undo` sets back this
    /// one and the next two.
    pub(super) switch: Option<[&'static str; 3]>,
    /// The member that is a number, and by how much it may be off without having been changed.
    pub(super) number: Option<(&'static str, f64)>,
    /// The actions that make the number zero and more than that. Without them, the action of the same name sets it.
    pub(super) ends: Option<[&'static str; 2]>,
    /// The member that is a word, set by the action of the same name.
    pub(super) word: Option<&'static str>,
    /// Whether a device that is off does not show its number and word: it may keep them.
    pub(super) is_hidden_when_off: bool,
    /// Whether `home_status` lists a device in this state, and as what.
    notable: fn(Value<'_>) -> Option<Notable>,
    /// Writes a state in words, after "is".
    pub(super) words: fn(Value<'_>, &mut Formatter<'_>) -> fmt::Result,
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

/// Declares the kinds and their rows.
macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident: $row:expr;)*) => {
        /// A kind of device. The first is all zeros, as a new hub's memory is.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        #[repr(u8)]
        pub enum Kind { $($(#[$doc])* $kind,)* }

        impl Kind {
            /// All kinds.
            pub const ALL: &[Self] = &[$(Self::$kind),*];

            /// What the hub knows of it.
            pub const fn row(self) -> &'static KindRow {
                match self { $(Self::$kind => { static ROW: KindRow = $row; &ROW })* }
            }
        }
    };
}

kinds! {
    /// One that the hub does not know. It is kept and shown with its state.
    #[default]
    Other: PLAIN;
    /// On or off.
    Switch: KindRow {
        name: "switch",
        actions: &[("on", None), ("off", None)],
        switch: Some(["on", "on", "off"]),
        notable: |state| is(state, "on", "true").then_some(Notable::On),
        words: |state, f| write_either(flag(state, "on"), "on", "off", f),
        ..PLAIN
    };
    /// On or off, with a level and perhaps a colour.
    Light: KindRow {
        name: "light",
        actions: &[("on", None), ("off", None), ("level", None), ("color", None)],
        number: Some(("level", limits::LEVEL_TOLERANCE)),
        word: Some("color"),
        is_hidden_when_off: true,
        words: |state, f| match (flag(state, "on"), measured(state, "level")) {
            (Some(true), Some(level)) => write!(f, "on at level {}", level.text()),
            (is_on, _) => write_either(is_on, "on", "off", f),
        },
        ..*Kind::Switch.row()
    };
    /// Locked or not.
    Lock: KindRow {
        name: "lock",
        actions: &[("lock", Some(Risk::Lock)), ("unlock", Some(Risk::Unlock))],
        worst: Some(Risk::Unlock),
        switch: Some(["locked", "lock", "unlock"]),
        notable: |state| is(state, "locked", "false").then_some(Notable::Unlocked),
        words: |state, f| write_either(flag(state, "locked"), "locked", "unlocked", f),
        ..PLAIN
    };
    /// A thermostat.
    Climate: KindRow {
        name: "climate",
        actions: &[("mode", None), ("setpoint", None)],
        number: Some(("setpoint", limits::SETPOINT_TOLERANCE)),
        word: Some("mode"),
        words: |state, f| match (word(state, "mode"), measured(state, "setpoint")) {
            (Some(mode), Some(degrees)) => write!(f, "set to {mode}, {} degrees", degrees.text()),
            (Some(mode), None) => write!(f, "set to {mode}"),
            (None, Some(degrees)) => write!(f, "set to {} degrees", degrees.text()),
            (None, None) => f.write_str(UNKNOWN),
        },
        ..PLAIN
    };
    /// A blind or a curtain.
    Cover: KindRow {
        name: "cover",
        actions: &[("open", None), ("close", None), ("stop", None), ("position", None)],
        number: Some(("position", limits::LEVEL_TOLERANCE)),
        // One that moves or has stopped on its way is not closed, wherever it is.
        notable: |state| {
            let is_open = state.get("position").and_then(|at| at.as_f64()).is_some_and(|at| at > 0.0);
            (is_open || is(state, "moving", "true") || is(state, "stopped", "true")).then_some(Notable::Open)
        },
        words: |state, f| match (measured(state, "position"), flag(state, "moving")) {
            (Some(at), Some(true)) => write!(f, "moving, at {}", at.text()),
            (Some(at), _) if at.as_f64() == Some(0.0) => f.write_str("closed"),
            (Some(at), _) if at.as_f64().is_some_and(|at| at < 99.0) => write!(f, "open to {}", at.text()),
            (Some(_), _) => f.write_str("open"),
            (None, Some(true)) => f.write_str("moving"),
            (None, _) => f.write_str(UNKNOWN),
        },
        ..PLAIN
    };
    /// A garage door: a cover that lets people in.
    Garage: KindRow {
        class: Some("garage"),
        actions: &[
            ("open", Some(Risk::Open)),
            ("close", Some(Risk::Close)),
            ("stop", None),
            ("position", Some(Risk::Open)),
        ],
        worst: Some(Risk::Open),
        number: Some(("position", 0.0)),
        // It is open or closed; some cannot stand between.
        ends: Some(["close", "open"]),
        ..*Kind::Cover.row()
    };
    /// On or off, and loud.
    Siren: KindRow {
        name: "siren",
        actions: &[("on", Some(Risk::Alarm)), ("off", None)],
        worst: Some(Risk::Alarm),
        notable: |state| is(state, "on", "true").then_some(Notable::Alarm),
        ..*Kind::Switch.row()
    };
    /// Measures something.
    Sensor: KindRow { name: "sensor", ..PLAIN };
    /// Sees something or does not.
    BinarySensor: KindRow {
        name: "binary_sensor",
        notable: |state| is(state, "active", "true").then(|| sensed(state)),
        words: |state, f| match sensed(state) == Notable::Open {
            true => write_either(flag(state, "active"), "open", "closed", f),
            false => write_either(flag(state, "active"), "active", "not active", f),
        },
        ..PLAIN
    };
    /// Several commands under one name.
    Scene: KindRow { name: "scene", actions: &[("activate", None)], is_several: true, ..PLAIN };
    /// Several devices under one name.
    Group: KindRow {
        name: "group",
        actions: &[("on", None), ("off", None), ("level", None), ("open", None), ("close", None)],
        is_several: true,
        ..PLAIN
    };
    /// Something that people press.
    Button: KindRow { name: "button", ..PLAIN };
}

/// A kind of which the hub shows the numbers.
const PLAIN: KindRow = KindRow {
    name: "",
    class: None,
    actions: &[],
    worst: None,
    is_several: false,
    switch: None,
    number: None,
    ends: None,
    word: None,
    is_hidden_when_off: false,
    notable: |_| None,
    words: write_numbers,
};

impl Kind {
    /// The kind of this name, of a device in this state.
    pub(super) fn named(name: Option<Text<'_>>, state: Value<'_>) -> Self {
        let class = word(state, "class");
        let is_it = |row: &KindRow| {
            name.is_some_and(|name| name == *row.name)
                && row.class.is_none_or(|known| class.is_some_and(|class| class == *known))
        };
        Self::ALL.iter().copied().rfind(|kind| is_it(kind.row())).unwrap_or_default()
    }

    /// Whether some of what it can do needs approval if a model asks for it.
    pub const fn is_guarded(self) -> bool {
        self.row().worst.is_some()
    }

    /// How much it matters that the hub keeps it, if there is not room for all: guarded devices first, then what stands for
    /// several devices.
    pub(super) const fn rank(self) -> u8 {
        if self.is_guarded() { 2 } else { self.row().is_several as u8 }
    }

    /// The risk of an action. One that is not in the row counts as the most dangerous one.
    pub(crate) fn risk(self, action: &Text<'_>) -> Option<Risk> {
        let row = self.row();
        row.actions.iter().find(|(name, _)| *action == **name).map_or(row.worst, |(_, risk)| *risk)
    }

    /// What people look for when they ask what is not as it should be: whether it is on, open or unlocked, by its state.
    /// `None` if it is not, or cannot be.
    pub fn notable(self, state: Value<'_>) -> Option<Notable> {
        (self.row().notable)(state)
    }
}

/// Whether an action sets a member of a state that is a number.
pub(super) fn is_set(name: &str) -> bool {
    Kind::ALL.iter().filter_map(|kind| kind.row().number).any(|(number, _)| number == name)
}

/// The words for a state that the device does not tell.
const UNKNOWN: &str = "not telling how it stands";

fn is(state: Value<'_>, name: &str, wanted: &str) -> bool {
    state.get(name).is_some_and(|value| value.text() == wanted)
}

pub(super) fn flag(state: Value<'_>, name: &str) -> Option<bool> {
    state.get(name).map(|value| value.text() == "true")
}

pub(super) fn word<'a>(state: Value<'a>, name: &str) -> Option<Text<'a>> {
    state.get(name)?.as_text()
}

fn measured<'a>(state: Value<'a>, name: &str) -> Option<Value<'a>> {
    state.get(name).filter(|value| value.kind() == json::Kind::Number)
}

fn write_either(is: Option<bool>, yes: &str, no: &str, f: &mut Formatter<'_>) -> fmt::Result {
    f.write_str(is.map_or(UNKNOWN, |is| if is { yes } else { no }))
}

fn write_numbers(state: Value<'_>, f: &mut Formatter<'_>) -> fmt::Result {
    let mut separator = "at ";
    for (name, value) in state.members().filter(|(_, value)| value.kind() == json::Kind::Number) {
        write!(f, "{separator}{} {name}", value.text())?;
        separator = ", ";
    }
    if separator == "at " { f.write_str(UNKNOWN) } else { Ok(()) }
}

/// The meaning of an active binary sensor of this class.
fn sensed(state: Value<'_>) -> Notable {
    const ALARMS: [&str; 5] = ["smoke", "gas", "leak", "heat", "tamper"];
    const CONTACTS: [&str; 2] = ["contact", "window"];
    let class = word(state, "class");
    let is_one = |words: &[&str]| class.is_some_and(|class| words.iter().any(|word| class == **word));
    match () {
        () if is_one(&ALARMS) => Notable::Alarm,
        () if is_one(&CONTACTS) => Notable::Open,
        () => Notable::Active,
    }
}
