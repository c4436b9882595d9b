//! Subscriptions: filters, groups, options.

use minimq::{Property, Publication, QoS, Session};
use rumqttc::v5::mqttbytes::QoS as PeerQoS;
use rumqttc::v5::mqttbytes::v5::Filter;

use crate::broker::Subject;
use crate::device::{Device, at, configuration};
use crate::peer::{Peer, text};
use crate::unique;

/// The topics, of those published, that a device with `filter` gets.
async fn matching<'a>(subject: Subject, filter: &str, topics: &[&'a str]) -> Vec<&'a str> {
    let broker = subject.start().await;
    let mut peer = Peer::connect(&broker).await;
    let mut session = Session::new(configuration(&unique("device")));
    let mut device = Device::connect(&mut session, &broker).await;
    let end = unique("end");
    device.subscribe(filter, at(QoS::AtLeastOnce)).await;
    device.subscribe(&end, at(QoS::AtLeastOnce)).await;
    for topic in topics {
        peer.publish(topic, PeerQoS::AtLeastOnce, *topic).await;
    }
    peer.publish(&end, PeerQoS::AtLeastOnce, "end").await;
    let received = device.receive_until("end").await;
    topics.iter().copied().filter(|topic| received.iter().any(|message| message.topic == *topic)).collect()
}

pub(crate) async fn wildcards_match_levels(subject: Subject) {
    let one = matching(subject, "w/+/c", &["w/a/c", "w//c", "w/a/b/c", "w/c", "w/a/d"]).await;
    assert_eq!(one, ["w/a/c", "w//c"]);
    let rest = matching(subject, "w/#", &["w", "w/x", "w/x/y", "wx", "v/w"]).await;
    assert_eq!(rest, ["w", "w/x", "w/x/y"]);
    let both = matching(subject, "+/w/#", &["q/w/z", "/w/z", "q/w", "w/z"]).await;
    assert_eq!(both, ["q/w/z", "/w/z", "q/w"]);
}

pub(crate) async fn leading_wildcards_do_not_match_dollar_topics(subject: Subject) {
    let all = matching(subject, "#", &["a", "$conformance/a", "a/$b"]).await;
    assert_eq!(all, ["a", "a/$b"]);
    let one = matching(subject, "+/a", &["b/a", "$conformance/a"]).await;
    assert_eq!(one, ["b/a"]);
    let named = matching(subject, "$conformance/#", &["$conformance/a"]).await;
    assert_eq!(named, ["$conformance/a"]);
}

pub(crate) async fn an_unsubscribed_topic_is_silent(subject: Subject) {
    let broker = subject.start().await;
    let (topic, end) = (unique("down"), unique("end"));
    let mut peer = Peer::connect(&broker).await;
    let mut session = Session::new(configuration(&unique("device")));
    let mut device = Device::connect(&mut session, &broker).await;
    device.subscribe(&topic, at(QoS::AtLeastOnce)).await;
    device.subscribe(&end, at(QoS::AtLeastOnce)).await;
    peer.publish(&topic, PeerQoS::AtLeastOnce, "before").await;
    assert_eq!(device.receive().await.text(), "before");
    device.unsubscribe(&topic).await;
    peer.publish(&topic, PeerQoS::AtLeastOnce, "after").await;
    peer.publish(&end, PeerQoS::AtLeastOnce, "end").await;
    assert_eq!(device.receive_until("end").await, []);
}

pub(crate) async fn a_client_can_be_spared_its_own_messages(subject: Subject) {
    let broker = subject.start().await;
    let topic = unique("both");
    let mut peer = Peer::connect(&broker).await;
    peer.subscribe_with(Filter { nolocal: true, ..Filter::new(&topic, PeerQoS::AtLeastOnce) }, None).await;
    let mut session = Session::new(configuration(&unique("device")));
    let mut device = Device::connect(&mut session, &broker).await;
    device.subscribe(&topic, at(QoS::AtLeastOnce).ignore_local_messages()).await;
    device.publish(Publication::bytes(&topic, b"from the device").qos(QoS::AtLeastOnce)).await;
    peer.publish(&topic, PeerQoS::AtLeastOnce, "from the peer").await;
    assert_eq!(device.receive().await.text(), "from the peer");
    assert_eq!(text(&peer.receive().await), "from the device");
    device.publish(Publication::bytes(&topic, b"end").qos(QoS::AtLeastOnce)).await;
    assert_eq!(text(&peer.receive().await), "end");
}

