//! Words: splitting a text into them, and reading numbers and names of devices.

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

/// The number by which something is to change: "by ten".
pub(super) fn number_by(words: &[String]) -> Option<f64> {
    last_number(&words[position(words, &["by"])?..])
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

/// The number that the words begin with, and how many of them it takes.
pub(super) fn number(words: &[String]) -> Option<(f64, usize)> {
    const SMALL: [&str; 20] = [
        "zero",
        "one",
        "two",
        "three",
        "four",
        "five",
        "six",
        "seven",
        "eight",
        "nine",
        "ten",
        "eleven",
        "twelve",
        "thirteen",
        "fourteen",
        "fifteen",
        "sixteen",
        "seventeen",
        "eighteen",
        "nineteen",
    ];
    const TENS: [&str; 8] = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"];
    let first = words.first()?.as_str();
    if let Ok(value) = first.parse::<f64>() {
        return (value.is_finite() && first.starts_with(|c: char| c.is_ascii_digit())).then_some((value, 1));
    }
    let small = |word: &str| SMALL.iter().position(|name| *name == word).map(|value| value as f64);
    let (value, mut taken) = match TENS.iter().position(|name| *name == first) {
        Some(ten) => {
            let ten = (ten as f64 + 2.0) * 10.0;
            let unit = words.get(1).and_then(|word| small(word)).filter(|unit| (1.0..10.0).contains(unit));
            unit.map_or((ten, 1), |unit| (ten + unit, 2))
        }
        None if first == "half" => (50.0, 1),
        None if first == "hundred" => (100.0, 1),
        None if first == "a" && words.get(1).is_some_and(|word| word == "hundred") => (100.0, 2),
        None => (small(first)?, 1),
    };
    if value < 10.0 && words.get(taken).is_some_and(|word| word == "hundred") {
        taken += 1;
        let rest = number(&words[taken..]).filter(|(rest, _)| *rest < 100.0);
        return Some(
            rest.map_or((value * 100.0, taken), |(rest, more)| (value * 100.0 + rest, taken + more)),
        );
    }
    Some((value, taken))
}

/// The last number among the words.
pub(super) fn last_number(words: &[String]) -> Option<f64> {
    let mut found = None;
    let mut start = 0;
    while start < words.len() {
        match number(&words[start..]) {
            Some((value, taken)) => {
                found = Some(value);
                start += taken;
            }
            None => start += 1,
        }
    }
    found
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
    fn words_numbers_and_signs() {
        let words = |text: &str| split(text).join(" ");
        assert_eq!(words("What's 1,200.5 * (3-2)%?"), "what is 1200.5 * ( 3 - 2 ) percent |");
        assert_eq!(words("Good-night, set my_flag."), "good night | set my_flag |");
        assert_eq!(words("Grüezi! Don’t"), "grüezi | dont");
        for (text, expected) in [
            ("forty percent", Some((40.0, 1))),
            ("twenty five", Some((25.0, 2))),
            ("three hundred sixty five days", Some((365.0, 4))),
            ("a hundred", Some((100.0, 2))),
            ("21.5 degrees", Some((21.5, 1))),
            ("inf", None),
            ("lamp", None),
        ] {
            assert_eq!(number(&split(text)), expected, "{text}");
        }
        assert_eq!(last_number(&split("switch one to thirty percent")), Some(30.0));
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
