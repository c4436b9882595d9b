//! The hub asks a search service through the broker.

use world::prelude::*;

const QUESTION: &str = "service/search/request";
const ANSWER: &str = "hearthwave/story/service/search/response";

/// Somebody who searches, and the service that is asked.
async fn searching(world: &World) -> (Client, Client) {
    let service = world.client("service", &["hearthwave/story/service/search/request"]).await;
    (world.person("ann").await, service)
}

fn searches(person: &Client, query: &str) {
    person.calls("search", json!({ "query": query }));
}

#[test]
fn a_question_goes_out_and_its_answer_comes_back() {
    story(async |world| {
        let (mut person, mut service) = searching(world).await;
        searches(&person, "sunset in \"Oslo\"");
        searches(&person, "second");
        let first = service.hears(QUESTION).await;
        let second = service.hears(QUESTION).await;
        assert_eq!(first.json(), json!({ "query": "sunset in \"Oslo\"" }));
        assert_eq!(first.response.as_deref(), Some(ANSWER));
        // In the other order: each answer is matched to its question.
        service.answers_with(&second, br#"{"results":["second"]}"#);
        assert_eq!(person.result().await["result"], json!({ "results": ["second"] }));
        // Unrelated messages are ignored.
        person.publish(Publish::new(ANSWER, b"{}"));
        person.publish(Publish::new(ANSWER, b"{}").correlation(b"xx"));
        person.publish(Publish::new(ANSWER, b"{}").correlation(&[9, 9, 9, 9]));
        let elsewhere = Publish::new("hearthwave/story/service/x/response", b"{}");
        person.publish(elsewhere.correlation(&[9, 9, 9, 9]));
        service.answers_with(&second, br#"{"results":["again"]}"#);
        service.answers_with(&first, br#"{"results":["first"]}"#);
        assert_eq!(person.result().await["result"], json!({ "results": ["first"] }));
        service.answers_with(&first, br#"{"results":["late"]}"#);
        person.gets_an_echo().await;
    });
}

#[test]
fn whatever_a_service_says_the_caller_gets_one_clear_answer() {
    story(async |world| {
        let (mut person, mut service) = searching(world).await;
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
            searches(&person, "x");
            let question = service.hears(QUESTION).await;
            service.answers_with(&question, answer);
            assert_refused(&person.result().await, error_type, words);
        }
        person.gets_an_echo().await;
    });
}

#[test]
fn without_a_service_the_caller_learns_what_to_check() {
    story(async |world| {
        let mut person = world.person("ann").await;
        let start = Instant::now();
        for _ in 0..3 {
            searches(&person, "x");
        }
        for _ in 0..3 {
            assert_refused(&person.result().await, "unavailable", "check that a relay");
        }
        assert_eq!(start.elapsed().as_secs(), 20);
    });
}

#[test]
fn a_question_outlives_a_short_loss_of_the_broker_and_is_asked_once() {
    story(async |world| {
        let (mut person, mut service) = searching(world).await;
        searches(&person, "x");
        let question = service.hears(QUESTION).await;
        world.broker().kick(CLIENT);
        sleep(Duration::from_secs(5)).await;
        service.answers_with(&question, br#"{"results":[]}"#);
        assert_eq!(person.result().await["result"], json!({ "results": [] }));
        assert_eq!(service.hears_all(QUESTION).await.len(), 0, "it was asked again");
    });
}

/// The hub keeps only the text of the last search that it sent.
#[test]
fn no_search_is_asked_again_when_a_relay_comes_back() {
    story(async |world| {
        let (mut person, mut service) = searching(world).await;
        let relays_are = |state: &str| {
            let state = json!({ "state": state }).to_string();
            person.publish(Publish::new("hearthwave/relay/availability", state).retained());
        };
        searches(&person, "first");
        let first = service.hears(QUESTION).await;
        searches(&person, "second");
        let second = service.hears(QUESTION).await;
        relays_are("offline");
        sleep(Duration::from_secs(1)).await;
        relays_are("online");
        sleep(Duration::from_secs(1)).await;
        for (question, words) in [(&first, "first"), (&second, "second")] {
            service.answers_with(question, json!({ "results": [words] }).to_string());
            assert_eq!(person.result().await["result"], json!({ "results": [words] }));
        }
        let again = service.hears_all(QUESTION).await;
        assert!(again.is_empty(), "it was asked again: {}", again[0].json());
    });
}

#[test]
fn a_broker_that_forgets_the_hub_ends_the_wait() {
    story(async |world| {
        let mut person = world.person("ann").await;
        searches(&person, "x");
        person.hears(QUESTION).await;
        world.broker().forget_session(CLIENT);
        logged("Tool search failed").await;
        assert_contains(&person.result().await["error"], "was lost before");
    });
}
