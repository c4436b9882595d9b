//! Runs the tools: finds what is named, sends commands, and says what became of them.

use std::fmt::Write as _;
use std::sync::Arc;

use rmcp::model::JsonObject;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::address::{Named, declared, find, full_name, members, named};
use super::controller::{CommandError, Controller, Outcome, sentences};
use super::device::{Command, Mode, NodeId};
use super::names::{self, Spelling};
use super::plans::Plans;
use super::snapshot::{Presence, Snapshot};

/// The result of a tool: words for a person, and where it helps, data.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) words: String,
    pub(super) data: Option<Value>,
}

/// The tools of one controller.
#[derive(Debug)]
pub(super) struct Toolbox<'a> {
    pub(super) controller: &'a Arc<dyn Controller>,
    pub(super) plans: &'a Plans,
}

impl Toolbox<'_> {
    /// Runs a tool with arguments that fit its schema. Dropping the future cancels it: a device that has not been
    /// reached by then stays as it is. None if there is no such tool; an error is for people to read.
    ///
    /// Nothing waits for the network: a call that arrives before it is up fails, and is never carried out later.
    pub(super) async fn run(
        &self,
        tool: &str,
        arguments: &JsonObject,
    ) -> Option<Result<Answer, CommandError>> {
        let text = |name: &str| arguments.get(name).and_then(Value::as_str);
        // A whole number may come as 5.0.
        let whole = |name: &str| arguments.get(name).and_then(Value::as_f64).map(|number| number as NodeId);
        let small = |name: &str| whole(name).map(|number| number.min(255) as u8);
        let changes = ["control_zwave_device", "set_thermostat", "lock_door", "activate_scene"];
        let is_change = changes.contains(&tool);
        // A name may mean another device as long as not all are known.
        let is_possible = match is_change {
            true => self.controller.ready().and_then(|()| self.controller.complete()),
            false if tool == "list_scenes" => Ok(()),
            false => self.controller.ready(),
        };
        if let Err(why) = is_possible {
            let words = if is_change { sentences(&why, "Nothing was done") } else { why };
            return Some(Err(words.into()));
        }
        Some(match tool {
            "control_zwave_device" => {
                let action = text("action").unwrap_or_default();
                match Command::parse(action, small("level"), text("color")) {
                    Ok(command) => self.control(text("deviceName").unwrap_or_default(), command).await,
                    Err(error) => Err(error.into()),
                }
            }
            "list_devices" => self.list(text("room"), text("kind")).await.map_err(Into::into),
            "get_device_status" => {
                self.status(text("deviceName").unwrap_or_default()).await.map_err(Into::into)
            }
            "set_thermostat" => {
                let (mode, setpoint) = (text("mode").and_then(Mode::parse), arguments.get("setpoint"));
                let setpoint = setpoint.and_then(Value::as_f64);
                if mode.is_none() && setpoint.is_none() {
                    let words = "set_thermostat needs a 'mode', a 'setpoint', or both";
                    return Some(Err(words.to_owned().into()));
                }
                let command = Command::Climate(mode, setpoint);
                self.command_one(text("deviceName"), "thermostat", command).await
            }
            "lock_door" => {
                let command = Command::Lock(text("action") == Some("lock"));
                self.command_one(text("deviceName"), "lock", command).await
            }
            "list_scenes" => self.list_scenes().await.map_err(Into::into),
            "activate_scene" => self.activate(text("sceneName").unwrap_or_default()).await,
            "get_battery_levels" => self.batteries(small("below")).await.map_err(Into::into),
            "ping_node" => self.ping(whole("nodeId").unwrap_or_default()).await.map_err(Into::into),
            _ => return None,
        })
    }

    async fn control(&self, name: &str, command: Command) -> Result<Answer, CommandError> {
        let devices = self.controller.devices();
        match named(name, &devices, self.plans)? {
            Named::Device(device) => {
                self.check_address(device, command, Some(name), &devices)?;
                self.command(device, command).await
            }
            Named::Group(group) => {
                let members = members(group, &devices, self.plans)?;
                let pairs: Vec<_> = members.into_iter().map(|device| (device, command)).collect();
                self.check_together(&pairs, &format!("the group {}", group.name), &devices)?;
                self.command_all(pairs).await.map_err(|(error, _)| error)
            }
        }
    }

    /// Sends a command to the device with this name, or to the only one of its kind.
    async fn command_one(
        &self,
        name: Option<&str>,
        kind: &str,
        command: Command,
    ) -> Result<Answer, CommandError> {
        let devices = self.controller.devices();
        let device = match name {
            Some(name) => find(name, &devices, self.plans)?,
            None => {
                let mut those = devices.iter().filter(|device| device.kind() == kind);
                match (those.next(), those.next()) {
                    (Some(device), None) => device,
                    (None, _) => return Err(format!("There is no {kind}").into()),
                    _ => {
                        return Err(
                            format!("There is more than one {kind}; say which in 'deviceName'").into()
                        );
                    }
                }
            }
        };
        self.check_address(device, command, name, &devices)?;
        self.command(device, command).await
    }

    /// Refuses a guarded command unless the caller used exactly the value that the device declares.
    fn check_address(
        &self,
        device: &Snapshot,
        command: Command,
        said: Option<&str>,
        devices: &[Snapshot],
    ) -> Result<(), String> {
        device.status.takes(command).map_err(|why| format!("{} {why}", device.name))?;
        let Some(effect) = device.status.guarded_effect(command) else { return Ok(()) };
        let exact = declared(device, devices, self.plans);
        if said == Some(exact.as_str()) { Ok(()) } else { Err(needs_exact(device, effect, &exact)) }
    }

    /// Refuses guarded commands in a group or scene, `place`, before any of its commands is sent.
    fn check_together(
        &self,
        pairs: &[(&Snapshot, Command)],
        place: &str,
        devices: &[Snapshot],
    ) -> Result<(), String> {
        let mut refused = pairs
            .iter()
            .filter_map(|(device, command)| Some((*device, device.status.guarded_effect(*command)?)));
        match refused.next() {
            Some((device, effect)) => {
                let exact = declared(device, devices, self.plans);
                Err(format!("{} is in {place}; {}", device.name, needs_exact(device, effect, &exact)))
            }
            None => Ok(()),
        }
    }

    async fn command(&self, device: &Snapshot, command: Command) -> Result<Answer, CommandError> {
        let name = &device.name;
        device.status.takes(command).map_err(|why| format!("{name} {why}"))?;
        Ok(match self.controller.command(device, command).await? {
            Outcome::Done(now) => {
                let data = json!({ "name": name, "state": now.tool_state() });
                Answer { words: format!("{name} is now {}", now.words()), data: Some(data) }
            }
            Outcome::Moving(now) => {
                let data = json!({ "name": name, "state": now.tool_state(), "moving": true });
                Answer { words: format!("{name} has begun, and is now {}", now.words()), data: Some(data) }
            }
            Outcome::Later => {
                let words = format!("{name} is asleep; it will be done when it wakes");
                Answer { words, data: Some(json!({ "name": name, "pending": true })) }
            }
        })
    }

    /// Sends commands to several devices at once. If any fails, the error says which, and whether all did.
    async fn command_all(&self, pairs: Vec<(&Snapshot, Command)>) -> Result<Answer, (CommandError, bool)> {
        let mut running = JoinSet::new();
        for (index, (device, command)) in pairs.iter().enumerate() {
            let (controller, plans) = (self.controller.clone(), Plans::default());
            let (device, command) = (Snapshot::clone(device), *command);
            running.spawn(async move {
                let toolbox = Toolbox { controller: &controller, plans: &plans };
                (index, toolbox.command(&device, command).await)
            });
        }
        let mut ended = running.join_all().await;
        ended.sort_by_key(|(index, _)| *index);
        let (mut done, mut failed, mut data) = (Vec::new(), Vec::new(), Vec::new());
        let mut is_unknown = false;
        for (_, outcome) in ended {
            match outcome {
                Ok(answer) => {
                    done.push(answer.words);
                    data.extend(answer.data);
                }
                Err(error) => {
                    is_unknown |= error.is_unknown;
                    failed.push(error.words);
                }
            }
        }
        if failed.is_empty() {
            return Ok(Answer { words: done.join("\n"), data: Some(json!({ "devices": data })) });
        }
        let is_none_done = done.is_empty();
        failed.extend(done);
        Err((CommandError { words: failed.join("\n"), is_unknown }, is_none_done))
    }

    async fn list(&self, room: Option<&str>, kind: Option<&str>) -> Result<Answer, String> {
        self.controller.look_up().await;
        let devices = self.controller.devices();
        let room = room.map(|wanted| find_room(wanted, &devices)).transpose()?;
        let those: Vec<&Snapshot> = devices
            .iter()
            .filter(|device| room.as_ref().is_none_or(|room| device.room == *room))
            .filter(|device| kind.is_none_or(|kind| device.kind() == kind))
            .collect();
        let line = |device: &&Snapshot| {
            let name = full_name(device, &devices);
            Snapshot { name, ..Snapshot::clone(device) }.to_string()
        };
        let words: Vec<String> = those.iter().map(line).collect();
        let brief = |device: &&Snapshot| {
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
        let devices = self.controller.devices();
        let device = find(name, &devices, self.plans)?;
        self.controller.look_up().await;
        let mut words = device.to_string();
        if let Some(percent) = device.battery {
            let _ = write!(words, ", its battery at {percent} percent");
        }
        if device.presence == Presence::Asleep {
            words += ", and asleep";
        }
        Ok(Answer { words, data: Some(device.json()) })
    }

    async fn list_scenes(&self) -> Result<Answer, String> {
        self.controller.look_up().await;
        let scenes = &self.plans.scenes;
        let words: Vec<_> = scenes.iter().map(|scene| format!("{}: {}", scene.name, scene.about)).collect();
        let names: Vec<_> = scenes.iter().map(|scene| scene.name.as_str()).collect();
        let words = if words.is_empty() { "There are no scenes".into() } else { words.join("\n") };
        Ok(Answer { words, data: Some(json!({ "scenes": names })) })
    }

    async fn activate(&self, name: &str) -> Result<Answer, CommandError> {
        let scenes = &self.plans.scenes;
        let spellings: Vec<_> = scenes.iter().map(|scene| Spelling::plain(&scene.name)).collect();
        let scene = &scenes[find_plain(name, &spellings, "Scene", "list_scenes")?];
        let devices = self.controller.devices();
        let mut pairs = Vec::new();
        for (name, command) in &scene.steps {
            let named = named(name, &devices, self.plans);
            match named.map_err(|error| format!("In the scene {}: {error}", scene.name))? {
                Named::Device(device) => pairs.push((device, *command)),
                Named::Group(group) => {
                    pairs.extend(
                        members(group, &devices, self.plans)?.into_iter().map(|device| (device, *command)),
                    );
                }
            }
        }
        self.check_together(&pairs, &format!("the scene {}", scene.name), &devices)?;
        match self.command_all(pairs).await {
            Ok(_) => Ok(Answer { words: format!("{} is set: {}", scene.name, scene.about), data: None }),
            Err((CommandError { words, is_unknown }, is_none_done)) => {
                let extent = if is_none_done { "was not set" } else { "was set only in part" };
                Err(CommandError { words: format!("{} {extent}:\n{words}", scene.name), is_unknown })
            }
        }
    }

    async fn batteries(&self, below: Option<u8>) -> Result<Answer, String> {
        self.controller.look_up().await;
        let devices = self.controller.devices();
        let mut those: Vec<(u8, &str)> = devices
            .iter()
            .filter_map(|device| Some((device.battery?, device.name.as_str())))
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

    async fn ping(&self, node: NodeId) -> Result<Answer, String> {
        let answered = self.controller.ping(node).await?;
        if node == self.controller.own_node() {
            let words = format!("Node {node} is this controller, and it is here");
            return Ok(Answer { words, data: None });
        }
        let devices = self.controller.devices();
        let name = devices.iter().find(|device| device.node == node).map(|device| device.name.as_str());
        let name = name.unwrap_or("no device");
        let Some(time) = answered else { return Err(format!("Node {node} ({name}) does not answer")) };
        let time = time.as_millis();
        Ok(Answer {
            words: format!("Node {node} ({name}) answers after {time} ms"),
            data: Some(json!({ "nodeId": node, "milliseconds": time as u64 })),
        })
    }
}

/// Why a guarded command was refused. The value is quoted as in JSON, so that every character of it can be seen.
fn needs_exact(device: &Snapshot, effect: &str, exact: &str) -> String {
    let exact = Value::from(exact);
    format!("{} {effect} only when 'deviceName' is exactly {exact}. Nothing was done", device.name)
}

fn find_room(wanted: &str, devices: &[Snapshot]) -> Result<String, String> {
    let mut rooms: Vec<&str> =
        devices.iter().map(|device| device.room.as_str()).filter(|room| !room.is_empty()).collect();
    rooms.sort_unstable();
    rooms.dedup();
    let spellings: Vec<_> = rooms.iter().map(|room| Spelling::plain(room)).collect();
    find_plain(wanted, &spellings, "Room", "list_devices").map(|index| rooms[index].into())
}

/// Finds what has a name and nothing else.
fn find_plain(wanted: &str, all: &[Spelling], what: &str, lister: &str) -> Result<usize, String> {
    let full = |index: usize| all[index].name.clone();
    names::find(wanted, all).map_err(|lost| lost.words(wanted, full, what, lister))
}
