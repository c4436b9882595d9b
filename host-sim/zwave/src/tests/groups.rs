//! Groups as resources, and what neither a group nor a scene does: let somebody in, or make noise.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::sleep;

use super::client::Client;
use super::fake::{Fake, happens, status};
use super::network::is_ready;
use crate::plans::Scene;
use crate::{Command, Device, DeviceState, Home, Plans, js};

const CONTROL: &str = "control_zwave_device";

/// A home with a garage door, and with these groups and scenes.
async fn home(plans: &str) -> (Home, Client) {
    let state = DeviceState::Garage(false);
    let door = Device { node: 21, name: "Garage Door", room: "Garage", state, battery: None, is_alive: true };
    let home = Home::fast(0).with_device(door).with_plans(Plans::parse(plans).expect("plans"));
    let client = Client::greeted(&home).await;
    (home, client)
}

fn control(name: &str, action: &str) -> Value {
    json!({ "deviceName": name, "action": action })
}

#[tokio::test(start_paused = true)]
async fn a_group_or_scene_opens_no_house_and_sounds_no_siren() {
    let (home, mut client) = home(
        r#"{ "groups": { "Downstairs": ["Switch One", "Alarm Siren"], "Outer": ["Porch Awning", "Garage Door"],
                "Loud": ["20-0"] },
            "scenes": {
                "Panic": { "steps": [{ "device": "Switch One", "action": "on" }, { "device": "alarm", "action": "on" }] },
                "Party": { "steps": [{ "device": "Switch One", "action": "on" }, { "device": "Downstairs", "action": "toggle" }] },
                "Home": { "steps": [{ "device": "Switch One", "action": "on" }, { "device": "21-0", "action": "open" }] },
                "Quiet": { "steps": [{ "device": "Downstairs", "action": "off" }, { "device": "Outer", "action": "close" },
                    { "device": "Front Door", "action": "lock" }] } } }"#,
    )
    .await;
    let siren = |place: &str| {
        format!(
            "Alarm Siren is in {place}; Alarm Siren is switched on only when 'deviceName' is exactly \"Alarm Siren\". Nothing was done"
        )
    };
    let garage = |place: &str| {
        format!(
            "Garage Door is in {place}; Garage Door is opened only when 'deviceName' is exactly \"Garage Door\". Nothing was done"
        )
    };
    let before = home.devices();
    for (tool, arguments, words) in [
        (CONTROL, control("downstairs", "on"), siren("the group Downstairs")),
        (CONTROL, control("group-downstairs", "on"), siren("the group Downstairs")),
        (CONTROL, control("the downst", "toggle"), siren("the group Downstairs")),
        (CONTROL, control("loud", "on"), siren("the group Loud")),
        (CONTROL, control("outer", "open"), garage("the group Outer")),
        ("activate_scene", json!({ "sceneName": "panic" }), siren("the scene Panic")),
        ("activate_scene", json!({ "sceneName": "party" }), siren("the scene Party")),
        ("activate_scene", json!({ "sceneName": "home" }), garage("the scene Home")),
    ] {
        assert_eq!(client.hears(tool, arguments).await, Err(words));
        assert_eq!(home.devices(), before, "something was done");
    }

    // No file has such a scene.
    let steps =
        vec![("Switch One".into(), Command::Power(true)), ("Front Door".into(), Command::Lock(false))];
    let scene = Scene { name: "Welcome".into(), about: String::new(), steps };
    let home = home.with_plans(Plans { scenes: vec![scene], groups: vec![] });
    let mut client = Client::greeted(&home).await;
    let words = "Front Door is in the scene Welcome; Front Door is unlocked only when 'deviceName' is exactly \"Front Door\". Nothing was done";
    assert_eq!(client.hears("activate_scene", json!({ "sceneName": "welcome" })).await, Err(words.into()));
    assert_eq!(home.devices(), before, "something was done");

    // By its own name, and the other way round.
    client.hears(CONTROL, control("Alarm Siren", "toggle")).await.expect("on");
    client.hears(CONTROL, control("Garage Door", "open")).await.expect("open");
    client
        .hears("lock_door", json!({ "deviceName": "Front Door", "action": "unlock" }))
        .await
        .expect("unlocked");
    client.hears("activate_scene", json!({ "sceneName": "quiet" })).await.expect("set");
    for name in ["Alarm Siren", "Garage Door", "Porch Awning", "Front Door"] {
        let words = home.device(name).expect("one").state.to_string();
        assert!(["off", "closed", "locked"].contains(&words.as_str()), "{name} is {words}");
    }
    client.hears(CONTROL, control("Alarm Siren", "on")).await.expect("on");
    let words = client.hears(CONTROL, control("downstairs", "off")).await;
    assert_eq!(words, Ok("Switch One is now off\nAlarm Siren is now off".into()));
}

