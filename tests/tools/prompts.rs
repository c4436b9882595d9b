//! Prompts are declared as tools are, and held to the same.

use hub_core::chat::prompts::{Invocation, PROMPTS, Prompt, describe};
use hub_core::json::Value as Text;
use hub_core::schema::{self, Unknown};
use hub_core::tools::TOOLS;

/// The folder of the prompts.
const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/firmware/core/src/chat/prompts");

fn source(file: &str) -> String {
    std::fs::read_to_string(format!("{FOLDER}/{file}")).unwrap_or_else(|error| panic!("{file}: {error}"))
}

fn documentation(prompt: &Prompt) -> String {
    let mut text = String::new();
    describe(prompt, &mut text).expect("a string takes all");
    text
}

/// The variables in a template.
fn variables(template: &str) -> Vec<&str> {
    let parts = template.split("{{").skip(1);
    parts.map(|part| part.split_once("}}").expect("braces that close").0.trim()).collect()
}

#[test]
fn every_prompt_is_declared_completely() {
    let mut names: Vec<_> = PROMPTS.iter().map(|prompt| prompt.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), PROMPTS.len(), "two prompts have one name");
    for prompt in PROMPTS {
        let Prompt { name, description, args, usage, examples, template, without_args, tool } = prompt;
        assert!(!name.is_empty() && name.bytes().all(|byte| byte.is_ascii_lowercase()), "{name}");
        assert!(description.lines().next().is_some_and(|line| (1..=50).contains(&line.len())), "{name}");
        assert!(!args.is_empty() && !without_args.is_empty(), "{name}");
        // Every form of a call is one of this prompt.
        assert!(usage.lines().all(|line| calls(line, name)), "{name}: {usage}");
        assert!(!examples.is_empty(), "{name}");
        for example in *examples {
            assert!(calls(example.code, name) && example.explanation.len() > 10, "{name}: {}", example.code);
        }
        let known = ["args", "1", "2", "3", "tool_result"];
        let used = variables(template);
        assert!(used.iter().all(|variable| known.contains(variable)), "{name}: {used:?}");
        assert_eq!(used.contains(&"tool_result"), tool.is_some(), "{name}: a result is for the model");
        if let Some(direct) = tool {
            let tool = TOOLS.iter().find(|tool| tool.name == direct.handler).expect(direct.handler);
            let schema = Text::parse(tool.schema.as_bytes()).expect("JSON");
            assert!(schema::validate(schema, direct.arguments(), Unknown::Forbid).is_ok(), "{name}");
        }
        // Documentation uses the undecorated names.
        let text = documentation(prompt);
        assert!(TOOLS.iter().all(|tool| !text.contains(&format!("hub_{}", tool.name))), "{text}");
    }
}

/// Whether a message calls the prompt of this name.
fn calls(message: &str, name: &str) -> bool {
    matches!(Invocation::find(message), Ok(Some(found)) if found.prompt.name == name)
}

/// spec: infra-34
#[test]
fn every_prompt_points_to_the_template_and_the_template_is_whole() {
    let template = source("README.md");
    for prompt in PROMPTS {
        let source = source(&format!("{}.rs", prompt.name));
        let first = source.lines().next().expect("a line");
        assert!(first.starts_with(&format!("//! `@{}`: ", prompt.name)), "{first}");
        assert!(first.contains("this folder's README.md"), "{first}");
    }
    let files = std::fs::read_dir(FOLDER).expect("the folder").count();
    assert_eq!(files, PROMPTS.len() + 2, "a file for each prompt, the list of them and the template");
    assert!(
        template.contains(&source("explain.rs")),
        "the example in the template is not the one that compiles"
    );
    for part in [
        "name:",
        "description:",
        "args:",
        "usage:",
        "examples:",
        "template:",
        "without_args:",
        "tool:",
        "PROMPTS",
    ] {
        assert!(template.contains(part), "{part}");
    }
}
