//! The requests in work and their replies. They outlive connections.

use std::cell::Cell;
use std::collections::{HashMap, VecDeque};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use hub_mqtt::{Connection, Lost, Payload, Sent, copy};
use hyper::body::Bytes;
use minimq::{Io, Op, Publication, QoS, RetainHandling, SubscriptionOptions, TopicFilter};
use tokio::task::{Id, JoinError, JoinSet};
use tokio::time::{Instant, sleep_until, timeout};

use super::failure::{Failure, clean};
use super::presence;
use super::recent::{Identity, Recent, Seen};
use super::request::{Delivery, ReplyTo, Request, info_topic};
use super::work::{Done, Work};

/// Requests in work, those included that wait for their turn. One more is told to come back.
const IN_WORK: usize = 256;
/// At least once, in and out. With more, mosquitto sends a crowd of messages at once, whatever Receive Maximum says, and
/// minimq drops those that it has no room for. A request that comes twice is noticed here, and an answer by the hub.
const REQUEST_QOS: QoS = QoS::AtLeastOnce;
/// See [`REQUEST_QOS`].
const REPLY_QOS: QoS = QoS::AtLeastOnce;
/// For requests in work to be finished once the relay is stopped.
const FINISH_WITHIN: Duration = Duration::from_secs(hub_mqtt::limits::RELAY_FINISH.as_secs());
/// For the last words to be taken.
const FAREWELL_WITHIN: Duration = Duration::from_secs(1);

/// A reply that has not arrived at the broker yet.
struct Reply {
    to: ReplyTo,
    payload: Bytes,
}

/// What becomes of a request in work.
struct PendingReply {
    to: ReplyTo,
    identity: Option<Identity>,
}

/// Requests in work, and their replies.
pub(super) struct Jobs {
    work: Arc<Work>,
    /// The topics of requests, as this relay subscribes to them.
    shared: [String; 2],
    /// Whether the broker still has to be told that no more requests are wanted.
    unsubscribe_is_due: bool,
    jobs: JoinSet<Done>,
    pending: HashMap<Id, PendingReply>,
    recent: Recent,
    /// To be sent.
    due: VecDeque<Reply>,
    /// Sent, and not yet acknowledged.
    sent: Vec<(Op, Reply)>,
    /// In the session as well, but the connection broke while they were sent.
    half_sent: VecDeque<Reply>,
    /// What is told of this relay.
    presence: String,
    /// Whether that has to be told.
    presence_is_due: bool,
}

impl Jobs {
    /// None yet. `shared` are the topics of requests, `presence` is what everybody is told while the relay is there.
    pub(super) fn new(work: Arc<Work>, shared: [String; 2], presence: String) -> Self {
        Self {
            work,
            shared,
            presence,
            presence_is_due: true,
            unsubscribe_is_due: false,
            jobs: JoinSet::new(),
            pending: HashMap::new(),
            recent: Recent::default(),
            due: VecDeque::new(),
            sent: Vec::new(),
            half_sent: VecDeque::new(),
        }
    }

    /// Serves one connection until it ends or `stop` is ready.
    pub(super) async fn serve<IO: Io>(
        &mut self,
        connection: &mut Connection<'_, '_, IO>,
        mut stop: Pin<&mut impl Future<Output = ()>>,
    ) -> Result<(), Lost> {
        if connection.is_fresh() {
            // The session that would have repeated them is gone.
            self.due.extend(self.sent.drain(..).map(|(_, reply)| reply));
            self.due.append(&mut self.half_sent);
        }
        // A session that is still there repeats them itself.
        self.half_sent.clear();
        self.presence_is_due = true;
        loop {
            subscribe(connection, &self.shared).await?;
            // Who reads that the relay is there may ask at once, so it listens first.
            if self.presence_is_due && connection.is_subscribed() {
                self.presence_is_due = matches!(tell(connection, &self.presence).await?, Sent::Later);
            }
            if self.next(connection, stop.as_mut()).await? {
                return Ok(());
            }
        }
    }

