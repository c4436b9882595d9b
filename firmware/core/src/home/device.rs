//! One device: as the controller describes it, and as the hub keeps it.

use core::fmt::{self, Display};

use hub_contract::DEVICE_URI;

use super::ability::Abilities;
use super::kinds::{self, Kind};
use super::measurement::UnusualUnits;
use super::resolve::{Address, Addressing};
use super::table::PARTS;
use crate::hash::Fingerprint;
use crate::json::{self, Text, Value, Writer};
use crate::limits;
use crate::text::Measure;
use crate::tool::Addressed;

/// The name by which a device is known in topics and to the controller.
pub type DeviceId = heapless::String<{ limits::DEVICE_ID }>;

/// The id in a resource's URI. None if it is no device's, or cannot be part of a topic.
pub(super) fn id_in(uri: &Text<'_>) -> Option<DeviceId> {
    // A longer one is no device's.
    let uri: heapless::String<{ limits::DEVICE_ID + DEVICE_URI.len() }> = uri.decode()?;
    let id = uri.strip_prefix(DEVICE_URI)?;
    let suits = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:".contains(&byte);
    DeviceId::try_from(id).ok().filter(|id| !id.is_empty() && id.bytes().all(suits))
}

/// Whether a resource is a device's, whether the hub can take it in or not.
pub(super) fn is_device(uri: &Text<'_>) -> bool {
    let mut letters = uri.chars();
    DEVICE_URI.chars().all(|letter| letters.next() == Some(letter))
}

/// A device as the hub knows it.
#[derive(Clone, Copy, Debug)]
pub struct Device<'a> {
    /// Its id.
    pub id: &'a str,
    /// What people call it.
    pub name: &'a str,
    /// Where it is; empty if nobody has said so.
    pub room: &'a str,
    /// What it is.
    pub kind: Kind,
    /// The controller's word for its kind, if the hub does not know that.
    pub(super) kind_word: &'a str,
    /// Its state: a JSON object.
    pub(super) state: &'a str,
    /// What can be done with it, if that is [guarded](Kind::is_guarded): a JSON object, or empty.
    pub(crate) actions: &'a str,
    /// What it can do.
    pub abilities: Abilities,
    /// The units of its measurements that are not the usual ones: a JSON object, or empty.
    pub(super) units: &'a str,
    /// How calls address it.
    pub(super) addressing: Addressing,
    /// Whether it can be reached.
    pub is_available: bool,
    /// How full its battery is, in percent.
    pub battery: Option<u8>,
}

