//! Recognises a wake phrase at the beginning of what was heard.

use crate::text::words::{small, words};

/// The length in characters of the wake phrase, and the pause after it, that the text begins with; `None` if it begins
/// with none. `phrases` is a list with commas. Punctuation and case are ignored, and so is where a phrase has spaces:
/// transcribers write "hearth wave" for a name that they do not know. It ends where a word does.
pub fn addressed(text: &str, phrases: &str) -> Option<usize> {
    phrases.split(',').find_map(|phrase| {
        let mut wanted = words(phrase).flat_map(|(word, _)| word.chars()).map(small).peekable();
        for (said, rest) in words(text) {
            if !said.chars().map(small).all(|letter| wanted.next() == Some(letter)) {
                return None;
            }
            if wanted.peek().is_none() {
                let left = rest.trim_start_matches(PAUSES).len();
                return text.get(..text.len() - left).map(|before| before.chars().count());
            }
        }
        None
    })
}

/// What people and transcribers put between the phrase and the question. Other punctuation is part of the question.
const PAUSES: &[char] = &[
    ' ', '\t', '\n', ',', '.', ':', ';', '!', '?', '¡', '¿', '-', '–', '—', '…', '、', '。', '！', '？', '，',
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_to_the_hub_begins_with_a_phrase() {
        let phrases = "hey  Hütte, Άλφα,, ok-computer ,дом";
        for (said, left) in [
            ("Hey, HÜTTE: light on", Some("light on")),
            ("¡Hey — hütte! ¿luz?", Some("luz?")),
            ("ΆΛΦΑ, φως", Some("φως")),
            ("ΔΟΜ", None),
            ("ДОМ! свет", Some("свет")),
            ("OK computer", Some("")),
            ("ok computer, @status", Some("@status")),
            ("OK computer (aside)", Some("(aside)")),
            ("Дом's light is broken", None),
            ("Дом’s light is broken", None),
            ("'Дом' light", Some("' light")),
            ("okcomputer", Some("")),
            ("O.K. com puter, on", Some("on")),
            ("HeyHütte: on", Some("on")),
            ("hey hüt te on", Some("on")),
            ("hey hüt", None),
            ("okcomputers", None),
            ("ok com puters", None),
            ("o kcomputerok", None),
            ("Hey Hütten are nice", None),
            ("the hey Hütte", None),
            ("", None),
        ] {
            let skip = addressed(said, phrases);
            let rest = skip.map(|skip| said.chars().skip(skip).collect::<std::string::String>());
            assert_eq!(rest.as_deref(), left, "{said}");
        }
        assert_eq!(addressed("anything", " ,, - "), None);
    }
}
