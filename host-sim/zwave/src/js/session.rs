//! The WebSocket to a Z-Wave JS server: its handshake, its messages, and the next try when it is lost.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, interval, sleep_until, timeout};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async_with_config};

use super::state::Shared;

/// The schema that this program was written for, and the oldest that has all it needs: what became of a write.
const SCHEMA: (u64, u64) = (29, 44);

/// The largest message; a house of 4000 nodes stays below it.
const MESSAGE: usize = 64 * 1024 * 1024;

/// For a connection to be made, and for each answer of the handshake.
const HANDSHAKE: Duration = Duration::from_secs(10);

/// For all nodes to be told.
const DUMP: Duration = Duration::from_secs(60);

/// How often the server is asked for a sign of life, and how long it may be silent.
const PING: Duration = Duration::from_secs(15);
const SILENCE: Duration = Duration::from_secs(40);

/// How often it is checked whether the list of devices is complete.
const LOOK: Duration = Duration::from_secs(1);

/// Before the next try: first, and at most.
const RETRY: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(30));

/// Questions that wait for an answer; commands to nodes that sleep may wait for days.
const WAITING: usize = 1024;

/// A question to the server.
#[derive(Debug)]
pub(super) struct Question {
    /// The command without its number.
    pub(super) command: Value,
    pub(super) answer: oneshot::Sender<Result<Value, Failure>>,
    /// The session that it is meant for. In a later one it is not sent any more.
    pub(super) session: u64,
}

impl Question {
    /// Tells who asked that it was not sent.
    fn refuse(self, words: &str) {
        let _ = self.answer.send(Err(Failure::unsent(words.into())));
    }
}

/// Why the server did not do as it was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Failure {
    /// Like `zwave_error` or `node_not_found`.
    pub(super) code: String,
    /// The number of an error of the driver.
    pub(super) zwave: Option<u64>,
    /// For people.
    pub(super) words: String,
}

impl Failure {
    /// The server never got the command.
    pub(super) fn unsent(words: String) -> Self {
        Self { code: "unsent".into(), zwave: None, words }
    }

    /// The server got the command, and is gone before it answered.
    pub(super) fn lost(words: String) -> Self {
        Self { code: "lost".into(), zwave: None, words }
    }

    pub(super) fn is_unsent(&self) -> bool {
        self.code == "unsent"
    }
}

type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

/// Keeps a session with the server for ever.
pub(super) async fn run(shared: Arc<Shared>, mut questions: mpsc::Receiver<Question>) {
    let mut wait = RETRY.0;
    loop {
        let why = match session(&shared, &mut questions, &mut wait).await {
            Ok(never) => match never {},
            Err(why) => why,
        };
        if shared.lost(&why) {
            log::warn!("zwave: {}", shared.ready().err().unwrap_or_default());
        }
        let until = Instant::now() + wait;
        wait = (wait * 2).min(RETRY.1);
        loop {
            tokio::select! {
                () = sleep_until(until) => break,
                question = questions.recv() => match question {
                    Some(question) => question.refuse("The Z-Wave server is lost"),
                    None => return,
                },
            }
        }
    }
}

/// Nobody makes one: a session ends only by an error.
enum Never {}

/// One session. The error says why it ended, for people.
async fn session(
    shared: &Shared,
    questions: &mut mpsc::Receiver<Question>,
    wait: &mut Duration,
) -> Result<Never, String> {
    let config = WebSocketConfig::default().max_message_size(Some(MESSAGE)).max_frame_size(Some(MESSAGE));
    let connecting = connect_async_with_config(&shared.url, Some(config), true);
    let (mut socket, _) = timeout(HANDSHAKE, connecting)
        .await
        .map_err(|_| "nobody answers".to_owned())?
        .map_err(|error| error.to_string())?;
    let greeting = receive(&mut socket, HANDSHAKE, |message| message["type"] == "version").await?;
    let schema = schema(&greeting)?;
    let agent = json!({ "hearthwave": env!("CARGO_PKG_VERSION") });
    let initialize =
        json!({ "command": "initialize", "schemaVersion": schema, "additionalUserAgentComponents": agent });
    ask(&mut socket, "hello", initialize, HANDSHAKE).await?;
    let listening = ask(&mut socket, "listen", json!({ "command": "start_listening" }), DUMP).await?;
    let (session, count) = shared.begin(&listening["state"]);
    let version = greeting["driverVersion"].as_str().unwrap_or("?");
    log::info!("zwave: connected to {}, Z-Wave JS {version}, {count} devices", shared.url);
    *wait = RETRY.0;
    talk(shared, session, &mut socket, questions).await
}

/// The schema to speak with a server that sent this greeting.
fn schema(greeting: &Value) -> Result<u64, String> {
    let (oldest, newest) = SCHEMA;
    let least = greeting["minSchemaVersion"].as_u64().unwrap_or_default();
    let most = greeting["maxSchemaVersion"].as_u64().unwrap_or_default();
    if most < oldest {
        return Err(format!(
            "it speaks schema {most} at most, and {oldest} is needed: update zwave-js-server there"
        ));
    }
    if least > newest {
        return Err(format!(
            "it speaks schema {least} at least, and this program {newest}: update hearthwave"
        ));
    }
    Ok(most.min(newest))
}

