//! The session with the broker: dials, announces the hub, takes requests and sends replies, for ever.

use embassy_futures::select::{Either3, select3};
use embassy_time::{Instant, Timer, with_timeout};
use heapless::Vec;
use minimq::{
    Buffers, ConfigBuilder, ConfigError, ConnectEvent, Connection, Error, InboundPublish, Io, Op, PeerError,
    PubError, Publication, QoS, ReasonCode, ResourceError, RetainHandling, SubscriptionOptions, ToPayload,
    TopicFilter, Will,
};

use super::redelivery::{Redeliveries, fingerprint};
use super::replies::Replies;
use super::request::{self, Refusal, Request};
use super::sieve::{Cut, Sieve};
use super::slot::{ReplyTo, Slots};
use super::topic::{Topic, Topics};
use super::{Backoff, info};
use crate::hub::Config;
use crate::json::Value;
use crate::limits;
use crate::link::Status;
use crate::log::{debug, error, info, warn};
use crate::seam::{Dial, Platform};

/// The buffers of one session.
#[derive(Debug)]
pub struct Memory {
    receive: [u8; limits::MQTT_RECEIVE],
    send: [u8; limits::MQTT_SEND],
}

impl Memory {
    /// Empty.
    pub const fn new() -> Self {
        Self { receive: [0; limits::MQTT_RECEIVE], send: [0; limits::MQTT_SEND] }
    }
}

impl Default for Memory {
    fn default() -> Self {
        Self::new()
    }
}

/// Keeps a session with the broker for ever: requests go into `slots`, and `link` is announced. Whatever the
/// broker does, it comes back, after a wait that grows with each failure.
pub async fn run<D: Dial, P: Platform>(
    memory: &mut Memory,
    config: &Config<'_>,
    dial: &mut D,
    platform: &P,
    slots: &Slots,
    link: &Status,
) -> ! {
    let topics = Topics::new(config.id);
    let mut session = match open(memory, config, &topics) {
        Ok(session) => session,
        Err(_) => {
            error!("mqtt: the settings of the broker do not fit; the hub stays offline");
            core::future::pending().await
        }
    };
    let cut = Cut::new();
    let mut backoff = Backoff::new(platform.seed());
    let mut desk = Desk {
        topics,
        target: config.target,
        slots,
        link,
        replies: Replies::new(),
        seen: Redeliveries::new(),
    };
    loop {
        let broker = &config.broker;
        debug!("mqtt: dialling {}:{}", broker.host, broker.port);
        match dial.dial(broker.host, broker.port).await {
            Ok(io) => match with_timeout(limits::MQTT_TIMEOUT, session.connect(Sieve::new(io, &cut))).await {
                Ok(Ok(mut connection)) => {
                    let start = Instant::now();
                    info!("mqtt: connected to {}:{} as {}", broker.host, broker.port, config.id.as_str());
                    let Err(lost) = desk.attend(&mut connection, &cut).await;
                    warn!("mqtt: connection to {}:{} lost: {}", broker.host, broker.port, lost.text());
                    if start.elapsed() >= limits::RECONNECT_SETTLED {
                        backoff.reset();
                    }
                }
                Ok(Err(error)) => {
                    warn!(
                        "mqtt: {}:{} does not let the hub in: {}",
                        broker.host,
                        broker.port,
                        explain(&error)
                    );
                }
                Err(_) => warn!(
                    "mqtt: {}:{} takes connections but does not speak MQTT 5; check the port",
                    broker.host, broker.port
                ),
            },
            Err(error) => warn!("mqtt: cannot reach {}:{}: {}", broker.host, broker.port, error.text()),
        }
        let wait = backoff.next_wait();
        info!("mqtt: trying again in {} ms", wait.as_millis());
        Timer::after(wait).await;
    }
}

