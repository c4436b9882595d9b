//! Whatever is too long: what models and people get is JSON, or a text with a mark at its end.

use std::string::{String, ToString};
use std::vec::Vec;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::World;
use crate::chat::{Input, Provider};
use crate::limits;
use crate::text::MARK;

/// A text is JSON, or its beginning with the mark.
fn is_whole_or_marked(text: &str, wholes: &[String]) -> bool {
    if let Some(beginning) = text.trim_end().strip_suffix(MARK) {
        // The mark of an earlier, longer cut may be in it, but not half of one.
        return wholes.iter().any(|whole| whole.starts_with(beginning));
    }
    wholes.iter().any(|whole| whole == text)
}

/// The results and the arguments of calls in a body.
fn texts(service: Provider, body: &Value) -> (Vec<String>, Vec<Value>) {
    let (mut results, mut arguments) = (Vec::new(), Vec::new());
    for message in body["messages"].as_array().unwrap() {
        let blocks = message["content"].as_array().into_iter().flatten();
        for block in blocks {
            match block["type"].as_str() {
                Some("tool_result") => results.push(block["content"].as_str().unwrap().to_string()),
                Some("tool_use") => arguments.push(block["input"].clone()),
                _ => {}
            }
        }
        for call in message["tool_calls"].as_array().into_iter().flatten() {
            let given = &call["function"]["arguments"];
            arguments.push(match service {
                Provider::OpenAi => serde_json::from_str(given.as_str().unwrap()).unwrap(),
                _ => given.clone(),
            });
        }
        if message["role"] == "tool" {
            results.push(message["content"].as_str().unwrap().to_string());
        }
    }
    (results, arguments)
}

fn texts_of_any_size() -> impl Strategy<Value = String> {
    let letters =
        prop_oneof![Just("x"), Just("\""), Just("\\"), Just("ä"), Just("\n"), Just("😀"), Just("{[\"a\":")];
    let length = prop_oneof![3 => 0..200usize, 2 => 0..1200usize, 1 => 2000..2700usize];
    (letters, length).prop_map(|(letter, length)| letter.repeat(length / letter.len()))
}

/// spec: reply-16
#[test]
fn more_calls_than_announced_are_left_out_and_the_model_sees_which() {
    let calls: Vec<_> = (0..20).map(|_| ("", "hub_echo", json!({}))).collect();
    let mut world = World::new(Provider::OpenAi, json!({}));
    world.says("Go");
    world.hears(None, &calls);
    for _ in 0..limits::CALLS_AT_ONCE {
        world.done(json!({"success": true}));
    }
    let (results, arguments) = texts(Provider::OpenAi, &world.body());
    assert_eq!((results.len(), arguments.len()), (limits::CALLS_AT_ONCE, limits::CALLS_AT_ONCE));
}

proptest! {
    /// spec: reply-18, reply-25
    #[test]
    fn what_is_cut_is_json_or_a_text_with_a_mark(
        service in 0..3usize,
        room in prop_oneof![Just(700usize), Just(1500), Just(limits::REPLY)],
        rounds in prop::collection::vec(prop::collection::vec((texts_of_any_size(), texts_of_any_size()), 1..9), 1..5),
        answer in texts_of_any_size(),
    ) {
        let service = Provider::ALL[service];
        let mut world = World::new(service, json!({"tools": {"enabled": true, "max_iterations": 16}}));
        world.room = room;
        world.says("Go");
        // Arguments that are too long are refused.
        let refused = r#"{"success":false,"error_type":"invalid_parameters","error":"Invalid parameters: the arguments are not a JSON object, or too long","tool_name":"hub_echo","execution_time_ms":0}"#;
        let mut wholes = std::vec![refused.to_string()];
        let mut made = 0;
        for round in &rounds {
            let calls: Vec<_> = round.iter().map(|(text, _)| ("", "hub_echo", json!({ "text": text }))).collect();
            world.hears(None, &calls);
            for (_, text) in round {
                if world.history.pending().is_none() {
                    break;
                }
                let result = json!({ "success": true, "result": { "text": text } });
                wholes.push(result.to_string());
                world.done(result);
                made += 1;
            }
            if world.reply.is_some() {
                break;
            }
            let (results, arguments) = texts(service, &world.body());
            prop_assert!(arguments.iter().all(Value::is_object), "{arguments:?}");
            for text in &results {
                prop_assert!(is_whole_or_marked(text, &wholes), "{text}");
                prop_assert!(text.len() <= limits::RESULT, "{}", text.len());
            }
        }
        if world.reply.is_none() {
            world.hears(Some(&std::format!("Well. {answer}")), &[]);
        }
        if world.reply.is_none() {
            world.on(Input::TimedOut);
        }
        let reply = world.reply();
        let calls = reply["tool_calls"].as_array().unwrap();
        let left_out = reply.get("tool_calls_left_out").map_or(0, |count| count.as_u64().unwrap());
        prop_assert!(calls.len() + left_out as usize >= made, "{reply}");
        for call in calls {
            for value in [&call["params"], &call["result"]] {
                let is_marked = value.as_str().is_some_and(|text| text.trim_end().ends_with(MARK));
                prop_assert!(value.is_object() || is_marked, "{value}");
            }
        }
    }
}
