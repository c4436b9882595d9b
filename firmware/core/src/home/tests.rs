//! The home without a controller: the table against a model, and names.

use std::format;
use std::string::{String, ToString};
use std::vec::Vec;

use proptest::prelude::*;
use serde_json::{Value as Json, json};

use super::table::Table;
use super::*;
use crate::limits;

/// The answer to `resources/read` of this device.
fn answer(device: &Json) -> String {
    let text = serde_json::to_string_pretty(device).unwrap();
    json!({ "contents": [{ "uri": "home://devices/x", "text": text }] }).to_string()
}

/// A home with these devices, which are known.
pub(crate) fn home_with(devices: &[Json]) -> std::boxed::Box<Home> {
    let home = std::boxed::Box::new(Home::new());
    home.on_resource_event(ResourceNews::Opened(Offer::Subscriptions));
    list(&home, &devices.iter().map(|device| device["id"].as_str().unwrap()).collect::<std::vec::Vec<_>>());
    for device in devices {
        let answer = answer(device);
        assert!(home.read(
            device["id"].as_str().unwrap(),
            Value::parse(answer.as_bytes()).unwrap(),
            Instant::MIN
        ));
        home.change(|table| table.set_all(Flags::STALE, false));
    }
    assert!(matches!(home.next_task(Instant::MIN), Task::Wait(_)) && home.is_known());
    home
}

/// The controller lists devices with these ids.
pub(crate) fn list(home: &Home, ids: &[&str]) {
    home.list_begins();
    for id in ids {
        let listed = json!({ "uri": format!("home://devices/{id}"), "name": id }).to_string();
        home.on_resource_event(ResourceNews::Listed(Value::parse(listed.as_bytes()).unwrap()));
    }
    home.list_ends(Instant::MIN);
}

pub(crate) fn plain(id: &str, name: &str, room: &str) -> Json {
    json!({ "id": id, "name": name, "room": room, "kind": "switch", "available": true, "state": { "on": false } })
}

pub(crate) fn call(tool: &str, arguments: Json) -> Json {
    json!({ "tool": tool, "arguments": arguments })
}

#[test]
fn rows_of_kinds_are_consistent() {
    for row in Kind::ALL.iter().map(|kind| kind.row()) {
        let can = |name: &str| row.actions.iter().any(|(known, _)| *known == name);
        let risks: Vec<_> = row.actions.iter().filter_map(|(_, risk)| *risk).collect();
        assert!(row.actions.len() <= u16::BITS as usize, "{}: an action has no bit", row.name);
        assert_eq!(row.worst.is_some(), !risks.is_empty(), "{}", row.name);
        assert!(row.worst.is_none_or(|worst| risks.contains(&worst)), "{}", row.name);
        assert!(row.switch.is_none_or(|[_, on, off]| can(on) && can(off)), "{}", row.name);
        assert!(row.number.is_none_or(|(name, _)| can(name)), "{}", row.name);
        assert!(row.ends.is_none_or(|[zero, more]| can(zero) && can(more)), "{}", row.name);
        assert!(row.word.is_none_or(can), "{}", row.name);
    }
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
    home.on_resource_event(ResourceNews::Closed);
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
    assert!(each <= 232, "{each}");
}

