//! The controller: its devices, and the tools that act on them.

use std::fmt::Write as _;
use std::sync::{Mutex, MutexGuard};

use rmcp::model::JsonObject;
use serde_json::{Value, json};

use super::device::{Command, Device, DeviceState, Mode};
use super::inventory::{self, SCENES};
use super::latency::{Latency, Operation};
use super::names;

/// The result of a tool: words for a person, and where it helps, data.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) words: String,
    pub(super) data: Option<Value>,
}

/// The devices, and how long operations on them take.
#[derive(Debug)]
pub(super) struct Controller {
    devices: Mutex<Vec<Device>>,
    latency: Latency,
}

impl Controller {
    pub(super) fn new(latency: Latency) -> Self {
        Self { devices: Mutex::new(inventory::devices()), latency }
    }

    /// All devices, in their current state.
    pub(super) fn devices(&self) -> MutexGuard<'_, Vec<Device>> {
        self.devices.lock().expect("no holder panics")
    }

    /// Runs a tool with arguments that fit its schema. Dropping the future cancels it: a device that has not been
    /// reached by then stays as it is. None if there is no such tool; an error is for people to read.
    pub(super) async fn run(&self, tool: &str, arguments: &JsonObject) -> Option<Result<Answer, String>> {
        let text = |name: &str| arguments.get(name).and_then(Value::as_str);
        // A whole number may come as 5.0.
        let small = |name: &str| arguments.get(name).and_then(Value::as_f64).map(|number| number as u8);
        Some(match tool {
            "control_zwave_device" => {
                self.control(text("deviceName"), text("action").unwrap_or_default(), small("level")).await
            }
            "list_devices" => self.list(text("room"), text("kind")).await,
            "get_device_status" => self.status(text("deviceName").unwrap_or_default()).await,
            "set_thermostat" => {
                let mode =
                    text("mode").and_then(|word| Mode::ALL.into_iter().find(|mode| mode.word() == word));
                let setpoint = arguments.get("setpoint").and_then(Value::as_f64);
                if mode.is_none() && setpoint.is_none() {
                    return Some(Err("set_thermostat needs a 'mode', a 'setpoint', or both".into()));
                }
                let command = Command::Climate(mode, setpoint);
                self.command_one(text("deviceName"), "thermostat", command).await
            }
            "lock_door" => {
                let command = Command::Lock(text("action") == Some("lock"));
                self.command_one(text("deviceName"), "lock", command).await
            }
            "list_scenes" => self.list_scenes().await,
            "activate_scene" => self.activate(text("sceneName").unwrap_or_default()).await,
            "get_battery_levels" => self.batteries(small("below")).await,
            "ping_node" => self.ping(small("nodeId").unwrap_or_default()).await,
            _ => return None,
        })
    }

    /// The device with this name, in any case.
    pub(super) fn device(&self, name: &str) -> Option<Device> {
        let devices = self.devices();
        let found = names::find(name, devices.iter().map(|device| device.name));
        devices.iter().find(|device| Some(device.name) == found).cloned()
    }

    /// The device with this name, or an error that suggests others.
    fn find(&self, name: &str) -> Result<Device, String> {
        self.device(name).ok_or_else(|| {
            let near = names::near(name, self.devices().iter().map(|device| device.name));
            not_found("Device", name, &near, "list_devices")
        })
    }

    /// Sends a command to a device, and waits until it has been done.
    async fn command(&self, device: &Device, command: Command) -> Result<DeviceState, String> {
        let Device { name, node, .. } = device;
        device.state.after(command).map_err(|why| format!("{name} {why}"))?;
        if !device.is_alive {
            self.latency.wait(Operation::Dead).await;
            return Err(format!(
                "{name} (node {node}) does not answer; it is marked as dead. Check its power"
            ));
        }
        self.latency.wait(Operation::Radio).await;
        // Looked up again: another client may have changed it in the meantime.
        let mut devices = self.devices();
        let device = devices
            .iter_mut()
            .find(|device| device.node == *node)
            .ok_or_else(|| format!("{name} is no longer there"))?;
        device.state = device.state.after(command).map_err(|why| format!("{name} {why}"))?;
        log::debug!("zwave: node {node} ({name}) is now {}", device.state);
        Ok(device.state)
    }

    async fn control(&self, name: Option<&str>, action: &str, level: Option<u8>) -> Result<Answer, String> {
        let device = self.find(name.unwrap_or_default())?;
        let command = match (action, level) {
            ("set_level", None) => return Err("The action set_level needs a 'level' from 0 to 99".into()),
            ("set_level" | "on", Some(level)) => Command::Level(level),
            ("on", None) => Command::Power(true),
            ("off", None) => Command::Power(false),
            ("toggle", None) => Command::Toggle,
            (_, Some(_)) => return Err(format!("The action {action} takes no 'level'")),
            (_, None) => return Err(format!("Unknown action '{action}'")),
        };
        let state = self.command(&device, command).await?;
        Ok(is_now(&device, state))
    }

    /// Sends a command to the device with this name, or to the only one of its kind.
    async fn command_one(&self, name: Option<&str>, kind: &str, command: Command) -> Result<Answer, String> {
        let device = match name {
            Some(name) => self.find(name)?,
            None => {
                let devices = self.devices();
                let mut those = devices.iter().filter(|device| device.state.kind() == kind);
                match (those.next(), those.next()) {
                    (Some(device), None) => device.clone(),
                    (None, _) => return Err(format!("There is no {kind}")),
                    _ => return Err(format!("There is more than one {kind}; say which in 'deviceName'")),
                }
            }
        };
        let state = self.command(&device, command).await?;
        Ok(is_now(&device, state))
    }

    async fn list(&self, room: Option<&str>, kind: Option<&str>) -> Result<Answer, String> {
        self.latency.wait(Operation::Cached).await;
        let devices = self.devices();
        let find_room = |wanted| {
            let rooms = || devices.iter().map(|device| device.room);
            names::find(wanted, rooms()).ok_or_else(|| {
                let mut near = names::near(wanted, rooms());
                near.dedup();
                not_found("Room", wanted, &near, "list_devices")
            })
        };
        let room = room.map(find_room).transpose()?;
        let those: Vec<&Device> = devices
            .iter()
            .filter(|device| room.is_none_or(|room| device.room == room))
            .filter(|device| kind.is_none_or(|kind| device.state.kind() == kind))
            .collect();
        let words: Vec<String> = those.iter().map(ToString::to_string).collect();
        let brief = |device: &&Device| {
            let mut about = device.json();
            // These are in get_device_status and get_battery_levels.
            about.as_object_mut().map(|about| about.remove("battery"));
            about
        };
        Ok(Answer {
            words: if words.is_empty() { "There are no such devices".into() } else { words.join("\n") },
            data: Some(json!({ "devices": those.iter().map(brief).collect::<Vec<_>>() })),
        })
    }

    async fn status(&self, name: &str) -> Result<Answer, String> {
        let device = self.find(name)?;
        self.latency.wait(Operation::Cached).await;
        let mut words = device.to_string();
        if let Some(percent) = device.battery {
            let _ = write!(words, ", its battery at {percent} percent");
        }
        Ok(Answer { words, data: Some(device.json()) })
    }

    async fn list_scenes(&self) -> Result<Answer, String> {
        self.latency.wait(Operation::Cached).await;
        let words: Vec<_> = SCENES.iter().map(|scene| format!("{}: {}", scene.name, scene.about)).collect();
        let names = SCENES.map(|scene| scene.name);
        Ok(Answer { words: words.join("\n"), data: Some(json!({ "scenes": names })) })
    }

    async fn activate(&self, name: &str) -> Result<Answer, String> {
        let all = || SCENES.iter().map(|scene| scene.name);
        let found = names::find(name, all());
        let Some(scene) = SCENES.iter().find(|scene| Some(scene.name) == found) else {
            return Err(not_found("Scene", name, &names::near(name, all()), "list_scenes"));
        };
        for (device, command) in scene.steps {
            self.command(&self.find(device)?, *command).await?;
        }
        Ok(Answer { words: format!("{} is set: {}", scene.name, scene.about), data: None })
    }

    async fn batteries(&self, below: Option<u8>) -> Result<Answer, String> {
        self.latency.wait(Operation::Cached).await;
        let devices = self.devices();
        let mut those: Vec<(u8, &str)> = devices
            .iter()
            .filter_map(|device| Some((device.battery?, device.name)))
            .filter(|(percent, _)| below.is_none_or(|below| *percent < below))
            .collect();
        those.sort_unstable();
        let words: Vec<_> =
            those.iter().map(|(percent, name)| format!("{name}: {percent} percent")).collect();
        let data: Vec<_> =
            those.iter().map(|(percent, name)| json!({ "name": name, "battery": percent })).collect();
        Ok(Answer {
            words: if words.is_empty() { "No battery is that low".into() } else { words.join("\n") },
            data: Some(json!({ "batteries": data })),
        })
    }

    async fn ping(&self, node: u8) -> Result<Answer, String> {
        if node == 1 {
            return Ok(Answer { words: "Node 1 is this controller, and it is here".into(), data: None });
        }
        let device = self.devices().iter().find(|device| device.node == node).cloned();
        let device = device.ok_or_else(|| format!("Node {node} is not in this network"))?;
        let operation = if device.is_alive { Operation::Radio } else { Operation::Dead };
        let time = self.latency.time(operation);
        tokio::time::sleep(time).await;
        let name = device.name;
        if !device.is_alive {
            return Err(format!("Node {node} ({name}) does not answer"));
        }
        let time = time.as_millis();
        Ok(Answer {
            words: format!("Node {node} ({name}) answers after {time} ms"),
            data: Some(json!({ "nodeId": node, "milliseconds": time as u64 })),
        })
    }
}

fn is_now(device: &Device, state: DeviceState) -> Answer {
    let data = json!({ "name": device.name, "state": state.json() });
    Answer { words: format!("{} is now {state}", device.name), data: Some(data) }
}

fn not_found(what: &str, name: &str, near: &[&str], lister: &str) -> String {
    let name: String = name.chars().take(64).collect();
    match near {
        [] => format!("{what} '{name}' not found; {lister} lists what there is"),
        _ => format!("{what} '{name}' not found; did you mean {}?", near.join(", ")),
    }
}
