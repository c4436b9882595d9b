//! Lines out of a stream of bytes.

use crate::json::{self, Condenser, ItemOf, Value};
use crate::limits;

/// What is in [`Lines::current`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece {
    /// An item of a list that is still being received.
    Item(ItemOf),
    /// A line that is complete.
    Line,
}

/// A JSON text, or what was kept of one that is too long.
#[derive(Clone, Copy, Debug)]
pub struct Message<'a> {
    /// What was kept; not necessarily JSON.
    pub text: &'a [u8],
    /// Whether something was left out.
    pub is_cut: bool,
    /// How many bytes the line has so far.
    pub length: usize,
}

impl<'a> Message<'a> {
    /// Its value, if it is JSON.
    pub fn value(&self) -> Result<Value<'a>, json::Error> {
        Value::parse(self.text)
    }
}

/// Splits a stream of bytes into lines that end in LF or CRLF. Blank ones are skipped.
#[derive(Debug)]
pub struct Lines {
    /// Bytes that have come. Those from `start` to `end` are still to be looked at.
    received: [u8; limits::LINE_READ],
    start: usize,
    end: usize,
    line: Condenser,
    is_complete: bool,
}

impl Lines {
    /// No bytes yet.
    pub const fn new() -> Self {
        Self {
            received: [0; limits::LINE_READ],
            start: 0,
            end: 0,
            line: Condenser::new(),
            is_complete: false,
        }
    }

    /// Drops all bytes.
    pub const fn clear(&mut self) {
        (self.start, self.end) = (0, 0);
        self.line.clear();
        self.is_complete = false;
    }

    /// The piece that [`advance`](Self::advance) returned last.
    pub fn current(&self) -> Message<'_> {
        let text = if self.is_complete { self.line.text() } else { self.line.item() };
        let text = text.strip_suffix(b"\r").unwrap_or(text);
        Message { text, is_cut: self.line.is_cut(), length: self.line.total() }
    }

    /// Where the next bytes go, once [`advance`](Self::advance) returns nothing. Never empty. [`commit`](Self::commit)
    /// says how many came.
    pub const fn room(&mut self) -> &mut [u8] {
        &mut self.received
    }

    /// `count` bytes came into [`room`](Self::room).
    pub fn commit(&mut self, count: usize) {
        (self.start, self.end) = (0, count.min(self.received.len()));
    }

    /// Looks at the bytes up to the end of the next piece, if they contain one.
    pub fn advance(&mut self) -> Option<Piece> {
        if core::mem::take(&mut self.is_complete) {
            self.line.clear();
        }
        while let Some(byte) = self.received.get(self.start..self.end).and_then(|rest| rest.first().copied())
        {
            self.start += 1;
            if byte != b'\n' {
                if self.line.push(byte) {
                    self.line.mend();
                    return Some(Piece::Item(self.line.item_of()));
                }
            } else if self.line.is_blank() {
                self.line.clear();
            } else {
                self.line.mend();
                self.is_complete = true;
                return Some(Piece::Line);
            }
        }
        None
    }
}
