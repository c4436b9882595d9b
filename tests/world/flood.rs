//! Requests of all kinds, one right after the other, some of them hostile.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use support::client::Client;
use support::log::log_text;
use tokio::time::{Duration, Instant};

/// How many requests there are.
pub const REQUESTS: usize = 500;

/// Until the hub has answered everything.
const PATIENCE: Duration = Duration::from_secs(120);
/// When nothing has come for so long, nothing more will.
const QUIET: Duration = Duration::from_secs(15);

/// What somebody may send: the name of a request, and a payload.
fn requests() -> Vec<(&'static str, Vec<u8>)> {
    let text = |value: Value| value.to_string().into_bytes();
    vec![
        ("tool/call", text(json!({ "name": "echo", "arguments": { "x": "x".repeat(500) } }))),
        ("tool/call", text(json!({ "name": "no_such_tool" }))),
        ("tool/call", text(json!({ "name": 7, "arguments": [] }))),
        ("tool/list", text(json!({ "format": "markdown" }))),
        ("chat", text(json!({ "text": "Hi" }))),
        ("chat", text(json!({ "text": "Hi", "conversation": "x".repeat(300) }))),
        ("health", b"{}".to_vec()),
        ("prompt/list", b"{}".to_vec()),
        ("config/get", b"{}".to_vec()),
        ("config/list", b"{}".to_vec()),
        ("config/set", text(json!({ "key": "volume", "value": 1000 }))),
        ("config/set", text(json!({ "key": "rule.x", "value": { "name": "y" } }))),
        ("content/put", text(json!({ "category": "a", "name": "b", "text": "c".repeat(1000) }))),
        ("content/list", b"{}".to_vec()),
        ("device/list", text(json!({ "room": "nowhere" }))),
        ("device/set", text(json!({ "device": "\u{1}", "action": "on" }))),
        ("approve", text(json!({ "id": 1, "allow": true }))),
        ("cancel", text(json!({ "conversation": "nobody" }))),
        ("time/set", text(json!({ "unix_seconds": -1e300 }))),
        ("no/such/request", b"{}".to_vec()),
        ("tool/call", Vec::new()),
        ("tool/call", b"\xff\xfe\x00{".to_vec()),
        ("chat", b"[".repeat(3000)),
        ("chat", br#"{"text":"#.repeat(400)),
        ("config/set", vec![b'x'; 100_000]),
        ("device/list", b"null".to_vec()),
    ]
}

/// Sends all of them without waiting for anything, each with a Response Topic. Asserts that each gets one answer, that the
/// hub is well right afterwards, and that it did not flood others. Returns how many were refused as busy.
///
/// While a broker is slow to acknowledge, the hub may have no room even for a refusal: so many may be unanswered, if the log
/// says so of each.
pub async fn flood(client: &mut Client, response: &str, most_unanswered: usize) -> usize {
    let kinds = requests();
    for number in 0..REQUESTS {
        let (name, payload) = &kinds[number % kinds.len()];
        let request = client.request(name, payload).reply_to(response);
        client.publish(request.correlation(&(number as u32).to_be_bytes()));
    }
    let (mut answers, mut notices) = (BTreeMap::new(), 0);
    let begun = Instant::now();
    while answers.len() < REQUESTS && begun.elapsed() < PATIENCE {
        let Some(message) = client.next(QUIET).await else { break };
        notices += usize::from(message.topic.ends_with("/log"));
        if message.topic != response {
            continue;
        }
        let number =
            message.correlation.as_deref().and_then(|data| data.try_into().ok()).map(u32::from_be_bytes);
        let number = number.expect("the Correlation Data of a request");
        assert!(answers.insert(number, message.json()).is_none(), "{number} is answered twice");
    }
    let unanswered: Vec<_> = (0..REQUESTS as u32).filter(|number| !answers.contains_key(number)).collect();
    let unsent = log_text().matches("could not be sent").count();
    let kinds = unanswered.iter().map(|number| &kinds[*number as usize % kinds.len()]);
    let is_told = unanswered.len() <= unsent;
    assert!(is_told && unanswered.len() <= most_unanswered, "no answer to {:?}", kinds.collect::<Vec<_>>());
    for reply in answers.values() {
        let is_refusal = reply["error"].is_string() && reply["error_type"].is_string();
        assert!(reply["success"] == true || reply["content"].is_string() || is_refusal, "{reply}");
    }
    // A second of the hub's time, whether that is real or not.
    let begun = Instant::now();
    client.gets_an_echo().await;
    let health = client.asks_with_response_topic("health", json!({})).await;
    assert_eq!(health["success"], true, "{health}");
    assert!(begun.elapsed() < Duration::from_secs(2), "it took {:?} to answer", begun.elapsed());
    assert!(notices < 20, "{notices} notices");
    answers.values().filter(|reply| reply["error_type"] == "busy").count()
}
