//! Devices and scenes as MCP resources: one line of JSON each.

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::device::FULL;
use super::plans::Scene;
use super::run::unique_name;
use super::snapshot::{Climate, Presence, Snapshot, Status};

/// The URI of a device or scene is its id after this.
pub(super) const PREFIX: &str = "home://devices/";

/// The MIME type of a resource.
pub(super) const MIME: &str = "application/json";

/// How many resources a page of the list has: a hub reads it as one line.
pub(super) const PAGE: usize = 16;

/// The id of a scene among the devices.
pub(super) fn scene_id(scene: &Scene) -> String {
    let lower = scene.name.to_lowercase();
    let words = lower.split(|letter: char| !letter.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    format!("scene-{}", words.collect::<Vec<_>>().join("-"))
}

/// A scene as JSON.
pub(super) fn scene(scene: &Scene) -> String {
    let activate = json!({ "tool": "activate_scene", "arguments": { "sceneName": scene.name } });
    text(&[
        ("id", scene_id(scene).into()),
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

/// A device as JSON; `devices` are all there are, for names that two of them share.
pub(super) fn device(device: &Snapshot, devices: &[Snapshot]) -> String {
    let Snapshot { id, name, room, battery, presence, changed, .. } = device;
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
    put("state", device.state().into());
    let units = device.units();
    if !units.is_empty() {
        put("units", units.into());
    }
    if let Some(percent) = battery {
        put("battery", (*percent).into());
    }
    if let Some(time) = changed.and_then(|seconds| Timestamp::from_second(seconds).ok()) {
        put("changed", time.to_string().into());
    }
    let actions = actions(device, &unique_name(device, devices));
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
        Status::Cover { .. } => "cover",
        Status::Siren(_) => "siren",
        Status::Sensor => "sensor",
        Status::Binary { .. } => "binary_sensor",
        Status::Unknown => "unknown",
    }
}

/// What can be done with a device, and by which call.
fn actions(device: &Snapshot, name: &str) -> Map<String, Value> {
    let control =
        |action: &str| call("control_zwave_device", json!({ "deviceName": name, "action": action }));
    let level = || {
        let value = json!({ "argument": "level", "type": "integer", "minimum": 0, "maximum": FULL });
        with(control("set_level"), value)
    };
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
            put("level", level());
            if *has_color {
                put("color", with(control("set_color"), json!({ "argument": "color", "type": "string" })));
            }
        }
        Status::Lock { .. } => {
            for action in ["lock", "unlock"] {
                put(action, call("lock_door", json!({ "deviceName": name, "action": action })));
            }
        }
        Status::Climate(Climate { modes, setpoint, bounds, .. }) => {
            let set = || call("set_thermostat", json!({ "deviceName": name }));
            if !modes.is_empty() {
                let words: Vec<_> = modes.iter().map(|mode| mode.word()).collect();
                put("mode", with(set(), json!({ "argument": "mode", "type": "string", "enum": words })));
            }
            if setpoint.is_some() {
                let (least, most) = *bounds;
                let value =
                    json!({ "argument": "setpoint", "type": "number", "minimum": least, "maximum": most });
                put("setpoint", with(set(), value));
            }
        }
        Status::Cover { .. } => {
            for action in ["open", "close", "stop"] {
                put(action, control(action));
            }
            put("position", level());
        }
        Status::Sensor | Status::Binary { .. } | Status::Unknown => {}
    }
    actions
}

fn call(tool: &str, arguments: Value) -> Value {
    json!({ "tool": tool, "arguments": arguments })
}

fn with(mut call: Value, value: Value) -> Value {
    call["value"] = value;
    call
}
