//! Writes JSON into a buffer of fixed size.

use core::convert::Infallible;
use core::fmt::{self, Write as _};

use super::{Ending, Shortest, Text, Value};
use crate::text::escape;

/// What was written did not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overflow;

/// Writes one JSON value into a buffer, with commas, quotes and escapes.
///
/// [`finish`](Self::finish) reports an overflow, or returns a whole value; there is no need to check before.
#[derive(Debug)]
pub struct Writer<'b> {
    buffer: &'b mut [u8],
    len: usize,
    overflow: bool,
    /// The next value in the open array or object comes after another one.
    comma: bool,
}

/// An object or array that is open. See [`Writer::open`].
#[derive(Debug)]
#[must_use]
pub struct Bracket(u8);

/// A point in what was written, to go back to. See [`Writer::rewind`].
#[derive(Clone, Copy, Debug)]
pub struct Mark {
    len: usize,
    comma: bool,
}

impl<'b> Writer<'b> {
    /// Starts at the beginning of `buffer`.
    pub const fn new(buffer: &'b mut [u8]) -> Self {
        Self { buffer, len: 0, overflow: false, comma: false }
    }

    /// The length of what was written, if all of it fitted.
    pub const fn finish(self) -> Result<usize, Overflow> {
        if self.overflow { Err(Overflow) } else { Ok(self.len) }
    }

    /// Whether something did not fit since the start or the last [`rewind`](Self::rewind).
    pub const fn overflowed(&self) -> bool {
        self.overflow
    }

    /// How many bytes are left; none after an overflow.
    pub const fn room(&self) -> usize {
        if self.overflow { 0 } else { self.buffer.len() - self.len }
    }

    /// The current point. Only between values, and only to be used within the same array or object.
    pub const fn mark(&self) -> Mark {
        Mark { len: self.len, comma: self.comma }
    }

    /// What was written since `mark`.
    pub fn since(&self, mark: Mark) -> &str {
        let bytes = self.buffer.get(mark.len..self.len).unwrap_or_default();
        core::str::from_utf8(bytes).unwrap_or_default()
    }

    /// Removes everything since `mark`, an overflow included.
    pub const fn rewind(&mut self, mark: Mark) {
        self.len = mark.len;
        self.comma = mark.comma;
        self.overflow = false;
    }

    /// Opens an object whose members are written next, until [`close`](Self::close). For code that awaits in between;
    /// [`object`](Self::object) closes by itself.
    pub fn open(&mut self) -> Bracket {
        self.separate();
        self.push(b"{");
        self.comma = false;
        Bracket(b'}')
    }

    /// Opens an array whose items are written next, until [`close`](Self::close).
    pub fn open_array(&mut self) -> Bracket {
        self.separate();
        self.push(b"[");
        self.comma = false;
        Bracket(b']')
    }

    /// Closes the object or array.
    pub fn close(&mut self, bracket: Bracket) {
        self.push(&[bracket.0]);
        self.comma = true;
    }

    /// Writes an object whose members `members` writes with [`field`](Self::field).
    pub fn object<T>(&mut self, members: impl FnOnce(&mut Self) -> T) -> T {
        self.nest(b"{", b"}", members)
    }

    /// Writes an array whose items `items` writes with [`value`](Self::value).
    pub fn array<T>(&mut self, items: impl FnOnce(&mut Self) -> T) -> T {
        self.nest(b"[", b"]", items)
    }

    /// Writes one value: alone, or as the next item of the open array.
    pub fn value(&mut self, value: impl Encode) {
        self.separate();
        value.encode(self);
        self.comma = true;
    }

    /// Writes one value from its displayed JSON text.
    pub fn json(&mut self, text: &dyn fmt::Display) {
        self.separate();
        let before = self.len;
        // Writing to the buffer cannot fail.
        let _ = write!(Raw(self), "{text}");
        if let Some(written) = self.buffer.get_mut(before..self.len) {
            mend_surrogates(written);
        }
        self.comma = true;
    }

    /// Cuts the value that was written since `mark` so that `reserved` bytes are left. The value may lack its end.
    /// Returns whether that is possible.
    pub fn cut(&mut self, mark: Mark, reserved: usize) -> bool {
        let room = self.buffer.len().saturating_sub(mark.len + reserved);
        let Some((kept, ending)) = Ending::of(self.since(mark), room) else { return false };
        self.len = mark.len + kept;
        self.overflow = false;
        // The cut has made room for the ending.
        let _ = write!(Raw(self), "{ending}");
        self.comma = true;
        true
    }

    /// Writes one member of the open object.
    pub fn field(&mut self, name: &str, value: impl Encode) {
        self.key(name);
        value.encode(self);
        self.comma = true;
    }

    /// Writes the name of a member, whose value is written next.
    pub fn key(&mut self, name: &str) {
        self.separate();
        name.encode(self);
        self.push(b":");
        self.comma = false;
    }

