//! One device of the home: its kind, its state, and the commands that it takes.

use std::fmt;

use serde_json::{Value, json};

/// The number of a node in a Z-Wave network, 1 to 232.
pub type NodeId = u8;

/// A dimmer's highest level: Z-Wave counts to 99.
pub const FULL: u8 = 99;

/// A device of the home.
#[derive(Clone, Debug, PartialEq)]
pub struct Device {
    /// Its number in the network.
    pub node: NodeId,
    /// What people call it.
    pub name: &'static str,
    /// Where it is.
    pub room: &'static str,
    /// Its kind and its state.
    pub state: DeviceState,
    /// How full its battery is, in percent, if it has one.
    pub battery: Option<u8>,
    /// Whether it answers at all.
    pub is_alive: bool,
}

/// The kind of a device, and its state.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum DeviceState {
    /// On or off.
    Switch(bool),
    /// From 0, which is off, to [`FULL`].
    Dimmer {
        /// How bright it is.
        level: u8,
        /// How bright it was when it was last on, which "on" returns to.
        last: u8,
    },
    /// Locked or not.
    Lock(bool),
    /// Heating and cooling.
    Thermostat {
        /// Its mode.
        mode: Mode,
        /// What it aims at, in degrees Celsius.
        setpoint: f64,
        /// What it measures, in degrees Celsius.
        temperature: f64,
    },
    /// Measures degrees Celsius.
    Temperature(f64),
    /// Sees movement or not.
    Motion(bool),
    /// A door or window is open or not.
    Contact(bool),
}

/// The mode of a thermostat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Does nothing.
    Off,
    /// Heats up to the setpoint.
    Heat,
    /// Cools down to the setpoint.
    Cool,
    /// Heats or cools.
    Auto,
}

impl Mode {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Off, Self::Heat, Self::Cool, Self::Auto];

    /// Its name in tool calls.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Heat => "heat",
            Self::Cool => "cool",
            Self::Auto => "auto",
        }
    }
}

/// A command to a device.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Command {
    /// Switches a switch or dimmer on, or off.
    Power(bool),
    /// Switches on what is off, and off what is on.
    Toggle,
    /// Sets a dimmer's level.
    Level(u8),
    /// Locks a lock, or unlocks it.
    Lock(bool),
    /// Sets a thermostat's mode, its setpoint, or both.
    Climate(Option<Mode>, Option<f64>),
}

impl DeviceState {
    /// The kinds of devices there are.
    pub const KINDS: [&str; 7] =
        ["switch", "dimmer", "lock", "thermostat", "temperature_sensor", "motion_sensor", "contact_sensor"];

    /// The kind of the device, one of [`KINDS`](Self::KINDS).
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Switch(_) => Self::KINDS[0],
            Self::Dimmer { .. } => Self::KINDS[1],
            Self::Lock(_) => Self::KINDS[2],
            Self::Thermostat { .. } => Self::KINDS[3],
            Self::Temperature(_) => Self::KINDS[4],
            Self::Motion(_) => Self::KINDS[5],
            Self::Contact(_) => Self::KINDS[6],
        }
    }

    /// The state after a command, or why the device cannot do that.
    pub fn after(self, command: Command) -> Result<Self, &'static str> {
        use Command::{Climate, Level, Lock, Power, Toggle};
        Ok(match (self, command) {
            (Self::Switch(_), Power(on)) => Self::Switch(on),
            (Self::Switch(on), Toggle) => Self::Switch(!on),
            (Self::Switch(_), Level(_)) => return Err("is a switch and has no level; it can be on or off"),
            (Self::Dimmer { last, .. }, Power(true)) => Self::Dimmer { level: last, last },
            (Self::Dimmer { last, .. }, Power(false)) => Self::Dimmer { level: 0, last },
            (Self::Dimmer { level, .. }, Toggle) => return self.after(Power(level == 0)),
            (Self::Dimmer { last, .. }, Level(level)) => {
                let level = level.min(FULL);
                Self::Dimmer { level, last: if level == 0 { last } else { level } }
            }
            (Self::Lock(_), Lock(locked)) => Self::Lock(locked),
            (Self::Lock(_), _) => return Err("is a lock; use lock_door"),
            (Self::Thermostat { mode, setpoint, temperature }, Climate(new_mode, new_setpoint)) => {
                Self::Thermostat {
                    mode: new_mode.unwrap_or(mode),
                    setpoint: new_setpoint.unwrap_or(setpoint),
                    temperature,
                }
            }
            (Self::Thermostat { .. }, _) => return Err("is a thermostat; use set_thermostat"),
            (Self::Temperature(_) | Self::Motion(_) | Self::Contact(_), _) => {
                return Err("is a sensor and cannot be controlled");
            }
            (_, Lock(_)) => return Err("is not a lock"),
            (_, Climate(..)) => return Err("is not a thermostat"),
        })
    }

    /// The state as JSON.
    pub fn json(&self) -> Value {
        match *self {
            Self::Switch(on) => json!({ "on": on }),
            Self::Dimmer { level, .. } => json!({ "on": level > 0, "level": level }),
            Self::Lock(locked) => json!({ "locked": locked }),
            Self::Thermostat { mode, setpoint, temperature } => {
                json!({ "mode": mode.word(), "setpoint": setpoint, "temperature": temperature })
            }
            Self::Temperature(celsius) => json!({ "temperature": celsius }),
            Self::Motion(detected) => json!({ "motion": detected }),
            Self::Contact(open) => json!({ "open": open }),
        }
    }
}

