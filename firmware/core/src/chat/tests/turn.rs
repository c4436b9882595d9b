//! Turns, from a person's message to the reply.

use std::format;
use std::string::ToString;
use std::vec::Vec;

use serde_json::{Value, json};

use super::cuts::texts;
use super::{Todo, World, registry, rule_text, run, settings};
use crate::chat::history::EarlierTurns;
use crate::chat::turn::NotStarted;
use crate::chat::{Context, History, Provider, ProviderError, Turn, TurnEvent, provider};
use crate::limits;
use crate::questions::Unanswered;

fn each(test: impl Fn(Provider)) {
    Provider::ALL.into_iter().for_each(test);
}

/// spec: reply-04
#[test]
fn the_answer_is_returned_with_service_and_model() {
    each(|service| {
        let mut world = World::new(service, json!({"tools": {"enabled": false}}));
        assert_eq!(world.says("Hello"), Todo::Ask);
        assert_eq!(world.hears(Some("Hi \"you\""), &[]), Todo::Finish);
        let expected =
            json!({"content": "Hi \"you\"", "service": service.name(), "model": "model-1", "tool_calls": []});
        assert_eq!(*world.reply(), expected);
    });
}

/// spec: reply-05
#[test]
fn tools_are_offered_if_the_hub_the_rule_and_the_registry_agree() {
    each(|service| {
        let offers = |hub: bool, rule: bool, tools: bool| {
            let mut world = World::new(service, json!({"tools": {"enabled": rule}}));
            world.settings.tools.enabled &= hub;
            if !tools {
                world.registry.reset("");
            }
            world.says("Hello");
            let has_tools = world.body().get("tools").is_some();
            // A call is not run without them.
            let calls = [("a", "hub_echo", json!({"text": "x"}))];
            assert_eq!(world.hears(Some("Well"), &calls) == Todo::Finish, !has_tools);
            has_tools
        };
        assert!(offers(true, true, true));
        assert!(!offers(false, true, true) && !offers(true, false, true) && !offers(true, true, false));
    });
}

/// spec: reply-09
#[test]
fn with_no_tool_left_the_model_answers_without() {
    let allowed = json!({"tools": {"enabled": true, "allowed_tools": ["gone"]}});
    let mut world = World::new(Provider::OpenAi, allowed);
    world.says("Hello");
    assert!(world.body().get("tools").is_none());
    assert_eq!(world.hears(Some("Hi"), &[]), Todo::Finish);
    assert_eq!(world.reply()["content"], "Hi");
}

/// spec: reply-13, reply-19, reply-20, reply-23, reply-24, reply-25
#[test]
fn calls_are_run_one_after_the_other_until_the_model_stops() {
    each(|service| {
        let mut world = World::new(service, json!({}));
        world.says("What time is it, and say hello");
        let calls = [("a", "hub_datetime", json!({})), ("b", "hub_echo", json!({"text": "hello"}))];
        assert_eq!(world.hears(None, &calls), run("datetime", json!({})));
        let time = json!({"success": true, "result": {"time": "08:30"}});
        assert_eq!(world.done(time.clone()), run("echo", json!({"text": "hello"})));
        let echo = json!({"success": true, "result": "hello"});
        assert_eq!(world.done(echo.clone()), Todo::Ask);
        assert_eq!(world.turn.as_ref().unwrap().iteration, 1);
        assert_eq!(
            world.hears(Some("Louder"), &[("c", "hub_volume", json!({"level": 5}))]),
            run("volume", json!({"level": 5}))
        );
        let volume = json!({"success": true, "result": 5});
        assert_eq!(world.done(volume.clone()), Todo::Ask);
        // The model sees the results when it is asked again.
        assert!(world.body()["messages"].to_string().contains("08:30"));
        assert_eq!(world.hears(Some("Half past eight. Hello!"), &[]), Todo::Finish);
        assert_eq!(
            *world.reply(),
            json!({
                "content": "Half past eight. Hello!", "service": service.name(), "model": "model-1",
                "tool_calls": [
                    {"tool": "hub_datetime", "params": {}, "result": time, "iteration": 0},
                    {"tool": "hub_echo", "params": {"text": "hello"}, "result": echo, "iteration": 0},
                    {"tool": "hub_volume", "params": {"level": 5}, "result": volume, "iteration": 1},
                ],
            })
        );
        // The next turn has none at first.
        world.says("Thanks");
        world.hears(Some("Welcome"), &[]);
        assert_eq!(world.reply()["tool_calls"], json!([]));
    });
}

