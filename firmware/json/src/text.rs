//! Text measured, cut and escaped, for all places where room is fixed.

use core::fmt::{self, Display, Write};

use heapless::String;

use crate::hash::Fnv32;
use crate::limits;

#[cfg(test)]
mod tests;

/// At the end of a text that was cut, where a person or a model reads it.
pub const MARK: &str = "... [cut: the rest did not fit]";

/// What the length of a text counts.
#[derive(Clone, Copy, Debug)]
pub enum Measure {
    /// Bytes of the text itself.
    Plain,
    /// Bytes inside a JSON string.
    Escaped,
}

impl Measure {
    /// The length of the text.
    pub fn length(self, text: &dyn Display) -> usize {
        let mut meter = Meter { measure: self, left: usize::MAX, out: None };
        // There is room for any text.
        let _ = write!(meter, "{text}");
        usize::MAX - meter.left
    }

    /// Writes the text if its length is at most `room`, or else its beginning and the [`MARK`]. Nothing if there is no room
    /// for the mark.
    pub fn write(self, text: &dyn Display, room: usize, out: &mut dyn Write) -> fmt::Result {
        self.write_marked(text, room, MARK, out)
    }

    /// Like [`write`](Self::write), with another mark.
    pub fn write_marked(
        self,
        text: &dyn Display,
        room: usize,
        mark: &str,
        out: &mut dyn Write,
    ) -> fmt::Result {
        if self.length(text) <= room {
            return write!(out, "{text}");
        }
        let Some(left) = room.checked_sub(mark.len()) else { return Ok(()) };
        // An error means that it was cut, or that `out` is full, which the next line reports too.
        let _ = write!(Meter { measure: self, left, out: Some(out) }, "{text}");
        out.write_str(mark)
    }

    const fn cost(self, byte: u8) -> usize {
        match (self, short_escape(byte)) {
            (Self::Escaped, Some(escape)) => escape.len(),
            (Self::Escaped, None) if byte < 0x20 => 6,
            _ => 1,
        }
    }
}

/// Lets whole characters through as long as there is room, then fails.
struct Meter<'a> {
    measure: Measure,
    left: usize,
    out: Option<&'a mut dyn Write>,
}

impl Write for Meter<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let mut left = self.left;
        let fits = text.bytes().take_while(|byte| match left.checked_sub(self.measure.cost(*byte)) {
            Some(less) => {
                left = less;
                true
            }
            None => false,
        });
        let fits = fits.count();
        let is_whole = fits == text.len();
        self.left = if is_whole { left } else { 0 };
        if let Some(out) = &mut self.out {
            out.write_str(head(text, fits))?;
        }
        if is_whole { Ok(()) } else { Err(fmt::Error) }
    }
}

/// Where `part`, which is not empty, first occurs. Smaller than `str::find`, which is made for long texts.
pub fn find(text: &[u8], part: &[u8]) -> Option<usize> {
    text.windows(part.len()).position(|window| window == part)
}

/// The first `most` bytes of a text, or a little less: characters stay whole.
pub fn head(text: &str, most: usize) -> &str {
    text.get(..text.floor_char_boundary(most)).unwrap_or_default()
}

/// The beginning of a text for the log, and a mark if there is more of it.
pub fn quote(text: &str) -> [&str; 2] {
    [head(text, limits::QUOTE), if text.len() > limits::QUOTE { "…" } else { "" }]
}

/// As much of a text as fits.
pub fn clip<const N: usize>(text: &dyn Display) -> String<N> {
    let mut clipped = String::new();
    // An error means that it was cut.
    let _ = write!(Meter { measure: Measure::Plain, left: N, out: Some(&mut clipped) }, "{text}");
    clipped
}

/// The text itself if it fits, otherwise its beginning and `…`.
pub fn shorten<const N: usize>(text: &dyn Display) -> String<N> {
    let mut short = String::new();
    // `write_marked` writes at most `N` bytes.
    let _ = Measure::Plain.write_marked(text, N, "…", &mut short);
    short
}

/// Appends a list of names, separated by `, `: as many as fit, and `…` if some do not.
pub fn push_list<const N: usize>(list: &dyn Display, out: &mut String<N>) {
    let start = out.len();
    let room = N - start;
    // `write_marked` writes at most `room` bytes.
    let _ = Measure::Plain.write_marked(list, room, "…", out);
    if Measure::Plain.length(list) > room
        && let Some(written) = out.as_bytes().get(start..)
        && let Some(end) = written.windows(2).rposition(|bytes| bytes == b", ")
    {
        // The last name may be cut. The mark fits where it was.
        out.truncate(start + end + 2);
        let _ = out.push('…');
    }
}

