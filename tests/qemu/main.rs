//! The firmware in QEMU, on the instruction set of an ESP32-C3, with a real broker and a real MCP server around it.

mod boot;
mod burst;
mod chat;
mod console;
mod erases;
mod home;
mod time;
mod tls;
mod way;

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use host_zwave::Home;
use serde_json::{Value, json};
use support::line::LineTap;
use support::machine::Machine;
use support::mosquitto::Mosquitto;
use support::wait_for;

use crate::way::Way;

const CALL: &str = "hearthwave/qemu/request/tool/call";

/// The deepest that a stack may be: half of the smallest that a board has, which `firmware/esp32/size` checks.
const STACK: usize = 50_100 / 2;

fn waits_for_info(broker: &Mosquitto, is_it: impl Fn(&Value) -> bool) -> Value {
    let mut info = Value::Null;
    wait_for("info", || {
        info = serde_json::from_str(&broker.next_message("hearthwave/qemu/info")).expect("JSON");
        is_it(&info)
    });
    info
}

/// The result of a call that has to succeed.
fn calls(broker: &Mosquitto, tool: &str, arguments: Value) -> Value {
    let reply = broker.call("qemu", tool, arguments);
    assert_eq!(reply["success"], true, "{reply}");
    reply["result"].clone()
}

/// Switches a light on, with the names that models use.
fn switches_on(broker: &Mosquitto) {
    let arguments = json!({ "device_name": "Switch One", "command": "on" });
    let reply = broker.call("qemu", "control_zwave_device", arguments);
    assert!(reply["success"] == true && reply.to_string().contains("Switch One"), "{reply}");
}

/// Has the home served on a line, in the background.
fn serves(home: &Home, line: UnixStream) {
    let home = home.clone();
    std::thread::spawn(move || {
        line.set_nonblocking(true).expect("a socket");
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(async {
            let line = tokio::net::UnixStream::from_std(line).expect("a socket");
            home.serve(line).await;
        });
    });
}

/// The firmware's serial line is the standard input and output of this program.
/// Returns who it is.
fn drives(way: Way, mut controller: Command) -> Value {
    let site = way.broker();
    let broker = &site.broker;
    let machine = site.machine(&[]);
    let line = machine.line();
    line.set_read_timeout(None).expect("no timeout");
    let input = std::os::fd::OwnedFd::from(line.try_clone().expect("a socket"));
    let output = std::os::fd::OwnedFd::from(line);
    let mut controller =
        controller.stdin(input).stdout(output).stderr(Stdio::null()).spawn().expect("it runs");
    let info = waits_for_info(broker, |info| info["link"] == "ready");
    assert!(info["controller"]["tools"].as_u64() >= Some(2), "{info}");
    switches_on(broker);
    controller.kill().expect("it ran");
    controller.wait().expect("its end");
    info["controller"].clone()
}

/// A controller on the Python SDK.
fn python_controller() -> Command {
    let python =
        std::env::var_os("HEARTHWAVE_PYTHON").expect("HEARTHWAVE_PYTHON is a Python with the package mcp");
    let mut controller = Command::new(python);
    controller.arg(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("host-sim/tests/python/controller.py"));
    controller
}

#[test]
#[ignore = "needs qemu, mosquitto and the firmware; ./tests/run runs it"]
fn the_firmware_drives_the_simulated_controller_as_a_program() {
    Way::each(|way| {
        let mut zwave =
            Command::new(std::env::var_os("HEARTHWAVE_ZWAVE").expect("HEARTHWAVE_ZWAVE is that program"));
        zwave.arg("--fast");
        drives(way, zwave);
    });
}

#[test]
#[ignore = "needs qemu, mosquitto, the firmware and the Python package mcp; ./tests/run runs it"]
fn the_firmware_drives_a_controller_on_the_python_sdk() {
    Way::each(|way| {
        drives(way, python_controller());
    });
}

/// Popular servers list 20, 44 and 76 kB of tools in one line.
#[test]
#[ignore = "needs qemu, mosquitto, the firmware and the Python package mcp; ./tests/run runs it"]
fn the_firmware_takes_as_many_tools_as_fit_of_a_list_of_any_length() {
    Way::each(|way| {
        for (kilobytes, fits) in [("20", true), ("44", false), ("76", false)] {
            let mut controller = python_controller();
            controller.arg(kilobytes);
            let controller = drives(way, controller);
            println!("{kilobytes} kB of tools: {controller}");
            assert!(controller["tools"].as_u64() >= Some(20), "{controller}");
            assert_eq!(controller["left_out"] == 0, fits, "{controller}");
        }
    });
}

