//! People talk with the hub, and a model, played by hand, answers them.

use world::model::{calls, stop};
use world::prelude::*;

/// spec: reply-04, reply-13, reply-26
#[test]
fn a_question_goes_to_the_model_and_its_answer_comes_back() {
    story(async |world| {
        let (mut person, mut model) = world.talking().await;
        person.says(json!({ "text": "Hello \"you\" é", "transaction": 7 }));
        let question = model.hears_question().await;
        let body = question.json();
        assert_eq!(body["messages"], json!([{ "role": "user", "content": "Hello \"you\" é" }]), "{body}");
        assert_contains(&body["system"], "spoken aloud");
        assert!(count(&body["tools"]) > 5);
        assert!(body["max_tokens"].as_u64() > Some(0) && body["model"].is_string());
        model.answers(&question, stop("Hello to you."));
        let reply = person.reply().await;
        assert_eq!(reply["content"], "Hello to you.");
        assert_eq!((&reply["service"], &reply["model"]), (&json!("anthropic"), &body["model"]));
        assert_eq!(reply["tool_calls"], json!([]));
        assert_eq!((&reply["transaction"], &reply["conversation"]), (&json!(7), &json!("default")));
        // The conversation goes on.
        person.says(json!({ "text": "And now?" }));
        let question = model.hears_question().await;
        assert_eq!(count(&question.json()["messages"]), 3);
        model.answers(&question, stop("Still here."));
        assert_eq!(person.reply().await["content"], "Still here.");
        // Another conversation has its own history.
        person.says(json!({ "text": "Hi", "conversation": "kitchen" }));
        let question = model.hears_question().await;
        assert_eq!(count(&question.json()["messages"]), 1);
    });
}

/// spec: gateway-15, reply-12, reply-14, reply-16, reply-19, reply-25
#[test]
fn tools_are_called_for_the_model_and_their_results_go_back() {
    story(async |world| {
        let (mut person, mut model) = world.talking().await;
        let mut observer = world.person("bob").await;
        person.says(json!({ "text": "Echo and calculate" }));
        let two = [("hub_echo", json!({ "a": 1 })), ("hub_math_eval", json!({ "expression": "6*7" }))];
        let mut questions = vec![model.serves(calls(&two)).await.json()];
        let question = model.hears_question().await;
        questions.push(question.json());
        let messages = question.json()["messages"].clone();
        assert_eq!(messages[1]["content"][0]["type"], "tool_use", "{messages}");
        let results = messages[2]["content"].as_array().expect("results").clone();
        assert_eq!(results.len(), 2, "{messages}");
        assert_eq!(results[0]["tool_use_id"], "toolu_0");
        assert!(results[1].to_string().contains("42"), "{messages}");
        model.answers(&question, calls(&[("hub_fly", json!({}))]));
        let question = model.hears_question().await;
        assert!(question.json().to_string().contains("not found"), "an error goes to the model, too");
        model.answers(&question, stop("It is 42."));
        let reply = person.reply().await;
        assert_eq!(reply["content"], "It is 42.");
        let calls = reply["tool_calls"].as_array().expect("calls").clone();
        let shown: Vec<_> =
            calls.iter().map(|call| (call["tool"].clone(), call["iteration"].clone())).collect();
        let expected = [("hub_echo", 0), ("hub_math_eval", 0), ("hub_fly", 1)];
        assert_eq!(shown, expected.map(|(tool, iteration)| (json!(tool), json!(iteration))), "{reply}");
        assert_eq!(calls[0]["params"], json!({ "a": 1 }));
        // Each question offered the tools, and the log counts the calls of each iteration.
        questions.push(question.json());
        assert!(count(&questions[0]["tools"]) > 5);
        assert!(questions.iter().all(|question| question["tools"] == questions[0]["tools"]));
        for line in [
            "chat: iteration 0",
            "chat: iteration 0: tool calls: 2",
            "chat: iteration 1",
            "chat: iteration 1: tool calls: 1",
            "chat: iteration 2",
        ] {
            assert!(log_text().lines().any(|logged| logged.ends_with(line)), "{line}: {}", log_text());
        }
        // The executor ran them.
        assert_logged("tool hub_math_eval {\"expression\":\"6*7\"} in 0 ms: ");
        let mut events = Vec::new();
        for _ in 0..3 {
            events.push(observer.hears("event/tool").await.json()["name"].clone());
        }
        assert_eq!(events, ["hub_echo", "hub_math_eval", "hub_fly"]);
    });
}

#[test]
fn satellites_see_how_it_goes_on() {
    story(async |world| {
        let (mut person, mut model) = world.talking().await;
        person.says(json!({ "text": "Echo", "conversation": "den" }));
        model.serves(calls(&[("echo", json!({}))])).await;
        model.serves(stop("Done.")).await;
        let mut states = Vec::new();
        while states.last().is_none_or(|state| state != "done") {
            let event = person.hears("event/chat").await.json();
            assert_eq!(event["conversation"], "den");
            states.push(event["state"].as_str().expect("a state").to_owned());
            assert!(states.len() < 9);
        }
        assert_eq!(states, ["started", "waiting", "calling", "waiting", "done"]);
    });
}

