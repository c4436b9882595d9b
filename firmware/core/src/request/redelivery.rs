//! Recognises messages that the broker sends again after a broken connection.
//!
//! With QoS 1 the broker repeats unacknowledged messages, and the acknowledgement may have been lost with the connection.
//! A tool must not run twice for that. The DUP flag alone does not decide: it is also set on messages that never arrived
//! the first time. So the fingerprints of the last messages are kept.

use heapless::HistoryBuf;

use crate::limits;

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

    /// A fresh session begins: nothing is a redelivery.
    pub fn clear(&mut self) {
        self.recent.clear();
    }

    /// Records a QoS 1 message with its DUP flag. Returns whether it arrived before.
    pub fn has_arrived(&mut self, fingerprint: u64, is_duplicate: bool) -> bool {
        if is_duplicate && self.recent.contains(&fingerprint) {
            return true;
        }
        self.recent.write(fingerprint);
        false
    }
}
