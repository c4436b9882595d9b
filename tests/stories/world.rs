//! The world a story takes place in: a broker, a controller played by hand, people with MQTT clients, and a hub,
//! all in one thread and, unless a story says otherwise, in virtual time.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use embedded_io_adapters::tokio_1::FromTokio;
use embedded_io_async::{ErrorType, Read, Write};
use host_sim::broker::{Options, Server};
use host_sim::flash::MemoryFlash;
use host_sim::hub::{self, Settings};
use hub_core::{Dial, DialError, limits};
use minimq::{
    Buffers, ConfigBuilder, InboundPublish, Property, Publication, QoS, SubscriptionOptions, TopicFilter,
};
use serde_json::Value;
pub use support::log::log_text;
use support::log::log_to_memory;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream};
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout};

/// Longer than anything in a story takes; in virtual time it costs nothing.
const PATIENCE: Duration = Duration::from_secs(600);

/// Longer than any story; a story that hangs ends here.
const A_WEEK: Duration = Duration::from_secs(7 * 24 * 3600);

/// The hub's name at the broker.
pub const CLIENT: &str = "hearthwave-story";

/// Everything around one hub called `story`.
pub struct World {
    /// The broker that is dialled.
    pub server: Rc<RefCell<Server>>,
    pub settings: Settings,
    pub reach: Rc<Cell<Reach>>,
    pub dials: Rc<RefCell<Vec<Dialled>>>,
    /// Whether what the hub sends gets lost on the way.
    pub swallowed: Rc<Cell<bool>>,
    mutes: Rc<RefCell<Vec<DuplexStream>>>,
    line: Cell<Option<DuplexStream>>,
}

/// What happens when the hub dials the broker.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// It gets through.
    Open,
    /// It does not, for this reason.
    Fails(DialError),
    /// Somebody answers who says nothing, unless the story speaks for them: see [`World::mute`].
    Mute,
    /// The hub is heard, and hears nothing.
    OneWay,
}

/// One time that the hub dialled.
pub struct Dialled {
    pub at: Instant,
    pub sent: Vec<u8>,
}

impl Dialled {
    /// How often the hub subscribed.
    pub fn subscriptions(&self) -> usize {
        const SUBSCRIBE: u8 = 8;
        self.packet_types().iter().filter(|packet| **packet == SUBSCRIBE).count()
    }

    /// The types of the packets that the hub sent, as MQTT numbers them.
    pub fn packet_types(&self) -> Vec<u8> {
        let mut types = Vec::new();
        let mut rest = self.sent.as_slice();
        while let [first, after @ ..] = rest {
            types.push(first >> 4);
            let digits = after.iter().take_while(|byte| **byte & 0x80 != 0).count() + 1;
            let length = after[..digits].iter().rev().fold(0, |sum, byte| sum << 7 | usize::from(byte & 127));
            rest = &after[digits + length..];
        }
        types
    }
}

impl World {
    pub fn new() -> Self {
        Self::with(Options::default())
    }

    pub fn with(options: Options) -> Self {
        log_to_memory();
        Self {
            server: Rc::new(RefCell::new(Server::start(options))),
            settings: Settings::in_memory("story"),
            reach: Rc::new(Cell::new(Reach::Open)),
            dials: Rc::default(),
            swallowed: Rc::default(),
            mutes: Rc::default(),
            line: Cell::new(None),
        }
    }

    /// Tells a story while the hub runs. The hub ends with it.
    pub async fn tell<T>(&self, story: impl Future<Output = T>) -> T {
        let (theirs, ours) = tokio::io::duplex(256 * 1024);
        self.line.set(Some(ours));
        let (rx, tx) = tokio::io::split(theirs);
        let dial = StoryDial {
            server: self.server.clone(),
            reach: self.reach.clone(),
            dials: self.dials.clone(),
            swallowed: self.swallowed.clone(),
            mutes: self.mutes.clone(),
        };
        let line = (FromTokio::new(rx), FromTokio::new(tx));
        let hub = hub::run(&self.settings, line, dial, MemoryFlash::default(), 7);
        tokio::select! {
            biased;
            never = hub => never,
            end = timeout(A_WEEK, story) => end.expect("the story came to its end"),
        }
    }

