//! Anthropic's Messages.
//!
//! The system prompt stands beside the messages; what was said is in blocks; all results of one round go into one message
//! of the person's.

use super::{Ask, ProviderError, write_message};
use crate::chat::cut::Measure;
use crate::chat::history::{Call, Message, Round};
use crate::chat::reply::{Arguments, Content, Finish, Reply, Requested, Usage};
use crate::json::{Kind, Value, Writer};
use crate::tool::Format;

/// Why it stops, in its words.
const FINISH: [(&str, Finish<'static>); 5] = [
    ("end_turn", Finish::Stop),
    ("stop_sequence", Finish::Stop),
    ("tool_use", Finish::ToolCalls),
    ("max_tokens", Finish::Length),
    ("model_context_window_exceeded", Finish::Length),
];

pub(super) fn write(ask: &Ask<'_>, out: &mut Writer<'_>) -> Format {
    out.field("max_tokens", ask.rule.max_tokens);
    if let Some(temperature) = ask.rule.temperature {
        // Others go further. Newer models take no temperature at all, and say so.
        out.field("temperature", temperature.min(1.0));
    }
    if let Some(thinking) = ask.rule.thinking {
        out.key("thinking");
        out.object(|out| out.field("type", if thinking { "adaptive" } else { "disabled" }));
    }
    if Measure::Plain.length(ask.system) > 0 {
        out.field("system", format_args!("{}", ask.system));
    }
    out.key("messages");
    out.array(|out| {
        for message in ask.history.messages() {
            match message {
                Message::User(text) => write_message("user", |out| out.field("content", text), out),
                Message::Said(text) => write_message("assistant", |out| out.field("content", text), out),
                Message::Round(_) if ask.tools.is_none() => {}
                Message::Round(round) => write_round(&round, out),
            }
        }
    });
    Format::Anthropic
}

fn write_round(round: &Round<'_>, out: &mut Writer<'_>) {
    let said = |out: &mut Writer<'_>| {
        if let Some(text) = round.text {
            write_block("text", |out| out.field("text", text), out);
        }
        for call in round.calls() {
            let call = |out: &mut Writer<'_>| {
                out.field("id", call.id);
                out.field("name", call.name);
                out.field("input", call.arguments());
            };
            write_block("tool_use", call, out);
        }
    };
    write_blocks("assistant", said, out);
    let results = |out: &mut Writer<'_>| {
        round.calls().for_each(|call| write_block("tool_result", |out| write_result(&call, out), out));
    };
    write_blocks("user", results, out);
}

fn write_result(call: &Call<'_>, out: &mut Writer<'_>) {
    out.field("tool_use_id", call.id);
    // An empty text is refused.
    if !call.result().is_empty() {
        out.field("content", call.result());
    }
    if call.outcome.is_none_or(|outcome| outcome.is_error) {
        out.field("is_error", true);
    }
}

fn write_blocks(role: &str, blocks: impl FnOnce(&mut Writer<'_>), out: &mut Writer<'_>) {
    let content = |out: &mut Writer<'_>| {
        out.key("content");
        out.array(blocks);
    };
    write_message(role, content, out);
}

fn write_block(kind: &str, members: impl FnOnce(&mut Writer<'_>), out: &mut Writer<'_>) {
    out.object(|out| {
        out.field("type", kind);
        members(out);
    });
}

pub(super) fn read(body: Value<'_>) -> Result<Reply<'_>, ProviderError<'_>> {
    let content = body.get("content").filter(|content| content.kind() == Kind::Array);
    let content = content.ok_or(ProviderError::Lacks("an array 'content'"))?;
    let reply = Reply {
        content: Content(content),
        finish: Finish::Stop,
        usage: Usage::read(body.get("usage"), "input_tokens", "output_tokens"),
        calls: (content, call),
    };
    Ok(reply.finished(body.get("stop_reason"), &FINISH))
}

fn call(block: Value<'_>) -> Option<Requested<'_>> {
    block.get("type")?.as_text().filter(|kind| *kind == *"tool_use")?;
    Some(Requested {
        id: block.get("id").and_then(|id| id.as_text()),
        name: block.get("name")?.as_text()?,
        arguments: Arguments::read(block.get("input")),
    })
}
