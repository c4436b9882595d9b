//! The record layer (RFC 8446, section 5): what is received and what is sent, without waiting for either.
//!
//! All state is here, none in a future: a driver that is dropped between two calls loses nothing.

use core::ops::Range;

use aes_gcm::{AeadInOut, Aes128Gcm, KeyInit};

use crate::TlsError;
use crate::keys::TrafficKeys;

/// Type, version and length.
const HEADER: usize = 5;
/// The largest content of a record.
const CONTENT: usize = 1 << 14;
/// The most that protection may add to it: type, tag and padding.
const EXPANSION: usize = 256;
const TAG: usize = 16;

/// The largest record that there is room for: a packet of MQTT as long as the hub takes whole. Brokers that heed what the
/// hub asks for send records of 4 KiB.
pub(crate) const RECORD: usize = HEADER + 8 * 1024 + EXPANSION;
/// What protection adds to a record of ours: type and tag, and the header in front.
const OVERHEAD: usize = HEADER + 1 + TAG;

const CHANGE_CIPHER_SPEC: u8 = 20;
pub(crate) const ALERT: u8 = 21;
pub(crate) const HANDSHAKE: u8 = 22;
pub(crate) const DATA: u8 = 23;

const BAD_RECORD_MAC: u8 = 20;
const RECORD_OVERFLOW: u8 = 22;

/// What a record contained.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Content {
    /// Handshake messages, or a part of one: see [`Incoming::message`].
    Handshake,
    /// Application data: see [`Incoming::read`].
    Data,
    /// The number of an alert.
    Alert(u8),
    /// Nothing that means anything.
    Nothing,
}

/// What the peer sends. The buffer holds handshake messages that are not complete, and behind them one record.
pub(crate) struct Incoming<'m> {
    buffer: &'m mut [u8],
    /// Bytes of handshake messages, at the beginning.
    messages: usize,
    /// Bytes of the record behind them that have arrived.
    arrived: usize,
    /// Application data that nobody has read yet. No record is received until it is empty.
    data: Range<usize>,
    keys: Option<TrafficKeys>,
    is_open: bool,
    /// A change_cipher_spec has come, of which there is one at most.
    has_changed: bool,
    /// The alert for what is wrong with the last record, if it says more than the error does.
    pub(crate) alert: Option<u8>,
}

impl<'m> Incoming<'m> {
    pub(crate) fn new(buffer: &'m mut [u8]) -> Self {
        Self {
            buffer,
            messages: 0,
            arrived: 0,
            data: 0..0,
            keys: None,
            is_open: false,
            has_changed: false,
            alert: None,
        }
    }

    /// Protects what follows with these keys. A message may not lie across the change.
    pub(crate) fn protect(&mut self, keys: TrafficKeys) -> Result<(), TlsError> {
        self.keys = Some(keys);
        if self.messages == 0 { Ok(()) } else { Err(TlsError::Protocol) }
    }

    /// The keys that the peer uses from now on.
    pub(crate) fn update(&mut self) -> Result<(), TlsError> {
        let next = self.keys.as_ref().ok_or(TlsError::Protocol)?.next();
        self.protect(next)
    }

    /// The handshake is complete: application data may come.
    pub(crate) fn open(&mut self) {
        self.is_open = true;
    }

    /// Where the next bytes of the peer's belong: at least one byte, unless a whole record is there.
    pub(crate) fn space(&mut self) -> Result<&mut [u8], TlsError> {
        let wanted = match self.header() {
            Some(header) => HEADER + length(header),
            None => HEADER,
        };
        let range = self.messages + self.arrived..self.messages + wanted;
        self.buffer.get_mut(range).ok_or(TlsError::TooLarge)
    }

    /// So many bytes were put there.
    pub(crate) fn arrived(&mut self, count: usize) {
        self.arrived += count;
    }

    fn header(&self) -> Option<&[u8; HEADER]> {
        let (_, rest) = self.buffer.split_at_checked(self.messages)?;
        rest.get(..self.arrived)?.first_chunk()
    }

