//! The other side: an MQTT 5 client that has nothing to do with the hub or its broker.
//!
//! Not minimq: two ends with the same code could share a mistake.

use rumqttc::v5::mqttbytes::QoS;
use rumqttc::v5::mqttbytes::v5::{
    Filter, Packet, Publish, PublishProperties, SubscribeProperties, SubscribeReasonCode,
};
use rumqttc::v5::{AsyncClient, ConnectionError, Event, EventLoop, MqttOptions};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::broker::{Broker, PACKET_SIZE};
use crate::{PATIENCE, unique};

/// A connected peer. It acknowledges at once, and closes the connection without DISCONNECT when dropped.
pub(crate) struct Peer {
    client: AsyncClient,
    messages: UnboundedReceiver<Publish>,
    answers: UnboundedReceiver<Answer>,
    task: JoinHandle<()>,
}

/// An event that is not a message.
#[derive(Debug)]
enum Answer {
    Connected,
    Subscribed(Vec<SubscribeReasonCode>),
    Acknowledged,
    Ended(ConnectionError),
}

impl Peer {
    pub(crate) async fn connect(broker: &Broker) -> Self {
        Self::connect_with(Self::options(broker)).await
    }

    pub(crate) fn options(broker: &Broker) -> MqttOptions {
        let host = broker.address.ip().to_string();
        let mut options = MqttOptions::new(unique("peer"), host, broker.address.port());
        options.set_max_packet_size(Some(PACKET_SIZE)).set_outgoing_inflight_upper_limit(10);
        options
    }

    pub(crate) async fn connect_with(options: MqttOptions) -> Self {
        let (client, events) = AsyncClient::new(options, 10);
        let (message, messages) = unbounded_channel();
        let (answer, answers) = unbounded_channel();
        let task = tokio::spawn(listen(events, message, answer));
        let mut peer = Self { client, messages, answers, task };
        match peer.answer().await {
            Answer::Connected => peer,
            other => panic!("the peer was not let in: {other:?}"),
        }
    }

    pub(crate) async fn subscribe(&mut self, filter: &str, qos: QoS) {
        self.subscribe_with(Filter::new(filter, qos), None).await;
    }

    pub(crate) async fn subscribe_with(&mut self, filter: Filter, identifier: Option<usize>) {
        let subscribed = match identifier {
            None => self.client.subscribe_many([filter]).await,
            Some(id) => {
                let properties = SubscribeProperties { id: Some(id), user_properties: Vec::new() };
                self.client.subscribe_many_with_properties([filter], properties).await
            }
        };
        subscribed.expect("a living peer");
        match self.answer().await {
            Answer::Subscribed(codes) if matches!(codes[..], [SubscribeReasonCode::Success(_)]) => {}
            other => panic!("instead of SUBACK: {other:?}"),
        }
    }

    /// Publishes, and waits for the acknowledgement if there is one.
    pub(crate) async fn publish(&mut self, topic: &str, qos: QoS, payload: impl Into<Vec<u8>>) {
        self.publish_with(topic, qos, false, payload, PublishProperties::default()).await;
    }

    /// Publishes a retained message with QoS 1.
    pub(crate) async fn retain(&mut self, topic: &str, payload: impl Into<Vec<u8>>) {
        self.publish_with(topic, QoS::AtLeastOnce, true, payload, PublishProperties::default()).await;
    }

    pub(crate) async fn publish_with(
        &mut self,
        topic: &str,
        qos: QoS,
        retain: bool,
        payload: impl Into<Vec<u8>>,
        properties: PublishProperties,
    ) {
        self.start_publishing(topic, qos, retain, payload, properties).await;
        if qos != QoS::AtMostOnce {
            self.acknowledged().await;
        }
    }

    /// Publishes with QoS 1 and does not wait; [`Peer::acknowledged`] does.
    pub(crate) async fn publish_soon(&mut self, topic: &str, payload: impl Into<Vec<u8>>) {
        let properties = PublishProperties::default();
        self.start_publishing(topic, QoS::AtLeastOnce, false, payload, properties).await;
    }

    async fn start_publishing(
        &mut self,
        topic: &str,
        qos: QoS,
        retain: bool,
        payload: impl Into<Vec<u8>>,
        properties: PublishProperties,
    ) {
        let publishing = self.client.publish_with_properties(topic, qos, retain, payload.into(), properties);
        timeout(PATIENCE, publishing).await.expect("room in time").expect("a living peer");
    }

    /// Waits for one acknowledgement.
    pub(crate) async fn acknowledged(&mut self) {
        match self.answer().await {
            Answer::Acknowledged => {}
            other => panic!("instead of an acknowledgement: {other:?}"),
        }
    }

    async fn answer(&mut self) -> Answer {
        let answer = timeout(PATIENCE, self.answers.recv()).await.expect("an answer in time");
        match answer.expect("a living peer") {
            Answer::Ended(error) => panic!("the connection of the peer has ended: {error}"),
            answer => answer,
        }
    }

    pub(crate) async fn receive(&mut self) -> Publish {
        let message = timeout(PATIENCE, self.messages.recv()).await.expect("a message in time");
        message
            .unwrap_or_else(|| panic!("the connection of the peer has ended: {:?}", self.answers.try_recv()))
    }

    /// Receives until `last` comes, which is left out.
    pub(crate) async fn receive_until(&mut self, last: &str) -> Vec<Publish> {
        let mut received = Vec::new();
        loop {
            let message = self.receive().await;
            if message.payload == last.as_bytes() {
                return received;
            }
            received.push(message);
        }
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn listen(mut events: EventLoop, message: UnboundedSender<Publish>, answer: UnboundedSender<Answer>) {
    loop {
        let answered = match events.poll().await {
            Ok(Event::Incoming(Packet::Publish(publish))) => {
                // Nobody listens any more when the peer is being dropped.
                let _ = message.send(publish);
                continue;
            }
            Ok(Event::Incoming(Packet::ConnAck(_))) => Answer::Connected,
            Ok(Event::Incoming(Packet::SubAck(subscribed))) => Answer::Subscribed(subscribed.return_codes),
            Ok(Event::Incoming(Packet::PubAck(_) | Packet::PubComp(_))) => Answer::Acknowledged,
            Ok(_) => continue,
            Err(error) => Answer::Ended(error),
        };
        let has_ended = matches!(answered, Answer::Ended(_));
        let _ = answer.send(answered);
        if has_ended {
            return;
        }
    }
}

/// The payload as text.
pub(crate) fn text(message: &Publish) -> &str {
    std::str::from_utf8(&message.payload).expect("a text")
}
