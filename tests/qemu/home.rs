//! The home in the firmware: 64 devices, and what they cost.

use host_zwave::{Device, DeviceState, Home};
use serde_json::{Value, json};
use support::mosquitto::Mosquitto;
use support::wait_for;

use crate::chat::relay;
use crate::way::Way;
use crate::{STACK, serves, waits_for_info};

/// Instructions for one device, from the controller's line to the table: a thousandth of a second on a board.
const UPDATE_BUDGET: u64 = 160_000;

/// Instructions for a call of a controller's tool in a home of 64 devices, from the lookup of the tool to the serial line: its
/// arguments are checked, its device is resolved, and it is assessed.
const CALL_BUDGET: u64 = 150_000;

/// The same if the name is not the device's address: it is compared with all names, and the arguments are written again.
const SPOKEN_CALL_BUDGET: u64 = 260_000;

/// The same for a model's call, which names the device by its address.
const MODEL_CALL_BUDGET: u64 = 155_000;

/// Instructions that each lock, garage door or siren of the home adds to a call.
const GUARDED_BUDGET: u64 = 3_500;

/// Instructions for the announcement of a device to Home Assistant, until the network has it.
const ANNOUNCE_BUDGET: u64 = 100_000;

/// A home with this many switches and sirens beside what it has anyway.
fn large_home(count: u16, sirens: u16) -> Home {
    let home = (0..count).fold(Home::fast(7), |home, number| {
        let name: &'static str = Box::leak(format!("Socket number {number}").into_boxed_str());
        let state = DeviceState::Switch(number % 2 == 0);
        let node = 100 + number;
        home.with_device(Device { node, name, room: "Workshop", state, battery: None, is_alive: true })
    });
    (0..sirens).fold(home, |home, number| {
        let name: &'static str = Box::leak(format!("Siren number {number}").into_boxed_str());
        let (node, state) = (200 + number, DeviceState::Siren(false));
        home.with_device(Device { node, name, room: "Attic", state, battery: None, is_alive: true })
    })
}

/// The instructions until each call of the controller's tool for devices was sent, in the log.
fn sent(log: &str) -> Vec<u64> {
    let of_tool = log.lines().filter_map(|line| line.split_once("tool control_zwave_device is sent after "));
    let times = of_tool.filter_map(|(_, time)| time.strip_suffix(" us")?.parse::<u64>().ok());
    times.map(|microseconds| microseconds * 1000).collect()
}

fn device(broker: &Mosquitto, id: &str) -> Value {
    serde_json::from_str(&broker.next_message(&format!("hearthwave/qemu/device/{id}"))).expect("JSON")
}

#[test]
#[ignore = "needs qemu, mosquitto and the firmware; ./tests/run runs it"]
fn a_board_knows_64_devices_and_counts_the_rest() {
    for sirens in [0, 10] {
        knows_64_devices(sirens);
    }
}