impl<'a> Device<'a> {
    /// Its state: an object.
    pub fn state(&self) -> Value<'a> {
        object(self.state)
    }

    /// What can be done with it, as far as it is kept.
    pub(crate) fn actions(&self) -> Value<'a> {
        object(self.actions)
    }

    /// Whether it can do this.
    pub fn can(&self, action: &str) -> bool {
        self.abilities.can(self.kind, action)
    }

    /// The text by which calls address it.
    pub(super) const fn address_text(&self) -> Option<&'a str> {
        match self.addressing.address {
            Address::Opaque => None,
            Address::Name => Some(self.name),
            Address::Id | Address::Number => Some(self.id),
        }
    }

    /// Whether this value is its address.
    pub(crate) fn is_addressed_by(&self, value: Value<'_>) -> bool {
        match (self.addressing.address, value.as_text()) {
            (Address::Name, Some(text)) => text == *self.name,
            (Address::Id, Some(text)) => text == *self.id,
            (Address::Number, None) => value.text() == self.id,
            _ => false,
        }
    }

    /// Its address for this argument of a call, unless the call has it.
    pub(super) fn address_unless_given(&self, arguments: Value<'_>, argument: &str) -> Option<Addressed> {
        let address = Addressed {
            argument: argument.try_into().ok()?,
            value: self.address_text()?.try_into().ok()?,
            is_number: self.addressing.address == Address::Number,
        };
        (!address.is_in(arguments)).then_some(address)
    }

    /// A hash of what it is: another device of the same name has another one.
    pub(crate) fn identity(&self) -> u64 {
        let mut hash = Fingerprint::new();
        for text in [self.id, self.name, self.room, self.actions] {
            hash.add(text.as_bytes());
        }
        hash.add(&[self.kind as u8, self.addressing.address as u8]);
        hash.finish()
    }

    /// The unit of a member of its state: the device's own, or the usual one.
    pub fn unit(&self, name: &str) -> Option<Text<'a>> {
        Value::parse(self.units.as_bytes()).ok()?.get(name)?.as_text()
    }

    /// What it measures: the members of its state that are numbers, without those that are set.
    pub fn readings(&self) -> impl Iterator<Item = Text<'a>> + use<'a> {
        readings_in(self.state())
    }

    /// A hash of what others have to be told again if it changes: everything but the state of the device.
    pub(super) fn fingerprint(&self) -> u64 {
        let mut hash = Fingerprint::new();
        for text in [self.name, self.room, self.units, self.kind_word] {
            hash.add(text.as_bytes());
        }
        let state = self.state();
        readings_in(state).for_each(|name| hash.add(name.escaped().as_bytes()));
        hash.add(&[u8::from(state.get("presses").is_some())]);
        hash.add(state.get("class").map_or("", |class| class.text()).as_bytes());
        hash.add(&[self.kind as u8, u8::from(self.battery.is_some())]);
        hash.add(&self.abilities.to_bytes());
        hash.finish()
    }

    /// Writes the members that it has in `device/<id>` and in lists.
    pub fn write(&self, out: &mut Writer<'_>) {
        out.field("id", self.id);
        out.field("name", self.name);
        out.field("room", self.room);
        out.field("kind", if self.kind == Kind::Other { self.kind_word } else { self.kind.row().name });
        out.field("state", self.state());
        out.field("available", self.is_available);
        if let Some(battery) = self.battery {
            out.field("battery", u32::from(battery));
        }
    }
}

/// The object in a text of the table, which was checked when it was read, or an empty one.
fn object(text: &str) -> Value<'_> {
    let checked = Some(text).filter(|text| !text.is_empty());
    checked.and_then(|text| Value::unchecked(text.as_bytes())).unwrap_or(Value::EMPTY_OBJECT)
}

/// What a device measures, by its state.
fn readings_in<'a>(state: Value<'a>) -> impl Iterator<Item = Text<'a>> + use<'a> {
    let is_set = |name: &str| kinds::is_set(name) || ["button", "presses"].contains(&name);
    let numbers = state.members().filter(|(_, value)| value.kind() == json::Kind::Number);
    numbers.map(|(name, _)| name).filter(move |name| !name.plain().is_some_and(is_set))
}

/// Its name and state, as a sentence without a full stop.
impl Display for Device<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.is_available {
            return write!(f, "{} does not answer", self.name);
        }
        write!(f, "{} is ", self.name)?;
        (self.kind.row().words)(self.state(), f)
    }
}

/// A device as the controller describes it in a resource.
#[derive(Clone, Copy, Debug)]
pub struct Description<'a> {
    pub(super) name: Option<Text<'a>>,
    room: Option<Text<'a>>,
    kind_word: Option<Text<'a>>,
    pub(super) kind: Kind,
    pub(super) state: Value<'a>,
    /// What can be done with it, by action.
    pub(super) actions: Value<'a>,
    /// The units of numbers in its state.
    units: Value<'a>,
    pub(super) is_available: bool,
    pub(super) battery: Option<u8>,
    /// A command waits until the device wakes up.
    pub(super) is_pending: bool,
    /// A command that waited for the device to wake up was lost.
    pub(super) is_lost: bool,
}

impl<'a> Description<'a> {
    /// The description in the answer to `resources/read`, whose text is unescaped into `room`. None if it is not one, or
    /// does not fit.
    pub(super) fn read(result: Value<'_>, room: &'a mut [u8]) -> Option<Self> {
        let contents = result.get("contents")?.items().next()?;
        let text = contents.get("text")?.as_text()?.decode_into(room)?;
        let resource = Value::parse(text.as_bytes()).ok()?;
        (resource.kind() == json::Kind::Object).then(|| Self::of(resource))
    }

