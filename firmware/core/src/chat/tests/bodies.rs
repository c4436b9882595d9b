//! The request bodies for each provider.

use std::format;
use std::ops::ControlFlow;
use std::string::{String, ToString};
use std::vec;
use std::vec::Vec;

use serde_json::{Value, json};

use super::conversations::check;
use super::{World, body, conversation, rule_text, settings};
use crate::chat::Provider;
use crate::chat::provider::{self, Ask};
use crate::limits;

/// spec: reply-02
#[test]
fn messages_are_system_history_and_what_the_person_says() {
    let mut world = World::new(Provider::OpenAi, json!({"tools": {"enabled": false}}));
    world.says("Hello");
    world.hears(Some("Hi"), &[]);
    world.says("What time is it?");
    let expected = json!([
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Hello"},
        {"role": "assistant", "content": "Hi"},
        {"role": "user", "content": "What time is it?"},
    ]);
    assert_eq!(world.body()["messages"], expected);
    let ollama = rule_text(Provider::Ollama, json!({}));
    assert_eq!(body(&settings(&ollama), &world.history, None, "Be brief.")["messages"], expected);
    let anthropic = rule_text(Provider::Anthropic, json!({}));
    let anthropic = body(&settings(&anthropic), &world.history, None, "Be brief.");
    assert_eq!(anthropic["system"], "Be brief.");
    assert_eq!(anthropic["messages"].as_array().unwrap()[..], expected.as_array().unwrap()[1..]);
}

/// spec: reply-03
#[test]
fn the_model_and_its_options_are_those_of_the_rule() {
    let asked = |service, model| {
        let more = json!({"model": model, "max_tokens": 77, "temperature": 1.5});
        let mut world = World::new(service, more);
        world.says("Hello");
        let mut body = world.body();
        body.as_object_mut().unwrap().remove("tools");
        body.as_object_mut().unwrap().remove("messages").unwrap();
        body
    };
    // Anthropic's maximum is 1.
    assert_eq!(
        asked(Provider::Anthropic, "claude-x"),
        json!({"model": "claude-x", "max_tokens": 77, "temperature": 1, "system": "Be brief."})
    );
    for (model, name) in [
        ("gpt-5-mini", "max_completion_tokens"),
        ("openai/gpt-4o", "max_completion_tokens"),
        ("o4-mini", "max_completion_tokens"),
        ("chatgpt-4o-latest", "max_completion_tokens"),
        ("gpt-oss:20b", "max_tokens"),
        ("olmo-2", "max_tokens"),
        ("mistral-small", "max_tokens"),
    ] {
        assert_eq!(asked(Provider::OpenAi, model), json!({"model": model, name: 77, "temperature": 1.5}));
    }
    let options = json!({"num_predict": 77, "num_ctx": 8192, "temperature": 1.5});
    assert_eq!(
        asked(Provider::Ollama, "qwen3"),
        json!({"model": "qwen3", "stream": false, "options": options})
    );
}

#[test]
fn thinking_is_switched_where_there_is_a_switch() {
    for (thinking, anthropic) in [(true, "adaptive"), (false, "disabled")] {
        let [anthropics, openais, ollamas] = Provider::ALL.map(|service| {
            let mut world = World::new(service, json!({"thinking": thinking}));
            world.says("Hello");
            world.body()
        });
        assert_eq!(
            (&anthropics["thinking"], &ollamas["think"]),
            (&json!({"type": anthropic}), &json!(thinking))
        );
        assert!(openais.get("thinking").is_none() && openais.get("think").is_none());
    }
}

#[test]
fn what_is_not_said_is_left_to_the_provider() {
    for service in Provider::ALL {
        let mut world = World::new(service, json!({}));
        world.says("Hello");
        let body = body(&world.settings, &world.history, None, "");
        assert!(body.get("temperature").is_none() && body["options"].get("temperature").is_none());
        assert!(body.get("system").is_none() && body.get("tools").is_none());
        assert!(body.get("thinking").is_none() && body.get("think").is_none());
        assert_eq!(body["messages"], json!([{"role": "user", "content": "Hello"}]));
    }
}

