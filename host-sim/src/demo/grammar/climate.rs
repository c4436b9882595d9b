//! Warm and cold: what the heating is to do, and what is measured.

use super::words::{after, contains, has, last_number};
use super::{Intent, Target};

/// Degrees that "warmer" means without a number.
const STEP: f64 = 1.0;

const HEATING: [&str; 6] = ["thermostat", "heating", "heater", "radiator", "heat", "cooling"];

const MODES: [(&str, &str); 7] = [
    ("off", "off"),
    ("cool", "cool"),
    ("cooling", "cool"),
    ("auto", "auto"),
    ("automatic", "auto"),
    ("heat", "heat"),
    ("on", "heat"),
];

/// "Make it warmer", "turn the heating down by 2 degrees", "I am freezing".
pub(super) fn warmer(words: &[String]) -> Option<Intent> {
    let is_heating = has(words, &HEATING) || has(words, &["temperature"]);
    let complains = words.len() <= 6 && (after(words, "it is").is_some() || has(words, &["im", "am"]));
    let complains = complains && !has(words, &["not"]);
    let too_cold = complains && (has(words, &["freezing", "chilly"]) || contains(words, "too cold"));
    let is_cold = complains && (has(words, &["im", "am"]) || has(words, &["here"])) && has(words, &["cold"]);
    let too_hot = complains && (contains(words, "too hot") || contains(words, "too warm"));
    let up = has(words, &["warmer", "hotter"])
        || is_heating && has(words, &["up", "raise", "increase", "higher"])
        || too_cold
        || is_cold;
    let down = has(words, &["cooler", "colder"])
        || is_heating && has(words, &["down", "lower", "decrease", "reduce"])
        || too_hot;
    let asks = has(&words[..1], &["is", "are", "why", "which", "what", "how"]);
    // A change to something is not a change by something.
    let is_absolute =
        words.iter().rposition(|word| word == "to").is_some_and(|to| last_number(&words[to..]).is_some());
    if asks || is_absolute || up == down {
        return None;
    }
    let step = last_number(words).map_or(STEP, |degrees| degrees.clamp(0.0, 10.0));
    Some(Intent::Warmer(if up { step } else { -step }))
}

pub(super) fn thermostat(words: &[String]) -> Option<Intent> {
    let is_it = has(words, &HEATING) || has(words, &["temperature", "degrees"]);
    let verb = words.first().is_some_and(|word| {
        let verbs = ["set", "turn", "switch", "put", "make", "heat", "cool", "raise", "lower", "change"];
        verbs.contains(&word.as_str()) || HEATING.contains(&word.as_str())
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

/// How the heating stands: "is the heating on", "what is the thermostat set to".
pub(super) fn heating(words: &[String]) -> Option<Intent> {
    let asks = has(&words[..1], &["is", "what", "how", "did", "check"]);
    if !asks || !has(words, &HEATING[..4]) {
        return None;
    }
    let target = Target { words: vec!["thermostat".into()], ..Target::default() };
    Some(Intent::Status { target, expected: None })
}

pub(super) fn temperature(words: &[String]) -> Option<Intent> {
    if !has(words, &["temperature", "temperatures", "warm", "cold", "hot", "degrees"]) {
        return None;
    }
    let place = words.iter().position(|word| ["in", "of", "outside"].contains(&word.as_str()));
    let mut target = place.map(|at| Target::new(&words[at..])).unwrap_or_default();
    if target.is_empty() {
        // "The bedroom temperature", "how warm is the bedroom".
        let measured = |word: &String| ["temperature", "warm", "cold", "hot"].contains(&word.as_str());
        let at = words.iter().position(measured).unwrap_or(0);
        let (before, behind) = (&words[..at], &words[at..]);
        let the = |words: &[String]| words.iter().position(|word| word == "the");
        let named =
            the(before).map(|the| &before[the + 1..]).or_else(|| the(behind).map(|the| &behind[the + 1..]));
        target = named.map(Target::new).unwrap_or_default();
    }
    let vague = ["house", "home", "here", "it", "degree", "temperature", "now", "today"];
    target.words.retain(|word| !vague.contains(&word.as_str()));
    Some(Intent::Temperature(target))
}
