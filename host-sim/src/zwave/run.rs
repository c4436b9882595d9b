//! Runs the tools: finds what is named, sends commands, and says what became of them.

use std::fmt::Write as _;
use std::sync::Arc;

use rmcp::model::JsonObject;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::controller::{Controller, Outcome};
use super::device::{Command, Mode, NodeId};
use super::names::{self, Spelling};
use super::plans::{Group, Plans};
use super::resource::group_ids;
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
    pub(super) async fn run(&self, tool: &str, arguments: &JsonObject) -> Option<Result<Answer, String>> {
        let text = |name: &str| arguments.get(name).and_then(Value::as_str);
        // A whole number may come as 5.0.
        let whole = |name: &str| arguments.get(name).and_then(Value::as_f64).map(|number| number as NodeId);
        let small = |name: &str| whole(name).map(|number| number.min(255) as u8);
        if tool != "list_scenes"
            && let Err(why) = self.controller.begun().await
        {
            return Some(Err(why));
        }
        Some(match tool {
            "control_zwave_device" => {
                let action = text("action").unwrap_or_default();
                match Command::parse(action, small("level"), text("color")) {
                    Ok(command) => self.control(text("deviceName").unwrap_or_default(), command).await,
                    Err(error) => Err(error),
                }
            }
            "list_devices" => self.list(text("room"), text("kind")).await,
            "get_device_status" => self.status(text("deviceName").unwrap_or_default()).await,
            "set_thermostat" => {
                let (mode, setpoint) = (text("mode").and_then(Mode::parse), arguments.get("setpoint"));
                let setpoint = setpoint.and_then(Value::as_f64);
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
            "ping_node" => self.ping(whole("nodeId").unwrap_or_default()).await,
            _ => return None,
        })
    }

    async fn control(&self, name: &str, command: Command) -> Result<Answer, String> {
        let devices = self.controller.devices();
        match named(name, &devices, &self.plans.groups)? {
            Named::Device(device) => self.command(device, command).await,
            Named::Group(group) => {
                let members = members(group, &devices)?;
                let pairs: Vec<_> = members.into_iter().map(|device| (device, command)).collect();
                check(&pairs, &format!("the group {}", group.name))?;
                self.command_all(pairs).await.map_err(|(error, _)| error)
            }
        }
    }

    /// Sends a command to the device with this name, or to the only one of its kind.
    async fn command_one(&self, name: Option<&str>, kind: &str, command: Command) -> Result<Answer, String> {
        let devices = self.controller.devices();
        let device = match name {
            Some(name) => find(name, &devices)?,
            None => {
                let mut those = devices.iter().filter(|device| device.kind() == kind);
                match (those.next(), those.next()) {
                    (Some(device), None) => device,
                    (None, _) => return Err(format!("There is no {kind}")),
                    _ => return Err(format!("There is more than one {kind}; say which in 'deviceName'")),
                }
            }
        };
        self.command(device, command).await
    }

    async fn command(&self, device: &Snapshot, command: Command) -> Result<Answer, String> {
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
    async fn command_all(&self, pairs: Vec<(&Snapshot, Command)>) -> Result<Answer, (String, bool)> {
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
        for (_, outcome) in ended {
            match outcome {
                Ok(answer) => {
                    done.push(answer.words);
                    data.extend(answer.data);
                }
                Err(words) => failed.push(words),
            }
        }
        if failed.is_empty() {
            return Ok(Answer { words: done.join("\n"), data: Some(json!({ "devices": data })) });
        }
        let is_none_done = done.is_empty();
        failed.extend(done);
        Err((failed.join("\n"), is_none_done))
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
        let device = find(name, &devices)?;
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

    async fn activate(&self, name: &str) -> Result<Answer, String> {
        let scenes = &self.plans.scenes;
        let spellings: Vec<_> = scenes.iter().map(|scene| Spelling::plain(&scene.name)).collect();
        let scene = &scenes[find_plain(name, &spellings, "Scene", "list_scenes")?];
        let devices = self.controller.devices();
        let mut pairs = Vec::new();
        for (name, command) in &scene.steps {
            let named = named(name, &devices, &self.plans.groups);
            match named.map_err(|error| format!("In the scene {}: {error}", scene.name))? {
                Named::Device(device) => pairs.push((device, *command)),
                Named::Group(group) => {
                    pairs.extend(members(group, &devices)?.into_iter().map(|device| (device, *command)));
                }
            }
        }
        check(&pairs, &format!("the scene {}", scene.name))?;
        match self.command_all(pairs).await {
            Ok(_) => Ok(Answer { words: format!("{} is set: {}", scene.name, scene.about), data: None }),
            Err((words, true)) => Err(format!("{} was not set:\n{words}", scene.name)),
            Err((words, false)) => Err(format!("{} was set only in part:\n{words}", scene.name)),
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

/// Refuses commands that a device takes only by its own name, before any of them is sent. They are together in `place`.
fn check(pairs: &[(&Snapshot, Command)], place: &str) -> Result<(), String> {
    let mut refused =
        pairs.iter().filter_map(|(device, command)| Some((device, device.status.needs_its_name(*command)?)));
    match refused.next() {
        Some((device, why)) => Err(format!("{} is in {place}; {why}. Nothing was done", device.name)),
        None => Ok(()),
    }
}

/// What a name stands for.
#[derive(Debug)]
pub(super) enum Named<'a> {
    Device(&'a Snapshot),
    Group(&'a Group),
}

/// The device or group with this id or name, or a question or an error that suggests others. A group by its own name comes
/// before a device that the name merely fits: what a hub takes for the group must not drive a device.
pub(super) fn named<'a>(
    name: &str,
    devices: &'a [Snapshot],
    groups: &'a [Group],
) -> Result<Named<'a>, String> {
    if let Some(index) = group_ids(groups).iter().position(|id| id == name.trim()) {
        return Ok(Named::Group(&groups[index]));
    }
    let is_device = |device: &Snapshot| device.id == name.trim() || spelling(device).is_called(name);
    let spellings: Vec<_> = groups.iter().map(|group| Spelling::plain(&group.name)).collect();
    match (find(name, devices), names::find(name, &spellings)) {
        (Ok(device), Ok(index)) if spellings[index].is_called(name) && !is_device(device) => {
            Ok(Named::Group(&groups[index]))
        }
        (Ok(device), _) => Ok(Named::Device(device)),
        (Err(_), Ok(index)) => Ok(Named::Group(&groups[index])),
        (Err(error), Err(_)) => Err(error),
    }
}

/// The devices of a group. The error says which is not found.
fn members<'a>(group: &Group, devices: &'a [Snapshot]) -> Result<Vec<&'a Snapshot>, String> {
    let members = group.devices.iter().map(|device| find(device, devices)).collect::<Result<_, _>>();
    members.map_err(|error| format!("In the group {}: {error}", group.name))
}

/// The device with this id or name, or a question or an error that suggests others.
pub(super) fn find<'a>(name: &str, devices: &'a [Snapshot]) -> Result<&'a Snapshot, String> {
    let wanted = name.trim();
    if let Some(device) = devices.iter().find(|device| device.id == wanted) {
        return Ok(device);
    }
    let spellings: Vec<_> = devices.iter().map(spelling).collect();
    let index = names::find(name, &spellings);
    let full = |index: usize| full_name(&devices[index], devices);
    index.map(|index| &devices[index]).map_err(|lost| lost.words(name, full, "Device", "list_devices"))
}

