//! Intents for arithmetic, from words to an expression.

use super::Intent;
use super::number::{fraction, number};
use super::words::after;

/// Words that make an expression, longest first.
const SIGNS: [(&str, &str); 17] = [
    ("to the power of", " ^ "),
    ("multiplied by", " * "),
    ("divided by", " / "),
    ("percent of", " / 100 * "),
    ("plus", " + "),
    ("minus", " - "),
    ("times", " * "),
    ("over", " / "),
    ("squared", " ^ 2"),
    ("cubed", " ^ 3"),
    ("+", " + "),
    ("-", " - "),
    ("*", " * "),
    ("x", " * "),
    ("/", " / "),
    ("^", " ^ "),
    ("percent", " / 100"),
];

const QUESTIONS: [&str; 7] =
    ["what is", "how much is", "whats", "calculate", "compute", "what are", "work out"];

pub(super) fn sum(words: &[String]) -> Option<Intent> {
    let asked = QUESTIONS.iter().find_map(|question| after(words, question));
    let said = asked.unwrap_or(words);
    let mut expression = String::new();
    let mut rest = said;
    let mut signs = 0;
    let mut open = 0;
    while let Some(first) = rest.first() {
        let part = fraction(rest).and_then(|(part, taken)| Some((part, after(&rest[taken..], "of")?)));
        if let Some((part, others)) = part {
            expression.push_str(&format!("{part} * "));
            (signs, rest) = (signs + 1, others);
        } else if let Some((value, taken)) = number(rest) {
            expression.push_str(&value.to_string());
            rest = &rest[taken..];
            // A root ends with its number.
            if open > 0 {
                expression.push(')');
                open -= 1;
            }
        } else if let Some(others) =
            after(rest, "the square root of").or_else(|| after(rest, "square root of"))
        {
            expression.push_str("sqrt(");
            (signs, open, rest) = (signs + 1, open + 1, others);
        } else if first == "(" || first == ")" {
            expression.push_str(first);
            rest = &rest[1..];
        } else {
            let (sign, others) = SIGNS.iter().find_map(|(sign, text)| Some((text, after(rest, sign)?)))?;
            expression.push_str(sign);
            (signs, rest) = (signs + 1, others);
        }
    }
    let said = said.join(" ");
    (signs > 0 && open == 0 && expression.contains(|c: char| c.is_ascii_digit()))
        .then(|| Intent::Sum { expression: expression.trim().into(), said })
}

#[cfg(test)]
mod tests {
    use super::super::words::split;
    use super::*;

    #[test]
    fn sums_in_words_and_signs() {
        for (said, expected) in [
            ("what is 17 percent of 240", Some("17 / 100 * 240")),
            ("how much is twenty five times four", Some("25 * 4")),
            ("what is (2 + 3) * 4", Some("(2 + 3) * 4")),
            ("what is the square root of 2 plus 1", Some("sqrt(2) + 1")),
            ("12 divided by 5", Some("12 / 5")),
            ("what is 3 squared", Some("3 ^ 2")),
            ("what is half of 80 plus a quarter of 10", Some("0.5 * 80 + 0.25 * 10")),
            ("what is half", None),
            ("what is 5", None),
            ("what is love", None),
            ("what is the square root of", None),
            ("minus", None),
        ] {
            let found = sum(&split(said)).map(|intent| match intent {
                Intent::Sum { expression, .. } => expression,
                other => panic!("{other:?}"),
            });
            assert_eq!(found.as_deref(), expected, "{said}");
        }
    }
}
