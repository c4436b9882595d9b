//! The devices in fixed memory: an entry each, and their texts one after the other.

use core::fmt::{self, Display, Write as _};

use super::ability::Abilities;
use super::action::DeclaredAction;
use super::device::{Description, Device};
use super::kinds::Kind;
use super::names::{NameKeys, Spoken};
use super::resolve::{self, Address, Addressing, ArgumentName, DeviceTool, ToolBits};
use crate::json::Value;
use crate::limits;
use crate::text::{Fill, Measure};

/// The texts of a device, in the order in which they are kept.
#[derive(Clone, Copy)]
enum TextPart {
    Id,
    Name,
    Room,
    KindWord,
    State,
    Actions,
    Units,
}

/// How many there are.
pub(super) const PARTS: usize = 7;

/// What is true of a device, one bit each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Flags(u16);

impl Flags {
    /// On the last list that was received since the controller was connected.
    pub(super) const LISTED: Self = Self(1);
    /// Its changes are notified.
    pub(super) const WATCHED: Self = Self(1 << 1);
    /// It may have changed since it was last read.
    pub(super) const STALE: Self = Self(1 << 2);
    /// It has been read since the controller was last lost.
    pub(super) const KNOWN: Self = Self(1 << 3);
    /// The broker has not been told how it is now.
    pub(super) const DUE: Self = Self(1 << 4);
    /// It has left. It stays until the broker has been told.
    pub(super) const GONE: Self = Self(1 << 5);
    /// The controller says that it can be reached.
    pub(super) const AVAILABLE: Self = Self(1 << 6);
    /// It has changed in what Home Assistant is told once, or has to be told again.
    pub(super) const UNANNOUNCED: Self = Self(1 << 7);
    /// Somebody has pressed it, and nobody was told.
    pub(super) const PRESSED: Self = Self(1 << 8);
    /// It was missing from a whole list. It leaves if a second one confirms that.
    pub(super) const MISSED: Self = Self(1 << 9);
    /// The last attempt to read it has failed.
    pub(super) const UNREAD: Self = Self(1 << 10);
    /// A command was lost before the device woke up.
    pub(super) const LOST: Self = Self(1 << 11);
    /// The same, and people have not been told.
    pub(super) const LOSS_UNTOLD: Self = Self(1 << 12);
    /// On the list that is being received.
    pub(super) const SEEN: Self = Self(1 << 13);
    /// It is being read.
    pub(super) const READING: Self = Self(1 << 14);
    /// A call waits until it has been read.
    pub(super) const AWAITED: Self = Self(1 << 15);
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    /// Where its texts begin.
    start: u16,
    lengths: [u16; PARTS],
    kind: Kind,
    /// In percent, and one more; zero if it has none.
    battery: u8,
    flags: u16,
    abilities: Abilities,
    addressing: Addressing,
    keys: NameKeys,
}

impl Entry {
    fn length(&self) -> usize {
        self.lengths.iter().map(|length| usize::from(*length)).sum()
    }
}

/// There is no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Full;

// Offsets are two bytes.
const _: () = assert!(limits::HOME_TEXTS <= u16::MAX as usize);

/// The devices. All zeros when new.
pub(super) struct Table {
    entries: heapless::Vec<Entry, { limits::DEVICES }>,
    texts: [u8; limits::HOME_TEXTS],
    /// From here on the texts are free.
    used: usize,
    /// The tools that control devices. One that no device uses any more gives its place to the next.
    tools: heapless::Vec<DeviceTool, { limits::DEVICE_TOOLS }>,
    /// Devices of the last list that are not here.
    left_out: u16,
    /// The texts of the last device that was removed or refused for lack of room. No other is added before they would fit.
    wanted: u16,
}

impl Table {
    pub(super) const fn new() -> Self {
        Self {
            entries: heapless::Vec::new(),
            texts: [0; limits::HOME_TEXTS],
            used: 0,
            tools: heapless::Vec::new(),
            left_out: 0,
            wanted: 0,
        }
    }

    pub(super) fn clear(&mut self) {
        self.entries.clear();
        self.tools.clear();
        self.used = 0;
        self.left_out = 0;
        self.wanted = 0;
    }

    /// How many devices of the last list are not here.
    pub(super) const fn left_out(&self) -> u16 {
        self.left_out
    }

