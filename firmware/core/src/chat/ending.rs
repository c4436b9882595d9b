//! How a turn ended, and the reply to whoever began it.

use core::fmt::{self, Display};

use super::history::{Call, History};
use super::provider::{ProviderError, Trouble};
use super::reply::Content;
use super::settings::TurnSettings;
use crate::json::{Value, Writer};
use crate::limits;
use crate::questions::Unanswered;
use crate::text::{MARK, Measure, is_blank};

/// The answer of a model that never stops calling.
pub const OUT_OF_ITERATIONS: &str = "I reached the maximum number of tool calls...";

/// The answer of a model that stops without a word, and not because it is done.
pub const ISSUE: &str = "I encountered an issue...";

/// What is said aloud if the model says nothing.
const NOTHING: &str = "I have nothing to say to that.";

/// How a turn ended. Shown, it is what the person hears.
#[derive(Clone, Copy, Debug)]
pub enum Ending<'r> {
    /// With the model's answer.
    Answered(Content<'r>),
    /// With as many rounds of calls as the rule allows, and still no answer.
    OutOfIterations,
    /// The model stopped for another reason than that it was done. This is what it had said.
    Unexpected(Content<'r>),
    /// With nothing.
    Failed(Failed<'r>),
}

/// Why there is no answer.
#[derive(Clone, Copy, Debug)]
pub enum Failed<'r> {
    /// The provider replied with an error, or with nothing that makes sense.
    Provider(ProviderError<'r>),
    /// The question got no reply.
    Unanswered(Unanswered),
    /// It took too long.
    TimedOut,
    /// Nobody wanted to know any more.
    Cancelled,
    /// What the model wants is more than a conversation holds.
    Full,
}

impl Failed<'_> {
    /// As it stands in a reply, and what the person hears.
    const fn words(&self) -> (&'static str, &'static str) {
        const PROBLEM: (&str, &str) = ("provider_error", "Sorry, my language model reports a problem.");
        const LARGE: (&str, &str) = ("too_large", "Sorry, that is too much for me at once.");
        const LATE: (&str, &str) = ("timeout", "Sorry, that took too long.");
        const AWAY: (&str, &str) = ("unavailable", "Sorry, I cannot reach my language model right now.");
        match self {
            // It is the same to people whether the hub or the relay noticed.
            Self::Provider(ProviderError::Relay { trouble, .. }) => match trouble {
                Trouble::Late => LATE,
                Trouble::Away => AWAY,
                Trouble::Large => LARGE,
                Trouble::Garbled => PROBLEM,
            },
            Self::Provider(_) => PROBLEM,
            Self::Unanswered(Unanswered::LongQuestion | Unanswered::LongAnswer(_)) | Self::Full => LARGE,
            Self::TimedOut => LATE,
            // Not even the relay said anything.
            Self::Unanswered(Unanswered::Silent) => (LATE.0, AWAY.1),
            Self::Unanswered(Unanswered::Offline | Unanswered::Lost | Unanswered::Busy) => AWAY,
            Self::Cancelled => ("cancelled", "I stopped."),
        }
    }

    /// As it stands in a reply.
    pub const fn error_type(&self) -> &'static str {
        self.words().0
    }

    /// What the person hears.
    pub const fn spoken(&self) -> &'static str {
        self.words().1
    }
}

impl Display for Failed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Provider(error) => write!(f, "{error}"),
            Self::Unanswered(Unanswered::LongAnswer(size)) => {
                write!(f, "the model's reply of {size} bytes is larger than the hub can take")
            }
            Self::Unanswered(why) => f.write_str(match why {
                Unanswered::Offline => "the hub has no connection to the broker",
                Unanswered::Lost => "the broker lost track of the question",
                Unanswered::Busy => "as many questions as can be are waiting for a model",
                Unanswered::Silent => "no relay answered in time",
                Unanswered::LongQuestion | Unanswered::LongAnswer(_) => {
                    "the question is larger than the hub can send"
                }
            }),
            Self::TimedOut => f.write_str("the turn took too long and was stopped"),
            Self::Cancelled => f.write_str("the turn was cancelled"),
            Self::Full => f.write_str("the calls of the model are larger than a conversation can hold"),
        }
    }
}

/// Why there is no answer, with who was asked where that is the question.
pub struct Reason<'a> {
    /// Why.
    pub failed: &'a Failed<'a>,
    /// The settings of the turn.
    pub settings: &'a TurnSettings,
}

