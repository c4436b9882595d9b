//! Messages: qualities of service, bursts and sizes.

use minimq::{Error, PubError, Publication, QoS, ResourceError, Session};
use rumqttc::v5::mqttbytes::QoS as PeerQoS;

use crate::broker::{PACKET_SIZE, Subject};
use crate::device::{Device, at, configuration, with_buffers};
use crate::peer::{Peer, text};
use crate::unique;

const QUALITIES: [(QoS, PeerQoS); 3] = [
    (QoS::AtMostOnce, PeerQoS::AtMostOnce),
    (QoS::AtLeastOnce, PeerQoS::AtLeastOnce),
    (QoS::ExactlyOnce, PeerQoS::ExactlyOnce),
];

pub(crate) async fn every_quality_reaches_the_peer_once_and_in_order(subject: Subject) {
    let broker = subject.start().await;
    let topic = unique("up");
    let mut peer = Peer::connect(&broker).await;
    peer.subscribe(&topic, PeerQoS::ExactlyOnce).await;
    let mut session = Session::new(configuration(&unique("device")));
    let mut device = Device::connect(&mut session, &broker).await;
    for (qos, _) in QUALITIES {
        device.publish(Publication::bytes(&topic, format!("{}", qos as u8).as_bytes()).qos(qos)).await;
    }
    device.publish(Publication::bytes(&topic, b"end").qos(QoS::ExactlyOnce)).await;
    let received = peer.receive_until("end").await;
    let received: Vec<_> = received.iter().map(|message| (text(message), message.qos)).collect();
    let expected = [("0", PeerQoS::AtMostOnce), ("1", PeerQoS::AtLeastOnce), ("2", PeerQoS::ExactlyOnce)];
    assert_eq!(received, expected);
}

pub(crate) async fn every_quality_reaches_the_device_once_and_in_order(subject: Subject) {
    let broker = subject.start().await;
    let topic = unique("down");
    let mut peer = Peer::connect(&broker).await;
    let mut session = Session::new(configuration(&unique("device")));
    let mut device = Device::connect(&mut session, &broker).await;
    device.subscribe(&topic, at(QoS::ExactlyOnce)).await;
    for (qos, peer_qos) in QUALITIES {
        peer.publish(&topic, peer_qos, format!("{}", qos as u8)).await;
    }
    // Waits for its acknowledgement, for which the device has nothing to do.
    peer.publish(&topic, PeerQoS::ExactlyOnce, "end").await;
    let received = device.receive_until("end").await;
    let received: Vec<_> = received.iter().map(|message| (message.text(), message.qos)).collect();
    assert_eq!(received, [("0", 0), ("1", 1), ("2", 2)]);
}

pub(crate) async fn the_subscription_caps_the_quality(subject: Subject) {
    let broker = subject.start().await;
    let mut session = Session::new(configuration(&unique("device")));
    let mut device = Device::connect(&mut session, &broker).await;
    let mut peer = Peer::connect(&broker).await;
    for (qos, peer_qos) in QUALITIES {
        let (up, down) = (unique("up"), unique("down"));
        peer.subscribe(&up, peer_qos).await;
        device.subscribe(&down, at(qos)).await;
        device.publish(Publication::bytes(&up, b"x").qos(QoS::ExactlyOnce)).await;
        assert_eq!(peer.receive().await.qos, peer_qos);
        peer.publish(&down, PeerQoS::ExactlyOnce, "x").await;
        assert_eq!(device.receive().await.qos, qos as u8);
    }
}

/// More than the device or its Receive Maximum can hold at once.
const BURST: u32 = 1000;

pub(crate) async fn a_burst_reaches_the_device_in_order(subject: Subject) {
    let broker = subject.start().await;
    let topic = unique("down");
    let mut session = Session::new(configuration(&unique("device")));
    let mut device = Device::connect(&mut session, &broker).await;
    device.subscribe(&topic, at(QoS::AtLeastOnce)).await;
    let mut peer = Peer::connect(&broker).await;
    let sender = async {
        for number in 0..BURST {
            peer.publish_soon(&topic, number.to_string()).await;
        }
        peer.publish_soon(&topic, "end").await;
        for _ in 0..=BURST {
            peer.acknowledged().await;
        }
    };
    let ((), received) = tokio::join!(sender, device.receive_until("end"));
    let received: Vec<u32> = received.iter().map(|message| message.text().parse().unwrap()).collect();
    assert_eq!(received, (0..BURST).collect::<Vec<_>>());
}

