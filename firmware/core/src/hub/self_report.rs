//! What the hub publishes about itself: `info`, and the answers and the summary of `health`.

use core::ops::ControlFlow;

use embassy_time::Instant;
use embedded_storage_async::nor_flash::MultiwriteNorFlash;

use crate::boot::BootReport;
use crate::clock::Source;
use crate::context::HubContext;
use crate::json::{Overflow, Writer};
use crate::limits;
use crate::platform::NetworkState;
use crate::store::Store;
use crate::tool::{CallCounts, EPILOGUE, Name};

/// Writes the payload of `health`: what is worth a graph.
pub(super) fn write_health_summary<S>(hub: &HubContext<'_, S>, buffer: &mut [u8]) -> Result<usize, Overflow> {
    let (usage, link) = (hub.platform.usage(), hub.port.counts());
    let (mut calls, mut failures, mut slowest) = (0u32, 0u32, (Name::new(), 0));
    hub.registry.each_count(&mut |name, counts| {
        calls = calls.saturating_add(counts.calls);
        failures = failures.saturating_add(counts.failures);
        if counts.slowest >= slowest.1 {
            slowest = (Name::try_from(name).unwrap_or_default(), counts.slowest);
        }
        ControlFlow::Continue(())
    });
    let mut writer = Writer::new(buffer);
    writer.object(|out| {
        out.field("uptime", Instant::now().as_secs());
        out.field("boot", hub.config.boot.reason.word());
        if let Some(signal) = (hub.network)().signal {
            out.field("signal", i64::from(signal));
        }
        // A size of zero means that the machine does not know.
        if usage.stack_size > 0 {
            out.field("stack", usage.stack_size.saturating_sub(usage.stack_peak));
        }
        if link.calls.calls > 0 {
            out.field("round_trip", link.calls.average());
        }
        fields(&[("calls", calls), ("failures", failures)], out);
        if calls > 0 {
            out.field("slowest", slowest.0.as_str());
            out.field("slowest_ms", slowest.1);
        }
    });
    writer.finish()
}

/// Writes the members of the reply. Tools that were called come last, from after the one called `after`; if not all fit,
/// `next` is the last one.
pub(super) fn write_health<F: MultiwriteNorFlash>(
    hub: &HubContext<'_, Store<'_, F>>,
    after: Option<&str>,
    out: &mut Writer<'_>,
) {
    let (usage, link, interlock) =
        (hub.platform.usage(), hub.port.counts(), hub.port.erase_interlock().counts());
    out.field("uptime", Instant::now().as_secs());
    write_boot(&hub.config.boot, out);
    let state = hub.port.status().read(|state, _| state.as_str());
    out.key("link");
    out.object(|out| {
        out.field("state", state);
        write_counts(&link.calls, out);
        fields(
            &[
                ("timeouts", link.timeouts),
                ("losses", link.losses),
                ("lines_ignored", link.lines_ignored),
                ("unanswered", link.unanswered),
                ("overruns", hub.platform.overruns()),
            ],
            out,
        );
    });
    out.key("mqtt");
    out.object(|out| {
        fields(
            &[
                ("reconnects", hub.broker.reconnects()),
                ("events_dropped", hub.events.evicted()),
                ("notices_dropped", hub.notices.dropped()),
            ],
            out,
        );
    });
    let network = (hub.network)();
    out.key("network");
    out.object(|out| {
        let (state, why) = match network.state {
            NetworkState::Off => ("off", None),
            NetworkState::Joining => ("joining", None),
            NetworkState::Joined => ("joined", None),
            NetworkState::Failed(why) => ("failed", Some(why)),
        };
        out.field("state", state);
        if let Some(why) = why {
            out.field("error", why);
        }
        if let Some(signal) = network.signal {
            out.field("signal", i64::from(signal));
        }
    });
    let time = hub.now().map_or(Source::None, |time| time.source);
    out.field("time", time.as_str());
    let memory = [("stack", usage.stack_peak, usage.stack_size), ("heap", usage.heap_peak, usage.heap_size)];
    // A size of zero means that the machine does not know.
    for (name, peak, size) in memory.into_iter().filter(|(.., size)| *size > 0) {
        out.key(name);
        out.object(|out| {
            out.field("peak", peak);
            out.field("size", size);
        });
    }
    out.key("store");
    out.object(|out| {
        // Left out while the store is in use.
        if let Ok(store) = hub.store.try_lock() {
            let (entries, bytes) = store.size();
            out.field("entries", entries);
            out.field("entries_free", limits::STORE_ENTRIES.saturating_sub(entries));
            out.field("bytes", bytes);
        }
        fields(&[("erases", interlock.erases), ("erases_in_calls", interlock.forced)], out);
    });
    write_tools(hub, after, out);
}

fn write_tools<S>(hub: &HubContext<'_, S>, after: Option<&str>, out: &mut Writer<'_>) {
    let mut last: Option<Name> = None;
    let mut is_cut = false;
    let mut has_begun = after.is_none();
    out.key("tools");
    out.array(|list| {
        hub.registry.each_count(&mut |name, counts| {
            if !has_begun {
                has_begun = after == Some(name);
                return ControlFlow::Continue(());
            }
            let before = list.mark();
            list.object(|out| {
                out.field("name", name);
                write_counts(counts, out);
            });
            // For what follows the list.
            is_cut = list.room() < limits::TRANSACTION + limits::TOOL_NAME + 64;
            if is_cut {
                list.rewind(before);
                return ControlFlow::Break(());
            }
            last = Name::try_from(name).ok();
            ControlFlow::Continue(())
        });
    });
    if let Some(last) = last.filter(|_| is_cut) {
        out.field("next", last.as_str());
    }
}

fn write_counts(counts: &CallCounts, out: &mut Writer<'_>) {
    let CallCounts { calls, failures, slowest, .. } = *counts;
    let average = counts.average();
    fields(
        &[("calls", calls), ("failures", failures), ("average_ms", average), ("slowest_ms", slowest)],
        out,
    );
}

fn fields(fields: &[(&str, u32)], out: &mut Writer<'_>) {
    fields.iter().for_each(|(name, value)| out.field(name, *value));
}

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
pub(super) fn write_info<S>(hub: &HubContext<'_, S>, buffer: &mut [u8]) -> Result<usize, Overflow> {
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
pub(super) fn write_boot(boot: &BootReport, out: &mut Writer<'_>) {
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
