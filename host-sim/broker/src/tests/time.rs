//! What happens when nothing happens. No test here waits.

use mqtt5_protocol::packet::disconnect::DisconnectPacket;
use mqtt5_protocol::packet::pingreq::PingReqPacket;
use mqtt5_protocol::packet::publish::PublishPacket;
use mqtt5_protocol::{PropertyId, PropertyValue, QoS, ReasonCode};

use super::super::Limits;
use super::{Bench, SECOND, client, returning, will};

#[test]
fn silence_of_one_and_a_half_keepalives_ends_a_connection() {
    let mut bench = Bench::new();
    let watcher = bench.connect(client("w"));
    bench.subscribe(watcher, "will", QoS::AtMostOnce);
    let id = bench.connect(client("s").with_keep_alive(10 * SECOND).with_will(will("will", 0)));
    for _ in 0..360 {
        bench.pass(10 * SECOND);
        bench.send(id, &PingReqPacket::default());
    }
    assert_eq!(bench.packets(id).len(), 360, "an hour of PINGRESP");
    bench.pass(SECOND * 149 / 10);
    assert!(!bench.read(id).1);
    bench.pass(SECOND / 10);
    assert_eq!(bench.farewell(id), Some(ReasonCode::KeepAliveTimeout));
    assert_eq!(bench.payloads(watcher), ["gone"]);
    bench.pass(24 * 3600 * SECOND);
    assert!(!bench.read(watcher).1, "a keepalive of zero is for ever");
}

#[test]
fn a_connection_without_connect_does_not_stay() {
    let mut bench = Bench::new();
    let id = bench.open();
    bench.send_bytes(id, &[0x10]);
    bench.pass(10 * SECOND - SECOND / 1000);
    assert!(bench.broker.is_open(id));
    bench.send_bytes(id, &[0x7f]);
    bench.pass(SECOND / 1000);
    assert!(!bench.broker.is_open(id), "a byte now and then does not help");
}

#[test]
fn a_connection_that_does_not_take_its_last_packets_is_cut() {
    let mut bench = Bench::new();
    let id = bench.connect(client("s"));
    bench.send(id, &PublishPacket::new("a/#", "x", QoS::AtMostOnce));
    bench.pass(2 * SECOND - SECOND / 1000);
    assert!(bench.broker.is_open(id));
    bench.pass(SECOND / 1000);
    assert!(!bench.broker.is_open(id));
}

#[test]
fn a_will_waits_for_its_delay_and_a_client_that_returns_takes_it_back() {
    let mut bench = Bench::new();
    let watcher = bench.connect(client("w"));
    bench.subscribe(watcher, "will", QoS::AtMostOnce);
    let id = bench.connect(returning("s", 60).with_will(will("will", 20)));
    bench.broker.closed(bench.now, id);
    bench.pass(19 * SECOND);
    let id = bench.connect(returning("s", 60).with_will(will("will", 20)));
    bench.pass(100 * SECOND);
    assert!(bench.messages(watcher).is_empty());

    bench.broker.closed(bench.now, id);
    bench.pass(20 * SECOND - SECOND / 1000);
    assert!(bench.messages(watcher).is_empty());
    bench.pass(SECOND / 1000);
    assert_eq!(bench.payloads(watcher), ["gone"]);
    bench.pass(100 * SECOND);
    assert!(bench.messages(watcher).is_empty(), "once");
}

#[test]
fn a_will_does_not_outwait_its_session() {
    let mut bench = Bench::new();
    let watcher = bench.connect(client("w"));
    bench.subscribe(watcher, "will", QoS::AtMostOnce);
    let id = bench.connect(returning("s", 5).with_will(will("will", 20)));
    bench.broker.closed(bench.now, id);
    bench.pass(5 * SECOND);
    assert_eq!(bench.payloads(watcher), ["gone"]);
    let id = bench.connect(returning("s", 0).with_will(will("will", 20)));
    bench.broker.closed(bench.now, id);
    assert_eq!(bench.payloads(watcher), ["gone"], "a session without expiry ends with its connection");
}

#[test]
fn the_expiry_of_a_will_begins_when_it_is_published() {
    let mut bench = Bench::new();
    let mut last_words = will("will", 20);
    last_words.properties.message_expiry_interval = Some(10);
    last_words.retain = true;
    let id = bench.connect(returning("s", 60).with_will(last_words));
    bench.broker.closed(bench.now, id);
    bench.pass(25 * SECOND);
    let watcher = bench.connect(client("w"));
    bench.send(watcher, &super::SubscribePacket::new(1).add_filter("will", QoS::AtMostOnce));
    assert_eq!(bench.messages(watcher)[0].message_expiry_interval(), Some(5));
}

