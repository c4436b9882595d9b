//! What devices a node is: each endpoint that can do something is one.

use std::collections::BTreeSet;

use serde_json::Value;

use super::super::device::{FULL, Mode};
use super::super::press::Buttons;
use super::super::snapshot::{Barrier, Class, Climate, LastCommand, Presence, Reading, Snapshot, Status};
use super::node::{Entry, Node, NodeStatus, class};

/// Most readings that a device tells: it has to fit into a line.
const READINGS: usize = 6;

/// The specific device classes of motors, among the multilevel switches.
const MOTORS: (u64, [u64; 4]) = (0x11, [0x03, 0x05, 0x06, 0x07]);

/// The device class of sirens, among the binary switches.
const SIREN: (u64, u64) = (0x10, 0x05);

/// How far from its target a shutter may stop: motors run by time, and end 1 to 3 percent off.
pub(super) const POSITION_TOLERANCE: u8 = 3;

/// Of the notification "Lock state".
const JAMMED: i64 = 11;

/// States of a barrier, beside 0, which is closed, and 255, which is open.
pub(super) const CLOSING: u64 = 252;
const STOPPED: u64 = 253;
pub(super) const OPENING: u64 = 254;

/// The devices of a node as far as it is known; `former` are those that it was before.
///
/// As long as the server asks a node what it is, its values are only a part: a lock may look like a switch. Until that has
/// ended, the node stays what it was, or its endpoints are something unknown that cannot be driven.
pub(super) fn known(node: &Node, former: &[Snapshot]) -> Vec<Snapshot> {
    if node.is_interviewed {
        return snapshots(node);
    }
    if former.is_empty() {
        return unknown(node);
    }
    let presence = presence(node.status);
    former.iter().map(|device| Snapshot { presence, ..device.clone() }).collect()
}

const fn presence(status: NodeStatus) -> Presence {
    match status {
        NodeStatus::Asleep => Presence::Asleep,
        NodeStatus::Dead => Presence::Dead,
        NodeStatus::Awake => Presence::Awake,
    }
}

/// The endpoints of a node of which nothing else is known yet, none if it is the controller itself.
fn unknown(node: &Node) -> Vec<Snapshot> {
    if node.is_controller {
        return Vec::new();
    }
    // Its root is one in any case.
    let endpoints: BTreeSet<u16> = node.endpoints.iter().copied().chain([0]).collect();
    let is_one = endpoints.len() == 1;
    let found = endpoints.into_iter().map(|endpoint| (endpoint, Status::Unknown, Vec::new(), None));
    found.map(|found| snapshot(node, is_one, found)).collect()
}

/// The devices of a node by its values, none if it is the controller itself.
pub(super) fn snapshots(node: &Node) -> Vec<Snapshot> {
    if node.is_controller {
        return Vec::new();
    }
    let used: BTreeSet<u16> = node.values.keys().map(|key| key.endpoint).collect();
    let mut found: Vec<Endpoint> = used
        .into_iter()
        .map(|endpoint| {
            let (readings, buttons) = (readings(node, endpoint), buttons(node, endpoint));
            let status = match status(node, endpoint) {
                Status::Unknown if !readings.is_empty() => Status::Sensor,
                Status::Unknown if buttons.is_some() => Status::Button,
                status => status,
            };
            (endpoint, status, readings, buttons)
        })
        .filter(|(_, status, ..)| *status != Status::Unknown)
        .collect();
    if found.is_empty() {
        found.push((0, Status::Unknown, Vec::new(), None));
    }
    let is_one = found.len() == 1;
    found.into_iter().map(|found| snapshot(node, is_one, found)).collect()
}

/// An endpoint, what it is, what it measures, and its buttons.
type Endpoint = (u16, Status, Vec<Reading>, Option<Buttons>);

