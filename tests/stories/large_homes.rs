//! Homes with more devices than the hub has room for, and homes that it knows only in part.

use std::collections::BTreeSet;

use world::model::{calls, stop};
use world::prelude::*;

use crate::home::{Stranger, described};
use crate::memory::{Witness, lamps, offer};

/// A device that one tool controls by its name.
fn device(id: &str, name: &str, kind: &str, state: &Value, actions: &[&str]) -> Value {
    let call = |action: &&str| {
        let is_on = ["on", "open", "activate", "unlock"].contains(action);
        let arguments = json!({ "deviceName": name, "action": if is_on { "on" } else { "off" } });
        ((*action).to_owned(), json!({ "tool": "control_zwave_device", "arguments": arguments }))
    };
    let actions: serde_json::Map<_, _> = actions.iter().map(call).collect();
    described(id, &json!({ "name": name, "kind": kind, "state": state, "actions": actions }))
}

/// Has a model call the tool that controls devices.
async fn model_calls(stranger: &mut Stranger, ann: &mut Client, model: &mut Client, arguments: Value) {
    ann.says(json!({ "text": "Do it" }));
    model.serves(calls(&[("control_zwave_device", arguments)])).await;
    stranger.serves_for(Duration::from_secs(5)).await;
}

/// The result of its call, as the model sees it.
async fn result(ann: &mut Client, model: &mut Client) -> Value {
    let question = model.serves(stop("Done.")).await.json();
    let messages = question["messages"].as_array().expect("messages");
    let content = &messages.last().expect("the results")["content"][0]["content"];
    let result = serde_json::from_str(content.as_str().expect("a result")).expect("JSON");
    ann.reply().await;
    result
}

/// What is kept: the ids in `device/list`.
async fn kept(ann: &mut Client) -> BTreeSet<String> {
    let listed = ann.asks_for_all("device/list", "devices", json!({})).await;
    listed.iter().filter_map(|device| device["id"].as_str().map(str::to_owned)).collect()
}

fn lock(id: &str) -> Value {
    device(id, id, "lock", &json!({ "locked": true }), &["lock", "unlock"])
}

#[test]
fn more_devices_than_fit_are_used_by_name_and_guarded_ones_are_kept() {
    story(async |world| {
        let mut ann = world.person("ann").await;
        let mut devices = lamps(70);
        for (id, kind) in [("door", "lock"), ("night", "scene")] {
            let device = json!({ "name": id, "kind": kind, "state": {} });
            devices.push(described(id, &device));
        }
        let mut stranger = Stranger::greets(world, offer(), devices).await;
        stranger.serves_for(Duration::from_secs(20)).await;
        let listed = ann.asks_for_all("device/list", "devices", json!({})).await;
        let ids: BTreeSet<_> = listed.iter().filter_map(|device| device["id"].as_str()).collect();
        assert!(listed.len() == 64 && ids.contains("door") && ids.contains("night"), "{ids:?}");
        assert!(listed.iter().all(|device| device["available"] == true), "{listed:?}");
        let page = ann.asks("device/list", json!({})).await;
        assert_eq!(page["left_out"], 8);
        assert_contains(&page["note"], "exact name");
        assert!(!ids.contains("lamp69"));
        // It is used by name nevertheless, though not by a part of it.
        ann.sends("device/set", json!({ "device": " lamp 69", "action": "on" }));
        stranger.serves_for(Duration::from_secs(1)).await;
        let reply = ann.gets("device/set").await;
        assert_eq!((&reply["success"], &reply["device"]), (&json!(true), &json!("lamp69")), "{reply}");
        ann.sends("device/set", json!({ "device": "lamp 7", "action": "on" }));
        stranger.serves_for(Duration::from_secs(1)).await;
        assert_eq!(ann.gets("device/set").await["device"], "lamp7", "it is kept");
        ann.sends("device/set", json!({ "device": "lamp 99", "action": "on" }));
        stranger.serves_for(Duration::from_secs(1)).await;
        assert_refused(&ann.gets("device/set").await, "not_found", "lamp 99");
    });
}

