//! All names of the database, and how people write them.
//!
//! The table is sorted, and each name has only what differs from the one before: a byte that says how much is the same, a
//! byte for the rule, and the rest of the name, in which bytes from 0x80 stand for pairs. `tests/generate.rs` writes it.

use heapless::{String, Vec};

use super::table::{NAMES, PAIRS, RULES};
use super::{Rule, Zone};
use crate::limits;

/// A name of the database.
pub type ZoneName = String<{ limits::ZONE_NAME }>;

/// From here on, the byte for the rule is an index into [`RULES`]. Below, it is a fixed offset in quarters of an hour.
pub(super) const FIRST_RULE: i8 = 64;

/// The first byte that stands for a pair.
pub(super) const FIRST_PAIR: u8 = 0x80;

/// Pairs inside pairs inside …; a test checks that the table has no more.
const PAIR_DEPTH: usize = 16;

/// Walks through all names.
pub(super) struct ZoneNames {
    rest: &'static [u8],
    name: ZoneName,
}

impl ZoneNames {
    pub(super) const fn new() -> Self {
        Self { rest: NAMES, name: ZoneName::new() }
    }

    /// The next name, and the byte for its rule.
    pub(super) fn next(&mut self) -> Option<(&ZoneName, i8)> {
        let [same, rule, rest @ ..] = self.rest else { return None };
        self.name.truncate(usize::from(*same));
        let length = rest.iter().take_while(|byte| **byte >= b' ').count();
        let (added, rest) = rest.split_at_checked(length)?;
        self.rest = rest;
        let mut open = Vec::<u8, PAIR_DEPTH>::new();
        for byte in added {
            open.push(*byte).ok()?;
            while let Some(byte) = open.pop() {
                match byte.checked_sub(FIRST_PAIR) {
                    None => self.name.push(char::from(byte)).ok()?,
                    Some(pair) => {
                        let [first, second] = *PAIRS.get(usize::from(pair))?;
                        open.push(second).ok()?;
                        open.push(first).ok()?;
                    }
                }
            }
        }
        Some((&self.name, rule.cast_signed()))
    }
}

/// The zone of this name, or of the only zone with this last part.
pub(super) fn find(text: &str) -> Option<Zone> {
    let mut names = ZoneNames::new();
    let mut found: Option<(ZoneName, i8)> = None;
    let mut is_clear = true;
    while let Some((name, rule)) = names.next() {
        if is_same(name, text) {
            (found, is_clear) = (Some((name.clone(), rule)), true);
            break;
        }
        if last_part(name).is_some_and(|last| is_same(last, text)) {
            match &found {
                None => found = Some((name.clone(), rule)),
                Some((_, other)) => is_clear &= *other == rule,
            }
        }
    }
    let (name, rule) = found.filter(|_| is_clear)?;
    Some(Zone { name, rule: rule_of(rule)? })
}

fn rule_of(byte: i8) -> Option<Rule> {
    match usize::try_from(byte.saturating_sub(FIRST_RULE)) {
        Ok(index) => RULES.split(' ').nth(index).and_then(Rule::parse_unnamed),
        Err(_) => Some(Rule::fixed(i32::from(byte) * 900)),
    }
}

/// What is behind the last slash. Not of `Etc/GMT+2`: that is west of Greenwich, and whoever writes `GMT+2` means east.
fn last_part(name: &str) -> Option<&str> {
    let (first, last) = name.rsplit_once('/')?;
    (first != "Etc").then_some(last)
}

/// Case does not matter, and people write spaces.
fn is_same(name: &str, text: &str) -> bool {
    name.len() == text.len() && name.bytes().zip(text.bytes()).all(|(name, text)| fold(name) == fold(text))
}

const fn fold(byte: u8) -> u8 {
    if byte == b' ' { b'_' } else { byte.to_ascii_lowercase() }
}

/// The name at an index.
pub(super) fn nth(index: u16) -> Option<ZoneName> {
    let mut names = ZoneNames::new();
    for _ in 0..index {
        names.next()?;
    }
    names.next().map(|(name, _)| name.clone())
}

/// The index of the name that is most like a text, as a whole or by its last part.
pub(super) fn nearest(text: &str) -> Option<u16> {
    let mut nearest = None;
    // A third of the letters may be wrong.
    let mut least = text.len() / 3 + 1;
    if text.len() > limits::ZONE_NAME {
        return nearest;
    }
    let mut names = ZoneNames::new();
    let mut index = 0;
    while let Some((name, _)) = names.next() {
        let last = last_part(name).unwrap_or(name);
        let distance = distance(name, text).min(distance(last, text));
        if distance < least && !name.starts_with("Etc/") {
            (nearest, least) = (Some(index), distance);
        }
        index += 1;
    }
    nearest
}

/// How many letters have to be changed, added or removed (Levenshtein). Both have at most [`limits::ZONE_NAME`].
fn distance(name: &str, text: &str) -> usize {
    let mut row: [u8; limits::ZONE_NAME] = core::array::from_fn(|index| index as u8 + 1);
    let mut result = text.len();
    for (line, letter) in (1..).zip(name.bytes()) {
        // Above to the left, and to the left, of the cell that is computed.
        let (mut corner, mut left) = (line - 1, line);
        for (cell, other) in row.iter_mut().zip(text.bytes()) {
            let changed = corner + u8::from(fold(letter) != fold(other));
            corner = *cell;
            left = changed.min(left + 1).min(corner + 1);
            *cell = left;
        }
        result = usize::from(left);
    }
    result
}
