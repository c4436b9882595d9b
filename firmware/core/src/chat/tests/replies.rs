//! Replies of models in each provider's format.

use std::string::{String, ToString};
use std::vec::Vec;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::read;
use crate::chat::{Arguments, FinishReason, Provider, provider};

/// The text, the calls and the finish reason.
fn view(service: Provider, body: Value) -> (String, Vec<String>, String) {
    let body = body.to_string();
    let reply = read(service, &body);
    let calls = reply.calls().map(|call| {
        let kind = match call.arguments {
            Arguments::Value(_) => "value",
            Arguments::Text(_) => "text",
        };
        let id = call.id.map_or("-".into(), |id| id.to_string());
        std::format!("{id} {} {kind} {}", call.name, call.arguments)
    });
    (reply.content.to_string(), calls.collect(), reply.finish.name().as_str().into())
}

fn is(text: &str, calls: &[&str], finish: &str) -> (String, Vec<String>, String) {
    (text.into(), calls.iter().map(|call| call.to_string()).collect(), finish.into())
}

#[test]
fn anthropic_replies() {
    let view =
        |content, reason| view(Provider::Anthropic, json!({ "content": content, "stop_reason": reason }));
    let text = json!({ "type": "text", "text": "Hi " });
    let other = json!({ "type": "text", "text": "there" });
    let thought = json!({ "type": "thinking", "thinking": "hm", "text": "secret", "signature": "x" });
    let call = |id: &str| json!({ "type": "tool_use", "id": id, "name": "echo", "input": { "a": 1 } });
    assert_eq!(view(json!([text, thought, other]), json!("end_turn")), is("Hi there", &[], "stop"));
    assert_eq!(view(json!([text]), json!("stop_sequence")), is("Hi ", &[], "stop"));
    assert_eq!(view(json!([text]), json!("max_tokens")), is("Hi ", &[], "length"));
    assert_eq!(view(json!([text]), json!("model_context_window_exceeded")), is("Hi ", &[], "length"));
    assert_eq!(view(json!([text]), json!("pause_turn")), is("Hi ", &[], "pause_turn"));
    assert_eq!(view(json!([]), json!("refusal")), is("", &[], "refusal"));
    assert_eq!(view(json!([]), json!(null)), is("", &[], "stop"));
    let calls = ["a echo value {\"a\":1}", "b echo value {\"a\":1}"];
    assert_eq!(view(json!([text, call("a"), call("b")]), json!("tool_use")), is("Hi ", &calls, "tool_calls"));
    assert_eq!(view(json!([call("a")]), json!("max_tokens")), is("", &calls[..1], "length"));
    let bare = json!({ "type": "tool_use", "name": "echo" });
    assert_eq!(view(json!([bare]), json!("tool_use")), is("", &["- echo value {}"], "tool_calls"));
    let foreign = json!({ "type": "server_tool_use", "id": "s", "name": "web_search", "input": {} });
    assert_eq!(view(json!([foreign, text]), json!("end_turn")), is("Hi ", &[], "stop"));
}

#[test]
fn openai_replies() {
    let view = |message, reason: Value| {
        view(Provider::OpenAi, json!({ "choices": [{ "message": message, "finish_reason": reason }] }))
    };
    let call =
        json!({ "id": "a", "type": "function", "function": { "name": "echo", "arguments": "{\"a\":1}" } });
    let expected = ["a echo text {\"a\":1}"];
    assert_eq!(view(json!({ "content": "Hi" }), json!("stop")), is("Hi", &[], "stop"));
    assert_eq!(view(json!({ "content": null }), json!("stop")), is("", &[], "stop"));
    assert_eq!(view(json!({ "content": "Hi" }), json!("length")), is("Hi", &[], "length"));
    assert_eq!(view(json!({ "content": null }), json!("content_filter")), is("", &[], "content_filter"));
    assert_eq!(view(json!({ "content": "Hi" }), json!("function_call")), is("Hi", &[], "function_call"));
    let refusal = json!({ "content": null, "refusal": "I cannot" });
    assert_eq!(view(refusal, json!("stop")), is("I cannot", &[], "refusal"));
    // No call is made for a model that refuses.
    let calling = json!({ "content": null, "refusal": "I cannot", "tool_calls": [call] });
    assert_eq!(view(calling, json!("tool_calls")), is("I cannot", &expected, "refusal"));
    let parts =
        json!({ "content": [{ "type": "text", "text": "Hi " }, { "type": "image_url" }, { "text": "you" }] });
    assert_eq!(view(parts, json!("stop")), is("Hi you", &[], "stop"));
    let both = json!({ "content": "Moment", "tool_calls": [call] });
    assert_eq!(view(both.clone(), json!("tool_calls")), is("Moment", &expected, "tool_calls"));
    // Some servers say `stop` beside calls.
    assert_eq!(view(both, json!("stop")), is("Moment", &expected, "tool_calls"));
    let odd = json!({ "content": "", "tool_calls": [{ "function": { "name": "echo", "arguments": { "a": 1 } } }, 7, {}] });
    assert_eq!(view(odd, json!("tool_calls")), is("", &["- echo value {\"a\":1}"], "tool_calls"));
    assert_eq!(view(json!({ "content": "Hi", "tool_calls": null }), json!(7)), is("Hi", &[], "stop"));
}

