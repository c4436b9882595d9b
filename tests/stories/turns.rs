//! Turns that fail, are cancelled or are refused.

use hub_core::limits;
use world::model::{anthropic, calls, ollama, openai, stop};
use world::prelude::*;

/// spec: reply-22
#[test]
fn another_reason_to_stop_is_logged_and_gives_what_there_is() {
    story(async |world| {
        let (mut person, mut model) = world.talking().await;
        for service in ["anthropic", "openai", "ollama"] {
            let tools = json!({ "enabled": true });
            person
                .sets_rule(json!({ "name": service, "service": service, "model": "m", "tools": tools }))
                .await;
        }
        let chat = |text: &str, reason: &str| openai(json!({ "role": "assistant", "content": text }), reason);
        let issue = "I encountered an issue... My language model stopped without an answer.";
        let spent = "I encountered an issue... My language model ran out of tokens before it said anything.";
        let refused = "I encountered an issue... My language model refused to answer that.";
        let cut = "Half an... [cut: the model reached its limit of tokens]";
        for (service, body, reason, content) in [
            ("anthropic", anthropic("Half an", "max_tokens"), "length", cut),
            ("anthropic", anthropic("", "refusal"), "refusal", refused),
            ("anthropic", anthropic("Wait", "pause_turn"), "pause_turn", "Wait"),
            ("openai", chat("Half an", "length"), "length", cut),
            ("openai", chat("", "content_filter"), "content_filter", refused),
            ("ollama", ollama("Half an", "length"), "length", cut),
            ("ollama", ollama("", "load"), "load", issue),
            ("ollama", ollama("", "length"), "length", spent),
        ] {
            person.says(json!({ "text": "Go", "rule": service, "conversation": service }));
            let question = model.hears(&format!("llm/request/{service}")).await;
            model.answers(&question, body);
            let mut reply = person.reply().await;
            if content.starts_with("I encountered an issue...") {
                // Nothing was said: that is no success.
                let members = reply.as_object_mut().expect("an object");
                assert_eq!(members.remove("success"), Some(json!(false)));
                assert_eq!(members.remove("message"), Some(json!(content)));
                let (error, error_type) = (members.remove("error"), members.remove("error_type"));
                let is_refused = content == refused;
                assert_eq!(error_type, Some(json!(if is_refused { "refused" } else { "no_answer" })));
                assert!(error.is_some_and(|error| error.as_str().is_some_and(|error| error.contains("; "))));
            }
            let expected = json!({
                "content": content, "service": service, "model": "m", "tool_calls": [], "conversation": service,
            });
            assert_eq!(reply, expected);
            assert_logged(&format!("WARN chat: unexpected finish reason {reason}"));
        }
        // A model that used all its tokens for thinking: the log says what to change.
        let advice =
            "the model used all its tokens before it said anything, 600; raise max_tokens in the rule";
        assert_logged_times(1, advice);
    });
}

/// spec: reply-22
#[test]
fn early_stop_after_calls_returns_partial_text_and_calls() {
    let echo = |service: &str| {
        let function = json!({ "name": "hub_echo", "arguments": { "a": 1 } });
        match service {
            "anthropic" => calls(&[("hub_echo", json!({ "a": 1 }))]),
            "openai" => {
                let message = json!({ "content": null, "tool_calls": [{ "id": "a", "function": function }] });
                openai(message, "tool_calls")
            }
            _ => {
                json!({ "message": { "content": "", "tool_calls": [{ "function": function }] }, "done_reason": "stop" })
            }
        }
    };
    let chat = |text: Value, reason: &str| openai(json!({ "role": "assistant", "content": text }), reason);
    let cut = "Half an... [cut: the model reached its limit of tokens]";
    let issue = "I encountered an issue... My language model";
    let spent = format!("{issue} ran out of tokens before it said anything. I completed one step.");
    let refused = format!("{issue} refused to answer that. I completed one step.");
    let stopped = format!("{issue} stopped without an answer. I completed one step.");
    let half = "Half an [my language model refused to say more] I completed one step.";
    for (service, body, reason, content, error_type) in [
        ("anthropic", anthropic("Half an", "max_tokens"), "length", cut, None),
        ("anthropic", anthropic("", "max_tokens"), "length", &*spent, Some("no_answer")),
        ("anthropic", anthropic("Wait", "pause_turn"), "pause_turn", "Wait", None),
        ("anthropic", anthropic("", "refusal"), "refusal", &*refused, Some("refused")),
        ("openai", chat(json!("Half an"), "length"), "length", cut, None),
        ("openai", chat(Value::Null, "length"), "length", &*spent, Some("no_answer")),
        ("openai", chat(json!("Half an"), "content_filter"), "content_filter", half, Some("refused")),
        ("openai", chat(json!("Wait"), "other"), "other", "Wait", None),
        ("ollama", ollama("Half an", "length"), "length", cut, None),
        ("ollama", ollama("", "length"), "length", &*spent, Some("no_answer")),
        ("ollama", ollama("", "unload"), "unload", &*stopped, Some("no_answer")),
    ] {
        story(async |world| {
            let (mut ann, mut model) = world.talking().await;
            let tools = json!({ "enabled": true });
            ann.sets_rule(json!({ "name": "r", "service": service, "model": "m", "tools": tools })).await;
            ann.says(json!({ "text": "Go", "rule": "r" }));
            let topic = format!("llm/request/{service}");
            let question = model.hears(&topic).await;
            model.answers(&question, echo(service));
            let question = model.hears(&topic).await;
            assert_not_logged("unexpected finish reason");
            model.answers(&question, body);
            let reply = ann.reply().await;
            let why = format!("{service} {reason}: {reply}");
            assert_eq!(reply["content"], content, "{why}");
            assert_eq!((&reply["service"], &reply["model"]), (&json!(service), &json!("m")), "{why}");
            let result = json!({
                "success": true, "result": { "echo": { "a": 1 } }, "tool_name": "hub_echo", "execution_time_ms": 0,
            });
            let call = json!({ "tool": "hub_echo", "params": { "a": 1 }, "result": result, "iteration": 0 });
            assert_eq!(reply["tool_calls"], json!([call]), "{why}");
            assert_eq!(reply.get("error_type"), error_type.map(|name| json!(name)).as_ref(), "{why}");
            assert_logged_times(1, &format!("WARN chat: unexpected finish reason {reason}"));
        });
    }
}

