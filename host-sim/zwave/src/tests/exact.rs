//! Guarded commands are accepted with the exact value that a device declares, and with nothing else.

use std::collections::BTreeSet;

use host_desktop::random::Random;
use serde_json::{Value, json};

use super::client::Client;
use crate::{Device, DeviceState, Home, NodeId, Plans};

const CONTROL: &str = "control_zwave_device";

/// A name of 64 bytes, in 63 letters.
const SIXTY_FOUR: &str = "The Big Garage Door for the Caravan at the Back of the Old Mühl";

/// A name of 65 bytes.
const SIXTY_FIVE: &str = "The Big Garage Door for the Caravan at the Back of the Old Mühle";

fn device(node: NodeId, name: &'static str, room: &'static str, state: DeviceState) -> Device {
    Device { node, name, room, state, battery: None, is_alive: true }
}

const LOCK: DeviceState = DeviceState::Lock(true);
const GARAGE: DeviceState = DeviceState::Garage(false);
const SIREN: DeviceState = DeviceState::Siren(false);
const LAMP: DeviceState = DeviceState::Switch(false);

/// A home with these devices beside its own.
fn home(devices: &[Device]) -> Home {
    devices.iter().cloned().fold(Home::fast(0), Home::with_device)
}

/// The call that opens, unlocks or sounds a device, with this name.
fn guarded_call(state: DeviceState, name: &str) -> (&'static str, Value) {
    match state {
        DeviceState::Lock(_) => ("lock_door", json!({ "deviceName": name, "action": "unlock" })),
        DeviceState::Garage(_) => (CONTROL, json!({ "deviceName": name, "action": "open" })),
        _ => (CONTROL, json!({ "deviceName": name, "action": "on" })),
    }
}

/// The value that a device declares in its actions: the same in all of them.
async fn declared(client: &mut Client, id: &str) -> String {
    let about = client.reads(id).await.expect("a device");
    let actions = about["actions"].as_object().expect("actions");
    let values: Vec<_> = actions.values().map(|action| &action["arguments"]["deviceName"]).collect();
    assert!(values.windows(2).all(|pair| pair[0] == pair[1]), "{about}");
    values[0].as_str().expect("a name").into()
}

