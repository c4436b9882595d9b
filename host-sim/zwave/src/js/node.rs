//! A node of a real network, as a Z-Wave JS server tells of it.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::super::device::NodeId;
use super::super::press::{Buttons, Press};

/// Command classes, by their numbers in the Z-Wave specification.
pub(super) mod class {
    pub(in super::super) const BINARY_SWITCH: u16 = 37;
    pub(in super::super) const MULTILEVEL_SWITCH: u16 = 38;
    pub(in super::super) const BINARY_SENSOR: u16 = 48;
    pub(in super::super) const MULTILEVEL_SENSOR: u16 = 49;
    pub(in super::super) const METER: u16 = 50;
    pub(in super::super) const COLOR_SWITCH: u16 = 51;
    pub(in super::super) const THERMOSTAT_MODE: u16 = 64;
    pub(in super::super) const THERMOSTAT_SETPOINT: u16 = 67;
    pub(in super::super) const CENTRAL_SCENE: u16 = 91;
    pub(in super::super) const DOOR_LOCK: u16 = 98;
    pub(in super::super) const BARRIER_OPERATOR: u16 = 102;
    pub(in super::super) const WINDOW_COVERING: u16 = 106;
    pub(in super::super) const NOTIFICATION: u16 = 113;
    pub(in super::super) const NAMING: u16 = 119;
    pub(in super::super) const SOUND_SWITCH: u16 = 121;
    pub(in super::super) const BATTERY: u16 = 128;

    /// Those that devices are made of; the rest, which is most of what a server tells, is not kept.
    pub(super) const KEPT: [u16; 15] = [
        BINARY_SWITCH,
        MULTILEVEL_SWITCH,
        BINARY_SENSOR,
        MULTILEVEL_SENSOR,
        METER,
        COLOR_SWITCH,
        THERMOSTAT_MODE,
        THERMOSTAT_SETPOINT,
        CENTRAL_SCENE,
        DOOR_LOCK,
        BARRIER_OPERATOR,
        WINDOW_COVERING,
        NOTIFICATION,
        SOUND_SWITCH,
        BATTERY,
    ];
}

/// Longest text that is kept of a name or a value.
const TEXT: usize = 64;

/// Most values that are kept of a node.
const VALUES: usize = 512;

/// Most endpoints of a node, and the highest.
const ENDPOINTS: u16 = 127;

/// Whether a node can be reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NodeStatus {
    Asleep,
    Dead,
    /// Awake, alive, or not known yet.
    Awake,
}

/// Which value of a node.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    pub(super) class: u16,
    pub(super) endpoint: u16,
    pub(super) property: String,
    /// Empty if there is none.
    pub(super) property_key: String,
}

/// A value, and what it can be.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Entry {
    /// A number, a boolean or a short text; null if it is not known.
    pub(super) value: Value,
    pub(super) min: Option<f64>,
    pub(super) max: Option<f64>,
    pub(super) unit: String,
    /// What the numbers mean.
    pub(super) states: BTreeMap<i64, String>,
}

/// A node.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Node {
    pub(super) id: NodeId,
    pub(super) status: NodeStatus,
    /// Whether the server has interviewed the node, now or in an earlier run, and reports its values. A server that
    /// starts reports no values of a node before it has reached it.
    pub(super) is_interviewed: bool,
    /// Whether the server has given up asking.
    pub(super) has_failed_interview: bool,
    pub(super) is_controller: bool,
    pub(super) name: String,
    pub(super) location: String,
    /// The name of the product.
    pub(super) label: String,
    /// Whether the product's own description is for windows only. A sensor for doors or windows fits either.
    pub(super) is_for_windows: bool,
    /// Generic and specific device class.
    pub(super) device_class: (u64, u64),
    /// The endpoints that the server tells of. Until the node has been interviewed, some may be missing.
    pub(super) endpoints: BTreeSet<u16>,
    /// What the maker calls the endpoints.
    pub(super) endpoint_labels: BTreeMap<u16, String>,
    pub(super) values: BTreeMap<Key, Entry>,
    /// What was pressed on each endpoint. A server tells it once, and never again.
    pub(super) pressed: BTreeMap<u16, Buttons>,
}