    /// So many devices of the list are not here.
    pub(super) const fn set_left_out(&mut self, count: u16) {
        self.left_out = count;
        if count == 0 {
            self.wanted = 0;
        }
    }

    /// Bytes of text in use.
    #[cfg(test)]
    pub(super) const fn used(&self) -> usize {
        self.used
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// The device at this place.
    pub(super) fn get(&self, place: usize) -> Option<Device<'_>> {
        self.entries.get(place).map(|entry| self.device(entry))
    }

    /// All devices, with their places. Those that have left are not among them.
    pub(super) fn devices(&self) -> impl Iterator<Item = (usize, Device<'_>)> {
        let entries = self.entries.iter().enumerate();
        entries
            .filter(|(_, entry)| entry.flags & Flags::GONE.0 == 0)
            .map(|(place, entry)| (place, self.device(entry)))
    }

    /// The place of the device with this id, one that has left included.
    pub(super) fn place(&self, id: &str) -> Option<usize> {
        self.entries.iter().position(|entry| self.bytes(entry, TextPart::Id) == id.as_bytes())
    }

    /// The next listed device after this place that may have changed since it was last read, going round.
    pub(super) fn next_stale(&self, after: usize) -> Option<usize> {
        let count = self.len();
        let mut places = (1..=count).map(|step| (after + step) % count);
        let wanted = Flags::STALE.0 | Flags::LISTED.0;
        let is_stale = |entry: &Entry| entry.flags & (wanted | Flags::GONE.0) == wanted;
        places.find(|place| self.entries.get(*place).is_some_and(is_stale))
    }

    /// A call waits for all listed devices that may have changed since they were last read.
    pub(super) fn await_stale(&mut self) {
        for entry in &mut self.entries {
            let is_listed = entry.flags & (Flags::LISTED.0 | Flags::GONE.0) == Flags::LISTED.0;
            if is_listed && entry.flags & (Flags::STALE.0 | Flags::READING.0) != 0 {
                entry.flags |= Flags::AWAITED.0;
            }
        }
    }

    /// Whether a call waits for a listed device.
    pub(super) fn is_awaited(&self) -> bool {
        let of_interest = Flags::AWAITED.0 | Flags::LISTED.0 | Flags::GONE.0;
        let awaited = Flags::AWAITED.0 | Flags::LISTED.0;
        self.entries.iter().any(|entry| entry.flags & of_interest == awaited)
    }

    /// The first listed device that has not been read.
    pub(super) fn first_unread(&self) -> Option<usize> {
        let of_interest = Flags::LISTED.0 | Flags::KNOWN.0 | Flags::GONE.0;
        self.entries.iter().position(|entry| entry.flags & of_interest == Flags::LISTED.0)
    }

    /// Devices that could not be read have to be read again.
    pub(super) fn retry_unread(&mut self) {
        let unread = self.entries.iter_mut().filter(|entry| entry.flags & Flags::UNREAD.0 != 0);
        unread.for_each(|entry| entry.flags |= Flags::STALE.0);
    }

    /// The first device whose state has to be published. One that has left leaves Home Assistant first, which
    /// would miss its state.
    pub(super) fn first_due(&self) -> Option<usize> {
        let not_yet = Flags::GONE.0 | Flags::UNANNOUNCED.0;
        self.entries
            .iter()
            .position(|entry| entry.flags & Flags::DUE.0 != 0 && entry.flags & not_yet != not_yet)
    }

    /// The first device with `with`, and without `without`.
    pub(super) fn first(&self, with: Flags, without: Option<Flags>) -> Option<usize> {
        let without = without.map_or(0, |flags| flags.0);
        self.entries.iter().position(|entry| entry.flags & with.0 != 0 && entry.flags & without == 0)
    }

    pub(super) fn has(&self, place: usize, flag: Flags) -> bool {
        self.entries.get(place).is_some_and(|entry| entry.flags & flag.0 != 0)
    }

    pub(super) fn set(&mut self, place: usize, flag: Flags, value: bool) {
        if let Some(entry) = self.entries.get_mut(place) {
            entry.flags = if value { entry.flags | flag.0 } else { entry.flags & !flag.0 };
        }
    }

    /// Sets the flag of all devices.
    pub(super) fn set_all(&mut self, flag: Flags, value: bool) {
        (0..self.len()).for_each(|place| self.set(place, flag, value));
    }