/// The device that an endpoint is; `is_one` if it is the only one of its node.
fn snapshot(node: &Node, is_one: bool, (endpoint, status, readings, buttons): Endpoint) -> Snapshot {
    Snapshot {
        id: format!("{}-{endpoint}", node.id),
        node: node.id,
        name: name(node, endpoint, is_one),
        room: node.location.clone(),
        status,
        readings,
        buttons,
        battery: percent(node.value(class::BATTERY, 0, "level", "")),
        presence: presence(node.status),
        changed: None,
        last_command: LastCommand::Settled,
    }
}

fn name(node: &Node, endpoint: u16, is_one: bool) -> String {
    let own = [&node.name, &node.label].into_iter().find(|name| !name.is_empty());
    let own = own.cloned().unwrap_or_else(|| format!("Node {}", node.id));
    match node.endpoint_labels.get(&endpoint) {
        _ if is_one || endpoint == 0 => own,
        Some(label) => format!("{own} {label}"),
        None => format!("{own} {endpoint}"),
    }
}

/// The kind and state of an endpoint; of several things that it can do, the one that people have it for.
fn status(node: &Node, endpoint: u16) -> Status {
    let has = |class| node.has_class(class, endpoint);
    let value = |class, property: &str| node.value(class, endpoint, property, "");
    if has(class::DOOR_LOCK) {
        let mode = value(class::DOOR_LOCK, "currentMode").as_u64();
        let state = node.value(class::NOTIFICATION, endpoint, "Access Control", "Lock state");
        return Status::Lock {
            // 254 is "unknown".
            is_locked: mode.filter(|mode| *mode != 254).map(|mode| mode == 255),
            is_jammed: state.as_i64() == Some(JAMMED),
        };
    }
    // Before all that moves or switches: it must not be driven as anything else.
    if has(class::BARRIER_OPERATOR) {
        return Status::Garage(barrier(node, endpoint));
    }
    if has(class::THERMOSTAT_MODE) || has(class::THERMOSTAT_SETPOINT) {
        return Status::Climate(climate(node, endpoint));
    }
    if let Some(key) = position_key(node, endpoint) {
        let part = |property: &str| level(node.value(class::WINDOW_COVERING, endpoint, property, key));
        return cover(part("currentValue"), part("targetValue"));
    }
    if has(class::MULTILEVEL_SWITCH) {
        let part = |property: &str| level(value(class::MULTILEVEL_SWITCH, property));
        let (generic, motors) = MOTORS;
        if node.device_class.0 == generic && motors.contains(&node.device_class.1) {
            return cover(part("currentValue"), part("targetValue"));
        }
        let color = node.find(class::COLOR_SWITCH, endpoint, "hexColor", "");
        return Status::Light {
            level: part("currentValue"),
            has_color: color.is_some(),
            color: color.and_then(|entry| entry.value.as_str()).map(str::to_owned),
        };
    }
    if has(class::SOUND_SWITCH) {
        return Status::Siren(value(class::SOUND_SWITCH, "toneId").as_u64().map(|tone| tone > 0));
    }
    if has(class::BINARY_SWITCH) {
        let on = value(class::BINARY_SWITCH, "currentValue").as_bool();
        return if node.device_class == SIREN { Status::Siren(on) } else { Status::Switch(on) };
    }
    binary(node, endpoint).unwrap_or(Status::Unknown)
}

const fn cover(position: Option<u8>, target: Option<u8>) -> Status {
    let is_moving = match (position, target) {
        (Some(position), Some(target)) => position.abs_diff(target) > POSITION_TOLERANCE,
        _ => false,
    };
    Status::Cover { position, is_moving }
}

/// Where a garage door is. Its position tells more only where it stopped: it is not known on the way, and old after a
/// command that the device has confirmed.
fn barrier(node: &Node, endpoint: u16) -> Option<Barrier> {
    let value = |property: &str| node.value(class::BARRIER_OPERATOR, endpoint, property, "");
    match value("currentState").as_u64()? {
        0 => Some(Barrier::Closed),
        CLOSING => Some(Barrier::Closing),
        STOPPED => Some(Barrier::Stopped(level(value("position")).filter(|position| *position > 0))),
        OPENING => Some(Barrier::Opening),
        255 => Some(Barrier::Open),
        _ => None,
    }
}

