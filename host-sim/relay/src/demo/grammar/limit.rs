//! Requests that no tool of the hub serves. A clear no is better than a guess.

use super::Intent;
use super::words::{after, begins, has};

/// Words, and what people ask for with one of them.
const MISSING: [(&[&str], &str); 6] = [
    (&["remind", "reminder", "reminders", "appointment", "calendar"], "remember appointments or remind you"),
    (&["timer", "alarm", "stopwatch", "snooze"], "set timers or alarms"),
    (&["weather", "forecast", "rain", "raining", "umbrella", "snow"], "tell the weather"),
    (&["music", "playlist", "spotify", "podcast"], "play music"),
    (&["news", "headlines"], "read the news"),
    (&["email", "sms", "phone", "shopping"], "call, write or keep lists"),
];

/// What has to be moved by hand.
const BY_HAND: [&str; 9] =
    ["window", "windows", "door", "doors", "garage", "gate", "blinds", "curtains", "shutters"];

/// Words for a time to come.
const LATER: [&str; 9] =
    ["minute", "minutes", "second", "seconds", "hour", "hours", "tomorrow", "later", "oclock"];

pub(super) fn cannot(words: &[String]) -> Option<Intent> {
    let commands = ["turn", "switch", "set", "dim", "lock", "unlock", "start", "wake"];
    if after(words, "wake me").is_some() || begins(words, &commands) && has(words, &LATER) {
        return Some(Intent::Cannot("do things later"));
    }
    let moves = begins(words, &["open", "close", "shut", "raise", "lower"]) && has(words, &BY_HAND);
    if moves {
        return Some(Intent::Cannot("move doors, windows or blinds"));
    }
    let missing = MISSING.iter().find(|(said, _)| has(words, said))?;
    Some(Intent::Cannot(missing.1))
}

/// "Do not turn off the light": nothing is to be done.
pub(super) fn refrain(words: &[String]) -> Option<Intent> {
    let begins =
        ["dont", "do not", "never", "stop", "cancel", "never mind", "nevermind", "forget it", "undo"];
    let said = begins.iter().find(|beginning| after(words, beginning).is_some())?;
    match *said {
        // "Stop the coffee machine" is an intent of its own.
        "stop" if words.len() > 2 => None,
        "undo" | "stop" | "cancel" => Some(Intent::Cannot("take back what has been done")),
        _ => Some(Intent::Refrain),
    }
}
