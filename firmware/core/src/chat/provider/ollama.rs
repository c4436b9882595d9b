//! Ollama's chat API.
//!
//! Arguments of calls are objects, and calls have no ids: a result is matched by tool name and position.

use super::{Ask, Flat, ProviderError, read_call, write_flat};
use crate::chat::history::ModelCall;
use crate::chat::reply::{FinishReason, ModelReply, ModelText};
use crate::json::{Kind, Value, Writer};
use crate::limits;
use crate::tool::Format;

/// Its stop reasons.
const FINISH: [(&str, FinishReason<'static>); 2] =
    [("stop", FinishReason::Stop), ("length", FinishReason::Length)];

const FLAT: Flat = Flat { call: write_call, result: write_owner, empty_content: Some("") };

pub(super) fn write(ask: &Ask<'_>, out: &mut Writer<'_>) -> Format {
    out.field("stream", false);
    if let Some(thinking) = ask.settings.thinking {
        out.field("think", thinking);
    }
    out.key("options");
    let options = out.open();
    out.field("num_predict", ask.settings.max_tokens);
    out.field("num_ctx", limits::OLLAMA_CONTEXT);
    if let Some(temperature) = ask.settings.temperature {
        out.field("temperature", temperature);
    }
    out.close(options);
    write_flat(ask, &FLAT, out);
    Format::Ollama
}

fn write_call(call: &ModelCall<'_>, out: &mut Writer<'_>) {
    let item = out.open();
    out.key("function");
    let function = out.open();
    out.field("name", call.name);
    out.field("arguments", call.arguments());
    out.close(function);
    out.close(item);
}

fn write_owner(call: &ModelCall<'_>, out: &mut Writer<'_>) {
    out.field("tool_name", call.name);
}

pub(super) fn read(body: Value<'_>) -> Result<ModelReply<'_>, ProviderError<'_>> {
    let message = body.get("message").filter(|message| message.kind() == Kind::Object);
    let message = message.ok_or(ProviderError::Lacks("an object 'message'"))?;
    let reply = ModelReply {
        content: ModelText(message.get("content").unwrap_or(Value::NULL)),
        finish: FinishReason::Stop,
        calls: (message.get("tool_calls").unwrap_or(Value::NULL), read_call),
    };
    Ok(reply.finished(body.get("done_reason"), &FINISH))
}
