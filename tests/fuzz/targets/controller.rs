//! A controller that lists and answers anything, and a call of one of its tools: the caller gets one answer, and what the
//! hub tells about the tools stays JSON.
#![no_main]

use embassy_time::Duration;
use hub_core::limits::{LINE, REQUEST};
use libfuzzer_sys::fuzz_target;
use serde_json::Value as Json;
use support::broker::{BASE, Broker, Controller, publish, with_hub};
use support::clock;
use support::input::{MARK, stretch};

fuzz_target!(
    init: {
        support::stack::guard();
        support::journal::keep();
    },
    |input: &[u8]| {
        // What the controller sends before and after a call, the call itself, and the sizes of the pieces.
        let Some((pieces, rest)) = input.split_at_checked(2) else { return };
        let mut parts = rest.splitn(3, |byte| *byte == MARK);
        let mut part = || parts.next().unwrap_or_default();
        let (call, before, after) = (part(), part(), part());
        let long = |stream: &[u8]| {
            // The separator is taken, so another byte that UTF-8 never contains marks repeats.
            let marked: Vec<_> = stream.iter().map(|byte| if *byte == 0xFE { MARK } else { *byte }).collect();
            stretch(&marked, LINE + 2048)
        };
        let (broker, controller) = (Broker::default(), Controller::default());
        with_hub(&broker, &controller, |settle| {
            settle();
            controller.send(&long(before), pieces);
            settle();
            broker.published();
            broker.send(&publish(&format!("{BASE}request/tool/call"), 0, &[], &call[..call.len().min(REQUEST)]), &[]);
            settle();
            controller.send(&long(after), pieces);
            // No call takes longer than this.
            for _ in 0..4 {
                settle();
                clock::advance(Duration::from_secs(10));
            }
            settle();
            assert!(reply(&broker, "tool/call")["success"].is_boolean());

            broker.send(&publish(&format!("{BASE}request/tool/list"), 0, &[], b"{}"), &[]);
            settle();
            assert!(reply(&broker, "tool/list")["tools"].is_array());
        });
    }
);

/// The one reply to a request.
fn reply(broker: &Broker, request: &str) -> Json {
    let published = broker.published();
    let topic = format!("{BASE}response/{request}");
    let replies: Vec<_> = published.iter().filter(|message| message.topic == topic).collect();
    let [reply] = &replies[..] else { panic!("not one reply: {published:?}") };
    serde_json::from_slice(&reply.payload).expect("JSON")
}