/// The same with so many sirens among the devices.
fn knows_64_devices(sirens: u16) {
    let site = Way::Plain.broker();
    let broker = &site.broker;
    // One instruction is one nanosecond, so that the hub's own clock counts them.
    let machine = site.machine(&["icount=1", "log=debug", "report=1"]);
    let home = large_home(50 - sirens, sirens);
    let budget = |budget: u64| budget + u64::from(sirens) * GUARDED_BUDGET;
    let (call_budget, spoken_call_budget) = (budget(CALL_BUDGET), budget(SPOKEN_CALL_BUDGET));
    let model_call_budget = budget(MODEL_CALL_BUDGET);
    serves(&home, machine.line());
    let info = waits_for_info(broker, |info| info["devices"] == 64);
    let left_out = home.devices().len() + 4 - 64;
    assert_eq!(info["devices_left_out"], left_out, "{info}");
    assert_eq!(device(broker, "100-0")["state"], json!({ "on": true }));

    // Somebody presses a switch on the wall, and presses it again.
    for is_on in [false, true] {
        home.press("Socket number 0");
        wait_for("the switch", || device(broker, "100-0")["state"]["on"] == is_on);
    }
    for action in ["off", "on", "off"] {
        let set = json!({ "device": "socket number 2", "action": action }).to_string();
        let reply = broker.ask("hearthwave/qemu/request/device/set", set.as_bytes());
        assert!(reply.contains("\"success\":true"), "{reply}");
    }
    for name in ["Socket number 3", "the socket number 3"] {
        for command in ["on", "off", "on"] {
            let call = json!({ "device_name": name, "command": command });
            assert_eq!(broker.call("qemu", "control_zwave_device", call)["success"], true, "{name}");
        }
    }

    let relay = relay(broker.port, &["--provider", "demo"]);
    let mut by_model = vec![];
    for action in ["on", "off", "on"] {
        let before = sent(&machine.log()).len();
        let chat = json!({ "text": format!("turn {action} the kitchen light") }).to_string();
        let reply = broker.ask("hearthwave/qemu/request/chat", chat.as_bytes());
        assert!(reply.contains(&format!("Kitchen Light is now {action}")), "{reply}");
        wait_for("the call in the log", || sent(&machine.log()).len() > before);
        by_model.push(sent(&machine.log())[before]);
    }
    relay.stop();

    let log = machine.log();
    let mut sent = sent(&log);
    sent.truncate(sent.len() - by_model.len());
    println!(
        "instructions for a controller call, until it is sent: {sent:?} (budget {call_budget}, {spoken_call_budget})"
    );
    // A packet that arrives during a call adds its interrupt to the count, so the cheapest of three equal calls counts.
    let cheapest: Vec<u64> = sent.chunks(3).filter_map(|calls| calls.iter().min().copied()).collect();
    let [set, exact, spoken] = cheapest[..] else { panic!("{sent:?}") };
    assert!(set.max(exact) <= call_budget && spoken <= spoken_call_budget, "{sent:?}");
    println!("for a model's call: {by_model:?} (budget {model_call_budget})");
    assert!(by_model.iter().min().is_some_and(|cheapest| *cheapest <= model_call_budget), "{by_model:?}");
    let counts =
        log.lines().filter_map(|line| line.split_once("was read in ")?.1.strip_suffix(" us")?.parse().ok());
    let counts: Vec<u64> = counts.map(|microseconds: u64| microseconds * 1000).collect();
    let most = *counts.iter().max().expect("a count");
    println!(
        "instructions for the update of a device: at most {most} (budget {UPDATE_BUDGET}), of {}",
        counts.len()
    );
    assert!(counts.len() > 32 && most < UPDATE_BUDGET, "{counts:?}");
    // Home Assistant is told of them, and when it starts once more.
    let announcement = "homeassistant/device/qemu/+/config";
    wait_for("64 announcements", || broker.retained(announcement).len() == 64);
    broker.publish("homeassistant/status", b"online");
    let announced = || {
        let log = machine.log();
        let counts = log.lines().filter_map(|line| {
            let (bytes, time) =
                line.split_once("announced in ")?.1.strip_suffix(" us")?.split_once(" bytes, ")?;
            Some((bytes.parse().ok()?, time.parse::<u64>().ok()? * 1000))
        });
        counts.collect::<Vec<(usize, u64)>>()
    };
    wait_for("all once more", || announced().len() >= 2 * 64);
    let (bytes, mut counts): (Vec<_>, Vec<_>) = announced().into_iter().unzip();
    counts.sort_unstable();
    // In the more expensive ones something else was done in between.
    let half = counts[counts.len() / 2];
    let total: usize = broker.retained(announcement).iter().map(String::len).sum();
    println!(
        "announcing 64 devices to Home Assistant: {total} bytes, at most {} each, {} instructions, {half} each in the \
         middle (budget {ANNOUNCE_BUDGET})",
        bytes.iter().max().expect("bytes"),
        counts.iter().sum::<u64>() / 2
    );
    assert!(half < ANNOUNCE_BUDGET, "{counts:?}");
    machine.logs("usage: stack ");
    let stack = machine.stack_used();
    println!("the firmware's stack with 64 devices, deepest: {stack} bytes");
    assert!(stack < STACK, "{stack}");
}
