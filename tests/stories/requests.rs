//! Requests to the hub, valid and hostile.

use host_broker::{Options, Server};
use host_sim::network::Network;
use host_zwave::Home;
use tokio::task::JoinSet;
use world::prelude::*;

const QUALITIES: [QoS; 3] = [QoS::AtMostOnce, QoS::AtLeastOnce, QoS::ExactlyOnce];

#[test]
fn an_echo_comes_back_by_response_topic_and_correlation_data() {
    story(async |world| {
        let mut person = world.person("ann").await;
        for qos in QUALITIES {
            let correlation = [0, 255, qos as u8];
            let echo = br#" {"name":"echo","arguments":{"n":[1.50,"\u00e9",null]}} "#;
            let request = person.request("tool/call", echo).qos(qos);
            person.publish(request.reply_to("reply/to/ann").correlation(&correlation));
            let reply = person.hears_at("reply/to/ann").await;
            assert_eq!(reply.correlation.as_deref(), Some(&correlation[..]));
            assert!(!reply.retained);
            let reply = reply.json();
            assert_eq!(reply["success"], true);
            assert_eq!(reply["result"], json!({ "echo": { "n": [1.50, "é", null] } }));
            assert_eq!(reply["tool_name"], "echo");
            assert!(reply["execution_time_ms"].is_u64());
        }
    });
}