/// The state in words, after "is".
impl fmt::Display for DeviceState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Switch(true) => f.write_str("on"),
            Self::Switch(false) | Self::Dimmer { level: 0, .. } => f.write_str("off"),
            Self::Dimmer { level, .. } => write!(f, "on at level {level}"),
            Self::Lock(true) => f.write_str("locked"),
            Self::Lock(false) => f.write_str("unlocked"),
            Self::Thermostat { mode: Mode::Off, temperature, .. } => {
                write!(f, "off, at {temperature} degrees")
            }
            Self::Thermostat { mode, setpoint, temperature } => {
                write!(f, "in mode {}, set to {setpoint} degrees, at {temperature} degrees", mode.word())
            }
            Self::Temperature(celsius) => write!(f, "at {celsius} degrees"),
            Self::Motion(true) => f.write_str("seeing motion"),
            Self::Motion(false) => f.write_str("seeing no motion"),
            Self::Contact(true) => f.write_str("open"),
            Self::Contact(false) => f.write_str("closed"),
        }
    }
}

impl Device {
    /// Everything about it as JSON.
    pub fn json(&self) -> Value {
        let mut about = json!({
            "name": self.name, "nodeId": self.node, "room": self.room, "kind": self.state.kind(),
            "state": self.state.json(),
        });
        // The usual is left out: a line to a hub is not long.
        if let Some(percent) = self.battery {
            about["battery"] = percent.into();
        }
        if !self.is_alive {
            about["dead"] = true.into();
        }
        about
    }
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, state, is_alive, .. } = self;
        if *is_alive { write!(f, "{name} is {state}") } else { write!(f, "{name} does not answer") }
    }
}

#[cfg(test)]
mod tests {
    use super::{Command, DeviceState, Mode};

    #[test]
    fn a_dimmer_remembers_how_bright_it_was() {
        let dimmer = DeviceState::Dimmer { level: 40, last: 40 };
        let off = dimmer.after(Command::Power(false)).expect("off");
        assert_eq!(off.to_string(), "off");
        assert_eq!(off.after(Command::Toggle), Ok(dimmer));
        assert_eq!(off.after(Command::Level(255)).expect("a level").to_string(), "on at level 99");
        let dark = dimmer.after(Command::Level(0)).expect("a level");
        assert_eq!(dark.after(Command::Power(true)), Ok(dimmer));
    }

    #[test]
    fn each_command_has_its_devices() {
        let refused = |state: DeviceState, command| state.after(command).expect_err("refused");
        assert_eq!(refused(DeviceState::Lock(true), Command::Toggle), "is a lock; use lock_door");
        assert_eq!(refused(DeviceState::Switch(true), Command::Lock(true)), "is not a lock");
        assert_eq!(
            refused(DeviceState::Motion(true), Command::Power(true)),
            "is a sensor and cannot be controlled"
        );
        let climate = Command::Climate(Some(Mode::Heat), Some(21.5));
        assert_eq!(refused(DeviceState::Switch(true), climate), "is not a thermostat");
        let thermostat = DeviceState::Thermostat { mode: Mode::Off, setpoint: 20.0, temperature: 19.5 };
        assert_eq!(
            thermostat.after(climate).expect("set").to_string(),
            "in mode heat, set to 21.5 degrees, at 19.5 degrees"
        );
        assert_eq!(refused(thermostat, Command::Power(true)), "is a thermostat; use set_thermostat");
    }
}
