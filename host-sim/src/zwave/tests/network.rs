//! A real network, as its server was recorded: what is told of it, and the truth about commands.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::sleep;

use super::client::Client;
use super::fake::{Fake, happens, recorded, recorded_events, report, status};
use crate::zwave::{Plans, js};

const CONTROL: &str = "control_zwave_device";

/// A client of the network of this server, once its devices are there.
pub(super) async fn client(fake: &Fake) -> Client {
    let mut client = Client::at(&js::connect(&fake.url, Plans::default()));
    client.greets().await;
    is_ready(&mut client).await;
    client
}

pub(super) async fn is_ready(client: &mut Client) {
    while client.hears("list_devices", json!({})).await.is_err() {
        sleep(Duration::from_millis(10)).await;
    }
}

/// A server that answers writes like this, and tells `value` when it is asked for one.
pub(super) async fn server(result: Value, after: Vec<Value>, value: Value) -> Fake {
    Fake::with(move |command| match command["command"].as_str() {
        Some("node.poll_value") => (json!({ "success": true, "result": { "value": value } }), vec![]),
        Some("node.ping") => (json!({ "success": true, "result": { "responded": true } }), vec![]),
        _ => (result.clone(), after.clone()),
    })
    .await
}

fn hall_light(action: &str) -> Value {
    json!({ "deviceName": "hall light", "action": action })
}

#[tokio::test]
async fn every_node_of_the_house_is_listed_also_what_is_not_known() {
    let fake = Fake::start().await;
    let mut client = client(&fake).await;
    let words = client.hears("list_devices", json!({})).await.expect("a list");
    let expected = "Hall Light is off\nLamp (Kitchen) is on at level 99\nLamp (Hall) is on\nFront Door is locked\n\
        Thermostat is in mode heat, set to 21 degrees, at 21.5 degrees\n\
        Node 7 is at 21.5 degrees, at 44 % humidity, at 120 Lux illuminance\nStairs Motion is seeing no motion\n\
        Radiator is set to 18 degrees\nPower Strip 1 is off\nPower Strip 2 is on\nBlind is open\nSiren is on\n\
        Washing Machine is dry\nMood Light is off\nWall Controller is of a kind that this controller does not know";
    assert_eq!(words, expected);
    let kinds = client.calls("list_devices", json!({ "room": "the hall" })).await;
    let kinds: Vec<_> = kinds["result"]["structuredContent"]["devices"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|device| device["kind"].as_str().expect("a kind").to_owned())
        .collect();
    assert_eq!(kinds, ["switch", "switch", "lock", "motion_sensor", "unknown"]);
    let words = client.hears("get_battery_levels", json!({ "below": 60 })).await;
    assert_eq!(words, Ok("Node 7: 9 percent\nStairs Motion: 55 percent".into()));
    let lamp = client.reads("3-0").await.expect("a lamp");
    assert_eq!(lamp["actions"]["on"]["arguments"]["deviceName"], "Lamp (Kitchen)");
    let sensor = client.reads("7-0").await.expect("a sensor");
    assert_eq!(sensor["units"], json!({ "temperature": "°C", "humidity": "%", "illuminance": "Lux" }));
}