/// spec: reply-17, reply-28
#[test]
fn arguments_are_parsed_and_those_that_cannot_be_are_logged_and_passed_over() {
    story(async |world| {
        let (mut person, mut model) = world.talking().await;
        let tools = json!({ "enabled": true });
        person
            .sets_rule(json!({ "name": "openai", "service": "openai", "model": "m", "tools": tools }))
            .await;
        person.says(json!({ "text": "Go", "rule": "openai" }));
        let topic = "llm/request/openai";
        let question = model.hears(topic).await;
        let call = |id: &str, arguments: Value| {
            let function = json!({ "name": "hub_math_eval", "arguments": arguments });
            json!({ "id": id, "type": "function", "function": function })
        };
        let calls = [
            call("text", json!("{\"expression\": \"6*7\"}")),
            call("object", json!({ "expression": "6*7" })),
            call("broken", json!("{\"expression\": \"6*")),
            call("list", json!("[1]")),
            call("long", json!("x".repeat(4000))),
            call("last", json!("{\"expression\":\"2+2\"}")),
        ];
        let message = json!({ "role": "assistant", "content": null, "tool_calls": calls });
        model.answers(&question, openai(message, "tool_calls"));
        let question = model.hears(topic).await;
        let body = question.json();
        let messages = body["messages"].as_array().expect("messages");
        let results = messages.iter().filter(|message| message["role"] == "tool");
        let seen: Vec<_> = results
            .map(|result| {
                let words = result["content"].as_str().expect("words");
                (result["tool_call_id"].as_str().expect("an id"), words.contains("\"success\":true"))
            })
            .collect();
        let (done, passed_over) = (["text", "object", "last"], ["broken", "list", "long"]);
        let expected =
            ["text", "object", "broken", "list", "long", "last"].map(|id| (id, done.contains(&id)));
        assert_eq!(seen, expected, "{body}");
        model.answers(&question, openai(json!({ "role": "assistant", "content": "42" }), "stop"));
        let reply = person.reply().await;
        for place in [0, 1] {
            let call = &reply["tool_calls"][place];
            assert_eq!(call["params"], json!({ "expression": "6*7" }), "{reply}");
            assert_eq!(call["result"]["result"], json!({ "result": 42 }), "{reply}");
        }
        let line = "ERROR chat: the arguments for hub_math_eval are not a JSON object";
        assert_logged_times(passed_over.len(), line);
    });
}

/// A failure is reported in the reply, in the log, and on the topic `log`.
#[test]
fn the_reason_of_a_failure_is_told_where_people_look() {
    story(async |world| {
        let (mut person, mut model) = world.talking().await;
        person.says(json!({ "text": "Hi" }));
        let question = model.hears_question().await;
        let error = json!({ "status": 401, "type": "authentication_error", "message": "invalid x-api-key" });
        model.answers(&question, json!({ "error": error }));
        let reply = person.reply().await;
        let words = "the provider reports an error 401 (authentication_error): invalid x-api-key";
        assert_eq!((&reply["error"], &reply["error_type"]), (&json!(words), &json!("provider_error")));
        let notice = person.hears("log").await.json();
        let line = format!("chat: conversation default has no answer: {words}");
        assert_eq!(notice, json!({ "level": "error", "text": line }));
        assert_logged(&format!("ERROR {line}"));
        // Nobody answers at all.
        let reply = person.asks("chat", json!({ "text": "Hi" })).await;
        assert_eq!(reply["message"], "Sorry, I cannot reach my language model right now.");
        assert_contains(&reply["error"], "check that one runs");
    });
}

