//! Hubs that search.

use std::time::Duration;

use host_sim::flash::MemoryFlash;
use host_sim::hub::{self, Settings};
use host_sim::relay::SearchUrl;
use host_sim::zwave::Home;
use host_sim::{caller, link};
use serde_json::{Value, json};

use crate::client::{Message, With};
use crate::log;
use crate::world::{Relay, World, settings, story};
use support::server::{Act, Server};

const URL: &str = "http://search.test/search?format=json&q={query}";

async fn ask(world: &mut World, body: &str, correlation: u8) -> Message {
    let topics = ["request", "response"].map(|end| format!("hearthwave/kitchen/service/search/{end}"));
    let with = With { correlation: &[correlation], ..With::default() };
    world.hub.send_to(&topics[0], &topics[1], body, with).await;
    let answer = world.hub.next(Duration::from_secs(60)).await.expect("an answer");
    assert_eq!(
        (answer.topic.as_str(), answer.correlation.as_deref()),
        (topics[1].as_str(), Some(&[correlation][..]))
    );
    answer
}

/// A story with a relay that searches.
fn searching(server: Server, tell: impl AsyncFnOnce(World)) {
    story(server, async |mut world| {
        let mut settings = settings(&world.server);
        settings.search = Some(SearchUrl::new(URL).expect("an address"));
        std::mem::replace(&mut world.relay, Relay::start(&world.network, settings)).stop().await;
        tokio::time::sleep(Duration::from_secs(1)).await;
        tell(world).await;
    });
}

#[test]
fn results_come_back_in_short() {
    let found = json!({
        "query": "sunset in Oslo", "number_of_results": 0, "answers": [], "suggestions": ["x"],
        "results": [
            { "title": "Oslo", "url": "https://oslo.test", "content": "Sunset at 15:50", "engine": "e", "score": 1.5 },
            { "title": "More", "url": "https://more.test", "content": "…" },
        ],
    });
    searching(Server::always(Act::ok(&found.to_string())), async |mut world| {
        let answer = ask(&mut world, r#"{"query":"sunset in Oslo"}"#, 1).await;
        let expected = json!({ "results": [
            { "title": "Oslo", "url": "https://oslo.test", "snippet": "Sunset at 15:50" },
            { "title": "More", "url": "https://more.test", "snippet": "…" },
        ] });
        assert_eq!(answer.json(), expected);
        let seen = world.server.seen();
        assert!(
            seen[0].head.starts_with("GET /search?format=json&q=sunset%20in%20Oslo HTTP/1.1\r\n"),
            "{seen:?}"
        );
        assert_eq!(log::requests(), ["INFO relay: kitchen asked search: 200 after 0 ms"]);
        assert!(!log::text().contains("sunset"), "what people search for is theirs");
    });
}

#[test]
fn a_real_hub_searches() {
    let found = json!({ "results": [{ "title": "Oslo", "url": "u", "content": "Sunset at 15:50" }] });
    searching(Server::always(Act::ok(&found.to_string())), async |world| {
        let hub = Settings::in_memory("attic");
        let running =
            hub::run(&hub, link::to_home(&Home::fast(7)), world.network.clone(), MemoryFlash::default(), 7);
        let call = br#"{"name":"search","arguments":{"query":"sunset in Oslo"}}"#;
        let asking = caller::ask(world.network.clone(), &hub, "tool/call", call, Duration::from_secs(60));
        let reply = tokio::select! {
            never = running => never,
            reply = asking => reply.expect("an answer"),
        };
        let reply: Value = serde_json::from_slice(&reply).expect("JSON");
        assert_eq!(reply["result"]["results"][0]["snippet"], "Sunset at 15:50", "{reply}");
    });
}

#[test]
fn searches_that_fail() {
    let busy = Act::Reply(429, "retry-after: 2\r\n".into(), b"{}".to_vec());
    let acts = [busy, Act::ok("{\"results\":[]}"), Act::status(403, "API off"), Act::ok("{}"), Act::Hang];
    searching(Server::doing(acts), async |mut world| {
        let question = r#"{"query":"x"}"#;
        assert_eq!(ask(&mut world, question, 1).await.payload, b"{\"results\":[]}");
        assert_eq!(ask(&mut world, question, 2).await.error(), ("API off".into(), Some(403)));
        let expected = "the search service did not answer with a list of results";
        assert_eq!(ask(&mut world, question, 3).await.error(), (expected.into(), None));
        // A hub waits 20 seconds for a search.
        assert_eq!(ask(&mut world, question, 4).await.error().0, "no reply from search within 19.5 s");
        assert_eq!(ask(&mut world, "{}", 5).await.error().0, "a search needs a 'query'");
        assert_eq!(world.server.seen().len(), 5);
    });
}

#[test]
fn without_a_search_service_it_says_so() {
    story(Server::always(Act::ok("{}")), async |mut world| {
        let answer = ask(&mut world, r#"{"query":"x"}"#, 1).await;
        let expected = "no search service is configured; start the relay with --search-url";
        assert_eq!(answer.error(), (expected.into(), None));
        assert_eq!(world.server.seen().len(), 0);
    });
}
