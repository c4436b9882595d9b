//! Requests that are strange or broken.

use hub_mqtt::model::Provider;
use serde_json::{Value, json};

use super::answer;

#[test]
fn what_is_no_request_is_called_so() {
    for format in Provider::ALL {
        for body in [&b""[..], b"hello", b"[]", b"{}", br#"{"messages":{}}"#, b"\xff"] {
            assert!(answer(format, body).is_err(), "{body:?}");
        }
    }
}

#[test]
fn whatever_is_in_a_request_there_is_an_answer() {
    let odd = [
        json!(null),
        json!(7),
        json!("text"),
        json!([]),
        json!({}),
        json!([null, 7, "text", {}, []]),
        json!([{ "type": "tool_use" }, { "type": "tool_result", "content": 7 }, { "type": "text", "text": 7 }]),
    ];
    for format in Provider::ALL {
        for content in &odd {
            for role in ["user", "assistant", "tool", "system", "stranger"] {
                let message = json!({ "role": role, "content": content, "tool_calls": content });
                let body =
                    json!({ "messages": [message, content], "tools": content, "tool_choice": content });
                let reply = answer(format, body.to_string().as_bytes()).expect("an answer");
                let reply: Value = serde_json::from_slice(&reply).expect("JSON");
                assert!(reply.is_object());
            }
        }
    }
}

#[test]
fn whatever_is_said_there_is_an_answer() {
    let long = "turn on the light and ".repeat(5000);
    for said in [
        "",
        " ",
        "and and and",
        "|",
        "turn",
        "dim to",
        "set the flag",
        "the flag to",
        "lock",
        "ping node 999",
        "what is",
        "( ) ( )",
        "set to 40",
        "is the",
        "volume by",
        "set the volume to 1e999",
        "🦀 ünïcödé 𝕏",
        &long,
    ] {
        for format in Provider::ALL {
            let body = json!({ "messages": [{ "role": "user", "content": said }] });
            let reply = answer(format, body.to_string().as_bytes()).expect("an answer");
            assert!(reply.len() < 4096, "{said}");
        }
    }
}

#[test]
fn no_tool_is_called_where_none_may_be() {
    let tools = json!([{ "name": "hub_datetime", "input_schema": { "type": "object" } }]);
    let said = json!([{ "role": "user", "content": [{ "type": "text", "text": "what time is it" }] }]);
    for (choice, reason) in [(json!({ "type": "none" }), "end_turn"), (json!({ "type": "auto" }), "tool_use")]
    {
        let body = json!({ "messages": said, "tools": tools, "tool_choice": choice });
        let reply = answer(Provider::Anthropic, body.to_string().as_bytes()).expect("an answer");
        let reply: Value = serde_json::from_slice(&reply).expect("JSON");
        assert_eq!(reply["stop_reason"], reason);
    }
}
