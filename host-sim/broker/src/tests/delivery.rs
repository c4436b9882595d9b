//! Messages and their acknowledgements, packet by packet.

use mqtt5_protocol::packet::pubcomp::PubCompPacket;
use mqtt5_protocol::packet::publish::PublishPacket;
use mqtt5_protocol::packet::pubrec::PubRecPacket;
use mqtt5_protocol::packet::pubrel::PubRelPacket;
use mqtt5_protocol::packet::subscribe::{SubscribePacket, TopicFilter};
use mqtt5_protocol::packet::subscribe_options::{RetainHandling, SubscriptionOptions};
use mqtt5_protocol::{Packet, QoS, ReasonCode};

use super::{Bench, client, returning};

#[test]
fn the_lower_quality_of_publisher_and_subscriber_counts() {
    use QoS::{AtLeastOnce, AtMostOnce, ExactlyOnce};
    for published in [AtMostOnce, AtLeastOnce, ExactlyOnce] {
        for subscribed in [AtMostOnce, AtLeastOnce, ExactlyOnce] {
            let mut bench = Bench::new();
            let (publisher, subscriber) = (bench.connect(client("p")), bench.connect(client("s")));
            bench.subscribe(subscriber, "t", subscribed);
            bench.publish(publisher, "t", "x", published);
            let expected = (published as u8).min(subscribed as u8);
            assert_eq!(bench.messages(subscriber)[0].qos as u8, expected, "{published:?} {subscribed:?}");
        }
    }
}

#[test]
fn a_message_that_was_not_acknowledged_comes_again_and_is_marked() {
    let mut bench = Bench::new();
    let publisher = bench.connect(client("p"));
    let former = bench.connect(returning("s", 60));
    bench.subscribe(former, "t", QoS::AtLeastOnce);
    bench.publish(publisher, "t", "1", QoS::AtLeastOnce);
    bench.publish(publisher, "t", "2", QoS::AtLeastOnce);
    let first = bench.messages(former);
    assert_eq!(first.iter().map(|message| message.dup).collect::<Vec<_>>(), [false, false]);
    bench.acknowledge(former, &first[0]);
    bench.broker.closed(bench.now, former);

    let later = bench.open();
    bench.send(later, &super::ConnectPacket::new(returning("s", 60)));
    let packets = bench.packets(later);
    assert!(matches!(&packets[0], Packet::ConnAck(answer) if answer.session_present), "{packets:?}");
    let [_, Packet::Publish(again)] = &packets[..] else { panic!("{packets:?}") };
    assert!(again.dup);
    assert_eq!((again.packet_id, &again.payload[..]), (first[1].packet_id, &b"2"[..]));
    bench.acknowledge(later, again);
    bench.broker.closed(bench.now, later);
    let latest = bench.connect(returning("s", 60));
    assert_eq!(bench.messages(latest).len(), 0);
}

#[test]
fn a_connection_cut_after_the_next_delivery_loses_the_acknowledgement() {
    let mut bench = Bench::new();
    let publisher = bench.connect(client("p"));
    let former = bench.connect(returning("s", 60));
    bench.subscribe(former, "t", QoS::AtLeastOnce);
    assert!(bench.broker.cut_after_next_delivery("s"));
    assert!(!bench.broker.cut_after_next_delivery("nobody"));

    bench.publish(publisher, "t", "1", QoS::AtLeastOnce);
    bench.publish(publisher, "t", "2", QoS::AtLeastOnce);
    let (packets, is_closed) = bench.read(former);
    assert!(is_closed);
    let [Packet::Publish(delivered)] = &packets[..] else { panic!("{packets:?}") };
    bench.acknowledge(former, delivered);
    bench.broker.closed(bench.now, former);

    let later = bench.open();
    bench.send(later, &super::ConnectPacket::new(returning("s", 60)));
    let again = bench.messages(later);
    assert_eq!(again.iter().map(|message| message.dup).collect::<Vec<_>>(), [true, false]);
    assert_eq!(again[0].payload, delivered.payload);
    bench.publish(publisher, "t", "3", QoS::AtLeastOnce);
    assert_eq!(bench.payloads(later), ["3"], "the cut was for one delivery");
}

#[test]
fn exactly_once_is_once_however_often_the_publisher_repeats_itself() {
    let mut bench = Bench::new();
    let (publisher, subscriber) = (bench.connect(client("p")), bench.connect(client("s")));
    bench.subscribe(subscriber, "t", QoS::AtMostOnce);
    let publish = PublishPacket::new("t", "x", QoS::ExactlyOnce).with_packet_id(9);
    bench.send(publisher, &publish);
    bench.send(publisher, &publish.clone().with_dup(true));
    assert_eq!(bench.messages(subscriber).len(), 1);
    let answers = bench.packets(publisher);
    assert!(
        matches!(&answers[..], [Packet::PubRec(a), Packet::PubRec(b)] if a.packet_id == 9 && b.packet_id == 9),
        "{answers:?}"
    );

    bench.send(publisher, &PubRelPacket::new(9));
    bench.send(publisher, &PubRelPacket::new(9));
    let answers = bench.packets(publisher);
    let [Packet::PubComp(known), Packet::PubComp(unknown)] = &answers[..] else { panic!("{answers:?}") };
    assert_eq!(known.reason_code, ReasonCode::Success);
    assert_eq!(unknown.reason_code, ReasonCode::PacketIdentifierNotFound);
    bench.send(publisher, &publish);
    assert_eq!(bench.messages(subscriber).len(), 1, "a released identifier names a new message");
}

