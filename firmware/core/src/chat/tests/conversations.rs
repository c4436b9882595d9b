//! The request bodies for any conversation, for each provider.

use std::string::{String, ToString};
use std::vec::Vec;
use std::{println, vec};

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use serde_json::{Value, json};

use super::{World, body, conversation, rule_text, settings};
use crate::chat::history::{EarlierTurns, Message};
use crate::chat::{Provider, TurnEvent, provider};

/// Checks the rules that every provider has for a body.
pub(super) fn check(service: Provider, body: &Value) {
    let messages = body["messages"].as_array().unwrap();
    let is_name = |name: &Value| {
        let name = name.as_str().unwrap();
        (1..=64).contains(&name.len())
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
    };
    match service {
        Provider::Anthropic => {
            assert!(body["max_tokens"].as_u64().unwrap() > 0);
            let mut waiting: Vec<Value> = vec![];
            let mut ids: Vec<Value> = vec![];
            for (place, message) in messages.iter().enumerate() {
                assert_eq!(
                    message["role"],
                    if place % 2 == 0 { "user" } else { "assistant" },
                    "roles take turns"
                );
                let text = json!([{"type": "text", "text": message["content"]}]);
                let is_text = message["content"].is_string();
                let blocks = if is_text { &text } else { &message["content"] }.as_array().unwrap();
                assert!(!blocks.is_empty());
                let mut answered: Vec<Value> = vec![];
                let mut asked: Vec<Value> = vec![];
                for block in blocks {
                    match block["type"].as_str().unwrap() {
                        "text" => {
                            assert!(!block["text"].as_str().unwrap().trim().is_empty());
                            assert!(asked.is_empty() && answered.is_empty(), "text comes first");
                        }
                        "tool_use" => {
                            assert!(message["role"] == "assistant" && block["input"].is_object());
                            assert!(is_name(&block["name"]) && is_name(&block["id"]));
                            asked.push(block["id"].clone());
                        }
                        "tool_result" => {
                            assert_eq!(message["role"], "user");
                            assert!(block.get("content").is_none_or(|content| content.as_str() != Some("")));
                            answered.push(block["tool_use_id"].clone());
                        }
                        other => panic!("{other}"),
                    }
                }
                assert_eq!(answered, waiting, "every call has its result in the next message");
                ids.extend(asked.clone());
                waiting = if is_text { vec![] } else { asked };
            }
            assert!(waiting.is_empty());
            let count = ids.len();
            ids.sort_by_key(|id| id.to_string());
            ids.dedup();
            assert_eq!(ids.len(), count);
            assert_eq!(messages.last().unwrap()["role"], "user");
        }
        Provider::OpenAi | Provider::Ollama => {
            let mut waiting: Vec<Value> = vec![];
            for (place, message) in messages.iter().enumerate() {
                let role = message["role"].as_str().unwrap();
                if role == "tool" {
                    let owner = message.get("tool_call_id").or(message.get("tool_name")).unwrap();
                    assert_eq!(*owner, waiting.remove(0), "results come in the order of the calls");
                    assert!(message["content"].is_string());
                    continue;
                }
                assert!(waiting.is_empty(), "every call has its result before anything else is said");
                match role {
                    "system" => assert_eq!(place, 0),
                    "user" => assert!(!message["content"].as_str().unwrap().is_empty()),
                    "assistant" => {
                        let calls = message.get("tool_calls").map(|calls| calls.as_array().unwrap().clone());
                        assert!(calls.is_some() || !message["content"].as_str().unwrap().is_empty());
                        assert!(calls.as_ref().is_none_or(|calls| !calls.is_empty()));
                        for call in calls.iter().flatten() {
                            let function = &call["function"];
                            assert!(is_name(&function["name"]));
                            if service == Provider::OpenAi {
                                assert!(is_name(&call["id"]) && call["type"] == "function");
                                let arguments: Value =
                                    serde_json::from_str(function["arguments"].as_str().unwrap()).unwrap();
                                assert!(arguments.is_object());
                                waiting.push(call["id"].clone());
                            } else {
                                assert!(function["arguments"].is_object());
                                waiting.push(function["name"].clone());
                            }
                        }
                    }
                    other => panic!("{other}"),
                }
            }
            assert!(waiting.is_empty());
            assert!(matches!(messages.last().unwrap()["role"].as_str(), Some("user" | "tool")));
        }
    }
}