    /// The far end of the last connection that was [`Reach::Mute`], once there is one.
    pub async fn mute(&self) -> DuplexStream {
        loop {
            if let Some(stream) = self.mutes.borrow_mut().pop() {
                return stream;
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    /// The broker that runs now.
    pub fn server(&self) -> Server {
        self.server.borrow().clone()
    }

    /// The controller's end of the serial line.
    pub fn controller(&self) -> Controller {
        let (rx, tx) = tokio::io::split(self.line.take().expect("one controller a story"));
        Controller { lines: BufReader::new(rx), tx }
    }

    /// Somebody with an MQTT client, who hears everything of the hub's.
    pub async fn person(&self, name: &str) -> Person {
        Person::connect(&self.server(), name, &["hearthwave/story/#", "reply/#"]).await
    }
}

struct StoryDial {
    server: Rc<RefCell<Server>>,
    reach: Rc<Cell<Reach>>,
    dials: Rc<RefCell<Vec<Dialled>>>,
    swallowed: Rc<Cell<bool>>,
    mutes: Rc<RefCell<Vec<DuplexStream>>>,
}

impl Dial for StoryDial {
    type Io<'a> = Tapped;

    async fn dial(&mut self, _: &str, _: u16) -> Result<Tapped, DialError> {
        self.dials.borrow_mut().push(Dialled { at: Instant::now(), sent: Vec::new() });
        let stream = match self.reach.get() {
            Reach::Open | Reach::OneWay => self.server.borrow().connect(),
            Reach::Fails(error) => return Err(error),
            Reach::Mute => {
                let (ours, theirs) = tokio::io::duplex(1024);
                self.mutes.borrow_mut().push(theirs);
                ours
            }
        };
        let is_deaf = self.reach.get() == Reach::OneWay;
        Ok(Tapped {
            io: FromTokio::new(stream),
            is_deaf,
            dials: self.dials.clone(),
            swallowed: self.swallowed.clone(),
        })
    }
}

/// A stream that notes what the hub sends.
struct Tapped {
    io: FromTokio<DuplexStream>,
    is_deaf: bool,
    dials: Rc<RefCell<Vec<Dialled>>>,
    swallowed: Rc<Cell<bool>>,
}

impl ErrorType for Tapped {
    type Error = std::io::Error;
}

impl Read for Tapped {
    async fn read(&mut self, buf: &mut [u8]) -> Result<usize, Self::Error> {
        if self.is_deaf {
            std::future::pending::<()>().await;
        }
        self.io.read(buf).await
    }
}

impl Write for Tapped {
    async fn write(&mut self, buf: &[u8]) -> Result<usize, Self::Error> {
        let count = if self.swallowed.get() { buf.len() } else { self.io.write(buf).await? };
        self.dials.borrow_mut().last_mut().expect("dialled").sent.extend_from_slice(&buf[..count]);
        Ok(count)
    }

    async fn flush(&mut self) -> Result<(), Self::Error> {
        self.io.flush().await
    }
}

/// The far end of the serial line.
pub struct Controller {
    lines: BufReader<tokio::io::ReadHalf<DuplexStream>>,
    tx: tokio::io::WriteHalf<DuplexStream>,
}

impl Controller {
    /// The next line from the hub, which has to be JSON.
    pub async fn hears(&mut self) -> Value {
        let mut line = String::new();
        let count =
            timeout(PATIENCE, self.lines.read_line(&mut line)).await.expect("a line").expect("readable");
        assert!(count > 0 && line.ends_with('\n'), "half a line: {line:?}");
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error} in {line:?}"))
    }

    /// The next request `method`, with all before it passed over.
    pub async fn hears_of(&mut self, method: &str) -> Value {
        loop {
            let message = self.hears().await;
            if message["method"] == method {
                return message;
            }
        }
    }

    /// Comes late, and misses what has been said so far.
    pub async fn comes_late(&mut self) {
        let mut line = Vec::new();
        while timeout(Duration::from_millis(1), self.lines.read_until(b'\n', &mut line)).await.is_ok() {}
    }

    /// The line itself, for somebody else to play the controller.
    pub fn into_stream(self) -> DuplexStream {
        self.lines.into_inner().unsplit(self.tx)
    }

    pub async fn says(&mut self, bytes: &[u8]) {
        self.tx.write_all(bytes).await.expect("the hub listens");
        self.tx.write_all(b"\n").await.expect("the hub listens");
    }

    pub async fn answers(&mut self, request: &Value, result: Value) {
        let answer = serde_json::json!({ "jsonrpc": "2.0", "id": request["id"], "result": result });
        self.says(answer.to_string().as_bytes()).await;
    }

    /// Goes through the handshake, with two tools.
    pub async fn greets(&mut self) {
        let tool = |name| serde_json::json!({ "name": name, "inputSchema": { "type": "object" } });
        self.greets_with(serde_json::json!([tool("one"), tool("two")])).await;
    }

    /// Goes through the handshake, with these tools.
    pub async fn greets_with(&mut self, tools: Value) {
        let hello = self.hears_of("initialize").await;
        self.answers(&hello, about_it(&hello["params"]["protocolVersion"])).await;
        self.hears_of("notifications/initialized").await;
        self.lists(tools).await;
    }

    /// Answers the next question for its tools.
    pub async fn lists(&mut self, tools: Value) {
        let list = self.hears_of("tools/list").await;
        self.answers(&list, serde_json::json!({ "tools": tools })).await;
    }

    /// Answers a call with a text.
    pub async fn replies(&mut self, call: &Value, text: &str) {
        let content = serde_json::json!({ "content": [{ "type": "text", "text": text }] });
        self.answers(call, content).await;
    }

    /// Answers a request with an error.
    pub async fn refuses(&mut self, request: &Value, code: i64, message: &str, data: Value) {
        let error = serde_json::json!({ "code": code, "message": message, "data": data });
        let answer = serde_json::json!({ "jsonrpc": "2.0", "id": request["id"], "error": error });
        self.says(answer.to_string().as_bytes()).await;
    }
}

/// What a controller says about itself.
pub fn about_it(version: &Value) -> Value {
    serde_json::json!({
        "protocolVersion": version,
        "capabilities": { "tools": {} },
        "serverInfo": { "name": "played", "version": "1" },
    })
}

/// A message that somebody received.
#[derive(Clone, Debug)]
pub struct Message {
    pub topic: String,
    pub payload: Vec<u8>,
    pub retained: bool,
    pub correlation: Option<Vec<u8>>,
    pub response: Option<String>,
}

impl From<InboundPublish<'_>> for Message {
    fn from(message: InboundPublish<'_>) -> Self {
        Self {
            topic: message.topic().into(),
            payload: message.payload().into(),
            retained: message.retained(),
            correlation: message.correlation_data().map(Into::into),
            response: message.response_topic().map(Into::into),
        }
    }
}

impl Message {
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.payload)
            .unwrap_or_else(|error| panic!("{error} in {:?}", String::from_utf8_lossy(&self.payload)))
    }
}

