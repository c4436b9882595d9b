//! A real network, as its server was recorded: what is told of it, and the truth about commands.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::sleep;

use super::client::Client;
use super::fake::{Fake, happens, recorded, recorded_events, report, status};
use crate::{Plans, js};

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
    assert_eq!(lamp["actions"]["on"]["arguments"]["deviceName"], "3-0");
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
    let fake = server(begun, vec![report(3, 38, "targetValue", json!(40))], json!(99)).await;
    let mut client = client(&fake).await;
    let level = json!({ "deviceName": "kitchen lamp", "action": "set_level", "level": 40 });
    let id = client.sends("tools/call", json!({ "name": CONTROL, "arguments": level })).await;
    sleep(Duration::from_millis(300)).await;
    assert_eq!(client.reads("3-0").await.expect("a lamp")["state"]["level"], 99, "it has not moved yet");
    fake.tells(&report(3, 38, "currentValue", json!(40)));
    let answer = client.answer(id).await;
    assert_eq!(answer["result"]["content"][0]["text"], "Lamp is now on at level 40");
    // Its driver was not asked again: the report came.
    assert_eq!(fake.polls(3), 1);
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
    let heard = client
        .hears("lock_door", json!({ "deviceName": "Front Door", "action": "unlock" }))
        .await
        .expect_err("stuck");
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
    assert_eq!(fake.written().len(), 1, "something was sent");
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
    // Not knowing is no empty home.
    let listed = client.asks("resources/list", json!({})).await;
    let words = listed["error"]["message"].as_str().expect("an error");
    assert!(words.contains("Ask for the list again"), "{words}");
    assert_eq!(client.reads("2-0").await, Err(-32603));
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
    assert_eq!(answer["result"]["structuredContent"], json!({ "outcome": "unknown" }));
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

/// A node in the dump of a server that is still asked what it is.
fn interviewed(is_done: bool, name: &str) -> Value {
    let value = |class: u64, property: &str, value: Value| json!({ "commandClass": class, "endpoint": 0, "property": property, "value": value });
    let mut values = vec![value(37, "currentValue", json!(false))];
    if is_done {
        values.push(value(102, "currentState", json!(0)));
    }
    json!({
        "nodeId": 40, "status": 4, "ready": is_done, "interviewStage": if is_done { "Complete" } else { "NodeInfo" },
        "name": name, "deviceClass": { "generic": { "key": 0x40 }, "specific": { "key": 0x07 } },
        "endpoints": [{ "index": 0 }], "values": values,
    })
}

/// The recorded house with another node in it.
fn house_with(node: Value) -> Value {
    let mut dump = recorded().into_iter().find(|message| message["messageId"] == "2").expect("a dump");
    dump["result"]["state"]["nodes"].as_array_mut().expect("nodes").push(node);
    dump
}