/// An event of a conversation with any service.
#[derive(Clone, Debug)]
enum Happens {
    Says(String),
    Hears(Option<String>, Vec<(String, String, Value)>),
    Done(String, bool),
    Cancelled,
    Garbage,
}

fn happens() -> impl Strategy<Value = Vec<Happens>> {
    let words = || prop_oneof![3 => "\\PC{1,40}", 1 => "[ \n\t]{0,3}", 1 => (100..300usize).prop_map(|count| "ä\"\\a".repeat(count))];
    let id = prop_oneof!["[a-zA-Z0-9_-]{1,12}", "\\PC{0,8}", Just("same".into())];
    let name = prop_oneof![3 => "hub_(echo|datetime|volume)", 1 => "\\PC{0,70}"];
    let arguments = prop_oneof![
        3 => words().prop_map(|text| json!({ "text": text })),
        1 => "\\PC{0,30}".prop_map(Value::from),
        1 => Just(json!(null)),
        1 => Just(json!([1, 2])),
    ];
    let calls = prop::collection::vec((id, name, arguments), 0..10);
    let one = prop_oneof![
        2 => words().prop_map(Happens::Says),
        4 => (prop::option::of(words()), calls).prop_map(|(text, calls)| Happens::Hears(text, calls)),
        6 => (words(), any::<bool>()).prop_map(|(result, failed)| Happens::Done(result, failed)),
        1 => Just(Happens::Cancelled),
        1 => Just(Happens::Garbage),
    ];
    prop::collection::vec(one, 1..25)
}

/// A world after these events, as far as they are possible.
fn lived(service: Provider, happens: &[Happens], mut look: impl FnMut(&World)) -> World {
    let mut world = World::new(service, json!({"tools": {"enabled": true, "max_iterations": 9}}));
    world.says("Begin");
    for one in happens {
        match one {
            Happens::Says(text) if !text.trim().is_empty() => {
                world.says(text);
            }
            Happens::Says(_) => {}
            Happens::Hears(text, calls) => {
                let calls = calls.iter().map(|(id, name, value)| (id.as_str(), name.as_str(), value.clone()));
                world.hears(text.as_deref(), &calls.collect::<Vec<_>>());
            }
            Happens::Done(result, is_error) => {
                world.on(TurnEvent::ToolDone { result, is_error: *is_error });
            }
            Happens::Cancelled => {
                world.on(TurnEvent::Cancelled);
            }
            Happens::Garbage => {
                world.on(TurnEvent::Reply(provider::read(service, b"{")));
            }
        }
        look(&world);
    }
    world
}

proptest! {
    #[test]
    fn every_provider_takes_any_conversation(happens in happens(), service in 0..3usize, asked in 0..3usize) {
        let few = json!({"tools": {"enabled": true, "allowed_tools": ["echo"]}});
        let asked = rule_text(Provider::ALL[asked], few);
        let asked = settings(&asked);
        lived(Provider::ALL[service], &happens, |world| {
            // When the model is asked next, with this rule or another one.
            let last = world.history.messages_after(0, EarlierTurns::Whole).last();
            let is_asking = world.history.pending().is_none()
                && matches!(last, Some(Message::User(_) | Message::Round(_)));
            if is_asking {
                check(asked.provider, &body(&asked, &world.history, Some(&world.registry), "Be brief."));
            }
        });
    }
}

/// Prints bodies for `tests/providers/check.py`, one a line.
#[test]
#[ignore = "prints what another program reads"]
fn print_bodies() {
    let print = |service: Provider, body: &Value| {
        println!("{}", json!({"provider": service.name(), "body": body}));
    };
    for service in Provider::ALL {
        let world = conversation(service, json!({"temperature": 0.5, "thinking": false}));
        print(service, &world.body());
        let mut world = World::new(service, json!({"model": "gpt-5", "tools": {"enabled": false}}));
        world.says("Hello");
        print(service, &world.body());
        let mut runner = proptest::test_runner::TestRunner::deterministic();
        for _ in 0..40 {
            let happens = happens().new_tree(&mut runner).unwrap().current();
            lived(service, &happens, |world| {
                if world.history.pending().is_none()
                    && matches!(
                        world.history.messages_after(0, EarlierTurns::Whole).last(),
                        Some(Message::Round(_))
                    )
                {
                    print(service, &world.body());
                }
            });
        }
    }
}
