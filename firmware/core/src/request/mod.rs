//! Requests: what the hub can be asked, how a request is read, and how one is refused.
//!
//! [`Intake`] takes what arrives: a request is copied into a free job slot ([`Slots`]) and worked on there, so that the
//! session goes on. A short one for which no slot is free waits in the backlog; what does not fit there is refused at once
//! ([`Refusal`]). Replies go out when they are ready, in whatever
//! order that is, and are kept until the broker has them ([`Replies`]).

mod backlog;
mod intake;
mod refusal;
mod slots;

#[cfg(test)]
mod tests;

pub use intake::{Decision, ImmediateReply, Intake, Redeliveries};
pub use refusal::Refusal;
pub(crate) use slots::ReplyState;
pub use slots::{Job, Replies, Slots};

use crate::chat::Rule;
use crate::json::{Kind, Value};
use crate::limits;

/// Declares the requests: one row each, with the name at the end of its topic and what it does.
macro_rules! requests {
    ($($variant:ident $name:literal $purpose:literal)*) => {
        /// The requests the hub answers, by the name at the end of their topic.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Request {
            $(#[doc = concat!("`", $name, "`: ", $purpose)] $variant,)*
        }

        /// All requests by name.
        pub const REQUESTS: &[(&str, Request)] = &[$(($name, Request::$variant)),*];
    };
}

requests! {
    Chat "chat" "answers what a person says."
    Transcript "transcript" "answers what was heard, if it was said to the hub."
    Speak "speak" "has something said by the satellites."
    Cancel "cancel" "ends a conversation's turn."
    ToolCall "tool/call" "runs a tool."
    ToolList "tool/list" "lists the tools."
    Health "health" "reports how the hub has been."
    PromptList "prompt/list" "lists the prompts."
    ContentPut "content/put" "keeps a document."
    ContentDelete "content/delete" "forgets a document."
    ContentList "content/list" "lists the documents."
    ConfigGet "config/get" "reads settings."
    ConfigSet "config/set" "changes a setting."
    ConfigList "config/list" "lists the settings there are."
    DeviceList "device/list" "lists the devices."
    DeviceSet "device/set" "does something with a device."
    Approve "approve" "allows or denies what waits for it."
    TimeSet "time/set" "sets the time, where no time server answers."
}

impl Request {
    /// The request called `name`.
    pub fn named(name: &str) -> Option<Self> {
        REQUESTS.iter().find(|(known, _)| *known == name).map(|(_, request)| *request)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        REQUESTS.iter().find(|(_, request)| *request == self).map_or("", |(name, _)| name)
    }

    /// Whether it is a turn of a conversation.
    pub(crate) const fn is_turn(self) -> bool {
        matches!(self, Self::Chat | Self::Transcript)
    }

    /// Whether it belongs to a conversation: a turn, or its end. A satellite's login allows no other requests.
    pub(crate) const fn is_conversation(self) -> bool {
        self.is_turn() || matches!(self, Self::Cancel)
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
    if payload.trim_ascii().is_empty() {
        return Err(Refusal::Empty);
    }
    let request = Value::parse(payload).map_err(Refusal::NotJson)?;
    if request.kind() != Kind::Object {
        return Err(Refusal::NotAnObject);
    }
    let transaction = request.get("transaction");
    if transaction.is_some_and(|value| value.text().len() > limits::TRANSACTION) {
        return Err(Refusal::LongText("transaction", limits::TRANSACTION));
    }
    Ok((request, transaction))
}

/// Whether a rule that somebody wants to set can be read, and belongs to the key.
pub fn check_rule(name: &str, text: &str) -> Result<(), Refusal> {
    if text.len() > limits::RULE {
        return Err(Refusal::LongRule);
    }
    let rule = Rule::parse(text).map_err(Refusal::WrongRule)?;
    if rule.name == *name { Ok(()) } else { Err(Refusal::RuleName) }
}
