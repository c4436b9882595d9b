//! Recognises messages that the broker sends again after a broken connection.
//!
//! With QoS 1 the broker repeats what it has no acknowledgement for, and the acknowledgement may have been lost
//! with the connection. A tool must not run twice for that. The broker marks what it repeats, but it also marks what
//! never arrived the first time; so the last messages are remembered by a fingerprint of all that they contain.

use heapless::HistoryBuf;

use crate::limits;

/// The fingerprint of a message: the same for the same parts in the same order.
pub(super) fn fingerprint(parts: &[&[u8]]) -> u64 {
    // FNV-1a. The lengths keep parts apart.
    let mut hash = 0xcbf2_9ce4_8422_2325u64;
    let mut mix = |byte: u8| hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    for part in parts {
        part.len().to_le_bytes().into_iter().for_each(&mut mix);
        part.iter().copied().for_each(&mut mix);
    }
    hash
}

/// The last QoS 1 messages of a session.
#[derive(Debug)]
pub struct Redeliveries {
    recent: HistoryBuf<u64, { limits::REDELIVERIES }>,
}

impl Redeliveries {
    /// No messages yet.
    pub const fn new() -> Self {
        Self { recent: HistoryBuf::new() }
    }

    /// A fresh session begins, in which nothing has been sent before.
    pub fn clear(&mut self) {
        self.recent.clear();
    }

    /// A QoS 1 message came, and the broker says whether it sent it before. Returns whether it arrived before.
    pub fn has_arrived(&mut self, fingerprint: u64, sent_before: bool) -> bool {
        if sent_before && self.recent.contains(&fingerprint) {
            return true;
        }
        self.recent.write(fingerprint);
        false
    }
}
