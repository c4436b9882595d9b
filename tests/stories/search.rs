//! The hub asks a search service through the broker.

use serde_json::{Value, json};
use tokio::time::{Duration, Instant, sleep};

use crate::world::{Message, Person, Request, World, logged};

const QUESTION: &str = "hearthwave/story/service/search/request";
const ANSWER: &str = "hearthwave/story/service/search/response";
const REPLY: &str = "hearthwave/story/response/tool/call";

impl Person {
    fn searches(&self, query: &str) {
        let call = json!({ "name": "search", "arguments": { "query": query } }).to_string();
        self.asks(Request::new("tool/call", call.as_bytes()));
    }

    /// Answers a question as a service does.
    fn finds(&self, question: &Message, payload: &[u8]) {
        let topic = question.response.as_deref().expect("a Response Topic");
        self.publishes(topic, payload, question.correlation.as_deref());
    }
}

#[tokio::test(start_paused = true)]
async fn a_question_goes_out_and_its_answer_comes_back() {
    let world = World::new();
    world
        .tell(async {
            let mut person = world.person("ann").await;
            let mut service = Person::connect(&world.server(), "service", &[QUESTION]).await;
            person.sees_online().await;
            person.searches("sunset in \"Oslo\"");
            person.searches("second");
            let first = service.hears(QUESTION).await;
            let second = service.hears(QUESTION).await;
            assert_eq!(first.json(), json!({ "query": "sunset in \"Oslo\"" }));
            assert_eq!(first.response.as_deref(), Some(ANSWER));
            // In the other order: each finds its question.
            service.finds(&second, br#"{"results":["second"]}"#);
            assert_eq!(person.hears(REPLY).await.json()["result"], json!({ "results": ["second"] }));
            // Nothing that does not belong to a question disturbs.
            person.publishes(ANSWER, b"{}", None);
            person.publishes(ANSWER, b"{}", Some(b"xx"));
            person.publishes(ANSWER, b"{}", Some(&[9, 9, 9, 9]));
            person.publishes("hearthwave/story/service/x/response", b"{}", Some(&[9, 9, 9, 9]));
            service.finds(&second, br#"{"results":["again"]}"#);
            service.finds(&first, br#"{"results":["first"]}"#);
            assert_eq!(person.hears(REPLY).await.json()["result"], json!({ "results": ["first"] }));
            service.finds(&first, br#"{"results":["late"]}"#);
            person.gets_an_echo().await;
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn whatever_a_service_says_the_caller_gets_one_clear_answer() {
    let world = World::new();
    world
        .tell(async {
            let mut person = world.person("ann").await;
            let mut service = Person::connect(&world.server(), "service", &[QUESTION]).await;
            person.sees_online().await;
            let long = json!({ "results": "x".repeat(3000) }).to_string();
            let longer = json!({ "results": "x".repeat(50_000) }).to_string();
            for (answer, error_type, words) in [
                (&b"[1,2"[..], "execution_error", "did not answer with a JSON object"),
                (b"\"hello\"", "execution_error", "did not answer with a JSON object"),
                (b"\xff\xfe", "execution_error", "did not answer with a JSON object"),
                (br#"{"error":{"status":503,"message":"no endpoint"}}"#, "unavailable", "no endpoint"),
                (long.as_bytes(), "too_large", "at most 2048"),
                (longer.as_bytes(), "too_large", "at most 2048"),
            ] {
                person.searches("x");
                let question = service.hears(QUESTION).await;
                service.finds(&question, answer);
                let reply = person.hears(REPLY).await.json();
                assert_eq!(reply["success"], false, "{reply}");
                assert_eq!(reply["error_type"], error_type, "{reply}");
                assert!(reply["error"].as_str().expect("words").contains(words), "{reply}");
            }
            person.gets_an_echo().await;
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn without_a_service_the_caller_learns_what_to_check() {
    let world = World::new();
    world
        .tell(async {
            let mut person = world.person("ann").await;
            person.sees_online().await;
            let start = Instant::now();
            for _ in 0..3 {
                person.searches("x");
            }
            for _ in 0..3 {
                let reply = person.hears(REPLY).await.json();
                assert_eq!(reply["error_type"], "unavailable");
                assert!(reply["error"].as_str().expect("words").contains("check that a relay"), "{reply}");
            }
            assert_eq!(start.elapsed().as_secs(), 20);
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_question_outlives_a_short_loss_of_the_broker_and_is_asked_once() {
    let world = World::new();
    world
        .tell(async {
            let mut person = world.person("ann").await;
            let mut service = Person::connect(&world.server(), "service", &[QUESTION]).await;
            person.sees_online().await;
            person.searches("x");
            let question = service.hears(QUESTION).await;
            world.server().kick(crate::world::CLIENT);
            sleep(Duration::from_secs(5)).await;
            service.finds(&question, br#"{"results":[]}"#);
            assert_eq!(person.hears(REPLY).await.json()["result"], json!({ "results": [] }));
            assert_eq!(service.hears_all(QUESTION).await.len(), 0, "it was asked again");
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_broker_that_forgets_the_hub_ends_the_wait() {
    let world = World::new();
    world
        .tell(async {
            let mut person = world.person("ann").await;
            person.sees_online().await;
            person.searches("x");
            person.hears(QUESTION).await;
            world.server().forget_session(crate::world::CLIENT);
            logged("Tool search failed").await;
            let reply: Value = person.hears(REPLY).await.json();
            assert!(reply["error"].as_str().expect("words").contains("was lost before"), "{reply}");
        })
        .await;
}
