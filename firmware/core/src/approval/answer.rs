//! What people say when they are asked for approval: a PIN, no, or something else.

use super::PinDigits;
use crate::settings::CODE_LEAST;
use crate::text::words::{small, words};

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

/// Whether somebody says no.
pub(crate) fn is_no(said: &str) -> bool {
    words(said).next().is_some_and(|(first, _)| NO.iter().any(|no| is_word(first, no)))
}

/// What people say around a PIN.
const AROUND_PIN: [&str; 8] = ["the", "my", "pin", "code", "is", "it", "it's", "please"];

/// Whether something can be nothing but an answer to the question for approval: a PIN, or no.
pub(crate) fn is_answer(said: &str) -> bool {
    is_only_a_pin(said) || is_no(said) && words(said).count() <= 3
}

/// Whether something has as many digits as a PIN, spoken or written, whatever else it says.
pub fn has_pin_digits(said: &str) -> bool {
    digits(said).count() >= CODE_LEAST
}

/// Whether something is a PIN and nothing else, right or wrong.
pub fn is_only_a_pin(said: &str) -> bool {
    let belongs = |word| digits(word).next().is_some() || AROUND_PIN.iter().any(|known| is_word(word, known));
    has_pin_digits(said) && words(said).all(|(word, _)| belongs(word))
}

/// The PIN that somebody says, right or wrong, if they say nothing else and it is not too long for one.
pub(crate) fn guess(said: &str) -> Option<PinDigits> {
    let mut guess = PinDigits::new();
    digits(said).try_for_each(|digit| guess.push(digit)).ok()?;
    is_only_a_pin(said).then_some(guess)
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
        for said in ["4711", "four seven one one", "the PIN is 4711", "No.", "don’t do it", "Stop!"] {
            assert!(is_answer(said), "{said}");
        }
        for said in [
            "the door code is 4711",
            "no idea what you are talking about",
            "one two",
            "turn on the light",
            "",
        ] {
            assert!(!is_answer(said), "{said}");
        }
    }

    #[test]
    fn a_late_pin_is_known_by_its_form_alone() {
        for said in
            ["4711", "0000", "four seven one one", "The PIN is 4711.", "It’s 1 2 3 4", "1234567890123"]
        {
            assert!(is_only_a_pin(said), "{said}");
        }
        for said in ["471", "the pin", "what is 1234 plus one?", "set the alarm to 0730", ""] {
            assert!(!is_only_a_pin(said), "{said}");
        }
    }

    #[test]
    fn a_guess_has_as_many_digits_as_a_pin() {
        assert_eq!(guess("it is 4 7 one 1").as_deref(), Some("4711"));
        assert_eq!(guess("123456789012").as_deref(), Some("123456789012"));
        assert_eq!((guess("471"), guess("1234567890123")), (None, None));
    }

    #[test]
    fn other_talk_with_digits_is_no_guess() {
        for said in ["set the alarm to 0730", "what is 1234 plus one?", "The door code is 4711"] {
            assert!(has_pin_digits(said), "{said}");
            assert_eq!(guess(said), None, "{said}");
        }
        for said in ["the PIN is 4711", "four seven one one"] {
            assert_eq!(guess(said).as_deref(), Some("4711"), "{said}");
        }
    }
}
