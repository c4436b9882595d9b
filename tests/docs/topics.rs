//! `docs/topics.md`: every request on it is sent and gets the reply that it shows, everything that the hub publishes is on it,
//! and looks as it shows.

use host_zwave::Home;
use hub_core::request::REQUESTS;
use serde_json::{Value, json};
use support::client::{Client, Message, Publish, QoS};
use support::server::{Act, Server};
use tokio::time::{Duration, sleep};
use world::model::{calls, stop};
use world::{Setup, relay};

use crate::page;

/// In an example: there is more than is shown.
const MORE: &str = "…";

/// One topic of the page.
#[derive(Debug)]
struct Entry {
    /// Below `hearthwave/<hub-id>/`.
    topic: String,
    /// The first line below the heading: direction, retained, QoS.
    kind: String,
    /// The texts of its blocks, by their labels.
    blocks: Vec<(String, String)>,
}

impl Entry {
    fn block(&self, label: &str) -> Option<&str> {
        self.blocks.iter().find(|(other, _)| other == label).map(|(_, text)| text.as_str())
    }

    fn json(&self, label: &str) -> Option<Value> {
        let text = self.block(label)?;
        Some(serde_json::from_str(text).unwrap_or_else(|error| panic!("{}, {label}: {error}", self.topic)))
    }

    fn is_out(&self) -> bool {
        self.kind.starts_with("Out")
    }

    /// Whether it is about `topic`: `<…>` is one level, `…` at the end all that follow.
    fn matches(&self, topic: &str) -> bool {
        let (mut own, mut theirs) = (self.topic.split('/'), topic.split('/'));
        loop {
            match (own.next(), theirs.next()) {
                (Some(MORE), Some(_)) | (None, None) => return true,
                (Some(own), Some(theirs)) if own == theirs || own.starts_with('<') => {}
                _ => return false,
            }
        }
    }

    fn qos(&self) -> QoS {
        match self.kind.split("QoS ").nth(1).and_then(|rest| rest.chars().next()) {
            Some('0') => QoS::AtMostOnce,
            Some('1') => QoS::AtLeastOnce,
            Some('2') => QoS::ExactlyOnce,
            _ => panic!("{}: which QoS?", self.topic),
        }
    }
}

/// The entries of the page, and the members whose values differ from run to run.
fn entries(text: &str) -> (Vec<Entry>, Vec<String>) {
    let mut entries: Vec<Entry> = Vec::new();
    let mut block: Option<(String, String)> = None;
    for line in text.lines() {
        match (&mut block, line.strip_prefix("```")) {
            (None, Some(label)) => block = Some((label.into(), String::new())),
            (Some(_), Some(_)) => {
                if let (Some(entry), Some(block)) = (entries.last_mut(), block.take()) {
                    entry.blocks.push(block);
                }
                block = None;
            }
            (Some((_, text)), None) => *text += &format!("{line}\n"),
            (None, None) => {
                if let Some(topic) = line.strip_prefix("### `").and_then(|rest| rest.strip_suffix('`')) {
                    let (topic, kind, blocks) = (topic.into(), String::new(), Vec::new());
                    entries.push(Entry { topic, kind, blocks });
                } else if let Some(entry) = entries.last_mut()
                    && entry.kind.is_empty()
                {
                    entry.kind = line.into();
                }
            }
        }
    }
    let volatile = text.split("from run to run: ").nth(1).and_then(|rest| rest.split('.').next());
    let volatile = volatile.expect("the list of what differs").split('`').skip(1).step_by(2);
    (entries, volatile.map(str::to_owned).collect())
}

