//! The controller's program with a real network: the Z-Wave JS driver and its server, as people run them, with a mock stick
//! and a house of nodes of every kind. It takes a minute or two to interview them, so that one story tells it all.

mod client;
mod hub;
mod stack;

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::Duration;

use client::{Client, zwave};
use hub::{Hub, Witness, controller};
use serde_json::{Value, json};
use stack::{Place, Stick};
use support::mosquitto::Mosquitto;

const PLANS: &str = r#"{
    "groups": { "Downstairs": ["Hall Light", "lamp in the hall"], "Everything": ["Hall Light", "Siren"] },
    "scenes": { "Coming": { "steps": [{ "device": "Hall Light", "action": "on" }, { "device": "Garage Door", "action": "open" }] },
        "Leaving": { "about": "dark and locked", "steps": [
        { "device": "Downstairs", "action": "off" }, { "device": "Front Door", "action": "lock" },
        { "device": "Garage Door", "action": "close" }, { "device": "Everything", "action": "off" } ] } }
}"#;

#[test]
#[ignore = "needs Node, zwave-js and its server; ./tests/run runs it"]
fn a_house_from_its_first_interview_to_a_pulled_stick() {
    let place = Place::new();
    let url = place.url();
    let plans = place.file("plans.json", PLANS);
    let arguments = ["--zwave-js", &url, "--scenes", plans.to_str().expect("text")];
    let mut client = Client::start(&arguments);

    tell("before the server is there, calls are answered");
    let words = client.controls("hall light", "on").expect_err("nobody is there");
    assert!(words.contains(&url) && words.contains("Is zwave-js-server running there"), "{words}");

    let mut stick = place.stick(0);
    let server = place.server(&stick);
    tell("the server interviews the house");
    interview(&mut client, &mut stick);
    all_is_listed(&mut client);

    tell("the server is restarted");
    // Who sleeps is taken for asleep by a server that starts.
    client.watches("2-0");
    client.forgets();
    drop(server);
    client.is_told_of("2-0");
    client.sees("2-0", "a device that cannot be reached", |device| device["available"] == false);
    let words = client.controls("hall light", "on").expect_err("the server is gone");
    assert!(words.contains("cannot be reached"), "{words}");
    let server = place.server(&stick);
    is_back(&mut client);

    switching_and_dimming(&mut client);
    the_lock(&mut client, &mut stick);
    the_garage_door(&mut client, &mut stick);
    the_thermostat(&mut client, &mut stick);
    who_sleeps(&mut client, &mut stick);
    somebody_presses_a_switch(&mut client, &mut stick);
    a_node_dies_and_returns(&mut client, &mut stick);
    groups_and_scenes(&mut client, &mut stick);
    a_client_by_other_hands(&url, &mut stick);

    let broker = Mosquitto::start();
    let hubs = [
        Hub::over_a_pipe(&broker, &url),
        Hub::over_a_serial_line(&broker, &url),
        Hub::in_qemu(&broker, &url),
    ];
    for (hub, degrees) in hubs.iter().zip([17.5, 18.5, 19.5]) {
        hub.lives(&mut stick, degrees);
    }
    tell("the server is restarted again, and all hubs see it");
    drop(server);
    hubs.iter().for_each(|hub| hub.sees_available(false));
    let server = place.server(&stick);
    is_back(&mut client);
    hubs.iter().for_each(|hub| hub.sees_available(true));

    tell("the stick is pulled, and plugged in again");
    let port = stick.port;
    drop(stick);
    client.waits("the stick to be missed", |client| client.controls("hall light", "on").is_err());
    client.waits("the network to be lost", |client| {
        client.hears("list_devices", json!({})).is_err_and(|words| words.contains("stick"))
    });
    hubs.iter().for_each(|hub| hub.sees_available(false));
    drop(server);
    let stick = place.stick(port);
    let _server = place.server(&stick);
    is_back(&mut client);
    hubs.iter().for_each(|hub| hub.sees_available(true));
}

