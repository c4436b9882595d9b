//! A model's reply in the same form for all providers: a view of the body.

use core::fmt::{self, Display, Write};

use hub_mqtt::model::after_thoughts;

use crate::json::{Text, Value};
use crate::limits;
use crate::text::is_blank;

/// A model's reply, borrowed from the body.
#[derive(Clone, Copy, Debug)]
pub struct ModelReply<'a> {
    /// The text.
    pub content: ModelText<'a>,
    /// Why it stopped there.
    pub finish: FinishReason<'a>,
    /// An array with the calls, and how to read an item. Items that are not calls are skipped.
    pub(super) calls: (Value<'a>, fn(Value<'a>) -> Option<RequestedCall<'a>>),
}

impl<'a> ModelReply<'a> {
    /// The calls that the model asks for, in order.
    pub fn calls(&self) -> impl Iterator<Item = RequestedCall<'a>> + use<'a> {
        let (list, read) = self.calls;
        list.items().filter_map(read)
    }

    /// With the finish reason that `names` gives for the provider's `reason`. No reason counts as a stop, and a stop with
    /// calls as a request for them.
    pub(super) fn finished(self, reason: Option<Value<'a>>, names: &[(&str, FinishReason<'static>)]) -> Self {
        let reason = reason.and_then(|reason| reason.as_text());
        let known = |reason: Text<'a>| names.iter().find(|(name, _)| reason == **name);
        let finish = match reason {
            None => FinishReason::Stop,
            Some(reason) => known(reason).map_or(FinishReason::Other(reason), |(_, finish)| *finish),
        };
        let has_calls = self.calls().next().is_some();
        let finish =
            if matches!(finish, FinishReason::Stop) && has_calls { FinishReason::ToolCalls } else { finish };
        Self { finish, ..self }
    }
}

/// Why a model stopped.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FinishReason<'a> {
    /// The answer is complete.
    Stop,
    /// It wants tools to be called.
    ToolCalls,
    /// It reached the token limit, or the end of its context window.
    Length,
    /// The model or a filter of its provider refuses to answer, or to go on; by the provider's name for it. The text is
    /// what was said before, or why.
    Refused(&'static str),
    /// Another reason, by the provider's name.
    Other(Text<'a>),
}

impl FinishReason<'_> {
    /// The reason's name.
    pub fn name(&self) -> heapless::String<{ limits::QUOTE }> {
        let known = match self {
            Self::Stop => "stop",
            Self::ToolCalls => "tool_calls",
            Self::Length => "length",
            Self::Refused(name) => name,
            Self::Other(reason) => return reason.excerpt(),
        };
        heapless::String::try_from(known).unwrap_or_default()
    }
}

/// What a model says: a text, a list of parts with text in them, or nothing. What it thinks before, up to `</think>`, is
/// not displayed.
#[derive(Clone, Copy, Debug)]
pub struct ModelText<'a>(pub(super) Value<'a>);

impl<'a> ModelText<'a> {
    /// No text.
    pub const NONE: Self = Self(Value::NULL);

    /// Whether it has no visible characters.
    pub fn is_blank(&self) -> bool {
        is_blank(self)
    }

    fn texts(&self) -> impl Iterator<Item = Text<'a>> + Clone + use<'a> {
        self.0.as_text().into_iter().chain(self.0.items().filter_map(part_text))
    }

    fn chars(&self) -> impl Iterator<Item = char> + Clone + use<'a> {
        self.texts().flat_map(|text| text.chars())
    }
}

/// The text of a part, if it has one.
fn part_text(part: Value<'_>) -> Option<Text<'_>> {
    let is_text = part.get("type").is_none_or(|kind| kind.as_text().is_some_and(|kind| kind == *"text"));
    part.as_text().or_else(|| part.get("text").filter(|_| is_text)?.as_text())
}

impl Display for ModelText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match after_thoughts(self.chars()) {
            Some(mut said) => said.try_for_each(|character| f.write_char(character)),
            None => self.texts().try_for_each(|text| text.fmt(f)),
        }
    }
}

/// A call that a model asks for.
#[derive(Clone, Copy, Debug)]
pub struct RequestedCall<'a> {
    /// The model's id for the call.
    pub id: Option<Text<'a>>,
    /// The tool.
    pub name: Text<'a>,
    /// The arguments.
    pub arguments: Arguments<'a>,
}

/// The unchecked arguments of a call.
#[derive(Clone, Copy, Debug)]
pub enum Arguments<'a> {
    /// A JSON value.
    Value(Value<'a>),
    /// A string that should contain JSON.
    Text(Text<'a>),
}

impl<'a> Arguments<'a> {
    /// From a member of a call. Without it, or with `null`, there are no arguments.
    pub(super) fn read(member: Option<Value<'a>>) -> Self {
        match member {
            Some(value) if value.text() != "null" => value.as_text().map_or(Self::Value(value), Self::Text),
            _ => Self::Value(Value::EMPTY_OBJECT),
        }
    }
}

impl Display for Arguments<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Value(value) => f.write_str(value.text()),
            Self::Text(text) => text.fmt(f),
        }
    }
}
