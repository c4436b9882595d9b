//! One connection to the broker: subscribed, publishing what it is handed, handing over what arrives.

use embassy_futures::select::{Either, select};
use embassy_time::{Instant, with_timeout};
use hub_json::Overflow;
use minimq::{
    ConnectEvent, Error, InboundPublish, Io, Op, PeerError, PubError, Publication, ReasonCode, ResourceError,
    ToPayload, TopicFilter,
};

use super::congestion::Congestion;
use super::sleep_until;
use super::transport::{PacketInfo, Transport};
use crate::limits;
use crate::log::{debug, warn};

/// Why there is no connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lost {
    /// There never was one, for this reason.
    Unreached(&'static str),
    /// The stream broke, or the broker closed it.
    Closed,
    /// The broker does not take what is sent, or does not answer.
    Stalled,
    /// The broker refuses the subscription.
    Refused,
    /// The broker sent something that is not MQTT 5.
    Nonsense,
    /// The broker has queued more than the hub can take: see [`Connection::is_congested`].
    Congested,
}

impl<E> From<Error<E>> for Lost {
    fn from(error: Error<E>) -> Self {
        match error {
            Error::Peer(_) => Self::Nonsense,
            _ => Self::Closed,
        }
    }
}

/// Whether the broker sends what was subscribed to.
pub(super) enum Subscription {
    /// As far as is known, it does not.
    Missing,
    /// It was asked to, and has until then to answer.
    Asked(Op, Instant),
    /// It does.
    Held,
}

/// Why the broker does not take a publication.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rejection {
    /// It is too large.
    Size,
    /// The hub may not publish on that topic.
    Access,
}

/// What became of a publication.
#[derive(Debug)]
pub enum Sent {
    /// The session has it, and an operation tells when the broker does. None for a broker that acknowledges nothing.
    Now(Option<Op>),
    /// There is no room for it until something is acknowledged.
    Later,
    /// There will never be room for it.
    Never,
}

/// Writes a payload, and returns its length. One type for all of them, since each would bring its own copy of the way out,
/// 1.5 KB of flash.
pub struct Payload<'a>(pub &'a mut dyn FnMut(&mut [u8]) -> Result<usize, Overflow>);

impl ToPayload for Payload<'_> {
    type Error = Overflow;

    fn serialize(self, buffer: &mut [u8]) -> Result<usize, Overflow> {
        (self.0)(buffer)
    }
}

/// Copies a payload, and returns its length.
pub fn copy(payload: &[u8], buffer: &mut [u8]) -> Result<usize, Overflow> {
    buffer.get_mut(..payload.len()).ok_or(Overflow)?.copy_from_slice(payload);
    Ok(payload.len())
}

/// A message that arrived.
pub struct Received<'a> {
    /// The message. If it was too large, its payload is cut.
    pub message: InboundPublish<'a>,
    /// Bytes of its payload before it was cut.
    pub size: usize,
    /// Whether the broker marked it as sent before: MQTT's DUP flag.
    pub is_repeated: bool,
}

/// One connection to the broker.
pub struct Connection<'c, 'm, IO> {
    connection: minimq::Connection<'c, 'm, Transport<'c, IO>>,
    log: &'static str,
    info: &'c PacketInfo,
    subscription: &'c mut Subscription,
    /// The broker has rejected something since the subscription was last looked at.
    rejected: Option<ReasonCode>,
    /// Why the broker has rejected a publication since somebody last asked.
    rejected_publication: Option<Rejection>,
    /// The log says already that it rejects some.
    is_rejection_logged: bool,
    is_retaining: bool,
    congestion: Congestion,
}

impl<'c, 'm, IO: Io> Connection<'c, 'm, IO> {
    pub(super) fn new(
        connection: minimq::Connection<'c, 'm, Transport<'c, IO>>,
        log: &'static str,
        info: &'c PacketInfo,
        subscription: &'c mut Subscription,
        is_retaining: bool,
    ) -> Self {
        if connection.connect_event() == ConnectEvent::Connected {
            *subscription = Subscription::Missing;
        }
        Self {
            connection,
            log,
            info,
            subscription,
            rejected: None,
            rejected_publication: None,
            is_rejection_logged: false,
            is_retaining,
            congestion: Congestion::new(),
        }
    }

    /// Whether the broker takes retained messages. To publish one to a broker that does not would cost the connection.
    pub fn is_retaining(&self) -> bool {
        self.is_retaining
    }

    /// The largest packet that the broker takes, if it has a limit.
    pub fn packet_limit(&self) -> Option<u32> {
        self.info.packet_limit()
    }

    /// Why the broker has rejected a publication since the last call, if it has: one that is not pending any more.
    pub fn take_rejection(&mut self) -> Option<Rejection> {
        self.rejected_publication.take()
    }

    /// Whether it began a new session: the broker will not acknowledge what was sent before.
    pub fn is_fresh(&self) -> bool {
        self.connection.connect_event() == ConnectEvent::Connected
    }

    /// Whether the broker sends what was subscribed to.
    pub fn is_subscribed(&self) -> bool {
        matches!(self.subscription, Subscription::Held)
    }

    /// Whether [`subscribe`](Self::subscribe) has something to do.
    pub fn needs_subscribing(&self) -> bool {
        self.rejected.is_some() || !self.is_subscribed()
    }