fn open<'m>(
    memory: &'m mut Memory,
    config: &Config<'m>,
    topics: &Topics<'_>,
) -> Result<minimq::Session<'m>, ConfigError> {
    let mut client_id = heapless::String::<64>::new();
    for part in ["hearthwave-", config.id.as_str()] {
        client_id.push_str(part).map_err(|_| ConfigError::ClientIdTooLong)?;
    }
    // At QoS 0, which every broker takes. It is retained, so that nobody misses it.
    let will = Will::new(&topics.availability(), b"offline", &[])?.retained();
    let mut builder = ConfigBuilder::new(Buffers::new(&mut memory.receive, &mut memory.send))
        .client_id(&client_id)?
        .keepalive_interval(limits::MQTT_KEEPALIVE)
        .session_expiry_interval(limits::MQTT_SESSION_EXPIRY)
        .autodowngrade_qos()
        .will(will)?;
    if let Some((user, password)) = config.broker.login {
        builder = builder.auth(user, password.as_bytes())?;
    }
    Ok(minimq::Session::new(builder))
}

/// Why a connection ended.
#[derive(Debug)]
enum Lost {
    /// The stream broke, or the broker closed it.
    Closed,
    /// The broker does not take what is sent.
    Stalled,
    /// The broker does not let the hub subscribe to its requests.
    Deaf,
    /// The broker sent nonsense.
    Nonsense,
}

impl Lost {
    const fn text(&self) -> &'static str {
        match self {
            Self::Closed => "the broker or the network closed it",
            Self::Stalled => "the broker takes nothing any more",
            Self::Deaf => "the broker does not let the hub subscribe; check its access rules",
            Self::Nonsense => "the broker sent something that is not MQTT 5",
        }
    }
}

impl<E> From<Error<E>> for Lost {
    fn from(error: Error<E>) -> Self {
        match error {
            Error::Peer(_) => Self::Nonsense,
            _ => Self::Closed,
        }
    }
}

/// What to tell a person about a refused connection.
fn explain<E: embedded_io_async::Error>(error: &Error<E>) -> &'static str {
    match error {
        Error::Peer(PeerError::Rejected(reason)) => match reason {
            ReasonCode::BadUsernameOrPassword | ReasonCode::NotAuthorized => {
                "it refused the login; check user name and password"
            }
            ReasonCode::UnsupportedProtocol => "it does not speak MQTT 5",
            ReasonCode::ClientIdentifierInvalid => "it refused the hub's id",
            ReasonCode::ServerBusy | ReasonCode::ServerUnavailable | ReasonCode::QuotaExceeded => {
                "it is overloaded"
            }
            ReasonCode::ConnectionRateExceeded => "it wants the hub to come back more slowly",
            _ => "it refused the connection",
        },
        Error::Peer(_) => "it does not speak MQTT 5; check the port",
        Error::Resource(_) => "the user name or password is too long",
        Error::Disconnected => "it closed the connection at once; it may not speak MQTT 5",
        Error::Transport(error) => match error.kind() {
            embedded_io_async::ErrorKind::ConnectionReset => "it broke the connection off",
            _ => "the connection broke",
        },
        _ => "the connection broke",
    }
}

/// Handles what comes and goes on a connection. Outlives connections.
struct Desk<'a> {
    topics: Topics<'a>,
    target: &'a str,
    slots: &'a Slots,
    link: &'a Status,
    replies: Replies,
    seen: Redeliveries,
}

/// A request that is not worked on.
struct Refused {
    reply_to: ReplyTo,
    refusal: Refusal,
    /// As JSON text.
    transaction: Option<heapless::String<{ limits::TRANSACTION }>>,
}

