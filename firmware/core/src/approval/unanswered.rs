//! Calls to the controller that have no answer, in words.

use crate::home::{DeviceId, Home};
use crate::limits;
use crate::link::CallError;
use crate::text::clip;
use crate::tool::{ErrorType, Failure, Withdrawn};

/// A call that has no answer.
pub struct Unanswered {
    /// Why.
    pub error: CallError<Withdrawn>,
    /// The device that was read again; empty if none was.
    pub(super) now: DeviceId,
}

impl Unanswered {
    /// The failure of a call of the tool `name`, with the state of the device if it was read again.
    pub fn failure(&self, home: &Home, name: &str) -> Failure {
        let mut failure = explain(name, &self.error);
        home.with_distinct(&self.now, |device| {
            let but = if device.is_available { "but" } else { "and" };
            failure.message = Some(clip(&format_args!("The controller did not answer, {but} {device}.")));
            failure.instruction = Some(
                "Do not repeat the call. The message has the current state of the device; tell the person.",
            );
        });
        failure
    }
}

/// The failure of a call of the tool `name` that a caller sees.
fn explain(name: &str, error: &CallError<Withdrawn>) -> Failure {
    let seconds = limits::TOOL_TIMEOUT.as_secs();
    match error {
        CallError::Composed(withdrawn) => withdrawn.failure(name),
        CallError::Absent => Failure::new(
            ErrorType::Unavailable,
            format_args!("The controller is not connected; nothing was sent to it"),
        ),
        CallError::Busy => Failure::new(
            ErrorType::Unavailable,
            format_args!("{} calls wait for the controller already; nothing was sent to it", limits::CALLS),
        ),
        CallError::TooLarge => Failure::new(
            ErrorType::TooLarge,
            format_args!("The arguments are too large for the controller; nothing was sent to it"),
        )
        .saying(format_args!("That is too much for the controller; nothing was sent to it.")),
        CallError::Unsent(loss) => Failure::new(
            ErrorType::Unavailable,
            format_args!("The controller was lost ({}) before the call was sent to it", loss.text()),
        ),
        CallError::Late => Failure::new(
            ErrorType::Timeout,
            format_args!("The call timed out after {seconds} s; it was not sent to the controller"),
        ),
        CallError::Unknown(loss) => Failure::new(
            ErrorType::OutcomeUnknown,
            format_args!(
                "The controller was lost ({}) after the call was sent to it: whether it was done is unknown. It is not \
                 sent again",
                loss.text()
            ),
        )
        .saying(format_args!("I lost the controller and do not know whether that was done. Please check."))
        .unknown(),
        CallError::Malformed(error) => Failure::new(
            ErrorType::OutcomeUnknown,
            format_args!("The controller's answer cannot be read: {error}. Whether it was done is unknown. It is not sent again"),
        )
        .saying(format_args!("I do not understand the controller's answer, and do not know whether that was done. Please check."))
        .unknown(),
        CallError::Silent => Failure::new(
            ErrorType::Timeout,
            format_args!(
                "The controller did not answer within {seconds} s, and the call was cancelled: whether it was done is \
                 unknown. It is not sent again"
            ),
        )
        .saying(format_args!("The controller took too long, and I do not know whether that was done. Please check."))
        .unknown(),
    }
}