#[test]
fn a_session_ends_when_its_time_is_over() {
    let mut bench = Bench::new();
    let mut comes_back_after = |first: u32, pause| {
        let id = bench.connect(returning("s", first));
        bench.broker.closed(bench.now, id);
        bench.pass(pause);
        let id = bench.open();
        let is_present = bench.ask_to_connect(id, returning("s", 0)).session_present;
        bench.broker.closed(bench.now, id);
        is_present
    };
    assert!(comes_back_after(30, 30 * SECOND - SECOND / 1000));
    assert!(!comes_back_after(30, 30 * SECOND));
    assert!(!comes_back_after(0, SECOND / 1000));
    assert!(bench.broker.sessions.is_empty());
}

#[test]
fn a_goodbye_can_change_when_the_session_ends() {
    let mut bench = Bench::new();
    let id = bench.connect(returning("s", 30));
    bench.send(id, &DisconnectPacket::normal().with_session_expiry_interval(100));
    bench.pass(99 * SECOND);
    let id = bench.open();
    assert!(bench.ask_to_connect(id, returning("s", 30)).session_present);
    bench.send(id, &DisconnectPacket::normal().with_session_expiry_interval(0));
    assert!(bench.broker.sessions.is_empty());
}

#[test]
fn a_session_is_not_kept_longer_than_the_broker_says() {
    let mut bench = Bench::with(Limits { session_expiry: 50 * SECOND, ..Limits::default() });
    let id = bench.open();
    let answer = bench.ask_to_connect(id, returning("s", u32::MAX));
    let told = answer.properties.get(PropertyId::SessionExpiryInterval);
    assert_eq!(told, Some(&PropertyValue::FourByteInteger(50)));
    bench.broker.closed(bench.now, id);
    bench.pass(50 * SECOND);
    assert!(bench.broker.sessions.is_empty());
}

#[test]
fn a_message_expires_while_it_waits_and_says_how_long_it_has_left() {
    let mut bench = Bench::new();
    let publisher = bench.connect(client("p"));
    let id = bench.connect(returning("s", 60));
    bench.subscribe(id, "t", QoS::AtLeastOnce);
    bench.broker.closed(bench.now, id);
    for (payload, seconds) in [("short", 5), ("long", 10)] {
        let publish = PublishPacket::new("t", payload, QoS::AtLeastOnce);
        bench.send(publisher, &publish.with_packet_id(1).with_message_expiry_interval(seconds));
    }
    bench.pass(SECOND * 13 / 2);
    let id = bench.open();
    bench.send(id, &super::ConnectPacket::new(returning("s", 60)));
    let messages = bench.messages(id);
    assert_eq!(messages.len(), 1);
    assert_eq!(messages[0].payload, "long");
    assert_eq!(messages[0].message_expiry_interval(), Some(4));
    assert_eq!(bench.broker.dropped().expired, 1);
}

#[test]
fn a_retained_message_expires_too() {
    let mut bench = Bench::new();
    let publisher = bench.connect(client("p"));
    let publish = PublishPacket::new("t", "x", QoS::AtMostOnce).with_retain(true);
    bench.send(publisher, &publish.with_message_expiry_interval(10));
    let mut found_by = |name| {
        let id = bench.connect(client(name));
        bench.send(id, &super::SubscribePacket::new(1).add_filter("t", QoS::AtMostOnce));
        let found = bench.messages(id);
        bench.pass(6 * SECOND);
        found.first().map(|message| message.message_expiry_interval())
    };
    assert_eq!(found_by("a"), Some(Some(10)));
    assert_eq!(found_by("b"), Some(Some(4)));
    assert_eq!(found_by("c"), None);
    assert_eq!(bench.broker.dropped().expired, 0, "nobody was to get it");
}

#[test]
fn time_does_not_go_back() {
    let mut bench = Bench::new();
    bench.pass(100 * SECOND);
    bench.broker.tick(bench.now);
    let id = bench.broker.open(SECOND).unwrap();
    bench.broker.tick(2 * SECOND);
    assert_eq!(bench.broker.deadline(), Some(110 * SECOND));
    assert!(bench.broker.is_open(id));
}
