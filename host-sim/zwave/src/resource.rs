//! Devices, groups and scenes as MCP resources: one line of JSON each.

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::address::{declared, declared_group, find};
use super::device::{Command, FULL};
use super::plans::{Group, Plans, Scene};
use super::snapshot::{Climate, LastCommand, Presence, Snapshot, Status};

/// The URI of a device, group or scene is its id after this.
pub(super) use hub_contract::DEVICE_URI as PREFIX;

/// The MIME type of a resource.
pub(super) const MIME: &str = "application/json";

/// How many resources a page of the list has: a hub reads it as one line.
pub(super) const PAGE: usize = 16;

/// How long a resource may be: a hub reads it as a part of a line.
const LENGTH: usize = 1024;

/// The kind of a group, with which its id begins.
pub(super) const GROUP: &str = "group";

/// The ids of groups among the devices, in their order.
pub(super) fn group_ids(groups: &[Group]) -> Vec<String> {
    ids(GROUP, groups.iter().map(|group| group.name.as_str()))
}

/// The ids of scenes among the devices, in their order.
pub(super) fn scene_ids(scenes: &[Scene]) -> Vec<String> {
    ids("scene", scenes.iter().map(|scene| scene.name.as_str()))
}

/// How many bytes an id may have: a hub cannot keep a longer one.
const ID: usize = 32;

/// Ids from the words of names, cut to [`ID`] bytes. Names that would have the same id are numbered.
fn ids<'a>(kind: &str, names: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut ids: Vec<String> = Vec::new();
    for name in names {
        let lower = name.to_lowercase();
        let words =
            lower.split(|letter: char| !letter.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
        let id = format!("{kind}-{}", words.collect::<Vec<_>>().join("-"));
        let cut = |end: &str| format!("{}{end}", &id[..id.len().min(ID - end.len())]);
        let numbered = (2..).map(|number| cut(&format!("-{number}")));
        let free = std::iter::once(cut("")).chain(numbered).find(|id| !ids.contains(id));
        ids.extend(free);
    }
    ids
}

/// A group as JSON, with the devices that it has now; `devices` and `plans` are all there are.
pub(super) fn group(group: &Group, id: &str, devices: &[Snapshot], plans: &Plans) -> String {
    let members: Vec<_> = group.devices.iter().filter_map(|name| find(name, devices, plans).ok()).collect();
    let actions = group_actions(&members, &declared_group(group, id, devices, plans));
    let mut ids: Vec<&str> = members.iter().map(|device| device.id.as_str()).collect();
    loop {
        let mut about = vec![
            ("id", id.into()),
            ("name", group.name.as_str().into()),
            ("kind", GROUP.into()),
            ("available", true.into()),
            ("state", json!({})),
            ("members", json!(ids)),
        ];
        if !actions.is_empty() {
            about.push(("actions", actions.clone().into()));
        }
        let text = text(&about);
        if text.len() < LENGTH || ids.pop().is_none() {
            return text;
        }
    }
}

/// What can be done with all of these at once: what any of them can do, unless it is refused for another. Covers move only
/// among themselves. Of a group whose devices are not there yet, it is not known what it cannot do.
fn group_actions(members: &[&Snapshot], name: &str) -> Map<String, Value> {
    let is_any = |is_so: &dyn Fn(&Status) -> bool| members.iter().any(|device| is_so(&device.status));
    let is_offered = |command: Command| {
        let is_taken = members.is_empty() || is_any(&|status| status.takes(command).is_ok());
        is_taken && !is_any(&|status| status.guarded_effect(command).is_some())
    };
    let are_covers = !members.is_empty() && !is_any(&|status| !matches!(status, Status::Cover { .. }));
    let offered = if are_covers {
        [("open", Command::Open(true)), ("close", Command::Open(false))]
    } else {
        [("on", Command::Power(true)), ("off", Command::Power(false))]
    };
    let offered = offered.into_iter().filter(|(_, command)| is_offered(*command));
    let mut actions: Map<_, _> =
        offered.map(|(action, _)| (action.to_owned(), control(name, action))).collect();
    if is_any(&|status| matches!(status, Status::Light { .. })) {
        actions.insert("level".into(), level(name));
    }
    actions
}

/// A scene as JSON.
pub(super) fn scene(scene: &Scene, id: &str) -> String {
    let activate = json!({ "tool": "activate_scene", "arguments": { "sceneName": scene.name } });
    text(&[
        ("id", id.into()),
        ("name", scene.name.as_str().into()),
        ("kind", "scene".into()),
        ("available", true.into()),
        ("state", json!({})),
        ("actions", json!({ "activate": activate })),
    ])
}

/// An object with its members in this order, which `serde_json` does not keep: who reads it as it comes knows first which
/// device it is.
fn text(members: &[(&str, Value)]) -> String {
    let members: Vec<_> = members.iter().map(|(key, value)| format!("\"{key}\":{value}")).collect();
    format!("{{{}}}", members.join(","))
}

