//! Intents for the devices of a home.

use super::number::{last_percent, number, percent, percent_by};
use super::words::{after, begins, contains, has, position, without};
use super::{Condition, Intent, Power, Target};

/// Percent that "dim" means without a number.
const DIM: u8 = 30;
/// Percent that "brighter" means without a number.
const STEP: i8 = 20;
/// Percent below which a battery is low.
const LOW: u8 = 20;

const SCENES: [(&str, &str); 12] = [
    ("goodnight", "Good Night"),
    ("good night", "Good Night"),
    ("going to bed", "Good Night"),
    ("bedtime", "Good Night"),
    ("good morning", "Good Morning"),
    ("movie night", "Movie Night"),
    ("movie time", "Movie Night"),
    ("watch a movie", "Movie Night"),
    ("watch a film", "Movie Night"),
    ("im leaving", "Away"),
    ("i am leaving", "Away"),
    ("leaving the house", "Away"),
];

pub(super) fn batteries(words: &[String]) -> Option<Intent> {
    if !has(words, &["battery", "batteries"]) {
        return None;
    }
    let limit = ["below", "under", "than"].iter().find_map(|word| {
        percent(&words[position(words, &[word])? + 1..]).map(|(percent, _)| percent.clamp(1.0, 100.0) as u8)
    });
    let is_low = has(words, &["low", "empty", "weak", "flat", "dying", "replace", "change", "charge"]);
    if let Some(of) = position(words, &["of", "in"]).filter(|_| !is_low) {
        let target = Target::new(&words[of + 1..]);
        if !target.is_plural && !target.is_empty() {
            return Some(Intent::Status { target, expected: None });
        }
    }
    Some(Intent::Batteries(limit.or(is_low.then_some(LOW))))
}

pub(super) fn ping(words: &[String]) -> Option<Intent> {
    let rest = after(words, "ping node").or_else(|| after(words, "ping"))?;
    let (node, _) = number(rest)?;
    (1.0..=232.0).contains(&node).then_some(Intent::Ping(node as u8))
}

pub(super) fn scene(words: &[String]) -> Option<Intent> {
    if has(words, &["scenes"]) {
        return Some(Intent::Scenes);
    }
    if let Some((_, name)) = SCENES.iter().find(|(said, _)| contains(words, said)) {
        return Some(Intent::Scene((*name).into()));
    }
    let verbs = ["activate", "start", "run", "play", "set"];
    if !has(words, &["scene"]) || !has(words, &verbs) {
        return None;
    }
    let name = without(&without(words, &["the", "scene", "to"]), &verbs);
    (!name.is_empty()).then(|| Intent::Scene(name.join(" ")))
}

pub(super) fn lock(words: &[String]) -> Option<Intent> {
    let (rest, locks) = match (after(words, "lock"), after(words, "unlock")) {
        (Some(rest), _) => (rest, true),
        (None, Some(rest)) => (rest, false),
        (None, None) => return None,
    };
    let rest = after(rest, "up").unwrap_or(rest);
    Some(Intent::Lock { target: Target::new(rest), locks })
}

/// "Make the lamp brighter", "dim it a bit".
pub(super) fn brighter(words: &[String]) -> Option<Intent> {
    let is_bit = contains(words, "a bit") || contains(words, "a little") || has(words, &["slightly", "more"]);
    let up = has(words, &["brighter", "lighter"]) || is_bit && has(words, &["brighten"]);
    let down = has(words, &["darker", "dimmer"]) || is_bit && has(words, &["dim", "lower"]);
    let by = percent_by(words);
    let (up, down) = match has(words, &["brightness", "light", "lamp"]) && by.is_some() {
        true => (
            up || has(words, &["increase", "raise", "brighten", "up"]),
            down || has(words, &["decrease", "lower", "dim", "down"]),
        ),
        false => (up, down),
    };
    if up == down || begins(words, &["is", "are", "which", "what", "why"]) {
        return None;
    }
    let step = by.map_or(STEP, |percent| percent.clamp(1.0, 100.0) as i8);
    const DOING: [&str; 23] = [
        "make",
        "turn",
        "set",
        "dim",
        "brighten",
        "brighter",
        "lighter",
        "darker",
        "dimmer",
        "bit",
        "little",
        "slightly",
        "more",
        "much",
        "increase",
        "raise",
        "decrease",
        "lower",
        "brightness",
        "it",
        "up",
        "down",
        "percent",
    ];
    let end = position(words, &["by"]).unwrap_or(words.len());
    let named = without(&words[..end], &DOING);
    Some(Intent::Brighter { target: Target::new(&named), change: if up { step } else { -step } })
}

