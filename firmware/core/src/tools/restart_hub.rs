//! `restart_hub`: restarts the hub, with a person's word. (A tool's parts are explained in this folder's README.md.)

use super::ToolCall;
use crate::json::{Value, Writer};
use crate::tool::{Example, Hints, Success, Tool, ToolResult};

pub(super) static TOOL: Tool<'static> = Tool {
    description: "Restarts the hub.\n\nThe hub is away for some seconds, and conversations that are going on are lost. It \
                  helps when a person thinks that the hub behaves strangely.",
    schema: r#"{"type":"object","properties":{"confirm":{"const":"RESTART_HUB","description":"The word RESTART_HUB, given only when a person has asked for the restart"}},"required":["confirm"]}"#,
    usage: "restart_hub({\"confirm\": \"RESTART_HUB\"})",
    examples: &[Example {
        code: "restart_hub({\"confirm\": \"RESTART_HUB\"})  ->  {\"restarting\": true}",
        explanation: "A person has said: restart the hub.",
    }],
    consent: Some("It interrupts everybody who is talking to the hub."),
    hints: Hints { destructive: Some(true), ..Hints::NONE },
    on_request: true,
    ..Tool::builtin("restart_hub")
};

pub(super) async fn run<S>(
    call: &ToolCall<'_, S>,
    _: Value<'_>,
    result: &mut Writer<'_>,
) -> ToolResult {
    call.hub.restart.signal(());
    result.object(|object| object.field("restarting", true));
    Ok(Success::saying(format_args!("The hub restarts now.")))
}
