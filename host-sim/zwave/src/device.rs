//! One device of the home: its kind, its state, and the commands that it takes.

use std::fmt;

use serde_json::Value;

use super::press::{Buttons, Press};
use super::snapshot::{Barrier, Class, Climate, LastCommand, Presence, Reading, Snapshot, Status};

/// The number of a node in a Z-Wave network: 1 to 232, and more with Long Range.
pub type NodeId = u16;

/// A dimmer's highest level: Z-Wave counts to 99.
pub const FULL: u8 = 99;

/// Degrees Celsius that a simulated thermostat can be set to.
pub(super) const SETPOINT: (f64, f64) = (5.0, 30.0);

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
    /// A blind or a curtain, from 0, which is closed, to [`FULL`].
    Cover(u8),
    /// A garage door is open or not.
    Garage(bool),
    /// On or off, and loud.
    Siren(bool),
    /// Measures degrees Celsius.
    Temperature(f64),
    /// Sees movement or not.
    Motion(bool),
    /// A door sensor: whether the door is open.
    Contact(bool),
    /// A window sensor: whether the window is open.
    Window(bool),
    /// A scene controller: nothing but buttons.
    Button(Buttons),
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

    /// The mode with this name.
    pub(super) fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.word() == word)
    }
}

/// A command to a device.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Command {
    /// Switches a switch, light or siren on, or off.
    Power(bool),
    /// Switches on what is off, and off what is on.
    Toggle,
    /// Sets a dimmer's level, or a cover's position.
    Level(u8),
    /// Locks a lock, or unlocks it.
    Lock(bool),
    /// Sets a thermostat's mode, its setpoint, or both.
    Climate(Option<Mode>, Option<f64>),
    /// Opens a cover or garage door, or closes it.
    Open(bool),
    /// Stops a cover that moves.
    Stop,
    /// Sets the colour of a light: red, green, blue.
    Color([u8; 3]),
}

impl Command {
    /// Reads an action of `control_zwave_device`; the error says what is wrong with it.
    pub(super) fn parse(action: &str, level: Option<u8>, color: Option<&str>) -> Result<Self, String> {
        Ok(match (action, level, color) {
            ("set_level", None, None) => {
                return Err("The action set_level needs a 'level' from 0 to 99".into());
            }
            ("set_color", None, None) => {
                return Err("The action set_color needs a 'color' like ff8800".into());
            }
            ("set_color", None, Some(color)) => Self::Color(
                parse_color(color)
                    .ok_or("A 'color' has six hexadecimal digits: red, green and blue, like ff8800")?,
            ),
            ("set_level" | "on", Some(level), None) => Self::Level(level),
            ("on", None, None) => Self::Power(true),
            ("off", None, None) => Self::Power(false),
            ("toggle", None, None) => Self::Toggle,
            ("open", None, None) => Self::Open(true),
            ("close", None, None) => Self::Open(false),
            ("stop", None, None) => Self::Stop,
            (_, None, None) => return Err(format!("Unknown action '{action}'")),
            (_, Some(_), _) => return Err(format!("The action {action} takes no 'level'")),
            (_, _, Some(_)) => return Err(format!("The action {action} takes no 'color'")),
        })
    }
}

fn parse_color(text: &str) -> Option<[u8; 3]> {
    let digits = text.trim().trim_start_matches('#');
    let number = u32::from_str_radix(digits, 16).ok()?;
    let [_, red, green, blue] = number.to_be_bytes();
    (digits.len() == 6).then_some([red, green, blue])
}

