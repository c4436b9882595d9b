//! What the devices of a home can do.

use super::words::{after, contains, has, last_number, number};
use super::{Condition, Intent, Power, Target};

/// Percent that "dim" means without a number.
const DIM: u8 = 30;
/// Percent below which a battery is low.
const LOW: u8 = 20;

const SCENES: [(&str, &str); 7] = [
    ("goodnight", "Good Night"),
    ("good night", "Good Night"),
    ("going to bed", "Good Night"),
    ("bedtime", "Good Night"),
    ("good morning", "Good Morning"),
    ("movie night", "Movie Night"),
    ("movie time", "Movie Night"),
];

const MODES: [(&str, &str); 7] = [
    ("off", "off"),
    ("cool", "cool"),
    ("cooling", "cool"),
    ("auto", "auto"),
    ("automatic", "auto"),
    ("heat", "heat"),
    ("on", "heat"),
];

pub(super) fn batteries(words: &[String]) -> Option<Intent> {
    if !has(words, &["battery", "batteries"]) {
        return None;
    }
    let limit = ["below", "under", "than"].iter().find_map(|word| {
        let at = words.iter().position(|other| other == word)?;
        number(&words[at + 1..]).map(|(percent, _)| percent.clamp(1.0, 100.0) as u8)
    });
    let is_low = has(words, &["low", "empty", "weak", "flat", "dying", "replace", "change", "charge"]);
    if let Some(of) = words.iter().position(|word| word == "of" || word == "in").filter(|_| !is_low) {
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
    let name = words.iter().filter(|word| !["the", "scene", "to"].contains(&word.as_str()));
    let name: Vec<_> = name.filter(|word| !verbs.contains(&word.as_str())).cloned().collect();
    (!name.is_empty()).then(|| Intent::Scene(name.join(" ")))
}

pub(super) fn thermostat(words: &[String]) -> Option<Intent> {
    let is_it = has(words, &["thermostat", "heating", "heater", "heat", "cooling", "temperature", "degrees"]);
    let verb = words.first().is_some_and(|word| {
        ["set", "turn", "switch", "put", "make", "heat", "cool"].contains(&word.as_str())
    });
    if !is_it || !verb {
        return None;
    }
    let setpoint = last_number(words);
    let mode = MODES.iter().find(|(word, _)| has(&words[1..], &[word])).map(|(_, mode)| *mode);
    // "Turn on the heating" is a mode, "the cooling" another.
    let mode = match mode {
        Some("heat") if has(words, &["cooling"]) => Some("cool"),
        mode => mode,
    };
    (setpoint.is_some() || mode.is_some()).then_some(Intent::Thermostat { mode, setpoint })
}

pub(super) fn temperature(words: &[String]) -> Option<Intent> {
    if !has(words, &["temperature", "temperatures", "warm", "cold", "hot", "degrees"]) {
        return None;
    }
    let place = words.iter().position(|word| word == "in" || word == "of" || word == "outside");
    let mut target = place.map(|at| Target::new(&words[at..])).unwrap_or_default();
    if target.is_empty() {
        // "The bedroom temperature".
        let before = words.iter().position(|word| word == "temperature").unwrap_or(0);
        let named = &words[..before];
        let of_room = named.iter().position(|word| word == "the").map(|the| Target::new(&named[the + 1..]));
        target = of_room.unwrap_or_default();
    }
    target.words.retain(|word| !["house", "home", "here", "it", "degree"].contains(&word.as_str()));
    Some(Intent::Temperature(target))
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

pub(super) fn level(words: &[String]) -> Option<Intent> {
    let percent = |words: &[String]| {
        let said = last_number(words).map(|percent| percent.clamp(0.0, 100.0) as u8);
        said.or(has(words, &["full", "maximum", "max"]).then_some(100))
    };
    let dims = ["dim", "brighten", "set", "turn", "put", "make", "bring"];
    let rest = dims.iter().find_map(|verb| after(words, verb))?;
    let rest = after(rest, "down").or_else(|| after(rest, "up")).unwrap_or(rest);
    let to = rest.iter().rposition(|word| word == "to" || word == "at");
    match to.and_then(|to| Some((to, percent(&rest[to..])?))) {
        Some((to, percent)) => {
            let named = rest[..to].strip_suffix(&["down".to_owned()]).unwrap_or(&rest[..to]);
            Some(Intent::Level { target: Target::new(named), percent })
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
    let verb = VERBS.iter().find_map(|verb| after(words, verb));
    let rest = verb.unwrap_or(words);
    // A question about it is not a wish for it.
    if words
        .first()
        .is_some_and(|word| ["is", "are", "what", "which", "did", "was", "how"].contains(&word.as_str()))
    {
        return None;
    }
    if verb.is_some() {
        if let Some(target) = after(rest, "on") {
            return intent(target, Power::On);
        }
        if let Some(target) = after(rest, "off") {
            return intent(target, Power::Off);
        }
    }
    let (last, target) = rest.split_last()?;
    match last.as_str() {
        "on" => intent(target, Power::On),
        "off" | "out" => intent(target, Power::Off),
        _ => None,
    }
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

/// Words that say what is asked, not about whom.
fn about(words: &[String]) -> Target {
    const ASKING: [&str; 24] = [
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
    ];
    let named: Vec<String> = words.iter().filter(|word| !ASKING.contains(&word.as_str())).cloned().collect();
    Target::new(&named)
}

pub(super) fn devices(words: &[String]) -> Option<Intent> {
    let rest = ["which", "what", "list", "show me", "show", "name", "are any", "are there any"]
        .iter()
        .find_map(|verb| after(words, verb))?;
    let target = about(rest);
    let is_list = target.is_plural || contains(words, "what is in") || contains(words, "what is on");
    if !is_list {
        return None;
    }
    let condition = match after(words, "what is on") {
        Some(_) => Some(Condition::On(true)),
        None => condition(rest),
    };
    let mut target = target;
    target.words.retain(|word| !["is", "everything"].contains(&word.as_str()));
    target.is_plural = true;
    Some(Intent::Devices { target, condition })
}

pub(super) fn status(words: &[String]) -> Option<Intent> {
    const QUESTIONS: [&str; 14] = [
        "is there",
        "is",
        "are",
        "did i",
        "did you",
        "what is the status of",
        "what is the state of",
        "how is",
        "how are",
        "check on",
        "check",
        "whats the status of",
        "status of",
        "what about",
    ];
    let rest = QUESTIONS.iter().find_map(|question| after(words, question))?;
    let target = about(rest);
    // "Check the hall motion" is no question to be answered with yes or no.
    let is_yes_or_no = has(&words[..1], &["is", "are", "did"]);
    let expected = condition(rest).filter(|_| is_yes_or_no);
    let target = match expected {
        Some(Condition::Motion(_)) => {
            let words = target.words.into_iter().filter(|word| word != "motion" && word != "movement");
            Target { words: words.collect(), is_plural: target.is_plural }
        }
        _ => target,
    };
    if target.is_plural {
        return Some(Intent::Devices { target, condition: expected });
    }
    (!target.is_empty()).then_some(Intent::Status { target, expected })
}
