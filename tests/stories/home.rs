//! The devices that the controller offers: what the hub knows of them, tells of them and does with them.

use host_zwave::{Fault, Home};
use world::model::{calls, stop};
use world::prelude::*;

use crate::memory::offer;

/// A hub with a simulated home, whose devices are known.
pub(crate) fn at_home(tell: impl AsyncFnOnce(&World, &Home, &mut Client)) {
    let home = Home::fast(7);
    Setup::new().home(&home).story(async |world| {
        let mut ann = world.person("ann").await;
        knows_devices(&mut ann).await;
        tell(world, &home, &mut ann).await;
    });
}

/// Waits until `info` tells of devices. Returns how many there are.
pub(crate) async fn knows_devices(person: &mut Client) -> u64 {
    loop {
        let info = person.hears("info").await.json();
        if let Some(count @ 1..) = info["devices"].as_u64() {
            return count;
        }
    }
}

/// Waits until a device is so.
async fn sees(person: &mut Client, id: &str, is_so: impl Fn(&Value) -> bool) -> Value {
    loop {
        let message = person.hears(&format!("device/{id}")).await;
        if message.payload.is_empty() {
            continue;
        }
        let device = message.json();
        if is_so(&device) {
            return device;
        }
    }
}

#[test]
fn every_device_is_published_and_listed() {
    at_home(async |world, home, ann| {
        let listed = ann.asks_for_all("device/list", "devices", json!({})).await;
        let names: Vec<_> = listed.iter().map(|device| device["name"].clone()).collect();
        for device in home.devices() {
            assert!(names.contains(&device.name.into()), "{} is not among {names:?}", device.name);
        }
        let mut late = world.client("late", &["hearthwave/story/device/#"]).await;
        let mut kept = std::collections::BTreeMap::new();
        for _ in 0..listed.len() {
            let message = late.next(Duration::from_secs(5)).await.expect("a retained state");
            assert!(message.retained, "{}", message.topic);
            kept.insert(message.topic.rsplit('/').next().expect("an id").to_owned(), message.json());
        }
        for device in &listed {
            assert_eq!(kept[device["id"].as_str().expect("an id")], *device);
        }
        let hall = &kept["10-0"];
        assert_eq!(
            *hall,
            json!({ "id": "10-0", "name": "Hall Light", "room": "Hall", "kind": "light",
                    "state": { "on": true, "level": 30 }, "available": true })
        );
        assert_eq!((&kept["18-0"]["available"], &kept["12-0"]["battery"]), (&json!(false), &json!(72)));
        assert_eq!(kept["scene-good-night"]["kind"], "scene");
        let hall = ann.asks_for_all("device/list", "devices", json!({ "room": "the HALL" })).await;
        assert!(hall.len() == 5 && hall.iter().all(|device| device["room"] == "Hall"), "{hall:?}");
    });
}

#[test]
fn somebody_presses_the_switch_on_the_wall_and_the_broker_is_told() {
    at_home(async |_, home, ann| {
        let start = Instant::now();
        home.press("Kitchen Light");
        sees(ann, "7-0", |device| device["state"]["on"] == true).await;
        assert!(start.elapsed() < Duration::from_secs(1), "{:?}", start.elapsed());
        home.set_alive("Kitchen Light", false);
        sees(ann, "7-0", |device| device["available"] == false).await;
        home.set_alive("Kitchen Light", true);
        sees(ann, "7-0", |device| device["available"] == true).await;
        assert_eq!(home.record().calls(), [], "nothing was polled by a tool");
    });
}

#[test]
fn a_device_is_set_by_id_or_name_as_people_say_it() {
    at_home(async |_, home, ann| {
        for (device, action, value, stands) in [
            ("7-0", "on", Value::Null, ("Kitchen Light", "on")),
            ("the kitchen light", "off", Value::Null, ("Kitchen Light", "off")),
            ("light in the hall", "level", json!(60), ("Hall Light", "on at level 60")),
            ("coffee", "on", Value::Null, ("Coffee Machine", "on")),
            ("Front Door", "unlock", Value::Null, ("Front Door", "unlocked")),
            ("porch awning", "position", json!(20), ("Porch Awning", "open to 20 of 99")),
            ("Living Room Thermostat", "setpoint", json!(22.5), ("Living Room Thermostat", "22.5 degrees")),
        ] {
            let request = json!({ "device": device, "action": action, "value": value, "transaction": 3 });
            let reply = ann.asks("device/set", request).await;
            assert_eq!((&reply["success"], &reply["transaction"]), (&json!(true), &json!(3)), "{reply}");
            let (name, state) = stands;
            let now = home.device(name).expect(name).state.to_string();
            assert!(now.contains(state), "{name}: {now}");
        }
        let event = ann.hears("event/tool").await.json();
        assert_eq!(event["name"], "set_thermostat", "it went through the executor: {event}");
        for (request, error_type, words) in [
            (json!({ "device": "kitchen light", "action": "dim" }), "invalid_parameters", "one of: off, on"),
            (
                json!({ "device": "nothing", "action": "on" }),
                "not_found",
                "No device is called 'nothing'; device/list names them",
            ),
            (
                json!({ "device": "halll lihgt", "action": "on" }),
                "not_found",
                "No device is called 'halll lihgt'. The nearest names are: Front Door",
            ),
            (
                json!({ "device": "front", "action": "lock" }),
                "ambiguous",
                "Front Door, Front Door Contact; which one?",
            ),
            (json!({ "device": "hall light", "action": "level" }), "invalid_parameters", "is missing"),
            (json!({ "device": "hall light", "action": "level", "value": 140 }), "invalid_parameters", "99"),
            (
                json!({ "device": "hall light", "action": "on", "value": 1 }),
                "invalid_parameters",
                "not taken",
            ),
            (json!({ "device": 7, "action": "on" }), "invalid_request", "'device' must be a string"),
            (json!({ "device": "hall light" }), "invalid_request", "'action' must be a string"),
            (json!({ "device": "hall motion", "action": "on" }), "invalid_parameters", "Nothing can be done"),
        ] {
            let reply = ann.asks("device/set", request.clone()).await;
            assert_refused(&reply, error_type, words);
        }
    });
}

