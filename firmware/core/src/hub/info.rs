//! What the hub publishes about itself on `info`.

use core::ops::ControlFlow;

use crate::boot::Report;
use crate::context::HubContext;
use crate::json::{Overflow, Writer};
use crate::limits;
use crate::tool::EPILOGUE;

/// The limits that people meet, by name: of what is longer or more, `docs/limits.md` says what becomes.
pub const LIMITS: [(&str, usize); 19] = [
    ("request", limits::REQUEST),
    ("reply", limits::REPLY),
    ("jobs", limits::JOBS),
    ("response_topic", limits::RESPONSE_TOPIC),
    ("correlation_data", limits::CORRELATION),
    ("transaction", limits::TRANSACTION),
    ("tools", limits::TOOLS),
    ("devices", limits::DEVICES),
    ("tool_result", limits::REPLY - EPILOGUE),
    ("document", limits::DOCUMENT),
    ("turns", limits::RUNNING_TURNS),
    ("conversations", limits::CONVERSATIONS),
    ("conversation", limits::HISTORY),
    ("prompt", limits::PROMPT),
    ("llm_request", limits::MQTT_SEND),
    ("llm_reply", limits::LLM_REPLY),
    ("llm_tool_calls", limits::CALLS_AT_ONCE),
    ("llm_tool_result", limits::RESULT),
    ("llm_rounds", limits::ITERATIONS_MOST as usize),
];

/// Writes the payload of `info`, and returns its length.
pub(super) fn write<S>(hub: &HubContext<'_, S>, buffer: &mut [u8]) -> Result<usize, Overflow> {
    let mut writer = Writer::new(buffer);
    writer.object(|info| {
        info.field("name", hub.identity.name());
        info.field("version", env!("CARGO_PKG_VERSION"));
        info.field("target", hub.config.target);
        write_boot(&hub.config.boot, info);
        hub.port.status().read(|state, controller| {
            info.field("link", state.as_str());
            if !controller.name.is_empty() {
                info.key("controller");
                info.object(|out| {
                    out.field("name", controller.name.as_str());
                    out.field("version", controller.version.as_str());
                    out.field("tools", controller.tools);
                    out.field("left_out", controller.left_out);
                });
            }
        });
        info.field("tools", hub.registry.len());
        let (devices, left_out) = hub.home.announced();
        info.field("devices", devices);
        if left_out > 0 {
            info.field("devices_left_out", left_out);
        }
        // Those for which a question to a model had no room.
        let left_out = hub.conversations.left_out(hub.registry);
        if !left_out.is_empty() {
            info.key("tools_left_out");
            info.array(|list| {
                left_out.each(hub.registry, |name| {
                    list.value(name);
                    ControlFlow::Continue(())
                });
            });
        }
        info.key("limits");
        info.object(|out| LIMITS.iter().for_each(|(name, value)| out.field(name, *value)));
    });
    writer.finish()
}

/// Writes the member `boot`: why the hub started.
pub(super) fn write_boot(boot: &Report, out: &mut Writer<'_>) {
    out.key("boot");
    out.object(|out| {
        out.field("reason", boot.reason.word());
        out.field("count", boot.count);
        if let Some(failure) = boot.last_failure.filter(|failure| *failure != boot.reason) {
            out.field("last_failure", failure.word());
        }
        if !boot.message().is_empty() {
            out.field("message", boot.message());
        }
        if let Some(address) = boot.address() {
            out.field("address", format_args!("{address:#010x}"));
        }
        if boot.is_safe_mode() {
            out.field("safe_mode", true);
        }
    });
}
