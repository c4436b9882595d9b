//! The names of all entries, sorted, in RAM. The values stay in flash.
//!
//! One buffer of records, each as long as its name needs. Finding a name is a walk over at most 4 KiB, which
//! takes less time than a single access to the flash.

use super::key::{Key, Section};
use crate::limits;

/// Before each name: id, length of the name.
const HEAD: usize = 2;

/// An entry's number in flash.
pub(super) type Id = u8;

// Ids are one byte.
const _: () = assert!(limits::STORE_ENTRIES <= Id::MAX as usize + 1);

/// All zeros when new.
pub(super) struct NameIndex {
    records: [u8; limits::STORE_NAMES],
    len: usize,
    /// One bit for each id that is taken, with a name or without.
    taken: [u32; limits::STORE_ENTRIES.div_ceil(32)],
}

/// The id and the key of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NameRecord<'a> {
    pub(super) id: Id,
    pub(super) key: &'a [u8],
}

impl NameIndex {
    pub(super) const fn new() -> Self {
        Self { records: [0; limits::STORE_NAMES], len: 0, taken: [0; limits::STORE_ENTRIES.div_ceil(32)] }
    }

    pub(super) fn clear(&mut self) {
        self.len = 0;
        self.taken.fill(0);
    }

    /// All of them, in order.
    pub(super) fn iter(&self) -> Iter<'_> {
        Iter { rest: self.records.get(..self.len).unwrap_or_default() }
    }

    /// Those in `section`, with their keys, in order.
    pub(super) fn section<'a>(
        &'a self,
        section: Section<'a>,
    ) -> impl Iterator<Item = (NameRecord<'a>, Key<'a>)> {
        let known = self.iter().filter_map(|record| Some((record, Key::decode(record.key)?)));
        known.filter(move |(_, key)| section.has(*key))
    }

    pub(super) fn find(&self, key: &[u8]) -> Option<NameRecord<'_>> {
        self.iter().find(|record| record.key == key)
    }

    pub(super) fn is_taken(&self, id: Id) -> bool {
        self.taken.get(usize::from(id / 32)).is_some_and(|bits| bits >> (id % 32) & 1 == 1)
    }

    /// Marks an id as in use. Those beyond [`limits::STORE_ENTRIES`] are never given out, and need no mark.
    pub(super) fn take(&mut self, id: Id) {
        if let Some(bits) = self.taken.get_mut(usize::from(id / 32)) {
            *bits |= 1 << (id % 32);
        }
    }

    /// An id that is not in use.
    pub(super) fn free_id(&self) -> Option<Id> {
        (0..=Id::MAX).take(limits::STORE_ENTRIES).find(|id| !self.is_taken(*id))
    }

    /// Whether `key` would still fit.
    pub(super) const fn has_room(&self, key: &[u8]) -> bool {
        self.len + HEAD + key.len() <= self.records.len()
    }

    /// Adds an entry, and replaces those with its id or its name. `false` if there is no room.
    pub(super) fn insert(&mut self, record: NameRecord<'_>) -> bool {
        self.forget(record.id);
        // Another entry took this name while this one was damaged.
        if let Some(id) = self.find(record.key).map(|other| other.id) {
            self.forget(id);
        }
        let Ok(key_len) = u8::try_from(record.key.len()) else { return false };
        if !self.has_room(record.key) {
            return false;
        }
        let at = self.offset_of(|other| other.key >= record.key);
        let size = HEAD + record.key.len();
        self.records.copy_within(at..self.len, at + size);
        let head = [record.id, key_len];
        let room = self.records.get_mut(at..at + size).unwrap_or_default();
        for (to, from) in room.iter_mut().zip(head.iter().chain(record.key)) {
            *to = *from;
        }
        self.len += size;
        self.take(record.id);
        true
    }

    /// Frees an id and removes its name.
    pub(super) fn remove(&mut self, id: Id) {
        self.forget(id);
        if let Some(bits) = self.taken.get_mut(usize::from(id / 32)) {
            *bits &= !(1 << (id % 32));
        }
    }

    /// Removes the name of an id, which stays taken.
    pub(super) fn forget(&mut self, id: Id) {
        let at = self.offset_of(|record| record.id == id);
        let rest = self.records.get(at..self.len).unwrap_or_default();
        if let Some(record) = (Iter { rest }).next() {
            let end = at + HEAD + record.key.len();
            self.records.copy_within(end..self.len, at);
            self.len -= end - at;
        }
    }

    /// The offset of the first record that `is_it`, or else of their end.
    fn offset_of(&self, is_it: impl Fn(NameRecord<'_>) -> bool) -> usize {
        self.iter().take_while(|record| !is_it(*record)).map(|record| HEAD + record.key.len()).sum()
    }
}

#[derive(Clone)]
pub(super) struct Iter<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for Iter<'a> {
    type Item = NameRecord<'a>;

    fn next(&mut self) -> Option<NameRecord<'a>> {
        let ([id, key_len], rest) = self.rest.split_first_chunk::<HEAD>()?;
        let (key, rest) = rest.split_at_checked(usize::from(*key_len))?;
        self.rest = rest;
        Some(NameRecord { id: *id, key })
    }
}
