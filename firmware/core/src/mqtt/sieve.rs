//! Lets packets that are too large for the hub through in part, so that their senders get an answer.
//!
//! A client announces the largest packet it takes, and the broker drops larger ones without a word to anybody: the
//! caller of a 100 kB request would wait for ever. So the sieve, which sits between the transport and minimq,
//! announces more than minimq has room for, and cuts what does not fit: topic, properties and the beginning of the
//! payload pass, the rest is skipped. [`Margin`] tells the session that and how much.

use core::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, Ordering};

use embedded_io_async::{ErrorType, Read, Write};
use minimq::ReasonCode;

use crate::limits;

/// The first byte of the broker's farewell.
const DISCONNECT: u8 = 0xE0;

/// The flag of a packet that was sent before.
const DUP: u8 = 1 << 3;

/// The fixed header, and of a cut packet also the topic, the packet identifier and the length of the properties.
const HEAD: usize = 5 + 2 + limits::CUT_TOPIC + 2 + 4;

/// The fixed header of a cut packet: its length takes two bytes.
const CUT_HEADER: usize = 3;
const _: () =
    assert!(limits::MQTT_RECEIVE - CUT_HEADER >= 1 << 7 && limits::MQTT_RECEIVE - CUT_HEADER < 1 << 14);

/// How much of a CONNECT has to be in hand to find the Maximum Packet Size in it.
const CONNECT_HEAD: usize = 32;

/// What the sieve has seen of the packet that came last, and minimq does not show.
#[derive(Debug, Default)]
pub struct Margin {
    payload: AtomicU32,
    repeated: AtomicBool,
    goodbye: AtomicU8,
}

impl Margin {
    /// Nothing seen yet.
    pub const fn new() -> Self {
        Self { payload: AtomicU32::new(0), repeated: AtomicBool::new(false), goodbye: AtomicU8::new(0) }
    }

    /// How many bytes the message had, if it was cut.
    pub fn cut(&self) -> Option<usize> {
        match self.payload.load(Ordering::Relaxed) {
            0 => None,
            bytes => Some(bytes as usize),
        }
    }

    /// Whether the broker marked it as sent before: MQTT's DUP flag.
    pub fn is_repeated(&self) -> bool {
        self.repeated.load(Ordering::Relaxed)
    }

    /// Why the broker ended the connection, if it said so.
    pub fn goodbye(&self) -> Option<ReasonCode> {
        match self.goodbye.load(Ordering::Relaxed) {
            0 => None,
            reason => Some(reason.into()),
        }
    }

    fn begin(&self, first: u8) {
        self.goodbye.store(0, Ordering::Relaxed);
        self.payload.store(0, Ordering::Relaxed);
        self.repeated.store(first & DUP != 0, Ordering::Relaxed);
    }

    fn set_cut(&self, bytes: usize) {
        self.payload.store(u32::try_from(bytes).unwrap_or(u32::MAX).max(1), Ordering::Relaxed);
    }
}

/// A transport that cuts packets to [`limits::MQTT_RECEIVE`].
///
/// Keeps the promise of the transport within: a dropped `read` or `write` loses nothing.
pub struct Sieve<'m, Io> {
    io: Io,
    margin: &'m Margin,
    inbound: Inbound,
    outbound: Outbound,
}

impl<'m, Io> Sieve<'m, Io> {
    /// For one connection, from its first byte.
    pub const fn new(io: Io, margin: &'m Margin) -> Self {
        Self { io, margin, inbound: Inbound::new(), outbound: Outbound::Start }
    }
}

impl<Io: ErrorType> ErrorType for Sieve<'_, Io> {
    type Error = Io::Error;
}

impl<Io: Read> Read for Sieve<'_, Io> {
    async fn read(&mut self, buf: &mut [u8]) -> Result<usize, Self::Error> {
        loop {
            let count = match self.inbound.want(buf) {
                Want::Nothing(count) => return Ok(count),
                Want::Pass(room) => {
                    let count = self.io.read(room).await?;
                    let first = buf.first().copied().filter(|_| count > 0);
                    self.inbound.passed(count, first, self.margin);
                    return Ok(count);
                }
                Want::Bytes(room) => self.io.read(room).await?,
            };
            if count == 0 {
                return Ok(0);
            }
            self.inbound.took(count, self.margin);
        }
    }
}

