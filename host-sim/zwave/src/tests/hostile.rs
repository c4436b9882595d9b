//! A server that is broken or bad: nothing it sends ends the program, and it is tried again.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::sleep;
use tokio_tungstenite::tungstenite::Message;

use super::client::Client;
use super::fake::{Fake, OVERSIZED, happens};
use crate::{Plans, js};

async fn is_ready(client: &mut Client) {
    while client.hears("list_devices", json!({})).await.is_err() {
        sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn nonsense_ends_the_session_and_not_the_program() {
    let fake = Fake::start().await;
    let mut client = Client::at(&js::connect(&fake.url, Plans::default()));
    client.greets().await;
    for nonsense in [
        "this is not JSON".to_owned(),
        r#"{"type":"event","event":{"source":"node","ev"#.into(),
        // Deeper than anybody nests.
        "[".repeat(100_000),
        // Larger than a house.
        OVERSIZED.into(),
    ] {
        is_ready(&mut client).await;
        fake.is_connected().await;
        fake.sends(Message::text(nonsense));
        while client.hears("list_devices", json!({})).await.is_ok() {
            sleep(Duration::from_millis(5)).await;
        }
        let words = client.hears("list_devices", json!({})).await.expect_err("lost");
        assert!(words.contains("cannot be reached") && words.len() < 400, "{words}");
    }
    is_ready(&mut client).await;
}

#[tokio::test]
async fn odd_messages_are_passed_over() {
    let fake = Fake::start().await;
    let mut client = Client::at(&js::connect(&fake.url, Plans::default()));
    client.greets().await;
    is_ready(&mut client).await;
    let many: Vec<Value> = (0..600)
        .map(|key| json!({ "commandClass": 49, "endpoint": 0, "property": format!("P{key}"), "newValue": 1 }))
        .collect();
    for message in [
        json!(null),
        json!([1, 2, 3]),
        json!({ "type": "event" }),
        json!({ "type": "event", "event": 5 }),
        json!({ "type": "result", "messageId": "99", "success": true }),
        json!({ "type": "result", "messageId": { "a": 1 } }),
        happens(77, "value updated", json!({ "commandClass": 37 })),
        happens(
            2,
            "value updated",
            json!({ "commandClass": 37, "endpoint": 1e300, "property": "currentValue" }),
        ),
        happens(
            2,
            "value updated",
            json!({ "commandClass": 37, "endpoint": 0, "property": "currentValue", "newValue": "on" }),
        ),
        happens(
            3,
            "value updated",
            json!({ "commandClass": 38, "endpoint": 0, "property": "currentValue", "newValue": -1e99 }),
        ),
        happens(
            5,
            "value updated",
            json!({ "commandClass": 128, "endpoint": 0, "property": "level", "newValue": 1e9 }),
        ),
        happens(
            6,
            "metadata updated",
            json!({ "commandClass": 67, "property": "setpoint", "propertyKey": 1, "metadata": 7 }),
        ),
        json!({ "type": "event", "event": { "source": "node", "event": "ready", "nodeState": { "nodeId": 70000 } } }),
        json!({ "type": "event", "event": { "source": "node", "event": "ready", "nodeState": { "nodeId": 30, "values": 5, "name": "x".repeat(5000) } } }),
    ] {
        fake.tells(&message);
    }
    for arguments in many {
        fake.is_connected().await;
        fake.tells(&happens(7, "value updated", arguments));
        tokio::task::yield_now().await;
    }
    while client.reads("30-0").await.is_err() {
        sleep(Duration::from_millis(10)).await;
    }
    let stranger = client.reads("30-0").await.expect("a device");
    assert_eq!((stranger["name"].as_str().map(str::len), &stranger["kind"]), (Some(64), &json!("unknown")));
    assert!(client.reads("2-0").await.expect("a switch")["state"].get("on").is_none(), "a text is no state");
    // What is read of a node is bounded, and so is its resource: `reads` checks that.
    let sensor = client.reads("7-0").await.expect("a sensor");
    assert_eq!(sensor["state"].as_object().map(serde_json::Map::len), Some(6), "{sensor}");
}