/// spec: reply-07, reply-08, reply-10
#[test]
fn tools_are_those_that_the_rule_allows_in_the_providers_format() {
    for service in Provider::ALL {
        let allowed =
            json!({"tools": {"enabled": true, "allowed_tools": ["hub_volume", "datetime", "unknown"]}});
        let mut world = World::new(service, allowed);
        world.says("Hello");
        let tools = world.body()["tools"].as_array().unwrap().clone();
        let (names, schema): (Vec<_>, _) = match service {
            Provider::Anthropic => {
                (tools.iter().map(|tool| tool["name"].clone()).collect(), "/input_schema/type")
            }
            _ => {
                assert!(tools.iter().all(|tool| tool["type"] == "function"));
                let names = tools.iter().map(|tool| tool["function"]["name"].clone());
                (names.collect(), "/function/parameters/type")
            }
        };
        // In the order of the registry, not of the rule.
        assert_eq!(names, ["hub_datetime", "hub_volume"]);
        assert!(tools.iter().all(|tool| tool.pointer(schema) == Some(&json!("object"))));
    }
}

/// spec: reply-15, reply-18
#[test]
fn anthropic_is_asked_in_blocks() {
    let world = conversation(Provider::Anthropic, json!({}));
    let wrong = r#"{"success":false,"error_type":"invalid_parameters","error":"Invalid parameters: the arguments are not a JSON object, or too long","tool_name":"hub_echo","execution_time_ms":0}"#;
    assert_eq!(
        world.body()["messages"],
        json!([
            {"role": "user", "content": "Hello \"hub\""},
            {"role": "assistant", "content": "Hi\nthere"},
            {"role": "user", "content": "What time is it?"},
            {"role": "assistant", "content": [
                {"type": "text", "text": "One moment."},
                {"type": "tool_use", "id": "toolu_1", "name": "hub_datetime", "input": {}},
                {"type": "tool_use", "id": "toolu_2", "name": "hub_echo", "input": {"text": "ä"}},
            ]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "toolu_1", "content": r#"{"result":{"time":"08:30"},"success":true}"#},
                {"type": "tool_result", "tool_use_id": "toolu_2", "content": r#"{"error":"No \"echo\"","success":false}"#, "is_error": true},
            ]},
            {"role": "assistant", "content": [
                {"type": "tool_use", "id": "toolu_3", "name": "hub_echo", "input": {"invalid_arguments": "{broken"}},
            ]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "toolu_3", "content": wrong, "is_error": true},
            ]},
        ])
    );
}

