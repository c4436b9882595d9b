//! The calls that an intent needs.

use serde_json::{Value, json};

use super::conversation::{Conversation, ToolCall, result};
use super::devices::{Ability, Device, Known, Matched, listed};
use super::explain;
use super::grammar::{Condition, Flag, Intent, Power, Scope, Target, Volume};
use super::offer::{Offer, Wanted, find};
use super::speech::list;

/// What an intent needs.
#[derive(Debug, PartialEq)]
pub(super) enum Plan {
    /// These calls; their results answer it, or lead to the next ones.
    Calls(Vec<ToolCall>),
    /// Only words.
    Say(String),
    /// A tool that is not offered: the words that say so.
    Missing(String),
}

const DEVICE: &[&str] = &["devicename", "device", "name", "devicenames", "target"];
const ACTION: &[&str] = &["action", "command", "state"];
const SETPOINT: &[&str] = &["setpoint", "temperature", "target"];
const LEVEL: &[&str] = &["level", "brightness", "percent", "value"];

/// What an intent needs, from the known devices and the offered tools.
pub(super) fn plan(intent: &Intent, known: &Known, conversation: &Conversation) -> Plan {
    let offers = conversation.offers.as_slice();
    let tools = Tools { known, offers, conversation };
    match intent {
        Intent::Who => Plan::Say(super::SELF.into()),
        Intent::Hello => Plan::Say("Hello! I am a demo of a hub. What can I do for you?".into()),
        Intent::Thanks => Plan::Say("You are welcome.".into()),
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
            tools.one_or_bare("get_battery_levels", limit.as_slice(), "look at batteries")
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
            let setpoint = setpoint.map(|degrees| -> Wanted<'_> { (SETPOINT, vec![json!(degrees)]) });
            let wanted: Vec<_> = mode.into_iter().chain(setpoint).collect();
            tools.one("set_thermostat", &wanted, "set the heating")
        }
        Intent::Temperature(target) => tools.temperature(target),
        Intent::Sum { expression, .. } => {
            tools.one("math_eval", &[(&["expression"], vec![json!(expression)])], "calculate")
        }
        Intent::Lock { target, locks } => tools.lock(target, *locks),
        Intent::Level { target, percent } => {
            tools.control(target, Ability::Level, |device| tools.level(device, *percent))
        }
        Intent::Power { target, power } => {
            tools.control(target, Ability::Power, |device| power_of(device, *power))
        }
        Intent::Status { target, expected } => tools.status(target, *expected),
        Intent::Devices { .. } | Intent::Rooms | Intent::Report { .. } => {
            tools.one("list_devices", &[], "list devices")
        }
        Intent::Warmer(change) => tools.warmer(*change),
        Intent::Brighter { target, change } => tools.brighter(target, *change),
        Intent::Night { except } => tools.night(except),
        Intent::Explain { about } => explain::plan(about, &tools),
        Intent::Cannot(able) => {
            Plan::Say(format!("I cannot {able}: I am a demo, and the hub has no tool for it."))
        }
        Intent::Refrain => Plan::Say("All right, I leave it as it is.".into()),
    }
}

/// All of these calls, or that there is no tool to `able` with.
fn calls(calls: impl IntoIterator<Item = Option<ToolCall>>, able: &str) -> Plan {
    match calls.into_iter().collect() {
        Some(calls) => Plan::Calls(calls),
        None => Plan::Missing(format!("I cannot {able} here: there is no tool for it.")),
    }
}

fn power_of<'a>(device: &str, power: Power) -> Vec<Wanted<'a>> {
    let words = match power {
        Power::On => ["on", "turn_on", "true"],
        Power::Off => ["off", "turn_off", "false"],
        Power::Toggle => ["toggle", "flip", "switch"],
    };
    vec![(DEVICE, vec![json!(device)]), (ACTION, words.map(Value::from).into())]
}

/// The known devices and the offered tools.
pub(super) struct Tools<'a> {
    pub(super) known: &'a Known,
    pub(super) offers: &'a [Offer],
    pub(super) conversation: &'a Conversation,
}

