//! Changes the CONNECT: announces a larger Maximum Packet Size than minimq does, has the will not retained for a broker that
//! refuses it otherwise, and has the broker drop its queue. minimq's session is set up once and has no way to change its
//! will; it asks for a clean start only the first time.

use crate::limits;

/// How much of a CONNECT has to be in hand to find the Maximum Packet Size in it.
const CONNECT_HEAD: usize = 32;

/// What a CONNECT asks for besides what minimq says.
#[derive(Clone, Copy)]
pub(super) struct Wishes {
    /// The will is retained, as minimq was told.
    pub(super) keeps_will: bool,
    /// The broker drops the session that it has, and what it has queued.
    pub(super) starts_clean: bool,
}

/// The beginning of the stream to the broker, where the CONNECT is.
pub(super) enum Outbound {
    Start,
    Connect { head: [u8; CONNECT_HEAD], len: usize, at: usize },
    Rest,
}

impl Outbound {
    /// What to write in place of the beginning of `buf`, if anything.
    pub(super) fn head(&mut self, buf: &[u8], wishes: Wishes) -> Option<&[u8]> {
        if let Self::Start = self {
            let mut head = [0; CONNECT_HEAD];
            let len = buf.len().min(CONNECT_HEAD);
            for (to, from) in head.iter_mut().zip(buf) {
                *to = *from;
            }
            change(&mut head, wishes);
            *self = Self::Connect { head, len, at: 0 };
        }
        match self {
            Self::Connect { head, len, at } => head.get(*at..*len),
            _ => None,
        }
    }

    pub(super) fn wrote(&mut self, count: usize) {
        if let Self::Connect { len, at, .. } = self {
            *at += count;
            if at >= len {
                *self = Self::Rest;
            }
        }
    }
}

/// Sets the Maximum Packet Size in the CONNECT that begins with `head`, which minimq puts first of the properties, and the
/// flags by `wishes`.
fn change(head: &mut [u8; CONNECT_HEAD], wishes: Wishes) {
    const MAXIMUM_PACKET_SIZE: u8 = 0x27;
    const WILL_RETAIN: u8 = 1 << 5;
    const CLEAN_START: u8 = 1 << 1;
    let variable_byte = |bytes: &[u8]| bytes.iter().take_while(|byte| **byte & 0x80 != 0).count() + 1;
    let body = 1 + variable_byte(head.get(1..).unwrap_or_default());
    // Protocol name, version, flags, keepalive.
    let properties = body + 6 + 1 + 1 + 2;
    let first = properties + variable_byte(head.get(properties..).unwrap_or_default());
    if let Some([MAXIMUM_PACKET_SIZE, size @ ..]) = head.get_mut(first..first + 5) {
        size.copy_from_slice(&limits::MQTT_PACKET.to_be_bytes());
        // It is a CONNECT as expected.
        if let Some(flags) = head.get_mut(body + 7) {
            *flags &= if wishes.keeps_will { !0 } else { !WILL_RETAIN };
            *flags |= if wishes.starts_clean { CLEAN_START } else { 0 };
        }
    }
}
