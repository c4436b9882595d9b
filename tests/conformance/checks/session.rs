//! Sessions: resumption, takeover, login.

use std::time::Duration;

use minimq::{ConnectEvent, Error, PeerError, Publication, QoS, ReasonCode, Session};
use rumqttc::v5::mqttbytes::QoS as PeerQoS;
use rumqttc::v5::mqttbytes::v5::PublishProperties;
use tokio::time::sleep;

use crate::broker::{LOGIN, Subject};
use crate::device::{Device, at, configuration};
use crate::peer::{Peer, text};
use crate::unique;

pub(crate) async fn a_new_session_is_new(subject: Subject) {
    let broker = subject.start().await;
    let name = unique("device");
    for _ in 0..2 {
        // A device that starts knows of no session, even if the broker still does.
        let mut session = Session::new(configuration(&name).session_expiry_interval(1000));
        let device = Device::connect(&mut session, &broker).await;
        assert_eq!(device.connection.connect_event(), ConnectEvent::Connected);
    }
}

pub(crate) async fn a_session_waits_for_its_device(subject: Subject) {
    let broker = subject.start().await;
    let (up, down) = (unique("up"), unique("down"));
    let mut peer = Peer::connect(&broker).await;
    peer.subscribe(&up, PeerQoS::AtLeastOnce).await;
    let mut session = Session::new(configuration(&unique("device")).session_expiry_interval(1000));
    let mut device = Device::connect(&mut session, &broker).await;
    device.subscribe(&down, at(QoS::AtLeastOnce)).await;
    device.leave().await;
    for number in 0..5 {
        peer.publish(&down, PeerQoS::AtLeastOnce, number.to_string()).await;
    }
    let mut device = Device::reconnect(&mut session, &broker).await;
    peer.publish(&down, PeerQoS::AtLeastOnce, "end").await;
    let received = device.receive_until("end").await;
    let received: Vec<_> = received.iter().map(|message| message.text()).collect();
    assert_eq!(received, ["0", "1", "2", "3", "4"]);
    device.publish(Publication::bytes(&up, b"still here").qos(QoS::AtLeastOnce)).await;
    assert_eq!(text(&peer.receive().await), "still here");
}

pub(crate) async fn what_the_device_did_not_see_comes_again(subject: Subject) {
    let broker = subject.start().await;
    let topic = unique("down");
    let mut peer = Peer::connect(&broker).await;
    let mut session = Session::new(configuration(&unique("device")).session_expiry_interval(1000));
    let mut device = Device::connect(&mut session, &broker).await;
    device.subscribe(&topic, at(QoS::ExactlyOnce)).await;
    // On its way when the connection breaks: nobody reads it.
    peer.publish(&topic, PeerQoS::AtLeastOnce, "once at least").await;
    peer.publish(&topic, PeerQoS::ExactlyOnce, "once").await;
    drop(device);
    let mut device = Device::reconnect(&mut session, &broker).await;
    let mut texts = Vec::new();
    while texts.len() < 2 {
        texts.push(device.receive().await.text().to_owned());
    }
    assert_eq!(texts, ["once at least", "once"]);
    drop(device);
    let mut device = Device::reconnect(&mut session, &broker).await;
    peer.publish(&topic, PeerQoS::ExactlyOnce, "end").await;
    let more = device.receive_until("end").await;
    assert!(more.iter().all(|message| message.text() == "once at least"), "{more:?}");
}

pub(crate) async fn what_the_device_sent_again_arrives_once(subject: Subject) {
    let broker = subject.start().await;
    let topic = unique("up");
    let mut peer = Peer::connect(&broker).await;
    peer.subscribe(&topic, PeerQoS::ExactlyOnce).await;
    let mut session = Session::new(configuration(&unique("device")).session_expiry_interval(1000));
    let mut device = Device::connect(&mut session, &broker).await;
    // It reaches the broker, but the device is gone before the answer.
    let publication = Publication::bytes(&topic, b"once").qos(QoS::ExactlyOnce);
    device.connection.publish(publication).await.expect("to publish");
    drop(device);
    let mut device = Device::reconnect(&mut session, &broker).await;
    device.settle().await;
    device.publish(Publication::bytes(&topic, b"end").qos(QoS::ExactlyOnce)).await;
    let received = peer.receive_until("end").await;
    assert_eq!(received.iter().map(text).collect::<Vec<_>>(), ["once"]);
}

