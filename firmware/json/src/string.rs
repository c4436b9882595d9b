//! A JSON string as it stands in the text, decoded on demand.

use core::fmt::{self, Write as _};

use crate::text::one_line;

/// The inside of a checked JSON string, escapes and all.
#[derive(Clone, Copy, Debug)]
pub struct Text<'a> {
    escaped: &'a str,
}

impl<'a> Text<'a> {
    /// `escaped` must come from a checked document, without its quotes.
    pub(super) const fn new(escaped: &'a str) -> Self {
        Self { escaped }
    }

    /// The text as it stands between the quotes.
    pub const fn escaped(&self) -> &'a str {
        self.escaped
    }

    /// The text itself, if there are no escapes in it.
    pub fn plain(&self) -> Option<&'a str> {
        (!self.escaped.as_bytes().contains(&b'\\')).then_some(self.escaped)
    }

    /// Its characters, decoded.
    pub fn chars(&self) -> impl Iterator<Item = char> + Clone + use<'a> {
        let mut rest = self.escaped.chars();
        core::iter::from_fn(move || match rest.next()? {
            '\\' => Some(match rest.next()? {
                'b' => '\u{8}',
                'f' => '\u{c}',
                'n' => '\n',
                'r' => '\r',
                't' => '\t',
                'u' => match hex(&mut rest)? {
                    high @ 0xD800..0xDC00 => match low_half(&mut rest) {
                        Some(low) => char::from_u32(0x10000 + ((high - 0xD800) << 10 | low))?,
                        None => char::REPLACEMENT_CHARACTER,
                    },
                    unit => char::from_u32(unit).unwrap_or(char::REPLACEMENT_CHARACTER),
                },
                itself => itself,
            }),
            plain => Some(plain),
        })
    }

    /// The decoded text in a string of fixed capacity, or `None` if it does not fit.
    pub fn decode<const N: usize>(&self) -> Option<heapless::String<N>> {
        let mut decoded = heapless::String::new();
        for character in self.chars() {
            decoded.push(character).ok()?;
        }
        Some(decoded)
    }

    /// The text itself, in `out`. `None` if it does not fit.
    pub fn decode_into<'b>(&self, out: &'b mut [u8]) -> Option<&'b str> {
        let mut length = 0;
        for character in self.chars() {
            let room = out.get_mut(length..length + character.len_utf8())?;
            length += character.encode_utf8(room).len();
        }
        core::str::from_utf8(out.get(..length)?).ok()
    }

    /// As much of the decoded text as fits, on one line: for showing, not for comparing.
    pub fn excerpt<const N: usize>(&self) -> heapless::String<N> {
        one_line(self)
    }
}

/// The second half of a surrogate pair, if it is what follows.
fn low_half(rest: &mut core::str::Chars<'_>) -> Option<u32> {
    let mut ahead = rest.clone();
    let unit =
        ahead.next().zip(ahead.next()).filter(|next| *next == ('\\', 'u')).and_then(|_| hex(&mut ahead))?;
    let low = unit.checked_sub(0xDC00).filter(|low| *low < 0x400)?;
    *rest = ahead;
    Some(low)
}

fn hex(rest: &mut core::str::Chars<'_>) -> Option<u32> {
    (0..4).try_fold(0, |unit, _| Some(unit << 4 | rest.next()?.to_digit(16)?))
}

/// Equal if the characters are, whatever the escapes.
impl PartialEq for Text<'_> {
    fn eq(&self, other: &Self) -> bool {
        let (one, other) = after_same(self.escaped, other.escaped);
        match (one.as_bytes().first(), other.as_bytes().first()) {
            (Some(b'\\'), _) | (_, Some(b'\\')) => Text::new(one).chars().eq(Text::new(other).chars()),
            (first, second) => first == second,
        }
    }
}

impl PartialEq<str> for Text<'_> {
    fn eq(&self, other: &str) -> bool {
        let (one, other) = after_same(self.escaped, other);
        match one.as_bytes().first() {
            Some(b'\\') => Text::new(one).chars().eq(other.chars()),
            first => first == other.as_bytes().first(),
        }
    }
}

/// The rest of both after their common beginning, up to the first difference or escape. Names mostly differ early, and
/// comparing them is most of the work on an object.
fn after_same<'a>(one: &'a str, other: &'a str) -> (&'a str, &'a str) {
    let pairs = one.bytes().zip(other.bytes());
    let same = pairs.take_while(|(one, other)| one == other && *one != b'\\').count();
    // A difference inside a character: any two different rests will do.
    (one.get(same..).unwrap_or("?"), other.get(same..).unwrap_or("!"))
}

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.chars().try_for_each(|character| f.write_char(character))
    }
}
