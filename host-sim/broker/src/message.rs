//! A published message, and one delivery of it to one client.

use std::sync::Arc;
use std::time::Duration;

use bytes::{BufMut, Bytes, BytesMut};
use mqtt5_protocol::encoding::{encode_binary, encode_string, encode_variable_int, variable_int_len};
use mqtt5_protocol::{MqttError, Properties, PropertyId, PropertyValue, QoS, ReasonCode};

use super::topic;

/// The name of a client, and of its session.
pub(super) type ClientId = Arc<str>;

/// Properties that go from the publisher to the subscribers as they are, in the order in which the broker
/// writes them. (The codec keeps properties in a hash map: left to itself, every run writes another order.)
const FORWARDED: [PropertyId; 5] = [
    PropertyId::PayloadFormatIndicator,
    PropertyId::ContentType,
    PropertyId::ResponseTopic,
    PropertyId::CorrelationData,
    PropertyId::UserProperty,
];

/// A message as it was published. Nothing in it changes with the client it is delivered to.
#[derive(Debug)]
pub(super) struct Message {
    pub(super) publisher: ClientId,
    pub(super) topic: String,
    pub(super) payload: Bytes,
    pub(super) qos: QoS,
    pub(super) retain: bool,
    /// The forwarded properties, encoded.
    pub(super) properties: Bytes,
    pub(super) expires: Option<Duration>,
}

impl Message {
    /// What the message counts for in limits that are in bytes.
    pub(super) fn size(&self) -> usize {
        self.topic.len() + self.payload.len() + self.properties.len()
    }

    pub(super) fn has_expired(&self, now: Duration) -> bool {
        self.expires.is_some_and(|at| at <= now)
    }
}

/// When a message with these properties expires, if it is published `now`.
pub(super) fn expiry(properties: &Properties, now: Duration) -> Option<Duration> {
    properties.get_message_expiry_interval().map(|seconds| now + Duration::from_secs(seconds.into()))
}

/// Encodes the part of `properties` that goes to subscribers.
///
/// Fails with the reason to disconnect the publisher: a property that does not belong into its packet, apart
/// from those in `also_allowed`, or a response topic that cannot be published to.
pub(super) fn forwarded(properties: &Properties, also_allowed: &[PropertyId]) -> Result<Bytes, ReasonCode> {
    for (id, value) in properties.iter() {
        match (id, value) {
            (PropertyId::TopicAlias, _) => return Err(ReasonCode::TopicAliasInvalid),
            (PropertyId::ResponseTopic, PropertyValue::Utf8String(name)) if !topic::is_valid_name(name) => {
                return Err(ReasonCode::ProtocolError);
            }
            (PropertyId::PayloadFormatIndicator, PropertyValue::Byte(2..)) => {
                return Err(ReasonCode::ProtocolError);
            }
            _ if also_allowed.contains(&id) || FORWARDED.contains(&id) => {}
            _ => return Err(ReasonCode::ProtocolError),
        }
    }
    let mut encoded = BytesMut::new();
    for id in FORWARDED {
        for value in properties.get_all(id).unwrap_or_default() {
            encode_property(&mut encoded, id, value).map_err(|_| ReasonCode::ProtocolError)?;
        }
    }
    Ok(encoded.freeze())
}

fn encode_property(buffer: &mut BytesMut, id: PropertyId, value: &PropertyValue) -> Result<(), MqttError> {
    buffer.put_u8(id as u8);
    match value {
        PropertyValue::Byte(value) => buffer.put_u8(*value),
        PropertyValue::TwoByteInteger(value) => buffer.put_u16(*value),
        PropertyValue::FourByteInteger(value) => buffer.put_u32(*value),
        PropertyValue::VariableByteInteger(value) => encode_variable_int(buffer, *value)?,
        PropertyValue::BinaryData(value) => encode_binary(buffer, value)?,
        PropertyValue::Utf8String(value) => encode_string(buffer, value)?,
        PropertyValue::Utf8StringPair(name, value) => {
            encode_string(buffer, name)?;
            encode_string(buffer, value)?;
        }
    }
    Ok(())
}

/// A message on its way to one client.
#[derive(Clone, Debug)]
pub(super) struct Delivery {
    pub(super) message: Arc<Message>,
    pub(super) qos: QoS,
    pub(super) retain: bool,
    /// The identifiers of the subscriptions that asked for it.
    pub(super) identifiers: Vec<u32>,
}

impl Delivery {
    /// The PUBLISH packet. `packet_id` is there for QoS 1 and 2, `again` if it was sent before.
    ///
    /// Fails if the packet would be larger than any MQTT packet can be.
    pub(super) fn encode(
        &self,
        packet_id: Option<u16>,
        again: bool,
        now: Duration,
    ) -> Result<Bytes, MqttError> {
        let properties = self.properties(now)?;
        let properties_length = length(properties.len() + self.message.properties.len())?;
        let packet_id_length = if packet_id.is_some() { 2 } else { 0 };
        let remaining = length(
            2 + self.message.topic.len()
                + packet_id_length
                + variable_int_len(properties_length)
                + properties.len()
                + self.message.properties.len()
                + self.message.payload.len(),
        )?;

        let mut packet = BytesMut::with_capacity(5 + remaining as usize);
        packet.put_u8(0x30 | u8::from(again) << 3 | (self.qos as u8) << 1 | u8::from(self.retain));
        encode_variable_int(&mut packet, remaining)?;
        encode_string(&mut packet, &self.message.topic)?;
        if let Some(packet_id) = packet_id {
            packet.put_u16(packet_id);
        }
        encode_variable_int(&mut packet, properties_length)?;
        packet.put_slice(&properties);
        packet.put_slice(&self.message.properties);
        packet.put_slice(&self.message.payload);
        Ok(packet.freeze())
    }

    /// The properties that the broker adds.
    fn properties(&self, now: Duration) -> Result<BytesMut, MqttError> {
        let mut encoded = BytesMut::new();
        if let Some(at) = self.message.expires {
            let left = at.saturating_sub(now).as_millis().div_ceil(1000);
            let left = PropertyValue::FourByteInteger(left.try_into().unwrap_or(u32::MAX));
            encode_property(&mut encoded, PropertyId::MessageExpiryInterval, &left)?;
        }
        for identifier in &self.identifiers {
            let identifier = PropertyValue::VariableByteInteger(*identifier);
            encode_property(&mut encoded, PropertyId::SubscriptionIdentifier, &identifier)?;
        }
        Ok(encoded)
    }
}

fn length(bytes: usize) -> Result<u32, MqttError> {
    bytes.try_into().map_err(|_| MqttError::PacketTooLarge { size: bytes, max: u32::MAX as usize })
}

/// The lower of two qualities of service.
pub(super) fn lower(one: QoS, other: QoS) -> QoS {
    if (one as u8) < (other as u8) { one } else { other }
}

/// The higher of two qualities of service.
pub(super) fn higher(one: QoS, other: QoS) -> QoS {
    if (one as u8) < (other as u8) { other } else { one }
}
