//! A real Home Assistant finds the hub and its home by itself, shows them as they are, and does everything with them that
//! people do.

mod api;
mod attic;
mod house;
mod instance;
mod look;

use std::time::{Duration, Instant};

use attic::{ATTIC, Attic};
use host_zwave::Press;
use house::{HUB, House, set};
use instance::HomeAssistant;
use look::{HUB_ENTITIES, all_is_there, all_is_unavailable, none_is_left};
use serde_json::{Value, json};
use support::mosquitto::Mosquitto;

#[test]
#[ignore = "needs Home Assistant and mosquitto; ./tests/run runs it"]
fn a_day_with_home_assistant() {
    let start = Instant::now();
    let tell = |step: &str| eprintln!("  {:3} s … {step}", start.elapsed().as_secs());
    let broker = Mosquitto::start();
    let house = House::start(&broker);
    tell("Home Assistant starts, and its owner adds the broker");
    let mut assistant = HomeAssistant::start();
    assistant.adds_broker(&broker);
    tell("the hub and all devices are there, as they stand");
    all_is_there(&mut assistant, &[]);
    rooms_and_names(&mut assistant);

    tell("switches, lamps, the lock, the thermostat, a blind, a siren, a scene");
    switching_and_dimming(&mut assistant, &house);
    lock_and_thermostat(&mut assistant, &house);
    blind_siren_and_scene(&mut assistant, &house);
    tell("the hub's own: volume and announcements");
    the_hub_itself(&mut assistant, &broker);
    tell("what happens in the house is seen: the switch on the wall, a button, a lamp without power");
    the_house_itself(&mut assistant, &house);
    tell(
        "the light is switched by words: to the hub as an agent, to Home Assistant's own, and to the hub's entity",
    );
    conversations(&mut assistant, &house);
    tell("an unlock is allowed, and another denied");
    approvals(&mut assistant, &house);

    tell("Home Assistant restarts with an approval pending, and has everything back");
    set(&broker, HUB, "gate.seconds", &json!(100));
    let pending = unlock_is_pending(&mut assistant);
    let before = assistant.entities();
    assistant.restart();
    let now =
        [("3-0", "on"), ("10-0", "on"), ("4-0", "off"), ("5-0", "cool"), ("19-0", "open"), ("7-0", "off")];
    all_is_there(&mut assistant, &now);
    let ids = |entities: &[Value]| -> Vec<_> {
        let mut ids: Vec<_> = entities.iter().map(|entity| entity["entity_id"].to_string()).collect();
        ids.sort();
        ids
    };
    assert_eq!(ids(&assistant.entities()), ids(&before), "entities have other names after a restart");
    let shown = assistant.sees_state(&of("pending"), "unlock Front Door");
    assert_eq!(shown["attributes"]["id"], pending);
    assistant.sees(&of("deny"), "the same approval", |it| it["attributes"]["id"] == pending);
    assistant.does("button.press", &of("deny"), json!({}));
    assistant.sees_state(&of("pending"), "none");
    // The next one is shown after a pause.
    std::thread::sleep(Duration::from_secs(4));

    tell("the hub loses its power with an approval pending, and comes back");
    let lost = unlock_is_pending(&mut assistant);
    assert_ne!(lost, pending);
    let entity = assistant.entity(&of("7-0")).expect("a light");
    let customised = json!({ "entity_id": entity, "name": "My own name" });
    assistant.asks("config/entity_registry/update", customised);
    drop(house);
    all_is_unavailable(&mut assistant);
    let house = House::start(&broker);
    all_is_there(&mut assistant, &[]);
    let name = assistant.state(&of("7-0"))["attributes"]["friendly_name"].take();
    assert_eq!(name, "My own name", "the entity was removed and made anew");
    assistant.sees_state(&of("pending"), "none");
    assistant.sees(&of("allow"), "that nothing is pending", |it| it["attributes"]["id"] == 0);
    assistant.does("button.press", &of("allow"), json!({}));

    tell("discovery is turned off, first that of the devices, and on again");
    let window = assistant.state(&of("6-0"));
    assert_eq!(window["attributes"]["device_class"], "window", "{window}");
    set(&broker, HUB, "homeassistant.devices", &json!("off"));
    assistant.waits("the devices to be gone", |it| none_is_left(it, &HUB_ENTITIES));
    set(&broker, HUB, "homeassistant.discovery", &json!("off"));
    assistant.waits("the hub to be gone", |it| none_is_left(it, &[]));
    set(&broker, HUB, "homeassistant.devices", &json!("on"));
    set(&broker, HUB, "homeassistant.discovery", &json!("on"));
    all_is_there(&mut assistant, &[]);
    assert_eq!(house.stands("Front Door"), "locked");
    assistant.is_content();

    tell("a second hub, with thermostats of all kinds, a coloured lamp and a window");
    let attic = Attic::start(&broker);
    another_hub(&mut assistant, &attic);
    for key in ["homeassistant.devices", "homeassistant.discovery"] {
        set(&broker, ATTIC, key, &json!("off"));
    }
    assistant.waits("the second hub to be gone", |it| match it.entity(&in_attic("boiler")) {
        None if it.entity(&in_attic("ask")).is_none() => Ok(()),
        _ => Err("some".into()),
    });
    assistant.is_content();
    tell("done");
}

