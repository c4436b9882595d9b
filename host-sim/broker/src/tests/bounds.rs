//! Every limit, reached.

use std::time::Duration;

use mqtt5_protocol::packet::pingreq::PingReqPacket;
use mqtt5_protocol::packet::publish::PublishPacket;
use mqtt5_protocol::packet::suback::SubAckReasonCode;
use mqtt5_protocol::packet::subscribe::SubscribePacket;
use mqtt5_protocol::{Packet, QoS, ReasonCode};
use support::log::{log_of, log_to_memory};

use super::super::{Access, Limits, Login, Output};
use super::{Bench, client, returning};

/// What the broker has logged, and forgets it.
fn logged() -> Vec<String> {
    let log = log_of("host_broker");
    log_to_memory();
    log.lines().map(str::to_owned).collect()
}

#[test]
fn one_client_too_many_is_refused_in_words_once_in_a_while() {
    log_to_memory();
    let mut bench = Bench::with(Limits { connections: 2, ..Limits::default() });
    let first = bench.connect(returning("a", 60));
    bench.connect(client("b"));
    for name in ["c", "d"] {
        let id = bench.open();
        assert_eq!(bench.ask_to_connect(id, client(name)).reason_code, ReasonCode::QuotaExceeded);
        assert!(bench.read(id).1, "closed");
        bench.broker.closed(bench.now, id);
    }
    let told = logged();
    assert_eq!(told.len(), 1, "once for all that come together: {told:?}");
    assert!(told[0].starts_with("WARN broker: 'c' is refused: 2 clients are connected"), "{told:?}");

    // A client that is there may connect again, and one that leaves makes room.
    let again = bench.connect(returning("a", 60));
    assert_eq!(bench.farewell(first), Some(ReasonCode::SessionTakenOver));
    bench.broker.closed(bench.now, again);
    bench.connect(client("c"));
    assert_eq!(logged(), [""; 0]);
    bench.pass(61 * super::SECOND);
    let id = bench.open();
    assert_eq!(bench.ask_to_connect(id, client("d")).reason_code, ReasonCode::QuotaExceeded);
    assert_eq!(logged().len(), 1, "another time, another line");
}

#[test]
fn one_connection_of_nobody_too_many_is_not_opened() {
    log_to_memory();
    let mut bench = Bench::with(Limits { handshakes: 2, ..Limits::default() });
    bench.connect(client("a"));
    let first = bench.open();
    bench.open();
    assert_eq!(bench.broker.open(bench.now), None);
    assert!(logged()[0].contains("closed at once: 2 others are open"));
    bench.broker.closed(bench.now, first);
    assert!(bench.broker.open(bench.now).is_some());
}

#[test]
fn one_session_too_many_is_refused_while_all_clients_are_connected() {
    log_to_memory();
    let mut bench = Bench::with(Limits { sessions: 2, ..Limits::default() });
    bench.connect(returning("a", 60));
    bench.connect(client("b"));
    let id = bench.open();
    assert_eq!(bench.ask_to_connect(id, client("c")).reason_code, ReasonCode::QuotaExceeded);
    assert!(logged()[0].contains("'c' is refused: 2 sessions are in use"));
}

#[test]
fn absent_clients_keep_no_place_from_others() {
    log_to_memory();
    let mut bench = Bench::with(Limits { sessions: 4, ..Limits::default() });
    let login = |user: &str| Login { user: user.into(), password: "x".into() };
    bench.broker.access = Access::Logins(["kitchen", "porch"].map(login).into());
    let leaves = |bench: &mut Bench, name: &str, user: &str| {
        let id = bench.connect(returning(name, 3600).with_credentials(user, "x"));
        bench.broker.closed(bench.now, id);
        bench.now += Duration::from_secs(1);
    };
    // The hub left first, but the other user has more sessions: its oldest goes.
    for (name, user) in [("hub", "kitchen"), ("m1", "porch"), ("m2", "porch"), ("m3", "porch")] {
        leaves(&mut bench, name, user);
    }
    for number in 4..20 {
        leaves(&mut bench, &format!("m{number}"), "porch");
    }
    assert!(logged()[0].contains("the session of 'm1', who is away, ends early to make room for 'm4'"));
    let id = bench.open();
    let new = client("new").with_credentials("porch", "x");
    assert_eq!(bench.ask_to_connect(id, new).reason_code, ReasonCode::Success);
    let id = bench.open();
    let hub = returning("hub", 60).with_credentials("kitchen", "x");
    assert!(bench.ask_to_connect(id, hub).session_present);
    assert_eq!(bench.broker.sessions.len(), 4);
}

