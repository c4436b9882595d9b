//! Assessments of calls, without a controller.

use std::boxed::Box;
use std::format;
use std::string::{String, ToString};
use std::vec;
use std::vec::Vec;

use proptest::prelude::*;
use serde_json::{Value as Json, json};

use super::Risk::{Alarm, Close, Destructive, Lock, Open, Unlock, Unmarked};
use super::assess::{Assessment, Unresolved, assess};
use super::{Risk, VerbForm, summarise};
use crate::home::Home;
use crate::home::tests::{call, home_with, plain};
use crate::json::Value;
use crate::limits;
use crate::tool::{Addressed, ControllerCall, Hints};

const HARMLESS: Hints = Hints { read_only: Some(false), destructive: Some(false), idempotent: None };
const READS: Hints = Hints { read_only: Some(true), destructive: None, idempotent: None };
const DESTROYS: Hints = Hints { read_only: None, destructive: Some(true), idempotent: None };

fn assess_call(home: &Home, tool: &str, hints: Hints, arguments: &Json) -> Result<Assessment, Unresolved> {
    addressed(home, tool, hints, arguments).map(|(assessment, _)| assessment)
}

/// The assessment, and the argument that is replaced.
fn addressed(
    home: &Home,
    tool: &str,
    hints: Hints,
    arguments: &Json,
) -> Result<(Assessment, Option<Addressed>), Unresolved> {
    let text = arguments.to_string();
    let call = ControllerCall { tool, hints, arguments: Value::parse(text.as_bytes()).unwrap() };
    assess(home, &call)
}

fn risks(home: &Home, tool: &str, hints: Hints, arguments: &Json) -> Vec<Risk> {
    assess_call(home, tool, hints, arguments).unwrap().risks.each().collect()
}

/// The question that a person is asked.
fn question(home: &Home, tool: &str, hints: Hints, arguments: &Json) -> String {
    let text = arguments.to_string();
    let call = ControllerCall { tool, hints, arguments: Value::parse(text.as_bytes()).unwrap() };
    summarise(home, &call, &assess(home, &call).unwrap().0, VerbForm::Infinitive).to_string()
}

/// A lock whose actions have these addresses.
fn lock(id: &str, name: &str, room: &str, address: &str) -> Json {
    json!({ "id": id, "name": name, "room": room, "kind": "lock", "state": { "locked": true }, "actions": {
        "lock": call("door.set", json!({ "which": address, "bolt": true })),
        "unlock": call("door.set", json!({ "which": address, "bolt": false })) } })
}

/// A lamp that is controlled by the same tool as the siren.
fn lamp(id: &str, name: &str, room: &str) -> Json {
    json!({ "id": id, "name": name, "room": room, "kind": "light", "state": { "on": false }, "actions": {
        "on": call("power", json!({ "target": name, "state": "on" })),
        "level": { "tool": "power", "arguments": { "target": name, "state": "dim" },
                   "value": { "argument": "level", "type": "integer" } } } })
}

/// A controller by other hands: other names of tools and arguments, and a garage door that its calls do not name.
fn strange_home() -> Box<Home> {
    home_with(&[
        lamp("l1", "Lamp", "Hall"),
        lock("d1", "Door", "", "Door"),
        json!({ "id": "g1", "name": "Garage", "kind": "cover", "state": { "class": "garage", "position": 0 }, "actions": {
            "open": call("garage_open", json!({})), "close": call("garage_close", json!({})) } }),
        json!({ "id": "s1", "name": "Siren", "kind": "siren", "state": { "on": false }, "actions": {
            "on": call("power", json!({ "target": "Siren", "state": "on" })),
            "off": call("power", json!({ "target": "Siren", "state": "off" })) } }),
    ])
}

