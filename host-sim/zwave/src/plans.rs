//! Scenes and groups: several devices under one name.
//!
//! Those of the owner are in a file:
//!
//! ```json
//! {
//!   "groups": { "Downstairs": ["Hall Light", "Lamp in the kitchen"] },
//!   "scenes": {
//!     "Good Night": {
//!       "about": "all dark, front door locked",
//!       "steps": [
//!         { "device": "Downstairs", "action": "off" },
//!         { "device": "Front Door", "action": "lock" },
//!         { "device": "Thermostat", "mode": "heat", "setpoint": 17 }
//!       ]
//!     }
//!   }
//! }
//! ```

use std::path::Path;

use serde_json::{Map, Value};

use super::device::{Command, FULL, Mode};

/// How many scenes or groups there may be, and devices in one.
const MOST: usize = 64;

/// How long a name may be.
const NAME: usize = 64;

/// How much a file may hold.
const FILE: u64 = 256 * 1024;

/// Several commands under one name.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Scene {
    /// What people call it.
    pub(super) name: String,
    /// What it does, for people.
    pub(super) about: String,
    /// Which device or group is to do what, all at once.
    pub(super) steps: Vec<(String, Command)>,
}

/// Several devices under one name.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Group {
    /// What people call it.
    pub(super) name: String,
    /// The names of its devices.
    pub(super) devices: Vec<String>,
}

/// The scenes and groups of a home.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plans {
    pub(super) scenes: Vec<Scene>,
    pub(super) groups: Vec<Group>,
}

impl Plans {
    /// Reads a file of scenes and groups. The error says what is wrong with it.
    pub fn read(path: &Path) -> Result<Self, String> {
        let name = path.display();
        let length = std::fs::metadata(path).map_err(|error| format!("{name}: {error}"))?.len();
        if length > FILE {
            return Err(format!("{name} has {length} bytes; scenes and groups fit into {FILE}"));
        }
        let text = std::fs::read_to_string(path).map_err(|error| format!("{name}: {error}"))?;
        Self::parse(&text).map_err(|error| format!("{name}: {error}"))
    }

    /// Reads the text of such a file.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let file: Value = serde_json::from_str(text).map_err(|error| format!("not JSON: {error}"))?;
        let file = object(&file, "the file", &["groups", "scenes"])?;
        let mut plans = Self::default();
        for (name, devices) in entries(file, "groups")? {
            let devices = list(devices, &format!("the group '{name}'"))?;
            let devices: Option<Vec<String>> =
                devices.iter().map(|device| device.as_str().map(str::to_owned)).collect();
            let devices = devices.ok_or_else(|| format!("the group '{name}' lists names of devices"))?;
            plans.groups.push(Group { name: name.into(), devices });
        }
        for (name, scene) in entries(file, "scenes")? {
            let here = format!("the scene '{name}'");
            let scene = object(scene, &here, &["about", "steps"])?;
            let about = scene.get("about").and_then(Value::as_str).unwrap_or_default();
            let steps = list(scene.get("steps").unwrap_or(&Value::Null), &format!("'steps' of {here}"))?;
            let steps = steps.iter().map(step).collect::<Result<_, _>>();
            let steps = steps.map_err(|error| format!("{here}: {error}"))?;
            plans.scenes.push(Scene { name: name.into(), about: about.into(), steps });
        }
        Ok(plans)
    }

    /// Adds others; of two with one name, the later counts.
    pub(super) fn add(&mut self, other: Self) {
        self.scenes.retain(|scene| other.scenes.iter().all(|new| new.name != scene.name));
        self.scenes.extend(other.scenes);
        self.groups.retain(|group| other.groups.iter().all(|new| new.name != group.name));
        self.groups.extend(other.groups);
    }
}

/// One step of a scene: a device, and what it is to do.
fn step(step: &Value) -> Result<(String, Command), String> {
    let step = object(step, "a step", &["device", "action", "level", "color", "mode", "setpoint"])?;
    let text = |name: &str| step.get(name).and_then(Value::as_str);
    let number = |name: &str| step.get(name).and_then(Value::as_f64);
    let device = text("device").ok_or("a step needs a 'device'")?;
    let command = match text("action") {
        Some("lock") => Command::Lock(true),
        // activate_scene is no tool that asks before it opens the house.
        Some("unlock") => return Err(format!("{device}: a scene does not unlock doors; lock_door does")),
        Some(action) => {
            let level = number("level").map(|level| level.clamp(0.0, f64::from(FULL)) as u8);
            Command::parse(action, level, text("color")).map_err(|error| format!("{device}: {error}"))?
        }
        None => {
            let mode = text("mode")
                .map(|word| Mode::parse(word).ok_or_else(|| format!("{device}: there is no mode '{word}'")));
            match (mode.transpose()?, number("setpoint")) {
                (None, None) => {
                    return Err(format!("{device}: a step needs an 'action', a 'mode' or a 'setpoint'"));
                }
                (mode, setpoint) => Command::Climate(mode, setpoint),
            }
        }
    };
    Ok((device.into(), command))
}

