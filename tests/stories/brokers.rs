//! Brokers that do not take everything: said, with what to change, and lived with.

use host_broker::Options;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use world::model::stop;
use world::prelude::*;

const RETAIN_NOT_SUPPORTED: u8 = 0x9A;
const RETAIN_AVAILABLE: u8 = 0x25;
const RETAIN: u8 = 1;
const WILL_RETAIN: u8 = 1 << 5;

/// Reads one packet: its first byte, and its body.
async fn packet(stream: &mut DuplexStream) -> (u8, Vec<u8>) {
    let first = stream.read_u8().await.expect("a packet");
    let (mut length, mut shift) = (0, 0);
    loop {
        let byte = stream.read_u8().await.expect("a packet");
        length |= usize::from(byte & 0x7F) << shift;
        shift += 7;
        if byte & 0x80 == 0 {
            break;
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.expect("a packet");
    (first, body)
}

/// The flags in the hub's CONNECT.
async fn connect_flags(broker: &mut DuplexStream) -> u8 {
    let (first, body) = packet(broker).await;
    assert_eq!(first, 0x10, "CONNECT");
    body[7]
}

/// Takes the hub's subscription, and returns the first bytes of the messages that are to be retained: `home`, `availability`,
/// `info`, `volume`, `approval` and the announcement to Home Assistant. After `health` there are no more.
async fn publications(broker: &mut DuplexStream) -> [u8; 6] {
    let (first, subscribe) = packet(broker).await;
    assert_eq!(first, 0x82, "SUBSCRIBE");
    broker.write_all(&[0x90, 6, subscribe[0], subscribe[1], 0, 2, 2, 2]).await.expect("SUBACK");
    let mut retained: [_; 6] = std::array::from_fn(|_| (0, Vec::new()));
    for message in &mut retained {
        *message = packet(broker).await;
    }
    assert!(String::from_utf8_lossy(&retained[5].1).contains("homeassistant/device/story/config"));
    let health = packet(broker).await.1;
    assert!(String::from_utf8_lossy(&health).contains("story/health"));
    retained.map(|(first, _)| first)
}

#[test]
fn a_broker_that_refuses_a_retained_will_is_named_and_gets_none() {
    Setup::new().reach(Reach::Mute).story(async |world| {
        // Twice: each time that the hub comes back, the broker may keep messages again.
        for _ in 0..2 {
            let mut broker = world.mute().await;
            assert_ne!(connect_flags(&mut broker).await & WILL_RETAIN, 0, "first as it should be");
            broker.write_all(&[0x20, 3, 0, RETAIN_NOT_SUPPORTED, 0]).await.expect("CONNACK");
            logged("it refuses retained messages (mosquitto: retain_available)").await;
            let mut broker = world.mute().await;
            assert_eq!(connect_flags(&mut broker).await & WILL_RETAIN, 0);
            // Not every broker that refuses says beforehand that it does.
            broker.write_all(&[0x20, 3, 0, 0, 0]).await.expect("CONNACK");
            for first in publications(&mut broker).await {
                assert_eq!((first >> 4, first & RETAIN), (3, 0), "a PUBLISH, and not retained");
            }
            assert_logged("keeps no retained messages");
        }
    });
}

#[test]
fn a_broker_that_keeps_nothing_gets_nothing_to_keep() {
    Setup::new().reach(Reach::Mute).story(async |world| {
        for (is_available, retain) in [(0, 0), (1, RETAIN)] {
            let mut broker = world.mute().await;
            connect_flags(&mut broker).await;
            broker.write_all(&[0x20, 5, 0, 0, 2, RETAIN_AVAILABLE, is_available]).await.expect("CONNACK");
            for first in publications(&mut broker).await {
                assert_eq!((first >> 4, first & RETAIN), (3, retain), "{first:x}");
            }
        }
    });
    assert_logged_times(1, "allow them (mosquitto: retain_available true)");
}

#[test]
fn a_broker_that_closes_the_connection_over_a_message_is_understood() {
    for (reason, words) in [
        (RETAIN_NOT_SUPPORTED, "it refuses retained messages (mosquitto: retain_available)"),
        (0x95, "a message was too large; raise its limit (mosquitto: max_packet_size)"),
    ] {
        Setup::new().reach(Reach::Mute).story(async |world| {
            let mut broker = world.mute().await;
            connect_flags(&mut broker).await;
            broker.write_all(&[0x20, 3, 0, 0, 0]).await.expect("CONNACK");
            publications(&mut broker).await;
            broker.write_all(&[0xE0, 2, reason, 0]).await.expect("DISCONNECT");
            logged(words).await;
            let mut broker = world.mute().await;
            let is_retained = connect_flags(&mut broker).await & WILL_RETAIN != 0;
            assert_eq!(is_retained, reason != RETAIN_NOT_SUPPORTED);
        });
    }
}

#[test]
fn a_reply_that_the_broker_does_not_take_is_explained_with_the_brokers_number() {
    let mut options = Options::default();
    options.limits.packet_size = 2000;
    Setup::new().broker(options).story(async |world| {
        let mut ann = world.person("ann").await;
        assert_logged("takes packets of at most 2000 bytes");
        let list = ann.asks("tool/list", json!({ "transaction": "t" })).await;
        assert_refused(
            &list,
            "too_large",
            "packets of at most 2000: raise its limit (mosquitto: max_packet_size)",
        );
        assert_eq!(list["transaction"], "t");
        ann.gets_an_echo().await;
        // A question to a model has the tools that fit.
        let mut model = world.model().await;
        ann.says(json!({ "text": "Good evening" }));
        let question = model.serves(stop("Good evening.")).await;
        assert!(count(&question.json()["tools"]) > 0, "some tools fit");
        assert_eq!(ann.reply().await["content"], "Good evening.");
        assert_eq!(world.dials(), 1);
    });
}

/// The hub learns of it only by the rejection: mosquitto's `message_size_limit` is announced to nobody.
#[test]
fn a_reply_that_the_broker_rejects_as_too_large_is_explained() {
    Setup::new().reach(Reach::Mute).story(async |world| {
        let mut broker = world.mute().await;
        connect_flags(&mut broker).await;
        broker.write_all(&[0x20, 3, 0, 0, 0]).await.expect("CONNACK");
        publications(&mut broker).await;
        let mut request = vec![0x30, 0];
        let topic = b"hearthwave/story/request/tool/list";
        request.extend_from_slice(&[0, topic.len() as u8]);
        request.extend_from_slice(topic);
        request.extend_from_slice(b"\0{}");
        request[1] = request.len() as u8 - 2;
        broker.write_all(&request).await.expect("PUBLISH");
        // Before it, perhaps, subscriptions to what the broker keeps of devices, and to Home Assistant's start.
        let reply = loop {
            match packet(&mut broker).await {
                (0x34, reply) => break reply,
                (first, _) => assert_eq!(first, 0x82, "a subscription"),
            }
        };
        let id = 2 + usize::from(reply[1]);
        broker.write_all(&[0x50, 4, reply[id], reply[id + 1], 0x95, 0]).await.expect("PUBREC");
        let (_, refusal) = packet(&mut broker).await;
        let refusal = String::from_utf8_lossy(&refusal);
        assert!(refusal.contains("raise its limit (mosquitto: message_size_limit)"), "{refusal}");
        assert_logged("the broker refused a message as too large");
        assert_not_logged("access rules");
    });
}
