//! Takes requests as they arrive: into a free slot, or into the backlog, or refuses them.

use embassy_time::Instant;
use heapless::HistoryBuf;
use minimq::QoS;

use super::backlog::{Arrived, Backlog, DeviceHash};
use super::slots::{Replies, Slots};
use super::{Refusal, Request};
use crate::approval::Approvals;
use crate::hash::Fingerprint;
use crate::json::{Overflow, Value, Writer};
use crate::limits;
use crate::log::{info, warn};
use crate::mqtt::{Received, ReplyTo, Topics, UnusableReplyTo};
use crate::text;

/// A reply to a request that needs no slot.
pub struct ImmediateReply {
    /// Where the reply goes.
    pub reply_to: ReplyTo,
    /// The answer.
    pub answer: Result<Decision, Refusal>,
    /// What comes back to the caller, as JSON.
    pub transaction: Option<heapless::String<{ limits::TRANSACTION }>>,
}

impl ImmediateReply {
    fn new(reply_to: ReplyTo, answer: Result<Decision, Refusal>, payload: &[u8]) -> Self {
        let request = super::read(payload).ok();
        let transaction = request.and_then(|(_, transaction)| transaction?.text().try_into().ok());
        Self { reply_to, answer, transaction }
    }

    /// Writes its payload.
    pub(crate) fn write(&self, buffer: &mut [u8]) -> Result<usize, Overflow> {
        let transaction = self.transaction.as_ref().and_then(|text| Value::parse(text.as_bytes()).ok());
        let decision = match &self.answer {
            Ok(decision) => decision,
            Err(refusal) => return refusal.write(transaction, buffer),
        };
        let mut writer = Writer::new(buffer);
        writer.object(|out| {
            out.field("success", true);
            out.field("id", decision.number);
            out.field("allowed", decision.is_allowed);
            if let Some(transaction) = transaction {
                out.field("transaction", transaction);
            }
        });
        writer.finish()
    }
}

/// A person's decision about a pending approval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    number: u32,
    is_allowed: bool,
}

/// `{"id", "allow"}`: a person decides about a pending approval.
fn approve(payload: &[u8], approvals: &Approvals) -> Result<Decision, Refusal> {
    let (request, _) = super::read(payload)?;
    let number = request.get("id").and_then(|id| match id.as_text() {
        // Some programs have nothing but texts.
        Some(text) => text.plain()?.parse().ok(),
        None => id.as_integer()?.try_into().ok(),
    });
    let number: u32 = number.ok_or(Refusal::NoApproval)?;
    let is_allowed = match request.get("allow").map(|allow| allow.text()) {
        Some("true") => true,
        Some("false") => false,
        _ => return Err(Refusal::NotOneOf("allow", "true, false")),
    };
    match approvals.decide(number, is_allowed) {
        true => Ok(Decision { number, is_allowed }),
        false => Err(Refusal::NoApproval),
    }
}

/// The device that a command is for, by the name that its caller uses.
fn device_hash(payload: &[u8]) -> DeviceHash {
    let name = super::read(payload).ok().and_then(|(request, _)| request.get("device")?.as_text());
    name.map_or(0, |name| {
        let mut hash = Fingerprint::new();
        name.chars().for_each(|letter| hash.add(&u32::from(letter).to_le_bytes()));
        (hash.finish() as DeviceHash).max(1)
    })
}

/// Takes requests. Outlives connections.
pub struct Intake {
    /// Where the reply of each slot stands.
    pub replies: Replies,
    redeliveries: Redeliveries,
    /// Short requests for which no slot is free.
    backlog: Backlog,
}

impl Intake {
    /// Nothing has arrived yet.
    pub const fn new() -> Self {
        Self { replies: Replies::new(), redeliveries: Redeliveries::new(), backlog: Backlog::new() }
    }

    /// A connection begins. In a `fresh` session nothing has been delivered before, and nothing sent before is
    /// acknowledged any more.
    pub fn connected(&mut self, fresh: bool) {
        self.replies.connected(fresh);
        if fresh {
            self.redeliveries.clear();
        }
    }

