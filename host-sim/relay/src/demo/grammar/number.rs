//! Numbers, in digits and in words.

use super::words::{after, has, position};

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

/// Parts of a whole, longest first.
const FRACTIONS: [(&str, f64); 7] = [
    ("three quarters", 0.75),
    ("one quarter", 0.25),
    ("a quarter", 0.25),
    ("quarter", 0.25),
    ("one half", 0.5),
    ("a half", 0.5),
    ("half", 0.5),
];

/// Words before "one" that make it no number: "turn that one off".
const POINTING: [&str; 8] = ["that", "this", "the", "which", "other", "another", "last", "same"];

/// The number that the words begin with, and how many of them it takes.
pub(super) fn number(words: &[String]) -> Option<(f64, usize)> {
    let (value, taken) = whole(words)?;
    let rest = &words[taken..];
    if let Some(digits) = after(rest, "point") {
        let places: String = digits.iter().map_while(digit).collect();
        // They are digits.
        return Some(match format!("{value}.{places}").parse() {
            Ok(decimal) if !places.is_empty() => (decimal, taken + 1 + places.len()),
            _ => (value, taken),
        });
    }
    match after(rest, "and").and_then(fraction) {
        Some((part, more)) => Some((value + part, taken + 1 + more)),
        None => Some((value, taken)),
    }
}

/// Whether the "and" at this place is inside of a number: "a hundred and four", "nineteen and a half".
pub(super) fn joins_number(words: &[String], and: usize) -> bool {
    let Some(last) = words[..and].last() else { return false };
    let behind = &words[and + 1..];
    let is_number = whole(std::slice::from_ref(last)).is_some();
    (last == "hundred" && below_hundred(behind).is_some()) || (is_number && fraction(behind).is_some())
}

/// A number in digits, or in words up to 999.
fn whole(words: &[String]) -> Option<(f64, usize)> {
    let first = words.first()?;
    if let Ok(value) = first.parse::<f64>() {
        return (value.is_finite() && first.starts_with(|c: char| c.is_ascii_digit())).then_some((value, 1));
    }
    let hundreds = ["a hundred", "hundred"].iter().find_map(|said| Some((1.0, after(words, said)?)));
    let hundreds = hundreds.or_else(|| {
        let (value, taken) = below_hundred(words).filter(|(value, _)| *value < 10.0)?;
        Some((value, after(&words[taken..], "hundred")?))
    });
    match hundreds {
        Some((hundreds, rest)) => {
            let rest = after(rest, "and").filter(|rest| below_hundred(rest).is_some()).unwrap_or(rest);
            let (value, more) = below_hundred(rest).unwrap_or((0.0, 0));
            Some((hundreds * 100.0 + value, words.len() - rest.len() + more))
        }
        None => below_hundred(words),
    }
}

/// A number in words below 100.
fn below_hundred(words: &[String]) -> Option<(f64, usize)> {
    let first = words.first()?;
    let small = |word: &String| SMALL.iter().position(|name| name == word).map(|value| value as f64);
    match TENS.iter().position(|name| name == first) {
        Some(ten) => {
            let ten = (ten as f64 + 2.0) * 10.0;
            let unit = words.get(1).and_then(small).filter(|unit| (1.0..10.0).contains(unit));
            Some(unit.map_or((ten, 1), |unit| (ten + unit, 2)))
        }
        None => Some((small(first)?, 1)),
    }
}

/// A digit behind the point.
fn digit(word: &String) -> Option<char> {
    match SMALL[..10].iter().position(|name| name == word) {
        Some(digit) => char::from_digit(digit as u32, 10),
        None => Some(word.chars().next()?).filter(|digit| word.len() == 1 && digit.is_ascii_digit()),
    }
}

/// The part of a whole that the words begin with, and how many of them it takes.
pub(super) fn fraction(words: &[String]) -> Option<(f64, usize)> {
    let (rest, part) = FRACTIONS.iter().find_map(|(said, part)| Some((after(words, said)?, *part)))?;
    Some((part, words.len() - rest.len()))
}