    /// Takes no more requests, finishes those in work, and leaves.
    pub(super) async fn finish<IO: Io>(
        &mut self,
        connection: &mut Connection<'_, '_, IO>,
    ) -> Result<(), Lost> {
        log::info!("relay: stopping; requests in work: {}", self.jobs.len());
        self.unsubscribe_is_due = true;
        // Another one that is there says so again.
        tell(connection, presence::OFFLINE).await?;
        self.settle(connection, FINISH_WITHIN).await?;
        self.jobs.abort_all();
        let unanswered = self.pending.drain().map(|(_, pending)| pending.to);
        let last_words = unanswered.map(|to| Reply { to, payload: Failure::Stopped.payload().into() });
        self.due.extend(last_words);
        self.settle(connection, FAREWELL_WITHIN).await?;
        // Nobody comes back to this session, which the broker keeps for a while: minimq has no room for a DISCONNECT that
        // says so. Without its subscriptions nothing goes there that other relays are to get.
        timeout(FAREWELL_WITHIN, connection.disconnect()).await.unwrap_or(Err(Lost::Stalled))
    }

    /// Goes on until nothing is left to do, or the time is over.
    async fn settle<IO: Io>(
        &mut self,
        connection: &mut Connection<'_, '_, IO>,
        within: Duration,
    ) -> Result<(), Lost> {
        let end = Instant::now() + within;
        loop {
            if self.unsubscribe_is_due {
                // Requests that are on their way already are still served. If there is no room to say it, there soon is.
                self.unsubscribe_is_due =
                    !connection.unsubscribe(&self.shared.each_ref().map(String::as_str)).await?;
            }
            let is_done = self.pending.is_empty() && self.due.is_empty() && !self.unsubscribe_is_due;
            if (is_done && connection.is_quiet()) || self.next(connection, sleep_until(end)).await? {
                return Ok(());
            }
        }
    }

    /// Sends what is due, then waits for one thing to happen. `true` if that was `stop`.
    async fn next<IO: Io>(
        &mut self,
        connection: &mut Connection<'_, '_, IO>,
        stop: impl Future<Output = ()>,
    ) -> Result<bool, Lost> {
        self.send_replies(connection).await?;
        let received = async {
            let received = connection.receive().await?;
            Ok::<_, Lost>(received.map(|received| Delivery::read(&received.message, Instant::now())))
        };
        tokio::select! {
            // In order, not by chance: a run in virtual time goes the same way every time.
            biased;
            () = stop => return Ok(true),
            Some(done) = self.jobs.join_next_with_id() => self.done(done),
            received = received => if let Some(message) = received? {
                self.receive(message);
            },
        }
        Ok(false)
    }

    fn receive(&mut self, message: Delivery) {
        match message {
            // Of another relay, which is gone.
            Delivery::Presence(payload) => self.presence_is_due |= payload == presence::OFFLINE,
            Delivery::Info { hub, payload } => self.work.hubs.read_info(&hub, &payload),
            Delivery::Invalid(why) => log::warn!("relay: a message was dropped: it {why}"),
            Delivery::Request(request) => self.take(request),
        }
    }

    /// Gives a request to a task of its own, unless it is already known.
    fn take(&mut self, request: Request) {
        let identity = Identity::of(&request);
        let to = request.reply_to.clone();
        if self.pending.len() >= IN_WORK {
            log::warn!("relay: a request of {} was refused: too many others", clean(&request.hub, 64));
            self.due.push_back(Reply { to, payload: Failure::Busy.payload().into() });
            return;
        }
        let seen =
            identity.as_ref().map(|identity| self.recent.arrived(identity, request.received, request.until));
        match seen {
            None | Some(Seen::Never) => {
                let task = self.jobs.spawn(Arc::clone(&self.work).serve(request));
                self.pending.insert(task.id(), PendingReply { to, identity });
            }
            Some(Seen::InWork) => {
                log::info!("relay: {} sent a request again; it is in work", clean(&request.hub, 64));
            }
            Some(Seen::Answered(payload)) => {
                log::info!("relay: {} sent a request again; so is its answer", clean(&request.hub, 64));
                self.due.push_back(Reply { to, payload });
            }
        }
    }

