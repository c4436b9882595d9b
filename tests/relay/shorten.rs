//! What hubs read of replies that the relay has shortened.

use host_relay::{Provider, shorten};
use hub_core::text::MARK;
use serde_json::{Value, json};

const LIMIT: usize = 7168;

/// A reply with a text and a call, surrounded by members that hubs never read.
fn reply(service: Provider, text: &str, chatter: &str) -> Value {
    let input = json!({ "level": 1.5, "name": "Flur" });
    let log = vec![json!({ "token": "a", "logprob": -0.1 }); 40];
    match service {
        Provider::Anthropic => json!({
            "id": "msg_1", "role": "assistant", "stop_reason": "tool_use", "usage": { "input_tokens": 7 },
            "stop_details": { "explanation": "why", "more": chatter },
            "content": [
                { "type": "thinking", "thinking": chatter, "signature": chatter },
                { "type": "redacted_thinking", "data": chatter },
                { "type": "text", "text": text, "citations": [chatter] },
                { "type": "tool_use", "id": "t1", "name": "dim", "input": input, "caller": chatter },
            ],
        }),
        Provider::OpenAi => json!({
            "id": "1", "usage": { "prompt_tokens": 7 }, "system_fingerprint": chatter,
            "choices": [{
                "index": 0, "finish_reason": "tool_calls", "logprobs": { "content": log },
                "message": {
                    "role": "assistant", "content": text, "refusal": null, "reasoning_content": chatter,
                    "reasoning": chatter, "annotations": [],
                    "tool_calls": [{
                        "id": "t1", "type": "function", "index": 0,
                        "function": { "name": "dim", "arguments": input.to_string() },
                    }],
                },
            }, { "message": { "content": chatter } }],
        }),
        Provider::Ollama => json!({
            "model": "m", "done": true, "done_reason": "stop", "eval_count": 7, "logprobs": log,
            "message": {
                "role": "assistant", "content": text, "thinking": chatter,
                "tool_calls": [{ "id": "t1", "function": { "index": 0, "name": "dim", "arguments": input } }],
            },
        }),
    }
}

/// What the hub reads of a reply: text, finish reason and calls.
fn read(service: Provider, body: &[u8]) -> (String, String, Vec<String>) {
    let reply = hub_core::chat::provider::read(service, body).expect("a reply");
    let call = |call: hub_core::chat::RequestedCall<'_>| {
        let arguments: Value = serde_json::from_str(&call.arguments.to_string()).expect("JSON");
        format!("{:?} {} {arguments}", call.id.map(|id| id.to_string()), call.name)
    };
    (reply.content.to_string(), reply.finish.name().to_string(), reply.calls().map(call).collect())
}

#[test]
fn hubs_read_the_same_from_a_shortened_reply() {
    for service in Provider::ALL {
        for text in ["It is on.", "", "<think>Which one?</think> It is \"on\".", "Grüezi 🚗"] {
            let reply = reply(service, text, &"Hm. ".repeat(2200));
            let short = shorten(service, &reply, LIMIT).expect("a reply that fits");
            assert_eq!(read(service, &short), read(service, reply.to_string().as_bytes()));
            assert!(short.len() < 400, "{} bytes", short.len());
        }
    }
}

#[test]
fn reasoning_in_the_text_takes_no_room() {
    for service in Provider::ALL {
        let text = format!("<think>{}</think>\n\nIt is on.", "Hm. ".repeat(2200));
        let short = shorten(service, &reply(service, &text, ""), LIMIT).expect("a reply that fits");
        assert_eq!(read(service, &short).0, "It is on.");
    }
}

#[test]
fn long_text_is_cut_and_marked_but_calls_never_are() {
    for service in Provider::ALL {
        for text in ["lorem ", "ä", "🚗", "\"\n\u{1}", "\u{1}"] {
            for size in [LIMIT, LIMIT + 1, 400, 300] {
                let long = reply(service, &text.repeat(4000), "");
                let short = shorten(service, &long, size).expect("a reply that fits");
                assert!(short.len() <= size && short.len() + 12 > size, "{} of {size}", short.len());
                let (said, _, calls) = read(service, &short);
                assert!(said.ends_with(MARK), "{said}");
                assert_eq!(calls, read(service, long.to_string().as_bytes()).2);
            }
        }
        assert_eq!(shorten(service, &reply(service, "It is on.", ""), 100), None);
    }
}

#[test]
fn other_bodies_are_not_shortened() {
    for service in Provider::ALL {
        for body in [
            json!({ "error": { "message": "no" }, "content": [], "message": {}, "choices": [] }),
            json!({ "object": "error", "message": {}, "choices": [{ "message": {} }], "content": [] }),
            json!({ "text": "x" }),
            json!([1]),
        ] {
            assert_eq!(shorten(service, &body, LIMIT), None, "{body}");
        }
    }
}
