//! Requests: what the hub can be asked, how a request is read, and how one is refused.
//!
//! [`Intake`] takes what arrives: a request is copied into a free job slot ([`Slots`]) and worked on there, so that the
//! session goes on; one that cannot be is refused at once ([`Refusal`]). Replies go out when they are ready, in whatever
//! order that is, and are kept until the broker has them ([`Replies`]).

mod intake;
mod redelivery;
mod refusal;
mod replies;
mod slot;

#[cfg(test)]
mod tests;

pub use intake::{Intake, Refused};
pub use redelivery::Redeliveries;
pub use refusal::Refusal;
pub use replies::Replies;
pub use slot::{Job, Slot, Slots};

use crate::json::{Kind, Value};
use crate::limits;

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
    /// `config/list`: tells which settings there are.
    ConfigList,
}

/// All requests by name.
const REQUESTS: [(&str, Request); 12] = [
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
    ("config/list", Request::ConfigList),
];

impl Request {
    /// The request called `name`.
    pub fn named(name: &str) -> Option<Self> {
        REQUESTS.iter().find(|(known, _)| *known == name).map(|(_, request)| *request)
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
