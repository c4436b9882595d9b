//! Somebody who talks to the demo model, and the hub whose tools it calls.

use host_relay::demo::answer;
use host_zwave::Home;
use hub_core::chat::Provider;
use serde_json::{Value, json};
use support::client::Client;
use world::Setup;

/// Somebody who talks to the model and runs the tools it calls, as the hub does.
pub(crate) struct Talk {
    client: Client,
    pub(crate) home: Home,
    pub(crate) format: Provider,
    pub(crate) tools: Value,
    messages: Vec<Value>,
}

/// The result of one sentence.
#[derive(Debug)]
pub(crate) struct Heard {
    /// The calls of each round, like `volume {"level":30}`.
    pub(crate) rounds: Vec<Vec<String>>,
    pub(crate) words: String,
}

impl Talk {
    fn ask_model(&self) -> Value {
        let mut body = json!({ "model": "demo-1", "messages": self.messages, "tools": self.tools });
        if self.format == Provider::Anthropic {
            body["max_tokens"] = 1024.into();
        }
        let reply = answer(self.format, body.to_string().as_bytes()).expect("a reply");
        serde_json::from_slice(&reply).expect("JSON")
    }

    /// Takes a reply apart: the message to keep, the calls with their ids, and the words.
    fn read(&self, reply: &Value) -> (Value, Vec<(Value, String, Value)>, Option<String>) {
        match self.format {
            Provider::Anthropic => {
                let blocks = reply["content"].as_array().expect("blocks");
                let calls = blocks.iter().filter(|block| block["type"] == "tool_use").map(|block| {
                    let name = block["name"].as_str().expect("a name");
                    (block["id"].clone(), name.to_owned(), block["input"].clone())
                });
                let calls: Vec<_> = calls.collect();
                let reason = if calls.is_empty() { "end_turn" } else { "tool_use" };
                assert_eq!(reply["stop_reason"], reason);
                assert!(reply["usage"]["output_tokens"].as_u64().is_some_and(|tokens| tokens > 0));
                let text = blocks.iter().find_map(|block| block["text"].as_str().map(str::to_owned));
                (json!({ "role": "assistant", "content": blocks }), calls, text)
            }
            Provider::OpenAi => {
                let message = &reply["choices"][0]["message"];
                let calls = message["tool_calls"].as_array().cloned().unwrap_or_default();
                let reason = if calls.is_empty() { "stop" } else { "tool_calls" };
                assert_eq!(reply["choices"][0]["finish_reason"], reason);
                let calls = calls.iter().map(|call| {
                    let arguments = call["function"]["arguments"].as_str().expect("text");
                    let name = call["function"]["name"].as_str().expect("a name");
                    (call["id"].clone(), name.to_owned(), serde_json::from_str(arguments).expect("JSON"))
                });
                (message.clone(), calls.collect(), message["content"].as_str().map(str::to_owned))
            }
            Provider::Ollama => {
                let message = &reply["message"];
                assert_eq!((&reply["done"], &reply["done_reason"]), (&json!(true), &json!("stop")));
                let calls = message["tool_calls"].as_array().cloned().unwrap_or_default();
                let calls: Vec<_> = calls
                    .iter()
                    .map(|call| {
                        let name = call["function"]["name"].as_str().expect("a name");
                        (Value::Null, name.to_owned(), call["function"]["arguments"].clone())
                    })
                    .collect();
                let text = message["content"].as_str().filter(|text| !text.is_empty()).map(str::to_owned);
                (message.clone(), calls, text)
            }
        }
    }

    fn add_results(&mut self, results: Vec<(Value, String, String)>) {
        match self.format {
            Provider::Anthropic => {
                let blocks: Vec<_> = results.into_iter().map(|(id, _, content)| {
                    json!({ "type": "tool_result", "tool_use_id": id, "content": content })
                }).collect();
                self.messages.push(json!({ "role": "user", "content": blocks }));
            }
            Provider::OpenAi => {
                self.messages.extend(results.into_iter().map(
                    |(id, _, content)| json!({ "role": "tool", "tool_call_id": id, "content": content }),
                ))
            }
            Provider::Ollama => {
                self.messages.extend(results.into_iter().map(
                    |(_, name, content)| json!({ "role": "tool", "tool_name": name, "content": content }),
                ))
            }
        }
    }

    /// Says something, and runs what is called until there is an answer.
    pub(crate) async fn say(&mut self, text: &str) -> Heard {
        self.messages.push(json!({ "role": "user", "content": text }));
        let mut rounds = Vec::new();
        loop {
            let reply = self.ask_model();
            let (message, calls, words) = self.read(&reply);
            self.messages.push(message);
            if calls.is_empty() {
                return Heard { rounds, words: words.expect("words") };
            }
            assert!(rounds.len() < 5, "it never ends: {rounds:?}");
            rounds.push(calls.iter().map(|(_, name, arguments)| format!("{name} {arguments}")).collect());
            let ids: std::collections::BTreeSet<_> = calls.iter().map(|(id, ..)| id.to_string()).collect();
            assert!(
                self.format == Provider::Ollama || ids.len() == calls.len(),
                "ids are not unique: {ids:?}"
            );
            let mut results = Vec::new();
            for (id, name, arguments) in calls {
                let result = self.client.uses(&name, arguments).await;
                results.push((id, name, result.to_string()));
            }
            self.add_results(results);
        }
    }
}

/// Runs a conversation in each format.
pub(crate) fn in_each_format(talk: impl AsyncFn(&mut Talk)) {
    for service in Provider::ALL {
        in_format(service, &talk);
    }
}

pub(crate) fn in_format(format: Provider, talk: impl AsyncFn(&mut Talk)) {
    let home = Home::fast(7);
    Setup::new().home(&home).story(async |world| {
        let mut client = world.person("ann").await;
        client.sees_link("ready").await;
        let request = json!({ "format": format.name() });
        let tools = client.asks_for_all("tool/list", "tools", request).await.into();
        talk(&mut Talk { client, home, format, tools, messages: vec![] }).await;
    });
}
