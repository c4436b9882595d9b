//! The home without a controller: the table against a model, names, and what calls may do.

use std::format;
use std::string::{String, ToString};
use std::vec::Vec;

use proptest::prelude::*;
use serde_json::{Value as Json, json};

use super::gate::Concern;
use super::table::Table;
use super::*;
use crate::limits;
use crate::tool::Hints;

/// The answer to `resources/read` of this device.
fn answer(device: &Json) -> String {
    let text = serde_json::to_string_pretty(device).unwrap();
    json!({ "contents": [{ "uri": "home://devices/x", "text": text }] }).to_string()
}

/// A home with these devices, which are known.
pub(crate) fn home_with(devices: &[Json]) -> std::boxed::Box<Home> {
    let home = std::boxed::Box::new(Home::new());
    home.hears(ResourceNews::Opened(Offer::Subscriptions));
    home.list_begins();
    for device in devices {
        let listed =
            json!({ "uri": format!("home://devices/{}", device["id"].as_str().unwrap()) }).to_string();
        home.hears(ResourceNews::Listed(Value::parse(listed.as_bytes()).unwrap()));
    }
    home.list_ends();
    for device in devices {
        let answer = answer(device);
        assert!(home.read(
            device["id"].as_str().unwrap(),
            Value::parse(answer.as_bytes()).unwrap(),
            Instant::MIN
        ));
        home.change(|table| table.set_all(Flags::STALE, false));
    }
    assert!(matches!(home.next_task(), Task::Wait) && home.is_known());
    home
}

fn plain(id: &str, name: &str, room: &str) -> Json {
    json!({ "id": id, "name": name, "room": room, "kind": "switch", "available": true, "state": { "on": false } })
}

fn call(tool: &str, arguments: Json) -> Json {
    json!({ "tool": tool, "arguments": arguments })
}

#[test]
fn a_press_is_told_once_and_only_if_it_was_seen() {
    let button = |presses: u32| json!({ "id": "b", "kind": "button", "state": { "button": 2, "press": "double", "presses": presses } });
    let home = home_with(&[button(17)]);
    let is_told = |presses| {
        let answer = answer(&button(presses));
        assert!(home.read("b", Value::parse(answer.as_bytes()).unwrap(), Instant::MIN));
        home.take_pressed().is_some()
    };
    assert!(home.take_pressed().is_none(), "what was pressed before is past");
    assert!(!is_told(17) && is_told(18) && !is_told(18));
    let mut buffer = [0; 64];
    let length = home.write_press("b", &mut buffer).unwrap();
    let press: Json = serde_json::from_slice(&buffer[..length]).unwrap();
    assert_eq!(press, json!({ "event_type": "double", "button": 2 }));
    // The controller starts anew.
    assert!(!is_told(0) && is_told(1));
    home.hears(ResourceNews::Closed);
    assert!(!is_told(5), "nobody knows when");
}

#[test]
fn only_what_others_have_to_know_is_announced_again() {
    let lamp = |name: &str, state: Json| json!({ "id": "l", "name": name, "kind": "light", "state": state });
    let home = home_with(&[lamp("Lamp", json!({ "on": false, "level": 0 }))]);
    let is_announced = |device: Json| {
        let answer = answer(&device);
        assert!(home.read("l", Value::parse(answer.as_bytes()).unwrap(), Instant::MIN));
        home.take_unannounced().is_some()
    };
    assert!(home.take_unannounced().is_some() && home.take_unannounced().is_none());
    assert!(!is_announced(lamp("Lamp", json!({ "on": true, "level": 30 }))), "how it stands");
    assert!(is_announced(lamp("Big Lamp", json!({ "on": true, "level": 30 }))), "its name");
    assert!(is_announced(lamp("Big Lamp", json!({ "on": true, "level": 30, "power": 4.5 }))), "a reading");
    assert!(!is_announced(lamp("Big Lamp", json!({ "on": true, "level": 30, "power": 5 }))), "its value");
    let mut able = lamp("Big Lamp", json!({ "on": true, "level": 30, "power": 5 }));
    able["actions"] = json!({ "on": call("x", json!({})) });
    assert!(is_announced(able.clone()), "what it can do");
    able["units"] = json!({ "power": "W" });
    assert!(!is_announced(able.clone()), "the usual unit");
    able["units"] = json!({ "power": "kW" });
    assert!(is_announced(able), "another unit");
}

#[test]
fn a_device_costs_few_bytes() {
    let each = core::mem::size_of::<Table>() / limits::DEVICES;
    std::println!("a device takes {each} bytes, the whole home {}", core::mem::size_of::<Home>());
    assert!(each <= 128, "{each}");
}

