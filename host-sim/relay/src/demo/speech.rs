//! Puts the results of tools into words.

use serde_json::Value;

use super::conversation::{self, ToolResult};
use super::devices::{Ability, Device, Known, Matched, listed};
use super::grammar::{Condition, Flag, Intent, Target};
use super::report;

/// Characters of a result that are read out.
const LONGEST: usize = 400;

/// What to say about an intent whose calls had these results.
pub(super) fn of(intent: &Intent, results: &[&ToolResult]) -> Vec<String> {
    match intent {
        Intent::Report { about, clock } => return report::status(about, clock.as_deref(), results),
        Intent::Night { except } => return report::night(except, results),
        _ => {}
    }
    let mut said: Vec<String> = Vec::new();
    // Those that do the same are named together.
    let mut together: Vec<(Vec<String>, String)> = Vec::new();
    for words in results.iter().map(|result| one(intent, result)) {
        match words.split_once(" is now ") {
            Some((name, state)) if results.len() > 1 => {
                match together.iter_mut().find(|(_, other)| other == state) {
                    Some((names, _)) => names.push(name.into()),
                    None => together.push((vec![name.into()], state.into())),
                }
            }
            _ => said.push(words),
        }
    }
    let together = together.into_iter().map(|(names, state)| are(&names, &format!("now {state}")));
    together.chain(said).collect()
}

fn one(intent: &Intent, result: &ToolResult) -> String {
    let content = &result.content;
    if result.is_error || content["success"] == false {
        let words = words(content);
        return if ["Sorry", "OK, "].iter().any(|start| words.starts_with(start)) {
            words
        } else {
            format!("Sorry, that did not work: {words}")
        };
    }
    let result = conversation::result(content);
    let made = match intent {
        Intent::Sum { said, .. } => number(result).map(|value| format!("{said} is {value}")),
        Intent::Batteries(_) => batteries(result),
        Intent::Flag(_, Flag::List) => flags(result),
        Intent::Status { expected: Some(expected), .. } => holds(*expected, &result["state"]).map(|yes| {
            let answer = if yes { "Yes" } else { "No" };
            format!("{answer}, {}", words(content))
        }),
        Intent::Devices { target, condition, is_all } => devices(content, target, *condition, *is_all),
        Intent::Rooms => rooms(content),
        Intent::Search(_) => search(result),
        _ => None,
    };
    made.unwrap_or_else(|| words(content))
}

