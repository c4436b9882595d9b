//! `cargo sim` as a person or a script uses it: the program itself, its output and its exit status.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

fn sim(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sim"));
    command.args(arguments).env_remove("RUST_LOG").stdin(Stdio::null());
    command
}

fn run(arguments: &[&str]) -> (Output, String, String) {
    let output = sim(arguments).output().expect("it runs");
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("text");
    let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
    (output, stdout, stderr)
}

#[test]
fn one_question_one_line_of_json() {
    for question in ["hello", r#"{"name":"echo","arguments":{"text":"hello"}}"#] {
        let (output, stdout, stderr) = run(&["--llm", "none", "--once", question]);
        assert_eq!(output.status.code(), Some(0), "{stderr}");
        assert_eq!(stdout.lines().count(), 1);
        let reply: Value = serde_json::from_str(&stdout).expect("JSON");
        assert_eq!(reply["result"]["echo"]["text"], "hello");
        assert_eq!(stderr, "", "nothing to say when all is well");
    }
}

/// spec: gateway-16
#[test]
fn a_sentence_becomes_two_calls_and_an_answer_in_words() {
    let (output, stdout, stderr) = run(&["--once", "turn on the kitchen light and tell me what time it is"]);
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    let reply: Value = serde_json::from_str(&stdout).expect("JSON");
    assert!(reply["content"].as_str().expect("words").contains("Kitchen Light is now on"), "{reply}");
    let calls = reply["tool_calls"].as_array().expect("calls");
    let shown: Vec<_> =
        calls.iter().map(|call| (call["tool"].as_str(), call["iteration"].as_u64())).collect();
    assert_eq!(shown, [(Some("control_zwave_device"), Some(0)), (Some("hub_datetime"), Some(0))], "{reply}");
    assert_eq!(calls[0]["result"]["success"], true);
    assert_eq!(reply["service"], "ollama");
}

#[test]
fn a_failure_is_an_exit_status_and_still_json() {
    let (output, stdout, _) = run(&["--once", r#"{"name":"fly"}"#]);
    assert_eq!(output.status.code(), Some(1));
    let reply: Value = serde_json::from_str(&stdout).expect("JSON");
    assert_eq!(reply["error"], "Tool 'fly' not found");
}

#[test]
fn a_broker_that_is_not_there_is_named() {
    // Nothing listens at port 1 of the loopback.
    let (output, stdout, stderr) = run(&["--broker", "mqtt://127.0.0.1:1", "--once", "hello"]);
    assert_eq!((output.status.code(), stdout.as_str()), (Some(1), ""));
    assert!(stderr.contains("127.0.0.1:1: nothing listens there; check the port"), "{stderr}");
    let (output, _, stderr) = run(&["--broker", "mqtt://no-such-host.invalid", "--once", "hello"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr.contains("no-such-host.invalid:1883: no such host"), "{stderr}");
}

#[test]
fn wrong_arguments_are_explained() {
    let (output, stdout, stderr) = run(&["--hub-id", "a/b"]);
    assert_eq!((output.status.code(), stdout.as_str()), (Some(2), ""));
    assert!(stderr.contains("letters, digits") && stderr.contains("--help"), "{stderr}");
    let (output, stdout, _) = run(&["--help"]);
    assert_eq!(output.status.code(), Some(0));
    assert!(stdout.contains("--once TEXT") && stdout.contains("--broker URL"));
}

#[test]
fn at_the_prompt_and_from_a_second_simulator() {
    let mut first = sim(&["--llm", "none", "--listen", "127.0.0.1:0", "--hub-id", "first"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it runs");
    let mut stdin = first.stdin.take().expect("a pipe");
    let mut stdout = BufReader::new(first.stdout.take().expect("a pipe"));
    let mut stderr = BufReader::new(first.stderr.take().expect("a pipe"));

    let mut line = String::new();
    let place = loop {
        line.clear();
        assert!(stderr.read_line(&mut line).expect("a line") > 0, "it ended");
        if let Some(rest) = line.trim().strip_prefix("broker") {
            break rest.split_whitespace().next().expect("an address").to_owned();
        }
    };
    let drain = std::thread::spawn(move || {
        let mut rest = String::new();
        stderr.read_to_string(&mut rest).map(|_| rest)
    });

    stdin.write_all(b"\xff\xfe\ngood morning\n\n{\"name\":\"echo\",\"transaction\":5}\n").expect("typed");
    let mut replies = String::new();
    for _ in 0..3 {
        stdout.read_line(&mut replies).expect("a reply");
    }
    assert!(replies.contains("good morning") && replies.contains("\"transaction\":5"), "{replies}");

    // A second hub at the first one's broker.
    let broker = format!("mqtt://{place}");
    let (output, reply, stderr) =
        run(&["--broker", &broker, "--hub-id", "second", "--once", "from next door"]);
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    assert!(reply.contains("from next door"));

    stdin.write_all(b"quit\n").expect("typed");
    assert_eq!(first.wait().expect("its end").code(), Some(0));
    let log = drain.join().expect("read").expect("text");
    assert!(log.contains("is ready with 9 tools"), "{log}");
}

#[test]
fn an_interrupt_ends_it_at_once() {
    let mut running = sim(&["--listen", "127.0.0.1:0"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it runs");
    let mut line = String::new();
    let mut stderr = BufReader::new(running.stderr.take().expect("a pipe"));
    while !line.contains("quit") {
        line.clear();
        assert!(stderr.read_line(&mut line).expect("a line") > 0, "it ended");
    }
    let drain = std::thread::spawn(move || stderr.read_to_string(&mut String::new()));
    // Nobody types anything, and the prompt waits.
    let killed = Command::new("kill").args(["-INT", &running.id().to_string()]).status();
    assert!(killed.expect("kill").success());
    assert_eq!(running.wait().expect("its end").code(), Some(0));
    drain.join().expect("read").expect("text");
}

/// spec: infra-12, infra-20, infra-23
#[test]
fn the_environment_decides_about_the_prefix_and_the_examples() {
    let listed = |variables: &[(&str, &str)], name: &str| {
        let call = format!(r#"{{"name":"{name}","arguments":{{"name":"Ada"}}}}"#);
        let mut command = sim(&["--once", &call]);
        command
            .env_remove("MCP_TOOL_PREFIX")
            .env_remove("MCP_INCLUDE_EXAMPLE_TOOLS")
            .envs(variables.iter().copied());
        command.output().expect("it runs").status.code() == Some(0)
    };
    for (variables, name, is_there) in [
        (&[][..], "hub_echo", true),
        (&[("MCP_TOOL_PREFIX", "den")], "den_echo", true),
        (&[("MCP_TOOL_PREFIX", "den")], "hub_echo", false),
        (&[("MCP_TOOL_PREFIX", "")], "echo", true),
        (&[("MCP_TOOL_PREFIX", "")], "hub_echo", false),
        (&[], "example_greeting", false),
        (&[("MCP_INCLUDE_EXAMPLE_TOOLS", "true")], "hub_example_greeting", true),
        (&[("MCP_INCLUDE_EXAMPLE_TOOLS", "TRUE")], "hub_example_greeting", true),
        (&[("MCP_INCLUDE_EXAMPLE_TOOLS", "no")], "hub_example_greeting", false),
    ] {
        assert_eq!(listed(variables, name), is_there, "{variables:?} {name}");
    }
}
