//! `factory_reset`: forgets everything, with a person's word. (A tool's parts are explained in this folder's README.md.)

use embedded_storage_async::nor_flash::MultiwriteNorFlash;

use super::ToolCall;
use crate::json::{Value, Writer};
use crate::store::Store;
use crate::tool::{Example, Hints, Success, Tool, ToolResult};

pub(super) static TOOL: Tool<'static> = Tool {
    description: "Erases all settings, flags and documents.\n\nThe hub then restarts as it was when it was new. What was \
                  built into its firmware stays: the network, the broker and the built-in documents. The devices of the \
                  home are not touched.",
    schema: r#"{"type":"object","properties":{"confirm":{"const":"FACTORY_RESET","description":"The word FACTORY_RESET, given only when a person has asked for the hub to forget everything"}},"required":["confirm"]}"#,
    usage: "factory_reset({\"confirm\": \"FACTORY_RESET\"})",
    examples: &[Example {
        code: "factory_reset({\"confirm\": \"FACTORY_RESET\"})  ->  {\"erased\": true, \"restarting\": true}",
        explanation: "A person has said: reset the hub to its factory settings.",
    }],
    consent: Some("It destroys everything that the hub was told to keep, and nothing brings that back."),
    hints: Hints { destructive: Some(true), ..Hints::NONE },
    on_request: true,
    ..Tool::builtin("factory_reset")
};

/// Dropped in the middle, everything is erased or nothing.
pub(super) async fn run<F: MultiwriteNorFlash>(
    call: &ToolCall<'_, Store<'_, F>>,
    _: Value<'_>,
    result: &mut Writer<'_>,
) -> ToolResult {
    call.hub.factory_reset().await?;
    result.object(|object| {
        object.field("erased", true);
        object.field("restarting", true);
    });
    Ok(Success::saying(format_args!("Everything is forgotten, and the hub restarts now.")))
}
