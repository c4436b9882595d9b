//! Failures of calls to the controller, in words.

use crate::approval::Unanswered;
use crate::home::Home;
use crate::limits;
use crate::link::CallError;
use crate::tool::{ErrorType, Failure, Withdrawn};

/// The failure of a call of the tool `name` that has no answer, with the state of the device if it was read again.
pub(super) fn explain_unanswered(home: &Home, name: &str, why: Unanswered) -> Failure {
    let failure = explain(name, &why.error);
    why.explain(home, failure)
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
