//! The connection to the broker is lost in the middle of conversations.

use std::collections::BTreeSet;

use tokio::time::sleep_until;
use world::model::{calls, stop};
use world::prelude::*;

/// The broker is lost at any moment, and its session survives or not. In each case, the person gets one answer, and no
/// call reaches the controller twice.
#[test]
fn connections_break_at_every_moment_and_nothing_is_answered_or_done_twice() {
    for moment in 0..48u64 {
        let reply = story(async |world| a_turn_that_is_disturbed(world, moment).await);
        assert_eq!(reply["content"], "Done.", "{moment}: {reply}");
        assert_eq!(reply["tool_calls"].as_array().map(Vec::len), Some(1), "{moment}: {reply}");
    }
}

async fn a_turn_that_is_disturbed(world: &World, moment: u64) -> Value {
    let (mut controller, mut person) = world.connected().await;
    let mut model = world.model().await;
    person.says(json!({ "text": "Go" }));
    // Not at once: a request that the broker loses before the delivery cannot be answered.
    let disturbed = Instant::now() + Duration::from_millis(moment / 2 * 150 + moment % 2);
    let pause = || sleep(Duration::from_millis(800));
    let (mut is_disturbed, mut questions, mut heard) = (false, BTreeSet::new(), 0);
    let reply = loop {
        tokio::select! {
            biased;
            () = sleep_until(disturbed), if !is_disturbed => {
                is_disturbed = true;
                if moment.is_multiple_of(2) {
                    world.broker().kick(CLIENT);
                } else {
                    world.broker().forget_session(CLIENT);
                }
            }
            question = model.hears_question() => {
                // A question that may be lost is repeated with the same number.
                questions.insert(question.correlation.clone());
                pause().await;
                let is_first = count(&question.json()["messages"]) == 1;
                let body = if is_first { calls(&[("list_devices", json!({}))]) } else { stop("Done.") };
                model.answers(&question, body);
            }
            call = controller.hears_call() => {
                heard += 1;
                pause().await;
                controller.replies(&call, "none").await;
            }
            reply = person.reply() => break reply,
        }
    };
    assert!(heard <= 1, "{moment}: the call reached the controller {heard} times");
    assert!(questions.len() <= 2, "{moment}: the model was asked {} questions", questions.len());
    let second = timeout(Duration::from_secs(150), person.reply()).await;
    assert!(second.is_err(), "{moment}: a second answer");
    while timeout(Duration::from_millis(1), model.hears_question()).await.is_ok() {}
    // And the conversation goes on.
    person.says(json!({ "text": "Again" }));
    model.serves(stop("Here.")).await;
    assert_eq!(person.reply().await["content"], "Here.", "{moment}");
    reply
}