#[test]
#[ignore = "needs Node, zwave-js and its server; ./tests/run runs it"]
fn nothing_is_opened_and_no_list_is_told_before_the_house_is_known() {
    let place = Place::new();
    let url = place.url();
    let mut client = Client::start(&["--zwave-js", &url]);
    let mut stick = place.stick(0);
    let server = place.server(&stick);
    let open = |client: &mut Client, name: &str| client.controls(name, "open");
    // Refused again and again while the server starts and asks the house what it is.
    client.waits("the list", |client| {
        let words = open(client, "garage door").expect_err("it is not named exactly, or not known yet");
        assert!(words.contains("Nothing was done") || words.contains("cannot be driven"), "{words}");
        let listed = client.answer("resources/list", json!({}));
        listed["error"].is_null() && {
            let first = listed["result"]["resources"].to_string();
            ["5-0", "12-0", "16-0"].iter().all(|id| first.contains(&format!("home://devices/{id}\"")))
        }
    });
    assert_eq!(client.reads("16-0")["state"], json!({ "class": "garage", "position": 0 }), "it was opened");
    let first = client.asks("resources/list", json!({}))["resources"].take();
    let uris: Vec<_> = first.as_array().expect("a list").iter().map(|entry| entry["uri"].clone()).collect();
    assert_eq!(uris[..3], ["5-0", "12-0", "16-0"].map(|id| json!(format!("home://devices/{id}"))));
    assert_eq!(open(&mut client, "Garage Door"), Ok("Garage Door is now open".into()));

    tell("a promise to a sleeping valve, and a server that is restarted");
    client.waits("the valve", |client| {
        stick.happens("wake 9");
        std::thread::sleep(Duration::from_secs(3));
        client.knows("9-0")
    });
    let before = client.asks("resources/list", json!({}));
    drop(server);
    client.sees("16-0", "the loss", |door| door["available"] == false);
    assert_eq!(client.asks("resources/list", json!({})), before, "devices were forgotten");
    // Who sleeps is taken for asleep by a server that starts.
    let server = place.server(&stick);
    is_back(&mut client);
    assert_eq!(client.asks("resources/list", json!({})), before, "devices were forgotten");
    client.sees("9-0", "the valve to sleep", |valve| valve["asleep"] == true);
    client.hears("set_thermostat", json!({ "deviceName": "radiator", "setpoint": 18 })).expect("promised");
    assert_eq!(client.reads("9-0")["pending"], true);
    drop(server);
    let _server = place.server(&stick);
    client.sees("9-0", "the lost command", |valve| valve["lost"] == true);
}

#[test]
#[ignore = "needs Node, zwave-js and its server; ./tests/run runs it"]
fn restarts_clear_no_retained_message() {
    let place = Place::new();
    let url = place.url();
    let mut stick = place.stick(0);
    let server = place.server(&stick);
    let (running, address) = controller("127.0.0.1:0", &url);
    let mut client = Client::start(&["--zwave-js", &url]);
    interview(&mut client, &mut stick);
    let broker = Mosquitto::start();
    let hub = Hub::over_tcp(&broker, &address);
    hub.sees("17-0", "the last device", |device| device["name"] == "Remote");
    hub.sees_available(true);
    let witness = Witness::start(&broker);
    let kept = || {
        let topics = [format!("hearthwave/{}/device/#", hub.id), "homeassistant/#".into()];
        topics.map(|topic| broker.retained(&topic).len())
    };
    let mut before = kept();
    client.waits("what the broker keeps", |_| {
        before = kept();
        before.iter().all(|count| *count >= 17)
    });

    tell("the controller's program is restarted");
    drop(running);
    hub.sees_available(false);
    let _running = controller(&address, &url);
    hub.sees_available(true);

    tell("the server is restarted");
    drop(server);
    hub.sees_available(false);
    let _server = place.server(&stick);
    hub.sees_available(true);

    tell("a hub has removed by now what was missing");
    std::thread::sleep(Duration::from_secs(hub_core::limits::HOME_CONFIRM.as_secs() + 10));
    hub.sees_available(true);
    witness.saw_nothing_emptied();
    assert_eq!(kept(), before);
}

fn tell(step: &str) {
    eprintln!("  … {step}");
}

