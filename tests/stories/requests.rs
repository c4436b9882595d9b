//! People ask the hub for something, in good faith or bad.

use host_sim::broker::Options;
use minimq::QoS;
use serde_json::{Value, json};
use tokio::time::{Duration, sleep};

use crate::world::{Request, World};

#[tokio::test(start_paused = true)]
async fn an_echo_comes_back_by_response_topic_and_correlation_data() {
    let world = World::new();
    world
        .tell(async {
            let mut person = world.person("ann").await;
            person.sees_online().await;
            for qos in [QoS::AtMostOnce, QoS::AtLeastOnce, QoS::ExactlyOnce] {
                person.asks(Request {
                    response: Some("reply/to/ann"),
                    correlation: Some(&[0, 255, qos as u8]),
                    qos,
                    ..Request::new(
                        "tool/call",
                        br#" {"name":"echo","arguments":{"n":[1.50,"\u00e9",null]}} "#,
                    )
                });
                let reply = person.hears("reply/to/ann").await;
                assert_eq!(reply.correlation.as_deref(), Some(&[0, 255, qos as u8][..]));
                assert!(!reply.retained);
                let reply = reply.json();
                assert_eq!(reply["success"], true);
                assert_eq!(reply["result"], json!({ "echo": { "n": [1.50, "é", null] } }));
                assert_eq!(reply["tool_name"], "echo");
                assert!(reply["execution_time_ms"].is_u64());
            }
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn without_a_response_topic_the_reply_has_its_usual_place() {
    let world = World::new();
    world
        .tell(async {
            let mut person = world.person("ann").await;
            person.sees_online().await;
            person.asks(Request::new("tool/call", br#"{"name":"echo","transaction":{"id":[1,2]}}"#));
            let reply = person.hears("hearthwave/story/response/tool/call").await;
            assert_eq!(reply.correlation, None);
            assert_eq!(reply.json()["result"], json!({ "echo": {} }));
            assert_eq!(reply.json()["transaction"], json!({ "id": [1, 2] }));
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn every_bad_request_gets_one_clear_error_and_the_hub_goes_on() {
    let large = format!(r#"{{"name":"echo","arguments":{{"x":"{}"}}}}"#, "x".repeat(100_000));
    let just_too_large = format!(r#"{{"name":"echo","arguments":{{"x":"{}"}}}}"#, "x".repeat(4096));
    let long_name = format!(r#"{{"name":"{}"}}"#, "n".repeat(4000));
    let deep = format!(r#"{{"name":"echo","arguments":{}}}"#, "[".repeat(2000));
    let long_transaction = format!(r#"{{"name":"echo","transaction":"{}"}}"#, "t".repeat(200));
    let cases: &[(&str, &[u8], &str, &str)] = &[
        ("tool/call", b"", "invalid_json", "byte 0"),
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
        ("tool/call", b"{\"name\":\"nope\"}", "not_found", "Tool 'nope' not found"),
        ("tool/call", long_transaction.as_bytes(), "invalid_request", "'transaction'"),
        ("tool/call", large.as_bytes(), "too_large", "100036 bytes; at most 4096"),
        ("tool/call", just_too_large.as_bytes(), "too_large", "at most 4096"),
        ("tool/fly", b"{}", "unknown_request", "Unknown request"),
        ("a/b/c/d/e/f/g", b"{}", "unknown_request", "Unknown request"),
    ];
    let world = World::new();
    world
        .tell(async {
            let mut person = world.person("mallory").await;
            person.sees_online().await;
            for (name, payload, error_type, words) in cases {
                for qos in [QoS::AtMostOnce, QoS::AtLeastOnce, QoS::ExactlyOnce] {
                    person.asks(Request { response: Some("reply/bad"), qos, ..Request::new(name, payload) });
                    let reply = person.hears("reply/bad").await.json();
                    assert_eq!(reply["success"], false, "{reply}");
                    assert_eq!(reply["error_type"], *error_type, "{reply}");
                    assert!(reply["error"].as_str().unwrap().contains(words), "{words:?} not in {reply}");
                    person.gets_an_echo().await;
                }
            }
            assert!(person.hears_all("reply/bad").await.is_empty(), "a second answer");
        })
        .await;
    assert_eq!(world.dials.borrow().len(), 1, "the hub lost its connection over it");
}

#[tokio::test(start_paused = true)]
async fn a_way_back_that_cannot_be_gone_is_refused_in_the_usual_place() {
    let long = "r/".repeat(100);
    let cases: &[(&str, Option<&[u8]>, &str)] =
        &[(&long, None, "at most 128"), ("reply/x", Some(&[7; 65]), "at most 64")];
    let world = World::new();
    world
        .tell(async {
            let mut person = world.person("mallory").await;
            person.sees_online().await;
            for (response, correlation, words) in cases {
                let payload = br#"{"name":"echo","transaction":"t"}"#;
                let request = Request {
                    response: Some(response),
                    correlation: *correlation,
                    ..Request::new("tool/call", payload)
                };
                person.asks(request);
                let reply = person.hears("hearthwave/story/response/tool/call").await.json();
                assert!(reply["error"].as_str().unwrap().contains(words), "{reply}");
                assert_eq!(reply["transaction"], "t");
                person.gets_an_echo().await;
            }
        })
        .await;
    assert_eq!(world.dials.borrow().len(), 1, "the hub lost its connection over it");
}

#[tokio::test(start_paused = true)]
async fn a_message_that_is_all_topic_or_all_properties_does_no_harm() {
    let mut options = Options::default();
    options.limits.topic_length = 65_535;
    let world = World::with(options);
    world
        .tell(async {
            let mut person = world.person("mallory").await;
            person.sees_online().await;
            let long_topic = "x".repeat(60_000);
            let long_response = "r".repeat(30_000);
            for qos in [QoS::AtMostOnce, QoS::AtLeastOnce, QoS::ExactlyOnce] {
                // Nobody could be answered on such a topic.
                person.asks(Request { qos, ..Request::new(&long_topic, &[b' '; 9000]) });
                person.asks(Request {
                    qos,
                    response: Some(&long_response),
                    ..Request::new("tool/call", b"{}")
                });
                let reply = person.hears("hearthwave/story/response/tool/call").await.json();
                assert_eq!(reply["error_type"], "too_large", "{reply}");
                person.gets_an_echo().await;
            }
        })
        .await;
    assert_eq!(world.dials.borrow().len(), 1, "the hub lost its connection over it");
    assert_eq!(crate::world::log_text().matches("cannot be a request").count(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_retained_request_is_run_when_it_is_made_and_never_again() {
    let world = World::new();
    world
        .tell(async {
            let mut person = world.person("ann").await;
            person.sees_online().await;
            let payload = br#"{"name":"echo","transaction":"kept"}"#;
            person.asks(Request {
                response: Some("reply/kept"),
                retain: true,
                ..Request::new("tool/call", payload)
            });
            person.hears("reply/kept").await;
            sleep(Duration::from_secs(1)).await;
            world.server().forget_session(crate::world::CLIENT);
            person.sees_online().await;
            assert!(person.hears_all("reply/kept").await.is_empty(), "it ran again after a reconnect");
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_flood_gets_an_answer_each() {
    const MANY: usize = 300;
    let world = World::new();
    world
        .tell(async {
            let mut person = world.person("ann").await;
            person.sees_online().await;
            for number in 0..MANY {
                let payload = format!(
                    r#"{{"name":"echo","transaction":{number},"arguments":{{"x":"{}"}}}}"#,
                    "x".repeat(number)
                );
                person.asks(Request {
                    response: Some("reply/flood"),
                    ..Request::new("tool/call", payload.as_bytes())
                });
            }
            let replies = person.hears_all("reply/flood").await;
            let mut answered: Vec<_> =
                replies.iter().map(|reply| reply.json()["transaction"].as_u64().unwrap()).collect();
            answered.sort_unstable();
            assert_eq!(answered, (0..MANY as u64).collect::<Vec<_>>());
            let busy = |reply: &Value| reply["error_type"] == "busy";
            assert!(replies.iter().all(|reply| reply.json()["success"] == true || busy(&reply.json())));
            person.gets_an_echo().await;
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn many_hubs_live_in_one_process() {
    const HUBS: usize = 25;
    let world = World::new();
    let hubs = (0..HUBS).map(|number| {
        let world = &world;
        async move {
            let settings = host_sim::hub::Settings::in_memory(&format!("hub-{number}"));
            let (rx, tx) = tokio::io::split(host_sim::zwave::Home::start());
            let line = (
                embedded_io_adapters::tokio_1::FromTokio::new(rx),
                embedded_io_adapters::tokio_1::FromTokio::new(tx),
            );
            let network = host_sim::network::Network::Memory(world.server().clone());
            let payload = format!(r#"{{"name":"echo","arguments":{{"hub":{number}}}}}"#);
            let hour = Duration::from_secs(3600);
            tokio::select! {
                never = host_sim::hub::run(&settings, line, network.clone(), host_sim::flash::MemoryFlash::default(), number as u64) => never,
                reply = host_sim::caller::ask(network, &settings, "tool/call", payload.as_bytes(), hour) => {
                    let reply: Value = serde_json::from_slice(&reply.expect("an answer")).expect("JSON");
                    assert_eq!(reply["result"]["echo"]["hub"], number);
                }
            }
        }
    });
    futures_join(hubs.collect()).await;
}

/// Runs futures that are not `Send` side by side.
async fn futures_join(futures: Vec<impl Future<Output = ()>>) {
    let mut futures: Vec<_> = futures.into_iter().map(|future| Some(Box::pin(future))).collect();
    std::future::poll_fn(|context| {
        for place in &mut futures {
            if place.as_mut().is_some_and(|future| future.as_mut().poll(context).is_ready()) {
                *place = None;
            }
        }
        if futures.iter().all(Option::is_none) {
            std::task::Poll::Ready(())
        } else {
            std::task::Poll::Pending
        }
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn every_executed_call_is_told() {
    let world = World::new();
    world
        .tell(async {
            let mut person = world.person("ann").await;
            person.sees_online().await;
            person.asks(Request::new("tool/call", br#"{"name":"hub_echo"}"#));
            let event = person.hears("hearthwave/story/event/tool").await.json();
            assert_eq!(
                event,
                json!({ "name": "hub_echo", "success": true, "execution_time_ms": 0, "slow": false })
            );
            person.asks(Request::new("tool/call", br#"{"name":"volume","arguments":{"level":"loud"}}"#));
            let event = person.hears("hearthwave/story/event/tool").await.json();
            assert_eq!(event["success"], false);
        })
        .await;
}
