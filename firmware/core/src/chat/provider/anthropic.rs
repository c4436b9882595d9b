//! Anthropic's Messages API.
//!
//! The system prompt is a member beside the messages; a message is a list of blocks; all results of one round go into one
//! message of the user.

use super::{Ask, ProviderError, open_message, write_message};
use crate::chat::history::{Message, Round};
use crate::chat::reply::{Arguments, FinishReason, ModelReply, ModelText, RequestedCall};
use crate::json::{Bracket, Kind, Value, Writer};
use crate::tool::Format;

/// Its stop reasons.
const FINISH: [(&str, FinishReason<'static>); 6] = [
    ("end_turn", FinishReason::Stop),
    ("stop_sequence", FinishReason::Stop),
    ("tool_use", FinishReason::ToolCalls),
    ("max_tokens", FinishReason::Length),
    ("model_context_window_exceeded", FinishReason::Length),
    ("refusal", FinishReason::Refused("refusal")),
];

pub(super) fn write(ask: &Ask<'_>, out: &mut Writer<'_>) -> Format {
    out.field("max_tokens", ask.settings.max_tokens);
    if let Some(temperature) = ask.settings.temperature {
        // Other providers allow up to 2. Newer models reject any temperature with an error.
        out.field("temperature", temperature.min(1.0));
    }
    if let Some(thinking) = ask.settings.thinking {
        out.key("thinking");
        let switch = open_block(if thinking { "adaptive" } else { "disabled" }, out);
        out.close(switch);
    }
    if !ask.settings.system.is_empty() {
        out.field("system", ask.settings.system.as_str());
    }
    out.key("messages");
    let list = out.open_array();
    for message in ask.messages() {
        match message {
            Message::User(text) => write_message("user", text, out),
            Message::Assistant(text) => write_message("assistant", text, out),
            Message::Round(_) if ask.tools.is_none() => {}
            Message::Round(round) => write_round(&round, out),
        }
    }
    out.close(list);
    Format::Anthropic
}

fn write_round(round: &Round<'_>, out: &mut Writer<'_>) {
    let message = open_message("assistant", out);
    out.key("content");
    let blocks = out.open_array();
    if let Some(text) = round.text {
        let block = open_block("text", out);
        out.field("text", text);
        out.close(block);
    }
    for call in round.calls() {
        let block = open_block("tool_use", out);
        out.field("id", call.id);
        out.field("name", call.name);
        out.field("input", call.arguments());
        out.close(block);
    }
    out.close(blocks);
    out.close(message);

    let message = open_message("user", out);
    out.key("content");
    let blocks = out.open_array();
    for call in round.calls() {
        let block = open_block("tool_result", out);
        out.field("tool_use_id", call.id);
        // The API rejects an empty text.
        if !call.result_text().is_empty() {
            out.field("content", format_args!("{}", call.shown_result()));
        }
        if call.result.is_none_or(|result| result.is_error) {
            out.field("is_error", true);
        }
        out.close(block);
    }
    out.close(blocks);
    out.close(message);
}

fn open_block(kind: &str, out: &mut Writer<'_>) -> Bracket {
    let block = out.open();
    out.field("type", kind);
    block
}

pub(super) fn read(body: Value<'_>) -> Result<ModelReply<'_>, ProviderError<'_>> {
    let content = body.get("content").filter(|content| content.kind() == Kind::Array);
    let content = content.ok_or(ProviderError::Lacks("an array 'content'"))?;
    let said = Some(ModelText(content)).filter(|said| !said.is_blank());
    // Why a classifier stopped the model.
    let why = || body.get("stop_details")?.get("explanation").map(ModelText);
    let reply = ModelReply {
        content: said.or_else(why).unwrap_or(ModelText::NONE),
        finish: FinishReason::Stop,
        calls: (content, call),
    };
    Ok(reply.finished(body.get("stop_reason"), &FINISH))
}

fn call(block: Value<'_>) -> Option<RequestedCall<'_>> {
    block.get("type")?.as_text().filter(|kind| *kind == *"tool_use")?;
    Some(RequestedCall {
        id: block.get("id").and_then(|id| id.as_text()),
        name: block.get("name")?.as_text()?,
        arguments: Arguments::read(block.get("input")),
    })
}