/// A unique id.
fn of(id: &str) -> String {
    format!("hearthwave_{HUB}_{id}")
}

/// The entity of a device at the second hub.
fn in_attic(id: &str) -> String {
    format!("hearthwave_{ATTIC}_{id}")
}

fn another_hub(assistant: &mut HomeAssistant, attic: &Attic) {
    // A mode that Home Assistant does not know is never shown as another one.
    let boiler = assistant.sees_state(&in_attic("boiler"), "heat");
    assert_eq!(boiler["attributes"]["hvac_modes"], json!(["off", "heat", "heat_cool"]), "{boiler}");
    assistant.does("climate.turn_off", &in_attic("boiler"), json!({}));
    assistant.sees_state(&in_attic("boiler"), "off");
    assistant.does("climate.set_hvac_mode", &in_attic("boiler"), json!({ "hvac_mode": "heat" }));
    assistant.sees_state(&in_attic("boiler"), "heat");
    assistant.does("climate.set_temperature", &in_attic("boiler"), json!({ "temperature": 21.5 }));
    assistant.sees(&in_attic("boiler"), "the setpoint", |it| it["attributes"]["temperature"] == 21.5);
    let done =
        [["off", "mode"], ["energy heat", "mode"]].map(|[word, action]| json!(["boiler", action, word]));
    let set = json!(["boiler", "setpoint", 21.5]);
    assert_eq!(attic.takes_calls(), [&done[..], &[set]].concat());

    // A mode that no other device has.
    let mode = json!({ "device": "boiler", "action": "mode", "value": "moist" }).to_string();
    let publish = json!({ "topic": format!("hearthwave/{ATTIC}/request/device/set"), "payload": mode });
    assistant
        .asks("call_service", json!({ "domain": "mqtt", "service": "publish", "service_data": publish }));
    assistant.sees_state(&in_attic("boiler"), "unknown");

    let valve = assistant.sees_state(&in_attic("valve"), "19");
    let attributes = &valve["attributes"];
    assert_eq!(
        (&attributes["min"], &attributes["max"], &attributes["unit_of_measurement"]),
        (&json!(5.0), &json!(30.0), &json!("°C")),
        "{valve}"
    );
    assistant.does("number.set_value", &in_attic("valve"), json!({ "value": 22.5 }));
    assistant.sees_state(&in_attic("valve"), "22.5");
    assistant.sees_state(&in_attic("valve_temperature"), "18");
    attic.takes_calls();

    let colored = json!({ "rgb_color": [255, 0, 0], "brightness_pct": 60 });
    assistant.does("light.turn_on", &in_attic("strip"), colored);
    assistant.sees(&in_attic("strip"), "colour and brightness", |it| {
        it["attributes"]["rgb_color"] == json!([255, 0, 0]) && it["attributes"]["brightness"] == 152
    });
    assert_eq!(attic.takes_calls(), [json!(["strip", "color", "ff0000"]), json!(["strip", "level", 59])]);
    let window = assistant.sees_state(&in_attic("skylight"), "off");
    assert_eq!(window["attributes"]["device_class"], "window");

    // Both hubs have the default name.
    let devices = assistant.asks("config/device_registry/list", json!({}));
    let is_hub = |device: &&Value| device["manufacturer"] == "Hearthwave";
    let mut names: Vec<_> = devices.as_array().into_iter().flatten().filter(is_hub).collect();
    names.sort_by_key(|device| device["name"].to_string());
    let names: Vec<_> = names.iter().map(|device| &device["name"]).collect();
    assert_eq!(names, ["Hearthwave attic", "Hearthwave desk"]);
}

