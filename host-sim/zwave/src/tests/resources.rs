//! Devices as resources: what they look like, what can be done with them, and who is told that they change.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::sleep;

use super::client::{Client, switch};
use crate::{Home, Press};

fn uri(id: &str) -> Value {
    json!({ "uri": format!("home://devices/{id}") })
}

#[tokio::test(start_paused = true)]
async fn every_device_and_scene_is_a_resource() {
    let home = Home::fast(0);
    let mut client = Client::new(&home);
    let greeting = client.greets().await;
    let offered = &greeting["result"]["capabilities"]["resources"];
    assert_eq!(*offered, json!({ "subscribe": true, "listChanged": true }));
    let mut ids = Vec::new();
    let mut cursor = Value::Null;
    loop {
        let params = if cursor.is_null() { json!({}) } else { json!({ "cursor": cursor }) };
        client.sends("resources/list", params).await;
        let line = client.line().await.expect("a line");
        assert!(line.len() < 2048, "{} bytes", line.len());
        let page: Value = serde_json::from_slice(&line).expect("JSON");
        let entries = page["result"]["resources"].as_array().expect("a list");
        assert!((1..=16).contains(&entries.len()), "{page}");
        for entry in entries {
            let keys: Vec<_> = entry.as_object().expect("an object").keys().map(String::as_str).collect();
            assert_eq!(keys, ["mimeType", "name", "uri"]);
            let uri = entry["uri"].as_str().expect("a URI");
            ids.push(uri.strip_prefix("home://devices/").expect("a device").to_owned());
        }
        cursor = page["result"]["nextCursor"].clone();
        if cursor.is_null() {
            break;
        }
    }
    assert_eq!(ids.len(), home.devices().len() + 4);
    let mut kinds = BTreeSet::new();
    for id in &ids {
        let device = client.reads(id).await.expect("a resource");
        assert_eq!((&device["id"], device["state"].is_object()), (&json!(id), true), "{device}");
        kinds.insert(device["kind"].as_str().expect("a kind").to_owned());
    }
    let all = [
        "binary_sensor",
        "button",
        "climate",
        "cover",
        "light",
        "lock",
        "scene",
        "sensor",
        "siren",
        "switch",
    ];
    assert_eq!(kinds, BTreeSet::from(all.map(Into::into)));
    assert_eq!(client.reads("99-0").await, Err(-32002));
    let lost = client.asks("resources/list", json!({ "cursor": "99-0" })).await;
    assert_eq!(lost["error"]["code"], -32602, "{lost}");
}

#[tokio::test(start_paused = true)]
async fn a_resource_tells_how_a_device_stands() {
    let home = Home::fast(0);
    let mut client = Client::greeted(&home).await;
    let control = |name: &str, action: &str| json!({ "tool": "control_zwave_device", "arguments": { "deviceName": name, "action": action } });
    let level = json!({
        "tool": "control_zwave_device", "arguments": { "deviceName": "Hall Light", "action": "set_level" },
        "value": { "argument": "level", "type": "integer", "minimum": 0, "maximum": 99 },
    });
    let light = client.reads("10-0").await.expect("a light");
    let expected = json!({
        "id": "10-0", "name": "Hall Light", "room": "Hall", "kind": "light", "available": true,
        "state": { "on": true, "level": 30 },
        "actions": { "on": control("Hall Light", "on"), "off": control("Hall Light", "off"), "level": level },
    });
    assert_eq!(light, expected);
    for (id, state, battery) in [
        ("12-0", json!({ "locked": true }), json!(72)),
        ("5-0", json!({ "mode": "heat", "setpoint": 20.5, "temperature": 20 }), Value::Null),
        ("9-0", json!({ "temperature": 21.4 }), json!(64)),
        ("11-0", json!({ "class": "motion", "active": false }), json!(47)),
        ("19-0", json!({ "position": 99 }), Value::Null),
        ("20-0", json!({ "on": false }), Value::Null),
        ("scene-movie-night", json!({}), Value::Null),
    ] {
        let device = client.reads(id).await.expect("a device");
        assert_eq!((&device["state"], &device["battery"]), (&state, &battery), "{device}");
    }
    let thermostat = client.reads("5-0").await.expect("a thermostat");
    assert_eq!(thermostat["units"], json!({ "temperature": "°C", "setpoint": "°C" }));
    assert_eq!(thermostat["actions"]["mode"]["value"]["enum"], json!(["off", "heat", "cool", "auto"]));
    assert_eq!(thermostat["actions"]["setpoint"]["value"]["maximum"], 30.0);
    assert_eq!(client.reads("18-0").await.expect("the pump")["available"], false);
}

/// The hub needs no list of tools: each action says how it is done.
#[tokio::test(start_paused = true)]
async fn every_action_does_what_it_is_called() {
    let home = Home::fast(0);
    let mut client = Client::greeted(&home).await;
    for (id, action, value, state) in [
        ("2-0", "on", Value::Null, json!({ "on": true })),
        ("2-0", "off", Value::Null, json!({ "on": false })),
        ("3-0", "level", json!(40), json!({ "on": true, "level": 40 })),
        ("12-0", "unlock", Value::Null, json!({ "locked": false })),
        ("12-0", "lock", Value::Null, json!({ "locked": true })),
        ("5-0", "mode", json!("cool"), json!({ "mode": "cool", "setpoint": 20.5, "temperature": 20 })),
        ("5-0", "setpoint", json!(19), json!({ "mode": "cool", "setpoint": 19.0, "temperature": 20 })),
        ("19-0", "close", Value::Null, json!({ "position": 0 })),
        ("19-0", "position", json!(50), json!({ "position": 50 })),
        ("19-0", "stop", Value::Null, json!({ "position": 50 })),
        ("19-0", "open", Value::Null, json!({ "position": 99 })),
        ("20-0", "on", Value::Null, json!({ "on": true })),
    ] {
        let offered = client.reads(id).await.expect("a device")["actions"][action].clone();
        let mut arguments = offered["arguments"].clone();
        if let Some(argument) = offered["value"]["argument"].as_str() {
            arguments[argument] = value;
        }
        let done = client.hears(offered["tool"].as_str().expect("a tool"), arguments).await;
        assert!(done.is_ok(), "{id} {action}: {done:?}");
        assert_eq!(client.reads(id).await.expect("a device")["state"], state, "{id} {action}");
    }
    let scene = client.reads("scene-movie-night").await.expect("a scene")["actions"]["activate"].clone();
    let tool = scene["tool"].as_str().expect("a tool");
    client.hears(tool, scene["arguments"].clone()).await.expect("set");
    assert_eq!(client.reads("3-0").await.expect("a lamp")["state"]["level"], 5);
}

