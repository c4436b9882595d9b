//! People call tools of the controller.

use hub_core::limits;

use world::model::{calls, openai, stop};
use world::prelude::*;

pub fn on() -> Value {
    json!({ "device_name": "Switch One", "command": "on" })
}

/// spec: gateway-02, gateway-27, gateway-32, infra-16, params-01, params-06
#[test]
fn names_are_the_controllers_when_they_reach_it_and_both_forms_are_logged() {
    story(async |world| {
        let (mut controller, mut person) = world.connected().await;
        let mut arguments = on();
        arguments["fade_seconds"] = json!(2.5);
        person.calls("control_zwave_device", arguments);
        let call = controller.hears_call().await;
        let expected = json!({ "deviceName": "Switch One", "action": "on", "fadeSeconds": 2.5 });
        assert_eq!(call["params"], json!({ "name": "control_zwave_device", "arguments": expected }));
        controller.replies(&call, "Switch One is on").await;
        let reply = person.result().await;
        assert_eq!(reply["success"], true);
        assert_eq!(reply["result"], "Switch One is on");
        assert_eq!(reply["tool_name"], "control_zwave_device");
        assert_logged("TRACE Tool control_zwave_device completed");
        let line = "tool control_zwave_device: {\"command\":\"on\",\"device_name\":\"Switch One\",\"fade_seconds\":2.5} -> \
                    {\"action\":\"on\",\"deviceName\":\"Switch One\",\"fadeSeconds\":2.5}";
        assert_logged(line);
        // What is cut has a mark, and a renamed parameter is shown wherever it stands.
        let arguments = json!({ "a": "w".repeat(200), "command": "on", "device_name": "x" });
        person.calls("control_zwave_device", arguments);
        controller.serves(&"z".repeat(300)).await;
        person.result().await;
        for words in [
            &format!(
                "tool control_zwave_device: {{\"a\":\"{}… -> {{\"a\":\"{}…",
                "w".repeat(74),
                "w".repeat(74)
            ),
            "tool control_zwave_device: device_name -> deviceName",
            "tool control_zwave_device: command -> action",
            &format!("in 0 ms: \"{}…", "z".repeat(79)),
        ] {
            assert_logged(words);
        }
        // Without a renamed argument nothing is logged.
        person.calls("list_devices", json!({ "room": 1 }));
        controller.serves("").await;
        person.result().await;
        assert_not_logged("tool list_devices: {");
    });
}

/// spec: gateway-33, params-07
#[test]
fn what_the_controller_objects_to_reaches_the_caller_word_for_word() {
    story(async |world| {
        let (mut controller, mut person) = world.connected().await;
        let words = format!("No device 'Switch \"One\"'.\nThere are: {}", "Lämpchen, ".repeat(100));
        person.calls("control_zwave_device", on());
        let call = controller.hears_call().await;
        controller.refuses(&call, -32602, &words, json!({ "near": 1 })).await;
        let reply = person.result().await;
        assert_eq!((&reply["success"], &reply["error"]), (&json!(false), &json!(words)), "{reply}");
        assert_logged("ERROR Tool control_zwave_device failed: No device");
        person.calls("control_zwave_device", on());
        let content =
            json!([{ "type": "text", "text": words }, { "type": "image" }, { "type": "text", "text": "b" }]);
        controller.serves_result(json!({ "content": content, "isError": true })).await;
        let reply = person.result().await;
        assert_eq!(reply["error"], format!("{words}\n[image]\nb"));
        assert_refused(&reply, "execution_error", "");
        // Without a message, the hub writes one.
        person.calls("list_devices", json!({}));
        let call = controller.hears_call().await;
        let error = json!({ "jsonrpc": "2.0", "id": call["id"], "error": {} });
        controller.says(error.to_string()).await;
        assert_contains(&person.result().await["error"], "without a word");
    });
}