    /// Adds a device of which nothing but its id is known. Without room for the texts of the last device that had to go,
    /// there is none: otherwise that one would come and go with each list.
    pub(super) fn add(&mut self, id: &str) -> Result<usize, Full> {
        if self.used + usize::from(self.wanted) > self.texts.len() {
            return Err(Full);
        }
        self.push(id)
    }

    fn push(&mut self, id: &str) -> Result<usize, Full> {
        let length = u16::try_from(id.len()).map_err(|_| Full)?;
        let entry = Entry {
            start: 0,
            // It is called so until it is read.
            lengths: [length, length, 0, 0, 0, 0, 0],
            kind: Kind::Other,
            battery: 0,
            flags: Flags::LISTED.0 | Flags::SEEN.0 | Flags::STALE.0,
            abilities: Abilities::NONE,
            addressing: Addressing { address: Address::Opaque, tools: 0, has_unnamed: false },
            keys: NameKeys::of(id, ""),
        };
        if self.used + 2 * id.len() > self.texts.len() {
            return Err(Full);
        }
        self.entries.push(entry).map_err(|_| Full)?;
        let place = self.entries.len() - 1;
        self.append(place, &[&id, &id]);
        Ok(place)
    }

    /// Replaces what is known of a device. Returns whether it differs from before. On an error it is as before.
    pub(super) fn describe(&mut self, place: usize, description: &Description<'_>) -> Result<bool, Full> {
        let Some(old) = self.entries.get(place).copied() else { return Err(Full) };
        let abilities = Abilities::read(description.kind, description.actions);
        let id: super::DeviceId = self.text(&old, TextPart::Id).try_into().map_err(|_| Full)?;
        let learn = |tool, argument, taken| self.learn_tool(tool, argument, taken);
        let addressing = resolve::read_addressing(description.actions, description.name, &id, learn);
        let mut outcome = Ok(false);
        description.texts(&id, &mut |texts| outcome = self.replace(place, &old, texts));
        if let (Err(Full), Some(entry)) = (outcome, self.entries.get_mut(place)) {
            // Its kind counts even if its state is not known.
            entry.kind = description.kind;
            entry.addressing = addressing;
        }
        let has_new_texts = outcome?;
        let keys = self.get(place).map_or(NameKeys::NONE, |device| NameKeys::of(device.name, device.room));
        let Some(entry) = self.entries.get_mut(place) else { return Err(Full) };
        let flag = if description.is_available { Flags::AVAILABLE.0 } else { 0 };
        entry.flags = entry.flags & !Flags::AVAILABLE.0 | flag;
        entry.kind = description.kind;
        entry.abilities = abilities;
        entry.keys = keys;
        entry.addressing = addressing;
        entry.battery = description.battery.map_or(0, |percent| percent.saturating_add(1));
        let is_same = entry.kind == old.kind && entry.battery == old.battery && entry.flags == old.flags;
        Ok(has_new_texts || !is_same || entry.abilities != old.abilities)
    }

    /// Removes the last of the devices that matter least, if they matter less than one of this kind. Returns the hash of its
    /// id.
    pub(super) fn make_room_for(&mut self, kind: Kind) -> Option<u32> {
        let least = self.entries.iter().map(|entry| entry.kind.rank()).min()?;
        let matters_least = |entry: &Entry| entry.kind.rank() == least && least < kind.rank();
        let place = self.entries.iter().rposition(matters_least)?;
        self.wanted = self.entries.get(place)?.length() as u16;
        let hash = self.get(place).map(|device| resolve::hash(device.id.chars()));
        self.remove(place);
        self.left_out = self.left_out.saturating_add(1);
        hash
    }

    /// Adds a device of which only its id and kind are known.
    pub(super) fn add_kind(&mut self, id: &str, kind: Kind) -> Result<(), Full> {
        let place = self.push(id)?;
        if let Some(entry) = self.entries.get_mut(place) {
            entry.kind = kind;
        }
        Ok(())
    }

    /// A device has left. It is removed when everybody knows.
    pub(super) fn leave(&mut self, place: usize) {
        for flag in [Flags::GONE, Flags::DUE, Flags::UNANNOUNCED] {
            self.set(place, flag, true);
        }
    }

    /// Removes a device.
    pub(super) fn remove(&mut self, place: usize) {
        if place < self.entries.len() {
            let entry = self.entries.remove(place);
            self.cut(&entry);
        }
    }