fn rooms_and_names(assistant: &mut HomeAssistant) {
    let areas = assistant.asks("config/area_registry/list", json!({}));
    let devices = assistant.asks("config/device_registry/list", json!({}));
    let devices = devices.as_array().expect("a list");
    let with_identifier = |identifier: &str| {
        let found = devices.iter().find(|device| device["identifiers"][0][1] == identifier);
        found.unwrap_or_else(|| panic!("no device is {identifier}"))
    };
    let hub = with_identifier(&format!("hearthwave_{HUB}"));
    for (id, name, room) in [
        ("7-0", "Kitchen Light", "Kitchen"),
        ("12-0", "Front Door", "Hall"),
        ("22-0", "Bedside Button", "Bedroom"),
        ("9-0", "Kitchen Temperature", "Kitchen"),
    ] {
        let device = with_identifier(&format!("hearthwave_{HUB}_{id}"));
        assert_eq!((&device["name"], &device["via_device_id"]), (&json!(name), &hub["id"]), "{device}");
        let area = areas.as_array().expect("a list").iter().find(|area| area["area_id"] == device["area_id"]);
        assert_eq!(area.map(|area| &area["name"]), Some(&json!(room)), "{device}");
    }
}

fn switching_and_dimming(assistant: &mut HomeAssistant, house: &House) {
    assistant.does("switch.turn_on", &of("7-0"), json!({}));
    assistant.sees_state(&of("7-0"), "on");
    assert_eq!(house.stands("Kitchen Light"), "on");
    assistant.does("switch.turn_off", &of("4-0"), json!({}));
    assistant.sees_state(&of("4-0"), "off");
    assert_eq!(house.stands("Floor Lamp"), "off");

    assistant.does("light.turn_on", &of("3-0"), json!({ "brightness_pct": 60 }));
    // 153 of 255 is 59 of 99, which is 152 of 255.
    assistant.sees(&of("3-0"), "the brightness", |lamp| lamp["attributes"]["brightness"] == 152);
    assert_eq!(house.stands("Ceiling Lamp"), "on at level 59");
    assistant.does("light.turn_off", &of("3-0"), json!({}));
    assistant.sees_state(&of("3-0"), "off");
    assistant.does("light.turn_on", &of("3-0"), json!({}));
    assistant.sees(&of("3-0"), "the former brightness", |lamp| lamp["attributes"]["brightness"] == 152);
    // The least that can be asked for does not switch it off.
    assistant.does("light.turn_on", &of("3-0"), json!({ "brightness": 1 }));
    assistant.sees(&of("3-0"), "the least brightness", |lamp| lamp["attributes"]["brightness"] == 3);
    assert_eq!(house.stands("Ceiling Lamp"), "on at level 1");
}

