//! What people ask for and the hub has no tool for. Better a clear no than a guess.

use super::Intent;
use super::words::{after, has};

/// Words, one of which is said, and what is asked for with them.
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

/// What only a hub with a calendar could wait for.
const LATER: [&str; 9] =
    ["minute", "minutes", "second", "seconds", "hour", "hours", "tomorrow", "later", "oclock"];

pub(super) fn cannot(words: &[String]) -> Option<Intent> {
    let commands = ["turn", "switch", "set", "dim", "lock", "unlock", "start", "wake"];
    if after(words, "wake me").is_some() || has(&words[..1], &commands) && has(words, &LATER) {
        return Some(Intent::Cannot("do things later"));
    }
    let moves = has(&words[..1], &["open", "close", "shut", "raise", "lower"]) && has(words, &BY_HAND);
    if moves {
        return Some(Intent::Cannot("move doors, windows or blinds"));
    }
    let missing = MISSING.iter().find(|(said, _)| has(words, said))?;
    Some(Intent::Cannot(missing.1))
}

/// "Do not turn off the light": the opposite of a wish.
pub(super) fn refrain(words: &[String]) -> Option<Intent> {
    let begins =
        ["dont", "do not", "never", "stop", "cancel", "never mind", "nevermind", "forget it", "undo"];
    let said = begins.iter().find(|beginning| after(words, beginning).is_some())?;
    match *said {
        // "Stop the coffee machine" is another wish.
        "stop" if words.len() > 2 => None,
        "undo" | "stop" | "cancel" => Some(Intent::Cannot("take back what has been done")),
        _ => Some(Intent::Refrain),
    }
}
