//! How a turn ended, and the reply to the caller.

use core::fmt::{self, Display, Write};

use hub_contract::RELAY_AVAILABILITY;

use super::call_report::CallReport;
use super::history::{History, ModelCall};
use super::provider::{ProviderError, RelayError};
use super::reply::{FinishReason, ModelText};
use super::turn::TurnSettings;
use crate::json::{Cut, Value, Writer};
use crate::limits;
use crate::questions::Unanswered;
use crate::text::spoken::{Spoken, Voice};
use crate::text::{MARK, Measure, is_blank};
use crate::tool::Shortened;

/// The answer when the model still asks for calls after the last iteration.
pub const OUT_OF_ITERATIONS: &str = "I reached the maximum number of tool calls...";

/// What the person hears if the model stops early and without text, before the reason.
macro_rules! issue {
    ($why:literal) => {
        concat!("I encountered an issue... ", $why)
    };
}

/// At the end of an answer that the model could not finish.
const CUT: &str = "... [cut: the model reached its limit of tokens]";

/// At the end of what the model said before it refused to go on.
const REFUSED: &str = " [my language model refused to say more]";

/// At the end of an answer that is too long to be said.
const LONG: &str = "... The rest is too long to say.";

/// What the person hears if nothing in an answer can be said, such as a smiling face.
const WORDLESS: &str = "Okay.";

/// How a turn ended. The displayed text is what the person hears. If there is no answer, a report of what was done is
/// added.
#[derive(Clone, Copy, Debug)]
pub enum Ending<'r> {
    /// With the model's answer.
    Answered(ModelText<'r>),
    /// With no answer after as many rounds of calls as the rule allows.
    OutOfIterations,
    /// The model reached its limit of tokens, with this text so far.
    Cut(ModelText<'r>),
    /// The model stopped for an unknown reason, with this text so far.
    Unexpected(ModelText<'r>),
    /// With no answer.
    Failed(TurnFailure<'r>),
}

/// Why there is no answer.
#[derive(Clone, Copy, Debug)]
pub enum TurnFailure<'r> {
    /// The provider or the relay replied with an error, or the reply is malformed.
    Provider(ProviderError<'r>),
    /// The question got no reply.
    Unanswered(Unanswered),
    /// The model stopped without an answer.
    NoAnswer {
        /// Why it stopped.
        finish: FinishReason<'r>,
        /// If it refuses: what it said before, or why.
        words: ModelText<'r>,
    },
    /// It took too long.
    TimedOut,
    /// Somebody cancelled it.
    Cancelled,
    /// The model's calls do not fit into the history.
    HistoryFull,
}

impl TurnFailure<'_> {
    /// The `error_type` of the reply, and what the person hears.
    const fn words(&self) -> (&'static str, &'static str) {
        const PROBLEM: (&str, &str) = ("provider_error", "Sorry, my language model reports a problem.");
        const LARGE: (&str, &str) = ("too_large", "Sorry, that is too much for me at once.");
        const LATE: (&str, &str) = ("timeout", "Sorry, that took too long.");
        const AWAY: (&str, &str) = ("unavailable", "Sorry, I cannot reach my language model right now.");
        match self {
            // The same texts as for errors that the hub detects itself.
            Self::Provider(ProviderError::Relay { error, .. }) => match error {
                RelayError::Timeout => LATE,
                RelayError::Unavailable => AWAY,
                RelayError::TooLarge => LARGE,
                RelayError::Malformed => PROBLEM,
            },
            Self::Provider(_) => PROBLEM,
            Self::Unanswered(Unanswered::LongQuestion | Unanswered::LongAnswer(_)) | Self::HistoryFull => {
                LARGE
            }
            Self::NoAnswer { finish, .. } => match finish {
                FinishReason::Stop => ("no_answer", "Sorry, my language model gave no answer."),
                FinishReason::Length => {
                    ("no_answer", issue!("My language model ran out of tokens before it said anything."))
                }
                FinishReason::Refused(_) => ("refused", issue!("My language model refused to answer that.")),
                FinishReason::ToolCalls | FinishReason::Other(_) => {
                    ("no_answer", issue!("My language model stopped without an answer."))
                }
            },
            Self::TimedOut => LATE,
            // Not even the relay answered.
            Self::Unanswered(Unanswered::Silent) => (LATE.0, AWAY.1),
            Self::Unanswered(Unanswered::NoRelay) => {
                (AWAY.0, "Sorry, I cannot reach my language model: no relay is running.")
            }
            Self::Unanswered(Unanswered::Offline | Unanswered::Lost | Unanswered::Busy) => AWAY,
            Self::Cancelled => ("cancelled", "I stopped."),
        }
    }

    /// The `error_type` of the reply.
    pub const fn error_type(&self) -> &'static str {
        self.words().0
    }

    /// What the person hears.
    pub const fn spoken(&self) -> &'static str {
        self.words().1
    }
}

