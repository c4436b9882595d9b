//! Every kind of device, one row each. To add one, add a row; `docs/home.md` has the same table, which a test compares. What
//! Home Assistant shows of each kind is in `discovery/device.rs`.

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
    /// What its devices can do, as far as the hub knows the action by name.
    pub actions: &'static [Action],
    /// The most dangerous thing that its devices can do. A call that is none of their actions counts as this. Devices with
    /// such a risk are guarded.
    pub worst: Option<Risk>,
    /// Whether it stands for several devices.
    is_several: bool,
    /// What `undo` can set back.
    pub(super) settable: Settable,
    /// Whether `home_status` lists a device in this state, and as what.
    notable: fn(Value<'_>) -> Option<Notable>,
    /// Writes a state in words, after "is".
    words: fn(Value<'_>, &mut Formatter<'_>) -> fmt::Result,
}

/// Something that a device can do.
#[derive(Clone, Copy)]
pub struct Action {
    /// Its name in resources and requests.
    pub name: &'static str,
    /// The value that goes with it.
    pub(super) value: ActionValue,
    /// What it puts at risk.
    pub(super) risk: Option<Risk>,
}

/// The value that goes with an action.
#[derive(Clone, Copy)]
pub(super) enum ActionValue {
    None,
    Number,
    Color,
    Mode,
}

/// The members of a state that `undo` can set back.
#[derive(Clone, Copy)]
pub(super) struct Settable {
    /// One that is true or false, and the actions that make it so.
    pub(super) switch: Option<Switch>,
    /// One that is a number.
    pub(super) number: Option<Number>,
    /// One that is a word, set by the action of the same name.
    pub(super) word: Option<&'static str>,
    /// Whether a device that is off does not show its number and word: it may keep them.
    pub(super) is_hidden_when_off: bool,
}

/// A member of a state that is true or false.
#[derive(Clone, Copy)]
pub(super) struct Switch {
    pub(super) name: &'static str,
    pub(super) on: &'static str,
    pub(super) off: &'static str,
}

/// A member of a state that is a number.
#[derive(Clone, Copy)]
pub(super) struct Number {
    pub(super) name: &'static str,
    /// By how much it may be off without having been changed.
    pub(super) tolerance: f64,
    /// The actions that make it zero and more than that. Without them, the action of the same name sets it.
    pub(super) ends: Option<(&'static str, &'static str)>,
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
        actions: &[action("on"), action("off")],
        settable: Settable { switch: Some(ON), ..NOTHING },
        notable: |state| is(state, "on", "true").then_some(Notable::On),
        words: |state, f| write_either(flag(state, "on"), "on", "off", f),
        ..PLAIN
    };
    /// On or off, with a level and perhaps a colour.
    Light: KindRow {
        name: "light",
        actions: &[action("on"), action("off"), number("level"), with("color", ActionValue::Color)],
        settable: Settable {
            switch: Some(ON),
            number: Some(Number { name: "level", tolerance: limits::LEVEL_TOLERANCE, ends: None }),
            word: Some("color"),
            is_hidden_when_off: true,
        },
        notable: |state| is(state, "on", "true").then_some(Notable::On),
        words: |state, f| match (flag(state, "on"), measured(state, "level")) {
            (Some(true), Some(level)) => write!(f, "on at level {}", level.text()),
            (is_on, _) => write_either(is_on, "on", "off", f),
        },
        ..PLAIN
    };
    /// Locked or not.
    Lock: KindRow {
        name: "lock",
        actions: &[risky("lock", Risk::Lock), risky("unlock", Risk::Unlock)],
        worst: Some(Risk::Unlock),
        settable: Settable { switch: Some(Switch { name: "locked", on: "lock", off: "unlock" }), ..NOTHING },
        notable: |state| is(state, "locked", "false").then_some(Notable::Unlocked),
        words: |state, f| write_either(flag(state, "locked"), "locked", "unlocked", f),
        ..PLAIN
    };
    /// A thermostat.
    Climate: KindRow {
        name: "climate",
        actions: &[with("mode", ActionValue::Mode), number("setpoint")],
        settable: Settable {
            number: Some(Number { name: "setpoint", tolerance: limits::SETPOINT_TOLERANCE, ends: None }),
            word: Some("mode"),
            ..NOTHING
        },
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
        actions: &[action("open"), action("close"), action("stop"), number("position")],
        settable: Settable {
            number: Some(Number { name: "position", tolerance: limits::LEVEL_TOLERANCE, ends: None }),
            ..NOTHING
        },
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
            risky("open", Risk::Open),
            risky("close", Risk::Close),
            action("stop"),
            Action { risk: Some(Risk::Open), ..number("position") },
        ],
        worst: Some(Risk::Open),
        settable: Settable {
            // It is open or closed; some cannot stand between.
            number: Some(Number { name: "position", tolerance: 0.0, ends: Some(("close", "open")) }),
            ..NOTHING
        },
        ..*Kind::Cover.row()
    };
    /// On or off, and loud.
    Siren: KindRow {
        name: "siren",
        actions: &[risky("on", Risk::Alarm), action("off")],
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
        words: |state, f| {
            let is_contact = sensed(state) == Notable::Open;
            let (yes, no) = if is_contact { ("open", "closed") } else { ("active", "not active") };
            write_either(flag(state, "active"), yes, no, f)
        },
        ..PLAIN
    };
    /// Several commands under one name.
    Scene: KindRow { name: "scene", actions: &[action("activate")], is_several: true, ..PLAIN };
    /// Several devices under one name.
    Group: KindRow {
        name: "group",
        actions: &[action("on"), action("off"), number("level"), action("open"), action("close")],
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
    settable: NOTHING,
    notable: |_| None,
    words: write_numbers,
};