#[test]
fn ollama_replies() {
    let view =
        |message, reason: Value| view(Provider::Ollama, json!({ "message": message, "done_reason": reason }));
    let call = json!({ "function": { "name": "echo", "arguments": { "a": 1 } } });
    let calls = ["- echo value {\"a\":1}", "- echo value {\"a\":1}"];
    assert_eq!(view(json!({ "content": "Hi", "thinking": "hm" }), json!("stop")), is("Hi", &[], "stop"));
    assert_eq!(view(json!({ "content": "Hi" }), json!("length")), is("Hi", &[], "length"));
    assert_eq!(view(json!({ "content": "" }), json!("load")), is("", &[], "load"));
    assert_eq!(view(json!({ "content": "Hi" }), json!(null)), is("Hi", &[], "stop"));
    let both = json!({ "content": "", "tool_calls": [call, call] });
    assert_eq!(view(both, json!("stop")), is("", &calls, "tool_calls"));
    let text = json!({ "tool_calls": [{ "id": "x", "function": { "name": "echo", "arguments": "{}" } }] });
    assert_eq!(view(text, json!("stop")), is("", &["x echo text {}"], "tool_calls"));
}

#[test]
fn all_calls_of_a_reply_are_read() {
    let calls: Vec<_> = (0..20).map(|_| ("", "echo", json!({}))).collect();
    let body = super::reply_body(Provider::Ollama, None, &calls);
    let reply = read(Provider::Ollama, &body);
    assert_eq!(reply.calls().count(), 20);
    assert_eq!(reply.finish, FinishReason::ToolCalls);
}

#[test]
fn errors_are_told_in_the_providers_words() {
    let anthropic =
        json!({ "type": "error", "error": { "type": "overloaded_error", "message": "Overloaded" } });
    let openai = json!({ "error": { "message": "Bad key", "type": "invalid_request_error", "param": null, "code": "invalid_api_key" } });
    for (service, body, error) in [
        (
            Provider::Anthropic,
            json!({ "error": { "status": 529, "message": "busy" } }),
            "the provider reports an error 529: busy",
        ),
        (
            Provider::OpenAi,
            json!({ "error": { "relay": "timeout", "status": null, "message": "no reply within 59.5 s" } }),
            "no reply within 59.5 s",
        ),
        (
            Provider::OpenAi,
            json!({ "error": { "relay": "unavailable" } }),
            "the relay has no reply, and does not say why",
        ),
        (
            Provider::OpenAi,
            json!({ "error": { "relay": "tired", "message": "zzz" } }),
            "the provider reports an error: zzz",
        ),
        (Provider::Anthropic, anthropic, "the provider reports an error (overloaded_error): Overloaded"),
        (Provider::OpenAi, openai, "the provider reports an error (invalid_request_error): Bad key"),
        (
            Provider::OpenAi,
            json!({ "object": "error", "message": "too long", "type": "BadRequestError", "code": 400 }),
            "the provider reports an error 400 (BadRequestError): too long",
        ),
        (
            Provider::Ollama,
            json!({ "error": "model 'x' not found" }),
            "the provider reports an error: model 'x' not found",
        ),
        (Provider::Ollama, json!({ "error": {} }), "the provider reports an error without a word"),
        (Provider::Ollama, json!({ "error": [] }), "the provider reports an error without a word"),
        (Provider::Anthropic, json!({ "error": null }), "the provider's reply lacks an array 'content'"),
        (Provider::Anthropic, json!({ "content": "Hi" }), "the provider's reply lacks an array 'content'"),
        (Provider::OpenAi, json!({ "choices": [] }), "the provider's reply lacks 'choices[0].message'"),
        (
            Provider::OpenAi,
            json!({ "choices": [{ "message": 1 }] }),
            "the provider's reply lacks 'choices[0].message'",
        ),
        (Provider::Ollama, json!(null), "the provider's reply lacks an object 'message'"),
        (Provider::Ollama, json!({ "message": "Hi" }), "the provider's reply lacks an object 'message'"),
    ] {
        let body = body.to_string();
        assert_eq!(provider::read(service, body.as_bytes()).unwrap_err().to_string(), error);
    }
    for body in
        [&b""[..], b"<html>502 Bad Gateway</html>", b"{\"a\":1}\n{\"a\":2}", b"\xFF", b"{\"content\":["]
    {
        let error = provider::read(Provider::Anthropic, body).unwrap_err().to_string();
        assert!(error.starts_with("the provider's reply is not "), "{error}");
    }
}

/// What is said after the thoughts, by searching the text from thought to thought.
fn said(text: &str) -> &str {
    let mut rest = text;
    loop {
        let is_open = rest.trim_start().starts_with("<think>");
        let here = text.len() - rest.len();
        let is_mentioned = |end: usize| {
            let line = text[..here + end].rsplit('\n').next().unwrap();
            let after = rest[end + "</think>".len()..].chars().next();
            !line.trim().is_empty() && after.is_some_and(|after| " />".contains(after))
        };
        let ends = || rest.match_indices("</think>").map(|(end, _)| end);
        let closed = ends().find(|end| !is_mentioned(*end)).filter(|end| !rest[..*end].contains("<think>"));
        let end = if is_open { ends().next() } else { closed };
        match end {
            None if is_open => return "",
            Some(end) => rest = rest[end + "</think>".len()..].trim_start(),
            None => return rest,
        }
    }
}

proptest! {
    #[test]
    fn thoughts_are_not_said(text in "(<think>|</think>|<think|</|<|>|[ab \n]){0,12}") {
        let body = super::reply_body(Provider::Ollama, Some(&text), &[]);
        prop_assert_eq!(read(Provider::Ollama, &body).content.to_string(), said(&text));
    }
}