impl<Io: Write> Write for Sieve<'_, Io> {
    async fn write(&mut self, buf: &[u8]) -> Result<usize, Self::Error> {
        let Some(head) = self.outbound.head(buf) else { return self.io.write(buf).await };
        let count = self.io.write(head).await?;
        self.outbound.wrote(count);
        Ok(count)
    }

    async fn flush(&mut self) -> Result<(), Self::Error> {
        self.io.flush().await
    }
}

/// Where the packet that arrives stands.
struct Inbound {
    stage: Stage,
    head: [u8; HEAD],
    /// Bytes of `head` that are filled.
    len: usize,
}

#[derive(Clone, Copy)]
enum Stage {
    /// Until so many bytes are in `head`, which then decide what comes next.
    Fixed { goal: usize },
    /// The packet is too large; so far its topic's length is known.
    Topic { start: usize, remaining: usize },
    /// The topic is too long to keep, and is skipped.
    SkipTopic { start: usize, remaining: usize, skip: usize },
    /// Until the packet identifier behind the skipped topic is there.
    Identifier { start: usize, remaining: usize, goal: usize },
    /// Until the length of the properties is there.
    Properties { start: usize, remaining: usize, goal: usize },
    /// `head` goes out from `at` on, then so much of the body; the rest is skipped.
    Emit { at: usize, pass: usize, skip: usize },
    /// So much of the body goes out.
    Body { pass: usize, skip: usize },
    /// So much is skipped.
    Skip { skip: usize },
}

