//! Wills.

use std::time::{Duration, Instant};

use minimq::{Publication, QoS, Session, Will};
use rumqttc::v5::MqttOptions;
use rumqttc::v5::mqttbytes::QoS as PeerQoS;
use rumqttc::v5::mqttbytes::v5::{LastWill, LastWillProperties};

use crate::broker::{Broker, Subject};
use crate::device::{Device, at, configuration};
use crate::peer::{Peer, text};
use crate::unique;

/// Seconds. mosquitto counts whole ones: a delay of one could be over at once.
const DELAY: u32 = 2;

fn will(topic: &str) -> Will<'static> {
    Will::new(topic, b"offline", &[]).expect("a will").qos(QoS::AtLeastOnce)
}

/// A client with a session and a delayed will. minimq's wills have no delay, so it is one of the other kind.
fn delayed(topic: &str, broker: &Broker) -> MqttOptions {
    let properties = LastWillProperties {
        delay_interval: Some(DELAY),
        payload_format_indicator: None,
        message_expiry_interval: None,
        content_type: None,
        response_topic: None,
        correlation_data: None,
        user_properties: Vec::new(),
    };
    let mut options = Peer::options(broker);
    options.set_session_expiry_interval(Some(1000)).set_clean_start(false);
    options.set_last_will(LastWill::new(topic, "offline", PeerQoS::AtLeastOnce, false, Some(properties)));
    options
}

pub(crate) async fn a_lost_device_leaves_its_will(subject: Subject) {
    leaves_will(subject, 0).await;
}

pub(crate) async fn a_lost_device_with_a_session_leaves_its_will_at_once(subject: Subject) {
    leaves_will(subject, 1000).await;
}

/// The availability of a hub: retained `online`, and `offline` by its will.
async fn leaves_will(subject: Subject, session_expiry: u32) {
    let broker = subject.start().await;
    let topic = unique("availability");
    let mut peer = Peer::connect(&broker).await;
    peer.subscribe(&topic, PeerQoS::AtLeastOnce).await;
    let configuration = configuration(&unique("device")).session_expiry_interval(session_expiry);
    let mut session = Session::new(configuration.will(will(&topic).retained()).expect("one will"));
    let mut device = Device::connect(&mut session, &broker).await;
    device.publish(Publication::bytes(&topic, b"online").qos(QoS::AtLeastOnce).retain()).await;
    assert_eq!(text(&peer.receive().await), "online");
    drop(device);
    let message = peer.receive().await;
    assert_eq!((text(&message), message.retain), ("offline", false));
    let mut late = Peer::connect(&broker).await;
    late.subscribe(&topic, PeerQoS::AtLeastOnce).await;
    let message = late.receive().await;
    assert_eq!((text(&message), message.retain), ("offline", true));
}

pub(crate) async fn a_proper_goodbye_takes_the_will_back(subject: Subject) {
    let broker = subject.start().await;
    let topic = unique("availability");
    let mut peer = Peer::connect(&broker).await;
    peer.subscribe(&topic, PeerQoS::AtLeastOnce).await;
    let configured = configuration(&unique("device")).will(will(&topic)).expect("one will");
    let mut session = Session::new(configured);
    let device = Device::connect(&mut session, &broker).await;
    device.leave().await;
    let mut session = Session::new(configuration(&unique("device")));
    let mut device = Device::connect(&mut session, &broker).await;
    device.publish(Publication::bytes(&topic, b"end").qos(QoS::AtLeastOnce)).await;
    assert_eq!(peer.receive_until("end").await, []);
}

pub(crate) async fn a_will_is_delayed(subject: Subject) {
    let broker = subject.start().await;
    let topic = unique("availability");
    let mut session = Session::new(configuration(&unique("device")));
    let mut device = Device::connect(&mut session, &broker).await;
    device.subscribe(&topic, at(QoS::AtLeastOnce)).await;
    let client = Peer::connect_with(delayed(&topic, &broker)).await;
    let start = Instant::now();
    drop(client);
    assert_eq!(device.receive().await.text(), "offline");
    assert!(start.elapsed() > Duration::from_millis(900), "after {:?}", start.elapsed());
}

pub(crate) async fn a_client_that_returns_takes_its_delayed_will_back(subject: Subject) {
    let broker = subject.start().await;
    let (lost, returning) = (unique("lost"), unique("returning"));
    let mut session = Session::new(configuration(&unique("device")));
    let mut device = Device::connect(&mut session, &broker).await;
    device.subscribe(&lost, at(QoS::AtLeastOnce)).await;
    device.subscribe(&returning, at(QoS::AtLeastOnce)).await;
    // The one that returns is lost first: its will would come no later than that of the other.
    let options = delayed(&returning, &broker);
    drop(Peer::connect_with(options.clone()).await);
    drop(Peer::connect_with(delayed(&lost, &broker)).await);
    let mut returned = Peer::connect_with(options).await;
    assert_eq!(device.receive().await.topic, lost, "the will of the one that did not return");
    returned.publish(&returning, PeerQoS::AtLeastOnce, "end").await;
    assert_eq!(device.receive_until("end").await, []);
}

pub(crate) async fn a_silent_device_is_given_up_and_a_pinging_one_is_not(subject: Subject) {
    let broker = subject.start().await;
    let topic = unique("availability");
    let mut peer = Peer::connect(&broker).await;
    peer.subscribe(&topic, PeerQoS::AtLeastOnce).await;
    let session = || {
        let configuration = configuration(&unique("device")).keepalive_interval(2);
        Session::new(configuration.will(will(&topic)).expect("one will"))
    };
    let (mut silent, mut pinging) = (session(), session());
    let _silent = Device::connect(&mut silent, &broker).await;
    let mut pinging = Device::connect(&mut pinging, &broker).await;
    let given_up = async {
        assert_eq!(text(&peer.receive().await), "offline");
    };
    let pings = async {
        loop {
            pinging.poll().await;
        }
    };
    tokio::select! {
        () = given_up => {}
        () = pings => {}
    }
    pinging.publish(Publication::bytes(&topic, b"end").qos(QoS::AtLeastOnce)).await;
    assert_eq!(peer.receive_until("end").await, [], "the other one is still there");
}
