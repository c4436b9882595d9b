//! Reads in the CONNACK what minimq does not show of a broker.

use super::packet_info::PacketInfo;

/// The first byte of a CONNACK.
pub(super) const CONNACK: u8 = 0x20;

const RETAIN_AVAILABLE: u8 = 0x25;
const MAXIMUM_PACKET_SIZE: u8 = 0x27;

/// Takes note of the properties in `body`: what follows the fixed header, or as much of it as is in hand.
pub(super) fn read(body: &[u8], info: &PacketInfo) {
    // Flags and reason, then the length of the properties, which nobody needs: they end with the packet.
    let after = body.get(2..).unwrap_or_default();
    let digits = after.iter().take_while(|byte| **byte & 0x80 != 0).count() + 1;
    let mut rest = after.get(digits..).unwrap_or_default();
    while let Some((id, value)) = rest.split_first() {
        match (*id, value) {
            (RETAIN_AVAILABLE, [0, ..]) => info.set_no_retain(),
            (MAXIMUM_PACKET_SIZE, [a, b, c, d, ..]) => {
                info.set_packet_limit(u32::from_be_bytes([*a, *b, *c, *d]))
            }
            _ => {}
        }
        let Some(after) = value_len(*id, value).and_then(|len| value.get(len..)) else { return };
        rest = after;
    }
}

/// The length of the property `id`, whose value is at the beginning of `bytes`. `None` if it is not one of a CONNACK.
fn value_len(id: u8, bytes: &[u8]) -> Option<usize> {
    let text = |at: usize| match bytes.get(at..at + 2) {
        Some(&[high, low]) => Some(at + 2 + usize::from(u16::from_be_bytes([high, low]))),
        _ => None,
    };
    match id {
        // Maximum QoS, Retain Available, and whether wildcards, identifiers and shared subscriptions are.
        0x24 | RETAIN_AVAILABLE | 0x28 | 0x29 | 0x2A => Some(1),
        // Server Keep Alive, Receive Maximum, Topic Alias Maximum.
        0x13 | 0x21 | 0x22 => Some(2),
        // Session Expiry Interval.
        0x11 | MAXIMUM_PACKET_SIZE => Some(4),
        // Client identifier, authentication, response information, server reference, reason.
        0x12 | 0x15 | 0x16 | 0x1A | 0x1C | 0x1F => text(0),
        // User Property.
        0x26 => text(text(0)?),
        _ => None,
    }
}
