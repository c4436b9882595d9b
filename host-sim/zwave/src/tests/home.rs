//! What the tools do, how long it takes, and what they say.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use super::client::{Client, switch};
use crate::{DeviceState, Fate, Home, Mode, Plans};

#[tokio::test(start_paused = true)]
async fn a_switch_keeps_its_state() {
    let home = Home::default();
    let mut client = Client::greeted(&home).await;
    for (action, state) in [("on", true), ("toggle", false), ("toggle", true), ("off", false), ("on", true)] {
        let words = client.hears("control_zwave_device", switch(action)).await;
        assert_eq!(words, Ok(format!("Switch One is now {}", if state { "on" } else { "off" })));
        assert_eq!(home.device("switch one").expect("one").state, DeviceState::Switch(state));
    }
    let status = client.calls("get_device_status", json!({ "deviceName": "SWITCH one" })).await;
    assert_eq!(status["result"]["structuredContent"]["state"]["on"], true);
    assert_eq!(status["result"]["content"][0]["text"], "Switch One is on");
    // And for the next client.
    let mut other = Client::greeted(&home).await;
    let words = other.hears("get_device_status", json!({ "deviceName": "Switch One" })).await;
    assert_eq!(words, Ok("Switch One is on".into()));
}

#[tokio::test(start_paused = true)]
async fn each_tool_does_what_it_says() {
    let home = Home::default();
    let mut client = Client::greeted(&home).await;
    for (tool, arguments, words) in [
        (
            "control_zwave_device",
            json!({ "deviceName": "ceiling lamp", "action": "set_level", "level": 40 }),
            "Ceiling Lamp is now on at level 40",
        ),
        (
            "control_zwave_device",
            json!({ "deviceName": "ceiling lamp", "action": "toggle" }),
            "Ceiling Lamp is now off",
        ),
        (
            "control_zwave_device",
            json!({ "deviceName": "ceiling lamp", "action": "on" }),
            "Ceiling Lamp is now on at level 40",
        ),
        (
            "set_thermostat",
            json!({ "mode": "cool", "setpoint": 23.5 }),
            "Living Room Thermostat is now in mode cool, set to 23.5 degrees, at 20 degrees",
        ),
        (
            "control_zwave_device",
            json!({ "deviceName": "the awning on the porch", "action": "close" }),
            "Porch Awning is now closed",
        ),
        (
            "control_zwave_device",
            json!({ "deviceName": "19-0", "action": "set_level", "level": 40 }),
            "Porch Awning is now open to 40 of 99",
        ),
        (
            "control_zwave_device",
            json!({ "deviceName": "Alarm Siren", "action": "on" }),
            "Alarm Siren is now on",
        ),
        (
            "lock_door",
            json!({ "deviceName": "Front Door", "action": "unlock" }),
            "Front Door is now unlocked",
        ),
        ("lock_door", json!({ "deviceName": "front door", "action": "lock" }), "Front Door is now locked"),
        (
            "activate_scene",
            json!({ "sceneName": "movie night" }),
            "Movie Night is set: living room dark, hall dimmed",
        ),
        (
            "get_battery_levels",
            json!({ "below": 40 }),
            "Bedroom Temperature: 12 percent\nPorch Motion: 33 percent",
        ),
        ("get_battery_levels", json!({ "below": 5 }), "No battery is that low"),
        (
            "get_device_status",
            json!({ "deviceName": "Hall Motion" }),
            "Hall Motion is seeing no motion, its battery at 47 percent",
        ),
        (
            "list_devices",
            json!({ "room": "bedroom" }),
            "Bedside Lamp is off\nBedroom Temperature is at 18.9 degrees\nBedside Button is idle, not pressed yet",
        ),
        ("list_devices", json!({ "room": "bedroom", "kind": "lock" }), "There are no such devices"),
        ("list_devices", json!({ "kind": "lock" }), "Front Door is locked"),
        ("list_devices", json!({ "kind": "button" }), "Bedside Button is idle, not pressed yet"),
        ("ping_node", json!({ "nodeId": 1 }), "Node 1 is this controller, and it is here"),
    ] {
        assert_eq!(client.hears(tool, arguments).await.as_deref(), Ok(words));
    }
    let lamp = home.device("Ceiling Lamp").expect("one").state;
    assert_eq!(lamp, DeviceState::Dimmer { level: 5, last: 5 }, "the scene did not happen");
    let DeviceState::Thermostat { mode, setpoint, .. } =
        home.device("living room thermostat").expect("one").state
    else {
        panic!("not a thermostat");
    };
    assert_eq!((mode, setpoint), (Mode::Cool, 23.5));
    let ping = client.calls("ping_node", json!({ "nodeId": 2 })).await;
    assert!(
        ping["result"]["structuredContent"]["milliseconds"].as_u64().is_some_and(|ms| ms >= 50),
        "{ping}"
    );
}

