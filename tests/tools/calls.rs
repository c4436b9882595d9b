//! Calls, good and bad.

use std::pin::pin;
use std::task::{Context, Waker};
use std::time::Duration;

use hub_core::json::{Value as Text, Writer};
use hub_core::tools::Handlers;
use serde_json::{Value, json};
use support::line::LineTap;
use support::log::{assert_logged, assert_not_logged, log_text, log_to_memory, when_logged};
use support::person::{assert_contains, assert_refused};
use support::result::assert_reply;
use world::story;

use crate::bench::*;

/// spec: gateway-01, gateway-10, gateway-11, gateway-13, calls-01, calls-10, calls-16, calls-19
#[tokio::test(start_paused = true)]
async fn a_call_that_succeeds() {
    let bench = Bench::default();
    let arguments = json!({ "device_name": "Lamp", "action": "on" });
    let (reply, event) = bench.call(&[&SWITCH, &SLOW], "switch", arguments.clone()).await;
    assert_eq!(
        reply,
        json!({ "success": true, "result": "done", "tool_name": "switch", "execution_time_ms": 0 })
    );
    assert_eq!(*bench.calls.borrow(), [arguments]);
    assert!(event.success && event.milliseconds == 0 && !event.is_slow());
    let (reply, event) = bench.call(&[&SLOW], "slow", json!({})).await;
    assert_eq!((&reply["result"], &reply["execution_time_ms"]), (&json!("late"), &json!(1500)));
    assert_eq!(event.milliseconds, 1500);
}

/// A prompt runs a tool's handler with the arguments that its `PromptTool` declares.
///
/// spec: infra-36
#[tokio::test(start_paused = true)]
async fn a_handler_that_runs_directly_takes_the_same_arguments_as_in_a_call() {
    let bench = Bench::default();
    let arguments = json!({ "device_name": "Lamp", "action": "on", "level": 7 });
    let (reply, _) = bench.call(&[&SWITCH], "switch", arguments.clone()).await;
    log_to_memory();
    let text = arguments.to_string();
    let mut buffer = [0; 64];
    let mut writer = Writer::new(&mut buffer);
    let parsed = Text::parse(text.as_bytes()).expect("JSON");
    let outcome = Handlers::run(&bench, "record", parsed, &mut writer).await;
    assert!(matches!(outcome, Some(Ok(_))));
    let length = writer.finish().expect("it fits");
    let result: Value = serde_json::from_slice(&buffer[..length]).expect("JSON");
    assert_eq!(result, reply["result"], "the result without an object around it");
    assert_eq!(*bench.calls.borrow(), [arguments.clone(), arguments]);
    assert_eq!(log_text(), "");
}

/// spec: gateway-02, infra-17
#[tokio::test(start_paused = true)]
async fn a_call_is_logged_with_all_that_matters() {
    log_to_memory();
    let bench = Bench::default();
    bench.call(&[&SWITCH], "switch", json!({ "device_name": "Lamp", "action": "on" })).await;
    let log = log_text();
    let lines: Vec<_> = log.lines().collect();
    assert_eq!(lines[0], "DEBUG tools: switch registered");
    assert_eq!(lines[1], "TRACE Tool called: switch");
    assert_eq!(lines[2], "DEBUG Tool switch completed successfully");
    assert!(lines[3].starts_with("INFO tool switch {"), "{log}");
    for part in ["Lamp", "in 0 ms", "\"done\""] {
        assert!(lines[3].contains(part), "{part} not in {log}");
    }
}

/// spec: infra-15
#[tokio::test(start_paused = true)]
async fn a_call_is_logged_before_its_handler_runs() {
    for (tool, name) in [(&SLOW, "slow"), (&QUICK, "quick"), (&FAILING, "failing")] {
        log_to_memory();
        let bench = Bench::default();
        bench.call(&[tool], name, json!({})).await;
        // As the handler itself saw the log.
        let logs = bench.logs.borrow();
        let [log] = logs.as_slice() else { panic!("{name} ran {} times", logs.len()) };
        let last = log.lines().last();
        assert_eq!(last, Some(&*format!("TRACE Tool called: {name}")), "nothing about it is logged yet");
    }
}