/// Whoever gives another user name each time must not look like many, each with fewer sessions than the hub.
#[test]
fn without_logins_user_names_count_for_nothing() {
    log_to_memory();
    let mut bench = Bench::with(Limits { sessions: 4, ..Limits::default() });
    let leaves = |bench: &mut Bench, name: &str, user: &str| {
        let id = bench.connect(returning(name, 3600).with_credentials(user, "x"));
        bench.broker.closed(bench.now, id);
        bench.now += Duration::from_secs(1);
    };
    for (name, user) in [("m1", "u1"), ("m2", "u2"), ("hub1", "home"), ("hub2", "home")] {
        leaves(&mut bench, name, user);
    }
    for number in 3..5 {
        leaves(&mut bench, &format!("m{number}"), &format!("u{number}"));
    }
    for name in ["hub1", "hub2"] {
        let id = bench.open();
        assert!(bench.ask_to_connect(id, returning(name, 60)).session_present, "{name}");
    }
}

#[test]
fn a_packet_that_is_too_large_ends_the_connection_before_it_is_there() {
    let mut bench = Bench::with(Limits { packet_size: 1000, ..Limits::default() });
    let id = bench.connect(client("s"));
    bench.publish(id, "t", vec![b'x'; 990], QoS::AtMostOnce);
    assert!(!bench.read(id).1);
    bench.send_bytes(id, &[0x30, 0xe8, 0x07, 0]);
    assert_eq!(bench.farewell(id), Some(ReasonCode::PacketTooLarge));
    assert_eq!(bench.broker.connections[&id].buffered_input(), 0);
}

#[test]
fn one_subscription_too_many_is_refused() {
    let mut bench = Bench::with(Limits { subscriptions: 2, topic_length: 10, ..Limits::default() });
    let id = bench.connect(client("s"));
    let mut reasons = |filters: &[&str]| {
        let mut subscribe = SubscribePacket::new(1);
        for filter in filters {
            subscribe = subscribe.add_filter(*filter, QoS::AtMostOnce);
        }
        bench.send(id, &subscribe);
        match bench.packets(id).pop() {
            Some(Packet::SubAck(answer)) => answer.reason_codes,
            Some(Packet::Disconnect(_)) => Vec::new(),
            other => panic!("{other:?}"),
        }
    };
    use SubAckReasonCode::{GrantedQoS0, QuotaExceeded, TopicFilterInvalid};
    assert_eq!(reasons(&["a/#/b", "12345678901"]), [TopicFilterInvalid, TopicFilterInvalid]);
    assert_eq!(reasons(&["a", "b"]), [GrantedQoS0, GrantedQoS0]);
    assert_eq!(reasons(&["c", "b"]), [QuotaExceeded, GrantedQoS0], "one can be replaced");
    assert_eq!(reasons(&["d", "e", "f"]), [], "more in one packet than there can be at all");
}

#[test]
fn a_topic_that_is_too_long_ends_the_connection() {
    let mut bench = Bench::with(Limits { topic_length: 10, ..Limits::default() });
    let id = bench.connect(client("s"));
    bench.publish(id, "1234567890", "x", QoS::AtMostOnce);
    assert!(!bench.read(id).1);
    bench.publish(id, "12345678901", "x", QoS::AtMostOnce);
    assert_eq!(bench.farewell(id), Some(ReasonCode::TopicNameInvalid));
}