#[test]
fn names_are_found_as_people_say_them() {
    let home = home_with(&[
        plain("1-0", "Hall Light", "Hall"),
        plain("2-0", "Lamp", "Kitchen"),
        plain("3-0", "Lamp", "Hall"),
        plain("4-0", "Kitchen", "Kitchen"),
        plain("5-0", "Kitchen Door", "Kitchen"),
        plain("6-0", "Über-Lampe", "Büro"),
        plain("7-0", "The A", ""),
        json!({ "id": "8-0", "kind": "sensor", "state": {} }),
    ]);
    for (said, id) in [
        ("Hall Light", "1-0"),
        ("the hall light", "1-0"),
        ("HALL  light!", "1-0"),
        ("light in the hall", "1-0"),
        ("hall lig", "1-0"),
        ("kitchen lamp", "2-0"),
        ("Lamp (Kitchen)", "2-0"),
        ("the lamp in the hall", "3-0"),
        ("3-0", "3-0"),
        ("kitchen", "4-0"),
        ("kitchen d", "5-0"),
        ("über lampe", "6-0"),
        ("ÜBER", "6-0"),
        ("the a", "7-0"),
        ("8-0", "8-0"),
    ] {
        assert_eq!(home.find(said), Found::One(id.try_into().unwrap()), "{said}");
    }
    let mut names = String::new();
    assert_eq!(home.find("lamp"), Found::Several);
    home.write_candidates("lamp", &mut names).unwrap();
    assert_eq!(names, "Lamp (Kitchen), Lamp (Hall)");
    for said in ["", " ", "la", "cellar", "hall light please"] {
        assert_eq!(home.find(said), Found::None, "{said}");
    }
}

/// A controller by other hands: other names of tools and arguments, and a door that is named by its number.
fn strange_home() -> std::boxed::Box<Home> {
    home_with(&[
        plain("l1", "Lamp", "Hall"),
        json!({ "id": "d1", "name": "Door", "kind": "lock", "state": { "locked": true }, "actions": {
            "lock": call("door.set", json!({ "which": "Door", "bolt": true })),
            "unlock": call("door.set", json!({ "which": "Door", "bolt": false })) } }),
        json!({ "id": "g1", "name": "Garage", "kind": "cover", "state": { "class": "garage", "position": 0 }, "actions": {
            "open": call("garage_open", json!({})), "close": call("garage_close", json!({})) } }),
        json!({ "id": "s1", "name": "Siren", "kind": "siren", "state": { "on": false }, "actions": {
            "on": call("power", json!({ "target": "Siren", "state": "on" })),
            "off": call("power", json!({ "target": "Siren", "state": "off" })) } }),
    ])
}

#[test]
fn what_a_call_may_do_is_seen_by_its_arguments_whatever_the_tools_are_called() {
    let home = strange_home();
    use Concern::{Alarm, Close, Lock, Open, Unlock};
    for (tool, arguments, concerns) in [
        ("door.set", json!({ "which": "Door", "bolt": false }), &[Unlock][..]),
        ("door.set", json!({ "which": "door", "bolt": true }), &[Lock]),
        ("door.set", json!({ "bolt": true }), &[Lock]),
        ("door.set", json!({ "bolt": 0 }), &[Unlock]),
        ("door.set", json!({}), &[Unlock]),
        ("door.set", json!({ "which": "Door", "bolt": true, "force": "unlock" }), &[Unlock]),
        ("door.set", json!({ "which": "Lamp", "bolt": false }), &[]),
        ("door.set", json!({ "which": 1, "bolt": false }), &[Unlock]),
        ("door.set", json!({ "which": ["Lamp", "Door"], "bolt": false }), &[Unlock]),
        ("garage_open", json!({}), &[Open]),
        ("garage_close", json!({}), &[Close]),
        ("garage_close", json!({ "reverse": true }), &[Open]),
        ("power", json!({ "target": "Lamp", "state": "on" }), &[]),
        ("power", json!({ "target": "Siren", "state": "off" }), &[]),
        ("power", json!({ "target": "Siren", "state": "toggle" }), &[Alarm]),
        ("power", json!({ "target": "all", "state": "on" }), &[Alarm]),
        ("power", json!({ "target": "all", "state": "off" }), &[]),
        ("power", json!({ "state": "on" }), &[Alarm]),
        ("power", json!({ "target": "Si", "state": "on", "note": "Lamp" }), &[Alarm]),
        ("other", json!({ "things": [{ "name": "the siren" }] }), &[Alarm]),
        ("other", json!({ "name": "s1" }), &[Alarm]),
        ("other", json!({ "name": "Lamp" }), &[]),
    ] {
        let text = arguments.to_string();
        let weighed = home.weigh(tool, Hints::NONE, Value::parse(text.as_bytes()).unwrap());
        assert_eq!(weighed.concerns.each().collect::<Vec<_>>(), concerns, "{tool} {arguments}");
        let reads = Hints { read_only: Some(true), ..Hints::NONE };
        let weighed = home.weigh(tool, reads, Value::parse(text.as_bytes()).unwrap());
        assert!(weighed.concerns.is_empty(), "{tool} only reads");
    }
}

