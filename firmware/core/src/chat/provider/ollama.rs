//! Ollama's chat.
//!
//! Arguments of calls are objects, and calls have no ids: a result goes by the name of its tool and its place.

use super::{Ask, Flat, ProviderError, read_call, write_flat};
use crate::chat::history::Call;
use crate::chat::reply::{Content, Finish, Reply};
use crate::json::{Kind, Value, Writer};
use crate::limits;
use crate::tool::Format;

/// Why it stops, in its words.
const FINISH: [(&str, Finish<'static>); 2] = [("stop", Finish::Stop), ("length", Finish::Length)];

const FLAT: Flat = Flat { call: write_call, result: write_owner, silence: Some("") };

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

fn write_call(call: &Call<'_>, out: &mut Writer<'_>) {
    let item = out.open();
    out.key("function");
    let function = out.open();
    out.field("name", call.name);
    out.field("arguments", call.arguments());
    out.close(function);
    out.close(item);
}

fn write_owner(call: &Call<'_>, out: &mut Writer<'_>) {
    out.field("tool_name", call.name);
}

pub(super) fn read(body: Value<'_>) -> Result<Reply<'_>, ProviderError<'_>> {
    let message = body.get("message").filter(|message| message.kind() == Kind::Object);
    let message = message.ok_or(ProviderError::Lacks("an object 'message'"))?;
    let reply = Reply {
        content: Content(message.get("content").unwrap_or(Value::NULL)),
        finish: Finish::Stop,
        calls: (message.get("tool_calls").unwrap_or(Value::NULL), read_call),
    };
    Ok(reply.finished(body.get("done_reason"), &FINISH))
}
