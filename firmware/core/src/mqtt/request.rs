//! What a request asks for, and how one is refused.

use core::fmt::{self, Write as _};

use crate::chat::prompts::UnknownPrompt;
use crate::chat::rule::RuleError;
use crate::json::{Kind, Overflow, Value, Writer};
use crate::limits;
use crate::store::StoreError;

/// The requests the hub answers, by the name at the end of their topic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Request {
    /// `tool/call`: runs a tool.
    #[default]
    ToolCall,
    /// `tool/list`: tells which tools there are.
    ToolList,
    /// `content/put`: keeps a document.
    ContentPut,
    /// `content/delete`: forgets a document.
    ContentDelete,
    /// `content/list`: tells which documents there are.
    ContentList,
    /// `chat`: answers what a person says.
    Chat,
    /// `transcript`: answers what was heard, if it was meant for the hub.
    Transcript,
    /// `cancel`: ends a conversation's turn.
    Cancel,
    /// `prompt/list`: lists the prompts.
    PromptList,
    /// `config/get`: tells settings.
    ConfigGet,
    /// `config/set`: changes a setting.
    ConfigSet,
}

/// All requests by name.
const REQUESTS: [(&str, Request); 11] = [
    ("chat", Request::Chat),
    ("transcript", Request::Transcript),
    ("cancel", Request::Cancel),
    ("tool/call", Request::ToolCall),
    ("tool/list", Request::ToolList),
    ("prompt/list", Request::PromptList),
    ("content/put", Request::ContentPut),
    ("content/delete", Request::ContentDelete),
    ("content/list", Request::ContentList),
    ("config/get", Request::ConfigGet),
    ("config/set", Request::ConfigSet),
];

impl Request {
    /// The request called `name`.
    pub fn named(name: &str) -> Option<Self> {
        REQUESTS.iter().find(|(known, _)| *known == name).map(|(_, request)| *request)
    }
}

/// Why a request is not worked on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// All slots are taken.
    Busy,
    /// No such request.
    Unknown,
    /// A payload of so many bytes.
    TooLarge(usize),
    /// The payload is not a JSON document.
    NotJson(crate::json::Error),
    /// The payload is JSON, but no object.
    NotAnObject,
    /// No tool is named.
    NoName,
    /// The tool's name is longer than any.
    LongName,
    /// The tool's arguments are no object.
    WrongArguments,
    /// The allowed tools are no list.
    WrongAllowed,
    /// The tool after which a list was to go on is not there.
    GoneAfter,
    /// A member that has to be a string is not, or is missing.
    NotText(&'static str),
    /// A member is none of these.
    NotOneOf(&'static str, &'static str),
    /// A member is longer than this many bytes.
    LongText(&'static str, usize),
    /// What is to be deleted is not there.
    Absent,
    /// There is no such rule.
    NoRule,
    /// There is no such prompt.
    NoPrompt,
    /// Nothing was said.
    NoText,
    /// The conversation waits for an answer.
    TalkWaits,
    /// Too many conversations wait for an answer.
    TalksFull,
    /// A rule is not one.
    WrongRule(RuleError),
    /// A rule has another name than the setting.
    RuleName,
    /// A rule is too long.
    LongRule,
    /// The store does not do it.
    Store(StoreError),
    /// The transaction has no room in a reply.
    LongTransaction,
    /// The reply does not fit.
    Unanswerable,
    /// The Response Topic is none that can be published to.
    ResponseTopic,
    /// The Response Topic is too long.
    LongResponseTopic,
    /// The Correlation Data is too long.
    LongCorrelation,
}

impl Refusal {
    /// The short name of the refusal, for programs.
    pub const fn error_type(&self) -> &'static str {
        match self {
            Self::Busy | Self::TalkWaits | Self::TalksFull => "busy",
            Self::Unknown => "unknown_request",
            Self::TooLarge(_) | Self::Unanswerable | Self::LongRule => "too_large",
            Self::NotJson(_) => "invalid_json",
            Self::Absent | Self::NoRule | Self::NoPrompt => "not_found",
            Self::Store(StoreError::TooLarge { .. }) => "too_large",
            Self::Store(StoreError::Full(_)) => "full",
            Self::Store(error) if !matches!(error, StoreError::Name(..)) => "store_error",
            _ => "invalid_request",
        }
    }

    /// The refusal in words, for the log.
    pub fn words(&self) -> heapless::String<{ limits::REFUSAL }> {
        let mut words = heapless::String::new();
        // A text that is cut says enough.
        let _ = write!(words, "{self}");
        words
    }

    /// Writes the reply that refuses a request.
    pub fn write(&self, transaction: Option<Value<'_>>, buffer: &mut [u8]) -> Result<usize, Overflow> {
        let mut writer = Writer::new(buffer);
        writer.object(|reply| {
            reply.field("success", false);
            reply.field("error", format_args!("{self}"));
            reply.field("error_type", self.error_type());
            if let Some(transaction) = transaction {
                reply.field("transaction", transaction);
            }
        });
        writer.finish()
    }
}