impl Display for TurnFailure<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Provider(error) => write!(f, "{error}"),
            Self::Unanswered(Unanswered::LongAnswer(size)) => {
                write!(f, "the model's reply of {size} bytes is larger than the hub can take")
            }
            Self::Unanswered(why) => f.write_str(match why {
                Unanswered::Offline => "the hub has no connection to the broker",
                Unanswered::NoRelay => return write!(f, "{RELAY_AVAILABILITY} says offline: start a relay"),
                Unanswered::Lost => "the broker lost track of the question",
                Unanswered::Busy => "as many questions as can be are waiting for a model",
                Unanswered::Silent => "no relay answered in time",
                Unanswered::LongQuestion | Unanswered::LongAnswer(_) => {
                    "the question is larger than the hub can send, or than the broker takes"
                }
            }),
            Self::NoAnswer { finish: FinishReason::Stop, .. } => {
                f.write_str("the model's answer is empty; ask again, or choose another model in the rule")
            }
            Self::NoAnswer { finish: FinishReason::Length, .. } => {
                f.write_str("the model used all its tokens before it said anything")
            }
            Self::NoAnswer { finish: FinishReason::Refused(name), words } => {
                write!(f, "the model or a filter of its provider refused to answer ({name})")?;
                if !words.is_blank() {
                    f.write_str(": ")?;
                    write_beginning(words, f)?;
                }
                f.write_str("; ask in other words, or choose another model in the rule")
            }
            Self::NoAnswer { finish, .. } => {
                write!(f, "the model stopped without an answer ({}); ask again", finish.name())
            }
            Self::TimedOut => f.write_str("the turn took too long and was stopped"),
            Self::Cancelled => f.write_str("the turn was cancelled"),
            Self::HistoryFull => {
                f.write_str("the calls of the model are larger than a conversation can hold")
            }
        }
    }
}

/// Writes what a model said, or the beginning of it.
fn write_beginning(words: &ModelText<'_>, out: &mut dyn Write) -> fmt::Result {
    Measure::Plain.write_marked(words, limits::OUTCOME_TEXT, "…", out)
}

/// Why there is no answer, with provider and model where that helps.
pub struct FailureText<'a> {
    /// The failure.
    pub failed: &'a TurnFailure<'a>,
    /// The settings of the turn.
    pub settings: &'a TurnSettings,
}

impl Display for FailureText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.failed)?;
        match self.failed {
            TurnFailure::Unanswered(Unanswered::Silent) => write!(
                f,
                " for {} ({}); check that one runs that serves it, and that its model is fast enough",
                self.settings.provider.name(),
                self.settings.model
            ),
            TurnFailure::NoAnswer { finish: FinishReason::Length, .. } => write!(
                f,
                ", {}; raise max_tokens in the rule, or set thinking to false",
                self.settings.max_tokens
            ),
            _ => Ok(()),
        }
    }
}

impl Display for Ending<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Answered(content) | Self::Unexpected(content) => content.fmt(f),
            Self::Cut(content) => write!(f, "{content}{CUT}"),
            Self::OutOfIterations => f.write_str(OUT_OF_ITERATIONS),
            Self::Failed(TurnFailure::NoAnswer { finish: FinishReason::Refused(_), words })
                if !words.is_blank() =>
            {
                write_beginning(words, f)?;
                f.write_str(REFUSED)
            }
            Self::Failed(failed) => f.write_str(failed.spoken()),
        }
    }
}

/// What the person hears, however long it is.
struct SpokenEnding<'a>(&'a Ending<'a>, &'a History);

impl Display for SpokenEnding<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(ending, history) = self;
        ending.write_words(history, Voice::None, usize::MAX, f)
    }
}

