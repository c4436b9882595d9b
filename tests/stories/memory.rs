//! The home is never forgotten: whatever restarts, and however badly, no device leaves the broker or Home Assistant unless it
//! has really left the home.

use std::collections::{BTreeMap, BTreeSet};

use support::controller::a_tool;
use world::prelude::*;

use crate::home::{ListFault, Stranger, described};

/// What a controller with devices says of its resources.
pub(crate) fn offer() -> Value {
    json!({ "subscribe": true, "listChanged": true })
}

pub(crate) fn lamps(count: usize) -> Vec<Value> {
    let lamp = |number: usize| {
        let name = format!("Lamp {number}");
        described(
            &format!("lamp{number}"),
            &json!({ "name": name, "room": "Hall", "kind": "switch", "state": { "on": true },
                     "actions": { "on": { "tool": "control_zwave_device", "arguments": { "deviceName": name, "action": "on" } } } }),
        )
    };
    (0..count).map(lamp).collect()
}

/// Sees everything that is published of devices, and what is removed.
pub(crate) struct Witness {
    client: Client,
    removed: BTreeSet<String>,
    states: BTreeMap<String, Value>,
}

impl Witness {
    pub(crate) async fn of(world: &World) -> Self {
        let topics = ["hearthwave/story/device/#", "homeassistant/#"];
        Self {
            client: world.client("witness", &topics).await,
            removed: BTreeSet::new(),
            states: BTreeMap::new(),
        }
    }

    /// Looks at what has arrived. Returns the last state of this device.
    pub(crate) async fn looks_at(&mut self, id: &str) -> Value {
        while let Some(message) = self.client.next(Duration::from_millis(1)).await {
            if message.payload.is_empty() {
                self.removed.insert(message.topic);
            } else if let Some(id) = message.topic.strip_prefix("hearthwave/story/device/") {
                self.states.insert(id.into(), message.json());
            }
        }
        self.states.get(id).cloned().unwrap_or_default()
    }

    async fn saw_nothing_removed(&mut self) {
        self.looks_at("").await;
        assert_eq!(self.removed, BTreeSet::new());
    }
}

/// Has a person call a tool, so that the hub notices that the controller has restarted; the controller greets again.
async fn controller_restarts(stranger: &mut Stranger, ann: &mut Client, resources: Value) {
    stranger.controller.forgets_the_handshake(ann, "list_devices").await;
    stranger.greets_again(resources).await;
}

/// Restarts the hub; the controller greets it.
async fn hub_restarts(world: &World, stranger: &mut Stranger, resources: Value) {
    world.restarts_the_hub().await;
    sleep(Duration::from_millis(1)).await;
    stranger.controller = world.controller();
    stranger.greets_again(resources).await;
}

#[test]
fn a_controller_that_starts_badly_takes_no_device_away() {
    for fault in [
        ListFault::Error(-32603),
        ListFault::Error(-32601),
        ListFault::Short(0),
        ListFault::Short(2),
        ListFault::Broken(0),
        ListFault::Broken(2),
    ] {
        story(async |world| {
            let mut ann = world.person("ann").await;
            let mut stranger = Stranger::greets(world, offer(), lamps(4)).await;
            stranger.serves_for(Duration::from_secs(70)).await;
            let mut witness = Witness::of(world).await;
            assert_eq!(witness.looks_at("lamp3").await["available"], true);
            stranger.list_fault = Some(fault);
            controller_restarts(&mut stranger, &mut ann, offer()).await;
            stranger.serves_for(Duration::from_secs(40)).await;
            let lamp = witness.looks_at("lamp3").await;
            assert_eq!((&lamp["available"], &lamp["name"]), (&json!(false), &json!("Lamp 3")), "{fault:?}");
            stranger.list_fault = None;
            stranger.controller.notifies("resources/list_changed", json!({})).await;
            stranger.serves_for(Duration::from_secs(5)).await;
            assert_eq!(witness.looks_at("lamp3").await["available"], true, "{fault:?}");
            stranger.serves_for(Duration::from_secs(200)).await;
            witness.saw_nothing_removed().await;
        });
    }
}