#[test]
fn an_absent_client_keeps_the_first_messages_that_fit() {
    log_to_memory();
    let mut bench = Bench::with(Limits { queued_messages: 3, queued_bytes: 100, ..Limits::default() });
    let publisher = bench.connect(client("p"));
    let id = bench.connect(returning("s", 60));
    bench.subscribe(id, "t", QoS::AtLeastOnce);
    bench.broker.closed(bench.now, id);
    let mut reasons = Vec::new();
    for (number, qos) in [1, 1, 1, 1, 2].into_iter().enumerate() {
        bench.publish(publisher, "t", number.to_string(), QoS::from(qos));
        reasons.extend(bench.packets(publisher).into_iter().map(|packet| match packet {
            Packet::PubAck(ack) => ack.reason_code,
            Packet::PubRec(ack) => ack.reason_code,
            other => panic!("{other:?}"),
        }));
    }
    use ReasonCode::{QuotaExceeded, Success};
    assert_eq!(reasons, [Success, Success, Success, QuotaExceeded, QuotaExceeded], "the publisher knows");
    assert_eq!(bench.broker.dropped().queue_full, 2);
    let told = logged();
    assert_eq!(told.len(), 1, "once for the session: {told:?}");
    assert!(told[0].starts_with("WARN broker: messages for 's' are dropped: it is away, and 3 "), "{told:?}");
    let id = bench.open();
    bench.send(id, &super::ConnectPacket::new(returning("s", 60)));
    assert_eq!(bench.payloads(id), ["0", "1", "2"]);
    assert_eq!(logged(), ["WARN broker: 's' has caught up; 2 messages for it were dropped"]);

    // The three are not acknowledged yet: they still count.
    bench.publish(publisher, "t", vec![b'x'; 90], QoS::AtLeastOnce);
    bench.publish(publisher, "t", vec![b'x'; 100], QoS::AtLeastOnce);
    assert_eq!(bench.messages(id).iter().map(|message| message.payload.len()).collect::<Vec<_>>(), [90]);
    assert_eq!(bench.broker.dropped().queue_full, 3);
}

#[test]
fn a_message_that_somebody_gets_is_acknowledged_as_a_success() {
    let mut bench = Bench::with(Limits { queued_messages: 1, ..Limits::default() });
    let publisher = bench.connect(client("p"));
    let away = bench.connect(returning("away", 60));
    let there = bench.connect(client("there"));
    for id in [away, there] {
        bench.subscribe(id, "t", QoS::AtLeastOnce);
    }
    bench.broker.closed(bench.now, away);
    for _ in 0..3 {
        bench.publish(publisher, "t", "x", QoS::AtLeastOnce);
        let acks = bench.packets(publisher);
        assert!(matches!(&acks[..], [Packet::PubAck(ack)] if ack.reason_code == ReasonCode::Success));
    }
    assert_eq!(bench.broker.dropped().queue_full, 2);
}

#[test]
fn a_client_that_does_not_read_loses_messages_oldest_of_quality_zero_first() {
    let limits = Limits { queued_messages: 10, backlog: 1000, ..Limits::default() };
    let mut bench = Bench::with(limits);
    let publisher = bench.connect(client("p"));
    let id = bench.connect(client("s"));
    bench.subscribe(id, "#", QoS::AtLeastOnce);
    for number in 0..100 {
        bench.publish(publisher, "t", format!("{number:0100}"), QoS::AtMostOnce);
    }
    for number in 100..105 {
        bench.publish(publisher, "t", format!("{number:0100}"), QoS::AtLeastOnce);
    }
    assert!(bench.broker.connections[&id].backlog() <= 1000);
    assert_eq!(bench.broker.sessions["s"].waiting(), 10);
    let numbers: Vec<u32> = bench.payloads(id).iter().map(|payload| payload.parse().unwrap()).collect();
    let (written, waited) = numbers.split_at(9);
    assert_eq!(written, [0, 1, 2, 3, 4, 5, 6, 7, 8]);
    assert_eq!(waited, [95, 96, 97, 98, 99, 100, 101, 102, 103, 104]);
    assert_eq!(bench.broker.dropped().queue_full, 86);
    assert!(!bench.read(id).1, "it is not punished further");
}

#[test]
fn a_message_larger_than_the_backlog_goes_alone() {
    let mut bench = Bench::with(Limits { backlog: 100, ..Limits::default() });
    let publisher = bench.connect(client("p"));
    let id = bench.connect(client("s"));
    bench.subscribe(id, "t", QoS::AtMostOnce);
    for length in [50, 5000, 50] {
        bench.publish(publisher, "t", vec![b'x'; length], QoS::AtMostOnce);
    }
    assert!(bench.broker.connections[&id].backlog() < 100);
    let lengths: Vec<_> = bench.messages(id).iter().map(|message| message.payload.len()).collect();
    assert_eq!(lengths, [50, 5000, 50]);
}

