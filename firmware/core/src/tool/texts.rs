//! The texts of the controller's tools, in fixed memory.

use crate::json::Text;
use crate::limits;

/// Marks the end of a description that was cut.
const CUT: &str = "…";

/// Where a name, a description and a schema are in [`TextArena`], one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    start: u16,
    name: u16,
    description: u16,
    schema: u16,
}

impl Span {
    fn length(&self) -> usize {
        self.length_with(usize::MAX)
    }

    /// The length if the description is cut to `most` bytes.
    pub(super) fn length_with(&self, most: usize) -> usize {
        usize::from(self.name) + usize::from(self.description).min(most) + usize::from(self.schema)
    }
}

/// The texts of many tools. Freed room is reclaimed by [`compact`](Self::compact).
#[derive(Debug)]
pub(super) struct TextArena {
    bytes: [u8; limits::TOOL_TEXTS],
    used: usize,
}

// Offsets are two bytes.
const _: () = assert!(limits::TOOL_TEXTS <= u16::MAX as usize);

impl TextArena {
    pub(super) const fn new() -> Self {
        Self { bytes: [0; limits::TOOL_TEXTS], used: 0 }
    }

    /// The name, the description and the schema at `span`.
    pub(super) fn get(&self, span: &Span) -> [&str; 3] {
        let mut at = usize::from(span.start);
        [span.name, span.description, span.schema].map(|length| {
            let start = at;
            at += usize::from(length);
            core::str::from_utf8(self.bytes.get(start..at).unwrap_or_default()).unwrap_or_default()
        })
    }

    /// Adds a name, a description, which `describe` writes and returns the length of, and a schema. `None` if they do not
    /// fit.
    pub(super) fn add(
        &mut self,
        name: &str,
        describe: impl FnOnce(&mut [u8]) -> Option<usize>,
        schema: &str,
    ) -> Option<Span> {
        let room = self.bytes.get_mut(self.used..)?;
        let (named, room) = room.split_at_mut_checked(name.len())?;
        named.copy_from_slice(name.as_bytes());
        let description = describe(room)?;
        room.get_mut(description..)?.get_mut(..schema.len())?.copy_from_slice(schema.as_bytes());
        let [start, name, description, schema] =
            [self.used, name.len(), description, schema.len()].map(|length| u16::try_from(length).ok());
        let span = Span { start: start?, name: name?, description: description?, schema: schema? };
        self.used += span.length();
        Some(span)
    }

    /// The number of free bytes behind the last text.
    pub(super) const fn room(&self) -> usize {
        limits::TOOL_TEXTS.saturating_sub(self.used)
    }

    /// Cuts a description that is longer than `most` bytes. The freed bytes stay as a gap.
    pub(super) fn cut_description(&mut self, span: &mut Span, most: usize) {
        if usize::from(span.description) <= most {
            return;
        }
        let [_, description, _] = self.get(span);
        let kept = description.floor_char_boundary(most.saturating_sub(CUT.len()));
        let start = usize::from(span.start) + usize::from(span.name);
        let schema = start + usize::from(span.description);
        let end = start + kept + CUT.len();
        if let Some(mark) = self.bytes.get_mut(start + kept..end) {
            mark.copy_from_slice(CUT.as_bytes());
            self.bytes.copy_within(schema..schema + usize::from(span.schema), end);
            // The cut description is shorter, so its length fits.
            span.description = (end - start) as u16;
        }
    }

    /// Closes the gaps between the texts that are still in use, given in any order.
    pub(super) fn compact(&mut self, wanted: &mut [&mut Span]) {
        // By hand: the standard library's sort takes 3 KB of flash, and these are few and nearly in order.
        for sorted in 1..wanted.len() {
            let mut at = sorted;
            while let Some([before, after]) = at.checked_sub(1).and_then(|from| wanted.get_mut(from..=at)) {
                if before.start <= after.start {
                    break;
                }
                core::mem::swap(before, after);
                at -= 1;
            }
        }
        self.used = 0;
        for span in wanted {
            let start = usize::from(span.start);
            let length = span.length();
            self.bytes.copy_within(start..start + length, self.used);
            // It moves towards the start, so it fits into two bytes.
            span.start = self.used as u16;
            self.used += length;
        }
    }
}

/// Writes a description, cut to at most `most` bytes. Returns its length, or `None` if there is no room for it.
pub(super) fn describe(description: Text<'_>, most: usize, room: &mut [u8]) -> Option<usize> {
    let mut end = 0;
    // Where the mark has to begin if the description continues.
    let mut cut = 0;
    for character in description.chars() {
        let start = end;
        end += character.len_utf8();
        if end > most {
            end = cut + CUT.len();
            room.get_mut(cut..end)?.copy_from_slice(CUT.as_bytes());
            break;
        }
        character.encode_utf8(room.get_mut(start..end)?);
        if end + CUT.len() <= most {
            cut = end;
        }
    }
    Some(end)
}

/// Whether `kept` is the beginning of this description, followed by the mark.
pub(super) fn is_cut_from(kept: &str, description: Text<'_>) -> bool {
    let mut characters = description.chars();
    kept.strip_suffix(CUT).is_some_and(|kept| kept.chars().all(|kept| characters.next() == Some(kept)))
        && characters.next().is_some()
}