#[tokio::test(start_paused = true)]
async fn a_group_is_a_resource_that_says_what_it_can_do() {
    let (_home, mut client) = home(
        r#"{ "groups": { "All Lamps": ["Ceiling Lamp", "Floor Lamp", "submarine"], "Plugs": ["Switch One"],
            "Blinds": ["Porch Awning"], "Outer": ["Porch Awning", "Garage Door"], "Noise": ["Switch One", "Alarm Siren"],
            "Nobody": ["submarine"] } }"#,
    )
    .await;
    let call = |name: &str, action: &str| json!({ "tool": CONTROL, "arguments": control(name, action) });
    let mut level = call("All Lamps", "set_level");
    level["value"] = json!({ "argument": "level", "type": "integer", "minimum": 0, "maximum": 99 });
    let expected = json!({
        "id": "group-all-lamps", "name": "All Lamps", "kind": "group", "available": true, "state": {},
        "members": ["3-0", "4-0"],
        "actions": { "on": call("All Lamps", "on"), "off": call("All Lamps", "off"), "level": level },
    });
    assert_eq!(client.reads("group-all-lamps").await.expect("a group"), expected);
    for (id, members, offered) in [
        ("group-plugs", json!(["2-0"]), &["off", "on"][..]),
        ("group-blinds", json!(["19-0"]), &["close", "open"]),
        // Neither can be switched, and the door is not opened.
        ("group-outer", json!(["19-0", "21-0"]), &[]),
        // It cannot be switched on with the siren in it.
        ("group-noise", json!(["2-0", "20-0"]), &["off"]),
        ("group-nobody", json!([]), &["off", "on"]),
    ] {
        let group = client.reads(id).await.expect("a group");
        let actions: Vec<_> =
            group["actions"].as_object().into_iter().flatten().map(|(action, _)| action.as_str()).collect();
        assert_eq!((&group["members"], actions.as_slice()), (&members, offered), "{id}");
    }
    let mut listed = client.asks("resources/list", json!({})).await;
    let names: Vec<_> = listed["result"]["resources"]
        .as_array_mut()
        .expect("a list")
        .iter_mut()
        .map(|entry| entry["uri"].take())
        .collect();
    let ids = [
        "12-0",
        "20-0",
        "21-0",
        "group-all-lamps",
        "group-blinds",
        "group-nobody",
        "group-noise",
        "group-outer",
        "group-plugs",
    ];
    assert_eq!(names[..9], ids.map(|id| json!(format!("home://devices/{id}"))));
    assert_eq!(names[9], "home://devices/scene-good-morning");
    assert_eq!(client.reads("group-fun").await, Err(-32002));
}

