//! `echo`: gives back what it was called with, to test the way to the hub.

use crate::json::{Value, Writer};
use crate::tool::Tool;

/// Answers `{"echo": <arguments>}`.
pub(super) static TOOL: Tool = Tool { name: "echo", handler: echo };

fn echo(arguments: Value<'_>, result: &mut Writer<'_>) {
    result.object(|object| object.field("echo", arguments));
}
