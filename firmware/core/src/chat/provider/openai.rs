//! OpenAI's chat completions API, and the many servers that are compatible with it.
//!
//! Arguments of calls are strings with JSON in them, in both directions. The limit of an answer has two names: OpenAI's
//! own models expect `max_completion_tokens`, and the newer ones reject `max_tokens`; all other servers know only
//! `max_tokens`. The model's name decides. There is no common switch for thinking.

use super::{Ask, Flat, ProviderError, read_call, write_flat};
use crate::chat::history::ModelCall;
use crate::chat::reply::{FinishReason, ModelReply, ModelText};
use crate::json::{Kind, Value, Writer};
use crate::tool::Format;

/// Its stop reasons.
const FINISH: [(&str, FinishReason<'static>); 4] = [
    ("stop", FinishReason::Stop),
    ("tool_calls", FinishReason::ToolCalls),
    ("length", FinishReason::Length),
    ("content_filter", FinishReason::Refused("content_filter")),
];

const FLAT: Flat = Flat { call: write_call, result: write_owner, empty_content: None };

pub(super) fn write(ask: &Ask<'_>, out: &mut Writer<'_>) -> Format {
    let length = if is_openais_own(&ask.settings.model) { "max_completion_tokens" } else { "max_tokens" };
    out.field(length, ask.settings.max_tokens);
    if let Some(temperature) = ask.settings.temperature {
        out.field("temperature", temperature);
    }
    write_flat(ask, &FLAT, out);
    Format::OpenAi
}

/// Whether only OpenAI serves the model.
fn is_openais_own(model: &str) -> bool {
    let model = model.strip_prefix("openai/").unwrap_or(model);
    let is_reasoner =
        model.strip_prefix('o').is_some_and(|rest| rest.starts_with(|next: char| next.is_ascii_digit()));
    is_reasoner
        || model.starts_with("chatgpt-")
        || (model.starts_with("gpt-") && !model.starts_with("gpt-oss"))
}

fn write_call(call: &ModelCall<'_>, out: &mut Writer<'_>) {
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

fn write_owner(call: &ModelCall<'_>, out: &mut Writer<'_>) {
    out.field("tool_call_id", call.id);
    out.field("name", call.name);
}

pub(super) fn read(body: Value<'_>) -> Result<ModelReply<'_>, ProviderError<'_>> {
    // Some servers send an error object without the member `error`.
    let is_error =
        body.get("object").is_some_and(|object| object.as_text().is_some_and(|text| text == *"error"));
    if is_error {
        return Err(ProviderError::reported(body));
    }
    let choice = body.get("choices").and_then(|choices| choices.items().next()).unwrap_or(Value::NULL);
    let message = choice.get("message").filter(|message| message.kind() == Kind::Object);
    let message = message.ok_or(ProviderError::Lacks("'choices[0].message'"))?;
    let said = |name| message.get(name).map(ModelText).filter(|content| !content.is_blank());
    let refusal = said("refusal");
    let reply = ModelReply {
        content: said("content").or(refusal).unwrap_or(ModelText::NONE),
        finish: FinishReason::Stop,
        calls: (message.get("tool_calls").unwrap_or(Value::NULL), read_call),
    };
    let reply = reply.finished(choice.get("finish_reason"), &FINISH);
    // It says `stop` then.
    Ok(if refusal.is_some() {
        ModelReply { finish: FinishReason::Refused("refusal"), ..reply }
    } else {
        reply
    })
}