pub(crate) async fn subscriptions_are_identified(subject: Subject) {
    let broker = subject.start().await;
    let (up, down) = (unique("up"), unique("down"));
    let mut peer = Peer::connect(&broker).await;
    peer.subscribe_with(Filter::new(&up, PeerQoS::AtLeastOnce), Some(300)).await;
    let mut session = Session::new(configuration(&unique("device")));
    let mut device = Device::connect(&mut session, &broker).await;
    let identifier = [Property::SubscriptionIdentifier(7)];
    device.subscribe_with(&down, at(QoS::AtLeastOnce), &identifier).await;
    device.publish(Publication::bytes(&up, b"x").qos(QoS::AtLeastOnce)).await;
    let properties = peer.receive().await.properties.unwrap_or_default();
    assert_eq!(properties.subscription_identifiers, [300]);
    peer.publish(&down, PeerQoS::AtLeastOnce, "x").await;
    assert_eq!(device.receive().await.subscription_identifiers, [7]);
}

/// As the relays of a hub do.
const GROUP: &str = "$share/relay/";
const MESSAGES: usize = 40;

pub(crate) async fn a_group_shares_its_messages(subject: Subject) {
    let broker = subject.start().await;
    let base = unique("hub");
    let filter = format!("{base}/+/request/+");
    let mut members = [Peer::connect(&broker).await, Peer::connect(&broker).await];
    for member in &mut members {
        member.subscribe(&format!("{GROUP}{filter}"), PeerQoS::AtLeastOnce).await;
    }
    let mut outsider = Peer::connect(&broker).await;
    outsider.subscribe(&filter, PeerQoS::AtLeastOnce).await;
    let mut session = Session::new(configuration(&unique("device")));
    let mut device = Device::connect(&mut session, &broker).await;
    for number in 0..MESSAGES {
        let topic = format!("{base}/{}/request/{}", number % 7, number % 3);
        let payload = number.to_string();
        device.publish(Publication::bytes(&topic, payload.as_bytes()).qos(QoS::AtLeastOnce)).await;
    }
    for member in &mut members {
        member.subscribe(&format!("{base}/end"), PeerQoS::AtLeastOnce).await;
    }
    device.publish(Publication::bytes(&format!("{base}/end"), b"end").qos(QoS::AtLeastOnce)).await;
    let mut numbers: Vec<usize> = Vec::new();
    for member in &mut members {
        let share = member.receive_until("end").await;
        assert!(share.len() >= MESSAGES / 4, "a share of {}", share.len());
        numbers.extend(share.iter().map(|message| text(message).parse::<usize>().unwrap()));
    }
    numbers.sort_unstable();
    assert_eq!(numbers, (0..MESSAGES).collect::<Vec<_>>());
    for number in 0..MESSAGES {
        assert_eq!(text(&outsider.receive().await), number.to_string());
    }
}

pub(crate) async fn the_rest_of_a_group_takes_over(subject: Subject) {
    let broker = subject.start().await;
    let topic = unique("request");
    let filter = format!("{GROUP}{topic}");
    let mut remaining = Peer::connect(&broker).await;
    remaining.subscribe(&filter, PeerQoS::AtLeastOnce).await;
    let mut leaving_session = Session::new(configuration(&unique("leaving")));
    let mut leaving = Device::connect(&mut leaving_session, &broker).await;
    leaving.subscribe(&filter, at(QoS::AtLeastOnce)).await;
    leaving.leave().await;
    let mut session = Session::new(configuration(&unique("device")));
    let mut device = Device::connect(&mut session, &broker).await;
    for number in 0..MESSAGES {
        device.publish(Publication::bytes(&topic, number.to_string().as_bytes()).qos(QoS::AtLeastOnce)).await;
    }
    for number in 0..MESSAGES {
        assert_eq!(text(&remaining.receive().await), number.to_string());
    }
}
