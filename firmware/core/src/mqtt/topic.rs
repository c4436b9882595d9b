//! The names of the hub's topics.

use core::fmt::{self, Write as _};

use heapless::{String, Vec};
use hub_contract::ROOT;
use minimq::Publication;

use crate::config::HubId;
use crate::limits;
use crate::questions::Recipient;

/// A topic of the hub's, or one that a caller chose for the reply.
pub type Topic = String<{ limits::RESPONSE_TOPIC }>;

const DEVICE: &str = "/device/";
const REQUEST: &str = "/request/";
const RESPONSE: &str = "/response/";
const REPLY: &str = "/reply/";
const DISCOVERY: &str = "homeassistant/";
const SEARCH_ANSWER: &str = "service/search/response";
const MODEL_ANSWER: &str = "llm/response";

/// Topics under `hearthwave/<hub-id>/`.
#[derive(Clone, Copy, Debug)]
pub struct Topics<'a> {
    id: HubId<'a>,
}

impl<'a> Topics<'a> {
    /// The topics of the hub `id`.
    pub const fn new(id: HubId<'a>) -> Self {
        Self { id }
    }

    /// A topic of the hub's own, such as `availability`, `info`, `speech` or `event/tool`.
    pub fn own(&self, name: &'static str) -> Topic {
        self.join("/", name)
    }

    /// Matches every request.
    pub fn requests(&self) -> Topic {
        self.join(REQUEST, "#")
    }

    /// Where the reply to the request `name` goes when its caller names no topic. A name that is too long to
    /// have one is answered on `response/unknown`.
    pub fn response(&self, name: &str) -> Topic {
        let fixed = ROOT.len() + self.id.as_str().len() + RESPONSE.len();
        self.join(RESPONSE, if fixed + name.len() <= limits::RESPONSE_TOPIC { name } else { "unknown" })
    }

    /// The name of the request that arrives on `topic`.
    pub fn request<'t>(&self, topic: &'t str) -> Option<&'t str> {
        topic.strip_prefix(ROOT)?.strip_prefix(self.id.as_str())?.strip_prefix(REQUEST)
    }

    /// Whether `topic` is one on which the hub, and nobody through it, speaks: a caller who is not allowed to publish there
    /// must not have the hub do it. Replies have places of their own below the hub's id.
    pub fn is_reserved(&self, topic: &str) -> bool {
        let own = topic.strip_prefix(ROOT).and_then(|rest| rest.strip_prefix(self.id.as_str()));
        let is_reply = |own: &str| [RESPONSE, REPLY].iter().any(|place| own.starts_with(place));
        match own.filter(|own| own.is_empty() || own.starts_with('/')) {
            Some(own) => !is_reply(own),
            // Whatever the prefix is.
            None => topic.starts_with(DISCOVERY) || topic.ends_with("/config") && topic.contains("/device/"),
        }
    }

    /// Where the state of a device goes.
    pub fn device(&self, id: &str) -> Topic {
        self.join(DEVICE, id)
    }

    /// Matches the states of all devices.
    pub fn devices(&self) -> Topic {
        self.join(DEVICE, "+")
    }

    /// The id of the device whose state `topic` has.
    pub fn device_in<'t>(&self, topic: &'t str) -> Option<&'t str> {
        topic.strip_prefix(ROOT)?.strip_prefix(self.id.as_str())?.strip_prefix(DEVICE)
    }

    /// Where it is told that a device was pressed.
    pub fn pressed(&self, id: &str) -> Topic {
        self.join("/event/device/", id)
    }

    /// Where an action waits for approval.
    pub fn approval(&self, number: u32) -> Topic {
        let mut topic = self.own("approval/");
        // It fits.
        let _ = write!(topic, "{number}");
        topic
    }

    /// Where a question goes.
    pub fn question(&self, recipient: Recipient) -> Topic {
        match recipient {
            Recipient::Search => self.own("service/search/request"),
            Recipient::Model { provider, .. } => self.join("/llm/request/", provider),
        }
    }

    /// Where its answer comes from.
    pub fn answer(&self, recipient: Recipient) -> Topic {
        match recipient {
            Recipient::Search => self.own(SEARCH_ANSWER),
            Recipient::Model { .. } => self.own(MODEL_ANSWER),
        }
    }

    /// Every topic on which answers come.
    pub fn answers(&self) -> [Topic; 2] {
        [SEARCH_ANSWER, MODEL_ANSWER].map(|name| self.own(name))
    }

    /// Whether answers come on `topic`.
    pub fn is_answer(&self, topic: &str) -> bool {
        let ours = topic.strip_prefix(ROOT).and_then(|rest| rest.strip_prefix(self.id.as_str()));
        let name = ours.and_then(|rest| rest.strip_prefix('/'));
        name.is_some_and(|name| name == SEARCH_ANSWER || name == MODEL_ANSWER)
    }

    fn join(&self, middle: &str, name: &str) -> Topic {
        let mut topic = Topic::new();
        for part in [ROOT, self.id.as_str(), middle, name] {
            // All fit: the longest id and the longest of our own names do, and `response` checks the rest.
            let _ = topic.push_str(part);
        }
        topic
    }
}