#[tokio::test]
async fn what_was_recorded_is_followed() {
    let fake = Fake::start().await;
    let mut client = client(&fake).await;
    for id in ["2-0", "5-0", "7-0", "8-0", "13-0"] {
        client.asks("resources/subscribe", json!({ "uri": format!("home://devices/{id}") })).await;
    }
    for event in recorded_events() {
        fake.tells(&event);
    }
    let mut untold = BTreeSet::from(["2-0", "5-0", "7-0", "8-0", "13-0"]);
    while !untold.is_empty() {
        let (_, uri) = client.notice().await;
        untold.remove(uri.trim_start_matches("home://devices/"));
    }
    while !client.reads("7-0").await.expect("a sensor")["room"].is_null() {
        sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(client.reads("7-0").await.expect("a sensor")["state"]["temperature"], 23.5);
    assert_eq!(client.reads("2-0").await.expect("a switch")["state"]["on"], true);
    assert_eq!(
        client.reads("13-0").await.expect("a sensor")["state"],
        json!({ "class": "leak", "active": true })
    );
    assert_eq!(
        client.reads("5-0").await.expect("a lock")["state"],
        json!({ "locked": true, "jammed": true })
    );
    fake.tells(&happens(9, "wake up", json!({})));
    fake.tells(&happens(2, "dead", json!({})));
    while client.reads("2-0").await.expect("a switch")["available"] != false {
        sleep(Duration::from_millis(10)).await;
    }
    assert!(client.reads("9-0").await.expect("a valve").get("asleep").is_none());
    // Thrown out of the network.
    fake.tells(&json!({ "type": "event", "event": { "source": "controller", "event": "node removed", "node": { "nodeId": 2 } } }));
    while client.reads("2-0").await.is_ok() {
        sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn done_is_what_the_device_says_is_done() {
    let on = || report(2, 37, "currentValue", json!(true));
    for (result, after, value, words) in [
        (status(255), vec![on()], json!(true), Ok("Hall Light is now on")),
        // Only sent: the value that follows at once is a hope, the answer to a question is not.
        (status(254), vec![on()], json!(true), Ok("Hall Light is now on")),
        (
            status(254),
            vec![on(), report(2, 37, "currentValue", json!(false))],
            json!(false),
            Err("Hall Light took the command, but did not do it: it is off"),
        ),
        (status(2), vec![], json!(false), Err("Hall Light refused, and is still off")),
        (status(3), vec![], json!(false), Err("Hall Light is no longer a part of node 2")),
        (status(0), vec![], json!(false), Err("Hall Light cannot do that: it does not have such a function")),
        (
            status(4),
            vec![],
            json!(false),
            Err("Hall Light cannot do that: the Z-Wave driver does not have it yet"),
        ),
        (
            json!({ "success": true, "result": { "result": { "status": 5, "message": "no such value (ZW0322)" } } }),
            vec![],
            json!(false),
            Err("Hall Light did not get it: no such value (ZW0322)"),
        ),
        (
            json!({ "success": false, "errorCode": "zwave_error", "zwaveErrorCode": 204, "zwaveErrorMessage": "no ack" }),
            vec![happens(2, "dead", json!({}))],
            json!(false),
            Err("Hall Light (node 2) does not answer; it is marked as dead. Check its power"),
        ),
        (
            json!({ "success": false, "errorCode": "zwave_error", "zwaveErrorCode": 302, "zwaveErrorMessage": "not supported" }),
            vec![],
            json!(false),
            Err("Hall Light (node 2): not supported"),
        ),
        (
            json!({ "success": true, "result": {} }),
            vec![],
            json!(false),
            Err("Hall Light: nobody knows whether it was done; the server says nothing about it"),
        ),
    ] {
        let fake = server(result.clone(), after, value).await;
        let heard = client(&fake).await.hears(CONTROL, hall_light("on")).await;
        assert_eq!(heard.as_deref().map_err(String::as_str), words, "{result}");
        let wrote = fake.commands.lock().expect("no panic")[0].clone();
        let id = json!({ "commandClass": 37, "endpoint": 0, "property": "targetValue" });
        assert_eq!((&wrote["valueId"], &wrote["value"], &wrote["nodeId"]), (&id, &json!(true), &json!(2)));
    }
}

#[tokio::test]
async fn what_moves_is_waited_for() {
    let begun = json!({ "success": true, "result": { "result": { "status": 1, "remainingDuration": { "value": 1, "unit": "seconds" } } } });
    let fake = server(begun, vec![report(3, 38, "targetValue", json!(40))], json!(40)).await;
    let mut client = client(&fake).await;
    let level = json!({ "deviceName": "kitchen lamp", "action": "set_level", "level": 40 });
    let id = client.sends("tools/call", json!({ "name": CONTROL, "arguments": level })).await;
    sleep(Duration::from_millis(300)).await;
    assert_eq!(client.reads("3-0").await.expect("a lamp")["state"]["level"], 99, "it has not moved yet");
    fake.tells(&report(3, 38, "currentValue", json!(40)));
    let answer = client.answer(id).await;
    assert_eq!(answer["result"]["content"][0]["text"], "Lamp is now on at level 40");
    // Its driver was not asked: the report came.
    assert_eq!(fake.commands.lock().expect("no panic").len(), 1);
}

#[tokio::test]
async fn who_sleeps_is_told_later() {
    let fake = Fake::with(|_| (Value::Null, vec![])).await;
    let mut client = client(&fake).await;
    let heard = client.hears("set_thermostat", json!({ "deviceName": "radiator", "setpoint": 20 })).await;
    assert_eq!(heard, Ok("Radiator is asleep; it will be done when it wakes".into()));
    assert_eq!(fake.commands.lock().expect("no panic")[0]["valueId"]["propertyKey"], 1);
    let heard = client.hears("ping_node", json!({ "nodeId": 9 })).await;
    assert_eq!(heard, Err("Node 9 is asleep; it can be asked when it wakes".into()));
}

#[tokio::test]
async fn a_jammed_lock_and_wrong_degrees_are_said() {
    let fake = server(status(2), vec![], Value::Null).await;
    let mut client = client(&fake).await;
    let jam = json!({ "commandClass": 113, "endpoint": 0, "property": "Access Control", "propertyKey": "Lock state", "newValue": 11 });
    fake.tells(&happens(5, "value updated", jam));
    while client.reads("5-0").await.expect("a lock")["state"]["jammed"] != true {
        sleep(Duration::from_millis(10)).await;
    }
    let heard = client.hears("lock_door", json!({ "action": "unlock" })).await.expect_err("stuck");
    assert_eq!(
        heard,
        "Front Door did not do it: its bolt is stuck. It is locked, jammed; go and look at the door"
    );
    for (arguments, words) in [
        (json!({ "setpoint": 50 }), "Thermostat can be set from 5 to 30 °C, not to 50"),
        (json!({ "mode": "auto" }), "Thermostat has no mode auto; its modes: off, heat, cool"),
        // Cooling has bounds of its own.
        (json!({ "mode": "cool", "setpoint": 10 }), "Thermostat can be set from 16 to 35 °C, not to 10"),
    ] {
        let mut arguments = arguments;
        arguments["deviceName"] = "thermostat".into();
        assert_eq!(client.hears("set_thermostat", arguments).await, Err(words.into()));
    }
    assert_eq!(fake.commands.lock().expect("no panic").len(), 1, "something was sent");
}

#[tokio::test]
async fn a_colour_is_set_by_its_digits() {
    let fake = server(status(255), vec![report(14, 51, "hexColor", json!("ff8800"))], Value::Null).await;
    let mut client = client(&fake).await;
    let orange = json!({ "deviceName": "mood light", "action": "set_color", "color": "#FF8800" });
    client.hears(CONTROL, orange).await.expect("done");
    assert_eq!(client.reads("14-0").await.expect("a light")["state"]["color"], "ff8800");
    let wrote = fake.commands.lock().expect("no panic")[0].clone();
    assert_eq!((&wrote["valueId"]["property"], &wrote["value"]), (&json!("hexColor"), &json!("ff8800")));
}

#[tokio::test]
async fn the_hub_is_served_before_the_server_is_there_and_after_it_is_gone() {
    // A port where nobody listens.
    let address = Fake::start().await.ends().await;
    let gateway = js::connect(&format!("ws://{address}"), Plans::default());
    let mut client = Client::at(&gateway);
    assert_eq!(client.greets().await["result"]["serverInfo"]["name"], "zwave-js");
    let tools = client.asks("tools/list", json!({})).await;
    assert_eq!(tools["result"]["tools"].as_array().map(Vec::len), Some(9));
    assert_eq!(client.asks("resources/list", json!({})).await["result"]["resources"], json!([]));
    while !client
        .hears(CONTROL, hall_light("on"))
        .await
        .is_err_and(|words| words.contains("cannot be reached"))
    {
        sleep(Duration::from_millis(10)).await;
    }

    let on = report(2, 37, "currentValue", json!(true));
    let answers = move |command: &Value| match command["nodeId"].as_u64() {
        Some(2) => (status(255), vec![on.clone()]),
        // Node 4 never answers.
        _ => (Value::Null, vec![]),
    };
    let fake = Fake::at(&address, recorded()[0].clone(), answers.clone()).await;
    assert_eq!(client.notice().await.0, "notifications/resources/list_changed");
    assert_eq!(client.hears(CONTROL, hall_light("on")).await, Ok("Hall Light is now on".into()));
    client.asks("resources/subscribe", json!({ "uri": "home://devices/2-0" })).await;

    // It ends in the middle of a command.
    let lamp = json!({ "deviceName": "lamp in the hall", "action": "off" });
    let id = client.sends("tools/call", json!({ "name": CONTROL, "arguments": lamp })).await;
    while fake.commands.lock().expect("no panic").len() < 2 {
        sleep(Duration::from_millis(10)).await;
    }
    fake.ends().await;
    let answer = client.answer(id).await;
    let words = answer["result"]["content"][0]["text"].as_str().expect("words");
    assert!(words.contains("is lost") || words.contains("cannot be reached"), "{words}");
    while client.reads("2-0").await.expect("still known")["available"] != false {
        sleep(Duration::from_millis(10)).await;
    }
    let _back = Fake::at(&address, recorded()[0].clone(), answers).await;
    is_ready(&mut client).await;
    assert_eq!(client.reads("2-0").await.expect("known again")["available"], true);
}

#[tokio::test]
async fn a_server_of_another_age_is_named_and_tried_again() {
    for (least, most, words) in [
        (0, 20, "it speaks schema 20 at most, and 29 is needed"),
        (60, 70, "it speaks schema 60 at least, and this program 44"),
    ] {
        let greeting = json!({ "type": "version", "minSchemaVersion": least, "maxSchemaVersion": most });
        let fake = Fake::at("127.0.0.1:0", greeting, |_| (status(255), vec![])).await;
        let mut client = Client::at(&js::connect(&fake.url, Plans::default()));
        client.greets().await;
        while !client.hears("list_devices", json!({})).await.expect_err("not ready").contains(words) {
            sleep(Duration::from_millis(10)).await;
        }
        let address = fake.ends().await;
        let _updated = Fake::at(&address, recorded()[0].clone(), |_| (status(255), vec![])).await;
        is_ready(&mut client).await;
    }
}

#[tokio::test]
async fn a_stick_that_does_not_respond_is_said() {
    let fake = Fake::start().await;
    let mut client = client(&fake).await;
    for (number, words) in [(1, "stick does not respond"), (2, "nothing but noise")] {
        fake.tells(&json!({ "type": "event", "event": { "source": "controller", "event": "status changed", "status": number } }));
        while !client.hears("list_devices", json!({})).await.is_err_and(|heard| heard.contains(words)) {
            sleep(Duration::from_millis(10)).await;
        }
    }
    fake.tells(&json!({ "type": "event", "event": { "source": "controller", "event": "status changed", "status": 0 } }));
    is_ready(&mut client).await;
}

#[tokio::test]
async fn a_group_is_told_all_at_once() {
    // Answers nobody before both have asked.
    let mut asked = Vec::new();
    let fake = Fake::with(move |command| {
        asked.push((command["messageId"].clone(), command["nodeId"].as_u64().expect("a node")));
        if asked.len() < 2 {
            return (Value::Null, vec![]);
        }
        let messages = asked.iter().flat_map(|(id, node)| {
            let mut done = status(255);
            done["type"] = "result".into();
            done["messageId"] = id.clone();
            [done, report(*node, 37, "currentValue", json!(true))]
        });
        (Value::Null, messages.collect())
    })
    .await;
    let plans =
        Plans::parse(r#"{"groups":{"Downstairs":["hall light","lamp in the hall"]}}"#).expect("plans");
    let mut client = Client::at(&js::connect(&fake.url, plans));
    client.greets().await;
    is_ready(&mut client).await;
    let heard = client.hears(CONTROL, json!({ "deviceName": "downstairs", "action": "on" })).await;
    assert_eq!(heard, Ok("Hall Light is now on\nLamp is now on".into()));
}