#[test]
fn what_left_while_the_hub_was_away_is_cleared() {
    let home = Home::fast(7);
    Setup::new().home(&home).story(async |world| {
        let mut other = world.client("other", &[]).await;
        other.publish(
            Publish::new("hearthwave/story/device/99-0", r#"{"name":"Old","available":true}"#).retained(),
        );
        let mut ann = world.person("ann").await;
        let start = Instant::now();
        assert_eq!(ann.hears("device/99-0").await.json()["name"], "Old");
        // As soon as all devices have been read, nobody takes it for available.
        let old = ann.hears("device/99-0").await.json();
        assert_eq!((&old["name"], &old["available"]), (&json!("Old"), &json!(false)));
        assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
        assert_eq!(ann.hears("device/99-0").await.payload, b"");
        assert!(start.elapsed() > Duration::from_secs(50), "a second list confirmed that it is gone");
        let mut late = world.client("late", &["hearthwave/story/device/99-0"]).await;
        assert!(late.next(Duration::from_secs(5)).await.is_none(), "it is gone");
        drop(other.next(Duration::from_millis(1)).await);
    });
}

#[test]
fn without_its_controller_no_device_is_available_and_all_come_back() {
    at_home(async |world, home, ann| {
        home.faults().unplug();
        sees(ann, "7-0", |device| device["available"] == false).await;
        let reply = ann.asks("device/set", json!({ "device": "7-0", "action": "on" })).await;
        assert_refused(&reply, "unavailable", "nothing was sent to the device");
        assert_refused(&ann.uses("home_status", json!({})).await, "unavailable", "");
        home.press("Kitchen Light");
        home.faults().plug();
        sees(ann, "7-0", |device| device["available"] == true && device["state"]["on"] == true).await;
        // A hub that starts again publishes no device before it knows, and says that all states are old.
        home.faults().unplug();
        sees(ann, "7-0", |device| device["available"] == false).await;
        world.restarts_the_hub().await;
        assert_eq!(ann.hears("home").await.payload, b"offline");
        ann.sees_online().await;
        sleep(Duration::from_secs(60)).await;
        home.faults().plug();
        let device = ann.hears("device/7-0").await.json();
        assert_eq!((&device["available"], &device["name"]), (&json!(true), &json!("Kitchen Light")));
    });
}

#[test]
fn a_controller_without_resources_works_as_before() {
    story(async |world| {
        let (mut controller, mut ann) = world.connected().await;
        let listed = ann.asks("device/list", json!({})).await;
        assert_eq!((&listed["success"], &listed["devices"]), (&json!(true), &json!([])));
        let reply = ann.asks("device/set", json!({ "device": "Switch One", "action": "on" })).await;
        assert_refused(&reply, "unavailable", "offers no devices");
        ann.calls("control_zwave_device", json!({ "deviceName": "Switch One", "action": "on" }));
        controller.serves("on").await;
        assert_eq!(ann.result().await["result"], "on");
    });
}

#[test]
fn the_status_of_the_home_is_told_without_asking_it() {
    at_home(async |_, home, ann| {
        home.press("Front Door");
        sees(ann, "12-0", |device| device["state"]["locked"] == false).await;
        let reply = ann.uses("home_status", json!({})).await;
        assert_eq!(
            reply["result"],
            json!({ "unlocked": ["Front Door"], "open": ["Porch Awning"], "on": ["Floor Lamp", "Hall Light"],
                    "active": ["Porch Motion"], "low_battery": ["Bedroom Temperature"], "dead": ["Garden Pump"] })
        );
        assert_contains(
            &reply["message"],
            "Unlocked: Front Door. Open: Porch Awning. On: Floor Lamp, Hall Light.",
        );
        let reply = ann.uses("home_status", json!({ "room": "bedroom" })).await;
        assert_eq!(reply["result"], json!({ "low_battery": ["Bedroom Temperature"] }));
        assert_refused(&ann.uses("home_status", json!({ "room": "cellar" })).await, "not_found", "'cellar'");
        assert_eq!(home.record().calls(), []);
    });
}

#[test]
fn the_last_change_is_undone_unless_it_changed_since() {
    at_home(async |_, home, ann| {
        assert_refused(&ann.uses("undo", json!({})).await, "execution_error", "nothing to undo");
        let mut done = 0;
        for (device, action, value, before) in [
            ("Kitchen Light", "on", Value::Null, "off"),
            ("Hall Light", "level", json!(80), "on at level 30"),
            ("Hall Light", "off", Value::Null, "on at level 30"),
            ("Front Door", "unlock", Value::Null, "locked"),
            ("Porch Awning", "close", Value::Null, "open"),
            ("Living Room Thermostat", "setpoint", json!(25), "in mode heat, set to 20.5 degrees"),
        ] {
            let stands = || home.device(device).expect(device).state.to_string();
            assert!(stands().starts_with(before), "{device} {}", stands());
            let request = json!({ "device": device, "action": action, "value": value });
            assert_eq!(ann.asks("device/set", request).await["success"], true);
            assert!(!stands().starts_with(before), "{device} {}", stands());
            sleep(Duration::from_secs(2)).await;
            let reply = ann.uses("undo", json!({})).await;
            assert_eq!(
                (&reply["success"], &reply["result"]["name"]),
                (&json!(true), &json!(device)),
                "{reply}"
            );
            done += 1;
            assert_logged_times(done, "TRACE Tool undo completed successfully");
            assert!(stands().starts_with(before), "{device} {}", stands());
            sleep(Duration::from_secs(2)).await;
        }
        // A tool that a model or a person calls counts, too; what somebody presses does not.
        ann.uses("control_zwave_device", json!({ "device_name": "kitchen light", "command": "on" })).await;
        sleep(Duration::from_secs(20)).await;
        home.press("Kitchen Light");
        sleep(Duration::from_secs(1)).await;
        let reply = ann.uses("undo", json!({})).await;
        assert_refused(
            &reply,
            "execution_error",
            "It has changed since, so I leave it: Kitchen Light is off",
        );
        ann.uses("activate_scene", json!({ "sceneName": "Good Night" })).await;
        assert_refused(&ann.uses("undo", json!({})).await, "execution_error", "not for a single device");
    });
}

#[test]
fn two_changes_are_undone_one_after_the_other() {
    at_home(async |_, home, ann| {
        for device in ["Kitchen Light", "Coffee Machine"] {
            ann.asks("device/set", json!({ "device": device, "action": "on" })).await;
            sleep(Duration::from_secs(2)).await;
        }
        for device in ["Coffee Machine", "Kitchen Light"] {
            assert_eq!(ann.uses("undo", json!({})).await["result"]["name"], device);
            assert_eq!(home.device(device).expect(device).state.to_string(), "off");
        }
        assert_refused(&ann.uses("undo", json!({})).await, "execution_error", "nothing to undo");
    });
}

#[test]
fn an_answer_that_is_lost_is_followed_by_a_second_look_and_never_by_a_second_command() {
    at_home(async |_, home, ann| {
        home.faults().on(Fault::Silence);
        ann.calls("control_zwave_device", json!({ "deviceName": "kitchen light", "action": "on" }));
        sleep(Duration::from_secs(29)).await;
        home.faults().clear();
        let reply = ann.result().await;
        assert_refused(&reply, "timeout", "whether it was done is unknown");
        assert_eq!(reply["message"], "The controller did not answer, but Kitchen Light is on.");
        assert_eq!(home.record().calls().len(), 1);
    });
}

#[test]
fn a_controller_that_restarts_in_the_middle_is_asked_what_became_of_it() {
    at_home(async |world, home, ann| {
        let mut model = world.model().await;
        ann.says(json!({ "text": "Turn on the coffee machine" }));
        home.faults().on(Fault::Silence);
        let on = json!({ "deviceName": "coffee machine", "action": "on" });
        model.serves(calls(&[("control_zwave_device", on)])).await;
        sleep(Duration::from_secs(3)).await;
        home.faults().clear();
        home.faults().restart();
        let question = model.serves(stop("It is on.")).await.json();
        let text = question.to_string();
        assert!(text.contains("The controller did not answer, but Coffee Machine is on."), "{text}");
        assert!(text.contains("Do not repeat the call."), "{text}");
        assert_eq!(ann.reply().await["content"], "It is on.");
        assert_eq!(home.record().calls().len(), 1);
    });
}

/// A light that is on.
fn lamp() -> Value {
    described("lamp", &json!({ "name": "Lamp", "room": "Hall", "kind": "switch", "state": { "on": true } }))
}

/// In the first seconds, `home_status` waits for the controller and its devices.
#[test]
fn home_status_waits_for_devices_that_are_being_read() {
    // The controller starts late and at first cannot list its devices.
    story(async |world| {
        let mut ann = world.person("ann").await;
        ann.calls("home_status", json!({}));
        sleep(Duration::from_secs(3)).await;
        let resources = json!({ "subscribe": true, "listChanged": true });
        let mut stranger = Stranger::greets(world, resources, vec![lamp()]).await;
        stranger.list_fault = Some(ListFault::Error(-32603));
        stranger.serves_for(Duration::from_secs(4)).await;
        ann.calls("home_status", json!({}));
        stranger.list_fault = None;
        stranger.serves_for(Duration::from_secs(8)).await;
        for _ in 0..2 {
            let reply = ann.result().await;
            assert_eq!(reply["result"], json!({ "on": ["Lamp"] }), "{reply}");
        }
    });
    // If no controller comes, or its list keeps failing, people soon get an error.
    story(async |world| {
        let start = Instant::now();
        let mut ann = world.person("ann").await;
        let reply = ann.uses("home_status", json!({})).await;
        assert_refused(&reply, "unavailable", "The controller is not connected");
        assert_eq!(start.elapsed().as_secs(), 8, "it is known to be missing");
        assert_refused(&ann.uses("home_status", json!({})).await, "unavailable", "not connected");
        assert_eq!(start.elapsed().as_secs(), 8);
    });
    story(async |world| {
        let mut ann = world.person("ann").await;
        let resources = json!({ "subscribe": true, "listChanged": true });
        let mut stranger = Stranger::greets(world, resources, vec![lamp()]).await;
        stranger.list_fault = Some(ListFault::Error(-32603));
        for (wait, most) in [(0, 16), (120, 1)] {
            stranger.serves_for(Duration::from_secs(wait)).await;
            ann.calls("home_status", json!({}));
            let asked = Instant::now();
            let reply = tokio::select! {
                reply = ann.result() => reply,
                () = stranger.serves_for(Duration::from_secs(30)) => panic!("no answer"),
            };
            assert_refused(&reply, "unavailable", "could not list its devices");
            assert!(asked.elapsed() < Duration::from_secs(most), "{:?}", asked.elapsed());
        }
    });
}

/// A controller by other hands, played: it offers resources as it likes.
pub(crate) struct Stranger {
    pub(crate) controller: Controller,
    pub(crate) devices: Vec<Value>,
    pub(crate) reads: usize,
    pub(crate) subscriptions: usize,
    /// How often it was asked for its list.
    pub(crate) lists: usize,
    /// What it does when it is asked for its list, instead of answering.
    pub(crate) list_fault: Option<ListFault>,
    /// The ids of devices that it cannot read.
    pub(crate) unreadable: Vec<String>,
    /// The controller's answer if it is asked again for its tools.
    pub(crate) tools: Value,
    /// From this list on, its devices come in reverse order.
    pub(crate) reversed_from: usize,
    /// The calls of its tools that it has answered.
    pub(crate) calls: Vec<Value>,
    /// How a call changes its devices.
    pub(crate) obeys: fn(&Value, &mut [Value]),
}

/// What can be wrong with a list.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ListFault {
    /// It is an error with this code.
    Error(i64),
    /// It has only so many devices, and says that these are all.
    Short(usize),
    /// The first page has so many devices, and the second one is an error.
    Broken(usize),
}

