//! Servers that fail for a while, and for ever.

use std::time::Duration;

use host_relay::Provider;
use support::server::{Act, Server};

use crate::hub::{With, error};
use crate::scene::{BODY, logged_requests, reply, story};

const BUSY: &str = r#"{"error":{"type":"overloaded_error","message":"Overloaded, sorry"}}"#;

fn after(status: u16, header: &str) -> Act {
    Act::Reply(status, format!("{header}\r\n"), BUSY.into())
}

#[test]
fn a_server_that_says_when_is_asked_again_then() {
    for service in Provider::ALL {
        let acts = [after(429, "retry-after: 7"), Act::ok(reply(service))];
        story(Server::doing(acts), async |mut scene| {
            let (answer, time) = scene.hub.ask(service.name(), BODY, With::default()).await;
            assert_eq!(answer.payload, reply(service).as_bytes());
            assert_eq!(time.as_secs(), 7, "{time:?}");
            let seen = scene.server.seen();
            assert_eq!(seen.len(), 2);
            assert_eq!(seen[0].body, seen[1].body);
            assert!(logged_requests()[0].ends_with(", 1 retry"), "{:?}", logged_requests());
        });
    }
}

#[test]
fn troubles_that_pass() {
    let troubles = [after(500, ""), after(503, ""), after(529, ""), Act::Close, Act::ok("{}")];
    // An empty header line would end the headers.
    let troubles = troubles.map(|act| match act {
        Act::Reply(status, _, body) => Act::Reply(status, String::new(), body),
        other => other,
    });
    story(Server::doing(troubles), async |mut scene| {
        let (answer, time) = scene.hub.ask("anthropic", BODY, With::default()).await;
        assert_eq!(answer.payload, b"{}");
        // 0.5, 1, 2 and 4 s, each shortened by chance by up to a half.
        assert!(time >= Duration::from_millis(3750) && time <= Duration::from_millis(7500), "{time:?}");
        assert_eq!(scene.server.seen().len(), 5);
    });
}

#[test]
fn a_server_that_never_recovers_is_given_up_in_its_own_words() {
    for service in Provider::ALL {
        story(Server::always(Act::status(500, BUSY)), async |mut scene| {
            let (answer, time) = scene.hub.ask(service.name(), BODY, With::default()).await;
            assert_eq!(error(&answer), ("Overloaded, sorry".into(), Some(500)));
            assert!(time < Duration::from_secs(16), "{time:?}");
            assert_eq!(scene.server.seen().len(), 6);
        });
    }
}

#[test]
fn nobody_waits_for_a_server_longer_than_the_hub_does() {
    let acts = [after(429, "retry-after: 120")];
    story(Server::doing(acts), async |mut scene| {
        let (answer, time) = scene.hub.ask("openai", BODY, With::default()).await;
        assert_eq!(error(&answer), ("Overloaded, sorry".into(), Some(429)));
        assert!(time < Duration::from_secs(1), "there is no point in waiting: {time:?}");
        assert_eq!(scene.server.seen().len(), 1);
    });
    story(Server::always(Act::status(503, BUSY)), async |mut scene| {
        let with = With { deadline_ms: Some("2000"), ..With::default() };
        let (answer, time) = scene.hub.ask("openai", BODY, with).await;
        assert_eq!(error(&answer).1, Some(503));
        assert!(time < Duration::from_secs(2), "{time:?}");
    });
}

#[test]
fn what_does_not_pass_is_not_repeated() {
    let quota = r#"{"error":{"message":"You exceeded your current quota","code":"insufficient_quota"}}"#;
    for (act, status) in [
        (Act::status(400, BUSY), 400),
        (Act::status(401, BUSY), 401),
        (Act::status(404, BUSY), 404),
        (Act::status(301, "location: elsewhere"), 301),
        (Act::status(429, quota), 429),
        (after(500, "x-should-retry: false"), 500),
    ] {
        story(Server::always(act), async |mut scene| {
            let (answer, _) = scene.hub.ask("openai", BODY, With::default()).await;
            assert_eq!(error(&answer).1, Some(status));
            assert_eq!(scene.server.seen().len(), 1, "{status}");
        });
    }
}