/// spec: reply-26
#[test]
fn without_calls_the_list_of_them_is_empty() {
    let mut world = World::new(Provider::Anthropic, json!({}));
    world.says("Hello");
    world.hears(Some("Hi"), &[]);
    assert_eq!(world.reply()["tool_calls"], json!([]));
    assert_eq!(world.reply()["content"], "Hi");
    assert!(world.reply().get("max_iterations_reached").is_none());
}

/// spec: reply-11
#[test]
fn the_number_of_iterations_is_the_rules_or_the_usual_one() {
    let asked = |more: Value| {
        let mut world = World::new(Provider::OpenAi, more);
        world.says("Go");
        assert_eq!(world.turn.as_ref().unwrap().iteration, 0);
        let mut asked = 1;
        loop {
            world.hears(None, &[("", "hub_datetime", json!({}))]);
            match world.done(json!({"success": true})) {
                Todo::Ask => asked += 1,
                Todo::Finish => return asked,
                other => panic!("{other:?}"),
            }
        }
    };
    assert_eq!(asked(json!({"tools": {"enabled": true, "max_iterations": 2}})), 2);
    assert_eq!(asked(json!({"tools": {"enabled": true, "max_iterations": 16}})), 16);
    assert_eq!(asked(json!({"tools": {"enabled": true}})), 5);
    assert_eq!(asked(json!({"tools": {"enabled": true, "max_iterations": 0}})), 5);
}

#[test]
fn a_model_that_never_stops_calling_is_stopped() {
    each(|service| {
        let mut world = World::new(service, json!({"tools": {"enabled": true, "max_iterations": 1}}));
        world.says("Go");
        world.hears(None, &[("a", "hub_datetime", json!({}))]);
        assert_eq!(world.done(json!({"success": true})), Todo::Finish);
        assert_eq!(
            *world.reply(),
            json!({
                "content": "I reached the maximum number of tool calls... I completed one step.",
                "service": service.name(), "model": "model-1", "max_iterations_reached": true,
                "tool_calls": [{"tool": "hub_datetime", "params": {}, "result": {"success": true}, "iteration": 0}],
            })
        );
        assert_eq!(world.done(json!({})), Todo::Wait);
    });
}

/// spec: reply-22
#[test]
fn another_reason_to_stop_gives_what_there_is() {
    let finish = |content: Value, reason: &str| {
        let mut world = World::new(Provider::OpenAi, json!({}));
        world.says("Go");
        world.hears(None, &[("a", "hub_datetime", json!({}))]);
        world.done(json!({"success": true}));
        let body =
            json!({"choices": [{"message": {"content": content}, "finish_reason": reason}]}).to_string();
        assert_eq!(
            world.on(TurnEvent::Reply(provider::read(Provider::OpenAi, body.as_bytes()))),
            Todo::Finish
        );
        assert_eq!(world.reply()["tool_calls"][0]["tool"], "hub_datetime");
        world.reply()["content"].clone()
    };
    let cut = "Half a sen... [cut: the model reached its limit of tokens]";
    assert_eq!(finish(json!("Half a sen"), "length"), cut);
    let refused = "Half a sen [my language model refused to say more] I completed one step.";
    assert_eq!(finish(json!("Half a sen"), "content_filter"), refused);
    let issue =
        |why: &str| std::format!("I encountered an issue... My language model {why} I completed one step.");
    assert_eq!(finish(json!(null), "content_filter"), issue("refused to answer that."));
    assert_eq!(finish(json!(" "), "length"), issue("ran out of tokens before it said anything."));
    assert_eq!(finish(json!(null), "error"), issue("stopped without an answer."));
    assert_eq!(finish(json!(""), "stop"), "I completed one step. Sorry, my language model gave no answer.");
    // It finishes for calls, but has none.
    assert_eq!(finish(json!("Well"), "tool_calls"), "Well");
}

