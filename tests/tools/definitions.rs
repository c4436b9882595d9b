//! Declarations, the registry, and tools in words and formats.

use std::ops::ControlFlow;
use std::sync::{Arc, Barrier};

use hub_core::chat::prompts::{self, PROMPTS};
use hub_core::json::{Value as Text, Writer};
use hub_core::tool::{DeclaredTools, Format, Full, Implementation, Registry, Tool, describe, is_listed};
use hub_core::tools::{DOCUMENTS, EXAMPLE_TOOLS, TOOLS};
use hub_core::{Config, Hub, HubId, Memory, limits, schema};
use serde_json::{Value, json};
use support::log::{assert_logged, assert_not_logged, log_to_memory};

use crate::bench::*;

fn all_tools() -> impl Iterator<Item = &'static Tool<'static>> {
    TOOLS.iter().chain(EXAMPLE_TOOLS).copied()
}

fn description(tool: &Tool<'_>) -> String {
    let mut text = String::new();
    describe(tool, &mut text).expect("a string takes all");
    text
}

fn definitions(format: Format, registry: &Registry, allowed: Option<Value>) -> Vec<Value> {
    let allowed = allowed.map(|allowed| allowed.to_string());
    let allowed = allowed.as_ref().map(|allowed| Text::parse(allowed.as_bytes()).expect("JSON"));
    let mut buffer = vec![0; 64 * 1024];
    let mut writer = Writer::new(&mut buffer);
    let is_allowed = |names: [&str; 2]| is_listed(allowed, names);
    writer.array(|list| assert_eq!(format.write_all(registry, &is_allowed, None, list), None));
    let length = writer.finish().expect("it fits");
    serde_json::from_slice(&buffer[..length]).expect("JSON")
}

/// The final names of all tools, each with the tool's own.
fn names(registry: &Registry) -> Vec<(String, String)> {
    let mut names = Vec::new();
    registry.each(|name, tool| {
        names.push((name.to_owned(), tool.name.to_owned()));
        ControlFlow::Continue(())
    });
    names
}

fn registered(prefix: &str) -> Registry {
    let registry = Registry::new();
    registry.reset(prefix);
    all_tools().for_each(|tool| registry.register(tool).expect("room"));
    registry
}

/// spec: gateway-08, infra-33, infra-40
#[test]
fn every_declaration_is_complete() {
    let mut names: Vec<_> = all_tools().map(|tool| tool.name).collect();
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count, "two tools have one name");
    for tool in all_tools() {
        let schema: Value = serde_json::from_str(tool.schema).expect(tool.name);
        assert!(jsonschema::meta::is_valid(&schema), "{}", tool.name);
        assert_eq!(schema["type"], "object", "{}", tool.name);
        let text = Text::parse(tool.schema.as_bytes()).expect("JSON");
        assert_eq!(schema::undescribed(text).count(), 0, "{}: a parameter has no description", tool.name);
        assert_eq!(schema::unknown_keywords(text).count(), 0, "{}", tool.name);
        assert!(
            !tool.description.is_empty() && !tool.usage.is_empty() && !tool.examples.is_empty(),
            "{}",
            tool.name
        );
        explains_values(tool.name, &schema);
    }
}

