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
        Some(Text::new(self.text.strip_prefix('"')?.strip_suffix('"')?))
    }

    /// Its value, if it is an integer that fits, written as one.
    pub fn as_i64(&self) -> Option<i64> {
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

    /// The items in order. Empty for anything but an array.
    pub fn items(&self) -> Items<'a> {
        Items(Cursor { rest: self.inside(Kind::Array) })
    }

    fn inside(&self, kind: Kind) -> &'a str {
        match self.text.len().checked_sub(1) {
            Some(end) if self.kind() == kind => self.text.get(1..end).unwrap_or_default(),
            _ => "",
        }
    }
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
        let rest = self.rest.trim_start_matches([' ', '\t', '\n', '\r', ',', ':']);
        let (text, rest) = rest.split_at_checked(end_of_value(rest.as_bytes()))?;
        self.rest = rest;
        if text.is_empty() { None } else { Some(Value { text }) }
    }
}

/// Where the checked value at the start of `bytes` ends.
fn end_of_value(bytes: &[u8]) -> usize {
    let mut depth = 0usize;
    let mut in_string = false;
    let mut escaped = false;
    for (at, byte) in bytes.iter().enumerate() {
        if in_string {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => {
                    in_string = false;
                    if depth == 0 {
                        return at + 1;
                    }
                }
                _ => {}
            }
            continue;
        }
        match byte {
            b'"' => in_string = true,
            b'{' | b'[' => depth += 1,
            b'}' | b']' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return at + 1;
                }
            }
            b',' | b':' | b' ' | b'\t' | b'\n' | b'\r' if depth == 0 => return at,
            _ => {}
        }
    }
    bytes.len()
}
