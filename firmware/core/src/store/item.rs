//! An entry as it is in flash: its key with a length before it, then the text.

use sequential_storage::map::{SerializationError, Value};

/// What an entry takes besides its key and text: its id, and the length of its key.
pub(super) const OVERHEAD: usize = 2;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Item<'a> {
    pub(super) key: &'a [u8],
    pub(super) text: &'a str,
}

impl<'a> Item<'a> {
    /// `None` if it was not written by this version of the firmware.
    pub(super) fn read(bytes: &'a [u8]) -> Option<Self> {
        let (key_len, rest) = bytes.split_first()?;
        let (key, text) = rest.split_at_checked(usize::from(*key_len))?;
        Some(Self { key, text: core::str::from_utf8(text).ok()? })
    }
}

impl<'a> Value<'a> for Item<'a> {
    fn serialize_into(&self, buffer: &mut [u8]) -> Result<usize, SerializationError> {
        let key_len = u8::try_from(self.key.len()).map_err(|_| SerializationError::InvalidData)?;
        let length = 1 + self.key.len() + self.text.len();
        let room = buffer.get_mut(..length).ok_or(SerializationError::BufferTooSmall)?;
        let bytes = core::iter::once(&key_len).chain(self.key).chain(self.text.as_bytes());
        room.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
        Ok(length)
    }

    fn deserialize_from(buffer: &'a [u8]) -> Result<(Self, usize), SerializationError> {
        let item = Self::read(buffer).ok_or(SerializationError::InvalidFormat)?;
        Ok((item, buffer.len()))
    }
}
