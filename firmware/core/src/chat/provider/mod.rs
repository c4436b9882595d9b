//! The wire formats of the model providers: the body of a request, and the body of a reply.
//!
//! Each format is in a file of its own, which knows nothing of how a tool is run. [`write()`] and [`read`] choose by the
//! [`Provider`].

mod anthropic;
mod ollama;
mod openai;

use core::fmt::{self, Display};

use super::Provider;
use super::history::{EarlierTurns, History, Message, Messages, ModelCall};
use super::reply::{Arguments, ModelReply, RequestedCall};
use super::turn::TurnSettings;
use crate::json::{self, Bracket, Kind, Overflow, Text, Value, Writer};
use crate::limits;
use crate::log::debug;
use crate::tool::{Format, Registry, Tool, ToolSet};

/// A question to a model.
#[derive(Clone, Copy)]
pub struct Ask<'a> {
    /// The settings of the running turn.
    pub settings: &'a TurnSettings,
    /// What was said so far.
    pub history: &'a History,
    /// How many of its oldest turns are left out.
    pub forgotten: usize,
    /// How much of the earlier turns is included.
    pub earlier: EarlierTurns,
    /// Whether the hub's own tools come with an example.
    pub has_examples: bool,
    /// Whether tools that have been called before come first.
    pub used_first: bool,
    /// The tools to offer, as far as the settings allow them. Without tools, earlier calls are left out too: providers
    /// reject calls of tools that are not declared.
    pub tools: Option<&'a Registry>,
}

impl<'a> Ask<'a> {
    /// The next question. It offers tools only if the settings allow one that is registered: tools may disappear in the
    /// middle of a turn.
    pub fn new(settings: &'a TurnSettings, history: &'a History, registry: &'a Registry) -> Self {
        let tools = settings.tools.has_some(registry).then_some(registry);
        Self {
            settings,
            history,
            forgotten: 0,
            earlier: EarlierTurns::Whole,
            has_examples: true,
            used_first: false,
            tools,
        }
    }

    fn messages(&self) -> Messages<'a> {
        self.history.messages_after(self.forgotten, self.earlier)
    }
}

/// Writes the whole question into `buffer`, and returns its length and the tools that are left out.
///
/// If the question is too long, these are left out in this order: examples of tools; results of earlier turns, except
/// for summaries; calls of earlier turns; tools, first those that were never called. Words of people and the model are
/// left out only if they do not fit even without tools. With `all_tools`, returns `None` instead of leaving out more
/// than examples.
pub fn write_to_fit(mut ask: Ask<'_>, all_tools: bool, buffer: &mut [u8]) -> Option<(usize, ToolSet)> {
    loop {
        let mut writer = Writer::new(buffer);
        let written = write(&ask, &mut writer);
        if let Ok(left_out) = written
            && left_out.is_empty()
        {
            break Some((writer.finish().ok()?, left_out));
        }
        if ask.has_examples {
            ask.has_examples = false;
            continue;
        }
        if all_tools {
            break None;
        }
        let earlier_turns = ask.history.turns().saturating_sub(ask.forgotten + 1);
        match (ask.earlier, written) {
            (EarlierTurns::Whole, _) if earlier_turns > 0 => ask.earlier = EarlierTurns::Summaries,
            (EarlierTurns::Summaries, _) => {
                ask.earlier = EarlierTurns::Words;
                debug!("chat: the question has no room for the calls of earlier turns");
            }
            (_, Ok(_)) if !ask.used_first => ask.used_first = true,
            (_, Ok(left_out)) => break Some((writer.finish().ok()?, left_out)),
            (_, Err(Overflow)) if earlier_turns > 0 => {
                ask.forgotten += earlier_turns.div_ceil(4);
                debug!("chat: the question has no room for the {} oldest turns", ask.forgotten);
            }
            (_, Err(Overflow)) => break None,
        }
    }
}

/// Writes the body of a request. Returns the tools that do not fit.
pub fn write(ask: &Ask<'_>, out: &mut Writer<'_>) -> Result<ToolSet, Overflow> {
    let body = out.open();
    out.field("model", &*ask.settings.model);
    let format = match ask.settings.provider {
        Provider::Anthropic => anthropic::write(ask, out),
        Provider::OpenAi => openai::write(ask, out),
        Provider::Ollama => ollama::write(ask, out),
    };
    // Last, since they fill the space that is left.
    let left_out = ask.tools.map_or(ToolSet::EMPTY, |registry| write_tools(format, registry, ask, out));
    out.close(body);
    if out.overflowed() { Err(Overflow) } else { Ok(left_out) }
}

/// Reads the body of a reply.
pub fn read<'a>(provider: Provider, body: &'a [u8]) -> Result<ModelReply<'a>, ProviderError<'a>> {
    let body = Value::parse(body).map_err(ProviderError::NotJson)?;
    // The relay and all providers use this name.
    if let Some(error) = body.get("error").filter(|error| error.kind() != Kind::Null) {
        return Err(ProviderError::reported(error));
    }
    match provider {
        Provider::Anthropic => anthropic::read(body),
        Provider::OpenAi => openai::read(body),
        Provider::Ollama => ollama::read(body),
    }
}

/// Why the relay has no reply of the provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RelayError {
    /// The provider took too long.
    Timeout,
    /// The provider was not reached, or the relay is overloaded.
    Unavailable,
    /// The reply is larger than the hub can receive.
    TooLarge,
    /// The reply is incomplete or malformed.
    Malformed,
}

impl RelayError {
    /// With their names on the wire.
    const NAMES: [(&str, Self); 4] = [
        ("timeout", Self::Timeout),
        ("unavailable", Self::Unavailable),
        ("too_large", Self::TooLarge),
        ("malformed", Self::Malformed),
    ];
}

