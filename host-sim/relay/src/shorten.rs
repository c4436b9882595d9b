//! Shortens replies of models that are larger than the hub accepts, by removing what it never reads.
//!
//! A model's reasoning, usage, log probabilities and further choices can be many times as long as its answer. If the
//! rest is still too large, the text is cut and marked. Tool calls are never cut.

use hub_json::text::MARK;
use hub_mqtt::model::{Provider, after_thoughts};
use serde_json::{Map, Value, json};

/// Returns `reply` in at most `limit` bytes. `None` if it is not a model's reply, or its calls alone do not fit.
pub fn shorten(service: Provider, reply: &Value, limit: usize) -> Option<Vec<u8>> {
    let reply = Reply::read(service, reply)?;
    let whole = reply.write(service, &reply.text);
    if whole.len() <= limit {
        return Some(whole);
    }
    // Escapes make the JSON text longer than the string, so that one cut may not be enough.
    let mut kept = reply.text.as_str();
    loop {
        let cut = reply.write(service, &format!("{}{MARK}", kept.trim_end()));
        if cut.len() <= limit {
            return Some(cut);
        }
        let over = (cut.len() - limit).div_ceil(LONGEST_ESCAPE);
        let end = kept.floor_char_boundary(kept.len().checked_sub(over)?);
        kept = kept.get(..end)?;
    }
}

/// The most bytes that JSON takes for one byte of a text.
const LONGEST_ESCAPE: usize = r"\u0000".len();

/// The parts of a model's reply that hubs read.
struct Reply {
    /// The text, without the reasoning before it.
    text: String,
    /// The calls, in the service's form.
    calls: Vec<Value>,
    /// The other members, in the service's form and place.
    others: Map<String, Value>,
}

impl Reply {
    /// Returns `None` for an error, or a reply that is not in the service's form.
    fn read(service: Provider, reply: &Value) -> Option<Self> {
        if reply.get("error").is_some_and(|error| !error.is_null()) || reply["object"] == "error" {
            return None;
        }
        let reply = match service {
            Provider::Anthropic => {
                let content = reply.get("content").filter(|content| content.is_array())?;
                let calls = items(content).filter(|block| block["type"] == "tool_use");
                let mut others = members(reply, &["stop_reason"]);
                if let Some(details) = reply.get("stop_details") {
                    others.insert("stop_details".into(), members(details, &["explanation"]).into());
                }
                let calls = calls.map(|call| members(call, &["type", "id", "name", "input"]).into());
                Self { text: text(content), calls: calls.collect(), others }
            }
            Provider::OpenAi => {
                let choice = reply.get("choices")?.get(0)?;
                let message = choice.get("message").filter(|message| message.is_object())?;
                let mut others = members(choice, &["finish_reason"]);
                others.extend(members(message, &["refusal"]));
                Self { text: text(&message["content"]), calls: function_calls(message), others }
            }
            Provider::Ollama => {
                let message = reply.get("message").filter(|message| message.is_object())?;
                let others = members(reply, &["done_reason"]);
                Self { text: text(&message["content"]), calls: function_calls(message), others }
            }
        };
        Some(reply)
    }

    fn write(&self, service: Provider, text: &str) -> Vec<u8> {
        let mut others = self.others.clone();
        let reply = match service {
            Provider::Anthropic => {
                let said = (!text.is_empty()).then(|| json!({ "type": "text", "text": text }));
                let content: Vec<_> = said.into_iter().chain(self.calls.iter().cloned()).collect();
                others.insert("content".into(), content.into());
                others.into()
            }
            Provider::OpenAi => {
                let mut message = json!({ "content": text, "tool_calls": self.calls });
                if let Some(refusal) = others.remove("refusal") {
                    message["refusal"] = refusal;
                }
                others.insert("message".into(), message);
                json!({ "choices": [others] })
            }
            Provider::Ollama => {
                others.insert("message".into(), json!({ "content": text, "tool_calls": self.calls }));
                others.into()
            }
        };
        reply.to_string().into_bytes()
    }
}

/// The calls of a message as a flat list.
fn function_calls(message: &Value) -> Vec<Value> {
    let call = |call: &Value| {
        let mut kept = members(call, &["id"]);
        kept.insert("function".into(), members(&call["function"], &["name", "arguments"]).into());
        kept.into()
    };
    items(&message["tool_calls"]).map(call).collect()
}

/// The text of a string or of a list of parts.
fn text(content: &Value) -> String {
    let is_text = |part: &&Value| part.get("type").is_none_or(|kind| kind == "text");
    let parts = items(content).filter(is_text).filter_map(|part| part.as_str().or(part["text"].as_str()));
    let whole: String = content.as_str().into_iter().chain(parts).collect();
    after_thoughts(whole.chars()).map(Iterator::collect).unwrap_or(whole)
}

fn items(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().into_iter().flatten()
}

fn members(object: &Value, names: &[&str]) -> Map<String, Value> {
    let member = |name: &&str| Some(((*name).to_owned(), object.get(*name)?.clone()));
    names.iter().filter_map(member).collect()
}
