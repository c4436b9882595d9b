//! Reports about the home, in a few sentences.

use serde_json::Value;

use super::conversation::ToolResult;
use super::devices::{Device, Known, listed};
use super::speech::{are, list, words};

/// So many devices are described one by one.
const FEW: usize = 4;

/// Sums up the home, or the part of it that is named.
pub(super) fn status(about: &[String], clock: Option<&str>, results: &[&ToolResult]) -> Vec<String> {
    let Some((devices, is_all)) = results.iter().find_map(|result| listed(&result.content)) else {
        return results
            .iter()
            .map(|result| format!("Sorry, I cannot see the devices: {}", words(&result.content)))
            .collect();
    };
    let known = Known::listed(devices);
    let (named, unknown) = known.named(about);
    let mut said = Vec::new();
    said.extend(clock.map(|clock| format!("It is {clock}")));
    said.extend((!unknown.is_empty()).then(|| format!("I know no '{}'", unknown.join(" "))));
    if about.is_empty() {
        said.push(summary(&known.devices.iter().collect::<Vec<_>>()));
    } else if named.len() <= FEW {
        said.extend(named.iter().map(|device| describe(device)));
    } else {
        said.push(summary(&named));
    }
    said.extend((!is_all).then(|| "I could not see all devices".to_owned()));
    vec![sentences(&said)]
}

/// What is worth knowing: what is on, open, unlocked or silent, and how warm it is.
fn summary(devices: &[&Device]) -> String {
    let mut said = vec![those(devices, |device| device.state["on"] == true, "on", "Nothing is on")];
    let is_there = |name: &str| devices.iter().any(|device| !device.state[name].is_null());
    if is_there("open") {
        said.push(those(devices, |device| device.state["open"] == true, "open", "Nothing is open"));
    }
    if is_there("locked") {
        let unlocked = those(devices, |device| device.state["locked"] == false, "unlocked", "");
        let locked = those(devices, |device| device.state["locked"] == true, "locked", "");
        said.push(if unlocked.is_empty() { locked } else { unlocked });
    }
    let warm = devices
        .iter()
        .filter_map(|device| Some(format!("{} {}", device.room, device.state["temperature"].as_f64()?)));
    let warm: Vec<_> = warm.collect();
    said.extend((!warm.is_empty()).then(|| format!("In degrees: {}", list(&warm, "and"))));
    let dead = those(devices, |device| device.is_dead, "not answering", "");
    said.extend((!dead.is_empty()).then_some(dead));
    sentences(&said)
}

/// Sums up the night: lists come first, then what was switched off.
pub(super) fn night(except: &[String], results: &[&ToolResult]) -> Vec<String> {
    let lists = results.iter().filter_map(|result| listed(&result.content));
    let known = Known::listed(lists.flat_map(|(devices, _)| devices).collect());
    if known.devices.is_empty() {
        return results
            .iter()
            .take(1)
            .map(|result| format!("Sorry, I cannot see the lights: {}", words(&result.content)))
            .collect();
    }
    let (mut off, mut failed) = (Vec::new(), Vec::new());
    for result in results.iter().filter(|result| listed(&result.content).is_none()) {
        let text = words(&result.content);
        match text.split_once(" is now off") {
            Some((name, _)) => off.push(name.to_owned()),
            None => failed.push(text),
        }
    }
    let (stay, unknown) = known.named(except);
    let mut said = vec![match off.as_slice() {
        [] if failed.is_empty() => "Good night! No light was left to switch off".to_owned(),
        [] => "Good night!".into(),
        off => format!("Good night! I switched off {}", list(off, "and")),
    }];
    let stay: Vec<_> =
        stay.iter().filter(|device| device.state["on"] == true).map(|device| device.name.clone()).collect();
    said.extend((!stay.is_empty()).then(|| format!("{} stays on, as you wish", list(&stay, "and"))));
    said.extend(
        (!unknown.is_empty()).then(|| format!("I know no '{}' that could stay on", unknown.join(" "))),
    );
    said.extend(failed.iter().map(|why| format!("Sorry, that did not work: {why}")));
    let all: Vec<_> = known.devices.iter().collect();
    let runs =
        |device: &Device| device.state["on"] == true && !device.is_light() && !stay.contains(&device.name);
    let open = |device: &Device| device.state["open"] == true || device.state["locked"] == false;
    let open = those(&all, open, "open or unlocked", "");
    let running = those(&all, runs, "still running", "");
    match (open.is_empty(), running.is_empty()) {
        (true, true) => said.push("Nothing is open or running".into()),
        _ => said.extend([open, running].into_iter().filter(|text| !text.is_empty())),
    }
    vec![sentences(&said)]
}

/// Which devices are in a state; `if_none` if none is.
fn those(devices: &[&Device], is_so: impl Fn(&Device) -> bool, state: &str, if_none: &str) -> String {
    let names: Vec<_> =
        devices.iter().filter(|device| is_so(device)).map(|device| device.name.clone()).collect();
    if names.is_empty() { if_none.into() } else { are(&names, state) }
}

/// The state of one device, in words.
pub(super) fn describe(device: &Device) -> String {
    let Device { name, state, .. } = device;
    let choose = |member: &str, yes: &str, no: &str| {
        state[member].as_bool().map(|is| if is { yes } else { no }.to_owned())
    };
    let stand = match state["level"].as_u64() {
        Some(level @ 1..) => Some(format!("on at level {level}")),
        _ => choose("on", "on", "off"),
    };
    let stand = stand
        .or_else(|| choose("locked", "locked", "unlocked"))
        .or_else(|| choose("open", "open", "closed"))
        .or_else(|| choose("motion", "seeing motion", "seeing no motion"))
        .or_else(|| {
            let warm = format!("at {} degrees", state["temperature"].as_f64()?);
            Some(match (state["mode"].as_str(), state["setpoint"].as_f64()) {
                (Some("off"), _) => format!("off, {warm}"),
                (Some(mode), Some(setpoint)) => format!("in mode {mode}, set to {setpoint} degrees, {warm}"),
                _ => warm,
            })
        });
    match stand {
        _ if device.is_dead => format!("{name} does not answer"),
        Some(stand) => format!("{name} is {stand}"),
        None if *state == Value::Null => format!("I do not know how {name} stands"),
        None => format!("{name} is {state}"),
    }
}

/// One after the other, each with its full stop but the last.
fn sentences(said: &[String]) -> String {
    said.iter()
        .filter(|text| !text.is_empty())
        .map(|text| text.trim_end_matches('.').to_owned())
        .collect::<Vec<_>>()
        .join(". ")
        .replace("!.", "!")
}