#[test]
fn risks_follow_from_the_actions_of_the_device_whatever_the_tools_are_called() {
    let home = strange_home();
    for (tool, arguments, expected) in [
        ("door.set", json!({ "which": "Door", "bolt": false }), &[Unlock][..]),
        ("door.set", json!({ "which": "door", "bolt": true }), &[Lock]),
        ("door.set", json!({ "bolt": true }), &[Lock]),
        ("door.set", json!({ "bolt": 0 }), &[Unlock]),
        ("door.set", json!({}), &[Unlock]),
        ("door.set", json!({ "which": "Door", "bolt": true, "force": "unlock" }), &[Unlock]),
        ("garage_open", json!({}), &[Open]),
        ("garage_close", json!({}), &[Close]),
        ("garage_close", json!({ "reverse": true }), &[Open]),
        ("power", json!({ "target": "Lamp", "state": "on" }), &[]),
        ("power", json!({ "target": "Siren", "state": "off" }), &[]),
        ("power", json!({ "target": "Siren", "state": "toggle" }), &[Alarm]),
        ("power", json!({ "target": "Si", "state": "on" }), &[]),
        ("power", json!({ "target": "Sir", "state": "on", "note": "Lamp" }), &[Alarm]),
        ("other", json!({ "name": "Siren" }), &[]),
    ] {
        if arguments["target"] == "Si" {
            assert_eq!(assess_call(&home, tool, HARMLESS, &arguments), Err(Unresolved::Unknown));
            continue;
        }
        assert_eq!(risks(&home, tool, HARMLESS, &arguments), expected, "{tool} {arguments}");
        // Hints do not override what the hub knows.
        assert_eq!(risks(&home, tool, READS, &arguments), expected, "{tool} {arguments}");
    }
    for arguments in [
        json!({ "which": "Lamp", "bolt": false }),
        json!({ "which": 1, "bolt": false }),
        json!({ "which": ["Lamp", "Door"], "bolt": false }),
        json!({ "which": "everything", "bolt": false }),
    ] {
        assert_eq!(
            assess_call(&home, "door.set", HARMLESS, &arguments),
            Err(Unresolved::Unknown),
            "{arguments}"
        );
    }
    assert_eq!(assess_call(&home, "power", HARMLESS, &json!({ "state": "on" })), Err(Unresolved::Several));
}

#[test]
fn a_hint_adds_caution() {
    let home = strange_home();
    assert_eq!(risks(&home, "wipe", DESTROYS, &json!({ "note": "Garage" })), [Destructive]);
    assert_eq!(risks(&home, "wipe", Hints::NONE, &json!({})), [Unmarked]);
    let says_both = Hints { read_only: Some(true), ..DESTROYS };
    assert_eq!(risks(&home, "wipe", says_both, &json!({})), [Destructive]);
    assert_eq!(risks(&home, "door.set", DESTROYS, &json!({ "which": "Door", "bolt": true })), [Lock]);
    assert_eq!(
        risks(&home, "door.set", DESTROYS, &json!({ "which": "Door", "bolt": 2 })),
        [Unlock, Destructive]
    );
}

#[test]
fn an_address_replaces_what_was_said() {
    let home = strange_home();
    for (spoken, address) in
        [("Door", None), ("the door", Some("Door")), ("d1", Some("Door")), ("DOOR", Some("Door"))]
    {
        let call = json!({ "which": spoken, "bolt": true });
        let (assessment, replaced) = addressed(&home, "door.set", HARMLESS, &call).unwrap();
        let replaced = replaced.as_ref().map(|addressed| addressed.value.as_str());
        assert_eq!((assessment.device.as_str(), replaced), ("d1", address), "{spoken}");
    }
}

#[test]
fn names_that_differ_in_symbols_lead_to_the_device_that_is_called_so() {
    let home = home_with(&[
        lock("d1", "🔒 Front Door", "Hall", "🔒 Front Door"),
        lock("d2", "Door", "Front", "d2"),
        lock("d3", "d2", "Attic", "d3"),
    ]);
    for (spoken, device) in [
        ("Front Door", "d1"),
        ("front door!", "d1"),
        ("🔒 Front Door", "d1"),
        ("Door", "d2"),
        // An address counts more than a name.
        ("d2", "d2"),
        ("d3", "d3"),
    ] {
        let assessment = assess_call(&home, "door.set", HARMLESS, &json!({ "which": spoken, "bolt": false }));
        assert_eq!(assessment.unwrap().device.as_str(), device, "{spoken}");
    }
    // A lamp's address must not also match a lock.
    let mut lamp = lamp("l1", "d3", "");
    for action in ["on", "level"] {
        lamp["actions"][action]["tool"] = json!("door.set");
        lamp["actions"][action]["arguments"] = json!({ "which": "d3", "state": action });
    }
    let shared = home_with(&[lock("d3", "Door", "Attic", "Door"), lamp]);
    let call = json!({ "which": "l1", "state": "on" });
    assert_eq!(assess_call(&shared, "door.set", HARMLESS, &call), Err(Unresolved::Shared));
    let twins = home_with(&[lock("d1", "Door", "", "d1"), lock("d2", "Door", "", "d2")]);
    let call = json!({ "which": "Door", "bolt": false });
    assert_eq!(assess_call(&twins, "door.set", HARMLESS, &call), Err(Unresolved::Several));
}