#[test]
fn without_a_response_topic_the_reply_has_its_usual_place() {
    story(async |world| {
        let mut person = world.person("ann").await;
        person.publish(person.request("tool/call", br#"{"name":"echo","transaction":{"id":[1,2]}}"#));
        let reply = person.hears("response/tool/call").await;
        assert_eq!(reply.correlation, None);
        assert_eq!(reply.json()["result"], json!({ "echo": {} }));
        assert_eq!(reply.json()["transaction"], json!({ "id": [1, 2] }));
    });
}

#[test]
fn every_bad_request_gets_one_clear_error_and_the_hub_goes_on() {
    let large = format!(r#"{{"name":"echo","arguments":{{"x":"{}"}}}}"#, "x".repeat(100_000));
    let just_too_large = format!(r#"{{"name":"echo","arguments":{{"x":"{}"}}}}"#, "x".repeat(4096));
    let long_name = format!(r#"{{"name":"{}"}}"#, "n".repeat(4000));
    let deep = format!(r#"{{"name":"echo","arguments":{}}}"#, "[".repeat(2000));
    let long_transaction = format!(r#"{{"name":"echo","transaction":"{}"}}"#, "t".repeat(200));
    let cases: &[(&str, &[u8], &str, &str)] = &[
        ("tool/call", b"", "invalid_json", "The request is empty; it must be a JSON object"),
        ("chat", b" \r\n", "invalid_json", "The request is empty; it must be a JSON object"),
        ("tool/call", b"hello", "invalid_json", "byte 0"),
        ("tool/call", b"{\"name\":\"echo\"", "invalid_json", "ends too early"),
        ("tool/call", b"{\"name\":\"echo\"} x", "invalid_json", "byte 16"),
        ("tool/call", b"{\"name\":\"ec\xffho\"}", "invalid_json", "not UTF-8 at byte 11"),
        ("tool/call", deep.as_bytes(), "invalid_json", "nested deeper"),
        ("tool/call", b"[]", "invalid_request", "object"),
        ("tool/call", b"{}", "invalid_request", "'name'"),
        ("tool/call", b"{\"name\":7}", "invalid_request", "'name'"),
        ("tool/call", b"{\"name\":\"echo\",\"arguments\":[1]}", "invalid_request", "'arguments'"),
        (
            "tool/call",
            long_name.as_bytes(),
            "invalid_request",
            "'name' is too long; a tool's name has at most 64",
        ),
        ("tool/call", b"{\"name\":\"nope\"}", "unavailable", "Tool 'nope' not found among the hub's own"),
        ("tool/call", long_transaction.as_bytes(), "invalid_request", "'transaction'"),
        ("tool/call", large.as_bytes(), "too_large", "100036 bytes; at most 4096"),
        ("tool/call", just_too_large.as_bytes(), "too_large", "at most 4096"),
        (
            "tool/fly",
            b"{}",
            "unknown_request",
            "Unknown request 'tool/fly'; the hub answers: chat, transcript, ",
        ),
        ("a/b/c/d/e/f/g", b"{}", "unknown_request", "Unknown request"),
    ];
    story(async |world| {
        let mut person = world.person("mallory").await;
        for (name, payload, error_type, words) in cases {
            for qos in QUALITIES {
                person.publish(person.request(name, payload).reply_to("reply/bad").qos(qos));
                let reply = person.hears_at("reply/bad").await.json();
                assert_refused(&reply, error_type, words);
                person.gets_an_echo().await;
            }
        }
        assert!(person.hears_all_at("reply/bad").await.is_empty(), "a second answer");
        assert_eq!(world.dials(), 1, "the hub lost its connection over it");
    });
}

#[test]
fn a_way_back_that_cannot_be_gone_is_refused_where_the_caller_can_hear_it() {
    let long = "r/".repeat(100);
    let usual = "hearthwave/story/response/tool/call";
    let cases = [
        (long.as_str(), None, usual, "at most 128"),
        (long.as_str(), Some(&[7; 65]), usual, "at most 128"),
        ("reply/x", Some(&[7; 65]), "reply/x", "at most 64 bytes are possible, so this reply has none"),
        // On these the hub speaks for itself: whoever may not must not do it through the hub.
        ("hearthwave/story/request/approve", None, usual, "The Response Topic is the hub's own"),
        ("hearthwave/story/device/5-0", None, usual, "The Response Topic is the hub's own"),
        ("hearthwave/story", None, usual, "The Response Topic is the hub's own"),
        ("homeassistant/device/story/config", None, usual, "The Response Topic is the hub's own"),
        ("hearthwave/story/speech", Some(&[7; 65]), usual, "at most 64 bytes"),
    ];
    story(async |world| {
        let mut person = world.person("mallory").await;
        for (response, correlation, place, words) in cases {
            let request = person.request("tool/call", br#"{"name":"echo","transaction":"t"}"#);
            let request = request.reply_to(response);
            person.publish(match correlation {
                Some(data) => request.correlation(data),
                None => request,
            });
            let reply = person.hears_at(place).await;
            assert_eq!(reply.correlation, None);
            assert_refused(&reply.json(), "invalid_request", words);
            assert_eq!(reply.json()["transaction"], "t");
            person.gets_an_echo().await;
        }
        for place in
            ["hearthwave/story/reply/ann/1", "hearthwave/story/response/mine", "hearthwave/story2/speech"]
        {
            let mut other = world.client("ann", &[place]).await;
            other.publish(other.request("tool/call", br#"{"name":"echo"}"#).reply_to(place));
            assert_eq!(other.hears_at(place).await.json()["success"], true);
        }
        assert_eq!(world.dials(), 1, "the hub lost its connection over it");
    });
}

#[test]
fn a_message_that_is_all_topic_or_all_properties_does_no_harm() {
    let mut options = Options::default();
    options.limits.topic_length = 65_535;
    Setup::new().broker(options).story(async |world| {
        let mut person = world.person("mallory").await;
        let long_topic = "x".repeat(60_000);
        let long_response = "r".repeat(30_000);
        for qos in QUALITIES {
            // No reply can be published on such a topic.
            person.publish(person.request(&long_topic, [b' '; 9000]).qos(qos));
            person.publish(person.request("tool/call", b"{}").reply_to(&long_response).qos(qos));
            assert_refused(&person.result().await, "too_large", "");
            person.gets_an_echo().await;
        }
        assert_eq!(world.dials(), 1, "the hub lost its connection over it");
    });
    assert_logged_times(3, "cannot be a request");
}

#[test]
fn a_retained_request_is_run_when_it_is_made_and_never_again() {
    story(async |world| {
        let mut person = world.person("ann").await;
        let request = person.request("tool/call", br#"{"name":"echo","transaction":"kept"}"#);
        person.publish(request.reply_to("reply/kept").retained());
        person.hears_at("reply/kept").await;
        sleep(Duration::from_secs(1)).await;
        world.broker().forget_session(CLIENT);
        person.sees_online().await;
        assert!(person.hears_all_at("reply/kept").await.is_empty(), "it ran again after a reconnect");
    });
}

#[test]
fn a_flood_gets_an_answer_each() {
    const MANY: usize = 300;
    story(async |world| {
        let mut person = world.person("ann").await;
        for number in 0..MANY {
            let payload = format!(
                r#"{{"name":"echo","transaction":{number},"arguments":{{"x":"{}"}}}}"#,
                "x".repeat(number)
            );
            person.publish(person.request("tool/call", payload).reply_to("reply/flood"));
        }
        let replies = person.hears_all_at("reply/flood").await;
        let mut answered: Vec<_> =
            replies.iter().map(|reply| reply.json()["transaction"].as_u64().unwrap()).collect();
        answered.sort_unstable();
        assert_eq!(answered, (0..MANY as u64).collect::<Vec<_>>());
        let busy = |reply: &Value| reply["error_type"] == "busy";
        assert!(replies.iter().all(|reply| reply.json()["success"] == true || busy(&reply.json())));
        person.gets_an_echo().await;
    });
}

#[test]
fn many_hubs_live_in_one_process() {
    world::in_virtual_time(async {
        let broker = Server::start(Options::default());
        let mut hubs = JoinSet::new();
        for number in 0..25 {
            let hub = Setup::new().hub(|hub| hub.hub_id = format!("hub-{number}")).seed(number);
            let hub = hub.home(&Home::default()).network(Network::Memory(broker.clone()));
            hubs.spawn_local(hub.tell(async move |world| {
                let reply = world.ask("tool/call", json!({ "name": "echo", "arguments": { "hub": number } }));
                assert_eq!(reply.await["result"]["echo"]["hub"], number);
            }));
        }
        hubs.join_all().await;
    });
}

#[test]
fn every_executed_call_is_told() {
    story(async |world| {
        let mut person = world.person("ann").await;
        person.calls("hub_echo", json!({}));
        let event = person.hears("event/tool").await.json();
        assert_eq!(
            event,
            json!({ "name": "hub_echo", "success": true, "execution_time_ms": 0, "slow": false })
        );
        person.calls("volume", json!({ "level": "loud" }));
        let event = person.hears("event/tool").await.json();
        assert_eq!(event["success"], false);
    });
}