pub(crate) async fn a_session_ends_when_its_time_is_over(subject: Subject) {
    let broker = subject.start().await;
    let mut short = Session::new(configuration(&unique("short")).session_expiry_interval(1));
    let mut long = Session::new(configuration(&unique("long")).session_expiry_interval(1000));
    drop(Device::connect(&mut short, &broker).await);
    drop(Device::connect(&mut long, &broker).await);
    // An early reconnect restarts the expiry.
    let mut pause = Duration::from_millis(2500);
    loop {
        sleep(pause).await;
        if Device::connect(&mut short, &broker).await.connection.connect_event() == ConnectEvent::Connected {
            break;
        }
        pause *= 2;
    }
    drop(Device::reconnect(&mut long, &broker).await);
}

pub(crate) async fn a_session_without_expiry_ends_with_its_connection(subject: Subject) {
    let broker = subject.start().await;
    let topic = unique("down");
    let mut peer = Peer::connect(&broker).await;
    let mut session = Session::new(configuration(&unique("device")));
    let mut device = Device::connect(&mut session, &broker).await;
    device.subscribe(&topic, at(QoS::AtLeastOnce)).await;
    drop(device);
    let mut device = Device::connect(&mut session, &broker).await;
    assert_eq!(device.connection.connect_event(), ConnectEvent::Connected);
    peer.publish(&topic, PeerQoS::AtLeastOnce, "not subscribed any more").await;
    device.subscribe(&topic, at(QoS::AtLeastOnce)).await;
    peer.publish(&topic, PeerQoS::AtLeastOnce, "end").await;
    assert_eq!(device.receive_until("end").await, []);
}

pub(crate) async fn an_expired_message_does_not_wait_on(subject: Subject) {
    let broker = subject.start().await;
    let topic = unique("down");
    let mut peer = Peer::connect(&broker).await;
    let mut session = Session::new(configuration(&unique("device")).session_expiry_interval(1000));
    let mut device = Device::connect(&mut session, &broker).await;
    device.subscribe(&topic, at(QoS::AtLeastOnce)).await;
    device.leave().await;
    for (payload, seconds) in [("soon gone", 1), ("stays", 1000)] {
        let properties =
            PublishProperties { message_expiry_interval: Some(seconds), ..PublishProperties::default() };
        peer.publish_with(&topic, PeerQoS::AtLeastOnce, false, payload, properties).await;
    }
    sleep(Duration::from_millis(2500)).await;
    let mut device = Device::reconnect(&mut session, &broker).await;
    assert_eq!(device.receive().await.text(), "stays");
}

pub(crate) async fn a_second_connection_replaces_the_first(subject: Subject) {
    let broker = subject.start().await;
    let name = unique("device");
    let (mut first, mut second) = (Session::new(configuration(&name)), Session::new(configuration(&name)));
    let mut former = Device::connect(&mut first, &broker).await;
    let mut latter = Device::connect(&mut second, &broker).await;
    former.until_closed().await;
    latter.publish(Publication::bytes(&unique("up"), b"x").qos(QoS::AtLeastOnce)).await;
}

pub(crate) async fn a_device_without_a_name_gets_one(subject: Subject) {
    let broker = subject.start().await;
    let topic = unique("down");
    let mut peer = Peer::connect(&broker).await;
    let mut sessions = [(); 2].map(|()| Session::new(configuration("").session_expiry_interval(1000)));
    for session in &mut sessions {
        let mut device = Device::connect(session, &broker).await;
        device.subscribe(&topic, at(QoS::AtLeastOnce)).await;
    }
    peer.publish(&topic, PeerQoS::AtLeastOnce, "for both").await;
    for session in &mut sessions {
        let mut device = Device::reconnect(session, &broker).await;
        assert_eq!(device.receive().await.text(), "for both");
    }
}

pub(crate) async fn only_a_login_opens_the_door(subject: Subject) {
    let broker = subject.start_locked().await;
    let (user, password) = LOGIN;
    for wrong in [None, Some((user, "wrong")), Some(("nobody", password))] {
        let configuration = configuration(&unique("device"));
        let mut session = Session::new(match wrong {
            None => configuration,
            Some((user, password)) => configuration.auth(user, password.as_bytes()).expect("one login"),
        });
        let refused = Device::try_connect(&mut session, &broker).await.err();
        let is_told = matches!(
            refused,
            Some(Error::Peer(PeerError::Rejected(
                ReasonCode::NotAuthorized | ReasonCode::BadUsernameOrPassword
            )))
        );
        assert!(is_told, "{wrong:?}: {refused:?}");
    }
    let right = configuration(&unique("device")).auth(user, password.as_bytes()).expect("one login");
    let mut session = Session::new(right);
    Device::connect(&mut session, &broker).await;
}