/// The property key of a window covering's position. Odd ones are positions, even ones only move.
pub(super) fn position_key(node: &Node, endpoint: u16) -> Option<&str> {
    let mut keys =
        node.of_class(class::WINDOW_COVERING, endpoint).filter(|(key, _)| key.property == "targetValue");
    let is_position = |text: &str| text.parse::<u16>().is_ok_and(|number| number % 2 == 1);
    keys.find(|(key, _)| is_position(&key.property_key)).map(|(key, _)| key.property_key.as_str())
}

/// The number of a mode in the Z-Wave specification.
pub(super) const fn mode_number(mode: Mode) -> i64 {
    match mode {
        Mode::Off => 0,
        Mode::Heat => 1,
        Mode::Cool => 2,
        Mode::Auto => 3,
    }
}

fn climate(node: &Node, endpoint: u16) -> Climate {
    let mode = node.find(class::THERMOSTAT_MODE, endpoint, "mode", "");
    let number = mode.and_then(|mode| mode.value.as_i64());
    let word = |number: i64| {
        let known = Mode::ALL.into_iter().find(|mode| mode_number(*mode) == number);
        let named = || mode.and_then(|mode| mode.states.get(&number)).map(|words| words.to_lowercase());
        known.map(|mode| mode.word().to_owned()).or_else(named).unwrap_or_else(|| format!("mode {number}"))
    };
    let is_offered = |wanted: &Mode| mode.is_some_and(|mode| mode.states.contains_key(&mode_number(*wanted)));
    let setpoint = setpoint_key(node, endpoint, number);
    let setpoint = setpoint.and_then(|key| node.find(class::THERMOSTAT_SETPOINT, endpoint, "setpoint", key));
    let unit = setpoint.map_or("", |entry| &entry.unit);
    Climate {
        mode: number.map(word),
        modes: Mode::ALL.into_iter().filter(is_offered).collect(),
        setpoint: setpoint.and_then(|entry| entry.value.as_f64()),
        bounds: setpoint.map_or((0.0, 0.0), |entry| bounds(entry, unit)),
        unit: if unit.is_empty() { "°C" } else { unit }.into(),
    }
}

/// What a setpoint can be; if the thermostat does not say so, what a house can bear.
pub(super) fn bounds(entry: &Entry, unit: &str) -> (f64, f64) {
    let usual = if unit == "°F" { (40.0, 95.0) } else { (5.0, 35.0) };
    (entry.min.unwrap_or(usual.0), entry.max.unwrap_or(usual.1))
}

/// The property key of the setpoint that counts in a mode: 1 is heating, 2 is cooling.
pub(super) fn setpoint_key(node: &Node, endpoint: u16, mode: Option<i64>) -> Option<&str> {
    let entries = node.of_class(class::THERMOSTAT_SETPOINT, endpoint);
    let keys: Vec<&str> = entries
        .filter(|(key, _)| key.property == "setpoint")
        .map(|(key, _)| key.property_key.as_str())
        .collect();
    let wanted = mode.map(|mode| mode.to_string()).unwrap_or_default();
    let own = keys.iter().find(|key| **key == wanted);
    own.or_else(|| keys.iter().find(|key| **key == "1")).or(keys.first()).copied()
}

