//! Explains devices, tools and what was done, without changing anything.

use super::conversation::{PastCall, ToolCall};
use super::devices::Device;
use super::grammar;
use super::offer::Offer;
use super::plan::{Plan, Tools};
use super::report::describe;
use super::speech::{list, words};

/// Words of a question that name nothing.
const ASKING: [&str; 24] = [
    "why", "what", "how", "is", "are", "does", "do", "did", "the", "a", "tool", "device", "it", "off", "on",
    "work", "works", "means", "mean", "about", "locked", "open", "unlocked", "closed",
];

/// Calls that are listed.
const CALLS: usize = 8;

/// The plan to explain something: a look at it, or only words.
pub(super) fn plan(about: &[String], tools: &Tools<'_>) -> Plan {
    let asked = grammar::without(about, &ASKING);
    if about.is_empty() {
        return Plan::Say(last_calls(tools));
    }
    let is_about = |said: &[&str]| asked.iter().any(|word| said.contains(&word.as_str()));
    if is_about(&["scene", "scenes"]) {
        return tools.one("list_scenes", &[], "list scenes");
    }
    if is_about(&["battery", "batteries"]) {
        return tools.one("get_battery_levels", &[], "look at batteries");
    }
    if let Some(offer) = tool(&asked, tools.offers) {
        return Plan::Say(of_tool(offer));
    }
    let (devices, _) = tools.known.named(&asked);
    match devices.as_slice() {
        [] => Plan::Say(unknown(about)),
        [device] => match tools.ask_status(&[device]) {
            Plan::Calls(calls) => match calls.iter().find_map(|call| tools.conversation.result_of(call)) {
                None => Plan::Calls(calls),
                Some(result) => Plan::Say(of_device(device, &words(&result.content))),
            },
            none => none,
        },
        many => match tools.one("list_devices", &[], "look at devices") {
            Plan::Calls(calls) if calls.iter().all(|call| tools.conversation.result_of(call).is_none()) => {
                Plan::Calls(calls)
            }
            _ => Plan::Say(
                many.iter()
                    .take(8)
                    .map(|device| format!("{}.", describe(device)))
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

fn of_device(device: &Device, state: &str) -> String {
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
    format!("{}{place} is {what}. {}. {able}.", device.name, state.trim_end_matches('.'))
}

/// The calls for what was said before.
fn last_calls(tools: &Tools<'_>) -> String {
    let before = tools.conversation.before.trim();
    if before.is_empty() {
        return "I have not done anything yet in this conversation.".into();
    }
    let said: String = match grammar::prompt_name(before) {
        Some(name) => format!("@{name}"),
        None => before.chars().take(80).collect(),
    };
    let calls: Vec<_> = tools.conversation.calls_before().take(CALLS).map(describe_call).collect();
    match calls.is_empty() {
        true => format!("You said '{said}'. I only answered, and called no tool."),
        false => format!("You said '{said}', so I called tools. {}.", calls.join(". ")),
    }
}

fn describe_call(made: &PastCall) -> String {
    let ToolCall { name, arguments } = &made.call;
    let is_bare = arguments.as_object().is_none_or(serde_json::Map::is_empty);
    let with = if is_bare { String::new() } else { format!(" {arguments}") };
    let result = made.result.as_ref().map(|result| words(&result.content)).unwrap_or_default();
    // Long results are not read out.
    match result.chars().count() {
        0 | 120.. => format!("I called {name}{with}"),
        _ => format!("I called {name}{with}, and heard: {}", result.trim_end_matches('.')),
    }
}
