//! Resolves the device that a call names, so that the controller has nothing left to interpret.
//!
//! A device's `actions` say by which tools it is controlled, which argument names it, and the exact value of that argument:
//! the device's address. The hub resolves the spoken name among the devices that a tool controls, and sends the address.

use super::action::DeclaredAction;
use super::device::Device;
use super::names::{Match, Spoken};
use super::table::Table;
use crate::hash::Fnv32;
use crate::json::{Kind as JsonKind, Text, Value};
use crate::limits;

/// How a device is addressed in calls. The first is all zeros, as a new hub's memory is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Address {
    /// Its actions name neither its name nor its id: only a call that is exactly one of them is known to be about it.
    Opaque,
    /// By its name.
    Name,
    /// By its id, as a string.
    Id,
    /// By its id, as a number.
    Number,
}

/// The name of an argument.
pub(super) type ArgumentName = heapless::String<{ limits::ARGUMENT_NAME }>;

/// A tool that controls devices.
#[derive(Clone, Debug)]
pub(super) struct DeviceTool {
    /// A hash of its name.
    pub(super) tool: u32,
    /// The argument that names the device.
    pub(super) argument: ArgumentName,
}

/// Some of the tools that control devices, one bit each.
pub(super) type ToolBits = u16;

const _: () = assert!(limits::DEVICE_TOOLS <= ToolBits::BITS as usize);

/// The hash by which tools, and devices without room, are told apart. Tools that collide are resolved alike, which is harmless.
pub(super) fn hash(tool: impl Iterator<Item = char>) -> u32 {
    Fnv32::of(tool)
}

/// How the actions of a device address it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Addressing {
    pub(super) address: Address,
    /// The tools that name it.
    pub(super) tools: ToolBits,
    /// Whether some actions do not name it.
    pub(super) has_unnamed: bool,
}

/// How the actions of a device address it. Calls `learn` with each tool, the argument that names the
/// device, and the bits of the tools so far.
pub(super) fn read_addressing(
    actions: Value<'_>,
    name: Option<Text<'_>>,
    id: &str,
    mut learn: impl FnMut(u32, ArgumentName, ToolBits) -> Option<ToolBits>,
) -> Addressing {
    // A name that is cut is no address.
    let name = name.filter(|name| name.decode::<{ limits::DEVICE_NAME }>().is_some());
    let mut this = Addressing { address: Address::Opaque, tools: 0, has_unnamed: false };
    for (_, action) in actions.members() {
        let naming = naming_argument(actions, action, &|value| address_of(value, name, id));
        let learned = naming.and_then(|(argument, address)| {
            let tool = DeclaredAction(action).tool()?;
            let bit = learn(hash(tool.chars()), argument.decode()?, this.tools)?;
            // One address is kept.
            (this.address == Address::Opaque || this.address == address).then_some((address, bit))
        });
        match learned {
            Some((address, bit)) => (this.address, this.tools) = (address, this.tools | bit),
            None => this.has_unnamed = true,
        }
    }
    this
}

/// How a value in an action addresses the device with this name and id, if it does.
pub(super) fn address_of(value: Value<'_>, name: Option<Text<'_>>, id: &str) -> Option<Address> {
    match value.as_text() {
        Some(text) if name.is_some_and(|name| name == text) => Some(Address::Name),
        Some(text) if text == *id => Some(Address::Id),
        None if value.kind() == JsonKind::Number && value.text() == id => Some(Address::Number),
        _ => None,
    }
}

/// The argument of one of a device's actions that names the device, and how. A device may be called like an action, so that two
/// arguments have its name as their value: then the one counts that names it in another action of the same tool.
pub(super) fn naming_argument<'a>(
    actions: Value<'a>,
    action: Value<'a>,
    address: &dyn Fn(Value<'_>) -> Option<Address>,
) -> Option<(Text<'a>, Address)> {
    let naming = |action: Value<'a>| {
        DeclaredAction(action).arguments().filter_map(|(name, value)| Some((name, address(value)?)))
    };
    let only = |action: Value<'a>| {
        let mut all = naming(action);
        all.next().filter(|_| all.next().is_none())
    };
    let tool = |action| DeclaredAction(action).tool();
    only(action).or_else(|| {
        naming(action).find(|(argument, _)| {
            let mut others = actions.members().filter(|(_, other)| tool(*other) == tool(action));
            others.any(|(_, other)| only(other).is_some_and(|(known, _)| known == *argument))
        })
    })
}

/// What a call is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target<'t> {
    /// No device is known to be controlled by this tool.
    Unrelated,
    /// The device at this place, which this argument names.
    One(usize, &'t DeviceTool),
    /// It could be one of several.
    Several,
    /// The device at this place, but the controller may take its address for that of another device, and one of the two
    /// is guarded.
    Shared(usize),
    /// No device that this tool controls is called so.
    Unknown,
}

