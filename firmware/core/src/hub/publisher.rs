//! Publishes what the hub has to say, in the order of urgency, as far as the broker takes it.

use core::cell::Cell;

use embassy_time::Instant;
use minimq::{Io, Property, Publication, QoS};

use super::events::Event;
use super::{Parts, announcements, info};
use crate::clock::sleep_until;
use crate::home::{DeviceId, Leftover, Remains};
use crate::json::{Overflow, Value, Writer};
use crate::limits;
use crate::log::{debug, warn};
use crate::mqtt::{Connection, Lost, Payload, Rejection, ReplyTo, Sent, Topics, copy};
use crate::notice::{Level, Notice};
use crate::pending::{Id, Progress};
use crate::questions::{Question, Recipient, Unanswered};
use crate::request::{self, ImmediateReply, Intake, Job, Refusal, ReplyState};

/// Exactly once, so that a caller gets one answer even if the connection breaks while it is sent.
const REPLY_QOS: QoS = QoS::ExactlyOnce;

/// The most that a question's packet has besides its payload and topics: the fixed header, the lengths, the packet
/// identifier, and the properties with a Correlation Data of eight bytes.
const QUESTION_HEADER: usize = 5 + 2 + 2 + 4 + 3 + 3 + 8 + 5;

/// States of devices that are published before it is looked what else there is to do.
const DEVICES_AT_ONCE: usize = 4;

/// Publishes a message that the broker keeps, if it keeps any.
pub(super) async fn retain<IO: Io, P: minimq::ToPayload>(
    connection: &mut Connection<'_, '_, IO>,
    message: Publication<'_, P>,
) -> Result<Sent, Lost> {
    let message = if connection.is_retaining() { message.retain() } else { message };
    connection.publish(message).await
}

/// Publishes what the hub has to say. Outlives connections.
pub(super) struct Publisher<'a> {
    pub(super) topics: Topics<'a>,
    pub(super) parts: &'a Parts<'a>,
    /// Takes requests, and keeps account of their replies.
    pub(super) intake: Intake,
    online_is_due: bool,
    pub(super) info_is_due: bool,
    pub(super) volume_is_due: bool,
    /// An event for which there was no room.
    event: Option<Event>,
    /// A notice for which there was no room.
    notice: Option<Notice>,
    /// A retained device state or announcement of an earlier run, which has to be cleared.
    pub(super) leftover: Option<Remains>,
    /// How many devices `info` tells of.
    devices: (usize, usize),
    /// There was no room for something of the home's.
    pub(super) home_waits: bool,
    /// What was told of the home.
    home_told: Option<bool>,
    /// When `health` is published next.
    pub(super) health_is_due: Instant,
    /// Home Assistant's start has to be listened for.
    pub(super) status_is_wanted: bool,
    /// Until when nobody is told again that the broker denies replies, and the hub's own messages.
    denials: [Instant; 2],
    /// Until when nobody is told again that the hub is busy.
    busy_told_until: Instant,
    /// The hub did not end the last connection, so callers may have lost theirs as well.
    pub(super) is_lost: bool,
    /// The end of the time for which replies to earlier requests wait for their callers to reconnect.
    callers_return_at: Instant,
}

impl<'a> Publisher<'a> {
    // It is large and made once, so its stack frame is not that of its caller.
    #[inline(never)]
    pub(super) fn new(parts: &'a Parts<'a>) -> Self {
        Self {
            topics: Topics::new(parts.identity.id()),
            parts,
            intake: Intake::new(),
            online_is_due: true,
            info_is_due: true,
            volume_is_due: true,
            event: None,
            notice: None,
            leftover: None,
            devices: (0, 0),
            home_waits: false,
            home_told: None,
            health_is_due: Instant::MIN,
            status_is_wanted: true,
            denials: [Instant::MIN; 2],
            busy_told_until: Instant::MIN,
            is_lost: false,
            callers_return_at: Instant::MIN,
        }
    }

