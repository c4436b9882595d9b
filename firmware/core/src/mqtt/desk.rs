//! The desk where requests come in and replies go out. It outlives connections.

use core::cell::Cell;
use core::convert::Infallible;

use embassy_futures::select::{Either6, select, select6};
use embassy_futures::yield_now;
use embassy_time::{Instant, Timer};
use minimq::{
    ConnectEvent, Connection, Error, InboundPublish, Io, Op, PeerError, Publication, QoS, RetainHandling,
    SubscriptionOptions, TopicFilter,
};

use super::info;
use super::publish::{Payload, REPLY_QOS, Sent, publish, refuse};
use super::redelivery::{Redeliveries, fingerprint};
use super::replies::Replies;
use super::request::{self, Refusal, Request};
use super::session::{Inside, Lost};
use super::sieve::Margin;
use super::slot::{Happening, ReplyTo, Slots};
use super::topic::Topics;
use crate::config::Config;
use crate::json::{Overflow, Value, Writer};
use crate::limits;
use crate::link::Status;
use crate::log::{debug, info, warn};
use crate::notice::{Notice, Notices};
use crate::service::Services;
use crate::talk::Talks;
use crate::tool::Registry;

/// Handles what comes and goes.
pub(super) struct Desk<'a> {
    pub(super) topics: Topics<'a>,
    target: &'a str,
    slots: &'a Slots,
    pub(super) services: &'a Services,
    link: &'a Status,
    pub(super) registry: &'a Registry,
    pub(super) talks: &'a Talks,
    notices: &'a Notices,
    /// A notice that could not be told yet.
    notice: Option<Notice>,
    subscription: Subscription,
    /// An event that could not be told yet.
    event: Option<Happening>,
    replies: Replies,
    seen: Redeliveries,
}

/// Whether the broker sends the hub its requests.
enum Subscription {
    /// As far as the hub knows, it does not.
    Missing,
    /// It was asked to, and has until then to answer.
    Asked(Op, Instant),
    /// It does.
    Held,
}

/// A request that is not worked on.
struct Refused {
    reply_to: ReplyTo,
    refusal: Refusal,
    /// As JSON text.
    transaction: Option<heapless::String<{ limits::TRANSACTION }>>,
}

impl<'a> Desk<'a> {
    pub(super) fn new(config: &Config<'a>, inside: &Inside<'a>) -> Self {
        let Inside { slots, services, talks, notices, link, registry } = *inside;
        Self {
            topics: Topics::new(config.id),
            target: config.target,
            slots,
            services,
            link,
            registry,
            talks,
            notices,
            notice: None,
            event: None,
            subscription: Subscription::Missing,
            replies: Replies::new(),
            seen: Redeliveries::new(),
        }
    }

    /// A connection failed before it was known whether the broker has a session of the hub's, and which.
    pub(super) fn doubt(&mut self) {
        self.subscription = Subscription::Missing;
    }

    /// Serves one connection until it ends.
    pub(super) async fn attend<IO: Io>(
        &mut self,
        connection: &mut Connection<'_, '_, IO>,
        margin: &Margin,
    ) -> Result<Infallible, Lost> {
        let fresh = connection.connect_event() == ConnectEvent::Connected;
        self.replies.connected(fresh);
        self.services.connected(fresh);
        if fresh {
            self.seen.clear();
            self.subscription = Subscription::Missing;
        }
        let mut online_due = true;
        let mut info_due = true;
        loop {
            self.subscribe(connection).await?;
            while let Some(slot) = self.slots.try_answered() {
                self.replies.written(slot);
            }
            // Whoever reads "online" may ask at once, so the hub listens first.
            if let Subscription::Held = self.subscription {
                if online_due {
                    online_due = !self.announce_online(connection).await?;
                }
                if info_due && !online_due {
                    info_due = !self.announce_info(connection).await?;
                }
                self.send_replies(connection).await?;
                // Before what is only told: a question wants all of the buffer.
                self.ask_services(connection).await?;
                self.tell_events(connection).await?;
                self.tell_notices(connection).await?;
            }

            let no_answer = async {
                match self.subscription {
                    Subscription::Asked(_, until) => Timer::at(until).await,
                    _ => core::future::pending().await,
                }
            };
            // What waits for room is told when there is some, and not before.
            let can_tell = matches!(self.subscription, Subscription::Held)
                && self.event.is_none()
                && self.notice.is_none();
            let news = async {
                match can_tell {
                    true => select(self.slots.has_event(), self.notices.ready()).await,
                    false => core::future::pending().await,
                }
            };
            let event = select6(
                connection.poll(),
                self.slots.answered(),
                self.link.changed(),
                self.services.due(),
                news,
                no_answer,
            )
            .await;
            let refused = match event {
                Either6::First(Ok(Some(message))) => {
                    if self.topics.is_answer(message.topic()) {
                        self.services.ready().await;
                    }
                    self.receive(&message, margin)
                }
                Either6::First(Ok(None)) => None,
                Either6::First(Err(Error::Peer(PeerError::Rejected(_)))) => {
                    // The connection lives on. What was rejected is the subscription, or else a publication.
                    if let Subscription::Asked(op, _) = &self.subscription
                        && !connection.is_pending(op)
                    {
                        self.subscription = Subscription::Missing;
                        return Err(Lost::Deaf);
                    }
                    warn!("mqtt: the broker refused a message of the hub's; check its access rules");
                    None
                }
                Either6::First(Err(error)) => return Err(error.into()),
                Either6::Second(slot) => {
                    self.replies.written(slot);
                    None
                }
                Either6::Third(()) => {
                    info_due = true;
                    None
                }
                // The next round sends it.
                Either6::Fourth(()) | Either6::Fifth(_) => None,
                Either6::Sixth(()) => return Err(Lost::Stalled),
            };
            // A broker can send many requests at once: the workers come first, or the slots would run out.
            yield_now().await;
            if let Some(Refused { reply_to, refusal, transaction }) = refused {
                let transaction = transaction.as_ref().and_then(|text| Value::parse(text.as_bytes()).ok());
                refuse(connection, &reply_to, refusal, transaction).await?;
            }
        }
    }

