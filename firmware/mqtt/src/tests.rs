//! The parts of the MQTT side that decide without a broker.

use std::string::String;
use std::vec::Vec;

use embassy_futures::block_on;
use embassy_time::Duration;
use embedded_io_async::{ErrorKind, ErrorType, Read, Write};
use proptest::prelude::*;

use super::{Backoff, PacketInfo, Transport};
use crate::limits;

#[test]
fn waits_grow_within_their_bounds_and_differ_between_hubs() {
    let waits = |seed| {
        let mut backoff = Backoff::new(seed);
        let mut longest = limits::RECONNECT_FIRST;
        let waits: Vec<Duration> = (0..12)
            .map(|_| {
                let wait = backoff.next_wait();
                assert!(wait <= longest && wait >= longest / 2, "{wait} of {longest}");
                longest = (longest * 2).min(limits::RECONNECT_SLOWEST);
                wait
            })
            .collect();
        backoff.reset();
        assert!(backoff.next_wait() <= limits::RECONNECT_FIRST);
        waits
    };
    assert_ne!(waits(1), waits(0x5eed));
    assert_eq!(waits(0).len(), 12);
}

/// Bytes that come in the given pieces, and a record of what is written.
struct Pieces<'a> {
    rest: &'a [u8],
    sizes: core::iter::Cycle<std::vec::IntoIter<usize>>,
    written: Vec<u8>,
}

impl<'a> Pieces<'a> {
    fn new(rest: &'a [u8], sizes: Vec<usize>) -> Self {
        Self { rest, sizes: sizes.into_iter().cycle(), written: Vec::new() }
    }
}

impl ErrorType for Pieces<'_> {
    type Error = ErrorKind;
}

impl Read for Pieces<'_> {
    async fn read(&mut self, buf: &mut [u8]) -> Result<usize, ErrorKind> {
        assert!(!buf.is_empty(), "nothing to read into");
        let size = self.sizes.next().unwrap_or(1).min(buf.len()).min(self.rest.len());
        let (now, later) = self.rest.split_at(size);
        buf[..size].copy_from_slice(now);
        self.rest = later;
        Ok(size)
    }
}

impl Write for &mut Pieces<'_> {
    async fn write(&mut self, buf: &[u8]) -> Result<usize, ErrorKind> {
        let size = self.sizes.next().unwrap_or(1).min(buf.len());
        self.written.extend_from_slice(&buf[..size]);
        Ok(size)
    }

    async fn flush(&mut self) -> Result<(), ErrorKind> {
        Ok(())
    }
}

/// A PUBLISH on the wire.
#[derive(Clone, Debug)]
struct Publish {
    qos: u8,
    topic: usize,
    properties: usize,
    payload: usize,
}

impl Publish {
    fn body(&self) -> Vec<u8> {
        let mut body = Vec::new();
        body.extend_from_slice(&u16::try_from(self.topic).unwrap().to_be_bytes());
        body.resize(body.len() + self.topic, b't');
        if self.qos > 0 {
            body.extend_from_slice(&[0x12, 0x34]);
        }
        variable(self.properties, &mut body);
        body.resize(body.len() + self.properties, b'p');
        body.resize(body.len() + self.payload, b'x');
        body
    }

    fn bytes(&self) -> Vec<u8> {
        let body = self.body();
        let mut packet = std::vec![0x30 | self.qos << 1];
        variable(body.len(), &mut packet);
        packet.extend(body);
        packet
    }

