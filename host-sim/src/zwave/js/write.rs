//! What has to be written to which value of a node for a command.

use std::time::Duration;

use serde_json::{Value, json};

use super::super::device::{Command, FULL};
use super::super::snapshot::{Snapshot, Status};
use super::node::{Node, class};
use super::view::{CLOSING, OPENING, bounds, mode_number, position_key, setpoint_key};

/// How long a device that moves may take to say so, after it was told only by radio.
const RAMP: Duration = Duration::from_secs(8);

/// How long any other may take.
const PROMPT: Duration = Duration::from_secs(3);

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
    pub(super) expected: Expected,
    /// What that property is on the way there, if the device tells it.
    pub(super) under_way: Option<Value>,
    /// How long it may take until the device says so.
    pub(super) patience: Duration,
    /// Whether the device can be asked for it.
    pub(super) can_ask: bool,
}

/// What a value is when a command was done.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Expected {
    Exactly(Value),
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
                // Thermostats round: to half a degree, or to a degree Fahrenheit.
                (Some(expected), Some(value)) => (expected - value).abs() < 0.3,
                _ => expected == value,
            },
        }
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
            expected: Expected::Exactly(value.clone()),
            under_way: None,
            value,
            patience: PROMPT,
            can_ask: true,
        }
    }

    fn seen_in(self, seen: &'static str) -> Self {
        Self { seen, ..self }
    }

    /// What the server calls one of its properties.
    pub(super) fn value_id(&self, property: &str) -> Value {
        let mut id = json!({ "commandClass": self.class, "endpoint": self.endpoint, "property": property });
        if !self.property_key.is_empty() {
            // Numbers are numbers.
            let number = self.property_key.parse::<u64>().map(Value::from);
            id["propertyKey"] = number.unwrap_or_else(|_| self.property_key.as_str().into());
        }
        id
    }

    /// How the device stands, as the node told it last.
    pub(super) fn current<'a>(&self, node: &'a Node) -> &'a Value {
        node.value(self.class, self.endpoint, self.seen, &self.property_key)
    }
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
    let level = |level: u8| {
        let write = Write::new(class::MULTILEVEL_SWITCH, endpoint, "targetValue", level.into());
        Write { patience: RAMP, ..write.seen_in("currentValue") }
    };
    let position = |wanted: u8| match position_key(node, endpoint) {
        Some(key) => Write { class: class::WINDOW_COVERING, property_key: key.into(), ..level(wanted) },
        None => level(wanted),
    };
    let one = match (&device.status, command) {
        (_, Command::Toggle) => {
            let on = match &device.status {
                Status::Switch(on) | Status::Siren(on) => *on,
                Status::Light { level, .. } => level.map(|level| level > 0),
                _ => None,
            };
            let on = on.ok_or("has not said whether it is on; say on or off")?;
            return writes(node, device, Command::Power(!on));
        }
        (Status::Light { .. }, Command::Power(true)) => {
            // 255 is "as bright as it was".
            Write { value: 255.into(), expected: Expected::NotZero, ..level(FULL) }
        }
        (Status::Light { .. }, Command::Power(false)) => level(0),
        (Status::Light { .. }, Command::Level(wanted)) => level(wanted.min(FULL)),
        (Status::Light { .. }, Command::Color([red, green, blue])) => {
            let value = format!("{red:02x}{green:02x}{blue:02x}");
            let write = Write::new(class::COLOR_SWITCH, endpoint, "hexColor", value.into());
            Write { can_ask: false, ..write }
        }
        (Status::Cover { .. }, Command::Open(is_open)) => position(if is_open { FULL } else { 0 }),
        (Status::Cover { .. }, Command::Level(wanted)) => position(wanted.min(FULL)),
        (Status::Cover { .. }, Command::Stop) => {
            let like = position(0);
            let is_there = |name: &&&str| node.find(like.class, endpoint, name, &like.property_key).is_some();
            let property = MOVES.iter().find(is_there).ok_or("cannot be stopped")?;
            Write { property, value: false.into(), expected: Expected::Anything, ..like }
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
            Write { expected, ..write }
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
        _ => return Err("cannot do that".into()),
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
    Ok(Write { property_key: key.into(), ..write })
}
