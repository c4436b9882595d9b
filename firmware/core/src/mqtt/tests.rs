//! Names of topics, and ways back.

use super::{ReplyTo, Topics, UnusableReplyTo};
use crate::config::HubId;
use crate::limits;

#[test]
fn hub_ids_are_one_plain_level_of_a_topic() {
    for good in ["a", "hub", "Kitchen-2_b", &"x".repeat(limits::HUB_ID)] {
        assert!(HubId::new(good).is_some(), "{good}");
    }
    for bad in ["", "a/b", "+", "#", "a b", "é", "a\0", &"x".repeat(limits::HUB_ID + 1)] {
        assert!(HubId::new(bad).is_none(), "{bad}");
    }
}

#[test]
fn the_longest_hub_id_has_all_its_topics() {
    let id = "x".repeat(limits::HUB_ID);
    let topics = Topics::new(HubId::new(&id).unwrap());
    assert_eq!(topics.own("availability"), *std::format!("hearthwave/{id}/availability"));
    assert_eq!(topics.response("tool/call"), *std::format!("hearthwave/{id}/response/tool/call"));
    assert_eq!(topics.response(&"y".repeat(100)), *std::format!("hearthwave/{id}/response/unknown"));
    assert_eq!(topics.request(&std::format!("hearthwave/{id}/request/tool/call")), Some("tool/call"));
    assert_eq!(topics.request("hearthwave/other/request/tool/call"), None);
    assert_eq!(topics.request("?"), None);
}

#[test]
fn a_way_back_is_gone_only_if_it_can_be() {
    assert_eq!(ReplyTo::asked(None, Some(b"x")), Ok(None));
    let asked = ReplyTo::asked(Some("a/b"), Some(&[0, 255])).unwrap().unwrap();
    assert_eq!((asked.topic.as_str(), asked.correlation.as_deref()), ("a/b", Some(&[0, 255][..])));
    // Publishing to any of these would cost the hub its connection.
    for topic in ["", "#", "a/+/b", "a/#", "a\0b"] {
        assert_eq!(ReplyTo::asked(Some(topic), None), Err(UnusableReplyTo::Topic), "{topic}");
    }
    let long = "x".repeat(limits::RESPONSE_TOPIC + 1);
    assert_eq!(ReplyTo::asked(Some(&long), None), Err(UnusableReplyTo::LongTopic));
    assert_eq!(
        ReplyTo::asked(Some("a"), Some(&[0; limits::CORRELATION + 1])),
        Err(UnusableReplyTo::LongCorrelation)
    );
}