pub(super) fn rooms(words: &[String]) -> Option<Intent> {
    let asks = begins(words, &["which", "what", "list", "show", "name"]) || contains(words, "how many");
    (asks && has(words, &["rooms"])).then_some(Intent::Rooms)
}

pub(super) fn level(words: &[String]) -> Option<Intent> {
    let percent = |words: &[String]| {
        let said = last_percent(words).map(|percent| percent.clamp(0.0, 100.0) as u8);
        said.or(has(words, &["full", "maximum", "max"]).then_some(100))
    };
    let dims = ["dim", "brighten", "set", "turn", "put", "make", "bring"];
    let rest = dims.iter().find_map(|verb| after(words, verb))?;
    let rest = after(rest, "down").or_else(|| after(rest, "up")).unwrap_or(rest);
    let to = rest.iter().rposition(|word| word == "to" || word == "at");
    match to.and_then(|to| Some((to, percent(&rest[to..])?))) {
        Some((to, percent)) => {
            let named = without(&rest[..to], &["down", "up", "on", "brightness", "level"]);
            Some(Intent::Level { target: Target::new(&named), percent })
        }
        None => {
            let usual = match words.first()?.as_str() {
                "dim" => DIM,
                "brighten" => 100,
                _ => return None,
            };
            Some(Intent::Level { target: Target::new(rest), percent: usual })
        }
    }
    .filter(|intent| !matches!(intent, Intent::Level { target, .. } if target.is_empty()))
}

pub(super) fn power(words: &[String]) -> Option<Intent> {
    let intent = |target: &[String], power| {
        let target = Target::new(target);
        (!target.is_empty()).then_some(Intent::Power { target, power })
    };
    if let Some(rest) = after(words, "toggle") {
        return intent(rest, Power::Toggle);
    }
    for (verb, power) in [("start", Power::On), ("stop", Power::Off), ("kill", Power::Off)] {
        if let Some(rest) = after(words, verb) {
            return intent(rest, power);
        }
    }
    let verb = VERBS.iter().find_map(|verb| after(words, verb));
    let rest = verb.unwrap_or(words);
    // A question about it is no command.
    if begins(words, &["is", "are", "what", "which", "who", "why", "when", "did", "was", "how"]) {
        return None;
    }
    let switched = |word: &String| match word.as_str() {
        "on" => Some(Power::On),
        "off" => Some(Power::Off),
        _ => None,
    };
    if verb.is_some()
        && let Some((first, target)) = rest.split_first()
        && let Some(power) = switched(first)
    {
        return intent(target, power);
    }
    // "Lights off in the kitchen."
    if let Some(at) = position(rest, &["in"]).filter(|at| *at > 1)
        && let Some(power) = switched(&rest[at - 1])
    {
        return intent(&[&rest[..at - 1], &rest[at..]].concat(), power);
    }
    let (last, target) = rest.split_last()?;
    intent(target, if last == "out" { Power::Off } else { switched(last)? })
}

const VERBS: [&str; 4] = ["turn", "switch", "put", "shut"];

