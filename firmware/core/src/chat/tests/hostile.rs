//! Anything that a provider may send.

use std::string::{String, ToString};
use std::vec::Vec;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{Todo, World, reply_body};
use crate::chat::{Provider, Rule, TurnEvent, provider};
use crate::limits;

/// Any JSON with the member names of providers.
fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!(null)),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "\\PC{0,12}".prop_map(Value::from),
        "(text|tool_use|stop|end_turn|tool_calls|function|error|hub_echo|\\{\\}|\\{)".prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 64, 8, |inner| {
        let name = "(content|choices|message|tool_calls|function|name|arguments|input|id|type|text|stop_reason|\
                    finish_reason|done_reason|usage|error|status|refusal|object|code)";
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::vec((name, inner), 0..8)
                .prop_map(|members| Value::from(members.into_iter().collect::<serde_json::Map<_, _>>())),
        ]
    })
}

/// Runs a turn with a model that always sends these bytes; returns the reply.
fn chat(service: Provider, body: &[u8]) -> Value {
    let mut world = World::new(
        service,
        json!({"tools": {"enabled": true, "allowed_tools": ["echo"], "max_iterations": 3}}),
    );
    let mut todo = world.says("Go");
    for _ in 0..100 {
        assert!(world.history.used() <= limits::HISTORY);
        todo = match todo {
            Todo::Ask => {
                world.body();
                world.on(TurnEvent::Reply(provider::read(service, body)))
            }
            Todo::Run(..) => world.done(json!({"success": true})),
            Todo::Finish => return world.reply().clone(),
            Todo::Wait => panic!("nothing to wait for"),
        };
    }
    panic!("it never ends");
}

proptest! {
    #[test]
    fn any_bytes_end_in_a_reply(bytes in prop::collection::vec(any::<u8>(), 0..200), service in 0..3usize) {
        chat(Provider::ALL[service], &bytes);
    }

    #[test]
    fn any_json_ends_in_a_reply(body in any_json(), service in 0..3usize) {
        chat(Provider::ALL[service], body.to_string().as_bytes());
    }

    #[test]
    fn damaged_replies_end_in_a_reply(
        service in 0..3usize,
        text in prop::option::of("\\PC{0,20}"),
        names in prop::collection::vec(prop_oneof![Just("hub_echo".to_string()), "\\PC{0,10}"], 0..12),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        cut in any::<prop::sample::Index>(),
        is_cut in any::<bool>(),
    ) {
        let service = Provider::ALL[service];
        let calls: Vec<_> = names.iter().map(|name| ("id", name.as_str(), json!({"text": name}))).collect();
        let mut body = reply_body(service, text.as_deref(), &calls).into_bytes();
        for (at, byte) in damage {
            let at = at.index(body.len());
            body[at] = byte;
        }
        if is_cut {
            body.truncate(cut.index(body.len()));
        }
        chat(service, &body);
    }

    #[test]
    fn any_rule_is_read_or_refused_in_words(text in prop_oneof![
        "\\PC{0,60}".prop_map(String::from),
        any_json().prop_map(|json| json.to_string()),
        ("(name|service|model|prompt|max_tokens|temperature|tools|context|intents|other)", any_json())
            .prop_map(|(name, value)| json!({"name": "a", name: value}).to_string()),
    ]) {
        match Rule::parse(&text) {
            Ok(rule) => {
                let iterations = rule.tools.max_iterations.unwrap_or(1);
                prop_assert!((1..=16).contains(&iterations) && rule.max_tokens > 0);
            }
            Err(error) => prop_assert!(!error.to_string().is_empty()),
        }
    }
}
