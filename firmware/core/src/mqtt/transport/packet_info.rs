//! What the transport has seen of a packet.

use core::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, Ordering};

use minimq::ReasonCode;

/// The flag of a packet that was sent before.
const DUP: u8 = 1 << 3;

/// What minimq does not show of the packet that arrived last.
#[derive(Debug, Default)]
pub struct PacketInfo {
    /// The size of a payload that was cut; 0 of one that was not.
    uncut: AtomicU32,
    is_repeated: AtomicBool,
    disconnect: AtomicU8,
}

impl PacketInfo {
    /// Nothing seen yet.
    pub const fn new() -> Self {
        Self { uncut: AtomicU32::new(0), is_repeated: AtomicBool::new(false), disconnect: AtomicU8::new(0) }
    }

    /// The size of the payload before it was cut, if it was.
    pub fn uncut(&self) -> Option<usize> {
        match self.uncut.load(Ordering::Relaxed) {
            0 => None,
            bytes => Some(bytes as usize),
        }
    }

    /// Whether the broker marked it as sent before: MQTT's DUP flag.
    pub fn is_repeated(&self) -> bool {
        self.is_repeated.load(Ordering::Relaxed)
    }

    /// Why the broker disconnected, if it said so.
    pub fn disconnect_reason(&self) -> Option<ReasonCode> {
        match self.disconnect.load(Ordering::Relaxed) {
            0 => None,
            reason => Some(reason.into()),
        }
    }

    pub(super) fn begin(&self, first: u8) {
        self.disconnect.store(0, Ordering::Relaxed);
        self.uncut.store(0, Ordering::Relaxed);
        self.is_repeated.store(first & DUP != 0, Ordering::Relaxed);
    }

    pub(super) fn set_uncut(&self, bytes: usize) {
        self.uncut.store(u32::try_from(bytes).unwrap_or(u32::MAX).max(1), Ordering::Relaxed);
    }

    pub(super) fn set_disconnect(&self, reason: u8) {
        self.disconnect.store(reason, Ordering::Relaxed);
    }
}
