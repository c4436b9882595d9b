//! A broker that sends arbitrary bytes, from the start or after a correct CONNACK: the hub becomes idle, and serves the
//! next connection normally.
#![no_main]

use embassy_time::Duration;
use hub_core::limits::MQTT_RECEIVE;
use libfuzzer_sys::fuzz_target;
use support::broker::{BASE, Broker, Controller, publish, with_hub};
use support::clock;
use support::input::stretch;
use support::wire::Inbox;

/// The input's header: when the stream is sent, and the sizes of its pieces.
const HEAD: usize = 4;

fuzz_target!(
    init: {
        support::stack::guard();
        support::journal::keep();
    },
    |input: &[u8]| {
        let Some((head, stream)) = input.split_at_checked(HEAD) else { return };
        let (from_start, pieces) = (head[0] % 2 == 1, &head[1..]);
        let stream = stretch(stream, 2 * MQTT_RECEIVE);
        let broker = Broker::default();
        if from_start {
            let mut inbox = Inbox::in_pieces(pieces);
            inbox.push(&stream);
            broker.misbehave(inbox);
        }
        with_hub(&broker, &Controller::default(), |settle| {
            settle();
            if !from_start {
                broker.send(&stream, pieces);
                settle();
            }
            broker.close();
            settle();
            // The hub waits before it dials again, at most for a minute.
            for _ in 0..3 {
                clock::advance(Duration::from_secs(61));
                settle();
            }
            assert!(broker.is_subscribed());
            broker.published();
            let call = br#"{"name":"echo","transaction":7}"#;
            broker.send(&publish(&format!("{BASE}request/tool/call"), 0, &[], call), &[]);
            settle();
            let published = broker.published();
            let answer = published.iter().find(|message| message.topic == format!("{BASE}response/tool/call"));
            let answer = answer.expect("an answer");
            let answer: serde_json::Value = serde_json::from_slice(&answer.payload).expect("JSON");
            assert_eq!(answer["transaction"], 7);
        });
    }
);