impl Desk<'_> {
    /// Serves one connection until it ends.
    async fn attend<IO: Io>(
        &mut self,
        connection: &mut Connection<'_, '_, IO>,
        cut: &Cut,
    ) -> Result<core::convert::Infallible, Lost> {
        let fresh = connection.connect_event() == ConnectEvent::Connected;
        self.replies.connected(fresh);
        self.seen.connected(!fresh, Instant::now());
        let mut subscribing = if fresh { Some(self.subscribe(connection).await?) } else { None };
        self.announce(connection, &self.topics.availability(), "online").await?;
        let mut info_due = true;
        loop {
            if info_due && connection.can_publish(QoS::AtLeastOnce) {
                info_due = !self.announce_info(connection).await?;
            }
            self.send_replies(connection).await?;

            let event = select3(connection.poll(), self.slots.answered(), self.link.changed()).await;
            let refused = match event {
                Either3::First(Ok(Some(message))) => self.receive(&message, cut),
                Either3::First(Ok(None)) => None,
                Either3::First(Err(Error::Peer(PeerError::Rejected(_)))) => {
                    // The connection lives on. It was an answer to the subscription, or else to a publication.
                    if subscribing.as_ref().is_some_and(|op| !connection.is_pending(op)) {
                        return Err(Lost::Deaf);
                    }
                    warn!("mqtt: the broker refused a message of the hub's; check its access rules");
                    None
                }
                Either3::First(Err(error)) => return Err(error.into()),
                Either3::Second(slot) => {
                    self.replies.written(slot);
                    None
                }
                Either3::Third(()) => {
                    info_due = true;
                    None
                }
            };
            if subscribing.as_ref().is_some_and(|op| !connection.is_pending(op)) {
                subscribing = None;
                debug!("mqtt: subscribed to {}", self.topics.requests().as_str());
            }
            if let Some(refused) = refused {
                self.refuse(connection, &refused).await?;
            }
        }
    }

    async fn subscribe<IO: Io>(&self, connection: &mut Connection<'_, '_, IO>) -> Result<Op, Lost> {
        let options = SubscriptionOptions::default()
            // Exactly once, for callers who ask for it.
            .maximum_qos(QoS::ExactlyOnce)
            // A request that somebody retained by mistake must not run at every reconnect.
            .retain_behavior(RetainHandling::Never)
            .ignore_local_messages();
        let topic = self.topics.requests();
        let filters = [TopicFilter::new(&topic).options(options)];
        let subscription = with_timeout(limits::MQTT_TIMEOUT, connection.subscribe(&filters, &[]));
        Ok(subscription.await.map_err(|_| Lost::Stalled)??)
    }

    async fn announce<IO: Io>(
        &self,
        connection: &mut Connection<'_, '_, IO>,
        topic: &Topic,
        payload: &str,
    ) -> Result<(), Lost> {
        publish(connection, Publication::text(topic, payload).qos(QoS::AtLeastOnce).retain()).await?;
        Ok(())
    }

    /// Returns whether it could be sent.
    async fn announce_info<IO: Io>(&self, connection: &mut Connection<'_, '_, IO>) -> Result<bool, Lost> {
        let topic = self.topics.info();
        let payload =
            |buffer: &mut [u8]| info::write(self.target, crate::tools::TOOLS.len(), self.link, buffer);
        let sent =
            publish(connection, Publication::new(&topic, payload).qos(QoS::AtLeastOnce).retain()).await?;
        Ok(!matches!(sent, Sent::Later))
    }

    /// Decides about a message, and puts what it asks into a free slot.
    fn receive(&mut self, message: &InboundPublish<'_>, cut: &Cut) -> Option<Refused> {
        let (topic, payload) = (message.topic(), message.payload());
        let Some(name) = self.topics.request(topic) else {
            warn!(
                "mqtt: a message that cannot be a request was dropped ({} bytes)",
                cut.payload().unwrap_or(payload.len())
            );
            return None;
        };
        let (response, correlation) = (message.response_topic(), message.correlation_data());
        if message.qos() == QoS::AtLeastOnce {
            let response = response.unwrap_or_default().as_bytes();
            let print = fingerprint(&[topic.as_bytes(), payload, response, correlation.unwrap_or_default()]);
            if self.seen.is_repeated(print, Instant::now()) {
                info!("mqtt: the broker sent a request again after the reconnect; it is not run twice");
                return None;
            }
        }
        let refuse = |reply_to: &ReplyTo, refusal| {
            let request = request::read(payload).ok();
            let transaction = request.and_then(|(_, transaction)| transaction?.text().try_into().ok());
            Some(Refused { reply_to: reply_to.clone(), refusal, transaction })
        };
        let usual = ReplyTo::topic(self.topics.response(name));
        let reply_to = match way_back(response, correlation) {
            Ok(asked) => asked.unwrap_or(usual),
            Err(refusal) => return refuse(&usual, refusal),
        };
        let Some(request) = Request::named(name) else { return refuse(&reply_to, Refusal::Unknown) };
        let size = cut.payload().unwrap_or(payload.len());
        if size > limits::REQUEST {
            return refuse(&reply_to, Refusal::TooLarge(size));
        }
        let Some(slot) = self.replies.free() else { return refuse(&reply_to, Refusal::Busy) };
        self.replies.taken(slot);
        self.slots.submit(slot, |job| {
            job.request = request;
            job.payload.clear();
            // It fits: its size was looked at above.
            let _ = job.payload.extend_from_slice(payload);
            job.reply_to = reply_to;
        });
        None
    }

    async fn refuse<IO: Io>(
        &self,
        connection: &mut Connection<'_, '_, IO>,
        refused: &Refused,
    ) -> Result<(), Lost> {
        let Refused { reply_to, refusal, transaction } = refused;
        warn!(
            "mqtt: a request was refused as {}; answered on {}",
            refusal.error_type(),
            reply_to.topic.as_str()
        );
        // With no room for an acknowledged message, one without acknowledgement has to do.
        let qos = if connection.can_publish(QoS::AtLeastOnce) { QoS::AtLeastOnce } else { QoS::AtMostOnce };
        let transaction = transaction.as_ref().and_then(|text| Value::parse(text.as_bytes()).ok());
        let payload = |buffer: &mut [u8]| refusal.write(transaction, buffer);
        publish(connection, reply_to.publication(payload).qos(qos)).await?;
        Ok(())
    }

    /// Sends the replies that are written, as far as the broker takes them, and frees the slots of those it has.
    async fn send_replies<IO: Io>(&mut self, connection: &mut Connection<'_, '_, IO>) -> Result<(), Lost> {
        self.replies.acknowledged(|op| !connection.is_pending(op));
        while let Some(slot) = self.replies.next_written() {
            if !connection.can_publish(QoS::AtLeastOnce) {
                break;
            }
            let Some(job) = self.slots.job(slot).await else { break };
            // From here on it may be on its way, even if the connection breaks in the middle.
            self.replies.sent(slot, None);
            let publication = job.reply_to.publication(job.reply()).qos(QoS::AtLeastOnce);
            match publish(connection, publication).await? {
                Sent::Now(Some(op)) => self.replies.sent(slot, Some(op)),
                // A broker without QoS 1 acknowledges nothing.
                Sent::Now(None) => self.replies.release(slot),
                Sent::Later => {
                    self.replies.written(slot);
                    break;
                }
                Sent::Never => {
                    warn!("mqtt: a reply of {} bytes is more than the broker takes", job.reply().len());
                    self.replies.release(slot);
                }
            }
        }
        Ok(())
    }
}