#[test]
fn a_hub_that_restarts_before_its_controller_is_ready_takes_no_device_away() {
    for fault in [ListFault::Error(-32603), ListFault::Short(0), ListFault::Short(2), ListFault::Broken(2)] {
        story(async |world| {
            let _ann = world.person("ann").await;
            let mut stranger = Stranger::greets(world, offer(), lamps(4)).await;
            stranger.serves_for(Duration::from_secs(70)).await;
            let mut witness = Witness::of(world).await;
            assert_eq!(witness.looks_at("lamp3").await["available"], true);
            stranger.list_fault = Some(fault);
            hub_restarts(world, &mut stranger, offer()).await;
            stranger.serves_for(Duration::from_secs(40)).await;
            assert_eq!(witness.looks_at("lamp3").await["name"], "Lamp 3", "{fault:?}");
            stranger.list_fault = None;
            stranger.controller.notifies("resources/list_changed", json!({})).await;
            stranger.serves_for(Duration::from_secs(200)).await;
            assert_eq!(witness.looks_at("lamp3").await["available"], true, "{fault:?}");
            witness.saw_nothing_removed().await;
        });
    }
}

#[test]
fn a_controller_that_suddenly_offers_no_devices_makes_them_unavailable() {
    story(async |world| {
        let mut ann = world.person("ann").await;
        let mut stranger = Stranger::greets(world, offer(), lamps(2)).await;
        stranger.serves_for(Duration::from_secs(70)).await;
        let mut witness = Witness::of(world).await;
        controller_restarts(&mut stranger, &mut ann, Value::Null).await;
        stranger.serves_for(Duration::from_secs(300)).await;
        assert_eq!(witness.looks_at("lamp1").await["available"], false);
        hub_restarts(world, &mut stranger, Value::Null).await;
        stranger.serves_for(Duration::from_secs(300)).await;
        witness.saw_nothing_removed().await;
    });
}

#[test]
fn a_device_that_cannot_be_read_after_a_restart_stays_and_is_read_when_it_can_be() {
    story(async |world| {
        let mut ann = world.person("ann").await;
        let mut stranger = Stranger::greets(world, offer(), lamps(3)).await;
        stranger.serves_for(Duration::from_secs(70)).await;
        let mut witness = Witness::of(world).await;
        stranger.unreadable = vec!["lamp1".into()];
        controller_restarts(&mut stranger, &mut ann, offer()).await;
        let reads = stranger.reads;
        stranger.serves_for(Duration::from_secs(600)).await;
        let lamp = witness.looks_at("lamp1").await;
        assert_eq!((&lamp["available"], &lamp["name"]), (&json!(false), &json!("Lamp 1")));
        let tries = stranger.reads - reads;
        assert!((10..25).contains(&tries), "{tries} reads in ten minutes");
        stranger.unreadable.clear();
        stranger.serves_for(Duration::from_secs(61)).await;
        assert_eq!(witness.looks_at("lamp1").await["available"], true);
        witness.saw_nothing_removed().await;
    });
}

