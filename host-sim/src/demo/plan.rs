//! Which calls serve a wish.

use serde_json::{Value, json};

use super::conversation::{Conversation, ToolCall};
use super::devices::{Ability, Device, Known, Meant, listed};
use super::explain;
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
    /// A tool that is not offered, and words that say so.
    Missing(String),
}

const DEVICE: &[&str] = &["devicename", "device", "name", "devicenames", "target"];
const ACTION: &[&str] = &["action", "command", "state"];
const SETPOINT: &[&str] = &["setpoint", "temperature", "target"];
const LEVEL: &[&str] = &["level", "brightness", "percent", "value"];

/// What a wish needs, from what is known and offered.
pub(super) fn need(intent: &Intent, known: &Known, conversation: &Conversation) -> Need {
    let offers = conversation.offers.as_slice();
    let tools = Tools { known, offers, conversation };
    match intent {
        Intent::Who => Need::Say(super::SELF.into()),
        Intent::Hello => Need::Say("Hello! I am a demo of a hub. What can I do for you?".into()),
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
            let setpoint = setpoint.map(|degrees| -> Wanted<'_> { (SETPOINT, vec![json!(degrees)]) });
            let wanted: Vec<_> = mode.into_iter().chain(setpoint).collect();
            tools.one("set_thermostat", &wanted, "set the heating")
        }
        Intent::Temperature(place) => tools.temperature(place),
        Intent::Sum { expression, .. } => {
            tools.one("math_eval", &[(&["expression"], vec![json!(expression)])], "calculate")
        }
        Intent::Lock { target, locks } => tools.lock(target, *locks),
        Intent::Level { target, percent } => {
            tools.each(target, Ability::Level, |device| tools.level(device, *percent))
        }
        Intent::Power { target, power } => {
            tools.each(target, Ability::Power, |device| power_of(device, *power))
        }
        Intent::Status { target, expected } => tools.status(target, *expected),
        Intent::Devices { .. } | Intent::Rooms | Intent::Report { .. } => {
            tools.one("list_devices", &[], "list devices")
        }
        Intent::Warmer(change) => tools.warmer(*change),
        Intent::Brighter { target, change } => tools.brighter(target, *change),
        Intent::Night { except } => tools.night(except),
        Intent::Explain { about } => explain::need(about, &tools),
        Intent::Cannot(able) => {
            Need::Say(format!("I cannot {able}: I am a demo, and the hub has no tool for it."))
        }
        Intent::Refrain => Need::Say("All right, I leave it as it is.".into()),
    }
}

fn missing(able: &str) -> Need {
    Need::Missing(format!("I cannot {able} here: there is no tool for it."))
}

fn power_of<'a>(device: &str, power: Power) -> Vec<Wanted<'a>> {
    let words = match power {
        Power::On => ["on", "turn_on", "true"],
        Power::Off => ["off", "turn_off", "false"],
        Power::Toggle => ["toggle", "flip", "switch"],
    };
    vec![(DEVICE, vec![json!(device)]), (ACTION, words.map(Value::from).into())]
}