    /// The places of the devices that these tools control, or of all if there are none. Those that have left are not among them.
    pub(super) fn places_controlled_by(&self, tools: ToolBits) -> impl Iterator<Item = usize> {
        let is_it = move |entry: &Entry| {
            entry.flags & Flags::GONE.0 == 0 && (tools == resolve::ANY || entry.addressing.tools & tools != 0)
        };
        self.entries.iter().enumerate().filter(move |(_, entry)| is_it(entry)).map(|(place, _)| place)
    }

    /// The places of the locks, garage doors and sirens.
    pub(super) fn guarded_places(&self) -> impl Iterator<Item = usize> {
        self.places_controlled_by(resolve::ANY).filter(|place| self.is_guarded(*place))
    }

    /// Whether the device at this place is a lock, garage door or siren.
    pub(super) fn is_guarded(&self, place: usize) -> bool {
        self.entries.get(place).is_some_and(|entry| entry.kind.is_guarded())
    }

    /// Whether there is a device whose name has never been read.
    pub(super) fn has_nameless(&self) -> bool {
        // Until then it is called by its id.
        let is_nameless =
            |entry: &Entry| self.bytes(entry, TextPart::Name) == self.bytes(entry, TextPart::Id);
        let is_unread = |entry: &&Entry| entry.flags & (Flags::KNOWN.0 | Flags::GONE.0) == 0;
        self.entries.iter().filter(is_unread).any(is_nameless)
    }

    /// Whether the tool does an action of the device by a call that does not name it in an argument that the hub knows.
    pub(super) fn is_controlled_unnamed_by(&self, tool: &str, place: usize) -> bool {
        let Some(device) = self.get(place).filter(|device| device.addressing.has_unnamed) else {
            return false;
        };
        let address = |value: Value<'_>| device.is_addressed_by(value).then_some(device.addressing.address);
        let is_named = |action| {
            let naming = resolve::naming_argument(device.actions(), action, &address);
            naming.is_some_and(|(argument, _)| {
                let mut known = self.tools_named(tool).filter(|(_, tool)| argument == *tool.argument);
                known.any(|(bit, _)| device.addressing.tools & bit != 0)
            })
        };
        let is_tool = |action| DeclaredAction(action).is_of(tool);
        device.actions().members().any(|(_, action)| is_tool(action) && !is_named(action))
    }

    /// Whether this is the address of the device.
    pub(super) fn is_address_of(&self, text: &str, place: usize) -> bool {
        self.entries.get(place).is_some_and(|entry| match entry.addressing.address {
            Address::Opaque => false,
            Address::Name => self.bytes(entry, TextPart::Name) == text.as_bytes(),
            Address::Id | Address::Number => self.bytes(entry, TextPart::Id) == text.as_bytes(),
        })
    }

    /// Whether this may be the id or the name of the device. True for some that it is not.
    pub(super) fn may_be_called(&self, spoken: &Spoken<'_>, place: usize) -> bool {
        let text = spoken.text().as_bytes();
        self.entries.get(place).is_some_and(|entry| {
            entry.keys.may_be(spoken)
                || self.bytes(entry, TextPart::Id) == text
                || self.bytes(entry, TextPart::Name) == text
                || text.ends_with(b")") && spoken.is_marked(&self.device(entry))
        })
    }

    /// Whether a guarded device may be called by the name of the device at `place`. This compares hashes, which costs a tenth of
    /// comparing the names.
    pub(super) fn may_name_guarded(&self, place: usize) -> bool {
        let Some(entry) = self.entries.get(place) else { return false };
        let name = self.bytes(entry, TextPart::Name);
        let is_called_so = |other: &Entry| {
            other.keys.may_be_name(entry.keys)
                || self.bytes(other, TextPart::Id) == name
                || self.bytes(other, TextPart::Name) == name
        };
        // It may end in an id.
        name.ends_with(b")")
            || self.entries.iter().any(|other| other.kind.is_guarded() && is_called_so(other))
    }

    /// The tools of this name, each with its bit.
    pub(super) fn tools_named(&self, tool: &str) -> impl Iterator<Item = (ToolBits, &DeviceTool)> + Clone {
        let hash = resolve::hash(tool.chars());
        let tools = self.tools.iter().enumerate();
        tools.filter(move |(_, known)| known.tool == hash).map(|(index, known)| (1 << index, known))
    }