/// The next message that is wanted; others are passed over.
async fn receive(
    socket: &mut Socket,
    time: Duration,
    is_wanted: impl Fn(&Value) -> bool,
) -> Result<Value, String> {
    let receiving = async {
        loop {
            let message = next(socket.next().await)?;
            if let Some(message) = message.filter(&is_wanted) {
                return Ok(message);
            }
        }
    };
    timeout(time, receiving)
        .await
        .map_err(|_| "it accepts connections, but does not speak as a Z-Wave JS server".to_owned())?
}

/// Asks something in the handshake, and returns the result.
async fn ask(socket: &mut Socket, id: &str, mut command: Value, time: Duration) -> Result<Value, String> {
    command["messageId"] = id.into();
    socket.send(Message::text(command.to_string())).await.map_err(|error| error.to_string())?;
    let is_answer = |message: &Value| message["type"] == "result" && message["messageId"] == id;
    let mut answer = receive(socket, time, is_answer).await?;
    match failure(&answer) {
        None => Ok(answer["result"].take()),
        Some(failure) => Err(format!("it refuses the handshake: {}", failure.words)),
    }
}

/// A message out of what the socket gives; None if it is none for us.
fn next(
    received: Option<Result<Message, tokio_tungstenite::tungstenite::Error>>,
) -> Result<Option<Value>, String> {
    match received {
        None => Err("it closed the connection".into()),
        Some(Err(error)) => Err(error.to_string()),
        Some(Ok(Message::Text(text))) => match serde_json::from_str(&text) {
            Ok(message) => Ok(Some(message)),
            Err(error) => Err(format!("it sends what is not JSON: {error}")),
        },
        Some(Ok(Message::Close(frame))) => {
            let reason = frame.map(|frame| frame.reason.to_string()).unwrap_or_default();
            let reason = if reason.is_empty() { reason } else { format!(": {reason}") };
            Err(format!("it closed the connection{reason}"))
        }
        Some(Ok(_)) => Ok(None),
    }
}

/// Passes questions, answers and events on until the connection is lost.
async fn talk(
    shared: &Shared,
    session: u64,
    socket: &mut Socket,
    questions: &mut mpsc::Receiver<Question>,
) -> Result<Never, String> {
    let mut waiting: BTreeMap<u64, oneshot::Sender<Result<Value, Failure>>> = BTreeMap::new();
    let mut last_id: u64 = 0;
    let mut pings = interval(PING);
    let mut looks = interval(LOOK);
    let mut heard = Instant::now();
    loop {
        tokio::select! {
            received = socket.next() => {
                heard = Instant::now();
                let Some(mut message) = next(received)? else { continue };
                match message["type"].as_str() {
                    Some("event") => shared.apply(&message["event"]),
                    Some("result") => {
                        let id = message["messageId"].as_str().and_then(|id| id.parse().ok());
                        if let Some(answer) = id.and_then(|id: u64| waiting.remove(&id)) {
                            let result = failure(&message).map_or_else(|| Ok(message["result"].take()), Err);
                            // Who asked may have given up.
                            let _ = answer.send(result);
                        }
                    }
                    _ => {}
                }
            }
            question = questions.recv() => {
                let Some(question) = question else {
                    return Err("nobody uses it any more".into());
                };
                if question.session != session {
                    question.refuse("The Z-Wave server was lost in the meantime");
                    continue;
                }
                waiting.retain(|_, answer| !answer.is_closed());
                if waiting.len() >= WAITING {
                    question.refuse("Too many commands wait for an answer");
                    continue;
                }
                let Question { mut command, answer, .. } = question;
                last_id += 1;
                command["messageId"] = last_id.to_string().into();
                waiting.insert(last_id, answer);
                socket.send(Message::text(command.to_string())).await.map_err(|error| error.to_string())?;
            }
            // Interviews may end without an event.
            _ = looks.tick() => shared.settle(),
            _ = pings.tick() => {
                if heard.elapsed() > SILENCE {
                    return Err("it does not answer any more".into());
                }
                socket.send(Message::Ping(Vec::new().into())).await.map_err(|error| error.to_string())?;
            }
        }
    }
}

/// The failure that an answer tells; None if it is a success.
fn failure(answer: &Value) -> Option<Failure> {
    if answer["success"] == true {
        return None;
    }
    let text = |name: &str| answer[name].as_str().filter(|text| !text.is_empty());
    let words = text("zwaveErrorMessage").or_else(|| text("message")).or_else(|| text("errorCode"));
    // Some errors come with the lines of a stack.
    let words = words.and_then(|words| words.lines().next());
    Some(Failure {
        code: text("errorCode").unwrap_or_default().chars().take(64).collect(),
        zwave: answer["zwaveErrorCode"].as_u64(),
        words: words.unwrap_or("no reason was given").chars().take(200).collect(),
    })
}