    /// A connection begins, in a `fresh` session or not.
    pub(super) fn connected(&mut self, fresh: bool) {
        self.intake.connected(fresh);
        if core::mem::take(&mut self.is_lost) {
            self.callers_return_at = Instant::now() + limits::CALLERS_RETURN;
        }
        self.home_told = None;
        self.online_is_due = true;
        self.info_is_due = true;
        self.volume_is_due = true;
        self.parts.home.connected(fresh);
        self.parts.discovery.sweep_if_off();
        self.status_is_wanted |= fresh;
        self.announce_all();
    }

    /// Releases the held replies if their time is over. Called whenever the hub wakes up, whether or not it can publish:
    /// [`callers_returned`](Self::callers_returned) would wake it again at once.
    pub(super) fn release_replies(&mut self) {
        if Instant::now() >= self.callers_return_at {
            self.intake.replies.release();
        }
    }

    /// Waits until the held replies are due.
    pub(super) async fn callers_returned(&self) {
        sleep_until(self.intake.replies.held_until(self.callers_return_at)).await;
    }

    /// The broker keeps a state of a device.
    pub(super) fn found_state(&mut self, id: &str, payload: &[u8]) {
        let home = self.parts.home;
        match (home.leftover(id, payload), DeviceId::try_from(id)) {
            (Leftover::Keep, _) => {}
            (leftover, Ok(id)) if self.leftover.is_none() => {
                self.leftover = Some(Remains::new(id, leftover, payload));
            }
            // One at a time: the rest comes again.
            (_, Ok(_)) => home.sweep_later(),
            (_, Err(_)) => debug!("mqtt: the broker keeps the state of a device whose id is too long"),
        }
    }

    /// Whether the last state that was found has been dealt with.
    pub(super) const fn has_swept(&self) -> bool {
        self.leftover.is_none()
    }

    /// Whether something waits for room.
    pub(super) const fn has_backlog(&self) -> bool {
        self.event.is_some() || self.notice.is_some() || self.home_waits
    }

    /// The reply in a slot is written.
    pub(super) async fn on_written<IO: Io>(&mut self, connection: &mut Connection<'_, '_, IO>, slot: usize) {
        self.intake.replies.set(slot, ReplyState::Written);
        if let Some(job) = self.parts.slots.job(slot).await.filter(|job| job.is_refused) {
            connection.note_refusal(job.payload().len());
        }
    }

    /// Publishes everything that is due, as far as there is room.
    pub(super) async fn publish<IO: Io>(
        &mut self,
        connection: &mut Connection<'_, '_, IO>,
    ) -> Result<(), Lost> {
        while let Some(slot) = self.parts.slots.try_answered() {
            self.on_written(connection, slot).await;
        }
        let devices = self.parts.home.announced();
        self.info_is_due |= devices != self.devices && self.parts.home.is_known();
        self.publish_home(connection).await?;
        self.publish_online(connection).await?;
        self.publish_replies(connection).await?;
        self.publish_info(connection).await?;
        self.publish_volume(connection).await?;
        self.publish_approvals(connection).await?;
        // Before events and notices: a question wants all of the buffer.
        self.publish_questions(connection).await?;
        if self.parts.conversations.take_change() {
            // Pushed before the first wait, so that the future does not hold the notice.
            if let Some(notice) = self.parts.conversations.take_news(self.parts.registry) {
                self.parts.notices.push(notice);
            }
            self.info_is_due = true;
            self.publish_info(connection).await?;
        }
        self.publish_events(connection).await?;
        self.publish_notices(connection).await?;
        self.publish_presses(connection).await?;
        self.publish_announcement(connection).await?;
        self.publish_devices(connection).await?;
        self.publish_health(connection).await
    }