/// spec: reply-27, reply-29
#[test]
fn a_tool_that_fails_is_told_to_the_model_which_goes_on() {
    each(|service| {
        let mut world = World::new(service, json!({}));
        world.says("Go");
        world.hears(None, &[("a", "hub_volume", json!({"level": 500}))]);
        let error = json!({"success": false, "error": "level must be at most 100"});
        assert_eq!(world.done(error.clone()), Todo::Ask);
        let messages = world.body()["messages"].as_array().unwrap().clone();
        let last = messages.last().unwrap();
        let told = match service {
            Provider::Anthropic => {
                assert_eq!(last["content"][0]["is_error"], true);
                &last["content"][0]["content"]
            }
            _ => &last["content"],
        };
        assert_eq!(serde_json::from_str::<Value>(told.as_str().unwrap()).unwrap(), error);
        // It tries again.
        assert_eq!(
            world.hears(None, &[("b", "hub_volume", json!({"level": 100}))]),
            run("volume", json!({"level": 100}))
        );
        assert_eq!(world.done(json!({"success": true})), Todo::Ask);
        assert_eq!(world.hears(Some("Loud now"), &[]), Todo::Finish);
        assert_eq!(world.reply()["tool_calls"][0]["result"], error);
        assert_eq!(world.reply()["tool_calls"][1]["result"], json!({"success": true}));
    });
}

/// spec: reply-28
#[test]
fn arguments_that_are_no_json_are_passed_over_and_the_next_call_is_made() {
    let mut world = World::new(Provider::OpenAi, json!({}));
    world.says("Go");
    let calls = [
        ("a", "hub_echo", json!("{\"text\": \"x")),
        ("b", "hub_echo", json!("{\"text\": \"y\"}")),
        ("c", "hub_echo", json!("[]")),
    ];
    assert_eq!(world.hears(None, &calls), run("echo", json!({"text": "y"})));
    assert_eq!(world.done(json!({"success": true})), Todo::Ask);
    world.hears(Some("Done"), &[]);
    let calls = &world.reply()["tool_calls"];
    let wrong = json!({
        "success": false, "error": "Invalid parameters: the arguments are not a JSON object, or too long",
        "error_type": "invalid_parameters", "tool_name": "hub_echo", "execution_time_ms": 0,
    });
    assert_eq!(
        (&calls[0]["result"], &calls[1]["result"], &calls[2]["result"]),
        (&wrong, &json!({"success": true}), &wrong)
    );
    assert_eq!(calls[0]["params"], json!({"invalid_arguments": "{\"text\": \"x"}));
    // If all are invalid, the model is asked at once.
    world.says("Again");
    assert_eq!(world.hears(None, &[("d", "hub_echo", json!("nope"))]), Todo::Ask);
}

#[test]
fn a_tool_that_was_not_offered_is_not_called() {
    let allowed = json!({"tools": {"enabled": true, "allowed_tools": ["echo", "hub_volume"]}});
    let mut world = World::new(Provider::Anthropic, allowed);
    world.says("Go");
    let calls = [
        ("a", "hub_factory_reset", json!({})),
        ("b", "factory_reset", json!({})),
        ("c", "echo", json!({})),
        ("d", "hub_volume", json!({})),
        ("e", "invented", json!({})),
    ];
    assert_eq!(world.hears(None, &calls), Todo::Run("echo".into(), json!({})));
    assert_eq!(world.done(json!({"success": true})), run("volume", json!({})));
    // The executor reports that there is no such tool.
    assert_eq!(world.done(json!({"success": true})), Todo::Run("invented".into(), json!({})));
    assert_eq!(world.done(json!({"success": false})), Todo::Ask);
    let text = world.body()["messages"].to_string();
    assert_eq!(text.matches("This tool is not available here").count(), 2);
}

