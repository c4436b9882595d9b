//! `cargo relay --wyoming` as Home Assistant uses it: the programs, over real sockets.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::JoinHandle;
use std::time::Duration;

use host_broker::{Options, Server as Broker};
use serde_json::{Value, json};
use support::mosquitto::Mosquitto;
use support::process::{Running, program};
use support::wait_for;
use tokio::sync::oneshot;

/// A broker in a thread of its own, until this is dropped.
struct BrokerThread {
    port: u16,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl BrokerThread {
    fn start() -> Self {
        let (stop, stopped) = oneshot::channel();
        let (tell, told) = std::sync::mpsc::channel();
        let thread = std::thread::spawn(move || {
            let runtime =
                tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
            runtime.block_on(async {
                let broker = Broker::start(Options::default());
                let address = broker.listen(([127, 0, 0, 1], 0).into()).expect("a port");
                tell.send(address.port()).expect("waited for");
                let _ = stopped.await;
                broker.shutdown().await;
            });
        });
        Self { port: told.recv().expect("a port"), stop: Some(stop), thread: Some(thread) }
    }
}

impl Drop for BrokerThread {
    fn drop(&mut self) {
        let _ = self.stop.take().map(|stop| stop.send(()));
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// A hub of this name at the broker.
fn hub(port: u16, name: &str) -> Running {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sim"));
    let broker = format!("mqtt://127.0.0.1:{port}");
    // Its prompt waits at a pipe that nobody writes to.
    command.args(["--broker", &broker, "--hub-id", name]).env_remove("RUST_LOG").stdin(Stdio::piped());
    Running::start(command.stdout(Stdio::null()))
}

/// A relay that listens for voice assistants, and where.
fn relay(port: u16, arguments: &[&str]) -> (Running, String) {
    let mut command = Command::new(program("host-relay", "relay"));
    command.args(["--broker", &format!("mqtt://127.0.0.1:{port}"), "--wyoming", "0"]).args(arguments);
    for variable in ["RUST_LOG", "ANTHROPIC_API_KEY", "OPENAI_API_KEY", "HEARTHWAVE_BROKER_USER"] {
        command.env_remove(variable);
    }
    let running = Running::start(command.stdin(Stdio::null()));
    let mut address = None;
    wait_for("the service listens", || {
        let text = running.output.text();
        address =
            text.lines().find_map(|line| Some(line.split_once("voice: listens at ")?.1.trim().to_owned()));
        address.is_some()
    });
    (running, address.expect("found"))
}

/// Says something as Home Assistant does, with a connection of its own: the type and the data of the answer.
fn says(address: &str, text: &str) -> (String, Value) {
    let context =
        json!({ "conversation_id": "01K9ZQ5J6M3V8W2X4Y7Z0A1B2C", "satellite_id": "assist_satellite.den" });
    let data = json!({ "text": text, "context": context, "language": "en" }).to_string();
    let mut stream = TcpStream::connect(address).expect("it listens");
    stream.set_read_timeout(Some(Duration::from_secs(100))).expect("a timeout");
    write!(
        stream,
        "{{\"type\": \"transcript\", \"version\": \"1.10.2\", \"data_length\": {}}}\n{data}",
        data.len()
    )
    .expect("taken");
    let mut answer = Vec::new();
    let header: Value = loop {
        let mut byte = [0];
        stream.read_exact(&mut byte).expect("an answer");
        answer.extend(byte);
        if byte == *b"\n" {
            break serde_json::from_slice(&answer).expect("a header");
        }
    };
    let mut data = vec![0; header["data_length"].as_u64().expect("a length") as usize];
    stream.read_exact(&mut data).expect("data");
    let data: Value = serde_json::from_slice(&data).expect("JSON");
    assert_eq!(data["context"], context);
    (header["type"].as_str().expect("a type").to_owned(), data)
}

/// Says it until the answer begins like this: programs take a while to start.
fn says_until(address: &str, text: &str, kind: &str, beginning: &str) {
    let mut last = None;
    wait_for(beginning, || {
        let (said, data) = says(address, text);
        let is_it = said == kind && data["text"].as_str().is_some_and(|words| words.starts_with(beginning));
        last = Some(data);
        is_it
    });
    assert!(last.is_some());
}

#[test]
fn a_voice_assistant_switches_a_light_and_hears_what_is_wrong() {
    let broker = BrokerThread::start();
    let port = broker.port;
    let (relay, address) = relay(port, &["--provider", "demo"]);
    assert!(address.starts_with("127.0.0.1:"), "only this machine gets in: {address}");
    assert!(!relay.output.text().contains("anyone"), "{}", relay.output.text());
    says_until(&address, "turn on the kitchen light", "not-handled", "Sorry, I cannot find the hub.");
    let attic = hub(port, "attic");
    says_until(&address, "turn on the kitchen light", "handled", "Kitchen Light is now on.");
    says_until(&address, "Hey Hearthwave, what is 6 times 7?", "handled", "6 times 7 is 42.");
    // A second hub: nobody knows which one is meant.
    let den = hub(port, "den");
    says_until(&address, "turn on the kitchen light", "not-handled", "Sorry, there are several hubs");
    relay.output.has("name the one that is spoken to with --hub: attic, den");
    drop((attic, den));
    relay.stop();
}

#[test]
fn without_a_provider_it_serves_voice_alone_and_says_that_the_broker_is_gone() {
    let broker = BrokerThread::start();
    let port = broker.port;
    let (relay, address) = relay(port, &["--hub", "attic"]);
    let _attic = hub(port, "attic");
    // What needs no model.
    says_until(&address, "Hey Hearthwave!", "handled", "Yes?");
    drop(broker);
    let begun = std::time::Instant::now();
    says_until(&address, "hello", "not-handled", "Sorry, I cannot reach the hub, because its message broker");
    assert!(begun.elapsed() < Duration::from_secs(15), "promptly");
    relay.stop();
}

/// The client of others, with the broker that people run.
#[test]
#[ignore = "needs mosquitto and the Python package wyoming; ./tests/run runs it"]
fn the_python_client_is_served_at_mosquitto() {
    let python =
        std::env::var("HEARTHWAVE_PYTHON").expect("HEARTHWAVE_PYTHON is a Python with the package wyoming");
    let broker = Mosquitto::start();
    let (relay, address) = relay(broker.port, &["--provider", "demo"]);
    let _attic = hub(broker.port, "attic");
    says_until(&address, "turn on the kitchen light", "handled", "Kitchen Light is now on.");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/python/voice.py");
    let output = Command::new(python).arg(script).arg(&address).output().expect("Python runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    relay.stop();
}