/// A device as JSON; `devices` and `plans` are all there are, for names that two of them share.
pub(super) fn device(device: &Snapshot, devices: &[Snapshot], plans: &Plans) -> String {
    let Snapshot { id, name, room, battery, presence, changed, buttons, .. } = device;
    let mut about = Vec::new();
    let mut put = |key: &'static str, value: Value| about.push((key, value));
    put("id", id.as_str().into());
    put("name", name.as_str().into());
    if !room.is_empty() {
        put("room", room.as_str().into());
    }
    put("kind", kind(&device.status).into());
    put("available", matches!(presence, Presence::Awake | Presence::Asleep).into());
    if *presence == Presence::Asleep {
        put("asleep", true.into());
    }
    match device.last_command {
        LastCommand::Settled => {}
        LastCommand::Unconfirmed => put("unconfirmed", true.into()),
        LastCommand::Pending => put("pending", true.into()),
        LastCommand::Lost => put("lost", true.into()),
    }
    put("state", device.state().into());
    let units = device.units();
    if !units.is_empty() {
        put("units", units.into());
    }
    if let Some(count) = buttons.and_then(|buttons| buttons.count) {
        put("buttons", count.into());
    }
    if let Some(percent) = battery {
        put("battery", (*percent).into());
    }
    if let Some(time) = changed.and_then(|seconds| Timestamp::from_second(seconds).ok()) {
        put("changed", time.to_string().into());
    }
    let actions = actions(device, &declared(device, devices, plans));
    if !actions.is_empty() {
        put("actions", actions.into());
    }
    text(&about)
}

/// The kind of a device in resources.
const fn kind(status: &Status) -> &'static str {
    match status {
        Status::Switch(_) => "switch",
        Status::Light { .. } => "light",
        Status::Lock { .. } => "lock",
        Status::Climate(_) => "climate",
        Status::Cover { .. } | Status::Garage(_) => "cover",
        Status::Siren(_) => "siren",
        Status::Sensor => "sensor",
        Status::Binary { .. } => "binary_sensor",
        Status::Button => "button",
        Status::Unknown => "unknown",
    }
}

/// What can be done with a device, and by which call.
fn actions(device: &Snapshot, name: &str) -> Map<String, Value> {
    let control = |action: &str| control(name, action);
    let mut actions = Map::new();
    let mut put = |key: &str, value: Value| {
        actions.insert(key.into(), value);
    };
    match &device.status {
        Status::Switch(_) | Status::Siren(_) => {
            put("on", control("on"));
            put("off", control("off"));
        }
        Status::Light { has_color, .. } => {
            put("on", control("on"));
            put("off", control("off"));
            put("level", level(name));
            if *has_color {
                put("color", with(control("set_color"), json!({ "argument": "color", "type": "string" })));
            }
        }
        Status::Lock { .. } => {
            for action in ["lock", "unlock"] {
                put(action, call("lock_door", json!({ "deviceName": name, "action": action })));
            }
        }
        Status::Climate(Climate { modes, bounds, .. }) => {
            let set = || call("set_thermostat", json!({ "deviceName": name }));
            if !modes.is_empty() {
                let words: Vec<_> = modes.iter().map(|mode| mode.word()).collect();
                put("mode", with(set(), json!({ "argument": "mode", "type": "string", "enum": words })));
            }
            let (least, most) = *bounds;
            if least < most {
                let value =
                    json!({ "argument": "setpoint", "type": "number", "minimum": least, "maximum": most });
                put("setpoint", with(set(), value));
            }
        }
        Status::Cover { .. } => {
            for action in ["open", "close", "stop"] {
                put(action, control(action));
            }
            put("position", level(name));
        }
        Status::Garage(_) => {
            for action in ["open", "close"] {
                put(action, control(action));
            }
        }
        Status::Sensor | Status::Binary { .. } | Status::Button | Status::Unknown => {}
    }
    actions
}

fn control(name: &str, action: &str) -> Value {
    call("control_zwave_device", json!({ "deviceName": name, "action": action }))
}

fn level(name: &str) -> Value {
    let value = json!({ "argument": "level", "type": "integer", "minimum": 0, "maximum": FULL });
    with(control(name, "set_level"), value)
}

fn call(tool: &str, arguments: Value) -> Value {
    json!({ "tool": tool, "arguments": arguments })
}

fn with(mut call: Value, value: Value) -> Value {
    call["value"] = value;
    call
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{ID, ids};

    #[test]
    fn ids_fit_into_a_hub_and_are_unique() {
        // What a hub keeps of it.
        assert_eq!(ID, 32);
        let long = "Good Night With All The Lights Off";
        let names = ["Good Night", "good night!", long, "Good Night With All The Lights On", "🌙", "☀"];
        let expected = [
            "scene-good-night",
            "scene-good-night-2",
            "scene-good-night-with-all-the-li",
            "scene-good-night-with-all-the--2",
            "scene-",
            "scene--2",
        ];
        assert_eq!(ids("scene", names.into_iter()), expected);
        let names: Vec<_> = (0..64).map(|number| format!("{}{number}", "x".repeat(40))).collect();
        let ids = ids("group", names.iter().map(String::as_str));
        assert!(ids.iter().all(|id| id.len() <= ID), "{ids:?}");
        assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), 64);
    }
}