/// A text that fits as it is, or else its beginning and a hash of all of it: long texts that begin alike stay apart. `N` is
/// more than the nine bytes of the hash.
pub fn abbreviate<const N: usize>(text: &dyn Display) -> String<N> {
    let is_whole = Measure::Plain.length(text) <= N;
    let left = if is_whole { N } else { N.saturating_sub(9) };
    let mut short = String::new();
    // An error means that it was cut.
    let _ = write!(Meter { measure: Measure::Plain, left, out: Some(&mut short) }, "{text}");
    if !is_whole {
        let mut hash = Fnv32::new();
        // Hashing cannot fail, and the hash fits.
        let _ = write!(hash, "{text}");
        let _ = write!(short, "~{:08x}", hash.finish());
    }
    short
}

/// A text on one line, for the log. If it does not fit, its beginning and a mark.
pub fn one_line<const N: usize>(text: &dyn Display) -> String<N> {
    struct OneLine<'a>(&'a dyn Display);
    impl Display for OneLine<'_> {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(Spaced(f), "{}", self.0)
        }
    }
    let mut line = String::new();
    // It fits.
    let _ = Measure::Plain.write_marked(&OneLine(text), N, "…", &mut line);
    line
}

/// Writes a space for every control character.
struct Spaced<'a>(&'a mut dyn Write);

impl Write for Spaced<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        text.chars()
            .try_for_each(|character| self.0.write_char(if character.is_control() { ' ' } else { character }))
    }
}

/// Bytes that should be UTF-8, with `�` for what is not.
#[derive(Clone, Copy, Debug)]
pub struct Lossy<'a>(pub &'a [u8]);

impl Display for Lossy<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.utf8_chunks().try_for_each(|chunk| {
            f.write_str(chunk.valid())?;
            if chunk.invalid().is_empty() { Ok(()) } else { f.write_char(char::REPLACEMENT_CHARACTER) }
        })
    }
}

/// Replaces every byte that is not UTF-8 by a question mark.
pub fn replace_invalid(bytes: &mut [u8]) {
    let mut rest = bytes;
    while let Err(error) = core::str::from_utf8(rest) {
        let (_, invalid) = rest.split_at_mut_checked(error.valid_up_to()).unwrap_or_default();
        let length = error.error_len().unwrap_or(invalid.len());
        let (invalid, after) = invalid.split_at_mut_checked(length).unwrap_or_default();
        invalid.fill(b'?');
        rest = after;
    }
}

/// Whether a text is empty or white space.
pub fn is_blank(text: &dyn Display) -> bool {
    struct Blank;
    impl Write for Blank {
        fn write_str(&mut self, text: &str) -> fmt::Result {
            if text.trim_start().is_empty() { Ok(()) } else { Err(fmt::Error) }
        }
    }
    write!(Blank, "{text}").is_ok()
}

/// Writes texts into bytes, one after the other. Fails when they are full.
#[derive(Debug)]
pub struct Fill<'a> {
    /// What is left of the bytes.
    pub rest: &'a mut [u8],
}

impl Write for Fill<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let rest = core::mem::take(&mut self.rest);
        let (room, after) = rest.split_at_mut_checked(text.len()).ok_or(fmt::Error)?;
        room.copy_from_slice(text.as_bytes());
        self.rest = after;
        Ok(())
    }
}

/// The escapes of two characters that are written inside a JSON string.
const fn short_escape(byte: u8) -> Option<&'static str> {
    Some(match byte {
        b'"' => "\\\"",
        b'\\' => "\\\\",
        b'\n' => "\\n",
        b'\r' => "\\r",
        b'\t' => "\\t",
        _ => return None,
    })
}

/// Hands out a text as it stands inside a JSON string, in pieces. Inlined, for every reply goes through it.
#[inline(always)]
pub fn escape<E>(text: &str, mut out: impl FnMut(&str) -> Result<(), E>) -> Result<(), E> {
    let mut rest = text;
    while let Some(at) = rest.bytes().position(|byte| byte < 0x20 || byte == b'"' || byte == b'\\') {
        let (plain, special) = rest.split_at(at);
        let (special, after) = special.split_at(1);
        let code = special.bytes().next().unwrap_or_default();
        out(plain)?;
        match short_escape(code) {
            Some(escape) => out(escape)?,
            None => {
                let digit = usize::from(code & 15);
                out(if code < 0x10 { "\\u000" } else { "\\u001" })?;
                out("0123456789abcdef".get(digit..=digit).unwrap_or_default())?;
            }
        }
        rest = after;
    }
    out(rest)
}

/// Writes the inside of a JSON string.
pub struct Escape<'a>(pub &'a mut dyn Write);

impl Write for Escape<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        escape(text, |piece| self.0.write_str(piece))
    }
}
