//! What a person says while something waits for approval in the same conversation: the PIN, no, or something else. None of it
//! reaches a model.

use core::fmt::Display;

use embassy_time::Instant;
use embedded_storage_async::nor_flash::MultiwriteNorFlash;
use heapless::String;

use crate::approval::{self, InWords, PinOutcome, Reminder, Waiting, guess, is_no};
use crate::context::HubContext;
use crate::limits;
use crate::log::warn;
use crate::notice::{Level, Notice};
use crate::store::Store;
use crate::text::clip;

/// Longer than anything that people answer: it is not looked at further.
type Answer = String<{ limits::OUTCOME_TEXT }>;

/// What a person hears who says a PIN after the approval has ended. The same whatever the digits are: an answer that depended
/// on them would let others find out the PIN.
pub(super) const TOO_LATE: &str = "Nothing is waiting for a PIN.";

/// Whether something is a PIN and nothing else, right or wrong.
pub(super) fn is_only_a_pin(said: &dyn Display) -> bool {
    let said: Answer = clip(said);
    approval::is_only_a_pin(&said)
}

/// Takes what a person said while an approval is pending in their conversation, and returns what they hear.
pub(super) async fn answer<F: MultiwriteNorFlash>(
    said: &dyn Display,
    conversation: &str,
    waiting: &Waiting,
    hub: &HubContext<'_, Store<'_, F>>,
) -> String<{ limits::OUTCOME_TEXT }> {
    let approvals = hub.approvals;
    let Waiting { number, what, can_use_pin } = waiting;
    let said: Answer = clip(said);
    if is_no(&said) {
        approvals.decide(*number, false);
        return clip(&format_args!("All right, I will not {what}."));
    }
    let outcome = match guess(&said) {
        Some(guess) => {
            let mut store = hub.store.lock().await;
            approvals.last_guess.check(&guess, Instant::now(), &mut store, hub.config).await
        }
        None => PinOutcome::Unset,
    };
    match outcome {
        PinOutcome::Right if approvals.decide(*number, true) => clip(&"Thank you."),
        PinOutcome::Right => clip(&TOO_LATE),
        PinOutcome::Wrong => clip(&"That is not the PIN. Please try again."),
        PinOutcome::LockedOut(lock_out) => {
            let lock_out = InWords(lock_out);
            // The lock-out itself bounds how often this comes.
            let notice = Notice::alarm(
                Level::Warning,
                format_args!(
                    "approval: too many wrong PINs, the last one in conversation {conversation}; PINs are refused for \
                     {lock_out}, approval in the app still works"
                ),
            );
            warn!("{}", notice.text.as_str());
            hub.notices.push(notice);
            clip(&format_args!(
                "That is not the PIN. PINs are refused for {lock_out}; you can still allow it in your app."
            ))
        }
        PinOutcome::Refused(left) => {
            let left = InWords(left);
            clip(&format_args!(
                "PINs are refused for another {left}, after too many wrong ones. You can still allow it in your app."
            ))
        }
        PinOutcome::Uncounted => {
            warn!("approval: a PIN was refused because the store cannot count it");
            clip(&"I cannot check a PIN now. Please allow it in your app.")
        }
        PinOutcome::Unset => clip(&Reminder { what, can_use_pin: *can_use_pin }),
    }
}
