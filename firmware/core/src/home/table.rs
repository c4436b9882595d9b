//! The devices in fixed memory: an entry each, and their texts one after the other.

use core::fmt::{self, Display, Write as _};

use super::ability::Abilities;
use super::device::{Description, Device};
use super::kind::Kind;
use crate::limits;
use crate::text::{Fill, Measure};

/// The texts of a device, in the order in which they are kept.
#[derive(Clone, Copy)]
enum Part {
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
    /// On the list that is being received, or the last one.
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
}

impl Table {
    pub(super) const fn new() -> Self {
        Self { entries: heapless::Vec::new(), texts: [0; limits::HOME_TEXTS], used: 0 }
    }

    pub(super) fn clear(&mut self) {
        self.entries.clear();
        self.used = 0;
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
        self.entries.iter().position(|entry| self.text(entry, Part::Id) == id)
    }

    /// The next device after this place with `with` and without `without`, going round.
    pub(super) fn next(&self, with: Flags, without: Flags, after: usize) -> Option<usize> {
        let count = self.len();
        let places = (1..=count).map(|step| (after + step) % count);
        let mut flags = places.filter_map(|place| Some((place, self.entries.get(place)?.flags)));
        flags.find(|(_, flags)| flags & with.0 != 0 && flags & without.0 == 0).map(|(place, _)| place)
    }

    /// The first device of which the broker has to be told how it is. One that has left leaves Home Assistant first, which
    /// would miss its state.
    pub(super) fn first_due(&self) -> Option<usize> {
        let not_yet = Flags::GONE.0 | Flags::UNANNOUNCED.0;
        self.entries
            .iter()
            .position(|entry| entry.flags & Flags::DUE.0 != 0 && entry.flags & not_yet != not_yet)
    }

    /// The first device that has neither.
    pub(super) fn first_unlike(&self, one: Flags, other: Flags) -> Option<usize> {
        self.entries.iter().position(|entry| entry.flags & (one.0 | other.0) == 0)
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

    /// Adds a device of which nothing but its id is known.
    pub(super) fn add(&mut self, id: &str) -> Result<usize, Full> {
        let length = u16::try_from(id.len()).map_err(|_| Full)?;
        let entry = Entry {
            start: 0,
            // It is called so until it is read.
            lengths: [length, length, 0, 0, 0, 0, 0],
            kind: Kind::Other,
            battery: 0,
            flags: Flags::LISTED.0 | Flags::STALE.0,
            abilities: Abilities::NONE,
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
        let abilities = Abilities::read(description.actions);
        let id: super::DeviceId = self.text(&old, Part::Id).try_into().map_err(|_| Full)?;
        let mut outcome = Ok(false);
        description.texts(&id, &mut |texts| outcome = self.replace(place, &old, texts));
        if let (Err(Full), Some(entry)) = (outcome, self.entries.get_mut(place)) {
            // What it is counts even if how it stands is not known.
            entry.kind = description.kind;
        }
        let has_new_texts = outcome?;
        let Some(entry) = self.entries.get_mut(place) else { return Err(Full) };
        let flag = if description.is_available { Flags::AVAILABLE.0 } else { 0 };
        entry.flags = entry.flags & !Flags::AVAILABLE.0 | flag;
        entry.kind = description.kind;
        entry.abilities = abilities;
        entry.battery = description.battery.map_or(0, |percent| percent.saturating_add(1));
        let is_same = entry.kind == old.kind && entry.battery == old.battery && entry.flags == old.flags;
        Ok(has_new_texts || !is_same || entry.abilities != old.abilities)
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

    fn replace(&mut self, place: usize, old: &Entry, texts: [&dyn Display; PARTS]) -> Result<bool, Full> {
        let parts =
            [Part::Id, Part::Name, Part::Room, Part::KindWord, Part::State, Part::Actions, Part::Units];
        if parts.iter().zip(texts).all(|(part, text)| is_text(self.text(old, *part), text)) {
            return Ok(false);
        }
        let length: usize = texts.iter().map(|text| Measure::Plain.length(*text)).sum();
        if self.used - old.length() + length > self.texts.len() {
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
            id: self.text(entry, Part::Id),
            name: self.text(entry, Part::Name),
            room: self.text(entry, Part::Room),
            kind: entry.kind,
            kind_word: self.text(entry, Part::KindWord),
            state: self.text(entry, Part::State),
            actions: self.text(entry, Part::Actions),
            abilities: entry.abilities,
            units: self.text(entry, Part::Units),
            is_available: is_known && entry.flags & Flags::AVAILABLE.0 != 0,
            battery: entry.battery.checked_sub(1),
        }
    }

    fn text(&self, entry: &Entry, part: Part) -> &str {
        let lengths = || entry.lengths.iter().map(|length| usize::from(*length));
        let start = usize::from(entry.start) + lengths().take(part as usize).sum::<usize>();
        let length = lengths().nth(part as usize).unwrap_or_default();
        let text = self.texts.get(start..start + length).unwrap_or_default();
        core::str::from_utf8(text).unwrap_or_default()
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