#[test]
fn a_beginning_does_not_beat_the_exact_name_of_a_device_without_room() {
    story(async |world| {
        let (mut ann, mut model) = (world.person("ann").await, world.model().await);
        let mut devices =
            vec![device("awning", "Porch Awning", "cover", &json!({ "position": 0 }), &["open", "close"])];
        devices.extend(lamps(69));
        devices.push(device("porch", "Porch", "light", &json!({ "on": false }), &["on", "off"]));
        let mut stranger = Stranger::greets(world, offer(), devices).await;
        stranger.serves_for(Duration::from_secs(20)).await;
        for (said, action, id, name) in
            [("Porch", "on", "porch", "Porch"), ("porch aw", "open", "awning", "Porch Awning")]
        {
            ann.sends("device/set", json!({ "device": said, "action": action }));
            stranger.serves_for(Duration::from_secs(5)).await;
            let reply = ann.gets("device/set").await;
            assert_eq!((&reply["success"], &reply["device"]), (&json!(true), &json!(id)), "{reply}");
            stranger.calls.clear();
            let call = json!({ "deviceName": said, "action": "on" });
            model_calls(&mut stranger, &mut ann, &mut model, call).await;
            let result = result(&mut ann, &mut model).await;
            assert_eq!(result["success"], true, "{result}");
            assert_eq!(stranger.calls[0]["arguments"]["deviceName"], name);
        }
        // The nearest names are those that begin so.
        ann.sends("device/set", json!({ "device": "lamp", "action": "on" }));
        stranger.serves_for(Duration::from_secs(5)).await;
        assert_refused(&ann.gets("device/set").await, "ambiguous", "Lamp 0, Lamp 1");
    });
}

#[test]
fn a_lock_that_arrives_late_is_kept_though_the_controller_does_not_notify() {
    story(async |world| {
        let mut ann = world.person("ann").await;
        let mut stranger = Stranger::greets(world, json!({}), lamps(70)).await;
        stranger.serves_for(Duration::from_secs(5)).await;
        let before = kept(&mut ann).await;
        let mut witness = Witness::of(world).await;
        stranger.devices.push(lock("door"));
        stranger.serves_for(Duration::from_secs(45)).await;
        let after = kept(&mut ann).await;
        assert!(after.len() == 64 && after.contains("door"), "{after:?}");
        for id in before.difference(&after) {
            assert_eq!(witness.looks_at(id).await["available"], false, "{id} gave its place to the door");
        }
    });
}

#[test]
fn a_lock_is_kept_in_whatever_order_devices_are_listed() {
    story(async |world| {
        let mut ann = world.person("ann").await;
        let mut devices = lamps(70);
        devices.push(lock("door"));
        let mut stranger = Stranger::greets(world, offer(), devices).await;
        stranger.reversed_from = 3;
        stranger.serves_for(Duration::from_secs(20)).await;
        assert!(kept(&mut ann).await.contains("door"));
    });
}

#[test]
fn devices_without_room_are_named_once_to_people() {
    story(async |world| {
        let mut ann = world.person("ann").await;
        let mut devices = lamps(70);
        devices.push(lock("door"));
        let mut stranger = Stranger::greets(world, offer(), devices).await;
        stranger.serves_for(Duration::from_secs(200)).await;
        stranger.controller.notifies("resources/list_changed", json!({})).await;
        stranger.serves_for(Duration::from_secs(20)).await;
        stranger.devices.remove(68);
        stranger.controller.notifies("resources/list_changed", json!({})).await;
        stranger.serves_for(Duration::from_secs(20)).await;
        let notices = ann.hears_all("log").await;
        let texts = notices.iter().map(|notice| notice.json()["text"].as_str().expect("a text").to_owned());
        let named: Vec<_> = texts.filter(|text| text.contains("no room")).collect();
        let expected = [
            "There is no room for 7 devices: Lamp 63, Lamp 64, Lamp 65, Lamp 66, Lamp 67, Lamp 68, Lamp 69. They can be used by \
             their exact names.",
            "There is no room for 6 devices: Lamp 63, Lamp 64, Lamp 65, Lamp 66, Lamp 67, Lamp 69. They can be used by their exact \
             names.",
        ];
        assert_eq!(named, expected);
    });
}

/// The memory for texts may be full before that for devices is. Then the same devices have no room after each list.
#[test]
fn devices_with_long_texts_are_left_out_for_good_and_named_once() {
    story(async |world| {
        let mut ann = world.person("ann").await;
        let mut ben = world.client("ben", &["hearthwave/story/log"]).await;
        let sensor = |number: usize| {
            let name = format!("Sensor {number:02} above the wardrobe in the large guest bedroom");
            let state = json!({ "temperature": 21.55, "humidity": 45.5, "illuminance": 1234, "motion": false,
                                "note": "measures every five minutes", "number": number });
            let device =
                json!({ "name": name, "room": "The Large Guest Bedroom", "kind": "sensor", "state": state });
            described(&format!("sensor{number}"), &device)
        };
        // The controller does not notify of changes, so it is asked for its list every 30 seconds.
        let mut stranger = Stranger::greets(world, json!({}), (0..64).map(sensor).collect()).await;
        stranger.serves_for(Duration::from_secs(20)).await;
        let mut counts = BTreeSet::new();
        let lists = stranger.lists;
        for _ in 0..600 {
            ann.sends("device/list", json!({}));
            stranger.serves_for(Duration::from_millis(997)).await;
            counts.insert(ann.gets("device/list").await["left_out"].as_u64().unwrap_or_default());
        }
        assert!(stranger.lists > lists + 15, "{}", stranger.lists);
        assert!(counts.len() == 1 && !counts.contains(&0), "{counts:?}");
        let notices = ben.hears_all("log").await;
        let texts = notices.iter().map(|notice| notice.json()["text"].as_str().expect("a text").to_owned());
        let named: Vec<_> = texts.filter(|text| text.contains("no room")).collect();
        assert_eq!(named.len(), 1, "{named:#?}");
    });
}