impl DeviceState {
    /// The kind of the device, as `list_devices` has it.
    pub fn kind(&self) -> &'static str {
        self.bare().kind()
    }

    /// The state after a command, or why the device cannot do that.
    pub fn after(self, command: Command) -> Result<Self, &'static str> {
        use Command::{Climate, Level, Lock, Open, Power, Stop, Toggle};
        self.bare().status.takes(command)?;
        Ok(match (self, command) {
            (Self::Switch(_), Power(on)) => Self::Switch(on),
            (Self::Switch(on), Toggle) => Self::Switch(!on),
            (Self::Dimmer { last, .. }, Power(true)) => Self::Dimmer { level: last, last },
            (Self::Dimmer { last, .. }, Power(false)) => Self::Dimmer { level: 0, last },
            (Self::Dimmer { level, .. }, Toggle) => return self.after(Power(level == 0)),
            (Self::Dimmer { last, .. }, Level(level)) => {
                let level = level.min(FULL);
                Self::Dimmer { level, last: if level == 0 { last } else { level } }
            }
            (Self::Lock(_), Lock(locked)) => Self::Lock(locked),
            (Self::Thermostat { mode, setpoint, temperature }, Climate(new_mode, new_setpoint)) => {
                Self::Thermostat {
                    mode: new_mode.unwrap_or(mode),
                    setpoint: new_setpoint.unwrap_or(setpoint),
                    temperature,
                }
            }
            (Self::Cover(_), Open(is_open)) => Self::Cover(if is_open { FULL } else { 0 }),
            (Self::Cover(_), Level(level)) => Self::Cover(level.min(FULL)),
            (Self::Garage(_), Open(is_open)) => Self::Garage(is_open),
            (Self::Siren(_), Power(on)) => Self::Siren(on),
            (Self::Siren(on), Toggle) => Self::Siren(!on),
            // Commands are done at once, so there is no movement to stop.
            (Self::Cover(_), Stop) => self,
            (Self::Switch(_) | Self::Dimmer { .. } | Self::Lock(_) | Self::Thermostat { .. }, _)
            | (Self::Cover(_) | Self::Garage(_) | Self::Siren(_) | Self::Temperature(_), _)
            | (Self::Motion(_) | Self::Contact(_) | Self::Window(_) | Self::Button(_), _) => {
                return Err("cannot do that");
            }
        })
    }

    /// The state after somebody pressed, turned, opened or passed it; None if it has nothing of the kind.
    pub(super) fn pressed(self) -> Option<Self> {
        match self {
            Self::Lock(locked) => Some(Self::Lock(!locked)),
            Self::Motion(seen) => Some(Self::Motion(!seen)),
            Self::Contact(open) => Some(Self::Contact(!open)),
            Self::Window(open) => Some(Self::Window(!open)),
            Self::Cover(position) => Some(Self::Cover(if position == 0 { FULL } else { 0 })),
            Self::Garage(open) => Some(Self::Garage(!open)),
            Self::Button(_) => self.pressed_button(1, Press::Single),
            Self::Thermostat { .. } | Self::Temperature(_) => None,
            Self::Switch(_) | Self::Dimmer { .. } | Self::Siren(_) => self.after(Command::Toggle).ok(),
        }
    }

    /// The state after somebody pressed one of the buttons of a scene controller; None if it has no such button.
    pub(super) fn pressed_button(self, button: u16, press: Press) -> Option<Self> {
        let Self::Button(buttons) = self else { return None };
        let is_there = button > 0 && buttons.count.is_none_or(|count| button <= count);
        is_there.then(|| Self::Button(buttons.pressed(button, press)))
    }

    /// The state as JSON.
    pub fn json(&self) -> Value {
        self.bare().tool_state()
    }

    /// A snapshot of a device without a name.
    fn bare(&self) -> Snapshot {
        let temperature = |value| Reading { name: "temperature".into(), value, unit: "°C".into() };
        let (status, readings) = match *self {
            Self::Switch(on) => (Status::Switch(Some(on)), vec![]),
            Self::Dimmer { level, .. } => {
                (Status::Light { level: Some(level), has_color: false, color: None }, vec![])
            }
            Self::Lock(locked) => (Status::Lock { is_locked: Some(locked), is_jammed: false }, vec![]),
            Self::Thermostat { mode, setpoint, temperature: measured } => {
                let climate = Climate {
                    mode: Some(mode.word().into()),
                    modes: Mode::ALL.into(),
                    setpoint: Some(setpoint),
                    bounds: SETPOINT,
                    unit: "°C".into(),
                };
                (Status::Climate(climate), vec![temperature(measured)])
            }
            Self::Cover(position) => (Status::Cover { position: Some(position), is_moving: false }, vec![]),
            Self::Garage(open) => {
                (Status::Garage(Some(if open { Barrier::Open } else { Barrier::Closed })), vec![])
            }
            Self::Siren(on) => (Status::Siren(Some(on)), vec![]),
            Self::Temperature(celsius) => (Status::Sensor, vec![temperature(celsius)]),
            Self::Motion(seen) => (Status::Binary { class: Class::Motion, is_active: Some(seen) }, vec![]),
            Self::Contact(open) => (Status::Binary { class: Class::Contact, is_active: Some(open) }, vec![]),
            Self::Window(open) => (Status::Binary { class: Class::Window, is_active: Some(open) }, vec![]),
            Self::Button(_) => (Status::Button, vec![]),
        };
        let buttons = if let Self::Button(buttons) = *self { Some(buttons) } else { None };
        Snapshot {
            id: String::new(),
            node: 0,
            name: String::new(),
            room: String::new(),
            status,
            readings,
            buttons,
            battery: None,
            presence: Presence::Awake,
            changed: None,
            last_command: LastCommand::Settled,
        }
    }
}

/// The state in words, after "is".
impl fmt::Display for DeviceState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.bare().words())
    }
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.snapshot(None).fmt(f)
    }
}

impl Device {
    /// Everything about it as JSON.
    pub fn json(&self) -> Value {
        self.snapshot(None).json()
    }

    /// The device as tools and resources tell of it.
    pub(super) fn snapshot(&self, changed: Option<i64>) -> Snapshot {
        Snapshot {
            id: format!("{}-0", self.node),
            node: self.node,
            name: self.name.into(),
            room: self.room.into(),
            battery: self.battery,
            presence: if self.is_alive { Presence::Awake } else { Presence::Dead },
            changed,
            ..self.state.bare()
        }
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
