//! Retained messages.

use std::time::Duration;

use minimq::{Publication, QoS, RetainHandling, Session};
use rumqttc::v5::mqttbytes::QoS as PeerQoS;
use rumqttc::v5::mqttbytes::v5::PublishProperties;
use tokio::time::sleep;

use crate::broker::{Broker, Subject};
use crate::device::{Device, Received, at, configuration};
use crate::peer::{Peer, text};
use crate::unique;

pub(crate) async fn a_retained_message_waits_for_subscribers(subject: Subject) {
    let broker = subject.start().await;
    let (up, down) = (unique("up"), unique("down"));
    let mut session = Session::new(configuration(&unique("device")));
    let mut device = Device::connect(&mut session, &broker).await;
    device.publish(Publication::bytes(&up, b"from the device").qos(QoS::AtLeastOnce).retain()).await;
    let mut peer = Peer::connect(&broker).await;
    peer.subscribe(&up, PeerQoS::AtLeastOnce).await;
    let message = peer.receive().await;
    assert_eq!(
        (text(&message), message.retain, message.qos),
        ("from the device", true, PeerQoS::AtLeastOnce)
    );

    peer.retain(&down, "from the peer").await;
    device.subscribe(&down, at(QoS::AtMostOnce)).await;
    let message = device.receive().await;
    assert_eq!((message.text(), message.retained, message.qos), ("from the peer", true, 0));
}

pub(crate) async fn the_last_retained_message_counts_and_an_empty_one_clears_it(subject: Subject) {
    let broker = subject.start().await;
    let topic = unique("state");
    let mut peer = Peer::connect(&broker).await;
    assert_eq!(found(&broker, &mut peer, &topic).await, None);
    peer.retain(&topic, "first").await;
    peer.retain(&topic, "second").await;
    assert_eq!(found(&broker, &mut peer, &topic).await.as_deref(), Some("second"));
    let mut session = Session::new(configuration(&unique("device")));
    let mut device = Device::connect(&mut session, &broker).await;
    device.publish(Publication::bytes(&topic, b"").qos(QoS::AtLeastOnce).retain()).await;
    assert_eq!(found(&broker, &mut peer, &topic).await, None);
}

pub(crate) async fn an_expired_retained_message_is_gone(subject: Subject) {
    let broker = subject.start().await;
    let (mortal, immortal) = (unique("mortal"), unique("immortal"));
    let mut peer = Peer::connect(&broker).await;
    let properties = PublishProperties { message_expiry_interval: Some(1), ..PublishProperties::default() };
    peer.publish_with(&mortal, PeerQoS::AtLeastOnce, true, "soon gone", properties).await;
    let properties =
        PublishProperties { message_expiry_interval: Some(1000), ..PublishProperties::default() };
    peer.publish_with(&immortal, PeerQoS::AtLeastOnce, true, "stays", properties).await;
    // Checked again and again until the whole check runs out of time.
    while found(&broker, &mut peer, &mortal).await.is_some() {
        sleep(Duration::from_millis(200)).await;
    }
    assert_eq!(found(&broker, &mut peer, &immortal).await.as_deref(), Some("stays"));
}

pub(crate) async fn the_retain_flag_is_kept_on_request(subject: Subject) {
    let broker = subject.start().await;
    let topic = unique("state");
    let mut peer = Peer::connect(&broker).await;
    for (options, expected) in
        [(at(QoS::AtLeastOnce), false), (at(QoS::AtLeastOnce).retain_as_published(), true)]
    {
        let mut session = Session::new(configuration(&unique("device")));
        let mut device = Device::connect(&mut session, &broker).await;
        device.subscribe(&topic, options.retain_behavior(RetainHandling::Never)).await;
        peer.retain(&topic, "live").await;
        let message = device.receive().await;
        assert_eq!((message.text(), message.retained), ("live", expected));
        peer.publish(&topic, PeerQoS::AtLeastOnce, "not retained").await;
        assert!(!device.receive().await.retained);
    }
}

pub(crate) async fn retained_messages_are_sent_on_request(subject: Subject) {
    let broker = subject.start().await;
    let topic = unique("state");
    let mut peer = Peer::connect(&broker).await;
    peer.retain(&topic, "kept").await;
    let mut session = Session::new(configuration(&unique("device")));
    let mut device = Device::connect(&mut session, &broker).await;
    for (handling, expected) in [
        (RetainHandling::Never, false),
        (RetainHandling::IfSubscriptionDoesNotExist, false),
        (RetainHandling::Immediately, true),
    ] {
        device.subscribe(&topic, at(QoS::AtLeastOnce).retain_behavior(handling)).await;
        peer.publish(&topic, PeerQoS::AtLeastOnce, "end").await;
        let received = device.receive_until("end").await;
        assert_eq!(received.iter().any(|message| message.retained), expected, "{handling:?}");
    }
    device.unsubscribe(&topic).await;
    let handling = RetainHandling::IfSubscriptionDoesNotExist;
    device.subscribe(&topic, at(QoS::AtLeastOnce).retain_behavior(handling)).await;
    let Received { retained, .. } = device.receive().await;
    assert!(retained, "a new subscription");
}

/// What a new subscriber finds retained.
async fn found(broker: &Broker, peer: &mut Peer, topic: &str) -> Option<String> {
    let mut session = Session::new(configuration(&unique("finder")));
    let mut device = Device::connect(&mut session, broker).await;
    device.subscribe(topic, at(QoS::AtLeastOnce)).await;
    peer.publish(topic, PeerQoS::AtLeastOnce, "end").await;
    let mut received = device.receive_until("end").await;
    assert!(received.len() <= 1, "{received:?}");
    received.pop().map(|message| message.text().to_owned())
}
