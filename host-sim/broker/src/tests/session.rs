//! Coming, going and coming back.

use mqtt5_protocol::packet::connect::ConnectPacket;
use mqtt5_protocol::packet::disconnect::DisconnectPacket;
use mqtt5_protocol::packet::publish::PublishPacket;
use mqtt5_protocol::packet::subscribe::{SubscribePacket, TopicFilter};
use mqtt5_protocol::packet::subscribe_options::SubscriptionOptions;
use mqtt5_protocol::{Packet, PropertyId, PropertyValue, QoS, ReasonCode, WillMessage};

use super::super::{Access, Login};
use super::{Bench, SECOND, client, returning, will};

#[test]
fn other_versions_of_mqtt_are_refused_in_their_own_words() {
    let old = [
        &b"\x10\x0d\0\x04MQTT\x04\x02\0\x0a\0\x01a"[..],
        b"\x10\x0f\0\x06MQIsdp\x03\x02\0\x0a\0\x01a",
        // Not even the rest of the packet has to make sense.
        b"\x10\x07\0\x04MQTT\x04",
    ];
    for connect in old {
        let mut bench = Bench::new();
        let id = bench.open();
        bench.send_bytes(id, connect);
        let (bytes, is_closed) = bench.read_bytes(id);
        assert_eq!((&bytes[..], is_closed), (&[0x20, 2, 0, 1][..], true), "{connect:?}");
    }
    let mut bench = Bench::new();
    let id = bench.open();
    bench.send_bytes(id, b"\x10\x0e\0\x04MQTT\x06\x02\0\x0a\0\0\x01a");
    let (packets, is_closed) = bench.read(id);
    let [Packet::ConnAck(answer)] = &packets[..] else { panic!("{packets:?}") };
    assert_eq!((answer.reason_code, is_closed), (ReasonCode::UnsupportedProtocolVersion, true));
}

#[test]
fn the_broker_tells_what_it_takes_and_names_the_nameless() {
    let mut bench = Bench::new();
    let mut names = Vec::new();
    for _ in 0..2 {
        let id = bench.open();
        let answer = bench.ask_to_connect(id, client(""));
        assert_eq!(answer.maximum_packet_size(), Some(1024 * 1024));
        assert_eq!(answer.receive_maximum(), Some(32));
        assert_eq!(answer.topic_alias_maximum(), None, "which means none");
        match answer.properties.get(PropertyId::AssignedClientIdentifier) {
            Some(PropertyValue::Utf8String(name)) => names.push(name.clone()),
            other => panic!("no name: {other:?}"),
        }
    }
    assert_ne!(names[0], names[1]);
}

#[test]
fn only_those_with_a_login_are_let_in() {
    let login = Login { user: "hub".into(), password: "secret".into() };
    assert!(!format!("{login:?}").contains("secret"));
    let mut bench = Bench::new();
    bench.broker.access = Access::Logins(vec![login]);
    let mut answer = |options| {
        let id = bench.open();
        bench.ask_to_connect(id, options).reason_code
    };
    assert_eq!(answer(client("a")), ReasonCode::BadUsernameOrPassword);
    assert_eq!(answer(client("a").with_credentials("hub", "wrong")), ReasonCode::BadUsernameOrPassword);
    assert_eq!(answer(client("a").with_credentials("who", "secret")), ReasonCode::BadUsernameOrPassword);
    assert_eq!(answer(client("a").with_credentials("hub", "secret")), ReasonCode::Success);
    assert_eq!(bench.broker.sessions.len(), 1, "nobody else has left a trace");
}

