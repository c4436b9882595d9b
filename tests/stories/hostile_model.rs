//! A model that tries to open doors without asking: in homes whose names are easily confused, before the hub knows the home,
//! and with the help of a controller that declares wrong things.

use std::cell::RefCell;
use std::collections::BTreeMap;

use host_zwave::{Device, DeviceState, Home};
use hub_core::limits;
use hub_core::request::{REQUESTS, Request};
use support::controller::about_it;
use world::model::{calls, stop};
use world::prelude::*;

use crate::home::{Stranger, described};
use crate::memory::{lamps, offer};

/// Random numbers, the same in every run: SplitMix64.
struct Random(u64);

impl Random {
    /// A number below `end`.
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ mixed >> 31) % end as u64) as usize
    }
}

/// A device of the played controller.
#[derive(Clone, Debug)]
struct Thing {
    id: String,
    name: String,
    room: String,
    kind: &'static str,
}

impl Thing {
    /// What is dangerous about it, as a person is asked.
    fn danger(&self) -> Option<String> {
        match self.kind {
            "lock" => Some(format!("unlock {}", self.name)),
            "garage" => Some(format!("open {}", self.name)),
            "siren" => Some(format!("switch on {}", self.name)),
            _ => None,
        }
    }

    /// Whether a person who was asked for this was asked about this device's danger. Of several devices with one name, the
    /// question has the id.
    fn is_asked_about(&self, what: &str) -> bool {
        let rest = self.danger().and_then(|danger| what.strip_prefix(&danger).map(str::to_owned));
        rest.is_some_and(|rest| {
            let id = rest.strip_prefix(" (d").map(|id| format!("d{}", id.split(')').next().expect("an id")));
            rest.is_empty() || rest.starts_with(" (") && id.is_none_or(|id| id == self.id)
        })
    }

    fn new(id: &str, name: &str, room: &str, kind: &'static str) -> Self {
        Self { id: id.into(), name: name.into(), room: room.into(), kind }
    }

    fn is_harmless(&self, action: &str) -> bool {
        matches!((self.kind, action), ("lock", "lock") | ("garage", "close") | ("siren", "off"))
    }

    fn tool(&self) -> &'static str {
        if self.kind == "lock" { "bolt" } else { "control" }
    }

    fn actions(&self) -> &'static [&'static str] {
        match self.kind {
            "lock" => &["lock", "unlock"],
            "garage" => &["open", "close"],
            "scene" => &["activate"],
            _ => &["on", "off"],
        }
    }

    /// The action that takes a value.
    fn value_action(&self) -> Option<&'static str> {
        match self.kind {
            "light" | "group" => Some("dim"),
            "garage" => Some("move"),
            _ => None,
        }
    }
}

/// A controller with changing devices, which does whatever it is told.
#[derive(Default)]
struct House {
    things: Vec<Thing>,
    /// The devices as they were told to the hub, each with its address. The last two descriptions of each count: a call may
    /// cross the answer with the newer one.
    told: BTreeMap<String, Vec<(Thing, String)>>,
    /// What somebody may be asked about: every lock, garage door and siren that there ever was.
    dangers: Vec<Thing>,
    /// Whether devices are addressed by names that are not unique.
    is_careless: bool,
    /// Whether the tools declare that they may be destructive. Then calls that match no action of a device need
    /// approval.
    is_destructive: bool,
    /// When the hub last requested devices.
    asked: Option<Instant>,
    /// Whether the hub has received the current state of all devices.
    is_settled: bool,
    /// Approved actions of this turn that have not been done yet, each with the number of changes to the house at that
    /// time, if the hub knew its state.
    allowed: Vec<(String, Option<usize>)>,
    settled_calls: usize,
    calls: usize,
    guarded_calls: usize,
    changes: usize,
    /// The model's calls that the hub did not decide about before their time or that of their turn was over.
    dropped_calls: usize,
    tools: Value,
    /// Notifications that are due.
    notices: Vec<(&'static str, Value)>,
    /// Requests for the list that are not answered.
    unanswered_lists: usize,
    /// Requests for the list that are answered with an error.
    refused_lists: usize,
    /// How long it takes to read a device.
    reading: Duration,
    faults: Vec<String>,
}

impl House {
    fn of(things: &[Thing]) -> RefCell<Self> {
        let harmless = json!({ "readOnlyHint": false, "destructiveHint": false });
        RefCell::new(Self { things: things.to_vec(), tools: tools(&harmless), ..Self::default() })
    }

    /// The value by which a device is addressed: its name if that is unique, or else its id.
    fn address(&self, thing: &Thing) -> String {
        let uses =
            |text: &str| self.things.iter().filter(|other| other.name == text || other.id == text).count();
        if self.is_careless || uses(&thing.name) == 1 { thing.name.clone() } else { thing.id.clone() }
    }

    fn describe(&self, thing: &Thing) -> Value {
        let address = self.address(thing);
        let call = |action: &&str| {
            let arguments = json!({ "deviceName": address, "action": action });
            ((*action).to_owned(), json!({ "tool": thing.tool(), "arguments": arguments }))
        };
        let mut actions: serde_json::Map<_, _> = thing.actions().iter().map(call).collect();
        if let Some(action) = thing.value_action() {
            let (name, mut action) = call(&action);
            action["value"] = json!({ "argument": "level", "type": "integer" });
            actions.insert(name, action);
        }
        let (kind, state) = match thing.kind {
            "garage" => ("cover", json!({ "class": "garage", "position": 0 })),
            "lock" => ("lock", json!({ "locked": true })),
            kind => (kind, json!({ "on": false })),
        };
        json!({ "name": thing.name, "room": thing.room, "kind": kind, "state": state, "actions": actions })
    }

    /// Tells the hub about a device.
    fn tell(&mut self, id: &str) -> Option<String> {
        let thing = self.things.iter().find(|thing| thing.id == id)?.clone();
        if thing.danger().is_some() {
            self.dangers.push(thing.clone());
        }
        let told = self.told.entry(id.to_owned()).or_default();
        if told.len() == 2 {
            told.remove(0);
        }
        let description = self.describe(&thing).to_string();
        let address = self.address(&thing);
        self.told.entry(id.to_owned()).or_default().push((thing, address));
        Some(description)
    }

    /// The devices that an address may stand for, as last reported to the hub. Case and white space are ignored.
    fn addressed_now(&self, address: &str) -> Vec<&Thing> {
        let plain = |text: &str| text.trim().to_lowercase();
        let told = self.told.values().filter_map(|told| told.last());
        let is_there = |thing: &Thing| self.things.iter().any(|other| other.id == thing.id);
        told.filter(|(thing, known)| is_there(thing) && plain(known) == plain(address))
            .map(|(thing, _)| thing)
            .collect()
    }

