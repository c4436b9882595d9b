//! OpenAI's chat completions, and the many servers that follow them.
//!
//! Arguments of calls are texts with JSON in them, in both directions. The length of an answer has two names:
//! `max_completion_tokens` is the one that OpenAI's own models want, the newer of which refuse the other; `max_tokens` is
//! the one that all the other servers know. The model's name decides. For thinking there is no switch that all know.

use super::{Ask, Flat, ProviderError, read_call, write_flat};
use crate::chat::history::Call;
use crate::chat::reply::{Content, Finish, Reply};
use crate::json::{Kind, Value, Writer};
use crate::tool::Format;

/// Why it stops, in its words.
const FINISH: [(&str, Finish<'static>); 3] =
    [("stop", Finish::Stop), ("tool_calls", Finish::ToolCalls), ("length", Finish::Length)];

const FLAT: Flat = Flat { call: write_call, result: write_owner, silence: None };

pub(super) fn write(ask: &Ask<'_>, out: &mut Writer<'_>) -> Format {
    let length = if is_openais_own(&ask.settings.model) { "max_completion_tokens" } else { "max_tokens" };
    out.field(length, ask.settings.max_tokens);
    if let Some(temperature) = ask.settings.temperature {
        out.field("temperature", temperature);
    }
    write_flat(ask, &FLAT, out);
    Format::OpenAi
}

/// Whether a model is one of OpenAI's, which others cannot run.
fn is_openais_own(model: &str) -> bool {
    let model = model.strip_prefix("openai/").unwrap_or(model);
    let is_reasoner =
        model.strip_prefix('o').is_some_and(|rest| rest.starts_with(|next: char| next.is_ascii_digit()));
    is_reasoner
        || model.starts_with("chatgpt-")
        || (model.starts_with("gpt-") && !model.starts_with("gpt-oss"))
}

fn write_call(call: &Call<'_>, out: &mut Writer<'_>) {
    let item = out.open();
    out.field("id", call.id);
    out.field("type", "function");
    out.key("function");
    let function = out.open();
    out.field("name", call.name);
    out.field("arguments", call.arguments().text());
    out.close(function);
    out.close(item);
}

fn write_owner(call: &Call<'_>, out: &mut Writer<'_>) {
    out.field("tool_call_id", call.id);
    out.field("name", call.name);
}

pub(super) fn read(body: Value<'_>) -> Result<Reply<'_>, ProviderError<'_>> {
    // Some servers report errors in the place of a reply.
    let is_error =
        body.get("object").is_some_and(|object| object.as_text().is_some_and(|text| text == *"error"));
    if is_error {
        return Err(ProviderError::told(body));
    }
    let choice = body.get("choices").and_then(|choices| choices.items().next()).unwrap_or(Value::NULL);
    let message = choice.get("message").filter(|message| message.kind() == Kind::Object);
    let message = message.ok_or(ProviderError::Lacks("'choices[0].message'"))?;
    let said = |name| message.get(name).map(Content).filter(|content| !content.is_blank());
    let reply = Reply {
        content: said("content").or_else(|| said("refusal")).unwrap_or(Content::NONE),
        finish: Finish::Stop,
        calls: (message.get("tool_calls").unwrap_or(Value::NULL), read_call),
    };
    Ok(reply.finished(choice.get("finish_reason"), &FINISH))
}