impl From<StoreError> for Refusal {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Busy => write!(f, "The hub is busy with {} requests; try again in a moment", limits::JOBS),
            Self::Unknown => {
                f.write_str("Unknown request; the hub answers")?;
                let mut names = REQUESTS.iter().map(|(name, _)| name);
                names.try_for_each(|name| write!(f, " {name}"))
            }
            Self::GoneAfter => {
                f.write_str("'after' is no tool; the tools may have changed: list them from the start")
            }
            Self::NotText(name) => write!(f, "'{name}' must be a string"),
            Self::NotOneOf(name, these) => write!(f, "'{name}' must be one of: {these}"),
            Self::LongText(name, most) => {
                write!(f, "'{name}' is too long; at most {most} bytes are possible")
            }
            Self::Absent => f.write_str("There is no such document in the store"),
            Self::NoRule => f.write_str("There is no such rule; 'default' and 'brief' are built in"),
            Self::NoPrompt => write!(f, "{UnknownPrompt}"),
            Self::NoText => f.write_str("'text' must be what the person says"),
            Self::TalkWaits => {
                f.write_str("The conversation waits for an answer; try again after it, or cancel it")
            }
            Self::TalksFull => {
                write!(f, "{} conversations wait for an answer; try again in a moment", limits::TALKS_AT_ONCE)
            }
            Self::WrongRule(error) => write!(f, "The rule cannot be read: {error}"),
            Self::RuleName => f.write_str("'name' in the rule must be that in the key, after 'rule.'"),
            Self::LongRule => {
                write!(
                    f,
                    "The rule with what it inherits is longer than {} bytes; shorten its prompt",
                    limits::RULE
                )
            }
            Self::Store(error) => write!(f, "Store: {error}"),
            Self::TooLarge(size) => {
                write!(f, "The request has {size} bytes; at most {} are possible", limits::REQUEST)
            }
            Self::Unanswerable => {
                write!(f, "The reply would have more than the {} bytes that are possible", limits::REPLY)
            }
            Self::NotJson(error) => write!(f, "The request is {error}"),
            Self::NotAnObject => f.write_str("The request must be a JSON object"),
            Self::NoName => f.write_str("'name' must be the name of a tool, as a string"),
            Self::LongName => {
                write!(f, "'name' is too long; a tool's name has at most {} bytes", limits::TOOL_NAME)
            }
            Self::WrongArguments => f.write_str("'arguments' must be an object"),
            Self::WrongAllowed => f.write_str("'allowed' must be an array of tool names"),
            Self::LongTransaction => {
                write!(f, "'transaction' is too long; at most {} bytes are possible", limits::TRANSACTION)
            }
            Self::ResponseTopic => f.write_str("The Response Topic cannot be published to"),
            Self::LongResponseTopic => {
                write!(
                    f,
                    "The Response Topic is too long; at most {} bytes are possible",
                    limits::RESPONSE_TOPIC
                )
            }
            Self::LongCorrelation => {
                write!(
                    f,
                    "The Correlation Data is too long; at most {} bytes are possible",
                    limits::CORRELATION
                )
            }
        }
    }
}

/// The member `name` of a request, which has to be a string of at most `N` bytes. `None` if it is not there.
pub(crate) fn text<const N: usize>(
    request: Value<'_>,
    name: &'static str,
) -> Result<Option<heapless::String<N>>, Refusal> {
    let Some(value) = request.get(name) else { return Ok(None) };
    let text = value.as_text().ok_or(Refusal::NotText(name))?;
    text.decode().map(Some).ok_or(Refusal::LongText(name, N))
}

/// A request's payload as the object it has to be, with the `transaction` that its reply gives back.
pub(crate) fn read(payload: &[u8]) -> Result<(Value<'_>, Option<Value<'_>>), Refusal> {
    let request = Value::parse(payload).map_err(Refusal::NotJson)?;
    if request.kind() != Kind::Object {
        return Err(Refusal::NotAnObject);
    }
    let transaction = request.get("transaction");
    if transaction.is_some_and(|value| value.text().len() > limits::TRANSACTION) {
        return Err(Refusal::LongTransaction);
    }
    Ok((request, transaction))
}