/// spec: gateway-20
#[test]
fn arguments_that_do_not_fit_never_reach_the_controller() {
    story(async |world| {
        let (mut controller, mut person) = world.connected().await;
        for (arguments, words) in [
            (json!({ "command": "on" }), "missing 'deviceName'"),
            (json!({ "device_name": "x", "command": "explode" }), "must be one of: on, off, toggle"),
            (json!({ "device_name": "x", "action": "on", "level": 100 }), "'level'"),
        ] {
            let reply = person.uses("control_zwave_device", arguments).await;
            assert_refused(&reply, "invalid_parameters", words);
            assert_contains(&reply["message"], "Required: deviceName, action");
        }
        let many: serde_json::Map<_, _> = (0..70).map(|n| (format!("a{n}"), json!(1))).collect();
        person.calls("list_devices", Value::from(many));
        assert_contains(&person.result().await["error"], "more than 64");
        person.calls("list_devices", json!({}));
        let call = controller.hears_call().await;
        assert_eq!(call["params"]["name"], "list_devices", "the first that reached it");
    });
}

/// spec: calls-07, gateway-20
#[test]
fn errors_list_all_options_and_required_parameters() {
    Setup::new().story(async |world| {
        let options: Vec<_> = (0..28).map(|n| format!("living_room_scene_{n:02}")).collect();
        let names: Vec<_> = (0..16).map(|n| format!("parameter_number_{n:02}")).collect();
        let mut properties: serde_json::Map<_, _> =
            names.iter().map(|name| (name.clone(), json!({}))).collect();
        properties[&names[0]] = json!({ "enum": options });
        let schema = json!({ "type": "object", "properties": properties, "required": names });
        let mut controller = world.controller();
        controller.greets_with(json!([{ "name": "scene", "description": "d", "inputSchema": schema }])).await;
        let mut ann = world.person("ann").await;
        ann.sees_link("ready").await;
        let arguments: serde_json::Map<_, _> = names.iter().map(|name| (name.clone(), json!("x"))).collect();
        let reply = ann.uses("scene", arguments.into()).await;
        let words = format!("'parameter_number_00' must be one of: {}", options.join(", "));
        assert_refused(&reply, "invalid_parameters", &words);
        // The required parameters follow, as far as there is room.
        assert_contains(&reply["message"], &words);
        assert_contains(&reply["message"], ". Required: parameter_number_00, parameter_number_01, ");
        let reply = ann.uses("scene", json!({})).await;
        assert_refused(&reply, "invalid_parameters", "missing 'parameter_number_00'");
        assert_contains(&reply["message"], &format!(". Required: {}", names.join(", ")));
    });
}

/// Cyrillic letters have two bytes, so the options alone would take all of the message.
#[test]
fn errors_with_long_options_name_the_required_parameters() {
    Setup::new().story(async |world| {
        let options: Vec<_> = (10..50).map(|n| format!("КомнатаНаверху{n}")).collect();
        assert!(options.concat().chars().count() >= 640);
        let properties = json!({ "room": { "enum": options }, "level": {} });
        let schema = json!({ "type": "object", "properties": properties, "required": ["room", "level"] });
        let mut controller = world.controller();
        controller.greets_with(json!([{ "name": "scene", "description": "d", "inputSchema": schema }])).await;
        let mut ann = world.person("ann").await;
        ann.sees_link("ready").await;
        let reply = ann.uses("scene", json!({ "room": "x", "level": 1 })).await;
        assert_refused(&reply, "invalid_parameters", "'room' must be one of: КомнатаНаверху10, ");
        let message = reply["message"].as_str().expect("words");
        assert!(message.ends_with("…. Required: room, level"), "{message}");
        assert!((900..=1024).contains(&message.len()), "{} bytes", message.len());
    });
}

/// spec: calls-18
#[test]
fn non_object_arguments_get_a_result_object_and_null_means_none() {
    story(async |world| {
        let (mut controller, mut ann) = world.connected().await;
        for (tool, arguments) in [("echo", json!([1])), ("list_devices", json!("{}")), ("hub_echo", json!(7))]
        {
            let reply = ann.asks("tool/call", json!({ "name": tool, "arguments": arguments })).await;
            assert_refused(&reply, "invalid_request", "'arguments' must be an object");
            assert_eq!((&reply["tool_name"], &reply["execution_time_ms"]), (&json!(tool), &json!(0)));
        }
        let reply = ann.uses("echo", Value::Null).await;
        assert_eq!(reply["result"], json!({ "echo": {} }));
        ann.calls("list_devices", Value::Null);
        let call = controller.serves("none").await;
        assert_eq!(
            (&call["params"]["name"], &call["params"]["arguments"]),
            (&json!("list_devices"), &json!({}))
        );
        assert_eq!(ann.result().await["success"], true);
        // The arguments of a model's call are a string.
        let mut model = world.model().await;
        let tools = json!({ "enabled": true });
        ann.sets_rule(json!({ "name": "text", "service": "openai", "model": "m", "tools": tools })).await;
        ann.says(json!({ "text": "Go", "rule": "text" }));
        let function = json!({ "name": "list_devices", "arguments": "null" });
        let calls = json!([{ "id": "a", "type": "function", "function": function }]);
        let message = json!({ "role": "assistant", "content": null, "tool_calls": calls });
        let question = model.hears("llm/request/openai").await;
        model.answers(&question, openai(message, "tool_calls"));
        let call = controller.serves("none").await;
        assert_eq!(call["params"]["arguments"], json!({}));
        let question = model.hears("llm/request/openai").await;
        model.answers(&question, openai(json!({ "role": "assistant", "content": "None." }), "stop"));
        assert_eq!(ann.reply().await["content"], "None.");
    });
}

