//! A hub as the relay sees it: a client of the broker that asks.

use std::collections::VecDeque;
use std::time::Duration;

use embedded_io_adapters::tokio_1::FromTokio;
use host_sim::network::{Network, Stream};
use hub_core::Dial;
use minimq::{
    Buffers, ConfigBuilder, Connection, InboundPublish, Property, Publication, QoS, Session,
    SubscriptionOptions, TopicFilter,
};
use serde_json::Value;
use tokio::time::{Instant, timeout};

/// Packets of this size pass.
const PACKET: usize = 2 * 1024 * 1024;

pub(crate) struct Client {
    connection: Connection<'static, 'static, FromTokio<Box<dyn Stream>>>,
    pub(crate) hub: String,
    /// What came while there was something else to wait for.
    waiting: VecDeque<Message>,
}

/// A message, with what belongs to a reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Message {
    pub(crate) topic: String,
    pub(crate) correlation: Option<Vec<u8>>,
    pub(crate) payload: Vec<u8>,
}

impl From<&InboundPublish<'_>> for Message {
    fn from(message: &InboundPublish<'_>) -> Self {
        Self {
            topic: message.topic().into(),
            correlation: message.correlation_data().map(<[u8]>::to_vec),
            payload: message.payload().to_vec(),
        }
    }
}

impl Message {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.payload).expect("JSON")
    }

    /// The message of an error, and its status.
    pub(crate) fn error(&self) -> (String, Option<u64>) {
        let reply = self.json();
        let error = &reply["error"];
        (error["message"].as_str().expect("an error").to_owned(), error["status"].as_u64())
    }
}

/// What goes with a request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct With<'a> {
    pub(crate) qos: QoS,
    pub(crate) correlation: &'a [u8],
    pub(crate) deadline_ms: Option<&'a str>,
    pub(crate) expiry: Option<u32>,
}

impl Default for With<'_> {
    fn default() -> Self {
        Self { qos: QoS::ExactlyOnce, correlation: b"1", deadline_ms: None, expiry: None }
    }
}

impl Client {
    /// Connects as the hub of that name, and listens to its answers.
    pub(crate) async fn hub(network: &Network, hub: &str, port: u16) -> Self {
        let (receive, send) = (vec![0; PACKET].leak(), vec![0; PACKET].leak());
        let id = format!("{hub}-{:x}", host_sim::random::random_seed());
        let config = ConfigBuilder::new(Buffers::new(receive, send)).client_id(&id).expect("an id");
        let session = Box::leak(Box::new(Session::new(config)));
        let network = Box::leak(Box::new(network.clone()));
        let io = network.dial("127.0.0.1", port).await.expect("a broker");
        let mut connection = session.connect(io).await.expect("let in");
        let options = SubscriptionOptions::default().maximum_qos(QoS::ExactlyOnce);
        let topics = ["llm/response", "service/search/response"].map(|end| format!("hearthwave/{hub}/{end}"));
        let filters = topics.each_ref().map(|topic| TopicFilter::new(topic).options(options));
        let op = connection.subscribe(&filters, &[]).await.expect("subscribed");
        while connection.is_pending(&op) {
            let _ = connection.poll().await.expect("an acknowledgement");
        }
        Self { connection, hub: hub.into(), waiting: VecDeque::new() }
    }

    pub(crate) async fn publish(
        &mut self,
        topic: &str,
        payload: &[u8],
        qos: QoS,
        properties: &[Property<'_>],
    ) {
        let publication = || Publication::bytes(topic, payload).qos(qos).properties(properties);
        while !self.connection.can_publish(qos) {
            let message = self.connection.poll().await.expect("room");
            self.waiting.extend(message.map(|message| Message::from(&message)));
        }
        self.connection.publish(publication()).await.expect("published");
    }

    /// Tells about itself, as hubs do.
    pub(crate) async fn announce(&mut self, info: &str) {
        let topic = format!("hearthwave/{}/info", self.hub);
        let publication = Publication::text(&topic, info).qos(QoS::AtLeastOnce).retain();
        self.connection.publish(publication).await.expect("published");
    }

    /// Sends a request for a service.
    pub(crate) async fn send(&mut self, service: &str, body: &str, with: With<'_>) {
        let topic = format!("hearthwave/{}/llm/request/{service}", self.hub);
        let response = format!("hearthwave/{}/llm/response", self.hub);
        self.send_to(&topic, &response, body, with).await;
    }

    /// Sends a request to any topic.
    pub(crate) async fn send_to(&mut self, topic: &str, response: &str, body: &str, with: With<'_>) {
        let mut properties =
            vec![Property::ResponseTopic(response), Property::CorrelationData(with.correlation)];
        properties.extend(with.deadline_ms.map(|time| Property::UserProperty("deadline_ms", time)));
        properties.extend(with.expiry.map(Property::MessageExpiryInterval));
        self.publish(topic, body.as_bytes(), with.qos, &properties).await;
    }

    /// The next message within a time.
    pub(crate) async fn next(&mut self, within: Duration) -> Option<Message> {
        if let Some(message) = self.waiting.pop_front() {
            return Some(message);
        }
        let message = async { Message::from(&self.connection.recv().await.expect("a message")) };
        timeout(within, message).await.ok()
    }

    /// Sends a request and returns the answer with the time it took.
    pub(crate) async fn ask(&mut self, service: &str, body: &str, with: With<'_>) -> (Message, Duration) {
        let start = Instant::now();
        self.send(service, body, with).await;
        let answer = self.next(Duration::from_secs(700)).await.expect("an answer");
        (answer, start.elapsed())
    }
}
