//! Relays that come and go, and brokers that restart during a conversation.

use host_sim::caller;
use hub_core::limits;
use support::server::{Act, Server};
use world::model::{calls, stop};
use world::prelude::*;
use world::relay::{self, Relay};

/// Publishes the relays' availability. An empty state clears it.
fn relays_are(client: &Client, state: &str) {
    let told = if state.is_empty() { String::new() } else { json!({ "state": state }).to_string() };
    client.publish(Publish::new("hearthwave/relay/availability", told).retained());
}

async fn is_answered(ann: &mut Client, model: &mut Client) {
    ann.says(json!({ "text": "Hi" }));
    model.serves(stop("Hello.")).await;
    assert_eq!(ann.reply().await["content"], "Hello.");
}

async fn is_told_at_once_that_no_relay_runs(ann: &mut Client) {
    let asked = Instant::now();
    let reply = ann.asks("chat", json!({ "text": "Hi" })).await;
    assert!(asked.elapsed() < Duration::from_secs(1), "after {:?}", asked.elapsed());
    assert_refused(&reply, "unavailable", "hearthwave/relay/availability says offline");
    assert_eq!(reply["message"], "Sorry, I cannot reach my language model: no relay is running.");
}

#[test]
fn people_hear_at_once_that_no_relay_runs() {
    story(async |world| {
        let (mut ann, mut model) = world.talking().await;
        // A relay does not have to publish its availability.
        is_answered(&mut ann, &mut model).await;
        for back in ["online", ""] {
            relays_are(&model, "offline");
            sleep(Duration::from_secs(4)).await;
            is_told_at_once_that_no_relay_runs(&mut ann).await;
            relays_are(&model, back);
            sleep(Duration::from_secs(1)).await;
            is_answered(&mut ann, &mut model).await;
        }
        // A starting hub learns it from the retained message.
        relays_are(&model, "offline");
        world.restarts_the_hub().await;
        sleep(Duration::from_secs(5)).await;
        is_told_at_once_that_no_relay_runs(&mut ann).await;
    });
}

/// One of two relays leaves and the other announces itself, or the only relay starts a moment after the hub.
#[test]
fn a_relay_that_is_gone_for_a_moment_costs_no_question() {
    story(async |world| {
        let (_controller, mut ann) = world.connected().await;
        let mut model = world.model().await;
        relays_are(&model, "offline");
        sleep(Duration::from_millis(500)).await;
        ann.says(json!({ "text": "Hi" }));
        let first = model.hears_question().await;
        sleep(Duration::from_secs(1)).await;
        relays_are(&model, "online");
        let again = model.hears_question().await;
        assert_eq!(
            (&again.correlation, again.json()),
            (&first.correlation, first.json()),
            "the same question"
        );
        model.answers(&again, stop("Hello."));
        model.answers(&first, stop("Late."));
        assert_eq!(ann.reply().await["content"], "Hello.");
        assert!(timeout(Duration::from_secs(150), ann.reply()).await.is_err(), "a second reply");
    });
    // If no relay comes, a question that was sent meanwhile fails.
    story(async |world| {
        let (mut ann, model) = world.talking().await;
        relays_are(&model, "offline");
        sleep(Duration::from_millis(500)).await;
        let asked = Instant::now();
        let reply = ann.asks("chat", json!({ "text": "Hi" })).await;
        assert_refused(&reply, "unavailable", "says offline");
        assert!(asked.elapsed() < Duration::from_secs(4), "after {:?}", asked.elapsed());
    });
}

#[test]
fn a_relay_that_is_gone_for_good_costs_no_minute_of_waiting() {
    let server = Server::doing([Act::Hang]);
    story(async |world| {
        let (_controller, mut ann) = world.connected().await;
        let relay = Relay::start(&world.network(), relay::settings(&server));
        sleep(Duration::from_secs(1)).await;
        ann.says(json!({ "text": "Hi" }));
        sleep(Duration::from_secs(2)).await;
        assert_eq!(server.seen().len(), 1);
        relay.kill();
        let left = Instant::now();
        let reply = ann.reply().await;
        assert_refused(&reply, "unavailable", "says offline");
        // Until then, the relay may still answer.
        let waited = left.elapsed().as_secs();
        assert!((7..10).contains(&waited), "after {waited} s");
    });
    for (seconds, comes_back) in [(5, false), (7, true)] {
        story(async |world| {
            let (_controller, mut ann) = world.connected().await;
            let mut model = world.model().await;
            ann.says(json!({ "text": "Hi" }));
            let question = model.hears_question().await;
            relays_are(&model, "offline");
            sleep(Duration::from_secs(seconds)).await;
            if comes_back {
                relays_are(&model, "online");
                let again = model.hears_question().await;
                assert_eq!((&again.correlation, again.json()), (&question.correlation, question.json()));
                sleep(Duration::from_secs(10)).await;
            }
            model.answers(&question, stop("Hello."));
            assert_eq!(ann.reply().await["content"], "Hello.");
        });
    }
}

