//! `cargo zwave` as a hub or a person uses it: the program itself, on each of its lines.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};

use host_desktop::tty::{SerialPort, Tty};
use serde_json::{Value, json};
use support::process::Running;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt};

fn zwave(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_zwave"));
    command.args(arguments).env_remove("RUST_LOG");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Starts it, and returns where it serves.
fn serving(arguments: &[&str]) -> (Running, String) {
    Running::start_until(zwave(arguments).stdout(Stdio::null()), "zwave: serving on ")
}

fn request(id: u64, method: &str, params: Value) -> String {
    format!("{}\n", json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))
}

fn call(id: u64, tool: &str, arguments: Value) -> String {
    request(id, "tools/call", json!({ "name": tool, "arguments": arguments }))
}

fn greeting(id: u64) -> String {
    let client = json!({ "name": "test", "version": "1" });
    let hello = request(
        id,
        "initialize",
        json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client }),
    );
    format!("{hello}{}\n", json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))
}

/// Runs it on stdin and stdout, with all of `input`; returns its stdout and stderr.
fn converse(arguments: &[&str], level: Option<&str>, input: &[u8]) -> (Vec<u8>, String) {
    let mut command = zwave(arguments);
    command.stdin(Stdio::piped());
    if let Some(level) = level {
        command.env("RUST_LOG", level);
    }
    let mut running = command.spawn().expect("it runs");
    running.stdin.take().expect("a pipe").write_all(input).expect("it listens");
    let output = running.wait_with_output().expect("its end");
    assert_eq!(output.status.code(), Some(0));
    (output.stdout, String::from_utf8(output.stderr).expect("text"))
}

/// A session with successes, failures and invalid requests.
fn everything() -> Vec<u8> {
    let mut input = greeting(1).into_bytes();
    for line in [
        request(2, "tools/list", json!({})),
        call(3, "control_zwave_device", json!({ "deviceName": "Switch One", "action": "on" })),
        call(4, "control_zwave_device", json!({ "deviceName": "nobody", "action": "on" })),
        call(5, "control_zwave_device", json!({})),
        call(6, "fly", json!({})),
        request(7, "no/such/method", json!({})),
        request(8, "ping", json!({})),
        "this is not JSON\n".into(),
        "{\"half\": \n".into(),
        call(9, "activate_scene", json!({ "sceneName": "Good Night" })),
    ] {
        input.extend_from_slice(line.as_bytes());
    }
    input.extend_from_slice(b"\xff\xfe\x80\n");
    input.extend_from_slice(call(10, "get_device_status", json!({ "deviceName": "Hall Light" })).as_bytes());
    input
}

/// spec: gateway-23
/// spec: gateway-24
#[test]
fn stdout_carries_json_rpc_lines_and_nothing_else() {
    for level in [None, Some("debug"), Some("trace")] {
        let (stdout, _) = converse(&["--fast"], level, &everything());
        assert_eq!(stdout.last(), Some(&b'\n'), "the last line has its end, too");
        let mut answered = Vec::new();
        for line in stdout.strip_suffix(b"\n").expect("lines").split(|byte| *byte == b'\n') {
            let message: Value = serde_json::from_slice(line)
                .unwrap_or_else(|error| panic!("{error} in {:?}", String::from_utf8_lossy(line)));
            assert_eq!(message["jsonrpc"], "2.0", "{message}");
            assert!(message.get("result").is_some() != message.get("error").is_some(), "{message}");
            answered.extend(message["id"].as_u64());
        }
        answered.sort_unstable();
        assert_eq!(answered, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10], "each request has one answer");
    }
}

/// spec: gateway-18
/// spec: gateway-22
#[test]
fn what_the_server_notes_for_debugging_is_on_stderr() {
    let (stdout, stderr) = converse(&["--fast"], Some("debug"), &everything());
    let stdout = String::from_utf8(stdout).expect("text");
    for words in [
        "DEBUG zwave: call 3: control_zwave_device with ",
        "DEBUG zwave: node 2 (Switch One) is now on",
        "DEBUG zwave: call 3 is done",
        "DEBUG zwave: call 5 failed: ",
    ] {
        assert!(stderr.contains(words), "{words:?} is not in:\n{stderr}");
        assert!(!stdout.contains(words), "{words:?} is in:\n{stdout}");
    }
    assert!(!stdout.contains("DEBUG"), "{stdout}");
    let (_, stderr) = converse(&["--fast"], None, &everything());
    assert_eq!(stderr, "", "nobody asked for it");
}

