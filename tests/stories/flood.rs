//! Too much at once: requests, and things to tell people.

use host_broker::{Limits, Options};
use host_zwave::Home;
use support::server::{Act, Server};
use world::flood::{REQUESTS, flood};
use world::model::stop;
use world::prelude::*;
use world::relay;

#[test]
fn a_flood_of_requests_of_all_kinds_gets_answers_and_leaves_the_hub_well() {
    let server = Server::always(Act::ok(&stop("Hello.").to_string()));
    let setup = Setup::new().home(&Home::fast(7)).relay(relay::settings(&server));
    setup.story(async |world| {
        let mut mallory = world.person("mallory").await;
        let busy = flood(&mut mallory, "reply/flood", 0).await;
        assert!((1..REQUESTS).contains(&busy), "{busy} of {REQUESTS} were refused as busy");
        // Three times as much does not add up to anything.
        for _ in 0..3 {
            flood(&mut mallory, "reply/flood", 0).await;
        }
        assert_eq!(world.dials(), 1, "the hub kept its connection");
    });
}

#[test]
fn a_storm_of_notices_is_cut_short_and_says_so() {
    let server = Server::always(Act::status(400, r#"{"error":{"message":"no"}}"#));
    Setup::new().relay(relay::settings(&server)).story(async |world| {
        let mut mallory = world.person("mallory").await;
        sleep(Duration::from_secs(2)).await;
        // Every turn fails, and people should know; for half a minute there are hundreds of them.
        let (begun, mut turns, mut notices) = (Instant::now(), 0, Vec::new());
        while begun.elapsed() < Duration::from_secs(30) {
            mallory.says(json!({ "text": "Hi" }));
            let topics = [mallory.topic("log"), mallory.topic("response/chat")];
            loop {
                let message = mallory.next(Duration::from_secs(60)).await.expect("a reply");
                if message.topic == topics[0] {
                    notices.push(message.json());
                }
                if message.topic == topics[1] {
                    break;
                }
            }
            turns += 1;
            sleep(Duration::from_millis(50)).await;
        }
        assert!(turns > 200, "{turns}");
        // Ten at once, then one in six seconds, each with how many there were between them.
        let told =
            |notice: &&Value| notice["text"].as_str().is_some_and(|text| text.contains("has no answer"));
        assert!((12..=16).contains(&notices.iter().filter(told).count()), "{notices:#?}");
        assert!(notices.len() <= 22, "{notices:#?}");
        let left_out = |notice: &Value| {
            let text = notice["text"].as_str()?;
            text.strip_suffix(" notices were left out: too many at once.")?.parse::<usize>().ok()
        };
        let counted: usize = notices.iter().filter_map(left_out).sum();
        assert!(counted > turns / 2 && counted <= turns, "{counted} of {turns}");
        let dropped = mallory.asks("health", json!({})).await["mqtt"]["notices_dropped"].as_u64();
        assert!(dropped.is_some_and(|dropped| dropped > 0), "{dropped:?}");
        // The calm after it: the next one is told at once.
        sleep(Duration::from_secs(120)).await;
        mallory.says(json!({ "text": "Hi" }));
        let first = mallory.hears("log").await.json();
        assert!(left_out(&first).is_some() || told(&&first), "{first}");
    });
}

/// One client sends chats, garbage and large payloads to a hub with a slow line, and then no more. The broker queues as much
/// as mosquitto does, so acknowledgements and the requests of others wait behind it.
#[test]
fn the_hub_answers_others_within_ten_seconds_after_a_flood_that_the_broker_still_has() {
    let limits =
        Limits { queued_messages: 1000, queued_bytes: 64 << 20, backlog: 64 << 20, ..Limits::default() };
    for qos in [QoS::AtMostOnce, QoS::AtLeastOnce, QoS::ExactlyOnce] {
        let server = Server::always(Act::ok(&stop("Hello.").to_string()));
        let options = Options { limits: limits.clone(), ..Options::default() };
        Setup::new().broker(options).relay(relay::settings(&server)).story(async |world| {
            let mut ann = world.client("ann", &["reply/ann", "hearthwave/story/availability"]).await;
            ann.waits_for_the_hub().await;
            let mut ben =
                world.client("ben", &["hearthwave/story/availability", "hearthwave/story/log"]).await;
            let mallory = world.client("mallory", &[]).await;
            // 33 s for what follows.
            world.wire.rate.set(200_000);
            for number in 0..400 {
                let chat = json!({ "text": "Hi", "conversation": format!("c{number}") }).to_string();
                let (name, payload) = match number % 4 {
                    0 => ("chat", chat.into_bytes()),
                    1 => ("chat", b"{{{{".to_vec()),
                    2 => ("tool/list", b"{}".to_vec()),
                    _ => ("chat", vec![b'x'; 65536]),
                };
                mallory.publish(mallory.request(name, payload).qos(qos).reply_to("reply/mallory"));
            }
            sleep(Duration::from_secs(8)).await;
            let begun = Instant::now();
            let echo = json!({ "name": "echo", "arguments": {} });
            let reply = ann.asks_with_response_topic("tool/call", echo).await;
            assert_eq!(reply["success"], true, "{reply}");
            assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
            assert_logged("too many requests at once");
            assert_eq!(world.dials(), 2, "it dropped what waited, once");
            // It has said goodbye, so nobody was told that it is gone, and people are told why.
            let why = "Too many requests at once";
            while !ben.hears("log").await.json()["text"].as_str().is_some_and(|text| text.contains(why)) {}
            while let Some(message) = ben.next(Duration::from_secs(60)).await {
                assert_ne!(message.payload, b"offline");
            }
            assert_eq!(world.dials(), 2, "it stays connected");
        });
    }
}

/// While one client floods the hub, other clients are answered, or refused with `busy`. If the flood is so large that
/// the hub makes the broker drop its queue, a request may be lost. A client that repeats it after a few seconds is
/// answered.
#[test]
fn others_are_answered_while_a_flood_lasts() {
    const LASTS: Duration = Duration::from_secs(30);
    const PATIENCE: Duration = Duration::from_secs(3);
    for (payload, qos) in [(16, QoS::AtMostOnce), (16, QoS::AtLeastOnce), (65536, QoS::AtLeastOnce)] {
        // The model and the devices are slow, so that every job slot of the hub is taken.
        let server = Server::always(Act::slow(1, &stop("Hello.").to_string()));
        let setup = Setup::new().home(&Home::new(7)).relay(relay::settings(&server));
        setup.story(async |world| {
            let mut ann = world.person("ann").await;
            crate::home::knows_devices(&mut ann).await;
            let mut ann = world.client("ann", &["reply/ann"]).await;
            let mut ben = world.client("ben", &["reply/ben"]).await;
            let mallory = world.client("mallory", &[]).await;
            let flood = async {
                for round in 0.. {
                    for number in 0..10 {
                        let chat = json!({ "text": "Hi", "conversation": format!("c{round}-{number}") });
                        let (name, payload) = match number {
                            0 => ("chat", vec![b'x'; payload]),
                            1 | 2 => ("chat", b"{{{{".to_vec()),
                            3 => ("tool/list", b"{}".to_vec()),
                            4 | 5 => ("tool/call", list_devices()),
                            _ => ("chat", chat.to_string().into_bytes()),
                        };
                        mallory.publish(mallory.request(name, payload).qos(qos).reply_to("reply/mallory"));
                    }
                    sleep(Duration::from_millis(200)).await;
                }
            };
            let (mut done, mut lost) = ([0, 0], 0);
            let ask = async {
                let begun = Instant::now();
                while begun.elapsed() < LASTS {
                    sleep(Duration::from_secs(1)).await;
                    let call = json!({ "name": "echo", "arguments": {} });
                    let chat = json!({ "text": "Hello", "conversation": "ben" });
                    for (index, request) in [("tool/call", call), ("chat", chat)].into_iter().enumerate() {
                        let who = if index == 0 { &mut ann } else { &mut ben };
                        let mut reply = None;
                        for _ in 0..3 {
                            let asking = who.asks_with_response_topic(request.0, request.1.clone());
                            reply = tokio::time::timeout(PATIENCE, asking).await.ok();
                            lost += usize::from(reply.is_none());
                            if reply.is_some() {
                                break;
                            }
                        }
                        let reply = reply.expect("an answer within three tries");
                        let is_done = reply["success"] == true || reply["content"] == "Hello.";
                        assert!(
                            is_done || reply["error_type"] == "busy" && reply["error"].is_string(),
                            "{reply}"
                        );
                        done[index] += usize::from(is_done);
                    }
                }
            };
            tokio::select! { () = flood => {} () = ask => {} }
            println!("{payload} {qos:?}: {done:?} done, {lost} lost, {} dials", world.dials());
            assert!(done[0] >= 10 && done[1] >= 2, "{done:?}");
            if payload < 1000 {
                assert_eq!((lost, world.dials()), (0, 1));
            }
        });
    }
}

fn list_devices() -> Vec<u8> {
    json!({ "name": "list_devices", "arguments": {} }).to_string().into_bytes()
}

/// One large request after the other, refused each time, is a nuisance that the hub keeps up with.
#[test]
fn large_requests_that_the_hub_keeps_up_with_cost_no_connection() {
    for qos in [QoS::AtMostOnce, QoS::AtLeastOnce] {
        story(async |world| {
            let mut ann = world.person("ann").await;
            let mallory = world.client("mallory", &[]).await;
            let begun = Instant::now();
            while begun.elapsed() < Duration::from_secs(60) {
                let large = mallory.request("chat", vec![b'x'; 65536]).qos(qos);
                mallory.publish(large.reply_to("reply/mallory"));
                sleep(Duration::from_millis(900)).await;
            }
            ann.gets_an_echo().await;
            assert_eq!(world.dials(), 1, "the hub kept its connection");
        });
    }
}