    /// The bit of a tool that controls devices; one of `taken` is in use already. None if there are too many.
    fn learn_tool(&mut self, tool: u32, argument: ArgumentName, taken: ToolBits) -> Option<ToolBits> {
        let is_it = |known: &DeviceTool| known.tool == tool && known.argument == argument;
        if let Some(index) = self.tools.iter().position(is_it) {
            return Some(1 << index);
        }
        let learned = DeviceTool { tool, argument };
        if self.tools.push(learned.clone()).is_ok() {
            return Some(1 << (self.tools.len() - 1));
        }
        let used = self.entries.iter().fold(taken, |used, entry| used | entry.addressing.tools);
        let index = (0..self.tools.len()).find(|index| used & 1 << index == 0)?;
        *self.tools.get_mut(index)? = learned;
        Some(1 << index)
    }

    fn replace(&mut self, place: usize, old: &Entry, texts: [&dyn Display; PARTS]) -> Result<bool, Full> {
        let parts = [
            TextPart::Id,
            TextPart::Name,
            TextPart::Room,
            TextPart::KindWord,
            TextPart::State,
            TextPart::Actions,
            TextPart::Units,
        ];
        if parts.iter().zip(texts).all(|(part, text)| is_text(self.text(old, *part), text)) {
            return Ok(false);
        }
        let length: usize = texts.iter().map(|text| Measure::Plain.length(*text)).sum();
        if self.used - old.length() + length > self.texts.len() {
            self.wanted = u16::try_from(length).unwrap_or(u16::MAX);
            return Err(Full);
        }
        self.cut(old);
        self.append(place, &texts);
        Ok(true)
    }

    /// Closes the gap that the texts of an entry leave.
    fn cut(&mut self, entry: &Entry) {
        let (start, length) = (usize::from(entry.start), entry.length());
        self.texts.copy_within((start + length).min(self.used)..self.used, start);
        self.used -= length.min(self.used);
        for other in self.entries.iter_mut().filter(|other| other.start > entry.start) {
            // It lay behind them.
            other.start -= length as u16;
        }
    }

    /// Writes the texts of an entry behind all others. They fit.
    fn append(&mut self, place: usize, texts: &[&dyn Display]) {
        let Some(entry) = self.entries.get_mut(place) else { return };
        entry.start = self.used as u16;
        entry.lengths = [0; PARTS];
        for (length, text) in entry.lengths.iter_mut().zip(texts) {
            let room = self.texts.get_mut(self.used..).unwrap_or_default();
            let before = room.len();
            let mut fill = Fill { rest: room };
            let _ = write!(fill, "{text}");
            let written = before - fill.rest.len();
            *length = written as u16;
            self.used += written;
        }
    }

    fn device(&self, entry: &Entry) -> Device<'_> {
        let is_known = entry.flags & Flags::KNOWN.0 != 0;
        Device {
            id: self.text(entry, TextPart::Id),
            name: self.text(entry, TextPart::Name),
            room: self.text(entry, TextPart::Room),
            kind: entry.kind,
            kind_word: self.text(entry, TextPart::KindWord),
            state: self.text(entry, TextPart::State),
            actions: self.text(entry, TextPart::Actions),
            abilities: entry.abilities,
            units: self.text(entry, TextPart::Units),
            addressing: entry.addressing,
            is_available: is_known && entry.flags & Flags::AVAILABLE.0 != 0,
            battery: entry.battery.checked_sub(1),
        }
    }

    fn text(&self, entry: &Entry, part: TextPart) -> &str {
        core::str::from_utf8(self.bytes(entry, part)).unwrap_or_default()
    }

    fn bytes(&self, entry: &Entry, part: TextPart) -> &[u8] {
        let mut start = usize::from(entry.start);
        for (index, length) in entry.lengths.iter().enumerate() {
            let end = start + usize::from(*length);
            if index == part as usize {
                return self.texts.get(start..end).unwrap_or_default();
            }
            start = end;
        }
        &[]
    }
}

/// Whether a text is written as `known`.
fn is_text(known: &str, text: &dyn Display) -> bool {
    struct Rest<'a>(&'a str);
    impl fmt::Write for Rest<'_> {
        fn write_str(&mut self, text: &str) -> fmt::Result {
            self.0 = self.0.strip_prefix(text).ok_or(fmt::Error)?;
            Ok(())
        }
    }
    let mut rest = Rest(known);
    write!(rest, "{text}").is_ok() && rest.0.is_empty()
}