/// What somebody sends.
pub struct Request<'a> {
    pub name: &'a str,
    pub payload: &'a [u8],
    pub response: Option<&'a str>,
    pub correlation: Option<&'a [u8]>,
    pub qos: QoS,
    pub retain: bool,
}

impl<'a> Request<'a> {
    pub fn new(name: &'a str, payload: &'a [u8]) -> Self {
        Self { name, payload, response: None, correlation: None, qos: QoS::AtLeastOnce, retain: false }
    }
}

/// What somebody's client has to publish.
struct Order {
    topic: String,
    payload: Vec<u8>,
    response: Option<String>,
    correlation: Option<Vec<u8>>,
    qos: QoS,
    retain: bool,
}

/// Somebody with an MQTT client.
pub struct Person {
    outbox: mpsc::UnboundedSender<Order>,
    inbox: mpsc::UnboundedReceiver<Message>,
    task: tokio::task::JoinHandle<()>,
}

impl Drop for Person {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Person {
    pub async fn connect(server: &Server, name: &str, filters: &[&str]) -> Self {
        let (outbox, mut orders) = mpsc::unbounded_channel::<Order>();
        let (letters, inbox) = mpsc::unbounded_channel();
        let (ready, is_ready) = tokio::sync::oneshot::channel();
        let stream = server.connect();
        let (name, filters) =
            (name.to_owned(), filters.iter().map(|filter| filter.to_string()).collect::<Vec<_>>());
        let task = tokio::spawn(async move {
            let (mut receive, mut send) = (vec![0; 256 * 1024], vec![0; 512 * 1024]);
            let config =
                ConfigBuilder::new(Buffers::new(&mut receive, &mut send)).client_id(&name).expect("a name");
            let mut session = minimq::Session::new(config);
            let mut connection = session.connect(FromTokio::new(stream)).await.expect("the broker");
            let options = SubscriptionOptions::default().maximum_qos(QoS::ExactlyOnce).retain_as_published();
            let filters: Vec<_> =
                filters.iter().map(|filter| TopicFilter::new(filter).options(options)).collect();
            if !filters.is_empty() {
                connection.subscribe(&filters, &[]).await.expect("subscribed");
            }
            let _ = ready.send(());
            loop {
                tokio::select! {
                    biased;
                    message = connection.recv() => {
                        let message = message.unwrap_or_else(|error| panic!("{name} lost the broker: {error}"));
                        let _ = letters.send(message.into());
                    }
                    order = orders.recv() => {
                        let Some(order) = order else { return };
                        let mut properties = Vec::new();
                        properties.extend(order.response.as_deref().map(Property::ResponseTopic));
                        properties.extend(order.correlation.as_deref().map(Property::CorrelationData));
                        let mut publication = Publication::bytes(&order.topic, &order.payload).qos(order.qos).properties(&properties);
                        if order.retain {
                            publication = publication.retain();
                        }
                        while !connection.can_publish(order.qos) {
                            if let Some(message) = connection.poll().await.expect("the broker") {
                                let _ = letters.send(message.into());
                            }
                        }
                        connection.publish(publication).await.expect("the broker takes it");
                    }
                }
            }
        });
        is_ready.await.expect("connected");
        Self { outbox, inbox, task }
    }

