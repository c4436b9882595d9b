//! Intents for the hub itself: time, volume, flags, search, and who it is.

use serde_json::Value;

use super::number::{last_percent, number, percent_by};
use super::words::{after, begins, contains, has, position};
use super::{Flag, Intent, Scope, Volume};

/// Points by which "louder" is louder.
const STEP: i8 = 10;

pub(super) fn self_or_manners(words: &[String]) -> Option<Intent> {
    const SELF: [&str; 12] = [
        "who are you",
        "what are you",
        "what can you do",
        "what do you understand",
        "are you a",
        "are you an",
        "are you real",
        "your name",
        "help me",
        "what can i say",
        "what can i ask",
        "how do you work",
    ];
    if SELF.iter().any(|phrase| contains(words, phrase))
        || words == ["help"]
        || words == ["are", "you", "there"]
    {
        return Some(Intent::Who);
    }
    let greets = has(words, &["hello", "hi", "hey"])
        || contains(words, "good evening")
        || contains(words, "good afternoon");
    let is_back = contains(words, "im home") || contains(words, "i am home") || contains(words, "im back");
    if words.len() <= 3 && greets || words.len() <= 4 && is_back || contains(words, "how are you") {
        return Some(Intent::Hello);
    }
    let is_kind = has(words, &["thanks", "thank", "cheers"])
        || ["great", "perfect", "nice", "good", "cool", "bye", "goodbye"].contains(&words.join(" ").as_str());
    (words.len() <= 4 && is_kind).then_some(Intent::Thanks)
}

pub(super) fn search(words: &[String]) -> Option<Intent> {
    const VERBS: [&str; 10] = [
        "search the web for",
        "search the internet for",
        "search online for",
        "search for",
        "search",
        "google for",
        "google",
        "look up",
        "find out about",
        "find out",
    ];
    let query = VERBS.iter().find_map(|verb| after(words, verb))?.join(" ");
    (!query.is_empty()).then_some(Intent::Search(query))
}

/// "Status report", "how are things at home".
pub(super) fn report(words: &[String]) -> Option<Intent> {
    const WHOLE: [&str; 10] = [
        "status",
        "status report",
        "how is everything",
        "how is everything at home",
        "how are things",
        "how are things at home",
        "how is the house",
        "how is my house",
        "give me a status report",
        "what is going on at home",
    ];
    let said = words.join(" ");
    WHOLE.contains(&said.as_str()).then(|| Intent::Report { about: vec![], clock: None })
}

pub(super) fn explain(words: &[String]) -> Option<Intent> {
    if ["what did you", "what have you done", "why did you"].iter().any(|asks| after(words, asks).is_some()) {
        return Some(Intent::Explain { about: vec![] });
    }
    let about = ["explain", "describe", "about"].iter().find_map(|verb| after(words, verb))?;
    (!about.is_empty()).then(|| Intent::Explain { about: about.to_vec() })
}

pub(super) fn clock(words: &[String]) -> Option<Intent> {
    let asks = has(words, &["what", "which", "tell", "is", "got"]) || words.len() <= 3;
    let of_day = has(words, &["time", "date", "weekday", "clock"])
        || contains(words, "what day")
        || contains(words, "which day");
    // The hub knows its own time only.
    let place = position(words, &["time"]).and_then(|at| after(&words[at + 1..], "is it in"));
    if asks && place.is_some_and(|place| !place.is_empty()) {
        return Some(Intent::Cannot("tell the time of other places"));
    }
    (asks && of_day && !has(words, &["turn", "set", "switch"])).then_some(Intent::Clock)
}

pub(super) fn volume(words: &[String]) -> Option<Intent> {
    let volume = |volume| Some(Intent::Volume(volume));
    if has(words, &["louder"]) || words == ["speak", "up"] || contains(words, "turn it up") {
        return volume(Volume::Change(STEP));
    }
    if has(words, &["quieter"]) || contains(words, "more quietly") || contains(words, "turn it down") {
        return volume(Volume::Change(-STEP));
    }
    if has(words, &["mute"]) || words == ["be", "quiet"] || words == ["silence"] {
        return volume(Volume::Level(0));
    }
    if !has(words, &["volume"]) {
        return None;
    }
    // A change by something is not a change to it.
    let by = percent_by(words);
    let step = by.map_or(STEP, |points| points.clamp(0.0, 100.0) as i8);
    if has(words, &["up", "increase", "raise"]) && last_percent(words) == by {
        return volume(Volume::Change(step));
    }
    if has(words, &["down", "decrease", "lower", "reduce"]) && last_percent(words) == by {
        return volume(Volume::Change(-step));
    }
    match last_percent(words) {
        Some(level) => volume(Volume::Level(level.clamp(0.0, 100.0) as u8)),
        None if has(words, &["full", "maximum", "max"]) => volume(Volume::Level(100)),
        None if has(words, &["off", "zero"]) => volume(Volume::Level(0)),
        None => volume(Volume::Tell),
    }
}

pub(super) fn flag(words: &[String]) -> Option<Intent> {
    let at = position(words, &["flag", "flags"])?;
    let scope = match has(words, &["feature", "everybody", "everyone"]) {
        true => Scope::Everybody,
        false => Scope::Project,
    };
    let flag = |flag| Some(Intent::Flag(scope, flag));
    let rest: Vec<&String> =
        words[at + 1..].iter().skip_while(|word| *word == "called" || *word == "named").collect();
    let name = match rest.first().map(|word| word.as_str()) {
        // Before it: "the holiday flag".
        None | Some("to" | "is" | "on" | "off" | "for" | "set") => {
            let before = words[..at].last().map(String::as_str);
            before.filter(|word| {
                !["the", "a", "feature", "project", "which", "all", "what", "list"].contains(word)
            })
        }
        name => name,
    };
    let Some(name) = name.filter(|_| words[at] == "flag") else { return flag(Flag::List) };
    let name = name.to_owned();
    if begins(words, &["is", "what", "which", "does", "how"]) {
        return flag(Flag::Get(name));
    }
    let value = position(&words[at..], &["to"]).map(|to| &words[at + to + 1..]);
    if has(words, &["remove", "clear", "delete", "unset", "drop", "forget"]) {
        return flag(Flag::Set(name, Value::Null));
    }
    if has(words, &["set", "raise", "put", "turn", "switch", "enable", "disable", "make"]) {
        let is_off = has(words, &["off", "disable"]);
        return flag(Flag::Set(name, value.map_or(Value::Bool(!is_off), self::value)));
    }
    flag(Flag::Get(name))
}

fn value(words: &[String]) -> Value {
    match words.join(" ").as_str() {
        "true" | "yes" | "on" => true.into(),
        "false" | "no" | "off" => false.into(),
        "nothing" | "null" => Value::Null,
        text => match (text.parse::<i64>(), number(words)) {
            (Ok(value), _) => value.into(),
            (_, Some((value, taken))) if taken == words.len() && value.fract() == 0.0 => {
                (value as i64).into()
            }
            (_, Some((value, taken))) if taken == words.len() => value.into(),
            _ => text.into(),
        },
    }
}
