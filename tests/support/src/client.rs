//! The MQTT client of all tests: minimq, as in the hub, with an inbox.

use std::cell::RefCell;
use std::collections::{HashSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use embedded_io_adapters::tokio_1::FromTokio;
pub use minimq::QoS;
use minimq::{
    Buffers, ConfigBuilder, Connection, Error, InboundPublish, PeerError, Property, Publication, Session,
    SubscriptionOptions, TopicFilter,
};
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};

use crate::log::log_text;
use crate::{result, unique};

/// Longer than anything in a story takes; in virtual time it costs nothing.
pub const PATIENCE: Duration = Duration::from_secs(600);

/// Longer than the hub's longest reconnect.
const QUIET: Duration = Duration::from_secs(120);

/// Packets of this size pass in either direction.
const PACKET: usize = 256 * 1024;

/// A message that the client received.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    pub topic: String,
    pub payload: Vec<u8>,
    pub retained: bool,
    pub qos: QoS,
    pub correlation: Option<Vec<u8>>,
    pub response: Option<String>,
}

impl From<InboundPublish<'_>> for Message {
    fn from(message: InboundPublish<'_>) -> Self {
        Self {
            topic: message.topic().into(),
            payload: message.payload().into(),
            retained: message.retained(),
            qos: message.qos(),
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

/// A message to publish: QoS 1, and without properties unless they are added.
#[derive(Clone, Debug)]
pub struct Publish {
    topic: String,
    payload: Vec<u8>,
    qos: QoS,
    retain: bool,
    response: Option<String>,
    correlation: Option<Vec<u8>>,
    expiry: Option<u32>,
    user_property: Option<(String, String)>,
}

impl Publish {
    pub fn new(topic: &str, payload: impl AsRef<[u8]>) -> Self {
        Self {
            topic: topic.into(),
            payload: payload.as_ref().into(),
            qos: QoS::AtLeastOnce,
            retain: false,
            response: None,
            correlation: None,
            expiry: None,
            user_property: None,
        }
    }

    pub fn qos(self, qos: QoS) -> Self {
        Self { qos, ..self }
    }

    pub fn retained(self) -> Self {
        Self { retain: true, ..self }
    }

    pub fn reply_to(self, topic: &str) -> Self {
        Self { response: Some(topic.into()), ..self }
    }

    pub fn correlation(self, data: &[u8]) -> Self {
        Self { correlation: Some(data.into()), ..self }
    }

    pub fn expires_after(self, seconds: u32) -> Self {
        Self { expiry: Some(seconds), ..self }
    }

    pub fn user_property(self, name: &str, value: &str) -> Self {
        Self { user_property: Some((name.into(), value.into())), ..self }
    }
}

/// A client that is connected, as long as it lives, and keeps what it receives until somebody looks.
pub struct Client {
    /// The hub that it talks to, as in topics.
    pub(crate) hub: String,
    pub(crate) id: String,
    /// Where it wants replies.
    pub(crate) reply_topic: String,
    /// Messages that the broker did not take.
    refused: Arc<AtomicUsize>,
    outbox: mpsc::UnboundedSender<Publish>,
    inbox: mpsc::UnboundedReceiver<Message>,
    /// Where replies to calls of tools come: their topics, with the Correlation Data.
    called: RefCell<HashSet<(String, Option<Vec<u8>>)>>,
    /// Received earlier, and read first.
    pub(crate) kept: VecDeque<Message>,
    task: JoinHandle<()>,
}

impl Drop for Client {
    fn drop(&mut self) {
        self.task.abort();
        // What nobody looked at is checked, too.
        while let Ok(message) = self.inbox.try_recv()
            && !std::thread::panicking()
        {
            self.check(&message);
        }
    }
}

/// The connection of a client.
trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}

impl<S: AsyncRead + AsyncWrite + Unpin + Send> Stream for S {}

type Io = FromTokio<Box<dyn Stream>>;

impl Client {
    /// Connects to the broker at the other end of `stream`, with subscriptions to `filters`.
    pub async fn connect(
        stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
        hub: &str,
        id: &str,
        filters: &[&str],
    ) -> Self {
        Self::connect_by(stream, hub, id, None, filters).await
    }

    /// The same with a login, which wants replies where it may read them at a broker with access rules.
    pub async fn log_in(
        stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
        hub: &str,
        (user, password): (&str, &str),
        filters: &[&str],
    ) -> Self {
        let id = unique(user);
        let login = Some((user.to_owned(), password.to_owned()));
        let mut client = Self::connect_by(stream, hub, &id, login, filters).await;
        client.wants_replies_of(user);
        client
    }

    async fn connect_by(
        stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
        hub: &str,
        id: &str,
        login: Option<(String, String)>,
        filters: &[&str],
    ) -> Self {
        let (outbox, outgoing) = mpsc::unbounded_channel();
        let (received, inbox) = mpsc::unbounded_channel();
        let (ready, is_ready) = oneshot::channel();
        let filters = filters.iter().map(|filter| filter.to_string()).collect();
        let io = FromTokio::new(Box::new(stream) as Box<dyn Stream>);
        let refused = Arc::new(AtomicUsize::new(0));
        let session = Settings { id: id.to_owned(), login, filters, refused: refused.clone() };
        let task = tokio::spawn(run(io, session, outgoing, received, ready));
        is_ready.await.expect("the broker lets the client in");
        let (called, kept) = (RefCell::default(), VecDeque::new());
        let (hub, reply_topic, id) = (hub.into(), format!("reply/{id}"), id.into());
        Self { hub, id, reply_topic, refused, outbox, inbox, called, kept, task }
    }

    /// From now on, it asks for replies where `user` may read them at a broker with access rules.
    pub fn wants_replies_of(&mut self, user: &str) {
        self.reply_topic = format!("hearthwave/{}/reply/{user}/1", self.hub);
    }

    /// How many messages the broker did not take.
    pub fn refused(&self) -> usize {
        self.refused.load(Ordering::Relaxed)
    }

    /// Queues a message to publish.
    pub fn publish(&self, message: Publish) {
        if let Some(response) =
            message.response.as_ref().filter(|_| message.topic.ends_with("/request/tool/call"))
        {
            self.called.borrow_mut().insert((response.clone(), message.correlation.clone()));
        }
        self.outbox.send(message).expect("connected");
    }

    /// The next message, if one comes within this time.
    pub async fn next(&mut self, within: Duration) -> Option<Message> {
        if let Some(message) = self.kept.pop_front() {
            return Some(message);
        }
        let message = timeout(within, self.inbox.recv()).await.ok()?;
        let message = message.unwrap_or_else(|| panic!("{} lost the broker", self.id));
        self.check(&message);
        Some(message)
    }

    /// Every result of a tool is whole, whatever a story looks at.
    fn check(&self, message: &Message) {
        let reply = (message.topic.clone(), message.correlation.clone());
        result::check(message, self.called.borrow().contains(&reply));
    }

    /// The next message on `topic`; others are skipped.
    pub async fn hears_at(&mut self, topic: &str) -> Message {
        let wanted = async {
            loop {
                let message = self.next(PATIENCE).await?;
                if message.topic == topic {
                    return Some(message);
                }
            }
        };
        let message = timeout(PATIENCE, wanted).await.ok().flatten();
        message.unwrap_or_else(|| panic!("nothing on {topic}; the log:\n{}", log_text()))
    }

    /// Everything on `topic` until nothing has come for longer than the hub's longest reconnect.
    pub async fn hears_all_at(&mut self, topic: &str) -> Vec<Message> {
        let mut messages = Vec::new();
        let mut end = Instant::now() + QUIET;
        while let Some(message) = self.next(end.saturating_duration_since(Instant::now())).await {
            // What comes every minute, whatever happens, is no news.
            if !message.topic.ends_with("/health") {
                end = Instant::now() + QUIET;
            }
            messages.extend((message.topic == topic).then_some(message));
        }
        messages
    }
}

/// What a client's session is made of.
struct Settings {
    id: String,
    login: Option<(String, String)>,
    filters: Vec<String>,
    refused: Arc<AtomicUsize>,
}

/// Runs the client's session until the client is dropped or the broker is gone.
async fn run(
    io: Io,
    settings: Settings,
    mut outgoing: mpsc::UnboundedReceiver<Publish>,
    received: mpsc::UnboundedSender<Message>,
    ready: oneshot::Sender<()>,
) {
    let (mut receive, mut send) = (vec![0; PACKET], vec![0; 2 * PACKET]);
    let Settings { id, login, filters, refused } = settings;
    let mut config =
        ConfigBuilder::new(Buffers::new(&mut receive, &mut send)).client_id(&id).expect("a short id");
    if let Some((user, password)) = &login {
        config = config.auth(user, password.as_bytes()).expect("a short login");
    }
    let mut session = Session::new(config);
    let mut connection = session.connect(io).await.expect("the broker lets the client in");
    let options = SubscriptionOptions::default().maximum_qos(QoS::ExactlyOnce).retain_as_published();
    let filters: Vec<_> = filters.iter().map(|filter| TopicFilter::new(filter).options(options)).collect();
    // Further receives fail with the error that the broker is lost.
    let deliver = |message: InboundPublish<'_>| drop(received.send(message.into()));
    if !filters.is_empty() {
        let subscribed = connection.subscribe(&filters, &[]).await.expect("subscribed");
        while connection.is_pending(&subscribed) {
            connection.poll().await.expect("an acknowledgement").map(deliver);
        }
    }
    let _ = ready.send(());
    loop {
        tokio::select! {
            biased;
            message = connection.recv() => match message {
                Ok(message) => deliver(message),
                Err(Error::Peer(PeerError::Rejected(_))) => drop(refused.fetch_add(1, Ordering::Relaxed)),
                Err(_) => return,
            },
            message = outgoing.recv() => {
                let Some(message) = message else { return };
                while !connection.can_publish(message.qos) {
                    match connection.poll().await {
                        Ok(message) => drop(message.map(deliver)),
                        Err(Error::Peer(PeerError::Rejected(_))) => drop(refused.fetch_add(1, Ordering::Relaxed)),
                        Err(_) => return,
                    }
                }
                publish(&mut connection, &message).await;
            }
        }
    }
}

async fn publish(connection: &mut Connection<'_, '_, Io>, message: &Publish) {
    let mut properties = Vec::new();
    properties.extend(message.response.as_deref().map(Property::ResponseTopic));
    properties.extend(message.correlation.as_deref().map(Property::CorrelationData));
    properties.extend(message.expiry.map(Property::MessageExpiryInterval));
    properties
        .extend(message.user_property.as_ref().map(|(name, value)| Property::UserProperty(name, value)));
    let mut publication =
        Publication::bytes(&message.topic, &message.payload).qos(message.qos).properties(&properties);
    if message.retain {
        publication = publication.retain();
    }
    connection.publish(publication).await.expect("the broker takes it");
}