impl Tools<'_> {
    pub(super) fn try_one(&self, name: &str, wanted: &[Wanted<'_>]) -> Option<ToolCall> {
        find(self.offers, name)?.call(wanted)
    }

    /// One call, or that there is no tool to `able` with.
    pub(super) fn one(&self, name: &str, wanted: &[Wanted<'_>], able: &str) -> Plan {
        calls([self.try_one(name, wanted)], able)
    }

    /// The same, without arguments if the tool does not take them.
    fn one_or_bare(&self, name: &str, wanted: &[Wanted<'_>], able: &str) -> Plan {
        calls([self.try_one(name, wanted).or_else(|| self.try_one(name, &[]))], able)
    }

    fn flag(&self, scope: Scope, flag: &Flag) -> Plan {
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

    /// The devices that a target names. The controller is asked for all devices if it may know more than the model does.
    fn find(&self, target: &Target, ability: Ability) -> Result<Vec<&Device>, Plan> {
        if target.words == ["it"] {
            return self.last_device(ability);
        }
        let matched = self.known.find(target, ability);
        let is_certain = matches!(&matched, Matched::All(_) if !target.is_plural);
        // The list may have been cut since, but a call that acted came after it.
        let has_acted = self.conversation.calls_now().any(|made| !made.call.name.ends_with("list_devices"));
        if !self.known.is_listed
            && !is_certain
            && !has_acted
            && let Some(call) = self.try_one("list_devices", &[])
        {
            return Err(Plan::Calls(vec![call]));
        }
        if let (_, unknown) = self.known.named(&target.except)
            && !unknown.is_empty()
        {
            let unknown = unknown.join(" ");
            return Err(Plan::Say(format!("I found no '{unknown}' to leave out, so I did nothing.")));
        }
        match matched {
            Matched::All(devices) => Ok(devices),
            Matched::Ambiguous(devices) => {
                let names: Vec<_> = devices.iter().map(|device| device.name.clone()).collect();
                Err(Plan::Say(format!("Which one do you mean: {}?", list(&names, "or"))))
            }
            Matched::None => Err(Plan::Say(self.explain_none(target))),
        }
    }

    /// "It" is the device that was named last, for something that was said before.
    fn last_device(&self, ability: Ability) -> Result<Vec<&Device>, Plan> {
        let conversation = self.conversation;
        let earlier = conversation.calls.iter().take(conversation.since).rev();
        let mut names = earlier.filter_map(|made| {
            made.call.arguments.as_object()?.values().find_map(|value| {
                self.known.devices.iter().find(|device| Some(device.name.as_str()) == value.as_str())
            })
        });
        match names.next() {
            Some(device) if ability.is_of(&device.kind) => Ok(vec![device]),
            Some(device) => Err(Plan::Say(format!("{} cannot do that.", device.name))),
            None => Err(Plan::Say("I do not know what you mean by 'it': say its name.".into())),
        }
    }

    /// Why no device matches: there is no such thing, or it cannot do that.
    fn explain_none(&self, target: &Target) -> String {
        match self.known.find(target, Ability::Anything) {
            Matched::All(devices) if !target.is_plural => {
                let names: Vec<_> = devices
                    .iter()
                    .map(|device| {
                        format!("{} cannot do that: it is a {}", device.name, device.kind.replace('_', " "))
                    })
                    .collect();
                list(&names, "and")
            }
            Matched::None => format!("I know no '{}' in this home.", target.words.join(" ")),
            _ => format!("I found no '{}' that can do that.", target.words.join(" ")),
        }
    }

    /// A level for a dimmer.
    fn level<'a>(&self, device: &str, percent: u8) -> Vec<Wanted<'a>> {
        let highest = find(self.offers, "control_zwave_device").and_then(|tool| tool.maximum(LEVEL));
        let level = match highest {
            // 255 steps are no percents; 99, as Z-Wave has them, nearly are.
            Some(highest) if highest > 100.0 => (f64::from(percent) * highest / 100.0).round(),
            Some(highest) => f64::from(percent).min(highest),
            None => f64::from(percent),
        };
        vec![
            (DEVICE, vec![json!(device)]),
            (ACTION, ["set_level", "level", "dim", "set"].map(Value::from).into()),
            (LEVEL, vec![json!(level as u16)]),
        ]
    }

    /// The state of a device in the result of a call for the question.
    fn state(&self, call: &ToolCall) -> Option<&Value> {
        Some(&result(&self.conversation.result_of(call)?.content)["state"])
    }

    /// First reads the setpoint, then sets a higher or lower one.
    fn warmer(&self, change: f64) -> Plan {
        let target = Target::new(&["thermostat".to_owned()]);
        let plan = self.status(&target, None);
        let Plan::Calls(calls) = &plan else { return plan };
        let setpoint = calls.iter().find_map(|call| self.state(call)?["setpoint"].as_f64());
        match setpoint {
            None => plan,
            Some(setpoint) => {
                let wanted: [Wanted<'_>; 1] = [(SETPOINT, vec![json!(setpoint + change)])];
                self.one("set_thermostat", &wanted, "set the heating")
            }
        }
    }

    /// First reads the level, then sets a higher or lower one.
    fn brighter(&self, target: &Target, change: i8) -> Plan {
        let devices = match self.find(target, Ability::Level) {
            Ok(devices) => devices,
            Err(plan) => return plan,
        };
        let plan = self.ask_status(&devices);
        let Plan::Calls(asked) = &plan else { return plan };
        let levels: Option<Vec<f64>> = asked.iter().map(|call| self.state(call)?["level"].as_f64()).collect();
        let Some(levels) = levels else { return plan };
        let call = |(device, level): (&&Device, f64)| {
            // Darker is not off.
            let percent = (level + f64::from(change)).clamp(5.0, 100.0) as u8;
            self.try_one("control_zwave_device", &self.level(&device.name, percent))
        };
        calls(devices.iter().zip(levels).map(call), "control devices")
    }

    /// Looks at what matters at night, and switches off the lights that are on. All that was switched off counts, even if
    /// the lists have been cut in the meantime.
    fn night(&self, except: &[String]) -> Plan {
        const KINDS: [&str; 4] = ["dimmer", "switch", "contact_sensor", "lock"];
        let list = |kind: &str| self.try_one("list_devices", &[(&["kind", "type"], vec![json!(kind)])]);
        // One kind after the other: the hub cuts long results.
        let mut calls: Vec<_> = KINDS.iter().filter_map(|kind| list(kind)).collect();
        if calls.len() < KINDS.len() {
            match self.one("list_devices", &[], "look at the lights") {
                Plan::Calls(all) => calls = all,
                none => return none,
            }
        }
        let results: Vec<_> = calls.iter().filter_map(|call| self.conversation.result_of(call)).collect();
        let devices =
            results.iter().filter_map(|result| listed(&result.content)).flat_map(|(devices, _)| devices);
        let known = Known::listed(devices.collect());
        let (stay, _) = known.named(except);
        let shines =
            |device: &&Device| device.is_light() && device.state["on"] == true && !stay.contains(device);
        let off =
            known.devices.iter().filter(shines).filter_map(|device| {
                self.try_one("control_zwave_device", &power_of(&device.name, Power::Off))
            });
        let made = self
            .conversation
            .calls_now()
            .map(|made| &made.call)
            .filter(|call| call.name.ends_with("control_zwave_device"));
        for call in made.cloned().chain(off) {
            if !calls.contains(&call) {
                calls.push(call);
            }
        }
        Plan::Calls(calls)
    }

    /// One call for each device that a target names.
    fn each(
        &self,
        target: &Target,
        ability: Ability,
        able: &str,
        call: impl Fn(&&Device) -> Option<ToolCall>,
    ) -> Plan {
        self.find(target, ability).map_or_else(|plan| plan, |devices| calls(devices.iter().map(call), able))
    }

    fn control<'a>(
        &self,
        target: &Target,
        ability: Ability,
        wanted: impl Fn(&str) -> Vec<Wanted<'a>>,
    ) -> Plan {
        let call = |device: &&Device| self.try_one("control_zwave_device", &wanted(&device.name));
        self.each(target, ability, "control devices", call)
    }

    fn lock(&self, target: &Target, locks: bool) -> Plan {
        let action = match locks {
            true => ["lock", "on", "secure"],
            false => ["unlock", "off", "open"],
        };
        let action: Wanted<'_> = (ACTION, action.map(Value::from).into());
        let is_any =
            target.is_empty() || [["door"], ["lock"], ["everything"]].iter().any(|any| target.words == any);
        if is_any && let Some(call) = self.try_one("lock_door", std::slice::from_ref(&action)) {
            return Plan::Calls(vec![call]);
        }
        self.each(target, Ability::Lock, "lock doors", |device| {
            self.try_one("lock_door", &[(DEVICE, vec![json!(device.name)]), action.clone()])
        })
    }

    fn temperature(&self, target: &Target) -> Plan {
        if target.is_empty() {
            let kind: Wanted<'_> =
                (&["kind", "type"], vec![json!("temperature_sensor"), json!("temperature")]);
            return self.one_or_bare("list_devices", &[kind], "measure the temperature");
        }
        match self.find(target, Ability::Temperature) {
            Err(Plan::Say(_)) if self.known.find(target, Ability::Temperature) == Matched::None => {
                Plan::Say(format!("Nothing measures the temperature of '{}'.", target.words.join(" ")))
            }
            Ok(devices) => self.ask_status(&devices),
            Err(plan) => plan,
        }
    }

    fn status(&self, target: &Target, expected: Option<Condition>) -> Plan {
        let ability = match expected {
            Some(Condition::On(_)) => Ability::Power,
            Some(Condition::Locked(_)) => Ability::Lock,
            Some(Condition::Open(_)) => Ability::Open,
            Some(Condition::Motion(_)) => Ability::Motion,
            None => Ability::Anything,
        };
        // "How is the kitchen" asks for all of its devices.
        let is_whole =
            expected.is_none() && matches!(self.known.find(target, ability), Matched::Ambiguous(_));
        let target = Target { is_plural: target.is_plural || is_whole, ..target.clone() };
        self.find(&target, ability).map_or_else(|plan| plan, |devices| self.ask_status(&devices))
    }

    pub(super) fn ask_status(&self, devices: &[&Device]) -> Plan {
        let call =
            |device: &&Device| self.try_one("get_device_status", &[(DEVICE, vec![json!(device.name)])]);
        calls(devices.iter().map(call), "look at devices")
    }
}
