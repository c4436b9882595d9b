//! A checked value, borrowed from its text.

use super::{Error, Reason, Text, scan};

/// One JSON value, as the slice of text that spells it, checked when it was parsed.
#[derive(Clone, Copy, Debug)]
pub struct Value<'a> {
    text: &'a str,
}

/// The six kinds of value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "they are JSON's own")]
pub enum Kind {
    Null,
    Bool,
    Number,
    String,
    Array,
    Object,
}

impl<'a> Value<'a> {
    /// `null`
    pub const NULL: Self = Self { text: "null" };

    /// `{}`
    pub const EMPTY_OBJECT: Self = Self { text: "{}" };

    /// The one value in `bytes`, with nothing but white space around it.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Error> {
        let text = core::str::from_utf8(bytes)
            .map_err(|error| Error { at: error.valid_up_to(), reason: Reason::NotUtf8 })?;
        let start = scan::skip_space(bytes, 0);
        let end = scan::value(bytes, start)?;
        let after = scan::skip_space(bytes, end);
        if after != bytes.len() {
            return Err(Error { at: after, reason: Reason::Expected("nothing more") });
        }
        Ok(Self { text: text.get(start..end).unwrap_or_default() })
    }

    /// A text that was found to be malformed, to look for the part that is not. What it returns may be malformed too.
    pub fn unchecked(bytes: &'a [u8]) -> Option<Self> {
        core::str::from_utf8(bytes.trim_ascii()).ok().map(|text| Self { text })
    }

    /// The text that spells the value.
    pub const fn text(&self) -> &'a str {
        self.text
    }

    /// What it is.
    pub fn kind(&self) -> Kind {
        match self.text.as_bytes().first() {
            Some(b'{') => Kind::Object,
            Some(b'[') => Kind::Array,
            Some(b'"') => Kind::String,
            Some(b't' | b'f') => Kind::Bool,
            Some(b'n') => Kind::Null,
            _ => Kind::Number,
        }
    }

    /// Its text, if it is a string.
    pub fn as_text(&self) -> Option<Text<'a>> {
        match self.kind() {
            Kind::String => Some(Text::new(self.text.get(1..self.text.len().checked_sub(1)?)?)),
            _ => None,
        }
    }

    /// Its value, if it is an integer that fits, written as one.
    pub fn as_i64(&self) -> Option<i64> {
        match self.kind() {
            Kind::Number => self.text.parse().ok(),
            _ => None,
        }
    }

    /// Its value, if it is an integer that fits, however it is written: `1.0` and `1e2` are integers too.
    pub fn as_integer(&self) -> Option<i64> {
        match self.kind() {
            Kind::Number => integer(self.text),
            _ => None,
        }
    }

    /// Its value, if it is a number; infinite if it is too large.
    pub fn as_f64(&self) -> Option<f64> {
        match self.kind() {
            Kind::Number => self.text.parse().ok(),
            _ => None,
        }
    }

    /// The value of the member `name`, if it is an object that has one. Of several, the last counts.
    pub fn get(&self, name: &str) -> Option<Value<'a>> {
        self.members().filter(|(key, _)| *key == *name).last().map(|(_, value)| value)
    }

    /// The members in order, repeated names included. Empty for anything but an object.
    pub fn members(&self) -> Members<'a> {
        Members(Cursor { rest: self.inside(Kind::Object) })
    }

    /// The names of the members as values, in the same order.
    pub fn names(&self) -> impl Iterator<Item = Value<'a>> {
        let mut cursor = Cursor { rest: self.inside(Kind::Object) };
        core::iter::from_fn(move || {
            let name = cursor.next();
            cursor.next();
            name
        })
    }

    /// The items in order. Empty for anything but an array.
    pub fn items(&self) -> Items<'a> {
        Items(Cursor { rest: self.inside(Kind::Array) })
    }

    /// All strings anywhere in it, names of members included.
    pub fn strings(&self) -> impl Iterator<Item = Text<'a>> + use<'a> {
        let text = self.text;
        let mut at = 0;
        core::iter::from_fn(move || {
            let rest = text.as_bytes().get(at..)?;
            let start = at + rest.iter().position(|byte| *byte == b'"')? + 1;
            at = end_of_string(text.as_bytes(), start);
            Some(Text::new(text.get(start..at.checked_sub(1)?)?))
        })
    }

    fn inside(&self, kind: Kind) -> &'a str {
        match self.text.len().checked_sub(1) {
            Some(end) if self.kind() == kind => self.text.get(1..end).unwrap_or_default(),
            _ => "",
        }
    }
}

