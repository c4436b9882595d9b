//! The hub's prompts, as the demo model understands them.

use crate::chat::chat;

const LISTS: [&str; 4] = [
    r#"list_devices {"kind":"dimmer"}"#,
    r#"list_devices {"kind":"switch"}"#,
    r#"list_devices {"kind":"contact_sensor"}"#,
    r#"list_devices {"kind":"lock"}"#,
];

fn off(name: &str) -> String {
    format!("control_zwave_device {{\"action\":\"off\",\"deviceName\":\"{name}\"}}")
}

#[test]
fn status_looks_and_sums_up() {
    chat(async |chat| {
        let answer = chat.say("@status").await;
        assert_eq!(answer.calls, ["list_devices {}"]);
        let (time, rest) = answer.content.split_once(". ").expect("sentences");
        assert!(time.starts_with("It is ") && time.ends_with("day"), "{time}");
        assert_eq!(
            rest,
            "Floor Lamp and Hall Light are on. Nothing is open. Front Door is locked. In degrees: Living Room 20, Kitchen \
             21.4 and Bedroom 18.9. Garden Pump is not answering."
        );
    });
}

#[test]
fn status_of_some() {
    chat(async |chat| {
        for (call, expected) in [
            (
                "@status kitchen",
                "Kitchen Light is off. Coffee Machine is off. Kitchen Temperature is at 21.4 degrees.",
            ),
            ("@status \"hall light\" \"front door\"", "Hall Light is on at level 30. Front Door is locked."),
            (
                "@status kitchen \"living room\"",
                "Floor Lamp is on. Nothing is open. In degrees: Kitchen 21.4 and Living Room 20.",
            ),
            ("@status submarine", "I know no 'submarine'."),
        ] {
            let answer = chat.say(call).await;
            let (_, rest) = answer.content.split_once(". ").expect("sentences");
            assert_eq!(rest, expected, "{call}");
        }
    });
}

#[test]
fn good_night_switches_lights_off_and_nothing_else() {
    chat(async |chat| {
        let answer = chat.say("@goodnight").await;
        let (lists, rest) = answer.calls.split_at(4);
        assert_eq!(lists, LISTS);
        assert_eq!(rest, [off("Hall Light"), off("Floor Lamp")], "those that are on, and no scene");
        assert_eq!(
            answer.content,
            "Good night! I switched off Hall Light and Floor Lamp. Nothing is open or running."
        );
        assert_eq!(chat.stands("Living Room Thermostat"), "in mode heat, set to 20.5 degrees, at 20 degrees");
        let answer = chat.say("@goodnight").await;
        assert_eq!(
            answer.content,
            "Good night! No light was left to switch off. Nothing is open or running."
        );
    });
}

#[test]
fn good_night_leaves_on_what_is_named() {
    chat(async |chat| {
        chat.say("turn on the coffee machine and unlock the front door").await;
        let answer = chat.say("@goodnight \"hall light\" fan").await;
        assert_eq!(answer.calls[4..], [off("Floor Lamp")]);
        assert_eq!(
            answer.content,
            "Good night! I switched off Floor Lamp. Hall Light stays on, as you wish. I know no 'fan' that could stay on. \
             Front Door is open or unlocked. Coffee Machine is still running."
        );
        assert_eq!(
            (chat.stands("Hall Light"), chat.stands("Front Door")),
            ("on at level 30".into(), "unlocked".into())
        );
    });
}

#[test]
fn good_night_with_every_light_on_fits_into_a_conversation() {
    chat(async |chat| {
        chat.say("turn on all the lights").await;
        let answer = chat.say("@goodnight").await;
        for name in
            ["Ceiling Lamp", "Floor Lamp", "Kitchen Light", "Hall Light", "Bedside Lamp", "Porch Light"]
        {
            assert_eq!(chat.stands(name), "off", "{answer:?}");
            assert!(answer.content.contains(name), "{answer:?}");
        }
    });
}

#[test]
fn explain_looks_things_up() {
    for (call, calls, words) in [
        (
            "@explain the hall light",
            &[r#"get_device_status {"deviceName":"Hall Light"}"#][..],
            "Hall Light (Hall) is a dimmer. Hall Light is on at level 30. I can switch it on and off, and make it brighter \
             or darker.",
        ),
        (
            "@explain why the heating is off",
            &[r#"get_device_status {"deviceName":"Living Room Thermostat"}"#],
            "Living Room Thermostat (Living Room) is a thermostat. Living Room Thermostat is in mode heat, set to 20.5",
        ),
        ("@explain lock_door", &[], "The tool lock_door: Locks or unlocks a door. "),
        ("@explain math eval", &[], "The tool hub_math_eval: "),
        ("@explain the scenes", &["list_scenes {}"], "Good Morning: kitchen and hall lit, heating up"),
        ("@explain", &[], "I have not done anything yet in this conversation."),
        (
            "@explain the meaning of life",
            &[],
            "I am only a demo and cannot explain 'the meaning of life'. I can explain a",
        ),
    ] {
        chat(async |chat| {
            let answer = chat.say(call).await;
            assert_eq!(answer.calls, calls, "{call}");
            assert!(answer.content.starts_with(words), "{call}: {}", answer.content);
        });
    }
}

#[test]
fn explain_tells_what_was_done() {
    chat(async |chat| {
        chat.say("turn on the porch light").await;
        let answer = chat.say("@explain").await;
        assert!(answer.calls.is_empty());
        assert_eq!(
            answer.content,
            "You said 'turn on the porch light', so I called tools. I called control_zwave_device \
             {\"action\":\"on\",\"deviceName\":\"Porch Light\"}, and heard: Porch Light is now on."
        );
        chat.say("@status").await;
        let answer = chat.say("@explain").await;
        assert_eq!(answer.content, "You said '@status', so I called tools. I called list_devices.");
    });
}