    /// Writes the name of a member as it came, whose value is written next.
    pub fn key_text(&mut self, name: Text<'_>) {
        self.separate();
        name.encode(self);
        self.push(b":");
        self.comma = false;
    }

    /// Writes the name of a member, character by character, whose value is written next.
    pub fn key_chars(&mut self, name: impl Iterator<Item = char>) {
        self.separate();
        self.push(b"\"");
        name.for_each(|character| self.push_escaped(character.encode_utf8(&mut [0; 4])));
        self.push(b"\":");
        self.comma = false;
    }

    /// Writes members of the open object as they stand in `text`, with a filling in place of each of its marks. The fillings
    /// need no escapes: ids, numbers.
    pub fn members(&mut self, text: &str, fillings: &[(char, &str)]) {
        self.separate();
        let mut rest = text;
        while let Some((at, filling)) = rest.char_indices().find_map(|(at, letter)| {
            fillings.iter().find(|(mark, _)| *mark == letter).map(|(_, filling)| (at, filling))
        }) {
            let (before, after) = rest.split_at_checked(at).unwrap_or_default();
            self.push(before.as_bytes());
            self.push(filling.as_bytes());
            let mut after = after.chars();
            after.next();
            rest = after.as_str();
        }
        self.push(rest.as_bytes());
        self.comma = true;
    }

    /// Writes a string whose text `write` writes, piece by piece.
    pub fn string(&mut self, write: impl FnOnce(&mut dyn fmt::Write) -> fmt::Result) {
        self.separate();
        self.push(b"\"");
        // Writing to the buffer cannot fail, and a failing `write` leaves a shorter text.
        let _ = write(&mut Escaped(self));
        self.push(b"\"");
        self.comma = true;
    }

    fn nest<T>(&mut self, open: &[u8], close: &[u8], inside: impl FnOnce(&mut Self) -> T) -> T {
        self.separate();
        self.push(open);
        self.comma = false;
        let returned = inside(self);
        self.push(close);
        self.comma = true;
        returned
    }

    fn separate(&mut self) {
        if self.comma {
            self.push(b",");
        }
    }

    fn push(&mut self, bytes: &[u8]) {
        if self.overflow {
            return;
        }
        let end = self.len.saturating_add(bytes.len());
        match self.buffer.get_mut(self.len..end) {
            Some(room) => {
                room.copy_from_slice(bytes);
                self.len = end;
            }
            None => {
                // `cut` needs the beginning of the text that does not fit.
                let room = self.buffer.get_mut(self.len..).unwrap_or_default();
                let mut fits = room.len().min(bytes.len());
                while fits > 0 && bytes.get(fits).is_some_and(|byte| byte & 0xC0 == 0x80) {
                    fits -= 1;
                }
                room.iter_mut().zip(bytes.iter().take(fits)).for_each(|(to, from)| *to = *from);
                self.len += fits;
                self.overflow = true;
            }
        }
    }

    /// Writes JSON text as it came, except for halves of surrogate pairs: other readers refuse the whole text for one.
    fn push_json(&mut self, text: &str) {
        let before = self.len;
        self.push(text.as_bytes());
        if let Some(written) = self.buffer.get_mut(before..self.len) {
            mend_surrogates(written);
        }
    }

    fn push_escaped(&mut self, text: &str) {
        let Ok(()) = escape(text, |piece| {
            self.push(piece.as_bytes());
            Ok::<(), Infallible>(())
        });
    }
}

/// Replaces the escape of every half of a surrogate pair by that of U+FFFD, which is as long.
fn mend_surrogates(json: &mut [u8]) {
    let mut rest = json;
    while let Some(at) = rest.iter().position(|byte| *byte == b'\\') {
        let (_, escape) = rest.split_at_mut_checked(at).unwrap_or_default();
        let unit = |digits: &[u8]| match digits {
            [b'\\', b'u', b'd' | b'D', third, _, _] => Some(third.to_ascii_lowercase()),
            _ => None,
        };
        let is_high = |digits: &[u8]| matches!(unit(digits), Some(b'8'..=b'9' | b'a'..=b'b'));
        let is_low = |digits: &[u8]| matches!(unit(digits), Some(b'c'..=b'f'));
        let first = escape.get(..6).unwrap_or_default();
        let length = match escape.get(6..12) {
            Some(second) if is_high(first) && is_low(second) => 12,
            _ if is_high(first) || is_low(first) => {
                if let Some(digits) = escape.get_mut(2..6) {
                    digits.copy_from_slice(b"fffd");
                }
                6
            }
            _ => 2,
        };
        rest = escape.get_mut(length..).unwrap_or_default();
    }
}