/// The value of a number's text, exactly, if it is an integer that fits. By hand: `f64` rounds large ones, and `str::parse`
/// knows no exponents.
fn integer(text: &str) -> Option<i64> {
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let (sign, digits) = mantissa.strip_prefix('-').map_or((1, mantissa), |digits| (-1, digits));
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let mut value = 0i64;
    // Zeros that count only if another digit follows.
    let mut zeros = 0;
    for digit in whole.bytes().chain(fraction.bytes()) {
        if digit == b'0' {
            zeros += 1;
            continue;
        }
        if value != 0 {
            for _ in 0..zeros {
                value = value.checked_mul(10)?;
            }
        }
        zeros = 0;
        value = value.checked_mul(10)?.checked_add(sign * i64::from(digit.wrapping_sub(b'0')))?;
    }
    if value == 0 {
        return Some(0);
    }
    // With an exponent that does not fit, the number does not fit either.
    let exponent: i64 = exponent.parse().ok()?;
    let shift = exponent.checked_add(zeros)?.checked_sub(i64::try_from(fraction.len()).ok()?)?;
    value.checked_mul(10i64.checked_pow(shift.try_into().ok()?)?)
}

/// The members of an object. See [`Value::members`].
#[derive(Clone, Debug)]
pub struct Members<'a>(Cursor<'a>);

impl<'a> Iterator for Members<'a> {
    type Item = (Text<'a>, Value<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        let name = self.0.next()?.as_text()?;
        let value = self.0.next()?;
        Some((name, value))
    }
}

/// The items of an array. See [`Value::items`].
#[derive(Clone, Debug)]
pub struct Items<'a>(Cursor<'a>);

impl<'a> Iterator for Items<'a> {
    type Item = Value<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next()
    }
}

/// Walks the values inside one array or object. The text has been checked: commas, colons and brackets are
/// where they belong, so that only the ends of values have to be found.
#[derive(Clone, Debug)]
struct Cursor<'a> {
    rest: &'a str,
}

impl<'a> Cursor<'a> {
    fn next(&mut self) -> Option<Value<'a>> {
        let bytes = self.rest.as_bytes();
        let start = bytes.iter().position(|byte| !is_between(*byte))?;
        let end = end_of_value(bytes, start);
        let text = self.rest.get(start..end)?;
        self.rest = self.rest.get(end..)?;
        Some(Value { text })
    }
}

/// Whether the byte separates two values.
const fn is_between(byte: u8) -> bool {
    matches!(byte, b',' | b':' | b' ' | b'\t' | b'\n' | b'\r')
}

/// Where the checked value at `start` ends. Most of the time that schemas and arguments take is spent here.
fn end_of_value(bytes: &[u8], start: usize) -> usize {
    let mut at = start;
    let mut depth = 0usize;
    while let Some(byte) = bytes.get(at) {
        at += 1;
        match byte {
            b'"' => at = end_of_string(bytes, at),
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ if depth > 0 => continue,
            _ => {
                while bytes.get(at).is_some_and(|byte| !is_between(*byte)) {
                    at += 1;
                }
            }
        }
        if depth == 0 {
            break;
        }
    }
    at
}

/// Where the string ends whose inside goes on at `at`.
fn end_of_string(bytes: &[u8], mut at: usize) -> usize {
    while let Some(byte) = bytes.get(at) {
        at += 1;
        match byte {
            b'"' => break,
            b'\\' => at += 1,
            _ => {}
        }
    }
    at
}
