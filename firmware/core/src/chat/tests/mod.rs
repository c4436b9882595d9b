//! The parts of a conversation, alone and together.

mod bodies;
mod conversations;
mod cuts;
mod ending;
mod history;
mod hostile;
mod prompts;
mod replies;
mod rule;
mod template;
mod turn;

use std::boxed::Box;
use std::format;
use std::string::{String, ToString};
use std::vec::Vec;

use serde_json::{Value, json};

use super::history::EarlierTurns;
use super::provider::{self, Ask};
use super::{Context, History, ModelReply, Provider, Rule, Turn, TurnEvent, TurnSettings, TurnStep};
use crate::json::Writer;
use crate::tool::Registry;
use crate::tools::TOOLS;

/// All of the hub's own tools, with the prefix `hub`.
fn registry() -> Box<Registry> {
    let registry = Box::new(Registry::new());
    registry.reset("hub");
    TOOLS.iter().for_each(|tool| registry.register(tool).unwrap());
    registry
}

/// A rule for a service with all tools, and with the members in `more`.
fn rule_text(service: Provider, more: Value) -> String {
    let mut rule = json!({ "name": "test", "service": service.name(), "model": "model-1", "tools": { "enabled": true } });
    rule.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    rule.to_string()
}

/// The settings of a turn with this rule, and five iterations unless it says otherwise.
fn settings(rule: &str) -> Box<TurnSettings> {
    let mut settings = Box::new(TurnSettings::new());
    settings.apply(&Rule::parse(rule).unwrap(), 5);
    settings
}

/// The body of a request.
fn body(settings: &TurnSettings, history: &History, tools: Option<&Registry>, system: &str) -> Value {
    let mut buffer = std::vec![0; 64 * 1024];
    let mut writer = Writer::new(&mut buffer);
    let mut settings = settings.clone();
    settings.system = system.try_into().unwrap();
    let ask = Ask {
        settings: &settings,
        history,
        forgotten: 0,
        earlier: EarlierTurns::Whole,
        has_examples: true,
        used_first: false,
        tools,
    };
    assert!(provider::write(&ask, &mut writer).unwrap().is_empty());
    let length = writer.finish().unwrap();
    serde_json::from_slice(&buffer[..length]).unwrap()
}

/// A call that a model asks for: id, tool, arguments.
type Asked<'a> = (&'a str, &'a str, Value);

/// The body of a service's reply.
fn reply_body(service: Provider, text: Option<&str>, calls: &[Asked<'_>]) -> String {
    match service {
        Provider::Anthropic => {
            let text = text.map(|text| json!({ "type": "text", "text": text }));
            let calls = calls.iter().map(
                |(id, name, input)| json!({ "type": "tool_use", "id": id, "name": name, "input": input }),
            );
            let reason = if calls.len() > 0 { "tool_use" } else { "end_turn" };
            let content: Vec<Value> = text.into_iter().chain(calls).collect();
            json!({
                "id": "msg_1", "type": "message", "role": "assistant", "model": "model-1", "content": content,
                "stop_reason": reason, "stop_sequence": null, "usage": { "input_tokens": 12, "output_tokens": 34 },
            })
        }
        Provider::OpenAi => {
            let calls: Vec<Value> = calls
                .iter()
                .map(|(id, name, arguments)| {
                    // A string is sent as it is, JSON or not.
                    let arguments = arguments.as_str().map_or_else(|| arguments.to_string(), String::from);
                    let function = json!({ "name": name, "arguments": arguments });
                    json!({ "id": id, "type": "function", "function": function })
                })
                .collect();
            let reason = if calls.is_empty() { "stop" } else { "tool_calls" };
            let mut message = json!({ "role": "assistant", "content": text, "refusal": null });
            if !calls.is_empty() {
                message["tool_calls"] = Value::from(calls);
            }
            json!({
                "id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "model-1",
                "choices": [{ "index": 0, "message": message, "logprobs": null, "finish_reason": reason }],
                "usage": { "prompt_tokens": 12, "completion_tokens": 34, "total_tokens": 46 },
            })
        }
        Provider::Ollama => {
            let calls: Vec<Value> = calls
                .iter()
                .map(|(_, name, arguments)| json!({ "function": { "name": name, "arguments": arguments } }))
                .collect();
            let mut message = json!({ "role": "assistant", "content": text.unwrap_or_default() });
            if !calls.is_empty() {
                message["tool_calls"] = Value::from(calls);
            }
            json!({
                "model": "model-1", "created_at": "2026-01-01T00:00:00Z", "message": message, "done": true,
                "done_reason": "stop", "total_duration": 1, "prompt_eval_count": 12, "eval_count": 34,
            })
        }
    }
    .to_string()
}

fn read(service: Provider, body: &str) -> ModelReply<'_> {
    provider::read(service, body.as_bytes()).unwrap()
}

