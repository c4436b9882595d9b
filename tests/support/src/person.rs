//! What people, models and services do with their [`Client`]: ask the hub, hear it, answer it.

use serde_json::{Value, json};

use crate::client::{Client, Message, Publish};
use crate::unique;

impl Client {
    /// A topic of the hub's.
    pub fn topic(&self, name: &str) -> String {
        format!("hearthwave/{}/{name}", self.hub)
    }

    /// A request to the hub, with any payload.
    pub fn request(&self, name: &str, payload: impl AsRef<[u8]>) -> Publish {
        Publish::new(&self.topic(&format!("request/{name}")), payload)
    }

    /// The next message on the hub's topic `name`; others are skipped.
    pub async fn hears(&mut self, name: &str) -> Message {
        self.hears_at(&self.topic(name)).await
    }

    /// Everything on the hub's topic `name` until nothing has come for longer than the hub's longest reconnect.
    pub async fn hears_all(&mut self, name: &str) -> Vec<Message> {
        self.hears_all_at(&self.topic(name)).await
    }

    /// Waits until the hub is online.
    pub async fn sees_online(&mut self) {
        while self.hears("availability").await.payload != b"online" {}
    }

    /// Waits until the hub is online, and keeps everything else that comes meanwhile.
    pub async fn waits_for_the_hub(&mut self) {
        let topic = self.topic("availability");
        let mut others = std::collections::VecDeque::new();
        loop {
            let message = self.next(crate::client::PATIENCE).await.expect("a hub that comes online");
            if message.topic != topic {
                others.push_back(message);
            } else if message.payload == b"online" {
                break;
            }
        }
        self.kept = others;
    }

    /// Waits until `info` says that the link is in this state.
    pub async fn sees_link(&mut self, state: &str) -> Value {
        loop {
            let info = self.hears("info").await.json();
            if info["link"] == state {
                return info;
            }
        }
    }

    /// Sends a request, and does not wait for the reply.
    pub fn sends(&self, name: &str, request: Value) {
        self.publish(self.request(name, request.to_string()));
    }

    /// The next reply to requests `name` without a Response Topic.
    pub async fn gets(&mut self, name: &str) -> Value {
        self.hears(&format!("response/{name}")).await.json()
    }

    /// Sends a request, and returns the next reply in the usual place.
    pub async fn asks(&mut self, name: &str, request: Value) -> Value {
        self.sends(name, request);
        self.gets(name).await
    }

    /// Asks again and again until there is no next page, and returns all items of the lists called `member`.
    pub async fn asks_for_all(&mut self, name: &str, member: &str, mut request: Value) -> Vec<Value> {
        let mut all = Vec::new();
        loop {
            let reply = self.asks(name, request.clone()).await;
            assert_eq!(reply["success"], true, "{reply}");
            all.extend(reply[member].as_array().expect("a list").iter().cloned());
            match &reply["next"] {
                Value::Null => return all,
                next => request["after"] = next.clone(),
            }
        }
    }

    /// Sends a request with a Response Topic, and returns the reply.
    pub async fn asks_with_response_topic(&mut self, name: &str, request: Value) -> Value {
        let topic = self.reply_topic.clone();
        let correlation = unique("request");
        let request = self.request(name, request.to_string());
        self.publish(request.reply_to(&topic).correlation(correlation.as_bytes()));
        loop {
            let reply = self.hears_at(&topic).await;
            if reply.correlation.as_deref() == Some(correlation.as_bytes()) {
                return reply.json();
            }
        }
    }

    /// Calls a tool, and does not wait for the result.
    pub fn calls(&self, tool: &str, arguments: Value) {
        self.sends("tool/call", json!({ "name": tool, "arguments": arguments }));
    }

    /// The next result of a call.
    pub async fn result(&mut self) -> Value {
        self.gets("tool/call").await
    }

    /// Calls a tool, and returns the result.
    pub async fn uses(&mut self, tool: &str, arguments: Value) -> Value {
        self.calls(tool, arguments);
        self.result().await
    }

    /// Calls `echo` and waits for the result: the hub is online.
    pub async fn gets_an_echo(&mut self) {
        let word = unique("word");
        let echo = json!({ "name": "echo", "arguments": { "word": word } });
        let reply = self.asks_with_response_topic("tool/call", echo).await;
        assert_eq!(reply["result"]["echo"]["word"], word.as_str(), "{reply}");
    }

    /// Says something in a conversation: a `request/chat`.
    pub fn says(&self, request: Value) {
        self.sends("chat", request);
    }

    /// The next reply of a conversation.
    pub async fn reply(&mut self) -> Value {
        self.gets("chat").await
    }

    /// Changes a setting, and returns the reply.
    pub async fn sets(&mut self, key: &str, value: Value) -> Value {
        self.asks("config/set", json!({ "key": key, "value": value })).await
    }

    /// Sets a rule, which has to be accepted.
    pub async fn sets_rule(&mut self, rule: Value) {
        let key = format!("rule.{}", rule["name"].as_str().expect("a name"));
        let reply = self.sets(&key, rule).await;
        assert_eq!(reply["success"], true, "{reply}");
    }

    /// As a model: the next question to Anthropic's.
    pub async fn hears_question(&mut self) -> Message {
        self.hears("llm/request/anthropic").await
    }

    /// As a model: answers a question.
    pub fn answers(&self, question: &Message, body: Value) {
        self.answers_with(question, body.to_string());
    }

    /// As a model or service: answers a question with anything.
    pub fn answers_with(&self, question: &Message, payload: impl AsRef<[u8]>) {
        let topic = question.response.as_deref().expect("a Response Topic");
        let correlation = question.correlation.as_deref().expect("Correlation Data");
        self.publish(Publish::new(topic, payload).correlation(correlation));
    }

    /// As a model: waits for a question to Anthropic's, and answers it. Returns the question.
    pub async fn serves(&mut self, body: Value) -> Message {
        let question = self.hears_question().await;
        self.answers(&question, body);
        question
    }
}

/// Asserts that a reply is a refusal of this type, with `words` in its error.
#[track_caller]
pub fn assert_refused(reply: &Value, error_type: &str, words: &str) {
    assert_eq!(
        (&reply["success"], &reply["error_type"]),
        (&json!(false), &json!(error_type)),
        "not refused as {error_type}: {reply}"
    );
    assert_contains(&reply["error"], words);
}

/// Asserts that a value is a text with `words` in it.
#[track_caller]
pub fn assert_contains(text: &Value, words: &str) {
    assert!(text.as_str().is_some_and(|text| text.contains(words)), "{words:?} is not in {text}");
}

/// How many items an array has.
#[track_caller]
pub fn count(array: &Value) -> usize {
    array.as_array().unwrap_or_else(|| panic!("{array} is not an array")).len()
}