#[test]
fn in_a_home_that_is_known_in_part_a_model_changes_no_unknown_device() {
    // The unreadable device is one of few, and one without room.
    for (count, unreadable) in [(3, "lamp1"), (70, "lamp69")] {
        story(async |world| {
            let (mut ann, mut model) = (world.person("ann").await, world.model().await);
            let mut stranger = Stranger::greets(world, offer(), lamps(count)).await;
            stranger.unreadable = vec![unreadable.into()];
            stranger.serves_for(Duration::from_secs(20)).await;
            let call = json!({ "deviceName": "Nobody", "action": "on" });
            model_calls(&mut stranger, &mut ann, &mut model, call.clone()).await;
            assert_refused(&result(&mut ann, &mut model).await, "unavailable", "");
            assert_eq!(stranger.calls, [] as [Value; 0]);
            // It is read again, and then everything is known.
            let reads = stranger.reads;
            stranger.serves_for(Duration::from_secs(600)).await;
            let tries = stranger.reads - reads;
            assert!((5..100).contains(&tries), "{tries} reads in ten minutes");
            stranger.unreadable.clear();
            stranger.serves_for(Duration::from_secs(70)).await;
            model_calls(&mut stranger, &mut ann, &mut model, call).await;
            assert_refused(&result(&mut ann, &mut model).await, "not_found", "");
            assert_eq!(stranger.calls, [] as [Value; 0]);
        });
    }
}

#[test]
fn of_many_devices_a_model_uses_the_harmless_ones_unasked() {
    story(async |world| {
        let (mut ann, mut model) = (world.person("ann").await, world.model().await);
        let mut devices = lamps(70);
        devices.push(device("night", "Good Night", "scene", &json!({}), &["activate"]));
        devices.push(device("lights", "All Lights", "group", &json!({}), &["on", "off"]));
        let mut stranger = Stranger::greets(world, offer(), devices).await;
        stranger.serves_for(Duration::from_secs(20)).await;
        let kept = kept(&mut ann).await;
        assert!(kept.contains("night") && kept.contains("lights") && !kept.contains("lamp69"), "{kept:?}");
        for (name, action) in [("Lamp 69", "on"), ("Good Night", "on"), ("All Lights", "off")] {
            let call = json!({ "deviceName": name, "action": action });
            model_calls(&mut stranger, &mut ann, &mut model, call.clone()).await;
            let result = result(&mut ann, &mut model).await;
            assert_eq!(result["success"], true, "{result}");
            assert_eq!(stranger.calls.last().expect("a call")["arguments"], call);
        }
    });
}

#[test]
fn a_siren_without_room_is_asked_about() {
    story(async |world| {
        let (mut ann, mut model) = (world.person("ann").await, world.model().await);
        let siren = |number: usize| {
            let name = format!("Siren {number}");
            device(&format!("siren{number}"), &name, "siren", &json!({ "on": false }), &["on", "off"])
        };
        let mut stranger = Stranger::greets(world, offer(), (0..80).map(siren).collect()).await;
        stranger.serves_for(Duration::from_secs(30)).await;
        let kept = kept(&mut ann).await;
        let unkept =
            (0..80).find(|number| !kept.contains(&format!("siren{number}"))).expect("one without room");
        let call = json!({ "deviceName": format!("Siren {unkept}"), "action": "on" });
        model_calls(&mut stranger, &mut ann, &mut model, call).await;
        let approval = loop {
            let message = ann.next(Duration::from_secs(20)).await.expect("an approval");
            if message.topic.contains("/approval/") {
                break message.json();
            }
        };
        assert_contains(&approval["what"], &format!("Siren {unkept}"));
        ann.sends("approve", json!({ "id": approval["id"], "allow": false }));
        assert_refused(&result(&mut ann, &mut model).await, "denied", "");
        assert_eq!(stranger.calls, [] as [Value; 0]);
    });
}