pub(crate) async fn a_burst_reaches_the_peer_in_order(subject: Subject) {
    let broker = subject.start().await;
    let topic = unique("up");
    let mut peer = Peer::connect(&broker).await;
    peer.subscribe(&topic, PeerQoS::AtLeastOnce).await;
    let mut session = Session::new(configuration(&unique("device")));
    let mut device = Device::connect(&mut session, &broker).await;
    for number in 0..BURST {
        while !device.connection.can_publish(QoS::AtLeastOnce) {
            device.poll().await;
        }
        let payload = number.to_string();
        let publication = Publication::bytes(&topic, payload.as_bytes()).qos(QoS::AtLeastOnce);
        device.connection.publish(publication).await.expect("to publish");
    }
    device.settle().await;
    for number in 0..BURST {
        assert_eq!(text(&peer.receive().await), number.to_string());
    }
}

pub(crate) async fn large_messages_go_both_ways(subject: Subject) {
    let broker = subject.start().await;
    let (up, down) = (unique("up"), unique("down"));
    let mut peer = Peer::connect(&broker).await;
    peer.subscribe(&up, PeerQoS::AtLeastOnce).await;
    let mut session = Session::new(with_buffers(&unique("device"), 260_000, 520_000));
    let mut device = Device::connect(&mut session, &broker).await;
    device.subscribe(&down, at(QoS::AtLeastOnce)).await;
    let payload: Vec<u8> = (0..200_000_u32).map(|number| ((number * 31) >> 3) as u8).collect();
    device.publish(Publication::bytes(&up, &payload).qos(QoS::AtLeastOnce)).await;
    assert!(peer.receive().await.payload == payload, "up: the payload differs");
    peer.publish_soon(&down, payload.clone()).await;
    assert!(device.receive().await.payload == payload, "down: the payload differs");
}

pub(crate) async fn what_the_device_cannot_take_is_left_out(subject: Subject) {
    let broker = subject.start().await;
    let topic = unique("down");
    let mut peer = Peer::connect(&broker).await;
    peer.retain(&topic, vec![b'r'; 300]).await;
    let mut session = Session::new(with_buffers(&unique("device"), 256, 1024));
    let mut device = Device::connect(&mut session, &broker).await;
    device.subscribe(&topic, at(QoS::AtLeastOnce)).await;
    // What a PUBLISH with QoS 1 and no properties is made of, besides its payload. mosquitto 2.0 forgets to
    // count its first byte, and sends what is too large by one.
    let frame = 3 + 2 + topic.len() + 2 + 1;
    for (qos, length) in
        [(PeerQoS::AtMostOnce, 300), (PeerQoS::AtLeastOnce, 258 - frame), (PeerQoS::AtLeastOnce, 256 - frame)]
    {
        peer.publish(&topic, qos, vec![b'x'; length]).await;
    }
    peer.publish(&topic, PeerQoS::AtLeastOnce, "end").await;
    let lengths: Vec<_> =
        device.receive_until("end").await.iter().map(|message| message.payload.len()).collect();
    assert_eq!(lengths, [256 - frame]);
}

pub(crate) async fn the_device_learns_what_the_broker_cannot_take(subject: Subject) {
    let broker = subject.start().await;
    let topic = unique("up");
    let mut session = Session::new(with_buffers(&unique("device"), 1024, 1_000_000));
    let mut device = Device::connect(&mut session, &broker).await;
    let payload = vec![b'x'; PACKET_SIZE as usize];
    let refused = device.connection.publish(Publication::bytes(&topic, &payload)).await;
    let expected = ResourceError::PacketTooLarge;
    assert!(
        matches!(refused, Err(PubError::Session(Error::Resource(error))) if error == expected),
        "{refused:?}"
    );
    let almost = &payload[..payload.len() - 100];
    device.publish(Publication::bytes(&topic, almost).qos(QoS::AtLeastOnce)).await;
}
