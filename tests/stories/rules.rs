//! Rules and prompts: how the hub is to answer.

use hub_core::limits;
use hub_core::settings::SETTINGS;
use world::model::{calls, ollama, openai, stop};
use world::prelude::*;

#[test]
fn rules_are_chosen_by_name_by_intent_or_by_default() {
    story(async |world| {
        let (mut person, mut model) = world.talking().await;
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
            person.sets_rule(rule).await;
        }
        person.says(json!({ "text": "soup", "intent": "cooking" }));
        let question = model.hears("llm/request/ollama").await;
        let body = question.json();
        assert_eq!((&body["model"], &body["stream"]), (&json!("small"), &json!(false)));
        assert_eq!(body["messages"][0], json!({ "role": "system", "content": "You cook for soup." }));
        assert!(body["tools"].as_array().is_none_or(Vec::is_empty), "tools are off: {body}");
        assert_logged("the prompt has an unknown placeholder: nothing");
        model.answers(&question, ollama("Hot.", "stop"));
        assert_eq!(person.reply().await["content"], "Hot.");
        person.says(json!({ "text": "x", "rule": "locked", "conversation": "two" }));
        let question = model.hears("llm/request/openai").await;
        assert_eq!(count(&question.json()["tools"]), 1);
        let message = json!({ "role": "assistant", "content": "Yes." });
        model.answers(&question, openai(message, "stop"));
        assert_eq!(person.reply().await["service"], "openai");
        assert_refused(&person.asks("chat", json!({ "text": "x", "rule": "nope" })).await, "not_found", "");
    });
}

#[test]
fn prompts_are_expanded_and_what_makes_no_sense_is_refused() {
    story(async |world| {
        let (mut person, mut model) = world.talking().await;
        person.says(json!({ "text": "@explain thermostat" }));
        let question = model.hears_question().await;
        let text = question.json()["messages"][0]["content"].as_str().expect("text").to_owned();
        assert!(text.contains("thermostat") && !text.starts_with('@'), "{text}");
        model.answers(&question, stop("It keeps you warm."));
        person.reply().await;
        for (request, words) in [
            (json!({ "text": "@nope" }), "@status"),
            (json!({ "text": "  " }), "'text' must be what the person says"),
            (json!({}), "'text' must be what the person says"),
            (json!({ "text": "x", "conversation": 7 }), "'conversation' must be a string"),
        ] {
            let reply = person.asks("chat", request).await;
            assert_eq!(reply["success"], false);
            assert_contains(&reply["error"], words);
        }
    });
}

/// spec: reply-05, reply-06, reply-09
#[test]
fn a_model_has_tools_only_if_the_rule_the_hub_and_the_registry_have_them() {
    story(async |world| {
        let (mut person, mut model) = world.talking().await;
        person.sets_rule(json!({ "name": "plain" })).await;
        person.sets_rule(json!({ "name": "off", "tools": { "enabled": false } })).await;
        person
            .sets_rule(json!({ "name": "none", "tools": { "enabled": true, "allowed_tools": ["fly"] } }))
            .await;
        person.sets_rule(json!({ "name": "on", "tools": { "enabled": true } })).await;
        for (rule, has_tools) in [("plain", false), ("off", false), ("none", false), ("on", true)] {
            person.says(json!({ "text": "Echo", "rule": rule, "conversation": rule }));
            let question = model.hears_question().await;
            assert_eq!(question.json().get("tools").is_some(), has_tools, "{rule}");
            model.answers(&question, calls(&[("echo", json!({ "a": 1 }))]));
            if has_tools {
                model.serves(stop("Done.")).await;
            }
            let reply = person.reply().await;
            let made = count(&reply["tool_calls"]);
            assert_eq!(made, usize::from(has_tools), "a call without tools is not made: {reply}");
        }
        assert_logged_times(1, "WARN chat: no tools are available");
        // The owner can switch all of them off.
        let wrong = person.sets("tools", json!("perhaps")).await;
        assert_eq!(wrong["error"], "'value' must be one of: on, off");
        assert_eq!(person.sets("tools", json!("off")).await["success"], true);
        person.says(json!({ "text": "Echo", "rule": "on", "conversation": "switch" }));
        let question = model.hears_question().await;
        assert_eq!(question.json().get("tools"), None);
        model.answers(&question, stop("I cannot."));
        person.reply().await;
        assert_eq!(person.sets("tools", Value::Null).await["success"], true);
        person.says(json!({ "text": "Echo", "rule": "on", "conversation": "switch" }));
        assert!(model.hears_question().await.json().get("tools").is_some());
    });
}

