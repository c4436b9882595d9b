//! How turns end: what people hear of what was done, and of what a model wrote.

use support::server::{Act, Server};
use world::model::{anthropic, calls, ollama, openai, stop};
use world::prelude::*;
use world::relay;

/// The order to switch something on.
fn on() -> Value {
    json!({ "device_name": "Switch One", "command": "on" })
}

/// Whoever hears only "Sorry" repeats the order, and a toggle is toggled twice.
#[test]
fn what_was_done_is_said_before_the_model_fails() {
    story(async |world| {
        let (mut controller, mut ann) = world.connected().await;
        let mut model = world.model().await;
        let error = json!({ "error": { "status": 529, "message": "Overloaded" } });
        let done = "Switch One is on. The volume is 30 percent. Sorry, my language model reports a problem.";
        let round = calls(&[
            ("control_zwave_device", on()),
            ("hub_volume", json!({ "level": 30 })),
            // What failed was not done.
            ("hub_volume", json!({ "level": 300 })),
        ]);
        ann.says(json!({ "text": "Turn it on" }));
        model.serves(round.clone()).await;
        controller.serves("Switch One is on\n").await;
        model.serves(error.clone()).await;
        let reply = ann.reply().await;
        assert_refused(&reply, "provider_error", "Overloaded");
        assert_eq!((&reply["message"], &reply["content"]), (&json!(done), &json!(done)));
        // The same aloud.
        ann.sends("transcript", json!({ "text": "Hearthwave, turn it on" }));
        model.serves(round).await;
        controller.serves("Switch One is on").await;
        model.serves(error).await;
        assert_eq!(ann.hears("speech").await.json()["text"], done);
        // Nobody answers after the call, or with nothing.
        ann.says(json!({ "text": "Turn it on" }));
        model.serves(calls(&[("control_zwave_device", on())])).await;
        controller.serves_result(json!({ "content": [{ "type": "text", "text": "{\"on\":true}" }] })).await;
        model.serves(stop("")).await;
        let reply = ann.reply().await;
        assert_refused(
            &reply,
            "no_answer",
            "the model's answer is empty; ask again, or choose another model",
        );
        let words = "I completed one step. Sorry, my language model gave no answer.";
        assert_eq!((&reply["message"], &reply["content"]), (&json!(words), &json!(words)));
    });
}

#[test]
fn what_was_done_is_said_when_the_rounds_or_the_time_are_over() {
    story(async |world| {
        let (mut controller, mut ann) = world.connected().await;
        let mut model = world.model().await;
        ann.says(json!({ "text": "Loop" }));
        for _ in 0..5 {
            model.serves(calls(&[("control_zwave_device", on())])).await;
            controller.serves("Switch One was toggled.").await;
        }
        let reply = ann.reply().await;
        let words = "I reached the maximum number of tool calls... Switch One was toggled. (5 times)";
        assert_eq!(reply["content"], words);
        assert_eq!(reply["max_iterations_reached"], true);
        // Cancelled in the middle of the second call.
        ann.says(json!({ "text": "Go", "conversation": "den" }));
        let round = calls(&[("list_devices", json!({})), ("control_zwave_device", on())]);
        model.serves(round).await;
        controller.serves(&"Lamp, ".repeat(100)).await;
        controller.hears_call().await;
        sleep(Duration::from_secs(3)).await;
        ann.asks("cancel", json!({ "conversation": "den" })).await;
        let reply = ann.reply().await;
        let words = reply["message"].as_str().expect("words");
        assert!(words.starts_with("Lamp, Lamp, ") && words.len() < 300, "{words}");
        assert!(
            words.ends_with("… I do not know whether one more step was completed. I stopped."),
            "{words}"
        );
        // No model is there any more after a call that the controller leaves unanswered.
        ann.says(json!({ "text": "Go" }));
        model.serves(calls(&[("control_zwave_device", on())])).await;
        controller.hears_call().await;
        let question = model.hears_question().await;
        model.answers(&question, json!({ "error": { "relay": "unavailable", "message": "no route" } }));
        let words = "The controller took too long, and I do not know whether that was done. Please check. Sorry, I \
                     cannot reach my language model right now.";
        assert_eq!(ann.reply().await["message"], words);
    });
}

