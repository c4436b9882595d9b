//! The outcome of a call: a success or a failure, and what is said about it.

use core::fmt::{self, Display};

use heapless::String;

use crate::json::{Cut, Value, Writer};
use crate::limits;
use crate::store::StoreError;
use crate::text::{Escape, Measure, is_blank, shorten};

type Sentence = String<{ limits::OUTCOME_TEXT }>;

/// How a handler ends.
pub type ToolResult = Result<Success, Failure>;

/// What goes with a result.
#[derive(Clone, Debug, Default)]
pub struct Success {
    /// For the person.
    pub message: Option<Sentence>,
    /// For the model that called: what to do next, or not to do.
    pub instruction: Option<&'static str>,
}

impl Success {
    /// Nothing but the result.
    pub const PLAIN: Self = Self { message: None, instruction: None };

    /// With a sentence for the person.
    pub fn saying(message: fmt::Arguments<'_>) -> Self {
        Self { message: Some(shorten(&message)), instruction: None }
    }

    pub(crate) fn write(&self, reply: &mut Writer<'_>) {
        write_guidance(reply, self.message.as_deref(), self.instruction);
    }
}

/// The kind of a failure, for programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorType {
    /// There is no such tool.
    NotFound,
    /// The arguments are not an object.
    InvalidRequest,
    /// The arguments do not fit.
    InvalidParameters,
    /// The tool itself failed.
    ExecutionError,
    /// It needs something that is not available now.
    Unavailable,
    /// It took too long and was cancelled.
    Timeout,
    /// It was sent, and whether it was done is unknown.
    OutcomeUnknown,
    /// The result is larger than a reply.
    TooLarge,
    /// A person or the policy of the home did not allow it. Nothing was done.
    Denied,
    /// It could be about several devices. Nothing was done.
    Ambiguous,
}

impl ErrorType {
    /// The value in a reply.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NotFound => "not_found",
            Self::InvalidRequest => "invalid_request",
            Self::InvalidParameters => "invalid_parameters",
            Self::ExecutionError => "execution_error",
            Self::Unavailable => "unavailable",
            Self::Timeout => "timeout",
            Self::OutcomeUnknown => "outcome_unknown",
            Self::TooLarge => "too_large",
            Self::Denied => "denied",
            Self::Ambiguous => "ambiguous",
        }
    }
}

/// A call that failed.
#[derive(Clone, Debug)]
pub struct Failure {
    /// What happened, for debugging.
    pub error: Sentence,
    /// Its kind.
    pub error_type: ErrorType,
    /// For the person, instead of the usual sentence for that kind.
    pub message: Option<Sentence>,
    /// For the model that called.
    pub instruction: Option<&'static str>,
    /// The error of another part that caused it: its type and its text.
    pub exception: Option<(&'static str, Sentence)>,
    /// Whether it was sent, and nobody knows whether it was done.
    pub is_unknown: bool,
}

impl Failure {
    /// A failure of the given kind.
    pub fn new(error_type: ErrorType, error: fmt::Arguments<'_>) -> Self {
        Self {
            error: shorten(&error),
            error_type,
            message: None,
            instruction: None,
            exception: None,
            is_unknown: false,
        }
    }

    /// The tool itself failed.
    pub fn failed(error: fmt::Arguments<'_>) -> Self {
        Self::new(ErrorType::ExecutionError, error)
    }

    /// With a sentence for the person.
    #[must_use]
    pub fn saying(mut self, message: fmt::Arguments<'_>) -> Self {
        self.message = Some(shorten(&message));
        self
    }

    /// With an instruction for the model that called.
    #[must_use]
    pub const fn instructing(mut self, instruction: &'static str) -> Self {
        self.instruction = Some(instruction);
        self
    }