impl Stranger {
    /// Greets the hub. `resources` is what it says of its resources.
    pub(crate) async fn greets(world: &World, resources: Value, devices: Vec<Value>) -> Self {
        let mut this = Self {
            controller: world.controller(),
            devices,
            reads: 0,
            subscriptions: 0,
            lists: 0,
            list_fault: None,
            unreadable: vec![],
            tools: zwave_tools(),
            reversed_from: usize::MAX,
            calls: vec![],
            obeys: |_, _| (),
        };
        this.greets_again(resources).await;
        this
    }

    /// Greets the hub after a restart.
    pub(crate) async fn greets_again(&mut self, resources: Value) {
        let controller = &mut self.controller;
        let hello = controller.hears_of("initialize").await;
        let mut about = about_it(&hello["params"]["protocolVersion"]);
        about["capabilities"]["resources"] = resources;
        controller.answers(&hello, about).await;
        controller.lists(zwave_tools()).await;
    }

    /// Answers whatever the hub asks for as long as `time`, all resources in one page.
    pub(crate) async fn serves_for(&mut self, time: Duration) {
        let end = Instant::now() + time;
        while let Ok(request) = tokio::time::timeout_at(end, self.controller.hears()).await {
            let uri = request["params"]["uri"].as_str().unwrap_or_default().to_owned();
            let is_readable = !self.unreadable.iter().any(|id| uri.ends_with(&format!("/{id}")));
            let device = self.devices.iter().find(|device| is_readable && uri == device["uri"]).cloned();
            match request["method"].as_str() {
                Some("resources/list") => {
                    self.lists += 1;
                    assert!(self.lists < 1000, "lists without end");
                    let is_first = request["params"]["cursor"].is_null();
                    let (count, next) = match self.list_fault {
                        Some(ListFault::Error(code)) => {
                            self.controller.refuses(&request, code, "not ready", Value::Null).await;
                            continue;
                        }
                        Some(ListFault::Broken(_)) if !is_first => {
                            self.controller.refuses(&request, -32602, "Unknown cursor", Value::Null).await;
                            continue;
                        }
                        Some(ListFault::Broken(count)) => (count, json!("more")),
                        Some(ListFault::Short(count)) => (count, Value::Null),
                        None => (self.devices.len(), Value::Null),
                    };
                    let others = [json!({ "uri": "file:///notes.txt", "name": "notes" }), json!(7)];
                    let listed = self
                        .devices
                        .iter()
                        .take(count)
                        .map(|device| json!({ "uri": device["uri"], "name": name_in(device) }));
                    let mut resources: Vec<_> = others.into_iter().chain(listed).collect();
                    if self.lists >= self.reversed_from {
                        resources.reverse();
                    }
                    let mut list = json!({ "resources": resources });
                    if !next.is_null() {
                        list["nextCursor"] = next;
                    }
                    self.controller.answers(&request, list).await;
                }
                Some("resources/read") => {
                    self.reads += 1;
                    match device {
                        Some(device) => {
                            let text = device["text"].as_str().expect("text");
                            let contents =
                                json!([{ "uri": uri, "mimeType": "application/json", "text": text }]);
                            self.controller.answers(&request, json!({ "contents": contents })).await;
                        }
                        None => {
                            self.controller.refuses(&request, -32002, "Resource not found", Value::Null).await
                        }
                    }
                }
                Some("tools/list") => {
                    self.controller.answers(&request, json!({ "tools": self.tools })).await;
                }
                Some("resources/subscribe") => {
                    self.subscriptions += 1;
                    self.controller.answers(&request, json!({})).await;
                }
                Some("ping") => self.controller.answers(&request, json!({})).await,
                Some("tools/call") => {
                    self.calls.push(request["params"].clone());
                    (self.obeys)(&request["params"]["arguments"], &mut self.devices);
                    self.controller.replies(&request, "done").await;
                }
                _ => {}
            }
        }
    }
}