/// What a sensor for yes or no watches: a notification that has two states, or a binary sensor.
fn binary(node: &Node, endpoint: u16) -> Option<Status> {
    const NOTIFICATIONS: [(&str, &str, Class); 11] = [
        ("Smoke Alarm", "Sensor status", Class::Smoke),
        ("CO Alarm", "Sensor status", Class::Gas),
        ("CO2 Alarm", "Sensor status", Class::Gas),
        ("Gas Alarm", "Sensor status", Class::Gas),
        ("Heat Alarm", "Heat sensor status", Class::Heat),
        ("Heat Alarm", "Sensor status", Class::Heat),
        ("Water Alarm", "Sensor status", Class::Leak),
        ("Access Control", "Door state (simple)", Class::Contact),
        ("Access Control", "Door state", Class::Contact),
        ("Home Security", "Motion sensor status", Class::Motion),
        ("Home Security", "Cover status", Class::Tamper),
    ];
    const SENSORS: [(&str, Class); 9] = [
        ("Smoke", Class::Smoke),
        ("CO", Class::Gas),
        ("CO2", Class::Gas),
        ("Heat", Class::Heat),
        ("Water", Class::Leak),
        ("Door/Window", Class::Contact),
        ("Motion", Class::Motion),
        ("Tamper", Class::Tamper),
        ("Any", Class::Other),
    ];
    let of =
        |class: Class| if class == Class::Contact && node.is_for_windows { Class::Window } else { class };
    let notified = NOTIFICATIONS.iter().find_map(|(property, key, class)| {
        let value = &node.find(class::NOTIFICATION, endpoint, property, key)?.value;
        let number = value.as_i64();
        // A door that is open is 22, and closed is 23; all else is idle or not.
        let is_active =
            if *class == Class::Contact { number.map(|n| n == 22) } else { number.map(|n| n != 0) };
        Some(Status::Binary { class: of(*class), is_active })
    });
    notified.or_else(|| {
        SENSORS.iter().find_map(|(property, class)| {
            let is_active = node.find(class::BINARY_SENSOR, endpoint, property, "")?.value.as_bool();
            Some(Status::Binary { class: of(*class), is_active })
        })
    })
}

/// The buttons of an endpoint that sends scenes, and what was pressed.
fn buttons(node: &Node, endpoint: u16) -> Option<Buttons> {
    if !node.has_class(class::CENTRAL_SCENE, endpoint) {
        return None;
    }
    let scenes = node.of_class(class::CENTRAL_SCENE, endpoint).filter(|(key, _)| key.is_scene()).count();
    let count = u16::try_from(scenes).ok().filter(|count| *count > 0);
    Some(Buttons { count, ..node.pressed.get(&endpoint).copied().unwrap_or_default() })
}

/// What an endpoint measures.
fn readings(node: &Node, endpoint: u16) -> Vec<Reading> {
    let measured = node.of_class(class::MULTILEVEL_SENSOR, endpoint).filter_map(|(key, entry)| {
        let name = match key.property.as_str() {
            "Air temperature" => "temperature".into(),
            "Carbon dioxide (CO₂) level" => "carbon_dioxide".into(),
            property => snake_case(property),
        };
        Some((name, entry.value.as_f64()?, entry.unit.as_str()))
    });
    let metered = node.of_class(class::METER, endpoint).filter_map(|(key, entry)| {
        let name = match entry.unit.as_str() {
            "W" => "power",
            "kWh" => "energy",
            "V" => "voltage",
            "A" => "current",
            _ => return None,
        };
        Some((name.into(), entry.value.as_f64().filter(|_| key.property == "value")?, entry.unit.as_str()))
    });
    let mut readings: Vec<Reading> = Vec::new();
    for (name, value, unit) in measured.chain(metered) {
        if !name.is_empty() && value.is_finite() && readings.iter().all(|reading| reading.name != name) {
            readings.push(Reading { name, value, unit: unit.chars().take(8).collect() });
        }
    }
    readings.truncate(READINGS);
    readings
}

fn snake_case(words: &str) -> String {
    let lower = words.to_lowercase();
    let parts = lower.split(|letter: char| !letter.is_ascii_alphanumeric()).filter(|part| !part.is_empty());
    parts.collect::<Vec<_>>().join("_").chars().take(32).collect()
}

/// A level from 0 to 99; 255 is "on", 254 is "unknown".
pub(super) fn level(value: &Value) -> Option<u8> {
    let number = value.as_f64()?;
    if number == 255.0 { Some(FULL) } else { (0.0..=99.0).contains(&number).then_some(number as u8) }
}

/// A battery's charge; 255 is "low".
fn percent(value: &Value) -> Option<u8> {
    let number = value.as_f64()?;
    if number == 255.0 { Some(0) } else { (0.0..=100.0).contains(&number).then_some(number as u8) }
}