    /// Asks for the hub's requests, if the broker has not been asked, and notices its answer.
    async fn subscribe<IO: Io>(&mut self, connection: &mut Connection<'_, '_, IO>) -> Result<(), Lost> {
        match &self.subscription {
            Subscription::Held => {}
            Subscription::Asked(op, _) if connection.is_pending(op) => {}
            Subscription::Asked(..) => {
                debug!("mqtt: subscribed to {}", self.topics.requests().as_str());
                self.subscription = Subscription::Held;
            }
            Subscription::Missing => {
                let options = SubscriptionOptions::default()
                    // Exactly once, for callers who ask for it.
                    .maximum_qos(QoS::ExactlyOnce)
                    // A request that somebody retained by mistake must not run at every reconnect.
                    .retain_behavior(RetainHandling::Never)
                    .ignore_local_messages();
                let (requests, [search, model]) = (self.topics.requests(), self.topics.answers());
                let filters =
                    [&requests, &search, &model].map(|topic| TopicFilter::new(topic).options(options));
                match connection.subscribe(&filters, &[]).await {
                    Ok(op) => {
                        self.subscription = Subscription::Asked(op, Instant::now() + limits::MQTT_TIMEOUT)
                    }
                    // What a resumed session repeats comes first.
                    Err(Error::NotReady | Error::Resource(_)) => {}
                    Err(error) => return Err(error.into()),
                }
            }
        }
        Ok(())
    }

    /// Returns whether it could be sent.
    async fn announce_online<IO: Io>(&self, connection: &mut Connection<'_, '_, IO>) -> Result<bool, Lost> {
        let topic = self.topics.availability();
        let mut payload = |buffer: &mut [u8]| copy(b"online", buffer);
        let online = Publication::new(&topic, Payload(&mut payload)).qos(QoS::AtLeastOnce).retain();
        Ok(!matches!(publish(connection, online).await?, Sent::Later))
    }

    /// Returns whether it need not be tried again.
    async fn announce_info<IO: Io>(&self, connection: &mut Connection<'_, '_, IO>) -> Result<bool, Lost> {
        let topic = self.topics.info();
        let mut payload = |buffer: &mut [u8]| {
            info::write(self.target, self.registry.len(), self.link, buffer).map_err(|_| Overflow)
        };
        let sent = publish(
            connection,
            Publication::new(&topic, Payload(&mut payload)).qos(QoS::AtLeastOnce).retain(),
        )
        .await?;
        if let Sent::Never = sent {
            warn!("mqtt: what the hub tells about itself is more than the broker takes");
        }
        Ok(!matches!(sent, Sent::Later))
    }