/// Says how `actual` differs from what the page shows, if it does.
fn difference(shown: &Value, actual: &Value, volatile: &[String], path: &str) -> Option<String> {
    let inner = |name: &str, shown: &Value, actual: &Value| {
        let path = format!("{path}.{name}");
        let is_volatile = volatile.iter().any(|other| other == name);
        match is_volatile && !shown.is_object() && !shown.is_array() {
            true if std::mem::discriminant(shown) == std::mem::discriminant(actual) => None,
            _ => difference(shown, actual, volatile, &path),
        }
    };
    match (shown, actual) {
        (Value::Object(shown), Value::Object(actual)) => {
            let has_more = shown.contains_key(MORE);
            let unknown = actual.keys().find(|name| !shown.contains_key(*name));
            if let Some(name) = unknown.filter(|_| !has_more) {
                return Some(format!("{path}.{name} is not on the page"));
            }
            shown.iter().filter(|(name, _)| *name != MORE).find_map(|(name, shown)| match actual.get(name) {
                None => Some(format!("{path}.{name} is missing")),
                Some(actual) => inner(name, shown, actual),
            })
        }
        (Value::Array(shown), Value::Array(actual)) => {
            let has_more = shown.last().is_some_and(|last| last == MORE);
            if !has_more && shown.len() != actual.len() {
                return Some(format!("{path} has {} items, not {}", actual.len(), shown.len()));
            }
            let shown = shown.iter().filter(|item| *item != MORE);
            shown.enumerate().find_map(|(index, shown)| {
                let path = format!("{path}[{index}]");
                let mut all = actual.iter().map(|actual| difference(shown, actual, volatile, &path));
                let is_there = all.any(|difference| difference.is_none());
                (!is_there).then(|| format!("{path}: {shown} is not among {}", Value::from(actual.clone())))
            })
        }
        _ if shown == actual => None,
        _ => Some(format!("{path} is {actual}, not {shown}")),
    }
}

/// The last id of something that waits for approval.
async fn waiting_approval(person: &mut Client) -> Value {
    loop {
        let message = person.next(Duration::from_secs(30)).await.expect("an approval");
        if message.topic.contains("/approval/") && message.json()["state"] == "waiting" {
            return message.json()["id"].clone();
        }
    }
}

/// Sends every request of the page. Returns what is wrong with the replies.
async fn send_all(
    entries: &[Entry],
    volatile: &[String],
    person: &mut Client,
    model: &Server,
) -> Vec<String> {
    let mut wrong = Vec::new();
    for entry in entries {
        let Some(name) = entry.topic.strip_prefix("request/") else { continue };
        let mut request = entry.json("json request").unwrap_or_else(|| panic!("{name} has no request"));
        if name == "approve" {
            let unlock = ("lock_door", json!({ "deviceName": "Front Door", "action": "unlock" }));
            let acts = [calls(&[unlock]), stop("It is unlocked.")].map(|body| Act::ok(&body.to_string()));
            model.tell("let me in", acts);
            person.says(json!({ "text": "let me in", "conversation": "porch" }));
            request["id"] = waiting_approval(person).await;
        }
        let Some(shown) = entry.json("json reply") else {
            person.sends(name, request);
            sleep(Duration::from_secs(5)).await;
            continue;
        };
        let reply = person.asks_with_response_topic(name, request).await;
        if let Some(difference) = difference(&shown, &reply, volatile, "reply") {
            wrong.push(format!("request/{name}: {difference}\n  it was: {reply}"));
        }
    }
    wrong
}

/// Compares what was published with the page. Returns what is wrong.
fn compare_all(entries: &[Entry], volatile: &[String], seen: &[(String, Message)]) -> Vec<String> {
    let mut wrong = Vec::new();
    for (topic, message) in seen {
        let Some(entry) = entries.iter().find(|entry| entry.matches(topic)) else {
            wrong.push(format!("{topic} is not on the page"));
            continue;
        };
        // An empty message removes what is retained.
        if entry.is_out() && (message.retained, message.qos) != (entry.kind.contains("retained"), entry.qos())
        {
            wrong.push(format!(
                "{topic} is retained: {}, with {:?}: {}",
                message.retained, message.qos, entry.kind
            ));
        }
    }
    for entry in entries.iter().filter(|entry| !entry.topic.starts_with("request/")) {
        let all: Vec<_> =
            seen.iter().filter(|(topic, _)| entry.matches(topic)).map(|(_, message)| message).collect();
        let differences: Vec<_> = match (entry.block("text payload"), entry.json("json payload")) {
            (Some(text), _) => {
                let is_it = |message: &&Message| message.payload == text.trim_end().as_bytes();
                all.iter().find(|message| is_it(message)).map_or(vec!["other text".into()], |_| Vec::new())
            }
            (None, Some(shown)) => {
                let all = all.iter().filter(|message| !message.payload.is_empty());
                let compared =
                    all.map(|message| (message, difference(&shown, &message.json(), volatile, "payload")));
                let compared: Vec<_> = compared.collect();
                match compared.iter().any(|(_, difference)| difference.is_none()) {
                    true => Vec::new(),
                    false => compared
                        .into_iter()
                        .filter_map(|(message, difference)| {
                            Some(format!("{}\n  in: {}", difference?, message.json()))
                        })
                        .chain(["never so".into()])
                        .collect(),
                }
            }
            (None, None) => panic!("{} has no payload", entry.topic),
        };
        wrong.extend(differences.iter().take(3).map(|difference| format!("{}: {difference}", entry.topic)));
    }
    wrong
}