/// Descriptions state the allowed values: some providers hide all other keywords from their models.
fn explains_values(tool: &str, schema: &Value) {
    let Some(properties) = schema["properties"].as_object() else { return };
    for (name, property) in properties {
        let description = property["description"].as_str().expect("a description");
        let words: Vec<_> = description.split(|c: char| c.is_whitespace() || ",;:()".contains(c)).collect();
        let allowed = property["enum"].as_array().into_iter().flatten();
        let bounds = ["const", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"];
        for value in allowed.chain(bounds.iter().filter_map(|keyword| property.get(keyword))) {
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            assert!(
                words.contains(&value.as_str()),
                "{tool}: '{name}' does not explain {value}: {description}"
            );
        }
        assert_eq!(
            property.get("pattern"),
            None,
            "{tool}: this test cannot tell whether '{name}' explains it"
        );
        explains_values(tool, property);
        explains_values(tool, &property["items"]);
    }
}

/// spec: gateway-09
#[test]
fn a_name_that_is_registered_again_warns_and_takes_the_place() {
    static FIRST: Tool<'static> =
        Tool { name: "twice", implementation: Implementation::Mock("1"), ..Tool::PLAIN };
    static SECOND: Tool<'static> =
        Tool { name: "twice", implementation: Implementation::Mock("2"), ..Tool::PLAIN };
    log_to_memory();
    let registry = Registry::new();
    registry.register(&FIRST).expect("room");
    assert_not_logged("WARN");
    registry.register(&SECOND).expect("room");
    assert_logged("WARN tools: twice was registered before");
    assert_eq!(registry.len(), 1);
    assert_eq!(registry.look("twice", |tool| tool.implementation), Some(Implementation::Mock("2")));
}

/// spec: gateway-07
#[test]
fn a_tool_is_found_with_what_runs_it() {
    let registry = registered("hub");
    assert_eq!(registry.look("hub_echo", |tool| tool.implementation), Some(Implementation::Builtin("echo")));
    assert!(registry.look("hub_fly", |_| ()).is_none());
}

#[test]
fn a_full_registry_says_so_and_keeps_what_it_has() {
    log_to_memory();
    let many: Vec<&'static Tool<'static>> = (0..limits::TOOLS + 3)
        .map(|number| &*Box::leak(Box::new(Tool { name: format!("tool_{number}").leak(), ..Tool::PLAIN })))
        .collect();
    let registry = Registry::new();
    let refused: Vec<_> =
        many.iter().filter(|tool| registry.register(tool) == Err(Full)).map(|tool| tool.name).collect();
    assert_eq!(refused, ["tool_64", "tool_65", "tool_66"]);
    assert_logged("WARN tools: tool_65 is left out, there is room for 64 only");
    assert_eq!(
        names(&registry).into_iter().map(|(name, _)| name).collect::<Vec<_>>(),
        many[..64].iter().map(|t| t.name).collect::<Vec<_>>()
    );
    assert!(many[..64].iter().all(|tool| registry.look(tool.name, |_| ()).is_some()));
}

/// spec: infra-10
#[test]
fn a_hub_hands_out_its_declared_tools_once() {
    let settings = host_sim::hub::Settings::in_memory("twice");
    let config = Config {
        id: HubId::new(&settings.hub_id).expect("an id"),
        target: "test",
        tool_prefix: &settings.tool_prefix,
        example_tools: true,
        ..Config::DEFAULT
    };
    // Each hub has the same, and neither has them twice.
    for _ in 0..2 {
        let mut memory = Box::new(Memory::new());
        let hub = Hub::new(config, &mut memory);
        let taken = hub.take_declared_tools();
        assert!(taken.iter().map(|tool| tool.name).eq(TOOLS.iter().map(|tool| tool.name)));
        assert!(hub.take_declared_tools().is_empty(), "nobody can register them again");
    }
}

/// spec: infra-08, infra-09
#[test]
fn declared_tools_are_taken_once() {
    let declared = DeclaredTools::new(TOOLS);
    let taken = declared.take();
    assert_eq!(taken.len(), TOOLS.len());
    assert!(taken.iter().zip(TOOLS).all(|(taken, declared)| std::ptr::eq(*taken, *declared)), "as declared");
    assert!(declared.take().is_empty());
}

/// spec: infra-11
#[test]
fn of_many_who_race_for_the_declared_tools_one_has_them() {
    for _ in 0..200 {
        let declared = Arc::new(DeclaredTools::new(TOOLS));
        let start = Arc::new(Barrier::new(4));
        let racers: Vec<_> = (0..4)
            .map(|_| {
                let (declared, start) = (declared.clone(), start.clone());
                std::thread::spawn(move || {
                    start.wait();
                    declared.take().len()
                })
            })
            .collect();
        let mut shares: Vec<_> = racers.into_iter().map(|racer| racer.join().expect("a share")).collect();
        shares.sort_unstable();
        assert_eq!(shares, [0, 0, 0, TOOLS.len()]);
    }
}

/// spec: infra-12, infra-14
#[test]
fn the_prefix_stands_before_the_name_if_there_is_one() {
    assert!(names(&registered("")).iter().all(|(name, own)| name == own));
    // No prefix is set.
    let plain = Registry::new();
    all_tools().for_each(|tool| plain.register(tool).expect("room"));
    assert!(names(&plain).iter().all(|(name, own)| name == own));
    let registry = registered("den");
    assert!(names(&registry).iter().all(|(name, own)| *name == format!("den_{own}")));
    // Both names find it.
    let found = |name| registry.look(name, |tool| tool.implementation);
    assert_eq!((found("den_echo"), found("echo")), (found("echo"), Some(Implementation::Builtin("echo"))));
}

/// spec: infra-13
#[test]
fn a_tool_can_have_a_prefix_of_its_own_or_none() {
    static OWN: Tool<'static> = Tool { name: "own", prefix: Some("lab"), ..Tool::PLAIN };
    static NONE: Tool<'static> = Tool { name: "bare", prefix: Some(""), ..Tool::PLAIN };
    let registry = Registry::new();
    registry.reset("hub");
    registry.register(&OWN).expect("room");
    registry.register(&NONE).expect("room");
    let own = |(name, own): (&str, &str)| (name.to_owned(), own.to_owned());
    assert_eq!(names(&registry), [("lab_own", "own"), ("bare", "bare")].map(own));
    assert!(
        registry.look("own", |_| ()).is_some()
            && registry.look("lab_own", |_| ()).is_some()
            && registry.look("bare", |_| ()).is_some()
    );
    assert!(registry.look("hub_own", |_| ()).is_none());
}

/// spec: gateway-06, infra-22
#[test]
fn every_provider_gets_the_definitions_in_its_own_shape() {
    let registry = registered("hub");
    for format in [Format::Mcp, Format::Anthropic, Format::OpenAi, Format::Ollama] {
        let list = definitions(format, &registry, None);
        assert_eq!(list.len(), registry.len());
        let names = names(&registry);
        for (definition, ((name, _), tool)) in list.iter().zip(names.iter().zip(all_tools())) {
            let (definition, schema) = match format {
                Format::Mcp => (definition, "inputSchema"),
                Format::Anthropic => (definition, "input_schema"),
                _ => {
                    assert_eq!(definition["type"], "function");
                    (&definition["function"], "parameters")
                }
            };
            assert_eq!(definition["name"], name.as_str());
            assert_eq!(definition[schema], serde_json::from_str::<Value>(tool.schema).expect("JSON"));
            let text = definition["description"].as_str().expect("words");
            assert!(text.contains(tool.description), "{text}");
            if format == Format::Mcp {
                assert_eq!(text, description(tool), "the whole description");
            }
        }
    }
}

#[test]
fn the_allowed_list_decides() {
    let registry = registered("hub");
    let list = definitions(Format::Anthropic, &registry, Some(json!(["echo", "hub_volume", "nope", 7])));
    let names: Vec<_> = list.iter().map(|tool| tool["name"].as_str().expect("a name")).collect();
    assert_eq!(names, ["hub_volume", "hub_echo"], "in the order of the registry");
    assert!(definitions(Format::Mcp, &registry, Some(json!([]))).is_empty());
}

/// spec: infra-07, infra-31, infra-37, infra-41, infra-42, infra-43
#[test]
fn descriptions_have_their_four_sections_in_order() {
    for tool in all_tools() {
        let text = description(tool);
        let sections: Vec<_> = text.lines().filter(|line| line.starts_with("## ")).collect();
        let labels = ["## Description", "## JSON Schema", "## Usage Instructions", "## Concrete Examples"];
        assert_eq!(sections, labels, "{}", tool.name);
        let mut parts = text.split("## ").skip(1);
        let [purpose, schema, usage, examples] = std::array::from_fn(|_| parts.next().expect("a section"));
        assert!(purpose.contains(tool.description), "{text}");
        assert!(schema.contains(&format!("```json\n{}\n```", tool.schema)), "{text}");
        assert!(usage.contains(&format!("```\n{}\n```", tool.usage)), "{text}");
        assert!(tool.usage.lines().all(|line| line.starts_with(&format!("{}({{", tool.name))), "{text}");
        for example in tool.examples {
            let shown = format!("```\n{}\n```\n\n{}", example.code, example.explanation);
            assert!(examples.contains(&shown), "{text}");
            assert!(!example.code.contains("...") && example.code.contains(tool.name), "{}", tool.name);
            assert!(example.explanation.len() > 10, "{}", tool.name);
        }
        let first = tool.description.lines().next().expect("a line");
        assert!(first.chars().count() <= 50, "{}: {first}", tool.name);
    }
}

/// spec: infra-06
#[test]
fn descriptions_list_the_parameters() {
    let text = description(&SWITCH);
    let lines = [
        "- `device_name` (string, required): Which device",
        "- `action` (string, required): What to do. One of: `on`, `off`, `toggle`",
        "- `level` (integer, optional): How bright",
    ];
    // All of them and nothing else, in the order of the schema.
    let listed: Vec<_> = text.lines().filter(|line| line.starts_with("- ")).collect();
    assert_eq!(listed, lines, "{text}");
}

/// spec: infra-25
#[test]
fn exactly_these_tools_need_consent() {
    let consenting: Vec<_> =
        all_tools().filter(|tool| tool.consent.is_some()).map(|tool| tool.name).collect();
    assert_eq!(consenting, ["restart_hub", "factory_reset"]);
    // Nobody else frightens a model, and none of them forgets to.
    for tool in all_tools() {
        let warns = description(tool).contains("REQUIRES EXPLICIT USER INSTRUCTION");
        assert_eq!(warns, consenting.contains(&tool.name), "{}", tool.name);
    }
    // All providers get the same description.
    let registry = registered("");
    for format in [Format::Mcp, Format::Anthropic, Format::OpenAi, Format::Ollama] {
        let list = definitions(format, &registry, None);
        assert_eq!(list.len(), all_tools().count());
        for definition in list {
            let definition =
                if definition["type"] == "function" { &definition["function"] } else { &definition };
            let text = definition["description"].as_str().expect("words");
            let text = text.strip_prefix("## Description\n\n").unwrap_or(text);
            let tool = all_tools().find(|tool| definition["name"] == tool.name).expect("a tool");
            match tool.consent {
                Some(why) => {
                    let begin = format!("REQUIRES EXPLICIT USER INSTRUCTION: {why} ");
                    assert!(text.starts_with(&begin), "{format:?}: {text}");
                    assert!(text.contains("never to try something out"), "{format:?}: {text}");
                }
                None => assert!(!text.contains("EXPLICIT USER INSTRUCTION"), "{format:?}: {text}"),
            }
        }
    }
}

/// spec: infra-24, infra-25
#[tokio::test(start_paused = true)]
async fn tools_that_need_consent_take_one_word_and_say_so() {
    for tool in all_tools().filter(|tool| tool.consent.is_some()) {
        let text = description(tool);
        assert!(text.starts_with("## Description\n\nREQUIRES EXPLICIT USER INSTRUCTION: "), "{text}");
        assert!(
            text.contains(tool.consent.expect("why")) && text.contains("never to try something out"),
            "{text}"
        );
        let schema: Value = serde_json::from_str(tool.schema).expect("JSON");
        let properties = schema["properties"].as_object().expect("properties");
        let (name, word) =
            properties.iter().find_map(|(name, p)| Some((name, p["const"].as_str()?))).expect("a word");
        assert!(schema["required"].as_array().expect("required").contains(&json!(name)));
        let recorded = Tool { implementation: Implementation::Builtin("record"), ..consenting(tool) };
        let tool: &'static Tool = Box::leak(Box::new(recorded));
        let bench = Bench::default();
        for wrong in [
            json!({}),
            json!({ name: "yes" }),
            json!({ name: word.to_lowercase() }),
            json!({ name: true }),
            json!({ name: word, "more": 1 }),
        ] {
            let (reply, _) = bench.call(&[tool], tool.name, wrong).await;
            assert_eq!(reply["error_type"], "invalid_parameters", "{reply}");
        }
        assert!(bench.calls.borrow().is_empty(), "{} ran without consent", tool.name);
        let (reply, _) = bench.call(&[tool], tool.name, json!({ name: word })).await;
        assert_eq!(reply["success"], true, "{reply}");
    }
}

/// The tool, with everything but its implementation.
fn consenting<'a>(tool: &Tool<'a>) -> Tool<'a> {
    Tool { name: tool.name, schema: tool.schema, consent: tool.consent, ..Tool::PLAIN }
}