    /// Takes a request: into a free slot, or into the backlog if it is short, or refuses it. A person's decision about an
    /// approval needs no slot: it is never kept waiting by what waits for it.
    pub fn take(
        &mut self,
        received: &Received<'_>,
        topics: &Topics<'_>,
        slots: &Slots,
        approvals: &Approvals,
    ) -> Option<ImmediateReply> {
        let now = Instant::now();
        let Received { message, size, is_repeated } = received;
        let (topic, payload) = (message.topic(), message.payload());
        let Some(name) = topics.request(topic) else {
            warn!("mqtt: a message of {} bytes that cannot be a request was dropped", *size);
            return None;
        };
        let (response, correlation) = (message.response_topic(), message.correlation_data());
        if message.qos() == QoS::AtLeastOnce {
            let response = response.unwrap_or_default().as_bytes();
            let print =
                Fingerprint::of(&[topic.as_bytes(), payload, response, correlation.unwrap_or_default()]);
            if self.redeliveries.has_arrived(print, *is_repeated) {
                info!("mqtt: the broker sent a request again after the reconnect; it is not run twice");
                return None;
            }
        }
        let refuse =
            |reply_to: &ReplyTo, refusal| Some(ImmediateReply::new(reply_to.clone(), Err(refusal), payload));
        let usual = ReplyTo::topic(topics.response(name));
        let reply_to = match ReplyTo::asked(response, correlation) {
            Ok(Some(asked)) if topics.is_reserved(&asked.topic) => {
                return refuse(&usual, Refusal::ReplyTo(UnusableReplyTo::Reserved));
            }
            Ok(asked) => asked.unwrap_or(usual),
            Err(unusable) => {
                // Without the Correlation Data it can still go where the caller listens.
                let reply_to = ReplyTo::asked(response, None).ok().flatten();
                let reply_to = reply_to.filter(|asked| !topics.is_reserved(&asked.topic)).unwrap_or(usual);
                return refuse(&reply_to, Refusal::ReplyTo(unusable));
            }
        };
        let Some(request) = Request::named(name) else {
            return refuse(&reply_to, Refusal::Unknown(text::one_line(&name)));
        };
        if *size > limits::REQUEST {
            return refuse(&reply_to, Refusal::TooLarge(*size));
        }
        if request == Request::Approve {
            let answer = approve(payload, approvals);
            return Some(ImmediateReply::new(reply_to, answer, payload));
        }
        let reply_to = response.is_some().then_some(reply_to);
        let device = if request == Request::DeviceSet { device_hash(payload) } else { 0 };
        let arrived = Arrived { request, device, received: now, reply_to, payload };
        let slot = self.replies.free(request, payload.len(), device, approvals.pending_turns());
        // Calls keep their order. Conversations do not wait for them.
        let is_next = self.backlog.is_empty() || request.is_conversation();
        match slot.filter(|_| is_next) {
            Some(slot) => {
                self.replies.await_reply(slot, request, device);
                arrived.submit(slot, topics, slots);
                None
            }
            None if self.backlog.push(&arrived) => None,
            None => Some(ImmediateReply::new(arrived.reply_to(topics), Err(Refusal::Busy), payload)),
        }
    }

    /// Puts requests of the backlog into slots that have become free. Each gets the oldest request that may use it: a turn does
    /// not wait for a call that has to leave the last slot to it. Returns the refusal of one that has waited for too long; call
    /// it again then.
    pub(crate) fn take_waiting(
        &mut self,
        topics: &Topics<'_>,
        slots: &Slots,
        approvals: &Approvals,
    ) -> Option<ImmediateReply> {
        let Self { replies, backlog, .. } = self;
        loop {
            if let Some(late) = backlog.late() {
                let late_one = backlog.get(late)?;
                let refused =
                    ImmediateReply::new(late_one.reply_to(topics), Err(Refusal::Busy), late_one.payload);
                backlog.remove(late);
                return Some(refused);
            }
            let free = |request, size, device| replies.free(request, size, device, approvals.pending_turns());
            let next = backlog.position(|request, size, device| free(request, size, device).is_some())?;
            let arrived = backlog.get(next)?;
            let slot = free(arrived.request, arrived.payload.len(), arrived.device)?;
            replies.await_reply(slot, arrived.request, arrived.device);
            arrived.submit(slot, topics, slots);
            backlog.remove(next);
        }
    }
}

impl Arrived<'_> {
    /// Where the reply goes: to where the caller wants it, or else to the topic of all such replies.
    fn reply_to(&self, topics: &Topics<'_>) -> ReplyTo {
        self.reply_to.clone().unwrap_or_else(|| ReplyTo::topic(topics.response(self.request.name())))
    }

    /// Has the worker of a free slot answer it.
    fn submit(&self, slot: usize, topics: &Topics<'_>, slots: &Slots) {
        slots.submit(slot, |job| {
            job.request = self.request;
            job.set_payload(self.payload);
            job.reply_to = self.reply_to(topics);
            job.has_response_topic = self.reply_to.is_some();
            job.received = self.received;
        });
    }
}

/// The last QoS 1 messages of a session, to recognise those that the broker sends again after a broken connection.
///
/// With QoS 1 the broker repeats unacknowledged messages, and the acknowledgement may have been lost with the connection.
/// A tool must not run twice because of that. The DUP flag alone does not decide: it is also set on messages that never
/// arrived the first time. So the fingerprints of the last messages are kept.
#[derive(Debug)]
pub struct Redeliveries {
    recent: HistoryBuf<u64, { limits::REDELIVERIES }>,
}

impl Redeliveries {
    /// No messages yet.
    pub const fn new() -> Self {
        Self { recent: HistoryBuf::new() }
    }

    /// A fresh session begins: nothing is a redelivery.
    pub fn clear(&mut self) {
        self.recent.clear();
    }

    /// Records a QoS 1 message with its DUP flag. Returns whether it arrived before.
    pub fn has_arrived(&mut self, fingerprint: u64, is_duplicate: bool) -> bool {
        if is_duplicate && self.recent.contains(&fingerprint) {
            return true;
        }
        self.recent.write(fingerprint);
        false
    }
}
