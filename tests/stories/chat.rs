//! People talk with the hub, and a model, played by hand, answers them.

use serde_json::{Value, json};
use tokio::time::{Duration, Instant, sleep};

use crate::world::{Message, Person, Request, World, log_text};

const QUESTION: &str = "hearthwave/story/llm/request/anthropic";
const REPLY: &str = "hearthwave/story/response/chat";

impl Person {
    fn says(&self, request: Value) {
        self.asks(Request::new("chat", request.to_string().as_bytes()));
    }

    /// Answers a question as the relay does.
    fn answers(&self, question: &Message, body: &Value) {
        let topic = question.response.as_deref().expect("a Response Topic");
        self.publishes(topic, body.to_string().as_bytes(), question.correlation.as_deref());
    }
}

fn stop(text: &str) -> Value {
    json!({ "content": [{ "type": "text", "text": text }], "stop_reason": "end_turn" })
}

fn calls(calls: &[(&str, Value)]) -> Value {
    let block = |(number, (name, input)): (usize, &(&str, Value))| json!({ "type": "tool_use", "id": format!("toolu_{number}"), "name": name, "input": input });
    let content: Vec<_> = calls.iter().enumerate().map(block).collect();
    json!({ "content": content, "stop_reason": "tool_use" })
}

/// A person and a model, with the hub between them.
async fn a_home(world: &World) -> (Person, Person) {
    let mut person = world.person("ann").await;
    let model = Person::connect(&world.server(), "model", &["hearthwave/story/llm/request/#"]).await;
    person.sees_online().await;
    (person, model)
}

/// spec: reply-03, reply-04, reply-13, reply-26
#[tokio::test(start_paused = true)]
async fn a_question_goes_to_the_model_and_its_answer_comes_back() {
    let world = World::new();
    world
        .tell(async {
            let (mut person, mut model) = a_home(&world).await;
            person.says(json!({ "text": "Hello \"you\" é", "transaction": 7 }));
            let question = model.hears(QUESTION).await;
            let body = question.json();
            assert_eq!(body["messages"], json!([{ "role": "user", "content": "Hello \"you\" é" }]), "{body}");
            assert!(
                body["system"].as_str().expect("a prompt").contains("spoken aloud"),
                "the documents are in: {body}"
            );
            assert!(body["tools"].as_array().expect("tools").len() > 5);
            assert!(body["max_tokens"].as_u64() > Some(0) && body["model"].is_string());
            model.answers(&question, &stop("Hello to you."));
            let reply = person.hears(REPLY).await.json();
            assert_eq!(reply["content"], "Hello to you.");
            assert_eq!(reply["service"], "anthropic");
            assert_eq!(reply["tool_calls"], json!([]));
            assert_eq!((&reply["transaction"], &reply["conversation"]), (&json!(7), &json!("default")));
            // The conversation goes on.
            person.says(json!({ "text": "And now?" }));
            let question = model.hears(QUESTION).await;
            assert_eq!(question.json()["messages"].as_array().expect("messages").len(), 3);
            model.answers(&question, &stop("Still here."));
            assert_eq!(person.hears(REPLY).await.json()["content"], "Still here.");
            // Another one begins anew.
            person.says(json!({ "text": "Hi", "conversation": "kitchen" }));
            let question = model.hears(QUESTION).await;
            assert_eq!(question.json()["messages"].as_array().expect("messages").len(), 1);
        })
        .await;
}