    /// Tells what was executed, as far as there is room.
    async fn tell_events<IO: Io>(&mut self, connection: &mut Connection<'_, '_, IO>) -> Result<(), Lost> {
        while let Some(event) = self.event.take().or_else(|| self.slots.next_event()) {
            let topic = match event {
                Happening::Tool(_) => self.topics.tool_events(),
                Happening::Chat { .. } => self.topics.chat_events(),
            };
            let mut payload = |buffer: &mut [u8]| {
                let mut writer = Writer::new(buffer);
                writer.object(|members| match &event {
                    Happening::Tool(event) => {
                        members.field("name", event.name.as_str());
                        members.field("success", event.success);
                        members.field("execution_time_ms", event.milliseconds);
                        members.field("slow", event.is_slow());
                    }
                    Happening::Chat { conversation, state, tool } => {
                        members.field("conversation", conversation.as_str());
                        members.field("state", *state);
                        if let Some(tool) = tool {
                            members.field("tool", tool.as_str());
                        }
                    }
                });
                writer.finish()
            };
            if let Sent::Later =
                publish(connection, Publication::new(&topic, Payload(&mut payload)).qos(QoS::AtLeastOnce))
                    .await?
            {
                self.event = Some(event);
                break;
            }
        }
        Ok(())
    }

    /// Tells people what they should know, as far as there is room.
    async fn tell_notices<IO: Io>(&mut self, connection: &mut Connection<'_, '_, IO>) -> Result<(), Lost> {
        let topic = self.topics.log();
        while let Some(notice) = self.notice.take().or_else(|| self.notices.next()) {
            let mut payload = |buffer: &mut [u8]| {
                let mut writer = Writer::new(buffer);
                writer.object(|members| {
                    members.field("level", notice.level.as_str());
                    members.field("text", notice.text.as_str());
                });
                writer.finish()
            };
            let publication = Publication::new(&topic, Payload(&mut payload)).qos(QoS::AtLeastOnce);
            if let Sent::Later = publish(connection, publication).await? {
                self.notice = Some(notice);
                break;
            }
        }
        Ok(())
    }

    /// Decides about a message, and puts what it asks into a free slot.
    fn receive(&mut self, message: &InboundPublish<'_>, margin: &Margin) -> Option<Refused> {
        let received = Instant::now();
        let (topic, payload) = (message.topic(), message.payload());
        let size = margin.cut().unwrap_or(payload.len());
        if self.topics.is_answer(topic) {
            self.take_answer(message, size);
            return None;
        }
        let Some(name) = self.topics.request(topic) else {
            warn!("mqtt: a message of {} bytes that cannot be a request was dropped", size);
            return None;
        };
        let (response, correlation) = (message.response_topic(), message.correlation_data());
        if message.qos() == QoS::AtLeastOnce {
            let response = response.unwrap_or_default().as_bytes();
            let print = fingerprint(&[topic.as_bytes(), payload, response, correlation.unwrap_or_default()]);
            if self.seen.has_arrived(print, margin.is_repeated()) {
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
        let reply_to = match ReplyTo::asked(response, correlation) {
            Ok(asked) => asked.unwrap_or(usual),
            Err(refusal) => return refuse(&usual, refusal),
        };
        let Some(request) = Request::named(name) else { return refuse(&reply_to, Refusal::Unknown) };
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
            job.received = received;
        });
        None
    }

    /// Sends the replies that are written, as far as the broker takes them, and frees the slots of those it has.
    async fn send_replies<IO: Io>(&mut self, connection: &mut Connection<'_, '_, IO>) -> Result<(), Lost> {
        self.replies.acknowledged(|op| !connection.is_pending(op));
        while let Some(slot) = self.replies.next_written() {
            let Some(job) = self.slots.job(slot).await else { break };
            let taken = Cell::new(false);
            let mut payload = |buffer: &mut [u8]| {
                let length = copy(job.reply(), buffer)?;
                taken.set(true);
                Ok(length)
            };
            match publish(connection, job.reply_to.publication(Payload(&mut payload)).qos(REPLY_QOS)).await {
                Ok(Sent::Now(Some(op))) => {
                    debug!("mqtt: answered after {} us", job.received.elapsed().as_micros());
                    self.replies.sent(slot, Some(op));
                }
                // A broker without QoS 1 acknowledges nothing.
                Ok(Sent::Now(None)) => self.replies.release(slot),
                Ok(Sent::Later) => break,
                Ok(Sent::Never) => {
                    warn!("mqtt: a reply of {} bytes is more than the broker takes", job.reply().len());
                    self.replies.release(slot);
                    refuse(connection, &job.reply_to, Refusal::Unanswerable, None).await?;
                }
                Err(lost) => {
                    // Once it was written into the session, a resumed one repeats it.
                    if taken.get() {
                        self.replies.sent(slot, None);
                    }
                    return Err(lost);
                }
            }
        }
        Ok(())
    }
}

/// Copies a payload, and returns its length.
fn copy(payload: &[u8], buffer: &mut [u8]) -> Result<usize, Overflow> {
    buffer.get_mut(..payload.len()).ok_or(Overflow)?.copy_from_slice(payload);
    Ok(payload.len())
}