    /// Takes the record, if a whole one has arrived.
    pub(crate) fn record(&mut self) -> Result<Option<Content>, TlsError> {
        let Some(&header) = self.header() else { return Ok(None) };
        let [kind, major, ..] = header;
        let length = length(&header);
        let limit = if self.keys.is_some() { CONTENT + EXPANSION } else { CONTENT };
        if length > limit {
            self.alert = Some(RECORD_OVERFLOW);
        }
        if !(CHANGE_CIPHER_SPEC..=DATA).contains(&kind) || major != 3 || length > limit {
            return Err(if self.keys.is_some() { TlsError::Protocol } else { TlsError::NotTls });
        }
        if self.arrived < HEADER + length {
            return Ok(None);
        }
        self.arrived = 0;
        let start = self.messages + HEADER;
        let body = self.buffer.get_mut(start..start + length).ok_or(TlsError::TooLarge)?;
        let (kind, length) = match (&mut self.keys, kind) {
            // For middleboxes that take TLS 1.3 for an older one.
            (keys, CHANGE_CIPHER_SPEC) if body == [1] => {
                // Behind the server's hello, once, and while hands are shaken (RFC 8446, appendix D.4).
                if self.is_open || keys.is_none() || core::mem::replace(&mut self.has_changed, true) {
                    return Err(TlsError::Protocol);
                }
                return Ok(Some(Content::Nothing));
            }
            (Some(keys), DATA) => {
                // Taken back if the record is genuine.
                self.alert = Some(BAD_RECORD_MAC);
                let content = unprotect(keys, &header, body)?;
                self.alert = None;
                content
            }
            (None, ALERT | HANDSHAKE) => (kind, length),
            _ => return Err(TlsError::Protocol),
        };
        let content = start..start + length;
        match (kind, self.buffer.get(content.clone())) {
            (HANDSHAKE, Some([_, ..])) => {
                self.buffer.copy_within(content, self.messages);
                self.messages += length;
                Ok(Some(Content::Handshake))
            }
            // Nothing may stand between the parts of a message.
            _ if self.messages > 0 => Err(TlsError::Protocol),
            (ALERT, Some(&[_, alert])) => Ok(Some(Content::Alert(alert))),
            (DATA, _) if self.is_open => {
                self.data = content;
                Ok(Some(Content::Data))
            }
            _ => Err(TlsError::Protocol),
        }
    }

    /// The first handshake message, header included, if it is complete.
    pub(crate) fn message(&self) -> Option<&[u8]> {
        let messages = self.buffer.get(..self.messages)?;
        let [_, length @ ..] = *messages.first_chunk::<4>()?;
        let length = length.iter().fold(0, |number, byte| number << 8 | usize::from(*byte));
        messages.get(..4 + length)
    }

    /// Forgets the first handshake message, of this length.
    pub(crate) fn forget(&mut self, length: usize) {
        self.buffer.copy_within(length.min(self.messages)..self.messages, 0);
        self.messages = self.messages.saturating_sub(length);
    }

    /// Moves application data into `target`; returns how much.
    pub(crate) fn read(&mut self, target: &mut [u8]) -> usize {
        let data = self.buffer.get(self.data.clone()).unwrap_or_default();
        let count = data.iter().zip(target).map(|(byte, place)| *place = *byte).count();
        self.data.start += count;
        count
    }

    /// Whether there is application data to read.
    pub(crate) fn has_data(&self) -> bool {
        !self.data.is_empty()
    }
}

fn length(header: &[u8; HEADER]) -> usize {
    let [.., high, low] = *header;
    u16::from_be_bytes([high, low]).into()
}

/// Decrypts `body` in place: the type and length of its content.
fn unprotect(
    keys: &mut TrafficKeys,
    header: &[u8; HEADER],
    body: &mut [u8],
) -> Result<(u8, usize), TlsError> {
    let (text, tag) = body.split_last_chunk_mut::<TAG>().ok_or(TlsError::Protocol)?;
    Aes128Gcm::new(&(*keys.key).into())
        .decrypt_inout_detached(&keys.nonce().into(), header, (&mut *text).into(), &(*tag).into())
        .map_err(|_| TlsError::Protocol)?;
    // The type is the last byte that is not zero; what follows it is padding.
    let length = text.iter().rposition(|byte| *byte != 0).ok_or(TlsError::Protocol)?;
    match text.get(length) {
        Some(kind) if length <= CONTENT => Ok((*kind, length)),
        _ => Err(TlsError::Protocol),
    }
}

