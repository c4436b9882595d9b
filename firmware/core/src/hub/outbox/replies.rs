//! Publishes the replies to requests, and what others have to know of them.

use core::cell::Cell;

use embassy_time::Instant;
use minimq::{Io, Publication, QoS};

use super::super::turn;
use super::{Outbox, REPLY_QOS};
use crate::clock::sleep_until;
use crate::context::HubContext;
use crate::json::{Overflow, Value, Writer};
use crate::limits;
use crate::log::{debug, warn};
use crate::mqtt::{Connection, Lost, Payload, Rejection, ReplyTo, Sent, Topics, copy};
use crate::notice::{Level, Notice};
use crate::request::{self, ImmediateReply, Job, Refusal, ReplyState, Request};
use crate::text::spoken::{Spoken, Voice};

impl<S> Outbox<'_, S> {
    /// Releases the held replies if their time is over. Called whenever the hub wakes up, whether or not it can publish:
    /// [`callers_returned`](Self::callers_returned) would wake it again at once.
    pub(in crate::hub) fn release_replies(&mut self) {
        if Instant::now() >= self.callers_return_at {
            self.intake.replies.release();
        }
    }

    /// Waits until the held replies are due.
    pub(in crate::hub) async fn callers_returned(&self) {
        sleep_until(self.intake.replies.held_until(self.callers_return_at)).await;
    }

    /// The reply in a slot is written.
    pub(in crate::hub) async fn on_written<IO: Io>(
        &mut self,
        connection: &mut Connection<'_, '_, IO>,
        slot: usize,
    ) {
        self.intake.replies.set(slot, ReplyState::Written);
        if let Some(job) = self.hub.slots.job(slot).await.filter(|job| job.is_refused) {
            connection.note_refusal(job.payload().len());
        }
    }

    /// Publishes the replies that are written, and frees the slots of those that the broker has.
    pub(super) async fn publish_replies<IO: Io>(
        &mut self,
        connection: &mut Connection<'_, '_, IO>,
    ) -> Result<(), Lost> {
        if let Some(rejection) = connection.take_rejection() {
            // Acknowledgements come one by one, so the only one that is done is the one that was rejected.
            let slot = self.intake.replies.next_done(|op| !connection.is_pending(op));
            let job = match slot {
                Some(slot) => self.hub.slots.job(slot).await.map(|job| (slot, job)),
                None => None,
            };
            match (rejection, job) {
                (Rejection::Size, Some((slot, job))) => {
                    self.intake.replies.set(slot, ReplyState::Free);
                    Self::refuse_for_broker(connection, &job, None).await?;
                }
                // Events and notices are short.
                (Rejection::Size, None) => self.hub.questions.rejected(),
                (Rejection::Access, job) => self.report_denial(job.as_ref().map(|(_, job)| &job.reply_to)),
            }
        }
        let replies = &mut self.intake.replies;
        replies.acknowledged(|op| !connection.is_pending(op));
        while let Some(slot) = replies.next_written() {
            let Some(job) = self.hub.slots.job(slot).await else { break };
            if concerns_others(job.request) && !replies.is_told(slot) {
                // Marked first: nobody is told twice.
                replies.set_told(slot, true);
                if let Sent::Later = tell_others(&self.topics, &job, connection).await? {
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
        self.hub.notices.push(notice);
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
    pub(in crate::hub) async fn reply_now<IO: Io>(
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
            self.hub.notices.push(Notice::new(Level::Warning, words));
        }
    }

    /// Has the requests worked on that waited for a slot. Returns the reply to one that waited for too long; call it again then.
    pub(in crate::hub) fn take_waiting(&mut self) -> Option<ImmediateReply> {
        let HubContext { slots, approvals, .. } = *self.hub;
        self.intake.take_waiting(&self.topics, slots, approvals)
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

/// Whether others have to know of such a request.
const fn concerns_others(request: Request) -> bool {
    matches!(request, Request::Chat | Request::Transcript | Request::Speak)
}

/// Publishes what others have to know of a job that is done: what was answered to a person, and what somebody wants to have
/// said.
async fn tell_others<IO: Io>(
    topics: &Topics<'_>,
    job: &Job,
    connection: &mut Connection<'_, '_, IO>,
) -> Result<Sent, Lost> {
    let (name, qos, source) = match job.request {
        Request::Chat | Request::Transcript => ("event/answer", QoS::AtLeastOnce, job.reply()),
        Request::Speak => ("speech", QoS::ExactlyOnce, job.payload()),
        _ => return Ok(Sent::Never),
    };
    let source = Value::parse(source).unwrap_or(Value::EMPTY_OBJECT);
    let text = source.get("content").or_else(|| source.get("text")).and_then(|text| text.as_text());
    let Some(text) = text.filter(|_| is_success(job)) else { return Ok(Sent::Never) };
    let topic = topics.own(name);
    let mut payload = |buffer: &mut [u8]| -> Result<usize, Overflow> {
        let mut writer = Writer::new(buffer);
        writer.object(|out| {
            let voice = match job.request {
                Request::Speak => turn::voice(source),
                _ => Voice::None,
            };
            if voice == Voice::None {
                out.field("event_type", "answer");
            }
            out.field("text", format_args!("{}", Spoken { text: &text, voice }));
            for name in ["conversation", "satellite"] {
                if let Some(value) = source.get(name) {
                    out.field(name, value);
                }
            }
        });
        writer.finish()
    };
    connection.publish(Publication::new(&topic, Payload(&mut payload)).qos(qos)).await
}

/// Whether a job was done. Conversations do not say so.
fn is_success(job: &Job) -> bool {
    let reply = Value::parse(job.reply()).ok();
    reply.is_some_and(|reply| reply.get("success").is_none_or(|success| success.text() == "true"))
}