/// A turn ends at its timeout, even in the middle of a call; that call is not repeated.
#[test]
fn a_turn_ends_in_time_whatever_its_tools_do() {
    story(async |world| {
        let (mut controller, mut person) = world.connected().await;
        let mut model = world.model().await;
        person.says(json!({ "text": "Go" }));
        let start = Instant::now();
        let round = calls(&std::array::from_fn::<_, 8, _>(|_| ("list_devices", json!({}))));
        let mut heard = 0;
        let reply = loop {
            tokio::select! {
                question = model.hears_question() => model.answers(&question, round.clone()),
                // Each takes long, but not too long by itself.
                call = controller.hears_call() => {
                    heard += 1;
                    sleep(Duration::from_secs(11)).await;
                    controller.replies(&call, "none").await;
                }
                reply = person.reply() => break reply,
            }
        };
        // The third call of the second round is running at the timeout.
        assert_eq!(heard, 11);
        assert_eq!(start.elapsed(), Duration::from_secs(121), "the hub said so after 120 s");
        assert_refused(&reply, "timeout", "");
        let words =
            "none. (10 times) I do not know whether one more step was completed. Sorry, that took too long.";
        assert_eq!(reply["message"], words);
        let calls = reply["tool_calls"].as_array().expect("calls");
        let unknown = calls.iter().filter(|call| call["result"].to_string().contains("outcome_unknown"));
        assert_eq!(unknown.count(), 1, "{reply}");
    });
}

/// The states of a turn are published as events, for satellites to show.
#[test]
fn events_do_not_wait_for_the_end_of_a_turn() {
    story(async |world| {
        let (mut controller, mut person) = world.connected().await;
        let mut model = world.model().await;
        person.says(json!({ "text": "Go" }));
        model.serves(calls(&[("list_devices", json!({})), ("list_devices", json!({}))])).await;
        for _ in 0..2 {
            let start = Instant::now();
            while person.hears("event/chat").await.json()["state"] != "calling" {}
            assert_eq!(start.elapsed(), Duration::ZERO);
            let call = controller.hears_call().await;
            sleep(Duration::from_secs(5)).await;
            controller.replies(&call, "none").await;
        }
    });
}

/// After `cancelled: true` no further call begins.
#[test]
fn nothing_is_begun_after_a_cancel() {
    story(async |world| {
        let (mut controller, mut person) = world.connected().await;
        let mut model = world.model().await;
        person.says(json!({ "text": "Go", "conversation": "den" }));
        let on = json!({ "device_name": "x", "command": "on" });
        model.serves(calls(&[("list_devices", json!({})), ("control_zwave_device", on)])).await;
        controller.hears_call().await;
        assert_eq!(person.asks("cancel", json!({ "conversation": "den" })).await["cancelled"], true);
        let reply = person.reply().await;
        assert_refused(&reply, "cancelled", "");
        assert_eq!(reply["tool_calls"][0]["result"]["error_type"], "outcome_unknown", "{reply}");
        let told = controller.hears_of("notifications/cancelled").await;
        assert!(told["params"]["requestId"].is_number(), "{told}");
        let event = person.hears("event/tool").await.json();
        assert_eq!((&event["name"], &event["success"]), (&json!("list_devices"), &json!(false)));
        // The other call never reaches the controller.
        let quiet = timeout(Duration::from_secs(5), controller.hears_call()).await;
        assert!(quiet.is_err(), "{quiet:?}");
    });
}

/// A refused request evicts no conversation.
#[test]
fn a_refused_request_makes_nobody_forget_anything() {
    story(async |world| {
        let (mut person, mut model) = world.talking().await;
        for number in 0..limits::CONVERSATIONS {
            person.says(json!({ "text": "Hello", "conversation": number.to_string() }));
            model.serves(stop("Hi.")).await;
            person.reply().await;
        }
        for mut wrong in [
            json!({ "text": " " }),
            json!({ "text": "\u{a0}" }),
            json!({ "text": "x", "rule": "nope" }),
            json!({ "text": "@nope" }),
        ] {
            wrong["conversation"] = json!("new");
            assert_eq!(person.asks("chat", wrong).await["success"], false);
        }
        person.says(json!({ "text": "And?", "conversation": "0" }));
        let question = model.hears_question().await;
        assert_eq!(count(&question.json()["messages"]), 3);
        // Nor does whoever was refused continue what others have said.
        let wrong = json!({ "text": " ", "conversation": "new" });
        assert_eq!(person.asks("chat", wrong).await["success"], false);
        person.says(json!({ "text": "Hello", "conversation": "new" }));
        assert_eq!(count(&model.hears_question().await.json()["messages"]), 1);
    });
}

