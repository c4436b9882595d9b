//! What a person says while something waits for approval in the same conversation: the PIN, no, or something else. None of it
//! reaches a model.

use core::fmt::Display;

use embedded_storage_async::nor_flash::MultiwriteNorFlash;
use heapless::String;

use super::super::Parts;
use crate::home::{Request, Waiting};
use crate::limits;
use crate::settings::GATE_PIN;
use crate::store::Store;
use crate::text::words::{small, words};
use crate::text::{self, clip};
use crate::tools::Toolbox;

/// Digits as people say them, and as recognisers write them.
const DIGITS: [(&str, char); 12] = [
    ("zero", '0'),
    ("oh", '0'),
    ("o", '0'),
    ("one", '1'),
    ("two", '2'),
    ("three", '3'),
    ("four", '4'),
    ("five", '5'),
    ("six", '6'),
    ("seven", '7'),
    ("eight", '8'),
    ("nine", '9'),
];

/// How people say no.
const NO: [&str; 8] = ["no", "nope", "don't", "dont", "cancel", "stop", "deny", "never"];

/// Longer than anything that people answer: it is not looked at further.
type Answer = String<{ limits::OUTCOME_TEXT }>;

fn is_word(word: &str, known: &str) -> bool {
    let plain = |letter: char| if letter == '’' { '\'' } else { small(letter) };
    word.chars().map(plain).eq(known.chars())
}

/// The digits in what was said.
fn digits(said: &str) -> impl Iterator<Item = char> {
    words(said).flat_map(|(word, _)| {
        let named = DIGITS.iter().find(|(name, _)| is_word(word, name)).map(|(_, digit)| *digit);
        named.into_iter().chain(word.chars().filter(char::is_ascii_digit))
    })
}

fn is_no(said: &str) -> bool {
    words(said).next().is_some_and(|(first, _)| NO.iter().any(|no| is_word(first, no)))
}

/// Whether something can be nothing but an answer to the question for approval: digits, or no.
pub(super) fn is_answer(said: &str) -> bool {
    let are_digits = words(said).all(|(word, _)| digits(word).next().is_some());
    digits(said).count() >= 4 && are_digits || is_no(said) && words(said).count() <= 3
}

/// What a person hears whose PIN nothing waits for.
const LATE: &str = "Nothing waits for a PIN now.";

/// What a person hears who says the PIN while nothing waits for it: no model is to hear it.
pub(super) async fn unasked<P, F: MultiwriteNorFlash>(
    said: &dyn Display,
    toolbox: &Toolbox<'_, P, Store<'_, F>>,
) -> Option<&'static str> {
    let said: Answer = clip(&format_args!("{said}"));
    if digits(&said).count() < 4 {
        return None;
    }
    let pin = GATE_PIN.value(&mut *toolbox.store.lock().await, toolbox.config).await;
    let is_pin = !pin.is_empty() && contains(digits(&said), &pin);
    is_pin.then_some(LATE)
}

/// Whether the digits have the PIN in them.
fn contains(digits: impl Iterator<Item = char>, pin: &str) -> bool {
    let digits: String<{ limits::OUTCOME_TEXT }> = digits.collect();
    text::find(digits.as_bytes(), pin.as_bytes()).is_some()
}

/// Takes what a person said, and returns what they hear.
pub(super) async fn answer<P, F: MultiwriteNorFlash>(
    said: &dyn Display,
    waiting: &Waiting,
    parts: &Parts<'_>,
    toolbox: &Toolbox<'_, P, Store<'_, F>>,
) -> String<{ limits::OUTCOME_TEXT }> {
    let approvals = &parts.home.approvals;
    let Waiting { number, what, can_use_pin } = waiting;
    let said: Answer = clip(&format_args!("{said}"));
    let pin = GATE_PIN.value(&mut *toolbox.store.lock().await, parts.config).await;
    if !pin.is_empty() && digits(&said).eq(pin.chars()) {
        let is_in_time = approvals.decide(*number, true);
        return clip(if is_in_time { &"Thank you." } else { &LATE });
    }
    if is_no(&said) {
        approvals.decide(*number, false);
        return clip(&format_args!("All right, I will not {what}."));
    }
    if !pin.is_empty() && digits(&said).count() >= 4 {
        let is_denied = approvals.wrong_pin(*number);
        return match is_denied {
            true => clip(&format_args!("That is not the PIN. I will not {what}.")),
            false => clip(&"That is not the PIN. Please try again."),
        };
    }
    clip(&Request { what, can_use_pin: *can_use_pin })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pin_is_understood_as_it_is_said_and_as_it_is_written() {
        for said in ["4711", "4 7 1 1", "four seven one one", "The PIN is Four-7, one 1!", "47 11."] {
            assert!(digits(said).eq("4711".chars()), "{said}");
        }
        assert!(digits("oh zero o").eq("000".chars()));
        assert!(!digits("forty seven eleven").eq("4711".chars()));
    }

    #[test]
    fn an_answer_needs_no_wake_phrase_and_other_talk_does() {
        for said in ["4711", "four seven one one", "No.", "don’t do it", "Stop!"] {
            assert!(is_answer(said), "{said}");
        }
        for said in
            ["the PIN is 4711", "no idea what you are talking about", "one two", "turn on the light", ""]
        {
            assert!(!is_answer(said), "{said}");
        }
    }
}