impl ReplyTo {
    fn publication<P>(&self, payload: P) -> Publication<'_, P> {
        let publication = Publication::new(&self.topic, payload);
        match &self.correlation {
            Some(data) => publication.correlate(data),
            None => publication,
        }
    }
}

/// The way back that the caller asked for, if it can be gone.
pub(super) fn way_back(topic: Option<&str>, correlation: Option<&[u8]>) -> Result<Option<ReplyTo>, Refusal> {
    let Some(topic) = topic else { return Ok(None) };
    if topic.is_empty() || topic.contains(['+', '#', '\0']) {
        // Publishing there would cost the hub its connection.
        return Err(Refusal::NoWayBack("The Response Topic cannot be published to"));
    }
    let Ok(topic) = Topic::try_from(topic) else {
        return Err(Refusal::NoWayBack("The Response Topic is too long; at most 128 bytes are possible"));
    };
    let correlation = correlation.map(Vec::try_from).transpose();
    match correlation {
        Ok(correlation) => Ok(Some(ReplyTo { topic, correlation })),
        Err(_) => Err(Refusal::NoWayBack("The Correlation Data is too long; at most 64 bytes are possible")),
    }
}

/// What became of a publication.
enum Sent {
    /// The session has it.
    Now(Option<Op>),
    /// There is no room for it until something is acknowledged.
    Later,
    /// There will never be room for it.
    Never,
}

async fn publish<P, IO>(
    connection: &mut Connection<'_, '_, IO>,
    publication: Publication<'_, P>,
) -> Result<Sent, Lost>
where
    P: ToPayload,
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
