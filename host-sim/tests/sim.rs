//! `cargo sim` as a person or a script uses it: the program itself, its output and its exit status.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Output, Stdio};
use std::thread::JoinHandle;
use std::time::Duration;

// Linked for the time driver of the MQTT client.
use host_sim as _;
use serde_json::Value;
use support::Folder;
use support::client::Client;
use support::server::{Act, Server};
use tokio::net::TcpStream;

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
    let calls = [
        r#"{"name":"echo","arguments":{"text":"hello"}}"#,
        r#"hub_echo {"text":"hello"}"#,
        r#"echo {"text":"hello"}"#,
    ];
    for question in calls {
        let (output, stdout, stderr) = run(&["--llm", "none", "--once", question]);
        assert_eq!(output.status.code(), Some(0), "{stderr}");
        assert_eq!(stdout.lines().count(), 1);
        let reply: Value = serde_json::from_str(&stdout).expect("JSON");
        assert_eq!(reply["result"]["echo"]["text"], "hello");
        assert_eq!(stderr, "", "nothing to say when all is well");
    }
}

#[test]
fn without_a_model_words_are_not_answered() {
    for question in ["hello", "turn on {the light}", "@status"] {
        let (output, stdout, stderr) = run(&["--llm", "none", "--once", question]);
        assert_eq!((output.status.code(), stderr.as_str()), (Some(1), ""));
        let reply: Value = serde_json::from_str(&stdout).expect("JSON");
        assert_eq!(reply["success"], false);
        assert!(reply["error"].as_str().expect("words").starts_with("There is no language model"), "{reply}");
    }
}