    /// A task has ended.
    fn done(&mut self, done: Result<(Id, Done), JoinError>) {
        let (id, payload, succeeded) = match done {
            Ok((id, done)) => (id, done.payload, done.succeeded),
            Err(error) => (error.id(), Failure::Internal.payload().into(), false),
        };
        // Those without a pending were called off.
        let Some(PendingReply { to, identity }) = self.pending.remove(&id) else { return };
        if let Some(identity) = identity {
            self.recent.answered(&identity, succeeded.then_some(&payload));
        }
        self.due.push_back(Reply { to, payload });
    }

    /// Sends replies as far as there is room, and forgets those that have arrived.
    async fn send_replies<IO: Io>(&mut self, connection: &mut Connection<'_, '_, IO>) -> Result<(), Lost> {
        self.sent.retain(|(op, _)| connection.is_pending(op));
        while let Some(reply) = self.due.pop_front() {
            let is_taken = Cell::new(false);
            let mut payload = |buffer: &mut [u8]| {
                is_taken.set(true);
                copy(&reply.payload, buffer)
            };
            let mut publication = Publication::new(&reply.to.topic, Payload(&mut payload)).qos(REPLY_QOS);
            if let Some(data) = &reply.to.correlation {
                publication = publication.correlate(data);
            }
            match connection.publish(publication).await {
                Ok(Sent::Now(Some(op))) => self.sent.push((op, reply)),
                Ok(Sent::Now(None)) => {}
                Ok(Sent::Later) => {
                    self.due.push_front(reply);
                    break;
                }
                Ok(Sent::Never) => self.replace(reply),
                Err(lost) => {
                    // Once it was written into the session, a resumed one repeats it.
                    let kept = if is_taken.get() { &mut self.half_sent } else { &mut self.due };
                    kept.push_front(reply);
                    return Err(lost);
                }
            }
        }
        Ok(())
    }

    /// A reply can never be sent: the hub is told at least that.
    fn replace(&mut self, reply: Reply) {
        let words = Failure::Unsendable.payload();
        let topic = clean(&reply.to.topic, 128);
        log::warn!("relay: a reply of {} bytes to {topic} cannot be sent", reply.payload.len());
        // Unless it is these very words that cannot be sent.
        if reply.payload.len() > words.len() {
            self.due.push_front(Reply { to: reply.to, payload: words.into() });
        }
    }
}

async fn subscribe<IO: Io>(
    connection: &mut Connection<'_, '_, IO>,
    shared: &[String; 2],
) -> Result<(), Lost> {
    let requests = SubscriptionOptions::default().maximum_qos(REQUEST_QOS);
    let info =
        SubscriptionOptions::default().maximum_qos(REQUEST_QOS).retain_behavior(RetainHandling::Immediately);
    let [models, search] = shared.each_ref().map(|topic| TopicFilter::new(topic).options(requests));
    let others =
        SubscriptionOptions::default().retain_behavior(RetainHandling::Never).ignore_local_messages();
    let others = TopicFilter::new(presence::TOPIC).options(others);
    connection.subscribe(&[TopicFilter::new(&info_topic()).options(info), models, search, others]).await
}

/// Tells everybody whether the relay is there. Without acknowledgement: what is lost with a connection is told again in the
/// next.
async fn tell<IO: Io>(connection: &mut Connection<'_, '_, IO>, presence: &str) -> Result<Sent, Lost> {
    let mut payload = |buffer: &mut [u8]| copy(presence.as_bytes(), buffer);
    let message = Publication::new(presence::TOPIC, Payload(&mut payload));
    let message = if connection.is_retaining() { message.retain() } else { message };
    connection.publish(message).await
}