#[test]
fn nonsense_in_connect_is_refused_with_a_reason() {
    let mut cases: Vec<(ConnectPacket, ReasonCode)> = Vec::new();
    let mut connect = ConnectPacket::new(client("a"));
    connect.properties.set_receive_maximum(0);
    cases.push((connect, ReasonCode::ProtocolError));
    let mut connect = ConnectPacket::new(client("a"));
    connect.properties.set_maximum_packet_size(0);
    cases.push((connect, ReasonCode::ProtocolError));
    let mut connect = ConnectPacket::new(client("a"));
    connect.properties.set_authentication_method("SCRAM".into());
    cases.push((connect, ReasonCode::BadAuthenticationMethod));
    let options = client("a").with_will(WillMessage::new("w/#", b"x".to_vec()));
    cases.push((ConnectPacket::new(options), ReasonCode::TopicNameInvalid));
    let options = client(&"a".repeat(1000));
    cases.push((ConnectPacket::new(options), ReasonCode::ClientIdentifierNotValid));
    for (connect, reason) in cases {
        let mut bench = Bench::new();
        let id = bench.open();
        bench.send(id, &connect);
        let (packets, is_closed) = bench.read(id);
        let [Packet::ConnAck(answer)] = &packets[..] else { panic!("{packets:?}") };
        assert_eq!((answer.reason_code, is_closed), (reason, true));
        assert!(bench.broker.sessions.is_empty());
    }
}

#[test]
fn breaches_of_the_protocol_end_with_their_reason() {
    let publish = || PublishPacket::new("t", "x", QoS::AtMostOnce);
    let subscribe = || SubscribePacket::new(1);
    let shared_no_local = TopicFilter::with_options(
        "$share/g/t",
        SubscriptionOptions { no_local: true, ..SubscriptionOptions::default() },
    );
    let cases = [
        (super::encoded(&ConnectPacket::new(client("s"))), ReasonCode::ProtocolError),
        (super::encoded(&publish().with_topic_alias(1)), ReasonCode::TopicAliasInvalid),
        (super::encoded(&publish().with_subscription_identifier(1)), ReasonCode::ProtocolError),
        (super::encoded(&publish().with_response_topic("a/#".into())), ReasonCode::ProtocolError),
        (super::encoded(&PublishPacket::new("a/+", "x", QoS::AtMostOnce)), ReasonCode::TopicNameInvalid),
        (super::encoded(&PublishPacket::new("", "x", QoS::AtMostOnce)), ReasonCode::TopicNameInvalid),
        (b"\x32\x07\0\x01t\0\0\0x"[..].into(), ReasonCode::ProtocolError),
        (b"\x36\x07\0\x01t\0\x01\0x"[..].into(), ReasonCode::MalformedPacket),
        (b"\xc0\x01x"[..].into(), ReasonCode::MalformedPacket),
        (b"\x30\xff\xff\xff\xff\x01"[..].into(), ReasonCode::MalformedPacket),
        (
            super::encoded(&subscribe().add_filter("t", QoS::AtMostOnce).with_subscription_identifier(0)),
            ReasonCode::ProtocolError,
        ),
        (super::encoded(&subscribe().add_filter_with_options(shared_no_local)), ReasonCode::ProtocolError),
        (
            super::encoded(&DisconnectPacket::normal().with_session_expiry_interval(10)),
            ReasonCode::ProtocolError,
        ),
    ];
    for (bytes, reason) in cases {
        let mut bench = Bench::new();
        let watcher = bench.connect(client("w"));
        bench.subscribe(watcher, "will", QoS::AtMostOnce);
        let id = bench.connect(client("s").with_will(will("will", 0)));
        bench.send_bytes(id, &bytes);
        assert_eq!(bench.farewell(id), Some(reason), "{bytes:?}");
        assert_eq!(bench.payloads(watcher), ["gone"], "its will is published");
    }
}