#[test]
fn a_person_sees_the_device_the_action_and_the_arguments() {
    let home = strange_home();
    for (tool, hints, arguments, expected) in [
        ("door.set", HARMLESS, json!({ "which": "Door", "bolt": false }), "unlock Door"),
        (
            "door.set",
            HARMLESS,
            json!({ "bolt": 0, "which": "Door" }),
            r#"unlock Door (door.set with {"bolt":0,"which":"Door"})"#,
        ),
        (
            "wipe",
            DESTROYS,
            json!({ "note": "Garage", "target": "everything" }),
            r#"call wipe with {"note":"Garage","target":"everything"}"#,
        ),
    ] {
        assert_eq!(question(&home, tool, hints, &arguments), expected);
    }
    // Of several risks, the worst action of the device is shown.
    let both = question(&home, "door.set", DESTROYS, &json!({ "which": "Door", "bolt": 2 }));
    assert_eq!(both, r#"unlock Door (door.set with {"bolt":2,"which":"Door"})"#);
    let lamp = question(&home, "power", DESTROYS, &json!({ "target": "Lamp", "state": "blink" }));
    assert_eq!(lamp, r#"call power for Lamp with {"state":"blink","target":"Lamp"}"#);
    let long = question(&home, "door.set", HARMLESS, &json!({ "which": "Door", "why": "x".repeat(500) }));
    assert!(long.ends_with("(525 bytes in all))") && long.len() <= limits::APPROVAL, "{long}");
    let long = question(&home, "wipe", DESTROYS, &json!({ "note": "x".repeat(500) }));
    assert!(long.contains("…") && long.ends_with("(511 bytes in all)"), "{long}");
    assert!(long.len() <= limits::APPROVAL, "{}", long.len());
}

/// A siren that is called like one of its actions, and a lock whose id is the value of another argument.
#[test]
fn an_argument_with_the_value_of_the_address_still_counts() {
    let siren = |action: &str| call("power", json!({ "target": "off", "state": action }));
    let bolt = |value: u8| call("node.set", json!({ "node": 1, "bolt": value }));
    let home = home_with(&[
        json!({ "id": "s1", "name": "off", "kind": "siren", "state": {}, "actions": { "off": siren("off"), "on": siren("on") } }),
        json!({ "id": "1", "name": "Door", "kind": "lock", "state": {}, "actions": { "lock": bolt(1), "unlock": bolt(0) } }),
        lamp("l1", "Lamp", "Hall"),
    ]);
    for (tool, arguments, expected) in [
        ("power", json!({ "target": "off", "state": "off" }), &[][..]),
        ("power", json!({ "target": "OFF", "state": "off" }), &[]),
        ("power", json!({ "target": "off", "state": "toggle" }), &[Alarm]),
        ("power", json!({ "target": "OFF", "state": "toggle" }), &[Alarm]),
        ("power", json!({ "target": "Lamp", "state": "on" }), &[]),
        ("node.set", json!({ "node": 1, "bolt": 1 }), &[Lock]),
        ("node.set", json!({ "node": "door", "bolt": 1 }), &[Lock]),
        ("node.set", json!({ "node": 1, "bolt": 1.0 }), &[Unlock]),
        ("node.set", json!({ "node": 1, "bolt": 0.0 }), &[Unlock]),
    ] {
        assert_eq!(risks(&home, tool, HARMLESS, &arguments), expected, "{tool} {arguments}");
    }
}

/// Locking names the lock in one argument, unlocking in two: the hub does not know which of them counts.
#[test]
fn an_action_that_names_its_device_twice_is_guarded() {
    let open = call("open", json!({ "name": "Door", "id": "d1" }));
    let home = home_with(&[
        json!({ "id": "d1", "name": "Door", "kind": "lock", "state": {}, "actions": {
            "lock": call("close", json!({ "name": "Door" })), "unlock": open } }),
        lamp("l1", "Lamp", "Hall"),
    ]);
    for arguments in [
        json!({ "name": "Door", "id": "d1" }),
        json!({ "name": "the door" }),
        json!({ "id": "d1" }),
        json!({}),
    ] {
        assert_eq!(risks(&home, "open", HARMLESS, &arguments), [Unlock], "{arguments}");
    }
    assert_eq!(risks(&home, "close", HARMLESS, &json!({ "name": "Door" })), [Lock]);
    assert_eq!(risks(&home, "power", HARMLESS, &json!({ "target": "Lamp", "state": "on" })), []);
}

/// Some devices are named by one argument of a tool, some by another. A call with both is a question.
#[test]
fn a_call_that_names_two_devices_is_not_sent() {
    let garage = call("power", json!({ "id": "g1", "state": "open" }));
    let home = home_with(&[
        lamp("l1", "Lamp", "Hall"),
        json!({ "id": "g1", "name": "Garage", "kind": "cover", "state": { "class": "garage" }, "actions": {
            "open": garage } }),
    ]);
    let both = json!({ "target": "Lamp", "id": "g1", "state": "open" });
    assert_eq!(assess_call(&home, "power", HARMLESS, &both), Err(Unresolved::Several));
    assert_eq!(risks(&home, "power", HARMLESS, &json!({ "id": "g1", "state": "open" })), [Open]);
}

/// An argument that the controller declares in no action may name a device as well.
#[test]
fn a_call_with_a_guarded_device_in_another_argument_is_not_sent() {
    let home = strange_home();
    for (argument, value) in [
        ("device", json!("Siren")),
        ("id", json!("s1")),
        ("Target", json!("the siren")),
        ("targets", json!(["Porch", "Siren"])),
        ("where", json!({ "device": { "name": "SIREN" } })),
        ("deep", json!([[[[["Lamp"]]]]])),
    ] {
        let mut arguments = json!({ "target": "Lamp", "state": "on" });
        arguments[argument] = value;
        assert_eq!(
            assess_call(&home, "power", HARMLESS, &arguments),
            Err(Unresolved::Several),
            "{arguments}"
        );
    }
    for (argument, value) in
        [("note", json!("hello")), ("state", json!("Siren")), ("room", json!(["Hall", 7, null]))]
    {
        let mut arguments = json!({ "target": "Lamp", "state": "on" });
        arguments[argument] = value;
        assert_eq!(risks(&home, "power", HARMLESS, &arguments), [], "{arguments}");
    }
    // Neither the named device itself nor a device of another tool counts as a second one.
    let twice = json!({ "target": "Siren", "state": "off", "note": "Siren" });
    assert_eq!(risks(&home, "power", HARMLESS, &twice), [Alarm]);
    assert_eq!(risks(&home, "power", HARMLESS, &json!({ "target": "Lamp", "note": "Garage" })), []);
}

/// A tool may control some devices by name and others without one. The device that is named is assessed whatever the others are.
#[test]
fn a_device_that_is_named_is_the_one_that_is_assessed_and_shown() {
    let home = home_with(&[
        json!({ "id": "d1", "name": "Door", "kind": "lock", "state": {}, "actions": {
            "lock": call("set", json!({ "action": "on" })), "unlock": call("set", json!({ "action": "off" })) } }),
        json!({ "id": "s1", "name": "Siren", "kind": "siren", "state": {}, "actions": {
            "on": call("set", json!({ "deviceName": "Siren", "action": "on" })) } }),
    ]);
    let (named, bare) = (json!({ "deviceName": "the siren", "action": "on" }), json!({ "action": "on" }));
    assert_eq!(risks(&home, "set", HARMLESS, &bare), [Lock, Alarm]);
    assert_eq!(risks(&home, "set", HARMLESS, &named), [Alarm]);
    assert_eq!(question(&home, "set", HARMLESS, &named), "switch on Siren");
    let long = "Siren ".repeat(15);
    let open = |action: &str| call("control", json!({ "deviceName": "Garage Door", "action": action }));
    let home = home_with(&[
        json!({ "id": "g1", "name": "Garage Door", "kind": "cover", "state": { "class": "garage" }, "actions": {
            "open": open("open"), "close": open("close") } }),
        json!({ "id": "s1", "name": long, "kind": "siren", "state": {}, "actions": {
            "on": call("control", json!({ "deviceName": long, "action": "on" })) } }),
    ]);
    for (action, expected) in [("open", &[Open][..]), ("close", &[Close]), ("toggle", &[Open, Alarm])] {
        let arguments = json!({ "deviceName": "Garage Door", "action": action });
        let assessment = assess_call(&home, "control", HARMLESS, &arguments).unwrap();
        assert_eq!(assessment.risks.each().collect::<Vec<_>>(), expected, "{action}");
        assert_eq!(assessment.device, "g1", "{action}");
        let asked = question(&home, "control", HARMLESS, &arguments);
        assert!(asked.contains("Garage Door") && !asked.contains("Siren Siren"), "{asked}");
    }
}

/// While a name may be that of a device which has never been read, nothing less than the exact name is one.
#[test]
fn a_name_is_not_completed_while_devices_are_unread() {
    let home = home_with(&[lock("d2", "Front Door Back", "", "Front Door Back")]);
    let lock = json!({ "which": "Front Door", "bolt": true });
    assert_eq!(risks(&home, "door.set", HARMLESS, &lock), [Lock]);
    crate::home::tests::list(&home, &["d1", "d2"]);
    assert_eq!(assess_call(&home, "door.set", HARMLESS, &lock), Err(Unresolved::Unknown));
    let exact = json!({ "which": "front door back", "bolt": true });
    assert_eq!(risks(&home, "door.set", HARMLESS, &exact), [Lock]);
}

/// If only guarded devices are kept, one may be left out, and any tool may control it.
#[test]
fn a_guarded_device_without_room_makes_tools_without_devices_suspect() {
    let door = |number: usize| {
        let name = format!("D{number}");
        json!({ "id": name, "name": name, "kind": "lock", "state": {}, "actions": {
            "lock": call("bolt", json!({ "which": name })) } })
    };
    let doors: Vec<_> = (0..limits::DEVICES).map(door).collect();
    let home = home_with(&doors);
    assert_eq!(risks(&home, "lock_door", HARMLESS, &json!({ "name": "Last" })), []);
    let ids: Vec<_> = (0..=limits::DEVICES).map(|number| format!("D{number}")).collect();
    crate::home::tests::list(&home, &ids.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(risks(&home, "lock_door", HARMLESS, &json!({ "name": "Last" })), [Destructive]);
    assert_eq!(risks(&home, "get_status", READS, &json!({})), []);
}

/// Names that a person takes for the same are told apart by the id.
#[test]
fn names_that_look_alike_are_shown_with_the_id() {
    for other in ["front  door", "Front-Door", "Front\u{a0}Door", "Front Door\u{200b}", "🔒 Front Door"] {
        let home = home_with(&[lock("d1", "Front Door", "", "d1"), lock("d2", other, "", "d2")]);
        for id in ["d1", "d2"] {
            let asked = question(&home, "door.set", HARMLESS, &json!({ "which": id, "bolt": false }));
            assert!(asked.ends_with(&format!(" ({id})")), "{asked}");
        }
    }
}

/// What the value of an action means is up to the controller.
#[test]
fn an_action_with_a_value_is_the_most_dangerous_one() {
    let home = home_with(&[json!({ "id": "d1", "name": "Door", "kind": "lock", "state": {}, "actions": {
        "lock": { "tool": "door", "arguments": { "which": "Door" }, "value": { "argument": "locked", "type": "boolean" } } } })]);
    for locked in [json!(true), json!(false)] {
        assert_eq!(risks(&home, "door", HARMLESS, &json!({ "which": "Door", "locked": locked })), [Unlock]);
    }
}

/// A name that the hub cannot keep is no address, so any call of its tool may reach the siren. A person is shown the siren.
#[test]
fn a_person_is_shown_the_device_in_danger() {
    let long = "Сирена ".repeat(8);
    let home = home_with(&[
        json!({ "id": "s1", "name": long, "kind": "siren", "state": {}, "actions": {
            "on": call("power", json!({ "target": long, "state": "on" })) } }),
        lamp("l1", "Lamp", "Hall"),
    ]);
    let asked = question(&home, "power", HARMLESS, &json!({ "target": "Lamp", "state": "on" }));
    assert!(asked.starts_with("switch on Сирена Сирена"), "{asked}");
    assert!(asked.ends_with(r#"(power with {"state":"on","target":"Lamp"})"#), "{asked}");
}

#[test]
fn two_doors_of_one_name_are_told_apart() {
    let twins = home_with(&[lock("d1", "Door", "Hall", "d1"), lock("d2", "Door", "Hall", "d2")]);
    let asked = question(&twins, "door.set", HARMLESS, &json!({ "which": "d2", "bolt": false }));
    assert_eq!(asked, "unlock Door (d2)");
}

#[test]
fn a_lock_whose_actions_are_not_kept_is_guarded_all_the_same() {
    let long = "x".repeat(limits::DEVICE_ACTIONS);
    let door = json!({ "id": "d1", "name": "Door", "kind": "lock", "state": {}, "actions": {
        "lock": call("door", json!({ "which": "Door", "why": long })) } });
    let home = home_with(&[door, plain("l1", "Lamp", "Hall"), lamp("l2", "Desk Lamp", "Hall")]);
    assert_eq!(risks(&home, "door", HARMLESS, &json!({ "which": "the door" })), [Unlock]);
    assert_eq!(risks(&home, "other", HARMLESS, &json!({})), [Destructive]);
    // It may unlock the door, whatever it declares.
    for arguments in [json!({}), json!({ "node": 12 })] {
        assert_eq!(risks(&home, "front_unlock", READS, &arguments), [Destructive], "{arguments}");
    }
    assert_eq!(risks(&home, "power", HARMLESS, &json!({ "target": "Desk Lamp", "state": "on" })), []);
}

/// Names that are easily confused.
fn name() -> impl Strategy<Value = String> {
    const WORDS: [&str; 12] =
        ["Door", "door", "Garage", "🚗", "the", "Lamp", "Тёплый", "d0", "d1", "\"", "é", "…"];
    proptest::collection::vec(proptest::sample::select(&WORDS[..]), 1..4).prop_map(|words| words.join(" "))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// Whatever a home is called and a model says, a call is about the device whose address is sent, and one about a lock
    /// that is not its action `lock` is a risk.
    #[test]
    fn what_is_assessed_is_what_is_addressed(
        locks in proptest::collection::vec((name(), name()), 1..4),
        lamps in proptest::collection::vec((name(), name()), 1..4),
        spoken in name(),
        bolt in proptest::sample::select(vec![json!(true), json!(false), json!("true"), json!(null)]),
    ) {
        let is_unique = |name: &String| {
            locks.iter().chain(&lamps).filter(|(other, _)| other == name).count() == 1
        };
        let mut devices = Vec::new();
        for (index, (name, room)) in locks.iter().enumerate() {
            let id = format!("d{index}");
            devices.push(lock(&id, name, room, if is_unique(name) { name } else { &id }));
        }
        for (index, (name, room)) in lamps.iter().enumerate() {
            let id = format!("l{index}");
            let address = if is_unique(name) { name } else { &id };
            devices.push(json!({ "id": id, "name": name, "room": room, "kind": "light", "state": {}, "actions": {
                "on": call("door.set", json!({ "which": address, "bolt": false })) } }));
        }
        let home = home_with(&devices);
        let arguments = json!({ "which": spoken, "bolt": bolt });
        if let Ok((assessment, replaced)) = addressed(&home, "door.set", HARMLESS, &arguments) {
            let id = assessment.device.as_str();
            let device = devices.iter().find(|device| device["id"] == id).unwrap();
            let declared = device["actions"].as_object().unwrap().values().next().unwrap();
            let sent = match &replaced {
                Some(addressed) => addressed.value.as_str(),
                None => spoken.as_str(),
            };
            prop_assert_eq!(&declared["arguments"]["which"], sent);
            let is_harmless = device["kind"] == "light";
            let is_locking = device["kind"] == "lock" && bolt == json!(true);
            let expected = if is_harmless { vec![] } else if is_locking { vec![Lock] } else { vec![Unlock] };
            prop_assert_eq!(assessment.risks.each().collect::<Vec<_>>(), expected);
        }
    }
}

/// Calls of controller tools are sent from one place only. It requires the return value of
/// [`Approver::admit`](super::Approver::admit).
#[test]
fn nothing_else_sends_calls_of_tools() {
    fn files(folder: &std::path::Path, found: &mut Vec<(String, String)>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                files(&path, found);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                found.push((path.display().to_string(), std::fs::read_to_string(&path).unwrap()));
            }
        }
    }
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut found = Vec::new();
    files(&root, &mut found);
    assert!(found.len() > 100, "{}", found.len());
    let with = |words: &[&str]| -> Vec<&str> {
        let is_word = |text: &str, word: &str| {
            let mut rest = text.split(word).skip(1).peekable();
            rest.any(|after| !after.starts_with(|next: char| next.is_alphanumeric()))
        };
        let is_it = |text: &str| words.iter().any(|word| is_word(text, word));
        let files = found.iter().filter(|(path, text)| !path.ends_with("tests.rs") && is_it(text));
        let mut files: Vec<_> = files.map(|(path, _)| &path[root.to_str().unwrap().len() + 1..]).collect();
        files.sort_unstable();
        files
    };
    // The protocol itself, and its only caller.
    assert_eq!(with(&["CallTool"]), ["approval/record.rs", "link/port.rs", "link/rpc.rs"]);
    assert_eq!(with(&["\"tools/call\""]), ["link/rpc.rs"]);
    assert_eq!(with(&["Admitted::new"]), ["approval/mod.rs"]);
}
