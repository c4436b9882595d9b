//! `datetime`: what day and what time it is. (A tool's parts are explained in this folder's README.md.)

use embedded_storage_async::nor_flash::MultiwriteNorFlash;

use super::ToolCall;
use crate::context::HubContext;
use crate::json::{Value, Writer};
use crate::settings::TIME_ZONE;
use crate::store::Store;
use crate::tool::{ErrorType, Example, Failure, Hints, Success, Tool, ToolResult};
use crate::zone::{Date, Rule, Zone};

pub(super) static TOOL: Tool<'static> = Tool {
    description: "Tells the date and the time.\n\nUse it whenever the answer depends on what day or what time it is at \
                  the hub; do not guess.",
    usage: "datetime({})",
    examples: &[Example {
        code: "datetime({})  ->  {\"date\": \"2026-11-16\", \"time\": \"08:30:00\", \"weekday\": \"Monday\", \"utc_offset\": \"+01:00\", \
               \"zone\": \"Europe/Berlin\", \"source\": \"sntp\"}",
        explanation: "The local time at the hub, how far it is ahead of UTC, and who set the hub's clock.",
    }],
    hints: Hints { read_only: Some(true), ..Hints::NONE },
    ..Tool::builtin("datetime")
};

pub(super) async fn run<F: MultiwriteNorFlash>(
    call: &ToolCall<'_, Store<'_, F>>,
    _: Value<'_>,
    result: &mut Writer<'_>,
) -> ToolResult {
    let opened = result.open();
    let date = write_now(call.hub, result).await;
    result.close(opened);
    let Some(date) = date else {
        let words = "The time is not known yet: no time server has answered, and nobody has set it. Check time.server and \
                     the hub's way to the Internet, or send request/time/set";
        return Err(Failure::new(ErrorType::Unavailable, format_args!("{words}"))
            .saying(format_args!("Sorry, I do not know what time it is."))
            .instructing("Do not guess the date or the time."));
    };
    let (time, day) = (date.time_text(), date.day_text());
    Ok(Success::saying(format_args!("It is {time} on {}, {day}.", date.weekday_name())))
}

/// Writes the local time as members. `None` and nothing if the time is not known.
pub(crate) async fn write_now<F: MultiwriteNorFlash>(
    hub: &HubContext<'_, Store<'_, F>>,
    out: &mut Writer<'_>,
) -> Option<Date> {
    let now = hub.now()?;
    let text = TIME_ZONE.value(&mut *hub.store.lock().await, hub.config).await;
    // Only what the firmware was built with can be no zone.
    let (name, rule) = Zone::find(&text).map_or(("UTC", Rule::UTC), |zone| (&*text, zone.rule));
    let date = rule.date_at(now.unix_seconds);
    out.field("date", &*date.day_text());
    out.field("time", &*date.time_text());
    out.field("weekday", date.weekday_name());
    let offset = rule.offset_at(now.unix_seconds);
    let sign = if offset < 0 { '-' } else { '+' };
    let minutes = offset.unsigned_abs() / 60;
    out.field("utc_offset", format_args!("{sign}{:02}:{:02}", minutes / 60, minutes % 60));
    out.field("zone", name);
    out.field("source", now.source.as_str());
    Some(date)
}
