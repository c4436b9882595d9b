//! Those who provide models: how each wants to be asked, and how it answers.
//!
//! One file each, which alone knows its wire format, and knows nothing of how a tool is run. [`write()`] and [`read`]
//! choose by the [`Provider`].

mod anthropic;
mod ollama;
mod openai;

use core::fmt::{self, Display};

use super::history::{Call, History, Message, Messages};
use super::reply::{Arguments, Reply, Requested};
use super::settings::TurnSettings;
use crate::json::{self, Bracket, Kind, Overflow, Text, Value, Writer};
use crate::limits;
use crate::log::{debug, warn};
use crate::tool::{Format, Name, Registry};

/// Who provides the model.
///
/// The first is all zeros, and so is a new hub's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Provider {
    /// Anthropic's Messages.
    Anthropic,
    /// OpenAI's chat completions, and whoever follows them.
    OpenAi,
    /// Ollama's chat.
    Ollama,
}

impl Provider {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Anthropic, Self::OpenAi, Self::Ollama];

    /// Its name in a rule (`service`), a topic and a reply.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Anthropic => "anthropic",
            Self::OpenAi => "openai",
            Self::Ollama => "ollama",
        }
    }
}

/// What a model is asked.
#[derive(Clone, Copy)]
pub struct Ask<'a> {
    /// The settings of the running turn.
    pub settings: &'a TurnSettings,
    /// What was said, up to now.
    pub history: &'a History,
    /// How many of its oldest turns are left out.
    pub forgotten: usize,
    /// The tools to offer, of which the settings may allow some only. Without them the calls of earlier turns are left
    /// out too: providers refuse calls of tools that are not there.
    pub tools: Option<&'a Registry>,
}

impl<'a> Ask<'a> {
    /// The question after what was said so far. It has tools only if there are some that the settings allow: they may
    /// all have left in the middle of the turn.
    pub fn new(settings: &'a TurnSettings, history: &'a History, registry: &'a Registry) -> Self {
        let tools = settings.tools.has_some(registry).then_some(registry);
        Self { settings, history, forgotten: 0, tools }
    }

    fn messages(&self) -> Messages<'a> {
        self.history.messages_after(self.forgotten)
    }
}

/// Writes the whole question into `buffer`, and returns its length. If it does not fit with all tools, then with
/// `all_tools` there is `None`; otherwise the oldest turns are left out, and at last tools.
pub fn write_to_fit(mut ask: Ask<'_>, all_tools: bool, buffer: &mut [u8]) -> Option<usize> {
    loop {
        let mut writer = Writer::new(buffer);
        let last = match write(&ask, &mut writer) {
            Ok(None) => break writer.finish().ok(),
            Ok(Some(last)) => Some(last),
            Err(Overflow) => None,
        };
        if all_tools {
            break None;
        }
        // Old turns matter less than what can be done now.
        let left = ask.history.turns().saturating_sub(ask.forgotten);
        if left > 1 {
            ask.forgotten += left.div_ceil(4);
            debug!("chat: the {} oldest turns are left out of a question that is too long", ask.forgotten);
            continue;
        }
        let last = last?;
        warn!("chat: not all tools fit into a question; those after {} are left out", last.as_str());
        break writer.finish().ok();
    }
}

/// Writes the body of a request. If not all tools fit, the last one that did is returned; the others are left out.
pub fn write(ask: &Ask<'_>, out: &mut Writer<'_>) -> Result<Option<Name>, Overflow> {
    let body = out.open();
    out.field("model", &*ask.settings.model);
    let format = match ask.settings.provider {
        Provider::Anthropic => anthropic::write(ask, out),
        Provider::OpenAi => openai::write(ask, out),
        Provider::Ollama => ollama::write(ask, out),
    };
    // At the end, since they take what room is left.
    let last = ask.tools.and_then(|registry| write_tools(format, registry, ask.settings, out));
    out.close(body);
    if out.overflowed() { Err(Overflow) } else { Ok(last) }
}

/// Reads the body of a reply, whatever it is.
pub fn read<'a>(provider: Provider, body: &'a [u8]) -> Result<Reply<'a>, ProviderError<'a>> {
    let body = Value::parse(body).map_err(ProviderError::NotJson)?;
    // The relay and all providers agree on that name.
    if let Some(error) = body.get("error").filter(|error| error.kind() != Kind::Null) {
        return Err(ProviderError::told(error));
    }
    match provider {
        Provider::Anthropic => anthropic::read(body),
        Provider::OpenAi => openai::read(body),
        Provider::Ollama => ollama::read(body),
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
fn write_tools(
    format: Format,
    registry: &Registry,
    settings: &TurnSettings,
    out: &mut Writer<'_>,
) -> Option<Name> {
    // Going back below would forget that something did not fit.
    if out.overflowed() {
        return None;
    }
    let before = out.mark();
    out.key("tools");
    let list = out.open_array();
    let start = out.mark();
    let last = format.write_all(registry, &|names| settings.tools.allows(names), None, out);
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
    if !ask.settings.system.is_empty() {
        write_message("system", &ask.settings.system, out);
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