#[test]
fn a_list_that_fails_is_requested_again_ever_more_slowly_and_people_are_told_once() {
    story(async |world| {
        let (mut ann, mut bob) = (world.person("ann").await, world.person("bob").await);
        let mut stranger = Stranger::greets(world, offer(), lamps(3)).await;
        let listed = bob.asks("device/list", json!({})).await;
        assert_contains(&listed["note"], "still being read");
        stranger.list_fault = Some(ListFault::Error(-32603));
        stranger.serves_for(Duration::from_secs(600)).await;
        assert!((10..20).contains(&stranger.lists), "{} lists in ten minutes", stranger.lists);
        let listed = bob.asks("device/list", json!({})).await;
        assert_eq!(listed["devices"], json!([]));
        assert_contains(&listed["note"], "could not list");
        stranger.list_fault = None;
        stranger.serves_for(Duration::from_secs(61)).await;
        let listed = bob.asks("device/list", json!({})).await;
        assert_eq!((listed["devices"].as_array().map(Vec::len), &listed["note"]), (Some(3), &Value::Null));
        let notices = ann.hears_all("log").await;
        let told = notices.iter().filter(|notice| {
            notice.json()["text"]
                .as_str()
                .is_some_and(|text| text.contains("could not list its devices: not ready"))
        });
        assert_eq!(told.count(), 1, "{notices:?}");
    });
}

#[test]
fn a_controller_that_declares_resources_and_refuses_to_list_them_is_asked_again() {
    story(async |world| {
        let mut ann = world.person("ann").await;
        let mut stranger = Stranger::greets(world, offer(), lamps(3)).await;
        stranger.list_fault = Some(ListFault::Error(-32601));
        stranger.serves_for(Duration::from_secs(5)).await;
        stranger.list_fault = None;
        stranger.serves_for(Duration::from_secs(61)).await;
        let listed = ann.asks_for_all("device/list", "devices", json!({})).await;
        assert_eq!(listed.len(), 3);
    });
}

#[test]
fn a_device_that_the_hub_cannot_name_does_not_cause_lists_without_end() {
    story(async |world| {
        let _ann = world.person("ann").await;
        let mut devices = lamps(2);
        devices.push(described(&"x".repeat(40), &json!({ "name": "Long", "kind": "switch", "state": {} })));
        let mut stranger = Stranger::greets(world, offer(), devices).await;
        stranger.serves_for(Duration::from_secs(600)).await;
        assert!((5..20).contains(&stranger.lists), "{} lists in ten minutes", stranger.lists);
    });
}

#[test]
fn a_device_is_still_followed_after_a_list_that_failed() {
    story(async |world| {
        let _ann = world.person("ann").await;
        let mut stranger = Stranger::greets(world, offer(), lamps(2)).await;
        stranger.serves_for(Duration::from_secs(70)).await;
        let mut witness = Witness::of(world).await;
        stranger.list_fault = Some(ListFault::Error(-32603));
        stranger.controller.notifies("resources/list_changed", json!({})).await;
        stranger.serves_for(Duration::from_secs(1)).await;
        let off = json!({ "name": "Lamp 1", "room": "Hall", "kind": "switch", "state": { "on": false } });
        stranger.devices[1] = described("lamp1", &off);
        let uri = json!({ "uri": "home://devices/lamp1" });
        stranger.controller.notifies("resources/updated", uri).await;
        stranger.serves_for(Duration::from_millis(500)).await;
        assert_eq!(witness.looks_at("lamp1").await["state"]["on"], false);
    });
}

#[test]
fn a_device_that_home_assistant_cannot_show_for_now_keeps_its_announcement() {
    story(async |world| {
        let _ann = world.person("ann").await;
        let mut stranger = Stranger::greets(world, offer(), lamps(2)).await;
        stranger.serves_for(Duration::from_secs(70)).await;
        let mut witness = Witness::of(world).await;
        stranger.devices[0] =
            described("lamp0", &json!({ "name": "Lamp 0", "kind": "unknown", "state": {} }));
        let uri = json!({ "uri": "home://devices/lamp0" });
        stranger.controller.notifies("resources/updated", uri).await;
        stranger.serves_for(Duration::from_secs(5)).await;
        assert_eq!(witness.looks_at("lamp0").await["kind"], "unknown");
        witness.saw_nothing_removed().await;
    });
}