#[test]
fn failures_are_told_and_leave_no_half_turn() {
    let told = json!({"error": {"status": 529, "message": "Overloaded"}}).to_string();
    let error = provider::read(Provider::Ollama, told.as_bytes()).unwrap_err();
    for (event, error_type, error) in [
        (TurnEvent::Reply(Err(error)), "provider_error", "the provider reports an error 529: Overloaded"),
        (
            TurnEvent::Reply(Err(ProviderError::Lacks("a reply"))),
            "provider_error",
            "the provider's reply lacks a reply",
        ),
        (
            TurnEvent::Unanswered(Unanswered::Silent),
            "timeout",
            "no relay answered in time for ollama (model-1); check that one runs that serves it, and that its model is fast enough",
        ),
        (
            TurnEvent::Unanswered(Unanswered::Offline),
            "unavailable",
            "the hub has no connection to the broker",
        ),
        (
            TurnEvent::Unanswered(Unanswered::LongAnswer(9999)),
            "too_large",
            "the model's reply of 9999 bytes is larger than the hub can take",
        ),
        (TurnEvent::TimedOut, "timeout", "the turn took too long and was stopped"),
        (TurnEvent::Cancelled, "cancelled", "the turn was cancelled"),
    ] {
        let mut world = World::new(Provider::Ollama, json!({}));
        world.says("First");
        world.hears(Some("Yes"), &[]);
        world.says("Second");
        assert_eq!(world.on(event), Todo::Finish);
        let reply = world.reply();
        assert_eq!(
            (&reply["success"], &reply["error_type"], &reply["error"]),
            (&json!(false), &json!(error_type), &json!(error))
        );
        assert!(reply["message"].is_string() && reply["tool_calls"] == json!([]));
        assert_eq!(
            world.history.messages_after(0, EarlierTurns::Whole).count(),
            2,
            "the second is forgotten"
        );
        assert_eq!(world.on(TurnEvent::Cancelled), Todo::Wait);
    }
}

#[test]
fn a_turn_that_is_cancelled_while_a_tool_runs_remembers_what_was_done() {
    let mut world = World::new(Provider::Anthropic, json!({}));
    world.says("Go");
    let calls = ["a", "b", "c"].map(|id| (id, "hub_echo", json!({"text": id})));
    world.hears(None, &calls);
    world.done(json!({"success": true}));
    world.turn.as_mut().unwrap().interrupted_after(3000);
    assert_eq!(world.on(TurnEvent::Cancelled), Todo::Finish);
    let results: Vec<_> =
        world.reply()["tool_calls"].as_array().unwrap().iter().map(|call| call["result"].clone()).collect();
    assert_eq!(results[0], json!({"success": true}));
    assert_eq!(
        (&results[1]["error_type"], &results[1]["execution_time_ms"]),
        (&json!("outcome_unknown"), &json!(3000))
    );
    assert_eq!(results[2]["error"], "Not run: the turn ended before");
    // The next turn goes on from there.
    world.says("Again");
    let messages = world.body()["messages"].as_array().unwrap().clone();
    assert_eq!(messages[3], json!({"role": "assistant", "content": "I stopped."}));
    assert_eq!(messages.len(), 5);
}

#[test]
fn a_call_that_has_not_begun_when_the_turn_ends_is_not_done() {
    for end in [TurnEvent::TimedOut, TurnEvent::Cancelled] {
        let mut world = World::new(Provider::Anthropic, json!({}));
        world.says("Go");
        let calls = ["a", "b"].map(|id| (id, "hub_echo", json!({"text": id})));
        world.hears(None, &calls);
        world.done(json!({"success": true, "message": "Said a."}));
        assert_eq!(world.on(end), Todo::Finish);
        let result = &world.reply()["tool_calls"][1]["result"];
        assert_eq!(result["error"], "Not run: the turn ended before");
        let words = world.reply()["message"].as_str().unwrap();
        assert!(words.starts_with("Said a. ") && !words.contains("do not know"), "{words}");
    }
}

