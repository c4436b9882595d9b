//! Shortens result objects. The shortened form is still a result object.

use core::fmt::{self, Display};

use crate::json::{Cut, Value};
use crate::text::{Escape, Measure, is_blank};

/// A result object in at most `room` bytes: whole if it fits, otherwise with the end of its longest member cut and
/// marked, otherwise only `success` and as much of the words for the person as fits. In any case it states the success
/// and the error type, which takes up to 64 bytes.
pub struct Shortened<'a> {
    /// The object as JSON.
    pub result: &'a str,
    /// The maximum length in bytes.
    pub room: usize,
}

impl Display for Shortened<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { result, room } = *self;
        if result.len() <= room {
            return f.write_str(result);
        }
        match Cut::new(result, room) {
            Some(cut) => cut.fmt(f),
            None => write_brief(result, room, f),
        }
    }
}

/// The same, but the words for the person have priority over the tool's result. Enough to remember an earlier call.
pub struct Summary<'a> {
    /// The object as JSON.
    pub result: &'a str,
    /// The maximum length in bytes.
    pub room: usize,
}

impl Display for Summary<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { result, room } = *self;
        if object(result).get("message").is_some() {
            write_brief(result, room, f)
        } else {
            Shortened { result, room }.fmt(f)
        }
    }
}

/// Parses a result. It was validated when it was written.
fn object(result: &str) -> Value<'_> {
    Value::unchecked(result.as_bytes()).unwrap_or(Value::NULL)
}

/// Writes `success` and the words for the person: as `message` of a success, or as `error` of a failure, beside its
/// `error_type`. The words are cut to fit, or left out.
fn write_brief(result: &str, room: usize, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    /// A shorter message carries no information.
    const LEAST: usize = 16;
    let object = object(result);
    let text = |name| object.get(name).and_then(|text| text.as_text());
    let success = object.get("success").is_some_and(|success| success.text() == "true");
    let head = format_args!("{{\"success\":{success}");
    let kind = text("error_type").map(|kind| kind.escaped()).filter(|kind| !success && kind.len() < 24);
    let (before, kind, after) = match kind {
        Some(kind) => (",\"error_type\":\"", kind, "\""),
        None => ("", "", ""),
    };
    write!(f, "{head}{before}{kind}{after}")?;
    let words = text("message").or_else(|| text("error")).filter(|words| !is_blank(words));
    let name = if success { "message" } else { "error" };
    let frame = ",\"\":\"\"}".len() + name.len();
    let used = Measure::Plain.length(&head) + before.len() + kind.len() + after.len() + frame;
    if let Some(words) = words
        && let Some(room) = room.checked_sub(used).filter(|room| *room >= LEAST)
    {
        write!(f, ",\"{name}\":\"")?;
        Measure::Escaped.write_marked(&words, room, "…", &mut Escape(f))?;
        f.write_str("\"")?;
    }
    f.write_str("}")
}