/// What can be written as a JSON value.
pub trait Encode {
    /// Writes the value and nothing around it.
    fn encode(&self, writer: &mut Writer<'_>);
}

impl<T: Encode + ?Sized> Encode for &T {
    fn encode(&self, writer: &mut Writer<'_>) {
        (**self).encode(writer);
    }
}

/// Nothing is `null`.
impl<T: Encode> Encode for Option<T> {
    fn encode(&self, out: &mut Writer<'_>) {
        match self {
            Some(value) => value.encode(out),
            None => Value::NULL.encode(out),
        }
    }
}

impl Encode for str {
    fn encode(&self, writer: &mut Writer<'_>) {
        writer.push(b"\"");
        writer.push_escaped(self);
        writer.push(b"\"");
    }
}

impl Encode for bool {
    fn encode(&self, writer: &mut Writer<'_>) {
        writer.push(if *self { b"true" } else { b"false" });
    }
}

impl Encode for u64 {
    fn encode(&self, writer: &mut Writer<'_>) {
        writer.push(digits(*self, &mut [0; 20]));
    }
}

/// A number in decimal. No `core::fmt`: this is on the way of every reply.
fn digits(number: u64, room: &mut [u8; 20]) -> &[u8] {
    let mut rest = number;
    let mut start = room.len();
    for (at, digit) in room.iter_mut().enumerate().rev() {
        *digit = b'0' + (rest % 10) as u8;
        rest /= 10;
        start = at;
        if rest == 0 {
            break;
        }
    }
    room.get(start..).unwrap_or_default()
}

/// The shortest text that reads back as the same number, laid out as JavaScript does: `4`, `0.1`, `1e+21`,
/// `1e-7`. What JSON has no number for, infinities and NaN, is `null`.
impl Encode for f64 {
    fn encode(&self, writer: &mut Writer<'_>) {
        /// Up to here JavaScript writes a whole number with all its zeros.
        const ZEROS: [u8; 21] = [b'0'; 21];

        let Some(decimal) = Shortest::of(*self) else { return writer.push(b"null") };
        if self.is_sign_negative() {
            writer.push(b"-");
        }
        let mut room = [0; 20];
        let digits = digits(decimal.digits, &mut room);
        let count = digits.len() as i32;
        // Where the point goes, counted from the first digit.
        let point = count + decimal.exponent;
        let zeros = |count: i32| ZEROS.get(..count.unsigned_abs() as usize).unwrap_or_default();
        let (before, after) = digits.split_at_checked(point.max(0) as usize).unwrap_or((digits, b""));
        match point {
            1..=21 => {
                writer.push(before);
                if point > count {
                    writer.push(zeros(point - count));
                } else if point < count {
                    writer.push(b".");
                    writer.push(after);
                }
            }
            -5..=0 => {
                writer.push(b"0.");
                writer.push(zeros(point));
                writer.push(digits);
            }
            _ => {
                let (first, rest) = digits.split_at_checked(1).unwrap_or_default();
                writer.push(first);
                if !rest.is_empty() {
                    writer.push(b".");
                    writer.push(rest);
                }
                writer.push(if point > 0 { b"e+" } else { b"e-" });
                (point - 1).unsigned_abs().encode(writer);
            }
        }
    }
}

impl Encode for i64 {
    fn encode(&self, writer: &mut Writer<'_>) {
        if *self < 0 {
            writer.push(b"-");
        }
        self.unsigned_abs().encode(writer);
    }
}

impl Encode for u32 {
    fn encode(&self, writer: &mut Writer<'_>) {
        u64::from(*self).encode(writer);
    }
}

impl Encode for usize {
    fn encode(&self, writer: &mut Writer<'_>) {
        (*self as u64).encode(writer);
    }
}

/// A value passes through as it was written.
impl Encode for Value<'_> {
    fn encode(&self, writer: &mut Writer<'_>) {
        writer.push_json(self.text());
    }
}

/// A text passes through with the escapes it came with.
impl Encode for Text<'_> {
    fn encode(&self, writer: &mut Writer<'_>) {
        writer.push(b"\"");
        writer.push_json(self.escaped());
        writer.push(b"\"");
    }
}

/// A formatted text becomes a string.
impl Encode for fmt::Arguments<'_> {
    fn encode(&self, writer: &mut Writer<'_>) {
        writer.push(b"\"");
        // Writing to the buffer cannot fail, and a failing `Display` leaves a shorter text.
        let _ = Escaped(writer).write_fmt(*self);
        writer.push(b"\"");
    }
}

/// Writes JSON text unchanged.
struct Raw<'w, 'b>(&'w mut Writer<'b>);

impl fmt::Write for Raw<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.push(text.as_bytes());
        Ok(())
    }
}

/// The inside of a string that is being written.
struct Escaped<'w, 'b>(&'w mut Writer<'b>);

impl fmt::Write for Escaped<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.push_escaped(text);
        Ok(())
    }
}
