//! What Home Assistant has to show.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::house::HUB;
use crate::instance::HomeAssistant;

/// The entities of the hub itself, in any state but unavailable.
pub(crate) const HUB_ENTITIES: [&str; 18] = [
    "ask",
    "last_answer",
    "answer",
    "announce",
    "volume",
    "approval",
    "pending",
    "allow",
    "deny",
    "controller",
    "relay",
    "restart",
    "uptime",
    "boot",
    "round_trip",
    "calls",
    "failures",
    "slowest",
];

/// Those of a new home, and how they stand. What has not happened yet is unknown.
const HOME_ENTITIES: [(&str, &str); 35] = [
    ("2-0", "off"),
    ("3-0", "off"),
    ("4-0", "on"),
    ("5-0", "heat"),
    ("5-0_temperature", "20"),
    ("6-0", "off"),
    ("6-0_battery", "88"),
    ("7-0", "off"),
    ("8-0", "off"),
    ("9-0_temperature", "21.4"),
    ("9-0_battery", "64"),
    ("10-0", "on"),
    ("11-0", "off"),
    ("11-0_battery", "47"),
    ("12-0", "locked"),
    ("12-0_battery", "72"),
    ("13-0", "off"),
    ("13-0_battery", "95"),
    ("14-0", "off"),
    ("15-0_temperature", "18.9"),
    ("15-0_battery", "12"),
    ("16-0", "off"),
    ("17-0", "on"),
    ("17-0_battery", "33"),
    // It has no power.
    ("18-0", "unavailable"),
    ("19-0", "open"),
    ("20-0", "off"),
    ("22-0", "*"),
    ("22-0_battery", "81"),
    ("group-lamps", "*"),
    ("group-awnings", "*"),
    ("scene-good-morning", "*"),
    ("scene-movie-night", "*"),
    ("scene-good-night", "*"),
    ("scene-away", "*"),
];

/// Waits until every entity is there, in its state, and no other; `changed` are those that stand in another way by now.
pub(crate) fn all_is_there(assistant: &mut HomeAssistant, changed: &[(&str, &str)]) {
    // A `*` is any state but unavailable.
    let mut expected: BTreeMap<&str, &str> = HUB_ENTITIES.iter().map(|id| (*id, "*")).collect();
    expected.extend(HOME_ENTITIES.iter().chain(changed).copied());
    let (entities, total) = (expected.len(), HUB_ENTITIES.len() + HOME_ENTITIES.len());
    assert_eq!(entities, total, "an entity is named twice, or changed and not there");
    assistant.waits("all entities", |assistant| {
        let mut missing = expected.clone();
        let mut wrong = Vec::new();
        let prefix = format!("hearthwave_{HUB}_");
        for (unique, state) in assistant.states() {
            let state = state["state"].as_str().unwrap_or("no state").to_owned();
            let own = unique.strip_prefix(&prefix).unwrap_or(&unique);
            match missing.remove(own) {
                Some("*") if state != "unavailable" && state != "no state" => {}
                Some(expected) if expected == state => {}
                Some(expected) => wrong.push(format!("{own} is {state} instead of {expected}")),
                None => wrong.push(format!("{own}, which nobody expects, is {state}")),
            }
        }
        wrong.extend(missing.keys().map(|own| format!("{own} is missing")));
        if wrong.is_empty() { Ok(()) } else { Err(wrong.join(", ")) }
    });
}

/// Waits until everything is unavailable.
pub(crate) fn all_is_unavailable(assistant: &mut HomeAssistant) {
    assistant.waits("all to be unavailable", |assistant| {
        let is_there = |(_, state): &(String, Value)| state["state"] != "unavailable";
        let there: Vec<_> = assistant.states().into_iter().filter(is_there).map(|(id, _)| id).collect();
        if there.is_empty() { Ok(()) } else { Err(format!("still there: {there:?}")) }
    });
}

/// Whether only these are left.
pub(crate) fn none_is_left(assistant: &mut HomeAssistant, but: &[&str]) -> Result<(), String> {
    let is_other = |unique: &String| but.iter().all(|own| *unique != format!("hearthwave_{HUB}_{own}"));
    let others: Vec<_> = assistant.states().into_iter().map(|(unique, _)| unique).filter(is_other).collect();
    if others.is_empty() { Ok(()) } else { Err(others.join(", ")) }
}