/// A result in words: its message, or what went wrong, or whatever it is.
pub(super) fn words(content: &Value) -> String {
    let found = ["message", "error"].iter().find_map(|name| content[*name].as_str()).map(str::to_owned);
    let text = found.unwrap_or_else(|| match conversation::result(content) {
        Value::String(text) => text.clone(),
        Value::Object(members) => {
            let members = members.iter().map(|(name, value)| format!("{name} is {}", plain(value)));
            list(&members.collect::<Vec<_>>(), "and")
        }
        other => other.to_string(),
    });
    let lines: Vec<String> =
        text.lines().map(|line| line.trim().to_owned()).filter(|line| !line.is_empty()).collect();
    list(&lines, "and").chars().take(LONGEST).collect()
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn number(result: &Value) -> Option<String> {
    // Nobody says the last digits of a sum of halves and thirds.
    conversation::result(result)
        .as_f64()
        .map(|exact| if exact.abs() < 1e6 { (exact * 1e9).round() / 1e9 } else { exact }.to_string())
}

fn batteries(result: &Value) -> Option<String> {
    let all = result["batteries"].as_array().filter(|all| !all.is_empty())?;
    let said = all.iter().filter_map(|battery| {
        Some(format!("{} at {} percent", battery["name"].as_str()?, battery["battery"].as_u64()?))
    });
    Some(format!("These batteries: {}", list(&said.collect::<Vec<_>>(), "and")))
}

fn flags(result: &Value) -> Option<String> {
    let flags = result["flags"].as_object()?;
    let said: Vec<_> = flags.iter().map(|(name, value)| format!("{name} is {}", plain(value))).collect();
    Some(if said.is_empty() {
        "No flag is set".into()
    } else {
        format!("Of the flags, {}", list(&said, "and"))
    })
}

fn search(result: &Value) -> Option<String> {
    let first = result["results"].as_array()?.first()?;
    let snippet = first["snippet"].as_str().filter(|text| !text.is_empty()).or(first["title"].as_str())?;
    Some(format!("I found this: {}", snippet.chars().take(LONGEST).collect::<String>()))
}

/// Whether a device is in the expected state. None if it has no such state.
pub(super) fn holds(condition: Condition, state: &Value) -> Option<bool> {
    let (name, wanted) = match condition {
        Condition::On(wanted) => ("on", wanted),
        Condition::Locked(wanted) => ("locked", wanted),
        Condition::Open(wanted) => ("open", wanted),
        Condition::Motion(wanted) => ("motion", wanted),
    };
    state[name].as_bool().map(|is| is == wanted)
}

fn devices(content: &Value, target: &Target, condition: Option<Condition>, is_all: bool) -> Option<String> {
    let known = Known::listed(listed(content)?.0);
    let those: Vec<&Device> = match known.find(target, Ability::Anything) {
        Matched::All(those) | Matched::Ambiguous(those) => those,
        Matched::None => vec![],
    };
    let Some(condition) = condition else {
        let names: Vec<String> = those.iter().map(|device| device.name.clone()).collect();
        let are = if names.len() == 1 { "is" } else { "are" };
        return Some(match names.as_slice() {
            [] => "There are no such devices".into(),
            names => format!("There {are} {}", list(names, "and")),
        });
    };
    let able: Vec<_> =
        those.iter().filter_map(|device| Some((device, holds(condition, &device.state)?))).collect();
    let pick = |wanted: bool| -> Vec<String> {
        able.iter().filter(|(_, is)| *is == wanted).map(|(device, _)| device.name.clone()).collect()
    };
    let (fitting, others) = (pick(true), pick(false));
    let (stand, opposite) = match condition {
        Condition::On(true) => ("on", "off"),
        Condition::On(false) => ("off", "on"),
        Condition::Locked(true) => ("locked", "unlocked"),
        Condition::Locked(false) => ("unlocked", "locked"),
        Condition::Open(true) => ("open", "closed"),
        Condition::Open(false) => ("closed", "open"),
        Condition::Motion(_) => ("seeing motion", "seeing no motion"),
    };
    let are = |names: &[String], state: &str| match names.len() {
        4.. => format!("{} are {state}: {}", names.len(), list(names, "and")),
        _ => are(names, state),
    };
    let is_safe =
        matches!(condition, Condition::On(false) | Condition::Locked(true) | Condition::Open(false));
    Some(match (fitting.as_slice(), others.as_slice()) {
        ([], []) => "There are no such devices".into(),
        ([], _) if target.is_empty() && !is_all => format!("Nothing is {stand}"),
        ([], _) if is_all => format!("No, none of them is {stand}"),
        ([], _) => format!("None of them is {stand}"),
        (those, []) if is_all => format!("Yes, {}", are(those, stand)),
        // Those that are not as they should be are named.
        (_, others) if is_all && is_safe => format!("No, {}", are(others, opposite)),
        (those, _) if is_all => format!("Yes, {}", are(those, stand)),
        (those, _) => are(those, stand),
    })
}

/// The rooms that devices are in.
fn rooms(content: &Value) -> Option<String> {
    let mut rooms: Vec<String> = listed(content)?.0.into_iter().map(|device| device.room).collect();
    rooms.retain(|room| !room.is_empty());
    rooms.sort();
    rooms.dedup();
    Some(format!("I know {} rooms: {}", rooms.len(), list(&rooms, "and")))
}

/// "A is open", "A and B are open".
pub(super) fn are(names: &[String], state: &str) -> String {
    format!("{} {} {state}", list(names, "and"), if names.len() == 1 { "is" } else { "are" })
}

/// Things one after the other, as people say them.
pub(super) fn list(things: &[String], link: &str) -> String {
    match things {
        [] => String::new(),
        [one] => one.clone(),
        [all @ .., last] => format!("{} {link} {last}", all.join(", ")),
    }
}

/// Everything in one or two sentences.
pub(super) fn join(said: &[String]) -> String {
    let bare: Vec<String> = said
        .iter()
        .map(|text| text.trim().trim_end_matches('.').to_owned())
        .filter(|text| !text.is_empty())
        .collect();
    let sentence = |text: &str| {
        let mut letters = text.chars();
        let first: String = letters.next().into_iter().flat_map(char::to_uppercase).collect();
        let end = if text.ends_with(['?', '!']) { "" } else { "." };
        format!("{first}{}{end}", letters.as_str())
    };
    match bare.as_slice() {
        [] => "Done.".into(),
        [one] => sentence(one),
        [one, other] => format!("{} {}", sentence(one), sentence(other)),
        [all @ .., last] => format!("{} {}", sentence(&list(all, "and")), sentence(last)),
    }
}
