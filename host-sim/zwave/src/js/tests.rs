//! Nodes that no story has, nodes that are no nodes, and commands that take long.

use std::sync::Arc;
use std::time::Duration;

use host_desktop::random::Random;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep};

use super::super::controller::{CommandError, Outcome};
use super::super::device::Command;
use super::super::plans::Plans;
use super::super::resource;
use super::super::snapshot::Snapshot;
use super::deliver::deliver;
use super::node::Node;
use super::session::Question;
use super::state::Shared;
use super::view::{known, snapshots};
use super::write::{Expected, Write, writes};

const RECORDED: &str = include_str!("../tests/recorded.jsonl");

fn value(class: u16, property: &str, key: Value, value: Value, metadata: Value) -> Value {
    json!({
        "commandClass": class, "endpoint": 0, "property": property, "propertyKey": key, "value": value,
        "metadata": metadata,
    })
}

fn node(generic: u8, specific: u8, values: &[Value]) -> Node {
    Node::parse(&json!({
        "nodeId": 5, "status": 4, "ready": true, "label": "ZEN77",
        "deviceClass": { "generic": { "key": generic }, "specific": { "key": specific } },
        "endpoints": [{ "index": 0 }], "values": values,
    }))
    .expect("a node")
}

fn the_device(node: &Node) -> Snapshot {
    let mut devices = snapshots(node);
    assert_eq!(devices.len(), 1);
    devices.remove(0)
}

fn wrote(node: &Node, command: Command) -> (Value, Value) {
    let planned: Vec<Write> = writes(node, &the_device(node), command).expect("a write");
    assert_eq!(planned.len(), 1);
    (planned[0].value_id(), planned[0].value.clone())
}

#[test]
fn a_window_covering_moves_by_its_position() {
    let none = || json!({});
    let values = [
        value(106, "currentValue", json!(13), json!(40), none()),
        value(106, "targetValue", json!(12), json!(0), none()),
        value(106, "targetValue", json!(13), json!(99), none()),
        value(106, "levelChangeUp", json!(13), Value::Null, none()),
    ];
    let blind = node(0x11, 0x07, &values);
    let device = the_device(&blind);
    assert_eq!((device.name.as_str(), device.words().as_str()), ("ZEN77", "moving, at 40 of 99"));
    let id = |property: &str| json!({ "commandClass": 106, "endpoint": 0, "property": property, "propertyKey": 13 });
    assert_eq!(wrote(&blind, Command::Open(false)), (id("targetValue"), json!(0)));
    assert_eq!(wrote(&blind, Command::Level(30)), (id("targetValue"), json!(30)));
    assert_eq!(wrote(&blind, Command::Stop), (id("levelChangeUp"), json!(false)));
}

#[test]
fn a_barrier_is_driven_as_nothing_else() {
    let state = |number: i64| value(102, "currentState", Value::Null, json!(number), json!({}));
    let switched = value(37, "currentValue", Value::Null, json!(true), json!({}));
    let moved = value(38, "currentValue", Value::Null, json!(50), json!({}));
    let door = node(0x40, 0x07, &[state(252), switched, moved]);
    assert_eq!((the_device(&door).kind(), the_device(&door).words()), ("cover", "closing".into()));
    let id = json!({ "commandClass": 102, "endpoint": 0, "property": "targetState" });
    assert_eq!(wrote(&door, Command::Open(true)), (id.clone(), json!(255)));
    assert_eq!(wrote(&door, Command::Open(false)), (id, json!(0)));
    for command in [Command::Power(true), Command::Toggle, Command::Level(50), Command::Stop] {
        assert!(the_device(&door).status.takes(command).is_err(), "{command:?}");
        assert!(writes(&door, &the_device(&door), command).is_err(), "{command:?}");
    }
    assert_eq!(the_device(&node(0x40, 0x07, &[state(-1)])).words(), "not telling how it stands");
}

#[test]
fn a_siren_sounds_its_tone_and_a_plug_meters() {
    let siren = node(0x10, 0x05, &[value(121, "toneId", Value::Null, json!(0), json!({}))]);
    assert_eq!((the_device(&siren).kind(), the_device(&siren).words()), ("siren", "off".into()));
    let id = json!({ "commandClass": 121, "endpoint": 0, "property": "toneId" });
    assert_eq!(wrote(&siren, Command::Power(true)), (id.clone(), json!(255)));
    assert_eq!(wrote(&siren, Command::Toggle), (id, json!(255)));

    let metered = [
        value(37, "currentValue", Value::Null, json!(true), json!({})),
        value(50, "value", json!(66049), json!(12.5), json!({ "unit": "W" })),
        value(50, "value", json!(65537), json!(3), json!({ "unit": "kWh" })),
        value(50, "reset", Value::Null, Value::Null, json!({})),
    ];
    let plug = the_device(&node(0x10, 0x01, &metered));
    assert_eq!(plug.words(), "on, at 3 kWh energy, at 12.5 W power");
    assert_eq!(Value::from(plug.state()), json!({ "on": true, "power": 12.5, "energy": 3 }));
}