/// spec: gateway-21
#[test]
fn a_call_without_an_answer_ends_after_thirty_seconds_and_is_not_repeated() {
    story(async |world| {
        let (mut controller, mut person) = world.connected().await;
        let start = Instant::now();
        person.calls("control_zwave_device", on());
        let call = controller.hears_call().await;
        let reply = person.result().await;
        assert_eq!(start.elapsed(), Duration::from_millis(30_000));
        assert_refused(&reply, "timeout", "cancelled");
        assert_refused(&reply, "timeout", "unknown");
        assert_eq!(reply["execution_time_ms"], 30_000);
        assert_contains(&reply["instruction"], "Do not repeat");
        let cancelled = controller.hears_of("notifications/cancelled").await;
        assert_eq!(cancelled["params"]["requestId"], call["id"]);
        // A late answer is ignored.
        controller.replies(&call, "late").await;
        person.gets_an_echo().await;
        assert_logged("which nobody waits for");
        sleep(Duration::from_secs(1)).await;
        person.calls("list_devices", json!({}));
        let call = controller.hears_call().await;
        assert_eq!(call["params"]["name"], "list_devices", "the first was not sent again");
    });
}

#[test]
fn a_controller_that_is_unplugged_during_a_call_is_missed_soon_after_it() {
    story(async |world| {
        let (mut controller, mut person) = world.connected().await;
        let start = Instant::now();
        person.calls("list_devices", json!({}));
        controller.hears_call().await;
        // A controller that works on a call may answer a ping late.
        controller.hears_of("ping").await;
        assert_eq!(start.elapsed().as_secs(), limits::LINK_PING.as_secs());
        assert_refused(&person.result().await, "timeout", "");
        assert_refused(&person.uses("list_devices", json!({})).await, "outcome_unknown", "");
        let patience = limits::LINK_PING + limits::TOOL_TIMEOUT;
        assert_eq!(start.elapsed().as_secs(), patience.as_secs());
        assert_logged("controller: lost (no answer)");
    });
}

#[test]
fn a_busy_controller_that_chats_is_given_the_time_that_a_call_has() {
    story(async |world| {
        let (mut controller, mut person) = world.connected().await;
        sleep(Duration::from_secs(10)).await;
        person.calls("list_devices", json!({}));
        let call = controller.hears_call().await;
        controller.says(b"node 7: waiting for the wake-up").await;
        // It works on one call at a time.
        sleep(Duration::from_secs(20)).await;
        controller.replies(&call, "there they are").await;
        assert_eq!(person.result().await["result"], "there they are");
        controller.lists(zwave_tools()).await;
        person.calls("list_devices", json!({}));
        controller.serves("again").await;
        assert_eq!(person.result().await["result"], "again");
        assert_not_logged("controller: lost");
    });
}

#[test]
fn an_answer_to_a_call_of_before_the_restart_is_not_taken_for_another() {
    let first_id = |seed: u64| -> u64 {
        let id = async |world: &World| world.controller().hears().await["id"].as_u64();
        Setup::new().seed(seed).story(id).expect("a number")
    };
    let (one, other) = (first_id(0x1234_5678_9ABC), first_id(0xFEDC_BA98_7654));
    assert!(one.abs_diff(other) > 1000, "{one} and {other}");
}

