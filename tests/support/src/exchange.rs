//! What the providers of language models answer, as data, and what a person must get of it.
//!
//! `tests/providers/*.json` has one file for each provider: the frame of its replies, and the exchanges. An exchange is a
//! question of a person's, what the provider's server does with each request that follows from it, and the reply that
//! the person gets from the hub. They are played the same way with a hub in this process and with one in an emulator.

use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::server::{Act, Server};

/// What stands for a long text in a reply, and how long that is.
const LONG: [(&str, usize); 2] = [("<5 kB>", 5000), ("<200 kB>", 200_000)];

/// A provider and its exchanges.
pub struct Provider {
    /// As it stands in rules and topics.
    pub service: String,
    pub model: String,
    /// A reply in which only what matters is missing.
    frame: Value,
    /// Where in the frame that goes.
    place: String,
    exchanges: Vec<Value>,
}

/// All of them.
pub fn providers() -> [Provider; 3] {
    [
        include_str!("../../providers/anthropic.json"),
        include_str!("../../providers/openai.json"),
        include_str!("../../providers/ollama.json"),
    ]
    .map(Provider::read)
}

impl Provider {
    fn read(text: &str) -> Self {
        let table: Value = serde_json::from_str(text).expect("JSON");
        let text = |name: &str| table[name].as_str().expect(name).to_owned();
        Self {
            service: text("service"),
            model: text("model"),
            frame: table["frame"].clone(),
            place: text("place"),
            exchanges: table["exchanges"].as_array().expect("exchanges").clone(),
        }
    }

    /// The rule by which the hub asks this provider, as a request to set it.
    pub fn rule(&self) -> Value {
        let tools = json!({ "enabled": true, "max_iterations": 3 });
        let rule =
            json!({ "name": self.service, "service": self.service, "model": self.model, "tools": tools });
        json!({ "key": format!("rule.{}", self.service), "value": rule })
    }

    /// Its exchanges, in order.
    pub fn exchanges(&self) -> impl Iterator<Item = Exchange<'_>> {
        self.exchanges.iter().map(|row| Exchange::read(self, row))
    }
}

/// A question and everything that follows from it.
pub struct Exchange<'a> {
    provider: &'a Provider,
    pub name: &'a str,
    rounds: Vec<Round>,
    expected: &'a Value,
    /// Seconds that the person waits, if that matters. Counted in virtual time only.
    seconds: Option<u64>,
    /// Whether it takes no more than a moment of real time.
    pub is_quick: bool,
    /// What the person says next, in the same conversation.
    then: Option<Box<Exchange<'a>>>,
}

/// One request of the relay's and what its server does.
struct Round {
    act: Act,
    /// What has to be in the request, by JSON pointer.
    asked: Map<String, Value>,
    /// Places in the request where the same has to be.
    same: Vec<[String; 2]>,
    /// What is served, if it is meant to be as the provider documents it: whether it is an error, and the body.
    documented: Option<(bool, Value)>,
}

/// What was said in an exchange, for a check against the providers' own types.
#[derive(Default)]
pub struct Said(pub Vec<Value>);

impl<'a> Exchange<'a> {
    fn read(provider: &'a Provider, row: &'a Value) -> Self {
        let members = ["name", "rounds", "expect", "seconds", "slow", "loose", "then"];
        let unknown = row.as_object().expect("an object").keys().find(|key| !members.contains(&key.as_str()));
        assert_eq!(unknown, None, "{row}");
        // Compatible servers take liberties that the types of the SDK do not have.
        let is_loose = row["loose"] == true;
        let rounds = row["rounds"].as_array().expect("rounds");
        Self {
            provider,
            name: row["name"].as_str().expect("a name"),
            rounds: rounds.iter().map(|round| Round::read(provider, round, is_loose)).collect(),
            expected: &row["expect"],
            seconds: row["seconds"].as_u64(),
            is_quick: row["slow"] != true,
            then: row.get("then").map(|row| Box::new(Self::read(provider, row))),
        }
    }

    /// Words that no other exchange has.
    fn words(&self) -> String {
        format!("[{}: {}]", self.provider.service, self.name)
    }