/// The name of a device, or another one if it has none.
fn name_in(device: &Value) -> String {
    let text = device["text"].as_str().unwrap_or_default();
    let device: Value = serde_json::from_str(text).unwrap_or_default();
    device["name"].as_str().unwrap_or("one of many").chars().take(60).collect()
}

pub(crate) fn described(id: &str, device: &Value) -> Value {
    let text = serde_json::to_string_pretty(device).expect("JSON");
    json!({ "uri": format!("home://devices/{id}"), "text": text })
}

#[test]
fn a_controller_that_notifies_of_nothing_is_asked_now_and_then() {
    story(async |world| {
        let mut ann = world.person("ann").await;
        let lamp = |is_on: bool| {
            described("lamp", &json!({ "name": "Lämp \"1\"", "kind": "light", "state": { "on": is_on } }))
        };
        let fridge = described(
            "fridge",
            &json!({ "name": "Fridge", "kind": "freezer", "state": { "cold": true, "door": null } }),
        );
        let mut stranger = Stranger::greets(world, json!({}), vec![lamp(false), fridge]).await;
        stranger.serves_for(Duration::from_secs(5)).await;
        let listed = ann.asks_for_all("device/list", "devices", json!({})).await;
        assert_eq!(
            listed,
            [
                json!({ "id": "lamp", "name": "Lämp \"1\"", "room": "", "kind": "light", "state": { "on": false }, "available": true }),
                json!({ "id": "fridge", "name": "Fridge", "room": "", "kind": "freezer",
                        "state": { "cold": true, "door": null }, "available": true }),
            ]
        );
        stranger.devices[0] = lamp(true);
        stranger.serves_for(Duration::from_secs(70)).await;
        let listed = ann.asks_for_all("device/list", "devices", json!({})).await;
        assert_eq!(listed[0]["state"]["on"], true);
        assert_eq!(stranger.subscriptions, 0);
        assert!(stranger.reads <= 2 * 4, "{} reads", stranger.reads);
    });
}

#[test]
fn a_device_that_leaves_is_cleared_and_one_that_comes_is_read() {
    story(async |world| {
        let mut ann = world.person("ann").await;
        let device =
            |id: &str| described(id, &json!({ "name": id, "kind": "switch", "state": { "on": true } }));
        let offer = json!({ "subscribe": true, "listChanged": true });
        let mut stranger = Stranger::greets(world, offer, vec![device("one"), device("two")]).await;
        stranger.serves_for(Duration::from_secs(5)).await;
        sees(&mut ann, "one", |device| device["available"] == true).await;
        stranger.devices = vec![device("two"), device("three")];
        stranger.controller.notifies("resources/list_changed", json!({})).await;
        stranger.serves_for(Duration::from_secs(5)).await;
        sees(&mut ann, "one", |device| device["available"] == false && device["name"] == "one").await;
        sees(&mut ann, "three", |device| device["available"] == true).await;
        assert_eq!(stranger.subscriptions, 3);
        // A second list confirms it.
        stranger.serves_for(Duration::from_secs(61)).await;
        assert_eq!(ann.hears("device/one").await.payload, b"");
        // What the hub does not know is no news.
        stranger.controller.notifies("resources/updated", json!({ "uri": "home://devices/nobody" })).await;
        stranger.controller.notifies("resources/updated", json!({ "uri": 7 })).await;
        stranger.controller.notifies("resources/updated", json!({})).await;
        let reads = stranger.reads;
        stranger.serves_for(Duration::from_secs(60)).await;
        assert_eq!(stranger.reads, reads, "it was not asked again");
    });
}