/// spec: infra-16
#[tokio::test(start_paused = true)]
async fn those_that_ask_others_complete_at_trace_level() {
    log_to_memory();
    Bench::default().call(&[&QUICK], "quick", json!({})).await;
    assert_logged("TRACE Tool quick completed successfully");
    // `undo` is one of these tools.
    Bench::default().call(&[&PATIENT], "patient", json!({})).await;
    assert_logged("TRACE Tool patient completed successfully");
    assert_not_logged("DEBUG Tool");
}

/// spec: gateway-03, calls-02
#[tokio::test(start_paused = true)]
async fn an_unknown_tool_is_an_error_and_a_warning() {
    log_to_memory();
    let (reply, event) = Bench::default().call(&[&SWITCH], "fly", json!({})).await;
    assert_eq!((&reply["success"], &reply["error"]), (&json!(false), &json!("Tool 'fly' not found")));
    assert_eq!((&reply["tool_name"], &reply["execution_time_ms"]), (&json!("fly"), &json!(0)));
    assert!(!event.success);
    assert_logged("WARN Tool fly is not known");
}

/// spec: gateway-04, gateway-12, calls-04, calls-18, infra-02, infra-03, infra-18
#[tokio::test(start_paused = true)]
async fn a_tool_that_fails_says_how_to_programs_and_to_people() {
    log_to_memory();
    let (reply, _) = Bench::default().call(&[&FAILING], "failing", json!({ "a": 1 })).await;
    assert_eq!(
        reply,
        json!({
            "success": false,
            "error": "the fuse is blown",
            "error_type": "execution_error",
            "exception_type": "FuseError",
            "exception_message": "fuse 7",
            "message": "Sorry, that did not work.",
            "instruction": "Do not try again.",
            "tool_name": "failing",
            "execution_time_ms": 250,
        })
    );
    assert_logged("ERROR Tool failing failed: the fuse is blown");
    assert_logged(r#"tool failing {"a":1} in 250 ms"#);
}

/// Lets the clock move in the moment in which a line with `words` is logged.
fn time_passes_at(words: &str, milliseconds: u64) {
    when_logged(words, move || {
        // It moves when this is polled first; the rest only lets others run.
        let mut moving = pin!(tokio::time::advance(Duration::from_millis(milliseconds)));
        let _ = moving.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    });
}

/// spec: calls-17
#[tokio::test(start_paused = true)]
async fn the_check_of_the_arguments_counts_and_the_run_too() {
    log_to_memory();
    time_passes_at("Tool called: ", 70);
    // The check finds something.
    let (reply, event) = Bench::default().call(&[&SWITCH], "switch", json!({})).await;
    assert_eq!(
        (&reply["error_type"], &reply["execution_time_ms"]),
        (&json!("invalid_parameters"), &json!(70))
    );
    assert_eq!((event.success, event.milliseconds), (false, 70));
    // The check finds nothing, and the run fails after 250 ms.
    let (reply, _) = Bench::default().call(&[&FAILING], "failing", json!({})).await;
    assert_eq!((&reply["success"], &reply["execution_time_ms"]), (&json!(false), &json!(320)));
    // A mock takes no time of its own.
    let (reply, _) = Bench::default().call(&[&MOCK], "mock", json!({})).await;
    assert_eq!((&reply["success"], &reply["execution_time_ms"]), (&json!(true), &json!(70)));
}

/// In the middle of the check: after the names of the parameters, before their values.
///
/// spec: calls-17
#[test]
fn the_check_of_a_controllers_arguments_counts_too() {
    story(async |world| {
        let (_controller, mut ann) = world.connected().await;
        time_passes_at(r#" -> {"action":"explode"}"#, 40);
        let reply = ann.uses("control_zwave_device", json!({ "command": "explode" })).await;
        assert_refused(&reply, "invalid_parameters", "missing 'deviceName'");
        assert_eq!(reply["execution_time_ms"], 40);
    });
}

/// Every client and every bench of these tests checks the results that it sees.
///
/// spec: calls-18
#[test]
fn the_check_of_results_sees_what_is_missing() {
    let failure = json!({
        "success": false, "error": "e", "error_type": "timeout", "tool_name": "t", "execution_time_ms": 1,
    });
    let success = json!({ "success": true, "result": null, "tool_name": "t", "execution_time_ms": 1 });
    for whole in [failure, success] {
        assert_reply(&whole);
        let members = whole.as_object().expect("an object");
        for name in members.keys() {
            let mut part = members.clone();
            part.remove(name);
            let seen = std::panic::catch_unwind(|| assert_reply(&part.into()));
            assert!(seen.is_err(), "{name} was not missed in {whole}");
        }
    }
}

/// Every line that a hub writes to its controller is checked, too, in all worlds and in QEMU.
///
/// spec: gateway-22, gateway-24
#[test]
fn the_check_of_lines_sees_what_is_not_json_rpc() {
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    let mut tap = LineTap::default();
    tap.wrote(ping.as_bytes());
    tap.wrote(format!("\n{ping}\n{{\"half").as_bytes());
    assert_eq!(tap.count(), 2);
    for line in [
        "[0.060922] INFO  hub qemu: version 0.1.0 on qemu",
        "",
        r#"{"id":1,"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":1}"#,
        r#"{"jsonrpc":"2.0","result":{}}"#,
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"} TRACE",
    ] {
        let seen = std::panic::catch_unwind(|| LineTap::default().wrote(format!("{line}\n").as_bytes()));
        assert!(seen.is_err(), "{line:?} went unnoticed");
    }
}

/// spec: infra-01, infra-04
#[tokio::test(start_paused = true)]
async fn a_success_can_speak_to_the_person_and_to_the_model() {
    let (reply, _) = Bench::default().call(&[&GUIDING], "guiding", json!({})).await;
    assert_eq!(reply["success"], true);
    assert_eq!(reply["result"], 4);
    assert_eq!(reply["message"], "It is four.");
    assert_eq!(reply["instruction"], "Say only the number.");
}

/// spec: calls-03, calls-05, calls-06, calls-07, gateway-20
#[tokio::test(start_paused = true)]
async fn wrong_arguments_are_named_and_nothing_runs() {
    let cases = [
        (json!({}), "Invalid parameters: missing 'device_name'"),
        (json!({ "device_name": "Lamp" }), "Invalid parameters: missing 'action'"),
        (json!({ "device_name": 7, "action": "on" }), "Invalid parameters: 'device_name' must be a string"),
        (
            json!({ "device_name": "Lamp", "action": "fly" }),
            "Invalid parameters: 'action' must be one of: on, off, toggle",
        ),
        (
            json!({ "device_name": "Lamp", "action": "on", "level": 1.5 }),
            "Invalid parameters: 'level' must be an integer",
        ),
        (
            json!({ "device_name": "Lamp", "action": "on", "level": 100 }),
            "Invalid parameters: 'level' must be at most 99",
        ),
    ];
    for (arguments, error) in cases {
        let bench = Bench::default();
        let (reply, _) = bench.call(&[&SWITCH], "switch", arguments).await;
        assert_eq!((&reply["success"], &reply["error"]), (&json!(false), &json!(error)));
        assert_eq!(reply["error_type"], "invalid_parameters");
        assert!(reply["execution_time_ms"].is_u64() && reply["tool_name"] == "switch");
        assert_contains(&reply["message"], "Required: device_name, action");
        assert!(bench.calls.borrow().is_empty(), "it ran");
    }
    let bench = Bench::default();
    let (reply, _) =
        bench.call(&[&SWITCH], "switch", json!({ "device_name": "L", "action": "on", "level": 1.0 })).await;
    assert_eq!(reply["success"], true, "1.0 is an integer: {reply}");
}

/// spec: calls-08, infra-05
#[tokio::test(start_paused = true)]
async fn unknown_arguments_are_ignored_unless_the_tool_is_strict() {
    let bench = Bench::default();
    let (reply, _) = bench
        .call(&[&SWITCH], "switch", json!({ "device_name": "L", "action": "on", "colour": "red" }))
        .await;
    assert_eq!(reply["success"], true);
    let (reply, _) = bench.call(&[&STRICT], "strict", json!({ "a": "x", "colour": "red" })).await;
    assert_eq!(reply["success"], false);
    assert_contains(&reply["error"], "'colour'");
}

/// spec: calls-09
#[tokio::test(start_paused = true)]
async fn a_mock_answers_at_once_with_what_it_was_given() {
    log_to_memory();
    let bench = Bench::default();
    let (reply, event) = bench.call(&[&MOCK], "mock", json!({ "room": "attic" })).await;
    assert_eq!(reply["result"], json!({ "temperature": 21.5 }));
    assert!(event.milliseconds < 10);
    assert!(bench.calls.borrow().is_empty());
    assert_logged(r#"{"room":"attic"}"#);
}

/// Uses a real clock: with paused time, the tests above measure zero for work without waiting.
///
/// spec: calls-09
#[tokio::test]
async fn a_mock_answers_within_ten_milliseconds() {
    const CALLS: u32 = 100;
    let bench = Bench::default();
    let start = std::time::Instant::now();
    for _ in 0..CALLS {
        let (reply, event) = bench.call(&[&MOCK], "mock", json!({ "room": "attic" })).await;
        assert_eq!(reply["result"], json!({ "temperature": 21.5 }));
        assert!(event.milliseconds < 10, "{event:?}");
    }
    let average = start.elapsed() / CALLS;
    assert!(average < Duration::from_millis(10), "{average:?} a call");
}

/// spec: calls-11, calls-15
#[tokio::test(start_paused = true)]
async fn a_handler_that_is_missing_is_said() {
    let bench = Bench::default();
    let (reply, _) = bench.call(&[&HEADLESS], "headless", json!({})).await;
    assert_eq!(
        (&reply["success"], &reply["error"]),
        (&json!(false), &json!("Builtin handler 'nobody' not found"))
    );
    assert_eq!(reply["error_type"], "execution_error");
    let (reply, _) = bench.call(&[&HEADLESS_INTERNAL], "headless_internal", json!({})).await;
    assert_eq!(
        (&reply["success"], &reply["error"]),
        (&json!(false), &json!("Internal handler 'nobody' not found"))
    );
    assert_eq!(reply["error_type"], "execution_error");
    assert!(reply["execution_time_ms"].is_u64());
}

/// spec: calls-14
#[tokio::test(start_paused = true)]
async fn an_internal_tool_is_run_by_its_handler() {
    let bench = Bench::default();
    let (reply, _) = bench.call(&[&QUICK], "quick", json!({ "query": "x" })).await;
    assert_eq!((&reply["success"], &reply["result"]), (&json!(true), &json!("done")));
    assert_eq!(*bench.calls.borrow(), [json!({ "query": "x" })]);
}

/// spec: gateway-14
#[tokio::test(start_paused = true)]
async fn a_slow_tool_is_worth_a_warning() {
    log_to_memory();
    let (_, event) = Bench::default().call(&[&SLOW], "slow", json!({})).await;
    assert!(event.is_slow());
    assert_logged("WARN tool slow is slow: 1500 ms");
    log_to_memory();
    Bench::default().call(&[&FAILING], "failing", json!({})).await;
    assert_not_logged("is slow");
}

/// spec: gateway-19
#[tokio::test(start_paused = true)]
async fn a_service_that_is_down_is_said_to_be() {
    let (reply, _) = Bench::default().call(&[&DOWN], "down", json!({})).await;
    assert_eq!(reply["error_type"], "unavailable");
    assert_contains(&reply["message"], "not available");
    let (reply, _) = Bench::default().call(&[&CONTROLLERS], "controllers", json!({})).await;
    assert_eq!(reply["error_type"], "unavailable");
}

/// spec: gateway-21
#[tokio::test(start_paused = true)]
async fn what_takes_longer_than_30_s_is_cancelled() {
    let bench = Bench::default();
    let (reply, event) = bench.call(&[&FOREVER], "forever", json!({})).await;
    assert_eq!(bench.cancelled.get(), 1, "it goes on");
    assert_eq!((&reply["success"], &reply["error_type"]), (&json!(false), &json!("timeout")));
    assert_eq!(reply["execution_time_ms"], 30_000);
    assert_contains(&reply["error"], "timed out after 30 s");
    assert_eq!(event.milliseconds, 30_000);
    // A tool that waits for people has its own limit.
    let (reply, event) = Bench::default().call(&[&PATIENT_FOREVER], "patient_forever", json!({})).await;
    assert_refused(&reply, "timeout", "timed out after 600 s");
    assert_eq!(event.milliseconds, 600_000);
}

/// spec: calls-19
#[tokio::test(start_paused = true)]
async fn a_result_that_does_not_fit_is_cut_inside_and_says_so() {
    let (reply, _) = Bench::default().call(&[&LARGE], "large", json!({})).await;
    assert_eq!((&reply["success"], &reply["tool_name"]), (&json!(true), &json!("large")));
    assert!(reply["result"].to_string().contains("[cut: the rest did not fit]"), "{reply}");
    assert_contains(&reply["instruction"], "Do not repeat the call");
}