    /// Sends a request to the hub.
    pub fn asks(&self, request: Request<'_>) {
        let order = Order {
            topic: format!("hearthwave/story/request/{}", request.name),
            payload: request.payload.into(),
            response: request.response.map(Into::into),
            correlation: request.correlation.map(Into::into),
            qos: request.qos,
            retain: request.retain,
        };
        self.outbox.send(order).expect("connected");
    }

    /// Publishes anything.
    pub fn publishes(&self, topic: &str, payload: &[u8], correlation: Option<&[u8]>) {
        let order = Order {
            topic: topic.into(),
            payload: payload.into(),
            response: None,
            correlation: correlation.map(Into::into),
            qos: QoS::AtLeastOnce,
            retain: false,
        };
        self.outbox.send(order).expect("connected");
    }

    /// The next message on `topic`; those on others are passed over.
    pub async fn hears(&mut self, topic: &str) -> Message {
        let wanted = async {
            loop {
                let message = self.inbox.recv().await.expect("connected");
                if message.topic == topic {
                    return message;
                }
            }
        };
        timeout(PATIENCE, wanted)
            .await
            .unwrap_or_else(|_| panic!("nothing on {topic}; the log:\n{}", log_text()))
    }

    /// Waits until the hub is online.
    pub async fn sees_online(&mut self) {
        while self.hears("hearthwave/story/availability").await.payload != b"online" {}
    }

    /// Waits until `info` says that the link is in this state.
    pub async fn sees_link(&mut self, state: &str) -> Value {
        loop {
            let info = self.hears("hearthwave/story/info").await.json();
            if info["link"] == state {
                return info;
            }
        }
    }

    /// Calls a tool, with the answer at its usual place.
    pub fn calls(&self, tool: &str, arguments: Value) {
        let call = serde_json::json!({ "name": tool, "arguments": arguments }).to_string();
        self.asks(Request::new("tool/call", call.as_bytes()));
    }

    /// The next answer to a call.
    pub async fn gets(&mut self) -> Value {
        self.hears("hearthwave/story/response/tool/call").await.json()
    }

    /// Calls `echo` and waits for the answer: the hub is alive and listens.
    pub async fn gets_an_echo(&mut self) {
        let word = format!("{:?}", Instant::now());
        let payload = serde_json::json!({ "name": "echo", "arguments": { "word": word } }).to_string();
        let mut request = Request::new("tool/call", payload.as_bytes());
        request.response = Some("reply/echo");
        self.asks(request);
        let reply = self.hears("reply/echo").await.json();
        assert_eq!(reply["result"]["echo"]["word"], word.as_str());
    }

    /// Everything on `topic` until nothing has come for longer than the hub ever stays away.
    pub async fn hears_all(&mut self, topic: &str) -> Vec<Message> {
        let mut messages = Vec::new();
        while let Ok(message) =
            timeout(2 * Duration::from(limits::RECONNECT_SLOWEST), self.inbox.recv()).await
        {
            messages.extend(message.filter(|message| message.topic == topic));
        }
        messages
    }
}

/// Waits until the log holds `text`.
pub async fn logged(text: &str) {
    let found = async {
        while !log_text().contains(text) {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    timeout(PATIENCE, found).await.unwrap_or_else(|_| panic!("{text:?} is not in the log:\n{}", log_text()));
}