    /// Publishes whether the states of devices are of this run. Before the hub is online: until then those of an earlier run
    /// are not taken for what is now.
    async fn publish_home<IO: Io>(&mut self, connection: &mut Connection<'_, '_, IO>) -> Result<(), Lost> {
        let is_current = self.parts.home.is_current();
        if self.home_told != Some(is_current) {
            let topic = self.topics.own("home");
            let word: &[u8] = if is_current { b"online" } else { b"offline" };
            let mut payload = |buffer: &mut [u8]| copy(word, buffer);
            let home = Publication::new(&topic, Payload(&mut payload)).qos(QoS::AtLeastOnce);
            if !matches!(retain(connection, home).await?, Sent::Later) {
                self.home_told = Some(is_current);
            }
        }
        Ok(())
    }

    async fn publish_online<IO: Io>(&mut self, connection: &mut Connection<'_, '_, IO>) -> Result<(), Lost> {
        if self.online_is_due && self.home_told.is_some() {
            let topic = self.topics.own("availability");
            let mut payload = |buffer: &mut [u8]| copy(b"online", buffer);
            let online = Publication::new(&topic, Payload(&mut payload)).qos(QoS::AtLeastOnce);
            self.online_is_due = matches!(retain(connection, online).await?, Sent::Later);
        }
        Ok(())
    }

    async fn publish_info<IO: Io>(&mut self, connection: &mut Connection<'_, '_, IO>) -> Result<(), Lost> {
        if self.info_is_due && !self.online_is_due {
            let topic = self.topics.own("info");
            let mut payload = |buffer: &mut [u8]| info::write(self.parts, buffer);
            let info = Publication::new(&topic, Payload(&mut payload)).qos(QoS::AtLeastOnce);
            self.devices = self.parts.home.announced();
            self.info_is_due = matches!(retain(connection, info).await?, Sent::Later);
        }
        Ok(())
    }

    async fn publish_volume<IO: Io>(&mut self, connection: &mut Connection<'_, '_, IO>) -> Result<(), Lost> {
        if self.volume_is_due && !self.info_is_due {
            let topic = self.topics.own("volume");
            let mut payload = |buffer: &mut [u8]| {
                let mut writer = Writer::new(buffer);
                writer.object(|volume| volume.field("level", u32::from(self.parts.speaker.level())));
                writer.finish()
            };
            let volume = Publication::new(&topic, Payload(&mut payload)).qos(QoS::AtLeastOnce);
            self.volume_is_due = matches!(retain(connection, volume).await?, Sent::Later);
        }
        Ok(())
    }

    /// Publishes the replies that are written, and frees the slots of those that the broker has.
    async fn publish_replies<IO: Io>(&mut self, connection: &mut Connection<'_, '_, IO>) -> Result<(), Lost> {
        if let Some(rejection) = connection.take_rejection() {
            // Acknowledgements come one by one, so the only one that is done is the one that was rejected.
            let slot = self.intake.replies.next_done(|op| !connection.is_pending(op));
            let job = match slot {
                Some(slot) => self.parts.slots.job(slot).await.map(|job| (slot, job)),
                None => None,
            };
            match (rejection, job) {
                (Rejection::Size, Some((slot, job))) => {
                    self.intake.replies.set(slot, ReplyState::Free);
                    Self::refuse_for_broker(connection, &job, None).await?;
                }
                // Events and notices are short.
                (Rejection::Size, None) => self.parts.questions.rejected(),
                (Rejection::Access, job) => self.report_denial(job.as_ref().map(|(_, job)| &job.reply_to)),
            }
        }
        let replies = &mut self.intake.replies;
        replies.acknowledged(|op| !connection.is_pending(op));
        while let Some(slot) = replies.next_written() {
            let Some(job) = self.parts.slots.job(slot).await else { break };
            if announcements::concerns_others(job.request) && !replies.is_told(slot) {
                // Marked first: nobody is told twice.
                replies.set_told(slot, true);
                if let Sent::Later = announcements::tell_others(&self.topics, &job, connection).await? {
                    replies.set_told(slot, false);
                    break;
                }
            }
            let taken = Cell::new(false);
            let mut payload = |buffer: &mut [u8]| {
                let length = copy(job.reply(), buffer)?;
                taken.set(true);
                Ok(length)
            };
            // Where acknowledgements are late, a reply that waits for one keeps a slot from other callers.
            let qos = if connection.is_slow() { QoS::AtMostOnce } else { REPLY_QOS };
            let reply = job.reply_to.publication(Payload(&mut payload)).qos(qos);
            match connection.publish(reply).await {
                Ok(Sent::Now(Some(op))) => {
                    debug!("mqtt: answered after {} us", job.received.elapsed().as_micros());
                    replies.set(slot, ReplyState::Sent(Some(op)));
                }
                // A broker without QoS 1 acknowledges nothing.
                Ok(Sent::Now(None)) => replies.set(slot, ReplyState::Free),
                Ok(Sent::Later) => break,
                Ok(Sent::Never) => {
                    replies.set(slot, ReplyState::Free);
                    let limit = connection.packet_limit();
                    Self::refuse_for_broker(connection, &job, limit).await?;
                }
                Err(lost) => {
                    // Once it was written into the session, a resumed one repeats it.
                    if taken.get() {
                        replies.set(slot, ReplyState::Sent(None));
                    }
                    return Err(lost);
                }
            }
        }
        Ok(())
    }