/// Waits until every node has been asked what it is; those who sleep have to be woken for that.
fn interview(client: &mut Client, stick: &mut Stick) {
    client.waits("the network", |client| client.hears("list_devices", json!({})).is_ok());
    // The server asks all at once, and node 15 is among the last.
    for id in ["2-0", "3-0", "4-0", "5-0", "6-0", "7-0", "10-1", "11-0", "12-0", "13-0", "14-0", "16-0"] {
        client.waits(id, |client| client.knows(id));
    }
    for (id, wake) in [("8-0", "wake 8"), ("9-0", "wake 9")] {
        let is_known = |client: &mut Client| client.knows(id);
        client.waits(id, |client| {
            if !is_known(client) {
                stick.happens(wake);
                std::thread::sleep(Duration::from_secs(3));
            }
            is_known(client)
        });
    }
    // It is on another page of the list.
    client.waits("17-0", |client| {
        client.hears("list_devices", json!({})).is_ok_and(|words| words.contains("Remote is idle"))
    });
    client.sees("15-0", "the name of the last", |device| device["name"] == "Wall Controller");
}

fn all_is_listed(client: &mut Client) {
    tell("all is listed, also what is not known");
    let words = client.hears("list_devices", json!({})).expect("a list");
    let expected = "Hall Light is off\nLamp (Kitchen) is off\nLamp (Hall) is off\nFront Door is unlocked\n\
        Thermostat is off, at 21.5 degrees\nNode 7 is at 21.5 degrees, at 44 % humidity, at 120 Lux illuminance\n\
        Stairs Motion is seeing no motion\nRadiator is set to 20 degrees\nPower Strip 1 is off\nPower Strip 2 is off\n\
        Blind is closed\nSiren is off\nWasher Leak is dry\nMood Light is off\n\
        Wall Controller is of a kind that this controller does not know\nGarage Door is closed\n\
        Remote is idle, not pressed yet";
    assert_eq!(words, expected);
    let words = client.hears("list_devices", json!({ "room": "study" })).expect("a list");
    assert_eq!(words, "Power Strip 1 is off\nPower Strip 2 is off\nBlind is closed");
    let words = client.hears("get_battery_levels", json!({})).expect("a list");
    assert_eq!(
        words,
        "Node 7: 9 percent\nStairs Motion: 55 percent\nFront Door: 82 percent\nRemote: 91 percent"
    );
}

fn switching_and_dimming(client: &mut Client) {
    tell("switches, dimmers, sockets, a blind and a siren");
    let control = |client: &mut Client, name: &str, action: &str| client.controls(name, action);
    assert_eq!(control(client, "the hall light", "on"), Ok("Hall Light is now on".into()));
    assert_eq!(control(client, "hall light", "toggle"), Ok("Hall Light is now off".into()));
    let which = "'lamp' could be Lamp (Kitchen), Lamp (Hall); which one?";
    assert_eq!(control(client, "lamp", "on"), Err(which.into()));
    let dim = json!({ "deviceName": "kitchen lamp", "action": "set_level", "level": 40 });
    assert_eq!(client.hears("control_zwave_device", dim), Ok("Lamp is now on at level 40".into()));
    assert_eq!(control(client, "lamp in the hall", "on"), Ok("Lamp is now on".into()));
    assert_eq!(control(client, "10-2", "on"), Ok("Power Strip 2 is now on".into()));
    assert_eq!(client.reads("10-1")["state"]["on"], false, "the other socket");
    assert_eq!(control(client, "blind", "open"), Ok("Blind is now open".into()));
    assert_eq!(control(client, "Siren", "on"), Ok("Siren is now on".into()));
    assert_eq!(control(client, "siren", "off"), Ok("Siren is now off".into()));
    let words = "Wall Controller is of a kind that this controller cannot drive";
    assert_eq!(control(client, "wall controller", "on"), Err(words.into()));
}

fn the_lock(client: &mut Client, stick: &mut Stick) {
    tell("a lock, and its bolt that jams");
    assert_eq!(client.hears("lock_door", json!({ "action": "lock" })), Ok("Front Door is now locked".into()));
    stick.happens("jam 1");
    client.sees("5-0", "the jam", |lock| lock["state"]["jammed"] == true);
    let words = client
        .hears("lock_door", json!({ "deviceName": "Front Door", "action": "unlock" }))
        .expect_err("a jam");
    assert!(words.starts_with("Front Door did not do it: its bolt is stuck. It is locked"), "{words}");
    stick.happens("jam 0");
    client.sees("5-0", "the bolt to be free", |lock| lock["state"].get("jammed").is_none());
}

