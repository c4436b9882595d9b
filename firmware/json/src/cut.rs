//! Cuts a JSON text so that what is left is still JSON.
//!
//! The end of an object's longest member is cut, so that the short members around it stay whole. Any other value loses
//! its own end. A mark shows the place:
//!
//! ```text
//!   {"success":true,"result":{"lamps":["Kitchen","Hall","Porch"]},"tool_name":"list"}                 comes in
//!   {"success":true,"result":{"lamps":["Kitchen","... [cut: the rest did not fit]"]},"tool_name":…}   is left
//! ```

use core::fmt::{self, Display, Write as _};

use super::Value;
use crate::limits::JSON_DEPTH;
use crate::text::MARK;

// Each nesting level takes one bit, which says whether it is an object.
const _: () = assert!(JSON_DEPTH <= u64::BITS as usize);

/// The name of the member that carries the mark at the end of an object.
const MORE: &str = "\"...\":";

/// A JSON text from which the end of one value has been cut. The displayed text is shorter than the original.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut<'a> {
    /// The text before the cut.
    pub before: &'a str,
    /// Replaces what is cut.
    pub ending: Ending,
    /// The text after the cut.
    pub after: &'a str,
}

impl<'a> Cut<'a> {
    /// Cuts a text that is longer than `room` to at most `room` bytes. Returns `None` if nothing has to be cut, or if
    /// the longest value is not long enough to make the text fit.
    pub fn new(text: &'a str, room: usize) -> Option<Self> {
        let excess = text.len().checked_sub(room).filter(|excess| *excess > 0)?;
        let members = Value::unchecked(text.as_bytes())?.members();
        let longest = members.map(|(_, value)| value.text()).max_by_key(|value| value.len()).unwrap_or(text);
        // The longest value is a part of the text, so this is its offset.
        let start = longest.as_ptr().addr().checked_sub(text.as_ptr().addr())?;
        let after = text.get(start.checked_add(longest.len())?..)?;
        let (kept, ending) = Ending::of(longest, longest.len().checked_sub(excess)?)?;
        Some(Self { before: text.get(..start + kept)?, ending, after })
    }
}

impl Display for Cut<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { before, ending, after } = self;
        write!(f, "{before}{ending}{after}")
    }
}

/// The mark, and the brackets that close the value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ending {
    place: Place,
    /// The number of open brackets.
    depth: usize,
    /// One bit for each open bracket, the innermost last: whether it opened an object.
    objects: u64,
}

/// The place where a value is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// Inside a string.
    Text,
    /// In an array or object without any item or member so far.
    First,
    /// After an item or a member.
    Next,
}

impl Ending {
    /// How many bytes of a value are kept so that it takes at most `room` bytes with its ending, and that ending. The
    /// value may lack its end. Returns `None` if there is no room, and for a number, `true`, `false` or `null`.
    pub fn of(value: &str, room: usize) -> Option<(usize, Self)> {
        let bytes = value.as_bytes();
        let (mut depth, mut objects, mut expects_name) = (0usize, 0u64, false);
        let mut best = None;
        let mut at = 0;
        while let Some(byte) = bytes.get(at).filter(|_| at < room) {
            let mut offer = |at: usize, place, depth, objects| {
                let ending = Self { place, depth, objects };
                if at + ending.length() <= room {
                    best = Some((at, ending));
                }
            };
            match byte {
                b'"' => {
                    let is_name = core::mem::take(&mut expects_name);
                    at += 1;
                    while let Some(next) = bytes.get(at).filter(|next| **next != b'"') {
                        if !is_name {
                            offer(at, Place::Text, depth, objects);
                        }
                        at += match next {
                            b'\\' => escape_length(bytes.get(at..).unwrap_or_default()),
                            0xC0..0xE0 => 2,
                            0xE0..0xF0 => 3,
                            0xF0.. => 4,
                            _ => 1,
                        };
                    }
                    at += 1;
                    if depth == 0 || at > bytes.len() {
                        break;
                    }
                    if !is_name {
                        offer(at, Place::Next, depth, objects);
                    }
                }
                b'{' | b'[' if depth < JSON_DEPTH => {
                    at += 1;
                    depth += 1;
                    expects_name = *byte == b'{';
                    objects = objects << 1 | u64::from(expects_name);
                    offer(at, Place::First, depth, objects);
                }
                b'}' | b']' if depth > 1 => {
                    at += 1;
                    depth -= 1;
                    objects >>= 1;
                    offer(at, Place::Next, depth, objects);
                }
                b',' => {
                    at += 1;
                    expects_name = objects & 1 == 1;
                }
                b':' | b' ' | b'\t' | b'\r' | b'\n' => at += 1,
                b'-' | b'0'..=b'9' | b'a'..=b'z' if depth > 0 => {
                    let rest = bytes.get(at..).unwrap_or_default();
                    let is_end =
                        |byte: &u8| matches!(byte, b',' | b'}' | b']' | b' ' | b'\t' | b'\r' | b'\n');
                    let Some(length) = rest.iter().position(is_end) else { break };
                    at += length;
                    offer(at, Place::Next, depth, objects);
                }
                _ => break,
            }
        }
        best
    }

    /// The length in bytes.
    const fn length(&self) -> usize {
        let mark = match self.place {
            Place::Text => MARK.len() + 1,
            Place::First => MARK.len() + 2 + self.name().len(),
            Place::Next => MARK.len() + 3 + self.name().len(),
        };
        mark + self.depth
    }

    /// The member name before the mark in an object.
    const fn name(&self) -> &'static str {
        if self.objects & 1 == 1 { MORE } else { "" }
    }
}

impl Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.place {
            Place::Text => write!(f, "{MARK}\"")?,
            Place::First => write!(f, "{}\"{MARK}\"", self.name())?,
            Place::Next => write!(f, ",{}\"{MARK}\"", self.name())?,
        }
        (0..self.depth)
            .try_for_each(|level| f.write_char(if self.objects >> level & 1 == 1 { '}' } else { ']' }))
    }
}

/// The length of the escape at the beginning of a text. A surrogate pair counts as one escape.
pub(super) fn escape_length(text: &[u8]) -> usize {
    match text {
        [b'\\', b'u', b'd' | b'D', b'8'..=b'9' | b'a'..=b'b' | b'A'..=b'B', _, _, b'\\', b'u', ..] => 12,
        [b'\\', b'u', ..] => 6,
        _ => 2,
    }
}
