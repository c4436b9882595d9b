//! Packets by another hand (simple-dns), and hostile ones.

extern crate std;

use std::vec::Vec;

use proptest::prelude::*;
use simple_dns::rdata::{A, PTR, RData};
use simple_dns::{CLASS, Name, Packet, PacketFlag, QCLASS, QTYPE, Question, ResourceRecord, TYPE};

use super::*;

const ADDRESS: [u8; 4] = [192, 168, 7, 20];
const OTHER: [u8; 4] = [192, 168, 7, 21];

fn host() -> Host<'static> {
    Host { id: HubId::new("Kitchen-hub_1").unwrap(), address: ADDRESS }
}

fn name(text: &str) -> Name<'_> {
    Name::new_unchecked(text)
}

fn question(text: &str, kind: QTYPE, is_direct: bool) -> Question<'_> {
    Question::new(name(text), kind, QCLASS::CLASS(CLASS::IN), is_direct)
}

fn address(text: &str, address: [u8; 4], ttl: u32) -> ResourceRecord<'_> {
    let data = RData::A(A { address: u32::from_be_bytes(address) });
    ResourceRecord::new(name(text), CLASS::IN, ttl, data)
}

fn a() -> QTYPE {
    QTYPE::TYPE(TYPE::A)
}

fn query(questions: Vec<Question<'_>>) -> Packet<'_> {
    let mut packet = Packet::new_query(7);
    packet.questions = questions;
    packet
}

/// What the hub does about a packet, and what it sends.
fn reaction(packet: &Packet<'_>, port: u16) -> (Action, Vec<u8>) {
    react(&packet.build_bytes_vec_compressed().unwrap(), port)
}

fn react(packet: &[u8], port: u16) -> (Action, Vec<u8>) {
    let mut out = [0; ANSWER];
    let action = answer(packet, port, host(), &mut out);
    let length = match action {
        Action::ToAll(length) | Action::ToSender(length) => length,
        _ => 0,
    };
    (action, out[..length].to_vec())
}

/// Asserts that a packet is an answer with this one address, and returns it.
fn parse(bytes: &[u8]) -> Packet<'_> {
    let packet = Packet::parse(bytes).unwrap();
    assert!(packet.has_flags(PacketFlag::RESPONSE | PacketFlag::AUTHORITATIVE_ANSWER));
    let [record] = packet.answers.as_slice() else { panic!("{packet:?}") };
    assert_eq!(record.name.to_string().to_lowercase(), "kitchen-hub_1.local");
    packet
}

use std::string::ToString;

fn assert_address(packet: &Packet<'_>, ttl: u32, is_only: bool) {
    let record = &packet.answers[0];
    assert!(matches!(&record.rdata, RData::A(a) if a.address == u32::from_be_bytes(ADDRESS)), "{record:?}");
    assert_eq!((record.ttl, record.cache_flush), (ttl, is_only));
}

#[test]
fn whoever_asks_for_the_name_gets_the_address() {
    for (text, kind) in
        [("Kitchen-hub_1.local", a()), ("kitchen-hub_1.LOCAL", a()), ("Kitchen-hub_1.local", QTYPE::ANY)]
    {
        let (action, bytes) = reaction(&query([question(text, kind, false)].into()), PORT);
        assert_eq!(action, Action::ToAll(bytes.len()));
        let packet = parse(&bytes);
        assert_address(&packet, 120, true);
        assert_eq!((packet.id(), packet.questions.len()), (0, 0));
    }
}

#[test]
fn an_answer_goes_straight_to_whoever_asks_for_that() {
    let (action, bytes) = reaction(&query([question("Kitchen-hub_1.local", a(), true)].into()), PORT);
    assert_eq!(action, Action::ToSender(bytes.len()));
    assert_address(&parse(&bytes), 120, true);
}

#[test]
fn those_who_know_only_dns_get_what_they_expect() {
    let (action, bytes) = reaction(&query([question("Kitchen-hub_1.local", a(), false)].into()), 40_000);
    assert_eq!(action, Action::ToSender(bytes.len()));
    let packet = parse(&bytes);
    assert_address(&packet, 10, false);
    assert_eq!(packet.id(), 7);
    let [question] = packet.questions.as_slice() else { panic!("{packet:?}") };
    assert_eq!(
        (question.qname.to_string().to_lowercase().as_str(), question.qtype),
        ("kitchen-hub_1.local", a())
    );
}

#[test]
fn there_is_no_address_of_the_other_kind() {
    let six = || question("Kitchen-hub_1.local", QTYPE::TYPE(TYPE::AAAA), false);
    let (_, bytes) = reaction(&query([six()].into()), PORT);
    let packet = parse(&bytes);
    let RData::NSEC(nsec) = &packet.answers[0].rdata else { panic!("{packet:?}") };
    assert_eq!(nsec.next_name.to_string().to_lowercase(), "kitchen-hub_1.local");
    assert_eq!(nsec.type_bit_maps.len(), 1);
    assert_eq!((nsec.type_bit_maps[0].window_block, &*nsec.type_bit_maps[0].bitmap), (0, &[0x40][..]));
    // Who asks for both gets the address.
    let both = [six(), question("Kitchen-hub_1.local", a(), false)];
    assert_address(&parse(&reaction(&query(both.into()), PORT).1), 120, true);
}