fn the_garage_door(client: &mut Client, stick: &mut Stick) {
    tell("a garage door that opens, stops on its way, and closes");
    let door = client.reads("16-0");
    assert_eq!(
        (&door["kind"], &door["state"]),
        (&json!("cover"), &json!({ "class": "garage", "position": 0 }))
    );
    let words = "Garage Door is a garage door; it can open or close";
    assert_eq!(client.controls("garage door", "stop"), Err(words.into()));
    assert_eq!(client.controls("Garage Door", "open"), Ok("Garage Door is now open".into()));
    assert_eq!(client.reads("16-0")["state"], json!({ "class": "garage", "position": 99 }));
    stick.happens("blocked 1");
    let words = "Garage Door took the command, but did not do it: it is stopped on its way, open to 40 of 99";
    assert_eq!(client.controls("garage door", "close"), Err(words.into()));
    stick.happens("blocked 0");
    assert_eq!(client.controls("garage door", "close"), Ok("Garage Door is now closed".into()));
}

fn the_thermostat(client: &mut Client, stick: &mut Stick) {
    tell("a setpoint that is taken, one that cannot be, and one that falls back");
    let mut set = |arguments: Value| {
        let mut arguments = arguments;
        arguments["deviceName"] = "thermostat".into();
        client.hears("set_thermostat", arguments)
    };
    let words = "Thermostat is now in mode heat, set to 22.5 degrees, at 21.5 degrees";
    assert_eq!(set(json!({ "mode": "heat", "setpoint": 22.5 })), Ok(words.into()));
    let words = "Thermostat can be set from 5 to 30 °C, not to 50";
    assert_eq!(set(json!({ "setpoint": 50 })), Err(words.into()));
    stick.happens("stubborn 1");
    let words = "Thermostat took the command, but did not do it: it is in mode heat, set to 22.5 degrees, at 21.5 degrees";
    assert_eq!(set(json!({ "setpoint": 25 })), Err(words.into()));
    stick.happens("stubborn 0");
}

fn who_sleeps(client: &mut Client, stick: &mut Stick) {
    tell("a valve that sleeps gets it when it wakes");
    client.sees("9-0", "the valve to sleep", |valve| valve["asleep"] == true);
    let words = client.hears("set_thermostat", json!({ "deviceName": "radiator", "setpoint": 18 }));
    assert_eq!(words, Ok("Radiator is asleep; it will be done when it wakes".into()));
    assert_eq!(client.reads("9-0")["state"]["setpoint"], 20.0);
    stick.happens("wake 9");
    client.sees("9-0", "the valve to wake", |valve| valve["state"]["setpoint"] == 18.0);
}

fn somebody_presses_a_switch(client: &mut Client, stick: &mut Stick) {
    tell("what happens in the house is told at once");
    for (id, happening, state) in [
        ("2-0", "press 2 on", json!({ "on": true })),
        ("2-0", "press 2 off", json!({ "on": false })),
        ("8-0", "motion 1", json!({ "class": "motion", "active": true })),
        ("13-0", "leak 1", json!({ "class": "leak", "active": true })),
        ("16-0", "door 254", json!({ "class": "garage", "moving": true })),
        ("16-0", "door 255", json!({ "class": "garage", "position": 99 })),
        ("17-0", "button 2 3", json!({ "button": 2, "press": "double", "presses": 1 })),
        ("17-0", "button 2 3", json!({ "button": 2, "press": "double", "presses": 2 })),
        ("17-0", "button 4 2", json!({ "button": 4, "press": "hold", "presses": 3 })),
        ("17-0", "button 4 1", json!({ "button": 4, "press": "release", "presses": 4 })),
        ("7-0", "temperature 23.5", json!({ "temperature": 23.5, "humidity": 44, "illuminance": 120 })),
    ] {
        client.watches(id);
        client.forgets();
        stick.happens(happening);
        client.is_told_of(id);
        assert_eq!(client.reads(id)["state"], state, "{happening}");
    }
    let remote = client.reads("17-0");
    assert_eq!((&remote["kind"], &remote["buttons"]), (&json!("button"), &json!(4)));
}