#[tokio::test(start_paused = true)]
async fn a_name_that_something_else_could_answer_to_is_not_declared() {
    let plans = r#"{ "groups": { "Barn": ["Switch One"] }, "scenes": { "Panic!": { "steps": [{ "device": "Switch One", "action": "off" }] } } }"#;
    for (others, expected) in [
        (vec![device(40, "Garage Door", "Garage", GARAGE)], "Garage Door"),
        (vec![device(40, "🚗 Garage Door", "", GARAGE)], "🚗 Garage Door"),
        (vec![device(40, "Ворота \"север\"", "", GARAGE)], "Ворота \"север\""),
        (vec![device(40, "🚗", "", GARAGE), device(41, "🚨", "", LAMP)], "🚗"),
        (vec![device(40, "Gate ", "", GARAGE)], "Gate "),
        // 64 bytes, and 65: a hub cannot keep a longer name.
        (vec![device(40, SIXTY_FOUR, "", GARAGE)], SIXTY_FOUR),
        (vec![device(40, SIXTY_FIVE, "", GARAGE)], "40-0"),
        // The room makes "Garage Door" of the other.
        (vec![device(40, "🚗 Garage Door", "", GARAGE), device(41, "Door", "Garage", LAMP)], "40-0"),
        (vec![device(40, "🔒 Back Door", "", LOCK), device(41, "Door", "Back", LAMP)], "40-0"),
        // The same words in another order, case or spelling.
        (vec![device(40, "Gate", "", GARAGE), device(41, "the GATE", "Yard", LAMP)], "40-0"),
        (vec![device(40, "Gate Left", "", GARAGE), device(41, "Left Gate", "", LAMP)], "40-0"),
        (vec![device(40, "Gate", "", GARAGE), device(41, "Gate ", "", GARAGE)], "40-0"),
        // The id of another device, a group, and a scene.
        (vec![device(40, "12-0", "", GARAGE)], "40-0"),
        (vec![device(40, "Barn", "", GARAGE)], "40-0"),
        (vec![device(40, "group-barn", "", GARAGE)], "40-0"),
        (vec![device(40, "panic", "", SIREN)], "40-0"),
        (vec![device(40, "scene-panic", "", SIREN)], "40-0"),
    ] {
        let home = home(&others).with_plans(Plans::parse(plans).expect("plans"));
        let mut client = Client::greeted(&home).await;
        assert_eq!(declared(&mut client, "40-0").await, expected, "{others:?}");
        let (tool, arguments) = guarded_call(others[0].state, expected);
        let before = home.devices();
        client.hears(tool, arguments).await.expect("done");
        let changed: Vec<_> =
            home.devices().into_iter().zip(before).filter(|(now, then)| now != then).collect();
        assert_eq!(changed.iter().map(|(now, _)| now.node).collect::<Vec<_>>(), [40], "{others:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_inexact_name_does_nothing_and_is_told_the_exact_one() {
    let home = home(&[
        device(40, "🚗 Garage Door", "", GARAGE),
        device(41, "Door", "Garage", LAMP),
        device(42, "🔒 Back Door", "", LOCK),
        device(43, "Door", "Back", LAMP),
        device(44, "Gate", "Yard", GARAGE),
        device(45, "12-0", "Attic", LAMP),
    ]);
    let mut client = Client::greeted(&home).await;
    let before = home.devices();
    for (name, state, exact) in [
        ("Garage Door", GARAGE, "40-0"),
        ("🚗 Garage Door", GARAGE, "40-0"),
        (" 40-0", GARAGE, "40-0"),
        ("40-0 ", GARAGE, "40-0"),
        ("🚗 Garage Door 40-0", GARAGE, "40-0"),
        ("back door", LOCK, "42-0"),
        ("gate", GARAGE, "Gate"),
        ("Gate ", GARAGE, "Gate"),
        ("the Gate", GARAGE, "Gate"),
        ("Yard Gate", GARAGE, "Gate"),
        ("Gate (Yard)", GARAGE, "Gate"),
        ("gat", GARAGE, "Gate"),
        ("44-0", GARAGE, "Gate"),
        ("front door", LOCK, "Front Door"),
        ("Front\u{a0}Door", LOCK, "Front Door"),
        ("12-0", LOCK, "Front Door"),
        ("siren", SIREN, "Alarm Siren"),
        ("ALARM SIREN", SIREN, "Alarm Siren"),
    ] {
        let (tool, arguments) = guarded_call(state, name);
        let words = client.hears(tool, arguments).await.expect_err(name);
        let is_told = words.contains(&format!("only when 'deviceName' is exactly \"{exact}\""))
            || (name == "siren" && words.contains("could be"));
        assert!(
            is_told && words.contains("Nothing was done") || words.contains("not found"),
            "{name}: {words}"
        );
    }
    // Three locks, and none is named.
    let words = client.hears("lock_door", json!({ "action": "unlock" })).await.expect_err("which one");
    assert!(words.contains("say which"), "{words}");
    for action in ["toggle", "set_level", "stop"] {
        let mut arguments = json!({ "deviceName": "Gate", "action": action });
        if action == "set_level" {
            arguments["level"] = 50.into();
        }
        client.hears(CONTROL, arguments).await.expect_err("a garage door does not do that");
    }
    client
        .hears(CONTROL, json!({ "deviceName": "alarm siren", "action": "toggle" }))
        .await
        .expect_err("inexact");
    assert_eq!(home.devices(), before, "something was done");
    // What is not guarded is found as people say it.
    client.hears(CONTROL, json!({ "deviceName": "the gate", "action": "close" })).await.expect("closed");
    client.hears("lock_door", json!({ "deviceName": "front door", "action": "lock" })).await.expect("locked");
    client.hears(CONTROL, json!({ "deviceName": "siren alarm", "action": "off" })).await.expect("off");
    client.hears(CONTROL, json!({ "deviceName": "lamp 45-0", "action": "on" })).await.expect_err("no such");
    client.hears(CONTROL, json!({ "deviceName": "45-0", "action": "on" })).await.expect("a lamp");
}

#[tokio::test(start_paused = true)]
async fn the_only_lock_is_not_unlocked_without_its_name() {
    let home = Home::fast(0);
    let mut client = Client::greeted(&home).await;
    let words = client.hears("lock_door", json!({ "action": "unlock" })).await.expect_err("no name");
    assert_eq!(
        words,
        "Front Door is unlocked only when 'deviceName' is exactly \"Front Door\". Nothing was done"
    );
    assert_eq!(home.device("Front Door").expect("it").state, LOCK);
    client.hears("lock_door", json!({ "action": "lock" })).await.expect("the only one");
}

/// Random homes with names that collide, and random calls: a guarded device acts only on its own declared value.
#[tokio::test(start_paused = true)]
async fn no_spelling_reaches_a_guarded_device() {
    const NAMES: [&str; 14] = [
        "Door",
        "door",
        "Garage Door",
        "🚗 Garage Door",
        "Door Garage",
        "Garage",
        "12-0",
        "2-0",
        "41-0",
        "the Door",
        "\"Door\"",
        "Дверь",
        "Door ",
        "group-all",
    ];
    const ROOMS: [&str; 4] = ["", "Garage", "garage door", "12-0"];
    let mut random = Random::new(24);
    let mut done = 0;
    for _ in 0..60 {
        let mut pick = |all: &[&'static str]| all[random.below(all.len() as u64) as usize];
        let devices: Vec<_> = (40..46)
            .map(|node| {
                device(node, pick(&NAMES), pick(&ROOMS), [LOCK, GARAGE, SIREN, LAMP][usize::from(node) % 4])
            })
            .collect();
        let plans = r#"{ "groups": { "All": ["40-0", "41-0", "Door"], "Garage": ["41-0"] } }"#;
        let home = home(&devices).with_plans(Plans::parse(plans).expect("plans"));
        let mut client = Client::greeted(&home).await;
        for _ in 0..20 {
            let text = match random.below(4) {
                0 => format!("{}-0", 40 + random.below(6)),
                1 => format!("{} {}", ROOMS[random.below(4) as usize], NAMES[random.below(14) as usize]),
                _ => NAMES[random.below(14) as usize].to_owned(),
            };
            let state = [LOCK, GARAGE, SIREN][random.below(3) as usize];
            let before = home.devices();
            let (tool, arguments) = guarded_call(state, &text);
            let heard = client.hears(tool, arguments).await;
            for (now, then) in home.devices().into_iter().zip(before) {
                if now != then && now.state.kind() != "switch" {
                    assert_eq!(declared(&mut client, &format!("{}-0", now.node)).await, text, "{heard:?}");
                    done += 1;
                }
            }
        }
    }
    assert!(done > 20, "only {done} calls were done");
}

/// The ids of all resources, page by page.
async fn listed(client: &mut Client) -> Vec<String> {
    let (mut ids, mut params) = (Vec::new(), json!({}));
    loop {
        let page = client.asks("resources/list", params).await["result"].take();
        let entries = page["resources"].as_array().expect("a list");
        let uris = entries.iter().map(|entry| entry["uri"].as_str().expect("a URI"));
        ids.extend(uris.map(|uri| uri.trim_start_matches("home://devices/").to_owned()));
        match page.get("nextCursor") {
            Some(cursor) => params = json!({ "cursor": cursor }),
            None => return ids,
        }
    }
}

#[tokio::test(start_paused = true)]
async fn guarded_devices_come_first_in_a_large_house() {
    let lamps: Vec<_> = (100..220).map(|node| device(node, "Lamp", "", LAMP)).collect();
    let guarded = [
        device(230, "Garage Door", "Garage", GARAGE),
        device(231, "Cellar Door", "Cellar", LOCK),
        device(232, "Bell", "Attic", SIREN),
    ];
    let plans = r#"{ "groups": { "Barn": ["Switch One"] } }"#;
    let home = home(&lamps).with_plans(Plans::parse(plans).expect("plans"));
    let home = guarded.into_iter().fold(home, Home::with_device);
    let mut client = Client::greeted(&home).await;
    let ids = listed(&mut client).await;
    assert_eq!(ids[..6], ["12-0", "20-0", "230-0", "231-0", "232-0", "group-barn"]);
    assert!(ids[6..10].iter().all(|id| id.starts_with("scene-")), "{:?}", &ids[6..10]);
    assert_eq!(ids.len(), home.devices().len() + 5);
    assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len());

    // The pages of two lists do not make one.
    let first = client.asks("resources/list", json!({})).await;
    let cursor = json!({ "cursor": first["result"]["nextCursor"] });
    assert!(client.asks("resources/list", cursor.clone()).await["error"].is_null());
    let home = home.with_device(device(221, "Shed", "", LOCK));
    assert_eq!(client.asks("resources/list", cursor).await["error"]["code"], -32602);
    assert_eq!(listed(&mut client).await.len(), home.devices().len() + 5);
}
