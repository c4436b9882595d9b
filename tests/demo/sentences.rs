//! Everyday sentences, and the calls and answers of the demo model.

use crate::chat::chat;

/// What is said, the calls that it ends with, and how the answer begins. A new home for each.
const SENTENCES: [(&str, &[&str], &str); 92] = [
    // Several at once, and exceptions.
    (
        "turn off everything except the hall light",
        &["off Garden Pump"],
        "Switch One, Ceiling Lamp, Floor Lamp, Kitchen Light, Coffee Machine, Bedside Lamp and Porch Light are now off. Sorry, that did not work: Garden Pump",
    ),
    (
        "turn off all lights but the kitchen light",
        &["off Hall Light", "off Bedside Lamp", "off Porch Light"],
        "Ceiling Lamp, Floor Lamp, Hall Light, Bedside Lamp and Porch Light are now off.",
    ),
    (
        "turn off the lights, except for the floor lamp and the hall light",
        &["off Kitchen Light", "off Bedside Lamp", "off Porch Light"],
        "Ceiling Lamp, Kitchen Light, Bedside Lamp and Porch Light are now off.",
    ),
    (
        "all lights off but leave the hall light on",
        &["off Bedside Lamp", "off Porch Light"],
        "Ceiling Lamp, Floor Lamp, Kitchen Light, Bedside Lamp and Porch Light are now off.",
    ),
    (
        "everything off",
        &["off Porch Light", "off Garden Pump"],
        "Switch One, Ceiling Lamp, Floor Lamp, Kitchen Light, Coffee Machine, Hall Light, Bedside Lamp and Porch Light are now off.",
    ),
    (
        "turn off everything except the submarine",
        &["list_devices {}"],
        "I found no 'submarine' to leave out, so I did nothing.",
    ),
    (
        "lights off in the living room",
        &["off Ceiling Lamp", "off Floor Lamp"],
        "Ceiling Lamp and Floor Lamp are now off.",
    ),
    ("turn on the lights in the kitchen", &["on Kitchen Light"], "Kitchen Light is now on."),
    ("turn off the kitchen", &["list_devices {}"], "Which one do you mean: Kitchen Light or Coffee Machine?"),
    (
        "turn off the lights in the house",
        &["off Bedside Lamp", "off Porch Light"],
        "Ceiling Lamp, Floor Lamp, Kitchen Light, Hall Light",
    ),
    (
        "turn on the lights except in the kitchen",
        &["on Bedside Lamp", "on Porch Light"],
        "Ceiling Lamp and Bedside Lamp are now on at level 99",
    ),
    ("turn on the hall light to 40 percent", &["level 40 Hall Light"], "Hall Light is now on at level 40."),
    (
        "how is the kitchen?",
        &["status Kitchen Light", "status Coffee Machine", "status Kitchen Temperature"],
        "Kitchen Light is off and Coffee Machine is off. Kitchen Temperature is at 21.4",
    ),
    ("is the garden pump working?", &["status Garden Pump"], "Garden Pump does not answer."),
    ("start the coffee machine", &["on Coffee Machine"], "Coffee Machine is now on."),
    ("stop the floor lamp", &["off Floor Lamp"], "Floor Lamp is now off."),
    ("unlock everything", &[r#"lock_door {"action":"unlock"}"#], "Front Door is now unlocked."),
    ("who left the lights on", &[], "I am only a demo and did not understand that."),
    ("turn it off", &[], "I do not know what you mean by 'it': say its name."),
    ("what did you just do?", &[], "I have not done anything yet"),
    // Brightness.
    ("make the hall light brighter", &["level 50 Hall Light"], "Hall Light is now on at level 50."),
    ("dim the hall light a bit", &["level 10 Hall Light"], "Hall Light is now on at level 10."),
    (
        "increase the brightness of the hall light by 15 percent",
        &["level 45 Hall Light"],
        "Hall Light is now on at level 45.",
    ),
    (
        "set the brightness of the hall light to 50%",
        &["level 50 Hall Light"],
        "Hall Light is now on at level 50.",
    ),
    ("set the bedside lamp to half", &["level 50 Bedside Lamp"], "Bedside Lamp is now on at level 50."),
    ("how bright is the hall light?", &["status Hall Light"], "Hall Light is on at level 30."),
    (
        "make it brighter",
        &["list_devices {}"],
        "Which one do you mean: Ceiling Lamp, Hall Light or Bedside Lamp?",
    ),
    ("dim the kitchen light to 20%", &["list_devices {}"], "Kitchen Light cannot do that: it is a switch."),
    // Warm and cold.
    (
        "what's the temperature in the bedroom",
        &["status Bedroom Temperature"],
        "Bedroom Temperature is at 18.9 degrees",
    ),
    ("how warm is the kitchen?", &["status Kitchen Temperature"], "Kitchen Temperature is at 21.4 degrees"),
    ("is it cold outside?", &["list_devices {}"], "Nothing measures the temperature of 'outside'."),
    (
        "make it warmer",
        &["status Living Room Thermostat", r#"set_thermostat {"setpoint":21.5}"#],
        "Living Room Thermostat is now in mode heat, set to 21.5 degrees",
    ),
    (
        "it's too hot in here",
        &[r#"set_thermostat {"setpoint":19.5}"#],
        "Living Room Thermostat is now in mode heat, set to 19.5 degrees",
    ),
    ("I'm cold", &[r#"set_thermostat {"setpoint":21.5}"#], "Living Room Thermostat is now"),
    (
        "turn the heating up by 2 degrees",
        &[r#"set_thermostat {"setpoint":22.5}"#],
        "Living Room Thermostat is now",
    ),
    (
        "turn the heating up to 22 degrees",
        &[r#"set_thermostat {"setpoint":22.0}"#],
        "Living Room Thermostat is now",
    ),
    ("is the heating on?", &["status Living Room Thermostat"], "Living Room Thermostat is in mode heat"),
    (
        "what is the thermostat set to?",
        &["status Living Room Thermostat"],
        "Living Room Thermostat is in mode heat, set to 20.5",
    ),
    // Doors and windows.
    ("is the house locked?", &["list_devices {}"], "Yes, Front Door is locked."),
    ("lock all doors", &[r#"lock_door {"action":"lock"}"#], "Front Door is now locked."),
    ("is the front door open?", &["status Front Door Contact"], "No, Front Door Contact is closed"),
    ("are all the windows closed?", &["list_devices {}"], "Yes, Living Room Window is closed."),
    ("what is open?", &["list_devices {}"], "Nothing is open."),
    ("open the window", &[], "I cannot move doors, windows or blinds: I am a demo"),
    // Devices and their states.
    ("what's on?", &["list_devices {}"], "Floor Lamp and Hall Light are on."),
    ("is anything still on?", &["list_devices {}"], "Floor Lamp and Hall Light are on."),
    ("are all lights off?", &["list_devices {}"], "No, Floor Lamp and Hall Light are on."),
    ("did I leave the lights on?", &["list_devices {}"], "Yes, Floor Lamp and Hall Light are on."),
    ("are the lights on in the kitchen?", &["list_devices {}"], "No, none of them is on."),
    (
        "how many lights are off?",
        &["list_devices {}"],
        "4 are off: Ceiling Lamp, Kitchen Light, Bedside Lamp and Porch Light.",
    ),
    ("is anyone home?", &["list_devices {}"], "Yes, Porch Motion is seeing motion."),
    ("what devices do you have?", &["list_devices {}"], "There are Switch One, Ceiling Lamp"),
    (
        "what's in the kitchen?",
        &["list_devices {}"],
        "There are Kitchen Light, Coffee Machine and Kitchen Temperature.",
    ),
    (
        "which rooms are there?",
        &["list_devices {}"],
        "I know 5 rooms: Bedroom, Hall, Kitchen, Living Room and Outside.",
    ),
    (
        "how is everything at home?",
        &["list_devices {}"],
        "Floor Lamp and Hall Light are on. Nothing is open.",
    ),
    ("explain the front door", &["status Front Door"], "Front Door (Hall) is a lock. Front Door is locked"),
    // Scenes.
    ("good night", &[r#"activate_scene {"sceneName":"Good Night"}"#], "Good Night is set"),
    (
        "good night, but leave the hall light on",
        &["off Floor Lamp"],
        "Good night! I switched off Floor Lamp. Hall Light stays on",
    ),
    ("movie time!", &[r#"activate_scene {"sceneName":"Movie Night"}"#], "Movie Night is set"),
    ("I'm leaving", &[r#"activate_scene {"sceneName":"Away"}"#], "Away is set"),
    // Numbers in words.
    ("set the hall light to forty percent", &["level 40 Hall Light"], "Hall Light is now on at level 40."),
    ("dim the ceiling lamp to twenty-five percent", &["level 25 Ceiling Lamp"], "Ceiling Lamp is now on"),
    ("put the hall light at ninety nine percent", &["level 99 Hall Light"], "Hall Light is now on"),
    ("set the bedside lamp to a quarter", &["level 25 Bedside Lamp"], "Bedside Lamp is now on at level 25."),
    ("set the hall light to three quarters", &["level 75 Hall Light"], "Hall Light is now on at level 75."),
    (
        "turn the hall light down by ten percent",
        &["level 20 Hall Light"],
        "Hall Light is now on at level 20.",
    ),
    ("set switch one to forty percent", &["list_devices {}"], "Switch One cannot do that: it is a switch."),
    ("turn on switch one", &["on Switch One"], "Switch One is now on."),
    (
        "set the heating to twenty one point five degrees",
        &[r#"set_thermostat {"setpoint":21.5}"#],
        "Living Room Thermostat is now in mode heat, set to 21.5 degrees",
    ),
    (
        "set the heating to nineteen and a half degrees and turn on the hall light",
        &[r#"set_thermostat {"setpoint":19.5}"#, "on Hall Light"],
        "Living Room Thermostat is now in mode heat, set to 19.5 degrees",
    ),
    ("turn the heating up by half a degree", &[r#"set_thermostat {"setpoint":21.0}"#], "Living Room"),
    ("make it two degrees warmer", &[r#"set_thermostat {"setpoint":22.5}"#], "Living Room Thermostat is now"),
    ("set the volume to one hundred", &[r#"hub_volume {"level":100}"#], "The volume is 100 percent."),
    ("turn the volume to half", &[r#"hub_volume {"level":50}"#], "The volume is 50 percent."),
    ("set the volume to zero", &[r#"hub_volume {"level":0}"#], "The volume is 0 percent."),
    (
        "which batteries are below a quarter",
        &[r#"get_battery_levels {"below":25}"#],
        "These batteries: Bedroom Temperature at 12 percent.",
    ),
    (
        "what is a quarter of two hundred",
        &[r#"hub_math_eval {"expression":"0.25 * 200"}"#],
        "A quarter of two hundred is 50.",
    ),
    (
        "what is two point five times a hundred and four",
        &[r#"hub_math_eval {"expression":"2.5 * 104"}"#],
        "Two point five times a hundred and four is 260.",
    ),
    (
        // Only a rule that names them offers the tools of flags.
        "set the flag guests to twenty five",
        &[],
        "I cannot set flags here",
    ),
    // Politeness, and requests that it cannot fulfil.
    ("what can you do?", &[], "I am the demo model of Hearthwave"),
    ("thanks!", &[], "You are welcome."),
    ("hello", &[], "Hello! I am a demo"),
    ("what is 12% of 80", &[r#"hub_math_eval {"expression":"12 / 100 * 80"}"#], "12 percent of 80 is 9.6."),
    (
        "remind me to water the plants at six",
        &[],
        "I cannot remember appointments or remind you: I am a demo",
    ),
    ("set a timer for 10 minutes", &[], "I cannot do things later: I am a demo"),
    ("turn on the lights in ten minutes", &[], "I cannot do things later"),
    ("what's the weather like?", &[], "I cannot tell the weather"),
    ("what time is it in Tokyo?", &[], "I cannot tell the time of other places"),
    ("don't turn the lights off", &[], "All right, I leave it as it is."),
    ("undo that", &[], "I cannot take back what has been done"),
    ("turn on the fan", &["list_devices {}"], "I know no 'fan' in this home."),
    (
        "who is the president of France?",
        &[],
        "I am only a demo and did not understand that. Try: turn on the kitchen light, is the front door locked? or what is 12% of 80?",
    ),
];

/// A call as the table writes it.
fn brief(call: &str) -> String {
    let (name, arguments) = call.split_once(' ').expect("arguments");
    let arguments: serde_json::Value = serde_json::from_str(arguments).expect("JSON");
    let device = arguments["deviceName"].as_str().unwrap_or_default();
    match (name, arguments["action"].as_str()) {
        ("control_zwave_device", Some("set_level")) => format!("level {} {device}", arguments["level"]),
        ("control_zwave_device", Some(action)) => format!("{action} {device}"),
        ("get_device_status", _) => format!("status {device}"),
        _ => call.into(),
    }
}

#[test]
fn what_people_say() {
    let wrong = std::cell::RefCell::new(Vec::new());
    for (said, calls, words) in SENTENCES {
        chat(async |chat| {
            let answer = chat.say(said).await;
            let made: Vec<_> = answer.calls.iter().map(|call| brief(call)).collect();
            let wanted: Vec<_> = calls.iter().map(ToString::to_string).collect();
            let is_right = made.ends_with(&wanted) && made.is_empty() == wanted.is_empty();
            if !is_right || !answer.content.starts_with(words) {
                wrong.borrow_mut().push(format!("{said}: {made:?} {}", answer.content));
            }
        });
    }
    let wrong = wrong.into_inner();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_question_back_can_be_answered() {
    chat(async |chat| {
        let answer = chat.say("turn on the living room lamp").await;
        assert_eq!(answer.content, "Which one do you mean: Ceiling Lamp or Floor Lamp?");
        let answer = chat.say("the ceiling lamp").await;
        assert_eq!(answer.content, "Ceiling Lamp is now on at level 99.");
        // Another sentence does not repeat the call.
        let answer = chat.say("and the moon").await;
        assert!(answer.calls.iter().all(|call| !call.contains("control")), "{answer:?}");
    });
}

#[test]
fn it_is_what_was_named_last() {
    chat(async |chat| {
        chat.say("turn on the porch light").await;
        let answer = chat.say("turn it off").await;
        assert_eq!(answer.content, "Porch Light is now off.");
        let answer = chat.say("is it on?").await;
        assert_eq!(answer.content, "No, Porch Light is off.");
    });
}

#[test]
fn that_one_is_no_number() {
    chat(async |chat| {
        chat.say("turn on the hall light").await;
        assert_eq!(chat.say("turn that one off").await.content, "Hall Light is now off.");
        assert_eq!(
            chat.say("set this one to forty percent").await.content,
            "Hall Light is now on at level 40."
        );
    });
}

#[test]
fn what_is_left_out_stays_as_it_is() {
    chat(async |chat| {
        chat.say("turn off all lights but the hall light").await;
        assert_eq!(
            (chat.stands("Hall Light"), chat.stands("Floor Lamp")),
            ("on at level 30".into(), "off".into())
        );
    });
}
