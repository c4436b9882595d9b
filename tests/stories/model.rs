//! A language model, played by hand.

use serde_json::{Value, json};

use crate::world::{Message, Person, Request, World};

pub const QUESTION: &str = "hearthwave/story/llm/request/anthropic";
pub const REPLY: &str = "hearthwave/story/response/chat";

impl Person {
    pub fn says(&self, request: Value) {
        self.asks(Request::new("chat", request.to_string().as_bytes()));
    }

    /// Answers a question as the relay does.
    pub fn answers(&self, question: &Message, body: &Value) {
        let topic = question.response.as_deref().expect("a Response Topic");
        self.publishes(topic, body.to_string().as_bytes(), question.correlation.as_deref());
    }
}

/// What a model says in Anthropic's form, and why it stops.
pub fn anthropic(text: &str, reason: &str) -> Value {
    json!({ "content": [{ "type": "text", "text": text }], "stop_reason": reason })
}

/// The same in Ollama's form.
pub fn ollama(text: &str, reason: &str) -> Value {
    let message = json!({ "role": "assistant", "content": text });
    json!({ "message": message, "done": true, "done_reason": reason })
}

pub fn stop(text: &str) -> Value {
    anthropic(text, "end_turn")
}

pub fn calls(calls: &[(&str, Value)]) -> Value {
    let block = |(number, (name, input)): (usize, &(&str, Value))| {
        let id = format!("toolu_{number}");
        json!({ "type": "tool_use", "id": id, "name": name, "input": input })
    };
    let content: Vec<_> = calls.iter().enumerate().map(block).collect();
    json!({ "content": content, "stop_reason": "tool_use" })
}

/// Somebody who hears what models are asked.
pub async fn a_model(world: &World) -> Person {
    Person::connect(&world.server(), "model", &["hearthwave/story/llm/request/#"]).await
}

/// A person and a model, with the hub between them.
pub async fn a_home(world: &World) -> (Person, Person) {
    let mut person = world.person("ann").await;
    let model = a_model(world).await;
    person.sees_online().await;
    (person, model)
}

/// As a provider in OpenAI's style says it.
pub fn openai(message: Value, finish_reason: &str) -> Value {
    json!({ "choices": [{ "message": message, "finish_reason": finish_reason }] })
}

impl Person {
    /// Changes a setting, and returns the reply.
    pub async fn sets(&mut self, key: &str, value: Value) -> Value {
        let set = json!({ "key": key, "value": value }).to_string();
        self.asks(Request::new("config/set", set.as_bytes()));
        self.hears("hearthwave/story/response/config/set").await.json()
    }

    /// Sets a rule, which has to be right.
    pub async fn rules(&mut self, rule: Value) {
        let key = format!("rule.{}", rule["name"].as_str().expect("a name"));
        let reply = self.sets(&key, rule).await;
        assert_eq!(reply["success"], true, "{reply}");
    }
}
