//! Whatever is too long: what models and people get is JSON, or a text with a mark at its end.

use std::string::{String, ToString};
use std::vec;
use std::vec::Vec;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::World;
use crate::chat::{Provider, TurnEvent};
use crate::limits;
use crate::text::MARK;

/// The results and the arguments of calls in a body.
pub(super) fn texts(service: Provider, body: &Value) -> (Vec<String>, Vec<Value>) {
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
fn too_many_calls_run_only_the_first_and_the_rest_are_reported() {
    for service in Provider::ALL {
        let calls: Vec<_> = (0..20).map(|_| ("", "hub_echo", json!({}))).collect();
        let mut world = World::new(service, json!({}));
        world.says("Go");
        world.hears(None, &calls);
        for _ in 0..limits::CALLS_AT_ONCE {
            world.done(json!({"success": true}));
        }
        let (results, arguments) = texts(service, &world.body());
        assert_eq!((results.len(), arguments.len()), (limits::CALLS_AT_ONCE, limits::CALLS_AT_ONCE));
        let last: Value = serde_json::from_str(results.last().unwrap()).unwrap();
        assert_eq!(
            last["not_run"],
            "Calls not run, because there were too many at once: 12. Ask for them again."
        );
        let again: Vec<_> = calls.iter().take(10).cloned().collect();
        world.hears(None, &again);
        for _ in 0..limits::CALLS_AT_ONCE {
            world.done(json!({"success": true}));
        }
        // The model reads of the newest round only: it may have asked again for what was not run before.
        let body = world.body().to_string();
        assert!(body.contains("at once: 2. Ask") && !body.contains("at once: 12."), "{body}");
        world.hears(Some("Not all of it is done."), &[]);
        let reply = world.reply();
        assert_eq!(
            (reply["tool_calls"].as_array().unwrap().len(), &reply["tool_calls_not_run"]),
            (16, &json!(4))
        );
        // The next turn no longer mentions them.
        world.says("And now?");
        assert!(!world.body().to_string().contains("not_run"));
    }
}

/// A call that the model asks for later counts as one that was not run before.
///
/// spec: reply-16
#[test]
fn the_caller_reads_how_many_calls_of_the_turn_were_not_run() {
    for (rounds, not_run) in [
        (vec![12], json!(4)),
        (vec![12, 1], json!(3)),
        (vec![12, 4], Value::Null),
        (vec![12, 8, 1], Value::Null),
        (vec![8, 8], Value::Null),
        (vec![12, 12], json!(4)),
        (vec![20, 12, 2], json!(2)),
    ] {
        let mut world = World::new(Provider::OpenAi, json!({}));
        world.says("Go");
        for count in &rounds {
            world.hears(None, &vec![("", "hub_echo", json!({})); *count]);
            while world.history.pending().is_some() {
                world.done(json!({"success": true}));
            }
        }
        world.hears(Some("Done."), &[]);
        assert_eq!(world.reply()["tool_calls_not_run"], not_run, "{rounds:?}");
    }
}

proptest! {
    /// spec: reply-18, reply-25, calls-19
    #[test]
    fn cut_results_are_still_objects(
        service in 0..3usize,
        room in prop_oneof![Just(700usize), Just(1500), Just(limits::REPLY)],
        rounds in prop::collection::vec(prop::collection::vec((texts_of_any_size(), texts_of_any_size()), 1..9), 1..5),
        answer in texts_of_any_size(),
    ) {
        let service = Provider::ALL[service];
        let mut world = World::new(service, json!({"tools": {"enabled": true, "max_iterations": 16}}));
        world.room = room;
        world.says("Go");
        let mut made = 0;
        for round in &rounds {
            let calls: Vec<_> = round.iter().map(|(text, _)| ("", "hub_echo", json!({ "text": text }))).collect();
            world.hears(None, &calls);
            for (_, text) in round {
                if world.history.pending().is_none() {
                    break;
                }
                world.done(json!({ "success": true, "result": { "text": text }, "message": "Echoed" }));
                made += 1;
            }
            if world.reply.is_some() {
                break;
            }
            let (results, arguments) = texts(service, &world.body());
            prop_assert!(arguments.iter().all(Value::is_object), "{arguments:?}");
            for text in &results {
                let result: Value = serde_json::from_str(text).expect("JSON");
                prop_assert!(result["success"].is_boolean(), "{text}");
                let is_marked = text.contains(MARK);
                if let Some(shown) = result["result"]["text"].as_str().filter(|_| !is_marked) {
                    prop_assert!(round.iter().chain(rounds.iter().flatten()).any(|(_, text)| text == shown), "{text}");
                }
                prop_assert!(text.len() <= limits::RESULT + 256, "{}", text.len());
            }
        }
        if world.reply.is_none() {
            world.hears(Some(&std::format!("Well. {answer}")), &[]);
        }
        if world.reply.is_none() {
            world.on(TurnEvent::TimedOut);
        }
        let reply = world.reply();
        let calls = reply["tool_calls"].as_array().unwrap();
        let left_out = reply.get("tool_calls_left_out").map_or(0, |count| count.as_u64().unwrap());
        prop_assert!(calls.len() + left_out as usize >= made, "{reply}");
        for call in calls {
            prop_assert!(call["params"].is_object() || call["params"] == MARK, "{call}");
            prop_assert!(call["result"]["success"].is_boolean(), "{call}");
        }
    }
}