impl Node {
    /// Reads a node's state. None if it is not one.
    pub(super) fn parse(state: &Value) -> Option<Self> {
        let id = NodeId::try_from(state["nodeId"].as_u64()?).ok()?;
        let label = [&state["label"], &state["deviceConfig"]["label"]];
        let product = label.into_iter().chain([&state["deviceConfig"]["description"]]);
        let words = product.map(|words| text(words).to_lowercase()).collect::<Vec<_>>().join(" ");
        let class = |level: &str| state["deviceClass"][level]["key"].as_u64().unwrap_or_default();
        let endpoints = state["endpoints"].as_array().map_or(&[][..], Vec::as_slice);
        let endpoints = endpoints.iter().take(ENDPOINTS.into()).filter_map(|endpoint| {
            let index = u16::try_from(endpoint["index"].as_u64()?).ok()?;
            (index <= ENDPOINTS).then(|| (index, text(&endpoint["endpointLabel"])))
        });
        let mut labels: BTreeMap<u16, String> = endpoints.collect();
        let endpoints = labels.keys().copied().collect();
        labels.retain(|_, label| !label.is_empty());
        let mut node = Self {
            id,
            status: status(state["status"].as_u64()),
            is_interviewed: state["ready"] == true,
            has_failed_interview: false,
            is_controller: state["isControllerNode"] == true,
            name: text(&state["name"]),
            location: text(&state["location"]),
            label: label.map(text).into_iter().find(|label| !label.is_empty()).unwrap_or_default(),
            is_for_windows: words.contains("window") && !words.contains("door"),
            device_class: (class("generic"), class("specific")),
            endpoints,
            endpoint_labels: labels,
            values: BTreeMap::new(),
            pressed: BTreeMap::new(),
        };
        for value in state["values"].as_array().map_or(&[][..], Vec::as_slice) {
            if let Some(key) = Key::parse(value) {
                node.describe(key.clone(), &value["metadata"]);
                node.set(key, &value["value"]);
            }
        }
        node.is_interviewed |= state["interviewStage"] == "Complete" && !node.values.is_empty();
        Some(node)
    }

    /// With what was pressed on it before its state was told anew.
    pub(super) fn after(self, former: Option<&Self>) -> Self {
        Self { pressed: former.map(|former| former.pressed.clone()).unwrap_or_default(), ..self }
    }

    /// Something happened to it, other than that its state is told anew.
    pub(super) fn apply(&mut self, event: &Value) {
        let arguments = &event["args"];
        match event["event"].as_str().unwrap_or_default() {
            "value added" | "value updated" if arguments["commandClass"] == class::NAMING => {
                match arguments["property"].as_str() {
                    Some("name") => self.name = text(&arguments["newValue"]),
                    Some("location") => self.location = text(&arguments["newValue"]),
                    _ => {}
                }
            }
            "value added" | "value updated" => {
                if let Some(key) = Key::parse(arguments) {
                    self.set(key, &arguments["newValue"]);
                }
            }
            "value removed" => {
                if let Some(key) = Key::parse(arguments) {
                    self.values.remove(&key);
                }
            }
            "metadata updated" => {
                if let Some(key) = Key::parse(arguments) {
                    self.describe(key, &arguments["metadata"]);
                }
            }
            "value notification" => self.notify(arguments),
            "interview started" => {
                self.is_interviewed = false;
                self.has_failed_interview = false;
            }
            "interview completed" => self.is_interviewed = true,
            "interview failed" => self.has_failed_interview = true,
            "sleep" => self.status = NodeStatus::Asleep,
            "dead" => self.status = NodeStatus::Dead,
            "wake up" | "alive" => self.status = NodeStatus::Awake,
            _ => {}
        }
    }