/// "Turn the lamp", and what is to be done to it comes later.
pub(super) fn unfinished(words: &[String]) -> Option<Target> {
    let rest = VERBS.iter().find_map(|verb| after(words, verb))?;
    Some(Target::new(rest)).filter(|target| !target.is_empty())
}

/// The condition that a word asks for.
fn condition(words: &[String]) -> Option<Condition> {
    words.iter().rev().find_map(|word| {
        Some(match word.as_str() {
            "on" | "lit" | "running" => Condition::On(true),
            "off" => Condition::On(false),
            "locked" | "lock" => Condition::Locked(true),
            "unlocked" => Condition::Locked(false),
            "open" => Condition::Open(true),
            "closed" | "shut" => Condition::Open(false),
            "motion" | "movement" | "moving" | "anybody" | "anyone" | "somebody" | "someone" => {
                Condition::Motion(true)
            }
            _ => return None,
        })
    })
}

/// The target of a question, without the words of the question.
fn about(words: &[String]) -> Target {
    const ASKING: [&str; 29] = [
        "is",
        "are",
        "on",
        "off",
        "locked",
        "unlocked",
        "open",
        "closed",
        "shut",
        "lit",
        "running",
        "still",
        "currently",
        "anybody",
        "anyone",
        "somebody",
        "someone",
        "any",
        "moving",
        "status",
        "state",
        "lock",
        "did",
        "i",
        "many",
        "leave",
        "working",
        "answering",
        "alive",
    ];
    Target::new(&without(words, &ASKING))
}

pub(super) fn devices(words: &[String]) -> Option<Intent> {
    const QUESTIONS: [&str; 13] = [
        "which",
        "what is",
        "what are",
        "what",
        "list",
        "show me",
        "show",
        "name",
        "are any",
        "are there any",
        "how many",
        "is anything",
        "is any",
    ];
    let (question, rest) = QUESTIONS.iter().find_map(|verb| Some((*verb, after(words, verb)?)))?;
    let condition = condition(rest);
    let mut target = about(rest);
    target.words = without(&target.words, &["everything", "device", "have", "do", "you", "know"]);
    let is_list = Target::new(rest).is_plural || question.starts_with("is any");
    // "What is open", "what is still on in the kitchen", "what is in the kitchen".
    let begins_so = begins(rest, &["in", "still", "currently"]);
    let is_bare = question == "what is" && (begins_so || rest.get(..1).and_then(self::condition).is_some());
    if !is_list && !is_bare {
        return None;
    }
    target.is_plural = true;
    Some(Intent::Devices { target, condition, is_all: false })
}

pub(super) fn status(words: &[String]) -> Option<Intent> {
    const QUESTIONS: [&str; 19] = [
        "is there",
        "is",
        "are",
        "did i leave",
        "did i",
        "did you",
        "has",
        "what is the status of",
        "what is the state of",
        "what is the brightness of",
        "how bright is",
        "how is",
        "how are",
        "check on",
        "check",
        "whats the status of",
        "status of",
        "what about",
        "how about",
    ];
    let rest = QUESTIONS.iter().find_map(|question| after(words, question))?;
    let mut target = about(rest);
    // "Check the hall motion" is no question to be answered with yes or no.
    let is_yes_or_no = begins(words, &["is", "are", "did", "has"]);
    let expected = condition(rest).filter(|_| is_yes_or_no);
    if matches!(expected, Some(Condition::Motion(_))) {
        target.words = without(&target.words, &["motion", "movement", "home", "house", "here"]);
        target.is_plural |= target.is_empty();
    }
    // "Is the house locked": all that can be.
    if expected.is_some() && without(&target.words, &["house", "home", "everything"]).is_empty() {
        target = Target { is_plural: true, ..Target::default() };
    }
    if target.is_plural {
        return Some(Intent::Devices { target, condition: expected, is_all: expected.is_some() });
    }
    (!target.is_empty()).then_some(Intent::Status { target, expected })
}
