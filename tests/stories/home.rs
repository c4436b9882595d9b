//! The devices that the controller offers: what the hub knows of them, tells of them and does with them.

use host_sim::zwave::{Fault, Home};
use world::model::{calls, stop};
use world::prelude::*;

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
            (json!({ "device": "nothing", "action": "on" }), "not_found", "No device is called 'nothing'"),
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
        // First it is not shown as available: nobody knows.
        loop {
            let message = ann.hears("device/99-0").await;
            if message.payload.is_empty() {
                break;
            }
            assert!(
                message.payload.starts_with(b"{\"name\":\"Old\"") || message.json()["available"] == false
            );
        }
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
        // A hub that starts again shows nothing as available before it knows.
        home.faults().unplug();
        world.restarts_the_hub().await;
        ann.sees_online().await;
        sees(ann, "7-0", |device| device["available"] == false).await;
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
            json!({ "on": ["Floor Lamp", "Hall Light"], "open": ["Porch Awning"], "unlocked": ["Front Door"],
                    "active": ["Porch Motion"], "low_battery": ["Bedroom Temperature"], "dead": ["Garden Pump"] })
        );
        assert_contains(
            &reply["message"],
            "On: Floor Lamp, Hall Light. Open: Porch Awning. Unlocked: Front Door.",
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
        assert_refused(&ann.uses("undo", json!({})).await, "execution_error", "not of a single device");
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

/// A controller by other hands, played: it offers resources as it likes.
struct Stranger {
    controller: Controller,
    devices: Vec<Value>,
    reads: usize,
    subscriptions: usize,
}

impl Stranger {
    /// Greets the hub. `resources` is what it says of its resources.
    async fn greets(world: &World, resources: Value, devices: Vec<Value>) -> Self {
        let mut controller = world.controller();
        let hello = controller.hears_of("initialize").await;
        let mut about = about_it(&hello["params"]["protocolVersion"]);
        about["capabilities"]["resources"] = resources;
        controller.answers(&hello, about).await;
        controller.lists(zwave_tools()).await;
        Self { controller, devices, reads: 0, subscriptions: 0 }
    }

    /// Answers whatever the hub asks for as long as `time`, all resources in one page.
    async fn serves_for(&mut self, time: Duration) {
        let end = Instant::now() + time;
        while let Ok(request) = tokio::time::timeout_at(end, self.controller.hears()).await {
            let uri = request["params"]["uri"].as_str().unwrap_or_default().to_owned();
            let device = self.devices.iter().find(|device| uri == device["uri"]).cloned();
            match request["method"].as_str() {
                Some("resources/list") => {
                    let others = [json!({ "uri": "file:///notes.txt", "name": "notes" }), json!(7)];
                    let listed = self
                        .devices
                        .iter()
                        .map(|device| json!({ "uri": device["uri"], "name": "one of many" }));
                    let resources: Vec<_> = others.into_iter().chain(listed).collect();
                    self.controller.answers(&request, json!({ "resources": resources })).await;
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
                Some("resources/subscribe") => {
                    self.subscriptions += 1;
                    self.controller.answers(&request, json!({})).await;
                }
                Some("ping") => self.controller.answers(&request, json!({})).await,
                _ => {}
            }
        }
    }
}

fn described(id: &str, device: &Value) -> Value {
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
        assert_eq!(ann.hears("device/one").await.payload, b"");
        sees(&mut ann, "three", |device| device["available"] == true).await;
        assert_eq!(stranger.subscriptions, 3);
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
        stranger.serves_for(Duration::from_secs(40)).await;
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
fn more_devices_than_fit_are_counted_and_a_model_that_names_one_of_them_is_asked_about() {
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
        for (name, is_asked) in [("Device 3", false), ("Device 77", true)] {
            ann.says(json!({ "text": "Switch it on" }));
            let on = json!({ "deviceName": name, "action": "on" });
            model.serves(calls(&[("control_zwave_device", on)])).await;
            if is_asked {
                let approval = loop {
                    let message = ann.next(Duration::from_secs(5)).await.expect("an approval");
                    if message.topic.contains("/approval/") {
                        break message.json();
                    }
                };
                ann.asks("approve", json!({ "id": approval["id"], "allow": true })).await;
            }
            stranger.controller.serves("done").await;
            model.serves(stop("Done.")).await;
            assert_eq!(ann.reply().await["content"], "Done.");
        }
    });
}