/// A reply fits, however long the answer and the returned members are.
#[test]
fn what_goes_back_with_a_reply_always_fits() {
    story(async |world| {
        let (mut person, mut model) = world.talking().await;
        for pad in [0, 100, 230] {
            let satellite = json!({ "room": "den", "pad": "p".repeat(pad) });
            let transaction = json!("t".repeat(120));
            let conversation = "c\"\n".repeat(16);
            person.says(json!({
                "text": "hi", "satellite": satellite, "transaction": transaction, "conversation": conversation,
            }));
            model.serves(stop(&"w\"".repeat(2000))).await;
            let reply = person.reply().await;
            assert_eq!((&reply["satellite"], &reply["transaction"]), (&satellite, &transaction), "{reply}");
            assert!(reply["content"].as_str().expect("words").len() > 1000, "{reply}");
        }
    });
}

/// A rule allows the tool that it names, and no other with a similar name.
#[test]
fn what_a_rule_allows_is_the_tool_that_would_run() {
    story(async |world| {
        let (_controller, mut person) = world.connected_with(json!([a_tool("echo")])).await;
        let mut model = world.model().await;
        let tools = json!({ "enabled": true, "allowed_tools": ["hub_echo"] });
        person.sets_rule(json!({ "name": "own", "tools": tools })).await;
        person.says(json!({ "text": "Go", "rule": "own" }));
        let question = model.hears_question().await;
        assert_eq!(count(&question.json()["tools"]), 1);
        // The controller's tool has that name; the hub's own has it with the prefix.
        model.answers(&question, calls(&[("echo", json!({})), ("hub_echo", json!({ "a": 1 }))]));
        let question = model.hears_question().await;
        let results = question.json()["messages"][2]["content"].clone();
        assert_contains(&results[0]["content"], "not available here");
        assert_contains(&results[1]["content"], "\"success\":true");
    });
}

/// The broker acknowledges about one event per second.
#[test]
fn slow_broker_loses_no_tool_event_and_costs_little_time() {
    story(async |world| {
        let (mut controller, ann) = world.connected().await;
        let (mut model, mut bob) = (world.model().await, world.person("bob").await);
        let mut round = vec![("list_devices", json!({}))];
        round.resize(limits::CALLS_AT_ONCE, ("hub_echo", json!({})));
        for conversation in ["den", "attic"] {
            ann.says(json!({ "text": "Go", "conversation": conversation }));
            model.serves(calls(&round)).await;
        }
        let begun = [controller.hears_call().await, controller.hears_call().await];
        sleep(Duration::from_secs(1)).await;
        world.wire.rate.set(5);
        for call in begun {
            controller.replies(&call, "nothing").await;
        }
        let start = Instant::now();
        let echoes = || log_text().matches("tool hub_echo {} in").count();
        while echoes() < 2 * (limits::CALLS_AT_ONCE - 1) {
            sleep(Duration::from_millis(10)).await;
        }
        assert!(start.elapsed() < Duration::from_secs(3), "{:?}", start.elapsed());
        world.wire.rate.set(0);
        for _ in 0..2 {
            model.serves(stop("Done.")).await;
        }
        let tools = bob.hears_all("event/tool").await;
        assert_eq!(tools.len(), 2 * limits::CALLS_AT_ONCE);
    });
}

#[test]
fn a_round_of_eight_calls_has_eight_events() {
    story(async |world| {
        let (mut ann, mut model) = world.talking().await;
        let (mut bob, mut carol) = (world.person("bob").await, world.person("carol").await);
        let round: Vec<_> = (0..limits::CALLS_AT_ONCE).map(|n| ("hub_echo", json!({ "n": n }))).collect();
        ann.says(json!({ "text": "Go" }));
        model.serves(calls(&round)).await;
        model.serves(stop("Done.")).await;
        ann.reply().await;
        sleep(Duration::from_secs(1)).await;
        assert_eq!(bob.hears_all("event/tool").await.len(), limits::CALLS_AT_ONCE);
        let states = carol.hears_all("event/chat").await;
        let calling = states.iter().filter(|event| event.json()["state"] == "calling").count();
        assert_eq!((states.len(), calling), (limits::CALLS_AT_ONCE + 4, limits::CALLS_AT_ONCE));
        assert_eq!(ann.asks("health", json!({})).await["mqtt"]["events_dropped"], 0);
    });
}
