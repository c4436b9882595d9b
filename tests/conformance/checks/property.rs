//! Properties of messages.

use minimq::{Property, Publication, QoS, Session};
use rumqttc::v5::mqttbytes::QoS as PeerQoS;
use rumqttc::v5::mqttbytes::v5::PublishProperties;

use crate::broker::Subject;
use crate::device::{Device, at, configuration};
use crate::peer::{Peer, text};
use crate::unique;

const CORRELATION: [u8; 4] = [1, 0, 255, 7];

pub(crate) async fn a_request_carries_where_to_reply(subject: Subject) {
    let broker = subject.start().await;
    let (request, reply) = (unique("request"), unique("reply"));
    let mut peer = Peer::connect(&broker).await;
    peer.subscribe(&reply, PeerQoS::AtLeastOnce).await;
    let mut session = Session::new(configuration(&unique("device")));
    let mut device = Device::connect(&mut session, &broker).await;
    device.subscribe(&request, at(QoS::AtLeastOnce)).await;
    let properties = PublishProperties {
        response_topic: Some(reply.clone()),
        correlation_data: Some(CORRELATION.to_vec().into()),
        ..PublishProperties::default()
    };
    peer.publish_with(&request, PeerQoS::AtLeastOnce, false, "question", properties).await;
    let asked = device.receive().await;
    assert_eq!(asked.response_topic.as_deref(), Some(reply.as_str()));
    assert_eq!(asked.correlation_data.as_deref(), Some(&CORRELATION[..]));
    let properties = [Property::CorrelationData(&CORRELATION), Property::ResponseTopic("somewhere/else")];
    let answer = Publication::bytes(&reply, b"answer").qos(QoS::AtLeastOnce).properties(&properties);
    device.publish(answer).await;
    let answered = peer.receive().await;
    assert_eq!(text(&answered), "answer");
    let properties = answered.properties.unwrap_or_default();
    assert_eq!(properties.correlation_data.as_deref(), Some(&CORRELATION[..]));
    assert_eq!(properties.response_topic.as_deref(), Some("somewhere/else"));
}

pub(crate) async fn properties_arrive_unchanged(subject: Subject) {
    let broker = subject.start().await;
    let (up, down) = (unique("up"), unique("down"));
    let mut peer = Peer::connect(&broker).await;
    peer.subscribe(&up, PeerQoS::AtLeastOnce).await;
    let mut session = Session::new(configuration(&unique("device")));
    let mut device = Device::connect(&mut session, &broker).await;
    device.subscribe(&down, at(QoS::AtLeastOnce)).await;
    let pairs = [("k", "2"), ("k", "1"), ("a", "")].map(|(name, value)| (name.to_owned(), value.to_owned()));

    let properties = [
        Property::UserProperty("k", "2"),
        Property::UserProperty("k", "1"),
        Property::UserProperty("a", ""),
        Property::ContentType("application/json"),
        Property::MessageExpiryInterval(1000),
        Property::PayloadFormatIndicator(1),
    ];
    device.publish(Publication::bytes(&up, b"x").qos(QoS::AtLeastOnce).properties(&properties)).await;
    let received = peer.receive().await.properties.unwrap_or_default();
    assert_eq!(received.user_properties, pairs);
    assert_eq!(received.content_type.as_deref(), Some("application/json"));
    assert_eq!(received.payload_format_indicator, Some(1));
    let left = received.message_expiry_interval.expect("an expiry");
    assert!((900..=1000).contains(&left), "{left} s left of 1000");

    let properties = PublishProperties {
        user_properties: pairs.to_vec(),
        content_type: Some("text/plain".into()),
        ..PublishProperties::default()
    };
    peer.publish_with(&down, PeerQoS::AtLeastOnce, false, "x", properties).await;
    let received = device.receive().await;
    assert_eq!(received.user_properties, pairs);
    assert_eq!(received.content_type.as_deref(), Some("text/plain"));
}