impl Display for Reason<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.failed)?;
        match self.failed {
            Failed::Unanswered(Unanswered::Silent) => write!(
                f,
                " for {} ({}); check that one runs that serves it, and that its model is fast enough",
                self.settings.provider.name(),
                self.settings.model
            ),
            _ => Ok(()),
        }
    }
}

impl Display for Ending<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unexpected(content) if content.is_blank() => f.write_str(ISSUE),
            Self::Answered(content) | Self::Unexpected(content) => content.fmt(f),
            Self::OutOfIterations => f.write_str(OUT_OF_ITERATIONS),
            Self::Failed(failed) => f.write_str(failed.spoken()),
        }
    }
}

impl Ending<'_> {
    /// Writes what the person hears as the member `text`. What is too long is cut; so much as `reserved` is left for what
    /// the caller adds.
    pub fn speak(&self, reserved: usize, out: &mut Writer<'_>) {
        let room = out.room().saturating_sub(reserved + 32);
        out.key("text");
        out.string(|text| match is_blank(self) {
            true => text.write_str(NOTHING),
            false => Measure::Escaped.write(self, room, text),
        });
    }

    /// Writes the members of the reply into the open object: `content`, `service`, `model`, `tool_calls` and, if so,
    /// `max_iterations_reached`. If the turn failed: `success`, `error`, `error_type`, `message` and `tool_calls`.
    ///
    /// `history` is that of the turn, before another one begins. What is too long is cut, texts with a mark; what does
    /// not fit at all of the calls is counted in `tool_calls_left_out`. So much as `reserved` is left for what the caller
    /// adds.
    pub fn write(&self, settings: &TurnSettings, history: &History, reserved: usize, out: &mut Writer<'_>) {
        let count = history.calls().count();
        match self {
            Self::Failed(failed) => {
                out.field("success", false);
                out.field("error", format_args!("{}", Reason { failed, settings }));
                out.field("error_type", failed.error_type());
                out.field("message", failed.spoken());
            }
            _ => {
                let service = settings.provider.name();
                let names = service.len() + settings.model.len() + 128;
                let room = out.room().saturating_sub(reserved + names);
                // Half of the room at most goes to the calls, if the answer needs the rest.
                let room = room - (count * limits::CALL_LEAST).min(room / 2);
                out.key("content");
                out.string(|text| Measure::Escaped.write(self, room, text));
                out.field("service", service);
                out.field("model", settings.model.as_str());
                if matches!(self, Self::OutOfIterations) {
                    out.field("max_iterations_reached", true);
                }
            }
        }
        let mut written = 0;
        out.key("tool_calls");
        let list = out.open_array();
        for call in history.calls() {
            let room = out.room().saturating_sub(reserved + 64);
            // What one call leaves is there for the others; better some than none.
            let share = (room / (count - written).max(1)).max(limits::CALL_LEAST).min(room);
            if !write_call(&call, share, out) {
                break;
            }
            written += 1;
        }
        out.close(list);
        if written < count {
            out.field("tool_calls_left_out", count - written);
        }
    }
}

/// Writes a call in at most so much room, unless that is too little.
fn write_call(call: &Call<'_>, room: usize, out: &mut Writer<'_>) -> bool {
    const FRAME: usize = r#",{"tool":"","params":"","result":"","iteration":255}"#.len();
    let Some(room) = room.checked_sub(FRAME + call.name.len()).filter(|room| *room >= 2 * MARK.len()) else {
        return false;
    };
    let params = call.arguments().text();
    let wanted = value_length(call.result());
    // Parameters may take what the result leaves, and half of the room in any case.
    let for_params = params.len().min((room / 2).max(room.saturating_sub(wanted)));
    let object = out.open();
    out.field("tool", call.name);
    out.key("params");
    write_value(params, for_params, out);
    out.key("result");
    write_value(call.result(), room - for_params, out);
    out.field("iteration", u32::from(call.iteration));
    out.close(object);
    true
}

/// What a text takes as a value: as it is if it is JSON, or else as a string without its quotes.
fn value_length(text: &str) -> usize {
    match Value::parse(text.as_bytes()) {
        Ok(value) => value.text().len(),
        Err(_) => Measure::Escaped.length(&text),
    }
}

/// Writes JSON as it is, if there is room; or else, and if it is none, as much of the text as fits.
fn write_value(text: &str, room: usize, out: &mut Writer<'_>) {
    match Value::parse(text.as_bytes()) {
        Ok(value) if value.text().len() <= room => out.value(value),
        _ => out.string(|out| Measure::Escaped.write(&text, room, out)),
    }
}