#[tokio::test(start_paused = true)]
async fn an_action_reaches_the_group_that_offers_it() {
    let (home, mut client) = home(
        r#"{ "groups": { "Garden": ["Switch One"], "hall light": ["Coffee Machine"], "Bedroom Bedside Lamp": ["Floor Lamp"],
            "Über": ["Switch One"], "Ber": ["Switch One"], "Group Über": ["Switch One"] } }"#,
    )
    .await;
    for (id, member) in [
        // One device begins like it, one is called like it, and one is called like it in its room.
        ("group-garden", "Switch One"),
        ("group-hall-light", "Coffee Machine"),
        ("group-bedroom-bedside-lamp", "Floor Lamp"),
        ("group-ber", "Switch One"),
        ("group-ber-2", "Switch One"),
        ("group-group-ber", "Switch One"),
    ] {
        for action in ["off", "on", "off"] {
            let call = client.reads(id).await.expect("a group")["actions"][action].clone();
            let heard = client.hears(CONTROL, call["arguments"].clone()).await;
            assert_eq!(heard, Ok(format!("{member} is now {action}")), "{id}");
        }
    }
    assert_eq!(
        client.reads("group-hall-light").await.expect("a group")["actions"]["on"]["arguments"]["deviceName"],
        "group-hall-light"
    );
    // And what a device offers reaches the device.
    for (id, name) in [("10-0", "Hall Light"), ("14-0", "Bedside Lamp")] {
        let call = client.reads(id).await.expect("a lamp")["actions"]["on"].clone();
        client.hears(CONTROL, call["arguments"].clone()).await.expect("on");
        assert!(home.device(name).expect("one").state.to_string().starts_with("on"), "{name}");
    }
    // What a hub takes for a group does not drive a device.
    let heard = client.hears(CONTROL, control("bedroom bedside lamp", "on")).await;
    assert_eq!(heard, Ok("Floor Lamp is now on".into()));
}

#[tokio::test(start_paused = true)]
async fn a_large_group_is_still_one_short_line() {
    let devices = vec!["Ceiling Lamp"; 64];
    let plans = json!({ "groups": { "w".repeat(64): devices, "ä".repeat(64): devices } }).to_string();
    let (_home, mut client) = home(&plans).await;
    for id in [format!("group-{}", "w".repeat(26)), "group-".into()] {
        let group = client.reads(&id).await.expect("a group that is not too long");
        assert!(group["members"].as_array().is_some_and(|members| members.len() > 5), "{group}");
        // A hub can address it by a name of 64 bytes, and not by one of 128.
        let address = if id == "group-" { id } else { "w".repeat(64) };
        assert_eq!(group["actions"]["off"]["arguments"]["deviceName"], address.as_str(), "{group}");
    }
}

#[tokio::test]
async fn who_watches_a_group_is_told_that_it_has_other_devices() {
    let fake = Fake::with(|_| (status(255), vec![])).await;
    let plans = Plans::parse(r#"{ "groups": { "Downstairs": ["hall light", "lamp in the cellar"] } }"#);
    let mut client = Client::at(&js::connect(&fake.url, plans.expect("plans")));
    client.greets().await;
    // Known before the network is.
    let group = client.reads("group-downstairs").await.expect("a group");
    assert_eq!(group["actions"]["on"]["arguments"], control("Downstairs", "on"));
    is_ready(&mut client).await;
    assert_eq!(client.reads("group-downstairs").await.expect("a group")["members"], json!(["2-0"]));
    client.asks("resources/subscribe", json!({ "uri": "home://devices/group-downstairs" })).await;
    let moved = json!({ "commandClass": 119, "endpoint": 0, "property": "location", "newValue": "Cellar" });
    fake.tells(&happens(4, "value updated", moved));
    while client.notice().await.1 != "home://devices/group-downstairs" {
        sleep(Duration::from_millis(1)).await;
    }
    assert_eq!(client.reads("group-downstairs").await.expect("a group")["members"], json!(["2-0", "4-0"]));
    let heard =
        client.asks("resources/unsubscribe", json!({ "uri": "home://devices/group-downstairs" })).await;
    assert_eq!(heard["result"], json!({}));
}
