//! Prompts that people call by name.

use std::string::{String, ToString};
use std::vec::Vec;

use proptest::prelude::*;

use crate::chat::prompts::{Invocation, PROMPTS, Prompt, describe};
use crate::json::Value;
use crate::schema::{self, Unknown};
use crate::tools::is_read_only;

fn find(message: &str) -> Option<(&'static str, Vec<String>)> {
    let found = Invocation::find(message).unwrap()?;
    Some((found.prompt.name, found.args().map(String::from).collect()))
}

#[test]
fn a_prompt_is_called_with_arguments() {
    for (message, name, args) in [
        ("@status", "status", &[][..]),
        ("  @status kitchen hall ", "status", &["kitchen", "hall"]),
        ("@status \"living room\" 'big lamp'\tfan", "status", &["living room", "big lamp", "fan"]),
        ("@explain why it's \"off", "explain", &["why", "it's", "\"off"]),
        ("@explain '' a", "explain", &["", "a"]),
        ("@explain 'a'b c'", "explain", &["'a'b", "c'"]),
        ("@Goodnight!", "goodnight", &[]),
        ("@goodnight: \"Flur ü\"", "goodnight", &["Flur ü"]),
    ] {
        assert_eq!(
            find(message),
            Some((name, args.iter().map(|arg| arg.to_string()).collect())),
            "{message}"
        );
    }
}

#[test]
fn other_messages_are_left_alone() {
    for message in
        ["", "status", "@", "@ status", "hello @status", "@status/kitchen", "@example.com is what?"]
    {
        assert_eq!(find(message), None, "{message}");
    }
}

#[test]
fn an_unknown_prompt_is_told_with_those_there_are() {
    let error = Invocation::find("@stats kitchen").unwrap_err();
    assert_eq!(error.to_string(), "There is no such prompt; there are @status @goodnight @explain");
}

#[test]
fn a_prompt_is_expanded() {
    let expand = |message| Invocation::find(message).unwrap().unwrap().expand("08:30").to_string();
    assert_eq!(
        expand("@explain why {{args}} \"is off\""),
        "Explain to me in plain words, without changing anything: why {{args}} is off"
    );
    assert!(expand("@explain").ends_with("anything: what you have just done, and why"));
    let status = expand("@status 'living room' hall");
    assert!(
        status.starts_with("Tell me the status of living room hall. ") && status.ends_with("says: 08:30")
    );
    assert!(expand("@status").starts_with("Tell me the status of the whole home. "));
}

#[test]
fn arguments_are_counted_from_one() {
    static COUNTING: Prompt = Prompt {
        name: "counting",
        description: "",
        args: "",
        usage: "",
        examples: &[],
        template: "{{1}}|{{2}}|{{3}}|{{0}}|{{ 1 }}|{{one}}|{{-1}}",
        without_args: "nothing",
        tool: None,
    };
    for (args, text) in [
        ("", "||||||"),
        ("kitchen", "kitchen||||kitchen||"),
        ("'living room' hall", "living room|hall|||living room||"),
    ] {
        let expanded = Invocation { prompt: &COUNTING, args }.expand("08:30").to_string();
        assert_eq!(expanded, text);
    }
}

/// spec: infra-32, infra-35
#[test]
fn every_prompt_is_described_in_four_sections() {
    for prompt in PROMPTS {
        let mut text = String::new();
        describe(prompt, &mut text).unwrap();
        let sections: Vec<_> = text.lines().filter(|line| line.starts_with("## ")).collect();
        let expected =
            ["## Description", "## Conceptual Schema", "## Usage Instructions", "## Concrete Examples"];
        assert_eq!(sections, expected);
        let section = |index: usize| {
            let after = text.split_once(expected[index]).unwrap().1;
            after.split("\n## ").next().unwrap()
        };
        assert!(section(0).trim().lines().next().unwrap().len() <= 50, "{}", prompt.name);
        assert!(section(1).contains(&std::format!("@{} *args", prompt.name)));
        assert!(section(1).contains("- `*args`: "));
        assert!(section(2).contains(&std::format!("```\n@{}", prompt.name)));
        for example in prompt.examples {
            // An example is a real call.
            assert_eq!(find(example.code).unwrap().0, prompt.name);
            assert!(section(3).contains(&std::format!(
                "```\n{}\n```\n\n{}",
                example.code,
                example.explanation
            )));
        }
        assert!(!prompt.examples.is_empty());
        for hidden in ["arg1", "arg2", "{{", "without_args"] {
            assert!(!text.contains(hidden), "{} shows {hidden}", prompt.name);
        }
    }
}

proptest! {
    #[test]
    fn no_message_is_too_odd(message in "@?[a-z]{0,6}[ \"'.ä@{}\n]{0,3}(\\PC|[ \"']){0,30}") {
        if let Ok(Some(found)) = Invocation::find(&message) {
            let args: Vec<_> = found.args().collect();
            // Only quotes and white space are lost.
            let kept = |text: &str| text.chars().filter(|next| !next.is_whitespace() && !matches!(next, '"' | '\'')).collect::<String>();
            prop_assert!(kept(&message).ends_with(&kept(&args.concat())));
            let _ = found.expand("").to_string();
        }
    }
}

/// The hub runs the tool of a prompt without asking anybody.
#[test]
fn the_tools_of_prompts_are_read_only() {
    for tool in PROMPTS.iter().filter_map(|prompt| prompt.tool.as_ref()) {
        assert!(is_read_only(tool.handler), "{}", tool.handler);
        // Without a call, nothing else checks the arguments.
        let declared = crate::tools::TOOLS.iter().find(|declared| declared.name == tool.handler);
        let schema = Value::parse(declared.unwrap().schema.as_bytes()).unwrap();
        assert!(schema::validate(schema, tool.arguments(), Unknown::Forbid).is_ok(), "{}", tool.handler);
    }
    // Others do not run for a prompt: `Toolbox::run_read_only` refuses them.
    for handler in ["undo", "restart_hub", "factory_reset", "volume", "set_project_flag", "nothing"] {
        assert!(!is_read_only(handler), "{handler}");
    }
}
