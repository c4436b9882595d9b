//! Several relays, and relays that leave.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::json;
use support::client::Client;
use support::log::log_of;
use support::server::{Act, Server};
use tokio::time::{Instant, sleep};
use world::relay::{Relay, settings};

use crate::hub::{With, correlated, error};
use crate::scene::{BODY, started, story};

#[test]
fn two_relays_share_the_requests_and_none_is_answered_twice() {
    let first = Server::always(Act::slow(1, "{\"from\":1}"));
    story(first, async |mut scene| {
        let second = Server::always(Act::slow(1, "{\"from\":2}"));
        let _relay = started(&scene.network, settings(&second)).await;
        for number in 0..40_u32 {
            let correlation = number.to_be_bytes();
            scene.hub.send("anthropic", BODY, correlated(&correlation));
        }
        let mut answered = BTreeSet::new();
        while let Some(answer) = scene.hub.next(Duration::from_secs(60)).await {
            assert!(answered.insert(answer.correlation), "answered twice");
        }
        assert_eq!(answered.len(), 40);
        assert_eq!((scene.server.seen().len(), second.seen().len()), (20, 20));
    });
}

/// A broker asks nobody who joins a group. mosquitto gives a member that may not read its share as well: it is lost.
#[test]
fn nobody_takes_questions_from_a_group_whose_name_they_do_not_know() {
    story(Server::always(Act::ok("{\"from\":1}")), async |mut scene| {
        scene.relay.stop().await;
        let server = Server::always(Act::ok("{\"from\":2}"));
        let mut settings = settings(&server);
        settings.group = "5ecret".into();
        let _relay = started(&scene.network, settings).await;
        let stranger = "$share/relay/hearthwave/+/llm/request/+";
        let _porch = Client::connect(scene.broker.connect(), "h", "porch", &[stranger]).await;
        for number in 0..10_u32 {
            scene.hub.send("anthropic", BODY, correlated(&number.to_be_bytes()));
        }
        let mut answered = BTreeSet::new();
        while let Some(answer) = scene.hub.next(Duration::from_secs(60)).await {
            assert!(answered.insert(answer.correlation), "answered twice");
        }
        assert_eq!(answered.len(), 10);
    });
}

/// Home Assistant shows it, and hubs can.
#[test]
fn everybody_is_told_whether_a_relay_is_there() {
    story(Server::always(Act::ok("{}")), async |scene| {
        let topic = "hearthwave/relay/availability";
        let mut person = Client::connect(scene.broker.connect(), "h", "person", &[topic]).await;
        let online = json!({ "state": "online", "services": ["anthropic", "openai", "ollama"] });
        let first = person.hears_at(topic).await;
        assert_eq!((first.json(), first.retained), (online.clone(), true));
        let mut settings = settings(&Server::always(Act::ok("{}")));
        settings.client_id = "second".into();
        let second = started(&scene.network, settings).await;
        assert_eq!(person.hears_at(topic).await.json(), online);
        // One of two leaves: the other says that it is there.
        second.stop().await;
        assert_eq!(person.hears_at(topic).await.json(), json!({ "state": "offline" }));
        assert_eq!(person.hears_at(topic).await.json(), online);
        // The last one is cut off, and the broker tells its will.
        scene.relay.kill();
        assert_eq!(person.hears_at(topic).await.json(), json!({ "state": "offline" }));
    });
}

#[test]
fn a_relay_that_is_stopped_finishes_first() {
    story(Server::doing([Act::slow(4, "{\"n\":1}"), Act::Hang]), async |mut scene| {
        scene.hub.send("ollama", BODY, With::default());
        sleep(Duration::from_millis(100)).await;
        scene.hub.send("ollama", BODY, correlated(b"2"));
        sleep(Duration::from_millis(100)).await;
        let begun = Instant::now();
        scene.relay.stop().await;
        let time = begun.elapsed();
        assert!(time >= Duration::from_secs(5) && time < Duration::from_secs(6), "{time:?}");
        let answer = scene.hub.next(Duration::from_secs(1)).await.expect("the first answer");
        assert_eq!(answer.payload, b"{\"n\":1}");
        let answer = scene.hub.next(Duration::from_secs(1)).await.expect("the second answer");
        assert_eq!(error(&answer), ("the relay was stopped before the reply came; try again".into(), None));
        // Nothing waits for it at the broker.
        scene.hub.send("ollama", BODY, correlated(b"3"));
        sleep(Duration::from_secs(1)).await;
        let mut next = settings(&scene.server);
        next.client_id = "another".into();
        let _relay = Relay::start(&scene.network, next);
        assert_eq!(scene.hub.next(Duration::from_secs(100)).await, None);
    });
}

#[test]
fn an_idle_relay_stops_at_once_and_the_other_goes_on() {
    story(Server::always(Act::ok("{\"from\":1}")), async |mut scene| {
        let second = Server::always(Act::ok("{\"from\":2}"));
        let _relay = started(&scene.network, settings(&second)).await;
        let begun = Instant::now();
        scene.relay.stop().await;
        assert!(begun.elapsed() < Duration::from_millis(100));
        for number in 0..10_u8 {
            let (answer, _) = scene.hub.ask("ollama", BODY, correlated(&[number])).await;
            assert_eq!(answer.payload, b"{\"from\":2}");
        }
    });
}

#[test]
fn a_relay_without_a_broker_can_be_stopped_and_waits_patiently() {
    story(Server::default(), async |scene| {
        scene.broker.shutdown().await;
        sleep(Duration::from_secs(600)).await;
        let warnings = log_of("").lines().filter(|line| line.starts_with("WARN relay: in-memory")).count();
        assert!(warnings <= 3, "the same again is news to nobody:\n{}", log_of(""));
        scene.relay.stop().await;
    });
}