#[tokio::test(start_paused = true)]
async fn what_is_wrong_with_a_call_is_said() {
    let home = Home::fast(0);
    let mut client = Client::greeted(&home).await;
    for (tool, arguments, words) in [
        (
            "control_zwave_device",
            json!({}),
            "Missing required parameter 'deviceName' for control_zwave_device",
        ),
        (
            "control_zwave_device",
            json!({ "device_name": "Switch One", "deviceName": "Switch One", "action": "on" }),
            "Unknown parameter 'device_name' for control_zwave_device, which takes action, color, deviceName, level",
        ),
        (
            "control_zwave_device",
            json!({ "deviceName": "swich one", "action": "on" }),
            "Device 'swich one' not found; did you mean Switch One?",
        ),
        (
            "control_zwave_device",
            json!({ "deviceName": "Zeppelin", "action": "on" }),
            "Device 'Zeppelin' not found; list_devices lists what there is",
        ),
        (
            "control_zwave_device",
            json!({ "deviceName": "Switch One", "action": "set_level", "level": 5 }),
            "Switch One is a switch and has no level; it can be on or off",
        ),
        (
            "control_zwave_device",
            json!({ "deviceName": "Hall Light", "action": "set_level" }),
            "The action set_level needs a 'level' from 0 to 99",
        ),
        (
            "control_zwave_device",
            json!({ "deviceName": "Hall Light", "action": "off", "level": 5 }),
            "The action off takes no 'level'",
        ),
        (
            "control_zwave_device",
            json!({ "deviceName": "Front Door", "action": "off" }),
            "Front Door is a lock; use lock_door",
        ),
        (
            "control_zwave_device",
            json!({ "deviceName": "kitchen", "action": "on" }),
            "'kitchen' could be Kitchen Light, Kitchen Temperature; which one?",
        ),
        (
            "control_zwave_device",
            json!({ "deviceName": "Porch Awning", "action": "off" }),
            "Porch Awning is a cover; it can open, close, stop, or be set to a level",
        ),
        (
            "control_zwave_device",
            json!({ "deviceName": "Hall Light", "action": "set_color", "color": "ff8800" }),
            "Hall Light has no colour",
        ),
        (
            "control_zwave_device",
            json!({ "deviceName": "Hall Light", "action": "set_color", "color": "orange" }),
            "A 'color' has six hexadecimal digits: red, green and blue, like ff8800",
        ),
        ("set_thermostat", json!({}), "set_thermostat needs a 'mode', a 'setpoint', or both"),
        (
            "set_thermostat",
            json!({ "setpoint": 90 }),
            "Parameter 'setpoint' of set_thermostat must be a number from 5 to 30, not 90",
        ),
        ("list_devices", json!({ "room": "hull" }), "Room 'hull' not found; did you mean Hall?"),
        (
            "activate_scene",
            json!({ "sceneName": "good" }),
            "'good' could be Good Morning, Good Night; which one?",
        ),
        ("ping_node", json!({ "nodeId": 99 }), "Node 99 is not in this network"),
        ("fly", json!({}), "Unknown tool 'fly'"),
    ] {
        assert_eq!(client.hears(tool, arguments).await, Err(words.into()));
    }
    assert_eq!(home.devices(), Home::default().devices(), "something happened");
    assert!(home.record().calls().iter().all(|call| call.fate == Fate::Failed));

    // What the schema forbids is an error of the protocol; what the home cannot do is an answer.
    let answer = client.calls("lock_door", json!({ "action": 5 })).await;
    assert_eq!(answer["error"]["code"], -32602);
    let answer = client.calls("activate_scene", json!({ "sceneName": "x" })).await;
    assert_eq!(answer["result"]["isError"], true);
    for params in [json!({ "name": "fly", "arguments": [] }), json!({ "arguments": {} })] {
        let answer = client.asks("tools/call", params).await;
        let words = answer["error"]["message"].as_str().expect("words");
        assert!(words.contains("needs params with a string 'name'"), "{answer}");
    }
}

