//! Intents for heating and temperatures.

use super::number::last_degrees;
use super::words::{after, begins, contains, has, position, without};
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
    let asks = begins(words, &["is", "are", "why", "which", "what", "how"]);
    // A change to something is not a change by something.
    let is_absolute =
        words.iter().rposition(|word| word == "to").is_some_and(|to| last_degrees(&words[to..]).is_some());
    if asks || is_absolute || up == down {
        return None;
    }
    let step = last_degrees(words).map_or(STEP, |degrees| degrees.clamp(0.0, 10.0));
    Some(Intent::Warmer(if up { step } else { -step }))
}

pub(super) fn thermostat(words: &[String]) -> Option<Intent> {
    let is_it = has(words, &HEATING) || has(words, &["temperature", "degrees"]);
    let verbs = ["set", "turn", "switch", "put", "make", "heat", "cool", "raise", "lower", "change"];
    if !is_it || !(begins(words, &verbs) || begins(words, &HEATING)) {
        return None;
    }
    let setpoint = last_degrees(words);
    let mode = MODES.iter().find(|(word, _)| has(&words[1..], &[word])).map(|(_, mode)| *mode);
    // "Turn on the heating" is a mode, "the cooling" another.
    let mode = match mode {
        Some("heat") if has(words, &["cooling"]) => Some("cool"),
        mode => mode,
    };
    (setpoint.is_some() || mode.is_some()).then_some(Intent::Thermostat { mode, setpoint })
}

/// The state of the heating: "is the heating on", "what is the thermostat set to".
pub(super) fn heating(words: &[String]) -> Option<Intent> {
    let asks = begins(words, &["is", "what", "how", "did", "check"]);
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
    let mut target =
        position(words, &["in", "of", "outside"]).map(|at| Target::new(&words[at..])).unwrap_or_default();
    if target.is_empty() {
        // "The bedroom temperature", "how warm is the bedroom".
        let at = position(words, &["temperature", "warm", "cold", "hot"]).unwrap_or(0);
        let (before, behind) = (&words[..at], &words[at..]);
        let named =
            [before, behind].into_iter().find_map(|words| Some(&words[position(words, &["the"])? + 1..]));
        target = named.map(Target::new).unwrap_or_default();
    }
    let vague = ["house", "home", "here", "it", "degree", "temperature", "now", "today"];
    target.words = without(&target.words, &vague);
    Some(Intent::Temperature(target))
}