#[test]
fn faults_come_by_option_and_by_seed() {
    let mut input = greeting(1);
    for id in 2..60 {
        input += &request(id, "ping", json!({}));
    }
    let run = |seed| {
        let options = ["--fast", "--seed", seed, "--fault", "garbage:0.2", "--fault", "silence:0.1"];
        converse(&options, None, input.as_bytes()).0
    };
    let lines = |stdout: &[u8]| stdout.split(|byte| *byte == b'\n').count();
    let (one, same, other) = (run("1"), run("1"), run("2"));
    assert_eq!(lines(&one), lines(&same));
    assert_ne!(one, other);
    let pongs = String::from_utf8_lossy(&one).matches("\"result\"").count();
    assert!((40..59).contains(&pongs), "{pongs}");
    assert!(lines(&one) > pongs + 5, "no garbage");
}

#[test]
fn wrong_options_are_explained() {
    for (options, words) in [
        (&["--fault", "fire"][..], "there is no fault 'fire'"),
        (&["--tcp", "nowhere"], "is not an address with a port"),
        (&["--serial", "/dev/null@x"], "is not a baud rate"),
    ] {
        let output = zwave(options).output().expect("it runs");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(2), &b""[..]), "{stderr}");
        assert!(stderr.contains(words) && stderr.contains("--help"), "{stderr}");
    }
    let output = zwave(&["--serial", "/dev/no-such-port"]).output().expect("it runs");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr.contains("/dev/no-such-port at 115200 baud: No such file"), "{stderr}");
    let help = zwave(&["--help"]).output().expect("it runs");
    assert!(String::from_utf8_lossy(&help.stdout).contains("--fault NAME[:RATE]"));
}

#[test]
fn over_tcp_clients_come_and_go_and_share_the_home() {
    let (running, place) = serving(&["--tcp", "127.0.0.1:0", "--fast"]);
    let ask = |stream: &mut BufReader<TcpStream>, message: String| {
        stream.get_mut().write_all(message.as_bytes()).expect("it listens");
        let mut line = String::new();
        stream.read_line(&mut line).expect("an answer");
        serde_json::from_str::<Value>(&line).expect("JSON")
    };
    let dial = || BufReader::new(TcpStream::connect(&place).expect("it listens"));
    let mut first = dial();
    ask(&mut first, greeting(1));
    ask(&mut first, call(2, "control_zwave_device", json!({ "deviceName": "Switch One", "action": "on" })));
    let mut second = dial();
    assert_eq!(ask(&mut second, greeting(1))["result"]["serverInfo"]["name"], "simulated-zwave");
    drop(first);
    let status = ask(&mut second, call(2, "get_device_status", json!({ "deviceName": "Switch One" })));
    assert_eq!(status["result"]["content"][0]["text"], "Switch One is on");
    assert_eq!(ask(&mut dial(), greeting(7))["id"], 7);
    running.output.has(" connected");
    let text = running.output.text();
    let is_arrival = |line: &str| line.contains("zwave: 127.0.0.1:") && line.ends_with(" connected");
    assert!(text.lines().any(is_arrival), "{text}");
}

/// A handshake and a call, twice, as with a hub that restarts in between.
async fn twice(mut line: impl AsyncRead + AsyncWrite + Unpin) {
    for _ in 0..2 {
        let (rx, mut tx) = tokio::io::split(&mut line);
        let mut lines = tokio::io::BufReader::new(rx).lines();
        tx.write_all(greeting(1).as_bytes()).await.expect("it listens");
        tx.write_all(call(2, "list_devices", json!({})).as_bytes()).await.expect("it listens");
        for id in 1..=2 {
            let line = lines.next_line().await.expect("readable").expect("a line");
            let answer: Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
            assert_eq!(answer["id"], id);
            assert!(answer["result"].is_object(), "{answer}");
        }
    }
}

#[tokio::test]
async fn a_pseudo_terminal_serves_one_hub_after_another() {
    let (_running, path) = serving(&["--pty", "--fast"]);
    let port = SerialPort { path: path.into(), baud: hub_contract::DEFAULT_BAUD };
    for _ in 0..2 {
        twice(Tty::open(&port).expect("a serial port")).await;
    }
}

#[tokio::test]
async fn a_serial_port_serves_a_hub() {
    let (line, path) = Tty::pseudo().expect("a pseudo terminal");
    let path = path.to_str().expect("text");
    let (_running, place) = serving(&["--serial", &format!("{path}@57600"), "--fast"]);
    assert_eq!(place, format!("{path} at 57600 baud"));
    twice(line).await;
}