#[test]
fn events_that_nobody_waits_for_change_nothing() {
    let mut world = World::new(Provider::OpenAi, json!({}));
    world.says("Go");
    assert_eq!(world.done(json!({"success": true})), Todo::Wait);
    world.hears(None, &[("a", "hub_datetime", json!({}))]);
    assert_eq!(world.hears(Some("Too early"), &[]), Todo::Wait);
    assert_eq!(world.on(TurnEvent::Unanswered(Unanswered::Silent)), Todo::Wait);
    assert_eq!(world.done(json!({"success": true})), Todo::Ask);
    assert!(world.turn.as_ref().unwrap().call(&world.history).is_none());
}

#[test]
fn messages_without_words_or_with_too_many_start_nothing() {
    let text = rule_text(Provider::OpenAi, json!({}));
    let mut settings = settings(&text);
    let registry = registry();
    let mut history = History::new();
    let mut start = |message: &str| {
        let mut context = Context { settings: &mut settings, registry: &registry, history: &mut history };
        Turn::start(&mut context, &message).err()
    };
    assert_eq!((start(""), start(" \n")), (Some(NotStarted::Blank), Some(NotStarted::Blank)));
    assert_eq!(start(&"x".repeat(6000)), Some(NotStarted::Long));
    assert_eq!(start("x"), None);
}

#[test]
fn a_remark_makes_room_for_calls_and_calls_that_fit_are_run() {
    for beside in [None, Some("y".repeat(2500))] {
        let mut world = World::new(Provider::Ollama, json!({}));
        world.says("Go");
        let call = ("", "hub_echo", json!({"text": "x".repeat(2500)}));
        let todo = world.hears(beside.as_deref(), &[call.clone(), call]);
        // What the model says beside its calls makes room for them.
        assert!(matches!(todo, Todo::Run(..)));
        assert_eq!(world.done(json!({"success": true})), Todo::Ask);
        assert!(world.body().to_string().contains("at once: 1. Ask for them again."));
    }
}

#[test]
fn a_turn_ends_if_not_even_one_call_fits() {
    let mut world = World::new(Provider::Ollama, json!({}));
    world.says(&"x".repeat(4900));
    let call = ("", "hub_echo", json!({"text": "y".repeat(200)}));
    assert_eq!(world.hears(Some("One moment."), &[call]), Todo::Finish);
    assert_eq!(world.reply()["error_type"], "too_large");
    assert_eq!(world.reply()["tool_calls_not_run"], 1);
}

/// Runs rounds of eight lamps until the default number of rounds is reached.
///
/// spec: reply-16, reply-19
#[test]
fn forty_lamps_are_switched_in_one_turn() {
    for service in Provider::ALL {
        let mut world = World::new(service, json!({}));
        world.says("Switch off all the lights in the whole house, please");
        for round in 0..5 {
            let lamps: Vec<_> = (0..8).map(|lamp| format!("Living Room Lamp {}", 8 * round + lamp)).collect();
            let ids: Vec<_> =
                (0..8).map(|lamp| format!("toolu_01A09q90qw90lq917835{:03}", 8 * round + lamp)).collect();
            let calls: Vec<_> = lamps
                .iter()
                .zip(&ids)
                .map(|(lamp, id)| {
                    (id.as_str(), "control_zwave_device", json!({"deviceName": lamp, "action": "off"}))
                })
                .collect();
            let mut todo = world.hears(Some("I switch off the next ones now."), &calls);
            for lamp in &lamps {
                assert_eq!(
                    todo,
                    Todo::Run("control_zwave_device".into(), json!({"deviceName": lamp, "action": "off"}))
                );
                let result = json!({"name": lamp, "state": {"on": false}});
                todo = world.done(json!({
                    "success": true, "result": result, "message": format!("{lamp} is now off"),
                    "tool_name": "control_zwave_device", "execution_time_ms": 184,
                }));
            }
            assert_eq!(todo, if round < 4 { Todo::Ask } else { Todo::Finish });
            if round < 4 {
                let body = world.body().to_string();
                assert!(lamps.iter().all(|lamp| body.contains(&format!("{lamp} is now off"))), "{body}");
                assert!(body.contains("Living Room Lamp 0") && !body.contains("not_run"), "{body}");
            }
        }
        let reply = world.reply();
        assert_eq!(reply["max_iterations_reached"], true, "{reply}");
        let told = reply["tool_calls"].as_array().unwrap().len();
        assert_eq!(told as u64 + reply["tool_calls_left_out"].as_u64().unwrap_or_default(), 40, "{reply}");
    }
}