fn lock_and_thermostat(assistant: &mut HomeAssistant, house: &House) {
    assistant.does("lock.unlock", &of("12-0"), json!({}));
    assistant.sees_state(&of("12-0"), "unlocked");
    assert_eq!(house.stands("Front Door"), "unlocked");
    assistant.does("lock.lock", &of("12-0"), json!({}));
    assistant.sees_state(&of("12-0"), "locked");

    assistant.does("climate.set_temperature", &of("5-0"), json!({ "temperature": 22.5 }));
    let thermostat = assistant.sees(&of("5-0"), "the setpoint", |it| it["attributes"]["temperature"] == 22.5);
    let attributes = &thermostat["attributes"];
    assert_eq!(
        (&attributes["min_temp"], &attributes["max_temp"]),
        (&json!(5.0), &json!(30.0)),
        "{thermostat}"
    );
    assistant.does("climate.set_hvac_mode", &of("5-0"), json!({ "hvac_mode": "cool" }));
    assistant.sees_state(&of("5-0"), "cool");
    let words = "in mode cool, set to 22.5 degrees, at 20 degrees";
    assert_eq!(house.stands("Living Room Thermostat"), words);
}

fn blind_siren_and_scene(assistant: &mut HomeAssistant, house: &House) {
    assistant.does("cover.close_cover", &of("19-0"), json!({}));
    assistant.sees_state(&of("19-0"), "closed");
    assistant.does("cover.set_cover_position", &of("19-0"), json!({ "position": 40 }));
    assistant.sees(&of("19-0"), "the position", |it| it["attributes"]["current_position"] == 40);
    assert_eq!(house.stands("Porch Awning"), "open to 40 of 99");

    assistant.does("siren.turn_on", &of("20-0"), json!({}));
    assistant.sees_state(&of("20-0"), "on");
    assistant.does("siren.turn_off", &of("20-0"), json!({}));
    assistant.sees_state(&of("20-0"), "off");

    assistant.does("scene.turn_on", &of("scene-movie-night"), json!({}));
    assistant.sees(&of("10-0"), "the scene's light", |lamp| lamp["attributes"]["brightness"] == 26);
    assert_eq!(house.stands("Hall Light"), "on at level 10");
}

fn the_hub_itself(assistant: &mut HomeAssistant, broker: &Mosquitto) {
    assistant.does("number.set_value", &of("volume"), json!({ "value": 35 }));
    assistant.sees_state(&of("volume"), "35");
    assistant.sees_state(&of("controller"), "on");
    assistant.sees_state(&of("relay"), "on");
    assistant.sees_state(&of("boot"), "power_on");

    let topic = format!("hearthwave/{HUB}/speech");
    let speech = std::thread::scope(|scope| {
        let listening = scope.spawn(|| broker.next_message(&topic));
        // There is no sign of when the listener has subscribed.
        while !listening.is_finished() {
            let message = json!({ "message": "\"Dinner\" is ready" });
            assistant.does("notify.send_message", &of("announce"), message);
            std::thread::sleep(Duration::from_millis(300));
        }
        listening.join().expect("a message")
    });
    let speech: Value = serde_json::from_str(&speech).expect("JSON");
    assert_eq!(speech["text"], "\"Dinner\" is ready", "{speech}");
}

fn the_house_itself(assistant: &mut HomeAssistant, house: &House) {
    house.home.press("Kitchen Light").expect("a switch");
    assistant.sees_state(&of("7-0"), "off");
    house.home.press("Hall Motion").expect("a sensor");
    assistant.sees_state(&of("11-0"), "on");
    house.home.press("Hall Motion").expect("a sensor");
    assistant.sees_state(&of("11-0"), "off");

    // The same press twice in a row is two events.
    let mut before = json!("unknown");
    for (button, press) in [(2, Press::Double), (2, Press::Double), (4, Press::Hold)] {
        house.home.press_button("Bedside Button", button, press).expect("a button");
        let event = assistant.sees(&of("22-0"), "the press", |it| it["state"] != before);
        let attributes = &event["attributes"];
        assert_eq!(
            (&attributes["event_type"], &attributes["button"]),
            (&json!(press.word()), &json!(button)),
            "{event}"
        );
        before = event["state"].clone();
    }

    house.home.set_alive("Porch Light", false).expect("a switch");
    assistant.sees_state(&of("16-0"), "unavailable");
    let gone: Vec<_> =
        assistant.states().into_iter().filter(|(_, state)| state["state"] == "unavailable").collect();
    // The other one has had no power all the time.
    assert_eq!(gone.len(), 2, "more than one is unavailable: {gone:?}");
    house.home.set_alive("Porch Light", true).expect("a switch");
    assistant.sees_state(&of("16-0"), "off");
}

