//! Searches: a person's, and a model's in the middle of a conversation.

use serde_json::{Value, json};

use crate::exchange::differs;
use crate::server::{Act, Server};

/// The path of the search service on a server.
pub const PATH: &str = "/search?format=json&q={query}";

/// What the service finds, with members that the hub ignores.
fn found(snippet: &str) -> Act {
    let result = json!({ "title": "Oslo", "url": "https://oslo.test", "content": snippet, "engine": "e", "score": 1.5 });
    Act::ok(&json!({ "query": "q", "answers": [], "suggestions": [], "results": [result] }).to_string())
}

fn expect(expected: Value, reply: &Value) {
    if let Some(why) = differs(&expected, reply) {
        panic!("{why} in {reply:#}");
    }
}

/// Searches with a relay that has `server` for everything. `ask` sends a request to the hub and returns its reply.
pub async fn plays(server: &Server, ask: impl AsyncFn(&'static str, Value) -> Value) {
    let search = async |query: &str| {
        ask("tool/call", json!({ "name": "search", "arguments": { "query": query } })).await
    };

    server.tell("q=sunset%20in%20Oslo", [found("Sunset at 15:50")]);
    let result = json!({ "title": "Oslo", "url": "https://oslo.test", "snippet": "Sunset at 15:50" });
    expect(json!({ "success": true, "result": { "results": [result] } }), &search("sunset in Oslo").await);

    server.tell("q=locked", [Act::status(403, "API off")]);
    server.tell("q=odd", [Act::ok("{}")]);
    for (query, words) in [
        ("locked", "The search service is unavailable: API off"),
        (
            "odd",
            "The search service is unavailable: the search service did not answer with a list of results",
        ),
    ] {
        let expected = json!({ "success": false, "error_type": "unavailable", "error": words });
        expect(expected, &search(query).await);
    }

    // The model searches, reads what was found, and says it.
    let reply = |message: Value, reason: &str| {
        let choice = json!({ "index": 0, "message": message, "finish_reason": reason });
        Act::ok(&json!({ "choices": [choice] }).to_string())
    };
    let function = json!({ "name": "hub_search", "arguments": "{\"query\":\"moonrise\"}" });
    let call = json!([{ "id": "call_A", "type": "function", "function": function }]);
    server.tell("q=moonrise", [found("Moonrise at 20:13")]);
    server.tell(
        "When does the moon rise?",
        [
            reply(json!({ "role": "assistant", "content": null, "tool_calls": call }), "tool_calls"),
            reply(json!({ "role": "assistant", "content": "At 20:13." }), "stop"),
        ],
    );
    let answer = ask("chat", json!({ "text": "When does the moon rise?", "rule": "openai" })).await;
    let call = json!({ "tool": "hub_search", "result": { "success": true }, "iteration": 0 });
    expect(json!({ "content": "At 20:13.", "tool_calls": [call] }), &answer);
    let asked = server.seen_with("When does the moon rise?");
    let last = String::from_utf8(asked.last().expect("a request").body.clone()).expect("text");
    assert!(last.contains("Moonrise at 20:13"), "{last}");
}

/// Searches with a relay that has no search service.
pub async fn plays_without_a_service(ask: impl AsyncFn(&'static str, Value) -> Value) {
    let reply = ask("tool/call", json!({ "name": "search", "arguments": { "query": "x" } })).await;
    let words = "The search service is unavailable: no search service is configured; start the relay with --search-url";
    expect(json!({ "success": false, "error_type": "unavailable", "error": words }), &reply);
}