#[test]
fn a_client_that_asks_without_reading_is_cut_off() {
    let mut bench = Bench::with(Limits { backlog: 1000, ..Limits::default() });
    let id = bench.connect(client("s"));
    for _ in 0..1000 {
        bench.send(id, &PingReqPacket::default());
    }
    assert!(bench.broker.is_open(id));
    bench.send(id, &PingReqPacket::default());
    assert!(!bench.broker.is_open(id));
    assert_eq!(bench.broker.take_output(bench.now, id), Output::Close);
}

#[test]
fn too_many_unreleased_messages_end_the_connection() {
    let mut bench = Bench::with(Limits { receive_maximum: 2, ..Limits::default() });
    let id = bench.connect(client("p"));
    for packet_id in [1, 2, 2, 1] {
        bench.send(id, &PublishPacket::new("t", "x", QoS::ExactlyOnce).with_packet_id(packet_id));
    }
    assert_eq!(bench.packets(id).len(), 4);
    bench.send(id, &PublishPacket::new("t", "x", QoS::ExactlyOnce).with_packet_id(3));
    assert_eq!(bench.farewell(id), Some(ReasonCode::ReceiveMaximumExceeded));
}

#[test]
fn a_retained_message_too_many_is_not_accepted() {
    let mut bench = Bench::with(Limits { retained_messages: 2, retained_bytes: 30, ..Limits::default() });
    let id = bench.connect(client("p"));
    let mut retain = |topic: &str, payload: &str| {
        let publish = PublishPacket::new(topic, payload.to_owned(), QoS::AtLeastOnce).with_retain(true);
        bench.send(id, &publish.with_packet_id(1));
        match bench.packets(id).pop() {
            Some(Packet::PubAck(ack)) => ack.reason_code != ReasonCode::QuotaExceeded,
            other => panic!("{other:?}"),
        }
    };
    assert!(retain("a", "1"));
    assert!(retain("b", "12345678901234567890"));
    assert!(!retain("c", "1"), "too many");
    assert!(retain("a", "2"), "one can be replaced");
    assert!(!retain("a", "1234567890"), "too large, and the former one stays");
    assert!(retain("b", ""), "one can be taken away");
    assert!(retain("c", "1234567890"));
    assert_eq!(bench.broker.dropped().not_retained, 2);
    assert_eq!((bench.broker.retained.len(), bench.broker.retained.bytes()), (2, 13));
    let subscriber = bench.connect(client("s"));
    bench.send(subscriber, &SubscribePacket::new(1).add_filter("#", QoS::AtMostOnce));
    assert_eq!(bench.payloads(subscriber), ["2", "1234567890"]);
}

#[test]
fn expired_retained_messages_make_room() {
    let mut bench = Bench::with(Limits { retained_messages: 1, ..Limits::default() });
    let id = bench.connect(client("p"));
    let publish = |topic: &str| PublishPacket::new(topic, "x", QoS::AtMostOnce).with_retain(true);
    bench.send(id, &publish("a").with_message_expiry_interval(5));
    bench.pass(6 * super::SECOND);
    bench.send(id, &publish("b"));
    assert_eq!(bench.broker.dropped().not_retained, 0);
    assert_eq!(bench.broker.retained.len(), 1);
}

#[test]
fn many_filters_over_many_retained_messages_fill_no_more_than_the_queue() {
    let limits = Limits { queued_messages: 50, backlog: 1000, ..Limits::default() };
    let mut bench = Bench::with(limits);
    let id = bench.connect(client("p"));
    for number in 0..100 {
        let topic = format!("t/{number}");
        bench.send(id, &PublishPacket::new(topic, "x", QoS::AtMostOnce).with_retain(true));
    }
    let mut subscribe = SubscribePacket::new(1);
    for _ in 0..500 {
        subscribe = subscribe.add_filter("#", QoS::AtMostOnce);
    }
    bench.send(id, &subscribe);
    assert!(bench.broker.sessions["p"].waiting() <= 50);
    assert_eq!(bench.messages(id).len(), 50);
    assert_eq!(bench.broker.dropped().queue_full, 500 * 100 - 50);
}
