//! Conversations with the demo model: a whole hub, its tools and those of the simulated home, in virtual time.

mod chat;
mod prompts;
mod sentences;
mod talk;

use host_relay::demo::{HOME, answer};
use host_zwave::Home;
use hub_core::chat::Provider;
use hub_core::chat::prompts::{Invocation, PROMPTS};
use serde_json::json;

use talk::{in_each_format, in_format};

#[test]
fn two_wishes_are_called_at_once_and_answered_together() {
    in_each_format(async |talk| {
        let heard = talk.say("Turn on the kitchen light and tell me what time it is.").await;
        let on = r#"control_zwave_device {"action":"on","deviceName":"Kitchen Light"}"#;
        assert_eq!(heard.rounds, [[on, "hub_datetime {}"]]);
        assert!(heard.words.starts_with("Kitchen Light is now on. It is "), "{}", heard.words);
        assert_eq!(talk.home.device("Kitchen Light").expect("it").state.to_string(), "on");
        // The next question is a new one.
        let heard = talk.say("and off again please").await;
        assert!(heard.words.contains("did not understand"), "{heard:?}");
        let heard = talk.say("turn on the kitchen light").await;
        assert_eq!(heard.rounds, [[on]], "it was done before, for another question");
    });
}

#[test]
fn everyday_sentences() {
    let control = |name: &str, rest: &str| {
        format!("control_zwave_device {{\"action\":\"{rest},\"deviceName\":\"{name}\"}}")
    };
    let level = |name: &str, level: u8| {
        format!(
            "control_zwave_device {{\"action\":\"set_level\",\"deviceName\":\"{name}\",\"level\":{level}}}"
        )
    };
    let status = |name: &str| format!("get_device_status {{\"deviceName\":\"{name}\"}}");
    let call = |text: &str| text.to_owned();
    let on = |name: &str| control(name, "on\"");
    let off = |name: &str| control(name, "off\"");
    for (said, calls, words) in [
        (
            "dim the bedroom lamp to 40 percent",
            vec![level("Bedside Lamp", 40)],
            "Bedside Lamp is now on at level 40.",
        ),
        (
            "Could you please set the hall light to one hundred percent?",
            vec![level("Hall Light", 99)],
            "Hall Light is now on at level 99.",
        ),
        (
            "turn the floor lamp and the porch light off",
            vec![off("Floor Lamp"), off("Porch Light")],
            "Floor Lamp is now off. Porch Light is now off.",
        ),
        (
            "switch on the coffee machine and the porch light",
            vec![on("Coffee Machine"), on("Porch Light")],
            "Coffee Machine is now on. Porch Light is now on.",
        ),
        ("turn on switch one", vec![on("Switch One")], "Switch One is now on."),
        ("turn the garden pump on", vec![on("Garden Pump")], "Sorry, that did not work: "),
        (
            "dim the kitchen light to 20 percent",
            vec![call("list_devices {}")],
            "Kitchen Light cannot do that: it is a switch.",
        ),
        (
            "turn on the living room lamp",
            vec![call("list_devices {}")],
            "Which one do you mean: Ceiling Lamp or Floor Lamp?",
        ),
        (
            "is the front door locked?",
            vec![status("Front Door")],
            "Yes, Front Door is locked, its battery at 72 percent.",
        ),
        ("is the kitchen light on", vec![status("Kitchen Light")], "No, Kitchen Light is off."),
        (
            "is the living room window open",
            vec![status("Living Room Window")],
            "No, Living Room Window is closed",
        ),
        ("is there any motion outside?", vec![status("Porch Motion")], "Yes, Porch Motion is seeing motion"),
        (
            "lock the front door",
            vec![call(r#"lock_door {"action":"lock","deviceName":"Front Door"}"#)],
            "Front Door is now locked.",
        ),
        ("please lock the door", vec![call(r#"lock_door {"action":"lock"}"#)], "Front Door is now locked."),
        (
            "which batteries are low?",
            vec![call(r#"get_battery_levels {"below":20}"#)],
            "These batteries: Bedroom Temperature at 12 percent.",
        ),
        (
            "What's the temperature?",
            vec![call(r#"list_devices {"kind":"temperature_sensor"}"#)],
            "Kitchen Temperature is at 21.4 degrees and Bedroom Temperature is at 18.9 degrees.",
        ),
        (
            "how warm is it in the bedroom",
            vec![status("Bedroom Temperature")],
            "Bedroom Temperature is at 18.9 degrees",
        ),
        (
            "what is the temperature in the living room",
            vec![status("Living Room Thermostat")],
            "Living Room Thermostat is in mode heat, set to 20.5 degrees, at 20 degrees.",
        ),
        (
            "set the heating to 21.5 degrees",
            vec![call(r#"set_thermostat {"setpoint":21.5}"#)],
            "Living Room Thermostat is now in mode heat, set to 21.5 degrees",
        ),
        (
            "turn the heating off",
            vec![call(r#"set_thermostat {"mode":"off"}"#)],
            "Living Room Thermostat is now off",
        ),
        ("Goodnight!", vec![call(r#"activate_scene {"sceneName":"Good Night"}"#)], "Good Night is set: "),
        (
            "start the movie night scene",
            vec![call(r#"activate_scene {"sceneName":"Movie Night"}"#)],
            "Movie Night is set: ",
        ),
        ("which scenes are there", vec![call("list_scenes {}")], "Good Morning: "),
        ("which lights are on", vec![call("list_devices {}")], "Floor Lamp and Hall Light are on."),
        (
            "what is 17 percent of 240",
            vec![call(r#"hub_math_eval {"expression":"17 / 100 * 240"}"#)],
            "17 percent of 240 is 40.8.",
        ),
        (
            "set the volume to 30 percent",
            vec![call(r#"hub_volume {"level":30}"#)],
            "The volume is 30 percent.",
        ),
        ("louder please", vec![call(r#"hub_volume {"change":10}"#)], "The volume is 60 percent."),
        (
            "set the flag holiday to until sunday",
            vec![call(r#"hub_set_project_flag {"name":"holiday","value":"until sunday"}"#)],
            "The flag holiday is set.",
        ),
        (
            "what is the feature flag guests",
            vec![call(r#"hub_get_feature_flag {"name":"guests"}"#)],
            "The flag guests is not set.",
        ),
        (
            "is the holiday flag set",
            vec![call(r#"hub_get_project_flag {"name":"holiday"}"#)],
            "The flag holiday is not set.",
        ),
        ("which flags are set", vec![call("hub_list_project_flags {}")], "No flag is set."),
        (
            "what is the temperature in the kitchen and in the bedroom",
            vec![status("Kitchen Temperature"), status("Bedroom Temperature")],
            "Kitchen Temperature is at 21.4 degrees",
        ),
        (
            "what is the status of the hall motion sensor",
            vec![status("Hall Motion")],
            "Hall Motion is seeing no motion",
        ),
        (
            "ping node 7",
            vec![call(r#"ping_node {"nodeId":7}"#)],
            "Node 7 (Kitchen Light) answers after 0 ms.",
        ),
        (
            "search for salt and pepper",
            vec![call(r#"hub_search {"query":"salt and pepper"}"#)],
            "Sorry, the service for that is not available right now.",
        ),
        ("who are you", vec![], "I am the demo model of Hearthwave"),
        ("write me a poem about the sea", vec![], "I am only a demo and did not understand that."),
    ] {
        in_format(Provider::Anthropic, async |talk| {
            let heard = talk.say(said).await;
            let first = heard.rounds.first().cloned().unwrap_or_default();
            assert_eq!(first, calls, "{said}");
            assert!(heard.words.starts_with(words), "{said}: {}", heard.words);
        });
    }
}

#[test]
fn all_of_them_takes_two_rounds() {
    in_each_format(async |talk| {
        let heard = talk.say("turn off all the lights in the living room").await;
        assert_eq!(heard.rounds[0], ["list_devices {}"]);
        let off = |name| format!("control_zwave_device {{\"action\":\"off\",\"deviceName\":\"{name}\"}}");
        assert_eq!(heard.rounds[1], [off("Ceiling Lamp"), off("Floor Lamp")]);
        assert_eq!(heard.words, "Ceiling Lamp and Floor Lamp are now off.");
        // Now it knows them.
        let heard = talk.say("turn on the lights").await;
        assert_eq!(heard.rounds.len(), 1, "{heard:?}");
        assert!(heard.rounds[0].len() >= 5, "{heard:?}");
    });
}

#[test]
fn what_was_not_understood_is_said() {
    in_each_format(async |talk| {
        let heard = talk.say("Turn on the hall light and sing a song.").await;
        assert_eq!(heard.rounds.len(), 1);
        assert_eq!(heard.words, "Hall Light is now on at level 30. I did not understand 'sing a song'.");
    });
}

#[test]
fn without_tools_it_says_so() {
    in_each_format(async |talk| {
        talk.tools = json!([]);
        for (said, able) in
            [("what time is it", "tell the time"), ("turn on the hall light", "control devices")]
        {
            let heard = talk.say(said).await;
            assert_eq!(heard.words, format!("I cannot {able} here: there is no tool for it."));
        }
    });
}

#[test]
fn it_knows_the_simulated_home_by_heart() {
    let devices = Home::fast(0).devices();
    let devices = devices.iter().map(|device| (device.name, device.room, device.state.kind()));
    assert!(devices.eq(HOME), "the demo model knows other devices than there are");
}

#[test]
fn it_understands_every_prompt_of_the_hub() {
    let clock = r#"{"date":"2026-11-16","time":"14:16:58","weekday":"Monday","utc_offset":"+00:00"}"#;
    for prompt in PROMPTS {
        for call in [format!("@{}", prompt.name), format!("@{} \"hall light\" fan", prompt.name)] {
            let call = Invocation::find(&call).expect("a prompt").expect("a prompt");
            let question = call.expand(clock).to_string();
            let body = json!({ "model": "demo", "messages": [{ "role": "user", "content": question }], "tools": [] });
            let reply = answer(Provider::Ollama, body.to_string().as_bytes()).expect("a reply");
            let words = String::from_utf8(reply).expect("text");
            assert!(!words.contains("did not understand"), "@{}: {words}", prompt.name);
        }
    }
}