/// The devices of a large home, by kind.
type Kinds = [(usize, &'static str); 8];

const KINDS: Kinds = [
    (30, "light"),
    (12, "plug"),
    (8, "sensor"),
    (5, "climate"),
    (4, "cover"),
    (3, "lock"),
    (1, "garage"),
    (1, "siren"),
];

/// With many locks, garage doors and sirens.
const GUARDED_KINDS: Kinds = [
    (21, "light"),
    (12, "plug"),
    (8, "sensor"),
    (5, "climate"),
    (4, "cover"),
    (10, "lock"),
    (2, "garage"),
    (2, "siren"),
];

/// A large home as people have it, in the words of the Z-Wave service.
pub(crate) fn large_home() -> Vec<Json> {
    large_home_of(KINDS, str::to_string)
}

/// A large home with devices of these kinds. `spell` rewrites each name and room.
fn large_home_of(kinds: Kinds, spell: fn(&str) -> String) -> Vec<Json> {
    let rooms = [
        "Living Room",
        "Kitchen",
        "Hall",
        "Master Bedroom",
        "Bathroom",
        "Home Office",
        "Garage",
        "Guest Room",
    ];
    let kinds = kinds.iter().flat_map(|(count, kind)| core::iter::repeat_n(*kind, *count));
    let device = |(number, kind): (usize, &str)| {
        let room = rooms[number % rooms.len()];
        let name = |what: &str| spell(&format!("{room} {what} {number}"));
        let set = |name: &str, action: &str| json!({ "tool": "control_zwave_device", "arguments": { "deviceName": name, "action": action } });
        let guarded = |kind: &str, name: String, state: Json, actions: [&str; 2]| {
            let actions: serde_json::Map<_, _> =
                actions.iter().map(|action| (action.to_string(), set(&name, action))).collect();
            json!({ "name": name, "kind": kind, "state": state, "actions": actions, "battery": 77 })
        };
        let mut device = match kind {
            "light" => {
                json!({ "name": name("Ceiling Light"), "kind": "light", "state": { "on": true, "level": 60 } })
            }
            "plug" => json!({ "name": name("Washing Machine Plug"), "kind": "switch",
                              "state": { "on": true, "power": 1234.5, "energy": 5678.91, "voltage": 231.4, "current": 5.432 } }),
            "sensor" => json!({ "name": name("Multi Sensor"), "kind": "sensor", "battery": 88,
                                "state": { "temperature": 21.55, "humidity": 45.5, "illuminance": 1234, "motion": false, "uv": 0 } }),
            "climate" => json!({ "name": name("Thermostat"), "kind": "climate", "battery": 60,
                                 "state": { "mode": "heat", "setpoint": 21.5, "temperature": 20.75 } }),
            "cover" => {
                json!({ "name": name("Roller Shutter"), "kind": "cover", "state": { "position": 99, "moving": false, "power": 0.4, "energy": 12.31 } })
            }
            "lock" => guarded(
                "lock",
                name("Front Door Lock"),
                json!({ "locked": true, "door": "closed" }),
                ["lock", "unlock"],
            ),
            "garage" => guarded(
                "cover",
                name("Garage Door"),
                json!({ "class": "garage", "position": 0 }),
                ["open", "close"],
            ),
            _ => guarded("siren", name("Alarm Siren"), json!({ "on": false }), ["on", "off"]),
        };
        device["id"] = json!(format!("{}-0", number + 2));
        device["room"] = json!(spell(room));
        device
    };
    kinds.enumerate().map(device).collect()
}

#[test]
fn a_large_home_fits_with_room_to_spare() {
    let devices = large_home();
    assert_eq!(devices.len(), limits::DEVICES);
    let home = home_with(&devices);
    assert_eq!((home.count(), home.knowledge()), ((limits::DEVICES, 0), Knowledge::Complete));
    for device in &devices {
        let is_kept = home.with(device["id"].as_str().unwrap(), |kept| {
            let state: Json = serde_json::from_str(kept.state().text()).unwrap();
            kept.is_available
                && kept.name == device["name"]
                && kept.room == device["room"]
                && state == device["state"]
        });
        assert_eq!(is_kept, Some(true), "{device}");
    }
    let used = home.look(|table| table.used()).unwrap();
    std::println!("a large home takes {used} bytes of text of {}", limits::HOME_TEXTS);
    assert!(used + used / 6 <= limits::HOME_TEXTS, "{used}");
}

/// Cyrillic and Greek letters have two bytes each.
#[test]
fn large_homes_with_two_byte_letters_or_many_locks_fit() {
    let cyrillic = |name: &str| {
        let letter = |letter: char| match letter {
            'A'..='Z' => char::from_u32('А' as u32 + letter as u32 - 'A' as u32).unwrap(),
            'a'..='z' => char::from_u32('а' as u32 + letter as u32 - 'a' as u32).unwrap(),
            other => other,
        };
        name.chars().map(letter).collect()
    };
    for devices in [large_home_of(KINDS, cyrillic), large_home_of(GUARDED_KINDS, str::to_string)] {
        assert_eq!(devices.len(), limits::DEVICES);
        let home = home_with(&devices);
        assert_eq!((home.count(), home.knowledge()), ((limits::DEVICES, 0), Knowledge::Complete));
        let used = home.look(|table| table.used()).unwrap();
        std::println!("it takes {used} bytes of text of {}", limits::HOME_TEXTS);
        assert!(used <= limits::HOME_TEXTS, "{used}");
    }
}

#[test]
fn a_home_that_is_known_in_part_stays_so_while_it_is_listed_again() {
    let home = home_with(&[plain("1-0", "Lamp", "Hall"), plain("2-0", "Fan", "Hall")]);
    assert!(home.read_fails("1-0", Instant::MIN));
    assert_eq!(home.knowledge(), Knowledge::Incomplete);
    home.list_begins();
    assert_eq!(home.knowledge(), Knowledge::Incomplete);
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
    home.write_nearest(None, "lamp", &mut names).unwrap();
    assert_eq!(names, "Lamp (Kitchen), Lamp (Hall)");
    for said in ["", " ", "la", "cellar", "hall light please"] {
        assert_eq!(home.find(said), Found::None, "{said}");
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
        home.on_resource_event(ResourceNews::Listed(Value::parse(text.as_bytes()).unwrap()));
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
                    let is_cut = |cut| name.starts_with(cut) && device.name.len() >= limits::DEVICE_NAME - 6;
                    prop_assert!(device.name == name || device.name.strip_suffix('…').is_some_and(is_cut));
                    prop_assert_eq!(device.state().get("level").and_then(|level| level.as_integer()), Some(i64::from(*level)));
                }
            }
        }
    }
}