impl Ending<'_> {
    /// Whether the ending comes before the report of what was done. This applies if the turn is out of rounds, and if
    /// the model stopped before it had finished.
    const fn comes_first(&self) -> bool {
        match self {
            Self::OutOfIterations => true,
            Self::Failed(TurnFailure::NoAnswer { finish, .. }) => !matches!(finish, FinishReason::Stop),
            Self::Answered(_) | Self::Cut(_) | Self::Unexpected(_) | Self::Failed(_) => false,
        }
    }

    /// Writes what the person hears, in at most `room` bytes of a JSON string. If the model has no answer, this
    /// includes what was done in the turn, before most failures: a person who hears only of a failure would repeat the
    /// order.
    fn write_words(&self, history: &History, voice: Voice, room: usize, out: &mut dyn Write) -> fmt::Result {
        let words = Spoken { text: self, voice };
        let report = Spoken { text: &CallReport(history), voice };
        let mark = if voice == Voice::None { MARK } else { LONG };
        let lacks_answer = matches!(self, Self::OutOfIterations | Self::Failed(_));
        if !lacks_answer || is_blank(&report) {
            return Measure::Escaped.write_marked(&words, room, mark, out);
        }
        // These words are short, and never left out.
        let own = Measure::Escaped.length(&words).min(room);
        let left = (room - own).checked_sub(1).filter(|left| *left >= mark.len());
        let is_first = self.comes_first();
        if is_first {
            Measure::Escaped.write_marked(&words, own, mark, out)?;
        }
        if let Some(left) = left {
            let separator = if is_first { [" ", ""] } else { ["", " "] };
            out.write_str(separator[0])?;
            Measure::Escaped.write_marked(&report, left, mark, out)?;
            out.write_str(separator[1])?;
        }
        if is_first { Ok(()) } else { Measure::Escaped.write_marked(&words, own, mark, out) }
    }

    /// Writes what the person hears as the member `text`, so that it can be said. `history` is that of the turn. What is
    /// too long is cut; `reserved` bytes are left for the caller.
    pub fn speak(&self, history: &History, voice: Voice, reserved: usize, out: &mut Writer<'_>) {
        let room = out.room().saturating_sub(reserved + 32);
        out.key("text");
        out.string(|text| match is_blank(&Spoken { text: self, voice }) {
            true => text.write_str(WORDLESS),
            false => self.write_words(history, voice, room, text),
        });
    }

    /// Writes the members of the reply into the open object: `content`, `service`, `model`, `tool_calls` and perhaps
    /// `max_iterations_reached`. If the turn failed: `success`, `error`, `error_type`, `message` and `tool_calls`; if it was
    /// the model that gave no answer, or if tools were called and there is room, also `content`, `service` and `model`, as for every reply.
    ///
    /// `history` is that of the turn, before another one begins. Texts that are too long are cut and marked.
    /// `tool_calls_left_out` counts the calls that do not fit, here or in the history; `tool_calls_not_run` those that
    /// were not run because there were too many. `reserved` bytes are left for the caller.
    pub fn write(&self, settings: &TurnSettings, history: &History, reserved: usize, out: &mut Writer<'_>) {
        let count = history.calls().count();
        let service = settings.provider.name();
        let mut texts = [None, Some("content")];
        if let Self::Failed(failed) = self {
            out.field("success", false);
            out.field("error", format_args!("{}", FailureText { failed, settings }));
            out.field("error_type", failed.error_type());
            let is_models = matches!(failed, TurnFailure::NoAnswer { .. });
            // A second time only if the calls have room beside them.
            let fits_twice = || {
                let words = 2 * Measure::Escaped.length(&SpokenEnding(self, history));
                words + count * limits::CALL_LEAST + service.len() + settings.model.len() + 160
                    <= out.room().saturating_sub(reserved)
            };
            texts = [Some("message"), (is_models || count > 0 && fits_twice()).then_some("content")];
        }
        let room = out.room().saturating_sub(reserved + service.len() + settings.model.len() + 128);
        // The calls may take up to half of the space from a long text.
        let room = room - (count * limits::CALL_LEAST).min(room / 2);
        let room = room / texts.iter().flatten().count().max(1);
        for name in texts.iter().flatten() {
            out.key(name);
            out.string(|text| self.write_words(history, Voice::None, room, text));
        }
        if texts[1].is_some() {
            out.field("service", service);
            out.field("model", settings.model.as_str());
        }
        if matches!(self, Self::OutOfIterations) {
            out.field("max_iterations_reached", true);
        }
        let mut written = 0;
        out.key("tool_calls");
        let list = out.open_array();
        for call in history.calls() {
            let room = out.room().saturating_sub(reserved + 96);
            // An equal share of what is left, but at least room for the shortest form.
            let share = (room / (count - written).max(1)).max(limits::CALL_LEAST + call.name.len()).min(room);
            if !write_call(&call, share, out) {
                break;
            }
            written += 1;
        }
        out.close(list);
        let left_out = count - written + history.omitted().removed();
        if left_out > 0 {
            out.field("tool_calls_left_out", left_out);
        }
        if history.omitted().not_run > 0 {
            out.field("tool_calls_not_run", u32::from(history.omitted().not_run));
        }
    }
}

/// Writes a call in at most `room` bytes. Returns whether that is enough.
fn write_call(call: &ModelCall<'_>, room: usize, out: &mut Writer<'_>) -> bool {
    const FRAME: usize = r#",{"tool":"","params":,"result":,"iteration":255}"#.len();
    /// The least that is written of a call: a mark for its parameters, and the success and error type of its result.
    const CALL_VALUES: usize = MARK.len() + 2 + 64;
    const _: () = assert!(FRAME + CALL_VALUES <= limits::CALL_LEAST);
    let Some(room) = room.checked_sub(FRAME + call.name.len()).filter(|room| *room >= CALL_VALUES) else {
        return false;
    };
    let (params, result) = (call.arguments().text(), call.result_text());
    // Parameters may take half of the room, or what the result leaves.
    let half = (room / 2).clamp(MARK.len() + 2, room - 64);
    let for_params = params.len().min(half.max(room.saturating_sub(result.len())));
    let object = out.open();
    out.field("tool", call.name);
    out.key("params");
    match Cut::new(params, for_params) {
        Some(cut) => out.json(&cut),
        None if params.len() <= for_params => out.value(call.arguments()),
        None => out.value(MARK),
    }
    out.key("result");
    match Value::parse(result.as_bytes()) {
        Ok(_) => out.json(&Shortened { result, room: room - for_params }),
        Err(_) => out.string(|out| Measure::Escaped.write(&result, room - for_params, out)),
    }
    out.field("iteration", u32::from(call.iteration));
    out.close(object);
    true
}
