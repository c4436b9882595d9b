//! What a call may do that a person should know of first: unlock a lock, open a garage door, sound a siren, destroy
//! something.
//!
//! The hub knows no tool names. It knows what can be done with each guarded device, and by which call: its `actions`. A call
//! of such a tool is taken for the action whose arguments it has, and for the worst if it has those of none. It is taken to
//! be about the device unless it names another one that the hub knows, whatever the spelling.

use core::fmt::{self, Display};

use super::device::Device;
use super::kind::Kind;
use super::names::{Meant, find, may_name, names};
use super::table::Table;
use crate::json::{Text, Value};
use crate::limits;
use crate::tool::Hints;

/// Something that may need approval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Concern {
    /// To unlock a lock.
    Unlock,
    /// To lock it.
    Lock,
    /// To open a garage door.
    Open,
    /// To close it.
    Close,
    /// To switch a siren on.
    Alarm,
    /// To call a tool that may destroy something.
    Destructive,
}

impl Concern {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Unlock, Self::Lock, Self::Open, Self::Close, Self::Alarm, Self::Destructive];

    /// What is to be done, as a verb.
    pub const fn verb(self) -> &'static str {
        match self {
            Self::Unlock => "unlock",
            Self::Lock => "lock",
            Self::Open => "open",
            Self::Close => "close",
            Self::Alarm => "switch on",
            Self::Destructive => "call",
        }
    }
}

/// Some of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Concerns(u8);

impl Concerns {
    /// None.
    pub const NONE: Self = Self(0);

    const fn one(concern: Concern) -> Self {
        Self(1 << concern as u8)
    }

    const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether there are none.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Those there are.
    pub fn each(self) -> impl Iterator<Item = Concern> {
        Concern::ALL.into_iter().filter(move |concern| self.0 & Self::one(*concern).0 != 0)
    }

    /// The only one, if there is one.
    pub fn only(self) -> Option<Concern> {
        let mut all = self.each();
        all.next().filter(|_| all.next().is_none())
    }

    /// What an action of a device does.
    fn of_action(kind: Kind, action: &Text<'_>) -> Self {
        let is = |word: &str| *action == *word;
        match kind {
            Kind::Lock if is("lock") => Self::one(Concern::Lock),
            Kind::Garage if is("close") => Self::one(Concern::Close),
            Kind::Garage if is("stop") => Self::NONE,
            Kind::Siren if is("off") => Self::NONE,
            _ => Self::worst(kind),
        }
    }

    /// The worst that can be done with a device of this kind.
    const fn worst(kind: Kind) -> Self {
        match kind {
            Kind::Lock => Self::one(Concern::Unlock),
            Kind::Garage => Self::one(Concern::Open),
            Kind::Siren => Self::one(Concern::Alarm),
            _ => Self::NONE,
        }
    }
}

/// What a call may do, and with which device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Weighed {
    pub(super) concerns: Concerns,
    /// The place of the guarded device, if it can be only one.
    pub(super) device: Option<usize>,
}

/// What a call of a controller's tool may do. The arguments have the controller's names. `is_blind` if the hub does not
/// know all devices.
pub(super) fn weigh(
    table: &Table,
    is_blind: bool,
    tool: &str,
    hints: Hints,
    arguments: Value<'_>,
) -> Weighed {
    let mut weighed = Weighed::default();
    if hints.read_only == Some(true) {
        return weighed;
    }
    let (mut is_about_devices, mut count) = (false, 0usize);
    for (place, device) in table.devices().filter(|(_, device)| device.kind.is_guarded()) {
        let Some(concerns) = concerns_of(table, &device, tool, arguments) else { continue };
        is_about_devices = true;
        if !concerns.is_empty() {
            count += 1;
            weighed.concerns = weighed.concerns.or(concerns);
            weighed.device = (count == 1).then_some(place);
        }
    }
    if hints.destructive == Some(true) && !is_about_devices || is_blind && !names_known(table, arguments) {
        weighed.concerns = weighed.concerns.or(Concerns::one(Concern::Destructive));
        weighed.device = None;
    }
    weighed
}

/// Whether all texts among the arguments that can be names are those of devices that the hub knows, and there is one.
fn names_known(table: &Table, arguments: Value<'_>) -> bool {
    let mut texts = named(arguments).peekable();
    texts.peek().is_some() && texts.all(|text| said(&text).is_some_and(|said| is_certain(table, &said, None)))
}

