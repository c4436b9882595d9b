//! The records of a history, stored one after the other in its bytes.
//!
//! Texts are stored decoded: they are cut in that form, umlauts take two bytes instead of six, and writing them into a
//! request escapes whole runs at a time. Arguments are stored as JSON text, which every provider expects.

use core::fmt::Display;

use crate::text::{Fill, Measure};

/// The kind of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RecordKind {
    /// What a person says.
    User,
    /// What the model says.
    Assistant,
    /// A call, with its result once it was run.
    Call,
}

/// The parts of a record: [`TEXT`] alone, or those of a call.
pub(super) const TEXT: usize = 0;
pub(super) const ID: usize = 0;
pub(super) const NAME: usize = 1;
pub(super) const ARGUMENTS: usize = 2;
pub(super) const RESULT: usize = 3;

/// Flags of a call.
pub(super) const DONE: u8 = 1;
pub(super) const FAILED: u8 = 2;
/// The arguments were not a JSON object; the record quotes them in one.
pub(super) const INVALID: u8 = 4;
/// The result is a [`Summary`](crate::tool::Summary).
pub(super) const SUMMARISED: u8 = 8;
/// The result and the id are as short as possible.
pub(super) const BARE: u8 = 16;

/// The beginning of a record: its kind, and the lengths of its parts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Header {
    pub(super) kind: RecordKind,
    pub(super) iteration: u8,
    pub(super) flags: u8,
    pub(super) lengths: [u16; 4],
}

impl Header {
    /// Encoded bytes.
    pub(super) const SIZE: usize = 11;

    /// The size of the record.
    pub(super) fn total(&self) -> usize {
        Self::SIZE + self.lengths.iter().map(|length| usize::from(*length)).sum::<usize>()
    }

    /// The offset of a part in the record.
    pub(super) fn offset(&self, part: usize) -> usize {
        Self::SIZE + self.lengths.iter().take(part).map(|length| usize::from(*length)).sum::<usize>()
    }

    pub(super) fn length(&self, part: usize) -> usize {
        self.lengths.get(part).copied().unwrap_or_default().into()
    }

    pub(super) fn encode(&self) -> [u8; Self::SIZE] {
        let [[a, b], [c, d], [e, f], [g, h]] = self.lengths.map(u16::to_le_bytes);
        [self.kind as u8, self.iteration, self.flags, a, b, c, d, e, f, g, h]
    }

    fn decode([kind, iteration, flags, a, b, c, d, e, f, g, h]: [u8; Self::SIZE]) -> Option<Self> {
        let kind = [RecordKind::User, RecordKind::Assistant, RecordKind::Call]
            .into_iter()
            .find(|known| *known as u8 == kind)?;
        let lengths = [[a, b], [c, d], [e, f], [g, h]].map(u16::from_le_bytes);
        Some(Self { kind, iteration, flags, lengths })
    }
}

/// One record.
#[derive(Clone, Copy, Debug)]
pub(super) struct HistoryRecord<'a> {
    /// Its offset in the history.
    pub(super) at: usize,
    pub(super) header: Header,
    bytes: &'a [u8],
}

impl<'a> HistoryRecord<'a> {
    pub(super) fn part(&self, part: usize) -> &'a str {
        let start = self.header.offset(part);
        let bytes = self.bytes.get(start..start + self.header.length(part)).unwrap_or_default();
        core::str::from_utf8(bytes).unwrap_or_default()
    }

    /// The offset of the next record.
    pub(super) const fn end(&self) -> usize {
        self.at + self.bytes.len()
    }

    pub(super) const fn has(&self, flag: u8) -> bool {
        self.header.flags & flag != 0
    }

    /// Whether the record belongs to an earlier turn, or to an earlier round of the current turn.
    pub(super) const fn is_before(&self, (current, round): (usize, u8)) -> bool {
        self.at < current || self.header.iteration < round
    }

    /// Whether it is a call without a result.
    pub(super) fn is_pending(&self) -> bool {
        self.header.kind == RecordKind::Call && !self.has(DONE)
    }
}

/// Iterates over records.
#[derive(Clone, Debug)]
pub(super) struct Records<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Records<'a> {
    pub(super) const fn new(bytes: &'a [u8], at: usize) -> Self {
        Self { bytes, at }
    }

    /// Whether no record follows this one.
    pub(super) const fn end_with(&self, record: &HistoryRecord<'_>) -> bool {
        record.end() == self.bytes.len()
    }
}

impl<'a> Iterator for Records<'a> {
    type Item = HistoryRecord<'a>;

    fn next(&mut self) -> Option<HistoryRecord<'a>> {
        let header = Header::decode(*self.bytes.get(self.at..)?.first_chunk()?)?;
        let bytes = self.bytes.get(self.at..self.at + header.total())?;
        let record = HistoryRecord { at: self.at, header, bytes };
        self.at = record.end();
        Some(record)
    }
}

/// A record to write. Its parts are cut to the lengths in the header.
pub(super) struct Draft<'a> {
    pub(super) header: Header,
    pub(super) parts: [&'a dyn Display; 3],
}

impl<'a> Draft<'a> {
    /// Measures the parts, of which at most `most` bytes each are kept. `None` if a length does not fit into the header.
    pub(super) fn new(kind: RecordKind, parts: [&'a dyn Display; 3], most: usize) -> Option<Self> {
        let mut header = Header { kind, iteration: 0, flags: 0, lengths: [0; 4] };
        for (length, part) in header.lengths.iter_mut().zip(parts) {
            *length = u16::try_from(Measure::Plain.length(part).min(most)).ok()?;
        }
        Some(Self { header, parts })
    }

    /// Writes it into exactly its [`Header::total`] bytes.
    pub(super) fn write(&self, bytes: &mut [u8]) {
        let Some((header, mut rest)) = bytes.split_first_chunk_mut() else { return };
        *header = self.header.encode();
        for (length, part) in self.header.lengths.iter().zip(self.parts) {
            let Some((room, after)) = rest.split_at_mut_checked((*length).into()) else { return };
            fill(room, part);
            rest = after;
        }
    }
}

/// Fills the bytes with a text, cut if it is too long, and padded with spaces if it is shorter than measured.
pub(super) fn fill(rest: &mut [u8], text: &dyn Display) {
    rest.fill(b' ');
    // It cannot fail: what is too long is cut.
    let _ = Measure::Plain.write(text, rest.len(), &mut Fill { rest });
}