#[test]
#[ignore = "needs qemu, mosquitto and the firmware; ./tests/run runs it"]
fn the_firmware_remembers_and_its_tools_keep_to_the_stack() {
    Way::each(|way| {
        let site = way.broker();
        let broker = &site.broker;
        let machine = site.machine(&["report=1"]);
        let _line = machine.line();
        assert_eq!(broker.next_message("hearthwave/qemu/availability"), "online");
        let document = json!({ "category": "long", "name": "text", "text": "x".repeat(3000) }).to_string();
        let put = broker.ask("hearthwave/qemu/request/content/put", document.as_bytes());
        let put: Value = serde_json::from_str(&put).expect("JSON");
        assert_eq!(put["success"], true, "{put}");
        // Enough changes for the store to erase pages.
        for round in 0..40 {
            let value = format!("{round}{}", "v".repeat(400));
            calls(broker, "set_feature_flag", json!({ "name": "flag", "value": value }));
            let seen = calls(broker, "get_project_flag", json!({ "name": "flag" }));
            assert_eq!(seen["value"], value);
        }
        let content = calls(broker, "get_content", json!({ "expression": "long/*,hub" }));
        assert_eq!(content["documents"][0]["text"].as_str().map(str::len), Some(3000));
        let deep = format!("{}1{}", "(".repeat(30), ")".repeat(30));
        assert_eq!(calls(broker, "math_eval", json!({ "expression": deep })), json!({ "result": 1 }));
        machine.logs("usage: stack");
        std::thread::sleep(Duration::from_millis(1500));
        let used = machine.stack_used();
        println!("the firmware's stack, deepest over the tools: {used} bytes");
        assert!(used < STACK, "{used} bytes of stack");
    });
}

#[test]
#[ignore = "needs qemu, mosquitto and the firmware; ./tests/run runs it"]
fn the_firmware_boots_serves_and_comes_back() {
    Way::each(boots_serves_and_comes_back);
}

/// The story of a day.
fn boots_serves_and_comes_back(way: Way) {
    let mut site = way.broker();
    let machine = site.machine(&["report=1"]);
    let broker = &mut site.broker;
    // The controller is one on the real SDK, after some noise on the line.
    let mut line = machine.line();
    let mut hello = String::new();
    BufReader::new(&line).read_line(&mut hello).expect("a line");
    let hello: Value = serde_json::from_str(&hello).expect("JSON");
    assert_eq!((&hello["jsonrpc"], &hello["method"]), (&"2.0".into(), &"initialize".into()));
    line.write_all(b"Z-Wave controller booting\r\n\xff\xfe\x80\n").expect("written");
    line.write_all(&[b'x'; 100_000]).expect("written");
    line.write_all(b"\n").expect("written");
    machine.logs("not JSON-RPC: Z-Wave controller booting");
    machine.logs("not JSON-RPC: \u{fffd}\u{fffd}\u{fffd}");
    machine.logs("not JSON-RPC: xxxxxxxx");
    let home = Home::default();
    serves(&home, line);

    // Nothing waited for the controller.
    assert_eq!(broker.next_message("hearthwave/qemu/availability"), "online");
    broker.echo("qemu", "first");
    let info = waits_for_info(broker, |info| info["link"] == "ready");
    assert_eq!(info["target"], "qemu");
    assert_eq!(info["controller"]["name"], "simulated-zwave");
    assert_eq!(info["controller"]["tools"], 9);

    // Names as models write them, and as the controller expects them.
    assert_eq!(home.device("Switch One").expect("it").json()["state"]["on"], false);
    switches_on(broker);
    let call = home.record().calls().into_iter().next_back().expect("a call");
    let seen = Value::from(call.arguments.expect("arguments"));
    assert_eq!(seen, json!({ "deviceName": "Switch One", "action": "on" }));
    assert_eq!(home.device("Switch One").expect("it").json()["state"]["on"], true);

    // As a person with two terminals would do it.
    let call = br#"{"name":"echo","transaction":"t-7"}"#;
    let reply = broker.ask_in_two_terminals(CALL, call, "hearthwave/qemu/response/tool/call");
    let reply: Value = serde_json::from_str(&reply).expect("JSON");
    assert_eq!((&reply["success"], &reply["transaction"]), (&true.into(), &"t-7".into()));

    // Hostile requests.
    let large = vec![b'x'; 100_000];
    for (payload, error_type) in [
        (&large[..], "too_large"),
        (b"{\"name\":\"e\xffcho\"}", "invalid_json"),
        (b"{\"name\":\"nope\"}", "not_found"),
        (b"[]", "invalid_request"),
    ] {
        let reply: Value = serde_json::from_str(&broker.ask(CALL, payload)).expect("JSON");
        assert_eq!(reply["error_type"], error_type, "{reply}");
    }
    broker.echo("qemu", "still there");

    // The broker is gone for a while.
    broker.kill();
    machine.logs("connection lost");
    std::thread::sleep(Duration::from_secs(2));
    broker.restart();
    assert_eq!(broker.next_message("hearthwave/qemu/availability"), "online");
    broker.echo("qemu", "back again");
    assert_eq!(waits_for_info(broker, |info| info["link"] == "ready")["controller"]["tools"], 9);

    machine.logs("usage: stack ");
    let stack = machine.stack_used();
    println!("deepest stack in this story: {stack} bytes");
    assert!(stack < STACK, "{stack}");
}

