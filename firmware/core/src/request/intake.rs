//! Takes requests as they arrive: into a free slot, or refuses them.

use embassy_time::Instant;
use minimq::QoS;

use super::redelivery::{Redeliveries, fingerprint};
use super::replies::{Replies, ReplyState};
use super::slot::Slots;
use super::{Refusal, Request};
use crate::limits;
use crate::log::{info, warn};
use crate::mqtt::{Received, ReplyTo, Topics, UnusableReplyTo};
use crate::text;

/// A request that is refused.
pub struct Refused {
    /// Where the caller is told.
    pub reply_to: ReplyTo,
    /// Why.
    pub refusal: Refusal,
    /// What comes back to the caller, as JSON.
    pub transaction: Option<heapless::String<{ limits::TRANSACTION }>>,
}

/// Takes requests. Outlives connections.
pub struct Intake {
    /// Where the reply of each slot stands.
    pub replies: Replies,
    redeliveries: Redeliveries,
}

impl Intake {
    /// Nothing has arrived yet.
    pub const fn new() -> Self {
        Self { replies: Replies::new(), redeliveries: Redeliveries::new() }
    }

    /// A connection begins. In a `fresh` session nothing has been delivered before, and nothing sent before is
    /// acknowledged any more.
    pub fn connected(&mut self, fresh: bool) {
        self.replies.connected(fresh);
        if fresh {
            self.redeliveries.clear();
        }
    }

    /// Puts a request into a free slot, or refuses it.
    pub fn take(&mut self, received: &Received<'_>, topics: &Topics<'_>, slots: &Slots) -> Option<Refused> {
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
            let print = fingerprint(&[topic.as_bytes(), payload, response, correlation.unwrap_or_default()]);
            if self.redeliveries.has_arrived(print, *is_repeated) {
                info!("mqtt: the broker sent a request again after the reconnect; it is not run twice");
                return None;
            }
        }
        let refuse = |reply_to: &ReplyTo, refusal| {
            let request = super::read(payload).ok();
            let transaction = request.and_then(|(_, transaction)| transaction?.text().try_into().ok());
            Some(Refused { reply_to: reply_to.clone(), refusal, transaction })
        };
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
        let Some(slot) = self.replies.free() else { return refuse(&reply_to, Refusal::Busy) };
        self.replies.set(slot, ReplyState::Awaited);
        slots.submit(slot, |job| {
            job.request = request;
            job.payload.clear();
            // It fits: its size was checked above.
            let _ = job.payload.extend_from_slice(payload);
            job.reply_to = reply_to;
            job.has_response_topic = response.is_some();
            job.received = now;
        });
        None
    }
}
