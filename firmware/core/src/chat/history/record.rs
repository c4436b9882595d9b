//! What a history is made of: records, one after the other in its bytes.
//!
//! Texts are kept decoded: that is what they are cut as, umlauts take two bytes and not six, and writing them into a
//! request escapes whole runs at a time. Arguments are JSON text, since every provider wants them as that.

use core::fmt::{self, Display};

use crate::text::{Fill, Measure};

/// What a record is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// What a person says.
    User,
    /// What the model says.
    Said,
    /// A call, and its result once there is one.
    Call,
}

/// The parts of a record. One that says something has a [`TEXT`] alone.
pub(super) const TEXT: usize = 0;
pub(super) const ID: usize = 0;
pub(super) const NAME: usize = 1;
pub(super) const ARGUMENTS: usize = 2;
pub(super) const RESULT: usize = 3;

/// Flags of a call.
pub(super) const DONE: u8 = 1;
pub(super) const FAILED: u8 = 2;
pub(super) const CUT: u8 = 4;
/// The arguments were no JSON object; what is there now is one that quotes them.
pub(super) const WRONG: u8 = 8;

/// The beginning of a record: what it is, and how long its parts are.
#[derive(Clone, Copy, Debug)]
pub(super) struct Header {
    pub(super) kind: Kind,
    pub(super) iteration: u8,
    pub(super) flags: u8,
    pub(super) lengths: [u16; 4],
}

impl Header {
    /// Bytes that it takes.
    pub(super) const SIZE: usize = 11;

    /// Of a record that says something this long.
    pub(super) const fn saying(kind: Kind, length: u16) -> Self {
        Self { kind, iteration: 0, flags: 0, lengths: [length, 0, 0, 0] }
    }

    /// Of this many bytes together with the parts.
    pub(super) fn total(&self) -> usize {
        Self::SIZE + self.lengths.iter().map(|length| usize::from(*length)).sum::<usize>()
    }

    /// Where a part begins, from the beginning of the record.
    pub(super) fn offset(&self, part: usize) -> usize {
        Self::SIZE + self.lengths.iter().take(part).map(|length| usize::from(*length)).sum::<usize>()
    }

    /// The length of a part.
    pub(super) fn length(&self, part: usize) -> usize {
        self.lengths.get(part).copied().unwrap_or_default().into()
    }

    pub(super) fn encode(&self) -> [u8; Self::SIZE] {
        let [[a, b], [c, d], [e, f], [g, h]] = self.lengths.map(u16::to_le_bytes);
        [self.kind as u8, self.iteration, self.flags, a, b, c, d, e, f, g, h]
    }

    fn decode([kind, iteration, flags, a, b, c, d, e, f, g, h]: [u8; Self::SIZE]) -> Option<Self> {
        let kind = [Kind::User, Kind::Said, Kind::Call].into_iter().find(|known| *known as u8 == kind)?;
        let lengths = [[a, b], [c, d], [e, f], [g, h]].map(u16::from_le_bytes);
        Some(Self { kind, iteration, flags, lengths })
    }
}

/// One record.
#[derive(Clone, Copy, Debug)]
pub(super) struct Record<'a> {
    /// Where it begins.
    pub(super) at: usize,
    pub(super) header: Header,
    bytes: &'a [u8],
}

impl<'a> Record<'a> {
    /// The text of a part.
    pub(super) fn part(&self, part: usize) -> &'a str {
        let start = self.header.offset(part);
        let bytes = self.bytes.get(start..start + self.header.length(part)).unwrap_or_default();
        core::str::from_utf8(bytes).unwrap_or_default()
    }

    /// Where the next one begins.
    pub(super) fn end(&self) -> usize {
        self.at + self.bytes.len()
    }

    /// Whether it has the flag.
    pub(super) const fn has(&self, flag: u8) -> bool {
        self.header.flags & flag != 0
    }

    /// Whether it is a call without a result.
    pub(super) fn is_pending(&self) -> bool {
        self.header.kind == Kind::Call && !self.has(DONE)
    }
}

/// Records in order.
#[derive(Clone, Debug)]
pub(super) struct Records<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Records<'a> {
    /// Those in `bytes`, from `at` on.
    pub(super) const fn new(bytes: &'a [u8], at: usize) -> Self {
        Self { bytes, at }
    }
}

impl<'a> Iterator for Records<'a> {
    type Item = Record<'a>;

    fn next(&mut self) -> Option<Record<'a>> {
        let header = Header::decode(*self.bytes.get(self.at..)?.first_chunk()?)?;
        let bytes = self.bytes.get(self.at..self.at + header.total())?;
        let record = Record { at: self.at, header, bytes };
        self.at = record.end();
        Some(record)
    }
}

/// A record that is to be written: the parts, cut to what the header says.
pub(super) struct Draft<'a> {
    pub(super) header: Header,
    pub(super) parts: [&'a dyn Display; 3],
}

impl<'a> Draft<'a> {
    /// With the length of the parts, each at most so many bytes. None if that is more than can be counted.
    pub(super) fn new(kind: Kind, parts: [&'a dyn Display; 3], most: usize) -> Option<Self> {
        let mut header = Header::saying(kind, 0);
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
            let most = room.len();
            // What is shorter than it was measured is filled up with spaces: it stays text.
            room.fill(b' ');
            let _ = Measure::Plain.write(part, most, &mut Fill { rest: room });
            rest = after;
        }
    }
}

/// Nothing, where a part is wanted.
pub(super) struct Nothing;

impl Display for Nothing {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        Ok(())
    }
}