/// What is sent to the peer: one record, collected until it is sealed, then sent.
pub(crate) struct Outgoing<'m> {
    buffer: &'m mut [u8],
    /// Bytes of content, behind the place of the header.
    content: usize,
    /// The part of the sealed record that is not sent yet.
    sealed: Range<usize>,
    keys: Option<TrafficKeys>,
}

impl<'m> Outgoing<'m> {
    pub(crate) fn new(buffer: &'m mut [u8]) -> Self {
        Self { buffer, content: 0, sealed: 0..0, keys: None }
    }

    /// Protects what follows with these keys.
    pub(crate) fn protect(&mut self, keys: TrafficKeys) {
        self.keys = Some(keys);
    }

    /// The keys that follow the present ones.
    pub(crate) fn update(&mut self) {
        self.keys = self.keys.as_ref().map(TrafficKeys::next);
    }

    /// Records since the keys were new.
    pub(crate) fn records(&self) -> u64 {
        self.keys.as_ref().map_or(0, |keys| keys.records)
    }

    /// Adds to the record; returns how much fits. Nothing does while a sealed record waits.
    pub(crate) fn append(&mut self, bytes: &[u8]) -> usize {
        if !self.sealed.is_empty() {
            return 0;
        }
        let end = self.buffer.len().saturating_sub(OVERHEAD - HEADER);
        let room = self.buffer.get_mut(HEADER + self.content..end).unwrap_or_default();
        let count = room.iter_mut().zip(bytes).map(|(place, byte)| *place = *byte).count();
        self.content += count;
        count
    }

    /// Adds all of it, or fails.
    pub(crate) fn append_all(&mut self, bytes: &[u8]) -> Result<(), TlsError> {
        if self.append(bytes) == bytes.len() { Ok(()) } else { Err(TlsError::TooLarge) }
    }

    /// Forgets what waits to be sealed.
    pub(crate) fn discard(&mut self) {
        self.content = 0;
    }

    /// What waits to be sealed.
    pub(crate) fn content(&self) -> &[u8] {
        self.buffer.get(HEADER..HEADER + self.content).unwrap_or_default()
    }

    /// Makes a record of this type of what was added.
    pub(crate) fn seal(&mut self, kind: u8) -> Result<(), TlsError> {
        let content = core::mem::take(&mut self.content);
        let (record, sealed) = self.buffer.split_first_chunk_mut::<HEADER>().ok_or(TlsError::TooLarge)?;
        let (length, kind) = match &mut self.keys {
            None => (content, kind),
            Some(keys) => {
                let length = content + 1 + TAG;
                *record = header(DATA, length);
                let body = sealed.get_mut(..length).ok_or(TlsError::TooLarge)?;
                let (text, tag) = body.split_last_chunk_mut::<TAG>().ok_or(TlsError::TooLarge)?;
                if let Some(last) = text.last_mut() {
                    *last = kind;
                }
                *tag = Aes128Gcm::new(&(*keys.key).into())
                    .encrypt_inout_detached(&keys.nonce().into(), record, text.into())
                    .map_err(|_| TlsError::TooLarge)?
                    .into();
                (length, DATA)
            }
        };
        *record = header(kind, length);
        self.sealed = 0..HEADER + length;
        Ok(())
    }

    /// What is to be sent.
    pub(crate) fn pending(&self) -> &[u8] {
        self.buffer.get(self.sealed.clone()).unwrap_or_default()
    }

    /// So much of it was sent.
    pub(crate) fn sent(&mut self, count: usize) {
        self.sealed.start = (self.sealed.start + count).min(self.sealed.end);
    }
}

fn header(kind: u8, length: usize) -> [u8; HEADER] {
    let [high, low] = (length as u16).to_be_bytes();
    [kind, 3, 3, high, low]
}