/// spec: gateway-15, reply-14, reply-16, reply-18, reply-19, reply-20, reply-24, reply-25
#[tokio::test(start_paused = true)]
async fn tools_are_called_for_the_model_and_their_results_go_back() {
    let world = World::new();
    world
        .tell(async {
            let (mut person, mut model) = a_home(&world).await;
            person.says(json!({ "text": "Echo and calculate" }));
            let question = model.hears(QUESTION).await;
            model.answers(
                &question,
                &calls(&[("hub_echo", json!({ "a": 1 })), ("hub_math_eval", json!({ "expression": "6*7" }))]),
            );
            let question = model.hears(QUESTION).await;
            let messages = question.json()["messages"].clone();
            assert_eq!(messages[1]["content"][0]["type"], "tool_use", "{messages}");
            let results = messages[2]["content"].as_array().expect("results").clone();
            assert_eq!(results.len(), 2, "{messages}");
            assert_eq!(results[0]["tool_use_id"], "toolu_0");
            assert!(results[1].to_string().contains("42"), "{messages}");
            model.answers(&question, &calls(&[("hub_fly", json!({}))]));
            let question = model.hears(QUESTION).await;
            assert!(question.json().to_string().contains("not found"), "an error goes to the model, too");
            model.answers(&question, &stop("It is 42."));
            let reply = person.hears(REPLY).await.json();
            assert_eq!(reply["content"], "It is 42.");
            let calls = reply["tool_calls"].as_array().expect("calls").clone();
            let shown: Vec<_> =
                calls.iter().map(|call| (call["tool"].clone(), call["iteration"].clone())).collect();
            let expected = [("hub_echo", 0), ("hub_math_eval", 0), ("hub_fly", 1)];
            assert_eq!(shown, expected.map(|(tool, iteration)| (json!(tool), json!(iteration))), "{reply}");
            assert_eq!(calls[0]["params"], json!({ "a": 1 }));
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn satellites_see_how_it_goes_on() {
    let world = World::new();
    world
        .tell(async {
            let (mut person, mut model) = a_home(&world).await;
            person.says(json!({ "text": "Echo", "conversation": "den" }));
            let question = model.hears(QUESTION).await;
            model.answers(&question, &calls(&[("echo", json!({}))]));
            let question = model.hears(QUESTION).await;
            model.answers(&question, &stop("Done."));
            let mut states = Vec::new();
            while states.last().is_none_or(|state| state != "done") {
                let event = person.hears("hearthwave/story/event/chat").await.json();
                assert_eq!(event["conversation"], "den");
                states.push(event["state"].as_str().expect("a state").to_owned());
                assert!(states.len() < 9);
            }
            assert_eq!(states, ["started", "waiting", "calling", "waiting", "done"]);
        })
        .await;
}

/// spec: reply-11, reply-21
#[tokio::test(start_paused = true)]
async fn a_model_that_never_stops_calling_is_stopped() {
    let world = World::new();
    world
        .tell(async {
            let (mut person, mut model) = a_home(&world).await;
            person.says(json!({ "text": "Loop" }));
            for _ in 0..5 {
                let question = model.hears(QUESTION).await;
                model.answers(&question, &calls(&[("echo", json!({}))]));
            }
            let reply = person.hears(REPLY).await.json();
            assert_eq!(reply["content"], "I reached the maximum number of tool calls...");
            assert_eq!(reply["max_iterations_reached"], true);
            assert_eq!(reply["tool_calls"].as_array().expect("calls").len(), 5);
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn whatever_the_model_says_the_person_gets_one_answer() {
    let world = World::new();
    world
        .tell(async {
            let (mut person, mut model) = a_home(&world).await;
            let huge = stop(&"x".repeat(200_000)).to_string();
            for (body, error_type) in [
                (&b"{\"content\":"[..], "provider_error"),
                (b"\xff", "provider_error"),
                (b"{}", "provider_error"),
                (br#"{"error":{"status":529,"message":"overloaded"}}"#, "provider_error"),
                (huge.as_bytes(), "too_large"),
            ] {
                person.says(json!({ "text": "Hi" }));
                let question = model.hears(QUESTION).await;
                let topic = question.response.as_deref().expect("a topic");
                model.publishes(topic, body, question.correlation.as_deref());
                let reply = person.hears(REPLY).await.json();
                assert_eq!(
                    (&reply["success"], &reply["error_type"]),
                    (&json!(false), &json!(error_type)),
                    "{reply}"
                );
                assert!(reply["message"].as_str().expect("words").starts_with("Sorry"), "{reply}");
            }
            // A late answer finds nobody, and the conversation can go on.
            person.says(json!({ "text": "Hi" }));
            let start = Instant::now();
            let question = model.hears(QUESTION).await;
            let reply = person.hears(REPLY).await.json();
            assert_eq!(reply["error_type"], "timeout");
            assert_eq!(start.elapsed(), Duration::from_secs(60));
            model.answers(&question, &stop("late"));
            sleep(Duration::from_secs(1)).await;
            person.says(json!({ "text": "Hi" }));
            let question = model.hears(QUESTION).await;
            model.answers(&question, &stop("Hello."));
            assert_eq!(person.hears(REPLY).await.json()["content"], "Hello.");
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn two_conversations_wait_and_nobody_else_waits_for_them() {
    let world = World::new();
    world
        .tell(async {
            let (mut person, mut model) = a_home(&world).await;
            person.says(json!({ "text": "one", "conversation": "one" }));
            person.says(json!({ "text": "two", "conversation": "two" }));
            let first = model.hears(QUESTION).await;
            let second = model.hears(QUESTION).await;
            person.gets_an_echo().await;
            person.says(json!({ "text": "three", "conversation": "three" }));
            let busy = person.hears(REPLY).await.json();
            assert_eq!(busy["error_type"], "busy", "{busy}");
            person.says(json!({ "text": "again", "conversation": "one" }));
            assert_eq!(person.hears(REPLY).await.json()["error_type"], "busy");
            model.answers(&second, &stop("two"));
            assert_eq!(person.hears(REPLY).await.json()["content"], "two");
            // Enough of the other one.
            person.asks(Request::new("cancel", br#"{"conversation":"one"}"#));
            let reply = person.hears(REPLY).await.json();
            assert_eq!((&reply["error_type"], &reply["conversation"]), (&json!("cancelled"), &json!("one")));
            model.answers(&first, &stop("too late"));
            person.gets_an_echo().await;
            person.asks(Request::new("cancel", br#"{"conversation":"one"}"#));
            let cancelled = person.hears("hearthwave/story/response/cancel").await;
            assert_eq!(cancelled.json()["success"], true);
        })
        .await;
}

/// spec: gateway-17
#[tokio::test(start_paused = true)]
async fn what_is_heard_is_answered_aloud_if_it_was_meant_for_the_hub() {
    let world = World::new();
    world
        .tell(async {
            let (mut person, mut model) = a_home(&world).await;
            let hears = |text: &str| {
                let request = json!({ "text": text, "satellite": "den", "conversation": "den" });
                person.asks(Request::new("transcript", request.to_string().as_bytes()));
            };
            hears("so I told her to turn it off");
            hears("Hey, Hearthwave! What is 6 times 7?");
            let reply = person.hears("hearthwave/story/response/transcript").await.json();
            assert_eq!(reply, json!({ "success": true, "addressed": false }));
            let question = model.hears(QUESTION).await;
            assert_eq!(question.json()["messages"][0]["content"], "What is 6 times 7?");
            model.answers(&question, &calls(&[("hub_math_eval", json!({ "expression": "6*7" }))]));
            let question = model.hears(QUESTION).await;
            model.answers(&question, &stop("It is 42."));
            let speech = person.hears("hearthwave/story/speech").await.json();
            assert_eq!(speech, json!({ "text": "It is 42.", "conversation": "den", "satellite": "den" }));
            // Other words, if people want them.
            let set = json!({ "key": "wake_phrases", "value": "computer, hallo Haus" }).to_string();
            person.asks(Request::new("config/set", set.as_bytes()));
            person.hears("hearthwave/story/response/config/set").await;
            let request = json!({ "text": "HALLO, haus: é?" }).to_string();
            person.asks(Request::new("transcript", request.as_bytes()));
            assert_eq!(model.hears(QUESTION).await.json()["messages"][0]["content"], "é?");
        })
        .await;
}

/// spec: reply-05, reply-09
#[tokio::test(start_paused = true)]
async fn rules_are_chosen_by_name_by_intent_or_by_default() {
    let world = World::new();
    world
        .tell(async {
            let (mut person, mut model) = a_home(&world).await;
            for rule in [
                json!({ "name": "cook", "service": "ollama", "model": "small", "prompt": "You cook for {{user_message}}.{{nothing}}", "intents": ["cooking"] }),
                json!({ "name": "locked", "service": "openai", "model": "o", "tools": { "enabled": true, "allowed_tools": ["datetime"] } }),
            ] {
                let key = format!("rule.{}", rule["name"].as_str().expect("a name"));
                let set = json!({ "key": key, "value": rule }).to_string();
                person.asks(Request::new("config/set", set.as_bytes()));
                assert_eq!(person.hears("hearthwave/story/response/config/set").await.json()["success"], true);
            }
            person.says(json!({ "text": "soup", "intent": "cooking" }));
            let question = model.hears("hearthwave/story/llm/request/ollama").await;
            let body = question.json();
            assert_eq!((&body["model"], &body["stream"]), (&json!("small"), &json!(false)));
            assert_eq!(body["messages"][0], json!({ "role": "system", "content": "You cook for soup." }));
            assert!(body["tools"].as_array().is_none_or(Vec::is_empty), "tools are off: {body}");
            assert!(log_text().contains("the prompt has nothing, which stands for nothing"), "{}", log_text());
            model.answers(&question, &json!({ "message": { "role": "assistant", "content": "Hot." }, "done_reason": "stop", "done": true }));
            assert_eq!(person.hears(REPLY).await.json()["content"], "Hot.");
            person.says(json!({ "text": "x", "rule": "locked", "conversation": "two" }));
            let question = model.hears("hearthwave/story/llm/request/openai").await;
            assert_eq!(question.json()["tools"].as_array().map(Vec::len), Some(1));
            let message = json!({ "role": "assistant", "content": "Yes." });
            model.answers(&question, &json!({ "choices": [{ "message": message, "finish_reason": "stop" }] }));
            assert_eq!(person.hears(REPLY).await.json()["service"], "openai");
            person.says(json!({ "text": "x", "rule": "nope" }));
            assert_eq!(person.hears(REPLY).await.json()["error_type"], "not_found");
            let wrong = json!({ "key": "rule.x", "value": { "name": "y" } }).to_string();
            person.asks(Request::new("config/set", wrong.as_bytes()));
            assert_eq!(person.hears("hearthwave/story/response/config/set").await.json()["success"], false);
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn prompts_are_expanded_and_what_makes_no_sense_is_refused() {
    let world = World::new();
    world
        .tell(async {
            let (mut person, mut model) = a_home(&world).await;
            person.says(json!({ "text": "@explain thermostat" }));
            let question = model.hears(QUESTION).await;
            let text = question.json()["messages"][0]["content"].as_str().expect("text").to_owned();
            assert!(text.contains("thermostat") && !text.starts_with('@'), "{text}");
            model.answers(&question, &stop("It keeps you warm."));
            person.hears(REPLY).await;
            for (request, words) in [
                (json!({ "text": "@nope" }), "@status"),
                (json!({ "text": "  " }), "'text' must be what the person says"),
                (json!({}), "'text' must be what the person says"),
                (json!({ "text": "x", "conversation": 7 }), "'conversation' must be a string"),
            ] {
                person.says(request);
                let reply = person.hears(REPLY).await.json();
                assert_eq!(reply["success"], false);
                assert!(reply["error"].as_str().expect("words").contains(words), "{reply}");
            }
        })
        .await;
}