#[test]
fn a_session_waits_for_its_client_and_a_clean_start_ends_it() {
    let mut bench = Bench::new();
    let publisher = bench.connect(client("p"));
    let former = bench.connect(returning("s", 60));
    bench.subscribe(former, "t", QoS::AtLeastOnce);
    bench.send(former, &DisconnectPacket::normal());
    assert_eq!(bench.farewell(former), None);
    bench.publish(publisher, "t", "lost", QoS::AtMostOnce);
    bench.publish(publisher, "t", "kept", QoS::AtLeastOnce);

    let later = bench.open();
    bench.send(later, &ConnectPacket::new(returning("s", 60)));
    let packets = bench.packets(later);
    let [Packet::ConnAck(answer), Packet::Publish(kept)] = &packets[..] else { panic!("{packets:?}") };
    assert!(answer.session_present);
    assert_eq!(kept.payload, "kept");

    let clean = bench.open();
    let answer = bench.ask_to_connect(clean, client("s"));
    assert!(!answer.session_present);
    bench.publish(publisher, "t", "for nobody", QoS::AtLeastOnce);
    assert!(bench.messages(clean).is_empty());
}

#[test]
fn a_client_that_connects_twice_loses_the_first_connection() {
    let mut bench = Bench::new();
    let watcher = bench.connect(client("w"));
    bench.subscribe(watcher, "will", QoS::AtMostOnce);
    let first = bench.connect(returning("s", 60).with_will(will("will", 5)));
    let second = bench.connect(returning("s", 60).with_will(will("will", 5)));
    assert_eq!(bench.farewell(first), Some(ReasonCode::SessionTakenOver));
    bench.broker.closed(bench.now, first);
    bench.pass(10 * SECOND);
    assert!(bench.messages(watcher).is_empty(), "the client is there");
    assert!(!bench.read(second).1, "the second connection goes on");

    bench.connect(client("s"));
    assert_eq!(bench.farewell(second), Some(ReasonCode::SessionTakenOver));
    assert_eq!(bench.payloads(watcher), ["gone"], "a clean start ends the session, and its will is due");
}

#[test]
fn a_proper_goodbye_takes_the_will_back_unless_it_asks_for_it() {
    for (reason, expected) in [
        (ReasonCode::Success, 0),
        (ReasonCode::DisconnectWithWillMessage, 1),
        (ReasonCode::UnspecifiedError, 1),
    ] {
        let mut bench = Bench::new();
        let watcher = bench.connect(client("w"));
        bench.subscribe(watcher, "will", QoS::AtMostOnce);
        let id = bench.connect(client("s").with_will(will("will", 0)));
        bench.send(id, &DisconnectPacket::new(reason));
        assert_eq!(bench.messages(watcher).len(), expected, "{reason:?}");
    }
}

#[test]
fn kicking_ends_a_connection_at_once_and_forgetting_its_session_too() {
    let mut bench = Bench::new();
    let watcher = bench.connect(client("w"));
    bench.subscribe(watcher, "will", QoS::AtMostOnce);
    let id = bench.connect(returning("s", 60).with_will(will("will", 0)));
    assert!(bench.broker.kick(bench.now, "s"));
    assert!(!bench.broker.is_open(id));
    assert!(bench.broker.take_changed().any(|changed| changed == id));
    assert!(!bench.broker.kick(bench.now, "s"), "not connected any more");
    assert_eq!(bench.payloads(watcher), ["gone"]);

    let id = bench.open();
    assert!(bench.ask_to_connect(id, returning("s", 60)).session_present);
    assert!(bench.broker.forget_session(bench.now, "s"));
    assert!(!bench.broker.is_open(id));
    assert!(!bench.broker.forget_session(bench.now, "s"));
    let id = bench.open();
    assert!(!bench.ask_to_connect(id, returning("s", 60)).session_present);
}

#[test]
fn shutting_down_is_announced() {
    let mut bench = Bench::new();
    let watcher = bench.connect(client("w"));
    bench.subscribe(watcher, "will", QoS::AtMostOnce);
    let id = bench.connect(client("s").with_will(will("will", 0)));
    let silent = bench.open();
    bench.broker.shutdown(bench.now);
    assert_eq!(bench.farewell(id), Some(ReasonCode::ServerShuttingDown));
    assert_eq!(bench.read(watcher).0.len(), 1, "no will, only DISCONNECT");
    assert_eq!(bench.farewell(silent), None, "it has not said CONNECT");
}
