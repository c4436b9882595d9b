//! The devices and scenes of a new home.

use super::device::{Command, Device, DeviceState, FULL, Mode, NodeId};
use super::plans::Scene;
use super::press::Buttons;

/// A scene of every simulated home.
struct BuiltIn {
    name: &'static str,
    about: &'static str,
    steps: &'static [(&'static str, Command)],
}

/// The scenes of a new home.
pub(super) fn scenes() -> Vec<Scene> {
    let steps =
        |steps: &[(&str, Command)]| steps.iter().map(|(name, command)| ((*name).into(), *command)).collect();
    let scenes = SCENES.iter();
    scenes
        .map(|scene| Scene { name: scene.name.into(), about: scene.about.into(), steps: steps(scene.steps) })
        .collect()
}

const SCENES: [BuiltIn; 4] = [
    BuiltIn {
        name: "Good Morning",
        about: "kitchen and hall lit, heating up",
        steps: &[
            ("Kitchen Light", Command::Power(true)),
            ("Hall Light", Command::Level(60)),
            ("Living Room Thermostat", Command::Climate(Some(Mode::Heat), Some(21.0))),
        ],
    },
    BuiltIn {
        name: "Movie Night",
        about: "living room dark, hall dimmed",
        steps: &[
            ("Ceiling Lamp", Command::Level(5)),
            ("Floor Lamp", Command::Power(false)),
            ("Hall Light", Command::Level(10)),
        ],
    },
    BuiltIn {
        name: "Good Night",
        about: "all lights off, front door locked, heating down",
        steps: &[
            ("Kitchen Light", Command::Power(false)),
            ("Ceiling Lamp", Command::Power(false)),
            ("Floor Lamp", Command::Power(false)),
            ("Hall Light", Command::Power(false)),
            ("Porch Light", Command::Power(false)),
            ("Front Door", Command::Lock(true)),
            ("Living Room Thermostat", Command::Climate(Some(Mode::Heat), Some(17.0))),
        ],
    },
    BuiltIn {
        name: "Away",
        about: "coffee machine off, porch lit, front door locked",
        steps: &[
            ("Coffee Machine", Command::Power(false)),
            ("Porch Light", Command::Power(true)),
            ("Front Door", Command::Lock(true)),
        ],
    },
];

/// The devices of a new home, by node. Node 1 is the controller itself.
pub(super) fn devices() -> Vec<Device> {
    use DeviceState::{
        Button, Contact, Cover, Dimmer, Lock, Motion, Siren, Switch, Temperature, Thermostat, Window,
    };
    let off = Dimmer { level: 0, last: FULL };
    let thermostat = Thermostat { mode: Mode::Heat, setpoint: 20.5, temperature: 20.0 };
    let buttons = Buttons { count: Some(4), presses: 0, last: None };
    vec![
        powered(2, "Switch One", "Living Room", Switch(false)),
        powered(3, "Ceiling Lamp", "Living Room", off),
        powered(4, "Floor Lamp", "Living Room", Switch(true)),
        powered(5, "Living Room Thermostat", "Living Room", thermostat),
        on_battery(6, "Living Room Window", "Living Room", Window(false), 88),
        powered(7, "Kitchen Light", "Kitchen", Switch(false)),
        powered(8, "Coffee Machine", "Kitchen", Switch(false)),
        on_battery(9, "Kitchen Temperature", "Kitchen", Temperature(21.4), 64),
        powered(10, "Hall Light", "Hall", Dimmer { level: 30, last: 30 }),
        on_battery(11, "Hall Motion", "Hall", Motion(false), 47),
        on_battery(12, "Front Door", "Hall", Lock(true), 72),
        on_battery(13, "Front Door Contact", "Hall", Contact(false), 95),
        powered(14, "Bedside Lamp", "Bedroom", off),
        on_battery(15, "Bedroom Temperature", "Bedroom", Temperature(18.9), 12),
        powered(16, "Porch Light", "Outside", Switch(false)),
        on_battery(17, "Porch Motion", "Outside", Motion(true), 33),
        // Somebody pulled its plug.
        Device { is_alive: false, ..powered(18, "Garden Pump", "Outside", Switch(false)) },
        powered(19, "Porch Awning", "Outside", Cover(FULL)),
        powered(20, "Alarm Siren", "Hall", Siren(false)),
        on_battery(22, "Bedside Button", "Bedroom", Button(buttons), 81),
    ]
}

const fn powered(node: NodeId, name: &'static str, room: &'static str, state: DeviceState) -> Device {
    Device { node, name, room, state, battery: None, is_alive: true }
}

const fn on_battery(
    node: NodeId,
    name: &'static str,
    room: &'static str,
    state: DeviceState,
    percent: u8,
) -> Device {
    Device { node, name, room, state, battery: Some(percent), is_alive: true }
}

#[cfg(test)]
mod tests {
    use super::{SCENES, devices};
    use std::collections::BTreeSet;

    #[test]
    fn nodes_and_names_are_unique() {
        let devices = devices();
        assert_eq!(devices.iter().map(|device| device.node).collect::<BTreeSet<_>>().len(), devices.len());
        assert_eq!(devices.iter().map(|device| device.name).collect::<BTreeSet<_>>().len(), devices.len());
    }

    #[test]
    fn every_step_of_a_scene_can_be_done() {
        let devices = devices();
        for (name, command) in SCENES.iter().flat_map(|scene| scene.steps) {
            let device = devices.iter().find(|device| device.name == *name).expect(name);
            device.state.after(*command).expect(name);
        }
    }
}
