//! What the transport has seen of a packet.

use core::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, Ordering};

use minimq::ReasonCode;

/// The flag of a packet that was sent before.
const DUP: u8 = 1 << 3;

/// What minimq does not show of the packet that arrived last, and of the broker.
#[derive(Debug, Default)]
pub struct PacketInfo {
    /// The size of a payload that was cut; 0 of one that was not.
    uncut: AtomicU32,
    is_repeated: AtomicBool,
    disconnect: AtomicU8,
    /// 0 if there is none.
    packet_limit: AtomicU32,
    no_retain: AtomicBool,
}

impl PacketInfo {
    /// Nothing seen yet.
    pub const fn new() -> Self {
        Self {
            uncut: AtomicU32::new(0),
            is_repeated: AtomicBool::new(false),
            disconnect: AtomicU8::new(0),
            packet_limit: AtomicU32::new(0),
            no_retain: AtomicBool::new(false),
        }
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

    /// The largest packet that the broker takes, if it said so: its Maximum Packet Size.
    pub fn packet_limit(&self) -> Option<u32> {
        Some(self.packet_limit.load(Ordering::Relaxed)).filter(|limit| *limit > 0)
    }

    /// Whether the broker takes retained messages: it does unless it said no with Retain Available.
    pub fn takes_retained(&self) -> bool {
        !self.no_retain.load(Ordering::Relaxed)
    }

    /// A connection begins: nothing is known of the broker.
    pub(super) fn forget_broker(&self) {
        self.packet_limit.store(0, Ordering::Relaxed);
        self.no_retain.store(false, Ordering::Relaxed);
    }

    pub(super) fn set_packet_limit(&self, bytes: u32) {
        self.packet_limit.store(bytes, Ordering::Relaxed);
    }

    pub(super) fn set_no_retain(&self) {
        self.no_retain.store(true, Ordering::Relaxed);
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