#[test]
fn a_device_that_really_left_is_removed_everywhere_even_if_the_hub_was_away() {
    story(async |world| {
        let _ann = world.person("ann").await;
        let mut stranger = Stranger::greets(world, offer(), lamps(3)).await;
        stranger.serves_for(Duration::from_secs(70)).await;
        let mut witness = Witness::of(world).await;
        let gone = |id: &str| {
            [format!("hearthwave/story/device/{id}"), format!("homeassistant/device/story/{id}/config")]
        };
        stranger.devices.pop();
        stranger.controller.notifies("resources/list_changed", json!({})).await;
        stranger.serves_for(Duration::from_secs(50)).await;
        witness.saw_nothing_removed().await;
        assert_eq!(witness.looks_at("lamp2").await["available"], false);
        stranger.serves_for(Duration::from_secs(20)).await;
        witness.looks_at("").await;
        assert_eq!(witness.removed, BTreeSet::from(gone("lamp2")));
        stranger.devices.pop();
        hub_restarts(world, &mut stranger, offer()).await;
        stranger.serves_for(Duration::from_secs(5)).await;
        let lamp = witness.looks_at("lamp1").await;
        let expected = json!({ "id": "lamp1", "name": "Lamp 1", "room": "Hall", "kind": "switch", "state": {}, "available": false });
        assert_eq!(lamp, expected, "nobody takes what it was for what it is");
        stranger.serves_for(Duration::from_secs(45)).await;
        witness.looks_at("").await;
        assert_eq!(witness.removed.len(), 2);
        stranger.serves_for(Duration::from_secs(20)).await;
        witness.looks_at("").await;
        assert_eq!(witness.removed, gone("lamp1").into_iter().chain(gone("lamp2")).collect());
    });
}

/// A lamp, a shutter and a scene.
fn small_home(is_on: bool, position: f64) -> Vec<Value> {
    let call = |name: &str, action: &str| json!({ "tool": "control_zwave_device", "arguments": { "deviceName": name, "action": action } });
    let mut set = call("Shutter", "on");
    set["value"] = json!({ "argument": "level", "type": "integer", "minimum": 0, "maximum": 99 });
    vec![
        described(
            "lamp",
            &json!({ "name": "Lamp", "kind": "switch", "state": { "on": is_on },
                     "actions": { "on": call("Lamp", "on"), "off": call("Lamp", "off") } }),
        ),
        described(
            "shutter",
            &json!({ "name": "Shutter", "kind": "cover", "state": { "position": position }, "actions": { "position": set } }),
        ),
        described(
            "evening",
            &json!({ "name": "Evening", "kind": "scene", "state": {}, "actions": { "activate": call("Evening", "on") } }),
        ),
    ]
}

/// Ann calls a tool; the devices become these, and then it ends with a text or an error.
async fn call_changes(
    stranger: &mut Stranger,
    ann: &mut Client,
    arguments: Value,
    devices: Vec<Value>,
    is_error: bool,
) {
    ann.calls("control_zwave_device", arguments);
    let call = stranger.controller.hears_call().await;
    stranger.devices = devices;
    for id in ["lamp", "shutter"] {
        let uri = format!("home://devices/{id}");
        stranger.controller.notifies("resources/updated", json!({ "uri": uri })).await;
    }
    stranger.serves_for(Duration::from_millis(500)).await;
    let content = json!([{ "type": "text", "text": "it is stuck" }]);
    stranger.controller.answers(&call, json!({ "content": content, "isError": is_error })).await;
    ann.result().await;
}

async fn undoes(stranger: &mut Stranger, ann: &mut Client) -> Value {
    ann.calls("undo", json!({}));
    stranger.serves_for(Duration::from_secs(10)).await;
    ann.result().await
}

