//! Texts that are measured, and cut to size.

use core::fmt::{self, Display, Write};

/// At the end of a text that was cut.
pub(super) const MARK: &str = "... [cut: the rest did not fit]";

/// How much of something a text takes.
#[derive(Clone, Copy)]
pub(crate) enum Measure {
    /// Bytes as it is.
    Plain,
    /// Bytes inside a JSON string.
    Escaped,
}

impl Measure {
    /// The length of the text.
    pub(crate) fn length(self, text: &dyn Display) -> usize {
        let mut meter = Meter { measure: self, left: usize::MAX, out: None };
        // There is room for any text.
        let _ = write!(meter, "{text}");
        usize::MAX - meter.left
    }

    /// Writes the text if it takes at most `room`, or else its beginning and the [`MARK`]. Nothing if there is no room
    /// for the mark.
    pub(crate) fn write(self, text: &dyn Display, room: usize, out: &mut dyn Write) -> fmt::Result {
        if self.length(text) <= room {
            return write!(out, "{text}");
        }
        let Some(left) = room.checked_sub(MARK.len()) else { return Ok(()) };
        // An error means that it was cut, or that `out` is full, which the next line tells too.
        let _ = write!(Meter { measure: self, left, out: Some(out) }, "{text}");
        out.write_str(MARK)
    }

    const fn cost(self, byte: u8) -> usize {
        match (self, byte) {
            (Self::Plain, _) => 1,
            (Self::Escaped, b'"' | b'\\' | b'\n' | b'\r' | b'\t') => 2,
            (Self::Escaped, 0..0x20) => 6,
            (Self::Escaped, _) => 1,
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
            out.write_str(text.get(..text.floor_char_boundary(fits)).unwrap_or_default())?;
        }
        if is_whole { Ok(()) } else { Err(fmt::Error) }
    }
}

/// Whether nothing can be seen of a text.
pub(super) fn is_blank(text: &dyn Display) -> bool {
    struct Blank;
    impl Write for Blank {
        fn write_str(&mut self, text: &str) -> fmt::Result {
            if text.trim_start().is_empty() { Ok(()) } else { Err(fmt::Error) }
        }
    }
    write!(Blank, "{text}").is_ok()
}

/// Writes texts into bytes, one after the other. Fails when they are full.
pub(super) struct Fill<'a> {
    /// What is left of the bytes.
    pub(super) rest: &'a mut [u8],
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