fn conversations(assistant: &mut HomeAssistant, house: &House) {
    const OWN: &str = "conversation.home_assistant";
    assistant.adds("wyoming", &json!({ "host": "127.0.0.1", "port": house.voice_port }));
    let agents = assistant.asks("conversation/agent/list", json!({ "language": "en" }));
    let hub = agents["agents"].as_array().into_iter().flatten().find(|agent| agent["id"] != OWN);
    let hub =
        hub.and_then(|agent| agent["id"].as_str()).unwrap_or_else(|| panic!("no agent of the hub: {agents}"));
    assert_eq!(assistant.says(hub, "turn on the kitchen light"), "Kitchen Light is now on.");
    assistant.sees_state(&of("7-0"), "on");
    assert_eq!(house.stands("Kitchen Light"), "on");

    let words = assistant.says(OWN, "turn off the kitchen light");
    assert!(words.starts_with("Turned off"), "{words}");
    assistant.sees_state(&of("7-0"), "off");
    assert_eq!(house.stands("Kitchen Light"), "off");
    assistant.says(OWN, "turn on the kitchen light");
    assistant.sees_state(&of("7-0"), "on");

    assistant.does("text.set_value", &of("ask"), json!({ "value": "turn off the kitchen light" }));
    assistant.sees_state(&of("last_answer"), "Kitchen Light is now off.");
    let event = assistant.state(&of("answer"));
    assert_eq!(event["attributes"]["text"], "Kitchen Light is now off.", "{event}");
    assistant.sees_state(&of("7-0"), "off");
    assert_eq!(house.stands("Kitchen Light"), "off");
}

/// Asks the hub to unlock the door. Returns the id of the approval that is pending then.
fn unlock_is_pending(assistant: &mut HomeAssistant) -> Value {
    assistant.does("text.set_value", &of("ask"), json!({ "value": "unlock the front door" }));
    assistant.sees_state(&of("pending"), "unlock Front Door")["attributes"]["id"].take()
}

fn approvals(assistant: &mut HomeAssistant, house: &House) {
    for (button, result, stands, words) in [
        ("deny", "denied", "locked", "OK, I did not unlock Front Door."),
        ("allow", "allowed", "unlocked", "Front Door is now unlocked."),
    ] {
        assistant.does("text.set_value", &of("ask"), json!({ "value": "unlock the front door" }));
        let is_waiting = |event: &Value| event["attributes"]["event_type"] == "waiting";
        let event = assistant.sees(&of("approval"), "the question", is_waiting);
        assert_eq!(event["attributes"]["what"], "unlock Front Door", "{event}");
        let id = event["attributes"]["id"].clone();
        let decision = assistant.sees(&of(button), "what waits", |it| it["attributes"]["id"] == id);
        assert_eq!(decision["attributes"]["what"], "unlock Front Door", "{decision}");
        assert_eq!(house.stands("Front Door"), "locked", "it did not wait");
        assistant.does("button.press", &of(button), json!({}));
        let decided = |event: &Value| event["attributes"]["event_type"] == result;
        assistant.sees(&of("approval"), "the decision", decided);
        assistant.sees(&of("last_answer"), "the answer", |answer| {
            answer["state"].as_str().is_some_and(|answer| answer.starts_with(words))
        });
        assistant.sees_state(&of("12-0"), stands);
        assert_eq!(house.stands("Front Door"), stands);
        assistant.sees(&of(button), "that nothing waits", |it| it["attributes"]["id"] == 0);
    }
    assistant.does("lock.lock", &of("12-0"), json!({}));
    assistant.sees_state(&of("12-0"), "locked");
}
