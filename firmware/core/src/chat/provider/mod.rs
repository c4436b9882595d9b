//! Those who provide models: how each wants to be asked, and how it answers.
//!
//! One file each, which alone knows its wire format, and knows nothing of how a tool is run. [`write()`] and [`read`]
//! choose by the rule's service.

mod anthropic;
mod ollama;
mod openai;

use core::fmt::{self, Display};

use super::history::{Call, History, Message, Messages};
use super::reply::{Arguments, Reply, Requested};
use super::rule::{Rule, Service};
use crate::json::{self, Bracket, Kind, Overflow, Text, Value, Writer};
use crate::limits;
use crate::text::Measure;
use crate::tool::{Format, Name, Registry};

/// What a model is asked.
#[derive(Clone, Copy)]
pub struct Ask<'a> {
    /// How.
    pub rule: &'a Rule<'a>,
    /// The system prompt.
    pub system: &'a dyn Display,
    /// What was said, up to now.
    pub history: &'a History,
    /// How many of its oldest turns are left out.
    pub forgotten: usize,
    /// The tools to offer, of which the rule may allow some only. Without them the calls of earlier turns are left out
    /// too: providers refuse calls of tools that are not there.
    pub tools: Option<&'a Registry>,
}

impl<'a> Ask<'a> {
    fn messages(&self) -> Messages<'a> {
        self.history.messages_after(self.forgotten)
    }
}

/// Writes the body of a request. If not all tools fit, the last one that did is returned; the others are left out.
pub fn write(ask: &Ask<'_>, out: &mut Writer<'_>) -> Result<Option<Name>, Overflow> {
    let body = out.open();
    out.field("model", ask.rule.model);
    let format = match ask.rule.service {
        Service::Anthropic => anthropic::write(ask, out),
        Service::OpenAi => openai::write(ask, out),
        Service::Ollama => ollama::write(ask, out),
    };
    // At the end, since they take what room is left.
    let last = ask.tools.and_then(|registry| write_tools(format, registry, ask.rule, out));
    out.close(body);
    if out.overflowed() { Err(Overflow) } else { Ok(last) }
}

/// Reads the body of a reply, whatever it is.
pub fn read<'a>(service: Service, body: &'a [u8]) -> Result<Reply<'a>, ProviderError<'a>> {
    let body = Value::parse(body).map_err(ProviderError::NotJson)?;
    // The relay and all providers agree on that name.
    if let Some(error) = body.get("error").filter(|error| error.kind() != Kind::Null) {
        return Err(ProviderError::told(error));
    }
    match service {
        Service::Anthropic => anthropic::read(body),
        Service::OpenAi => openai::read(body),
        Service::Ollama => ollama::read(body),
    }
}

/// What kept the relay from bringing a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// The provider took too long.
    Late,
    /// The provider was not reached, or the relay itself had no time for it.
    Away,
    /// The reply is more than the hub takes.
    Large,
    /// The reply broke off, or makes no sense.
    Garbled,
}

impl Trouble {
    /// In the relay's words.
    const WORDS: [(&str, Self); 4] = [
        ("timeout", Self::Late),
        ("unavailable", Self::Away),
        ("too_large", Self::Large),
        ("malformed", Self::Garbled),
    ];
}

/// Why there is no reply.
#[derive(Clone, Copy, Debug)]
pub enum ProviderError<'a> {
    /// The relay has no reply of the provider's.
    Relay {
        /// Why not.
        trouble: Trouble,
        /// The same in the relay's words.
        message: Option<Text<'a>>,
    },
    /// The provider says what went wrong.
    Told {
        /// The HTTP status, if that is told.
        status: Option<u16>,
        /// The provider's own word for it.
        kind: Option<Text<'a>>,
        /// The provider's own words.
        message: Option<Text<'a>>,
    },
    /// What came is not JSON.
    NotJson(json::Error),
    /// What came has no such member, or one of another kind.
    Lacks(&'static str),
}

impl<'a> ProviderError<'a> {
    /// From an object with `message` and perhaps `status` or `code`, and `type`; or from a text. The relay says in `relay`
    /// what it speaks of in its own name.
    fn told(error: Value<'a>) -> Self {
        let text = |name| error.get(name).and_then(|value| value.as_text());
        let trouble = text("relay").and_then(|relay| Trouble::WORDS.iter().find(|(word, _)| relay == **word));
        if let Some((_, trouble)) = trouble {
            return Self::Relay { trouble: *trouble, message: text("message") };
        }
        let number = |name| error.get(name)?.as_i64()?.try_into().ok();
        Self::Told {
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
            Self::Told { status, kind, message } => {
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

/// Writes the member `tools`, unless there are none.
fn write_tools(format: Format, registry: &Registry, rule: &Rule<'_>, out: &mut Writer<'_>) -> Option<Name> {
    // Going back below would forget that something did not fit.
    if out.overflowed() || !rule.tools.enabled {
        return None;
    }
    let before = out.mark();
    out.key("tools");
    let list = out.open_array();
    let start = out.mark();
    let last = format.write_all(registry, rule.tools.allowed, None, out);
    let has_some = !out.since(start).is_empty();
    out.close(list);
    if !has_some {
        out.rewind(before);
    }
    last
}

/// How a provider that takes all messages in one flat list wants the parts that have to do with calls.
struct Flat {
    /// Writes a call as a value.
    call: fn(&Call<'_>, &mut Writer<'_>),
    /// Writes the members of a result that say whose it is.
    result: fn(&Call<'_>, &mut Writer<'_>),
    /// What a model says that says nothing; `null` if that is nothing too.
    silence: Option<&'static str>,
}

/// Writes the member `messages`: the system prompt, and what was said.
fn write_flat(ask: &Ask<'_>, flat: &Flat, out: &mut Writer<'_>) {
    out.key("messages");
    let list = out.open_array();
    if Measure::Plain.length(ask.system) > 0 {
        let message = open_message("system", out);
        out.field("content", format_args!("{}", ask.system));
        out.close(message);
    }
    for message in ask.messages() {
        match message {
            Message::User(text) => write_message("user", text, out),
            Message::Said(text) => write_message("assistant", text, out),
            Message::Round(_) if ask.tools.is_none() => {}
            Message::Round(round) => {
                let message = open_message("assistant", out);
                match round.text.or(flat.silence) {
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
                    out.field("content", call.result());
                    out.close(message);
                }
            }
        }
    }
    out.close(list);
}

/// Writes a message that is nothing but words.
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

/// Reads a call of a flat list, in which it is a function with a name and arguments.
fn read_call(item: Value<'_>) -> Option<Requested<'_>> {
    let function = item.get("function")?;
    Some(Requested {
        id: item.get("id").and_then(|id| id.as_text()),
        name: function.get("name")?.as_text()?,
        arguments: Arguments::read(function.get("arguments")),
    })
}