    /// Somebody pressed a button: its scene is told, and is no value that lasts.
    fn notify(&mut self, told: &Value) {
        let Some(key) = Key::parse(told).filter(Key::is_scene) else { return };
        let button = key.property_key.parse().ok();
        let press = told["value"].as_u64().and_then(Press::of_attribute);
        if let (Some(button), Some(press)) = (button, press) {
            let buttons = self.pressed.entry(key.endpoint).or_default();
            *buttons = buttons.pressed(button, press);
        }
    }

    /// Whether nothing more is learned about it soon: it was asked for everything, or cannot be asked now.
    pub(super) fn is_settled(&self) -> bool {
        self.is_interviewed || self.has_failed_interview || self.status != NodeStatus::Awake
    }

    fn entry(&mut self, key: Key) -> Option<&mut Entry> {
        let has_room = self.values.len() < VALUES || self.values.contains_key(&key);
        has_room.then(|| self.values.entry(key).or_default())
    }

    fn set(&mut self, key: Key, value: &Value) {
        if let Some(entry) = self.entry(key) {
            entry.value = match value {
                Value::Number(_) | Value::Bool(_) => value.clone(),
                Value::String(_) => text(value).into(),
                Value::Null | Value::Array(_) | Value::Object(_) => Value::Null,
            };
        }
    }

    fn describe(&mut self, key: Key, metadata: &Value) {
        let Some(entry) = self.entry(key) else { return };
        entry.min = metadata["min"].as_f64();
        entry.max = metadata["max"].as_f64();
        entry.unit = text(&metadata["unit"]);
        let states = metadata["states"].as_object().into_iter().flatten().take(TEXT);
        entry.states =
            states.filter_map(|(number, words)| Some((number.parse().ok()?, text(words)))).collect();
    }

    /// A value of an endpoint; null if there is none.
    pub(super) fn value(&self, class: u16, endpoint: u16, property: &str, key: &str) -> &Value {
        self.find(class, endpoint, property, key).map_or(&Value::Null, |entry| &entry.value)
    }

    pub(super) fn find(&self, class: u16, endpoint: u16, property: &str, key: &str) -> Option<&Entry> {
        let (property, property_key) = (property.into(), key.into());
        self.values.get(&Key { class, endpoint, property, property_key })
    }

    /// The values of one class on an endpoint.
    pub(super) fn of_class(&self, class: u16, endpoint: u16) -> impl Iterator<Item = (&Key, &Entry)> {
        self.values.iter().filter(move |(key, _)| key.class == class && key.endpoint == endpoint)
    }

    pub(super) fn has_class(&self, class: u16, endpoint: u16) -> bool {
        self.of_class(class, endpoint).next().is_some()
    }
}

impl Key {
    /// Whether it is that of a button.
    pub(super) fn is_scene(&self) -> bool {
        self.class == class::CENTRAL_SCENE && self.property == "scene"
    }

    /// Reads which value is meant. None if it is not one that is kept.
    fn parse(value: &Value) -> Option<Self> {
        let class = u16::try_from(value["commandClass"].as_u64()?).ok()?;
        let endpoint = u16::try_from(value["endpoint"].as_u64().unwrap_or_default()).ok()?;
        let part = |part: &Value| match part {
            Value::Number(number) => Some(number.to_string()),
            Value::String(text) if text.len() <= 4 * TEXT => Some(text.clone()),
            _ => None,
        };
        let is_kept = class::KEPT.contains(&class) && endpoint <= ENDPOINTS;
        let property_key = part(&value["propertyKey"]).unwrap_or_default();
        is_kept.then_some(Self { class, endpoint, property: part(&value["property"])?, property_key })
    }
}

fn status(number: Option<u64>) -> NodeStatus {
    match number {
        Some(1) => NodeStatus::Asleep,
        Some(3) => NodeStatus::Dead,
        _ => NodeStatus::Awake,
    }
}

/// A short text in one line, without what surrounds it.
fn text(value: &Value) -> String {
    let text = value.as_str().unwrap_or_default();
    let clean: String = text.chars().filter(|letter| !letter.is_control()).take(TEXT).collect();
    clean.trim().into()
}