/// spec: infra-26
#[test]
fn texts_use_the_undecorated_names() {
    for tool in all_tools() {
        let text = description(tool);
        // A parameter of that kind, `hub_id`, would be one too many as well.
        assert!(!text.contains("hub_"), "{text}");
        assert!(text.contains(tool.name));
        // The name and the first line state whose flags these are.
        if tool.name.contains("flag") {
            let first = tool.description.lines().next().expect("a line");
            let scope = ["project", "everybody"].map(|scope| first.contains(scope));
            let named = ["project_flag", "feature_flag"].map(|scope| tool.name.contains(scope));
            assert_eq!(scope, named, "{}: {first}", tool.name);
        }
    }
    for document in DOCUMENTS {
        assert!(!document.text.contains("hub_"), "{}", document.name);
    }
    for prompt in PROMPTS {
        let mut text = format!("{} {}", prompt.template, prompt.without_args);
        prompts::describe(prompt, &mut text).expect("a string takes all");
        assert!(!text.contains("hub_"), "{text}");
    }
}

/// spec: infra-34, infra-38, infra-39
#[test]
fn every_tool_points_to_the_template_and_the_template_is_whole() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/firmware/core/src/tools");
    for tool in all_tools() {
        let file = if tool.name.contains("_flag") { "flag_tools" } else { tool.name };
        let source = std::fs::read_to_string(format!("{folder}/{file}.rs")).expect(file);
        assert!(source.lines().next().expect("a line").contains("this folder's README.md"), "{}", tool.name);
    }
    let template = std::fs::read_to_string(format!("{folder}/README.md")).expect("the template");
    let example = std::fs::read_to_string(format!("{folder}/example_greeting.rs")).expect("the example");
    assert!(template.contains(&example), "the example in the template is not the one that compiles");
    for part in ["description:", "schema:", "\"description\"", "usage:", "examples:", "consent:", "declare!"]
    {
        assert!(template.contains(part), "{part}");
    }
}
