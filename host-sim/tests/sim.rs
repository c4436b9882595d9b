//! `cargo sim` as a person or a script uses it: the program itself, its output and its exit status.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Output, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

// Linked for the time driver of the MQTT client.
use host_sim as _;
use serde_json::{Value, json};
use support::Folder;
use support::client::Client;
use support::process::program;
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
    rest: Option<JoinHandle<String>>,
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
        Self { child, stdin, stdout, rest: Some(rest), place }
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
        self.rest.take().expect("once").join().expect("read")
    }
}

impl Drop for Prompt {
    fn drop(&mut self) {
        // It has ended already unless the test failed.
        let _ = self.child.kill();
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
    let reply = prompt.ask("content");
    assert!(reply.contains("\"content\":"), "only the end of a tool's name, so it is said: {reply}");
    let reply = prompt.ask("status");
    assert!(reply.contains("\"on\":["), "what is on: {reply}");
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
    let slow = slow_controller(1, &zwave());
    let mut prompt = Prompt::start(&["--llm", "none", "--link", &slow]);
    let reply = prompt.ask(r#"control_zwave_device {"device_name":"Switch One","command":"on"}"#);
    assert!(reply.contains("Switch One is now on"), "{reply}");
    prompt.quit();
}

/// The controller as a program.
fn zwave() -> String {
    program("host-zwave", "zwave").display().to_string()
}

/// A controller that takes some time to start, like one that `npx` has to download first.
fn slow_controller(seconds: u32, program: &str) -> String {
    format!("exec:sleep {seconds}; exec {program}")
}

#[test]
fn once_waits_while_the_controller_command_starts() {
    let link = slow_controller(12, &zwave());
    let call = r#"control_zwave_device {"device_name":"Switch One","command":"on"}"#;
    let (output, stdout, stderr) = run(&["--llm", "none", "--link", &link, "--once", call]);
    assert_eq!(output.status.code(), Some(0), "{stdout} {stderr}");
    assert!(stdout.contains("Switch One is now on"), "{stdout}");
    assert!(
        stderr.contains("... waiting for the controller, which is still starting ('sleep 12;"),
        "{stderr}"
    );
    // A command that exits is not waited for.
    let begun = Instant::now();
    let (output, stdout, _) = run(&["--llm", "none", "--link", "exec:sleep 9; exit 1", "--once", call]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stdout.contains("not_found"), "{stdout}");
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
}

/// A controller as a shell script: its only tool has the name of one of the hub's tools.
const COLLIDING: &str = r#"while read -r line; do
    id=${line#*'"id":'}; id=${id%%[,\}]*}
    case $line in
    *initialize\"*) echo '{"jsonrpc":"2.0","id":'$id',"result":{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"shell","version":"1"}}}' ;;
    *tools/list*) echo '{"jsonrpc":"2.0","id":'$id',"result":{"tools":[{"name":"echo","inputSchema":{"type":"object"}}]}}' ;;
    *tools/call*) echo '{"jsonrpc":"2.0","id":'$id',"result":{"content":[{"type":"text","text":"from the controller"}]}}' ;;
    esac
done"#;

#[test]
fn colliding_call_waits_until_the_controllers_tools_are_known() {
    let link = format!("exec:sleep 12; {COLLIDING}");
    for call in ["echo {}", r#"{"name":"echo","arguments":{}}"#, "echo"] {
        let (output, stdout, stderr) = run(&["--llm", "none", "--link", &link, "--once", call]);
        assert_eq!(output.status.code(), Some(0), "{stdout} {stderr}");
        assert!(stdout.contains("from the controller"), "{call}: {stdout}");
    }
    // At the prompt, the line waits as well, and the person sees why.
    let mut prompt = Prompt::start(&["--llm", "none", "--link", &link]);
    let own: Value = serde_json::from_str(&prompt.ask("hub_echo {\"text\":\"own\"}")).expect("JSON");
    assert_eq!(own["result"]["echo"]["text"], "own", "it needs no controller");
    let reply = prompt.ask("echo {}");
    assert!(reply.contains("from the controller"), "{reply}");
    let told = prompt.quit();
    assert!(told.contains("... waiting for the controller, which is still starting"), "{told}");
    assert!(told.contains("  The controller is ready."), "{told}");
}

#[test]
fn once_does_not_wait_for_the_controller_with_a_call_that_needs_none() {
    for call in
        [r#"hub_echo {"text":"own"}"#, r#"{"name":"hub_echo","arguments":{"text":"own"}}"#, "hub_volume"]
    {
        let begun = Instant::now();
        let (output, stdout, stderr) = run(&["--llm", "none", "--link", "exec:sleep 20", "--once", call]);
        assert_eq!((output.status.code(), &*stderr), (Some(0), ""), "{call}: {stdout}");
        assert!(begun.elapsed() < Duration::from_secs(5), "{call}: {:?}", begun.elapsed());
    }
}

#[test]
fn a_line_at_the_prompt_gives_up_after_a_minute_and_once_waits_while_the_command_runs() {
    let slow = slow_controller(66, &zwave());
    let once =
        std::thread::spawn(move || run(&["--llm", "none", "--link", &slow, "--once", r#"list_devices {}"#]));
    let begun = Instant::now();
    let mut prompt = Prompt::start(&["--llm", "none", "--link", "exec:sleep 300"]);
    let reply = prompt.ask("echo {}");
    assert!(reply.contains("'echo' may be one of them") && reply.contains("unavailable"), "{reply}");
    assert!((55..80).contains(&begun.elapsed().as_secs()), "{:?}", begun.elapsed());
    prompt.quit();
    let (output, stdout, stderr) = once.join().expect("it runs");
    assert_eq!(output.status.code(), Some(0), "{stdout} {stderr}");
    assert!(stdout.contains("Hall Light"), "{stdout}");
    assert!(stderr.contains("65 s)"), "{stderr}");
}

#[test]
fn once_knows_the_status_of_the_home() {
    for _ in 0..3 {
        let (output, stdout, stderr) = run(&["--llm", "none", "--once", "home_status {}"]);
        assert_eq!(output.status.code(), Some(0), "{stdout} {stderr}");
        assert!(stdout.contains("Hall Light"), "{stdout}");
    }
    let link = slow_controller(3, &zwave());
    let (output, stdout, stderr) = run(&["--llm", "none", "--link", &link, "--once", "home_status {}"]);
    assert_eq!(output.status.code(), Some(0), "{stdout} {stderr}");
    assert!(stdout.contains("Hall Light"), "{stdout}");
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
    for prefix in ["a b", "no/slash", "\u{fc}ber", "longer-than-sixteen"] {
        let output =
            sim(&["--once", "hub_echo {}"]).env("MCP_TOOL_PREFIX", prefix).output().expect("it runs");
        let words = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{prefix}: {words}");
        assert!(words.contains("MCP_TOOL_PREFIX: ") && words.contains("at most 16 letters"), "{words}");
    }
}

/// Changes settings of the hub `sim` at the broker at this place.
async fn set(place: &str, settings: &[(&str, Value)]) {
    let stream = TcpStream::connect(place).await.expect("the broker");
    let mut client = Client::connect(stream, "sim", "owner", &["hearthwave/sim/#"]).await;
    client.waits_for_the_hub().await;
    for (key, value) in settings {
        assert_eq!(client.sets(key, value.clone()).await["success"], true, "{key}");
    }
}

const QUESTION: &str = "Allow the model to unlock Front Door? [y/N, ";

#[test]
fn one_question_that_needs_approval_says_at_once_that_nobody_can_give_it() {
    let start = Instant::now();
    let (output, stdout, stderr) = run(&["--once", "unlock the front door"]);
    assert!(start.elapsed() < Duration::from_secs(30), "{:?}", start.elapsed());
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    let reply: Value = serde_json::from_str(&stdout).expect("JSON");
    assert_eq!((&reply["success"], &reply["error_type"]), (&json!(false), &json!("denied")));
    let error = reply["error"].as_str().expect("words");
    assert!(error.contains("Nobody can approve with --once: unlock Front Door"), "{error}");
    assert!(error.contains("at its prompt") && error.contains("--broker"), "{error}");
}

#[tokio::test]
async fn at_a_broker_of_others_one_question_waits_for_their_approval() {
    let first = Prompt::start(&["--hub-id", "first"]);
    let broker = format!("mqtt://{}", first.place);
    let mut command = sim(&["--broker", &broker, "--hub-id", "second", "--once", "unlock the front door"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it runs");
    let stream = TcpStream::connect(&first.place).await.expect("the broker");
    let mut app = Client::connect(stream, "second", "app", &["hearthwave/second/#"]).await;
    let id = loop {
        let message = app.next(Duration::from_secs(30)).await.expect("an approval");
        if message.topic.contains("/approval/") {
            break message.json()["id"].clone();
        }
    };
    assert_eq!(app.asks("approve", json!({ "id": id, "allow": true })).await["success"], true);
    let output = child.wait_with_output().expect("its end");
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(stdout.contains("Front Door is now unlocked"), "{stdout} {stderr}");
    assert!(stderr.contains("another client must allow this within"), "{stderr}");
    assert!(stderr.contains("unlock Front Door"), "{stderr}");
    first.quit();
}

#[tokio::test]
async fn a_question_from_a_pipe_is_no_answer_to_an_approval() {
    let mut prompt = Prompt::start(&[]);
    set(&prompt.place, &[("gate.seconds", json!(5))]).await;
    // All at once, as from a file.
    prompt.stdin.write_all(b"unlock the front door\nwhat time is it?\n").expect("typed");
    let (first, second) = (prompt.line(), prompt.line());
    assert!(first.contains("was not approved in time"), "{first}");
    assert!(second.contains("It is "), "{second}");
    let answers =
        "unlock the front door\ny\nlock the front door\nunlock the front door\nno\nwhat time is it?\n";
    prompt.stdin.write_all(answers.as_bytes()).expect("typed");
    for part in ["Front Door is now unlocked", "Front Door is now locked", "did not unlock", "It is "] {
        let line = prompt.line();
        assert!(line.contains(part), "{part}: {line}");
    }
    let told = prompt.quit();
    assert_eq!(told.matches(QUESTION).count(), 3, "{told}");
    assert!(told.contains("Not approved in time: unlock Front Door."), "{told}");
}

#[tokio::test]
async fn a_pin_from_a_pipe_approves_and_no_wrong_one_does() {
    let mut prompt = Prompt::start(&[]);
    set(&prompt.place, &[("gate.pin", json!("4711"))]).await;
    prompt.stdin.write_all(b"unlock the front door\n4712\n4711\nno\nwhat time is it?\n").expect("typed");
    let (first, second) = (prompt.line(), prompt.line());
    assert!(first.contains("Front Door is now unlocked"), "{first}");
    assert!(second.contains("It is "), "{second}");
    let told = prompt.quit();
    for part in [QUESTION, "That is not the PIN. Please try again.", "Thank you."] {
        assert!(told.contains(part), "{part}: {told}");
    }
    assert!(!told.contains("4711"), "{told}");
    assert!(told.contains("  That came too late: nothing is waiting for approval."), "{told}");
}

#[tokio::test]
async fn the_prompt_asks_about_a_call_of_the_persons_own_if_that_needs_approval() {
    let mut prompt = Prompt::start(&[]);
    set(&prompt.place, &[("gate.direct", json!("on")), ("gate.pin", json!("4711"))]).await;
    let calls = "lock_door {\"device_name\":\"front door\",\"action\":\"unlock\"}\ny\n\
                 lock_door {\"device_name\":\"front door\",\"action\":\"unlock\"}\nn\n";
    prompt.stdin.write_all(calls.as_bytes()).expect("typed");
    for part in ["Front Door is now unlocked", "did not unlock"] {
        let line = prompt.line();
        assert!(line.contains(part), "{part}: {line}");
    }
    let told = prompt.quit();
    assert_eq!(told.matches("Allow this call to unlock Front Door? [y/N").count(), 2, "{told}");
}