#[test]
fn what_watches_has_a_class() {
    let notification = |property: &str, key: &str, number: i64| {
        let node = node(0x07, 0x01, &[value(113, property, json!(key), json!(number), json!({}))]);
        the_device(&node).words()
    };
    assert_eq!(notification("Access Control", "Door state (simple)", 22), "open");
    assert_eq!(notification("Access Control", "Door state", 23), "closed");
    assert_eq!(notification("Smoke Alarm", "Sensor status", 2), "reporting smoke");
    assert_eq!(notification("CO Alarm", "Sensor status", 0), "smelling no gas");
    assert_eq!(notification("Home Security", "Cover status", 3), "reporting that somebody opened it");
    let old = node(0x20, 0x01, &[value(48, "Door/Window", Value::Null, json!(true), json!({}))]);
    assert_eq!((the_device(&old).kind(), the_device(&old).words()), ("contact_sensor", "open".into()));
    let class = |product: Value| {
        let mut state = json!({ "nodeId": 5, "status": 4, "ready": true, "endpoints": [{ "index": 0 }] });
        state["deviceConfig"] = product;
        state["values"] = json!([value(113, "Access Control", json!("Door state"), json!(22), json!({}))]);
        let node = Node::parse(&state).expect("a node");
        assert_eq!((the_device(&node).kind(), the_device(&node).words()), ("contact_sensor", "open".into()));
        the_device(&node).state()["class"].clone()
    };
    assert_eq!(class(json!({ "label": "WH-1", "description": "Window Handle" })), "window");
    assert_eq!(class(json!({ "label": "ZWA008", "description": "Door/Window Sensor 7" })), "contact");
    assert_eq!(class(json!({ "label": "DWS-1" })), "contact");
    let silent = node(0x10, 0x01, &[value(37, "currentValue", Value::Null, Value::Null, json!({}))]);
    assert_eq!(the_device(&silent).words(), "not telling how it stands");
    assert!(writes(&silent, &the_device(&silent), Command::Toggle).is_err());
}

#[test]
fn fahrenheit_stays_fahrenheit() {
    let values = [
        value(64, "mode", Value::Null, json!(11), json!({ "states": { "0": "Off", "11": "Energy heat" } })),
        value(67, "setpoint", json!(11), json!(68), json!({ "unit": "°F", "min": 50, "max": 86 })),
    ];
    let thermostat = node(0x08, 0x06, &values);
    let device = the_device(&thermostat);
    assert_eq!(device.words(), "in mode energy heat, set to 68 degrees");
    assert_eq!(device.units()["setpoint"], "°F");
    let error = writes(&thermostat, &device, Command::Climate(None, Some(20.0))).expect_err("too cold");
    assert_eq!(error, "can be set from 50 to 86 °F, not to 20");
}