impl PartialEq for DeviceTool {
    fn eq(&self, other: &Self) -> bool {
        core::ptr::eq(self, other)
    }
}

impl Eq for DeviceTool {}

/// A spoken name. A longer one is no device's.
pub(super) type SpokenName = heapless::String<{ limits::DEVICE_NAME + limits::DEVICE_ROOM }>;

/// The name of the device in a call, if it has one that can be a name.
pub(super) fn spoken_name(arguments: Value<'_>, argument: &str) -> Option<SpokenName> {
    // Of several with one name the last one counts, at the controller as well.
    let given = arguments.members().filter(|(name, _)| *name == *argument).last();
    given.and_then(|(_, value)| match value.as_text() {
        Some(text) => text.decode(),
        None => SpokenName::try_from(value.text()).ok(),
    })
}

/// Finds the device that a call is about.
pub(super) fn resolve<'t>(table: &'t Table, tool: &str, arguments: Value<'_>) -> Target<'t> {
    let has = |argument: &str| arguments.members().any(|(name, _)| name == *argument);
    let known = table.tools_named(tool);
    let Some(first) = known.clone().next() else { return Target::Unrelated };
    let mut given = known.clone().filter(|(_, tool)| has(&tool.argument));
    let (bit, named) = given.next().unwrap_or(first);
    if given.next().is_some() {
        // Which of them counts is up to the controller.
        return Target::Several;
    }
    if !has(&named.argument) {
        // Some tools need no name if there is only one device.
        let mut devices = table.places_controlled_by(bit);
        return match (devices.next(), devices.next()) {
            (Some(place), None) => Target::One(place, named),
            _ => Target::Several,
        };
    }
    let Some(spoken) = spoken_name(arguments, &named.argument) else { return Target::Unknown };
    let target = resolve_name(table, &spoken, bit, named);
    match target {
        Target::One(place, _) if names_guarded(table, all_bits(known), arguments, &named.argument, place) => {
            Target::Several
        }
        Target::One(place, _) if shares_address(table, tool, place) => Target::Shared(place),
        target => target,
    }
}

/// Whether the controller may take the address of the device at `place` for that of another device that the tool
/// controls, and one of the two is guarded.
pub(super) fn shares_address(table: &Table, tool: &str, place: usize) -> bool {
    let Some(device) = table.get(place) else { return false };
    let Some(address) = device.address_text() else { return false };
    let is_guarded = device.kind.is_guarded();
    if !is_guarded && device.addressing.address == Address::Name && !table.may_name_guarded(place) {
        return false;
    }
    namesakes(table, tool, &Spoken::new(address), is_guarded).any(|other| other != place)
}

/// The places of the devices that the tool controls and that the controller may mean by the address of a device: those
/// with the same address apart from case, white space and punctuation. If the device `is_guarded`, these are all such
/// devices. Otherwise only guarded ones, including those for which it is just a name or id.
pub(super) fn namesakes(
    table: &Table,
    tool: &str,
    address: &Spoken<'_>,
    is_guarded: bool,
) -> impl Iterator<Item = usize> {
    let is_called_so = move |device: &Device<'_>| {
        let how = address.matches(device).filter(|how| *how <= Match::Words);
        let is_addressed_so = match device.addressing.address {
            Address::Opaque => false,
            Address::Name => how.is_some_and(|how| how != Match::Id || device.name == device.id),
            Address::Id | Address::Number => how == Some(Match::Id),
        };
        is_addressed_so || !is_guarded && how.is_some()
    };
    let tools = all_bits(table.tools_named(tool));
    let places = table.places_controlled_by(tools).filter(move |_| tools != ANY);
    places.filter(move |place| {
        (is_guarded || table.is_guarded(*place))
            && table.may_be_called(address, *place)
            && table.get(*place).is_some_and(|device| is_called_so(&device))
    })
}

/// Finds the device that these tools control and that a call names in this argument.
fn resolve_name<'t>(table: &'t Table, spoken: &str, bit: ToolBits, named: &'t DeviceTool) -> Target<'t> {
    let mut addressed = table.places_controlled_by(bit).filter(|place| table.is_address_of(spoken, *place));
    match (addressed.next(), addressed.next()) {
        (Some(place), None) => return Target::One(place, named),
        (Some(_), Some(_)) => return Target::Several,
        (None, _) => {}
    }
    match find(table, bit, &Spoken::new(spoken)) {
        Found::One(place) => Target::One(place, named),
        Found::Several(_) => Target::Several,
        Found::None => Target::Unknown,
    }
}

/// How deep the arguments of a call are searched for names. What is deeper may be one.
const DEPTH: u8 = 4;

