//! Rules and prompts: how the hub is to answer.

use hub_core::limits;
use serde_json::{Value, json};

use crate::model::{QUESTION, REPLY, a_home, calls, ollama, openai, stop};
use crate::world::{Request, World, log_text};

#[tokio::test(start_paused = true)]
async fn rules_are_chosen_by_name_by_intent_or_by_default() {
    let world = World::new();
    world
        .tell(async {
            let (mut person, mut model) = a_home(&world).await;
            for rule in [
                json!({
                    "name": "cook", "service": "ollama", "model": "small", "intents": ["cooking"],
                    "prompt": "You cook for {{user_message}}.{{nothing}}",
                }),
                json!({
                    "name": "locked", "service": "openai", "model": "o",
                    "tools": { "enabled": true, "allowed_tools": ["datetime"] },
                }),
            ] {
                person.rules(rule).await;
            }
            person.says(json!({ "text": "soup", "intent": "cooking" }));
            let question = model.hears("hearthwave/story/llm/request/ollama").await;
            let body = question.json();
            assert_eq!((&body["model"], &body["stream"]), (&json!("small"), &json!(false)));
            assert_eq!(body["messages"][0], json!({ "role": "system", "content": "You cook for soup." }));
            assert!(body["tools"].as_array().is_none_or(Vec::is_empty), "tools are off: {body}");
            assert!(
                log_text().contains("the prompt has nothing, which stands for nothing"),
                "{}",
                log_text()
            );
            model.answers(&question, &ollama("Hot.", "stop"));
            assert_eq!(person.hears(REPLY).await.json()["content"], "Hot.");
            person.says(json!({ "text": "x", "rule": "locked", "conversation": "two" }));
            let question = model.hears("hearthwave/story/llm/request/openai").await;
            assert_eq!(question.json()["tools"].as_array().map(Vec::len), Some(1));
            let message = json!({ "role": "assistant", "content": "Yes." });
            model.answers(&question, &openai(message, "stop"));
            assert_eq!(person.hears(REPLY).await.json()["service"], "openai");
            person.says(json!({ "text": "x", "rule": "nope" }));
            assert_eq!(person.hears(REPLY).await.json()["error_type"], "not_found");
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

/// spec: reply-05, reply-06, reply-09
#[tokio::test(start_paused = true)]
async fn a_model_has_tools_only_if_the_rule_the_hub_and_the_registry_have_them() {
    let world = World::new();
    world
        .tell(async {
            let (mut person, mut model) = a_home(&world).await;
            person.rules(json!({ "name": "plain" })).await;
            person.rules(json!({ "name": "off", "tools": { "enabled": false } })).await;
            person
                .rules(json!({ "name": "none", "tools": { "enabled": true, "allowed_tools": ["fly"] } }))
                .await;
            person.rules(json!({ "name": "on", "tools": { "enabled": true } })).await;
            for (rule, has_tools) in [("plain", false), ("off", false), ("none", false), ("on", true)] {
                person.says(json!({ "text": "Echo", "rule": rule, "conversation": rule }));
                let question = model.hears(QUESTION).await;
                assert_eq!(question.json().get("tools").is_some(), has_tools, "{rule}");
                model.answers(&question, &calls(&[("echo", json!({ "a": 1 }))]));
                if has_tools {
                    let question = model.hears(QUESTION).await;
                    model.answers(&question, &stop("Done."));
                }
                let reply = person.hears(REPLY).await.json();
                let made = reply["tool_calls"].as_array().expect("calls").len();
                assert_eq!(made, usize::from(has_tools), "a call without tools is not made: {reply}");
            }
            assert_eq!(log_text().matches("WARN chat: no tools are available").count(), 1, "{}", log_text());
            // The owner can switch all of them off.
            let wrong = person.sets("tools", json!("perhaps")).await;
            assert_eq!(wrong["error"], "'value' must be one of: on, off");
            assert_eq!(person.sets("tools", json!("off")).await["success"], true);
            person.says(json!({ "text": "Echo", "rule": "on", "conversation": "switch" }));
            let question = model.hears(QUESTION).await;
            assert_eq!(question.json().get("tools"), None);
            model.answers(&question, &stop("I cannot."));
            person.hears(REPLY).await;
            assert_eq!(person.sets("tools", Value::Null).await["success"], true);
            person.says(json!({ "text": "Echo", "rule": "on", "conversation": "switch" }));
            assert!(model.hears(QUESTION).await.json().get("tools").is_some());
        })
        .await;
}

/// Nothing that a rule says is lost on the way to the model.
#[tokio::test(start_paused = true)]
async fn everything_a_rule_says_reaches_the_model() {
    let world = World::new();
    world
        .tell(async {
            let (mut person, mut model) = a_home(&world).await;
            person.rules(json!({
                "name": "all", "service": "ollama", "model": "m:1", "prompt": "P {{satellite.room}} {{rag_context}}|",
                "max_tokens": 77, "temperature": 0.25, "thinking": false, "context": null,
            })).await;
            person.says(json!({ "text": "x", "rule": "all", "satellite": { "room": "den" } }));
            let body = model.hears("hearthwave/story/llm/request/ollama").await.json();
            assert_eq!((&body["model"], &body["think"]), (&json!("m:1"), &json!(false)), "{body}");
            assert_eq!((&body["options"]["temperature"], &body["options"]["num_predict"]), (&json!(0.25), &json!(77)));
            assert_eq!(body["messages"][0]["content"], "P den |", "no documents: {body}");
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn what_is_wrong_with_a_rule_is_said_when_it_is_set() {
    let world = World::new();
    world
        .tell(async {
            let (mut person, mut model) = a_home(&world).await;
            let long = "p".repeat(limits::RULE);
            for (key, rule, words) in [
                (
                    "rule.q",
                    json!({ "name": "q", "max_tokens": 0 }),
                    "The rule cannot be read: 'max_tokens' must be a whole number from 1 to 8192",
                ),
                (
                    "rule.q",
                    json!({ "name": "q", "promt": "x" }),
                    "The rule cannot be read: a rule has no member 'promt'",
                ),
                (
                    "rule.q",
                    json!({ "name": "q", "a_member_with_a_very_long_name": 1 }),
                    "The rule cannot be read: a rule has no member 'a_member_with_a_very_lon'",
                ),
                ("rule.q", json!([]), "The rule cannot be read: the rule must be an object"),
                (
                    "rule.q",
                    json!({ "name": "x" }),
                    "'name' in the rule must be that in the key, after 'rule.'",
                ),
                (
                    "rule.q",
                    json!({ "name": "q", "prompt": long }),
                    "The rule is longer than 1536 bytes; shorten its prompt",
                ),
                ("rules", json!("x"), "'key' must be one of: project, tools, wake_phrases, tool_prefix, example_tools, max_iterations, rule.NAME"),
            ] {
                let reply = person.sets(key, rule).await;
                assert_eq!((&reply["success"], &reply["error"]), (&json!(false), &json!(words)));
            }
            // The largest that fits also works.
            let prompt = "p".repeat(limits::RULE - r#"{"name":"q","prompt":""}"#.len());
            person.rules(json!({ "name": "q", "prompt": prompt })).await;
            person.says(json!({ "text": "x", "rule": "q" }));
            assert_eq!(model.hears(QUESTION).await.json()["system"], json!(prompt));
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_rule_of_the_owners_takes_the_place_of_a_built_in_one() {
    let world = World::new();
    world
        .tell(async {
            let (mut person, mut model) = a_home(&world).await;
            let mut system = async |request: Value| {
                person.says(request);
                let question = model.hears(QUESTION).await;
                model.answers(&question, &stop("."));
                let reply = person.hears(REPLY).await.json();
                assert_eq!(reply["content"], ".", "{reply}");
                question.json()["system"].as_str().expect("a prompt").to_owned()
            };
            assert!(
                system(json!({ "text": "x", "intent": "voice" })).await.contains("spoken aloud: one short")
            );
            assert!(system(json!({ "text": "x", "intent": "other" })).await.contains("one to three short"));
            let mut owner = world.person("owner").await;
            // It is for no intent, so that the default counts.
            owner.rules(json!({ "name": "brief", "prompt": "Mine." })).await;
            assert!(system(json!({ "text": "x", "intent": "voice" })).await.contains("one to three short"));
            assert_eq!(system(json!({ "text": "x", "rule": "brief" })).await, "Mine.");
            owner.rules(json!({ "name": "default", "prompt": "All." })).await;
            assert_eq!(system(json!({ "text": "x", "intent": "voice" })).await, "All.");
            owner.rules(json!({ "name": "loud", "prompt": "Loud.", "intents": ["a", "voice"] })).await;
            assert_eq!(system(json!({ "text": "x", "intent": "voice" })).await, "Loud.");
        })
        .await;
}

/// spec: infra-32, infra-35
#[tokio::test(start_paused = true)]
async fn prompts_can_be_listed_with_their_documentation() {
    let world = World::new();
    world
        .tell(async {
            let mut person = world.person("ann").await;
            person.sees_online().await;
            person.asks(Request::new("prompt/list", b"{}"));
            let reply = person.hears("hearthwave/story/response/prompt/list").await.json();
            let prompts = reply["prompts"].as_array().expect("prompts").clone();
            let names: Vec<_> =
                prompts.iter().map(|prompt| prompt["name"].as_str().expect("a name")).collect();
            assert_eq!(names, ["status", "goodnight", "explain"]);
            for prompt in &prompts {
                let text = prompt["documentation"].as_str().expect("a text");
                let sections = [
                    "## Description",
                    "## Conceptual Schema",
                    "## Usage Instructions",
                    "## Concrete Examples",
                ];
                let places = sections.map(|section| text.find(section).expect(section));
                assert!(places.is_sorted(), "{text}");
                assert!(text.contains("*args"), "{text}");
            }
        })
        .await;
}

/// spec: infra-36
#[tokio::test(start_paused = true)]
async fn a_prompt_runs_the_function_of_a_tool_without_its_wrapping() {
    let world = World::new();
    world
        .tell(async {
            let (mut person, mut model) = a_home(&world).await;
            person.says(json!({ "text": "@status kitchen" }));
            let question = model.hears(QUESTION).await;
            let said = question.json()["messages"][0]["content"].as_str().expect("text").to_owned();
            assert!(!log_text().contains("Tool called"), "not through the executor: {}", log_text());
            model.answers(&question, &stop("All is well."));
            let reply = person.hears(REPLY).await.json();
            assert_eq!(reply["tool_calls"], json!([]), "and it counts as no call");
            // What the model reads is what the tool itself gives, without the result object around it.
            person.calls("hub_datetime", json!({}));
            let called = person.gets().await;
            let result = called["result"].to_string();
            assert!(result.len() > 10 && called["tool_name"] == "hub_datetime", "{called}");
            let told: Value =
                serde_json::from_str(said.split_once("clock says: ").expect("the clock").1).expect("JSON");
            let date = |value: &Value| value.get("date").or(value.get("iso")).cloned();
            assert_eq!(date(&told), date(&called["result"]), "{told} {called}");
            assert_eq!(
                told.as_object().map(|it| it.keys().cloned().collect::<Vec<_>>()),
                called["result"].as_object().map(|it| it.keys().cloned().collect())
            );
            assert!(!said.contains("success") && !said.contains("tool_name"), "{said}");
            // One event, of the call that was one.
            let events = person.hears_all("hearthwave/story/event/tool").await;
            assert_eq!(events.len(), 1);
        })
        .await;
}
