//! The home in the firmware: 64 devices, and what they cost.

use host_zwave::{Device, DeviceState, Home};
use serde_json::{Value, json};
use support::mosquitto::Mosquitto;
use support::wait_for;

use crate::way::Way;
use crate::{STACK, serves, waits_for_info};

/// Instructions for one device, from the controller's line to the table: a thousandth of a second on a board.
const UPDATE_BUDGET: u64 = 160_000;

/// Instructions for a call of a controller's tool in a home of 64 devices, from the lookup of the tool to the serial line: its
/// arguments are checked, its device is resolved, and it is assessed.
const CALL_BUDGET: u64 = 150_000;

/// The same if the name is not the device's address: it is compared with all names, and the arguments are written again.
const SPOKEN_CALL_BUDGET: u64 = 260_000;

/// Instructions for the announcement of a device to Home Assistant, until the network has it.
const ANNOUNCE_BUDGET: u64 = 100_000;

/// A home with this many switches beside what it has anyway.
fn large_home(count: u16) -> Home {
    (0..count).fold(Home::fast(7), |home, number| {
        let name: &'static str = Box::leak(format!("Socket number {number}").into_boxed_str());
        let state = DeviceState::Switch(number % 2 == 0);
        let node = 100 + number;
        home.with_device(Device { node, name, room: "Workshop", state, battery: None, is_alive: true })
    })
}

fn device(broker: &Mosquitto, id: &str) -> Value {
    serde_json::from_str(&broker.next_message(&format!("hearthwave/qemu/device/{id}"))).expect("JSON")
}

#[test]
#[ignore = "needs qemu, mosquitto and the firmware; ./tests/run runs it"]
fn a_board_knows_64_devices_and_counts_the_rest() {
    let site = Way::Plain.broker();
    let broker = &site.broker;
    // One instruction is one nanosecond, so that the hub's own clock counts them.
    let machine = site.machine(&["icount=1", "log=debug", "report=1"]);
    let home = large_home(50);
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

    let log = machine.log();
    let sent =
        log.lines().filter_map(|line| line.split_once("is sent after ")?.1.strip_suffix(" us")?.parse().ok());
    let sent: Vec<u64> = sent.map(|microseconds: u64| microseconds * 1000).collect();
    println!(
        "instructions for a controller call, until it is sent: {sent:?} (budget {CALL_BUDGET}, {SPOKEN_CALL_BUDGET})"
    );
    // A packet that arrives during a call adds its interrupt to the count, so the cheapest of three equal calls counts.
    let cheapest: Vec<u64> = sent.chunks(3).filter_map(|calls| calls.iter().min().copied()).collect();
    let [set, exact, spoken] = cheapest[..] else { panic!("{sent:?}") };
    assert!(set.max(exact) <= CALL_BUDGET && spoken <= SPOKEN_CALL_BUDGET, "{sent:?}");
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
