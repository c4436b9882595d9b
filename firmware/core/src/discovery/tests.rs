//! What is announced: whole JSON for whatever a controller offers. A real Home Assistant reads it in `tests/home_assistant`.

use std::format;
use std::string::String;
use std::vec::Vec;

use proptest::prelude::*;
use serde_json::{Value as Json, json};

use super::{About, Discovery};
use crate::config::HubId;
use crate::home::tests::home_with;
use crate::limits;

const HUB: &str = "hub-1";

fn on() -> Discovery {
    let discovery = Discovery::new();
    discovery.is_on.set(true);
    discovery.has_devices.set(true);
    discovery.prefix.replace("homeassistant".try_into().unwrap());
    discovery
}

/// The announcement of a device that a controller describes so; nothing if it has none.
fn announced(device: &Json) -> Json {
    let home = home_with(core::slice::from_ref(device));
    let mut buffer = [0; 4096];
    let id = device["id"].as_str().unwrap();
    let hub = HubId::new(HUB).unwrap();
    if home.with(id, |device| on().keeps_announcement(device)).unwrap() {
        return Json::Null;
    }
    let length = home.with(id, |device| on().write_device(hub, Some(device), &mut buffer)).unwrap().unwrap();
    let text = core::str::from_utf8(&buffer[..length]).unwrap();
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error} in {text}"))
}

fn device(kind: &str, state: Json, actions: &[(&str, Json)]) -> Json {
    let actions: serde_json::Map<_, _> = actions
        .iter()
        .map(|(name, value)| (String::from(*name), json!({ "tool": "t", "arguments": {}, "value": value })))
        .collect();
    json!({ "id": "4-0", "name": "Thing", "kind": kind, "state": state, "actions": actions })
}