/// spec: reply-16, reply-19, reply-21, reply-25
#[test]
fn a_turn_runs_as_many_calls_as_info_announces() {
    story(async |world| {
        let (mut person, mut model) = world.talking().await;
        let limits = person.hears("info").await.json()["limits"].clone();
        let [rounds, at_once] =
            ["llm_rounds", "llm_tool_calls"].map(|name| limits[name].as_u64().expect("a number"));
        person.sets("max_iterations", json!(rounds)).await;
        person.says(json!({ "text": "Loop" }));
        let round = vec![("hub_echo", json!({ "text": "Living Room Lamp 12" })); at_once as usize];
        for _ in 0..rounds {
            model.serves(calls(&round)).await;
        }
        let reply = person.reply().await;
        let made = rounds * at_once;
        let words = format!("I reached the maximum number of tool calls... I completed {made} steps.");
        assert_eq!(
            (&reply["content"], &reply["max_iterations_reached"]),
            (&json!(words), &json!(true)),
            "{reply}"
        );
        let left_out = reply["tool_calls_left_out"].as_u64().expect("a number");
        assert_eq!(count(&reply["tool_calls"]) as u64 + left_out, made, "{reply}");
    });
}

/// spec: reply-11, reply-21
#[test]
fn a_model_that_never_stops_calling_is_stopped() {
    story(async |world| {
        let (mut person, mut model) = world.talking().await;
        person.says(json!({ "text": "Loop" }));
        for _ in 0..5 {
            model.serves(calls(&[("echo", json!({}))])).await;
        }
        let reply = person.reply().await;
        let words = "I reached the maximum number of tool calls... I completed 5 steps.";
        assert_eq!(reply["content"], words);
        assert_eq!(reply["max_iterations_reached"], true);
        assert_eq!((&reply["service"], reply["model"].is_string()), (&json!("anthropic"), true));
        assert_logged("WARN chat: the maximum of 5 iterations is reached");
        assert_eq!(count(&reply["tool_calls"]), 5);
    });
}

#[test]
fn whatever_the_model_says_the_person_gets_one_answer() {
    story(async |world| {
        let (mut person, mut model) = world.talking().await;
        let huge = stop(&"x".repeat(200_000)).to_string();
        for (body, error_type) in [
            (&b"{\"content\":"[..], "provider_error"),
            (b"\xff", "provider_error"),
            (b"{}", "provider_error"),
            (br#"{"error":{"status":529,"message":"overloaded"}}"#, "provider_error"),
            (huge.as_bytes(), "too_large"),
        ] {
            person.says(json!({ "text": "Hi" }));
            let question = model.hears_question().await;
            model.answers_with(&question, body);
            let reply = person.reply().await;
            assert_refused(&reply, error_type, "");
            assert!(reply["message"].as_str().expect("words").starts_with("Sorry"), "{reply}");
        }
        // A late answer is ignored, and the conversation can go on.
        person.says(json!({ "text": "Hi" }));
        let start = Instant::now();
        let question = model.hears_question().await;
        assert_refused(&person.reply().await, "timeout", "");
        assert_eq!(start.elapsed(), Duration::from_secs(60));
        model.answers(&question, stop("late"));
        sleep(Duration::from_secs(1)).await;
        person.says(json!({ "text": "Hi" }));
        model.serves(stop("Hello.")).await;
        assert_eq!(person.reply().await["content"], "Hello.");
    });
}

#[test]
fn two_conversations_wait_and_nobody_else_waits_for_them() {
    story(async |world| {
        let (mut person, mut model) = world.talking().await;
        person.says(json!({ "text": "one", "conversation": "one" }));
        person.says(json!({ "text": "two", "conversation": "two" }));
        let first = model.hears_question().await;
        let second = model.hears_question().await;
        person.gets_an_echo().await;
        person.says(json!({ "text": "three", "conversation": "three" }));
        assert_refused(&person.reply().await, "busy", "");
        person.says(json!({ "text": "again", "conversation": "one" }));
        assert_refused(&person.reply().await, "busy", "");
        model.answers(&second, stop("two"));
        assert_eq!(person.reply().await["content"], "two");
        // The other one is cancelled.
        person.sends("cancel", json!({ "conversation": "one" }));
        let reply = person.reply().await;
        assert_refused(&reply, "cancelled", "");
        assert_eq!(reply["conversation"], "one");
        model.answers(&first, stop("too late"));
        person.gets_an_echo().await;
        assert_eq!(person.asks("cancel", json!({ "conversation": "one" })).await["success"], true);
    });
}

/// A conversation too many evicts the least recently used one.
#[test]
fn the_conversation_that_was_silent_for_longest_makes_place() {
    story(async |world| {
        let (mut person, mut model) = world.talking().await;
        let mut messages = async |conversation: &str| {
            person.says(json!({ "text": "Hello", "conversation": conversation }));
            let question = model.serves(stop("Hi.")).await;
            person.reply().await;
            count(&question.json()["messages"])
        };
        for (conversation, count) in [("a", 1), ("b", 1), ("c", 1), ("a", 3), ("d", 1)] {
            assert_eq!(messages(conversation).await, count, "{conversation}");
        }
        for (conversation, count) in [("a", 5), ("c", 3), ("d", 3), ("b", 1), ("a", 1)] {
            assert_eq!(messages(conversation).await, count, "{conversation}");
        }
    });
}
