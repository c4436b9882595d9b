//! The names of the hub's topics.

use heapless::String;

use crate::config::HubId;
use crate::limits;
use crate::questions::Recipient;

/// A topic of the hub's, or one that a caller chose for the reply.
pub type Topic = String<{ limits::RESPONSE_TOPIC }>;

const ROOT: &str = "hearthwave/";
const REQUEST: &str = "/request/";
const RESPONSE: &str = "/response/";
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

    /// `online` or `offline`.
    pub fn availability(&self) -> Topic {
        self.join("/", "availability")
    }

    /// What the hub is.
    pub fn info(&self) -> Topic {
        self.join("/", "info")
    }

    /// One message for each executed call.
    pub fn tool_events(&self) -> Topic {
        self.join("/", "event/tool")
    }

    /// How conversations go on.
    pub fn chat_events(&self) -> Topic {
        self.join("/", "event/chat")
    }

    /// What the satellites are to say.
    pub fn speech(&self) -> Topic {
        self.join("/", "speech")
    }

    /// What people should know.
    pub fn log(&self) -> Topic {
        self.join("/", "log")
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

    /// Where a question goes.
    pub fn question(&self, recipient: Recipient) -> Topic {
        match recipient {
            Recipient::Search => self.join("/", "service/search/request"),
            Recipient::Model { provider, .. } => self.join("/llm/request/", provider),
        }
    }

    /// Where its answer comes from.
    pub fn answer(&self, recipient: Recipient) -> Topic {
        match recipient {
            Recipient::Search => self.join("/", SEARCH_ANSWER),
            Recipient::Model { .. } => self.join("/", MODEL_ANSWER),
        }
    }

    /// Every topic on which answers come.
    pub fn answers(&self) -> [Topic; 2] {
        [SEARCH_ANSWER, MODEL_ANSWER].map(|name| self.join("/", name))
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