/// Why a body is not a model's reply.
#[derive(Clone, Copy, Debug)]
pub enum ProviderError<'a> {
    /// The relay reports an error.
    Relay {
        /// Which.
        error: RelayError,
        /// The relay's message.
        message: Option<Text<'a>>,
    },
    /// The provider reports an error.
    Reported {
        /// The HTTP status.
        status: Option<u16>,
        /// The provider's error type.
        kind: Option<Text<'a>>,
        /// The provider's message.
        message: Option<Text<'a>>,
    },
    /// The body is not JSON.
    NotJson(json::Error),
    /// The body lacks this member, or it has another type.
    Lacks(&'static str),
}

impl<'a> ProviderError<'a> {
    /// From an object with `message` and perhaps `status` or `code`, and `type`; or from a text. The relay's own errors
    /// have a member `relay`.
    fn reported(error: Value<'a>) -> Self {
        let text = |name| error.get(name).and_then(|value| value.as_text());
        let relay =
            text("relay").and_then(|relay| RelayError::NAMES.iter().find(|(name, _)| relay == **name));
        if let Some((_, error)) = relay {
            return Self::Relay { error: *error, message: text("message") };
        }
        let number = |name| error.get(name)?.as_i64()?.try_into().ok();
        Self::Reported {
            status: number("status").or_else(|| number("code")),
            kind: text("type").or_else(|| text("code")),
            message: error.as_text().or_else(|| text("message")),
        }
    }
}

impl Display for ProviderError<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Relay { message: Some(message), .. } => {
                write!(f, "{}", message.excerpt::<{ limits::REFUSAL }>())
            }
            Self::Relay { message: None, .. } => f.write_str("the relay has no reply, and does not say why"),
            Self::Reported { status, kind, message } => {
                f.write_str("the provider reports an error")?;
                if let Some(status) = status {
                    write!(f, " {status}")?;
                }
                if let Some(kind) = kind {
                    write!(f, " ({})", kind.excerpt::<{ limits::QUOTE }>())?;
                }
                match message {
                    Some(message) => write!(f, ": {}", message.excerpt::<{ limits::REFUSAL }>()),
                    None => f.write_str(" without a word"),
                }
            }
            Self::NotJson(error) => write!(f, "the provider's reply is {error}"),
            Self::Lacks(what) => write!(f, "the provider's reply lacks {what}"),
        }
    }
}

impl core::error::Error for ProviderError<'_> {}

/// Writes the member `tools`, unless there are none. Returns those that do not fit.
fn write_tools(format: Format, registry: &Registry, ask: &Ask<'_>, out: &mut Writer<'_>) -> ToolSet {
    /// What follows the tools.
    const ENDING: usize = "]}".len();
    // `rewind` below would clear the overflow.
    if out.overflowed() {
        return ToolSet::EMPTY;
    }
    let before = out.mark();
    out.key("tools");
    let list = out.open_array();
    let start = out.mark();
    let is_offered = |name: &str, tool: &Tool<'_>| ask.settings.tools.offers(name, tool);
    let left_out = format.write_fitting(registry, &is_offered, ask.has_examples, ask.used_first, ENDING, out);
    let has_some = !out.since(start).is_empty();
    out.close(list);
    if !has_some {
        out.rewind(before);
    }
    left_out
}

/// How a provider with one flat list of messages writes calls and results.
struct Flat {
    /// Writes a call as a value.
    call: fn(&ModelCall<'_>, &mut Writer<'_>),
    /// Writes the members of a result that name its call.
    result: fn(&ModelCall<'_>, &mut Writer<'_>),
    /// The `content` of calls without text; `null` if `None`.
    empty_content: Option<&'static str>,
}

/// Writes the member `messages`, with the system prompt first.
fn write_flat(ask: &Ask<'_>, flat: &Flat, out: &mut Writer<'_>) {
    out.key("messages");
    let list = out.open_array();
    if !ask.settings.system.is_empty() {
        write_message("system", &ask.settings.system, out);
    }
    for message in ask.messages() {
        match message {
            Message::User(text) => write_message("user", text, out),
            Message::Assistant(text) => write_message("assistant", text, out),
            Message::Round(_) if ask.tools.is_none() => {}
            Message::Round(round) => {
                let message = open_message("assistant", out);
                match round.text.or(flat.empty_content) {
                    Some(text) => out.field("content", text),
                    None => out.field("content", Value::NULL),
                }
                out.key("tool_calls");
                let calls = out.open_array();
                round.calls().for_each(|call| (flat.call)(&call, out));
                out.close(calls);
                out.close(message);
                for call in round.calls() {
                    let message = open_message("tool", out);
                    (flat.result)(&call, out);
                    out.field("content", format_args!("{}", call.shown_result()));
                    out.close(message);
                }
            }
        }
    }
    out.close(list);
}

/// Writes a message with text alone.
fn write_message(role: &str, text: &str, out: &mut Writer<'_>) {
    let message = open_message(role, out);
    out.field("content", text);
    out.close(message);
}

fn open_message(role: &str, out: &mut Writer<'_>) -> Bracket {
    let message = out.open();
    out.field("role", role);
    message
}

/// Reads a call of a flat list: a `function` with a name and arguments.
fn read_call(item: Value<'_>) -> Option<RequestedCall<'_>> {
    let function = item.get("function")?;
    Some(RequestedCall {
        id: item.get("id").and_then(|id| id.as_text()),
        name: function.get("name")?.as_text()?,
        arguments: Arguments::read(function.get("arguments")),
    })
}
