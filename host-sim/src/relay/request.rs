//! What hubs ask of the relay, as it comes in.

use std::time::Duration;

use hyper::body::Bytes;
use minimq::{InboundPublish, Property};
use tokio::time::Instant;

/// What the relay listens to as one of a group: each message goes to one of them.
pub(super) const SHARED: [&str; 2] =
    ["$share/relay/hearthwave/+/llm/request/+", "$share/relay/hearthwave/+/service/search/request"];

/// Where hubs tell about themselves, for every relay to hear.
pub(super) const INFO: &str = "hearthwave/+/info";

/// How long a hub waits if it does not say.
const USUAL_DEADLINE: Duration = Duration::from_secs(60);
/// The same for a search: hubs wait less for it.
const SEARCH_DEADLINE: Duration = Duration::from_secs(20);
/// How long a hub may wait, whatever it says: the slowest models take some minutes.
const LONGEST_DEADLINE: Duration = Duration::from_secs(600);
/// Of the hub's time, what is left for the reply to travel.
const TRAVEL: Duration = Duration::from_millis(500);

/// A message that concerns the relay.
#[derive(Debug)]
pub(super) enum Message {
    /// Somebody wants an answer.
    Request(Request),
    /// A hub tells about itself.
    Info {
        /// Its id.
        hub: String,
        /// JSON, or nothing if there is no such hub any more.
        payload: Bytes,
    },
    /// Nothing can be done with it.
    Useless(&'static str),
}

/// Something that a hub wants to have answered.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) topic: String,
    pub(super) hub: String,
    pub(super) errand: Errand,
    pub(super) reply_to: ReplyTo,
    pub(super) body: Bytes,
    pub(super) received: Instant,
    /// When the reply has to leave.
    pub(super) until: Instant,
}

/// Who is to be asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Errand {
    /// The language model of the service with this name, which may be any.
    Model(String),
    /// The search service.
    Search,
}

impl Errand {
    /// Who that is, for people.
    pub(super) fn who(&self) -> String {
        match self {
            Self::Model(name) => name.clone(),
            Self::Search => "search".into(),
        }
    }
}

/// Where a reply goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ReplyTo {
    pub(super) topic: String,
    pub(super) correlation: Option<Vec<u8>>,
}

impl Message {
    /// Reads what the broker delivered.
    pub(super) fn read(message: &InboundPublish<'_>, now: Instant) -> Self {
        let levels: Vec<&str> = message.topic().split('/').collect();
        let (hub, errand) = match levels[..] {
            ["hearthwave", hub, "info"] => {
                let payload = Bytes::copy_from_slice(message.payload());
                return Self::Info { hub: hub.into(), payload };
            }
            ["hearthwave", hub, "llm", "request", service] => (hub, Errand::Model(service.into())),
            ["hearthwave", hub, "service", "search", "request"] => (hub, Errand::Search),
            _ => return Self::Useless("is no request"),
        };
        let Some(topic) = message.response_topic() else {
            return Self::Useless("has no Response Topic to be answered on");
        };
        if !can_be_answered(topic) {
            return Self::Useless("has a Response Topic that cannot be answered on");
        }
        let usual = match errand {
            Errand::Model(_) => USUAL_DEADLINE,
            Errand::Search => SEARCH_DEADLINE,
        };
        let deadline = deadline(message).unwrap_or(usual).min(LONGEST_DEADLINE);
        Self::Request(Request {
            topic: message.topic().into(),
            hub: hub.into(),
            errand,
            reply_to: ReplyTo {
                topic: topic.into(),
                correlation: message.correlation_data().map(<[u8]>::to_vec),
            },
            body: Bytes::copy_from_slice(message.payload()),
            received: now,
            until: now + deadline.saturating_sub(TRAVEL.min(deadline / 10)),
        })
    }
}

/// Whether a reply may go there. Not to where requests go: a reply would be the next request, without end.
fn can_be_answered(topic: &str) -> bool {
    let is_request = topic.contains("/llm/request/") || topic.ends_with("/service/search/request");
    !topic.is_empty() && !topic.starts_with('$') && !topic.contains(['+', '#', '\0']) && !is_request
}

/// How long the hub still waits, if it says so. What the broker has counted down is the better measure, if it is less.
fn deadline(message: &InboundPublish<'_>) -> Option<Duration> {
    let properties = message.properties();
    let said = properties.iter().filter_map(|property| match property {
        Ok(Property::MessageExpiryInterval(seconds)) => Some(Duration::from_secs(seconds.into())),
        Ok(Property::UserProperty("deadline_ms", text)) => text.parse().ok().map(Duration::from_millis),
        _ => None,
    });
    said.min()
}

#[cfg(test)]
mod tests {
    use super::can_be_answered;

    #[test]
    fn replies_go_nowhere_harmful() {
        for topic in ["hearthwave/kitchen/llm/response", "client-7/reply", "/"] {
            assert!(can_be_answered(topic), "{topic}");
        }
        for topic in [
            "",
            "a/#",
            "a/+",
            "$SYS/x",
            "hearthwave/kitchen/llm/request/openai",
            "hearthwave/kitchen/service/search/request",
        ] {
            assert!(!can_be_answered(topic), "{topic}");
        }
    }
}