    /// What the members say; those of another type say nothing.
    fn of(resource: Value<'a>) -> Self {
        let mut this = Self {
            name: None,
            room: None,
            kind_word: None,
            kind: Kind::Other,
            state: Value::EMPTY_OBJECT,
            actions: Value::EMPTY_OBJECT,
            units: Value::EMPTY_OBJECT,
            is_available: true,
            battery: None,
            is_pending: false,
            is_lost: false,
        };
        // In one pass: to look each up by its name would read all of them each time.
        for (key, value) in resource.members() {
            let object = || if value.kind() == json::Kind::Object { value } else { Value::EMPTY_OBJECT };
            let percent = || value.as_f64().filter(|percent| (0.0..=100.0).contains(percent));
            match key.plain() {
                Some("name") => this.name = value.as_text(),
                Some("room") => this.room = value.as_text(),
                Some("kind") => this.kind_word = value.as_text(),
                Some("state") => this.state = object(),
                Some("actions") => this.actions = object(),
                Some("units") => this.units = object(),
                Some("available") => this.is_available = value.text() != "false",
                Some("battery") => this.battery = percent().map(|percent| percent as u8),
                Some("pending") => this.is_pending = value.text() == "true",
                Some("lost") => this.is_lost = value.text() == "true",
                _ => {}
            }
        }
        this.name = this.name.filter(|name| !crate::text::is_blank(name));
        this.kind = Kind::named(this.kind_word, this.state);
        this
    }

    /// What people call it.
    pub(super) fn name(&self) -> heapless::String<{ limits::QUOTE }> {
        self.name.map(|name| name.excerpt()).unwrap_or_default()
    }

    /// The texts that are kept of it, in the order of [`super::table::Part`]; the first is its id.
    pub(super) fn texts(&self, id: &str, look: &mut dyn FnMut([&dyn Display; PARTS])) {
        let (name, room) = (Clipped(self.name, limits::DEVICE_NAME), Clipped(self.room, limits::DEVICE_ROOM));
        let name: &dyn Display = if self.name.is_none() { &id } else { &name };
        let word = Clipped(self.kind_word.filter(|_| self.kind == Kind::Other), limits::DEVICE_ROOM);
        let (state, actions) = (Compact(self.state), Compact(self.actions));
        let fits = |text: &dyn Display, most| Measure::Plain.length(text) <= most;
        let state: &dyn Display = if fits(&state, limits::DEVICE_STATE) { &state } else { &"{}" };
        let is_kept = self.kind.is_guarded() && fits(&actions, limits::DEVICE_ACTIONS);
        let actions: &dyn Display = if is_kept { &actions } else { &"" };
        let units = UnusualUnits(self.units);
        let has_units = !units.is_empty() && fits(&units, limits::DEVICE_UNITS);
        let units: &dyn Display = if has_units { &units } else { &"" };
        look([&id, name, &room, &word, state, actions, units]);
    }
}

/// As much of a text as fits into so many bytes, and a mark if there is more.
struct Clipped<'a>(Option<Text<'a>>, usize);

impl Display for Clipped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.map(|text| (text, text.plain())) {
            Some((_, Some(plain))) if plain.len() <= self.1 => f.write_str(plain),
            Some((text, _)) => Measure::Plain.write_marked(&text, self.1, "…", f),
            None => Ok(()),
        }
    }
}

/// JSON without white space between its parts.
struct Compact<'a>(Value<'a>);

impl Display for Compact<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.0.text();
        let (mut start, mut is_string, mut is_escaped) = (0, false, false);
        for (at, byte) in text.bytes().enumerate() {
            if !is_string && byte.is_ascii_whitespace() {
                f.write_str(text.get(start..at).unwrap_or_default())?;
                start = at + 1;
            }
            is_string ^= byte == b'"' && !is_escaped;
            is_escaped = is_string && byte == b'\\' && !is_escaped;
        }
        f.write_str(text.get(start..).unwrap_or_default())
    }
}