const NOTHING: Settable = Settable { switch: None, number: None, word: None, is_hidden_when_off: false };

const ON: Switch = Switch { name: "on", on: "on", off: "off" };

const fn action(name: &'static str) -> Action {
    Action { name, value: ActionValue::None, risk: None }
}

const fn risky(name: &'static str, risk: Risk) -> Action {
    Action { risk: Some(risk), ..action(name) }
}

const fn with(name: &'static str, value: ActionValue) -> Action {
    Action { value, ..action(name) }
}

const fn number(name: &'static str) -> Action {
    with(name, ActionValue::Number)
}

impl Kind {
    /// The kind of this name, of a device in this state.
    pub(super) fn named(name: Option<Text<'_>>, state: Value<'_>) -> Self {
        let is_it = |kind: &Self| {
            let KindRow { name: known, class, .. } = kind.row();
            let is_class = class.is_none_or(|class| word(state, "class").is_some_and(|word| word == *class));
            name.is_some_and(|name| name == **known) && is_class
        };
        Self::ALL.iter().copied().rfind(is_it).unwrap_or_default()
    }

    /// Whether some of what it can do needs approval if a model asks for it.
    pub const fn is_guarded(self) -> bool {
        self.row().worst.is_some()
    }

    /// Whether it stands for several devices.
    pub(super) const fn is_several(self) -> bool {
        self.row().is_several
    }

    /// How much it matters that the hub keeps it, if there is not room for all: guarded devices first, then what stands for
    /// several devices.
    pub(super) const fn rank(self) -> u8 {
        if self.is_guarded() { 2 } else { self.is_several() as u8 }
    }

    /// The risk of an action. One that is not in the row counts as the most dangerous one.
    pub(crate) fn risk(self, action: &Text<'_>) -> Option<Risk> {
        let row = self.row();
        let known = row.actions.iter().find(|known| *action == *known.name);
        known.map_or(row.worst, |known| known.risk)
    }

    /// What people look for when they ask what is not as it should be: whether it is on, open or unlocked, by its state.
    /// `None` if it is not, or cannot be.
    pub fn notable(self, state: Value<'_>) -> Option<Notable> {
        (self.row().notable)(state)
    }

    /// Writes its state in words, after "is".
    pub(super) fn write_words(self, state: Value<'_>, f: &mut Formatter<'_>) -> fmt::Result {
        (self.row().words)(state, f)
    }
}

/// Whether an action sets a member of a state that is a number.
pub(super) fn is_set(name: &str) -> bool {
    Kind::ALL.iter().filter_map(|kind| kind.row().settable.number).any(|number| number.name == name)
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
