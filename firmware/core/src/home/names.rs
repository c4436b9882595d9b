//! Matches spoken names to devices: in any case, without articles, with the room, or by a unique beginning.

use hub_contract::FILLERS;

use super::device::Device;
use crate::hash::Fnv32;
use crate::text::words::{small, words};

/// Shorter beginnings of a name count as a slip of the tongue.
const PREFIX: usize = 3;

/// A name as it is compared: hashes of its words in lower case, without fillers.
///
/// Two names with the same hashes count as the same name. A collision is harmless: the call goes to the device that is found,
/// and it is that device which is assessed and shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Phrase {
    /// Depends on the order of the words.
    sequence: u32,
    /// Does not depend on it.
    set: u32,
    letters: u16,
}

impl Phrase {
    /// The phrase that these texts make up, one after the other.
    fn of(texts: [&str; 2]) -> Self {
        let mut bare = Self { sequence: 0, set: 0, letters: 0 };
        let mut all = bare;
        for (word, _) in texts.into_iter().flat_map(words) {
            all.add(word);
            if !is_filler(word) {
                bare.add(word);
            }
        }
        // A name may consist of fillers: "The A".
        if bare.letters == 0 { all } else { bare }
    }

    fn add(&mut self, word: &str) {
        // Sums and products of the words' hashes tell phrases apart.
        let hash = Fnv32::of(word.chars().map(small));
        self.sequence = self.sequence.wrapping_mul(31).wrapping_add(hash);
        self.set = self.set.wrapping_add(hash);
        self.letters = self.letters.saturating_add(word.chars().count() as u16);
    }

    /// The same for the same words in any order.
    const fn key(&self) -> u16 {
        (self.set ^ self.set >> 16) as u16
    }

    /// Whether there are no words.
    const fn is_empty(&self) -> bool {
        self.letters == 0
    }
}

/// Short hashes of a device's name, kept with the device: most devices are told apart from a spoken name without a look at
/// their letters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NameKeys {
    name: u16,
    with_room: u16,
}

impl NameKeys {
    pub(super) const NONE: Self = Self { name: 0, with_room: 0 };

    pub(super) fn of(name: &str, room: &str) -> Self {
        Self { name: Phrase::of([name, ""]).key(), with_room: Phrase::of([name, room]).key() }
    }

    /// Whether the name, with or without the room, may consist of the words of the other name.
    pub(super) const fn may_be_name(self, other: Self) -> bool {
        self.name == other.name || self.with_room == other.name
    }

    /// Whether the name may consist of these words, in any order, with or without the room.
    pub(super) fn may_be(self, spoken: &Spoken<'_>) -> bool {
        let key = spoken.phrase.key();
        self.name == key || self.with_room == key
    }
}

fn is_filler(word: &str) -> bool {
    word.len() <= 3 && FILLERS.iter().any(|filler| is_same(filler, word))
}

/// Whether two texts are the same, whatever the case.
pub(super) fn is_same(one: &str, other: &str) -> bool {
    one.chars().map(small).eq(other.chars().map(small))
}

/// How well a spoken name matches a device, the best first. A worse match counts only if no device has a better one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Match {
    /// It is the id.
    Id,
    /// It is the name, letter by letter.
    Exact,
    /// The same words in the same order.
    Words,
    /// The same words in any order, with or without the room: "the light in the hall" is the Hall Light.
    AnyOrder,
    /// The name begins so.
    Beginning,
    /// Room and name, or name and room, begin so.
    BeginningWithRoom,
}

/// A spoken name, prepared for comparison with many devices.
pub(super) struct Spoken<'a> {
    text: &'a str,
    phrase: Phrase,
}

impl<'a> Spoken<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        let text = text.trim();
        Self { text, phrase: Phrase::of([text, ""]) }
    }

    /// The text, without white space around it.
    pub(super) const fn text(&self) -> &'a str {
        self.text
    }

    /// Whether this is the device's name with its id in parentheses. The hub writes it that way to distinguish devices
    /// of the same name.
    pub(super) fn is_marked(&self, device: &Device<'_>) -> bool {
        let rest = self.text.strip_suffix(')').and_then(|rest| rest.strip_suffix(device.id));
        rest.and_then(|rest| rest.strip_suffix('(')).is_some_and(|name| is_same(name.trim_end(), device.name))
    }

    /// How well this is the device's name or id, if it is.
    pub(super) fn matches(&self, device: &Device<'_>) -> Option<Match> {
        if device.id == self.text || self.is_marked(device) {
            return Some(Match::Id);
        }
        if device.name == self.text {
            return Some(Match::Exact);
        }
        if self.phrase.is_empty() {
            return None;
        }
        let name = Phrase::of([device.name, ""]);
        if name == self.phrase {
            return Some(Match::Words);
        }
        let has_room = !device.room.is_empty();
        if name.set == self.phrase.set
            || has_room && Phrase::of([device.name, device.room]).set == self.phrase.set
        {
            return Some(Match::AnyOrder);
        }
        None
    }

    /// How well this is the beginning of the device's name, if it is.
    pub(super) fn begins(&self, device: &Device<'_>) -> Option<Match> {
        let has_room = !device.room.is_empty();
        if usize::from(self.phrase.letters) < PREFIX {
            return None;
        }
        if begins([device.name, ""], self.text) {
            return Some(Match::Beginning);
        }
        let with_room = [[device.room, device.name], [device.name, device.room]];
        (has_room && with_room.into_iter().any(|texts| begins(texts, self.text)))
            .then_some(Match::BeginningWithRoom)
    }

    /// How many words of the device's name or room were said, or nearly said: more is nearer.
    pub(super) fn nearness(&self, device: &Device<'_>) -> usize {
        let known = || words(device.name).chain(words(device.room));
        let is_near = |word: &str| known().any(|(known, _)| is_similar(word, known));
        words(self.text).filter(|(word, _)| !is_filler(word) && is_near(word)).count()
    }
}

/// Whether the words of these texts begin with those of `spoken`; the last one may be cut short.
fn begins(texts: [&str; 2], spoken: &str) -> bool {
    let bare = |word: &&str| !is_filler(word);
    let mut known = texts.into_iter().flat_map(words).map(|(word, _)| word).filter(bare);
    let mut spoken = words(spoken).map(|(word, _)| word).filter(bare).peekable();
    if spoken.peek().is_none() {
        return false;
    }
    while let Some(word) = spoken.next() {
        let Some(known) = known.next() else { return false };
        let is_last = spoken.peek().is_none();
        let mut letters = known.chars().map(small);
        let is_beginning = word.chars().map(small).all(|letter| letters.next() == Some(letter));
        if !is_beginning || !is_last && letters.next().is_some() {
            return false;
        }
    }
    true
}

/// Whether one word may be a slip for another: they share a beginning of three letters, or one is part of the other.
fn is_similar(one: &str, other: &str) -> bool {
    let common = one.chars().map(small).zip(other.chars().map(small)).take_while(|(a, b)| a == b).count();
    common >= PREFIX || is_same(one, other)
}

/// Whether the room is called so.
pub(super) fn is_room(room: &str, spoken: &str) -> bool {
    Phrase::of([room, ""]) == Phrase::of([spoken, ""])
}