fn spelling(device: &Snapshot) -> Spelling {
    let Snapshot { id, name, room, .. } = device;
    let mut others = vec![format!("{name} {id}")];
    if !room.is_empty() {
        others.extend([format!("{room} {name}"), format!("{name} {room}")]);
    }
    Spelling { name: name.clone(), others }
}

/// Its name, and what tells it apart from others of the same name.
fn full_name(device: &Snapshot, devices: &[Snapshot]) -> String {
    let Snapshot { id, name, room, .. } = device;
    match twins(device, devices) {
        Twins::None => name.clone(),
        Twins::Elsewhere => format!("{name} ({room})"),
        Twins::Here => format!("{name} ({id})"),
    }
}

/// Other devices of the same name.
enum Twins {
    None,
    /// All of them are in other rooms.
    Elsewhere,
    Here,
}

fn twins(device: &Snapshot, devices: &[Snapshot]) -> Twins {
    let is_twin =
        |other: &&Snapshot| other.id != device.id && other.name.to_lowercase() == device.name.to_lowercase();
    let is_here = |other: &Snapshot| other.room.to_lowercase() == device.room.to_lowercase();
    match devices.iter().filter(is_twin).map(is_here).reduce(|one, other| one || other) {
        None => Twins::None,
        Some(false) if !device.room.is_empty() => Twins::Elsewhere,
        Some(_) => Twins::Here,
    }
}

/// A name that no other device or group answers to: its own, or with its room, or its id.
pub(super) fn unique_name(device: &Snapshot, devices: &[Snapshot], groups: &[Group]) -> String {
    let Snapshot { id, name, room, .. } = device;
    let spellings = [name.clone(), format!("{name} ({room})")];
    let is_it =
        |name: &String| matches!(named(name, devices, groups), Ok(Named::Device(found)) if found.id == *id);
    spellings.into_iter().find(is_it).unwrap_or_else(|| id.clone())
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
