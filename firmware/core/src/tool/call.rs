//! One call of a tool, from its name and arguments to the result object.

use embassy_time::Instant;

use super::Tool;
use crate::json::{Text, Value, Writer};
use crate::log::{info, warn};

/// Calls the tool `name` of `tools`, and writes the members of the result object into the open object of
/// `reply`: `success`, `result` or `error` and `error_type`, `tool_name`, `execution_time_ms`.
pub fn call(tools: &[&Tool], name: Text<'_>, arguments: Value<'_>, reply: &mut Writer<'_>) {
    let start = Instant::now();
    let known = tools.iter().find(|tool| name == *tool.name);
    let before = reply.mark();
    match known {
        Some(tool) => {
            reply.field("success", true);
            reply.key("result");
            (tool.handler)(arguments, reply);
            if reply.overflowed() {
                warn!("tool {}: the result is too large to send", tool.name);
                reply.rewind(before);
                fail(reply, format_args!("The result of '{name}' is too large"), "too_large");
            } else {
                info!("tool {}: done in {} ms", tool.name, start.elapsed().as_millis());
            }
        }
        None => {
            warn!("tool {}: not found", name.excerpt::<{ crate::limits::TOOL_NAME }>().as_str());
            fail(reply, format_args!("Tool '{name}' not found"), "not_found");
        }
    }
    reply.field("tool_name", name);
    reply.field("execution_time_ms", start.elapsed().as_millis());
}

fn fail(reply: &mut Writer<'_>, error: core::fmt::Arguments<'_>, error_type: &str) {
    reply.field("success", false);
    reply.field("error", error);
    reply.field("error_type", error_type);
}
