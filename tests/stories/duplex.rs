//! Both directions of the serial line at once: neither end waits for the other to be done.

use hub_core::limits;
use world::prelude::*;

/// Tools whose calls take several kilobytes.
async fn connected(world: &World) -> (Controller, Client) {
    world.connected_with(json!([a_tool("note")])).await
}

/// A call that is longer than the line's buffers.
fn long_call() -> Value {
    json!({ "text": "n".repeat(3000) })
}

/// A message that takes half a kilobyte and wants no answer.
fn chatter(number: usize) -> String {
    let data = format!("{number} {}", "c".repeat(500));
    let params = json!({ "level": "debug", "data": data });
    json!({ "jsonrpc": "2.0", "method": "notifications/message", "params": params }).to_string()
}

fn ping(id: &Value) -> String {
    json!({ "jsonrpc": "2.0", "id": id, "method": "ping" }).to_string()
}

#[test]
fn a_controller_that_talks_before_it_listens_gets_its_call() {
    for bytes in [1, 64, 500] {
        Setup::new().line(bytes).story(async |world| {
            let (mut controller, mut ann) = connected(world).await;
            let start = Instant::now();
            ann.calls("note", long_call());
            // The hub writes until nothing more fits, and the controller does too, without reading.
            sleep(Duration::from_millis(10)).await;
            for number in 0..40 {
                controller.says(chatter(number)).await;
            }
            let call = controller.serves("noted").await;
            assert_eq!(call["params"]["arguments"], long_call());
            assert_eq!(ann.result().await["result"], "noted");
            assert!(start.elapsed() < Duration::from_secs(1), "{:?}", start.elapsed());
            assert_not_logged("controller: lost");
        });
    }
}

#[test]
fn a_controller_that_listens_before_it_talks_gets_its_call() {
    Setup::new().line(64).story(async |world| {
        let (mut controller, mut ann) = connected(world).await;
        // Half a line is on its way, and its end follows only after the call.
        let late = chatter(1);
        controller.sends(&late.as_bytes()[..400]).await;
        ann.calls("note", long_call());
        let call = controller.hears_call().await;
        controller.says(&late.as_bytes()[400..]).await;
        controller.replies(&call, "noted").await;
        assert_eq!(ann.result().await["result"], "noted");
        assert_not_logged("not JSON-RPC");
    });
}

#[test]
fn pings_are_answered_while_a_call_is_being_written() {
    Setup::new().line(64).story(async |world| {
        let (mut controller, mut ann) = connected(world).await;
        ann.calls("note", long_call());
        sleep(Duration::from_millis(10)).await;
        let ids = [json!("a"), json!(2), json!("c")];
        for id in &ids {
            controller.says(ping(id)).await;
        }
        let call = controller.hears_call().await;
        for id in &ids {
            let pong = controller.hears().await;
            assert_eq!((&pong["id"], &pong["result"]), (id, &json!({})));
        }
        controller.replies(&call, "noted").await;
        assert_eq!(ann.result().await["result"], "noted");
    });
}

#[test]
fn pings_without_end_do_not_fill_the_hub_nor_stop_a_call() {
    Setup::new().line(64).story(async |world| {
        let (mut controller, mut ann) = connected(world).await;
        ann.calls("note", long_call());
        sleep(Duration::from_millis(10)).await;
        // None of them is read, so their answers have to wait, and only some can.
        const PINGS: usize = 1000;
        for id in 0..PINGS {
            controller.says(ping(&json!(id))).await;
        }
        let call = controller.hears_call().await;
        controller.replies(&call, "noted").await;
        assert_eq!(ann.result().await["result"], "noted");
        let mut answered = Vec::new();
        controller.says(ping(&json!("last"))).await;
        loop {
            let pong = controller.hears().await;
            match pong["id"].as_u64() {
                Some(id) => answered.push(id),
                None => break assert_eq!(pong["id"], "last"),
            }
        }
        let room = limits::LINE_REPLIES / r#"{"jsonrpc":"2.0","id":0,"result":{}}"#.len();
        assert!((1..=2 * room).contains(&answered.len()), "{answered:?}");
        assert!(answered.is_sorted());
    });
}

#[test]
fn a_controller_that_always_asks_does_not_keep_calls_from_being_sent() {
    Setup::new().line(64).story(async |world| {
        let (mut controller, mut ann) = connected(world).await;
        ann.calls("note", json!({}));
        let mut id = 0;
        // For each message that it hears it sends two.
        let call = loop {
            for _ in 0..2 {
                id += 1;
                assert!(id < 50, "the call was never sent");
                controller.says(ping(&json!(id))).await;
            }
            let message = controller.hears().await;
            if message["method"] == "tools/call" {
                break message;
            }
        };
        controller.replies(&call, "noted").await;
        assert_eq!(ann.result().await["result"], "noted");
    });
}

#[test]
fn an_answer_may_come_before_the_last_byte_of_the_call_was_sent() {
    Setup::new().line(64).story(async |world| {
        let (mut controller, mut ann) = connected(world).await;
        ann.calls("note", long_call());
        let head = controller.hears_bytes(200).await;
        let id: u64 = head
            .split_once("\"id\":")
            .and_then(|(_, rest)| rest.split(',').next()?.parse().ok())
            .expect("a number");
        controller.replies(&json!({ "id": id }), "noted early").await;
        assert_eq!(ann.result().await["result"], "noted early");
        // The line is still sent to its end, and the next call is whole.
        ann.calls("note", json!({ "text": "second" }));
        let rest = controller.hears_rest().await;
        assert!(rest.ends_with("}}\n"), "{rest}");
        let call = controller.serves("noted too").await;
        assert_eq!(call["params"]["arguments"]["text"], "second");
        assert_eq!(ann.result().await["result"], "noted too");
    });
}
