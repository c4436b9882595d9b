//! Recent requests: one that is delivered twice is asked once.
//!
//! A broker delivers a request of QoS 1 again if it has lost the acknowledgement, and so does a hub to the broker. The
//! same topic, Correlation Data and body within the hub's time are the same request. While it is in work, its answer will
//! do for both; once it is answered, the answer is sent again, since nobody knows whether the first one arrived.

use std::collections::HashMap;
use std::collections::hash_map::{DefaultHasher, Entry};
use std::hash::{Hash, Hasher};

use hyper::body::Bytes;
use tokio::time::Instant;

use super::request::Request;

/// Requests that are remembered. Beyond that, a repeated one costs money rather than memory.
const REQUESTS: usize = 1024;
/// The largest answer that is kept to be sent again.
const ANSWER: usize = 64 * 1024;

/// What tells one request from another.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Identity {
    topic: String,
    correlation: Vec<u8>,
    reply_topic: String,
    body: u64,
}

impl Identity {
    /// None for a request without Correlation Data: two of those cannot be told apart.
    pub(super) fn of(request: &Request) -> Option<Self> {
        let mut hasher = DefaultHasher::new();
        request.body.hash(&mut hasher);
        Some(Self {
            topic: request.topic.clone(),
            correlation: request.reply_to.correlation.clone()?,
            reply_topic: request.reply_to.topic.clone(),
            body: hasher.finish(),
        })
    }
}

/// Whether a request came before.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Seen {
    Never,
    InWork,
    Answered(Bytes),
}

#[derive(Debug)]
struct Past {
    until: Instant,
    answer: Option<Bytes>,
}

/// The recent requests.
#[derive(Debug, Default)]
pub(super) struct Recent(HashMap<Identity, Past>);

impl Recent {
    /// A request has come, which is wanted until then.
    pub(super) fn arrived(&mut self, identity: &Identity, now: Instant, until: Instant) -> Seen {
        self.0.retain(|_, past| past.until > now);
        if self.0.len() >= REQUESTS && !self.0.contains_key(identity) {
            return Seen::Never;
        }
        match self.0.entry(identity.clone()) {
            Entry::Occupied(past) => match &past.get().answer {
                Some(answer) => Seen::Answered(answer.clone()),
                None => Seen::InWork,
            },
            Entry::Vacant(entry) => {
                entry.insert(Past { until, answer: None });
                Seen::Never
            }
        }
    }

    /// A request has been answered; without an answer, it may be asked again.
    pub(super) fn answered(&mut self, identity: &Identity, answer: Option<&Bytes>) {
        match (answer, self.0.get_mut(identity)) {
            (Some(answer), Some(past)) if answer.len() <= ANSWER => past.answer = Some(answer.clone()),
            _ => {
                self.0.remove(identity);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn identity(number: u32) -> Identity {
        Identity {
            topic: "t".into(),
            correlation: number.to_be_bytes().to_vec(),
            reply_topic: "r".into(),
            body: 7,
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_is_new_once_within_its_time() {
        let now = Instant::now();
        let until = now + Duration::from_secs(60);
        let mut recent = Recent::default();
        assert_eq!(recent.arrived(&identity(1), now, until), Seen::Never);
        assert_eq!(recent.arrived(&identity(1), now, until), Seen::InWork);
        assert_eq!(recent.arrived(&identity(2), now, until), Seen::Never);
        let answer = Bytes::from_static(b"yes");
        recent.answered(&identity(1), Some(&answer));
        assert_eq!(recent.arrived(&identity(1), now, until), Seen::Answered(answer));
        recent.answered(&identity(2), None);
        assert_eq!(recent.arrived(&identity(2), now, until), Seen::Never, "a failure may be repeated");
        assert_eq!(recent.arrived(&identity(1), until, until + Duration::from_secs(60)), Seen::Never);
    }

    #[tokio::test(start_paused = true)]
    async fn memory_is_bounded() {
        let now = Instant::now();
        let until = now + Duration::from_secs(60);
        let mut recent = Recent::default();
        for number in 0..5000 {
            assert_eq!(recent.arrived(&identity(number), now, until), Seen::Never);
        }
        assert_eq!(recent.0.len(), REQUESTS);
        assert_eq!(recent.arrived(&identity(7), now, until), Seen::InWork);
    }
}
