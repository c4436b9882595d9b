//! Words: splitting a text into them, and reading names of devices.

/// Ends a clause.
pub(super) const END: &str = "|";

/// The words of a text in lower case, signs of arithmetic among them, and [`END`] where a sentence pauses.
pub(super) fn split(text: &str) -> Vec<String> {
    let text = text
        .to_lowercase()
        .replace('’', "'")
        .replace("'s ", " is ")
        .replace(['×', '·'], "*")
        .replace('÷', "/");
    let mut words: Vec<String> = Vec::new();
    let mut word = String::new();
    let letters: Vec<char> = text.chars().collect();
    let at = |index: usize| letters.get(index).copied().unwrap_or(' ');
    for (index, letter) in letters.iter().copied().enumerate() {
        let (before, after) = (if index == 0 { ' ' } else { at(index - 1) }, at(index + 1));
        let is_inside = match letter {
            '.' | ',' => before.is_ascii_digit() && after.is_ascii_digit(),
            '_' => true,
            other => other.is_alphanumeric(),
        };
        match letter {
            // Thousands.
            ',' if is_inside => {}
            '\'' => {}
            _ if is_inside => word.push(letter),
            _ => {
                words.extend((!word.is_empty()).then(|| std::mem::take(&mut word)));
                match letter {
                    '-' if before.is_alphabetic() && after.is_alphabetic() => {}
                    '+' | '-' | '*' | '/' | '^' | '(' | ')' => words.push(letter.into()),
                    '%' => words.push("percent".into()),
                    '.' | ',' | ';' | ':' | '!' | '?' | '\n' => words.push(END.into()),
                    _ => {}
                }
            }
        }
    }
    words.extend((!word.is_empty()).then_some(word));
    words
}

/// The words after this beginning. None if they begin otherwise.
pub(super) fn after<'a>(words: &'a [String], beginning: &str) -> Option<&'a [String]> {
    let mut rest = words;
    for wanted in beginning.split(' ') {
        let (first, others) = rest.split_first()?;
        if first != wanted {
            return None;
        }
        rest = others;
    }
    Some(rest)
}

/// Whether one of these is among the words.
pub(super) fn has(words: &[String], wanted: &[&str]) -> bool {
    words.iter().any(|word| wanted.contains(&word.as_str()))
}

/// Whether the first word is one of these.
pub(super) fn begins(words: &[String], wanted: &[&str]) -> bool {
    words.first().is_some_and(|word| wanted.contains(&word.as_str()))
}

/// The position of the first of these among the words.
pub(super) fn position(words: &[String], wanted: &[&str]) -> Option<usize> {
    words.iter().position(|word| wanted.contains(&word.as_str()))
}

/// The words without these.
pub(in super::super) fn without(words: &[String], unwanted: &[&str]) -> Vec<String> {
    words.iter().filter(|word| !unwanted.contains(&word.as_str())).cloned().collect()
}

/// Whether the words contain this phrase.
pub(super) fn contains(words: &[String], phrase: &str) -> bool {
    (0..words.len()).any(|start| after(&words[start..], phrase).is_some())
}

/// The words without polite phrases at both ends.
pub(super) fn without_manners(words: &[String]) -> &[String] {
    const BEFORE: [&str; 24] = [
        "please",
        "hey",
        "ok",
        "okay",
        "hub",
        "hearthwave",
        "so",
        "well",
        "now",
        "also",
        "then",
        "just",
        "can you",
        "could you",
        "would you",
        "will you",
        "tell me",
        "let me know",
        "i want you to",
        "i would like you to",
        "i want to know",
        "do you know",
        "go ahead and",
        "if",
    ];
    const BEHIND: [&str; 9] =
        ["please", "now", "thanks", "for me", "thank you", "right now", "again", "too", "again please"];
    let mut words = words;
    while let Some(rest) =
        BEFORE.iter().find_map(|polite| after(words, polite)).filter(|rest| !rest.is_empty())
    {
        words = rest;
    }
    let shorter = |words: &[String]| {
        BEHIND.iter().map(|polite| polite.split(' ').count()).zip(BEHIND).find_map(|(length, polite)| {
            let start = words.len().checked_sub(length).filter(|start| *start > 0)?;
            after(&words[start..], polite).map(|_| start)
        })
    };
    while let Some(end) = shorter(words) {
        words = &words[..end];
    }
    words
}

/// The device or devices that a clause names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in super::super) struct Target {
    /// In the singular, without articles.
    pub(in super::super) words: Vec<String>,
    pub(in super::super) is_plural: bool,
    /// The words for the devices that are left out.
    pub(in super::super) except: Vec<String>,
}

impl Target {
    pub(in super::super) fn new(words: &[String]) -> Self {
        const FILLERS: [&str; 16] = [
            "the", "a", "an", "my", "our", "your", "of", "in", "at", "for", "to", "that", "this", "there",
            "house", "home",
        ];
        const PLURALS: [(&str, &str); 11] = [
            ("lights", "light"),
            ("lamps", "lamp"),
            ("doors", "door"),
            ("windows", "window"),
            ("devices", "device"),
            ("switches", "switch"),
            ("sensors", "sensor"),
            ("locks", "lock"),
            ("rooms", "room"),
            ("thermostats", "thermostat"),
            ("things", "device"),
        ];
        // "Turn that one off": what "it" is.
        if matches!(words, [that, one] if one == "one" && (that == "that" || that == "this")) {
            return Self { words: vec!["it".into()], ..Self::default() };
        }
        let mut target = Self::default();
        for word in words.iter().map(String::as_str).filter(|word| !FILLERS.contains(word)) {
            if matches!(word, "all" | "every" | "each" | "both" | "everything" | "anything" | "any") {
                target.is_plural = true;
                continue;
            }
            match PLURALS.iter().find(|(plural, _)| *plural == word) {
                Some((_, singular)) => {
                    target.is_plural = true;
                    target.words.push((*singular).into());
                }
                None => target.words.push(word.into()),
            }
        }
        if target.is_plural && target.words.is_empty() {
            target.words.push("everything".into());
        }
        target
    }

    pub(in super::super) fn is_empty(&self) -> bool {
        self.words.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_signs() {
        let words = |text: &str| split(text).join(" ");
        assert_eq!(words("What's 1,200.5 * (3-2)%?"), "what is 1200.5 * ( 3 - 2 ) percent |");
        assert_eq!(words("Good-night, set my_flag."), "good night | set my_flag |");
        assert_eq!(words("Grüezi! Don’t"), "grüezi | dont");
    }

    #[test]
    fn manners_and_articles_do_not_matter() {
        let bare = |text: &str| without_manners(&split(text)).join(" ");
        assert_eq!(bare("hey hub could you please turn it off for me please"), "turn it off");
        assert_eq!(bare("please"), "please");
        let target = Target::new(&split("all the lights in the living room"));
        assert_eq!((target.words.join(" ").as_str(), target.is_plural), ("light living room", true));
    }
}
