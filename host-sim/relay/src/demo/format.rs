//! The formats of the services: requests are read, replies are written.

use hub_mqtt::model::Provider;
use serde_json::{Value, json};

use super::conversation::{Conversation, Reply, ToolCall};
use super::offer::Offer;

/// The format of a service.
pub(super) trait Format {
    /// Reads a request. Fails, in words for a person, if it is none.
    fn read(self, body: &[u8]) -> Result<Conversation, String>;

    /// Writes a reply.
    fn write(self, conversation: &Conversation, reply: &Reply) -> Vec<u8>;
}

impl Format for Provider {
    fn read(self, body: &[u8]) -> Result<Conversation, String> {
        let request: Value = serde_json::from_slice(body).map_err(|error| format!("not JSON: {error}"))?;
        let messages = request["messages"].as_array().ok_or("there are no 'messages'")?;
        let mut conversation = Conversation {
            model: request["model"].as_str().unwrap_or("demo").into(),
            messages: messages.len(),
            size: body.len(),
            ..Conversation::default()
        };
        let choice = &request["tool_choice"];
        if choice != "none" && choice["type"] != "none" {
            let tools = request["tools"].as_array().into_iter().flatten();
            conversation.offers = tools.filter_map(|tool| offer(self, tool)).collect();
        }
        for message in messages {
            match self {
                Self::Anthropic => read_blocks(message, &mut conversation),
                Self::OpenAi | Self::Ollama => read_message(message, &mut conversation),
            }
        }
        Ok(conversation)
    }

    fn write(self, conversation: &Conversation, reply: &Reply) -> Vec<u8> {
        let id = conversation.messages;
        let (text, calls) = match reply {
            Reply::Words(words) => (words.as_str(), &[][..]),
            Reply::Calls(calls) => ("", calls.as_slice()),
        };
        let model = &conversation.model;
        // About four bytes make a token.
        let read = conversation.size.div_ceil(4);
        let mut written = text.len().div_ceil(4);
        for call in calls {
            written += (call.name.len() + call.arguments.to_string().len()).div_ceil(4);
        }
        let body = match self {
            Self::Anthropic => json!({
                "id": format!("msg_demo_{id}"), "type": "message", "role": "assistant", "model": model,
                "content": blocks(id, reply),
                "stop_reason": if calls.is_empty() { "end_turn" } else { "tool_use" },
                "stop_sequence": null,
                "usage": { "input_tokens": read, "output_tokens": written },
            }),
            Self::OpenAi => {
                let mut message = json!({ "role": "assistant", "content": null });
                if calls.is_empty() {
                    message["content"] = text.into();
                } else {
                    message["tool_calls"] = calls
                        .iter()
                        .enumerate()
                        .map(|(index, call)| {
                            json!({
                                "id": format!("call_demo_{id}_{index}"), "type": "function",
                                "function": { "name": call.name, "arguments": call.arguments.to_string() },
                            })
                        })
                        .collect();
                }
                json!({
                    "id": format!("chatcmpl-demo-{id}"), "object": "chat.completion", "created": 0, "model": model,
                    "choices": [{
                        "index": 0, "message": message,
                        "finish_reason": if calls.is_empty() { "stop" } else { "tool_calls" },
                    }],
                    "usage": {
                        "prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written,
                    },
                })
            }
            Self::Ollama => {
                let mut message = json!({ "role": "assistant", "content": text });
                if !calls.is_empty() {
                    let call = |call: &ToolCall| json!({ "function": { "name": call.name, "arguments": call.arguments } });
                    message["tool_calls"] = calls.iter().map(call).collect();
                }
                json!({
                    "model": model, "created_at": "1970-01-01T00:00:00Z", "message": message,
                    "done": true, "done_reason": "stop", "prompt_eval_count": read, "eval_count": written,
                })
            }
        };
        body.to_string().into_bytes()
    }
}

fn blocks(id: usize, reply: &Reply) -> Value {
    match reply {
        Reply::Words(words) => json!([{ "type": "text", "text": words }]),
        Reply::Calls(calls) => {
            let block = |(index, call): (usize, &ToolCall)| {
                json!({
                    "type": "tool_use", "id": format!("toolu_demo_{id}_{index}"),
                    "name": call.name, "input": call.arguments,
                })
            };
            calls.iter().enumerate().map(block).collect()
        }
    }
}

/// Text as it is, or in blocks.
fn text(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => {
            let texts: Vec<_> = blocks.iter().filter_map(|block| block["text"].as_str()).collect();
            texts.join("\n")
        }
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

/// A message of Anthropic's.
fn read_blocks(message: &Value, conversation: &mut Conversation) {
    let content = &message["content"];
    let blocks = || content.as_array().into_iter().flatten();
    if message["role"] == "assistant" {
        let calls = blocks().filter(|block| block["type"] == "tool_use").filter_map(|block| {
            let call = ToolCall { name: block["name"].as_str()?.into(), arguments: block["input"].clone() };
            Some((block["id"].as_str().map(str::to_owned), call))
        });
        return conversation.add_calls(calls.collect());
    }
    for block in blocks().filter(|block| block["type"] == "tool_result") {
        let is_error = block["is_error"] == true;
        conversation.add_result(block["tool_use_id"].as_str(), None, &text(&block["content"]), is_error);
    }
    let said = text(content);
    if message["role"] == "user" && !said.trim().is_empty() {
        conversation.add_question(&said);
    }
}

/// A message of OpenAI's or Ollama's.
fn read_message(message: &Value, conversation: &mut Conversation) {
    let content = text(&message["content"]);
    match message["role"].as_str() {
        Some("user") => conversation.add_question(&content),
        Some("tool") => {
            let name = message["tool_name"].as_str().or(message["name"].as_str());
            conversation.add_result(message["tool_call_id"].as_str(), name, &content, false);
        }
        Some("assistant") => {
            let calls = message["tool_calls"].as_array().into_iter().flatten().filter_map(|call| {
                let arguments = match &call["function"]["arguments"] {
                    Value::String(text) => serde_json::from_str(text).unwrap_or_default(),
                    other => other.clone(),
                };
                let call_id = call["id"].as_str().map(str::to_owned);
                Some((call_id, ToolCall { name: call["function"]["name"].as_str()?.into(), arguments }))
            });
            conversation.add_calls(calls.collect());
        }
        _ => {}
    }
}

fn offer(service: Provider, tool: &Value) -> Option<Offer> {
    let (tool, schema) = match service {
        Provider::Anthropic => (tool, "input_schema"),
        Provider::OpenAi | Provider::Ollama => (&tool["function"], "parameters"),
    };
    let description = tool["description"].as_str().unwrap_or_default().into();
    Some(Offer { name: tool["name"].as_str()?.into(), description, schema: tool[schema].clone() })
}