/// The oldest rounds make room for the newest. The model, the person and the caller read how many calls they had.
///
/// spec: reply-16, reply-19, reply-21, reply-25
#[test]
fn as_many_calls_run_as_the_limits_allow() {
    let rounds = usize::from(limits::ITERATIONS_MOST);
    for service in Provider::ALL {
        let mut world = World::new(
            service,
            json!({"tools": {"enabled": true, "max_iterations": limits::ITERATIONS_MOST}}),
        );
        world.says("Switch off all the lights in the whole house, please");
        for round in 0..rounds {
            let made = limits::CALLS_AT_ONCE * round;
            let calls: Vec<_> = (made..made + limits::CALLS_AT_ONCE)
                .map(|lamp| {
                    (format!("toolu_01A09q90qw90lq917835{lamp:03}"), format!("Living Room Lamp {lamp}"))
                })
                .collect();
            let calls: Vec<_> = calls
                .iter()
                .map(|(id, lamp)| {
                    (id.as_str(), "control_zwave_device", json!({"deviceName": lamp, "action": "off"}))
                })
                .collect();
            let mut todo = world.hears(Some("I switch off the next ones now."), &calls);
            for (place, (_, name, arguments)) in calls.into_iter().enumerate() {
                assert_eq!(todo, Todo::Run(name.into(), arguments), "{round}");
                let error_type = if round == 0 { "outcome_unknown" } else { "execution_error" };
                todo = world.done(match place {
                    0 => json!({"success": false, "error_type": error_type, "error": "No reply", "tool_name": name}),
                    _ => json!({"success": true, "result": {"state": {"on": false}}, "tool_name": name}),
                });
            }
            if round + 1 == rounds {
                assert_eq!(todo, Todo::Finish);
                break;
            }
            assert_eq!(todo, Todo::Ask);
            let (results, arguments) = texts(service, &world.body());
            assert_eq!(results.len(), arguments.len());
            assert!(results.len() >= limits::CALLS_AT_ONCE, "{round}");
            let last: Value = serde_json::from_str(results.last().unwrap()).unwrap();
            let note = last["earlier_calls"].as_str().unwrap_or_default();
            let counts: Vec<usize> = note.split(' ').filter_map(|word| word.parse().ok()).collect();
            assert_eq!(counts.iter().sum::<usize>() + results.len(), made + limits::CALLS_AT_ONCE, "{note}");
            if let [succeeded, failed, unknown] = counts[..] {
                assert_eq!(
                    (succeeded, failed + 1, unknown),
                    (7 * (failed + 1), counts.iter().sum::<usize>() / 8, 1)
                );
            }
        }
        let reply = world.reply();
        assert_eq!(reply["max_iterations_reached"], true, "{reply}");
        assert_eq!(
            reply["content"],
            "I reached the maximum number of tool calls... I completed 112 steps. \
             I do not know whether one more step was completed."
        );
        let told = reply["tool_calls"].as_array().unwrap().len();
        assert_eq!(told as u64 + reply["tool_calls_left_out"].as_u64().unwrap(), 128, "{reply}");
        // The next turn mentions none of them.
        world.says("Thanks");
        assert!(!world.body().to_string().contains("earlier_calls"));
    }
}

#[test]
fn arguments_that_are_too_long_are_passed_over_like_wrong_ones() {
    for long in [json!({"text": "x".repeat(6000)}), json!("x".repeat(4000))] {
        let mut world = World::new(Provider::Anthropic, json!({}));
        world.says("First");
        assert_eq!(world.hears(Some("Yes"), &[]), Todo::Finish);
        world.says("Go");
        let calls = [("a", "hub_echo", long), ("b", "hub_echo", json!({}))];
        assert_eq!(world.hears(None, &calls), run("echo", json!({})));
        assert_eq!(world.done(json!({"success": true})), Todo::Ask);
        let shown = world.body().to_string();
        assert!(shown.contains("not a JSON object, or too long") && shown.contains("First"), "{shown}");
    }
}
