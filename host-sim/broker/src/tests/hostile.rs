//! Bytes from anybody: the broker neither panics nor grows.

use std::time::Duration;

use bytes::BytesMut;
use host_desktop::random::Random;
use mqtt5_protocol::packet::connect::ConnectPacket;
use mqtt5_protocol::packet::disconnect::DisconnectPacket;
use mqtt5_protocol::packet::pingreq::PingReqPacket;
use mqtt5_protocol::packet::puback::PubAckPacket;
use mqtt5_protocol::packet::pubcomp::PubCompPacket;
use mqtt5_protocol::packet::publish::PublishPacket;
use mqtt5_protocol::packet::pubrec::PubRecPacket;
use mqtt5_protocol::packet::pubrel::PubRelPacket;
use mqtt5_protocol::packet::subscribe::SubscribePacket;
use mqtt5_protocol::packet::unsubscribe::UnsubscribePacket;
use mqtt5_protocol::{QoS, ReasonCode};

use super::super::{Broker, ConnectionId, Limits};
use super::{Bench, client, encoded, returning, will};

/// Small, so that a test comes to all of them.
fn tight() -> Limits {
    Limits {
        connections: 4,
        handshakes: 4,
        packet_size: 2000,
        client_id_length: 16,
        topic_length: 40,
        sessions: 6,
        session_expiry: Duration::from_secs(30),
        subscriptions: 4,
        queued_messages: 10,
        queued_bytes: 2000,
        inflight: 4,
        receive_maximum: 3,
        retained_messages: 5,
        retained_bytes: 1000,
        backlog: 3000,
        ..Limits::default()
    }
}

fn pick<'a, T>(random: &mut Random, among: &'a [T]) -> &'a T {
    &among[random.index(among.len())]
}

fn assert_within(broker: &Broker, limits: &Limits) {
    assert!(broker.connected() <= limits.connections);
    assert!(broker.connections.len() <= limits.connections + limits.handshakes);
    for connection in broker.connections.values() {
        assert!(connection.buffered_input() <= limits.packet_size as usize);
        // A packet larger than the backlog goes alone; answers may take as much again; then the farewell.
        let largest = limits.packet_size as usize + 5 * limits.subscriptions + 16;
        assert!(connection.backlog() <= (2 * limits.backlog).max(largest) + 16);
    }
    assert!(broker.sessions.len() <= limits.sessions);
    for (name, session) in &broker.sessions {
        assert!(name.len() <= limits.client_id_length);
        assert!(session.subscriptions.len() <= limits.subscriptions);
        assert!(session.subscriptions.keys().all(|filter| filter.len() <= limits.topic_length));
        assert!(session.waiting() <= limits.queued_messages);
        assert!(session.inflight() <= limits.inflight.into());
        assert!(session.bytes() <= limits.queued_bytes);
        assert!(session.unreleased.len() <= limits.receive_maximum.into());
    }
    assert!(broker.retained.len() <= limits.retained_messages);
    assert!(broker.retained.bytes() <= limits.retained_bytes);
}

/// Packets of a lively client, all well-formed.
fn packet(random: &mut Random) -> BytesMut {
    let topic = *pick(random, &["t/1", "t/2", "u", "t//3", "$x/y", "will"]);
    let filter = *pick(random, &["t/#", "#", "t/+", "$share/g/t/+", "$share/h/#", "u", "will"]);
    let qos = QoS::from(random.index(3) as u8);
    let id = 1 + random.index(5) as u16;
    let payload = vec![b'x'; random.index(300)];
    match random.index(12) {
        0 => {
            let name = *pick(random, &["a", "b", "c", "d", "e", "f", "g", ""]);
            let mut options = returning(name, random.index(20) as u32)
                .with_clean_start(random.index(2) == 0)
                .with_receive_maximum(id)
                .with_will(will(topic, random.index(10) as u32))
                .with_keep_alive(Duration::from_secs(random.index(60) as u64));
            options.properties.maximum_packet_size = Some(20 + random.index(400) as u32);
            encoded(&ConnectPacket::new(options))
        }
        1 | 2 => {
            let subscribe = SubscribePacket::new(id).add_filter(filter, qos).add_filter(topic, qos);
            encoded(&subscribe.with_subscription_identifier(id.into()))
        }
        3..=6 => {
            let publish = PublishPacket::new(topic, payload, qos).with_packet_id(id);
            let publish =
                publish.with_retain(random.index(3) == 0).with_user_property("k".into(), "v".into());
            encoded(&publish.with_message_expiry_interval(random.index(20) as u32))
        }
        7 => encoded(&PubAckPacket::new(id)),
        8 => encoded(&PubRecPacket::new(id)),
        9 => encoded(&PubRelPacket::new(id)),
        10 => encoded(&PubCompPacket::new(id)),
        _ => match random.index(8) {
            0 => encoded(&DisconnectPacket::new(ReasonCode::Success)),
            1..=3 => encoded(&UnsubscribePacket::new(id).add_filter(filter)),
            _ => encoded(&PingReqPacket::default()),
        },
    }
}