/// spec: gateway-22, gateway-24
#[test]
#[ignore = "needs qemu, mosquitto and the firmware; ./tests/run runs it"]
fn nothing_but_json_rpc_is_on_the_line_however_much_is_logged() {
    Way::each(|way| {
        let site = way.broker();
        let broker = &site.broker;
        let machine = site.machine(&["log=trace"]);
        serves(&Home::default(), machine.line());
        waits_for_info(broker, |info| info["link"] == "ready");
        switches_on(broker);
        let reply =
            broker.call("qemu", "control_zwave_device", json!({ "device_name": "nobody", "command": "on" }));
        assert_eq!(reply["success"], false, "{reply}");
        broker.echo("qemu", "its own");
        for words in [
            "TRACE Tool called: control_zwave_device",
            "DEBUG ",
            "INFO  tool control_zwave_device",
            "ERROR Tool",
        ] {
            machine.logs(words);
        }
        let written = machine.written.lock().expect("its bytes").clone();
        let mut tap = LineTap::default();
        tap.wrote(&written);
        // The handshake takes three, and two are calls.
        assert!(tap.count() >= 5, "{}", String::from_utf8_lossy(&written));
    });
}

/// Instructions for one call of `echo`, from the payload that came in to the payload that went out.
const ECHO_BUDGET: u64 = 45_000;
/// The same by TLS: the reply is sealed, and the event before it.
const ECHO_BUDGET_TLS: u64 = 140_000;

#[test]
#[ignore = "needs qemu, mosquitto and the firmware; ./tests/run runs it"]
fn an_echo_call_stays_within_its_budget() {
    Way::each(|way| {
        const CALLS: usize = 20;
        let site = way.broker();
        let broker = &site.broker;
        // One instruction is one nanosecond, whatever the host does, so that the hub's own clock counts them.
        let machine = site.machine(&["icount=1", "log=debug"]);
        let mut line = machine.line();
        std::thread::spawn(move || std::io::copy(&mut line, &mut std::io::sink()));
        assert_eq!(broker.next_message("hearthwave/qemu/availability"), "online");
        for number in 0..CALLS {
            broker.echo("qemu", &number.to_string());
        }
        let log = machine.log();
        let microseconds = log
            .lines()
            .filter_map(|line| line.split_once("answered after ")?.1.strip_suffix(" us")?.parse().ok());
        let counts: Vec<u64> = microseconds.map(|microseconds: u64| microseconds * 1000).collect();
        assert!(counts.len() >= CALLS - 1, "{counts:?}");
        let most = *counts.iter().max().expect("a count");
        let budget = if way == Way::Tls { ECHO_BUDGET_TLS } else { ECHO_BUDGET };
        println!("instructions for one echo call, payload to payload: at most {most} (budget {budget})");
        assert!(most < budget, "{counts:?}");
    });
}

#[test]
#[ignore = "needs qemu, mosquitto and the firmware; ./tests/run runs it"]
fn the_firmware_says_what_is_wrong() {
    Way::each(|way| {
        let site = way.broker_for(Some(("hub", "secret")));
        let broker = &site.broker;
        let refused = site.machine(&["user=hub", "password=wrong"]);
        refused.logs("it refused the login; check user name and password");
        assert!(!refused.log().contains("wrong"), "the password is in the log");
        drop(refused);

        let silent = site.machine(&["user=hub", "password=secret"]);
        assert_eq!(broker.next_message("hearthwave/qemu/availability"), "online");
        let mut line = silent.line();
        std::thread::spawn(move || std::io::copy(&mut line, &mut std::io::sink()));
        silent.logs("MCP connection failed after 3 attempts");
        broker.echo("qemu", "without a controller");
        let info = waits_for_info(broker, |info| info["link"] == "degraded");
        assert_eq!(info["tools"], hub_core::tools::TOOLS.len());
    });
}
