//! Requests that succeed.

use std::time::Duration;

use host_relay::{Models, Provider, Settings};
use support::client::QoS;
use support::log::log_of;
use support::server::{Act, Server};
use world::relay::KEY;

use crate::hub::{With, correlated, error};
use crate::scene::{BODY, logged_requests, reply, started, story};

#[test]
fn bodies_pass_as_they_are_and_keys_are_added() {
    for (service, path, header) in [
        (Provider::Anthropic, "POST /v1/messages ", "\r\nx-api-key: sk-very-secret-7\r\n"),
        (Provider::OpenAi, "POST /v1/chat/completions ", "\r\nauthorization: Bearer sk-very-secret-7\r\n"),
        (Provider::Ollama, "POST /api/chat ", "\r\nhost: server.test\r\n"),
    ] {
        story(Server::always(Act::ok(reply(service))), async |mut scene| {
            for qos in [QoS::AtLeastOnce, QoS::ExactlyOnce] {
                let with = With { qos, correlation: b"\x00\xff", ..With::default() };
                let (answer, _) = scene.hub.ask(service.name(), BODY, with).await;
                assert_eq!(answer.topic, "hearthwave/kitchen/llm/response");
                assert_eq!(answer.correlation.as_deref(), Some(&b"\x00\xff"[..]));
                assert_eq!(answer.payload, reply(service).as_bytes());
            }
            // The second counts as a repeat of the first.
            let seen = scene.server.seen();
            assert_eq!(seen.len(), 1);
            let seen = &seen[0];
            assert_eq!(seen.body, BODY.as_bytes());
            assert!(seen.head.starts_with(path), "{}", seen.head);
            assert!(seen.head.contains(header), "{}", seen.head);
            let version = seen.head.contains("\r\nanthropic-version: 2023-06-01\r\n");
            assert_eq!(version, service == Provider::Anthropic);
            assert_eq!(seen.head.contains(KEY), service != Provider::Ollama);
            assert!(seen.head.contains("\r\ncontent-type: application/json\r\n"), "{}", seen.head);
        });
    }
}

#[test]
fn the_log_has_a_line_for_each_request_and_no_secrets() {
    let wrong_key = format!(r#"{{"error":{{"message":"the key {KEY} is wrong"}}}}"#);
    let acts = [Act::slow(2, reply(Provider::OpenAi)), Act::status(401, &wrong_key)];
    story(Server::doing(acts), async |mut scene| {
        scene.hub.ask("openai", BODY, With::default()).await;
        let (answer, _) = scene.hub.ask("openai", BODY, correlated(b"2")).await;
        assert_eq!(error(&answer), ("the key [key] is wrong".into(), Some(401)));
        let requests = logged_requests();
        assert_eq!(requests.len(), 2, "{requests:?}");
        let expected = "INFO relay: kitchen asked openai (best-1): 200 after 2000 ms, 12 tokens in, 3 out";
        assert_eq!(requests[0], expected);
        assert_eq!(
            requests[1],
            "WARN relay: kitchen asked openai (best-1): after 0 ms: refused with 401; check the key"
        );
        let text = log_of("");
        for secret in [KEY, "grüezi", "is wrong"] {
            assert!(!text.contains(secret), "{secret} is in the log:\n{text}");
        }
    });
}

#[test]
fn many_requests_are_with_the_service_at_once_but_not_too_many() {
    story(Server::always(Act::slow(3, "{}")), async |mut scene| {
        for number in 0..100_u32 {
            let correlation = number.to_be_bytes();
            scene.hub.send("ollama", BODY, correlated(&correlation));
        }
        let mut answered = std::collections::BTreeSet::new();
        for _ in 0..100 {
            let answer = scene.hub.next(Duration::from_secs(30)).await.expect("an answer");
            assert_eq!(answer.payload, b"{}");
            assert!(answered.insert(answer.correlation), "answered twice");
        }
        assert_eq!(scene.server.most_at_once(), 32);
        assert_eq!(scene.hub.next(Duration::from_secs(60)).await, None);
    });
}

#[test]
fn connections_are_used_again() {
    story(Server::always(Act::ok("{}")), async |mut scene| {
        for number in 0..3_u8 {
            scene.hub.ask("ollama", BODY, correlated(&[number])).await;
        }
        assert_eq!((scene.server.seen().len(), scene.server.connections()), (3, 1));
    });
}

#[test]
fn the_demo_model_answers_as_each_service_would() {
    story(Server::default(), async |mut scene| {
        scene.relay.stop().await;
        let _relay = started(&scene.network, Settings::in_memory(Models::demo())).await;
        let body = r#"{"model":"any","messages":[{"role":"user","content":"who are you"}]}"#;
        for (service, place) in [
            ("anthropic", "/content/0/text"),
            ("openai", "/choices/0/message/content"),
            ("ollama", "/message/content"),
        ] {
            let (answer, _) = scene.hub.ask(service, body, With::default()).await;
            let answer = answer.json();
            let words = answer.pointer(place).and_then(|words| words.as_str()).expect("words");
            assert!(words.starts_with("I am the demo model"), "{words}");
        }
        let requests = logged_requests();
        assert!(
            requests[0].contains("kitchen asked anthropic (any): 200 after 0 ms, 17 tokens in, "),
            "{requests:?}"
        );
        let (answer, _) = scene.hub.ask("openai", "nonsense", With::default()).await;
        assert_eq!(error(&answer).1, Some(400));
    });
}
