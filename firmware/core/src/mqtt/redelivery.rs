//! Recognises messages that the broker sends again after a broken connection.
//!
//! With QoS 1 the broker repeats what it has no acknowledgement for, and the acknowledgement may have been lost
//! with the connection. A tool must not run twice for that. The client library does not show the packet's
//! identifier, so the last messages are remembered by a fingerprint of all that they contain.

use embassy_time::Instant;
use heapless::{HistoryBuf, Vec};

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

/// The last QoS 1 messages, and those of them that the broker may still repeat.
#[derive(Debug)]
pub struct Redeliveries {
    recent: HistoryBuf<u64, { limits::REDELIVERIES }>,
    suspects: Vec<u64, { limits::REDELIVERIES }>,
    until: Option<Instant>,
}

impl Redeliveries {
    /// No messages yet.
    pub const fn new() -> Self {
        Self { recent: HistoryBuf::new(), suspects: Vec::new(), until: None }
    }

    /// A connection begins. If it resumes the session, its first messages may be repetitions.
    pub fn connected(&mut self, resumed: bool, now: Instant) {
        self.suspects.clear();
        if resumed {
            self.suspects.extend(self.recent.oldest_ordered().copied());
            self.until = Some(now + limits::REDELIVERY_WINDOW);
        } else {
            self.recent.clear();
        }
    }

    /// A QoS 1 message came. Returns whether it is a repetition.
    ///
    /// Repetitions come first and each at most once; the first message that is none ends the search, and so
    /// does time. A caller who says the very same thing again is therefore heard.
    pub fn is_repeated(&mut self, fingerprint: u64, now: Instant) -> bool {
        if self.until.is_some_and(|until| now < until)
            && let Some(at) = self.suspects.iter().position(|known| *known == fingerprint)
        {
            self.suspects.swap_remove(at);
            return true;
        }
        self.suspects.clear();
        self.recent.write(fingerprint);
        false
    }
}

impl Default for Redeliveries {
    fn default() -> Self {
        Self::new()
    }
}