    /// A call has arrived. What it does is judged by what the hub was told: a name that has changed a moment ago cannot be
    /// known to it.
    fn hears(&mut self, call: &Value) {
        self.calls += 1;
        self.settled_calls += usize::from(self.is_settled);
        let arguments = &call["params"]["arguments"];
        let action = arguments["action"].as_str().unwrap_or_default();
        let address = arguments["deviceName"].as_str().unwrap_or_default();
        let tool = call["params"]["name"].as_str().unwrap_or_default();
        // A call of a tool that somebody was asked about.
        let is_it = |(what, _): &(String, _)| {
            what.starts_with("call ") && arguments_in(what).as_ref() == Some(arguments)
        };
        if let Some(at) = self.allowed.iter().position(is_it) {
            self.allowed.remove(at);
        }
        let told = self.told.values().flatten();
        let told = told.filter(|(thing, known)| known == address && thing.tool() == tool);
        let things: Vec<_> = told.map(|(thing, _)| thing.clone()).collect();
        if things.is_empty() && !self.controls(tool) {
            return;
        }
        if things.is_empty() {
            return self.faults.push(format!("not the address of a device: {arguments}"));
        }
        let now = self.addressed_now(address);
        let shared: Vec<_> = now.into_iter().filter(|thing| thing.tool() == tool).cloned().collect();
        let guarded = || shared.iter().filter(|thing| thing.danger().is_some());
        // In a large home, the other device may be unkept. Then the call counts as one to the guarded device.
        let is_asked = |thing: &&Thing| self.allowed.iter().any(|(what, _)| thing.is_asked_about(what));
        let is_large = self.things.len() > limits::DEVICES;
        let is_safe = is_large && guarded().all(|thing| thing.is_harmless(action) || is_asked(&thing));
        if self.is_settled && shared.len() > 1 && guarded().next().is_some() && !is_safe {
            let fault = format!("{arguments} may be for any of {shared:?}");
            return self.faults.push(fault);
        }
        let is_action = shared.iter().any(|thing| self.is_action(thing, arguments));
        // Nothing that was allowed is withdrawn while nothing changes: it was this call that somebody was asked about.
        let is_of_now = |(what, changes): &&(String, Option<usize>)| {
            *changes == Some(self.changes) && (is_action || !what.starts_with("call "))
        };
        if let Some((what, _)) = self.allowed.iter().find(is_of_now)
            && things.iter().all(|thing| thing.danger().is_none())
        {
            let fault = format!("asked to {what} about {arguments}");
            return self.faults.push(fault);
        }
        let is_harmless = |thing: &Thing| thing.danger().is_none() || thing.is_harmless(action);
        // A settled hub knows the latest description. Otherwise, the call may follow from an earlier one.
        let is_harmless = match self.is_settled {
            true => !shared.is_empty() && shared.iter().all(is_harmless),
            false => things.iter().any(is_harmless),
        };
        let is_allowed = |(what, _): &(String, _)| things.iter().any(|thing| thing.is_asked_about(what));
        let allowed = self.allowed.iter().position(is_allowed).map(|at| self.allowed.remove(at));
        if is_harmless {
            return;
        }
        self.guarded_calls += 1;
        match allowed {
            Some(_) => {}
            None => self.faults.push(format!("nobody allowed {things:?}: {arguments}")),
        }
    }

    /// Whether the tool controls a device, as last reported to the hub.
    fn controls(&self, tool: &str) -> bool {
        self.told.values().filter_map(|told| told.last()).any(|(thing, _)| thing.tool() == tool)
    }

    /// Handles an approval request. Returns whether it is needless.
    fn is_needless(&self, what: &str) -> bool {
        // The devices as the hub knows them, or as they were at any time.
        let of_now = self.things.iter().filter(|_| self.is_settled);
        let of_any_time = self.dangers.iter().filter(|_| !self.is_settled);
        let is_known = of_now.chain(of_any_time).any(|thing| thing.is_asked_about(what));
        // A tool that controls no device and does not describe its effect needs approval for any arguments. A destructive
        // one needs it for a call that is no action of the device.
        let is_of_tool = what.strip_prefix("call ").is_some_and(|rest| {
            let tool = rest.split(' ').next().unwrap_or_default();
            self.is_destructive && !self.is_declared(tool, rest)
                || self.things.iter().all(|thing| thing.tool() != tool)
                || !self.controls(tool)
        });
        !is_known && !is_of_tool
    }

    /// Whether an approval request for a call of a tool for a device is for one of that device's actions, as the hub knows
    /// the device.
    fn is_declared(&self, tool: &str, request: &str) -> bool {
        let Some(arguments) = arguments_in(request).filter(|_| self.is_settled) else { return false };
        let (about, _) = request.split_once(" with ").expect("arguments");
        let is_it = |thing: &&Thing| {
            let plain = format!("{tool} for {}", thing.name);
            about == plain || about == format!("{plain} ({})", thing.id)
        };
        let of_tool = self.things.iter().filter(|thing| thing.tool() == tool);
        of_tool.filter(is_it).any(|thing| self.is_action(thing, &arguments))
    }

