//! What a call to the controller is made of, and how a call of a tool ends.

use super::definition::Hints;
use super::outcome::{ErrorType, Failure};
use super::registry::Name;
use crate::json::{Mark, Value, Writer};
use crate::limits;
use crate::log::{error, info};

/// Room that a reply needs after the result. A tool whose result is a list stops before it.
pub(crate) const EPILOGUE: usize = 2 * limits::OUTCOME_TEXT + limits::TOOL_NAME + limits::TRANSACTION + 128;

/// For the model.
const ASK_FIRST: &str = "Nothing was done. Ask the person before you try again.";

/// Why a call is not sent after all: something changed while it waited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Withdrawn {
    /// The tool is gone.
    Gone,
    /// The tool is defined in another way now.
    Redefined,
    /// The device that the call names is another one now.
    Changed,
}

impl Withdrawn {
    /// The failure of the call.
    pub fn failure(self, name: &str) -> Failure {
        match self {
            Self::Gone => Failure::new(ErrorType::NotFound, format_args!("Tool '{name}' not found")),
            Self::Redefined => Failure::new(
                ErrorType::Unavailable,
                format_args!("The controller changed its tools while '{name}' waited; nothing was sent"),
            )
            .instructing(ASK_FIRST),
            Self::Changed => Failure::new(
                ErrorType::Unavailable,
                format_args!("The device changed while '{name}' waited; nothing was sent"),
            )
            .instructing(ASK_FIRST),
        }
    }
}

/// An argument that names a device, with the value by which the controller knows that device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Addressed {
    /// The argument.
    pub argument: heapless::String<{ limits::ARGUMENT_NAME }>,
    /// Its value.
    pub value: heapless::String<{ limits::DEVICE_NAME }>,
    /// Whether the value is a number.
    pub is_number: bool,
}

impl Addressed {
    /// Whether arguments have this value already.
    pub fn is_in(&self, arguments: Value<'_>) -> bool {
        // Of several with one name the last one counts, at the controller as well.
        let given = arguments.members().filter(|(name, _)| *name == *self.argument).last();
        given.is_some_and(|(_, given)| self.is(given))
    }

    /// Whether a value is this one.
    pub fn is(&self, value: Value<'_>) -> bool {
        match value.as_text() {
            Some(text) => !self.is_number && text == *self.value,
            None => self.is_number && value.text() == self.value,
        }
    }

    pub(super) fn write(&self, out: &mut Writer<'_>) {
        match Value::parse(self.value.as_bytes()) {
            Ok(number) if self.is_number => out.value(number),
            _ => out.value(self.value.as_str()),
        }
    }
}

/// A call failed. The reply and the log tell why: a [`Failure`] is large, and is not carried through the stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failed {
    /// Whether it may have been done all the same.
    pub is_unknown: bool,
}

impl Failed {
    /// Writes the failure of the call of `name` into the reply, in place of what came after `before`, and logs it.
    #[inline(never)]
    pub(crate) fn write(failure: &Failure, name: &str, before: Mark, reply: &mut Writer<'_>) -> Self {
        reply.rewind(before);
        failure.write(reply);
        match failure.error_type {
            // Nothing went wrong.
            ErrorType::Denied => info!("Tool {} was not called: {}", name, failure.error.as_str()),
            _ => error!("Tool {} failed: {}", name, failure.error.as_str()),
        }
        Self { is_unknown: failure.is_unknown }
    }
}

/// A call to the controller that is about to be made.
#[derive(Clone, Copy, Debug)]
pub struct ControllerCall<'a> {
    /// The controller's own name of the tool.
    pub tool: &'a str,
    /// Its effects.
    pub hints: Hints,
    /// The arguments, which suit the tool.
    pub arguments: Value<'a>,
}

/// An executed call, for the topic `event/tool`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Execution {
    /// The tool, as it was called.
    pub name: Name,
    /// Whether it succeeded.
    pub success: bool,
    /// The execution time, including checks but not the time in which a person decides.
    pub milliseconds: u64,
}

impl Execution {
    /// Whether it took too long.
    pub const fn is_slow(&self) -> bool {
        self.milliseconds > limits::TOOL_SLOW.as_millis()
    }
}
