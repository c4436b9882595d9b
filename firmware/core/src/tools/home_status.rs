//! `home_status`: devices with an alarm, unlocked, open, on, active, low on battery or dead. (A tool's parts are explained in this folder's README.md.)

use core::fmt::Write as _;

use embassy_time::{Instant, Timer};
use heapless::String;

use super::ToolCall;
use crate::context::HubContext;
use crate::home::{Device, Knowledge, Notable, Survey};
use crate::json::{Value, Writer};
use crate::limits;
use crate::link::LinkState;
use crate::text::Measure;
use crate::tool::{EPILOGUE, ErrorType, Example, Failure, Success, Tool, ToolResult};

/// Batteries with less than this many percent are low.
const LOW: u8 = 20;

pub(super) static TOOL: Tool<'static> = Tool {
    description: "Reports notable device states.\n\nLists devices that give an alarm, are unlocked, open, on, active, low on \
                  battery or not answering. Use it when somebody asks how the home is, or what is still on. It does not query the \
                  devices.",
    schema: r#"{"type":"object","properties":{"room":{"type":"string","minLength":1,"maxLength":32,"description":"Only the devices in this room; left out, all of them"}}}"#,
    usage: "home_status({}) or home_status({\"room\": \"...\"})",
    examples: &[Example {
        code: "home_status({\"room\": \"Hall\"})  ->  {\"on\": [\"Hall Light\"]}",
        explanation: "The hall is lit; nothing else stands out there.",
    }],
    ..Tool::builtin("home_status")
};

/// A row of the status: the key, the words before the names, and whether a device belongs there. The most important
/// rows come first, because the end may be cut.
type StatusRow = (&'static str, &'static str, fn(&Device<'_>) -> bool);

const ROWS: [StatusRow; 7] = [
    ("alarm", "Alarm", |device| stands_out(device, Notable::Alarm)),
    ("unlocked", "Unlocked", |device| stands_out(device, Notable::Unlocked)),
    ("open", "Open", |device| stands_out(device, Notable::Open)),
    ("on", "On", |device| stands_out(device, Notable::On)),
    ("active", "Active", |device| stands_out(device, Notable::Active)),
    ("low_battery", "Low on battery", |device| device.battery.is_some_and(|percent| percent < LOW)),
    ("dead", "Not answering", |device| !device.is_available),
];

fn stands_out(device: &Device<'_>, how: Notable) -> bool {
    device.is_available && device.kind.notable(device.state()) == Some(how)
}

/// Waits for devices that will soon be known: the controller is being reached, has just connected, or is being asked
/// again for its list.
async fn settle<S>(call: &ToolCall<'_, S>) {
    let HubContext { home, port, .. } = *call.hub;
    let until = Instant::now() + limits::HOME_SETTLES;
    let is_connecting = || port.status().read(|state, _| state == LinkState::Connecting);
    while (home.is_being_read(until) || is_connecting()) && Instant::now() < until {
        Timer::after(limits::HOME_POLL_SETTLED).await;
    }
}

pub(super) async fn run<S>(
    call: &ToolCall<'_, S>,
    arguments: Value<'_>,
    result: &mut Writer<'_>,
) -> ToolResult {
    let home = call.hub.home;
    settle(call).await;
    if !home.is_known() {
        let why = match home.knowledge() {
            Knowledge::NoDevices => "The controller offers no devices; use its own tools",
            Knowledge::NoController => "The controller is not connected",
            Knowledge::ListFailed => "The controller could not list its devices; the hub keeps trying",
            Knowledge::Unlisted | Knowledge::Reading | Knowledge::Incomplete | Knowledge::Complete => {
                "The devices are still being read"
            }
        };
        return Err(Failure::new(ErrorType::Unavailable, format_args!("{why}"))
            .saying(format_args!("I do not know how the home is right now.")));
    }
    let room: Option<String<{ limits::DEVICE_ROOM }>> =
        arguments.get("room").and_then(|room| room.as_text()).and_then(|room| room.decode());
    let survey = Survey { room: room.as_deref() };
    let (mut count, mut is_cut) = (0usize, false);
    home.survey(&survey, &mut |_| count += 1);
    if let Some(room) = room.as_deref().filter(|_| count == 0) {
        let failure = Failure::new(ErrorType::NotFound, format_args!("No device is in a room called '{room}'"));
        return Err(failure.saying(format_args!("I don't know any devices in {room}.")));
    }
    let mut words = String::<{ limits::OUTCOME_TEXT }>::new();
    let mut end = ".";
    result.object(|out| {
        for (key, label, belongs) in ROWS {
            let mut is_first = true;
            let before = out.mark();
            out.key(key);
            out.array(|list| {
                home.survey(&survey, &mut |device| {
                    if !belongs(device) || is_cut {
                        return;
                    }
                    let before = list.mark();
                    let name = home.distinct_name(device);
                    list.value(format_args!("{name}"));
                    if list.room() < EPILOGUE + 64 {
                        list.rewind(before);
                        is_cut = true;
                        return;
                    }
                    let separator = match (is_first, words.is_empty()) {
                        (true, true) => "",
                        (true, false) => ". ",
                        (false, _) => ", ",
                    };
                    let label = if is_first { label } else { "" };
                    let colon = if is_first { ": " } else { "" };
                    is_first = false;
                    // The rest is in the result. After a name that does not fit, no shorter one may follow, because it
                    // would matter less.
                    let before = words.len();
                    if end == "…" || write!(words, "{separator}{label}{colon}{name}").is_err() {
                        words.truncate(before);
                        end = "…";
                    }
                });
            });
            if is_first {
                out.rewind(before);
            }
        }
        if is_cut {
            out.field("more", true);
        }
    });
    let words = if words.is_empty() { "Nothing is on, open or unlocked" } else { &words };
    let words = format_args!("{words}{end}");
    let mut message = String::new();
    // It fits.
    let _ = match home.count() {
        (_, 0) => Measure::Plain.write_marked(&words, limits::OUTCOME_TEXT, "…", &mut message),
        (_, more) => write!(message, "Without {more} more devices that I do not keep. ")
            .and_then(|()| Measure::Plain.write_marked(&words, limits::OUTCOME_TEXT - 64, "…", &mut message)),
    };
    Ok(Success { message: Some(message), ..Success::PLAIN })
}