#[tokio::test(start_paused = true)]
async fn commands_take_their_time_and_the_same_each_run() {
    let mut runs = Vec::new();
    for seed in [1, 1, 2] {
        let mut client = Client::greeted(&Home::new(seed)).await;
        let mut times = Vec::new();
        for _ in 0..20 {
            let start = Instant::now();
            client.hears("control_zwave_device", switch("toggle")).await.expect("done");
            times.push(start.elapsed());
        }
        let range = Duration::from_millis(50)..=Duration::from_millis(301);
        assert!(times.iter().all(|time| range.contains(time)), "{times:?}");
        runs.push(times);
    }
    assert_eq!(runs[0], runs[1]);
    assert_ne!(runs[0], runs[2]);

    let mut client = Client::greeted(&Home::fast(1)).await;
    let start = Instant::now();
    client.hears("control_zwave_device", switch("toggle")).await.expect("done");
    assert_eq!(start.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn a_dead_node_fails_late_and_holds_nobody_up() {
    let home = Home::default();
    let mut client = Client::greeted(&home).await;
    let start = Instant::now();
    let pump = json!({ "name": "control_zwave_device", "arguments": { "deviceName": "Garden Pump", "action": "on" } });
    let dead = client.sends("tools/call", pump).await;
    client.hears("control_zwave_device", switch("on")).await.expect("done");
    assert!(start.elapsed() < Duration::from_millis(400));
    let answer = client.answer(dead).await;
    assert!((1900..2400).contains(&start.elapsed().as_millis()), "{:?}", start.elapsed());
    assert_eq!(answer["result"]["isError"], true);
    let words = "Garden Pump (node 18) does not answer; it is marked as dead. Check its power";
    assert_eq!(answer["result"]["content"][0]["text"], words);
    let ping = client.hears("ping_node", json!({ "nodeId": 18 })).await;
    assert_eq!(ping, Err("Node 18 (Garden Pump) does not answer".into()));
}

#[tokio::test(start_paused = true)]
async fn every_line_is_one_that_a_hub_can_take() {
    let home = Home::fast(0);
    let mut client = Client::greeted(&home).await;
    let id = client.sends("tools/list", json!({})).await;
    let line = client.line().await.expect("a line");
    assert!(line.len() < 6 * 1024, "{} bytes", line.len());
    let list: Value = serde_json::from_slice(&line).expect("JSON");
    assert_eq!((&list["id"], list["result"]["tools"].as_array().map(Vec::len)), (&json!(id), Some(9)));
    for tool in ["list_devices", "list_scenes", "get_battery_levels"] {
        client.sends("tools/call", json!({ "name": tool, "arguments": {} })).await;
        let line = client.line().await.expect("a line");
        assert!(line.len() < 4096, "{tool}: {} bytes", line.len());
    }
}

#[tokio::test(start_paused = true)]
async fn what_reaches_the_controller_is_recorded_as_it_came() {
    let home = Home::fast(0);
    let mut client = Client::greeted(&home).await;
    let odd = json!({ "deviceName": "nobody", "action": "on" });
    let _ = client.hears("control_zwave_device", odd.clone()).await;
    client.asks("tools/call", json!({ "name": "list_scenes" })).await;
    let calls = home.record().calls();
    let first = &calls[0];
    assert_eq!((first.id.clone(), first.tool.as_str()), (json!(2), "control_zwave_device"));
    assert_eq!(first.arguments.as_ref().map(|arguments| Value::from(arguments.clone())), Some(odd));
    assert_eq!((calls[1].arguments.as_ref(), calls[1].fate), (None, Fate::Done));
    home.record().clear();
    assert_eq!(home.record().calls(), []);
}

#[tokio::test(start_paused = true)]
async fn a_group_is_switched_at_once_and_says_who_did_not_follow() {
    let file = r#"{ "groups": { "Porch": ["Porch Light", "Garden Pump"], "Downstairs": ["Switch One", "hall light"] },
        "scenes": { "Leaving": { "about": "dark", "steps": [{ "device": "Downstairs", "action": "off" }] } } }"#;
    let home = Home::default().with_plans(Plans::parse(file).expect("plans"));
    let mut client = Client::greeted(&home).await;
    let down = json!({ "deviceName": "the downstairs", "action": "on" });
    let start = Instant::now();
    let words = client.hears("control_zwave_device", down).await;
    assert_eq!(words, Ok("Switch One is now on\nHall Light is now on at level 30".into()));
    assert!(start.elapsed() < Duration::from_millis(310), "one after the other: {:?}", start.elapsed());
    let porch = json!({ "deviceName": "Porch", "action": "on" });
    let words = client.hears("control_zwave_device", porch).await;
    assert_eq!(
        words.as_deref().map_err(|words| words.contains("Porch Light is now on")),
        Err(true),
        "{words:?}"
    );
    assert!(words.is_err_and(|words| words.starts_with("Garden Pump (node 18) does not answer")));
    let words = client.hears("activate_scene", json!({ "sceneName": "leaving" })).await;
    assert_eq!(words, Ok("Leaving is set: dark".into()));
    assert_eq!(home.device("Hall Light").expect("one").state.to_string(), "off");
}