#[test]
fn exactly_once_goes_on_where_the_connection_broke() {
    let mut bench = Bench::new();
    let publisher = bench.connect(client("p"));
    let mut subscriber = bench.connect(returning("s", 60));
    bench.subscribe(subscriber, "t", QoS::ExactlyOnce);
    bench.publish(publisher, "t", "x", QoS::ExactlyOnce);
    let packet_id = bench.messages(subscriber)[0].packet_id.unwrap();
    bench.send(subscriber, &PubRecPacket::new(packet_id));
    let answers = bench.packets(subscriber);
    assert!(matches!(&answers[..], [Packet::PubRel(release)] if release.packet_id == packet_id));

    bench.broker.closed(bench.now, subscriber);
    subscriber = bench.open();
    bench.send(subscriber, &super::ConnectPacket::new(returning("s", 60)));
    let packets = bench.packets(subscriber);
    let [Packet::ConnAck(_), Packet::PubRel(release)] = &packets[..] else { panic!("{packets:?}") };
    assert_eq!(release.packet_id, packet_id, "the message itself is not sent again");
    bench.send(subscriber, &PubCompPacket::new(packet_id));
    bench.broker.closed(bench.now, subscriber);
    subscriber = bench.open();
    bench.send(subscriber, &super::ConnectPacket::new(returning("s", 60)));
    assert_eq!(bench.packets(subscriber).len(), 1, "nothing but CONNACK");
}

#[test]
fn unknown_acknowledgements_do_no_harm() {
    let mut bench = Bench::new();
    let (publisher, subscriber) = (bench.connect(client("p")), bench.connect(client("s")));
    bench.subscribe(subscriber, "t", QoS::ExactlyOnce);
    bench.publish(publisher, "t", "1", QoS::AtLeastOnce);
    let first = bench.messages(subscriber).remove(0).packet_id.unwrap();
    bench.send(subscriber, &super::PubAckPacket::new(4711));
    bench.send(subscriber, &PubCompPacket::new(first));
    bench.send(subscriber, &PubRecPacket::new(first));
    let answers = bench.packets(subscriber);
    let [Packet::PubRel(release)] = &answers[..] else { panic!("{answers:?}") };
    assert_eq!(release.reason_code, ReasonCode::PacketIdentifierNotFound, "QoS 1 has no PUBREC");
    assert_eq!(bench.broker.sessions["s"].inflight(), 1);
    bench.send(subscriber, &super::PubAckPacket::new(first));
    assert_eq!(bench.broker.sessions["s"].inflight(), 0);

    bench.publish(publisher, "t", "2", QoS::ExactlyOnce);
    let second = bench.messages(subscriber).remove(0).packet_id.unwrap();
    bench.send(subscriber, &super::PubAckPacket::new(second));
    assert_eq!(bench.broker.sessions["s"].inflight(), 1, "QoS 2 has no PUBACK");
    bench.send(subscriber, &PubRecPacket::new_with_reason(second, ReasonCode::QuotaExceeded));
    assert_eq!(bench.broker.sessions["s"].inflight(), 0);
    assert_eq!(bench.broker.sessions["s"].bytes(), 0);
}