    /// The controller does not know whether it was done, and says so in these words.
    #[inline(never)]
    pub fn unknown_outcome(words: &dyn fmt::Display) -> Self {
        Self::new(ErrorType::OutcomeUnknown, format_args!("{words}"))
            .saying(format_args!("I do not know whether that was done: {words}"))
            .unknown()
    }

    /// It was sent, and nobody knows whether it was done.
    #[must_use]
    pub const fn unknown(mut self) -> Self {
        self.is_unknown = true;
        self.instructing("Do not repeat the call. Look at the state of the device first, or ask the person.")
    }

    /// Caused by an error of this type with these words.
    #[must_use]
    pub fn caused_by(mut self, exception_type: &'static str, words: fmt::Arguments<'_>) -> Self {
        self.exception = Some((exception_type, shorten(&words)));
        self
    }

    /// What a person hears.
    pub fn spoken(&self) -> &str {
        match (&self.message, self.error_type) {
            (Some(message), _) => message,
            (None, ErrorType::InvalidRequest | ErrorType::InvalidParameters) => &self.error,
            (None, ErrorType::NotFound) => "I have no tool for that.",
            (None, ErrorType::ExecutionError) => "Sorry, that did not work.",
            (None, ErrorType::Unavailable) => "Sorry, the service for that is not available right now.",
            (None, ErrorType::Timeout) => "Sorry, that took too long, and I stopped it.",
            (None, ErrorType::OutcomeUnknown) => "Sorry, I do not know whether that was done.",
            (None, ErrorType::TooLarge) => "Sorry, the answer is too long for me.",
            (None, ErrorType::Denied) => "I may not do that.",
            (None, ErrorType::Ambiguous) => "Which one do you mean?",
        }
    }

    pub(super) fn write(&self, reply: &mut Writer<'_>) {
        reply.field("success", false);
        reply.field("error", self.error.as_str());
        reply.field("error_type", self.error_type.as_str());
        if let Some((exception_type, words)) = &self.exception {
            reply.field("exception_type", *exception_type);
            reply.field("exception_message", words.as_str());
        }
        write_guidance(reply, Some(self.spoken()), self.instruction);
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        let error_type = match error {
            StoreError::Name(..) | StoreError::TooLarge { .. } | StoreError::NotJson(_) => {
                ErrorType::InvalidParameters
            }
            StoreError::Unsuitable(_) => ErrorType::Unavailable,
            _ => ErrorType::ExecutionError,
        };
        Self::new(error_type, format_args!("Store: {error}"))
            .saying(format_args!("Sorry, my memory does not take that: {error}."))
            .caused_by("StoreError", format_args!("{error}"))
    }
}

fn write_guidance(reply: &mut Writer<'_>, message: Option<&str>, instruction: Option<&str>) {
    if let Some(message) = message {
        reply.field("message", message);
    }
    if let Some(instruction) = instruction {
        reply.field("instruction", instruction);
    }
}

/// Counts of one tool since it was registered. All zeros when new; they stop at the largest number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CallCounts {
    /// Calls, failed ones included.
    pub calls: u32,
    /// Calls that failed.
    pub failures: u32,
    /// The longest call, in milliseconds.
    pub slowest: u32,
    /// All calls together, in milliseconds.
    total: u32,
}

impl CallCounts {
    /// No calls.
    pub const NONE: Self = Self { calls: 0, failures: 0, slowest: 0, total: 0 };

    /// Adds a call.
    pub fn add(&mut self, is_success: bool, milliseconds: u64) {
        let milliseconds = u32::try_from(milliseconds).unwrap_or(u32::MAX);
        self.calls = self.calls.saturating_add(1);
        self.failures = self.failures.saturating_add(u32::from(!is_success));
        self.slowest = self.slowest.max(milliseconds);
        self.total = self.total.saturating_add(milliseconds);
    }

    /// How long a call takes on average, in milliseconds.
    pub fn average(&self) -> u32 {
        self.total.checked_div(self.calls).unwrap_or_default()
    }
}

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
