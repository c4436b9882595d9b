//! What has to be written to which value of a node for a command.

use std::time::Duration;

use serde_json::{Value, json};

use super::super::device::{Command, FULL};
use super::super::snapshot::{Snapshot, Status};
use super::node::{Node, class};
use super::view::{
    CLOSING, OPENING, POSITION_TOLERANCE, bounds, level, mode_number, position_key, setpoint_key,
};

/// How long a device that moves may stand still before it counts as having ended: many dimmers ramp for 12 seconds, and some
/// tell their new level only at the end.
const RAMP: Duration = Duration::from_secs(15);

/// How long any other may take.
const PROMPT: Duration = Duration::from_secs(3);

/// How far from its target a dimmer may end: many report 98 for 99, and some count in steps of two.
const LEVEL_TOLERANCE: u8 = 2;

/// A dimmer that is told to be darker than it can stays at its darkest, which is at most this level.
const DARKEST: u8 = 20;

/// How far from its target a setpoint may end, in degrees: many thermostats keep whole degrees only.
const SETPOINT_TOLERANCE: f64 = 0.5;

/// Values by which a dimmer or motor is told to stop, by the words that its kind uses.
const MOVES: [&str; 9] = ["Open", "Close", "Up", "Down", "On", "Off", "Right", "Forward", "levelChangeUp"];

/// One value to write, and by which value it is seen that it was done.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Write {
    pub(super) class: u16,
    pub(super) endpoint: u16,
    pub(super) property: &'static str,
    pub(super) property_key: String,
    pub(super) value: Value,
    /// The property that tells how the device stands.
    pub(super) seen: &'static str,
    /// The keys of that property, and the value that each has when the command was done.
    pub(super) expected: Vec<(String, Expected)>,
    /// What that property is on the way there, if the device tells it.
    pub(super) under_way: Option<Value>,
    /// How long the device may stand still before it counts as having ended.
    pub(super) patience: Duration,
}

/// What a value is when a command was done.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Expected {
    Exactly(Value),
    /// The level of a light, nearly.
    Level(u8),
    /// The position of a cover, nearly.
    Position(u8),
    /// The setpoint of a thermostat, nearly.
    Degrees(f64),
    /// Any level at which a light is on.
    NotZero,
    /// Whatever it is.
    Anything,
}

impl Expected {
    pub(super) fn is_met(&self, value: &Value) -> bool {
        match self {
            Self::Anything => true,
            Self::NotZero => value.as_f64().is_some_and(|level| level > 0.0),
            Self::Exactly(expected) => match (expected.as_f64(), value.as_f64()) {
                // 255 and 255.0 are the same.
                (Some(expected), Some(value)) => expected == value,
                _ => expected == value,
            },
            // A light that is told to be off is not nearly off at 1.
            Self::Level(target) => level(value).is_some_and(|level| {
                level.abs_diff(*target) <= LEVEL_TOLERANCE && (level > 0) == (*target > 0)
            }),
            Self::Position(target) => {
                level(value).is_some_and(|level| level.abs_diff(*target) <= POSITION_TOLERANCE)
            }
            Self::Degrees(target) => {
                value.as_f64().is_some_and(|degrees| (degrees - target).abs() <= SETPOINT_TOLERANCE)
            }
        }
    }

    /// Whether a device that has ended at a value did as well as it can.
    pub(super) fn is_best(&self, value: &Value) -> bool {
        let is_darkest = match self {
            Self::Level(target @ 1..) => {
                level(value).is_some_and(|level| (*target..=DARKEST).contains(&level))
            }
            _ => false,
        };
        is_darkest || self.is_met(value)
    }
}

impl Write {
    fn new(class: u16, endpoint: u16, property: &'static str, value: Value) -> Self {
        Self {
            class,
            endpoint,
            property,
            property_key: String::new(),
            seen: property,
            expected: vec![(String::new(), Expected::Exactly(value.clone()))],
            under_way: None,
            value,
            patience: PROMPT,
        }
    }

    fn expecting(self, expected: Expected) -> Self {
        Self { expected: vec![(self.property_key.clone(), expected)], ..self }
    }

    fn seen_in(self, seen: &'static str) -> Self {
        Self { seen, ..self }
    }

    /// What the server calls one of its properties.
    fn id_of(&self, property: &str, key: &str) -> Value {
        let mut id = json!({ "commandClass": self.class, "endpoint": self.endpoint, "property": property });
        if !key.is_empty() {
            // Numbers are numbers.
            let number = key.parse::<u64>().map(Value::from);
            id["propertyKey"] = number.unwrap_or_else(|_| key.into());
        }
        id
    }

