//! `example_greeting`: shows how a tool is made. (A tool's parts are explained in this folder's README.md.)

use super::ToolCall;
use crate::json::{Value, Writer};
use crate::limits;
use crate::tool::{Example, Success, Tool, ToolResult};

pub(super) static TOOL: Tool<'static> = Tool {
    description: "Greets somebody by name.\n\nAn example of a tool, which is there only when example tools are on.",
    schema: r#"{"type":"object","properties":{"name":{"type":"string","minLength":1,"maxLength":40,"description":"Whom to greet"},"style":{"enum":["plain","warm"],"description":"How to greet: plain (if left out) or warm"}},"required":["name"]}"#,
    usage: "example_greeting({\"name\": \"...\", \"style\": \"plain\" or \"warm\"})",
    examples: &[Example {
        code: "example_greeting({\"name\": \"Ada\", \"style\": \"warm\"})  ->  {\"greeting\": \"Lovely to see you, Ada!\"}",
        explanation: "A warm greeting for Ada.",
    }],
    ..Tool::builtin("example_greeting")
};

pub(super) async fn run<S>(
    _: &ToolCall<'_, S>,
    arguments: Value<'_>,
    result: &mut Writer<'_>,
) -> ToolResult {
    let text = |name| arguments.get(name).and_then(|value| value.as_text());
    let name = text("name").map(|name| name.excerpt::<{ limits::QUOTE }>()).unwrap_or_default();
    let is_warm = text("style").is_some_and(|style| style == *"warm");
    let (before, after) = if is_warm { ("Lovely to see you, ", "!") } else { ("Hello ", ".") };
    result.object(|object| object.field("greeting", format_args!("{before}{name}{after}")));
    Ok(Success::saying(format_args!("{before}{name}{after}")))
}