#[test]
fn a_guarded_device_whose_actions_are_not_kept_is_guarded_all_the_same() {
    let long = "x".repeat(limits::DEVICE_ACTIONS);
    let door = json!({ "id": "d1", "name": "Door", "kind": "lock", "state": {}, "actions": {
        "lock": call("door", json!({ "which": "Door", "why": long })) } });
    let home = home_with(&[door, plain("l1", "Lamp", "Hall")]);
    for (arguments, is_guarded) in [
        (json!({ "which": "the door" }), true),
        (json!({ "action": "unlock" }), true),
        (json!({ "which": "shed" }), true),
        (json!({ "which": "lamp" }), false),
    ] {
        let text = arguments.to_string();
        let weighed = home.weigh("door", Hints::NONE, Value::parse(text.as_bytes()).unwrap());
        assert_eq!(!weighed.concerns.is_empty(), is_guarded, "{arguments}");
    }
}

#[test]
fn what_is_no_description_changes_nothing() {
    let home = home_with(&[plain("1-0", "Lamp", "Hall")]);
    let before = home.with("1-0", |device| device.to_string()).unwrap();
    for result in [
        json!({}),
        json!({ "contents": [] }),
        json!({ "contents": [{ "blob": "AAAA" }] }),
        json!({ "contents": [{ "text": "[1]" }] }),
        json!({ "contents": [{ "text": "{" }] }),
        json!({ "contents": [{ "text": format!("{{\"name\":\"{}\"}}", "x".repeat(limits::DEVICE)) }] }),
    ] {
        let text = result.to_string();
        assert!(!home.read("1-0", Value::parse(text.as_bytes()).unwrap(), Instant::MIN), "{result}");
        assert_eq!(home.with("1-0", |device| device.to_string()).unwrap(), before);
    }
    // Wrong types are as good as nothing.
    let odd = json!({ "name": 7, "room": [], "kind": {}, "state": "on", "available": "no", "battery": "full", "actions": 1 });
    let text = answer(&odd);
    assert!(home.read("1-0", Value::parse(text.as_bytes()).unwrap(), Instant::MIN));
    assert_eq!(home.with("1-0", |device| device.to_string()).unwrap(), "1-0 is not telling how it stands");
    for uri in [
        "home://devices/",
        "home://devices/a/b",
        "home://devices/+",
        "home://devices/#",
        "file:///x",
        "home://devices/\u{0}",
    ] {
        let text = json!({ "uri": uri }).to_string();
        home.hears(ResourceNews::Listed(Value::parse(text.as_bytes()).unwrap()));
        assert_eq!(home.count().0, 1, "{uri}");
    }
}

/// One thing that happens to the table.
#[derive(Clone, Debug)]
enum Happening {
    Describe { place: usize, name: String, room: String, level: u32 },
    Remove(usize),
    Add(u16),
}

fn happening() -> impl Strategy<Value = Happening> {
    prop_oneof![
        4 => (0..80usize, "\\PC{0,80}", "[a-zäß ]{0,40}", any::<u32>())
            .prop_map(|(place, name, room, level)| Happening::Describe { place, name, room, level }),
        1 => (0..80usize).prop_map(Happening::Remove),
        3 => (0..500u16).prop_map(Happening::Add),
    ]
}

proptest! {
    /// The table holds what a list without limits would, as far as there is room.
    #[test]
    fn the_table_keeps_what_it_is_told(happenings in prop::collection::vec(happening(), 0..200)) {
        let mut table = std::boxed::Box::new(Table::new());
        let mut model: Vec<(String, String, u32)> = Vec::new();
        for happening in happenings {
            match happening {
                Happening::Add(number) => {
                    let id = format!("{number}-0");
                    if table.place(&id).is_none() && table.add(&id).is_ok() {
                        model.push((id, String::new(), 0));
                    }
                }
                Happening::Remove(place) => {
                    table.remove(place);
                    if place < model.len() {
                        model.remove(place);
                    }
                }
                Happening::Describe { place, name, room, level } => {
                    let device = json!({ "name": name, "room": room, "kind": "light", "state": { "level": level } });
                    let text = answer(&device);
                    let mut room = [0; limits::DEVICE];
                    let description = Description::read(Value::parse(text.as_bytes()).unwrap(), &mut room).unwrap();
                    if table.describe(place, &description).is_ok() {
                        let is_blank = name.trim().is_empty();
                        model[place].1 = if is_blank { model[place].0.clone() } else { name };
                        model[place].2 = level;
                    }
                }
            }
            prop_assert_eq!(table.len(), model.len());
            for (place, (id, name, level)) in model.iter().enumerate() {
                let device = table.get(place).unwrap();
                prop_assert_eq!(device.id, id);
                prop_assert_eq!(table.place(id), Some(place));
                if !name.is_empty() {
                    let cut = device.name.strip_suffix('…').unwrap_or(device.name);
                    prop_assert!(name.starts_with(cut) && (cut.len() == name.len() || device.name.len() >= limits::DEVICE_NAME - 6));
                    prop_assert_eq!(device.state().get("level").and_then(|level| level.as_integer()), Some(i64::from(*level)));
                }
            }
        }
    }
}