    /// What the server calls the value to write.
    pub(super) fn value_id(&self) -> Value {
        self.id_of(self.property, &self.property_key)
    }

    /// What the server calls the values that tell how the device stands.
    pub(super) fn seen_ids(&self) -> Vec<Value> {
        self.expected.iter().map(|(key, _)| self.id_of(self.seen, key)).collect()
    }

    /// Whether these values, one for each of [`seen_ids`](Self::seen_ids), say that it was done.
    pub(super) fn is_met(&self, values: &[Value]) -> bool {
        self.expected.iter().zip(values).all(|((_, expected), value)| expected.is_met(value))
    }

    /// Whether a device that has ended at these values did as well as it can.
    pub(super) fn is_best(&self, values: &[Value]) -> bool {
        self.expected.iter().zip(values).all(|((_, expected), value)| expected.is_best(value))
    }

    /// How the device stands, as the node told it last.
    pub(super) fn current(&self, node: &Node) -> Vec<Value> {
        let value = |key: &str| node.value(self.class, self.endpoint, self.seen, key).clone();
        self.expected.iter().map(|(key, _)| value(key)).collect()
    }
}

/// The values that tell how an actuator stands; none for anything else.
pub(super) fn told_by(node: &Node, device: &Snapshot) -> Vec<Value> {
    let commands = match &device.status {
        Status::Switch(_) | Status::Siren(_) | Status::Light { has_color: false, .. } => {
            vec![Command::Power(false)]
        }
        Status::Light { has_color: true, .. } => vec![Command::Power(false), Command::Color([0; 3])],
        Status::Lock { .. } => vec![Command::Lock(true)],
        Status::Climate(climate) => {
            vec![
                Command::Climate(climate.modes.first().copied(), None),
                Command::Climate(None, climate.setpoint),
            ]
        }
        Status::Cover { .. } | Status::Garage(_) => vec![Command::Open(false)],
        Status::Sensor | Status::Binary { .. } | Status::Button | Status::Unknown => vec![],
    };
    let writes = commands.into_iter().filter_map(|command| writes(node, device, command).ok()).flatten();
    writes.flat_map(|write| write.seen_ids()).collect()
}

/// The endpoint in a device's id.
fn endpoint(device: &Snapshot) -> u16 {
    device.id.rsplit_once('-').and_then(|(_, endpoint)| endpoint.parse().ok()).unwrap_or_default()
}

