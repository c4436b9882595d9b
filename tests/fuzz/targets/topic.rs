//! Names of hubs and requests, and Response Topics of callers: the hub always publishes to a valid topic.
#![no_main]

use hub_core::HubId;
use hub_core::limits::{CORRELATION, HUB_ID, RESPONSE_TOPIC};
use hub_core::mqtt::{ReplyTo, Topics, UnusableReplyTo};
use hub_core::request::Request;
use libfuzzer_sys::fuzz_target;

fuzz_target!(init: support::stack::guard(), |input: &[u8]| {
    let Some([id, name, asked]) = support::input::texts(input) else { return };
    reply_to(asked, name.as_bytes());
    let Some(id) = HubId::new(id) else { return };
    assert!((1..=HUB_ID).contains(&id.as_str().len()) && is_topic(id.as_str()) && !id.as_str().contains('/'));
    let topics = Topics::new(id);
    let base = format!("hearthwave/{}/", id.as_str());
    let request = format!("{base}request/{name}");
    assert_eq!(topics.request(&request), Some(name));
    assert_eq!(topics.request(asked).map(|name| format!("{base}request/{name}")).as_deref().unwrap_or(asked), asked);
    assert!(Request::named(name).is_none() || is_topic(name));
    let response = topics.response(name);
    let expected = format!("{base}response/{name}");
    let is_short = expected.len() <= RESPONSE_TOPIC;
    assert_eq!(*response, if is_short { expected } else { format!("{base}response/unknown") });
    for topic in ["availability", "info", "event/tool"].map(|name| topics.own(name)) {
        assert!(topic.starts_with(&base) && is_topic(&topic));
    }
});

fn reply_to(topic: &str, correlation: &[u8]) {
    assert_eq!(ReplyTo::asked(None, Some(correlation)), Ok(None));
    match ReplyTo::asked(Some(topic), Some(correlation)) {
        Ok(reply_to) => {
            let reply_to = reply_to.expect("a topic was asked for");
            assert!(is_topic(topic) && reply_to.topic == *topic);
            assert_eq!(reply_to.correlation.as_deref(), Some(correlation));
        }
        Err(UnusableReplyTo::Topic) => assert!(!is_topic(topic)),
        Err(UnusableReplyTo::Reserved) => panic!("only a hub knows which topics are its own"),
        Err(UnusableReplyTo::LongTopic) => assert!(topic.len() > RESPONSE_TOPIC),
        Err(UnusableReplyTo::LongCorrelation) => assert!(correlation.len() > CORRELATION),
    }
}

/// Whether a message can be published there.
fn is_topic(topic: &str) -> bool {
    !topic.is_empty() && !topic.contains(['+', '#', '\0'])
}
