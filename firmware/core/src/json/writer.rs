//! Writes JSON into a buffer of fixed size.

use core::fmt::{self, Write as _};

use super::{Text, Value};

/// What was written did not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Overflow;

/// Writes one JSON value into a buffer. Commas, quotes and escapes are its business.
///
/// Overflow is remembered and comes out of [`finish`](Self::finish), which hands out a whole value or
/// nothing; nobody has to check on the way.
#[derive(Debug)]
pub struct Writer<'b> {
    buffer: &'b mut [u8],
    len: usize,
    overflow: bool,
    /// The next value in the open array or object comes after another one.
    comma: bool,
}

/// A place in what was written, to go back to. See [`Writer::rewind`].
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

    /// Remembers this place. Only between values, and only to be used within the same array or object.
    pub const fn mark(&self) -> Mark {
        Mark { len: self.len, comma: self.comma }
    }

    /// Forgets everything since `mark`, an overflow included.
    pub const fn rewind(&mut self, mark: Mark) {
        self.len = mark.len;
        self.comma = mark.comma;
        self.overflow = false;
    }

    /// Writes an object whose members `members` writes with [`field`](Self::field).
    pub fn object(&mut self, members: impl FnOnce(&mut Self)) {
        self.nest(b"{", b"}", members);
    }

    /// Writes an array whose items `items` writes with [`value`](Self::value).
    pub fn array(&mut self, items: impl FnOnce(&mut Self)) {
        self.nest(b"[", b"]", items);
    }

    /// Writes one value: alone, or as the next item of the open array.
    pub fn value(&mut self, value: impl Encode) {
        self.separate();
        value.encode(self);
        self.comma = true;
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

    fn nest(&mut self, open: &[u8], close: &[u8], inside: impl FnOnce(&mut Self)) {
        self.separate();
        self.push(open);
        self.comma = false;
        inside(self);
        self.push(close);
        self.comma = true;
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
            None => self.overflow = true,
        }
    }

    fn push_escaped(&mut self, text: &str) {
        let mut plain = text;
        while let Some(at) = plain.bytes().position(|byte| byte < 0x20 || byte == b'"' || byte == b'\\') {
            let (before, special) = plain.split_at(at);
            let (special, after) = special.split_at(1);
            self.push(before.as_bytes());
            match special {
                "\"" => self.push(b"\\\""),
                "\\" => self.push(b"\\\\"),
                "\n" => self.push(b"\\n"),
                "\r" => self.push(b"\\r"),
                "\t" => self.push(b"\\t"),
                control => {
                    const DIGITS: [u8; 16] = *b"0123456789abcdef";
                    let code = control.bytes().next().unwrap_or_default();
                    let digit = |nibble: u8| DIGITS.get(usize::from(nibble)).copied().unwrap_or(b'0');
                    self.push(&[b'\\', b'u', b'0', b'0', digit(code >> 4), digit(code & 15)]);
                }
            }
            plain = after;
        }
        self.push(plain.as_bytes());
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
        // No `core::fmt`: this is on the way of every reply.
        let mut digits = [0u8; 20];
        let mut rest = *self;
        let mut start = digits.len();
        for (at, digit) in digits.iter_mut().enumerate().rev() {
            *digit = b'0' + (rest % 10) as u8;
            rest /= 10;
            start = at;
            if rest == 0 {
                break;
            }
        }
        writer.push(digits.get(start..).unwrap_or_default());
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
        writer.push(self.text().as_bytes());
    }
}

/// A text passes through with the escapes it came with.
impl Encode for Text<'_> {
    fn encode(&self, writer: &mut Writer<'_>) {
        writer.push(b"\"");
        writer.push(self.escaped().as_bytes());
        writer.push(b"\"");
    }
}

/// A formatted text becomes a string.
impl Encode for fmt::Arguments<'_> {
    fn encode(&self, writer: &mut Writer<'_>) {
        struct Escaped<'w, 'b>(&'w mut Writer<'b>);
        impl fmt::Write for Escaped<'_, '_> {
            fn write_str(&mut self, text: &str) -> fmt::Result {
                self.0.push_escaped(text);
                Ok(())
            }
        }
        writer.push(b"\"");
        // Writing to the buffer cannot fail, and a failing `Display` leaves a shorter text.
        let _ = Escaped(writer).write_fmt(*self);
        writer.push(b"\"");
    }
}