/// spec: gateway-13, gateway-14
#[test]
fn slow_is_said_to_the_millisecond() {
    story(async |world| {
        let (mut controller, mut person) = world.connected().await;
        for (milliseconds, slow) in [(1000, false), (1001, true)] {
            person.calls("list_devices", json!({}));
            let call = controller.hears_call().await;
            sleep(Duration::from_millis(milliseconds)).await;
            controller.replies(&call, "").await;
            assert_eq!(person.result().await["execution_time_ms"], milliseconds);
            let event = person.hears("event/tool").await.json();
            assert_eq!(event["slow"], slow, "{event}");
            assert_eq!(log_text().contains("tool list_devices is slow"), slow, "{}", log_text());
        }
    });
}

/// The hub waits until it knows the devices, because it needs them to assess a model's call. This time belongs to the
/// call.
///
/// spec: calls-17, gateway-13, gateway-14
#[test]
fn waiting_for_devices_counts_as_execution_time() {
    story(async |world| {
        let mut controller = world.controller();
        let (mut ann, mut model) = world.talking().await;
        let hello = controller.hears_of("initialize").await;
        let mut about = about_it(&hello["params"]["protocolVersion"]);
        about["capabilities"]["resources"] = json!({});
        controller.answers(&hello, about).await;
        controller.lists(zwave_tools()).await;
        ann.sees_link("ready").await;
        // The controller never lists its devices.
        ann.says(json!({ "text": "What is there?" }));
        model.serves(calls(&[("list_devices", json!({}))])).await;
        controller.serves("a lamp").await;
        let event = ann.hears("event/tool").await.json();
        assert_eq!((&event["execution_time_ms"], &event["slow"]), (&json!(15_000), &json!(true)), "{event}");
        let question = model.serves(stop("A lamp.")).await.json().to_string();
        assert!(question.contains(r#"\"execution_time_ms\":15000"#), "{question}");
        assert_logged("tool list_devices is slow: 15000 ms");
    });
}

/// spec: gateway-19
#[test]
fn a_controller_that_is_lost_in_the_middle_leaves_an_unknown_outcome_and_no_second_call() {
    story(async |world| {
        let (mut controller, mut person) = world.connected().await;
        person.calls("control_zwave_device", on());
        controller.hears_call().await;
        // It restarts, logs that, and needs a new handshake.
        sleep(Duration::from_secs(6)).await;
        controller.says(b"*** Z-Wave controller v7, booting").await;
        let list = controller.hears_of("tools/list").await;
        controller.refuses(&list, -32002, "Server not initialized", Value::Null).await;
        let reply = person.result().await;
        assert_refused(&reply, "outcome_unknown", "it has restarted");
        assert_refused(&reply, "outcome_unknown", "unknown");
        // Its tools cannot be used until the new handshake, and differ then.
        person.sees_link("connecting").await;
        assert_refused(&person.uses("control_zwave_device", on()).await, "unavailable", "");
        controller.greets_with(json!([a_tool("new_tool")])).await;
        person.sees_link("ready").await;
        assert_refused(&person.uses("control_zwave_device", on()).await, "not_found", "");
        person.calls("new_tool", json!({}));
        let call = controller.hears_call().await;
        assert_eq!(call["params"]["name"], "new_tool", "nothing was sent again");
        controller.replies(&call, "x").await;
        assert_eq!(person.result().await["result"], "x");
    });
}

/// A server of MCP 2026-07-28 answers so when it needs a person: nothing was done.
#[test]
fn a_controller_that_wants_to_know_more_has_not_done_it() {
    story(async |world| {
        let (mut controller, mut person) = world.connected().await;
        let question = "Which of the two doors shall I \"unlock\"?";
        let schema = json!({ "type": "object", "properties": { "door": { "type": "string" } } });
        let ask = |message: &str| {
            let params = json!({ "mode": "form", "message": message, "requestedSchema": schema });
            json!({ "method": "elicitation/create", "params": params })
        };
        person.calls("control_zwave_device", on());
        let requests =
            json!({ "door": ask(question), "model": { "method": "sampling/createMessage", "params": {} } });
        let result =
            json!({ "resultType": "input_required", "inputRequests": requests, "requestState": "s1" });
        controller.serves_result(result).await;
        let reply = person.result().await;
        assert_refused(&reply, "execution_error", "The controller wants to know more");
        assert_contains(&reply["error"], question);
        assert_contains(&reply["error"], "sampling/createMessage");
        assert_contains(&reply["message"], question);
        assert_contains(&reply["instruction"], "not done");
        assert!(reply["result"].is_null(), "{reply}");
        assert_logged("ERROR Tool control_zwave_device failed: The controller wants to know more");
        // As much of a long question as fits.
        person.calls("control_zwave_device", on());
        let requests = json!({ "door": ask(&"Lämpchen, ".repeat(1000)) });
        controller
            .serves_result(
                json!({ "resultType": "input_required", "inputRequests": requests, "content": [] }),
            )
            .await;
        let reply = person.result().await;
        assert_refused(&reply, "execution_error", "Lämpchen, Lämpchen");
        assert_contains(&reply["error"], "[cut: the rest did not fit]");
        // It may have no question at all.
        person.calls("control_zwave_device", on());
        controller.serves_result(json!({ "resultType": "input_required", "requestState": "s2" })).await;
        assert_refused(&person.result().await, "execution_error", "does not say what");
        // What is complete is a result like any other; of another kind, nobody knows.
        person.calls("control_zwave_device", on());
        let content = json!([{ "type": "text", "text": "on" }]);
        controller.serves_result(json!({ "resultType": "complete", "content": content })).await;
        assert_eq!(person.result().await["result"], "on");
        person.calls("control_zwave_device", on());
        controller.serves_result(json!({ "resultType": "task", "task": { "taskId": "t1" } })).await;
        assert_refused(&person.result().await, "outcome_unknown", "'task'");
    });
}

#[test]
fn a_name_of_the_controllers_stays_its_own_while_it_is_away() {
    story(async |world| {
        let tools = json!([a_tool("volume"), a_tool("one")]);
        let (mut controller, mut person) = world.connected_with(tools.clone()).await;
        let quiet = json!({ "level": 7 });
        person.calls("volume", quiet.clone());
        controller.serves("the siren is quiet").await;
        assert_eq!(person.result().await["result"], "the siren is quiet");
        controller.forgets_the_handshake(&mut person, "one").await;
        person.sees_link("connecting").await;
        for _ in 0..2 {
            for name in ["volume", "one"] {
                let reply = person.uses(name, quiet.clone()).await;
                assert_refused(&reply, "unavailable", "The controller is not connected");
            }
            // The hub's own is there under its full name, and models are offered nothing else.
            assert_eq!(person.uses("hub_volume", json!({})).await["success"], true);
            let list = person.asks("tool/list", json!({ "allowed": ["volume", "one"] })).await;
            assert_eq!(
                (count(&list["tools"]), &list["tools"][0]["name"]),
                (1, &json!("hub_volume")),
                "{list}"
            );
            let after = person.asks("tool/list", json!({ "after": "one" })).await;
            assert_contains(&after["error"], "unknown cursor 'after'");
            // Nobody comes for an hour.
            sleep(Duration::from_secs(3600)).await;
        }
        let reply = person.uses("hub_volume", json!({})).await;
        assert_ne!(reply["result"]["level"], 7, "{reply}");
        // It comes back with another list: now the plain name is the hub's.
        controller.comes_late().await;
        controller.greets_with(json!([a_tool("one")])).await;
        person.sees_link("ready").await;
        assert_eq!(person.uses("volume", quiet).await["success"], true);
    });
}

#[test]
fn answers_find_their_calls_in_any_order_and_in_batches() {
    story(async |world| {
        let (mut controller, mut person) = world.connected().await;
        let mut calls = Vec::new();
        // One slot is left to conversations.
        for number in 0..limits::JOBS - 1 {
            person.calls("list_devices", json!({ "number": number }));
            calls.push(controller.hears_call().await);
        }
        // Answers with an unknown id, or repeated ones.
        let flood: Vec<_> =
            (0..50).map(|id| json!({ "jsonrpc": "2.0", "id": id + 70_000, "result": {} })).collect();
        let stray = json!([
            { "jsonrpc": "2.0", "id": 99_999, "result": {} },
            { "jsonrpc": "2.0", "id": "1", "result": {} },
            { "jsonrpc": "2.0", "id": null, "error": { "code": -32700, "message": "parse error" } },
            7,
        ]);
        controller.says(stray.to_string()).await;
        let text = |call: &Value| {
            let text = call["params"]["arguments"]["number"].to_string();
            json!({ "jsonrpc": "2.0", "id": call["id"], "result": { "content": [{ "type": "text", "text": text }] } })
        };
        controller.replies(&calls[2], "2").await;
        controller.replies(&calls[2], "again").await;
        let batch = json!([text(&calls[3]), { "jsonrpc": "2.0", "method": "notifications/progress" }, text(&calls[0])]);
        let batch = Value::from([flood, batch.as_array().expect("a list").clone()].concat());
        controller.says(batch.to_string()).await;
        controller.says(text(&calls[1]).to_string()).await;
        let mut results = Vec::new();
        for _ in 0..limits::JOBS - 1 {
            results.push(person.result().await["result"].as_str().expect("text").to_owned());
        }
        results.sort_unstable();
        assert_eq!(results, ["0", "1", "2", "3"]);
    });
}

/// spec: calls-19
#[test]
fn structured_results_come_as_they_are_with_words_for_the_person() {
    story(async |world| {
        let (mut controller, mut person) = world.connected().await;
        let structured = json!({ "devices": [{ "name": "é", "level": 1.50 }] });
        let both = |text: &str, structured: &Value| json!({ "content": [{ "type": "text", "text": text }], "structuredContent": structured });
        person.calls("list_devices", json!({}));
        controller.serves_result(both("There is one device.", &structured)).await;
        let reply = person.result().await;
        assert_eq!((&reply["result"], &reply["message"]), (&structured, &json!("There is one device.")));
        // An empty answer is valid.
        for result in [json!({}), json!({ "content": "x" }), json!(7)] {
            person.calls("list_devices", json!({}));
            controller.serves_result(result).await;
            assert_eq!(person.result().await["result"], "");
        }
        // A text that repeats the JSON is left out, and a long text is cut.
        for (text, message) in
            [(structured.to_string(), Value::Null), ("w".repeat(300), json!(format!("{}…", "w".repeat(188))))]
        {
            person.calls("list_devices", json!({}));
            controller.serves_result(both(&text, &structured)).await;
            assert_eq!(person.result().await["message"], message);
        }
        // If the structure does not fit, the text may.
        person.calls("list_devices", json!({}));
        controller.serves_result(both("Many.", &json!({ "devices": "x".repeat(6000) }))).await;
        assert_eq!(person.result().await["result"], "Many.");
        // Of what is larger than a reply, as much as fits.
        person.calls("list_devices", json!({}));
        controller.serves(&"x".repeat(7000)).await;
        let reply = person.result().await;
        assert_contains(&reply["result"], &format!("{}... [cut", "x".repeat(3000)));
        assert_contains(&reply["instruction"], "It was done, and the result is cut");
        person.calls("list_devices", json!({}));
        let call = controller.hears_call().await;
        controller.refuses(&call, 1, &"x".repeat(7000), Value::Null).await;
        assert_refused(&person.result().await, "execution_error", &format!("{}... [cut", "x".repeat(3000)));
    });
}

/// Nothing that a result consists of is left out without a word.
#[test]
fn every_kind_of_content_is_shown_or_named() {
    let text = |text: &str| json!({ "type": "text", "text": text });
    let image = json!({ "type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png", "annotations": { "priority": 1 } });
    let named = "[image: image/png, 8 bytes]";
    let embedded = json!({ "type": "resource", "resource": { "uri": "file:///notes.txt", "mimeType": "text/plain", "text": "Water the plants." } });
    let blob = json!({ "type": "resource", "resource": { "uri": "file:///a.bin", "blob": "AAAA" } });
    let link =
        json!({ "type": "resource_link", "uri": "demo://7", "name": "Resource 7", "mimeType": "text/plain" });
    let structured = json!({ "result": ["Lamp", "Door"] });
    let list = json!([text("Lamp"), text("Door")]);
    for (result, expected, message) in [
        (
            json!({ "content": [embedded] }),
            json!("Water the plants.\n[resource: file:///notes.txt, text/plain]"),
            Value::Null,
        ),
        (json!({ "content": [blob] }), json!("[resource: file:///a.bin, 3 bytes]"), Value::Null),
        (
            json!({ "content": [{ "type": "audio", "data": "AAEC\r\nAw==" }, { "type": "audio", "data": "AAE" }] }),
            json!("[audio: 4 bytes]\n[audio: 2 bytes]"),
            Value::Null,
        ),
        (
            json!({ "content": [text("See:"), link] }),
            json!("See:\n[resource_link: Resource 7, demo://7, text/plain]"),
            Value::Null,
        ),
        (json!({ "content": [text("a"), image] }), json!(format!("a\n{named}")), Value::Null),
        (json!({ "content": [{ "type": "new" }, 7, { "text": "x" }] }), json!("[new]\n7\nx"), Value::Null),
        // Beside a structure, the words are for the person; all of them, and what else there is.
        (
            json!({ "content": list, "structuredContent": structured }),
            structured.clone(),
            json!("Lamp\nDoor"),
        ),
        (
            json!({ "content": [text("{\"a\":1}"), image], "structuredContent": { "a": 1 } }),
            json!({ "a": 1 }),
            json!(named),
        ),
        (
            json!({ "content": [text("[lamp] is on")], "structuredContent": { "a": 1 } }),
            json!({ "a": 1 }),
            json!("[lamp] is on"),
        ),
        // A structure alone.
        (json!({ "structuredContent": { "a": 1 } }), json!({ "a": 1 }), Value::Null),
        (json!({ "structuredContent": [1, 2], "content": [] }), json!([1, 2]), Value::Null),
    ] {
        story(async |world| {
            let (mut controller, mut person) = world.connected().await;
            person.calls("list_devices", json!({}));
            controller.serves_result(result.clone()).await;
            let reply = person.result().await;
            assert_eq!(
                (&reply["success"], &reply["result"], &reply["message"]),
                (&json!(true), &expected, &message)
            );
            // The same as an error.
            let mut failed = result.clone();
            failed["isError"] = json!(true);
            person.calls("list_devices", json!({}));
            controller.serves_result(failed).await;
            let reply = person.result().await;
            let words = match &expected {
                Value::String(words) => words.clone(),
                _ if result["content"].as_array().is_some_and(|items| !items.is_empty()) => String::new(),
                structure => structure.to_string(),
            };
            assert_refused(&reply, "execution_error", &words);
            assert_ne!(reply["error"], "");
        });
    }
}

#[test]
fn a_controller_that_does_not_know_whether_it_was_done_is_believed() {
    story(async |world| {
        let (mut controller, mut person) = world.connected().await;
        person.calls("control_zwave_device", on());
        let content = json!([{ "type": "text", "text": "Pond Pump does not answer" }]);
        let outcome = json!({ "outcome": "unknown" });
        controller
            .serves_result(json!({ "content": content, "isError": true, "structuredContent": outcome }))
            .await;
        let reply = person.result().await;
        assert_refused(&reply, "outcome_unknown", "Pond Pump does not answer");
        assert_eq!(reply["message"], "I do not know whether that was done: Pond Pump does not answer");
        assert_contains(&reply["instruction"], "Do not repeat the call");
    });
}

#[test]
fn what_the_controller_objects_to_is_in_a_sentence_for_the_person_too() {
    story(async |world| {
        let (mut controller, mut person) = world.connected().await;
        for (words, message) in [
            ("Device 'Lmap' not found", "Sorry, that did not work: Device 'Lmap' not found"),
            ("{\"code\":7}", "Sorry, that did not work."),
            ("", "Sorry, that did not work."),
        ] {
            let error =
                if words.is_empty() { "The controller reports an error without a word" } else { words };
            person.calls("control_zwave_device", on());
            let content = json!([{ "type": "text", "text": words }]);
            controller.serves_result(json!({ "content": content, "isError": true })).await;
            let reply = person.result().await;
            assert_eq!((&reply["error"], &reply["message"]), (&json!(error), &json!(message)));
            person.calls("control_zwave_device", on());
            let call = controller.hears_call().await;
            controller.refuses(&call, -32602, words, Value::Null).await;
            let reply = person.result().await;
            assert_eq!((&reply["error"], &reply["message"]), (&json!(error), &json!(message)));
        }
        person.calls("control_zwave_device", on());
        let call = controller.hears_call().await;
        controller.refuses(&call, -32602, &"w".repeat(500), Value::Null).await;
        let message = person.result().await["message"].to_string();
        assert!(message.contains("Sorry, that did not work: www") && message.contains("ww…"), "{message}");
    });
}
