//! The hub's side: minimq, as the firmware uses it.
//!
//! Not the client that all other tests share: these tests check sessions, acknowledgements and properties.

use std::collections::VecDeque;

use embedded_io_adapters::tokio_1::FromTokio;
use embedded_io_async::Read;
use host_desktop::broker::Stream;
use minimq::{
    Buffers, ConfigBuilder, ConnectEvent, Connection, Error, Op, Property, Publication, QoS, Session,
    SubscriptionOptions, TopicFilter,
};
use tokio::time::timeout;

use crate::PATIENCE;
use crate::broker::Broker;

type Io = FromTokio<Box<dyn Stream>>;

/// The parts of a session. Its buffers are leaked: a test does not live long.
pub(crate) fn configuration(client_id: &str) -> ConfigBuilder<'static> {
    with_buffers(client_id, 1024, 4096)
}

pub(crate) fn with_buffers(client_id: &str, rx: usize, tx: usize) -> ConfigBuilder<'static> {
    let buffers = Buffers::new(vec![0; rx].leak(), vec![0; tx].leak());
    ConfigBuilder::new(buffers).client_id(client_id).expect("a short name")
}

/// A subscription with the given best quality.
pub(crate) fn at(qos: QoS) -> SubscriptionOptions {
    SubscriptionOptions::default().maximum_qos(qos)
}

/// A connected device. What arrives while it waits for something else is kept for [`Device::receive`].
pub(crate) struct Device<'session> {
    pub(crate) connection: Connection<'session, 'static, Io>,
    received: VecDeque<Received>,
}

/// A message as the device got it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Received {
    pub(crate) topic: String,
    pub(crate) payload: Vec<u8>,
    pub(crate) qos: u8,
    pub(crate) retained: bool,
    pub(crate) response_topic: Option<String>,
    pub(crate) correlation_data: Option<Vec<u8>>,
    pub(crate) content_type: Option<String>,
    pub(crate) user_properties: Vec<(String, String)>,
    pub(crate) subscription_identifiers: Vec<u32>,
}

impl Received {
    fn of(message: &minimq::InboundPublish<'_>) -> Self {
        let mut received = Self {
            topic: message.topic().into(),
            payload: message.payload().into(),
            qos: message.qos() as u8,
            retained: message.retained(),
            response_topic: message.response_topic().map(str::to_owned),
            correlation_data: message.correlation_data().map(<[u8]>::to_vec),
            ..Self::default()
        };
        for property in message.properties().iter() {
            match property.expect("a well-formed property") {
                Property::ContentType(value) => received.content_type = Some(value.into()),
                Property::UserProperty(name, value) => {
                    received.user_properties.push((name.into(), value.into()));
                }
                Property::SubscriptionIdentifier(value) => received.subscription_identifiers.push(value),
                _ => {}
            }
        }
        received
    }

    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.payload).expect("a text")
    }
}

impl<'session> Device<'session> {
    pub(crate) async fn connect(session: &'session mut Session<'static>, broker: &Broker) -> Self {
        Self::try_connect(session, broker).await.expect("to be let in")
    }

    pub(crate) async fn try_connect(
        session: &'session mut Session<'static>,
        broker: &Broker,
    ) -> Result<Self, Error<std::io::Error>> {
        let connecting = session.connect(FromTokio::new(broker.dial().await));
        let connection = timeout(PATIENCE, connecting).await.expect("CONNACK in time")?;
        Ok(Self { connection, received: VecDeque::new() })
    }

    /// Connects to a session that the broker is to have kept.
    pub(crate) async fn reconnect(session: &'session mut Session<'static>, broker: &Broker) -> Self {
        let device = Self::connect(session, broker).await;
        assert_eq!(device.connection.connect_event(), ConnectEvent::Reconnected);
        device
    }

    pub(crate) async fn subscribe(&mut self, filter: &str, options: SubscriptionOptions) {
        self.subscribe_with(filter, options, &[]).await;
    }

    pub(crate) async fn subscribe_with(
        &mut self,
        filter: &str,
        options: SubscriptionOptions,
        properties: &[Property<'_>],
    ) {
        let filters = [TopicFilter::new(filter).options(options)];
        let subscribing = self.connection.subscribe(&filters, properties);
        let operation = timeout(PATIENCE, subscribing).await.expect("to write in time").expect("to write");
        self.complete(operation).await;
    }

    pub(crate) async fn unsubscribe(&mut self, filter: &str) {
        let operation = self.connection.unsubscribe(&[filter], &[]).await.expect("to write");
        self.complete(operation).await;
    }

    /// Publishes, and waits for the acknowledgement if there is one.
    pub(crate) async fn publish(&mut self, publication: Publication<'_, &[u8]>) {
        let publishing = self.connection.publish(publication);
        let operation = timeout(PATIENCE, publishing).await.expect("to write in time").expect("to write");
        if let Some(operation) = operation {
            self.complete(operation).await;
        }
    }

    async fn complete(&mut self, operation: Op) {
        while self.connection.is_pending(&operation) {
            self.poll().await;
        }
        assert!(self.connection.is_complete(&operation), "the broker has forgotten the session");
    }

    /// Waits until everything that was published has been acknowledged.
    pub(crate) async fn settle(&mut self) {
        while !self.connection.session().is_publish_quiescent() {
            self.poll().await;
        }
    }

    /// Waits for something to happen.
    pub(crate) async fn poll(&mut self) {
        let progress = timeout(PATIENCE, self.connection.poll()).await.expect("something in time");
        if let Some(message) = progress.expect("a living connection") {
            self.received.push_back(Received::of(&message));
        }
    }

    pub(crate) async fn receive(&mut self) -> Received {
        loop {
            if let Some(message) = self.received.pop_front() {
                return message;
            }
            self.poll().await;
        }
    }

    /// Receives until `last` comes, which is left out.
    pub(crate) async fn receive_until(&mut self, last: &str) -> Vec<Received> {
        let mut received = Vec::new();
        loop {
            let message = self.receive().await;
            if message.payload == last.as_bytes() {
                return received;
            }
            received.push(message);
        }
    }

    /// Disconnects, and waits until the broker has closed the connection.
    pub(crate) async fn leave(mut self) {
        self.connection.disconnect().await.expect("to say goodbye");
        let mut io = self.connection.into_inner();
        let closed = async { while matches!(io.read(&mut [0; 64]).await, Ok(1..)) {} };
        timeout(PATIENCE, closed).await.expect("the connection to end in time");
    }

    /// Waits for the broker to end the connection, whatever comes before.
    pub(crate) async fn until_closed(&mut self) {
        let closed = async { while self.connection.poll().await.is_ok() {} };
        timeout(PATIENCE, closed).await.expect("the connection to end in time");
    }
}