fn object<'a>(value: &'a Value, what: &str, keys: &[&str]) -> Result<&'a Map<String, Value>, String> {
    let object = value.as_object().ok_or_else(|| format!("{what} must be an object in braces"))?;
    match object.keys().find(|key| !keys.contains(&key.as_str())) {
        Some(key) => Err(format!("{what} has an unknown '{key}'; it takes {}", keys.join(", "))),
        None => Ok(object),
    }
}

fn entries<'a>(file: &'a Map<String, Value>, key: &str) -> Result<Vec<(&'a str, &'a Value)>, String> {
    let Some(value) = file.get(key) else { return Ok(Vec::new()) };
    let entries = value.as_object().ok_or_else(|| format!("'{key}' must be an object in braces"))?;
    if entries.len() > MOST {
        return Err(format!("there are {} {key}; {MOST} is the most", entries.len()));
    }
    let is_named = |name: &str| !name.trim().is_empty() && name.chars().count() <= NAME;
    match entries.keys().find(|name| !is_named(name)) {
        Some(_) => Err(format!("each of the {key} needs a name of at most {NAME} letters")),
        None => Ok(entries.iter().map(|(name, value)| (name.as_str(), value)).collect()),
    }
}

fn list<'a>(value: &'a Value, what: &str) -> Result<&'a [Value], String> {
    match value.as_array().map(Vec::as_slice) {
        None | Some([]) => Err(format!("{what} must be a list in brackets, with something in it")),
        Some(list) if list.len() > MOST => {
            Err(format!("{what} has {} entries; {MOST} is the most", list.len()))
        }
        Some(list) => Ok(list),
    }
}

#[cfg(test)]
mod tests {
    use super::{Command, Group, Mode, Plans, Scene};

    #[test]
    fn a_file_has_groups_and_scenes() {
        let plans = Plans::parse(
            r#"{ "groups": { "Down": ["Hall Light", "Lamp"] }, "scenes": { "Night": { "about": "dark", "steps": [
                { "device": "Down", "action": "off" }, { "device": "Lamp", "action": "set_level", "level": 5 },
                { "device": "Door", "action": "lock" }, { "device": "Heat", "mode": "heat", "setpoint": 17 } ] } } }"#,
        );
        let steps = [
            ("Down", Command::Power(false)),
            ("Lamp", Command::Level(5)),
            ("Door", Command::Lock(true)),
            ("Heat", Command::Climate(Some(Mode::Heat), Some(17.0))),
        ];
        let steps = steps.map(|(name, command)| (name.to_owned(), command)).to_vec();
        let groups = vec![Group { name: "Down".into(), devices: vec!["Hall Light".into(), "Lamp".into()] }];
        let scenes = vec![Scene { name: "Night".into(), about: "dark".into(), steps }];
        assert_eq!(plans, Ok(Plans { scenes, groups }));
    }

    #[test]
    fn what_is_wrong_with_a_file_is_said() {
        let scene = |steps: &str| format!(r#"{{"scenes":{{"S":{{"steps":{steps}}}}}}}"#);
        for (text, words) in [
            ("[1]".into(), "the file must be an object"),
            ("{".into(), "not JSON"),
            (r#"{"scene":{}}"#.into(), "the file has an unknown 'scene'; it takes groups, scenes"),
            (r#"{"groups":{"G":[]}}"#.into(), "the group 'G' must be a list"),
            (r#"{"groups":{"G":[1]}}"#.into(), "the group 'G' lists names"),
            (r#"{"groups":{" ":["x"]}}"#.into(), "needs a name"),
            (scene("5"), "'steps' of the scene 'S' must be a list"),
            (scene(r#"[{"action":"on"}]"#), "the scene 'S': a step needs a 'device'"),
            (scene(r#"[{"device":"D"}]"#), "D: a step needs an 'action', a 'mode' or a 'setpoint'"),
            (scene(r#"[{"device":"D","action":"unlock"}]"#), "D: a scene does not unlock doors"),
            (scene(r#"[{"device":"D","action":"fly"}]"#), "D: Unknown action 'fly'"),
            (scene(r#"[{"device":"D","mode":"warm"}]"#), "D: there is no mode 'warm'"),
            (scene(r#"[{"device":"D","level":5}]"#), "D: a step needs an 'action'"),
        ] {
            let error = Plans::parse(&text).expect_err(&text);
            assert!(error.contains(words), "{text}: {error}");
        }
    }
}
