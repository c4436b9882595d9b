//! Takes apart what arrives at the port: lines that somebody types or pastes, and Improv's frames between them.

use core::ops::Range;

use super::improv;
use super::screen::Screen;
use crate::limits;
use crate::text;

/// What a byte has completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConsoleEvent {
    /// A line, in [`LineReader::line`].
    Line,
    /// A line that is not UTF-8.
    NotText,
    /// A line of more than [`limits::CONSOLE_LINE`] bytes.
    TooLong,
    /// Somebody gave the line up.
    Cancelled,
    /// A frame, in [`LineReader::frame`].
    Frame,
}

const BACKSPACE: u8 = 0x08;
const CANCEL: u8 = 0x03;
const ERASE_LINE: u8 = 0x15;
const ESCAPE: u8 = 0x1B;
const DELETE: u8 = 0x7F;

/// Lines and frames in the making. All zeros when new.
///
/// A line ends with CR, LF or both. One with the beginning of a certificate ends after the certificate. A frame may be
/// anywhere, even within a line, which then goes on.
pub struct LineReader {
    line: [u8; limits::CONSOLE_LINE],
    length: usize,
    /// Where the last line of a certificate begins.
    tail: usize,
    frame: [u8; improv::FRAME],
    frame_length: usize,
    /// So many bytes are those at the beginning of a frame. They are text if no frame follows.
    matched: usize,
    /// Within the sequence of a key that is no character.
    escape: Escape,
    is_certificate: bool,
    is_too_long: bool,
    /// The line was handed out.
    is_over: bool,
    /// A line feed now belongs to what was there before.
    ignores_line_feed: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
enum Escape {
    No,
    Begun,
    Sequence,
}

impl LineReader {
    /// Nothing yet.
    pub const fn new() -> Self {
        Self {
            line: [0; limits::CONSOLE_LINE],
            length: 0,
            tail: 0,
            frame: [0; improv::FRAME],
            frame_length: 0,
            matched: 0,
            escape: Escape::No,
            is_certificate: false,
            is_too_long: false,
            is_over: false,
            ignores_line_feed: false,
        }
    }

    /// The line that [`ConsoleEvent::Line`] reported.
    pub fn line(&self) -> &str {
        core::str::from_utf8(self.bytes()).unwrap_or_default()
    }

    /// The line from this point on.
    pub fn line_from(&self, at: usize) -> &str {
        self.line().get(at..).unwrap_or_default()
    }

    /// Where a part of the line lies.
    pub fn range(&self, part: &str) -> Range<usize> {
        let start = part.as_ptr().addr().saturating_sub(self.line.as_ptr().addr());
        start..start + part.len()
    }

    /// The memory of the line, for whoever has done with it.
    pub fn scratch(&mut self) -> &mut [u8] {
        &mut self.line
    }

    /// The frame that [`ConsoleEvent::Frame`] reported, from its type to its checksum.
    pub fn frame(&self) -> &[u8] {
        self.frame.get(..self.frame_length).unwrap_or_default()
    }

    /// Whether a frame has begun and not ended. If nothing follows soon, it never will: then [`give_up`](Self::give_up).
    pub const fn is_in_frame(&self) -> bool {
        self.matched == improv::START.len()
    }

    /// Drops the frame that has begun.
    pub fn give_up(&mut self) {
        self.matched = 0;
    }

    /// Takes one byte in, and echoes what is text.
    pub fn push(&mut self, byte: u8, echo: &mut Screen) -> Option<ConsoleEvent> {
        if self.is_in_frame() {
            return self.push_to_frame(byte);
        }
        if improv::START.get(self.matched) == Some(&byte) {
            if self.matched == 0 {
                self.begin();
            }
            self.matched += 1;
            self.frame_length = 0;
            return None;
        }
        // They were text after all.
        let held = improv::START.get(..core::mem::take(&mut self.matched)).unwrap_or_default();
        for byte in held {
            let _ = self.push_to_line(*byte, echo);
        }
        if improv::START.first() == Some(&byte) {
            self.matched = 1;
            return None;
        }
        self.push_to_line(byte, echo)
    }

