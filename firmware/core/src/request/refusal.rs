//! Why a request is refused, and the reply that says so.

use core::fmt::{self, Write as _};

use heapless::String;

use super::REQUESTS;
use crate::chat::prompts::UnknownPrompt;
use crate::chat::rule::RuleError;
use crate::json::{Overflow, Value, Writer};
use crate::limits;
use crate::mqtt::UnusableReplyTo;
use crate::settings::{self, SettingError};
use crate::store::StoreError;

/// Why a request is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// All slots are taken.
    Busy,
    /// There is no request of this name.
    Unknown(String<{ limits::UNKNOWN_REQUEST }>),
    /// The payload has so many bytes.
    TooLarge(usize),
    /// The payload is not a JSON document.
    NotJson(crate::json::Error),
    /// There is no payload.
    Empty,
    /// The payload is JSON, but no object.
    NotAnObject,
    /// No tool is named.
    NoName,
    /// The tool's name is longer than any.
    LongName,
    /// The allowed tools are no list.
    WrongAllowed,
    /// What a list was to go on after is not there.
    GoneAfter,
    /// A member that has to be a string is not, or is missing.
    NotText(&'static str),
    /// A member is none of these.
    NotOneOf(&'static str, &'static str),
    /// A member is longer than this many bytes.
    LongText(&'static str, usize),
    /// What is to be deleted is not there.
    Absent,
    /// There is no such setting.
    NoSetting,
    /// The value does not suit the setting.
    Setting(SettingError),
    /// There is no such rule.
    NoRule,
    /// There is no such prompt.
    NoPrompt,
    /// Nothing was said.
    NoText,
    /// There is nothing to say.
    NothingToSay,
    /// A turn runs in the conversation.
    ConversationBusy,
    /// As many turns run as can.
    TurnsBusy,
    /// The rule is malformed.
    WrongRule(RuleError),
    /// The rule has another name than the setting.
    RuleName,
    /// The rule is too long.
    LongRule,
    /// What is said to be the time cannot be.
    NotATime,
    /// No device has this name, which is quoted. The nearest names follow, if any are near.
    NoDevice(String<{ limits::CANDIDATES }>),
    /// Several devices can be meant: these.
    SeveralDevices(String<{ limits::CANDIDATES }>),
    /// The controller offers no devices.
    NoDevices,
    /// The controller cannot be asked.
    NoController,
    /// The device cannot do that; it can do these.
    NoAction(String<{ limits::CANDIDATES }>),
    /// The value of an action does not suit it, in these words.
    Value(String<{ limits::CANDIDATES }>),
    /// Nothing with this number waits for approval.
    NoApproval,
    /// The store failed.
    Store(StoreError),
    /// The reply does not fit.
    Unanswerable,
    /// The broker does not take the reply, which has so many bytes. Its limit for a packet, if that is known.
    OverBroker {
        /// Bytes of the reply.
        size: usize,
        /// Bytes of a packet.
        limit: Option<u32>,
    },
    /// The reply cannot go where the caller wants it.
    ReplyTo(UnusableReplyTo),
}

impl Refusal {
    /// The short name of the refusal, for programs.
    pub const fn error_type(&self) -> &'static str {
        match self {
            Self::Busy | Self::ConversationBusy | Self::TurnsBusy => "busy",
            Self::Unknown(_) => "unknown_request",
            Self::TooLarge(_) | Self::Unanswerable | Self::OverBroker { .. } | Self::LongRule => "too_large",
            Self::NotJson(_) | Self::Empty => "invalid_json",
            Self::Absent | Self::NoRule | Self::NoPrompt => "not_found",
            Self::NoDevice(_) | Self::NoApproval => "not_found",
            Self::SeveralDevices(_) => "ambiguous",
            Self::NoDevices | Self::NoController => "unavailable",
            Self::NoAction(_) | Self::Value(_) => "invalid_parameters",
            Self::Store(StoreError::TooLarge { .. }) => "too_large",
            Self::Store(StoreError::Full(_)) => "full",
            Self::Store(error) if !matches!(error, StoreError::Name(..)) => "store_error",
            _ => "invalid_request",
        }
    }

    /// The refusal in words, for the log.
    pub fn words(&self) -> String<{ limits::REFUSAL }> {
        let mut words = String::new();
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

impl From<SettingError> for Refusal {
    fn from(error: SettingError) -> Self {
        match error {
            SettingError::Store(error) => Self::Store(error),
            error => Self::Setting(error),
        }
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
            Self::Unknown(name) => {
                write!(f, "Unknown request '{name}'; the hub answers")?;
                let mut separator = ": ";
                REQUESTS.iter().try_for_each(|(name, _)| {
                    f.write_str(core::mem::replace(&mut separator, ", "))?;
                    f.write_str(name)
                })
            }
            Self::GoneAfter => {
                f.write_str("unknown cursor 'after'; the list may have changed: begin from its start")
            }
            Self::NotText(name) => write!(f, "'{name}' must be a string"),
            Self::NotOneOf(name, these) => write!(f, "'{name}' must be one of: {these}"),
            Self::LongText(name, most) => {
                write!(f, "'{name}' is too long; at most {most} bytes are possible")
            }
            Self::NoSetting => {
                f.write_str("'key' must be one of: ")?;
                settings::write_keys(f)
            }
            Self::Setting(error) => write!(f, "'value' {error}"),
            Self::Absent => f.write_str("There is no such document in the store"),
            Self::NoRule => f.write_str("There is no such rule; 'default' and 'brief' are built in"),
            Self::NoPrompt => write!(f, "{UnknownPrompt}"),
            Self::NothingToSay => f.write_str("'text' must be what is to be said"),
            Self::NoText => f.write_str("'text' must be what the person says"),
            Self::ConversationBusy => {
                f.write_str("The conversation waits for an answer; try again after it, or cancel it")
            }
            Self::TurnsBusy => {
                f.write_str("Other conversations wait for their answers; try again in a moment")
            }
            Self::WrongRule(error) => write!(f, "The rule cannot be read: {error}"),
            Self::RuleName => f.write_str("'name' in the rule must be that in the key, after 'rule.'"),
            Self::LongRule => {
                write!(f, "The rule is longer than {} bytes; shorten its prompt", limits::RULE)
            }
            Self::NotATime => f.write_str(
                "'unix_seconds' must be the time: a whole number of seconds since 1970, in one of the years 2025 to 2099",
            ),
            Self::NoDevice(names) => write!(f, "No device is called {names}"),
            Self::SeveralDevices(names) => write!(f, "'device' could be {names}; which one?"),
            Self::NoDevices => f.write_str("The controller offers no devices; call its tools"),
            Self::NoController => {
                f.write_str("The controller is not connected or did not answer; nothing was sent to the device")
            }
            Self::NoAction(names) if names.is_empty() => f.write_str("Nothing can be done with the device"),
            Self::NoAction(names) => write!(f, "'action' must be one of: {names}"),
            Self::Value(words) => write!(f, "'value' {words}"),
            Self::NoApproval => f.write_str(
                "No approval with this 'id' is pending: it is over or decided already; approval/ID has the outcome",
            ),
            Self::Store(error) => write!(f, "Store: {error}"),
            Self::TooLarge(size) => {
                write!(f, "The request has {size} bytes; at most {} are possible", limits::REQUEST)
            }
            Self::Unanswerable => {
                write!(f, "The reply would have more than the {} bytes that are possible", limits::REPLY)
            }
            Self::OverBroker { size, limit } => {
                write!(f, "The reply of {size} bytes is larger than the broker takes; ")?;
                match limit {
                    Some(limit) => write!(
                        f,
                        "it takes packets of at most {limit}: raise its limit (mosquitto: max_packet_size)"
                    ),
                    None => f.write_str("raise its limit (mosquitto: message_size_limit)"),
                }
            }
            Self::Empty => {
                f.write_str("The request is empty; it must be a JSON object, which without members is {}")
            }
            Self::NotJson(error) => write!(f, "The request is {error}"),
            Self::NotAnObject => f.write_str("The request must be a JSON object"),
            Self::NoName => f.write_str("'name' must be the name of a tool, as a string"),
            Self::LongName => {
                write!(f, "'name' is too long; a tool's name has at most {} bytes", limits::TOOL_NAME)
            }
            Self::WrongAllowed => f.write_str("'allowed' must be an array of tool names"),
            Self::ReplyTo(unusable) => write!(f, "{unusable}"),
        }
    }
}
