//! Publishing over minimq, with what became of it.

use embassy_time::with_timeout;
use minimq::{Connection, Error, Io, Op, PubError, Publication, QoS, ResourceError, ToPayload};

use super::request::Refusal;
use super::session::Lost;
use super::slot::ReplyTo;
use crate::json::{Overflow, Value};
use crate::limits;
use crate::log::warn;

/// Exactly once, so that a caller gets one answer even if the connection breaks while it is sent.
pub(super) const REPLY_QOS: QoS = QoS::ExactlyOnce;

/// What became of a publication.
pub(super) enum Sent {
    /// The session has it, and an operation tells when the broker does. None for a broker that acknowledges nothing.
    Now(Option<Op>),
    /// There is no room for it until something is acknowledged.
    Later,
    /// There will never be room for it.
    Never,
}

/// Writes a payload, and tells its length. One type for all of them, since each would bring its own copy of the way out,
/// 1.5 KB of flash.
pub(super) struct Payload<'a>(pub(super) &'a mut dyn FnMut(&mut [u8]) -> Result<usize, Overflow>);

impl ToPayload for Payload<'_> {
    type Error = Overflow;

    fn serialize(self, buffer: &mut [u8]) -> Result<usize, Overflow> {
        (self.0)(buffer)
    }
}

/// Publishes, unless that has to wait.
pub(super) async fn publish<IO>(
    connection: &mut Connection<'_, '_, IO>,
    publication: Publication<'_, Payload<'_>>,
) -> Result<Sent, Lost>
where
    IO: Io,
{
    let publishing = with_timeout(limits::MQTT_TIMEOUT, connection.publish(publication));
    match publishing.await.map_err(|_| Lost::Stalled)? {
        Ok(op) => Ok(Sent::Now(op)),
        Err(PubError::Session(Error::NotReady | Error::Resource(ResourceError::InflightExhausted))) => {
            Ok(Sent::Later)
        }
        // The payload is written into what is left of the buffer: with packets in it, that may be too little.
        Err(PubError::Payload(_) | PubError::Session(Error::Resource(ResourceError::BufferTooSmall)))
            if !connection.session().is_publish_quiescent() =>
        {
            Ok(Sent::Later)
        }
        Err(PubError::Payload(_) | PubError::Session(Error::Resource(_) | Error::InvalidRequest)) => {
            Ok(Sent::Never)
        }
        Err(PubError::Session(error)) => Err(error.into()),
    }
}

/// Answers a request with a refusal, now or never.
pub(super) async fn refuse<IO: Io>(
    connection: &mut Connection<'_, '_, IO>,
    reply_to: &ReplyTo,
    refusal: Refusal,
    transaction: Option<Value<'_>>,
) -> Result<(), Lost> {
    let topic = reply_to.topic.as_str();
    let words = refusal.words();
    // With no room for an acknowledged message, one without acknowledgement has to do: it needs little, for a moment.
    for qos in [REPLY_QOS, QoS::AtMostOnce] {
        let mut payload = |buffer: &mut [u8]| refusal.write(transaction, buffer);
        if let Sent::Now(_) =
            publish(connection, reply_to.publication(Payload(&mut payload)).qos(qos)).await?
        {
            warn!("mqtt: a request was refused: {} (answered on {})", words.as_str(), topic);
            return Ok(());
        }
    }
    warn!(
        "mqtt: a request was refused as {}, and even that could not be sent to {}",
        refusal.error_type(),
        topic
    );
    Ok(())
}
