//! Garage doors: what is told of them, and the truth about commands to something that takes long and may turn back.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::{advance, pause, resume, sleep};

use super::client::Client;
use super::fake::{Fake, report, status};
use super::network::{client, server};
use crate::{Device, DeviceState, Home};

const CONTROL: &str = "control_zwave_device";

/// A garage door comes into the network, and stands like this.
async fn garage_door(fake: &Fake, client: &mut Client, state: Value) {
    let value = |property: &str, value: &Value| json!({ "commandClass": 102, "endpoint": 0, "property": property, "value": value });
    let node = json!({
        "nodeId": 16, "status": 4, "ready": true, "name": "Garage Door", "location": "Garage",
        "deviceClass": { "generic": { "key": 0x40 }, "specific": { "key": 0x07 } },
        "endpoints": [{ "index": 0 }],
        "values": [value("currentState", &state), value("position", &json!(0)), value("targetState", &Value::Null)],
    });
    fake.tells(
        &json!({ "type": "event", "event": { "source": "controller", "event": "node added", "node": node } }),
    );
    while client.reads("16-0").await.is_err() {
        sleep(Duration::from_millis(10)).await;
    }
}

fn door(action: &str) -> Value {
    json!({ "deviceName": "Garage Door", "action": action })
}

#[tokio::test]
async fn a_garage_door_is_a_cover_that_opens_and_closes() {
    let fake = Fake::start().await;
    let mut client = client(&fake).await;
    garage_door(&fake, &mut client, json!(0)).await;
    let call = |action: &str| json!({ "tool": CONTROL, "arguments": { "deviceName": "Garage Door", "action": action } });
    let expected = json!({
        "id": "16-0", "name": "Garage Door", "room": "Garage", "kind": "cover", "available": true,
        "state": { "class": "garage", "position": 0 },
        "actions": { "open": call("open"), "close": call("close") },
    });
    assert_eq!(client.reads("16-0").await.expect("a door"), expected);
    for (number, position, state, words) in [
        (254, Value::Null, json!({ "class": "garage", "moving": true }), "opening"),
        (255, json!(100), json!({ "class": "garage", "position": 99 }), "open"),
        (252, Value::Null, json!({ "class": "garage", "moving": true }), "closing"),
        (
            253,
            json!(40),
            json!({ "class": "garage", "position": 40, "stopped": true }),
            "stopped on its way, open to 40 of 99",
        ),
        (253, Value::Null, json!({ "class": "garage", "stopped": true }), "stopped on its way"),
        // Confirmed by the device, which has not told its position since.
        (0, json!(100), json!({ "class": "garage", "position": 0 }), "closed"),
        (100, Value::Null, json!({ "class": "garage" }), "not telling how it stands"),
    ] {
        fake.tells(&report(16, 102, "position", position));
        fake.tells(&report(16, 102, "currentState", json!(number)));
        while client.reads("16-0").await.expect("a door")["state"] != state {
            sleep(Duration::from_millis(5)).await;
        }
        let heard = client.hears("get_device_status", json!({ "deviceName": "garage" })).await;
        assert_eq!(heard, Ok(format!("Garage Door is {words}")));
    }
    let heard = client.hears("list_devices", json!({ "kind": "cover", "room": "garage" })).await;
    assert_eq!(heard, Ok("Garage Door is not telling how it stands".into()));
    for arguments in [
        door("stop"),
        door("on"),
        door("toggle"),
        json!({ "deviceName": "garage door", "action": "set_level", "level": 50 }),
    ] {
        let words = "Garage Door is a garage door; it can open or close";
        assert_eq!(client.hears(CONTROL, arguments).await, Err(words.into()));
    }
    assert_eq!(fake.written(), Vec::<Value>::new(), "something was sent");
}

#[tokio::test]
async fn a_garage_door_is_open_when_it_says_so() {
    let is = |number: u64| report(16, 102, "currentState", json!(number));
    for (action, result, after, value, words) in [
        ("open", status(255), vec![is(255)], json!(255), Ok("Garage Door is now open")),
        ("open", status(254), vec![is(254), is(255)], json!(255), Ok("Garage Door is now open")),
        ("close", status(254), vec![is(0)], json!(0), Ok("Garage Door is now closed")),
        ("close", status(2), vec![], json!(255), Err("Garage Door refused, and is still open")),
    ] {
        let fake = server(result, after, value).await;
        let mut client = client(&fake).await;
        garage_door(&fake, &mut client, json!(if action == "open" { 0 } else { 255 })).await;
        let heard = client.hears(CONTROL, door(action)).await;
        assert_eq!(heard.as_deref().map_err(String::as_str), words);
        let wrote = fake.written().remove(0);
        let id = json!({ "commandClass": 102, "endpoint": 0, "property": "targetState" });
        let target = if action == "open" { 255 } else { 0 };
        assert_eq!((&wrote["valueId"], &wrote["value"]), (&id, &json!(target)));
    }
}

/// Longer than a caller waits.
#[tokio::test]
async fn a_door_on_its_way_has_begun_and_one_that_turned_back_did_not_do_it() {
    for (action, number, words) in [
        ("close", 252, Ok("Garage Door has begun, and is now closing")),
        ("open", 254, Ok("Garage Door has begun, and is now opening")),
        // Something stood in its way.
        ("close", 254, Err("Garage Door took the command, but did not do it: it is opening")),
        ("close", 253, Err("Garage Door took the command, but did not do it: it is stopped on its way")),
        ("open", 0, Err("Garage Door took the command, but did not do it: it is closed")),
    ] {
        let mut after = vec![report(16, 102, "position", Value::Null)];
        after.push(report(16, 102, "currentState", json!(number)));
        let fake = server(status(254), after, json!(number)).await;
        let mut client = client(&fake).await;
        garage_door(&fake, &mut client, json!(255)).await;
        let id = client.sends("tools/call", json!({ "name": CONTROL, "arguments": door(action) })).await;
        // Once when it was read, and once after the command.
        while fake.polls(16) < 2 {
            sleep(Duration::from_millis(10)).await;
        }
        pause();
        advance(Duration::from_secs(20)).await;
        resume();
        let answer = client.answer(id).await;
        let text = answer["result"]["content"][0]["text"].as_str().expect("words");
        let heard = if answer["result"]["isError"] == true { Err(text) } else { Ok(text) };
        assert_eq!(heard, words);
        let asked = fake.commands.lock().expect("no panic")[2].clone();
        assert_eq!(
            (&asked["command"], &asked["valueId"]["property"]),
            (&json!("node.poll_value"), &json!("currentState"))
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_simulated_home_can_have_one() {
    let state = DeviceState::Garage(false);
    let door = Device { node: 21, name: "Garage Door", room: "Garage", state, battery: None, is_alive: true };
    let home = Home::fast(0).with_device(door);
    let mut client = Client::greeted(&home).await;
    for (action, is_open, words) in [("open", true, "open"), ("close", false, "closed")] {
        let call = client.reads("21-0").await.expect("a door")["actions"][action].clone();
        let heard = client.hears(call["tool"].as_str().expect("a tool"), call["arguments"].clone()).await;
        assert_eq!(heard, Ok(format!("Garage Door is now {words}")));
        assert_eq!(home.device("Garage Door").expect("one").state, DeviceState::Garage(is_open));
        let position = if is_open { 99 } else { 0 };
        let state = json!({ "class": "garage", "position": position });
        assert_eq!(client.reads("21-0").await.expect("a door")["state"], state);
    }
    assert_eq!(home.press("garage door").expect("a button").state, DeviceState::Garage(true));
}