/// Plays `steps` of what `speak` says, through connections that come, go, read or do not read.
fn play(seed: u64, steps: usize, mut speak: impl FnMut(&mut Random) -> BytesMut) -> Bench {
    let mut random = Random::new(seed);
    let limits = tight();
    let mut bench = Bench::with(limits.clone());
    let mut open: Vec<ConnectionId> = Vec::new();
    for _ in 0..steps {
        bench.now += Duration::from_millis(random.index(300) as u64);
        bench.broker.tick(bench.now);
        if random.index(10) == 0
            && let Some(id) = bench.broker.open(bench.now)
        {
            open.push(id);
            let name = *pick(&mut random, &["a", "b", "c", "d", "e", "f", "g"]);
            bench.send(id, &ConnectPacket::new(returning(name, 10)));
        }
        open.retain(|id| bench.broker.is_open(*id));
        if open.is_empty() {
            continue;
        }
        let id = *pick(&mut random, &open);
        let bytes = speak(&mut random);
        let (now, later) = bytes.split_at(random.index(bytes.len()));
        bench.send_bytes(id, now);
        bench.send_bytes(id, later);
        match random.index(10) {
            0 => bench.broker.closed(bench.now, id),
            1..=6 => {
                let (bytes, is_closed) = bench.read_bytes(id);
                super::decoded(bytes);
                if is_closed {
                    bench.broker.closed(bench.now, id);
                }
            }
            _ => {}
        }
        assert_within(&bench.broker, &limits);
    }
    bench
}

#[test]
fn whatever_lively_clients_do_everything_stays_within_its_limits() {
    let mut dropped = 0;
    for seed in 1..=20 {
        let bench = play(seed, 2000, packet);
        dropped += bench.broker.dropped().queue_full;
    }
    assert!(dropped > 0, "the limits were not reached");
}

#[test]
fn changed_bytes_in_packets_break_at_most_their_connection() {
    for seed in 101..=120 {
        play(seed, 2000, |random| {
            let mut bytes = packet(random);
            for _ in 0..random.index(4) {
                let at = random.index(bytes.len());
                bytes[at] = random.below(256) as u8;
            }
            if random.index(6) == 0 {
                bytes.truncate(random.index(bytes.len()));
            }
            bytes
        });
    }
}

#[test]
fn random_bytes_break_at_most_their_connection() {
    for seed in 201..=220 {
        play(seed, 1000, |random| {
            let length = 1 + random.index(100);
            (0..length).map(|_| random.below(256) as u8).collect::<Vec<_>>().as_slice().into()
        });
    }
}

#[test]
fn every_packet_can_be_cut_anywhere() {
    let mut random = Random::new(42);
    for _ in 0..300 {
        let bytes = packet(&mut random);
        for end in 0..bytes.len() {
            let mut bench = Bench::new();
            let id = bench.connect(client("s"));
            bench.send_bytes(id, &bytes[..end]);
            let (_, is_closed) = bench.read(id);
            assert!(!is_closed, "half a packet is no reason to hang up: {bytes:?} up to {end}");
        }
    }
}

#[test]
fn a_packet_can_come_byte_by_byte() {
    let mut bench = Bench::new();
    let id = bench.open();
    for byte in encoded(&ConnectPacket::new(client("s"))) {
        bench.send_bytes(id, &[byte]);
    }
    assert_eq!(bench.packets(id).len(), 1);
    bench.subscribe(id, "t", QoS::AtMostOnce);
    for byte in encoded(&PublishPacket::new("t", vec![b'x'; 300], QoS::AtMostOnce)) {
        bench.send_bytes(id, &[byte]);
    }
    assert_eq!(bench.messages(id)[0].payload.len(), 300);
}

#[test]
fn a_topic_of_thousands_of_levels_is_matched_in_little_stack() {
    let mut bench = Bench::with(Limits { topic_length: 65_535, ..Limits::default() });
    let id = bench.connect(client("s"));
    let levels = "/".repeat(65_000);
    bench.subscribe(id, &format!("{levels}+"), QoS::AtMostOnce);
    let publish = PublishPacket::new(levels, "x", QoS::AtMostOnce);
    std::thread::scope(|scope| {
        let story = std::thread::Builder::new().stack_size(256 * 1024);
        let story = story.spawn_scoped(scope, || {
            bench.send(id, &publish);
            bench.messages(id).len()
        });
        assert_eq!(story.unwrap().join().unwrap(), 1);
    });
}

#[test]
fn a_browser_is_not_listened_to() {
    let mut bench = Bench::new();
    let id = bench.open();
    bench.send_bytes(id, b"GET / HTTP/1.1\r\n");
    assert_eq!(bench.farewell(id), None);
    bench.send_bytes(id, &[0; 1000]);
    assert_eq!(bench.broker.connections[&id].buffered_input(), 0);
}
