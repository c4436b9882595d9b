//! Reads what a peer wrote: big-endian numbers, and vectors with their length in front.

/// The part of a message that is still to be read. `None` from any method: the message ends too early.
#[derive(Clone, Copy)]
pub(crate) struct Reader<'a>(pub(crate) &'a [u8]);

impl<'a> Reader<'a> {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    /// A number of `width` bytes, at most four.
    pub(crate) fn number(&mut self, width: usize) -> Option<usize> {
        Some(self.take(width)?.iter().fold(0, |number, byte| number << 8 | usize::from(*byte)))
    }

    /// What follows a length of `width` bytes.
    pub(crate) fn vector(&mut self, width: usize) -> Option<Reader<'a>> {
        let length = self.number(width)?;
        self.take(length).map(Reader)
    }

    /// One TLS extension: its type and its content.
    pub(crate) fn extension(&mut self) -> Option<(usize, Reader<'a>)> {
        Some((self.number(2)?, self.vector(2)?))
    }

    /// One value of ASN.1's DER, which has to be of the type `tag`.
    pub(crate) fn der(&mut self, tag: u8) -> Option<Reader<'a>> {
        if self.number(1)? != usize::from(tag) {
            return None;
        }
        match self.number(1)? {
            length @ 0..=0x7f => self.take(length).map(Reader),
            0x81 => self.vector(1),
            0x82 => self.vector(2),
            _ => None,
        }
    }
}
