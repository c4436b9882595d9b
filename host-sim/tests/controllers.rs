//! The hub drives real controllers: the simulated one as a program of its own, and one on another SDK, over every kind
//! of line.

use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use support::process::{Running, program};
use support::{Folder, wait_for};

/// The controller as a program.
fn zwave() -> String {
    program("host-zwave", "zwave").display().to_string()
}

/// Starts the simulated controller, and returns where it serves.
fn serving(arguments: &[&str]) -> (Running, String) {
    let mut command = Command::new(zwave());
    command.args(arguments).arg("--fast").env_remove("RUST_LOG").stdin(Stdio::null());
    Running::start_until(&mut command, "zwave: serving on ")
}

/// Asks one question with the controller at `link`: the reply, and what was logged.
fn asks(link: &str, tool: &str, arguments: Value) -> (Value, String) {
    let question = json!({ "name": tool, "arguments": arguments }).to_string();
    let output = Command::new(env!("CARGO_BIN_EXE_sim"))
        .args(["--link", link, "--once", &question])
        .env("RUST_LOG", "info")
        .stdin(Stdio::null())
        .output()
        .expect("it runs");
    let log = String::from_utf8_lossy(&output.stderr).into_owned();
    let reply =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}; the log:\n{log}"));
    (reply, log)
}

/// Switches a light on through `link`, with the names that models use.
fn switches_on(link: &str) {
    let (reply, log) =
        asks(link, "control_zwave_device", json!({ "device_name": "Switch One", "command": "on" }));
    assert_eq!(reply["success"], true, "{reply}\n{log}");
    let words = format!("{} {}", reply["result"], reply["message"]);
    assert!(words.contains("Switch One") && words.contains("on"), "{reply}");
    let both = "{\"command\":\"on\",\"device_name\":\"Switch One\"} -> {\"action\":\"on\",\"deviceName\":\"Switch One\"}";
    assert!(log.contains(both), "{log}");
}

fn in_a_shell(program: &str) -> String {
    format!("exec:'{program}' --fast")
}

#[test]
fn over_a_pipe() {
    switches_on(&in_a_shell(&zwave()));
}

#[test]
fn over_a_pseudo_terminal() {
    let (_controller, place) = serving(&["--pty"]);
    switches_on(&format!("serial:{place}"));
    // The next hub finds the same home.
    let link = format!("serial:{place}@115200");
    let (reply, log) = asks(&link, "get_device_status", json!({ "device_name": "switch one" }));
    assert!(reply["result"].to_string().contains("on"), "{reply}\n{log}");
}

#[test]
fn over_tcp() {
    let (_controller, place) = serving(&["--tcp", "127.0.0.1:0"]);
    switches_on(&format!("tcp:{place}"));
}

#[test]
fn over_a_line_that_chatters() {
    let command = in_a_shell(&zwave());
    switches_on(&format!("{command} --fault garbage --fault long-line --fault wrong-id --fault duplicate"));
}

/// The command of a controller on the Python SDK.
fn python() -> String {
    let python =
        std::env::var("HEARTHWAVE_PYTHON").expect("HEARTHWAVE_PYTHON is a Python with the package mcp");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/python/controller.py");
    format!("'{python}' '{}'", script.display())
}

#[test]
#[ignore = "needs the Python package mcp; ./tests/run runs it"]
fn on_the_python_sdk() {
    let link = format!("exec:{}", python());
    switches_on(&link);
    let (reply, log) = asks(&link, "control_zwave_device", json!({ "device_name": "Moon", "command": "on" }));
    assert_eq!(reply["success"], false);
    assert!(
        reply["error"].as_str().expect("words").contains("Device 'Moon' not found; there are Switch One,"),
        "{reply}\n{log}"
    );
    assert!(!log.contains("not JSON-RPC"), "what it says on stderr is no noise on the line:\n{log}");
}

/// Popular servers list 20, 44 and 76 kB of tools in one line.
#[test]
#[ignore = "needs the Python package mcp; ./tests/run runs it"]
fn on_the_python_sdk_with_more_tools_than_fit() {
    for (kilobytes, fits) in [(20, true), (44, false), (76, false)] {
        let link = format!("exec:{} {kilobytes}", python());
        switches_on(&link);
        let (reply, log) = asks(&link, "browser_action_0", json!({ "address": "here" }));
        assert!(reply.to_string().contains("here was opened"), "{reply}\n{log}");
        assert_eq!(log.contains("cannot be used"), !fits, "{log}");
        assert_eq!(log.contains("do not fit beside those of the other tools"), !fits, "{log}");
    }
}

#[test]
#[ignore = "needs socat and the Python package mcp; ./tests/run runs it"]
fn on_the_python_sdk_over_a_pseudo_terminal() {
    let folder = Folder::new("hearthwave-python");
    let place = folder.0.join("line");
    let mut socat = Command::new("socat");
    socat.arg(format!("PTY,raw,echo=0,link={}", place.display())).arg(format!("EXEC:{}", python()));
    let _running = Running::start(&mut socat);
    wait_for("the pseudo terminal", || place.exists());
    switches_on(&format!("serial:{}", place.display()));
}

/// spec: gateway-38
#[test]
fn what_a_program_says_on_stderr_before_it_fails_is_in_the_error() {
    let link = "exec:echo 'cannot reach the broker at zwave.local' >&2; exit 1";
    let (reply, log) = asks(link, "echo", json!({ "still": "here" }));
    assert_eq!(reply["result"], json!({ "echo": { "still": "here" } }), "local tools go on");
    for words in [
        "controller: MCP connection failed after 3 attempts",
        "controller:   reason: the line",
        "controller:   it said: stderr: cannot reach the broker at zwave.local",
        "controller:   check: that the command starts by itself",
        "continuing with local tools only (datetime, volume, search",
    ] {
        assert!(log.contains(words), "{words} is not in:\n{log}");
    }
    assert!(!log.contains("not JSON-RPC"), "stderr is not the line:\n{log}");
}
