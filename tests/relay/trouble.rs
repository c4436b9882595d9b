//! Servers, hubs and brokers that misbehave.

use std::time::Duration;

use host_relay::{Http, Provider};
use support::client::{Publish, QoS};
use support::log::log_of;
use support::server::{Act, Server};
use tokio::time::sleep;
use world::relay::settings;

use crate::hub::{With, correlated, error};
use crate::scene::{BODY, reply, started, story};

#[test]
fn a_server_that_says_nothing_is_given_up_before_the_hub_does() {
    for (with, seconds) in [
        (With::default(), 59),
        (With { deadline_ms: Some("8000"), ..With::default() }, 7),
        (With { expiry: Some(20), ..With::default() }, 19),
        (With { expiry: Some(20), deadline_ms: Some("5000"), ..With::default() }, 4),
        (With { deadline_ms: Some("soon"), ..With::default() }, 59),
        (With { deadline_ms: Some("99999999999"), ..With::default() }, 599),
    ] {
        story(Server::always(Act::Hang), async |mut scene| {
            let (answer, time) = scene.hub.ask("anthropic", BODY, with).await;
            assert_eq!(time.as_secs(), seconds, "{with:?}");
            assert_eq!(error(&answer), (format!("no reply from anthropic within {seconds}.5 s"), None));
            assert_eq!(scene.server.seen().len(), 1);
        });
    }
}

