//! The result of a tool call: what each one has, checked wherever a test sees one.
//!
//! A [`Client`](crate::client::Client) checks all that it hears, so that no story can forget it: the reply to a call, the
//! calls in the reply of a conversation, and the results that a model is given.

use serde_json::Value;

use crate::client::Message;

/// The types of errors that refuse a request, before there is a tool to name.
const REFUSALS: [&str; 5] = ["busy", "invalid_json", "invalid_request", "too_large", "unknown_request"];

/// Asserts that this is the result of a call: `success`, then `result` or else `error` and `error_type`, and `tool_name`
/// and `execution_time_ms` in any case.
#[track_caller]
pub fn assert_result(result: &Value) {
    let is_text = |name: &str| result[name].as_str().is_some_and(|text| !text.is_empty());
    let has = |name: &str| result.get(name).is_some();
    match &result["success"] {
        Value::Bool(true) => assert!(has("result") && !has("error") && !has("error_type"), "{result}"),
        Value::Bool(false) => {
            assert!(!has("result"), "a failure with a result: {result}");
            assert!(is_text("error") && is_text("error_type"), "a failure that does not say why: {result}");
        }
        _ => panic!("neither a success nor a failure: {result}"),
    }
    assert!(is_text("tool_name"), "a result without its tool: {result}");
    assert!(result["execution_time_ms"].is_u64(), "a result without its time: {result}");
    for name in ["message", "instruction", "exception_type", "exception_message"] {
        assert!(!has(name) || is_text(name), "an empty {name}: {result}");
    }
}

/// Asserts that this is the reply to a call: a result, or the refusal of the request.
#[track_caller]
pub fn assert_reply(reply: &Value) {
    let is_refusal = REFUSALS.iter().any(|refusal| reply["error_type"] == *refusal);
    if reply.get("tool_name").is_some() || !is_refusal {
        return assert_result(reply);
    }
    assert!(reply["success"] == false && reply["error"].is_string(), "{reply}");
    let members = ["success", "error", "error_type", "transaction"];
    let has_only = reply.as_object().expect("an object").keys().all(|name| members.contains(&name.as_str()));
    assert!(has_only, "a refusal has nothing else: {reply}");
}

/// Asserts the same of a result in a conversation, which may be only a summary.
#[track_caller]
fn assert_kept(result: &Value) {
    let members = result.as_object().expect("an object");
    let is_summary =
        members.keys().all(|name| ["success", "message", "error", "error_type"].contains(&name.as_str()));
    let has = |name: &str| members.contains_key(name);
    match result["success"].as_bool().filter(|_| is_summary) {
        Some(true) => assert!(!has("error") && !has("error_type"), "{result}"),
        Some(false) => assert!(has("error_type") && !has("message"), "{result}"),
        None => assert_result(result),
    }
}

/// Asserts the same of a result as text.
#[track_caller]
fn assert_text(text: &str) {
    assert_kept(&serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}")));
}

/// Checks the results in a message of a hub, where the client that heard it did `call` a tool and gets the reply, or not.
#[track_caller]
pub(crate) fn check(message: &Message, call: bool) {
    let topic = message.topic.strip_prefix("hearthwave/").and_then(|topic| topic.split_once('/'));
    let name = topic.map_or("", |(_, name)| name);
    if call || name == "response/tool/call" {
        assert_reply(&message.json());
    } else if name == "response/chat" {
        for call in message.json()["tool_calls"].as_array().into_iter().flatten() {
            assert_kept(&call["result"]);
        }
    } else if name.starts_with("llm/request/") {
        // What is retained here, or no question at all, is none of the hub's.
        let question: Value = serde_json::from_slice(&message.payload).unwrap_or_default();
        results(&question).iter().for_each(|text| assert_text(text));
    }
}

/// The results of tools in a question to a model, in the form of any provider.
pub fn results(question: &Value) -> Vec<String> {
    let messages = question["messages"].as_array().into_iter().flatten();
    let contents = messages.flat_map(|message| match (&message["role"], &message["content"]) {
        (role, content) if role == "tool" => vec![content.clone()],
        (_, Value::Array(blocks)) => {
            let results = blocks.iter().filter(|block| block["type"] == "tool_result");
            results.map(|block| block["content"].clone()).collect()
        }
        _ => Vec::new(),
    });
    let texts = |content: Value| match content {
        Value::String(text) => text,
        Value::Array(blocks) => blocks.iter().filter_map(|block| block["text"].as_str()).collect(),
        other => panic!("a result that is no text: {other}"),
    };
    contents.map(texts).collect()
}
