//! Why a call is not made, in words.

use core::fmt;

use super::assess::assess;
use super::risk::VerbForm;
use super::summarise;
use crate::home::{Found, Home, Knowledge};
use crate::log::{info, warn};
use crate::text::{one_line, push_list};
use crate::tool::{ControllerCall, ErrorType, Failure};

/// For the model.
const NO_WAY_ROUND: &str = "Do not try it in another way. Tell the person that it was not done, and why.";

/// For the model.
const OTHER_NAME: &str = "Nothing was done. Call again with one of these names if it is clear which one the person means; \
                          otherwise ask the person.";

/// Why a call is not made. Nothing was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Denial {
    /// The hub does not know the devices.
    HomeUnknown,
    /// No device that the tool controls is called so.
    NotFound,
    /// Several devices are called so.
    Ambiguous,
    /// The controller may take the device's address for that of another device, and one of the two is guarded.
    Shared,
    /// The settings forbid it.
    Policy,
    /// A person denied it.
    Refused,
    /// Nobody decided in time.
    NoReply,
    /// The device changed while a person was asked.
    Changed,
    /// Too many approvals are pending.
    TooManyPending,
}

impl Denial {
    /// The failure that the caller sees.
    pub fn explain(self, home: &Home, call: &ControllerCall<'_>) -> Failure {
        let error = match self {
            Self::HomeUnknown => return home_unknown(home),
            Self::NotFound | Self::Ambiguous => return unresolved(home, call, self == Self::Ambiguous),
            Self::Shared => return shared(home, call),
            Self::Policy => "is forbidden by the settings",
            Self::Refused => "was denied",
            Self::NoReply => "was not approved in time",
            Self::Changed => "was approved, but the device or the tool has changed since",
            Self::TooManyPending => "needs approval, but too many approvals are pending; answer one first",
        };
        let what = summarise(home, call, &assess(home, call).unwrap_or_default().0, VerbForm::Gerund);
        let failure = Failure::new(ErrorType::Denied, format_args!("{what} {error}. Nothing was done"));
        let failure = if self == Self::Refused {
            info!("approval: {} {}", what.as_str(), error);
            let assessment = assess(home, call).unwrap_or_default().0;
            let what = summarise(home, call, &assessment, VerbForm::Infinitive);
            failure.saying(format_args!("OK, I did not {what}."))
        } else {
            warn!("approval: {} {}", what.as_str(), error);
            failure.saying(format_args!("{what} {error}."))
        };
        failure.instructing(NO_WAY_ROUND)
    }
}

fn home_unknown(home: &Home) -> Failure {
    let error = match home.knowledge() {
        Knowledge::NoController => "The controller is not connected",
        Knowledge::ListFailed => "The controller does not list its devices",
        Knowledge::Incomplete => "Some devices could not be read, and this may be about one of them",
        Knowledge::Unlisted | Knowledge::Reading | Knowledge::NoDevices | Knowledge::Complete => {
            "The hub is still reading the devices"
        }
    };
    Failure::new(ErrorType::Unavailable, format_args!("{error}; nothing was sent"))
        .saying(format_args!("I do not know all devices yet. Please try again in a moment."))
}

/// The instruction for the model.
const RENAME: &str =
    "Nothing was done. Do not try it in another way. Tell the person to give the devices different names.";

/// The failure of a call whose device shares its address with another one.
fn shared(home: &Home, call: &ControllerCall<'_>) -> Failure {
    let mut names = heapless::String::<{ crate::limits::CANDIDATES }>::new();
    push_list(&fmt::from_fn(|f| home.write_sharing(call.tool, call.arguments, f)), &mut names);
    let spoken = home.spoken_name(call.tool, call.arguments).unwrap_or_default();
    let spoken: heapless::String<{ crate::limits::DEVICE_NAME }> = one_line(&spoken);
    let with = if names.is_empty() { "" } else { ": " };
    Failure::new(
        ErrorType::Ambiguous,
        format_args!("The controller may take '{spoken}' for another device{with}{names}; nothing was sent"),
    )
    .saying(format_args!(
        "The controller cannot tell '{spoken}' from another device. Please give them different names."
    ))
    .instructing(RENAME)
}

/// For the model.
const NO_NAMES: &str = "Nothing was done. Ask the person which device they mean.";

/// No device that the tool controls has that name, or several have it.
fn unresolved(home: &Home, call: &ControllerCall<'_>, is_ambiguous: bool) -> Failure {
    let mut names = heapless::String::<{ crate::limits::CANDIDATES }>::new();
    let spoken = home.spoken_name(call.tool, call.arguments).unwrap_or_default();
    push_list(&fmt::from_fn(|f| home.write_nearest(Some(call.tool), &spoken, f)), &mut names);
    let spoken: heapless::String<{ crate::limits::DEVICE_NAME }> = one_line(&spoken);
    let tool = call.tool;
    let failure = match (is_ambiguous, names.is_empty()) {
        (true, _) if spoken.is_empty() => Failure::new(
            ErrorType::Ambiguous,
            format_args!("{tool} needs the name of a device, one of: {names}; nothing was sent"),
        )
        .saying(format_args!("Which one do you mean: {names}?")),
        (true, _) => Failure::new(
            ErrorType::Ambiguous,
            format_args!("'{spoken}' could be {names}; nothing was sent"),
        )
        .saying(format_args!("Which one do you mean: {names}?")),
        (false, true) => {
            let failure = Failure::new(
                ErrorType::NotFound,
                format_args!("{tool} controls no device called '{spoken}'; nothing was sent"),
            );
            let message = match home.find(&spoken) {
                // Another tool may.
                Found::One(_) => failure.saying(format_args!("I cannot do that with '{spoken}'.")),
                Found::None | Found::Several => {
                    failure.saying(format_args!("I don't know a device called '{spoken}'."))
                }
            };
            return message.instructing(NO_NAMES);
        }
        (false, false) => Failure::new(
            ErrorType::NotFound,
            format_args!("{tool} controls no device called '{spoken}'. The nearest names are: {names}; nothing was sent"),
        )
        .saying(format_args!("I don't know a device called '{spoken}'. Do you mean {names}?")),
    };
    failure.instructing(OTHER_NAME)
}