    fn push_to_frame(&mut self, byte: u8) -> Option<ConsoleEvent> {
        if let Some(next) = self.frame.get_mut(self.frame_length) {
            *next = byte;
            self.frame_length += 1;
        }
        // Type, length, data, checksum.
        let [_, length, ..] = self.frame;
        if self.frame_length < 3 || self.frame_length < 3 + usize::from(length) {
            return None;
        }
        self.matched = 0;
        self.ignores_line_feed = true;
        Some(ConsoleEvent::Frame)
    }

    fn push_to_line(&mut self, byte: u8, echo: &mut Screen) -> Option<ConsoleEvent> {
        self.begin();
        let follows = core::mem::take(&mut self.ignores_line_feed);
        let escape = core::mem::replace(&mut self.escape, Escape::No);
        if escape != Escape::No && byte >= 0x20 {
            self.escape = match (escape, byte) {
                (Escape::Begun, b'[' | b'O') => Escape::Sequence,
                // Parameters of the key.
                (Escape::Sequence, 0x20..0x40) => Escape::Sequence,
                _ => Escape::No,
            };
            return None;
        }
        match byte {
            b'\n' if follows => None,
            b'\r' | b'\n' => {
                self.ignores_line_feed = byte == b'\r';
                echo.push(b"\r\n");
                self.end_line()
            }
            CANCEL | ERASE_LINE => {
                echo.push(if byte == CANCEL { b"^C\r\n" } else { b"^U\r\n" });
                self.clear();
                Some(ConsoleEvent::Cancelled)
            }
            BACKSPACE | DELETE => {
                self.erase(echo);
                None
            }
            ESCAPE => {
                self.escape = Escape::Begun;
                None
            }
            0..0x20 if byte != b'\t' => None,
            _ => {
                let byte = if byte == b'\t' { b' ' } else { byte };
                self.append(byte);
                if !self.is_too_long {
                    echo.push(&[byte]);
                }
                None
            }
        }
    }

    fn append(&mut self, byte: u8) {
        match self.line.get_mut(self.length) {
            Some(next) => {
                *next = byte;
                self.length += 1;
            }
            None => {
                self.is_too_long = true;
                // Of a certificate the end is still to be recognized.
                self.length = 0;
                self.tail = 0;
            }
        }
    }

    /// Removes the last character, but not from the lines of a certificate that are complete.
    fn erase(&mut self, echo: &mut Screen) {
        while self.length > self.tail {
            self.length -= 1;
            if self.line.get(self.length).is_none_or(|byte| byte & 0xC0 != 0x80) {
                echo.push(b"\x08 \x08");
                break;
            }
        }
    }

    fn end_line(&mut self) -> Option<ConsoleEvent> {
        let tail = self.line.get(self.tail..self.length).unwrap_or_default().trim_ascii();
        let has = |part: &[u8]| text::find(tail, part).is_some();
        self.is_certificate |= has(b"-----BEGIN ");
        let is_done = has(b"-----END ") || self.is_too_long && tail.is_empty();
        if self.is_certificate && !is_done {
            if self.is_too_long {
                self.length = 0;
            } else {
                self.append(b'\n');
            }
            self.tail = self.length;
            return None;
        }
        self.is_over = true;
        Some(if self.is_too_long {
            ConsoleEvent::TooLong
        } else if core::str::from_utf8(self.bytes()).is_err() {
            ConsoleEvent::NotText
        } else {
            ConsoleEvent::Line
        })
    }

    /// Starts a new line if the last one was handed out.
    fn begin(&mut self) {
        if self.is_over {
            self.clear();
        }
    }

    fn clear(&mut self) {
        self.length = 0;
        self.tail = 0;
        self.is_certificate = false;
        self.is_too_long = false;
        self.is_over = false;
    }

    fn bytes(&self) -> &[u8] {
        self.line.get(..self.length).unwrap_or_default()
    }
}
