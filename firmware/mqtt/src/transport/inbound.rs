//! Cuts packets that are too large.

use super::connack::{self, CONNACK};
use super::packet_info::PacketInfo;
use crate::limits;

/// The first byte of a DISCONNECT.
const DISCONNECT: u8 = 0xE0;

/// The fixed header, and of a cut packet also the topic, the packet identifier and the length of the properties.
const HEAD: usize = 5 + 2 + limits::CUT_TOPIC + 2 + 4;

/// The fixed header of a cut packet: its length takes two bytes.
const CUT_HEADER: usize = 3;
const _: () =
    assert!(limits::MQTT_RECEIVE - CUT_HEADER >= 1 << 7 && limits::MQTT_RECEIVE - CUT_HEADER < 1 << 14);

/// The packet that arrives, and how far it is through.
pub(super) struct Inbound {
    /// Larger packets are cut.
    largest: usize,
    part: PacketPart,
    head: [u8; HEAD],
    /// Bytes of `head` that are filled.
    len: usize,
}

/// The part of a packet that is due next.
#[derive(Clone, Copy)]
enum PacketPart {
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

pub(super) enum Want<'b> {
    /// So many bytes have been put out; no need to read.
    Nothing(usize),
    /// Bytes that go out as they come.
    Pass(&'b mut [u8]),
    /// Bytes that stay here.
    Bytes(&'b mut [u8]),
}

impl Inbound {
    pub(super) const fn new(largest: usize) -> Self {
        Self { largest, part: PacketPart::Fixed { goal: 2 }, head: [0; HEAD], len: 0 }
    }

    /// What to read next, to fill `buf`.
    pub(super) fn want<'b>(&'b mut self, buf: &'b mut [u8]) -> Want<'b> {
        loop {
            match self.part {
                PacketPart::Emit { at, pass, skip } => {
                    let ready = self.head.get(at..self.len).unwrap_or_default();
                    if ready.is_empty() {
                        self.part = PacketPart::Body { pass, skip };
                        continue;
                    }
                    let count = ready.len().min(buf.len());
                    for (to, from) in buf.iter_mut().zip(ready) {
                        *to = *from;
                    }
                    self.part = PacketPart::Emit { at: at + count, pass, skip };
                    return Want::Nothing(count);
                }
                PacketPart::Body { pass: 0, skip: 0 } => {
                    self.len = 0;
                    self.part = PacketPart::Fixed { goal: 2 };
                }
                PacketPart::Body { pass: 0, skip } => self.part = PacketPart::Skip { skip },
                PacketPart::Body { pass, .. } => {
                    let end = pass.min(buf.len());
                    return Want::Pass(buf.get_mut(..end).unwrap_or_default());
                }
                PacketPart::Skip { skip } => {
                    // The head is free by now, and serves to throw the rest away.
                    let end = skip.min(HEAD);
                    return Want::Bytes(self.head.get_mut(..end).unwrap_or_default());
                }
                PacketPart::SkipTopic { skip, .. } => {
                    let end = self.len.saturating_add(skip).min(HEAD);
                    return Want::Bytes(self.head.get_mut(self.len..end).unwrap_or_default());
                }
                PacketPart::Fixed { goal }
                | PacketPart::Identifier { goal, .. }
                | PacketPart::Properties { goal, .. } => {
                    return Want::Bytes(self.head.get_mut(self.len..goal).unwrap_or_default());
                }
                PacketPart::Topic { start, .. } => {
                    return Want::Bytes(self.head.get_mut(self.len..start + 2).unwrap_or_default());
                }
            }
        }
    }

    /// These bytes of the body went out.
    pub(super) fn passed(&mut self, bytes: &[u8], info: &PacketInfo) {
        let PacketPart::Body { pass, .. } = &mut self.part else { return };
        *pass = pass.saturating_sub(bytes.len());
        let is_whole = *pass == 0;
        match (self.head.first(), bytes.first()) {
            // The body of a DISCONNECT begins with its reason.
            (Some(&DISCONNECT), Some(reason)) if info.disconnect_reason().is_none() => {
                info.set_disconnect(*reason);
            }
            (Some(&CONNACK), _) => {
                // Kept behind its header. What does not fit is of no interest: reasons, and words for people.
                let room = self.head.get_mut(self.len..).unwrap_or_default();
                let count = room.len().min(bytes.len());
                room.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
                self.len += count;
                if is_whole {
                    let digits = self.head.iter().skip(1).take_while(|byte| **byte & 0x80 != 0).count() + 1;
                    connack::read(self.head.get(1 + digits..self.len).unwrap_or_default(), info);
                }
            }
            _ => {}
        }
    }

    /// `count` bytes came that stay here.
    pub(super) fn took(&mut self, count: usize, info: &PacketInfo) {
        match &mut self.part {
            PacketPart::Skip { skip } => {
                let skip = skip.saturating_sub(count);
                self.part = PacketPart::Body { pass: 0, skip };
            }
            PacketPart::SkipTopic { start, remaining, skip } => {
                let (start, remaining) = (*start, *remaining);
                *skip = skip.saturating_sub(count);
                if *skip == 0 {
                    // What follows the topic is read behind its length.
                    let goal = self.len + identifier_len(&self.head);
                    self.part = PacketPart::Identifier { start, remaining, goal };
                    self.decide(info);
                }
            }
            _ => {
                self.len += count;
                self.decide(info);
            }
        }
    }

    /// Goes on to the next part if the bytes for it are there.
    fn decide(&mut self, info: &PacketInfo) {
        match self.part {
            PacketPart::Fixed { goal } if self.len >= goal => {
                info.begin(self.head.first().copied().unwrap_or_default());
                match length(self.head.get(1..self.len).unwrap_or_default()) {
                    Length::Incomplete => self.part = PacketPart::Fixed { goal: goal + 1 },
                    // Broken. minimq will see that, and end the connection.
                    Length::Broken => self.part = PacketPart::Emit { at: 0, pass: 0, skip: 0 },
                    Length::Is { value } => {
                        let publish = self.head.first().is_some_and(|first| first >> 4 == 3);
                        if publish && self.len + value > self.largest {
                            self.part = PacketPart::Topic { start: self.len, remaining: value };
                        } else {
                            self.part = PacketPart::Emit { at: 0, pass: value, skip: 0 };
                        }
                    }
                }
            }
            PacketPart::Topic { start, remaining } if self.len >= start + 2 => {
                let topic = self.topic_len(start);
                self.part = if 2 + topic + identifier_len(&self.head) >= remaining {
                    // The topic ends outside the packet. minimq will see that it is broken, and end the connection.
                    PacketPart::Emit { at: 0, pass: 0, skip: 0 }
                } else if topic > limits::CUT_TOPIC {
                    PacketPart::SkipTopic { start, remaining, skip: topic }
                } else {
                    let goal = self.len + topic + identifier_len(&self.head) + 1;
                    PacketPart::Properties { start, remaining, goal }
                };
            }
            PacketPart::Identifier { start, remaining, goal } if self.len >= goal => {
                let unread = remaining.saturating_sub(self.len - start + self.topic_len(start));
                self.replace(start + 2, unread, info);
            }
            PacketPart::Properties { start, remaining, goal } if self.len >= goal => {
                let identifier = start + 2 + self.topic_len(start);
                let properties = identifier + identifier_len(&self.head);
                match length(self.head.get(properties..self.len).unwrap_or_default()) {
                    Length::Incomplete => {
                        self.part = PacketPart::Properties { start, remaining, goal: goal + 1 }
                    }
                    Length::Broken => self.part = PacketPart::Emit { at: 0, pass: 0, skip: 0 },
                    Length::Is { value } => {
                        let fixed = (self.len - start).saturating_add(value);
                        self.shorten(start, identifier, remaining, fixed, info);
                    }
                }
            }
            _ => {}
        }
    }

    /// The packet up to its payload is `fixed` bytes behind `start`: cuts the payload, if that helps.
    fn shorten(
        &mut self,
        start: usize,
        identifier: usize,
        remaining: usize,
        fixed: usize,
        info: &PacketInfo,
    ) {
        const ROOM: usize = limits::MQTT_RECEIVE - CUT_HEADER;
        if fixed <= ROOM {
            info.set_uncut(remaining.saturating_sub(fixed));
            self.emit(start, ROOM, remaining.saturating_sub(ROOM));
            return;
        }
        // Too many properties to keep. Without them and the payload the topic is left, and the identifier.
        let unread = remaining.saturating_sub(self.len - start);
        info.set_uncut(unread);
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
        self.part = PacketPart::Emit { at, pass: length.saturating_sub(self.len - start), skip };
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
    fn replace(&mut self, identifier: usize, unread: usize, info: &PacketInfo) {
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
        info.set_uncut(unread);
        self.part = PacketPart::Emit { at: 0, pass: 0, skip: unread };
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