#[test]
fn undo_takes_back_what_it_names_and_never_something_older() {
    story(async |world| {
        let mut ann = world.person("ann").await;
        let mut stranger = Stranger::greets(world, offer(), small_home(false, 0.0)).await;
        stranger.serves_for(Duration::from_secs(5)).await;
        let lamp = json!({ "deviceName": "Lamp", "action": "on" });
        let shutter = json!({ "deviceName": "Shutter", "action": "on", "level": 50 });
        let scene = json!({ "deviceName": "Evening", "action": "on" });
        call_changes(&mut stranger, &mut ann, lamp.clone(), small_home(true, 0.0), false).await;

        // A call that failed and had an effect is the last change.
        call_changes(&mut stranger, &mut ann, shutter.clone(), small_home(true, 50.0), true).await;
        let reply = undoes(&mut stranger, &mut ann).await;
        assert_eq!(reply["result"]["name"], "Shutter", "{reply}");
        assert_contains(&reply["message"], "I told Shutter to go back");

        // One that failed and did nothing is none; so is a scene that did nothing.
        call_changes(&mut stranger, &mut ann, shutter.clone(), small_home(true, 50.0), true).await;
        call_changes(&mut stranger, &mut ann, scene.clone(), small_home(true, 50.0), true).await;
        // One that was done and changed nothing is named once.
        call_changes(&mut stranger, &mut ann, shutter.clone(), small_home(true, 50.0), false).await;
        stranger.serves_for(Duration::from_secs(20)).await;
        let calls = stranger.calls.len();
        let reply = undoes(&mut stranger, &mut ann).await;
        assert_refused(&reply, "execution_error", "The last command changed nothing");
        assert_eq!(stranger.calls.len(), calls, "nothing older was taken back");
        stranger.serves_for(Duration::from_secs(10)).await;
        ann.calls("undo", json!({}));
        let call = stranger.controller.hears_of("resources/read").await;
        assert_eq!(call["params"]["uri"], "home://devices/lamp", "the change before is next");
        let text = stranger.devices[0]["text"].clone();
        stranger.controller.answers(&call, json!({ "contents": [{ "text": text }] })).await;
        stranger.controller.serves("done").await;
        stranger.devices = small_home(false, 50.0);
        stranger.serves_for(Duration::from_secs(1)).await;
        let reply = ann.result().await;
        assert_eq!(reply["message"], "Undone: Lamp is off again.", "{reply}");

        // A scene that failed halfway is not for a single device.
        call_changes(&mut stranger, &mut ann, lamp, small_home(true, 50.0), false).await;
        call_changes(&mut stranger, &mut ann, scene, small_home(true, 0.0), true).await;
        let reply = undoes(&mut stranger, &mut ann).await;
        assert_refused(&reply, "execution_error", "not for a single device");
    });
}

/// Another command is still running, or has failed a moment ago: neither makes `undo` take back an older change.
#[test]
fn undo_waits_for_the_command_that_is_running_or_may_still_act() {
    story(async |world| {
        let mut ann = world.person("ann").await;
        let mut stranger = Stranger::greets(world, offer(), small_home(false, 0.0)).await;
        stranger.serves_for(Duration::from_secs(5)).await;
        let lamp = json!({ "deviceName": "Lamp", "action": "on" });
        let shutter = json!({ "deviceName": "Shutter", "action": "on", "level": 50 });
        call_changes(&mut stranger, &mut ann, lamp, small_home(true, 0.0), false).await;

        ann.calls("control_zwave_device", shutter.clone());
        let call = stranger.controller.hears_call().await;
        stranger.devices = small_home(true, 20.0);
        let uri = json!({ "uri": "home://devices/shutter" });
        stranger.controller.notifies("resources/updated", uri.clone()).await;
        stranger.serves_for(Duration::from_secs(8)).await;
        let reply = world.person("bob").await.uses("undo", json!({})).await;
        assert_refused(&reply, "execution_error", "has not ended yet");
        stranger.controller.replies(&call, "done").await;
        // Ann hears Bob's result, then hers.
        ann.result().await;
        ann.result().await;
        stranger.serves_for(Duration::from_secs(20)).await;

        // It fails at once, and does it three seconds later.
        call_changes(&mut stranger, &mut ann, shutter, small_home(true, 20.0), true).await;
        let reply = world.person("carol").await.uses("undo", json!({})).await;
        assert_refused(&reply, "execution_error", "has changed nothing yet");
        assert_eq!(stranger.calls, [] as [Value; 0], "nothing was taken back");
    });
}