// The will's topic may have 128 bytes, and so may a reply's.
const _: () = assert!(ROOT.len() + limits::HUB_ID + RESPONSE.len() + 64 <= limits::RESPONSE_TOPIC);

/// Where a reply goes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReplyTo {
    /// The topic.
    pub topic: Topic,
    /// What the caller wants back with the reply.
    pub correlation: Option<Vec<u8, { limits::CORRELATION }>>,
}

/// Why no reply can go where the caller wants it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnusableReplyTo {
    /// Nothing can be published to the Response Topic.
    Topic,
    /// The Response Topic is one on which the hub speaks for itself.
    Reserved,
    /// The Response Topic is too long.
    LongTopic,
    /// The Correlation Data is too long.
    LongCorrelation,
}

impl fmt::Display for UnusableReplyTo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, most) = match self {
            Self::Topic => return f.write_str("The Response Topic cannot be published to"),
            Self::Reserved => {
                return f.write_str("The Response Topic is the hub's own; use one below its reply/");
            }
            Self::LongTopic => ("Response Topic", limits::RESPONSE_TOPIC),
            Self::LongCorrelation => ("Correlation Data", limits::CORRELATION),
        };
        write!(f, "The {name} is too long; at most {most} bytes are possible")?;
        match self {
            Self::LongCorrelation => f.write_str(", so this reply has none"),
            _ => Ok(()),
        }
    }
}

impl ReplyTo {
    /// To `topic`, with nothing to give back.
    pub const fn topic(topic: Topic) -> Self {
        Self { topic, correlation: None }
    }

    /// Where the caller wants the reply, if the message says so.
    pub fn asked(topic: Option<&str>, correlation: Option<&[u8]>) -> Result<Option<Self>, UnusableReplyTo> {
        let Some(topic) = topic else { return Ok(None) };
        if topic.is_empty() || topic.contains(['+', '#', '\0']) {
            // Publishing there would cost the hub its connection.
            return Err(UnusableReplyTo::Topic);
        }
        let topic = Topic::try_from(topic).map_err(|_| UnusableReplyTo::LongTopic)?;
        let correlation = correlation.map(Vec::try_from).transpose();
        Ok(Some(Self { topic, correlation: correlation.map_err(|_| UnusableReplyTo::LongCorrelation)? }))
    }

    /// A publication that goes there.
    pub(crate) fn publication<P>(&self, payload: P) -> Publication<'_, P> {
        let publication = Publication::new(&self.topic, payload);
        match &self.correlation {
            Some(data) => publication.correlate(data),
            None => publication,
        }
    }
}
