//! Too much at once: requests, and things to tell people.

use host_sim::zwave::Home;
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