/// A controller that renames devices notifies of its list alone.
#[test]
fn a_name_that_only_the_list_tells_is_taken_in() {
    story(async |world| {
        let mut ann = world.person("ann").await;
        let mut stranger = Stranger::greets(world, offer(), small_home(false, 0.0)).await;
        stranger.serves_for(Duration::from_secs(5)).await;
        let reads = stranger.reads;
        let text = stranger.devices[0]["text"].as_str().expect("text").replace("\"Lamp\"", "\"Heater\"");
        stranger.devices[0]["text"] = text.into();
        stranger.controller.notifies("resources/list_changed", json!({})).await;
        stranger.serves_for(Duration::from_secs(5)).await;
        let listed = ann.asks("device/list", json!({})).await;
        assert_eq!(listed["devices"][0]["name"], "Heater", "{listed}");
        assert_eq!(stranger.reads, reads + 1, "the others are as they were");
    });
}

#[test]
fn undo_that_needs_more_input_is_not_done() {
    let kinds =
        [("input_required", "execution_error", "wants to know more"), ("task", "outcome_unknown", "'task'")];
    for (kind, error_type, words) in kinds {
        story(async |world| {
            let mut ann = world.person("ann").await;
            let mut stranger = Stranger::greets(world, offer(), small_home(false, 0.0)).await;
            stranger.serves_for(Duration::from_secs(5)).await;
            let lamp = json!({ "deviceName": "Lamp", "action": "on" });
            call_changes(&mut stranger, &mut ann, lamp, small_home(true, 0.0), false).await;
            ann.calls("undo", json!({}));
            let read = stranger.controller.hears_of("resources/read").await;
            let text = stranger.devices[0]["text"].clone();
            stranger.controller.answers(&read, json!({ "contents": [{ "text": text }] })).await;
            stranger.controller.serves_result(json!({ "resultType": kind })).await;
            stranger.serves_for(Duration::from_secs(10)).await;
            assert_refused(&ann.result().await, error_type, words);
        });
    }
}

#[test]
fn commands_without_effect_block_undo_only_once() {
    story(async |world| {
        let mut ann = world.person("ann").await;
        let mut stranger = Stranger::greets(world, offer(), small_home(false, 0.0)).await;
        stranger.serves_for(Duration::from_secs(5)).await;
        let lamp = json!({ "deviceName": "Lamp", "action": "on" });
        let scene = json!({ "deviceName": "Evening", "action": "on" });
        call_changes(&mut stranger, &mut ann, lamp.clone(), small_home(true, 0.0), false).await;
        call_changes(&mut stranger, &mut ann, scene.clone(), small_home(true, 0.0), false).await;
        // The scene may still do something.
        let reply = undoes(&mut stranger, &mut ann).await;
        assert_refused(&reply, "execution_error", "not for a single device");
        call_changes(&mut stranger, &mut ann, lamp, small_home(true, 0.0), false).await;
        stranger.serves_for(Duration::from_secs(20)).await;
        let reply = undoes(&mut stranger, &mut ann).await;
        assert_refused(&reply, "execution_error", "The last command changed nothing");
        let reply = undoes(&mut stranger, &mut ann).await;
        assert_eq!((&reply["success"], &reply["result"]["name"]), (&json!(true), &json!("Lamp")), "{reply}");
        assert_eq!(stranger.calls.last().expect("a call")["arguments"]["action"], "off");
    });
}