    /// What should be left of it, and what should be said about it.
    fn passed(&self) -> (Vec<u8>, Option<usize>) {
        let whole = self.bytes();
        if whole.len() <= limits::MQTT_RECEIVE {
            return (whole, None);
        }
        let cut = |packet: Self| Some((packet.bytes(), Some(self.payload)));
        // A packet of that length has a header of three bytes.
        let without_payload = 3 + Self { payload: 0, ..self.clone() }.body().len();
        let room = limits::MQTT_RECEIVE.checked_sub(without_payload);
        let kept = match room {
            _ if self.topic > limits::CUT_TOPIC => None,
            Some(payload) => cut(Self { payload, ..self.clone() }),
            None => cut(Self { properties: 0, payload: 0, ..self.clone() }),
        };
        kept.unwrap_or_else(|| {
            let id: &[u8] = if self.qos > 0 { &[0x12, 0x34] } else { &[] };
            let mut gone = std::vec![0x30 | self.qos << 1, 4 + id.len() as u8, 0, 1, b'?'];
            gone.extend_from_slice(id);
            gone.push(0);
            (gone, Some(0))
        })
    }
}

fn variable(mut value: usize, out: &mut Vec<u8>) {
    loop {
        let more = if value > 127 { 0x80 } else { 0 };
        out.push((value & 127) as u8 | more);
        value >>= 7;
        if value == 0 {
            return;
        }
    }
}