fn a_node_dies_and_returns(client: &mut Client, stick: &mut Stick) {
    tell("a node dies, and returns");
    stick.happens("dead 2");
    let words = "Hall Light (node 2) does not answer; it is marked as dead. Check its power";
    assert_eq!(client.controls("hall light", "on"), Err(words.into()));
    client.sees("2-0", "its death", |device| device["available"] == false);
    let pinged = client.hears("ping_node", json!({ "nodeId": 2 }));
    assert_eq!(pinged, Err("Node 2 (Hall Light) does not answer".into()));
    stick.happens("alive 2");
    assert_eq!(client.controls("hall light", "on"), Ok("Hall Light is now on".into()));
    assert_eq!(client.reads("2-0")["available"], true);
}

fn groups_and_scenes(client: &mut Client, stick: &mut Stick) {
    tell("groups and scenes, and what they do not do");
    let words = client.controls("downstairs", "on");
    assert_eq!(words, Ok("Hall Light is now on\nLamp is now on".into()));
    let group = client.reads("group-downstairs");
    assert_eq!((&group["kind"], &group["members"]), (&json!("group"), &json!(["2-0", "4-0"])));
    let off = group["actions"]["off"]["arguments"].clone();
    let words = client.hears("control_zwave_device", off);
    assert_eq!(words, Ok("Hall Light is now off\nLamp is now off".into()));
    let words = "Siren is in the group Everything; Siren is switched on only when 'deviceName' is exactly \"Siren\". Nothing was done";
    assert_eq!(client.controls("everything", "on"), Err(words.into()));
    stick.happens("door 0");
    let words = "Garage Door is in the scene Coming; Garage Door is opened only when 'deviceName' is exactly \"Garage Door\". Nothing was done";
    assert_eq!(client.hears("activate_scene", json!({ "sceneName": "coming" })), Err(words.into()));
    assert_eq!(client.reads("2-0")["state"]["on"], false, "something was done");
    stick.happens("door 255");
    let words = client.hears("activate_scene", json!({ "sceneName": "leaving" }));
    assert_eq!(words, Ok("Leaving is set: dark and locked".into()));
    assert_eq!(client.reads("4-0")["state"]["on"], false);
    assert_eq!(client.reads("16-0")["state"]["position"], 0);
    assert_eq!(client.reads("scene-leaving")["actions"]["activate"]["tool"], "activate_scene");
}

fn a_client_by_other_hands(url: &str, stick: &mut Stick) {
    tell("a client on another SDK, over a pipe");
    let python = std::env::var("HEARTHWAVE_PYTHON").expect("HEARTHWAVE_PYTHON is a Python with the MCP SDK");
    let mut command = Command::new(python);
    command.args(["-W", "ignore", "tests/zwave_js/client.py", &zwave(), "--zwave-js", url]);
    command.current_dir(env!("CARGO_MANIFEST_DIR")).stdin(Stdio::null()).stdout(Stdio::piped());
    let mut child = command.spawn().expect("Python runs");
    let lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    let mut said = Vec::new();
    for line in lines.map_while(Result::ok) {
        let step: Value = serde_json::from_str(&line).expect("JSON");
        if step.get("watching").is_some() {
            stick.happens("press 2 on");
        }
        said.push(step);
    }
    assert!(child.wait().expect("its end").success(), "{said:?}");
    assert_eq!(said[0], json!({ "server": "zwave-js", "subscribe": true, "list_changed": true }));
    assert_eq!(said[1], json!({ "tools": 9, "dangerous": ["lock_door"] }));
    assert_eq!(said[2]["resources"].as_array().map(Vec::len), Some(17), "{}", said[2]);
    assert_eq!(said[4]["read"]["state"]["on"], true, "{}", said[4]);
    assert_eq!(said[5], json!({ "off": "Hall Light is now off", "failed": false }));
}

fn is_back(client: &mut Client) {
    client.waits("the network to be back", |client| client.hears("list_devices", json!({})).is_ok());
    client.waits("a device to answer", |client| {
        client.controls("hall light", "on") == Ok("Hall Light is now on".into())
    });
    assert_eq!(client.reads("2-0")["available"], true);
}
