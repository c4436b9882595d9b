//! A real Home Assistant finds the hub and its home by itself, shows them as they are, and does everything with them that
//! people do.

mod api;
mod house;
mod instance;
mod look;

use std::time::{Duration, Instant};

use host_sim::zwave::Press;
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

    tell("Home Assistant restarts, and has everything back");
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

    tell("the hub loses its power, and comes back");
    drop(house);
    all_is_unavailable(&mut assistant);
    let house = House::start(&broker);
    all_is_there(&mut assistant, &[]);

    tell("discovery is turned off, first that of the devices, and on again");
    set(&broker, "homeassistant.devices", "off");
    assistant.waits("the devices to be gone", |it| none_is_left(it, &HUB_ENTITIES));
    set(&broker, "homeassistant.discovery", "off");
    assistant.waits("the hub to be gone", |it| none_is_left(it, &[]));
    set(&broker, "homeassistant.devices", "on");
    set(&broker, "homeassistant.discovery", "on");
    all_is_there(&mut assistant, &[]);
    assert_eq!(house.stands("Front Door"), "locked");
    assistant.is_content();
    tell("done");
}

/// A unique id.
fn of(id: &str) -> String {
    format!("{HUB}_{id}")
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

fn approvals(assistant: &mut HomeAssistant, house: &House) {
    for (button, result, stands, words) in [
        ("deny", "denied", "locked", "Sorry"),
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
