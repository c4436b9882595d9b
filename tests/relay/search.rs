//! Hubs that search.

use std::time::Duration;

use host_relay::SearchUrl;
use host_zwave::Home;
use serde_json::json;
use support::client::Message;
use support::log::log_of;
use support::server::{Act, Server};
use world::Setup;
use world::relay::settings;

use crate::hub::{correlated, error};
use crate::scene::{Scene, logged_requests, started, story};

const URL: &str = "http://search.test/search?format=json&q={query}";

async fn ask(scene: &mut Scene, body: &str, correlation: u8) -> Message {
    let correlation = [correlation];
    scene.hub.send_to("service/search/request", "service/search/response", body, correlated(&correlation));
    let answer = scene.hub.next(Duration::from_secs(60)).await.expect("an answer");
    assert_eq!(answer.topic, "hearthwave/kitchen/service/search/response");
    assert_eq!(answer.correlation.as_deref(), Some(&correlation[..]));
    answer
}

/// A story with a relay that searches.
fn searching(server: Server, tell: impl AsyncFnOnce(Scene)) {
    story(server, async |mut scene| {
        let mut settings = settings(&scene.server);
        settings.search = Some(SearchUrl::new(URL).expect("an address"));
        let relay = started(&scene.network, settings).await;
        std::mem::replace(&mut scene.relay, relay).stop().await;
        tell(scene).await;
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
    searching(Server::always(Act::ok(&found.to_string())), async |mut scene| {
        let answer = ask(&mut scene, r#"{"query":"sunset in Oslo"}"#, 1).await;
        let expected = json!({ "results": [
            { "title": "Oslo", "url": "https://oslo.test", "snippet": "Sunset at 15:50" },
            { "title": "More", "url": "https://more.test", "snippet": "…" },
        ] });
        assert_eq!(answer.json(), expected);
        let seen = scene.server.seen();
        assert!(
            seen[0].head.starts_with("GET /search?format=json&q=sunset%20in%20Oslo HTTP/1.1\r\n"),
            "{seen:?}"
        );
        assert_eq!(logged_requests(), ["INFO relay: kitchen asked search: 200 after 0 ms"]);
        assert!(!log_of("").contains("sunset"), "what people search for is theirs");
    });
}

#[test]
fn a_real_hub_searches() {
    let found = json!({ "results": [{ "title": "Oslo", "url": "u", "content": "Sunset at 15:50" }] });
    searching(Server::always(Act::ok(&found.to_string())), async |scene| {
        let hub = Setup::new().hub(|hub| hub.hub_id = "attic".into()).home(&Home::fast(7));
        let reply = hub.network(scene.network.clone()).tell(async |attic| {
            let call = json!({ "name": "search", "arguments": { "query": "sunset in Oslo" } });
            attic.ask("tool/call", call).await
        });
        let reply = reply.await;
        assert_eq!(reply["result"]["results"][0]["snippet"], "Sunset at 15:50", "{reply}");
    });
}

#[test]
fn searches_that_fail() {
    let busy = Act::Reply(429, "retry-after: 2\r\n".into(), b"{}".to_vec());
    let acts = [busy, Act::ok("{\"results\":[]}"), Act::status(403, "API off"), Act::ok("{}"), Act::Hang];
    searching(Server::doing(acts), async |mut scene| {
        let question = r#"{"query":"x"}"#;
        assert_eq!(ask(&mut scene, question, 1).await.payload, b"{\"results\":[]}");
        assert_eq!(error(&ask(&mut scene, question, 2).await), ("API off".into(), Some(403)));
        let expected = "the search service did not answer with a list of results";
        assert_eq!(error(&ask(&mut scene, question, 3).await), (expected.into(), None));
        // A hub waits 20 seconds for a search.
        assert_eq!(error(&ask(&mut scene, question, 4).await).0, "no reply from search within 19.5 s");
        assert_eq!(error(&ask(&mut scene, "{}", 5).await).0, "a search needs a 'query'");
        assert_eq!(scene.server.seen().len(), 5);
    });
}

#[test]
fn without_a_search_service_it_says_so() {
    story(Server::always(Act::ok("{}")), async |mut scene| {
        let answer = ask(&mut scene, r#"{"query":"x"}"#, 1).await;
        let expected = "no search service is configured; start the relay with --search-url";
        assert_eq!(error(&answer), (expected.into(), None));
        assert_eq!(scene.server.seen().len(), 0);
    });
}
