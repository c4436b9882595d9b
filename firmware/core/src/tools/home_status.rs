//! `home_status`: what is on, open, unlocked, low on battery or dead. (A tool's parts are explained in this folder's README.md.)

use core::fmt::Write as _;

use heapless::String;

use super::Toolbox;
use crate::home::{Device, Notable, Survey};
use crate::json::{Value, Writer};
use crate::limits;
use crate::text::Measure;
use crate::tool::{EPILOGUE, ErrorType, Example, Failure, Success, Tool};

/// Batteries with less than this many percent are low.
const LOW: u8 = 20;

pub(super) static TOOL: Tool<'static> = Tool {
    description: "Tells what stands out in the home.\n\nThat is what is on, open, unlocked, active, low on battery or does \
                  not answer. Use it when somebody asks how the home is, or what is still on. It knows without asking the \
                  devices.",
    schema: r#"{"type":"object","properties":{"room":{"type":"string","minLength":1,"maxLength":32,"description":"Only the devices in this room; left out, all of them"}}}"#,
    usage: "home_status({}) or home_status({\"room\": \"...\"})",
    examples: &[Example {
        code: "home_status({\"room\": \"Hall\"})  ->  {\"on\": [\"Hall Light\"]}",
        explanation: "The hall is lit; nothing else stands out there.",
    }],
    ..Tool::builtin("home_status")
};

/// What a device can be listed under: the key, what a person hears before the names, and whether it belongs there.
type Row = (&'static str, &'static str, fn(&Device<'_>) -> bool);

const ROWS: [Row; 6] = [
    ("on", "On", |device| stands_out(device, Notable::On)),
    ("open", "Open", |device| stands_out(device, Notable::Open)),
    ("unlocked", "Unlocked", |device| stands_out(device, Notable::Unlocked)),
    ("active", "Active", |device| stands_out(device, Notable::Active)),
    ("low_battery", "Low on battery", |device| device.battery.is_some_and(|percent| percent < LOW)),
    ("dead", "Not answering", |device| !device.is_available),
];

fn stands_out(device: &Device<'_>, how: Notable) -> bool {
    device.is_available && device.kind.stands_out(device.state()) == Some(how)
}

pub(super) async fn run<P, S>(
    toolbox: &Toolbox<'_, P, S>,
    arguments: Value<'_>,
    result: &mut Writer<'_>,
) -> Result<Success, Failure> {
    let home = toolbox.home;
    if !home.is_known() {
        let why = if home.is_unsupported() {
            "The controller offers no devices; use its own tools"
        } else {
            "The controller is not connected, or its devices are still being read"
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
        return Err(failure.saying(format_args!("I know no devices in {room}.")));
    }
    let mut words = String::<{ limits::OUTCOME_TEXT }>::new();
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
                    list.value(device.name);
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
                    // What does not fit is in the result.
                    let _ = write!(words, "{separator}{label}{colon}{}", device.name);
                    is_first = false;
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
    let mut message = String::new();
    // It fits.
    let _ = match home.count() {
        (_, 0) => Measure::Plain.write_marked(&format_args!("{words}."), limits::OUTCOME_TEXT, "…", &mut message),
        (_, more) => write!(message, "I do not know {more} more devices. ")
            .and_then(|()| Measure::Plain.write_marked(&words, limits::OUTCOME_TEXT - 64, "…", &mut message)),
    };
    Ok(Success { message: Some(message), ..Success::PLAIN })
}