/// The broker keeps the session of the killed relay for a while, and may route the question to it once more.
#[test]
fn a_relay_that_is_killed_and_restarted_loses_no_question() {
    for away in [0, 2, 6] {
        let answers = [Act::Hang, Act::ok(&stop("Hello.").to_string()), Act::ok(&stop("Again.").to_string())];
        let server = Server::doing(answers);
        story(async |world| {
            let (_controller, mut ann) = world.connected().await;
            let first = Relay::start(&world.network(), relay::settings(&server));
            sleep(Duration::from_secs(1)).await;
            ann.says(json!({ "text": "Hi" }));
            sleep(Duration::from_secs(2)).await;
            assert_eq!(server.seen().len(), 1);
            first.kill();
            sleep(Duration::from_secs(away)).await;
            let _second = Relay::start(&world.network(), relay::settings(&server));
            let reply = timeout(Duration::from_secs(30), ann.reply()).await.expect("a reply");
            assert_eq!(reply["content"], "Hello.", "{away}: {reply}");
        });
    }
}

/// A broker without any sessions replaces the current one, while a model thinks and after a tool has run. Relay, hub
/// and person reconnect one after the other.
#[test]
fn a_broker_restart_in_mid_conversation_costs_no_reply() {
    for (has_answer_in_time, says_online) in [(true, false), (false, true), (false, false)] {
        story(async |world| {
            let (question, mut model) = broker_restarts(world).await;
            if has_answer_in_time {
                // The relay has kept working. Its answer reaches the hub, but not yet the person.
                sleep(Duration::from_secs(1)).await;
                model.answers(&question, stop("It is on."));
                sleep(Duration::from_secs(1)).await;
            } else {
                if says_online {
                    sleep(Duration::from_secs(1)).await;
                    relays_are(&model, "online");
                }
                let asked = Instant::now();
                let again = model.hears_question().await;
                assert!(asked.elapsed() < Duration::from_secs(if says_online { 1 } else { 8 }));
                assert_eq!((&again.correlation, again.json()), (&question.correlation, question.json()));
                model.answers(&again, stop("It is on."));
                model.answers(&question, stop("It is on, I said."));
            }
            let mut ann = world.person("ann").await;
            let reply = ann.reply().await;
            assert_eq!(reply["content"], "It is on.", "{reply}");
            assert_eq!(count(&reply["tool_calls"]), 1, "{reply}");
            assert!(timeout(Duration::from_secs(150), ann.reply()).await.is_err(), "a second reply");
        });
    }
}

/// Uses the client of the simulator's prompt.
#[test]
fn caller_reconnects_after_a_broker_restart_without_asking_again() {
    story(async |world| {
        let (_controller, _ann) = world.connected().await;
        let mut model = world.model().await;
        let hello = json!({ "text": "Hi" }).to_string();
        let asking =
            caller::ask(world.way(), &world.settings, "chat", hello.as_bytes(), Duration::from_secs(60));
        let serving = async {
            let question = model.hears_question().await;
            world.replaces_the_broker().await;
            let model = world.model().await;
            sleep(Duration::from_secs(1)).await;
            model.answers(&question, stop("Hello."));
            sleep(Duration::from_secs(5)).await;
        };
        let (reply, ()) = tokio::join!(asking, serving);
        let reply: Value = serde_json::from_slice(&reply.expect("a reply")).expect("JSON");
        assert_eq!(reply["content"], "Hello.", "{reply}");
        assert_logged_times(1, "conversation default is answered");
        // Without any broker, the error says so.
        world.broker().shutdown().await;
        let asking =
            caller::ask(world.way(), &world.settings, "chat", hello.as_bytes(), Duration::from_secs(60));
        let why = asking.await.expect_err("no broker").to_string();
        assert!(why.starts_with("the broker at "), "{why}");
    });
}

#[test]
fn reply_after_a_broker_restart_without_a_relay_reports_what_was_done() {
    story(async |world| {
        let (_, model) = broker_restarts(world).await;
        drop(model);
        let mut ann = world.person("ann").await;
        let reply = ann.reply().await;
        assert_eq!(reply["error_type"], "timeout", "{reply}");
        assert!(
            reply["message"].as_str().is_some_and(|words| words.starts_with("Switch One is on")),
            "{reply}"
        );
    });
}

/// A model is asked what to say about a switch that it has switched on; then the broker restarts. Returns that
/// question, and the model's client at the new broker.
async fn broker_restarts(world: &World) -> (Message, Client) {
    let (mut controller, ann) = world.connected().await;
    let mut model = world.model().await;
    ann.says(json!({ "text": "Turn it on" }));
    let on = json!({ "device_name": "Switch One", "command": "on" });
    model.serves(calls(&[("control_zwave_device", on)])).await;
    controller.serves("Switch One is on").await;
    let question = model.hears_question().await;
    world.replaces_the_broker().await;
    tokio::task::spawn_local(async move {
        // The controller keeps answering pings.
        while controller.hears_call().await.is_object() {}
    });
    (question, world.model().await)
}

/// A relay was killed, and another one is online. Until the broker has dropped the session of the first one, it may send it
/// questions.
#[test]
fn a_question_just_after_a_relay_was_killed_is_sent_again() {
    story(async |world| {
        let (mut ann, mut model) = world.talking().await;
        relays_are(&model, "offline");
        sleep(Duration::from_secs(1)).await;
        relays_are(&model, "online");
        sleep(Duration::from_secs(4)).await;
        ann.says(json!({ "text": "Hi" }));
        let lost = model.hears_question().await;
        let asked = Instant::now();
        let question = model.hears_question().await;
        assert!(asked.elapsed().as_secs() < limits::RELAY_EXPIRY.as_secs(), "{:?}", asked.elapsed());
        assert_eq!(
            (lost.correlation, lost.payload),
            (question.correlation.clone(), question.payload.clone())
        );
        model.answers(&question, stop("Hello."));
        assert_eq!(ann.reply().await["content"], "Hello.");
    });
}