    /// Tells people that the broker does not let the hub publish a reply, or something of its own. Not each time.
    fn report_denial(&mut self, reply_to: Option<&ReplyTo>) {
        let [of_replies, of_its_own] = &mut self.denials;
        let quiet_until = if reply_to.is_some() { of_replies } else { of_its_own };
        if Instant::now() < *quiet_until {
            return;
        }
        *quiet_until = Instant::now() + limits::DENIAL_PAUSE;
        let (all, replies) = (self.topics.own("#"), self.topics.own("reply/"));
        let topic = reply_to.map_or(&all, |reply_to| &reply_to.topic);
        let notice = Notice::new(
            Level::Warning,
            format_args!(
                "The broker does not let the hub publish on {topic}: check its access rules. Replies are to be had below \
                 {replies}"
            ),
        );
        warn!("mqtt: {}", notice.text.as_str());
        self.parts.notices.push(notice);
    }

    /// Tells a caller that the broker does not take the reply.
    async fn refuse_for_broker<IO: Io>(
        connection: &mut Connection<'_, '_, IO>,
        job: &Job,
        limit: Option<u32>,
    ) -> Result<(), Lost> {
        let refusal = Refusal::OverBroker { size: job.reply().len(), limit };
        let transaction = request::read(job.payload()).ok().and_then(|(_, transaction)| transaction);
        Self::refuse(connection, &job.reply_to, &refusal, transaction).await
    }

    /// Answers a request with a refusal, now or never.
    async fn refuse<IO: Io>(
        connection: &mut Connection<'_, '_, IO>,
        reply_to: &ReplyTo,
        refusal: &Refusal,
        transaction: Option<Value<'_>>,
    ) -> Result<(), Lost> {
        let mut write = |buffer: &mut [u8]| refusal.write(transaction, buffer);
        let is_sent = Self::send_now(connection, reply_to, true, &mut write).await?;
        log_refusal(refusal, &reply_to.topic, is_sent);
        Ok(())
    }

    /// Sends a reply that has no slot, now or never.
    pub(super) async fn reply_now<IO: Io>(
        &mut self,
        connection: &mut Connection<'_, '_, IO>,
        reply: &ImmediateReply,
    ) -> Result<(), Lost> {
        let mut write = |buffer: &mut [u8]| reply.write(buffer);
        let is_refusal = reply.answer.is_err();
        let is_sent = Self::send_now(connection, &reply.reply_to, is_refusal, &mut write).await?;
        match &reply.answer {
            Ok(_) if is_sent => {}
            Ok(_) => {
                warn!("mqtt: the reply to a decision could not be sent to {}", reply.reply_to.topic.as_str())
            }
            Err(refusal) => log_refusal(refusal, &reply.reply_to.topic, is_sent),
        }
        if let Err(Refusal::Busy) = &reply.answer {
            self.report_busy();
        }
        Ok(())
    }

