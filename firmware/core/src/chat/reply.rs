//! What a model answers, whoever provides it: a view of the reply's body.

use core::fmt::{self, Display};

use crate::json::{Text, Value};
use crate::limits;
use crate::text::is_blank;

/// A model's reply, borrowed from the body that brought it.
#[derive(Clone, Copy, Debug)]
pub struct Reply<'a> {
    /// What it says.
    pub content: Content<'a>,
    /// Why it stopped there.
    pub finish: Finish<'a>,
    /// An array with the calls in it, and how to read one of its items. Items that are no calls are passed over.
    pub(super) calls: (Value<'a>, fn(Value<'a>) -> Option<Requested<'a>>),
}

impl<'a> Reply<'a> {
    /// The calls it asks for, in order; at most [`limits::CALLS_AT_ONCE`].
    pub fn calls(&self) -> impl Iterator<Item = Requested<'a>> + use<'a> {
        self.all_calls().take(limits::CALLS_AT_ONCE)
    }

    /// How many calls it asks for that are left out.
    pub fn calls_left_out(&self) -> usize {
        self.all_calls().skip(limits::CALLS_AT_ONCE).count()
    }

    /// With the finish by `reason` according to a provider's own words for it. One that gives no reason, or calls a
    /// list of calls the end, is put right.
    pub(super) fn finished(self, reason: Option<Value<'a>>, words: &[(&str, Finish<'static>)]) -> Self {
        let reason = reason.and_then(|reason| reason.as_text());
        let known = |reason: Text<'a>| words.iter().find(|(word, _)| reason == **word);
        let finish = match reason {
            None => Finish::Stop,
            Some(reason) => known(reason).map_or(Finish::Other(reason), |(_, finish)| *finish),
        };
        let has_calls = self.calls().next().is_some();
        let finish = if matches!(finish, Finish::Stop) && has_calls { Finish::ToolCalls } else { finish };
        Self { finish, ..self }
    }

    fn all_calls(&self) -> impl Iterator<Item = Requested<'a>> + use<'a> {
        let (list, read) = self.calls;
        list.items().filter_map(read)
    }
}

/// Why a model stopped.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Finish<'a> {
    /// It has said everything.
    Stop,
    /// It wants tools to be called.
    ToolCalls,
    /// It was not to say more, or could not keep more in view.
    Length,
    /// For this reason, in the provider's own word.
    Other(Text<'a>),
}

impl Finish<'_> {
    /// The reason in one word.
    pub fn word(&self) -> heapless::String<{ limits::QUOTE }> {
        let known = match self {
            Self::Stop => "stop",
            Self::ToolCalls => "tool_calls",
            Self::Length => "length",
            Self::Other(reason) => return reason.excerpt(),
        };
        heapless::String::try_from(known).unwrap_or_default()
    }
}

/// What a model says: a text, some parts with text in them, or nothing.
#[derive(Clone, Copy, Debug)]
pub struct Content<'a>(pub(super) Value<'a>);

impl Content<'_> {
    /// Nothing.
    pub const NONE: Self = Self(Value::NULL);

    /// Whether nothing can be seen of it.
    pub fn is_blank(&self) -> bool {
        is_blank(self)
    }
}

/// The text of a part, if it is one with text in it.
fn part_text(part: Value<'_>) -> Option<Text<'_>> {
    let is_text = part.get("type").is_none_or(|kind| kind.as_text().is_some_and(|kind| kind == *"text"));
    part.as_text().or_else(|| part.get("text").filter(|_| is_text)?.as_text())
}

impl Display for Content<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.as_text() {
            Some(text) => text.fmt(f),
            None => self.0.items().filter_map(part_text).try_for_each(|text| text.fmt(f)),
        }
    }
}

/// A call that a model asks for.
#[derive(Clone, Copy, Debug)]
pub struct Requested<'a> {
    /// What it calls the call.
    pub id: Option<Text<'a>>,
    /// Which tool.
    pub name: Text<'a>,
    /// With what.
    pub arguments: Arguments<'a>,
}

/// The arguments of a call, as they came. Nobody has looked whether they are an object.
#[derive(Clone, Copy, Debug)]
pub enum Arguments<'a> {
    /// A value in the reply.
    Value(Value<'a>),
    /// A text that should be JSON.
    Text(Text<'a>),
}

impl<'a> Arguments<'a> {
    /// From a member of a call. None at all, and `null`, are no arguments.
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