/// spec: calls-18
#[test]
fn a_model_gets_every_failure_with_all_its_members() {
    story(async |world| {
        let (mut controller, mut ann) = world.connected().await;
        let mut model = world.model().await;
        let allowed = json!({ "enabled": true, "allowed_tools": ["hub_echo", "list_devices"] });
        ann.sets_rule(json!({ "name": "few", "service": "openai", "model": "m", "tools": allowed })).await;
        ann.says(json!({ "text": "Go", "rule": "few", "conversation": "den" }));
        let call = |id: &str, name: &str, arguments: &str| json!({ "id": id, "type": "function", "function": { "name": name, "arguments": arguments } });
        let round = [
            call("a", "hub_echo", "{broken"),
            call("b", "hub_volume", "{}"),
            call("c", "invented", "{}"),
            call("d", "list_devices", "{}"),
            call("e", "list_devices", "{}"),
        ];
        let message = json!({ "role": "assistant", "content": null, "tool_calls": round });
        let question = model.hears("llm/request/openai").await;
        model.answers(&question, openai(message, "tool_calls"));
        controller.hears_call().await;
        sleep(Duration::from_secs(3)).await;
        ann.asks("cancel", json!({ "conversation": "den" })).await;
        ann.reply().await;
        ann.says(json!({ "text": "And?", "rule": "few", "conversation": "den" }));
        let question = model.hears("llm/request/openai").await.json();
        let messages = question["messages"].as_array().expect("messages").iter();
        let results = messages.filter(|message| message["role"] == "tool").map(|message| {
            let text = message["content"].as_str().expect("a text");
            let result: Value = serde_json::from_str(text).expect("JSON");
            assert!(result["success"] == false && result["error"].is_string(), "{text}");
            assert!(result["error_type"].is_string() && result["execution_time_ms"].is_u64(), "{text}");
            (result["tool_name"].clone(), result["execution_time_ms"].clone())
        });
        let expected = [
            ("hub_echo", 0),
            ("hub_volume", 0),
            ("invented", 0),
            ("list_devices", 3000),
            ("list_devices", 0),
        ];
        let expected = expected.map(|(name, milliseconds)| (json!(name), json!(milliseconds)));
        assert_eq!(results.collect::<Vec<_>>(), expected);
    });
}

#[test]
fn what_a_model_thinks_is_not_handed_to_people() {
    story(async |world| {
        let (mut ann, mut model) = world.talking().await;
        for (text, content) in [
            ("<think>\nThe user <b>greets</think>\n\nHello.", "Hello."),
            ("\n<think></think><think>a < b </ c</think> Two.", "Two."),
            ("Use <think> and </think> so.", "Use <think> and </think> so."),
            (
                "It is locked. A thought ends with </think> in its text.",
                "It is locked. A thought ends with </think> in its text.",
            ),
            ("It is locked. The tag is `</think>`.", "It is locked. The tag is `</think>`."),
            // The template of some models opens the thought in the prompt.
            ("The user greets me.\n</think>\n\nHello.", "Hello."),
            ("hm</think><think>hm, hm</think>Hello.", "Hello."),
            ("<think>a<think>b</think>c</think>Hello.", "Hello."),
            ("<thin> is no thought", "<thin> is no thought"),
        ] {
            ann.says(json!({ "text": "Hi" }));
            model.serves(stop(text)).await;
            assert_eq!(ann.reply().await["content"], content);
        }
        ann.sends("transcript", json!({ "text": "Hearthwave, hello" }));
        model.serves(stop("<think>hm</think>Good evening.")).await;
        assert_eq!(ann.hears("speech").await.json()["text"], "Good evening.");
        // All tokens went into thoughts.
        ann.says(json!({ "text": "Hi" }));
        model.serves(anthropic("<think>Well, let me", "max_tokens")).await;
        assert_refused(
            &ann.reply().await,
            "no_answer",
            "raise max_tokens in the rule, or set thinking to false",
        );
        assert_logged("raise max_tokens in the rule");
        // All there is are thoughts.
        ann.says(json!({ "text": "Hi" }));
        model.serves(stop("I think, therefore\n</think>\n")).await;
        assert_refused(&ann.reply().await, "no_answer", "the model's answer is empty");
    });
}

#[test]
fn an_answer_that_the_token_limit_cuts_says_so() {
    story(async |world| {
        let (mut ann, mut model) = world.talking().await;
        let message = json!({ "role": "assistant", "content": "Once upon a" });
        for (service, body) in [
            ("anthropic", anthropic("Once upon a", "max_tokens")),
            ("openai", openai(message, "length")),
            ("ollama", ollama("Once upon a", "length")),
        ] {
            ann.sets_rule(json!({ "name": service, "service": service, "model": "m" })).await;
            ann.says(json!({ "text": "A story", "rule": service }));
            let question = model.hears(&format!("llm/request/{service}")).await;
            model.answers(&question, body);
            let words = "Once upon a... [cut: the model reached its limit of tokens]";
            assert_eq!(ann.reply().await["content"], words, "{service}");
        }
        ann.sends("transcript", json!({ "text": "Hearthwave, a story" }));
        model.serves(anthropic("Once upon a", "max_tokens")).await;
        let words = "Once upon a... cut: the model reached its limit of tokens";
        assert_eq!(ann.hears("speech").await.json()["text"], words);
    });
}

