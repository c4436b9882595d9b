//! Refusals and repeated messages.

use embassy_time::Instant;

use super::Refusal;
use super::intake::Redeliveries;
use super::slots::{Replies, ReplyState};
use crate::limits;
use crate::mqtt::UnusableReplyTo;

/// The time may pass between the last look at the replies and the wait for it.
#[test]
fn held_replies_are_due_at_once_if_their_time_is_over() {
    let mut replies = Replies::new();
    assert_eq!(replies.held_until(Instant::MIN), None);
    replies.set(0, ReplyState::Written);
    replies.connected(false);
    assert_eq!(replies.held_until(Instant::MIN), Some(Instant::MIN));
    replies.release();
    assert_eq!(replies.held_until(Instant::MIN), None);
}

#[test]
fn every_refusal_is_an_error_object_that_fits() {
    let nonsense = crate::json::Value::parse(b"[1,").unwrap_err();
    for refusal in [
        Refusal::Busy,
        Refusal::Unknown("tool/fly".try_into().unwrap()),
        Refusal::Empty,
        Refusal::OverBroker { size: 4000, limit: Some(2000) },
        Refusal::OverBroker { size: 4000, limit: None },
        Refusal::TooLarge(100_000),
        Refusal::NotJson(nonsense),
        Refusal::NotAnObject,
        Refusal::NoName,
        Refusal::LongName,
        Refusal::LongText("transaction", limits::TRANSACTION),
        Refusal::Unanswerable,
        Refusal::ReplyTo(UnusableReplyTo::Topic),
        Refusal::ReplyTo(UnusableReplyTo::Reserved),
        Refusal::ReplyTo(UnusableReplyTo::LongTopic),
        Refusal::ReplyTo(UnusableReplyTo::LongCorrelation),
        Refusal::NoSetting,
    ] {
        let transaction = std::format!("\"{}\"", "t".repeat(limits::TRANSACTION - 2));
        let transaction = crate::json::Value::parse(transaction.as_bytes()).unwrap();
        let mut buffer = [0; 1024];
        let length = refusal.write(Some(transaction), &mut buffer).unwrap();
        let reply: serde_json::Value = serde_json::from_slice(&buffer[..length]).unwrap();
        assert_eq!(reply["success"], false);
        assert!(reply["error"].as_str().unwrap().len() > 10);
        assert_eq!(reply["error_type"], refusal.error_type());
        assert_eq!(reply["transaction"].as_str().unwrap().len(), limits::TRANSACTION - 2);
    }
}

#[test]
fn a_message_has_arrived_if_it_is_marked_and_known() {
    let mut seen = Redeliveries::new();
    let (one, two) = (1_u64 << 40, 2_u64 << 40);
    assert!(!seen.has_arrived(one, false));
    assert!(!seen.has_arrived(one, false), "said twice is meant twice");
    assert!(seen.has_arrived(one, true), "but sent twice is meant once");
    assert!(!seen.has_arrived(two, true), "what never arrived is new");
    assert!(seen.has_arrived(two, true));
    for number in 0..limits::REDELIVERIES as u64 {
        assert!(!seen.has_arrived(number, false));
    }
    assert!(!seen.has_arrived(one, true), "the broker does not repeat what is older than its window");
    seen.clear();
    assert!(!seen.has_arrived(7, true), "a fresh session repeats nothing");
}