#[test]
fn every_topic_is_as_the_page_says() {
    let text = page("topics.md");
    let (entries, volatile) = entries(&text);
    for (name, _) in REQUESTS {
        let is_there = entries.iter().any(|entry| entry.topic == format!("request/{name}"));
        assert!(is_there, "docs/topics.md lacks request/{name}");
    }
    let model = Server::always(Act::ok(&stop("Yes, the front door is locked.").to_string()));
    let home = Home::fast(7);
    let setup = Setup::new().home(&home).relay(relay::settings(&model)).hub(|hub| {
        hub.hub_id = "kitchen".into();
        hub.has_clock = false;
    });
    let wrong = setup.story(async |world| {
        let mut everything = world.client("everything", &["hearthwave/#", "homeassistant/#"]).await;
        let mut person = world.person("ann").await;
        person.wants_replies_of("ann");
        while person.hears("info").await.json()["devices"].as_u64() < Some(1) {}
        sleep(Duration::from_secs(5)).await;
        for (key, value) in [("time.zone", "Europe/Berlin"), ("hub.name", "Kitchen")] {
            person.sets(key, json!(value)).await;
        }
        // What the page shows of others: a search that is answered, a model that fails, a call without a Response Topic.
        person.calls("search", json!({ "query": "sunset in Berlin" }));
        let question = person.hears("service/search/request").await;
        let results =
            json!({ "results": [{ "title": "Sunset", "url": "https://example.org", "snippet": "16:04" }] });
        person.publish(
            Publish::new(&person.topic("service/search/response"), results.to_string())
                .correlation(question.correlation.as_deref().expect("Correlation Data")),
        );
        person.result().await;
        model.tell("what is love", [Act::status(400, r#"{"error":{"message":"overloaded"}}"#)]);
        person.says(json!({ "text": "what is love", "conversation": "attic" }));
        person.reply().await;
        home.press("Bedside Button").expect("a button");
        person.publish(Publish::new("homeassistant/status", "online"));
        let mut wrong = send_all(&entries, &volatile, &mut person, &model).await;
        sleep(Duration::from_secs(30)).await;
        let mut seen = Vec::new();
        while let Some(message) = everything.next(Duration::from_secs(1)).await {
            let topic =
                message.topic.strip_prefix("hearthwave/kitchen/").unwrap_or(&message.topic).to_owned();
            seen.push((topic, message));
        }
        assert!(seen.len() > 50, "{}", seen.len());
        wrong.extend(compare_all(&entries, &volatile, &seen));
        wrong
    });
    assert!(wrong.is_empty(), "docs/topics.md and the hub differ:\n\n{}", wrong.join("\n\n"));
}

#[test]
fn differences_are_found_and_what_is_left_out_is_not_one() {
    let volatile = ["ms".to_owned()];
    let differ = |shown: Value, actual: Value| difference(&shown, &actual, &volatile, "it").is_some();
    assert!(!differ(json!({ "ms": 1, "a": [1, "…"] }), json!({ "ms": 2, "a": [3, 1] })));
    assert!(!differ(json!({ "a": 1, "…": "…" }), json!({ "a": 1, "b": 2 })));
    assert!(differ(json!({ "a": 1 }), json!({ "a": 1, "b": 2 })));
    assert!(differ(json!({ "a": 1, "b": 2 }), json!({ "a": 1 })));
    assert!(differ(json!({ "ms": 1 }), json!({ "ms": "1" })));
    assert!(differ(json!([1]), json!([1, 1])));
    assert!(differ(json!([2, "…"]), json!([1, 1])));
    assert!(differ(json!({ "a": "x" }), json!({ "a": "y" })));
}
