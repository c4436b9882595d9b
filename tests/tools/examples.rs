//! The examples in the declarations of tools: each is a call that works.

use std::collections::BTreeMap;

use hub_core::json::Value as Text;
use hub_core::schema::{self, Unknown};
use hub_core::tool::{Example, Tool};
use hub_core::tools::{EXAMPLE_TOOLS, TOOLS};
use world::prelude::*;

use crate::owner::a_hub;

/// Tools whose examples are not run: their results differ from run to run, or the hub restarts.
const NOT_RUN: &[&str] = &["datetime", "search", "restart_hub", "factory_reset"];

/// The arguments of an example, and its result.
fn parse(tool: &Tool<'_>, example: &Example) -> (Value, Value) {
    let (call, result) = example.code.split_once(Example::ARROW).expect(example.code);
    assert_eq!(call, example.call());
    let arguments = call.strip_prefix(tool.name).and_then(|rest| rest.strip_prefix('(')?.strip_suffix(')'));
    let json = |text: &str| serde_json::from_str(text).expect(example.code);
    (json(arguments.expect(example.code)), json(result))
}

/// All examples: the tool, the arguments and the result.
fn examples() -> impl Iterator<Item = (&'static Tool<'static>, Value, Value)> {
    let all = TOOLS.iter().chain(EXAMPLE_TOOLS).copied();
    all.flat_map(|tool| {
        tool.examples.iter().map(move |example| {
            let (arguments, result) = parse(tool, example);
            (tool, arguments, result)
        })
    })
}

/// spec: infra-43
#[test]
fn every_example_is_a_valid_call() {
    for (tool, arguments, result) in examples() {
        let schema: Value = serde_json::from_str(tool.schema).expect("JSON");
        let validator = jsonschema::validator_for(&schema).expect("a schema");
        assert!(validator.is_valid(&arguments), "{}: {arguments}", tool.name);
        // The hub itself takes it, with nothing that it does not know.
        let (schema, text) = (Text::parse(tool.schema.as_bytes()).expect("JSON"), arguments.to_string());
        let text = Text::parse(text.as_bytes()).expect("JSON");
        let checked = schema::validate(schema, text, Unknown::Forbid);
        assert!(checked.is_ok(), "{}: {arguments}", tool.name);
        assert!(result.is_object(), "{}: {result}", tool.name);
    }
}

/// Tools whose result is decided by their arguments, and what others need before they give the result of the example.
///
/// spec: infra-22, infra-43
#[test]
fn every_example_gives_the_result_that_it_shows() {
    let voice = "What the hub answers is spoken aloud.";
    let documents = [
        json!({ "category": "guidelines", "name": "voice", "text": voice }),
        json!({ "category": "recipes", "name": "bread", "text": "Flour, water, salt." }),
    ];
    let mut run = BTreeMap::new();
    a_hub().hub(|hub| hub.example_tools = true).story(async |world| {
        let mut owner = world.person("owner").await;
        for document in &documents {
            assert_eq!(owner.asks("content/put", document.clone()).await["success"], true);
        }
        for (tool, arguments, expected) in examples().filter(|(tool, ..)| !NOT_RUN.contains(&tool.name)) {
            match tool.name {
                "get_project_flag" | "list_project_flags" => {
                    for (tool, name, value) in [("project", "guests", true), ("feature", "holiday", false)] {
                        let flag = json!({ "name": name, "value": value });
                        owner.uses(&format!("set_{tool}_flag"), flag).await;
                    }
                }
                "undo" => {
                    let set = json!({ "device": "Kitchen Light", "action": "on" });
                    assert_eq!(owner.asks("device/set", set).await["success"], true);
                }
                "list_feature_flags" => {
                    let rest = owner.uses("list_feature_flags", json!({})).await;
                    assert_eq!(rest["result"]["flags"], json!({ "holiday": "until Sunday" }));
                }
                _ => {}
            }
            let reply = owner.uses(tool.name, arguments.clone()).await;
            assert_eq!(reply["success"], true, "{reply}");
            let mut result = reply["result"].clone();
            if tool.name == "get_content" {
                // The example shows the first document of as many as there are.
                result["documents"].as_array_mut().expect("documents").truncate(1);
            }
            assert_eq!(result, expected, "{} {arguments}", tool.name);
            *run.entry(tool.name).or_insert(0) += 1;
        }
    });
    assert_eq!(run.len(), TOOLS.len() + EXAMPLE_TOOLS.len() - NOT_RUN.len(), "{run:?}");
}

/// A model reads one example with each of the hub's own tools, in every format; and with the tools of the simulated home there
/// is room for all of it.
///
/// spec: infra-22, infra-43
#[test]
fn models_read_an_example_with_every_tool() {
    for service in ["anthropic", "openai", "ollama"] {
        a_hub().story(async |world| {
            let (mut owner, mut model) = world.talking().await;
            world.waits_until_ready().await;
            let rule =
                json!({ "name": service, "service": service, "model": "m", "tools": { "enabled": true } });
            owner.sets_rule(rule).await;
            owner.says(json!({ "text": "Hi", "rule": service }));
            let body = model.hears(&format!("llm/request/{service}")).await.json();
            let tools = body["tools"].as_array().expect("tools");
            let text = |tool: &Value| {
                let tool = tool.get("function").unwrap_or(tool);
                let text = |name: &str| tool[name].as_str().expect("a text").to_owned();
                (text("name"), text("description"))
            };
            let texts: BTreeMap<_, _> = tools.iter().map(text).collect();
            assert!(texts.len() > 7, "{texts:?}");
            for tool in TOOLS.iter().filter(|tool| !tool.on_request) {
                let text = &texts[&format!("hub_{}", tool.name)];
                let example = format!("\n\nExample: {}", tool.examples[0].call());
                assert!(text.contains(tool.description) && text.ends_with(&example), "{text}");
            }
            assert_not_logged("does not fit into one request");
        });
    }
}