#[test]
fn other_questions_are_none_of_the_hubs_business() {
    for (text, kind) in [
        ("kitchen.local", a()),
        ("Kitchen-hub_1", a()),
        ("Kitchen-hub_1.local.lan", a()),
        ("x.Kitchen-hub_1.local", a()),
        ("Kitchen-hub_1.local", QTYPE::TYPE(TYPE::TXT)),
        ("_http._tcp.local", QTYPE::TYPE(TYPE::PTR)),
    ] {
        assert_eq!(reaction(&query([question(text, kind, false)].into()), PORT).0, Action::Ignore, "{text}");
    }
    let question = query([question("Kitchen-hub_1.local", a(), false)].into());
    let mut update = question.build_bytes_vec().unwrap();
    update[2] |= 5 << 3;
    assert_eq!(react(&update, PORT).0, Action::Ignore);
}

#[test]
fn a_question_among_others_with_compressed_names_is_found() {
    let questions = [
        question("_googlecast._tcp.local", QTYPE::TYPE(TYPE::PTR), false),
        question("other.local", a(), false),
        question("Kitchen-hub_1.local", a(), false),
        question("_http._tcp.local", QTYPE::TYPE(TYPE::PTR), false),
    ];
    let packet = query(questions.into());
    assert!(packet.build_bytes_vec_compressed().unwrap().len() < packet.build_bytes_vec().unwrap().len());
    assert!(matches!(reaction(&packet, PORT).0, Action::ToAll(_)));
}

#[test]
fn who_knows_the_address_already_gets_no_answer() {
    let known = |address: ResourceRecord<'static>| {
        let mut packet = query([question("Kitchen-hub_1.local", a(), false)].into());
        let ptr = RData::PTR(PTR(name("a.b.local")));
        packet.answers = [ResourceRecord::new(name("b.local"), CLASS::IN, 99, ptr), address].into();
        reaction(&packet, PORT).0
    };
    assert_eq!(known(address("Kitchen-hub_1.local", ADDRESS, 60)), Action::Ignore);
    assert!(matches!(known(address("Kitchen-hub_1.local", ADDRESS, 59)), Action::ToAll(_)), "not for long");
    assert!(matches!(known(address("Kitchen-hub_1.local", OTHER, 120)), Action::ToAll(_)), "another one");
    assert!(matches!(known(address("other.local", ADDRESS, 120)), Action::ToAll(_)), "of another name");
}

#[test]
fn another_machine_with_the_name_is_noticed() {
    let heard = |record| {
        let mut packet = Packet::new_reply(0);
        packet.answers = [address("other.local", OTHER, 120), record].into();
        reaction(&packet, PORT).0
    };
    assert_eq!(heard(address("kitchen-hub_1.local", OTHER, 120)), Action::Conflict(OTHER));
    assert_eq!(heard(address("kitchen-hub_1.local", ADDRESS, 120)), Action::Ignore, "that is the hub itself");
    assert_eq!(heard(address("x.local", OTHER, 120)), Action::Ignore);
}

#[test]
fn the_name_is_asked_for_and_announced() {
    let mut out = [0; ANSWER];
    let length = probe(host(), &mut out);
    let packet = Packet::parse(&out[..length]).unwrap();
    let [question] = packet.questions.as_slice() else { panic!("{packet:?}") };
    assert_eq!((question.qtype, question.unicast_response), (QTYPE::ANY, true));
    // Whoever has the name answers it.
    assert!(matches!(react(&out[..length], PORT).0, Action::ToSender(_)));
    let length = announcement(host(), &mut out);
    assert_address(&parse(&out[..length]), 120, true);
}

#[test]
fn the_longest_name_fits() {
    let host = Host { id: HubId::new("abcdefghijklmnopqrstuvwxyz012345").unwrap(), address: ADDRESS };
    let mut out = [0; ANSWER];
    for kind in [TYPE_A, TYPE_AAAA] {
        let length = write(host, kind, Some(1), &mut out);
        Packet::parse(&out[..length]).unwrap();
    }
}

#[test]
fn names_without_an_end_are_no_names() {
    let header = [0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0];
    for name in
        [&[0xc0, 12][..], &[0xc0, 14, 0xc0, 12], &[1, b'a', 0xc0, 12], &[0x40; 80], &[63; 30], &[0xc0]]
    {
        let packet: Vec<u8> = header.iter().chain(name).chain(&[0, 1, 0, 1]).copied().collect();
        assert_eq!(react(&packet, PORT).0, Action::Ignore, "{name:?}");
    }
}

proptest! {
    #[test]
    fn no_packet_is_too_much(bytes in prop::collection::vec(any::<u8>(), 0..PACKET), port: u16) {
        react(&bytes, port);
    }

    /// A packet that simple-dns reads, with some bytes changed.
    #[test]
    fn no_damage_is_too_much(damage in prop::collection::vec((0..200_usize, any::<u8>()), 0..6), port: u16) {
        let mut packet = query([question("a.local", a(), false), question("Kitchen-hub_1.local", a(), false)].into());
        packet.answers = [address("kitchen-hub_1.local", ADDRESS, 1), address("a.local", OTHER, 1)].into();
        let mut bytes = packet.build_bytes_vec_compressed().unwrap();
        for (at, byte) in damage {
            if let Some(place) = bytes.get_mut(at) {
                *place = byte;
            }
        }
        let (_, sent) = react(&bytes, port);
        if !sent.is_empty() {
            parse(&sent);
        }
    }
}