#[test]
fn undo_never_drives_a_device_that_got_the_id_of_another_one() {
    story(async |world| {
        let mut ann = world.person("ann").await;
        let mut stranger = Stranger::greets(world, offer(), small_home(false, 0.0)).await;
        stranger.serves_for(Duration::from_secs(5)).await;
        let lamp = json!({ "deviceName": "Lamp", "action": "on" });
        call_changes(&mut stranger, &mut ann, lamp, small_home(true, 0.0), false).await;
        let lamp = stranger.devices.remove(0);
        stranger.controller.notifies("resources/list_changed", json!({})).await;
        stranger.serves_for(Duration::from_secs(70)).await;
        let text = lamp["text"].as_str().expect("text").replace("\"Lamp\"", "\"Heater\"");
        stranger.devices.push(json!({ "uri": lamp["uri"], "text": text }));
        stranger.controller.notifies("resources/list_changed", json!({})).await;
        stranger.serves_for(Duration::from_secs(5)).await;
        let reply = undoes(&mut stranger, &mut ann).await;
        assert_refused(&reply, "execution_error", "nothing to undo");
        assert_eq!(stranger.calls, [] as [Value; 0]);
    });
}

#[test]
fn an_undo_whose_outcome_is_unknown_says_so() {
    story(async |world| {
        let mut ann = world.person("ann").await;
        let mut stranger = Stranger::greets(world, offer(), small_home(false, 0.0)).await;
        stranger.serves_for(Duration::from_secs(5)).await;
        let lamp = json!({ "deviceName": "Lamp", "action": "on" });
        call_changes(&mut stranger, &mut ann, lamp, small_home(true, 0.0), false).await;
        ann.calls("undo", json!({}));
        let read = stranger.controller.hears_of("resources/read").await;
        let text = stranger.devices[0]["text"].clone();
        stranger.controller.answers(&read, json!({ "contents": [{ "text": text }] })).await;
        let call = stranger.controller.hears_call().await;
        // It is done, and the controller does not know.
        stranger.devices = small_home(false, 0.0);
        let content = json!([{ "type": "text", "text": "Lamp did not confirm it." }]);
        let unknown =
            json!({ "content": content, "structuredContent": { "outcome": "unknown" }, "isError": true });
        stranger.controller.answers(&call, unknown).await;
        stranger.serves_for(Duration::from_secs(10)).await;
        let reply = ann.result().await;
        assert_refused(&reply, "outcome_unknown", "Lamp did not confirm it");
        assert_contains(&reply["message"], "I do not know whether that was done: Lamp did not confirm it");
        assert_contains(&reply["instruction"], "Do not repeat the call");
    });
}

#[test]
fn a_shutter_that_stops_a_little_off_has_not_changed_since() {
    for (position, is_undone) in [(52.0, true), (40.0, false)] {
        story(async |world| {
            let mut ann = world.person("ann").await;
            let mut stranger = Stranger::greets(world, offer(), small_home(false, 0.0)).await;
            stranger.serves_for(Duration::from_secs(5)).await;
            let shutter = json!({ "deviceName": "Shutter", "action": "on", "level": 50 });
            call_changes(&mut stranger, &mut ann, shutter, small_home(false, 50.0), false).await;
            stranger.serves_for(Duration::from_secs(60)).await;
            stranger.devices = small_home(false, position);
            let uri = json!({ "uri": "home://devices/shutter" });
            stranger.controller.notifies("resources/updated", uri).await;
            stranger.serves_for(Duration::from_secs(1)).await;
            let reply = undoes(&mut stranger, &mut ann).await;
            assert_eq!(reply["success"], is_undone, "{reply}");
        });
    }
}