/// Whether another argument than the one that names the device at `place` names a guarded device that the tool controls: which
/// of the two counts is up to the controller. The arguments that tell the actions of the guarded device apart do not name it.
fn names_guarded(table: &Table, tools: ToolBits, arguments: Value<'_>, naming: &str, place: usize) -> bool {
    let guarded =
        || table.places_controlled_by(tools).filter(|other| *other != place && table.is_guarded(*other));
    if guarded().next().is_none() {
        return false;
    }
    arguments.members().filter(|(name, _)| *name != *naming).any(|(name, value)| {
        // The actions of a device are long, so they come last.
        let is_any = |is_it: PlaceTest<'_>| {
            let is_told_apart =
                |place| table.get(place).is_some_and(|device| is_told_apart_by(&device, &name));
            guarded().any(|place| is_it(place) && !is_told_apart(place))
        };
        names_any(table, value, &is_any, DEPTH)
    })
}

/// Whether an argument is one of those of the device's actions.
fn is_told_apart_by(device: &Device<'_>, argument: &Text<'_>) -> bool {
    device.actions().members().any(|(_, action)| {
        let action = DeclaredAction(action);
        action.value_argument().is_some_and(|value| value == *argument)
            || action.arguments().any(|(name, value)| name == *argument && !device.is_addressed_by(value))
    })
}

/// Whether something holds for the device at a place.
type PlaceTest<'a> = &'a dyn Fn(usize) -> bool;

/// Whether a value is the name or the id of a device, or has one inside. `is_any` tells whether something holds for any of the
/// devices in question.
fn names_any(table: &Table, value: Value<'_>, is_any: &dyn Fn(PlaceTest<'_>) -> bool, depth: u8) -> bool {
    let is =
        |place, is_it: &dyn Fn(&Device<'_>) -> bool| table.get(place).is_some_and(|device| is_it(&device));
    match value.kind() {
        JsonKind::Object | JsonKind::Array if depth == 0 => is_any(&|_| true),
        JsonKind::Object | JsonKind::Array => {
            let mut inside = value.members().map(|(_, value)| value).chain(value.items());
            inside.any(|value| names_any(table, value, is_any, depth - 1))
        }
        JsonKind::String => value.as_text().and_then(|text| text.decode()).is_some_and(|text: SpokenName| {
            let spoken = Spoken::new(&text);
            let is_it = |device: &Device<'_>| spoken.matches(device).is_some_and(|how| how <= Match::Words);
            is_any(&|place| table.may_be_called(&spoken, place) && is(place, &is_it))
        }),
        JsonKind::Number => is_any(&|place| is(place, &|device| value.text() == device.id)),
        JsonKind::Null | JsonKind::Bool => false,
    }
}

/// Which device a spoken name means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// The one at this place.
    One(usize),
    /// Several match equally well.
    Several(Match),
    /// None matches.
    None,
}

/// All devices, whatever controls them.
pub(super) const ANY: ToolBits = 0;

/// The bits of several tools.
fn all_bits<'t>(tools: impl Iterator<Item = (ToolBits, &'t DeviceTool)>) -> ToolBits {
    tools.fold(ANY, |bits, (bit, _)| bits | bit)
}

/// Finds the best match among the devices that these tools control. While devices are left out, or the names of some are not
/// known, a name has to be said as it is: it may be that of one of them. Of those that are left out, [`find_loosely`] follows.
pub(super) fn find(table: &Table, tools: ToolBits, spoken: &Spoken<'_>) -> Found {
    if table.left_out() == 0 && !table.has_nameless() {
        return find_loosely(table, tools, spoken);
    }
    let named = table.places_controlled_by(tools).filter(|place| table.may_be_called(spoken, *place));
    let matches = named.filter_map(|place| Some((spoken.matches(&table.get(place)?)?, place)));
    best(matches.filter(|(quality, _)| *quality <= Match::Words))
}

/// Finds the best match among the devices that these tools control, whatever else there is.
pub(super) fn find_loosely(table: &Table, tools: ToolBits, spoken: &Spoken<'_>) -> Found {
    let places = || table.places_controlled_by(tools);
    let named = places().filter(|place| table.may_be_called(spoken, *place));
    match best(named.filter_map(|place| Some((spoken.matches(&table.get(place)?)?, place)))) {
        Found::None => best(places().filter_map(|place| Some((spoken.begins(&table.get(place)?)?, place)))),
        found => found,
    }
}

/// The place with the best match.
fn best(matches: impl Iterator<Item = (Match, usize)>) -> Found {
    let mut best: Option<(Match, usize, usize)> = None;
    for (quality, place) in matches {
        best = Some(match best {
            Some((known, first, count)) if known == quality => (known, first, count + 1),
            Some(better) if better.0 < quality => better,
            _ => (quality, place, 1),
        });
    }
    match best {
        Some((_, place, 1)) => Found::One(place),
        Some((quality, ..)) => Found::Several(quality),
        None => Found::None,
    }
}
