//! Lines out of a stream of bytes.

use crate::limits;

/// One line, without its end.
#[derive(Debug, PartialEq, Eq)]
pub enum Line<'a> {
    /// As it came; not necessarily UTF-8.
    Whole(&'a [u8]),
    /// Longer than [`limits::LINE`]. All of it was skipped.
    TooLong {
        /// In bytes.
        length: usize,
        /// Whether it began as JSON-RPC does, and was more than noise.
        is_json: bool,
    },
}

/// Splits a stream of bytes into lines that end in LF or CRLF. Empty ones are skipped.
#[derive(Debug)]
pub struct Lines {
    buffer: [u8; limits::LINE],
    /// Where the line that was returned last is.
    current: (usize, usize),
    /// Bytes before this are done with.
    start: usize,
    /// Bytes before this contain no end of line.
    searched: usize,
    end: usize,
    /// Bytes of an over-long line that were dropped.
    skipped: usize,
    /// Whether they began as JSON-RPC does.
    is_json: bool,
}

impl Lines {
    /// No bytes yet.
    pub const fn new() -> Self {
        Self {
            buffer: [0; limits::LINE],
            current: (0, 0),
            start: 0,
            searched: 0,
            end: 0,
            skipped: 0,
            is_json: false,
        }
    }

    /// Drops all bytes.
    pub const fn clear(&mut self) {
        (self.start, self.searched, self.end, self.skipped) = (0, 0, 0, 0);
        self.current = (0, 0);
    }

    /// The line that was returned last, until more bytes come.
    pub fn current(&self) -> &[u8] {
        self.buffer.get(self.current.0..self.current.1).unwrap_or_default()
    }

    /// Where the next bytes go. Never empty. [`commit`](Self::commit) says how many came.
    pub fn room(&mut self) -> &mut [u8] {
        self.current = (0, 0);
        if self.start > 0 {
            self.buffer.copy_within(self.start..self.end, 0);
            self.searched -= self.start;
            self.end -= self.start;
            self.start = 0;
        }
        if self.end == self.buffer.len() {
            // A full buffer without an end of line: too long. It is dropped, and its rest will be.
            if self.skipped == 0 {
                self.is_json = matches!(self.buffer.first(), Some(b'{' | b'['));
            }
            self.skipped = self.skipped.saturating_add(self.end);
            (self.searched, self.end) = (0, 0);
        }
        self.buffer.get_mut(self.end..).unwrap_or_default()
    }

    /// `count` bytes came into [`room`](Self::room).
    pub fn commit(&mut self, count: usize) {
        self.end = self.end.saturating_add(count).min(self.buffer.len());
    }

    /// Whether [`next_line`](Self::next_line) has one. Skips empty lines.
    pub fn has_line(&mut self) -> bool {
        loop {
            let unsearched = self.buffer.get(self.searched..self.end).unwrap_or_default();
            let Some(length) = unsearched.iter().position(|byte| *byte == b'\n') else {
                self.searched = self.end;
                return false;
            };
            let line_end = self.searched + length;
            let line = self.buffer.get(self.start..line_end).unwrap_or_default();
            if self.skipped > 0 || !matches!(line, [] | [b'\r']) {
                // The search starts here again when the line is taken.
                self.searched = line_end;
                return true;
            }
            self.searched = line_end + 1;
            self.start = self.searched;
        }
    }

    /// The next whole line, if there is one.
    pub fn next_line(&mut self) -> Option<Line<'_>> {
        if !self.has_line() {
            return None;
        }
        let line = self.start..self.searched;
        self.searched += 1;
        self.start = self.searched;
        if self.skipped > 0 {
            let length = core::mem::take(&mut self.skipped) + line.len();
            return Some(Line::TooLong { length, is_json: self.is_json });
        }
        let bytes = self.buffer.get(line.clone())?;
        let bytes = bytes.strip_suffix(b"\r").unwrap_or(bytes);
        self.current = (line.start, line.start + bytes.len());
        Some(Line::Whole(bytes))
    }
}