/// Reads packets from the transport as minimq does, and notes what was cut of each.
fn read_packets(bytes: &[u8], sizes: Vec<usize>) -> Vec<(Vec<u8>, Option<usize>)> {
    let info = PacketInfo::new();
    let mut transport = Transport::new(Pieces::new(bytes, sizes), &info, true);
    let mut packets = Vec::new();
    loop {
        let mut packet = Vec::new();
        let mut goal = 2;
        while packet.len() < goal {
            let mut room = std::vec![0; goal - packet.len()];
            let count = block_on(transport.read(&mut room)).unwrap();
            if count == 0 {
                assert!(packet.is_empty(), "a packet was broken off");
                return packets;
            }
            packet.extend_from_slice(&room[..count]);
            let digits = packet.iter().skip(1).take_while(|byte| **byte & 0x80 != 0).count() + 1;
            goal = match packet.get(1..1 + digits) {
                None => packet.len() + 1,
                Some(length) => {
                    let length = length.iter().rev().fold(0, |sum, byte| sum << 7 | usize::from(byte & 127));
                    1 + digits + length
                }
            };
        }
        packets.push((packet, info.uncut()));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn large_packets_are_cut_and_the_rest_passes_untouched(
        packets in proptest::collection::vec((
            0u8..3,
            prop_oneof![8 => 1usize..60, 1 => 255usize..258, 1 => 5_000usize..65_000],
            prop_oneof![8 => 0usize..200, 1 => 4_900usize..5_300, 1 => 20_000usize..30_000],
            prop_oneof![4 => 0usize..500, 4 => 4_800usize..5_200, 2 => 16_000usize..150_000],
        ), 1..5),
        sizes in proptest::collection::vec(1usize..3000, 1..10),
    ) {
        let packets: Vec<_> = packets
            .into_iter()
            .map(|(qos, topic, properties, payload)| Publish { qos, topic, properties, payload })
            .collect();
        let mut bytes = Vec::new();
        for packet in &packets {
            bytes.extend(packet.bytes());
            bytes.extend_from_slice(&[0xD0, 0]);
        }
        let read = read_packets(&bytes, sizes);
        prop_assert_eq!(read.len(), 2 * packets.len());
        for (packet, pair) in packets.iter().zip(read.chunks(2)) {
            let (expected, cut) = packet.passed();
            prop_assert_eq!(&pair[0].0, &expected);
            prop_assert_eq!(pair[0].1.is_some(), cut.is_some());
            // Of a message whose properties cannot be kept, they count too.
            prop_assert!(pair[0].1 >= cut);
            if packet.properties < 1000 && packet.topic <= limits::CUT_TOPIC {
                prop_assert_eq!(pair[0].1, cut);
            }
            prop_assert_eq!(&pair[1], &(std::vec![0xD0, 0], None));
        }
    }

    #[test]
    fn any_bytes_pass_without_a_panic_or_an_endless_loop(bytes: Vec<u8>, sizes in proptest::collection::vec(1usize..9, 1..4)) {
        let info = PacketInfo::new();
        let mut transport = Transport::new(Pieces::new(&bytes, sizes), &info, true);
        let mut buffer = [0; 7];
        for _ in 0..=2 * bytes.len() + 8 {
            if block_on(transport.read(&mut buffer)).unwrap() == 0 {
                return Ok(());
            }
        }
        prop_assert!(false, "more came out than went in");
    }

    #[test]
    fn the_broker_is_told_of_the_larger_packets(sizes in proptest::collection::vec(1usize..40, 1..5), id in "[a-z]{1,60}") {
        // A CONNECT as minimq writes it: Maximum Packet Size is the first of the properties.
        let size = |size: u32| {
            let mut body = b"\0\x04MQTT\x05\x02\0\x1e".to_vec();
            body.extend_from_slice(&[13, 0x27]);
            body.extend_from_slice(&size.to_be_bytes());
            body.extend_from_slice(&[0x11, 0, 0, 0, 60, 0x21, 0, 8]);
            body.extend_from_slice(&u16::try_from(id.len()).unwrap().to_be_bytes());
            body.extend_from_slice(id.as_bytes());
            let mut packet = std::vec![0x10];
            variable(body.len(), &mut packet);
            packet.extend(body);
            packet
        };
        let after = b"\x30\x05\0\x01t\0later".as_slice();
        // With a will that is to be retained.
        let flags = |mut packet: Vec<u8>, flags| {
            packet[2 + 7] = flags;
            packet
        };
        for (is_retained, expected) in [(true, 0x26), (false, 0x06)] {
            let mut pieces = Pieces::new(&[], sizes.clone());
            let info = PacketInfo::new();
            let transport = Transport::new(&mut pieces, &info, true);
            let mut transport = if is_retained { transport } else { transport.without_retained_will() };
            block_on(transport.write_all(&flags(size(4096), 0x26))).unwrap();
            prop_assert_eq!(&pieces.written, &flags(size(limits::MQTT_PACKET), expected));
        }
        let mut pieces = Pieces::new(&[], sizes);
        let info = PacketInfo::new();
        let mut transport = Transport::new(&mut pieces, &info, true);
        block_on(transport.write_all(&size(4096))).unwrap();
        block_on(transport.write_all(after)).unwrap();
        let expected = [size(limits::MQTT_PACKET), after.to_vec()].concat();
        prop_assert_eq!(pieces.written, expected);
    }
}

/// A length of up to 127 takes one byte, and a longer one two.
#[test]
fn a_packet_is_cut_to_every_length_around_that_where_its_header_grows() {
    let mut lengths = Vec::new();
    for qos in 0..3 {
        for topic in 90..=limits::CUT_TOPIC {
            // Properties that cannot be kept, so that little more than the topic is left.
            let packet = Publish { qos, topic, properties: 20_000, payload: 7 };
            let (expected, _) = packet.passed();
            let read = read_packets(&packet.bytes(), std::vec![1000, 1]);
            assert_eq!(read.len(), 1, "{packet:?}");
            assert_eq!(read[0].0, expected, "{packet:?}");
            lengths.push(expected.len());
        }
    }
    // Bytes of the packet after its header, for each quality: the last with one byte of length, and the first with two.
    for around in [127, 128, 129] {
        let header = if around < 128 { 2 } else { 3 };
        assert_eq!(lengths.iter().filter(|length| **length == header + around).count(), 3, "{around}");
    }
}

/// What a broker says of itself in its CONNACK.
#[derive(Clone, Debug)]
enum BrokerProperty {
    PacketLimit(u32),
    Retain(bool),
    /// One that is skipped, as it is on the wire.
    Other(Vec<u8>),
}

fn any_broker_property() -> impl Strategy<Value = BrokerProperty> {
    let fixed = |id: u8, len: usize| {
        proptest::collection::vec(any::<u8>(), len).prop_map(move |value| [std::vec![id], value].concat())
    };
    let text = |id: u8| {
        proptest::collection::vec(any::<u8>(), 0..9)
            .prop_map(move |text| [&[id, 0, text.len() as u8], &text[..]].concat())
    };
    let pair = (text(0x26), text(0x26)).prop_map(|(name, value)| [&name[..], &value[1..]].concat());
    let other = prop_oneof![fixed(0x24, 1), fixed(0x2A, 1), fixed(0x21, 2), fixed(0x13, 2), fixed(0x11, 4)];
    prop_oneof![
        (1..u32::MAX).prop_map(BrokerProperty::PacketLimit),
        any::<bool>().prop_map(BrokerProperty::Retain),
        other.prop_map(BrokerProperty::Other),
        prop_oneof![text(0x12), text(0x1F), text(0x1C), pair].prop_map(BrokerProperty::Other),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_a_broker_says_of_itself_is_heard(
        properties in proptest::collection::vec(any_broker_property(), 0..9),
        sizes in proptest::collection::vec(1usize..9, 1..4),
    ) {
        let (mut limit, mut retain, mut bytes) = (None, true, Vec::new());
        for property in properties {
            match property {
                BrokerProperty::PacketLimit(most) => {
                    limit = Some(most);
                    bytes.push(0x27);
                    bytes.extend_from_slice(&most.to_be_bytes());
                }
                BrokerProperty::Retain(is_available) => {
                    // Once is the rule; a second one must not take back the first.
                    retain &= is_available;
                    bytes.extend_from_slice(&[0x25, u8::from(is_available)]);
                }
                BrokerProperty::Other(other) => bytes.extend(other),
            }
        }
        let mut body = std::vec![0, 0];
        variable(bytes.len(), &mut body);
        body.extend(bytes);
        let mut packet = std::vec![0x20];
        variable(body.len(), &mut packet);
        packet.extend(body);
        let info = PacketInfo::new();
        let mut transport = Transport::new(Pieces::new(&packet, sizes), &info, true);
        let mut passed = Vec::new();
        let mut buffer = [0; 5];
        loop {
            match block_on(transport.read(&mut buffer)).unwrap() {
                0 => break,
                count => passed.extend_from_slice(&buffer[..count]),
            }
        }
        prop_assert_eq!(&passed, &packet, "untouched");
        prop_assert_eq!((info.packet_limit(), info.takes_retained()), (limit, retain));
        // The next broker says nothing.
        let _ = Transport::new(Pieces::new(&[], std::vec![1]), &info, true);
        prop_assert_eq!((info.packet_limit(), info.takes_retained()), (None, true));
    }
}

#[test]
fn a_strange_connect_passes_as_it_is() {
    for bytes in [&b""[..], b"\x10", &[0xFF; 40], b"\x10\x0a\0\x04MQTT\x04\0\0\0"] {
        let mut pieces = Pieces::new(&[], std::vec![3]);
        let info = PacketInfo::new();
        let mut transport = Transport::new(&mut pieces, &info, true);
        block_on(transport.write_all(bytes)).unwrap();
        assert_eq!(pieces.written, bytes, "{}", String::from_utf8_lossy(bytes));
    }
}

#[test]
fn a_topic_that_is_longer_than_its_packet_swallows_nothing() {
    // A PUBLISH of 5200 bytes whose topic claims 60000.
    let mut bytes = std::vec![0x30, 0xD0, 0x28, 0xEA, 0x60];
    bytes.resize(70_000, b't');
    let info = PacketInfo::new();
    let mut transport = Transport::new(Pieces::new(&bytes, std::vec![1000]), &info, true);
    let mut header = [0; 3];
    let mut filled = 0;
    while filled < header.len() {
        filled += block_on(transport.read(&mut header[filled..])).unwrap();
    }
    assert_eq!(header, [0x30, 0xD0, 0x28], "minimq sees a length that it has no room for, and gives up");
}
