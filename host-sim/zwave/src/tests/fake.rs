//! A Z-Wave JS server that plays what was recorded from a real one, and answers as a story wants it.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpListener;
use tokio::sync::broadcast;
use tokio::task::JoinHandle;
use tokio_tungstenite::accept_async;
use tokio_tungstenite::tungstenite::Message;

/// Lines of a session with a real server in front of a mock stick: its greeting, the dump of its nodes without what nobody
/// reads, and what happened then.
const RECORDED: &str = include_str!("recorded.jsonl");

/// In place of this text, the header of a message of four gigabytes is sent.
pub(super) const OVERSIZED: &str = "oversized";

/// What the server does with a command: the result, and the messages that follow.
pub(super) type Answers = Arc<Mutex<dyn FnMut(&Value) -> (Value, Vec<Value>) + Send>>;

pub(super) struct Fake {
    pub(super) url: String,
    /// The commands that came, all but the handshake.
    pub(super) commands: Arc<Mutex<Vec<Value>>>,
    lines: broadcast::Sender<Message>,
    dump: Arc<Mutex<Value>>,
    serving: JoinHandle<()>,
}

/// The messages that were recorded.
pub(super) fn recorded() -> Vec<Value> {
    RECORDED.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

/// The events among them.
pub(super) fn recorded_events() -> Vec<Value> {
    recorded().into_iter().filter(|message| message["type"] == "event").collect()
}

/// A result with a status, as a command has it that was written.
pub(super) fn status(number: u64) -> Value {
    json!({ "success": true, "result": { "result": { "status": number } } })
}

/// A node tells a value.
pub(super) fn report(node: u64, class: u64, property: &str, value: Value) -> Value {
    let arguments = json!({ "commandClass": class, "endpoint": 0, "property": property, "newValue": value });
    happens(node, "value updated", arguments)
}

/// Something happens to a node.
pub(super) fn happens(node: u64, event: &str, arguments: Value) -> Value {
    json!({ "type": "event", "event": { "source": "node", "event": event, "nodeId": node, "args": arguments } })
}

impl Fake {
    /// A server on a free port that says yes to everything.
    pub(super) async fn start() -> Self {
        Self::with(|_| (status(255), vec![])).await
    }

    pub(super) async fn with(answers: impl FnMut(&Value) -> (Value, Vec<Value>) + Send + 'static) -> Self {
        Self::at("127.0.0.1:0", recorded()[0].clone(), answers).await
    }

    /// One with this greeting, at this address.
    pub(super) async fn at(
        address: &str,
        greeting: Value,
        answers: impl FnMut(&Value) -> (Value, Vec<Value>) + Send + 'static,
    ) -> Self {
        let listener = TcpListener::bind(address).await.expect("a port");
        let url = format!("ws://{}", listener.local_addr().expect("an address"));
        let (lines, commands) = (broadcast::Sender::new(64), Arc::new(Mutex::new(Vec::new())));
        let answers: Answers = Arc::new(Mutex::new(answers));
        let dump = recorded().into_iter().find(|message| message["messageId"] == "2").expect("a dump");
        let dump = Arc::new(Mutex::new(dump));
        let serving = serve(listener, greeting, answers, commands.clone(), lines.clone(), dump.clone());
        Self { url, commands, lines, dump, serving: tokio::spawn(serving) }
    }

    /// Where it listens, for another after it.
    pub(super) fn address(&self) -> String {
        self.url.trim_start_matches("ws://").into()
    }

    /// Has another house than the recorded one, before anybody connects.
    pub(super) fn has(&self, dump: Value) {
        *self.dump.lock().expect("no panic") = dump;
    }

    /// The writes that came, without the questions.
    pub(super) fn written(&self) -> Vec<Value> {
        let commands = self.commands.lock().expect("no panic");
        commands.iter().filter(|command| command["command"] == "node.set_value").cloned().collect()
    }

    /// How often it was asked for a value of this node.
    pub(super) fn polls(&self, node: u64) -> usize {
        let commands = self.commands.lock().expect("no panic");
        let is_poll = |command: &&Value| command["command"] == "node.poll_value" && command["nodeId"] == node;
        commands.iter().filter(is_poll).count()
    }

    /// Tells something to whoever is connected.
    pub(super) fn tells(&self, message: &Value) {
        self.sends(Message::text(message.to_string()));
    }

    pub(super) fn sends(&self, message: Message) {
        self.lines.send(message).expect("somebody is connected");
    }

    /// Waits until somebody is connected.
    pub(super) async fn is_connected(&self) {
        while self.lines.receiver_count() == 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Ends it with all its connections.
    pub(super) async fn ends(self) -> String {
        let address = self.address();
        self.serving.abort();
        while !self.serving.is_finished() {
            tokio::task::yield_now().await;
        }
        address
    }
}

impl Drop for Fake {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn serve(
    listener: TcpListener,
    greeting: Value,
    answers: Answers,
    commands: Arc<Mutex<Vec<Value>>>,
    lines: broadcast::Sender<Message>,
    dump: Arc<Mutex<Value>>,
) {
    loop {
        let (stream, _) = listener.accept().await.expect("a client");
        let Ok(mut socket) = accept_async(stream).await else { continue };
        let _ = socket.send(Message::text(greeting.to_string())).await;
        let mut told = None;
        loop {
            let line = async {
                match &mut told {
                    Some(told) => broadcast::Receiver::recv(told).await.expect("the story goes on"),
                    None => std::future::pending().await,
                }
            };
            let message = tokio::select! {
                line = line => {
                    if line == Message::text(OVERSIZED) {
                        let _ = socket.get_mut().write_all(&[0x81, 127, 0, 0, 0, 0, 0xff, 0, 0, 0]).await;
                        continue;
                    }
                    let _ = socket.send(line).await;
                    continue;
                }
                message = socket.next() => message,
            };
            let Some(Ok(message)) = message else { break };
            let Ok(text) = message.to_text() else { continue };
            let Ok(command) = serde_json::from_str::<Value>(text) else { continue };
            let (mut result, after) = match command["command"].as_str() {
                Some("initialize") => (json!({ "success": true, "result": {} }), vec![]),
                Some("start_listening") => {
                    told = Some(lines.subscribe());
                    (dump.lock().expect("no panic").clone(), vec![])
                }
                _ => {
                    commands.lock().expect("no panic").push(command.clone());
                    answers.lock().expect("no panic")(&command)
                }
            };
            if !result.is_null() {
                result["type"] = "result".into();
                result["messageId"] = command["messageId"].clone();
                let _ = socket.send(Message::text(result.to_string())).await;
            }
            for message in after {
                let _ = socket.send(Message::text(message.to_string())).await;
            }
        }
    }
}