    /// Whether a message without a slot was sent.
    async fn send_now<IO: Io>(
        connection: &mut Connection<'_, '_, IO>,
        reply_to: &ReplyTo,
        is_refusal: bool,
        write: &mut dyn FnMut(&mut [u8]) -> Result<usize, Overflow>,
    ) -> Result<bool, Lost> {
        // Acknowledged refusals must not take the room of replies. One without acknowledgement needs little, for a moment.
        let first = if is_refusal && !connection.is_quiet() { QoS::AtMostOnce } else { REPLY_QOS };
        for qos in [first, QoS::AtMostOnce] {
            let mut payload = |buffer: &mut [u8]| write(buffer);
            let reply = reply_to.publication(Payload(&mut payload)).qos(qos);
            if let Sent::Now(_) = connection.publish(reply).await? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Tells people that the hub refuses requests. Not each time.
    fn report_busy(&mut self) {
        if Instant::now() >= self.busy_told_until {
            self.busy_told_until = Instant::now() + limits::BUSY_PAUSE;
            let words = format_args!("Too many requests at once: the hub refuses some as busy");
            self.parts.notices.push(Notice::new(Level::Warning, words));
        }
    }

    /// Has the requests worked on that waited for a slot. Returns the reply to one that waited for too long; call it again then.
    pub(super) fn take_waiting(&mut self) -> Option<ImmediateReply> {
        let Parts { slots, approvals, .. } = *self.parts;
        self.intake.take_waiting(&self.topics, slots, approvals)
    }

    async fn publish_questions<IO: Io>(&self, connection: &mut Connection<'_, '_, IO>) -> Result<(), Lost> {
        let questions = self.parts.questions;
        while let Some((slot, id)) = questions.next_again() {
            let sent = self.publish_question(connection, &slot.data, id).await?;
            questions.sent_again(&slot.data, matches!(sent, Sent::Later));
        }
        for slot in questions.queued() {
            let (question, id) = (&slot.data, questions.next_id());
            slot.advance(Progress::Queued, Progress::Sending(id));
            let sent = self.publish_question(connection, question, id).await;
            let progress = match sent {
                Ok(Sent::Now(_)) => Progress::Sent(id),
                // Another one may be shorter.
                Ok(Sent::Later) | Err(_) => Progress::Queued,
                Ok(Sent::Never) => {
                    let topic = self.topics.question(question.recipient());
                    match connection.packet_limit() {
                        Some(limit) => warn!(
                            "mqtt: a question on {} does not fit into the {} bytes that the broker takes; raise its \
                             limit (mosquitto: max_packet_size)",
                            topic.as_str(),
                            limit
                        ),
                        None => warn!("mqtt: a question on {} does not fit into a packet", topic.as_str()),
                    }
                    Progress::Failed(Unanswered::LongQuestion)
                }
            };
            slot.advance(Progress::Sending(id), progress);
            sent?;
        }
        Ok(())
    }

    /// Publishes a question, for the first time or again.
    async fn publish_question<IO: Io>(
        &self,
        connection: &mut Connection<'_, '_, IO>,
        question: &Question,
        id: Id,
    ) -> Result<Sent, Lost> {
        // With other packets in it the buffer may have no room for all tools. They leave soon, and then it has; only on a
        // line that is never quiet the question goes out with those that fit.
        let require_all_tools = !connection.is_quiet() && question.delay() < limits::QUESTION_DELAY;
        match self.publish_question_once(connection, question, id, require_all_tools).await? {
            // It became quiet meanwhile, and there is room.
            Sent::Never if require_all_tools && connection.is_quiet() => {
                self.publish_question_once(connection, question, id, false).await
            }
            sent => Ok(sent),
        }
    }

    async fn publish_question_once<IO: Io>(
        &self,
        connection: &mut Connection<'_, '_, IO>,
        question: &Question,
        id: Id,
        require_all_tools: bool,
    ) -> Result<Sent, Lost> {
        let topic = self.topics.question(question.recipient());
        let reply_topic = self.topics.answer(question.recipient());
        let correlation = id.to_be_bytes();
        let seconds = u32::try_from(question.patience().as_secs()).unwrap_or(u32::MAX).max(1);
        let properties = [
            Property::ResponseTopic(&reply_topic),
            Property::CorrelationData(&correlation),
            // Nobody is to work on what nobody waits for any more.
            Property::MessageExpiryInterval(seconds),
        ];
        let Parts { conversations, registry, .. } = self.parts;
        // A question has as many tools as there is room for, in a packet that the broker takes.
        let header = topic.len() + reply_topic.len() + QUESTION_HEADER;
        let limit = connection.packet_limit().map_or(usize::MAX, |limit| limit as usize);
        let mut payload = |buffer: &mut [u8]| {
            let room = buffer.len().min(limit.saturating_sub(header));
            let buffer = buffer.get_mut(..room).unwrap_or_default();
            let written = match question.recipient() {
                Recipient::Search => self.parts.questions.copy(buffer),
                Recipient::Model { turn, .. } => {
                    conversations.compose(turn, registry, require_all_tools, buffer)
                }
            };
            written.ok_or(Overflow)
        };
        let question = Publication::new(&topic, Payload(&mut payload)).qos(REPLY_QOS).properties(&properties);
        connection.publish(question).await
    }

    /// Publishes what waits for approval, and what became of it.
    async fn publish_approvals<IO: Io>(
        &mut self,
        connection: &mut Connection<'_, '_, IO>,
    ) -> Result<(), Lost> {
        let approvals = self.parts.approvals;
        self.home_waits = false;
        while let Some(number) = approvals.take_due() {
            let topic = self.topics.approval(number);
            // Nobody is to decide about what does not wait any more.
            let properties = [Property::MessageExpiryInterval(approvals.seconds_left(number).unwrap_or(1))];
            let mut payload = |buffer: &mut [u8]| approvals.write(number, buffer);
            let publication = Publication::new(&topic, Payload(&mut payload));
            let publication = publication.qos(QoS::AtLeastOnce).properties(&properties);
            match connection.publish(publication).await {
                Ok(Sent::Later) => {
                    approvals.unpublished(number);
                    self.home_waits = true;
                    return Ok(());
                }
                Ok(_) => {}
                Err(lost) => {
                    approvals.unpublished(number);
                    return Err(lost);
                }
            }
            approvals.with_waiting(number, |conversation, tool| {
                let conversation = conversation.try_into().unwrap_or_default();
                let event = Event::Chat { conversation, state: "approval", tool: Some(tool.clone()) };
                self.parts.events.push(event);
            });
        }
        if approvals.take_shown_due() {
            let topic = self.topics.own("approval");
            // Not kept for longer than it waits, whatever becomes of the hub.
            let expiry = approvals.shown_seconds().map(Property::MessageExpiryInterval);
            let mut payload = |buffer: &mut [u8]| approvals.write_shown(buffer);
            let shown = Publication::new(&topic, Payload(&mut payload)).qos(QoS::AtLeastOnce);
            match retain(connection, shown.properties(expiry.as_slice())).await {
                Ok(Sent::Later) => {
                    approvals.unshown();
                    self.home_waits = true;
                    return Ok(());
                }
                Ok(_) => {}
                Err(lost) => {
                    approvals.unshown();
                    return Err(lost);
                }
            }
        }
        while let Some(number) = approvals.next_unspoken() {
            let topic = self.topics.own("speech");
            let mut payload = |buffer: &mut [u8]| approvals.write_speech(number, buffer);
            let publication = Publication::new(&topic, Payload(&mut payload)).qos(REPLY_QOS);
            if let Sent::Later = connection.publish(publication).await? {
                self.home_waits = true;
                break;
            }
            approvals.spoken(number);
        }
        Ok(())
    }

    /// Publishes the states of devices: a few at a time, so that nothing else waits for them. Without acknowledgement, which
    /// would take the room of replies: what is lost with a connection is published again with the next.
    async fn publish_devices<IO: Io>(&mut self, connection: &mut Connection<'_, '_, IO>) -> Result<(), Lost> {
        let home = self.parts.home;
        if !connection.is_retaining() {
            self.leftover = None;
        }
        // Meanwhile the device may have been listed, or the controller lost.
        let is_still = |remains: &Remains| match remains.leftover {
            Leftover::Unannounce => !self.is_to_be_announced(&remains.id),
            leftover => home.leftover(&remains.id, b"{}") == leftover,
        };
        if !self.leftover.as_ref().is_some_and(is_still) {
            self.leftover = None;
        }
        if let Some(remains) = &self.leftover {
            let topic = match remains.leftover {
                Leftover::Unannounce => {
                    self.parts.discovery.device_topic(self.parts.identity.id(), &remains.id)
                }
                Leftover::Keep | Leftover::Unavailable | Leftover::Clear => self.topics.device(&remains.id),
            };
            let mut payload = |buffer: &mut [u8]| remains.write(buffer);
            if let Sent::Later =
                connection.publish(Publication::new(&topic, Payload(&mut payload)).retain()).await?
            {
                self.home_waits = true;
                return Ok(());
            }
            self.leftover = None;
        }
        for _ in 0..DEVICES_AT_ONCE {
            let Some(id) = home.take_due() else { return Ok(()) };
            let topic = self.topics.device(&id);
            let mut payload = |buffer: &mut [u8]| home.write(&id, buffer);
            match retain(connection, Publication::new(&topic, Payload(&mut payload))).await? {
                Sent::Later => {
                    home.unpublished(&id);
                    self.home_waits = true;
                    return Ok(());
                }
                Sent::Now(_) | Sent::Never => home.published(&id),
            }
        }
        home.publish_soon();
        Ok(())
    }

    async fn publish_events<IO: Io>(&mut self, connection: &mut Connection<'_, '_, IO>) -> Result<(), Lost> {
        loop {
            if self.event.is_none() {
                self.event = self.parts.events.pop();
            }
            // Borrowed from where it waits, so that the future does not hold another one.
            let Some(event) = &self.event else { return Ok(()) };
            let topic = event.topic(&self.topics);
            let mut payload = |buffer: &mut [u8]| event.write(buffer);
            let publication = Publication::new(&topic, Payload(&mut payload)).qos(QoS::AtLeastOnce);
            let sent = connection.publish(publication).await;
            if let Ok(Sent::Later) = sent {
                return Ok(());
            }
            self.event = None;
            sent?;
        }
    }

    async fn publish_notices<IO: Io>(&mut self, connection: &mut Connection<'_, '_, IO>) -> Result<(), Lost> {
        let topic = self.topics.own("log");
        loop {
            if self.notice.is_none() {
                self.notice = self.parts.notices.pop();
            }
            // As above.
            let Some(notice) = &self.notice else { return Ok(()) };
            let mut payload = |buffer: &mut [u8]| notice.write(buffer);
            let publication = Publication::new(&topic, Payload(&mut payload)).qos(QoS::AtLeastOnce);
            let sent = connection.publish(publication).await;
            if let Ok(Sent::Later) = sent {
                return Ok(());
            }
            self.notice = None;
            sent?;
        }
    }
}

/// Logs that a request was refused, and whether its caller was told.
fn log_refusal(refusal: &Refusal, topic: &str, is_sent: bool) {
    match is_sent {
        true => warn!("mqtt: a request was refused: {} (answered on {})", refusal.words().as_str(), topic),
        false => warn!(
            "mqtt: a request was refused as {}, and even that could not be sent to {}",
            refusal.error_type(),
            topic
        ),
    }
}