#[tokio::test]
async fn the_list_is_not_told_and_nothing_is_driven_before_all_is_known() {
    let fake = Fake::start().await;
    fake.has(house_with(interviewed(false, "Gate")));
    let mut client = Client::at(&js::connect(&fake.url, Plans::default()));
    client.greets().await;
    is_ready(&mut client).await;
    for call in [hall_light("on"), json!({ "deviceName": "Gate", "action": "on" })] {
        let words = client.hears(CONTROL, call).await.expect_err("not known yet");
        assert!(words.contains("still interviews 1 of") && words.ends_with("Nothing was done"), "{words}");
    }
    let listed = client.asks("resources/list", json!({})).await;
    assert!(
        listed["error"]["message"].as_str().is_some_and(|words| words.contains("interviews")),
        "{listed}"
    );
    fake.tells(&json!({ "type": "event", "event": {
        "source": "node", "event": "ready", "nodeId": 40, "nodeState": interviewed(true, "Gate") } }));
    let listed = loop {
        let listed = client.asks("resources/list", json!({})).await;
        if listed["error"].is_null() {
            break listed;
        }
    };
    assert!(listed["result"]["resources"].to_string().contains("home://devices/40-0"), "{listed}");
    assert_eq!(client.reads("40-0").await.expect("a gate")["state"]["class"], "garage");
    // While it is asked again, it stays what it is.
    fake.tells(&happens(40, "interview started", json!({})));
    fake.tells(&happens(
        40,
        "value removed",
        json!({ "commandClass": 102, "endpoint": 0, "property": "currentState" }),
    ));
    fake.tells(&happens(40, "dead", json!({})));
    while client.reads("40-0").await.expect("a gate")["available"] != false {
        sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(client.reads("40-0").await.expect("a gate")["kind"], "cover");
    assert_eq!(fake.written(), Vec::<Value>::new(), "something was sent");
}

#[tokio::test]
async fn no_device_is_forgotten_before_a_complete_list_lacks_it() {
    let fake = Fake::start().await;
    fake.has(house_with(interviewed(true, "Gate")));
    let mut client = client(&fake).await;
    assert_eq!(client.reads("40-0").await.expect("a gate")["available"], true);
    let address = fake.ends().await;
    while client.reads("40-0").await.expect("a gate")["available"] != false {
        sleep(Duration::from_millis(10)).await;
    }
    // The next list lacks it, and another node is still asked.
    let fake = Fake::at(&address, recorded()[0].clone(), |_| (status(255), vec![])).await;
    let mut other = interviewed(false, "Shed");
    other["nodeId"] = 41.into();
    fake.has(house_with(other.clone()));
    is_ready(&mut client).await;
    assert_eq!(client.reads("40-0").await.expect("still known")["available"], false);
    assert_eq!(client.asks("resources/list", json!({})).await["error"], Value::Null);
    fake.is_connected().await;
    other["ready"] = true.into();
    fake.tells(&json!({ "type": "event", "event": { "source": "node", "event": "ready", "nodeId": 41, "nodeState": other } }));
    while client.reads("40-0").await.is_ok() {
        sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test]
async fn an_unknown_outcome_is_said_and_the_next_read_asks_the_device() {
    // The device acknowledges, and does not tell its state at first.
    let polls = Arc::new(Mutex::new(0));
    let count = polls.clone();
    let fake = Fake::with(move |command| match command["command"].as_str() {
        Some("node.poll_value") => {
            *count.lock().expect("no panic") += 1;
            match *count.lock().expect("no panic") {
                1 | 2 => {
                    (json!({ "success": false, "errorCode": "zwave_error", "zwaveErrorCode": 201 }), vec![])
                }
                _ => (json!({ "success": true, "result": { "value": false } }), vec![]),
            }
        }
        // What the driver hopes for.
        _ => (status(254), vec![report(2, 37, "currentValue", json!(true))]),
    })
    .await;
    let mut client = client(&fake).await;
    let answer = client.calls(CONTROL, hall_light("on")).await["result"].take();
    assert_eq!(answer["isError"], true);
    assert_eq!(answer["structuredContent"], json!({ "outcome": "unknown" }), "{answer}");
    let light = client.reads("2-0").await.expect("a light");
    assert_eq!((&light["unconfirmed"], &light["state"]), (&json!(true), &json!({})));
    let light = client.reads("2-0").await.expect("a light");
    assert_eq!((&light["unconfirmed"], &light["state"]), (&Value::Null, &json!({ "on": false })));
    // Once it is known, the cache is enough.
    client.reads("2-0").await.expect("a light");
    assert_eq!(*polls.lock().expect("no panic"), 3);
}

#[tokio::test]
async fn devices_that_end_near_their_target_have_done_it() {
    let dim = |level: u8| json!({ "deviceName": "3-0", "action": "set_level", "level": level });
    let move_to = |level: u8| json!({ "deviceName": "blind", "action": "set_level", "level": level });
    let degrees = |degrees: f64| json!({ "deviceName": "Thermostat", "setpoint": degrees });
    for (tool, arguments, value, is_done) in [
        (CONTROL, dim(99), 98, true),
        (CONTROL, move_to(50), 48, true),
        (CONTROL, move_to(0), 2, true),
        ("set_thermostat", degrees(21.5), 21, true),
        ("set_thermostat", degrees(23.0), 21, false),
    ] {
        let fake = server(status(254), vec![], json!(value)).await;
        let heard = client(&fake).await.hears(tool, arguments.clone()).await;
        assert_eq!(heard.is_ok(), is_done, "{arguments}: {heard:?}");
    }
}

#[tokio::test]
async fn a_promise_to_a_sleeping_device_is_kept_or_reported_as_lost() {
    let fake = Fake::with(|_| (Value::Null, vec![])).await;
    let mut client = client(&fake).await;
    client.hears("set_thermostat", json!({ "deviceName": "radiator", "setpoint": 20 })).await.expect("later");
    assert_eq!(client.reads("9-0").await.expect("a valve")["pending"], true);
    let address = fake.ends().await;
    let _back = Fake::at(&address, recorded()[0].clone(), |_| (status(255), vec![])).await;
    is_ready(&mut client).await;
    let valve = client.reads("9-0").await.expect("a valve");
    assert_eq!((&valve["lost"], &valve["pending"]), (&json!(true), &Value::Null));
    // Sent again, it is done.
    client.hears("set_thermostat", json!({ "deviceName": "radiator", "setpoint": 20 })).await.expect("done");
    assert_eq!(client.reads("9-0").await.expect("a valve")["lost"], Value::Null);
}

#[tokio::test]
async fn an_error_is_a_failure_only_if_nothing_can_have_been_done() {
    let refused = |code: &str| json!({ "success": false, "errorCode": code });
    let stack = "TypeError: x is undefined\n    at Driver.send (Driver.js:1)";
    for (result, is_unknown, words) in [
        (
            json!({ "success": false, "errorCode": "unknown_error", "message": stack }),
            true,
            "Hall Light may have done it, nobody knows: TypeError: x is undefined",
        ),
        (refused("zwave_error"), true, "Hall Light may have done it, nobody knows: zwave_error"),
        (json!({ "success": false }), true, "Hall Light may have done it, nobody knows: no reason was given"),
        (refused("node_not_found"), false, "Hall Light (node 2): node_not_found"),
        (refused("schema_incompatible"), false, "Hall Light (node 2): schema_incompatible"),
    ] {
        let fake = server(result.clone(), vec![], Value::Null).await;
        let answer = client(&fake).await.calls(CONTROL, hall_light("on")).await["result"].take();
        assert_eq!(answer["content"][0]["text"], words, "{result}");
        let outcome = if is_unknown { json!({ "outcome": "unknown" }) } else { Value::Null };
        assert_eq!((&answer["isError"], &answer["structuredContent"]), (&json!(true), &outcome), "{result}");
    }
}

#[tokio::test]
async fn a_guarded_command_to_a_device_that_falls_asleep_is_no_promise() {
    // The lock falls asleep as soon as it is sent the command, and answers when it is woken.
    let fake = Fake::with(|_| (Value::Null, vec![happens(5, "sleep", json!({}))])).await;
    let mut client = client(&fake).await;
    let unlock = json!({ "deviceName": "Front Door", "action": "unlock" });
    let answer = client.calls("lock_door", unlock.clone()).await["result"].take();
    assert_eq!(
        (&answer["isError"], &answer["structuredContent"]),
        (&json!(true), &json!({ "outcome": "unknown" })),
        "{answer}"
    );
    let lock = client.reads("5-0").await.expect("a lock");
    assert_eq!((&lock["pending"], &lock["unconfirmed"]), (&Value::Null, &json!(true)), "{lock}");
    // It is not asked before it wakes, and nothing more is sent.
    let words = client.hears("lock_door", unlock).await.expect_err("it sleeps");
    assert!(words.ends_with("Nothing was done"), "{words}");
    assert_eq!((fake.polls(5), fake.written().len()), (0, 1));
}

#[tokio::test]
async fn a_device_is_asked_itself_when_it_is_first_read() {
    // In an earlier run of the program the light was switched on, and the server has not learned it. The lock acknowledges
    // and does not tell its state at first.
    let mut lock_polls = 0;
    let fake = Fake::with(move |command| match (&command["command"], command["nodeId"].as_u64()) {
        (command, Some(5)) if command == "node.poll_value" => {
            lock_polls += 1;
            let silent = json!({ "success": false, "errorCode": "zwave_error", "zwaveErrorCode": 201 });
            let told = json!({ "success": true, "result": { "value": 0 } });
            (if lock_polls == 1 { silent } else { told }, vec![])
        }
        // The driver cannot ask for that.
        (command, Some(6)) if command == "node.poll_value" => {
            (json!({ "success": false, "errorCode": "zwave_error", "zwaveErrorCode": 302 }), vec![])
        }
        _ => (json!({ "success": true, "result": { "value": true } }), vec![]),
    })
    .await;
    let mut client = client(&fake).await;
    for _ in 0..3 {
        let light = client.reads("2-0").await.expect("a light");
        assert_eq!((&light["state"], &light["unconfirmed"]), (&json!({ "on": true }), &Value::Null));
    }
    assert_eq!(fake.polls(2), 1, "the cache is enough once it is known");
    let lock = client.reads("5-0").await.expect("a lock");
    assert_eq!((&lock["state"], &lock["unconfirmed"]), (&json!({}), &json!(true)));
    let lock = client.reads("5-0").await.expect("a lock");
    assert_eq!((&lock["state"], &lock["unconfirmed"]), (&json!({ "locked": false }), &Value::Null));
    let thermostat = client.reads("6-0").await.expect("a thermostat");
    assert_eq!((&thermostat["state"]["setpoint"], &thermostat["unconfirmed"]), (&json!(21.0), &Value::Null));
    // Sensors are not asked, nor is a valve before it wakes.
    for id in ["7-0", "8-0", "9-0", "13-0"] {
        client.reads(id).await.expect("a device");
    }
    let asked = |node| fake.polls(node);
    assert_eq!([7, 8, 9, 13].map(asked), [0; 4]);
    fake.tells(&happens(9, "wake up", json!({})));
    while client.reads("9-0").await.expect("a valve")["asleep"] == true {
        sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(asked(9), 1);
}

#[tokio::test]
async fn a_replaced_node_keeps_its_endpoints_until_it_is_interviewed() {
    let fake = Fake::start().await;
    let mut client = client(&fake).await;
    let ids = async |client: &mut Client| {
        let listed = client.asks("resources/list", json!({})).await["result"]["resources"].to_string();
        ["10-0", "10-1", "10-2"].map(|id| listed.contains(&format!("home://devices/{id}\"")))
    };
    assert_eq!(ids(&mut client).await, [false, true, true]);
    let strip = |is_done: bool| {
        let mut node = interviewed(is_done, "New Strip");
        (node["nodeId"], node["deviceClass"]) = (10.into(), json!({}));
        let on = |endpoint: u64| json!({ "commandClass": 37, "endpoint": endpoint, "property": "currentValue", "value": true });
        node["values"] = if is_done { json!([on(1), on(2)]) } else { json!([]) };
        node
    };
    let controller = |event: &str, more: Value| {
        let mut event = json!({ "source": "controller", "event": event });
        event.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        json!({ "type": "event", "event": event })
    };
    // It is replaced; the new one has to be included, and asked what it is.
    fake.tells(&controller("node removed", json!({ "node": { "nodeId": 10 }, "reason": 3 })));
    while client.reads("10-2").await.expect("a socket")["kind"] != "unknown" {
        sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(ids(&mut client).await, [false, true, true]);
    fake.tells(&controller("node added", json!({ "node": strip(false) })));
    fake.tells(&happens(10, "interview started", json!({})));
    sleep(Duration::from_millis(1500)).await;
    assert_eq!(ids(&mut client).await, [false, true, true]);
    let words =
        client.hears(CONTROL, json!({ "deviceName": "10-2", "action": "on" })).await.expect_err("unknown");
    assert!(words.contains("cannot drive"), "{words}");
    fake.tells(&json!({ "type": "event", "event": {
        "source": "node", "event": "ready", "nodeId": 10, "nodeState": strip(true) } }));
    while client.reads("10-2").await.expect("a socket")["kind"] != "switch" {
        sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(client.reads("10-2").await.expect("a socket")["name"], "New Strip 2");
    // Thrown out, it is gone.
    fake.tells(&controller("node removed", json!({ "node": { "nodeId": 10 }, "reason": 0 })));
    while client.reads("10-2").await.is_ok() {
        sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(ids(&mut client).await, [false; 3]);
}

#[tokio::test]
async fn who_watches_a_device_is_told_that_another_took_its_name() {
    let fake = Fake::start().await;
    let mut client = client(&fake).await;
    let named = async |client: &mut Client, id: &str| {
        client.reads(id).await.expect("a device")["actions"]["off"]["arguments"]["deviceName"].clone()
    };
    for id in ["2-0", "11-0"] {
        client.asks("resources/subscribe", json!({ "uri": format!("home://devices/{id}") })).await;
    }
    assert_eq!(named(&mut client, "2-0").await, "Hall Light");
    client.reads("11-0").await.expect("a blind");
    for (name, expected) in [("Hall Light", "2-0"), ("Siren", "Hall Light")] {
        let renamed = json!({ "commandClass": 119, "endpoint": 0, "property": "name", "newValue": name });
        fake.tells(&happens(12, "value updated", renamed));
        assert_eq!(client.notice().await.0, "notifications/resources/list_changed");
        let told = client.notice().await;
        assert_eq!(told, ("notifications/resources/updated".into(), "home://devices/2-0".into()), "{name}");
        assert_eq!(named(&mut client, "2-0").await, expected);
    }
}