/// A conversation with a rule, and the reply of its last turn.
struct World {
    provider: Provider,
    settings: Box<TurnSettings>,
    registry: Box<Registry>,
    history: Box<History>,
    /// The size of the largest chat reply.
    room: usize,
    turn: Option<Turn>,
    reply: Option<Value>,
}

/// What the driver is to do.
#[derive(Debug, PartialEq)]
enum Todo {
    Ask,
    Run(String, Value),
    Finish,
    Wait,
}

impl World {
    fn new(service: Provider, more: Value) -> Self {
        Self {
            provider: service,
            settings: settings(&rule_text(service, more)),
            registry: registry(),
            history: Box::new(History::new()),
            room: 4096,
            turn: None,
            reply: None,
        }
    }

    fn says(&mut self, message: &str) -> Todo {
        let Self { settings, registry, history, .. } = self;
        self.turn = Some(Turn::start(&mut Context { settings, registry, history }, &message).unwrap());
        Todo::Ask
    }

    fn on(&mut self, input: TurnEvent<'_>) -> Todo {
        let Self { settings, registry, history, .. } = self;
        let turn = self.turn.as_mut().unwrap();
        match turn.on(input, &mut Context { settings, registry, history }) {
            TurnStep::Ask => Todo::Ask,
            TurnStep::Run => {
                let call = turn.call(&self.history).unwrap();
                let arguments = serde_json::from_str(call.arguments().text()).unwrap();
                Todo::Run(call.name.to_string(), arguments)
            }
            TurnStep::Finish(ending) => {
                let mut buffer = std::vec![0; self.room];
                let mut writer = Writer::new(&mut buffer);
                writer.object(|out| ending.write(&self.settings, &self.history, 160, out));
                let length = writer.finish().unwrap();
                self.reply = Some(serde_json::from_slice(&buffer[..length]).unwrap());
                Todo::Finish
            }
            TurnStep::Wait => Todo::Wait,
        }
    }

    /// The model replies.
    fn hears(&mut self, text: Option<&str>, calls: &[Asked<'_>]) -> Todo {
        let body = reply_body(self.provider, text, calls);
        self.on(TurnEvent::Reply(provider::read(self.provider, body.as_bytes())))
    }

    fn done(&mut self, result: Value) -> Todo {
        let is_error = result["success"] == json!(false);
        self.on(TurnEvent::ToolDone { result: &result.to_string(), is_error })
    }

    /// The next question to the model.
    fn body(&self) -> Value {
        let tools = Ask::new(&self.settings, &self.history, &self.registry).tools;
        body(&self.settings, &self.history, tools, "Be brief.")
    }

    fn reply(&self) -> &Value {
        self.reply.as_ref().unwrap()
    }
}

fn run(name: &str, arguments: Value) -> Todo {
    Todo::Run(format!("hub_{name}"), arguments)
}

/// A conversation with everything in it: an answer, two calls at once with text beside them, an error, and invalid
/// arguments.
fn conversation(service: Provider, more: Value) -> World {
    let mut world = World::new(service, more);
    world.says("Hello \"hub\"");
    world.hears(Some("Hi\nthere"), &[]);
    world.says("What time is it?");
    let calls = [("toolu_1", "hub_datetime", json!({})), ("toolu_2", "hub_echo", json!({"text": "ä"}))];
    world.hears(Some("One moment."), &calls);
    world.done(json!({"success": true, "result": {"time": "08:30"}}));
    world.done(json!({"success": false, "error": "No \"echo\""}));
    world.hears(None, &[("toolu_3", "hub_echo", json!("{broken"))]);
    world
}
