//! What only the embedded broker can do: virtual time, faults on demand, an orderly end.

use std::net::Ipv4Addr;
use std::time::Duration;

use embedded_io_adapters::tokio_1::FromTokio;
use host_broker::{Options, Server};
use minimq::{ConnectEvent, Publication, QoS, Session, TopicFilter, Will};
use rumqttc::{ConnectReturnCode, ConnectionError, MqttOptions};
use tokio::time::{Instant, timeout};
use world::in_virtual_time;

use crate::device::{at, configuration};
use crate::{PATIENCE, unique};

#[test]
fn hours_pass_in_no_time_and_always_the_same_way() {
    let moments = in_virtual_time(hours());
    assert_eq!(moments, in_virtual_time(hours()));
}

/// A device with a session, a will and a keepalive, watched for hours. Returns the times of all events.
async fn hours() -> Vec<Duration> {
    let start = Instant::now();
    let mut moments = Vec::new();
    let server = Server::start(Options::default());
    let mut watching = Session::new(configuration("watcher").keepalive_interval(u16::MAX));
    let mut watcher = watching.connect(FromTokio::new(server.connect())).await.unwrap();
    watcher.subscribe(&[TopicFilter::new("will")], &[]).await.unwrap();
    let will = Will::new("will", b"offline", &[]).unwrap();
    let configuration = configuration("device").keepalive_interval(30).session_expiry_interval(60);
    let mut session = Session::new(configuration.will(will).unwrap());

    let mut device = session.connect(FromTokio::new(server.connect())).await.unwrap();
    device.subscribe(&[TopicFilter::new("down").options(at(QoS::AtLeastOnce))], &[]).await.unwrap();
    let idle = timeout(Duration::from_secs(3 * 3600), device.recv()).await;
    assert!(idle.is_err() && device.is_connected(), "three hours of keepalives");
    moments.push(start.elapsed());

    let silence = Instant::now();
    assert_eq!(watcher.recv().await.unwrap().payload(), b"offline");
    assert!((15..=45).contains(&silence.elapsed().as_secs()), "{:?} of silence", silence.elapsed());
    moments.push(start.elapsed());
    drop(device);
    watcher.publish(Publication::text("down", "waiting").qos(QoS::AtLeastOnce)).await.unwrap();
    assert!(timeout(Duration::from_secs(10), watcher.recv()).await.is_err());

    let mut device = session.connect(FromTokio::new(server.connect())).await.unwrap();
    assert_eq!(device.connect_event(), ConnectEvent::Reconnected);
    assert_eq!(device.recv().await.unwrap().payload(), b"waiting");
    moments.push(start.elapsed());
    drop(device);
    tokio::time::sleep(Duration::from_secs(61)).await;
    let device = session.connect(FromTokio::new(server.connect())).await.unwrap();
    assert_eq!(device.connect_event(), ConnectEvent::Connected, "the session has expired");
    moments.push(start.elapsed());
    moments
}

/// The broker hands out a request and loses sight of the hub before it hears that it arrived.
#[test]
fn a_request_whose_acknowledgement_is_lost_comes_twice() {
    in_virtual_time(async {
        let server = Server::start(Options::default());
        let mut asking = Session::new(configuration("asking"));
        let mut asker = asking.connect(FromTokio::new(server.connect())).await.unwrap();
        let mut session = Session::new(configuration("hub").session_expiry_interval(60));
        let mut hub = session.connect(FromTokio::new(server.connect())).await.unwrap();
        hub.subscribe(&[TopicFilter::new("request").options(at(QoS::AtLeastOnce))], &[]).await.unwrap();
        assert!(timeout(Duration::from_secs(1), hub.recv()).await.is_err(), "SUBACK, and no message");

        assert!(server.cut_after_next_delivery("hub"));
        asker.publish(Publication::text("request", "do it").qos(QoS::AtLeastOnce)).await.unwrap();
        assert_eq!(hub.recv().await.unwrap().payload(), b"do it");
        assert!(hub.recv().await.is_err(), "the connection is gone");
        drop(hub);
        let mut hub = session.connect(FromTokio::new(server.connect())).await.unwrap();
        assert_eq!(hub.connect_event(), ConnectEvent::Reconnected);
        assert_eq!(hub.recv().await.unwrap().payload(), b"do it");

        assert!(server.kick("hub"));
        assert!(hub.recv().await.is_err());
    });
}

#[test]
fn a_device_notices_that_the_broker_shuts_down() {
    in_virtual_time(async {
        let server = Server::start(Options::default());
        let mut session = Session::new(configuration("device"));
        let mut device = session.connect(FromTokio::new(server.connect())).await.unwrap();
        server.shutdown().await;
        assert!(matches!(device.recv().await, Err(minimq::Error::Disconnected)), "told by DISCONNECT");
        drop(device);
        assert!(session.connect(FromTokio::new(server.connect())).await.is_err());
    });
}

/// mosquitto speaks MQTT 3.1.1 too, the embedded broker does not.
#[tokio::test]
async fn a_client_of_the_former_version_understands_that_it_is_refused() {
    let server = Server::start(Options::default());
    let address = server.listen((Ipv4Addr::LOCALHOST, 0).into()).unwrap();
    let options = MqttOptions::new(unique("old"), address.ip().to_string(), address.port());
    let (_client, mut events) = rumqttc::AsyncClient::new(options, 10);
    let refused = timeout(PATIENCE, events.poll()).await.expect("an answer in time");
    let expected = ConnectReturnCode::RefusedProtocolVersion;
    assert!(
        matches!(&refused, Err(ConnectionError::ConnectionRefused(code)) if *code == expected),
        "{refused:?}"
    );
}
