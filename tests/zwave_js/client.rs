//! Somebody who talks MCP to the controller's program, line by line, and reads all that it says.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// How long anything may take: a server that starts on a busy machine is the slowest.
const PATIENCE: Duration = Duration::from_secs(240);

pub(crate) struct Client {
    _program: Option<Program>,
    tx: Box<dyn Write + Send>,
    messages: Receiver<Value>,
    last_id: u64,
    /// The URIs that it was told of, in their order.
    told: Vec<String>,
}

/// It ends with its owner.
struct Program(Child);

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The controller's program.
pub(crate) fn zwave() -> String {
    std::env::var("HEARTHWAVE_ZWAVE").expect("HEARTHWAVE_ZWAVE is the program `zwave`")
}

impl Client {
    /// Over a pipe.
    pub(crate) fn start(arguments: &[&str]) -> Self {
        let mut command = Command::new(zwave());
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("it runs");
        let (rx, tx) = (child.stdout.take().expect("a pipe"), child.stdin.take().expect("a pipe"));
        Self::over(rx, tx, Some(Program(child)))
    }

    fn over(
        rx: impl Read + Send + 'static,
        tx: impl Write + Send + 'static,
        program: Option<Program>,
    ) -> Self {
        let (sender, messages) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(rx).lines().map_while(Result::ok) {
                let message = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
                if sender.send(message).is_err() {
                    break;
                }
            }
        });
        let mut client = Self { _program: program, tx: Box::new(tx), messages, last_id: 0, told: Vec::new() };
        let info = json!({ "name": "story", "version": "1" });
        client.asks(
            "initialize",
            json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": info }),
        );
        client.says(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        client
    }

    fn says(&mut self, message: &Value) {
        writeln!(self.tx, "{message}").expect("it listens");
        self.tx.flush().expect("it listens");
    }

    fn message(&mut self) -> Value {
        let message = self.messages.recv_timeout(PATIENCE).expect("it speaks");
        if let Some(uri) = message["params"]["uri"].as_str() {
            self.told.push(uri.into());
        }
        message
    }

    pub(crate) fn asks(&mut self, method: &str, params: Value) -> Value {
        let mut message = self.answer(method, params);
        assert!(message["error"].is_null(), "{message}");
        message["result"].take()
    }

    /// The answer to a request, which may be an error.
    pub(crate) fn answer(&mut self, method: &str, params: Value) -> Value {
        self.last_id += 1;
        let id = self.last_id;
        self.says(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        loop {
            let message = self.message();
            if message["id"] == id {
                return message;
            }
        }
    }

    /// Calls a tool, and returns what a person would hear.
    pub(crate) fn hears(&mut self, tool: &str, arguments: Value) -> Result<String, String> {
        let result = self.asks("tools/call", json!({ "name": tool, "arguments": arguments }));
        let words = result["content"][0]["text"].as_str().expect("words").to_owned();
        if result["isError"] == true { Err(words) } else { Ok(words) }
    }

    /// Switches, dims or moves something.
    pub(crate) fn controls(&mut self, name: &str, action: &str) -> Result<String, String> {
        self.hears("control_zwave_device", json!({ "deviceName": name, "action": action }))
    }

    pub(crate) fn reads(&mut self, id: &str) -> Value {
        let result = self.asks("resources/read", json!({ "uri": format!("home://devices/{id}") }));
        let text = result["contents"][0]["text"].as_str().expect("text");
        assert!(text.len() < 1024, "{text}");
        serde_json::from_str(text).expect("JSON")
    }

    /// Whether all devices are listed, and what this one is is known.
    pub(crate) fn knows(&mut self, id: &str) -> bool {
        let is_listed = self.answer("resources/list", json!({}))["error"].is_null();
        is_listed && self.reads(id)["kind"] != "unknown"
    }

    pub(crate) fn watches(&mut self, id: &str) {
        self.asks("resources/subscribe", json!({ "uri": format!("home://devices/{id}") }));
    }

    /// Forgets what it was told so far.
    pub(crate) fn forgets(&mut self) {
        self.told.clear();
    }

    /// Waits, without asking, until it is told that a device changed.
    pub(crate) fn is_told_of(&mut self, id: &str) {
        let uri = format!("home://devices/{id}");
        while !self.told.contains(&uri) {
            self.message();
        }
        self.told.retain(|told| *told != uri);
    }

    /// Asks for the state of a device until it is so.
    pub(crate) fn sees(&mut self, id: &str, what: &str, is_so: impl Fn(&Value) -> bool) {
        self.waits(what, |client| is_so(&client.reads(id)));
    }

    pub(crate) fn waits(&mut self, what: &str, mut is_so: impl FnMut(&mut Self) -> bool) {
        let start = Instant::now();
        while !is_so(self) {
            assert!(start.elapsed() < PATIENCE, "waited in vain for {what}");
            std::thread::sleep(Duration::from_millis(100));
        }
    }
}
