//! Splits what was said into clauses: one intent each, with its exceptions.

use super::number::joins_number;
use super::words::{END, after, without_manners};
use super::{hub, understand};

/// One clause, and its exceptions.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Clause {
    pub(super) words: Vec<String>,
    pub(super) except: Vec<String>,
}

/// Words before an exception, longest first.
const EXCEPT: [&str; 11] = [
    "with the exception of",
    "except for",
    "but not",
    "apart from",
    "aside from",
    "other than",
    "except",
    "excepting",
    "excluding",
    "besides",
    "but",
];

/// Verbs for what is to stay as it is.
const STAY: [&str; 2] = ["leave", "keep"];

/// The clauses. A search stays whole.
pub(super) fn clauses(words: &[String]) -> Vec<Clause> {
    let mut clauses: Vec<Clause> = Vec::new();
    for sentence in words.split(|word| word == END) {
        if hub::search(without_manners(sentence)).is_some() {
            clauses.push(Clause { words: sentence.to_vec(), ..Clause::default() });
            continue;
        }
        let mut start = 0;
        for (at, word) in sentence.iter().enumerate() {
            if word == "then" || word == "and" && !joins_number(sentence, at) {
                add(&mut clauses, &sentence[start..at]);
                start = at + 1;
            }
        }
        add(&mut clauses, &sentence[start..]);
    }
    clauses
}

fn add(clauses: &mut Vec<Clause>, part: &[String]) {
    let (main, rest) = divide(part);
    let stays = |words: &[String]| STAY.iter().any(|verb| after(words, verb).is_some());
    let is_intent = |words: &[String]| !stays(words) && understand(without_manners(words)).is_some();
    match rest {
        // "But what time is it": no exception.
        Some(rest) if is_intent(rest) => {
            add_bare(clauses, main);
            add_bare(clauses, rest);
        }
        Some(rest) if main.is_empty() => match clauses.last_mut() {
            Some(before) => except(before, rest),
            None => add_bare(clauses, part),
        },
        Some(rest) => {
            let mut clause = Clause { words: main.to_vec(), ..Clause::default() };
            except(&mut clause, rest);
            clauses.push(clause);
        }
        // "Everything but the lamp and the light": one intent, two exceptions.
        None => match clauses.last_mut() {
            Some(before) if !before.except.is_empty() && !part.is_empty() && !is_intent(part) => {
                except(before, part)
            }
            _ => add_bare(clauses, part),
        },
    }
}

fn add_bare(clauses: &mut Vec<Clause>, words: &[String]) {
    if !words.is_empty() {
        clauses.push(Clause { words: words.to_vec(), ..Clause::default() });
    }
}

fn except(clause: &mut Clause, words: &[String]) {
    // "But leave the lamp on."
    let words = without_manners(words);
    let words = STAY.iter().find_map(|verb| after(words, verb)).unwrap_or(words);
    let words = match words {
        [those @ .., last] if ["on", "off", "alone"].contains(&last.as_str()) => those,
        all => all,
    };
    if !clause.except.is_empty() {
        clause.except.push("and".into());
    }
    clause.except.extend(words.iter().cloned());
}

/// The words before an exception, and the exception.
fn divide(part: &[String]) -> (&[String], Option<&[String]>) {
    // Only at the beginning: "did I leave the light on" is a question.
    if STAY.iter().any(|verb| after(part, verb).is_some()) {
        return (&[], Some(part));
    }
    for at in 0..part.len() {
        let found = EXCEPT.iter().find_map(|word| after(&part[at..], word)).filter(|rest| !rest.is_empty());
        if let Some(rest) = found {
            return (&part[..at], Some(rest));
        }
    }
    (part, None)
}

#[cfg(test)]
mod tests {
    use super::super::words::split;
    use super::*;

    #[test]
    fn exceptions_stay_with_their_intent() {
        for (said, expected) in [
            ("turn off everything except the hall light", &[("turn off everything", "the hall light")][..]),
            ("all lights off, but not the lamp", &[("all lights off", "the lamp")]),
            (
                "all off except for the lamp, the pump and the fan",
                &[("all off", "the lamp and the pump and the fan")],
            ),
            ("turn off all lights but leave the lamp on", &[("turn off all lights", "the lamp")]),
            ("turn off all lights and keep the lamp on please", &[("turn off all lights", "the lamp")]),
            (
                "turn off the lamp but turn on the light and say hi",
                &[("turn off the lamp", ""), ("turn on the light", ""), ("say hi", "")],
            ),
            (
                "everything off but the lamp and what time is it",
                &[("everything off", "the lamp"), ("what time is it", "")],
            ),
            ("search for salt and pepper but no sugar", &[("search for salt and pepper but no sugar", "")]),
        ] {
            let found: Vec<_> = clauses(&split(said))
                .into_iter()
                .map(|one| (one.words.join(" "), one.except.join(" ")))
                .collect();
            let found: Vec<_> =
                found.iter().map(|(words, except)| (words.as_str(), except.as_str())).collect();
            assert_eq!(found, expected, "{said}");
        }
    }
}