    /// Whether these arguments are exactly those of one of the device's actions.
    fn is_action(&self, thing: &Thing, arguments: &Value) -> bool {
        let mut given = arguments.as_object().cloned().unwrap_or_default();
        let is_address = given.remove("deviceName") == Some(json!(self.address(thing)));
        let action = given.remove("action");
        let action = action.as_ref().and_then(Value::as_str).unwrap_or_default();
        let has_value = thing.value_action() == Some(action);
        if has_value {
            given.remove("level");
        }
        is_address && given.is_empty() && (has_value || thing.actions().contains(&action))
    }
}

/// The arguments in an approval request, unless they are cut.
fn arguments_in(what: &str) -> Option<Value> {
    let (_, arguments) = what.split_once(" with ")?;
    serde_json::from_str(arguments).ok()
}

fn tools(hints: &Value) -> Value {
    let schema = json!({ "type": "object", "properties": { "deviceName": {}, "action": {}, "level": {} } });
    let tool = |name: &str| json!({ "name": name, "inputSchema": schema, "annotations": hints });
    json!([tool("control"), tool("bolt")])
}

/// Answers whatever the hub asks, until so many calls have arrived.
async fn serve(controller: &mut Controller, house: &RefCell<House>, calls: usize) {
    let end = house.borrow().calls.saturating_add(calls);
    while house.borrow().calls < end {
        let notices = std::mem::take(&mut house.borrow_mut().notices);
        for (method, params) in notices {
            controller.notifies(method, params).await;
        }
        let Ok(request) = tokio::time::timeout(Duration::from_secs(1), controller.hears()).await else {
            continue;
        };
        let uri = request["params"]["uri"].as_str().unwrap_or_default().to_owned();
        if request["method"].as_str().is_some_and(|method| method.starts_with("resources/")) {
            house.borrow_mut().asked = Some(Instant::now());
        }
        match request["method"].as_str() {
            Some("initialize") => {
                let mut about = about_it(&request["params"]["protocolVersion"]);
                about["capabilities"]["resources"] = json!({ "subscribe": true, "listChanged": true });
                controller.answers(&request, about).await;
            }
            Some("tools/list") => {
                let tools = house.borrow().tools.clone();
                controller.answers(&request, json!({ "tools": tools })).await;
            }
            Some("resources/list") => {
                let uri = |thing: &Thing| json!({ "uri": format!("home://devices/{}", thing.id), "name": thing.name });
                let listed: Vec<_> = house.borrow().things.iter().map(uri).collect();
                let is_due = |count: &mut usize| (*count > 0).then(|| *count -= 1).is_some();
                if is_due(&mut house.borrow_mut().unanswered_lists) {
                    continue;
                }
                let is_refused = is_due(&mut house.borrow_mut().refused_lists);
                if is_refused {
                    controller.refuses(&request, -32603, "The network is not up", Value::Null).await;
                } else {
                    controller.answers(&request, json!({ "resources": listed })).await;
                }
            }
            Some("resources/read") => {
                let reading = house.borrow().reading;
                sleep(reading).await;
                let id = uri.rsplit('/').next().unwrap_or_default();
                let described = house.borrow_mut().tell(id);
                match described {
                    Some(text) => {
                        let contents = json!([{ "uri": uri, "text": text }]);
                        controller.answers(&request, json!({ "contents": contents })).await;
                    }
                    None => controller.refuses(&request, -32002, "Resource not found", Value::Null).await,
                }
            }
            Some("tools/call") => {
                house.borrow_mut().hears(&request);
                controller.replies(&request, "done").await;
            }
            Some("resources/subscribe" | "ping") => controller.answers(&request, json!({})).await,
            _ => {}
        }
    }
}

/// Decides about every approval by chance, and notes what was allowed and what nobody should have been asked.
async fn decide(person: &mut Client, house: &RefCell<House>, random: &RefCell<Random>) {
    loop {
        let Some(message) = person.next(Duration::from_secs(3600)).await else { continue };
        if message.payload.is_empty() {
            continue;
        }
        let approval = message.json();
        if approval["state"] != "waiting" {
            continue;
        }
        let what = approval["what"].as_str().expect("words").to_owned();
        let allow = random.borrow_mut().below(2) == 0;
        {
            let mut house = house.borrow_mut();
            if house.is_needless(&what) {
                house.faults.push(format!("asked to {what}"));
            }
            if allow {
                let changes = house.is_settled.then_some(house.changes);
                house.allowed.push((what, changes));
            }
        }
        person.sends("approve", json!({ "id": approval["id"], "allow": allow }));
    }
}

const WORDS: [&str; 23] = [
    "off",
    "lock",
    "open",
    "Door",
    "door",
    "Garage",
    "🚗",
    "🔒",
    "the",
    "Lamp",
    "Light",
    "Front",
    "Тёплый",
    "свет",
    "大门",
    "d1",
    "d2",
    "\"x\"",
    "'",
    "é",
    "…",
    "Siren",
    "\\",
];

const KINDS: [&str; 8] = ["light", "switch", "lock", "garage", "siren", "light", "group", "scene"];

fn phrase(random: &mut Random) -> String {
    let count = 1 + random.below(3);
    let words: Vec<_> = (0..count).map(|_| WORDS[random.below(WORDS.len())]).collect();
    words.join(" ")
}

fn any_thing(random: &mut Random, number: usize) -> Thing {
    let room = if random.below(3) == 0 { String::new() } else { phrase(random) };
    Thing { id: format!("d{number}"), name: phrase(random), room, kind: KINDS[random.below(KINDS.len())] }
}

/// A name of a device as a model may say it.
fn spoken(random: &mut Random, thing: &Thing) -> Value {
    let text = match random.below(16) {
        0..8 => thing.name.clone(),
        8 => thing.name.to_lowercase(),
        9 => format!("the {} in the {}", thing.name, thing.room),
        10 => format!("{} {}", thing.room, thing.name),
        11 => thing.name.chars().take(5).collect(),
        12 | 13 => thing.id.clone(),
        14 => phrase(random),
        _ => {
            return [json!(7), json!(null), json!(["Garage"]), json!({ "name": "Garage" })][random.below(4)]
                .clone();
        }
    };
    json!(text)
}

fn any_call(random: &mut Random, things: &[Thing]) -> (&'static str, Value) {
    let thing = &things[random.below(things.len())];
    let tool = if random.below(8) == 0 { ["control", "bolt"][random.below(2)] } else { thing.tool() };
    let actions =
        ["on", "off", "open", "close", "lock", "unlock", "toggle", "OPEN", "", "dim", "move", "activate"];
    let mut arguments = json!({ "action": actions[random.below(actions.len())] });
    if random.below(20) > 0 {
        arguments[["deviceName", "device_name"][random.below(2)]] = spoken(random, thing);
    }
    match random.below(12) {
        0 => arguments["level"] = json!(random.below(100)),
        1 => arguments["device"] = json!(phrase(random)),
        2 => arguments["deviceName"] = json!(phrase(random)),
        _ => {}
    }
    (tool, arguments)
}

/// Devices join, leave and are renamed.
async fn change_house(
    controller: &mut Controller,
    house: &RefCell<House>,
    random: &RefCell<Random>,
    most: usize,
) {
    let ids: Vec<_> = {
        let random = &mut *random.borrow_mut();
        let mut house = house.borrow_mut();
        house.changes += 1;
        (house.is_settled, house.asked) = (false, None);
        for _ in 0..=random.below(2) {
            let at = random.below(house.things.len());
            match random.below(4) {
                0 if house.things.len() > 3 => drop(house.things.remove(at)),
                1 if house.things.len() < most => {
                    let free = (0..)
                        .find(|number| house.things.iter().all(|thing| thing.id != format!("d{number}")));
                    let thing = any_thing(random, free.expect("a number"));
                    house.things.push(thing);
                }
                _ => house.things[at].name = phrase(random),
            }
        }
        house.things.iter().map(|thing| thing.id.clone()).collect()
    };
    controller.notifies("resources/list_changed", json!({})).await;
    for id in ids {
        let uri = format!("home://devices/{id}");
        controller.notifies("resources/updated", json!({ "uri": uri })).await;
    }
}

/// The plan of an attack on a house.
struct Attack {
    seed: u64,
    devices: usize,
    turns: usize,
    is_careless: bool,
    read_only: Option<bool>,
    destructive: Option<bool>,
}

/// Attacks a house, and returns the house with the recorded faults.
fn attack(plan: &Attack) -> House {
    const CALLS: usize = 8;
    let random = RefCell::new(Random(plan.seed));
    let things: Vec<_> =
        (0..plan.devices).map(|number| any_thing(&mut random.borrow_mut(), number)).collect();
    let house = House::of(&things);
    {
        let mut hints = json!({});
        for (name, hint) in [("readOnlyHint", plan.read_only), ("destructiveHint", plan.destructive)] {
            if let Some(hint) = hint {
                hints[name] = json!(hint);
            }
        }
        let mut house = house.borrow_mut();
        house.tools = tools(&hints);
        house.is_careless = plan.is_careless;
        house.is_destructive = plan.destructive == Some(true);
    }
    story(async |world| {
        let mut ann = world.person("ann").await;
        let mut judge = world.client("judge", &["hearthwave/story/approval/+"]).await;
        let mut model = world.model().await;
        let mut controller = world.controller();
        let attack = async {
            for turn in 0..plan.turns {
                let pause = random.borrow_mut().below(600);
                sleep(Duration::from_millis(pause as u64)).await;
                let things = house.borrow().things.clone();
                let these: Vec<_> = (0..CALLS).map(|_| any_call(&mut random.borrow_mut(), &things)).collect();
                ann.says(json!({ "text": "Go on", "conversation": format!("c{turn}") }));
                model.serves(calls(&these)).await;
                model.serves(stop("Done.")).await;
                let reply = ann.reply().await;
                let mut house = house.borrow_mut();
                let made = reply["tool_calls"].as_array().map_or(&[][..], Vec::as_slice);
                let is_run = |call: &&Value| {
                    !matches!(call["result"]["error_type"].as_str(), Some("timeout" | "cancelled"))
                };
                let not_run = reply["tool_calls_not_run"].as_u64().unwrap_or_default() as usize;
                let left_out = reply["tool_calls_left_out"].as_u64().unwrap_or_default() as usize;
                house.dropped_calls += CALLS + not_run - made.iter().filter(is_run).count() - left_out;
                // What was allowed and not done is not allowed any more.
                house.allowed.clear();
            }
        };
        let change = async |controller: &mut Controller| loop {
            // Sometimes the house changes before the hub has read it.
            let is_hasty = house.borrow().changes > 0 && random.borrow_mut().below(3) == 0;
            let begun = Instant::now();
            let end =
                Duration::from_millis(random.borrow_mut().below(if is_hasty { 600 } else { 4000 }) as u64);
            while begun.elapsed() < end || !is_hasty && !house.borrow().is_settled {
                let serving = serve(controller, &house, usize::MAX);
                let _ = tokio::time::timeout(Duration::from_millis(100), serving).await;
                let mut house = house.borrow_mut();
                let is_calm = |asked: Instant| asked.elapsed() > Duration::from_millis(400);
                let knows = house.asked.is_some_and(is_calm) && begun.elapsed() > Duration::from_secs(1);
                // Some calls also make the hub request devices.
                house.is_settled |= knows || begun.elapsed() > Duration::from_secs(3);
            }
            change_house(controller, &house, &random, plan.devices.max(12)).await;
        };
        tokio::select! {
            () = attack => {}
            () = decide(&mut judge, &house, &random) => {}
            () = change(&mut controller) => {}
        }
    });
    house.into_inner()
}

/// Whatever a model calls and however a home changes, three rules hold: no guarded action happens without approval,
/// every call that arrives is addressed to exactly one device, and nobody is asked to approve a lamp.
#[test]
fn ten_thousand_calls_of_a_hostile_model_open_nothing_without_approval() {
    const HINTS: [Option<bool>; 3] = [None, Some(false), Some(true)];
    let small = |is_careless| {
        let hints = HINTS.into_iter().flat_map(|one| HINTS.map(|other| (one, other)));
        (0..).zip(hints).map(move |(number, (read_only, destructive))| Attack {
            seed: 24 + number,
            devices: 8,
            turns: if is_careless { 40 } else { 90 },
            is_careless,
            read_only,
            destructive,
        })
    };
    let large = [false, true].map(|is_careless| Attack {
        seed: 64,
        devices: 72,
        turns: 60,
        is_careless,
        read_only: Some(false),
        destructive: Some(false),
    });
    let plans: Vec<_> = small(false).chain(small(true)).chain(large).collect();
    assert!(plans.iter().map(|plan| plan.turns * 8).sum::<usize>() >= 10_000);
    let (mut arrived, mut settled, mut guarded, mut changed, mut dropped) = (0, 0, 0, 0, 0);
    for plan in &plans {
        let House { calls, settled_calls, guarded_calls, changes, dropped_calls, faults, .. } = attack(plan);
        let Attack { seed, devices, is_careless, read_only, destructive, .. } = plan;
        let about =
            format!("seed {seed}, {devices} devices, careless {is_careless}, {read_only:?}, {destructive:?}");
        println!(
            "{about}: {calls} calls arrived, {settled_calls} settled, {guarded_calls} guarded, {changes} changes, \
             {dropped_calls} dropped"
        );
        assert!(faults.is_empty(), "{about}: {} faults: {:#?}", faults.len(), &faults[..faults.len().min(5)]);
        (arrived, settled) = (arrived + calls, settled + settled_calls);
        (guarded, changed) = (guarded + guarded_calls, changed + changes);
        dropped += dropped_calls;
    }
    // The attack was one: calls arrived, and some of them were allowed.
    println!(
        "{arrived} calls arrived, {settled} settled, {guarded} guarded, {changed} changes, {dropped} dropped"
    );
    assert!(arrived > 4500 && settled > 1700 && guarded > 1000 && changed > 150);
    // The others were refused. None was lost because its turn took too long.
    assert!(dropped < 100, "{dropped}");
}

/// A hub in front of this house.
fn in_front_of(house: &RefCell<House>, tell: impl AsyncFnOnce(&mut Client, &mut Client)) {
    story(async |world| {
        let mut ann = world.person("ann").await;
        let mut model = world.model().await;
        let mut controller = world.controller();
        let tell = async {
            ann.sees_link("ready").await;
            tell(&mut ann, &mut model).await;
        };
        tokio::select! { () = tell => {} () = serve(&mut controller, house, usize::MAX) => {} }
    });
    assert_eq!(house.borrow().faults, [""; 0]);
}

/// The result of a call that nobody was asked about.
async fn result_of(ann: &mut Client, model: &mut Client, tool: &str, arguments: Value) -> Value {
    ann.says(json!({ "text": "Do it", "conversation": "porch" }));
    model.serves(calls(&[(tool, arguments)])).await;
    let result = model_hears(model).await;
    loop {
        let message = ann.next(Duration::from_secs(20)).await.expect("a reply");
        assert!(!message.topic.contains("/approval/"), "{:?}", message.json());
        if message.topic.ends_with("response/chat") {
            return result;
        }
    }
}

/// What the model hears of its call.
async fn model_hears(model: &mut Client) -> Value {
    let question = model.serves(stop("Done.")).await.json();
    let messages = question["messages"].as_array().expect("messages");
    let content = &messages.last().expect("the results")["content"][0]["content"];
    serde_json::from_str(content.as_str().expect("a result")).expect("JSON")
}

/// The approval that a model's call waits for.
async fn asked(ann: &mut Client, model: &mut Client, tool: &str, arguments: Value) -> Value {
    ann.says(json!({ "text": "Do it", "conversation": "porch" }));
    model.serves(calls(&[(tool, arguments)])).await;
    waits(ann).await
}

/// A device of a controller that addresses devices by names that are not unique.
fn door(id: &str, name: &str, room: &str, kind: &str) -> Value {
    let call = |action: &str| json!({ "tool": "control_zwave_device", "arguments": { "deviceName": name, "action": action } });
    let (kind, state) = match kind {
        "garage" => ("cover", json!({ "class": "garage", "position": 0 })),
        "blind" => ("cover", json!({ "position": 0 })),
        kind => (kind, json!({ "on": false })),
    };
    let actions = match kind {
        "cover" => json!({ "open": call("on"), "close": call("off") }),
        _ => json!({ "on": call("on"), "off": call("off") }),
    };
    described(id, &json!({ "name": name, "room": room, "kind": kind, "state": state, "actions": actions }))
}

/// Asserts that calls for this device are refused for every caller, by its id, its name, or its name and room. Nothing
/// is sent, and nobody is asked.
async fn is_ambiguous_to_all(stranger: &mut Stranger, ann: &mut Client, model: &mut Client, names: &[&str]) {
    for name in names {
        let arguments = json!({ "deviceName": name, "action": "on" });
        ann.says(json!({ "text": "Do it", "conversation": "porch" }));
        model.serves(calls(&[("control_zwave_device", arguments.clone())])).await;
        stranger.serves_for(Duration::from_secs(2)).await;
        assert_refused(&model_hears(model).await, "ambiguous", "nothing was sent");
        ann.reply().await;
        // A person, first by a tool call, then like Home Assistant.
        ann.calls("control_zwave_device", arguments);
        stranger.serves_for(Duration::from_secs(2)).await;
        assert_refused(&ann.result().await, "ambiguous", "nothing was sent");
        ann.sends("device/set", json!({ "device": name, "action": "open" }));
        stranger.serves_for(Duration::from_secs(2)).await;
        assert_refused(&ann.gets("device/set").await, "ambiguous", "");
    }
    assert_eq!(stranger.calls, [] as [Value; 0]);
}

/// If the controller uses the same address for a garage door, it is unknown which device would move.
#[test]
fn address_shared_by_a_garage_door_is_not_sent() {
    for garage in ["Door", "door", " Door ", "The Door!"] {
        for address in ["Door", "k1"] {
            story(async |world| {
                let (mut ann, mut model) = (world.person("ann").await, world.model().await);
                // The blind may also have the garage door's id as its name.
                let (id, name) = if address == "Door" { ("g1", "Door") } else { ("k1", "k1") };
                let blind = door("b1", name, "Kitchen", "blind");
                let garage = door(id, garage, "Garage", "garage");
                let mut stranger = Stranger::greets(world, offer(), vec![blind, garage]).await;
                stranger.serves_for(Duration::from_secs(5)).await;
                is_ambiguous_to_all(&mut stranger, &mut ann, &mut model, &["b1", &format!("Kitchen {name}")])
                    .await;
            });
        }
    }
}

/// In a home of more than 64 devices, the garage door is kept and the blind is not.
#[test]
fn address_of_an_unkept_device_shared_by_a_garage_door_is_not_sent() {
    story(async |world| {
        let (mut ann, mut model) = (world.person("ann").await, world.model().await);
        let mut devices = vec![door("g1", "Door", "Garage", "garage")];
        devices.extend(lamps(64));
        devices.push(door("b1", "Door", "Kitchen", "blind"));
        let mut stranger = Stranger::greets(world, offer(), devices).await;
        stranger.serves_for(Duration::from_secs(20)).await;
        is_ambiguous_to_all(&mut stranger, &mut ann, &mut model, &["b1"]).await;
    });
}

/// A device that could not be read may be a garage door with the address of the blind.
#[test]
fn address_possibly_shared_by_an_unread_device_is_not_sent() {
    for (name, is_sent) in [("Door", false), ("DOOR", false), ("Gate", true)] {
        story(async |world| {
            let (ann, mut model) = (world.person("ann").await, world.model().await);
            let devices = vec![door("b1", "Door", "Kitchen", "blind"), door("g1", name, "Garage", "garage")];
            let mut stranger = Stranger::greets(world, offer(), devices).await;
            stranger.unreadable = vec!["g1".into()];
            stranger.serves_for(Duration::from_secs(20)).await;
            ann.says(json!({ "text": "Do it", "conversation": "porch" }));
            let call = json!({ "deviceName": "Door", "action": "on" });
            model.serves(calls(&[("control_zwave_device", call)])).await;
            stranger.serves_for(Duration::from_secs(20)).await;
            let result = model_hears(&mut model).await;
            if is_sent {
                assert_eq!(result["success"], true, "{result}");
            } else {
                assert_refused(&result, "unavailable", "this may be about one of them");
            }
            assert_eq!(stranger.calls.len(), usize::from(is_sent));
        });
    }
}

/// Devices that are not guarded may share an address. Nobody is asked, and the controller decides.
#[test]
fn lamps_with_a_shared_address_need_no_approval() {
    story(async |world| {
        let (ann, mut model) = (world.person("ann").await, world.model().await);
        let devices = vec![
            door("l1", "Lamp", "Kitchen", "light"),
            door("l2", "Lamp", "Hall", "light"),
            door("g1", "Garage Door", "Garage", "garage"),
        ];
        let mut stranger = Stranger::greets(world, offer(), devices).await;
        stranger.serves_for(Duration::from_secs(5)).await;
        ann.says(json!({ "text": "Do it", "conversation": "porch" }));
        let call = json!({ "deviceName": "Kitchen Lamp", "action": "on" });
        model.serves(calls(&[("control_zwave_device", call)])).await;
        stranger.serves_for(Duration::from_secs(2)).await;
        let result = model_hears(&mut model).await;
        assert_eq!(result["success"], true, "{result}");
        assert_eq!(stranger.calls[0]["arguments"]["deviceName"], "Lamp");
    });
}

fn open_garage() -> Value {
    json!({ "deviceName": "Garage Door", "action": "open" })
}

fn garage() -> Thing {
    Thing::new("g1", "Garage Door", "Garage", "garage")
}

#[test]
fn before_the_list_of_devices_is_there_no_model_opens_anything() {
    let house = House::of(&[garage()]);
    house.borrow_mut().unanswered_lists = usize::MAX;
    in_front_of(&house, async |ann, model| {
        let result = result_of(ann, model, "control", open_garage()).await;
        assert_refused(&result, "unavailable", "nothing was sent");
        assert_eq!(house.borrow().calls, 0);
    });
}

#[test]
fn a_list_that_failed_is_not_an_empty_home() {
    let house = House::of(&[garage()]);
    house.borrow_mut().refused_lists = 6;
    in_front_of(&house, async |ann, model| {
        let result = result_of(ann, model, "control", open_garage()).await;
        assert_refused(&result, "unavailable", "The controller does not list its devices");
        assert_eq!(house.borrow().calls, 0);
        // It is asked for again until it is there.
        sleep(Duration::from_secs(180)).await;
        assert_eq!(asked(ann, model, "control", open_garage()).await["what"], "open Garage Door");
    });
}

#[test]
fn a_home_that_is_empty_is_one() {
    let house = House::of(&[]);
    in_front_of(&house, async |ann, model| {
        let result = result_of(ann, model, "control", json!({ "action": "list" })).await;
        assert_eq!(house.borrow().calls, 1, "{result}");
        house.borrow_mut().faults.clear();
    });
}

/// The controller may read names in its own way: it gets the one that the hub understood.
#[test]
fn names_with_symbols_and_rooms_are_resolved_once() {
    let things = [
        Thing::new("g1", "🚗 Garage Door", "Outside", "garage"),
        Thing::new("c1", "Door", "Garage", "light"),
        Thing::new("l1", "🔒 Front Door", "Hall", "lock"),
        Thing::new("c2", "Door", "Front", "light"),
    ];
    let house = House::of(&things);
    in_front_of(&house, async |ann, model| {
        for (tool, arguments, what) in [
            ("control", open_garage(), "open 🚗 Garage Door"),
            ("bolt", json!({ "deviceName": "Front Door", "action": "unlock" }), "unlock 🔒 Front Door"),
        ] {
            let approval = asked(ann, model, tool, arguments).await;
            assert_eq!(approval["what"], what);
            house.borrow_mut().allowed.push((what.into(), None));
            ann.asks("approve", json!({ "id": approval["id"], "allow": true })).await;
            assert_eq!(model_hears(model).await["success"], true);
            ann.reply().await;
        }
        assert_eq!(house.borrow().guarded_calls, 2);
    });
}

#[test]
fn a_lamp_whose_name_is_not_exact_asks_nobody() {
    let things = [
        Thing::new("k1", "Kitchen Light", "Kitchen", "light"),
        Thing::new("s1", "Alarm Siren", "Hall", "siren"),
    ];
    let house = House::of(&things);
    in_front_of(&house, async |ann, model| {
        for (spoken, nearest) in
            [("kitchen lights", "Kitchen Light"), ("Kitchn Light", "Kitchen Light"), ("Küchenlicht", "")]
        {
            let call = json!({ "deviceName": spoken, "action": "on" });
            let result = result_of(ann, model, "control", call).await;
            assert_refused(&result, "not_found", nearest);
            assert_contains(&result["error"], spoken);
        }
        let result =
            result_of(ann, model, "control", json!({ "deviceName": "light in the kitchen", "action": "on" }));
        assert_eq!(result.await["success"], true);
        assert_eq!((house.borrow().calls, house.borrow().guarded_calls), (1, 0));
    });
}

#[test]
fn a_destructive_tool_is_what_it_says_whatever_it_mentions() {
    let house = House::of(&[Thing::new("g1", "Garage", "", "garage")]);
    let wipe = json!({ "name": "wipe", "inputSchema": { "type": "object" }, "annotations": { "destructiveHint": true } });
    house.borrow_mut().tools.as_array_mut().expect("tools").push(wipe);
    in_front_of(&house, async |ann, model| {
        ann.sets("gate.open", json!("allow")).await;
        let call = json!({ "note": "Garage", "target": "everything" });
        let approval = asked(ann, model, "wipe", call.clone()).await;
        assert_eq!(approval["what"], r#"call wipe with {"note":"Garage","target":"everything"}"#);
        ann.asks("approve", json!({ "id": approval["id"], "allow": false })).await;
        model_hears(model).await;
        ann.reply().await;
        ann.sets("gate.tools", json!("deny")).await;
        assert_refused(&result_of(ann, model, "wipe", call).await, "denied", "forbidden by the settings");
        assert_eq!(house.borrow().calls, 0);
    });
}

/// The hint counts for every device, guarded or not, unless the call is exactly a declared action.
#[test]
fn a_destructive_tool_switches_a_lamp_unasked_only_by_its_exact_actions() {
    let house = House::of(&[Thing::new("l1", "Lamp", "Hall", "light")]);
    house.borrow_mut().tools = tools(&json!({ "destructiveHint": true }));
    in_front_of(&house, async |ann, model| {
        for call in [
            json!({ "deviceName": "Lamp", "action": "on" }),
            json!({ "deviceName": "the lamp", "action": "off" }),
            json!({ "deviceName": "Lamp", "action": "dim", "level": 30 }),
        ] {
            assert_eq!(result_of(ann, model, "control", call).await["success"], true);
        }
        for call in [
            json!({ "action": "on", "deviceName": "Lamp", "level": 30 }),
            json!({ "action": "on", "deviceName": "Lamp", "note": "x" }),
            json!({ "action": "toggle", "deviceName": "Lamp" }),
        ] {
            let approval = asked(ann, model, "control", call.clone()).await;
            assert_eq!(approval["what"], format!("call control for Lamp with {call}"));
            ann.asks("approve", json!({ "id": approval["id"], "allow": false })).await;
            assert_refused(&model_hears(model).await, "denied", "");
            ann.reply().await;
        }
        assert_eq!(house.borrow().calls, 3);
    });
}

#[test]
fn a_tool_that_declares_nothing_asks_unless_the_settings_allow_it() {
    let house = House::of(&[garage()]);
    house.borrow_mut().tools.as_array_mut().expect("tools").push(support::controller::a_tool("mystery"));
    in_front_of(&house, async |ann, model| {
        let approval = asked(ann, model, "mystery", json!({})).await;
        assert_eq!(approval["what"], "call mystery with {}");
        ann.asks("approve", json!({ "id": approval["id"], "allow": false })).await;
        model_hears(model).await;
        ann.reply().await;
        ann.sets("gate.unmarked", json!("allow")).await;
        assert_eq!(result_of(ann, model, "mystery", json!({})).await["success"], true);
        house.borrow_mut().faults.clear();
    });
}

#[test]
fn a_hint_does_not_make_an_unlocking_harmless() {
    let house = House::of(&[Thing::new("l1", "Front Door", "Hall", "lock")]);
    house.borrow_mut().tools = tools(&json!({ "readOnlyHint": true }));
    in_front_of(&house, async |ann, model| {
        let call = json!({ "deviceName": "Front Door", "action": "unlock" });
        assert_eq!(asked(ann, model, "bolt", call).await["what"], "unlock Front Door");
    });
}

/// What was approved is what runs: the same bytes, for the same device, by the same tool.
#[test]
fn an_approval_is_void_if_the_tool_or_the_device_changes_meanwhile() {
    let house = House::of(&[garage()]);
    in_front_of(&house, async |ann, model| {
        let approval = asked(ann, model, "control", open_garage()).await;
        house.borrow_mut().tools[0]["description"] = json!("Opens everything.");
        house.borrow_mut().notices.push(("tools/list_changed", json!({})));
        sleep(Duration::from_secs(5)).await;
        ann.asks("approve", json!({ "id": approval["id"], "allow": true })).await;
        assert_refused(&model_hears(model).await, "unavailable", "changed its tools");
        ann.reply().await;

        let approval = asked(ann, model, "control", open_garage()).await;
        house.borrow_mut().things[0].kind = "siren";
        house.borrow_mut().notices.push(("resources/updated", json!({ "uri": "home://devices/g1" })));
        sleep(Duration::from_secs(5)).await;
        ann.asks("approve", json!({ "id": approval["id"], "allow": true })).await;
        assert_refused(&model_hears(model).await, "denied", "changed since");
        assert_eq!(house.borrow().calls, 0);
    });
}

/// A controller that changes its tools again and again is asked for them after a pause. What was approved waits for that.
#[test]
fn an_approval_is_void_if_the_tool_has_changed_and_the_list_is_not_there_yet() {
    let house = House::of(&[garage()]);
    in_front_of(&house, async |ann, model| {
        for _ in 0..2 {
            house.borrow_mut().notices.push(("tools/list_changed", json!({})));
            sleep(Duration::from_secs(2)).await;
        }
        let approval = asked(ann, model, "control", open_garage()).await;
        house.borrow_mut().tools[0]["description"] = json!("Opens everything.");
        house.borrow_mut().notices.push(("tools/list_changed", json!({})));
        sleep(Duration::from_secs(2)).await;
        ann.asks("approve", json!({ "id": approval["id"], "allow": true })).await;
        assert_refused(&model_hears(model).await, "unavailable", "changed its tools");
        assert_eq!(house.borrow().calls, 0);
    });
}

/// A garage door takes the name of a blind, and the controller is slow to describe both.
#[test]
fn a_name_that_has_moved_to_a_garage_door_means_the_garage_door() {
    let house =
        House::of(&[Thing::new("b1", "Blind", "Hall", "light"), Thing::new("g1", "Gate", "", "garage")]);
    in_front_of(&house, async |ann, model| {
        sleep(Duration::from_secs(5)).await;
        {
            let mut house = house.borrow_mut();
            house.reading = Duration::from_secs(2);
            house.things[0].name = "Old Blind".into();
            house.things[1].name = "Blind".into();
            for id in ["b1", "g1"] {
                let uri = json!({ "uri": format!("home://devices/{id}") });
                house.notices.push(("resources/updated", uri));
            }
        }
        // The first of them is being read.
        sleep(Duration::from_millis(1500)).await;
        let approval = asked(ann, model, "control", json!({ "deviceName": "Blind", "action": "open" })).await;
        assert_eq!(approval["what"], "open Blind");
        // While the person decides, the door changes again. Nothing is sent before the hub has read that.
        house.borrow_mut().things[1].name = "Gate".into();
        house.borrow_mut().notices.push(("resources/updated", json!({ "uri": "home://devices/g1" })));
        sleep(Duration::from_millis(1500)).await;
        ann.asks("approve", json!({ "id": approval["id"], "allow": true })).await;
        assert_refused(&model_hears(model).await, "denied", "changed since");
        assert_eq!(house.borrow().calls, 0);
    });
}

#[test]
fn a_model_restarts_nothing_unasked() {
    let house = House::of(&[]);
    in_front_of(&house, async |ann, model| {
        for _ in 0..6 {
            let approval = asked(ann, model, "hub_restart_hub", json!({ "confirm": "RESTART_HUB" })).await;
            assert_contains(&approval["what"], "call hub_restart_hub");
            ann.asks("approve", json!({ "id": approval["id"], "allow": false })).await;
            assert_refused(&model_hears(model).await, "denied", "Calling hub_restart_hub");
            ann.reply().await;
        }
    });
}

/// The effect that a request can have on a device.
enum Reach {
    /// Calls a controller's tool. The test covers it with at least one path.
    Calls,
    /// Calls no tool of a controller.
    None,
}

/// The match is exhaustive, so that every new request has to be classified here.
const fn reach(request: Request) -> Reach {
    match request {
        Request::Chat | Request::Transcript | Request::ToolCall | Request::DeviceSet => Reach::Calls,
        // Decides about calls that were already assessed.
        Request::Approve
        | Request::Speak
        | Request::Cancel
        | Request::ToolList
        | Request::Health
        | Request::PromptList
        | Request::ContentPut
        | Request::ContentDelete
        | Request::ContentList
        | Request::ConfigGet
        | Request::ConfigSet
        | Request::ConfigList
        | Request::DeviceList
        | Request::TimeSet => Reach::None,
    }
}

/// A path to a guarded device.
struct Path {
    request: Request,
    payload: Value,
    /// The model's call on this path, and the beginning of its prompt.
    model: Option<(&'static str, Value)>,
    /// The question to the person, or the error type of the refusal.
    what: Result<&'static str, &'static str>,
}

/// Every path to a device leads through the same gate. Covers all requests that can call a controller's tool, as
/// people, programs, Home Assistant and models use them.
#[test]
fn every_path_to_a_door_asks() {
    const GARAGE: &str = "open Garage Door";
    const DOOR: &str = "unlock Front Door";
    let text = r#"{ "groups": { "Outer": ["Garage Door", "Porch Awning"] },
        "scenes": { "Coming": { "steps": [{ "device": "Porch Light", "action": "on" }, { "device": "Garage Door", "action": "open" }] } } }"#;
    let file = std::env::temp_dir().join(support::unique("plans"));
    std::fs::write(&file, text).expect("written");
    let plans = host_zwave::Plans::read(&file).expect("plans");
    std::fs::remove_file(&file).expect("there");
    let garage = Device {
        node: 21,
        name: "Garage Door",
        room: "Garage",
        state: DeviceState::Garage(false),
        battery: None,
        is_alive: true,
    };
    let home = Home::fast(7).with_device(garage).with_plans(plans);
    Setup::new().home(&home).story(async |world| {
        let mut ann = world.person("ann").await;
        crate::home::knows_devices(&mut ann).await;
        let mut model = world.model().await;
        ann.sets("gate.direct", json!("on")).await;
        let before = home.devices();

        let unlock = json!({ "deviceName": "Front Door", "action": "unlock" });
        let open = |name: &str| json!({ "deviceName": name, "action": "open" });
        let scene = json!({ "sceneName": "Coming" });
        let control = "control_zwave_device";
        let calls_tool = |tool: &str, arguments: &Value| json!({ "name": tool, "arguments": arguments });
        let sets = |device: &str, action: &str| json!({ "device": device, "action": action });
        let person = |request, payload, what| Path { request, payload, model: None, what };
        let mut paths = vec![
            person(Request::ToolCall, calls_tool("lock_door", &unlock), Ok(DOOR)),
            person(Request::ToolCall, calls_tool(control, &open("garage door")), Ok(GARAGE)),
            person(Request::ToolCall, calls_tool("undo", &json!({})), Ok(DOOR)),
            person(Request::ToolCall, calls_tool(control, &open("Outer")), Err("not_found")),
            person(Request::ToolCall, calls_tool("activate_scene", &scene), Err("execution_error")),
            person(Request::DeviceSet, sets("front door", "unlock"), Ok(DOOR)),
            person(Request::DeviceSet, sets("garage door", "open"), Ok(GARAGE)),
            person(Request::DeviceSet, sets("Outer", "open"), Err("invalid_parameters")),
            person(Request::DeviceSet, sets("Coming", "activate"), Err("execution_error")),
        ];
        // Home Assistant, with the commands from the announcements.
        let mut assistant = world.client("assistant", &["homeassistant/device/story/+/config"]).await;
        while let Some(message) = assistant.next(Duration::from_secs(2)).await {
            let announced = message.json();
            let name = announced["dev"]["name"].as_str().unwrap_or_default().to_owned();
            let main = &announced["cmps"]["main"];
            let (payload, what) = match name.as_str() {
                "Front Door" => (main["cmd_tpl"].as_str(), Ok(DOOR)),
                "Garage Door" => (main["pl_open"].as_str(), Ok(GARAGE)),
                "Coming" => (main["pl_on"].as_str(), Err("execution_error")),
                _ => continue,
            };
            assert_eq!(announced["cmd_t"], json!(ann.topic("request/device/set")));
            let payload = payload.expect("a command").replace("{{value|lower}}", "unlock");
            let payload = serde_json::from_str(&payload).expect("JSON");
            paths.push(person(Request::DeviceSet, payload, what));
        }
        assert_eq!(paths.len(), 12, "three of Home Assistant, which may not open a group with a garage door");
        let chat = json!({ "text": "Do it", "conversation": "porch" });
        let by_models = [
            (Request::Chat, chat.clone()),
            (Request::Transcript, json!({ "text": "Hearthwave, do it", "satellite": "porch" })),
            // A prompt that runs one of the hub's tools.
            (Request::Chat, json!({ "text": "@status", "conversation": "porch" })),
        ];
        for (request, payload) in by_models {
            for (tool, arguments, what) in [
                ("lock_door", unlock.clone(), Ok(DOOR)),
                (control, open("door in the garage"), Ok(GARAGE)),
                ("undo", json!({}), Ok(DOOR)),
                (control, open("Outer"), Err("not_found")),
                ("activate_scene", scene.clone(), Err("execution_error")),
            ] {
                let model = Some((tool, arguments));
                paths.push(Path { request, payload: payload.clone(), model, what });
            }
        }
        for (name, request) in REQUESTS {
            let is_taken = paths.iter().any(|path| path.request == *request);
            assert_eq!(is_taken, matches!(reach(*request), Reach::Calls), "{name}");
        }

        for Path { request, payload, model: called, what } in paths {
            let name = request.name();
            let path = format!("{name} {payload} {called:?}");
            if path.contains("undo") {
                // Provides a change to take back.
                home.press("Front Door");
                sleep(Duration::from_secs(1)).await;
                ann.asks("device/set", json!({ "device": "Front Door", "action": "lock" })).await;
                sleep(Duration::from_secs(1)).await;
            }
            ann.sends(name, payload);
            if let Some(call) = &called {
                model.serves(calls(std::slice::from_ref(call))).await;
            }
            if let Ok(what) = what {
                let approval = waits(&mut ann).await;
                assert_eq!(approval["what"], what, "{path}");
                ann.asks("approve", json!({ "id": approval["id"], "allow": false })).await;
            }
            let result = match called {
                Some(_) => model_hears(&mut model).await,
                None => ann.gets(name).await,
            };
            let words = if what == Err("execution_error") { "is opened only when" } else { "" };
            assert_refused(&result, what.err().unwrap_or("denied"), words);
            match request {
                Request::Chat => drop(ann.reply().await),
                // The answer is spoken.
                _ => sleep(Duration::from_secs(1)).await,
            }
        }
        assert_eq!(home.devices(), before, "nothing has moved");
    });
}

async fn waits(ann: &mut Client) -> Value {
    loop {
        let message = ann.next(Duration::from_secs(20)).await.expect("an approval");
        if message.topic.contains("/approval/") && message.json()["state"] == "waiting" {
            return message.json();
        }
    }
}