/// The writes of a command, in their order. The error says what is wrong with it, after the device's name.
pub(super) fn writes(node: &Node, device: &Snapshot, command: Command) -> Result<Vec<Write>, String> {
    let endpoint = endpoint(device);
    let switch = |on: bool| {
        Write::new(class::BINARY_SWITCH, endpoint, "targetValue", on.into()).seen_in("currentValue")
    };
    let dim = |level: u8| {
        let write = Write::new(class::MULTILEVEL_SWITCH, endpoint, "targetValue", level.into());
        Write { patience: RAMP, ..write.seen_in("currentValue") }.expecting(Expected::Level(level))
    };
    let position = |wanted: u8| {
        let write = match position_key(node, endpoint) {
            Some(key) => Write { class: class::WINDOW_COVERING, property_key: key.into(), ..dim(wanted) },
            None => dim(wanted),
        };
        write.expecting(Expected::Position(wanted))
    };
    let one = match (&device.status, command) {
        (_, Command::Toggle) => {
            let on = match &device.status {
                Status::Switch(on) | Status::Siren(on) => *on,
                Status::Light { level, .. } => level.map(|level| level > 0),
                Status::Lock { .. } | Status::Climate(_) | Status::Cover { .. } | Status::Garage(_) => None,
                Status::Sensor | Status::Binary { .. } | Status::Button | Status::Unknown => None,
            };
            let on = on.ok_or("has not said whether it is on; say on or off")?;
            return writes(node, device, Command::Power(!on));
        }
        (Status::Light { .. }, Command::Power(true)) => {
            // 255 is "as bright as it was".
            Write { value: 255.into(), ..dim(FULL) }.expecting(Expected::NotZero)
        }
        (Status::Light { .. }, Command::Power(false)) => dim(0),
        (Status::Light { .. }, Command::Level(wanted)) => dim(wanted.min(FULL)),
        (Status::Light { .. }, Command::Color([red, green, blue])) => {
            let value = format!("{red:02x}{green:02x}{blue:02x}");
            let write = Write::new(class::COLOR_SWITCH, endpoint, "hexColor", value.into());
            // A device is asked for each component by its number: 2 is red.
            let expected = [("2", red), ("3", green), ("4", blue)];
            let expected = expected.map(|(key, value)| (key.into(), Expected::Exactly(value.into())));
            Write { seen: "currentColor", expected: expected.into(), ..write }
        }
        (Status::Cover { .. }, Command::Open(is_open)) => position(if is_open { FULL } else { 0 }),
        (Status::Cover { .. }, Command::Level(wanted)) => position(wanted.min(FULL)),
        (Status::Cover { .. }, Command::Stop) => {
            let like = position(0);
            let is_there = |name: &&&str| node.find(like.class, endpoint, name, &like.property_key).is_some();
            let property = MOVES.iter().find(is_there).ok_or("cannot be stopped")?;
            Write { property, value: false.into(), ..like }.expecting(Expected::Anything)
        }
        (Status::Garage(_), Command::Open(is_open)) => {
            let (target, under_way) = if is_open { (255, OPENING) } else { (0, CLOSING) };
            let write = Write::new(class::BARRIER_OPERATOR, endpoint, "targetState", target.into());
            Write { patience: RAMP, under_way: Some(under_way.into()), ..write.seen_in("currentState") }
        }
        (Status::Siren(_), Command::Power(on)) if node.has_class(class::SOUND_SWITCH, endpoint) => {
            // 255 is the tone that the siren is set to.
            let write = Write::new(class::SOUND_SWITCH, endpoint, "toneId", if on { 255 } else { 0 }.into());
            let expected = if on { Expected::NotZero } else { Expected::Exactly(0.into()) };
            write.expecting(expected)
        }
        (Status::Switch(_) | Status::Siren(_), Command::Power(on)) => switch(on),
        (Status::Lock { .. }, Command::Lock(is_locked)) => {
            let mode = if is_locked { 255 } else { 0 };
            let write =
                Write::new(class::DOOR_LOCK, endpoint, "targetMode", mode.into()).seen_in("currentMode");
            Write { patience: RAMP, ..write }
        }
        (Status::Climate(climate), Command::Climate(mode, setpoint)) => {
            let mut writes = Vec::new();
            if let Some(mode) = mode {
                if !climate.modes.contains(&mode) {
                    let offered: Vec<_> = climate.modes.iter().map(|mode| mode.word()).collect();
                    let offered = if offered.is_empty() { "none".into() } else { offered.join(", ") };
                    return Err(format!("has no mode {}; its modes: {offered}", mode.word()));
                }
                writes.push(Write::new(class::THERMOSTAT_MODE, endpoint, "mode", mode_number(mode).into()));
            }
            if let Some(degrees) = setpoint {
                writes.push(set_degrees(node, endpoint, mode.map(mode_number), degrees)?);
            }
            return Ok(writes);
        }
        (Status::Switch(_) | Status::Light { .. } | Status::Lock { .. } | Status::Climate(_), _)
        | (Status::Cover { .. } | Status::Garage(_) | Status::Siren(_) | Status::Sensor, _)
        | (Status::Binary { .. } | Status::Button | Status::Unknown, _) => {
            return Err("cannot do that".into());
        }
    };
    Ok(vec![one])
}

fn set_degrees(node: &Node, endpoint: u16, mode: Option<i64>, degrees: f64) -> Result<Write, String> {
    let mode = mode.or_else(|| node.value(class::THERMOSTAT_MODE, endpoint, "mode", "").as_i64());
    let found = setpoint_key(node, endpoint, mode)
        .and_then(|key| Some((key, node.find(class::THERMOSTAT_SETPOINT, endpoint, "setpoint", key)?)));
    let (key, entry) = found.ok_or("has no setpoint")?;
    let (least, most) = bounds(entry, &entry.unit);
    if !(least..=most).contains(&degrees) {
        let unit = &entry.unit;
        return Err(format!("can be set from {least} to {most} {unit}, not to {degrees}"));
    }
    let write = Write::new(class::THERMOSTAT_SETPOINT, endpoint, "setpoint", degrees.into());
    Ok(Write { property_key: key.into(), ..write }.expecting(Expected::Degrees(degrees)))
}