#[tokio::test(start_paused = true)]
async fn who_watches_a_device_is_told_and_nobody_else() {
    let home = Home::default();
    let mut client = Client::greeted(&home).await;
    let mut other = Client::greeted(&home).await;
    for id in ["2-0", "11-0"] {
        assert_eq!(client.asks("resources/subscribe", uri(id)).await["result"], json!({}));
    }
    assert_eq!(client.asks("resources/subscribe", uri("99-0")).await["error"]["code"], -32002);
    assert!(client.reads("2-0").await.expect("a switch").get("changed").is_none());

    // Somebody presses the switch on the wall.
    home.press("Switch One").expect("a switch");
    let told = ("notifications/resources/updated".to_owned(), "home://devices/2-0".to_owned());
    assert_eq!(client.notice().await, told);
    let switched = client.reads("2-0").await.expect("a switch");
    assert_eq!(switched["state"]["on"], true);
    let changed = switched["changed"].as_str().expect("a time");
    assert!(changed.ends_with('Z') && changed.contains('T'), "{changed}");

    // Another client does, and the same again is no change.
    other.hears("control_zwave_device", switch("off")).await.expect("done");
    assert_eq!(client.notice().await, told);
    other.hears("control_zwave_device", switch("off")).await.expect("done");
    home.press("Front Door").expect("a lock");
    home.press("Hall Motion").expect("a sensor");
    assert_eq!(client.notice().await.1, "home://devices/11-0");
    home.set_alive("Switch One", false).expect("a switch");
    assert_eq!(client.notice().await, told);
    assert_eq!(client.reads("2-0").await.expect("a switch")["available"], false);

    client.asks("resources/unsubscribe", uri("2-0")).await;
    home.set_alive("Switch One", true).expect("a switch");
    sleep(Duration::from_secs(1)).await;
    assert_eq!(client.rest().await, [[0; 0]; 0], "told although it does not watch");
    assert_eq!(other.rest().await, [[0; 0]; 0], "told although it never asked");
    assert!(home.press("Kitchen Temperature").is_none() && home.press("nobody").is_none());
}

/// The same press twice in a row leaves all but the count as it was, and both are told.
#[tokio::test(start_paused = true)]
async fn every_press_of_a_button_is_told() {
    let home = Home::default();
    let mut client = Client::greeted(&home).await;
    let button = client.reads("22-0").await.expect("a button");
    let expected = json!({
        "id": "22-0", "name": "Bedside Button", "room": "Bedroom", "kind": "button", "available": true,
        "state": { "presses": 0 }, "buttons": 4, "battery": 81,
    });
    assert_eq!(button, expected);
    client.asks("resources/subscribe", uri("22-0")).await;
    let presses = [(2, Press::Double), (2, Press::Double), (4, Press::Hold), (4, Press::Release)];
    for (count, (number, press)) in (1..).zip(presses) {
        home.press_button("Bedside Button", number, press).expect("a button");
        assert_eq!(client.notice().await.1, "home://devices/22-0");
        let state = client.reads("22-0").await.expect("a button")["state"].clone();
        assert_eq!(state, json!({ "button": number, "press": press.word(), "presses": count }));
    }
    home.press("Bedside Button").expect("a button");
    assert_eq!(client.notice().await.1, "home://devices/22-0");
    assert_eq!(client.reads("22-0").await.expect("a button")["state"]["press"], "single");
    let refused = client.hears("control_zwave_device", json!({ "deviceName": "22-0", "action": "on" })).await;
    assert_eq!(refused, Err("Bedside Button is a button and cannot be controlled".into()));
    for (name, number) in [("Bedside Button", 5), ("Bedside Button", 0), ("Switch One", 1), ("nobody", 1)] {
        assert!(home.press_button(name, number, Press::Single).is_none(), "{name} {number}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_new_session_watches_nothing() {
    let home = Home::fast(0);
    let mut client = Client::greeted(&home).await;
    client.asks("resources/subscribe", uri("2-0")).await;
    client.greets().await;
    home.press("Switch One").expect("a switch");
    assert_eq!(client.rest().await, [[0; 0]; 0]);
}

/// A storm of changes on a line that nobody reads: the last state is told, and nothing piles up.
#[tokio::test(start_paused = true)]
async fn who_reads_slowly_is_told_at_last() {
    let home = Home::fast(0);
    let mut client = Client::greeted(&home).await;
    client.asks("resources/subscribe", uri("2-0")).await;
    for _ in 0..5001 {
        home.press("Switch One").expect("a switch");
    }
    let told = client.rest().await;
    assert!((1..100).contains(&told.len()), "{} notifications", told.len());
    assert_eq!(client.reads("2-0").await.expect("a switch")["state"]["on"], true);
}