/// What calls are made of.
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
    pub(super) fn one(&self, name: &str, wanted: &[Wanted<'_>], able: &str) -> Need {
        match self.try_one(name, wanted) {
            Some(call) => Need::Calls(vec![call]),
            None => missing(able),
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
        if target.words == ["it"] {
            return self.last_device(ability);
        }
        let meant = self.known.meant(target, ability);
        let is_certain = matches!(&meant, Meant::These(_) if !target.is_plural);
        // The list may have been forgotten since, but who acted has seen it.
        let has_acted = self.conversation.recent().any(|made| !made.call.name.ends_with("list_devices"));
        if !self.known.is_listed
            && !is_certain
            && !has_acted
            && let Some(call) = self.try_one("list_devices", &[])
        {
            return Err(Need::Calls(vec![call]));
        }
        if let (_, unknown) = self.known.named(&target.except)
            && !unknown.is_empty()
        {
            let unknown = unknown.join(" ");
            return Err(Need::Say(format!("I found no '{unknown}' to leave out, so I did nothing.")));
        }
        match meant {
            Meant::These(devices) => Ok(devices),
            Meant::OneOf(devices) => {
                let names: Vec<_> = devices.iter().map(|device| device.name.clone()).collect();
                Err(Need::Say(format!("Which one do you mean: {}?", list(&names, "or"))))
            }
            Meant::Nobody => Err(Need::Say(self.nobody(target))),
        }
    }

    /// "It" is what was called by its name last, for something that was said before.
    fn last_device(&self, ability: Ability) -> Result<Vec<&Device>, Need> {
        let conversation = self.conversation;
        let earlier = conversation.calls.iter().take(conversation.since).rev();
        let mut names = earlier.filter_map(|made| {
            made.call.arguments.as_object()?.values().find_map(|value| {
                self.known.devices.iter().find(|device| Some(device.name.as_str()) == value.as_str())
            })
        });
        match names.next() {
            Some(device) if ability.is_of(&device.kind) => Ok(vec![device]),
            Some(device) => Err(Need::Say(format!("{} cannot do that.", device.name))),
            None => Err(Need::Say("I do not know what you mean by 'it': say its name.".into())),
        }
    }

    /// Why nobody is meant: there is no such thing, or it cannot do that.
    fn nobody(&self, target: &Target) -> String {
        match self.known.meant(target, Ability::Anything) {
            Meant::These(devices) if !target.is_plural => {
                let names: Vec<_> = devices
                    .iter()
                    .map(|device| {
                        format!("{} cannot do that: it is a {}", device.name, device.kind.replace('_', " "))
                    })
                    .collect();
                list(&names, "and")
            }
            Meant::Nobody => format!("I know no '{}' in this home.", target.words.join(" ")),
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

    /// What a call that was made for the question says about how a device stands.
    fn state(&self, call: &ToolCall) -> Option<&Value> {
        let content = &self.conversation.outcome(call)?.content;
        Some(&content.get("result").unwrap_or(content)["state"])
    }

    /// First how it stands, then one more or less.
    fn warmer(&self, change: f64) -> Need {
        let target = Target::new(&["thermostat".to_owned()]);
        let need = self.status(&target, None);
        let Need::Calls(calls) = &need else { return need };
        let setpoint = calls.iter().find_map(|call| self.state(call)?["setpoint"].as_f64());
        match setpoint {
            None => need,
            Some(setpoint) => {
                let wanted: [Wanted<'_>; 1] = [(SETPOINT, vec![json!(setpoint + change)])];
                self.one("set_thermostat", &wanted, "set the heating")
            }
        }
    }

    /// First how bright it is, then more or less.
    fn brighter(&self, target: &Target, change: i8) -> Need {
        let devices = match self.meant(target, Ability::Level) {
            Ok(devices) => devices,
            Err(need) => return need,
        };
        let need = self.ask_status(&devices);
        let Need::Calls(calls) = &need else { return need };
        let levels: Option<Vec<f64>> = calls.iter().map(|call| self.state(call)?["level"].as_f64()).collect();
        let Some(levels) = levels else { return need };
        let call = |(device, level): (&&Device, f64)| {
            // Darker is not off.
            let percent = (level + f64::from(change)).clamp(5.0, 100.0) as u8;
            self.try_one("control_zwave_device", &self.level(&device.name, percent))
        };
        match devices.iter().zip(levels).map(call).collect() {
            Some(calls) => Need::Calls(calls),
            None => missing("control devices"),
        }
    }

    /// Looks at what matters at night, and switches off the lights that are on. All that was switched off counts, even if
    /// the lists have been cut in the meantime.
    fn night(&self, except: &[String]) -> Need {
        const KINDS: [&str; 4] = ["dimmer", "switch", "contact_sensor", "lock"];
        let list = |kind: &str| self.try_one("list_devices", &[(&["kind", "type"], vec![json!(kind)])]);
        // One kind after the other: the hub cuts long results.
        let mut calls: Vec<_> = KINDS.iter().filter_map(|kind| list(kind)).collect();
        if calls.len() < KINDS.len() {
            match self.one("list_devices", &[], "look at the lights") {
                Need::Calls(all) => calls = all,
                none => return none,
            }
        }
        let outcomes: Vec<_> = calls.iter().filter_map(|call| self.conversation.outcome(call)).collect();
        let devices =
            outcomes.iter().filter_map(|outcome| listed(&outcome.content)).flat_map(|(devices, _)| devices);
        let known = Known { devices: devices.collect(), is_listed: true };
        let (stay, _) = known.named(except);
        let shines =
            |device: &&Device| device.is_light() && device.state["on"] == true && !stay.contains(device);
        let off =
            known.devices.iter().filter(shines).filter_map(|device| {
                self.try_one("control_zwave_device", &power_of(&device.name, Power::Off))
            });
        let made = self
            .conversation
            .recent()
            .map(|made| &made.call)
            .filter(|call| call.name.ends_with("control_zwave_device"));
        let mut off: Vec<_> = made.cloned().chain(off).collect();
        let mut seen = Vec::new();
        off.retain(|call| {
            !seen.contains(call) && {
                seen.push(call.clone());
                true
            }
        });
        calls.extend(off);
        Need::Calls(calls)
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
            None => missing("control devices"),
        }
    }

    fn lock(&self, target: &Target, locks: bool) -> Need {
        let action = match locks {
            true => ["lock", "on", "secure"],
            false => ["unlock", "off", "open"],
        };
        let action: Wanted<'_> = (ACTION, action.map(Value::from).into());
        let is_any =
            target.is_empty() || [["door"], ["lock"], ["everything"]].iter().any(|any| target.words == any);
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
            None => missing("lock doors"),
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
            Err(Need::Say(_)) if self.known.meant(place, Ability::Temperature) == Meant::Nobody => {
                Need::Say(format!("Nothing measures the temperature of '{}'.", place.words.join(" ")))
            }
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
        // Who asks how the kitchen is wants to know all of it.
        let is_whole = expected.is_none() && matches!(self.known.meant(target, ability), Meant::OneOf(_));
        let target = Target { is_plural: target.is_plural || is_whole, ..target.clone() };
        match self.meant(&target, ability) {
            Ok(devices) => self.ask_status(&devices),
            Err(need) => need,
        }
    }

    pub(super) fn ask_status(&self, devices: &[&Device]) -> Need {
        let call =
            |device: &&Device| self.try_one("get_device_status", &[(DEVICE, vec![json!(device.name)])]);
        match devices.iter().map(call).collect() {
            Some(calls) => Need::Calls(calls),
            None => missing("look at devices"),
        }
    }
}