#[tokio::test]
async fn it_searches_with_a_model_and_without() {
    let found = r#"{"results":[{"title":"Salt","url":"https://salt.test","content":"Salt is salty"}]}"#;
    let url = format!("{}/search?q={{query}}", Server::always(Act::ok(found)).listen().await);
    let asking = tokio::task::spawn_blocking(move || {
        let (output, stdout, stderr) = run(&["--search-url", &url, "--once", "search for salt"]);
        assert_eq!(output.status.code(), Some(0), "{stderr}");
        let reply: Value = serde_json::from_str(&stdout).expect("JSON");
        assert_eq!(reply["content"], "I found this: Salt is salty.");
        let (_, stdout, stderr) =
            run(&["--llm", "none", "--search-url", &url, "--once", r#"hub_search {"query":"salt"}"#]);
        assert!(stdout.contains("Salt is salty"), "{stdout} {stderr}");
    });
    asking.await.expect("it searches");
}

#[test]
fn options_come_from_a_file() {
    let folder = Folder::new("hearthwave-sim");
    let path = folder.0.join("options.json");
    let file = path.to_str().expect("text");
    std::fs::write(&path, r#"{"llm":"none"}"#).expect("written");
    let (_, stdout, _) = run(&["--config", file, "--once", "hello"]);
    assert!(stdout.contains("There is no language model"), "{stdout}");
    let (_, stdout, _) = run(&["--llm", "demo", "--config", file, "--once", "hello"]);
    assert!(stdout.contains("I am a demo"), "the command line wins: {stdout}");
    std::fs::write(&path, r#"{"hubid":"attic"}"#).expect("written");
    let (output, stdout, stderr) = run(&["--config", file, "--once", "hello"]);
    assert_eq!((output.status.code(), stdout.as_str()), (Some(2), ""));
    assert!(stderr.contains(file) && stderr.contains("'hubid' is unknown; there are hub_id, "), "{stderr}");
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
fn what_looks_like_a_call_is_one_also_when_nobody_offers_the_tool() {
    let call = r#"control_zwave_device {"device_name":"Switch One","command":"on"}"#;
    for (link, question, error_type, words) in [
        ("exec:false", call, None, "controller"),
        ("sim", r#"control_zwave_devise {"device_name":"Switch One"}"#, Some("not_found"), "not found"),
        ("sim", r#"echo {"text":"hello"#, Some("invalid_json"), "ends too early"),
        ("sim", r#"echo {},"name":"fly","x":{}"#, Some("invalid_json"), "expected"),
    ] {
        let (output, stdout, stderr) = run(&["--link", link, "--once", question]);
        assert_eq!(output.status.code(), Some(1), "{question}: {stdout} {stderr}");
        let reply: Value = serde_json::from_str(&stdout).expect("JSON");
        assert_eq!(reply["success"], false, "{question}: {reply}");
        assert!(error_type.is_none_or(|known| reply["error_type"] == known), "{question}: {reply}");
        assert!(stdout.contains(words), "{question}: {reply}");
    }
}

#[test]
fn arguments_that_are_refused_come_with_a_line_that_works() {
    let (output, stdout, stderr) = run(&["--llm", "none", "--once", "restart_hub"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stdout.contains("missing 'confirm'"), "{stdout}");
    let line = stderr.lines().find_map(|line| line.strip_prefix("  for example: ")).expect("a line to type");
    let (output, stdout, _) = run(&["--llm", "none", "--once", line]);
    assert_eq!(output.status.code(), Some(0), "{line}: {stdout}");
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
    let (output, stdout, stderr) = run(&["--once", " "]);
    assert_eq!((output.status.code(), stdout.as_str()), (Some(2), ""));
    assert!(stderr.contains("--once: the question is empty"), "{stderr}");
    let (output, stdout, _) = run(&["--help"]);
    assert_eq!(output.status.code(), Some(0));
    for option in ["--once TEXT", "--broker URL", "--search-url URL", "--config FILE"] {
        assert!(stdout.contains(option), "{option}");
    }
}

/// A simulator with a prompt.
struct Prompt {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    /// All of stderr from here on, once it has ended.
    rest: JoinHandle<String>,
    /// Where its broker is.
    place: String,
}

impl Prompt {
    fn start(arguments: &[&str]) -> Self {
        let mut command = sim(&[arguments, &["--listen", "127.0.0.1:0"]].concat());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("it runs");
        let stdin = child.stdin.take().expect("a pipe");
        let stdout = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut stderr = BufReader::new(child.stderr.take().expect("a pipe"));
        let mut line = String::new();
        let place = loop {
            line.clear();
            assert!(stderr.read_line(&mut line).expect("a line") > 0, "it ended");
            if let Some(rest) = line.trim().strip_prefix("broker") {
                break rest.split_whitespace().next().expect("an address").to_owned();
            }
        };
        let rest = std::thread::spawn(move || {
            let mut rest = String::new();
            stderr.read_to_string(&mut rest).expect("text");
            rest
        });
        Self { child, stdin, stdout, rest, place }
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.stdout.read_line(&mut line).expect("a line");
        line
    }

    /// Types something, and reads a line of stdout.
    fn ask(&mut self, text: &str) -> String {
        writeln!(self.stdin, "{text}").expect("typed");
        self.line()
    }

    /// Quits. Returns what was on stderr.
    fn quit(mut self) -> String {
        self.stdin.write_all(b"quit\n").expect("typed");
        assert_eq!(self.child.wait().expect("its end").code(), Some(0));
        self.rest.join().expect("read")
    }
}

#[test]
fn at_the_prompt_and_from_a_second_simulator() {
    let mut first = Prompt::start(&["--llm", "none", "--hub-id", "first"]);
    first
        .stdin
        .write_all(b"\xff\xfe\ngood morning\n\n{\"name\":\"echo\",\"transaction\":5}\n")
        .expect("typed");
    let replies = [first.line(), first.line(), first.line()].concat();
    assert!(replies.contains("no language model") && replies.contains("\"transaction\":5"), "{replies}");

    // A second hub at the first one's broker.
    let broker = format!("mqtt://{}", first.place);
    let call = r#"echo {"text":"from next door"}"#;
    let (output, reply, stderr) = run(&["--broker", &broker, "--hub-id", "second", "--once", call]);
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    assert!(reply.contains("from next door"));

    let log = first.quit();
    assert!(log.contains("is ready with 9 tools"), "{log}");
}

#[tokio::test]
async fn at_another_broker_a_relay_there_answers() {
    let first = Prompt::start(&["--hub-id", "first"]);
    let broker = format!("mqtt://{}", first.place);
    let words = "turn on the kitchen light";
    let (output, stdout, stderr) = run(&["--broker", &broker, "--once", words]);
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    let reply: Value = serde_json::from_str(&stdout).expect("JSON");
    assert_eq!(reply["content"], "Kitchen Light is now on.", "{reply}");
    let (output, stdout, _) = run(&["--broker", &broker, "--llm", "none", "--once", words]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stdout.contains("There is no language model"), "{stdout}");
    // The hubs of one question left nothing behind.
    let left = retained(&first.place).await;
    let of_first = ["hearthwave/first/", "hearthwave/relay/", "homeassistant/device/first/"];
    let is_of_first = |topic: &String| of_first.iter().any(|start| topic.starts_with(start));
    assert!(!left.is_empty() && left.iter().all(is_of_first), "{left:?}");
    first.quit();
}

/// The topics with retained messages at the broker.
async fn retained(place: &str) -> Vec<String> {
    let stream = TcpStream::connect(place).await.expect("the broker");
    let mut client = Client::connect(stream, "first", "looker", &["hearthwave/#"]).await;
    let mut topics = Vec::new();
    while let Some(message) = client.next(Duration::from_millis(500)).await {
        topics.extend((!message.payload.is_empty()).then_some(message.topic));
    }
    topics
}

#[test]
fn the_prompt_helps_and_tells_what_goes_on() {
    let mut prompt = Prompt::start(&[]);
    writeln!(prompt.stdin, "help").expect("typed");
    let reply = prompt.ask("hub_echo {\"text\":\"hello\"}");
    let reply: Value = serde_json::from_str(&reply).expect("JSON");
    assert_eq!(reply["result"]["echo"]["text"], "hello", "a tool is called by its name");
    let reply = prompt.ask("turn on the kitchen light");
    assert!(reply.contains("Kitchen Light is now on."), "{reply}");
    let reply = prompt.ask("nonsense {\"text\":\"hello\"}");
    assert!(reply.contains("Tool 'nonsense' not found"), "it looks like a call, so it is one: {reply}");
    let reply = prompt.ask("datetime");
    assert!(reply.contains("\"tool_name\":\"datetime\""), "a tool without arguments: {reply}");
    let reply = prompt.ask("status");
    assert!(reply.contains("\"content\":"), "only the end of a tool's name, so it is said: {reply}");
    let told = prompt.quit();
    for part in ["@status @goodnight @explain", "NAME {json}", "unplug, plug", "tools  ", "quit, exit  "] {
        assert!(told.contains(part), "{part}: {told}");
    }
    for part in ["\n  ... waiting for the model\n", "\n  ... calling control_zwave_device\n"] {
        assert!(told.contains(part), "{part}: {told}");
    }
}

#[test]
fn a_call_waits_for_a_controller_that_is_just_coming() {
    let slow = format!("exec:sleep 1; exec {}", env!("CARGO_BIN_EXE_zwave"));
    let mut prompt = Prompt::start(&["--llm", "none", "--link", &slow]);
    let reply = prompt.ask(r#"control_zwave_device {"device_name":"Switch One","command":"on"}"#);
    assert!(reply.contains("Switch One is now on"), "{reply}");
    prompt.quit();
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
        (&[("MCP_INCLUDE_EXAMPLE_TOOLS", "TRUE")], "hub_example_greeting", false),
        (&[("MCP_INCLUDE_EXAMPLE_TOOLS", "no")], "hub_example_greeting", false),
    ] {
        assert_eq!(listed(variables, name), is_there, "{variables:?} {name}");
    }
}
