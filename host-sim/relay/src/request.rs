//! Requests of hubs, as the broker delivers them.

use std::time::Duration;

use hub_contract::ROOT;
use hyper::body::Bytes;
use minimq::{InboundPublish, Property};
use tokio::time::Instant;

use super::presence;

/// What the relays of a group share: each message goes to one of them.
pub(super) fn shared(group: &str) -> [String; 2] {
    ["llm/request/+", "service/search/request"].map(|topic| format!("$share/{group}/{ROOT}+/{topic}"))
}

/// Where hubs publish their limits, for every relay.
pub(super) fn info_topic() -> String {
    format!("{ROOT}+/info")
}

/// How long a hub waits, unless the request says.
const USUAL_DEADLINE: Duration = Duration::from_secs(60);
/// The same for a search: hubs wait less for it.
const SEARCH_DEADLINE: Duration = Duration::from_secs(20);
/// How long a hub may wait at most: the slowest models take some minutes.
const LONGEST_DEADLINE: Duration = Duration::from_secs(600);
/// The part of the hub's time that is left for the reply to travel.
const TRAVEL: Duration = Duration::from_millis(500);

/// A message that the broker delivered.
#[derive(Debug)]
pub(super) enum Delivery {
    /// A request to answer.
    Request(Request),
    /// A hub's `info`.
    Info {
        /// Its id.
        hub: String,
        /// JSON, or empty if there is no such hub any more.
        payload: Bytes,
    },
    /// What a relay told of itself, which may be this one. The broker tells it of one that is gone.
    Presence(Bytes),
    /// None of these, and why.
    Invalid(&'static str),
}

/// A request of a hub.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) topic: String,
    pub(super) hub: String,
    pub(super) destination: Destination,
    pub(super) reply_to: ReplyTo,
    pub(super) body: Bytes,
    pub(super) received: Instant,
    /// When the reply has to leave.
    pub(super) until: Instant,
}

/// The service that is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Destination {
    /// The language model of the service with this name, which may be any.
    Model(String),
    /// The search service.
    Search,
}

impl Destination {
    /// Its name, for people.
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

impl Delivery {
    /// Reads what the broker delivered.
    pub(super) fn read(message: &InboundPublish<'_>, now: Instant) -> Self {
        let levels: Vec<&str> = message.topic().split('/').collect();
        let (hub, destination) = match levels[..] {
            ["hearthwave", hub, "info"] => {
                let payload = Bytes::copy_from_slice(message.payload());
                return Self::Info { hub: hub.into(), payload };
            }
            _ if message.topic() == presence::TOPIC => {
                return Self::Presence(Bytes::copy_from_slice(message.payload()));
            }
            ["hearthwave", hub, "llm", "request", service] => (hub, Destination::Model(service.into())),
            ["hearthwave", hub, "service", "search", "request"] => (hub, Destination::Search),
            _ => return Self::Invalid("is no request"),
        };
        let Some(topic) = message.response_topic() else {
            return Self::Invalid("has no Response Topic to be answered on");
        };
        if !can_be_answered(topic) {
            return Self::Invalid("has a Response Topic that cannot be answered on");
        }
        let usual = match destination {
            Destination::Model(_) => USUAL_DEADLINE,
            Destination::Search => SEARCH_DEADLINE,
        };
        let deadline = deadline(message).unwrap_or(usual).min(LONGEST_DEADLINE);
        Self::Request(Request {
            topic: message.topic().into(),
            hub: hub.into(),
            destination,
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

/// Whether a reply may be published there. Not where requests go: a reply would be the next request, without end.
fn can_be_answered(topic: &str) -> bool {
    let is_request = topic.contains("/llm/request/") || topic.ends_with("/service/search/request");
    !topic.is_empty() && !topic.starts_with('$') && !topic.contains(['+', '#', '\0']) && !is_request
}

/// How long the hub still waits, if the request says so: the smaller of Message Expiry Interval and `deadline_ms`.
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