#[test]
fn each_kind_is_what_home_assistant_has_for_it() {
    let range = |least: f64, most: f64| json!({ "type": "number", "minimum": least, "maximum": most });
    let none = Json::Null;
    let cases = [
        (device("switch", json!({ "on": true }), &[]), "switch", json!({})),
        (device("siren", json!({ "on": true }), &[]), "siren", json!({ "sup_dur": false })),
        (device("lock", json!({ "locked": true }), &[]), "lock", json!({})),
        (
            device("light", json!({ "on": true, "level": 3 }), &[("level", range(0.0, 255.0))]),
            "light",
            json!({ "bri_tpl": "{{(value_json.state.level*255/255)|round|int if value_json.state.level is defined}}" }),
        ),
        (
            device("light", json!({ "on": true }), &[("on", none.clone())]),
            "light",
            json!({ "bri_tpl": null }),
        ),
        (
            device("light", json!({ "on": true }), &[("color", none.clone())]),
            "light",
            json!({ "clr_temp_tpl": null }),
        ),
        (
            device(
                "cover",
                json!({ "position": 3 }),
                &[("stop", none.clone()), ("position", range(0.0, 99.0))],
            ),
            "cover",
            json!({ "pos_open": 99, "pl_stop": r#"{"device":"4-0","action":"stop"}"#, "dev_cla": null }),
        ),
        (
            device("cover", json!({ "class": "garage" }), &[]),
            "cover",
            json!({ "dev_cla": "garage", "pl_stop": null, "pos_t": null }),
        ),
        (
            device(
                "climate",
                json!({ "mode": "heat", "setpoint": 20 }),
                &[
                    ("setpoint", range(4.5, 30.0)),
                    ("mode", json!({ "enum": ["off", "heat", "energy heat"] })),
                ],
            ),
            "climate",
            json!({
                "modes": ["off", "heat"], "min_temp": 4.5, "max_temp": 30, "temp_unit": "C",
                "mode_stat_tpl": "{{ {'off':'off','heat':'heat','energy heat':'heat',}.get(value_json.state.mode|default(0),'None')}}",
            }),
        ),
        (
            device("binary_sensor", json!({ "class": "contact" }), &[]),
            "binary_sensor",
            json!({ "dev_cla": "door" }),
        ),
        (
            device("binary_sensor", json!({ "class": "window" }), &[]),
            "binary_sensor",
            json!({ "dev_cla": "window" }),
        ),
        (
            device("binary_sensor", json!({ "class": "ghost" }), &[]),
            "binary_sensor",
            json!({ "dev_cla": null }),
        ),
        (
            device("scene", json!({}), &[]),
            "scene",
            json!({ "pl_on": r#"{"device":"4-0","action":"activate"}"# }),
        ),
        (
            device("group", json!({}), &[("on", none.clone())]),
            "switch",
            json!({ "opt": true, "val_tpl": null }),
        ),
        (
            device("group", json!({}), &[("open", none.clone())]),
            "cover",
            json!({ "opt": true, "val_tpl": null }),
        ),
        (device("button", json!({ "presses": 0 }), &[]), "event", json!({ "dev_cla": "button" })),
    ];
    for (device, platform, expected) in cases {
        let announcement = announced(&device);
        let main = &announcement["cmps"]["main"];
        assert_eq!(
            (&main["p"], &main["name"], &main["uniq_id"]),
            (&json!(platform), &none, &json!("hearthwave_hub-1_4-0")),
            "{device}"
        );
        for (name, value) in expected.as_object().unwrap() {
            assert_eq!(&main[name], value, "{name} of {announcement}");
        }
    }
    for nothing in
        [device("unknown", json!({}), &[]), device("group", json!({}), &[]), device("sensor", json!({}), &[])]
    {
        assert_eq!(announced(&nothing), Json::Null);
    }
}

/// Otherwise Home Assistant would keep showing the previous mode.
#[test]
fn modes_unknown_to_home_assistant_are_mapped_or_left_out() {
    let thermostat = |modes: &[&str]| {
        let modes = json!({ "enum": modes });
        announced(&device("climate", json!({ "mode": "off" }), &[("mode", modes)]))["cmps"]["main"].clone()
    };
    let known = thermostat(&["off", "heat", "auto"]);
    assert_eq!(known["modes"], json!(["off", "heat", "auto"]));
    assert_eq!(known["mode_cmd_tpl"], r#"{"device":"4-0","action":"mode","value":"{{value}}"}"#);
    let mapped = thermostat(&["Off", "off", "energy heat", "full power", "moist", "auto changeover"]);
    assert_eq!(mapped["modes"], json!(["off", "heat", "heat_cool"]));
    assert_eq!(
        mapped["mode_stat_tpl"],
        "{{ {'off':'off','energy heat':'heat','full power':'heat','auto changeover':'heat_cool',}\
         .get(value_json.state.mode|default(0),'None')}}"
    );
    assert_eq!(
        mapped["mode_cmd_tpl"],
        r#"{"device":"4-0","action":"mode","value":"{{ {'heat':'energy heat','heat_cool':'auto changeover',}.get(value,value)}}"}"#
    );
}

/// A climate entity always offers to turn it off, which a device without modes cannot do.
#[test]
fn a_thermostat_without_modes_is_a_setpoint() {
    let range = json!({ "minimum": 41, "maximum": 86 });
    let modes = json!({ "enum": ["eco boost"] });
    let actions = [("setpoint", range), ("mode", modes)];
    for actions in [&actions[..1], &actions] {
        let mut valve = device("climate", json!({ "setpoint": 68, "temperature": 66 }), actions);
        valve["units"] = json!({ "setpoint": "°F" });
        let entities = announced(&valve)["cmps"].clone();
        let main = &entities["main"];
        assert_eq!((&main["p"], &main["dev_cla"]), (&json!("number"), &json!("temperature")), "{entities}");
        assert_eq!(
            (&main["min"], &main["max"], &main["unit_of_meas"]),
            (&json!(41), &json!(86), &json!("°F"))
        );
        assert_eq!(main["cmd_tpl"], r#"{"device":"4-0","action":"setpoint","value":{{value}}}"#);
        assert_eq!(entities["temperature"]["p"], "sensor");
    }
    let shown = announced(&device("climate", json!({ "setpoint": 20 }), &[]))["cmps"]["main"].clone();
    assert_eq!((&shown["p"], &shown["unit_of_meas"]), (&json!("sensor"), &json!("°C")), "{shown}");
}

#[test]
fn readings_are_sensors_with_the_units_that_they_have() {
    let mut sensor = device("sensor", json!({ "temperature": 70.1, "humidity": 40, "radon_level": 3 }), &[]);
    sensor["units"] = json!({ "temperature": "°F", "humidity": "g/m³", "radon_level": "Bq" });
    sensor["battery"] = json!(7);
    let entities = announced(&sensor)["cmps"].clone();
    let of = |name: &str| (entities[name]["dev_cla"].clone(), entities[name]["unit_of_meas"].clone());
    assert_eq!(of("temperature"), (json!("temperature"), json!("°F")));
    assert_eq!(of("humidity"), (Json::Null, json!("g/m³")), "not a unit that the class has");
    assert_eq!(of("radon_level"), (Json::Null, json!("Bq")));
    assert_eq!(entities["radon_level"]["name"], "Radon level");
    assert_eq!(of("battery"), (json!("battery"), json!("%")));
    assert!(entities["temperature"].get("name").is_none(), "Home Assistant has its own word for it");
    let alone = announced(&device("sensor", json!({ "illuminance": 3 }), &[]))["cmps"]["illuminance"].clone();
    assert_eq!((&alone["name"], &alone["unit_of_meas"]), (&Json::Null, &json!("lx")), "{alone}");
    assert!(alone.as_object().unwrap().contains_key("name"), "it is called as the device");
    let meter = announced(&device("switch", json!({ "on": true, "energy": 3.5 }), &[]));
    assert_eq!(meter["cmps"]["energy"]["stat_cla"], "total_increasing");
    // A setting is no reading.
    let light = announced(&device("light", json!({ "on": true, "level": 3 }), &[]));
    assert_eq!(light["cmps"].as_object().unwrap().len(), 1, "{light}");
}

#[test]
fn the_hub_has_what_its_machine_knows() {
    let about = |is_board: bool| About {
        id: HubId::new(HUB).unwrap(),
        name: "The \"hub\"",
        is_nameless: false,
        target: "test",
        has_signal: is_board,
        has_stack: is_board,
    };
    let mut buffer = [0; 8192];
    let mut count = |is_board| {
        let length = on().write_hub(&about(is_board), &mut buffer).unwrap();
        let text = core::str::from_utf8(&buffer[..length]).unwrap();
        assert!(!text.contains(['@', '$', '^']), "a mark is left: {text}");
        let announcement: Json = serde_json::from_str(text).unwrap();
        assert_eq!(announcement["dev"]["name"], "The \"hub\"");
        std::println!("the hub's announcement: {length} bytes");
        announcement["cmps"].as_object().unwrap().len()
    };
    assert_eq!((count(false), count(true)), (18, 20));
    assert_eq!(Discovery::new().write_hub(&about(true), &mut buffer), Ok(0), "removed if it is off");
}

#[test]
fn topics_have_only_what_home_assistant_takes() {
    let (discovery, hub) = (on(), HubId::new(HUB).unwrap());
    assert_eq!(discovery.hub_topic(hub), "homeassistant/device/hub-1/config");
    assert_eq!(discovery.device_topic(hub, "c-d_e"), "homeassistant/device/hub-1/c-d_e/config");
    // Ids that Home Assistant does not take are told apart all the same.
    let topics = ["a.b", "a:b", "a_b"].map(|id| discovery.device_topic(hub, id));
    assert!(topics.iter().all(|topic| topic.starts_with("homeassistant/device/hub-1/a_b")), "{topics:?}");
    assert!(topics[0] != topics[1] && topics[1] != topics[2] && topics[0] != topics[2], "{topics:?}");
    assert!(!topics.iter().any(|topic| topic.contains(['.', ':'])), "{topics:?}");
}

/// Any JSON that a controller could put there.
fn anything() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::from),
        any::<i32>().prop_map(Json::from),
        any::<f64>().prop_map(Json::from),
        "\\PC{0,12}".prop_map(Json::from),
    ];
    leaf.prop_recursive(2, 6, 3, |inner| {
        let name = prop_oneof!["\\PC{0,8}", Just(String::from("minimum")), Just(String::from("enum"))];
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Json::from),
            prop::collection::vec((name, inner), 0..3)
                .prop_map(|members| Json::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn whatever_a_controller_offers_is_announced_as_json(
        kind in prop::sample::select(["switch", "light", "lock", "climate", "cover", "siren", "sensor", "group", "x"].as_slice()),
        names in prop::collection::vec(prop_oneof!["\\PC{0,10}", "[a-z_]{1,8}"], 0..5),
        values in prop::collection::vec(anything(), 5),
        name in "\\PC{0,40}",
    ) {
        let object = |offset: usize| -> Json {
            let members = names.iter().enumerate().map(|(at, name)| (name.clone(), values[(at + offset) % 5].clone()));
            Json::Object(members.collect())
        };
        let known: Vec<_> = ["level", "color", "setpoint", "mode", "position", "stop"]
            .iter()
            .zip(values.iter().cycle())
            .map(|(name, value)| (*name, value.clone()))
            .collect();
        let mut thing = device(kind, object(0), &known);
        thing["units"] = object(1);
        thing["name"] = json!(name);
        thing["room"] = values[0].clone();
        // What is longer is not taken in at all.
        prop_assume!(serde_json::to_string_pretty(&thing).unwrap().len() < limits::DEVICE);
        let announcement = announced(&thing);
        let text = format!("{announcement}");
        let is_whole = announcement.is_null() || announcement["cmps"].as_object().is_some_and(|entities| {
            !entities.is_empty() && entities.values().all(|entity| entity["p"].is_string() && entity["uniq_id"].is_string())
        });
        prop_assert!(is_whole, "{}", text);
    }
}
