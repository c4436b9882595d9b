//! Several relays, and relays that leave.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::client::With;
use crate::log;
use crate::world::{BODY, Relay, settings, story};
use support::server::{Act, Server};

#[test]
fn two_relays_share_the_requests_and_none_is_answered_twice() {
    let first = Server::always(Act::slow(1, "{\"from\":1}"));
    story(first, async |mut world| {
        let second = Server::always(Act::slow(1, "{\"from\":2}"));
        let _relay = Relay::start(&world.network, settings(&second));
        tokio::time::sleep(Duration::from_secs(1)).await;
        for number in 0..40_u32 {
            let correlation = number.to_be_bytes();
            world.hub.send("anthropic", BODY, With { correlation: &correlation, ..With::default() }).await;
        }
        let mut answered = BTreeSet::new();
        while let Some(answer) = world.hub.next(Duration::from_secs(60)).await {
            assert!(answered.insert(answer.correlation), "answered twice");
        }
        assert_eq!(answered.len(), 40);
        assert_eq!((world.server.seen().len(), second.seen().len()), (20, 20));
    });
}

#[test]
fn a_relay_that_is_stopped_finishes_first() {
    story(Server::doing([Act::slow(4, "{\"n\":1}"), Act::Hang]), async |mut world| {
        world.hub.send("ollama", BODY, With::default()).await;
        tokio::time::sleep(Duration::from_millis(100)).await;
        world.hub.send("ollama", BODY, With { correlation: b"2", ..With::default() }).await;
        tokio::time::sleep(Duration::from_millis(100)).await;
        let begun = tokio::time::Instant::now();
        world.relay.stop().await;
        let time = begun.elapsed();
        assert!(time >= Duration::from_secs(5) && time < Duration::from_secs(6), "{time:?}");
        let answer = world.hub.next(Duration::from_secs(1)).await.expect("the first answer");
        assert_eq!(answer.payload, b"{\"n\":1}");
        let answer = world.hub.next(Duration::from_secs(1)).await.expect("the second answer");
        assert_eq!(answer.error(), ("the relay was stopped before the reply came; try again".into(), None));
        // Nothing waits for it at the broker.
        world.hub.send("ollama", BODY, With { correlation: b"3", ..With::default() }).await;
        tokio::time::sleep(Duration::from_secs(1)).await;
        let mut next = settings(&world.server);
        next.client_id = "another".into();
        let _relay = Relay::start(&world.network, next);
        assert_eq!(world.hub.next(Duration::from_secs(100)).await, None);
    });
}

#[test]
fn an_idle_relay_stops_at_once_and_the_other_goes_on() {
    story(Server::always(Act::ok("{\"from\":1}")), async |mut world| {
        let second = Server::always(Act::ok("{\"from\":2}"));
        let _relay = Relay::start(&world.network, settings(&second));
        tokio::time::sleep(Duration::from_secs(1)).await;
        let begun = tokio::time::Instant::now();
        world.relay.stop().await;
        assert!(begun.elapsed() < Duration::from_millis(100));
        for number in 0..10_u8 {
            let (answer, _) =
                world.hub.ask("ollama", BODY, With { correlation: &[number], ..With::default() }).await;
            assert_eq!(answer.payload, b"{\"from\":2}");
        }
    });
}

#[test]
fn a_relay_without_a_broker_can_be_stopped_and_waits_patiently() {
    story(Server::default(), async |world| {
        world.broker.shutdown().await;
        tokio::time::sleep(Duration::from_secs(600)).await;
        let warnings = log::text().lines().filter(|line| line.starts_with("WARN relay: in-memory")).count();
        assert!(warnings <= 3, "the same again is news to nobody:\n{}", log::text());
        world.relay.stop().await;
    });
}
