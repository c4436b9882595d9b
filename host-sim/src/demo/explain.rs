//! What something is, in words, without changing anything.

use super::conversation::{Made, ToolCall};
use super::devices::Device;
use super::grammar;
use super::offer::Offer;
use super::plan::{Need, Tools};
use super::report::stands;
use super::speech::{list, words};

/// Words of a question that name nothing.
const ASKING: [&str; 24] = [
    "why", "what", "how", "is", "are", "does", "do", "did", "the", "a", "tool", "device", "it", "off", "on",
    "work", "works", "means", "mean", "about", "locked", "open", "unlocked", "closed",
];

/// Calls that are told of.
const DEEDS: usize = 8;

/// What it takes to explain: a look at something, or only words.
pub(super) fn need(about: &[String], tools: &Tools<'_>) -> Need {
    let asked: Vec<String> = about.iter().filter(|word| !ASKING.contains(&word.as_str())).cloned().collect();
    if about.is_empty() {
        return Need::Say(last_deed(tools));
    }
    let is_about = |said: &[&str]| asked.iter().any(|word| said.contains(&word.as_str()));
    if is_about(&["scene", "scenes"]) {
        return tools.one("list_scenes", &[], "list scenes");
    }
    if is_about(&["battery", "batteries"]) {
        return tools.one("get_battery_levels", &[], "look at batteries");
    }
    if let Some(offer) = tool(&asked, tools.offers) {
        return Need::Say(of_tool(offer));
    }
    let (devices, _) = tools.known.named(&asked);
    match devices.as_slice() {
        [] => Need::Say(unknown(about)),
        [device] => match tools.ask_status(&[device]) {
            Need::Calls(calls) => match calls.iter().find_map(|call| tools.conversation.outcome(call)) {
                None => Need::Calls(calls),
                Some(outcome) => Need::Say(of_device(device, &words(&outcome.content))),
            },
            none => none,
        },
        many => match tools.one("list_devices", &[], "look at devices") {
            Need::Calls(calls) if calls.iter().all(|call| tools.conversation.outcome(call).is_none()) => {
                Need::Calls(calls)
            }
            _ => Need::Say(
                many.iter()
                    .take(8)
                    .map(|device| format!("{}.", stands(device)))
                    .collect::<Vec<_>>()
                    .join(" "),
            ),
        },
    }
}

fn unknown(about: &[String]) -> String {
    let about: String = about.join(" ").replace(" |", "").chars().take(80).collect();
    format!(
        "I am only a demo and cannot explain '{about}'. I can explain a device, like hall light, a tool, like datetime, or \
         the scenes."
    )
}

/// The tool that is named, with or without its prefix, in one word or several.
fn tool<'a>(asked: &[String], offers: &'a [Offer]) -> Option<&'a Offer> {
    let name = asked.join("_").replace("_|", "");
    (!name.is_empty()).then(|| super::offer::find(offers, &name)).flatten()
}

fn of_tool(offer: &Offer) -> String {
    let about = offer.description.lines().next().unwrap_or_default().trim_end_matches('.');
    let taken: Vec<String> =
        offer.schema["properties"].as_object().into_iter().flatten().map(|(name, _)| name.clone()).collect();
    let takes = match taken.as_slice() {
        [] => "It takes no arguments".to_owned(),
        taken => format!("It takes {}", list(taken, "and")),
    };
    format!("The tool {}: {about}. {takes}.", offer.name)
}

fn of_device(device: &Device, stands: &str) -> String {
    let (what, able) = match device.kind.as_str() {
        "switch" => ("a switch", "I can switch it on and off"),
        "dimmer" => ("a dimmer", "I can switch it on and off, and make it brighter or darker"),
        "lock" => ("a lock", "I can lock and unlock it"),
        "thermostat" => ("a thermostat", "I can set its mode and the temperature that it aims at"),
        "temperature_sensor" => ("a sensor that measures how warm it is", "I can only read it"),
        "motion_sensor" => ("a sensor that sees movement", "I can only read it"),
        "contact_sensor" => ("a sensor that feels whether something is open", "I can only read it"),
        _ => ("a device", "I can look at it"),
    };
    let place = if device.room.is_empty() { String::new() } else { format!(" ({})", device.room) };
    format!("{}{place} is {what}. {}. {able}.", device.name, stands.trim_end_matches('.'))
}

/// What was done for what was said before, and why.
fn last_deed(tools: &Tools<'_>) -> String {
    let before = tools.conversation.before.trim();
    if before.is_empty() {
        return "I have not done anything yet in this conversation.".into();
    }
    let said: String = match grammar::prompt_name(before) {
        Some(name) => format!("@{name}"),
        None => before.chars().take(80).collect(),
    };
    let deeds: Vec<_> = tools.conversation.made_before().take(DEEDS).map(deed).collect();
    match deeds.is_empty() {
        true => format!("You said '{said}'. I only answered, and called no tool."),
        false => format!("You said '{said}', so I called tools. {}.", deeds.join(". ")),
    }
}

fn deed(made: &Made) -> String {
    let ToolCall { name, arguments } = &made.call;
    let is_bare = arguments.as_object().is_none_or(serde_json::Map::is_empty);
    let with = if is_bare { String::new() } else { format!(" {arguments}") };
    let came = made.outcome.as_ref().map(|outcome| words(&outcome.content)).unwrap_or_default();
    // A list of everything is not to be read out.
    match came.chars().count() {
        0 | 120.. => format!("I called {name}{with}"),
        _ => format!("I called {name}{with}, and heard: {}", came.trim_end_matches('.')),
    }
}