#[test]
fn buttons_are_a_device_or_a_part_of_one() {
    let scene = |key: &str| value(91, "scene", json!(key), Value::Null, json!({}));
    let pressed = |node: &mut Node, key: &str, attribute: Value| {
        let arguments = json!({ "commandClass": 91, "endpoint": 0, "property": "scene", "propertyKey": key, "value": attribute });
        node.apply(&json!({ "event": "value notification", "args": arguments }));
    };
    let state = |node: &Node| Value::from(the_device(node).state());
    let slow = value(91, "slowRefresh", Value::Null, json!(true), json!({}));
    let battery = value(128, "level", Value::Null, json!(80), json!({}));
    let mut remote = node(0x18, 0x01, &[scene("001"), scene("002"), slow.clone(), battery]);
    assert_eq!((the_device(&remote).kind(), state(&remote)), ("button", json!({ "presses": 0 })));
    assert_eq!(the_device(&remote).words(), "idle, not pressed yet");
    let words = ["single", "release", "hold", "double", "triple", "quadruple", "quintuple"];
    for (attribute, word) in words.iter().enumerate() {
        pressed(&mut remote, "002", json!(attribute));
        assert_eq!(state(&remote), json!({ "button": 2, "press": word, "presses": attribute + 1 }));
    }
    let text = resource::device(&the_device(&remote), &[], &Plans::default());
    assert!(text.contains(r#""kind":"button""#) && text.contains(r#""buttons":2"#), "{text}");
    // What no button sends changes nothing.
    let before = remote.clone();
    for (key, attribute) in [("002", json!(7)), ("002", json!("0")), ("", json!(0)), ("x", json!(0))] {
        pressed(&mut remote, key, attribute);
    }
    assert_eq!(remote, before);
    // Told anew, as after an interview, it still counts on.
    let mut told_anew = node(0x18, 0x01, &[scene("001")]).after(Some(&remote));
    pressed(&mut told_anew, "001", json!(0));
    assert_eq!(state(&told_anew), json!({ "button": 1, "press": "single", "presses": 8 }));
    assert!(
        resource::device(&the_device(&node(0x18, 0x01, &[slow])), &[], &Plans::default()).contains("button")
    );

    let dimmed = value(38, "currentValue", Value::Null, json!(40), json!({}));
    let mut dimmer = node(0x11, 0x01, &[dimmed, scene("001"), scene("002")]);
    pressed(&mut dimmer, "001", json!(3));
    assert_eq!(
        (the_device(&dimmer).kind(), the_device(&dimmer).words()),
        ("dimmer", "on at level 40".into())
    );
    let expected = json!({ "on": true, "level": 40, "button": 1, "press": "double", "presses": 1 });
    assert_eq!(state(&dimmer), expected);
    assert!(the_device(&dimmer).status.takes(Command::Level(9)).is_ok());
}

#[test]
fn a_node_that_was_never_interviewed_is_all_its_endpoints_and_none_can_be_driven() {
    let strip = |endpoints: Value| {
        let on = value(37, "currentValue", Value::Null, json!(true), json!({}));
        let told = json!({ "nodeId": 10, "status": 1, "ready": false, "name": "Strip", "endpoints": endpoints, "values": [on] });
        known(&Node::parse(&told).expect("a node"), &[])
    };
    let devices = strip(
        json!([{ "index": 0 }, { "index": 1 }, { "index": 2, "endpointLabel": "Lamp" }, { "index": 9000 }]),
    );
    let names: Vec<_> = devices.iter().map(|device| (device.id.as_str(), device.name.as_str())).collect();
    assert_eq!(names, [("10-0", "Strip"), ("10-1", "Strip 1"), ("10-2", "Strip Lamp")]);
    assert!(devices.iter().all(|device| device.status.takes(Command::Power(true)).is_err()));
    assert_eq!(strip(json!([])).len(), 1);
}

/// The node as Z-Wave JS describes it in the first second after a restart.
#[test]
fn node_keeps_its_devices_until_a_starting_server_has_reached_it() {
    let strip = |is_ready: bool, values: Value| {
        let endpoints = json!([{ "index": 0 }, { "index": 1 }, { "index": 2 }]);
        let told = json!({ "nodeId": 10, "status": 0, "ready": is_ready, "interviewStage": "Complete", "name": "Strip",
            "endpoints": endpoints, "values": values });
        Node::parse(&told).expect("a node")
    };
    let on = |endpoint: u16| {
        let mut on = value(37, "currentValue", Value::Null, json!(true), json!({}));
        on["endpoint"] = endpoint.into();
        on
    };
    let before = known(&strip(true, json!([on(1), on(2)])), &[]);
    let ids = |devices: &[Snapshot]| devices.iter().map(|device| device.id.clone()).collect::<Vec<_>>();
    assert_eq!(ids(&before), ["10-1", "10-2"]);
    let starting = strip(false, json!([]));
    assert_eq!(known(&starting, &before), before);
    assert!(!starting.is_settled(), "the list would not be complete");
    // A node that has been dead since the start also stays what it was.
    assert_eq!(ids(&known(&strip(false, json!([on(1), on(2)])), &[])), ["10-1", "10-2"]);
}

#[test]
fn a_dimmer_at_its_darkest_has_done_its_best() {
    let light = |target: u8, level: i64| {
        let expected = Expected::Level(target);
        (expected.is_met(&json!(level)), expected.is_best(&json!(level)))
    };
    assert_eq!(light(1, 10), (false, true), "it can be no darker");
    assert_eq!((light(5, 20), light(5, 21)), ((false, true), (false, false)), "20 is the brightest darkest");
    assert_eq!(
        (light(50, 20), light(15, 10)),
        ((false, false), (false, false)),
        "it is darker than it was told"
    );
    assert_eq!(light(0, 10), (false, false), "it is told to be off, and is on");
    assert_eq!(light(10, 0), (false, false), "it is told to be on, and is off");
    assert_eq!((light(98, 99), light(99, 98), light(1, 0)), ((true, true), (true, true), (false, false)));
}

/// Dims a light that was off to `target`. It acknowledges, and tells `level` when it has ramped for 12 seconds; until then it
/// tells that it is off. Returns what became of it, and after how many seconds.
async fn dims(target: u8, level: u8) -> (Result<Outcome, CommandError>, u64) {
    let (questions, mut asked) = mpsc::channel::<Question>(8);
    let shared = Arc::new(Shared::new("ws://nowhere".into(), questions));
    let value = json!({ "commandClass": 38, "endpoint": 0, "property": "currentValue", "value": 0 });
    shared.begin(&json!({ "controller": { "ownNodeId": 1 }, "nodes": [
        { "nodeId": 1, "isControllerNode": true, "ready": true },
        { "nodeId": 5, "status": 4, "ready": true, "label": "Lamp", "values": [value] } ] }));
    let start = Instant::now();
    tokio::spawn(async move {
        let ramp = Duration::from_secs(12);
        while let Some(Question { command, answer, .. }) = asked.recv().await {
            // Its radio takes a moment.
            sleep(Duration::from_millis(50)).await;
            let now = if start.elapsed() < ramp { 0 } else { level };
            let _ = answer.send(Ok(match command["command"].as_str() {
                Some("node.set_value") => json!({ "result": { "status": 254 } }),
                _ => json!({ "value": now }),
            }));
        }
    });
    let lamp = shared.devices().remove(0);
    let outcome = deliver(&shared, &lamp, Command::Level(target)).await;
    (outcome, start.elapsed().as_secs())
}

#[tokio::test(start_paused = true)]
async fn a_slow_ramp_that_is_told_at_its_end_is_waited_for() {
    let (outcome, seconds) = dims(60, 60).await;
    assert!(matches!(&outcome, Ok(Outcome::Done(lamp)) if lamp.words() == "on at level 60"), "{outcome:?}");
    assert!((12..=14).contains(&seconds), "{seconds} s");
    // One that ends elsewhere has not done it, unless it can be no darker.
    let (outcome, seconds) = dims(60, 30).await;
    let words = "Lamp took the command, but did not do it: it is on at level 30";
    assert_eq!(outcome.map(drop), Err(words.to_owned().into()));
    assert!(seconds <= 22, "{seconds} s");
    let (outcome, _) = dims(5, 12).await;
    assert!(matches!(&outcome, Ok(Outcome::Done(lamp)) if lamp.words() == "on at level 12"), "{outcome:?}");
}

/// The recorded house with parts replaced by others, ten thousand times.
#[test]
fn whatever_a_node_is_nothing_breaks_and_every_line_is_short() {
    let dump = RECORDED.lines().nth(2).expect("a dump");
    let dump: Value = serde_json::from_str(dump).expect("JSON");
    let nodes = dump["result"]["state"]["nodes"].as_array().expect("nodes").clone();
    let mut random = Random::new(7);
    for round in 0..10_000 {
        let mut told = nodes[round % nodes.len()].clone();
        for _ in 0..=random.below(4) {
            spoil(&mut told, &mut random);
        }
        let Some(node) = Node::parse(&told) else { continue };
        let devices = snapshots(&node);
        for device in &devices {
            let text = resource::device(device, &devices, &Plans::default());
            assert!(text.len() < 1024, "{text}");
            for command in
                [Command::Power(true), Command::Toggle, Command::Level(9), Command::Stop, Command::Lock(true)]
            {
                let _ = writes(&node, device, command);
            }
        }
    }
}

/// Replaces some part.
fn spoil(part: &mut Value, random: &mut Random) {
    let odd = [
        Value::Null,
        json!(-1),
        json!(1e300),
        json!(u64::MAX),
        json!("x".repeat(3000)),
        json!("\u{0}\n\u{202e}ä"),
        json!([[]]),
        json!({ "value": {} }),
        json!(true),
        json!(255),
    ];
    let is_here = random.below(6) == 0;
    match part {
        Value::Array(parts) if !parts.is_empty() && !is_here => {
            let index = random.below(parts.len() as u64) as usize;
            spoil(&mut parts[index], random);
        }
        Value::Object(parts) if !parts.is_empty() && !is_here => {
            let index = random.below(parts.len() as u64) as usize;
            if let Some(inner) = parts.values_mut().nth(index) {
                spoil(inner, random);
            }
        }
        part => *part = odd[random.below(odd.len() as u64) as usize].clone(),
    }
}