#[test]
fn a_list_that_changes_while_it_is_received_is_received_again() {
    story(async |world| {
        let mut ann = world.person("ann").await;
        let device = |id: &str| described(id, &json!({ "name": id, "kind": "switch", "state": {} }));
        let offer = json!({ "subscribe": true, "listChanged": true });
        let mut stranger = Stranger::greets(world, offer, vec![device("one")]).await;
        let list = stranger.controller.hears_of("resources/list").await;
        stranger.controller.notifies("resources/list_changed", json!({})).await;
        stranger.controller.answers(&list, json!({ "resources": [{ "uri": "home://devices/one" }] })).await;
        stranger.devices.push(device("two"));
        stranger.serves_for(Duration::from_secs(5)).await;
        let listed = ann.asks_for_all("device/list", "devices", json!({})).await;
        assert_eq!(listed.len(), 2, "{listed:?}");
    });
}

#[test]
fn a_device_that_is_never_described_keeps_no_other_from_being_known() {
    story(async |world| {
        let mut ann = world.person("ann").await;
        let device =
            |id: &str| described(id, &json!({ "name": id, "kind": "switch", "state": { "on": true } }));
        let mut stranger = Stranger::greets(world, json!({}), vec![device("mute"), device("two")]).await;
        let list = stranger.controller.hears_of("resources/list").await;
        let resources = json!([{ "uri": "home://devices/mute" }, { "uri": "home://devices/two" }]);
        stranger.controller.answers(&list, json!({ "resources": resources })).await;
        // It hears the question about the first, and says nothing.
        let first = stranger.controller.hears_of("resources/read").await;
        let is_mute = first["params"]["uri"] == "home://devices/mute";
        stranger.serves_for(Duration::from_secs(31)).await;
        let listed = ann.asks_for_all("device/list", "devices", json!({})).await;
        let (mute, other) = if is_mute { (0, 1) } else { (1, 0) };
        assert_eq!(listed[other]["available"], true, "{listed:?}");
        assert_eq!(listed[mute]["available"], false, "{listed:?}");
        // It is asked again, and tells.
        stranger.serves_for(Duration::from_secs(40)).await;
        let listed = ann.asks_for_all("device/list", "devices", json!({})).await;
        assert_eq!(listed[mute]["available"], true, "{listed:?}");
    });
}

#[test]
fn hostile_resources_cost_nothing_but_themselves() {
    story(async |world| {
        let mut ann = world.person("ann").await;
        let raw = |id: &str, text: &str| json!({ "uri": format!("home://devices/{id}"), "text": text });
        let good = json!({ "name": "Good", "kind": "switch", "state": { "on": true } });
        let devices = vec![
            raw("empty", ""),
            raw("half", "{\"name\":\"Half\""),
            raw("list", "[]"),
            raw("long", &json!({ "name": "x".repeat(20_000) }).to_string()),
            raw("a/b", "{}"),
            raw("#", "{}"),
            raw(&"y".repeat(200), "{}"),
            raw("state", &json!({ "name": "Big", "state": { "x": "z".repeat(400) } }).to_string()),
            raw(
                "name",
                &json!({ "name": "n".repeat(300), "room": "\u{0}\n", "kind": "switch", "state": {} })
                    .to_string(),
            ),
            described("good", &good),
            described("good", &good),
        ];
        let mut stranger = Stranger::greets(world, json!({ "subscribe": true }), devices).await;
        stranger.serves_for(Duration::from_secs(10)).await;
        let listed = ann.asks_for_all("device/list", "devices", json!({})).await;
        let about =
            |id: &str| listed.iter().find(|device| device["id"] == id).unwrap_or(&Value::Null).clone();
        assert_eq!(about("good")["available"], true);
        assert_eq!(
            (about("empty")["available"].clone(), about("long")["available"].clone()),
            (json!(false), json!(false))
        );
        assert_eq!(about("state")["state"], json!({}), "too long to keep");
        assert!(about("name")["name"].as_str().is_some_and(|name| name.len() <= 64 && name.ends_with('…')));
        assert_eq!(listed.len(), 7, "{listed:?}");
        ann.gets_an_echo().await;
    });
}

#[test]
fn more_devices_than_fit_are_counted_and_can_be_used_by_name() {
    story(async |world| {
        let mut ann = world.person("ann").await;
        let mut model = world.model().await;
        let device = |number: usize| {
            let name = format!("Device {number}");
            described(
                &format!("d{number}"),
                &json!({ "name": name, "kind": "switch", "state": { "on": false } }),
            )
        };
        let devices = (0..80).map(device).collect();
        let mut stranger = Stranger::greets(world, json!({ "subscribe": true }), devices).await;
        stranger.serves_for(Duration::from_secs(10)).await;
        let info = loop {
            let info = ann.hears("info").await.json();
            if info["devices"] == 64 {
                break info;
            }
        };
        assert_eq!(info["devices_left_out"], 16);
        assert_eq!(ann.asks("device/list", json!({ "after": "d60" })).await["left_out"], 16);
        for name in ["Device 3", "Device 77"] {
            ann.says(json!({ "text": "Switch it on" }));
            let on = json!({ "deviceName": name, "action": "on" });
            model.serves(calls(&[("control_zwave_device", on)])).await;
            stranger.controller.serves("done").await;
            model.serves(stop("Done.")).await;
            assert_eq!(ann.reply().await["content"], "Done.");
        }
    });
}

#[test]
fn a_command_that_is_lost_before_a_device_wakes_is_reported_once() {
    story(async |world| {
        let mut ann = world.client("ann", &["hearthwave/story/log"]).await;
        let radiator = |news: &str| {
            let mut device =
                json!({ "name": "Bedroom Radiator", "kind": "climate", "state": { "setpoint": 17 } });
            device[news] = true.into();
            described("9-0", &device)
        };
        let mut stranger =
            Stranger::greets(world, json!({ "subscribe": true }), vec![radiator("pending")]).await;
        stranger.serves_for(Duration::from_secs(5)).await;
        while ann.next(Duration::from_millis(1)).await.is_some() {}
        let words = "The command to Bedroom Radiator was lost before the device woke up. Send it again.";
        for (news, expected) in
            [("lost", Some(words)), ("lost", None), ("asleep", None), ("lost", Some(words))]
        {
            stranger.devices = vec![radiator(news)];
            let uri = stranger.devices[0]["uri"].clone();
            stranger.controller.notifies("resources/updated", json!({ "uri": uri })).await;
            stranger.serves_for(Duration::from_secs(5)).await;
            let told = ann.next(Duration::from_millis(1)).await.map(|message| message.json());
            let told = told.as_ref().and_then(|notice| notice["text"].as_str());
            assert_eq!(told, expected, "{news}");
        }
    });
}

