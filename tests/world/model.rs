//! Replies of language models, for a test that plays one.

use serde_json::{Value, json};

/// A text with a stop reason, in Anthropic's format.
pub fn anthropic(text: &str, reason: &str) -> Value {
    json!({ "content": [{ "type": "text", "text": text }], "stop_reason": reason })
}

/// The same in Ollama's form.
pub fn ollama(text: &str, reason: &str) -> Value {
    let message = json!({ "role": "assistant", "content": text });
    json!({ "message": message, "done": true, "done_reason": reason })
}

/// A message in OpenAI's form.
pub fn openai(message: Value, finish_reason: &str) -> Value {
    json!({ "choices": [{ "message": message, "finish_reason": finish_reason }] })
}

/// A text that ends a turn, in Anthropic's form.
pub fn stop(text: &str) -> Value {
    anthropic(text, "end_turn")
}

/// Calls of tools, in Anthropic's form.
pub fn calls(calls: &[(&str, Value)]) -> Value {
    let block = |(number, (name, input)): (usize, &(&str, Value))| {
        let id = format!("toolu_{number}");
        json!({ "type": "tool_use", "id": id, "name": name, "input": input })
    };
    let content: Vec<_> = calls.iter().enumerate().map(block).collect();
    json!({ "content": content, "stop_reason": "tool_use" })
}
