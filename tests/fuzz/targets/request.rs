//! An arbitrary request to a whole hub through a correct broker: it gets one reply, which is JSON, on the right topic.
#![no_main]

use std::str;

use embassy_time::Duration;
use hub_core::json::{Kind, Value};
use hub_core::limits::{CORRELATION, MQTT_RECEIVE, REPLY, REQUEST, RESPONSE_TOPIC, TRANSACTION};
use libfuzzer_sys::fuzz_target;
use support::broker::{BASE, Broker, Controller, publish, with_hub};
use support::clock;
use support::input::{MARK, stretch};

fuzz_target!(
    init: {
        support::stack::guard();
        support::journal::keep();
    },
    |input: &[u8]| {
        if let Some(request) = Request::read(input) {
            ask(&request);
        }
    }
);

/// What a caller may choose.
struct Request<'a> {
    qos: u8,
    name: &'a str,
    response: Option<&'a str>,
    correlation: Option<&'a [u8]>,
    payload: Vec<u8>,
}

impl<'a> Request<'a> {
    fn read(input: &'a [u8]) -> Option<Self> {
        let (first, rest) = input.split_first()?;
        let mut parts = rest.splitn(4, |byte| *byte == MARK);
        let mut part = || parts.next().unwrap_or_default();
        // No broker forwards a topic with one of these characters.
        let name = str::from_utf8(part())
            .ok()
            .filter(|name| name.len() < 100 && !name.contains(['+', '#', '\0']))?;
        let response = str::from_utf8(part()).ok().filter(|_| first & 4 > 0);
        // Other messages of the hub on this topic would be taken for the reply.
        if response.is_some_and(|topic| topic.starts_with(BASE)) {
            return None;
        }
        let correlation = Some(part()).filter(|_| first & 8 > 0);
        Some(Self { qos: first % 3, name, response, correlation, payload: stretch(part(), 2 * MQTT_RECEIVE) })
    }

    /// As a PUBLISH.
    fn bytes(&self) -> Vec<u8> {
        let mut properties = Vec::new();
        let mut property = |id: u8, bytes: &[u8]| {
            properties.push(id);
            properties.extend_from_slice(&(bytes.len() as u16).to_be_bytes());
            properties.extend_from_slice(bytes);
        };
        self.response.iter().for_each(|topic| property(8, topic.as_bytes()));
        self.correlation.iter().for_each(|data| property(9, data));
        publish(&format!("{BASE}request/{}", self.name), self.qos, &properties, &self.payload)
    }

    /// The topic and Correlation Data of the reply.
    fn reply_to(&self) -> (String, Option<&[u8]>) {
        let usual = format!("{BASE}response/{}", self.name);
        match self.response {
            Some(topic)
                if !topic.is_empty()
                    && !topic.contains(['+', '#', '\0'])
                    && topic.len() <= RESPONSE_TOPIC =>
            {
                (topic.into(), self.correlation.filter(|data| data.len() <= CORRELATION))
            }
            _ if usual.len() > RESPONSE_TOPIC => (format!("{BASE}response/unknown"), None),
            _ => (usual, None),
        }
    }
}

fn ask(request: &Request<'_>) {
    let broker = Broker::default();
    with_hub(&broker, &Controller::default(), |settle| {
        settle();
        let greeting = broker.published();
        assert!(greeting.iter().any(|message| message.payload == b"online"), "{greeting:?}");
        broker.send(&request.bytes(), &[]);
        // A tool may wait for somebody, and a conversation for a model, but not for ever.
        for _ in 0..8 {
            settle();
            clock::advance(Duration::from_secs(10));
        }
        settle();
        let (mut topic, mut correlation) = request.reply_to();
        let published = broker.published();
        // A transcript is answered on `speech`.
        let speech = format!("{BASE}speech");
        if request.name == "transcript" && published.iter().any(|message| message.topic == speech) {
            (topic, correlation) = (speech, None);
        }
        let (replies, others): (Vec<_>, Vec<_>) =
            published.iter().partition(|message| message.topic == topic);
        let [reply] = &replies[..] else { panic!("not one reply on {topic}: {published:?}") };
        for other in others {
            str::from_utf8(&other.payload).expect("text");
        }
        let expected = correlation.map(|data| [&[9], &(data.len() as u16).to_be_bytes()[..], data].concat());
        assert_eq!(reply.properties, expected.unwrap_or_default());
        assert!(reply.payload.len() <= REPLY);
        if topic == format!("{BASE}speech") {
            let speech: serde_json::Value = serde_json::from_slice(&reply.payload).expect("JSON");
            assert!(!speech["text"].as_str().expect("words").is_empty());
        } else {
            check(request, &reply.payload);
        }
    });
}

fn check(request: &Request<'_>, reply: &[u8]) {
    let reply: serde_json::Value = serde_json::from_slice(reply).expect("JSON");
    let success = reply["success"].as_bool().expect("a verdict");
    assert!(
        success || !reply["error"].as_str().expect("words").is_empty() && reply["error_type"].is_string()
    );
    assert!(!success || request.payload.len() <= REQUEST);
    let object = Value::parse(&request.payload).ok().filter(|value| value.kind() == Kind::Object);
    let transaction = object.and_then(|object| object.get("transaction"));
    match transaction.filter(|value| value.text().len() <= TRANSACTION) {
        // In a cut request the hub has not seen it.
        Some(_) if request.payload.len() > REQUEST => {}
        Some(value) => match serde_json::from_str::<serde_json::Value>(value.text()) {
            Ok(value) => assert_eq!(reply.get("transaction"), Some(&value)),
            // Half a surrogate pair, which is mended.
            Err(_) => assert!(reply.get("transaction").is_some()),
        },
        None => assert!(reply.get("transaction").is_none()),
    }
}