/// The controller's program and the network restart together, and neither knows of the command any more.
#[test]
fn a_command_that_nobody_remembers_is_reported() {
    story(async |world| {
        let mut people = world.client("people", &["hearthwave/story/log"]).await;
        let mut ann = world.person("ann").await;
        let radiator = |is_pending: bool| {
            let mut device =
                json!({ "name": "Bedroom Radiator", "kind": "climate", "state": { "setpoint": 17 } });
            device["actions"] = json!({ "setpoint": {
                "tool": "control_zwave_device", "arguments": { "deviceName": "Bedroom Radiator", "action": "on" },
                "value": { "argument": "level", "type": "integer" } } });
            if is_pending {
                device["pending"] = true.into();
            }
            vec![described("9-0", &device)]
        };
        let offer = json!({ "subscribe": true });
        let mut stranger = Stranger::greets(world, offer.clone(), radiator(false)).await;
        stranger.serves_for(Duration::from_secs(5)).await;
        ann.calls(
            "control_zwave_device",
            json!({ "deviceName": "Bedroom Radiator", "action": "on", "level": 21 }),
        );
        let call = stranger.controller.hears_call().await;
        stranger.devices = radiator(true);
        stranger.controller.notifies("resources/updated", json!({ "uri": "home://devices/9-0" })).await;
        stranger.serves_for(Duration::from_secs(1)).await;
        stranger.controller.replies(&call, "It will be done when it wakes.").await;
        ann.result().await;
        stranger.serves_for(Duration::from_secs(60)).await;
        while people.next(Duration::from_millis(1)).await.is_some() {}
        stranger.controller.forgets_the_handshake(&mut ann, "list_devices").await;
        stranger.devices = radiator(false);
        stranger.greets_again(offer).await;
        stranger.serves_for(Duration::from_secs(10)).await;
        let mut told = Vec::new();
        while let Some(message) = people.next(Duration::from_millis(1)).await {
            told.push(message.json()["text"].clone());
        }
        let words = "The command to Bedroom Radiator was lost before the device woke up. Send it again.";
        assert!(told.iter().any(|text| text == words), "{told:?}");
    });
}

/// A light with this level and colour.
fn color_lamp(level: u8, color: &str) -> Value {
    let action = |name: &str, value: Value| {
        let arguments = json!({ "deviceName": "Strip", "action": "on" });
        let value = json!({ "argument": name, "type": value, "maximum": 99 });
        json!({ "tool": "control_zwave_device", "arguments": arguments, "value": value })
    };
    let actions =
        json!({ "level": action("level", json!("integer")), "color": action("color", json!("string")) });
    let state = json!({ "on": true, "level": level, "color": color });
    described("9-0", &json!({ "name": "Strip", "kind": "light", "state": state, "actions": actions }))
}

#[test]
fn two_actions_in_one_request_are_both_done_and_undone_at_once() {
    story(async |world| {
        let mut ann = world.person("ann").await;
        let mut stranger = Stranger::greets(world, offer(), vec![color_lamp(30, "ffffff")]).await;
        stranger.serves_for(Duration::from_secs(5)).await;
        let set = |then: Value| json!({ "device": "strip", "action": "color", "value": "ff0000", "then": then, "transaction": 4 });
        // Nothing is sent unless both actions are valid.
        for (then, words) in [
            (json!({ "action": "level", "value": 140 }), "does not suit"),
            (json!({ "action": "level" }), "is missing"),
            (json!({ "action": "stop" }), "one of: color, level"),
            (json!("off"), "'action' must be a string"),
        ] {
            ann.sends("device/set", set(then));
            stranger.serves_for(Duration::from_secs(1)).await;
            let reply = ann.gets("device/set").await;
            assert!(reply["success"] == false && reply["error"].to_string().contains(words), "{reply}");
        }
        assert_eq!(stranger.calls.len(), 0);
        ann.sends("device/set", set(json!({ "action": "level", "value": 60 })));
        stranger.serves_for(Duration::from_secs(1)).await;
        let reply = ann.gets("device/set").await;
        assert_eq!(
            (&reply["success"], &reply["action"], &reply["device"], &reply["transaction"]),
            (&json!(true), &json!("level"), &json!("9-0"), &json!(4)),
            "{reply}"
        );
        let done = |stranger: &Stranger, from: usize| -> Vec<Value> {
            let value = |call: &Value| match &call["arguments"] {
                it if it["color"].is_null() => it["level"].clone(),
                it => it["color"].clone(),
            };
            stranger.calls[from..].iter().map(value).collect()
        };
        assert_eq!(done(&stranger, 0), [json!("ff0000"), json!(60)]);
        stranger.devices[0] = color_lamp(60, "ff0000");
        stranger.controller.notifies("resources/updated", json!({ "uri": "home://devices/9-0" })).await;
        stranger.serves_for(Duration::from_secs(2)).await;
        ann.calls("undo", json!({}));
        stranger.serves_for(Duration::from_secs(20)).await;
        assert_eq!(ann.result().await["success"], true);
        assert_eq!(done(&stranger, 2), [json!(30), json!("ffffff")]);
        ann.calls("undo", json!({}));
        stranger.serves_for(Duration::from_secs(2)).await;
        assert_refused(&ann.result().await, "execution_error", "nothing to undo");
    });
}

/// A lamp that has been off and keeps its colour. Some lamps have a colour that only others set.
fn dark_lamp(state: &Value, sets_color: bool) -> Value {
    let mut lamp: Value =
        serde_json::from_str(color_lamp(0, "")["text"].as_str().expect("text")).expect("JSON");
    lamp["state"] = state.clone();
    let off = json!({ "deviceName": "Strip", "action": "off" });
    lamp["actions"]["off"] = json!({ "tool": "control_zwave_device", "arguments": off });
    if !sets_color {
        lamp["actions"].as_object_mut().expect("an object").remove("color");
    }
    described("9-0", &lamp)
}