/// The texts among the arguments that can be names.
pub(super) fn named(arguments: Value<'_>) -> impl Iterator<Item = Text<'_>> {
    let is_verb = |name: &Text<'_>| VERBS.iter().any(|verb| *name == **verb);
    arguments.members().filter(move |(name, _)| !is_verb(name)).filter_map(|(_, value)| value.as_text())
}

/// Arguments that say what is to be done, not with what.
const VERBS: [&str; 4] = ["action", "command", "mode", "state"];

/// Whether a device, or another one than `except`, certainly has this name. Scenes do not count: tools for devices do not
/// know them.
fn is_certain(table: &Table, said: &str, except: Option<&Device<'_>>) -> bool {
    let is_other = |other: &Device<'_>| except.is_none_or(|device| device.id != other.id);
    table.devices().any(|(_, other)| is_other(&other) && other.kind != Kind::Scene && names(&other, said))
}

/// What a call may do with a guarded device. None if the tool is not for it and no argument names it.
fn concerns_of(table: &Table, device: &Device<'_>, tool: &str, arguments: Value<'_>) -> Option<Concerns> {
    let actions = device.actions();
    let calls = || actions.members().filter(|(_, action)| is_of(*action, tool));
    if calls().next().is_none() {
        let is_named = arguments.strings().any(|text| said(&text).is_none_or(|said| may_name(device, &said)));
        // Without its actions, any tool may be for it, unless the call is about others.
        let is_any = device.actions.is_empty() && !names_known(table, arguments);
        return (is_named || is_any).then(|| Concerns::worst(device.kind));
    }
    if !may_mean(table, device, calls().map(|(_, action)| action), arguments) {
        return Some(Concerns::NONE);
    }
    let mut done = calls().filter(|(_, action)| does(device, *action, arguments)).peekable();
    if done.peek().is_none() {
        return Some(Concerns::worst(device.kind));
    }
    Some(done.fold(Concerns::NONE, |all, (name, _)| all.or(Concerns::of_action(device.kind, &name))))
}

/// Whether a call may be about this device: it is not if it names another one where the device's actions name this one.
fn may_mean<'a>(
    table: &Table,
    device: &Device<'_>,
    calls: impl Iterator<Item = Value<'a>>,
    arguments: Value<'_>,
) -> bool {
    let mut is_other = false;
    for (name, _) in calls.flat_map(given).filter(|(_, value)| is_named(device, *value)) {
        let wanted = arguments.members().filter(|(given, _)| *given == name).last();
        let Some(wanted) = wanted.and_then(|(_, value)| said(&value.as_text()?)) else { return true };
        // What is certainly another device is not this one; nor is what can only be another one that is guarded, too.
        let is_another = is_certain(table, &wanted, Some(device))
            || matches!(find(table, &wanted), Meant::One(place) if table.get(place).is_some_and(|one| one.kind.is_guarded()));
        if may_name(device, &wanted) || !is_another {
            return true;
        }
        is_other = true;
    }
    !is_other
}

/// Whether a call does this action, by all arguments that do not name the device. It may have none besides.
fn does(device: &Device<'_>, action: Value<'_>, arguments: Value<'_>) -> bool {
    let wanted = || given(action).filter(|(_, value)| !is_named(device, *value));
    let has = |name: &Text<'_>, value: Value<'_>| {
        let given = arguments.members().filter(|(given, _)| given == name).last();
        given.is_some_and(|(_, given)| match (given.as_text(), value.as_text()) {
            (Some(given), Some(wanted)) => given == wanted,
            _ => given.text() == value.text(),
        })
    };
    let value = action.get("value").and_then(|value| value.get("argument")?.as_text());
    let is_known = |name: &Text<'_>| {
        given(action).any(|(known, _)| known == *name) || value.is_some_and(|value| value == *name)
    };
    wanted().all(|(name, value)| has(&name, value)) && arguments.members().all(|(name, _)| is_known(&name))
}

/// The arguments of an action.
fn given(action: Value<'_>) -> impl Iterator<Item = (Text<'_>, Value<'_>)> {
    action.get("arguments").unwrap_or(Value::EMPTY_OBJECT).members()
}

fn is_of(action: Value<'_>, tool: &str) -> bool {
    action.get("tool").and_then(|tool| tool.as_text()).is_some_and(|name| name == *tool)
}

fn is_named(device: &Device<'_>, value: Value<'_>) -> bool {
    value.as_text().and_then(|text| said(&text)).is_some_and(|said| names(device, &said))
}

/// What may be a name.
fn said(text: &Text<'_>) -> Option<heapless::String<{ limits::DEVICE_NAME + limits::DEVICE_ROOM }>> {
    text.decode()
}

/// What a call does, for whoever is to approve of it.
pub(super) struct What<'a> {
    pub(super) concerns: Concerns,
    /// The device, if it can be only one.
    pub(super) device: Option<Device<'a>>,
    pub(super) tool: &'a str,
    pub(super) arguments: Value<'a>,
}

impl Display for What<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.concerns.only(), &self.device) {
            (Some(concern), Some(device)) => {
                write!(f, "{} {}", concern.verb(), device.name)?;
                // Whoever approves sees what the model calls it, if that is not its name.
                let is_certain = |text: &Text<'_>| said(text).is_some_and(|said| names(device, &said));
                match named(self.arguments).find(|text| !is_certain(text)) {
                    Some(called) => write!(f, " (called '{}')", called.excerpt::<{ limits::DEVICE_ROOM }>()),
                    None => Ok(()),
                }
            }
            _ => write!(f, "call {} with {}", self.tool, self.arguments.text()),
        }
    }
}
