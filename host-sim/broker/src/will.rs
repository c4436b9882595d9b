//! The will: the message that the broker publishes when a client is gone.

use std::sync::Arc;
use std::time::Duration;

use mqtt5_protocol::packet::connect::ConnectPacket;
use mqtt5_protocol::{PropertyId, PropertyValue, ReasonCode};

use super::limits::Limits;
use super::message::{self, ClientId, Message};
use super::topic;

#[derive(Debug)]
pub(super) struct Will {
    message: Message,
    /// The message's expiry interval, which begins when it is published.
    lifetime: Option<Duration>,
    delay: Duration,
    /// When it is to be published, once the client is gone.
    pub(super) due: Option<Duration>,
}

impl Will {
    /// The will in `connect`, if there is one. Fails with the reason to refuse the client.
    pub(super) fn of(
        connect: &ConnectPacket,
        client: &ClientId,
        limits: &Limits,
    ) -> Result<Option<Self>, ReasonCode> {
        let Some(will) = &connect.will else { return Ok(None) };
        if !topic::is_valid_name(&will.topic) || will.topic.len() > limits.topic_length {
            return Err(ReasonCode::TopicNameInvalid);
        }
        let properties = &connect.will_properties;
        let allowed = [PropertyId::MessageExpiryInterval, PropertyId::WillDelayInterval];
        let delay = match properties.get(PropertyId::WillDelayInterval) {
            Some(PropertyValue::FourByteInteger(seconds)) => Duration::from_secs((*seconds).into()),
            _ => Duration::ZERO,
        };
        let message = Message {
            publisher: Arc::clone(client),
            topic: will.topic.clone(),
            payload: will.payload.clone().into(),
            qos: will.qos,
            retain: will.retain,
            properties: message::forwarded(properties, &allowed)?,
            expires: None,
        };
        let lifetime = message::expiry(properties, Duration::ZERO);
        Ok(Some(Self { message, lifetime, delay, due: None }))
    }

    /// The client is gone. The will is due after its delay, or when the session ends, if that is earlier.
    pub(super) fn client_gone(&mut self, now: Duration, session_expiry: Duration) {
        self.due = Some(now + self.delay.min(session_expiry));
    }

    /// The message, as it is published `now`.
    pub(super) fn into_message(self, now: Duration) -> Message {
        Message { expires: self.lifetime.map(|lifetime| now + lifetime), ..self.message }
    }
}