/// spec: reply-15, reply-18
#[test]
fn openai_is_asked_with_calls_and_results() {
    let world = conversation(Provider::OpenAi, json!({}));
    let call = |id: &str, name: &str, arguments: &str| json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}});
    let wrong = r#"{"success":false,"error_type":"invalid_parameters","error":"Invalid parameters: the arguments are not a JSON object, or too long","tool_name":"hub_echo","execution_time_ms":0}"#;
    assert_eq!(
        world.body()["messages"].as_array().unwrap()[4..],
        json!([
            {"role": "assistant", "content": "One moment.", "tool_calls": [
                call("toolu_1", "hub_datetime", "{}"), call("toolu_2", "hub_echo", r#"{"text":"ä"}"#),
            ]},
            {"role": "tool", "tool_call_id": "toolu_1", "name": "hub_datetime", "content": r#"{"result":{"time":"08:30"},"success":true}"#},
            {"role": "tool", "tool_call_id": "toolu_2", "name": "hub_echo", "content": r#"{"error":"No \"echo\"","success":false}"#},
            {"role": "assistant", "content": null, "tool_calls": [
                call("toolu_3", "hub_echo", r#"{"invalid_arguments":"{broken"}"#),
            ]},
            {"role": "tool", "tool_call_id": "toolu_3", "name": "hub_echo", "content": wrong},
        ])
        .as_array()
        .unwrap()[..]
    );
}

/// spec: reply-15, reply-18
#[test]
fn ollama_is_asked_with_objects_and_names() {
    let world = conversation(Provider::Ollama, json!({}));
    assert_eq!(
        world.body()["messages"].as_array().unwrap()[4..8],
        json!([
            {"role": "assistant", "content": "One moment.", "tool_calls": [
                {"function": {"name": "hub_datetime", "arguments": {}}},
                {"function": {"name": "hub_echo", "arguments": {"text": "ä"}}},
            ]},
            {"role": "tool", "tool_name": "hub_datetime", "content": r#"{"result":{"time":"08:30"},"success":true}"#},
            {"role": "tool", "tool_name": "hub_echo", "content": r#"{"error":"No \"echo\"","success":false}"#},
            {"role": "assistant", "content": "", "tool_calls": [
                {"function": {"name": "hub_echo", "arguments": {"invalid_arguments": "{broken"}}},
            ]},
        ])
        .as_array()
        .unwrap()[..]
    );
}

#[test]
fn without_tools_the_calls_of_earlier_turns_are_left_out() {
    for service in Provider::ALL {
        let mut world = conversation(service, json!({}));
        world.hears(Some("It is late"), &[]);
        world.says("Thanks");
        let body = body(&world.settings, &world.history, None, "");
        let roles: Vec<_> =
            body["messages"].as_array().unwrap().iter().map(|message| message["role"].clone()).collect();
        assert_eq!(roles, ["user", "assistant", "user", "assistant", "user"]);
        check(service, &body);
    }
}

/// The names of the tools in a body.
fn tool_names(body: &Value) -> Vec<String> {
    let tools = body["tools"].as_array().map(Vec::as_slice).unwrap_or_default();
    tools.iter().map(|tool| tool["name"].as_str().unwrap().to_string()).collect()
}

#[test]
fn tools_that_do_not_fit_are_left_out_and_told() {
    let mut world = World::new(Provider::Anthropic, json!({}));
    world.says("Hello");
    let ask = Ask::new(&world.settings, &world.history, &world.registry);
    let whole = body(&world.settings, &world.history, Some(&world.registry), "");
    let (mut most, mut examples) = (0, 0);
    for room in (0..whole.to_string().len() + 300).step_by(7) {
        let mut buffer = vec![0; room];
        let Some((length, left_out)) = provider::write_to_fit(ask, false, &mut buffer) else {
            assert_eq!(most, 0, "{room}");
            continue;
        };
        let body: Value = serde_json::from_slice(&buffer[..length]).unwrap();
        assert_eq!(body["messages"], whole["messages"]);
        let mut named = Vec::new();
        left_out.each(&world.registry, |name| {
            named.push(name.to_string());
            ControlFlow::Continue(())
        });
        let offered = tool_names(&body);
        // Each is either there or named, and none of those that are named would fit as well.
        let mut all = [offered.clone(), named.clone()].concat();
        all.sort();
        let mut expected = tool_names(&whole);
        expected.sort();
        assert_eq!(all, expected, "{room}");
        assert_eq!(body.get("tools").is_some(), !offered.is_empty());
        let plain = |tool: &Value| {
            let text = tool["description"].as_str().unwrap();
            text.split("\n\nExample: ").next().unwrap().to_string()
        };
        for tool in whole["tools"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|tool| named.iter().any(|name| tool["name"] == **name))
        {
            let mut tool = tool.clone();
            tool["description"] = json!(plain(&tool));
            let more = if offered.is_empty() { r#","tools":[]"#.len() } else { ",".len() };
            assert!(length + more + tool.to_string().len() > room, "{room}: {tool}");
        }
        most = most.max(offered.len());
        // Examples go before tools.
        let has_examples = body.to_string().contains("Example: ");
        assert!(!has_examples || named.is_empty(), "{room}");
        examples += usize::from(has_examples);
    }
    assert_eq!((most, examples > 0), (tool_names(&whole).len(), true));
}

/// The question contains the words of people and the model, however long tools and conversation are.
///
/// spec: reply-02
#[test]
fn people_and_model_words_are_kept_longest() {
    for service in Provider::ALL {
        for length in [10, 100, 300, 700, 1500] {
            let mut world = World::new(service, json!({}));
            for turn in 0..40 {
                world.says(&std::format!("{turn} {}", "x".repeat(length)));
                world.hears(Some("Yes."), &[]);
            }
            world.says("And now?");
            let ask = Ask::new(&world.settings, &world.history, &world.registry);
            for room in [9000, 10_000, 12_000, limits::MQTT_SEND, 24_000] {
                let mut buffer = vec![0; room];
                let (written, left_out) = provider::write_to_fit(ask, false, &mut buffer).unwrap();
                let body: Value = serde_json::from_slice(&buffer[..written]).unwrap();
                let messages = body["messages"].as_array().unwrap();
                let said = messages.iter().filter(|message| message["role"] == "user").count();
                assert_eq!(said, world.history.turns(), "{room}");
                assert_eq!(messages.last().unwrap()["content"], "And now?");
                assert!(room < 24_000 || left_out.is_empty());
            }
        }
    }
}

/// A person asks why. The previous turn had several calls, and not all tools fit beside them.
#[test]
fn earlier_calls_are_dropped_before_tools_and_tools_before_words() {
    for service in Provider::ALL {
        let mut world = World::new(service, json!({}));
        world.says("Switch everything off");
        let calls: Vec<_> = (0..8).map(|lamp| ("", "hub_echo", json!({"lamp": lamp}))).collect();
        world.hears(None, &calls);
        for lamp in 0..8 {
            let state = "s".repeat(100);
            world.done(json!({"success": true, "result": {"state": state}, "message": format!("Lamp {lamp} is off")}));
        }
        world.hears(Some("I switched off eight lamps."), &[]);
        world.says("Why did you do that?");
        let ask = Ask::new(&world.settings, &world.history, &world.registry);
        let mut seen = std::collections::BTreeSet::new();
        for room in (1500..14_000).step_by(50) {
            let mut buffer = vec![0; room];
            let (written, left_out) = provider::write_to_fit(ask, false, &mut buffer).unwrap();
            let text = core::str::from_utf8(&buffer[..written]).unwrap();
            for words in ["Switch everything off", "I switched off eight lamps.", "Why did you do that?"] {
                assert!(text.contains(words), "{room}: {text}");
            }
            let detail = match (text.contains("sssss"), text.contains("Lamp 7 is off")) {
                (true, true) => 2,
                (false, true) => 1,
                (false, false) => 0,
                (true, false) => panic!("half a turn: {text}"),
            };
            assert!(left_out.is_empty() || detail == 0, "{room}: {text}");
            assert!(seen.last().is_none_or(|most| detail >= *most), "{room}");
            seen.insert(detail);
        }
        assert_eq!(seen.len(), 3);
    }
}

/// If tools have to be left out, those that were never called go first.
#[test]
fn used_tools_are_kept_longer() {
    let mut world = World::new(Provider::OpenAi, json!({}));
    let used = world.registry.names("undo", |[name, _]| name.to_string()).unwrap();
    let name = used.as_str().try_into().unwrap();
    world.registry.count(&crate::tool::Execution { name, success: true, milliseconds: 1 });
    world.says("Hello");
    let ask = Ask::new(&world.settings, &world.history, &world.registry);
    let mut buffer = vec![0; 2000];
    let (written, left_out) = provider::write_to_fit(ask, false, &mut buffer).unwrap();
    let body: Value = serde_json::from_slice(&buffer[..written]).unwrap();
    assert!(!left_out.is_empty());
    assert_eq!(body["tools"][0]["function"]["name"], used);
}

/// Definitions take up room in every question. Rarely needed tools are therefore offered only by rules that name them.
#[test]
fn some_tools_are_offered_only_where_a_rule_names_them() {
    let names = |rule: Value| {
        let mut world = World::new(Provider::Anthropic, rule);
        world.says("Hello");
        tool_names(&world.body())
    };
    let everyday = names(json!({}));
    for name in
        ["hub_echo", "hub_restart_hub", "hub_factory_reset", "hub_set_feature_flag", "hub_list_project_flags"]
    {
        assert!(!everyday.iter().any(|offered| offered == name), "{name}");
        assert_eq!(names(json!({"tools": {"enabled": true, "allowed_tools": [name]}})), [name]);
    }
    assert!(everyday.len() >= 6, "{everyday:?}");
}