#[test]
fn a_publisher_learns_whether_anybody_listens() {
    let mut bench = Bench::new();
    let id = bench.connect(client("p"));
    let reason = |bench: &mut Bench| {
        bench.publish(id, "t", "x", QoS::AtLeastOnce);
        match bench.packets(id).pop() {
            Some(Packet::PubAck(ack)) => ack.reason_code,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(reason(&mut bench), ReasonCode::NoMatchingSubscribers);
    let subscriber = bench.connect(client("s"));
    bench.subscribe(subscriber, "t", QoS::AtMostOnce);
    assert_eq!(reason(&mut bench), ReasonCode::Success);
}

#[test]
fn overlapping_subscriptions_get_one_message_with_all_their_identifiers() {
    let mut bench = Bench::new();
    let (publisher, subscriber) = (bench.connect(client("p")), bench.connect(client("s")));
    for (filter, qos, identifier) in [("a/+", QoS::AtMostOnce, 3), ("a/#", QoS::AtLeastOnce, 500)] {
        let subscribe = SubscribePacket::new(1).add_filter(filter, qos);
        bench.send(subscriber, &subscribe.with_subscription_identifier(identifier));
    }
    bench.packets(subscriber);
    bench.publish(publisher, "a/b", "x", QoS::ExactlyOnce);
    let messages = bench.messages(subscriber);
    assert_eq!(messages.len(), 1);
    assert_eq!(messages[0].qos, QoS::AtLeastOnce);
    let mut identifiers = messages[0].properties.subscription_identifiers();
    identifiers.sort_unstable();
    assert_eq!(identifiers, [3, 500]);
}

#[test]
fn retained_messages_come_as_the_subscription_wants_them() {
    let mut bench = Bench::new();
    let (publisher, subscriber) = (bench.connect(client("p")), bench.connect(client("s")));
    bench.send(publisher, &PublishPacket::new("t", "kept", QoS::AtMostOnce).with_retain(true));
    let subscribe = |bench: &mut Bench, retain_handling| {
        let options = SubscriptionOptions { retain_handling, ..SubscriptionOptions::default() };
        let filter = TopicFilter::with_options("t", options);
        bench.send(subscriber, &SubscribePacket::new(1).add_filter_with_options(filter));
        bench.messages(subscriber).first().map(|message| message.retain)
    };
    assert_eq!(subscribe(&mut bench, RetainHandling::DoNotSend), None);
    assert_eq!(subscribe(&mut bench, RetainHandling::SendAtSubscribeIfNew), None, "not a new subscription");
    assert_eq!(subscribe(&mut bench, RetainHandling::SendAtSubscribe), Some(true));
    let other = bench.connect(client("o"));
    bench.send(other, &SubscribePacket::new(1).add_filter("$share/group/t", QoS::AtMostOnce));
    assert_eq!(bench.packets(other).len(), 1, "SUBACK: groups get no retained messages");
}

#[test]
fn members_of_a_group_take_turns_and_absent_ones_are_passed_over() {
    let mut bench = Bench::new();
    let publisher = bench.connect(client("p"));
    let members = ["a", "b", "c"].map(|name| bench.connect(returning(name, 60)));
    for member in members {
        bench.subscribe(member, "$share/relay/t/+", QoS::AtLeastOnce);
    }
    for number in 0..6 {
        bench.publish(publisher, "t/x", number.to_string(), QoS::AtLeastOnce);
    }
    let shares = members.map(|member| bench.payloads(member));
    assert_eq!(shares, [["0", "3"], ["1", "4"], ["2", "5"]]);

    bench.broker.closed(bench.now, members[0]);
    for number in 6..10 {
        bench.publish(publisher, "t/x", number.to_string(), QoS::AtLeastOnce);
    }
    assert_eq!([members[1], members[2]].map(|member| bench.payloads(member)), [["6", "8"], ["7", "9"]]);
}

#[test]
fn properties_arrive_as_they_were_and_in_the_same_order_in_every_run() {
    let mut bench = Bench::new();
    let (publisher, subscriber) = (bench.connect(client("p")), bench.connect(client("s")));
    bench.subscribe(subscriber, "t", QoS::AtMostOnce);
    let publish = PublishPacket::new("t", "x", QoS::AtMostOnce)
        .with_user_property("k".into(), "2".into())
        .with_user_property("k".into(), "1".into())
        .with_content_type("text/plain".into())
        .with_response_topic("r/1".into())
        .with_correlation_data(vec![0, 255])
        .with_payload_format_indicator(true)
        .with_message_expiry_interval(30);
    let mut first = None;
    for _ in 0..20 {
        bench.send(publisher, &publish);
        let (bytes, _) = bench.read_bytes(subscriber);
        assert_eq!(*first.get_or_insert(bytes.clone()), bytes);
        let Some(Packet::Publish(received)) = super::decoded(bytes).pop() else { panic!("no message") };
        assert_eq!(received.properties, publish.properties);
    }
}

#[test]
fn what_a_client_cannot_take_is_left_out_and_the_rest_follows() {
    let mut bench = Bench::new();
    let publisher = bench.connect(client("p"));
    let mut options = client("s");
    options.properties.maximum_packet_size = Some(60);
    let subscriber = bench.connect(options);
    bench.subscribe(subscriber, "t", QoS::AtLeastOnce);
    // Two bytes of fixed header, three of topic, two of packet identifier, one of properties.
    for length in [1, 53, 52] {
        bench.publish(publisher, "t", vec![b'x'; length], QoS::AtLeastOnce);
    }
    let lengths: Vec<_> = bench.messages(subscriber).iter().map(|message| message.payload.len()).collect();
    assert_eq!(lengths, [1, 52]);
    assert_eq!(bench.broker.dropped().too_large, 1);
}

#[test]
fn no_more_is_in_flight_than_the_client_wants() {
    let mut bench = Bench::new();
    let publisher = bench.connect(client("p"));
    let subscriber = bench.connect(client("s").with_receive_maximum(2));
    bench.subscribe(subscriber, "t", QoS::AtLeastOnce);
    for number in 0..5 {
        bench.publish(publisher, "t", number.to_string(), QoS::AtLeastOnce);
    }
    let first = bench.messages(subscriber);
    assert_eq!(first.len(), 2);
    bench.acknowledge(subscriber, &first[1]);
    assert_eq!(bench.payloads(subscriber), ["2"]);
    bench.acknowledge(subscriber, &first[0]);
    assert_eq!(bench.payloads(subscriber), ["3"]);
}
