//! Finds devices as people name them: in any case, without articles, with the room, or by a beginning that no other has.

use super::device::Device;
use super::table::Table;
use crate::text::words::{small, words};

/// Shorter beginnings of a name are taken for a slip.
const PREFIX: usize = 3;

/// Words that people add or leave out.
const FILLERS: [&str; 9] = ["the", "a", "an", "my", "our", "in", "of", "at", "on"];

/// Whether two texts are the same, whatever the case.
fn is_same(one: &str, other: &str) -> bool {
    one.chars().map(small).eq(other.chars().map(small))
}

/// The words of a name that count.
fn bare(name: &str) -> impl Iterator<Item = &str> + Clone {
    let is_filler = |word: &str| FILLERS.iter().any(|filler| is_same(filler, word));
    // "The A" is a name, too.
    let is_all = words_of(name).all(is_filler);
    words_of(name).filter(move |word| is_all || !is_filler(word))
}

fn words_of(name: &str) -> impl Iterator<Item = &str> + Clone {
    let mut rest = name;
    core::iter::from_fn(move || {
        let (word, after) = words(rest).next()?;
        rest = after;
        Some(word)
    })
}

/// Whether these are the same words in the same order.
fn are_same<'a, 'b>(
    mut one: impl Iterator<Item = &'a str>,
    mut other: impl Iterator<Item = &'b str>,
) -> bool {
    loop {
        match (one.next(), other.next()) {
            (None, None) => return true,
            (Some(one), Some(other)) if is_same(one, other) => {}
            _ => return false,
        }
    }
}

/// Whether these are the same words in any order.
fn are_alike<'a>(
    one: impl Iterator<Item = &'a str> + Clone,
    other: impl Iterator<Item = &'a str> + Clone,
) -> bool {
    one.clone().all(|word| other.clone().any(|known| is_same(word, known)))
        && other.clone().all(|word| one.clone().any(|known| is_same(word, known)))
}

/// Whether a text begins with what was said, word by word; the last word may be cut short.
fn begins<'a, 'b>(mut name: impl Iterator<Item = &'a str>, said: impl Iterator<Item = &'b str>) -> bool {
    let mut said = said.peekable();
    while let Some(word) = said.next() {
        let Some(known) = name.next() else { return false };
        let is_last = said.peek().is_none();
        let mut letters = known.chars().map(small);
        let is_beginning = word.chars().map(small).all(|letter| letters.next() == Some(letter));
        if !is_beginning || !is_last && letters.next().is_some() {
            return false;
        }
    }
    true
}

/// How well a device is named by what was said. Later ones count only if none of the earlier ones fits any device.
const STAGES: [fn(&Device<'_>, &str) -> bool; 6] = [
    |device, said| device.id == said || device.name == said,
    |device, said| are_same(bare(device.name), bare(said)),
    |device, said| {
        has_room(device)
            && with_room(device)
                .into_iter()
                .any(|[one, two]| are_same(bare(one).chain(bare(two)), bare(said)))
    },
    // "The light in the hall" is the Hall Light.
    |device, said| {
        bare(said).next().is_some()
            && (are_alike(bare(device.name), bare(said))
                || has_room(device) && are_alike(bare(device.name).chain(bare(device.room)), bare(said)))
    },
    |device, said| is_long(said) && begins(bare(device.name), bare(said)),
    |device, said| {
        is_long(said)
            && has_room(device)
            && with_room(device).into_iter().any(|[one, two]| begins(bare(one).chain(bare(two)), bare(said)))
    },
];

/// Of the stages, those that name a device and leave no doubt.
const CERTAIN: usize = 4;

const fn has_room(device: &Device<'_>) -> bool {
    !device.room.is_empty()
}

const fn with_room<'a>(device: &Device<'a>) -> [[&'a str; 2]; 2] {
    [[device.room, device.name], [device.name, device.room]]
}

fn is_long(said: &str) -> bool {
    bare(said).flat_map(str::chars).count() >= PREFIX
}

/// Whether what was said can be this device's name, in any spelling.
pub(super) fn may_name(device: &Device<'_>, said: &str) -> bool {
    STAGES.iter().any(|fits| fits(device, said.trim()))
}

/// Whether what was said is this device's name, in a spelling that leaves no doubt.
pub(super) fn names(device: &Device<'_>, said: &str) -> bool {
    STAGES.iter().take(CERTAIN).any(|fits| fits(device, said.trim()))
}

/// Which device was meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meant {
    /// The one at this place.
    One(usize),
    /// Several fit what was said in this stage.
    Several(usize),
    /// None does.
    None,
}

/// The device that was meant.
pub(super) fn find(table: &Table, said: &str) -> Meant {
    let said = said.trim();
    for (stage, fits) in STAGES.iter().enumerate() {
        let mut fitting = table.devices().filter(|(_, device)| fits(device, said));
        match (fitting.next(), fitting.next()) {
            (None, _) => {}
            (Some((place, _)), None) => return Meant::One(place),
            _ => return Meant::Several(stage),
        }
    }
    Meant::None
}

/// The devices that fit what was said in this stage.
pub(super) fn candidates<'t>(
    table: &'t Table,
    said: &'t str,
    stage: usize,
) -> impl Iterator<Item = Device<'t>> {
    let fits = STAGES.get(stage);
    table
        .devices()
        .map(|(_, device)| device)
        .filter(move |device| fits.is_some_and(|fits| fits(device, said.trim())))
}

/// Whether another device has the same name.
pub(super) fn has_twin(table: &Table, device: &Device<'_>) -> bool {
    table.devices().any(|(_, other)| other.id != device.id && is_same(other.name, device.name))
}

/// Whether the room is named so.
pub(super) fn is_room(room: &str, said: &str) -> bool {
    are_same(bare(room), bare(said))
}