/// Every member of a rule reaches the model.
#[test]
fn everything_a_rule_says_reaches_the_model() {
    story(async |world| {
        let (mut person, mut model) = world.talking().await;
        person.sets_rule(json!({
            "name": "all", "service": "ollama", "model": "m:1", "prompt": "P {{satellite.room}} {{rag_context}}|",
            "max_tokens": 77, "temperature": 0.25, "thinking": false, "context": null,
        })).await;
        person.says(json!({ "text": "x", "rule": "all", "satellite": { "room": "den" } }));
        let body = model.hears("llm/request/ollama").await.json();
        assert_eq!((&body["model"], &body["think"]), (&json!("m:1"), &json!(false)), "{body}");
        assert_eq!(
            (&body["options"]["temperature"], &body["options"]["num_predict"]),
            (&json!(0.25), &json!(77))
        );
        assert_eq!(body["messages"][0]["content"], "P den |", "no documents: {body}");
    });
}

/// spec: reply-01
#[test]
fn a_prompt_is_filled_in_from_the_request_and_the_rule() {
    story(async |world| {
        let (mut person, mut model) = world.talking().await;
        let recipe = json!({ "category": "recipes", "name": "soup", "text": "Water and {{intent}}." });
        assert_eq!(person.asks("content/put", recipe).await["success"], true);
        let prompt = "I:{{intent}} S:{{ service }} U:{{user_message}} C:{{rag_context}} R:{{satellite.room}} M:{{mood.now}} ?:{{nothing}}|";
        for service in ["anthropic", "openai", "ollama"] {
            person
                .sets_rule(json!({
                    "name": service, "service": service, "model": "m", "prompt": prompt, "intents": [service],
                    "context": "recipes/soup",
                }))
                .await;
            // By its intent, and by name with another intent or none.
            for (rule, intent) in
                [(None, Some(service)), (Some(service), Some("\"cooking\"")), (Some(service), None)]
            {
                let satellite = json!({ "id": service, "room": "Küche" });
                let mut request =
                    json!({ "text": "{{service}}?", "satellite": satellite, "mood": { "now": 7 } });
                for (name, value) in [("rule", rule), ("intent", intent)] {
                    if let Some(value) = value {
                        request[name] = json!(value);
                    }
                }
                person.says(request);
                let question = model.hears(&format!("llm/request/{service}")).await;
                let body = question.json();
                let system = body.get("system").unwrap_or(&body["messages"][0]["content"]);
                let intent = intent.unwrap_or_default();
                let expected = format!(
                    "I:{intent} S:{service} U:{{{{service}}}}? C:Water and {{{{intent}}}}.\n\n R:Küche M:7 ?:|"
                );
                assert_eq!(*system, json!(expected), "{body}");
                model.answers(&question, json!({ "error": { "status": 500, "message": "enough" } }));
                person.reply().await;
            }
        }
        assert_logged_times(9, "the prompt has an unknown placeholder: nothing");
    });
}