    /// Plays it: `ask` sends a request to the hub and returns its reply, and how long that took.
    pub async fn play(
        &self,
        server: &Server,
        ask: impl AsyncFn(&'static str, Value) -> (Value, Duration),
        is_time_virtual: bool,
    ) -> Said {
        let mut said = self.play_alone(self.name, server, &ask, is_time_virtual).await;
        if let Some(then) = &self.then {
            said.0.append(&mut then.play_alone(self.name, server, &ask, is_time_virtual).await.0);
        }
        said
    }

    async fn play_alone(
        &self,
        conversation: &str,
        server: &Server,
        ask: &impl AsyncFn(&'static str, Value) -> (Value, Duration),
        is_time_virtual: bool,
    ) -> Said {
        let words = self.words();
        server.tell(&words, self.rounds.iter().map(|round| round.act.clone()));
        let request = json!({ "text": words, "rule": self.provider.service, "conversation": conversation });
        let (reply, time) = ask("chat", request).await;
        if let Some(why) = differs(self.expected, &reply) {
            panic!("{words}: {why} in the reply:\n{reply:#}\nto this:\n{:#}", self.expected);
        }
        assert!(reply["tool_calls"].is_array(), "{words}: whatever happens, it tells about calls: {reply}");
        if let Some(seconds) = self.seconds.filter(|_| is_time_virtual) {
            assert_eq!(time.as_secs(), seconds, "{words}: {time:?}");
        }
        let seen = server.seen_with(&words);
        assert_eq!(seen.len(), self.rounds.len(), "{words}: the server was asked that often: {reply:#}");
        let mut said = Said::default();
        for (round, seen) in self.rounds.iter().zip(seen) {
            let body: Value = serde_json::from_slice(&seen.body).expect("JSON");
            let at = |place: &str| {
                body.pointer(place).unwrap_or_else(|| panic!("{words}: no {place} in {body:#}"))
            };
            for (place, value) in &round.asked {
                let why = differs(value, at(place));
                assert_eq!(why, None, "{words}: {place} in {body:#}");
            }
            for [one, other] in &round.same {
                assert_eq!(at(one), at(other), "{words}: {one} and {other} in {body:#}");
            }
            let service = &self.provider.service;
            said.0.push(json!({ "provider": service, "body": body }));
            if let Some((is_error, body)) = &round.documented {
                let kind = if *is_error { "error" } else { "reply" };
                said.0.push(json!({ "provider": service, "about": self.name, kind: body }));
            }
        }
        said
    }
}

impl Round {
    fn read(provider: &Provider, round: &Value, is_loose: bool) -> Self {
        let members =
            ["reply", "body", "text", "status", "headers", "after", "cut", "hang", "close", "asked", "same"];
        let unknown =
            round.as_object().expect("an object").keys().find(|key| !members.contains(&key.as_str()));
        assert_eq!(unknown, None, "{round}");
        let status = round["status"].as_u64().map_or(200, |status| status.try_into().expect("a status"));
        let body = match (&round["reply"], &round["body"]) {
            (Value::Null, Value::Null) => None,
            (Value::Null, body) => Some(body.clone()),
            (reply, _) => Some(provider.framed(reply)),
        };
        let text = body.as_ref().map_or_else(
            || round["text"].as_str().unwrap_or_default().to_owned(),
            |body| {
                LONG.iter()
                    .fold(body.to_string(), |text, (sign, size)| text.replace(sign, &"x".repeat(*size)))
            },
        );
        let headers = round["headers"].as_object().into_iter().flatten();
        let headers = headers.map(|(name, value)| format!("{name}: {}\r\n", value.as_str().expect("a text")));
        let headers: String = headers.collect();
        let mut act = match round["cut"].as_u64() {
            _ if round["hang"] == true => Act::Hang,
            _ if round["close"] == true => Act::Close,
            None => Act::Reply(status, headers, text.into_bytes()),
            Some(cut) => {
                let (kept, length) = (&text[..usize::try_from(cut).expect("a length")], text.len());
                Act::Raw(format!("HTTP/1.1 {status} X\r\ncontent-length: {length}\r\n\r\n{kept}").into())
            }
        };
        if let Some(seconds) = round["after"].as_f64() {
            act = Act::Slowly(Duration::from_secs_f64(seconds), Box::new(act));
        }
        let pair = |pair: &Value| [0, 1].map(|index| pair[index].as_str().expect("a place").to_owned());
        let same = round["same"].as_array().into_iter().flatten().map(pair).collect();
        let is_error = status != 200;
        let documented = body.filter(|_| !is_loose).map(|body| (is_error, body));
        Self { act, asked: round["asked"].as_object().cloned().unwrap_or_default(), same, documented }
    }
}

impl Provider {
    /// The frame with this in it.
    fn framed(&self, reply: &Value) -> Value {
        let mut whole = self.frame.clone();
        merge(whole.pointer_mut(&self.place).expect("the place in the frame"), reply);
        whole
    }
}

/// Puts members of an object into another one, and theirs into theirs.
fn merge(into: &mut Value, from: &Value) {
    match (into.as_object_mut(), from.as_object()) {
        (Some(members), Some(from)) => {
            for (name, value) in from {
                merge(members.entry(name.as_str()).or_insert(Value::Null), value);
            }
        }
        _ => *into = from.clone(),
    }
}

/// What is not as expected. Objects may have more than is expected of them; `*` in a text stands for anything.
pub fn differs(expected: &Value, actual: &Value) -> Option<String> {
    match (expected, actual) {
        (Value::Object(members), Value::Object(_)) => members
            .iter()
            .find_map(|(name, value)| differs(value, &actual[name]).map(|why| format!("{name}: {why}"))),
        (Value::Array(items), Value::Array(others)) if items.len() == others.len() => {
            items.iter().zip(others).find_map(|(item, other)| differs(item, other))
        }
        (Value::String(pattern), Value::String(text)) if fits(pattern, text) => None,
        _ if expected == actual => None,
        _ => Some(format!("{actual} is not {expected}")),
    }
}

fn fits(pattern: &str, text: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else { return pattern == text };
    let Some(mut left) = text.strip_prefix(start) else { return false };
    let mut parts: Vec<_> = rest.split('*').collect();
    let end = parts.pop().unwrap_or_default();
    for part in parts {
        let Some((_, after)) = left.split_once(part) else { return false };
        left = after;
    }
    left.ends_with(end)
}
