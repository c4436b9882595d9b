//! `echo`: gives back what it was called with. (A tool's parts are explained in this folder's README.md.)

use super::ToolCall;
use crate::json::{Value, Writer};
use crate::tool::{Example, Success, Tool, ToolResult};

pub(super) static TOOL: Tool<'static> = Tool {
    description: "Gives back its arguments.\n\nFor testing the way to the hub: whatever arguments it is called with come \
                  back unchanged.",
    schema: r#"{"type":"object","properties":{"text":{"type":"string","description":"Any text; other arguments are given back too"}}}"#,
    usage: "echo({\"text\": \"...\"})",
    examples: &[Example {
        code: "echo({\"text\": \"hello\"})  ->  {\"echo\": {\"text\": \"hello\"}}",
        explanation: "Shows that calls arrive and answers come back.",
    }],
    on_request: true,
    ..Tool::builtin("echo")
};

pub(super) async fn run<S>(
    _: &ToolCall<'_, S>,
    arguments: Value<'_>,
    result: &mut Writer<'_>,
) -> ToolResult {
    result.object(|object| object.field("echo", arguments));
    Ok(Success::PLAIN)
}