/// A command that the hub cannot follow may have done anything. `undo` says that it cannot take it back, and names the
/// change that it would take back next. Only a second `undo` takes that back.
#[test]
fn undo_names_the_next_change_before_skipping_an_untraceable_command() {
    let lamp_69 = json!({ "device": "Lamp 69", "action": "on" });
    let fridge = json!({ "device": "Fridge", "action": "on" });
    let scene = json!({ "device": "Evening", "action": "activate" });
    let tool = json!({ "name": "send_message", "arguments": {} });
    let requests =
        [("device/set", lamp_69), ("device/set", fridge), ("device/set", scene), ("tool/call", tool)];
    for (topic, request) in requests {
        story(async |world| {
            let mut ann = world.person("ann").await;
            let on = json!({ "tool": "control_zwave_device", "arguments": { "deviceName": "Fridge", "action": "on" } });
            let fridge = json!({ "name": "Fridge", "kind": "freezer", "state": { "cold": true }, "actions": { "on": on } });
            let home = |is_on: bool| {
                let mut devices = small_home(is_on, 0.0);
                devices.push(described("fridge", &fridge));
                devices.extend(lamps(70));
                devices
            };
            let mut stranger = Stranger::greets(world, offer(), home(false)).await;
            stranger.tools.as_array_mut().expect("tools").push(a_tool("send_message"));
            stranger.controller.notifies("tools/list_changed", json!({})).await;
            stranger.serves_for(Duration::from_secs(20)).await;
            let lamp = json!({ "deviceName": "Lamp", "action": "on" });
            call_changes(&mut stranger, &mut ann, lamp, home(true), false).await;
            ann.sends(topic, request.clone());
            stranger.serves_for(Duration::from_secs(20)).await;
            assert_eq!(ann.gets(topic).await["success"], true, "{request}");
            let calls = stranger.calls.len();
            let reply = undoes(&mut stranger, &mut ann).await;
            assert_refused(&reply, "execution_error", "not for a single device that I can set back");
            assert_contains(&reply["message"], "Another undo takes back the last change of Lamp.");
            assert_eq!(stranger.calls.len(), calls, "{request}: something else was taken back");
            let reply = undoes(&mut stranger, &mut ann).await;
            assert_eq!(reply["result"]["name"], "Lamp", "{request}: {reply}");
        });
    }
}

/// A failed read is no evidence: it shows neither a change nor that nothing changed.
#[test]
fn undo_ignores_failed_reads() {
    for is_done in [true, false] {
        story(async |world| {
            let mut ann = world.person("ann").await;
            let mut stranger = Stranger::greets(world, offer(), small_home(false, 0.0)).await;
            stranger.serves_for(Duration::from_secs(5)).await;
            ann.calls("control_zwave_device", json!({ "deviceName": "Lamp", "action": "on" }));
            let call = stranger.controller.hears_call().await;
            let content = json!([{ "type": "text", "text": "Lamp did not confirm it." }]);
            let unknown =
                json!({ "content": content, "structuredContent": { "outcome": "unknown" }, "isError": true });
            // The controller cannot read the lamp.
            let text = stranger.devices[0]["text"].as_str().expect("text").to_owned();
            let mut unread: Value = serde_json::from_str(&text).expect("JSON");
            unread["state"] = json!({});
            stranger.devices[0] = described("lamp", &unread);
            let uri = json!({ "uri": "home://devices/lamp" });
            stranger.controller.notifies("resources/updated", uri.clone()).await;
            stranger.serves_for(Duration::from_secs(1)).await;
            stranger.controller.answers(&call, unknown).await;
            stranger.serves_for(Duration::from_secs(30)).await;
            assert_refused(&ann.result().await, "outcome_unknown", "");
            let reply = undoes(&mut stranger, &mut ann).await;
            assert_refused(&reply, "execution_error", "changed last is unknown");
            stranger.devices = small_home(is_done, 0.0);
            stranger.controller.notifies("resources/updated", uri).await;
            stranger.serves_for(Duration::from_secs(20)).await;
            let reply = undoes(&mut stranger, &mut ann).await;
            match is_done {
                true => assert_eq!(reply["result"]["name"], "Lamp", "{reply}"),
                false => assert_refused(&reply, "execution_error", "changed nothing"),
            }
            assert_eq!(stranger.calls.len(), usize::from(is_done));
        });
    }
}
