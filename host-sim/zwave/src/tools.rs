//! The definitions of the controller's tools.

use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde_json::{Value, json};

use super::controller::Bounds;
use super::device::{FULL, Mode};
use super::snapshot::KINDS;

/// What `control_zwave_device` does.
const ACTIONS: [&str; 8] = ["on", "off", "toggle", "set_level", "open", "close", "stop", "set_color"];

/// All of them, for a controller with these bounds.
pub(super) fn all(bounds: Bounds) -> Vec<Tool> {
    let device =
        json!({ "type": "string", "minLength": 1, "description": "Name of the device, in any case" });
    vec![
        tool(
            "control_zwave_device",
            "Switches a switch, light or siren on or off, sets a light's level or colour, or moves a cover or garage door.",
            json!({
                "deviceName": {
                    "type": "string", "minLength": 1,
                    "description": "Name of the device or of a group of devices, in any case; exactly its name to open a garage door or sound a siren",
                },
                "action": {
                    "type": "string", "enum": ACTIONS,
                    "description": "What to do; set_level needs a level, set_color a color",
                },
                "level": {
                    "type": "integer", "minimum": 0, "maximum": FULL,
                    "description": "Level of a light or cover: 0 is off or closed, 99 is full or open",
                },
                "color": {
                    "type": "string", "minLength": 6, "description": "Red, green, blue, like ff8800",
                },
            }),
            &["deviceName", "action"],
            ToolAnnotations::new().read_only(false).destructive(false),
        ),
        tool(
            "list_devices",
            "Lists the devices of the home and how they stand.",
            json!({
                "room": { "type": "string", "minLength": 1, "description": "Only the devices in this room" },
                "kind": { "type": "string", "enum": KINDS, "description": "Only devices of this kind" },
            }),
            &[],
            reads(),
        ),
        tool(
            "get_device_status",
            "Tells how one device stands.",
            json!({ "deviceName": device }),
            &["deviceName"],
            reads(),
        ),
        tool(
            "set_thermostat",
            "Sets a thermostat's mode, its setpoint, or both.",
            json!({
                "deviceName": {
                    "type": "string", "minLength": 1,
                    "description": "Name of the thermostat; not needed if there is only one",
                },
                "mode": {
                    "type": "string", "enum": Mode::ALL.map(Mode::word), "description": "What it is to do",
                },
                "setpoint": {
                    "type": "number", "minimum": bounds.setpoint.0, "maximum": bounds.setpoint.1,
                    "description": format!("{} to aim at", bounds.unit),
                },
            }),
            &[],
            ToolAnnotations::new().read_only(false).destructive(false).idempotent(true),
        ),
        tool(
            "lock_door",
            "Locks or unlocks a door. Unlocking lets anybody in.",
            json!({
                "deviceName": {
                    "type": "string", "minLength": 1,
                    "description": "Name of the lock; not needed to lock the only one, and exactly its name to unlock it",
                },
                "action": { "type": "string", "enum": ["lock", "unlock"], "description": "What to do" },
            }),
            &["action"],
            ToolAnnotations::new().read_only(false).destructive(true).idempotent(true),
        ),
        tool("list_scenes", "Lists the scenes and what each does.", json!({}), &[], reads()),
        tool(
            "activate_scene",
            "Runs all the commands of a scene.",
            json!({
                "sceneName": { "type": "string", "minLength": 1, "description": "Name of the scene, in any case" },
            }),
            &["sceneName"],
            ToolAnnotations::new().read_only(false).destructive(false).idempotent(true),
        ),
        tool(
            "get_battery_levels",
            "Tells how full the batteries are, the emptiest first.",
            json!({
                "below": {
                    "type": "integer", "minimum": 1, "maximum": 100,
                    "description": "Only batteries with less than this many percent",
                },
            }),
            &[],
            reads(),
        ),
        tool(
            "ping_node",
            "Asks a node of the Z-Wave network for a sign of life.",
            json!({
                "nodeId": {
                    "type": "integer", "minimum": 1, "maximum": bounds.last_node,
                    "description": "Number of the node; list_devices tells it",
                },
            }),
            &["nodeId"],
            reads(),
        ),
    ]
}

fn reads() -> ToolAnnotations {
    ToolAnnotations::new().read_only(true)
}

fn tool(
    name: &'static str,
    description: &'static str,
    properties: Value,
    required: &[&str],
    annotations: ToolAnnotations,
) -> Tool {
    let mut schema = JsonObject::new();
    schema.insert("type".into(), "object".into());
    schema.insert("properties".into(), properties);
    schema.insert("required".into(), required.into());
    schema.insert("additionalProperties".into(), false.into());
    // All of them stay inside this home.
    Tool::new(name, description, schema).annotate(annotations.open_world(false))
}

#[cfg(test)]
mod tests {
    use super::Tool;
    use crate::controller::Bounds;

    fn all() -> Vec<Tool> {
        super::all(Bounds { setpoint: (5.0, 30.0), unit: "Degrees Celsius", last_node: 4000 })
    }

    #[test]
    fn every_parameter_is_described_and_in_camel_case() {
        for tool in all() {
            let properties = tool.input_schema["properties"].as_object().expect("properties");
            for (name, property) in properties {
                assert!(property["description"].as_str().is_some_and(|text| !text.is_empty()), "{name}");
                assert!(property["type"].is_string(), "{name}");
                assert!(name.chars().all(|c| c.is_ascii_alphanumeric()), "{name}");
            }
            let hints = tool.annotations.expect("hints");
            let reads = ["list", "get", "ping"].iter().any(|verb| tool.name.starts_with(verb));
            assert_eq!(hints.read_only_hint, Some(reads), "{}", tool.name);
            let is_dangerous = hints.destructive_hint == Some(true);
            assert_eq!(is_dangerous, tool.name == "lock_door", "{}", tool.name);
        }
    }

    #[test]
    fn the_list_fits_well_into_a_line() {
        let line = serde_json::to_string(&all()).expect("JSON");
        assert!(line.len() < 6 * 1024, "{} bytes", line.len());
    }
}
