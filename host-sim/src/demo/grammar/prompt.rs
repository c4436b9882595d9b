//! Intents for the hub's own prompts, each recognised by its template.

use std::collections::BTreeMap;

use hub_core::chat::prompts::PROMPTS;
use serde_json::Value;

use super::words::split;
use super::{Intent, LONGEST};

/// What an expanded prompt asks for. None if the text is not one of them.
pub(super) fn read(text: &str) -> Option<Intent> {
    let (prompt, mut variables) =
        PROMPTS.iter().find_map(|prompt| Some((prompt, variables(prompt.template, text)?)))?;
    let mut take = |name| variables.remove(name).unwrap_or_default();
    let (args, clock) = (take("args"), take("tool_result"));
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
    PROMPTS.iter().find(|prompt| variables(prompt.template, text).is_some()).map(|prompt| prompt.name)
}

/// The values of a template's variables in a text that was made of it.
fn variables<'a>(template: &'a str, text: &'a str) -> Option<BTreeMap<&'a str, &'a str>> {
    let mut variables = BTreeMap::new();
    let (before, mut template) = template.split_once("{{").unwrap_or((template, ""));
    let mut text = text.trim().strip_prefix(before)?;
    while let Some((name, rest)) = template.split_once("}}") {
        let (between, after) = rest.split_once("{{").unwrap_or((rest, ""));
        let at = if between.is_empty() { text.len() } else { text.find(between)? };
        variables.insert(name.trim(), text[..at].trim());
        (template, text) = (after, &text[at + between.len()..]);
    }
    text.is_empty().then_some(variables)
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
    use hub_core::chat::prompts::Invocation;

    fn asked(call: &str) -> Option<Intent> {
        let clock = r#"{"date":"2026-11-16","time":"14:16:58","weekday":"Monday","utc_offset":"+00:00"}"#;
        let found = Invocation::find(call).expect("a prompt").expect("a prompt");
        read(&found.expand(clock).to_string())
    }

    #[test]
    fn every_prompt_of_the_hub_is_recognised() {
        for prompt in PROMPTS {
            let without = asked(&format!("@{}", prompt.name)).expect(prompt.name);
            let with = asked(&format!("@{} \"hall light\" fan", prompt.name)).expect(prompt.name);
            let words = |intent| match intent {
                Intent::Report { about, clock } => {
                    assert_eq!(clock.as_deref(), Some("14:16 on Monday"));
                    about.join(" ")
                }
                Intent::Night { except } => except.join(" "),
                Intent::Explain { about } => about.join(" "),
                other => panic!("{other:?}"),
            };
            assert_eq!((words(without), words(with)), (String::new(), "hall light fan".into()));
        }
    }

    #[test]
    fn what_people_say_is_no_prompt() {
        for said in ["", "good night", "tell me the status of the kitchen", "Explain to me", "{{args}}"] {
            assert_eq!(read(said), None, "{said}");
        }
    }
}