    /// Subscribes, unless the session has done so, and notices the broker's answer. To be called before each
    /// [`receive`](Self::receive), with the same filters, if it [is needed](Self::needs_subscribing).
    pub async fn subscribe(&mut self, filters: &[TopicFilter<'_>]) -> Result<(), Lost> {
        let rejected = self.rejected.take();
        match &self.subscription {
            Subscription::Asked(op, _) if !self.connection.is_pending(op) => {
                if rejected.is_some() {
                    *self.subscription = Subscription::Missing;
                    return Err(Lost::Refused);
                }
                debug!("{}: subscribed", self.log);
                *self.subscription = Subscription::Held;
            }
            Subscription::Missing => match self.connection.subscribe(filters, &[]).await {
                Ok(op) => {
                    *self.subscription = Subscription::Asked(op, Instant::now() + limits::MQTT_TIMEOUT);
                }
                // What a resumed session repeats comes first.
                Err(Error::NotReady | Error::Resource(_)) => {}
                Err(error) => return Err(error.into()),
            },
            Subscription::Asked(..) | Subscription::Held => {}
        }
        match rejected {
            None => {}
            Some(ReasonCode::PacketTooLarge) => {
                self.rejected_publication = Some(Rejection::Size);
                warn!(
                    "{}: the broker refused a message as too large; raise its limit (mosquitto: message_size_limit)",
                    self.log
                )
            }
            Some(reason) => {
                if reason == ReasonCode::NotAuthorized {
                    self.rejected_publication = Some(Rejection::Access);
                }
                // Somebody who wants replies where the hub may not write must not fill the log.
                if !core::mem::replace(&mut self.is_rejection_logged, true) {
                    warn!(
                        "{}: the broker refused a message; check its access rules, and whether a queue of its is full",
                        self.log
                    );
                }
            }
        }
        Ok(())
    }

    /// Waits for a message. `None` if only the session had something to do. Dropping the future loses nothing.
    pub async fn receive(&mut self) -> Result<Option<Received<'_>>, Lost> {
        let deadline = match self.subscription {
            Subscription::Asked(_, until) => Some(*until),
            _ => None,
        };
        match select(self.connection.poll(), sleep_until(deadline)).await {
            Either::First(Ok(Some(message))) => {
                self.congestion.on_message();
                let size = self.info.uncut().unwrap_or(message.payload().len());
                Ok(Some(Received { message, size, is_repeated: self.info.is_repeated() }))
            }
            Either::First(Ok(None)) => Ok(None),
            // The connection lives on. What was rejected is the subscription, or else a publication.
            Either::First(Err(Error::Peer(PeerError::Rejected(reason)))) => {
                self.rejected = Some(reason);
                Ok(None)
            }
            Either::First(Err(error)) => Err(error.into()),
            Either::Second(()) => Err(Lost::Stalled),
        }
    }

    /// Publishes, unless that has to wait.
    pub async fn publish<P: ToPayload>(&mut self, publication: Publication<'_, P>) -> Result<Sent, Lost> {
        let publishing = with_timeout(limits::MQTT_TIMEOUT, self.connection.publish(publication));
        match publishing.await.map_err(|_| Lost::Stalled)? {
            Ok(op) => {
                if let Some(op) = op {
                    self.update_congestion();
                    self.congestion.on_published(op);
                }
                Ok(Sent::Now(op))
            }
            Err(PubError::Session(Error::NotReady | Error::Resource(ResourceError::InflightExhausted))) => {
                Ok(Sent::Later)
            }
            // The payload is written into what is left of the buffer: with packets in it, that may be too little.
            Err(PubError::Payload(_) | PubError::Session(Error::Resource(ResourceError::BufferTooSmall)))
                if !self.is_quiet() =>
            {
                Ok(Sent::Later)
            }
            Err(PubError::Payload(_) | PubError::Session(Error::Resource(_) | Error::InvalidRequest)) => {
                Ok(Sent::Never)
            }
            Err(PubError::Session(error)) => Err(error.into()),
        }
    }

    /// Whether the broker has not acknowledged a publication yet.
    pub fn is_pending(&self, op: &Op) -> bool {
        self.connection.is_pending(op)
    }

    /// Takes note that a request of so many bytes was refused.
    pub fn note_refusal(&mut self, bytes: usize) {
        self.congestion.on_refused(bytes);
    }

    /// Whether acknowledgements are late. What waits for them keeps its place in the send buffer, so replies that need no
    /// acknowledgement go out sooner.
    pub fn is_slow(&mut self) -> bool {
        self.update_congestion();
        self.congestion.is_late()
    }

    /// Whether the broker has queued so much that other callers wait for longer than they care. The caller should
    /// disconnect and report [`Lost::Congested`], so that the next connection begins with an empty queue.
    pub fn is_congested(&mut self) -> bool {
        self.update_congestion();
        self.congestion.is_hopeless()
    }

    fn update_congestion(&mut self) {
        self.congestion.update(|op| self.connection.is_pending(op));
    }

    /// Whether nothing waits for an acknowledgement: all of the send buffer is free.
    pub fn is_quiet(&self) -> bool {
        self.connection.session().is_publish_quiescent()
    }

    /// Subscribes to something besides, or again, to get what is retained. `false` if there is no room for that now. If the
    /// broker refuses, that is logged.
    pub async fn subscribe_besides(&mut self, filter: TopicFilter<'_>) -> Result<bool, Lost> {
        match self.connection.subscribe(&[filter], &[]).await {
            Ok(_) => Ok(true),
            Err(Error::NotReady | Error::Resource(_)) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Unsubscribes. `false` if there is no room for that now.
    pub async fn unsubscribe(&mut self, filters: &[&str]) -> Result<bool, Lost> {
        match self.connection.unsubscribe(filters, &[]).await {
            Ok(_) => Ok(true),
            Err(Error::NotReady | Error::Resource(_)) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Says goodbye, for as long as the broker takes to hear it.
    pub async fn disconnect(&mut self) -> Result<(), Lost> {
        Ok(self.connection.disconnect().await?)
    }
}