/// The lamp's colour is set back while it is still on.
#[test]
fn a_lamp_that_was_off_is_off_again_and_has_its_color_back() {
    story(async |world| {
        let mut ann = world.person("ann").await;
        let off = json!({ "on": false, "level": 0, "color": "ffffff" });
        let mut stranger = Stranger::greets(world, offer(), vec![dark_lamp(&off, true)]).await;
        stranger.obeys = |arguments, devices| {
            let text = devices[0]["text"].as_str().expect("text");
            let mut state = serde_json::from_str::<Value>(text).expect("JSON")["state"].clone();
            match (&arguments["color"], &arguments["level"]) {
                (Value::String(color), _) => (state["on"], state["color"]) = (json!(true), json!(color)),
                (_, Value::Number(level)) => (state["on"], state["level"]) = (json!(true), json!(level)),
                _ => (state["on"], state["level"]) = (json!(false), json!(0)),
            }
            devices[0] = dark_lamp(&state, true);
        };
        stranger.serves_for(Duration::from_secs(5)).await;
        let then = json!({ "action": "level", "value": 60 });
        ann.sends(
            "device/set",
            json!({ "device": "strip", "action": "color", "value": "ff0000", "then": then }),
        );
        stranger.serves_for(Duration::from_secs(1)).await;
        assert_eq!(ann.gets("device/set").await["success"], true);
        stranger.controller.notifies("resources/updated", json!({ "uri": "home://devices/9-0" })).await;
        stranger.serves_for(Duration::from_secs(2)).await;
        ann.calls("undo", json!({}));
        stranger.serves_for(Duration::from_secs(20)).await;
        assert_eq!(ann.result().await["message"], "Undone: Strip is off again.");
        let undone: Vec<_> = stranger.calls[2..].iter().map(|call| &call["arguments"]).collect();
        assert_eq!(
            (undone[0]["color"].as_str(), undone[1]["action"].as_str()),
            (Some("ffffff"), Some("off"))
        );
        assert_eq!(undone.len(), 2);
    });
    // The colour that something else sets does not keep the lamp on, nor does its old level.
    story(async |world| {
        let mut ann = world.person("ann").await;
        let off = json!({ "on": false, "level": 30, "color": "ffffff" });
        let mut stranger = Stranger::greets(world, offer(), vec![dark_lamp(&off, false)]).await;
        stranger.obeys = |arguments, devices| {
            let level = arguments["level"].as_u64();
            let state = json!({ "on": level.is_some(), "level": level.unwrap_or(60), "color": "ff0000" });
            devices[0] = dark_lamp(&state, false);
        };
        stranger.serves_for(Duration::from_secs(5)).await;
        ann.sends("device/set", json!({ "device": "strip", "action": "level", "value": 60 }));
        stranger.serves_for(Duration::from_secs(1)).await;
        assert_eq!(ann.gets("device/set").await["success"], true);
        stranger.controller.notifies("resources/updated", json!({ "uri": "home://devices/9-0" })).await;
        stranger.serves_for(Duration::from_secs(2)).await;
        ann.calls("undo", json!({}));
        stranger.serves_for(Duration::from_secs(20)).await;
        assert_eq!(ann.result().await["message"], "Undone: Strip is off again.");
        assert_eq!(stranger.calls.len(), 2);
    });
}

/// A lamp with the same name as others. Calls address it by its id.
fn twin(id: &str, room: &str) -> Value {
    twin_that_is(id, room, true)
}

fn twin_that_is(id: &str, room: &str, is_on: bool) -> Value {
    let action = |action: &str| json!({ "tool": "control_zwave_device", "arguments": { "deviceName": id, "action": action } });
    let actions = json!({ "on": action("on"), "off": action("off") });
    let state = json!({ "on": is_on });
    described(
        id,
        &json!({ "name": "Lamp", "room": room, "kind": "light", "state": state, "actions": actions }),
    )
}

/// Errors have little room for lists. Whoever reads them has to see that there are more values than those listed.
#[test]
fn lists_of_actions_values_and_names_that_do_not_fit_end_in_a_mark() {
    /// The listed names, which must be whole, without the mark at the end.
    fn listed<'e>(error: &'e Value, before: &str, after: &str) -> Vec<&'e str> {
        let text = error.as_str().expect("a text");
        let list = text.strip_prefix(before).and_then(|text| text.strip_suffix(after)).expect(text);
        list.strip_suffix(", …").expect(text).split(", ").collect()
    }
    const MODES: [&str; 16] = [
        "off",
        "heat",
        "cool",
        "auto",
        "auxiliary",
        "resume",
        "fan",
        "furnace",
        "dry",
        "moist",
        "auto changeover",
        "energy heat",
        "energy cool",
        "away",
        "full power",
        "manufacturer specific",
    ];
    story(async |world| {
        let mut ann = world.person("ann").await;
        let mut model = world.model().await;
        let action = |name: &str, action: &str| json!({ "tool": "control_zwave_device", "arguments": { "deviceName": name, "action": action } });
        let mut mode = action("Stove", "on");
        mode["value"] = json!({ "argument": "mode", "type": "string", "enum": MODES });
        let mut actions = json!({ "mode": mode });
        for number in 0..5 {
            actions[format!("a_long_name_of_a_preset_{number}")] = action("Stove", "on");
        }
        let stove = json!({ "name": "Stove", "kind": "climate", "state": {}, "actions": actions });
        let mut devices = vec![described("1-0", &stove)];
        let lamps = (0..8).map(|number| format!("Lamp {number}"));
        let shutters = ["Kitchen", "Living Room", "Dining Room", "Bathroom"];
        let shutters = shutters.map(|room| format!("Shutter above the window of the {room}"));
        let mut names = Vec::new();
        for (number, name) in lamps.chain(shutters).enumerate() {
            let device = json!({ "name": name, "kind": "light", "state": {}, "actions": { "on": action(&name, "on") } });
            devices.push(described(&format!("{}-0", number + 2), &device));
            names.push(name);
        }
        let mut stranger = Stranger::greets(world, offer(), devices).await;
        stranger.serves_for(Duration::from_secs(5)).await;
        for (action, value, before, all) in [
            (
                "mode",
                json!("tepid"),
                "'value' does not suit: must be one of: ",
                MODES.map(str::to_owned).to_vec(),
            ),
            (
                "preset_9",
                Value::Null,
                "'action' must be one of: ",
                actions.as_object().expect("an object").keys().cloned().collect(),
            ),
        ] {
            ann.sends("device/set", json!({ "device": "stove", "action": action, "value": value }));
            stranger.serves_for(Duration::from_secs(1)).await;
            let reply = ann.gets("device/set").await;
            assert_refused(&reply, "invalid_parameters", "");
            let listed = listed(&reply["error"], before, "");
            assert!(
                listed.len() > 2 && listed.iter().all(|value| all.iter().any(|it| it == value)),
                "{reply}"
            );
        }
        for (spoken, most) in [("lamp", 6), ("shutter", 2)] {
            ann.sends("device/set", json!({ "device": spoken, "action": "on" }));
            stranger.serves_for(Duration::from_secs(1)).await;
            let reply = ann.gets("device/set").await;
            assert_refused(&reply, "ambiguous", "");
            let is_whole = |name: &&str| names.iter().any(|it| it == name);
            let to_person = listed(&reply["error"], "'device' could be ", "; which one?");
            assert!(to_person.len() == most && to_person.iter().all(is_whole), "{reply}");
            // A model reads the same names.
            ann.says(json!({ "text": "Do it" }));
            let arguments = json!({ "deviceName": spoken, "action": "on" });
            model.serves(calls(&[("control_zwave_device", arguments)])).await;
            let question = model.serves(stop("Which one?")).await.json();
            let messages = question["messages"].as_array().expect("messages");
            let result = &messages.last().expect("the results")["content"][0]["content"];
            let result: Value = serde_json::from_str(result.as_str().expect("a result")).expect("JSON");
            assert_eq!(
                listed(&result["error"], &format!("'{spoken}' could be "), "; nothing was sent"),
                to_person
            );
            ann.reply().await;
        }
        assert_eq!(stranger.calls.len(), 0);
    });
}