/// A refusal as each provider writes it, and what a person hears of it.
#[test]
fn a_refusal_is_named_as_such() {
    story(async |world| {
        let (mut ann, mut model) = world.talking().await;
        for service in ["anthropic", "openai"] {
            let tools = json!({ "enabled": true });
            ann.sets_rule(json!({ "name": service, "service": service, "model": "m", "tools": tools })).await;
        }
        let mut explained = anthropic("", "refusal");
        let why = "This request was declined.";
        explained["stop_details"] = json!({ "type": "refusal", "category": "cyber", "explanation": why });
        let message = |content: Value, refusal: Value| json!({ "role": "assistant", "content": content, "refusal": refusal });
        let refused = "I encountered an issue... My language model refused to answer that.";
        let said = |words: &str| format!("{words} [my language model refused to say more]");
        let null = Value::Null;
        for (service, body, name, words) in [
            ("anthropic", anthropic("", "refusal"), "refusal", refused.to_owned()),
            ("anthropic", explained, "refusal", said(why)),
            ("anthropic", anthropic("Hello..", "refusal"), "refusal", said("Hello..")),
            (
                "openai",
                openai(message(null.clone(), null.clone()), "content_filter"),
                "content_filter",
                refused.to_owned(),
            ),
            (
                "openai",
                openai(message(json!("Half a"), null.clone()), "content_filter"),
                "content_filter",
                said("Half a"),
            ),
            ("openai", openai(message(null, json!("I cannot.")), "stop"), "refusal", said("I cannot.")),
        ] {
            ann.says(json!({ "text": "Go", "rule": service, "conversation": service }));
            let question = model.hears(&format!("llm/request/{service}")).await;
            // Providers go on refusing a conversation in which the refused turn is left.
            assert_eq!(count(&question.json()["messages"]), usize::from(service == "openai") + 1);
            model.answers(&question, body);
            let reply = ann.reply().await;
            assert_refused(&reply, "refused", &format!("refused to answer ({name})"));
            assert_contains(&reply["error"], "; ask in other words, or choose another model in the rule");
            assert_eq!((&reply["message"], &reply["content"]), (&json!(words), &json!(words)));
            let notice = ann.hears("log").await.json();
            assert_contains(&notice["text"], &format!("refused to answer ({name})"));
        }
        // The reply also states what was done before, and it is spoken.
        ann.sends("transcript", json!({ "text": "Hearthwave, quieter" }));
        model.serves(calls(&[("hub_volume", json!({ "level": 30 }))])).await;
        model.serves(anthropic("", "refusal")).await;
        let words = format!("{refused} The volume is 30 percent.");
        assert_eq!(ann.hears("speech").await.json()["text"], words);
    });
}

/// The relay removes what the hub never reads, and cuts a text that is too long.
#[test]
fn reasoning_never_displaces_the_answer() {
    let thoughts = "Hm. ".repeat(2200);
    let tale = "Once upon a time. ".repeat(600);
    let answer = "The light is on.";
    let thinking = json!({ "type": "thinking", "thinking": thoughts, "signature": "s" });
    for (service, reply, long) in [
        (
            "anthropic",
            json!({ "content": [thinking, { "type": "text", "text": answer }], "stop_reason": "end_turn" }),
            stop(&tale),
        ),
        (
            "openai",
            openai(json!({ "content": answer, "reasoning_content": thoughts }), "stop"),
            openai(json!({ "content": tale }), "stop"),
        ),
        (
            "ollama",
            json!({ "message": { "content": answer, "thinking": thoughts }, "done_reason": "stop" }),
            ollama(&tale, "stop"),
        ),
    ] {
        let server = Server::doing([reply, long].map(|body| Act::ok(&body.to_string())));
        Setup::new().relay(relay::settings(&server)).story(async |world| {
            let (_controller, mut ann) = world.connected().await;
            ann.sets_rule(json!({ "name": "default", "service": service, "model": "m" })).await;
            ann.says(json!({ "text": "Is the light on?" }));
            assert_eq!(ann.reply().await["content"], answer, "{service}");
            ann.says(json!({ "text": "Tell me a story" }));
            let reply = ann.reply().await;
            let told = reply["content"].as_str().expect("a text");
            assert!(told.starts_with(&tale[..2000]), "{reply}");
            assert!(told.ends_with("... [cut: the rest did not fit]"), "{reply}");
        });
    }
}