#[test]
fn a_reply_that_breaks_off_is_not_asked_for_again() {
    let head = "HTTP/1.1 200 OK\r\ncontent-length: 900\r\n\r\n{\"content\":";
    let chunked = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nb\r\n{\"content\":\r\n5\r\n[";
    for (raw, bytes) in [(head, 11), (chunked, 11)] {
        for service in Provider::ALL {
            story(Server::always(Act::Raw(raw.into())), async |mut scene| {
                let (answer, _) = scene.hub.ask(service.name(), BODY, With::default()).await;
                let (message, status) = error(&answer);
                let expected = format!("the reply of {} broke off after {bytes}", service.name());
                assert!(
                    message.starts_with(&expected) || message.contains("broke off after 12"),
                    "{message}"
                );
                assert_eq!((status, scene.server.seen().len()), (None, 1));
            });
        }
    }
}

#[test]
fn nonsense_is_called_so() {
    let stream = "{\"message\":{\"content\":\"h\"}}\n{\"message\":{\"content\":\"i\"}}\n";
    let is_stream = "a stream; set \"stream\" to false in the request";
    for (nonsense, what) in [
        (stream, is_stream),
        ("data: {}\n\n", is_stream),
        ("event: message_start\ndata: {}\n\n", is_stream),
        ("", "empty"),
        ("\n", "empty"),
        ("<!DOCTYPE html><p>Log in", "a web page; check the address"),
        ("hello", "not a JSON object"),
        ("[1]", "not a JSON object"),
        ("{\"a\":", "not a JSON object"),
    ] {
        story(Server::always(Act::ok(nonsense)), async |mut scene| {
            let (answer, _) = scene.hub.ask("ollama", BODY, With::default()).await;
            let (message, status) = error(&answer);
            assert_eq!((message, status), (format!("the reply of ollama is {what}"), Some(200)));
        });
    }
    story(Server::always(Act::Raw(b"SSH-2.0-OpenSSH_9.2\r\n".to_vec())), async |mut scene| {
        let (answer, _) = scene.hub.ask("ollama", BODY, With::default()).await;
        let (message, status) = error(&answer);
        assert!(message.starts_with("cannot reach ollama at server.test: "), "{message}");
        assert_eq!(status, None);
    });
}

#[test]
fn a_reply_is_no_larger_than_the_hub_takes() {
    let reply = |size: usize| format!("{{\"text\":\"{}\"}}", "x".repeat(size - 11));
    for service in Provider::ALL {
        let acts = [7168, 7169, 12_000, 12_001].map(|size| Act::ok(&reply(size)));
        story(Server::doing(acts), async |mut scene| {
            let name = service.name();
            let (answer, _) = scene.hub.ask(name, BODY, With::default()).await;
            assert_eq!(answer.payload.len(), 7168);
            let (answer, _) = scene.hub.ask(name, BODY, correlated(b"2")).await;
            let expected = format!("the reply of {name} has 7169 bytes; the hub takes at most 7168");
            assert_eq!(error(&answer), (expected, None));
            scene.hub.announce(r#"{"limits":{"llm_reply":12000}}"#);
            let (answer, _) = scene.hub.ask(name, BODY, correlated(b"3")).await;
            assert_eq!(answer.payload.len(), 12_000);
            let (answer, _) = scene.hub.ask(name, BODY, correlated(b"4")).await;
            let expected = format!("the reply of {name} has 12001 bytes; the hub takes at most 12000");
            assert_eq!(error(&answer), (expected, None));
        });
    }
}

#[test]
fn a_relay_that_starts_later_knows_what_a_hub_takes() {
    story(Server::always(Act::ok(&format!("{{\"a\":\"{}\"}}", "x".repeat(9000)))), async |mut scene| {
        scene.hub.announce(r#"{"limits":{"llm_reply":20000}}"#);
        scene.relay.stop().await;
        let _relay = started(&scene.network, settings(&scene.server)).await;
        let (answer, _) = scene.hub.ask("ollama", BODY, With::default()).await;
        assert_eq!(answer.payload.len(), 9008);
    });
}

#[test]
fn floods_are_counted_and_not_kept() {
    let flood = vec![b' '; 3 * 1024 * 1024];
    let mut endless = b"HTTP/1.1 200 OK\r\n\r\n".to_vec();
    endless.extend_from_slice(&flood);
    for act in [Act::Reply(200, String::new(), flood), Act::Raw(endless)] {
        story(Server::always(act), async |mut scene| {
            let (answer, _) = scene.hub.ask("openai", BODY, With::default()).await;
            let expected = "the reply of openai has 3145728 bytes; the hub takes at most 7168";
            assert_eq!(error(&answer), (expected.into(), None));
        });
    }
}

#[test]
fn a_request_that_comes_again_is_asked_once() {
    story(Server::always(Act::slow(5, reply(Provider::OpenAi))), async |mut scene| {
        // A hub that lost an acknowledgement sends the request again.
        let with = With { qos: QoS::AtLeastOnce, ..With::default() };
        scene.hub.send("openai", BODY, with);
        sleep(Duration::from_secs(1)).await;
        scene.hub.send("openai", BODY, with);
        let answer = scene.hub.next(Duration::from_secs(30)).await.expect("an answer");
        assert_eq!(answer.payload, reply(Provider::OpenAi).as_bytes());
        assert_eq!(scene.hub.next(Duration::from_secs(30)).await, None, "one answer");
        assert_eq!(scene.server.seen().len(), 1);
        // A minute later it counts as a new one, as with other Correlation Data or another body.
        sleep(Duration::from_secs(31)).await;
        scene.hub.ask("openai", BODY, with).await;
        scene.hub.ask("openai", BODY, With { correlation: b"2", ..with }).await;
        scene.hub.ask("openai", "{}", with).await;
        assert_eq!(scene.server.seen().len(), 4);
    });
}

#[test]
fn the_broker_delivers_a_request_again() {
    story(Server::always(Act::slow(3, "{}")), async |mut scene| {
        assert!(scene.broker.cut_after_next_delivery(&scene.relay.settings.client_id));
        let with = With { qos: QoS::AtLeastOnce, ..With::default() };
        let (answer, _) = scene.hub.ask("openai", BODY, with).await;
        assert_eq!(answer.payload, b"{}");
        assert_eq!(scene.hub.next(Duration::from_secs(60)).await, None);
        assert_eq!(scene.server.seen().len(), 1);
    });
}

#[test]
fn the_broker_drops_the_relay_while_it_works() {
    for forgets in [false, true] {
        story(Server::always(Act::slow(10, "{}")), async |mut scene| {
            scene.hub.send("openai", BODY, With::default());
            sleep(Duration::from_secs(1)).await;
            let id = &scene.relay.settings.client_id;
            assert!(if forgets { scene.broker.forget_session(id) } else { scene.broker.kick(id) });
            let answer = scene.hub.next(Duration::from_secs(30)).await.expect("an answer");
            assert_eq!(answer.payload, b"{}");
            // It is reached again for the next one.
            let (answer, _) = scene.hub.ask("openai", BODY, correlated(b"2")).await;
            assert_eq!(answer.payload, b"{}");
            assert_eq!(scene.hub.next(Duration::from_secs(60)).await, None);
        });
    }
}

#[test]
fn requests_that_nobody_can_serve() {
    story(Server::always(Act::ok("{}")), async |mut scene| {
        let (answer, _) = scene.hub.ask("parrot", BODY, With::default()).await;
        let expected = "this relay does not serve 'parrot'; it serves anthropic, openai, ollama: change the hub's rule, or the relay";
        assert_eq!(error(&answer), (expected.into(), None));
        // Without a Response Topic, or with one that would cause an endless loop, there is no answer.
        let topic = "hearthwave/kitchen/llm/request/openai";
        scene.hub.publish(Publish::new(topic, BODY));
        scene.hub.publish(Publish::new(topic, BODY).reply_to(topic));
        assert_eq!(scene.hub.next(Duration::from_secs(60)).await, None);
        assert_eq!(scene.server.seen().len(), 0);
        assert!(log_of("").contains("dropped: it has no Response Topic"), "{}", log_of(""));
        // A body that is not JSON is forwarded as it is.
        let (answer, _) = scene.hub.ask("openai", "hello", With::default()).await;
        assert_eq!(answer.payload, b"{}");
    });
}

#[test]
fn a_server_that_is_not_there() {
    story(Server::default(), async |scene| {
        let mut scene = scene;
        scene.relay.stop().await;
        let mut settings = settings(&scene.server);
        settings.http = Http::in_memory(|_| Err(std::io::ErrorKind::ConnectionRefused.into()));
        let _relay = started(&scene.network, settings).await;
        let (answer, time) = scene.hub.ask("ollama", BODY, With::default()).await;
        let expected = "cannot reach ollama at server.test: connection refused; is it running?";
        assert_eq!(error(&answer), (expected.into(), None));
        assert!(time > Duration::from_secs(7) && time < Duration::from_secs(16), "{time:?}");
    });
}