enum Want<'b> {
    /// So many bytes have been put out; no need to read.
    Nothing(usize),
    /// Bytes that go out as they come.
    Pass(&'b mut [u8]),
    /// Bytes for the sieve itself.
    Bytes(&'b mut [u8]),
}

impl Inbound {
    const fn new() -> Self {
        Self { stage: Stage::Fixed { goal: 2 }, head: [0; HEAD], len: 0 }
    }

    /// What to read next, to fill `buf`.
    fn want<'b>(&'b mut self, buf: &'b mut [u8]) -> Want<'b> {
        loop {
            match self.stage {
                Stage::Emit { at, pass, skip } => {
                    let ready = self.head.get(at..self.len).unwrap_or_default();
                    if ready.is_empty() {
                        self.stage = Stage::Body { pass, skip };
                        continue;
                    }
                    let count = ready.len().min(buf.len());
                    for (to, from) in buf.iter_mut().zip(ready) {
                        *to = *from;
                    }
                    self.stage = Stage::Emit { at: at + count, pass, skip };
                    return Want::Nothing(count);
                }
                Stage::Body { pass: 0, skip: 0 } => {
                    self.len = 0;
                    self.stage = Stage::Fixed { goal: 2 };
                }
                Stage::Body { pass: 0, skip } => self.stage = Stage::Skip { skip },
                Stage::Body { pass, .. } => {
                    let end = pass.min(buf.len());
                    return Want::Pass(buf.get_mut(..end).unwrap_or_default());
                }
                Stage::Skip { skip } => {
                    // The head is free by now, and serves to throw the rest away.
                    let end = skip.min(HEAD);
                    return Want::Bytes(self.head.get_mut(..end).unwrap_or_default());
                }
                Stage::SkipTopic { skip, .. } => {
                    let end = self.len.saturating_add(skip).min(HEAD);
                    return Want::Bytes(self.head.get_mut(self.len..end).unwrap_or_default());
                }
                Stage::Fixed { goal } | Stage::Identifier { goal, .. } | Stage::Properties { goal, .. } => {
                    return Want::Bytes(self.head.get_mut(self.len..goal).unwrap_or_default());
                }
                Stage::Topic { start, .. } => {
                    return Want::Bytes(self.head.get_mut(self.len..start + 2).unwrap_or_default());
                }
            }
        }
    }

    /// `count` bytes of the body went out, beginning with `first`.
    fn passed(&mut self, count: usize, first: Option<u8>, margin: &Margin) {
        // The body of a DISCONNECT begins with its reason.
        if self.head.first() == Some(&DISCONNECT)
            && let Some(reason) = first
            && margin.goodbye().is_none()
        {
            margin.goodbye.store(reason, Ordering::Relaxed);
        }
        if let Stage::Body { pass, .. } = &mut self.stage {
            *pass = pass.saturating_sub(count);
        }
    }

    /// `count` bytes came for the sieve itself.
    fn took(&mut self, count: usize, margin: &Margin) {
        match &mut self.stage {
            Stage::Skip { skip } => {
                let skip = skip.saturating_sub(count);
                self.stage = Stage::Body { pass: 0, skip };
            }
            Stage::SkipTopic { start, remaining, skip } => {
                let (start, remaining) = (*start, *remaining);
                *skip = skip.saturating_sub(count);
                if *skip == 0 {
                    // What follows the topic is read behind its length.
                    let goal = self.len + identifier_len(&self.head);
                    self.stage = Stage::Identifier { start, remaining, goal };
                    self.decide(margin);
                }
            }
            _ => {
                self.len += count;
                self.decide(margin);
            }
        }
    }

    /// Goes on to the next stage if the bytes for it are there.
    fn decide(&mut self, margin: &Margin) {
        match self.stage {
            Stage::Fixed { goal } if self.len >= goal => {
                margin.begin(self.head.first().copied().unwrap_or_default());
                match length(self.head.get(1..self.len).unwrap_or_default()) {
                    Length::Incomplete => self.stage = Stage::Fixed { goal: goal + 1 },
                    // Broken. minimq will see that, and end the connection.
                    Length::Broken => self.stage = Stage::Emit { at: 0, pass: 0, skip: 0 },
                    Length::Is { value } => {
                        let publish = self.head.first().is_some_and(|first| first >> 4 == 3);
                        if publish && self.len + value > limits::MQTT_RECEIVE {
                            self.stage = Stage::Topic { start: self.len, remaining: value };
                        } else {
                            self.stage = Stage::Emit { at: 0, pass: value, skip: 0 };
                        }
                    }
                }
            }
            Stage::Topic { start, remaining } if self.len >= start + 2 => {
                let topic = self.topic_len(start);
                self.stage = if 2 + topic + identifier_len(&self.head) >= remaining {
                    // The topic ends outside the packet. minimq will see that it is broken, and end the connection.
                    Stage::Emit { at: 0, pass: 0, skip: 0 }
                } else if topic > limits::CUT_TOPIC {
                    Stage::SkipTopic { start, remaining, skip: topic }
                } else {
                    let goal = self.len + topic + identifier_len(&self.head) + 1;
                    Stage::Properties { start, remaining, goal }
                };
            }
            Stage::Identifier { start, remaining, goal } if self.len >= goal => {
                let unread = remaining.saturating_sub(self.len - start + self.topic_len(start));
                self.replace(start + 2, unread, margin);
            }
            Stage::Properties { start, remaining, goal } if self.len >= goal => {
                let identifier = start + 2 + self.topic_len(start);
                let properties = identifier + identifier_len(&self.head);
                match length(self.head.get(properties..self.len).unwrap_or_default()) {
                    Length::Incomplete => self.stage = Stage::Properties { start, remaining, goal: goal + 1 },
                    Length::Broken => self.stage = Stage::Emit { at: 0, pass: 0, skip: 0 },
                    Length::Is { value } => {
                        let fixed = (self.len - start).saturating_add(value);
                        self.shorten(start, identifier, remaining, fixed, margin);
                    }
                }
            }
            _ => {}
        }
    }

    /// The packet up to its payload is `fixed` bytes behind `start`: cuts the payload, if that helps.
    fn shorten(&mut self, start: usize, identifier: usize, remaining: usize, fixed: usize, margin: &Margin) {
        const ROOM: usize = limits::MQTT_RECEIVE - CUT_HEADER;
        if fixed <= ROOM {
            margin.set_cut(remaining.saturating_sub(fixed));
            self.emit(start, ROOM, remaining.saturating_sub(ROOM));
            return;
        }
        // Too many properties to keep. Without them and the payload the topic is left, and the identifier.
        let unread = remaining.saturating_sub(self.len - start);
        margin.set_cut(unread);
        self.len = identifier + identifier_len(&self.head) + 1;
        if let Some(no_properties) = self.head.get_mut(self.len - 1) {
            *no_properties = 0;
        }
        self.emit(start, self.len - start, unread);
    }

    /// Lets a packet of `length` bytes out, of which those behind `start` are in the head, and skips the next `skip`.
    fn emit(&mut self, start: usize, length: usize, skip: usize) {
        let first = self.head.first().copied().unwrap_or_default();
        // The new header is no longer than the old one, and ends where that did.
        let header = if length < 1 << 7 {
            &[first, length as u8][..]
        } else {
            &[first, length as u8 | 0x80, (length >> 7) as u8]
        };
        let at = start.saturating_sub(header.len());
        if let Some(place) = self.head.get_mut(at..start) {
            place.copy_from_slice(header);
        }
        self.stage = Stage::Emit { at, pass: length.saturating_sub(self.len - start), skip };
    }

    /// The length of the topic, whose two bytes stand at `start`.
    fn topic_len(&self, start: usize) -> usize {
        match self.head.get(start..start + 2) {
            Some(&[high, low]) => usize::from(u16::from_be_bytes([high, low])),
            _ => 0,
        }
    }

    /// Puts an empty message in the place of one whose topic is too long. It has a topic that nobody uses, but the
    /// identifier of the other, which stands at `identifier`, so that it is acknowledged.
    fn replace(&mut self, identifier: usize, unread: usize, margin: &Margin) {
        let id: [u8; 2] = match self.head.get(identifier..identifier + 2) {
            Some(&[high, low]) => [high, low],
            _ => [0, 0],
        };
        let first = self.head.first().copied().unwrap_or_default();
        let with_id = identifier_len(&self.head) == 2;
        let message: &[u8] =
            if with_id { &[first, 6, 0, 1, b'?', id[0], id[1], 0] } else { &[first, 4, 0, 1, b'?', 0] };
        for (to, from) in self.head.iter_mut().zip(message) {
            *to = *from;
        }
        self.len = message.len();
        margin.set_cut(unread);
        self.stage = Stage::Emit { at: 0, pass: 0, skip: unread };
    }
}

/// The length of the packet identifier in a PUBLISH with this header.
fn identifier_len(head: &[u8]) -> usize {
    let qos = head.first().map_or(0, |first| first >> 1 & 3);
    if qos > 0 { 2 } else { 0 }
}

enum Length {
    Incomplete,
    Broken,
    Is { value: usize },
}

/// An MQTT variable byte integer.
fn length(bytes: &[u8]) -> Length {
    let mut value = 0usize;
    for (place, byte) in bytes.iter().enumerate() {
        if place == 4 {
            return Length::Broken;
        }
        value |= usize::from(byte & 0x7F) << (7 * place);
        if byte & 0x80 == 0 {
            return Length::Is { value };
        }
    }
    if bytes.len() < 4 { Length::Incomplete } else { Length::Broken }
}

/// The beginning of the stream to the broker, where the CONNECT is.
enum Outbound {
    Start,
    Connect { head: [u8; CONNECT_HEAD], len: usize, at: usize },
    Rest,
}

impl Outbound {
    /// What to write in place of the beginning of `buf`, if anything.
    fn head(&mut self, buf: &[u8]) -> Option<&[u8]> {
        if let Self::Start = self {
            let mut head = [0; CONNECT_HEAD];
            let len = buf.len().min(CONNECT_HEAD);
            for (to, from) in head.iter_mut().zip(buf) {
                *to = *from;
            }
            announce(&mut head);
            *self = Self::Connect { head, len, at: 0 };
        }
        match self {
            Self::Connect { head, len, at } => head.get(*at..*len),
            _ => None,
        }
    }

    fn wrote(&mut self, count: usize) {
        if let Self::Connect { len, at, .. } = self {
            *at += count;
            if at >= len {
                *self = Self::Rest;
            }
        }
    }
}

/// Sets the Maximum Packet Size in the CONNECT that begins with `head`. minimq puts it first of the properties.
fn announce(head: &mut [u8; CONNECT_HEAD]) {
    const MAXIMUM_PACKET_SIZE: u8 = 0x27;
    let variable_byte = |bytes: &[u8]| bytes.iter().take_while(|byte| **byte & 0x80 != 0).count() + 1;
    let body = 1 + variable_byte(head.get(1..).unwrap_or_default());
    // Protocol name, version, flags, keepalive.
    let properties = body + 6 + 1 + 1 + 2;
    let first = properties + variable_byte(head.get(properties..).unwrap_or_default());
    if let Some([MAXIMUM_PACKET_SIZE, size @ ..]) = head.get_mut(first..first + 5) {
        size.copy_from_slice(&limits::MQTT_PACKET.to_be_bytes());
    }
}
