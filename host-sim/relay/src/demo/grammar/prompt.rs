//! Intents for the hub's own prompts, each recognised by words of its template.

use serde_json::Value;

use super::words::split;
use super::{Intent, LONGEST};

/// A prompt of the hub, as far as it is recognised. `tests/demo` holds all of them against the hub's.
struct Prompt {
    name: &'static str,
    /// What stands before the arguments, and behind them.
    around: (&'static str, &'static str),
    /// What stands there if there are no arguments.
    without_args: &'static str,
}

static PROMPTS: [Prompt; 3] = [
    Prompt {
        name: "status",
        around: ("Tell me the status of ", ". Look at the devices with the tools you have"),
        without_args: "the whole home",
    },
    Prompt {
        name: "goodnight",
        around: (
            "Good night. Switch off all lights with the tools you have, except for: ",
            ". Do not touch locks or the heating",
        ),
        without_args: "(no exceptions)",
    },
    Prompt {
        name: "explain",
        around: ("Explain to me in plain words, without changing anything: ", ""),
        without_args: "what you have just done, and why",
    },
];

/// What stands before the time, at the end.
const CLOCK: &str = "The hub's clock says: ";

/// The prompt that a text was made of, with its arguments and the time.
fn find(text: &str) -> Option<(&'static Prompt, &str, &str)> {
    PROMPTS.iter().find_map(|prompt| {
        let (before, behind) = prompt.around;
        let rest = text.trim().strip_prefix(before)?;
        let (args, rest) = if behind.is_empty() { (rest, "") } else { rest.split_once(behind)? };
        let clock = rest.split_once(CLOCK).map_or("", |(_, clock)| clock);
        Some((prompt, args.trim(), clock.trim()))
    })
}

/// What an expanded prompt asks for. None if the text is not one of them.
pub(super) fn read(text: &str) -> Option<Intent> {
    let (prompt, args, clock) = find(text)?;
    let args = if args == prompt.without_args { "" } else { args };
    let args = split(&args.chars().take(LONGEST).collect::<String>());
    match prompt.name {
        "status" => Some(Intent::Report { about: args, clock: time(clock) }),
        "goodnight" => Some(Intent::Night { except: args }),
        "explain" => Some(Intent::Explain { about: args }),
        _ => None,
    }
}

/// The name of the prompt that a text was made of.
pub(in super::super) fn prompt_name(text: &str) -> Option<&'static str> {
    find(text).map(|(prompt, ..)| prompt.name)
}

/// "14:16 on Monday", from what the clock said.
fn time(clock: &str) -> Option<String> {
    let clock: Value = serde_json::from_str(clock).ok()?;
    let time = clock["time"].as_str()?;
    Some(format!("{} on {}", time.get(..5)?, clock["weekday"].as_str()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_people_say_is_no_prompt() {
        for said in ["", "good night", "tell me the status of the kitchen", "Explain to me", "{{args}}"] {
            assert_eq!(read(said), None, "{said}");
        }
    }
}