#[test]
fn devices_with_the_same_name_are_distinguished_by_room_or_id() {
    story(async |world| {
        let mut ann = world.person("ann").await;
        let mut model = world.model().await;
        let devices = vec![twin("1-0", "Hall"), twin("2-0", "Hall"), twin("3-0", "Attic"), twin("4-0", "")];
        let mut stranger = Stranger::greets(world, offer(), devices).await;
        stranger.serves_for(Duration::from_secs(5)).await;
        let names = ["Lamp (1-0)", "Lamp (2-0)", "Lamp (Attic)", "Lamp (4-0)"];
        let all = names.join(", ");
        let reply = ann.uses("home_status", json!({})).await;
        assert_eq!(reply["result"]["on"], json!(names));
        assert_contains(&reply["message"], &format!("On: {all}."));
        let reply = ann.asks("device/set", json!({ "device": "lamp", "action": "on" })).await;
        assert_refused(&reply, "ambiguous", &all);
        // The model repeats one of the names from the error.
        for (spoken, address) in [("lamp (2-0)", "2-0"), ("Lamp (Attic)", "3-0")] {
            ann.says(json!({ "text": "Do it" }));
            let call = |name: &str| {
                calls(&[("control_zwave_device", json!({ "deviceName": name, "action": "on" }))])
            };
            model.serves(call("lamp")).await;
            let question = model.serves(call(spoken)).await.json().to_string();
            assert!(question.contains(&format!("'lamp' could be {all}")), "{question}");
            stranger.serves_for(Duration::from_secs(2)).await;
            model.serves(stop("Done.")).await;
            ann.reply().await;
            let call = stranger.calls.last().expect("a call");
            assert_eq!(call["arguments"]["deviceName"], address, "{spoken}");
        }
        for (id, room, name) in [("2-0", "Hall", "Lamp (2-0)"), ("3-0", "Attic", "Lamp (Attic)")] {
            let at = if id == "2-0" { 1 } else { 2 };
            ann.sends("device/set", json!({ "device": id, "action": "off" }));
            stranger.serves_for(Duration::from_secs(1)).await;
            assert_eq!(ann.gets("device/set").await["success"], true, "{id}");
            stranger.devices[at] = twin_that_is(id, room, false);
            let uri = json!({ "uri": format!("home://devices/{id}") });
            stranger.controller.notifies("resources/updated", uri.clone()).await;
            stranger.serves_for(Duration::from_secs(2)).await;
            ann.calls("undo", json!({}));
            stranger.serves_for(Duration::from_secs(20)).await;
            let reply = ann.result().await;
            let words = format!("I told {name} to go back; it has not reported its state yet.");
            assert_eq!((&reply["message"], &reply["result"]["name"]), (&json!(words), &json!("Lamp")));
            stranger.devices[at] = twin(id, room);
            stranger.controller.notifies("resources/updated", uri.clone()).await;
            stranger.serves_for(Duration::from_secs(20)).await;
        }
    });
}

#[test]
fn home_status_lists_the_most_important_first_and_cuts_the_rest() {
    story(async |world| {
        let mut ann = world.person("ann").await;
        let device = |id: &str, kind: &str, state: Value| {
            described(id, &json!({ "name": id, "kind": kind, "state": state }))
        };
        let sensor = |class: &str| json!({ "class": class, "active": true });
        let mut devices: Vec<_> = (10..40)
            .map(|number| device(&format!("lamp-{number}"), "light", json!({ "on": true })))
            .collect();
        devices.extend([
            device("window", "binary_sensor", sensor("window")),
            device("contact", "binary_sensor", sensor("contact")),
            device("motion", "binary_sensor", sensor("motion")),
            device("door", "lock", json!({ "locked": false })),
            device("leak", "binary_sensor", sensor("leak")),
            device("smoke", "binary_sensor", sensor("smoke")),
            device("siren", "siren", json!({ "on": true })),
        ]);
        let mut stranger = Stranger::greets(world, offer(), devices).await;
        stranger.serves_for(Duration::from_secs(5)).await;
        let reply = ann.uses("home_status", json!({})).await;
        let message = reply["message"].as_str().expect("words");
        let first = "Alarm: leak, smoke, siren. Unlocked: door. Open: window, contact. On: lamp-10, lamp-11,";
        assert!(message.starts_with(first) && message.ends_with("lamp-22…"), "{message}");
        assert!(message.len() <= 192, "{message}");
        let keys: Vec<_> = reply["result"].as_object().expect("an object").keys().collect();
        assert_eq!(keys.len(), 5, "{reply}");
    });
}
