//! Which calls serve a wish.

use serde_json::{Value, json};

use super::conversation::ToolCall;
use super::devices::{Ability, Device, Known, Meant};
use super::grammar::{Condition, Flag, Intent, Power, Scope, Target, Volume};
use super::offer::{Offer, Wanted, find};
use super::speech::list;

/// What a wish needs.
#[derive(Debug, PartialEq)]
pub(super) enum Need {
    /// These calls; their results answer it, or tell what is needed next.
    Calls(Vec<ToolCall>),
    /// Nothing but words.
    Say(String),
}

const DEVICE: &[&str] = &["devicename", "device", "name", "devicenames", "target"];
const ACTION: &[&str] = &["action", "command", "state"];
const LEVEL: &[&str] = &["level", "brightness", "percent", "value"];

/// What a wish needs, from what is known and offered.
pub(super) fn need(intent: &Intent, known: &Known, offers: &[Offer]) -> Need {
    let tools = Tools { known, offers };
    match intent {
        Intent::Who => Need::Say(super::SELF.into()),
        Intent::Hello => Need::Say("Hello! What can I do for you?".into()),
        Intent::Thanks => Need::Say("You are welcome.".into()),
        Intent::Clock => tools.one("datetime", &[], "tell the time"),
        Intent::Volume(volume) => {
            let wanted: Vec<Wanted<'_>> = match volume {
                Volume::Tell => vec![],
                Volume::Level(level) => vec![(&["level", "volume", "percent"], vec![json!(level)])],
                Volume::Change(change) => vec![(&["change", "delta", "by"], vec![json!(change)])],
            };
            tools.one("volume", &wanted, "change the volume")
        }
        Intent::Flag(scope, flag) => tools.flag(*scope, flag),
        Intent::Batteries(below) => {
            let limit =
                below.map(|percent| -> Wanted<'_> { (&["below", "threshold"], vec![json!(percent)]) });
            let wanted: Vec<_> = limit.into_iter().collect();
            match tools.try_one("get_battery_levels", &wanted) {
                Some(call) => Need::Calls(vec![call]),
                None => tools.one("get_battery_levels", &[], "look at batteries"),
            }
        }
        Intent::Search(query) => tools.one("search", &[(&["query", "q"], vec![json!(query)])], "search"),
        Intent::Ping(node) => {
            let wanted: [Wanted<'_>; 1] = [(&["nodeid", "node"], vec![json!(node)])];
            tools.one("ping_node", &wanted, "ping nodes")
        }
        Intent::Scene(name) => {
            let wanted: [Wanted<'_>; 1] = [(&["scenename", "scene", "name"], vec![json!(name)])];
            tools.one("activate_scene", &wanted, "set scenes")
        }
        Intent::Scenes => tools.one("list_scenes", &[], "list scenes"),
        Intent::Thermostat { mode, setpoint } => {
            let mode = mode.map(|mode| -> Wanted<'_> { (&["mode"], vec![json!(mode)]) });
            let setpoint = setpoint.map(|degrees| -> Wanted<'_> {
                (&["setpoint", "temperature", "target"], vec![json!(degrees)])
            });
            let wanted: Vec<_> = mode.into_iter().chain(setpoint).collect();
            tools.one("set_thermostat", &wanted, "set the heating")
        }
        Intent::Temperature(place) => tools.temperature(place),
        Intent::Sum { expression, .. } => {
            tools.one("math_eval", &[(&["expression"], vec![json!(expression)])], "calculate")
        }
        Intent::Lock { target, locks } => tools.lock(target, *locks),
        Intent::Level { target, percent } => tools.each(target, Ability::Level, |device| {
            let highest = find(offers, "control_zwave_device").and_then(|tool| tool.maximum(LEVEL));
            let level = match highest {
                // 255 steps are no percents; 99, as Z-Wave has them, nearly are.
                Some(highest) if highest > 100.0 => (f64::from(*percent) * highest / 100.0).round(),
                Some(highest) => f64::from(*percent).min(highest),
                None => f64::from(*percent),
            };
            vec![
                (DEVICE, vec![json!(device)]),
                (ACTION, ["set_level", "level", "dim", "set"].map(Value::from).into()),
                (LEVEL, vec![json!(level as u16)]),
            ]
        }),
        Intent::Power { target, power } => tools.each(target, Ability::Power, |device| {
            let words = match power {
                Power::On => ["on", "turn_on", "true"],
                Power::Off => ["off", "turn_off", "false"],
                Power::Toggle => ["toggle", "flip", "switch"],
            };
            vec![(DEVICE, vec![json!(device)]), (ACTION, words.map(Value::from).into())]
        }),
        Intent::Status { target, expected } => tools.status(target, *expected),
        Intent::Devices { .. } => tools.one("list_devices", &[], "list devices"),
    }
}

struct Tools<'a> {
    known: &'a Known,
    offers: &'a [Offer],
}

impl Tools<'_> {
    fn try_one(&self, name: &str, wanted: &[Wanted<'_>]) -> Option<ToolCall> {
        find(self.offers, name)?.call(wanted)
    }

    /// One call, or that there is no tool to `able` with.
    fn one(&self, name: &str, wanted: &[Wanted<'_>], able: &str) -> Need {
        match self.try_one(name, wanted) {
            Some(call) => Need::Calls(vec![call]),
            None => Need::Say(format!("I cannot {able} here: there is no tool for it.")),
        }
    }

    fn flag(&self, scope: Scope, flag: &Flag) -> Need {
        let end = |verb: &str, plural: &str| match scope {
            Scope::Project => format!("{verb}_project_flag{plural}"),
            Scope::Everybody => format!("{verb}_feature_flag{plural}"),
        };
        match flag {
            Flag::List => self.one(&end("list", "s"), &[], "list flags"),
            Flag::Get(name) => self.one(&end("get", ""), &[(&["name"], vec![json!(name)])], "read flags"),
            Flag::Set(name, value) => {
                let wanted: [Wanted<'_>; 2] =
                    [(&["name"], vec![json!(name)]), (&["value"], vec![value.clone()])];
                self.one(&end("set", ""), &wanted, "set flags")
            }
        }
    }

    /// Finds who is meant. The controller is asked for all devices if it may know more than the model does.
    fn meant(&self, target: &Target, ability: Ability) -> Result<Vec<&Device>, Need> {
        let meant = self.known.meant(target, ability);
        let is_certain = matches!(&meant, Meant::These(_) if !target.is_plural);
        if !self.known.is_listed
            && !is_certain
            && let Some(call) = self.try_one("list_devices", &[])
        {
            return Err(Need::Calls(vec![call]));
        }
        match meant {
            Meant::These(devices) => Ok(devices),
            Meant::OneOf(devices) => {
                let names: Vec<_> = devices.iter().map(|device| device.name.clone()).collect();
                Err(Need::Say(format!("Which one do you mean: {}?", list(&names, "or"))))
            }
            Meant::Nobody => {
                let name = target.words.join(" ");
                Err(Need::Say(format!("I found no '{name}' that can do that.")))
            }
        }
    }

    /// The same call for everyone who is meant.
    fn each<'a>(&self, target: &Target, ability: Ability, wanted: impl Fn(&str) -> Vec<Wanted<'a>>) -> Need {
        let devices = match self.meant(target, ability) {
            Ok(devices) => devices,
            Err(need) => return need,
        };
        let calls: Option<Vec<_>> = devices
            .iter()
            .map(|device| self.try_one("control_zwave_device", &wanted(&device.name)))
            .collect();
        match calls {
            Some(calls) => Need::Calls(calls),
            None => Need::Say("I cannot control devices here: there is no tool for it.".into()),
        }
    }

    fn lock(&self, target: &Target, locks: bool) -> Need {
        let action = match locks {
            true => ["lock", "on", "secure"],
            false => ["unlock", "off", "open"],
        };
        let action: Wanted<'_> = (ACTION, action.map(Value::from).into());
        let is_any = target.is_empty() || target.words == ["door"] || target.words == ["lock"];
        if is_any && let Some(call) = self.try_one("lock_door", std::slice::from_ref(&action)) {
            return Need::Calls(vec![call]);
        }
        let devices = match self.meant(target, Ability::Lock) {
            Ok(devices) => devices,
            Err(need) => return need,
        };
        let call = |device: &&Device| {
            self.try_one("lock_door", &[(DEVICE, vec![json!(device.name)]), action.clone()])
        };
        match devices.iter().map(call).collect() {
            Some(calls) => Need::Calls(calls),
            None => Need::Say("I cannot lock doors here: there is no tool for it.".into()),
        }
    }

    fn temperature(&self, place: &Target) -> Need {
        if place.is_empty() {
            let kind: Wanted<'_> =
                (&["kind", "type"], vec![json!("temperature_sensor"), json!("temperature")]);
            return match self.try_one("list_devices", &[kind]) {
                Some(call) => Need::Calls(vec![call]),
                None => self.one("list_devices", &[], "measure the temperature"),
            };
        }
        match self.meant(place, Ability::Temperature) {
            Ok(devices) => self.ask_status(&devices),
            Err(need) => need,
        }
    }

    fn status(&self, target: &Target, expected: Option<Condition>) -> Need {
        let ability = match expected {
            Some(Condition::On(_)) => Ability::Power,
            Some(Condition::Locked(_)) => Ability::Lock,
            Some(Condition::Open(_)) => Ability::Open,
            Some(Condition::Motion(_)) => Ability::Motion,
            None => Ability::Anything,
        };
        match self.meant(target, ability) {
            Ok(devices) => self.ask_status(&devices),
            Err(need) => need,
        }
    }

    fn ask_status(&self, devices: &[&Device]) -> Need {
        let call =
            |device: &&Device| self.try_one("get_device_status", &[(DEVICE, vec![json!(device.name)])]);
        match devices.iter().map(call).collect() {
            Some(calls) => Need::Calls(calls),
            None => Need::Say("I cannot look at devices here: there is no tool for it.".into()),
        }
    }
}