/// The percent that the words begin with, and how many of them it takes: "half" is 50.
pub(super) fn percent(words: &[String]) -> Option<(f64, usize)> {
    fraction(words).map(|(part, taken)| (part * 100.0, taken)).or_else(|| number(words))
}

/// The last percent among the words.
pub(super) fn last_percent(words: &[String]) -> Option<f64> {
    last(words, percent)
}

/// The percent by which something is to change: "by ten".
pub(super) fn percent_by(words: &[String]) -> Option<f64> {
    last_percent(&words[position(words, &["by"])?..])
}

/// The last number of degrees among the words: "half a degree" is one, "half" alone is none.
pub(super) fn last_degrees(words: &[String]) -> Option<f64> {
    last(words, |words| {
        let part = fraction(words).filter(|(_, taken)| {
            let rest = &words[*taken..];
            has(&rest[..rest.len().min(3)], &["degree", "degrees"])
        });
        part.or_else(|| number(words))
    })
}

fn last(words: &[String], read: impl Fn(&[String]) -> Option<(f64, usize)>) -> Option<f64> {
    let mut found = None;
    let mut start = 0;
    while start < words.len() {
        let is_pointed_at =
            start > 0 && words[start] == "one" && POINTING.contains(&words[start - 1].as_str());
        match read(&words[start..]).filter(|_| !is_pointed_at) {
            Some((value, taken)) => {
                found = Some(value);
                start += taken;
            }
            None => start += 1,
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::words::split;
    use super::*;

    #[test]
    fn numbers_in_digits_and_in_words() {
        for (text, expected) in [
            ("forty percent", Some((40.0, 1))),
            ("twenty five", Some((25.0, 2))),
            ("twenty-five", Some((25.0, 2))),
            ("twenty ten", Some((20.0, 1))),
            ("three hundred sixty five days", Some((365.0, 4))),
            ("two hundred and five", Some((205.0, 4))),
            ("a hundred", Some((100.0, 2))),
            ("a hundred and", Some((100.0, 2))),
            ("hundred", Some((100.0, 1))),
            ("zero", Some((0.0, 1))),
            ("21.5 degrees", Some((21.5, 1))),
            ("twenty one point five degrees", Some((21.5, 4))),
            ("21 point 5", Some((21.5, 3))),
            ("three point one five", Some((3.15, 4))),
            ("twenty point", Some((20.0, 1))),
            ("nineteen and a half", Some((19.5, 4))),
            ("ten and the lamp", Some((10.0, 1))),
            ("a lamp", None),
            ("half", None),
            ("inf", None),
            ("lamp", None),
        ] {
            assert_eq!(number(&split(text)), expected, "{text}");
        }
    }

    /// The same number, written by another rule.
    #[test]
    fn every_number_up_to_a_hundred_is_read_as_it_is_spoken() {
        for value in 0..=100_usize {
            let spoken = match (value / 10, value % 10) {
                (10, _) => "one hundred".to_owned(),
                (0 | 1, _) => SMALL[value].to_owned(),
                (ten, 0) => TENS[ten - 2].to_owned(),
                (ten, one) => format!("{}-{}", TENS[ten - 2], SMALL[one]),
            };
            assert_eq!(
                last_percent(&split(&format!("set the lamp to {spoken} percent"))),
                Some(value as f64)
            );
            let tenths = format!("{spoken} point {} degrees", SMALL[value % 10]);
            let expected = value as f64 + (value % 10) as f64 / 10.0;
            assert!((last_degrees(&split(&tenths)).expect("a number") - expected).abs() < 1e-9, "{tenths}");
        }
    }

    #[test]
    fn parts_are_percent_or_degrees() {
        let percent = |text: &str| last_percent(&split(text));
        let degrees = |text: &str| last_degrees(&split(text));
        assert_eq!(percent("switch one to thirty percent"), Some(30.0));
        assert_eq!((percent("to a quarter"), percent("to three quarters")), (Some(25.0), Some(75.0)));
        assert_eq!((percent("to half"), degrees("to half")), (Some(50.0), None));
        assert_eq!((degrees("by half a degree"), degrees("a quarter of a degree")), (Some(0.5), Some(0.25)));
        assert_eq!((percent("that one"), percent("to one")), (None, Some(1.0)));
    }
}