#[test]
fn what_is_wrong_with_a_rule_is_said_when_it_is_set() {
    story(async |world| {
        let (mut person, mut model) = world.talking().await;
        let long = "p".repeat(limits::RULE);
        let keys: Vec<_> = SETTINGS.iter().map(|setting| setting.key).collect();
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
                "The rule cannot be read: a rule has no member 'a_member_with_a_very_…'",
            ),
            ("rule.q", json!([]), "The rule cannot be read: the rule must be an object"),
            ("rule.q", json!({ "name": "x" }), "'name' in the rule must be that in the key, after 'rule.'"),
            (
                "rule.q",
                json!({ "name": "q", "prompt": long }),
                "The rule is longer than 1536 bytes; shorten its prompt",
            ),
            ("rules", json!("x"), &format!("'key' must be one of: {}", keys.join(", "))),
        ] {
            let reply = person.sets(key, rule).await;
            assert_eq!((&reply["success"], &reply["error"]), (&json!(false), &json!(words)));
        }
        // The largest that fits also works.
        let prompt = "p".repeat(limits::RULE - r#"{"name":"q","prompt":""}"#.len());
        person.sets_rule(json!({ "name": "q", "prompt": prompt })).await;
        person.says(json!({ "text": "x", "rule": "q" }));
        assert_eq!(model.hears_question().await.json()["system"], json!(prompt));
    });
}

#[test]
fn a_rule_of_the_owners_takes_the_place_of_a_built_in_one() {
    story(async |world| {
        let (mut person, mut model) = world.talking().await;
        let mut system = async |request: Value| {
            person.says(request);
            let question = model.serves(stop(".")).await;
            let reply = person.reply().await;
            assert_eq!(reply["content"], ".", "{reply}");
            question.json()["system"].as_str().expect("a prompt").to_owned()
        };
        assert!(system(json!({ "text": "x", "intent": "voice" })).await.contains("spoken aloud: one short"));
        assert!(system(json!({ "text": "x", "intent": "other" })).await.contains("one to three short"));
        let mut owner = world.person("owner").await;
        // The new rule is for no intent, so the default applies.
        owner.sets_rule(json!({ "name": "brief", "prompt": "Mine." })).await;
        assert!(system(json!({ "text": "x", "intent": "voice" })).await.contains("one to three short"));
        assert_eq!(system(json!({ "text": "x", "rule": "brief" })).await, "Mine.");
        owner.sets_rule(json!({ "name": "default", "prompt": "All." })).await;
        assert_eq!(system(json!({ "text": "x", "intent": "voice" })).await, "All.");
        owner.sets_rule(json!({ "name": "loud", "prompt": "Loud.", "intents": ["a", "voice"] })).await;
        assert_eq!(system(json!({ "text": "x", "intent": "voice" })).await, "Loud.");
    });
}

/// spec: infra-32, infra-35
#[test]
fn prompts_can_be_listed_with_their_documentation() {
    story(async |world| {
        let mut person = world.person("ann").await;
        let reply = person.asks("prompt/list", json!({})).await;
        let prompts = reply["prompts"].as_array().expect("prompts").clone();
        let names: Vec<_> = prompts.iter().map(|prompt| prompt["name"].as_str().expect("a name")).collect();
        assert_eq!(names, ["status", "goodnight", "explain"]);
        for prompt in &prompts {
            let text = prompt["documentation"].as_str().expect("a text");
            let sections =
                ["## Description", "## Conceptual Schema", "## Usage Instructions", "## Concrete Examples"];
            let places = sections.map(|section| text.find(section).expect(section));
            assert!(places.is_sorted(), "{text}");
            assert!(text.contains("*args"), "{text}");
        }
    });
}

/// spec: infra-36
#[test]
fn a_prompt_runs_the_function_of_a_tool_without_its_wrapping() {
    story(async |world| {
        let (mut person, mut model) = world.talking().await;
        person.says(json!({ "text": "@status kitchen" }));
        let question = model.hears_question().await;
        let said = question.json()["messages"][0]["content"].as_str().expect("text").to_owned();
        assert_not_logged("Tool called");
        model.answers(&question, stop("All is well."));
        let reply = person.reply().await;
        assert_eq!(reply["tool_calls"], json!([]), "and it counts as no call");
        // The model reads the tool's own result, without the result object.
        let called = person.uses("hub_datetime", json!({})).await;
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
        // One event, for the direct call; the prompt's tool has none.
        assert_eq!(person.hears_all("event/tool").await.len(), 1);
    });
}
