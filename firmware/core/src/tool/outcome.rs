//! What comes out of a call.

use core::fmt;

use heapless::String;

use crate::json::Writer;
use crate::limits;
use crate::store::StoreError;
use crate::text::clip;

type Line = String<{ limits::OUTCOME_TEXT }>;

/// What a handler that succeeded says beside its result.
#[derive(Clone, Debug, Default)]
pub struct Success {
    /// For the person.
    pub message: Option<Line>,
    /// For the model that called: what to do, or not to do, next.
    pub instruction: Option<&'static str>,
}

impl Success {
    /// The result says it all.
    pub const PLAIN: Self = Self { message: None, instruction: None };

    /// With a sentence for the person.
    pub fn saying(message: fmt::Arguments<'_>) -> Self {
        Self { message: Some(clip(&message)), instruction: None }
    }

    pub(super) fn write(&self, reply: &mut Writer<'_>) {
        write_guidance(reply, self.message.as_deref(), self.instruction);
    }
}

/// What kind of failure it was, for programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorType {
    /// There is no such tool.
    NotFound,
    /// The arguments do not fit.
    InvalidParameters,
    /// The tool itself failed.
    ExecutionError,
    /// It needs something that is not there now.
    Unavailable,
    /// It took too long and was cancelled.
    Timeout,
    /// It was asked for, and nobody knows whether it was done.
    OutcomeUnknown,
    /// The result is larger than a reply.
    TooLarge,
}

impl ErrorType {
    /// As it stands in a reply.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NotFound => "not_found",
            Self::InvalidParameters => "invalid_parameters",
            Self::ExecutionError => "execution_error",
            Self::Unavailable => "unavailable",
            Self::Timeout => "timeout",
            Self::OutcomeUnknown => "outcome_unknown",
            Self::TooLarge => "too_large",
        }
    }
}

/// A call that failed.
#[derive(Clone, Debug)]
pub struct Failure {
    /// What happened, for whoever looks into it.
    pub error: Line,
    /// What kind of thing it was.
    pub error_type: ErrorType,
    /// For the person, in place of the usual sentence for that kind.
    pub message: Option<Line>,
    /// For the model that called.
    pub instruction: Option<&'static str>,
    /// Where an error of some other part caused it: its type and its own words.
    pub exception: Option<(&'static str, Line)>,
}

impl Failure {
    /// A failure of the given kind.
    pub fn new(error_type: ErrorType, error: fmt::Arguments<'_>) -> Self {
        Self { error: clip(&error), error_type, message: None, instruction: None, exception: None }
    }

    /// The tool itself failed.
    pub fn failed(error: fmt::Arguments<'_>) -> Self {
        Self::new(ErrorType::ExecutionError, error)
    }

    /// With a sentence for the person.
    #[must_use]
    pub fn saying(mut self, message: fmt::Arguments<'_>) -> Self {
        self.message = Some(clip(&message));
        self
    }

    /// With a word for the model that called.
    #[must_use]
    pub const fn instructing(mut self, instruction: &'static str) -> Self {
        self.instruction = Some(instruction);
        self
    }

    /// Caused by an error of this type with these words.
    #[must_use]
    pub fn caused_by(mut self, exception_type: &'static str, words: fmt::Arguments<'_>) -> Self {
        self.exception = Some((exception_type, clip(&words)));
        self
    }

    /// What a person hears.
    pub fn spoken(&self) -> &str {
        match (&self.message, self.error_type) {
            (Some(message), _) => message,
            (None, ErrorType::InvalidParameters) => &self.error,
            (None, ErrorType::NotFound) => "I have no tool for that.",
            (None, ErrorType::ExecutionError) => "Sorry, that did not work.",
            (None, ErrorType::Unavailable) => "Sorry, the service for that is not available right now.",
            (None, ErrorType::Timeout) => "Sorry, that took too long, and I stopped it.",
            (None, ErrorType::OutcomeUnknown) => "Sorry, I do not know whether that was done.",
            (None, ErrorType::TooLarge) => "Sorry, the answer is too long for me.",
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
