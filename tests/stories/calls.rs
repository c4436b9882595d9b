//! People call tools of the controller, which answers, or does not.

use std::time::Duration;

use hub_core::limits;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::world::{Controller, Person, World, log_text};

/// What a Z-Wave controller offers.
pub fn tools() -> Value {
    json!([
        {
            "name": "control_zwave_device",
            "description": "Controls a device.",
            "inputSchema": {
                "type": "object",
                "properties": {
                    "deviceName": { "type": "string" },
                    "action": { "enum": ["on", "off", "toggle"] },
                    "level": { "type": "integer", "minimum": 0, "maximum": 99 },
                    "fadeSeconds": { "type": "number" },
                },
                "required": ["deviceName", "action"],
            },
            "annotations": { "destructiveHint": false, "readOnlyHint": false },
        },
        { "name": "list_devices", "description": "Lists them.", "inputSchema": { "type": "object" },
          "annotations": { "readOnlyHint": true } },
    ])
}

pub fn on() -> Value {
    json!({ "device_name": "Switch One", "command": "on" })
}

/// A hub with its controller connected, and somebody who uses both.
pub async fn a_home(world: &World) -> (Controller, Person) {
    let mut controller = world.controller();
    let mut person = world.person("ann").await;
    controller.greets_with(tools()).await;
    person.sees_link("ready").await;
    (controller, person)
}

/// spec: gateway-27, gateway-32, params-01, params-06
#[tokio::test(start_paused = true)]
async fn names_are_the_controllers_when_they_reach_it_and_both_forms_are_logged() {
    let world = World::new();
    world
        .tell(async {
            let (mut controller, mut person) = a_home(&world).await;
            let mut arguments = on();
            arguments["fade_seconds"] = json!(2.5);
            person.calls("control_zwave_device", arguments);
            let call = controller.hears_of("tools/call").await;
            let expected = json!({ "deviceName": "Switch One", "action": "on", "fadeSeconds": 2.5 });
            assert_eq!(call["params"], json!({ "name": "control_zwave_device", "arguments": expected }));
            controller.replies(&call, "Switch One is on").await;
            let reply = person.gets().await;
            assert_eq!(reply["success"], true);
            assert_eq!(reply["result"], "Switch One is on");
            assert_eq!(reply["tool_name"], "control_zwave_device");
            assert!(log_text().contains("TRACE Tool control_zwave_device completed"), "{}", log_text());
            let line = "tool control_zwave_device: {\"command\":\"on\",\"device_name\":\"Switch One\",\"fade_seconds\":2.5} -> \
                        {\"action\":\"on\",\"deviceName\":\"Switch One\",\"fadeSeconds\":2.5}";
            assert!(log_text().contains(line), "{}", log_text());
            // Without a difference nothing is said.
            person.calls("list_devices", json!({ "room": 1 }));
            let call = controller.hears_of("tools/call").await;
            controller.replies(&call, "").await;
            person.gets().await;
            assert!(!log_text().contains("tool list_devices: {"), "{}", log_text());
        })
        .await;
}

/// spec: gateway-33, params-07
#[tokio::test(start_paused = true)]
async fn what_the_controller_objects_to_reaches_the_caller_word_for_word() {
    let world = World::new();
    world
        .tell(async {
            let (mut controller, mut person) = a_home(&world).await;
            let words = format!("No device 'Switch \"One\"'.\nThere are: {}", "Lämpchen, ".repeat(100));
            person.calls("control_zwave_device", on());
            let call = controller.hears_of("tools/call").await;
            controller.refuses(&call, -32602, &words, json!({ "near": 1 })).await;
            let reply = person.gets().await;
            assert_eq!((&reply["success"], &reply["error"]), (&json!(false), &json!(words)), "{reply}");
            assert!(log_text().contains("ERROR Tool control_zwave_device failed: No device"), "{}", log_text());
            person.calls("control_zwave_device", on());
            let call = controller.hears_of("tools/call").await;
            let content = json!([{ "type": "text", "text": words }, { "type": "image" }, { "type": "text", "text": "b" }]);
            controller.answers(&call, json!({ "content": content, "isError": true })).await;
            let reply = person.gets().await;
            assert_eq!(reply["error"], format!("{words}\n[image]\nb"));
            assert_eq!(reply["error_type"], "execution_error");
            // Without a word, the hub finds some.
            person.calls("list_devices", json!({}));
            let call = controller.hears_of("tools/call").await;
            let error = json!({ "jsonrpc": "2.0", "id": call["id"], "error": {} });
            controller.says(error.to_string().as_bytes()).await;
            assert!(person.gets().await["error"].as_str().expect("words").contains("without a word"));
        })
        .await;
}

/// spec: gateway-20
#[tokio::test(start_paused = true)]
async fn arguments_that_do_not_fit_never_reach_the_controller() {
    let world = World::new();
    world
        .tell(async {
            let (mut controller, mut person) = a_home(&world).await;
            for (arguments, words) in [
                (json!({ "command": "on" }), "missing 'deviceName'"),
                (json!({ "device_name": "x", "command": "explode" }), "must be one of: on, off, toggle"),
                (json!({ "device_name": "x", "action": "on", "level": 100 }), "'level'"),
            ] {
                person.calls("control_zwave_device", arguments);
                let reply = person.gets().await;
                assert_eq!(reply["error_type"], "invalid_parameters");
                assert!(reply["error"].as_str().expect("words").contains(words), "{reply}");
                assert!(
                    reply["message"].as_str().expect("words").contains("Required: deviceName, action"),
                    "{reply}"
                );
            }
            let many: serde_json::Map<_, _> = (0..70).map(|n| (format!("a{n}"), json!(1))).collect();
            person.calls("list_devices", Value::from(many));
            assert!(person.gets().await["error"].as_str().expect("words").contains("more than 64"));
            person.calls("list_devices", json!({}));
            let call = controller.hears_of("tools/call").await;
            assert_eq!(call["params"]["name"], "list_devices", "the first that reached it");
        })
        .await;
}

/// spec: gateway-21
#[tokio::test(start_paused = true)]
async fn a_call_without_an_answer_ends_after_thirty_seconds_and_is_not_repeated() {
    let world = World::new();
    world
        .tell(async {
            let (mut controller, mut person) = a_home(&world).await;
            let start = Instant::now();
            person.calls("control_zwave_device", on());
            let call = controller.hears_of("tools/call").await;
            let reply = person.gets().await;
            assert_eq!(start.elapsed(), Duration::from_millis(30_000));
            assert_eq!(reply["error_type"], "timeout");
            assert_eq!(reply["execution_time_ms"], 30_000);
            let error = reply["error"].as_str().expect("words");
            assert!(error.contains("cancelled") && error.contains("unknown"), "{reply}");
            assert!(reply["instruction"].as_str().expect("words").contains("Do not repeat"), "{reply}");
            let cancelled = controller.hears_of("notifications/cancelled").await;
            assert_eq!(cancelled["params"]["requestId"], call["id"]);
            // It answers after all; nobody listens, and nobody is disturbed.
            controller.replies(&call, "late").await;
            person.gets_an_echo().await;
            assert!(log_text().contains("which nobody waits for"), "{}", log_text());
            sleep(Duration::from_secs(1)).await;
            person.calls("list_devices", json!({}));
            let call = controller.hears_of("tools/call").await;
            assert_eq!(call["params"]["name"], "list_devices", "the first was not sent again");
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_controller_that_is_unplugged_during_a_call_is_missed_soon_after_it() {
    let world = World::new();
    world
        .tell(async {
            let (mut controller, mut person) = a_home(&world).await;
            let start = Instant::now();
            person.calls("list_devices", json!({}));
            controller.hears_of("tools/call").await;
            // A controller that works on a call may answer a ping late.
            controller.hears_of("ping").await;
            assert_eq!(start.elapsed().as_secs(), limits::LINK_PING.as_secs());
            assert_eq!(person.gets().await["error_type"], "timeout");
            person.calls("list_devices", json!({}));
            let reply = person.gets().await;
            assert_eq!(reply["error_type"], "outcome_unknown", "{reply}");
            let patience = limits::LINK_PING + limits::TOOL_TIMEOUT;
            assert_eq!(start.elapsed().as_secs(), patience.as_secs());
            assert!(log_text().contains("controller: lost (no answer)"), "{}", log_text());
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_busy_controller_that_chats_is_given_the_time_that_a_call_has() {
    let world = World::new();
    world
        .tell(async {
            let (mut controller, mut person) = a_home(&world).await;
            sleep(Duration::from_secs(10)).await;
            person.calls("list_devices", json!({}));
            let call = controller.hears_of("tools/call").await;
            controller.says(b"node 7: waiting for the wake-up").await;
            // It does one thing after the other.
            sleep(Duration::from_secs(20)).await;
            controller.replies(&call, "there they are").await;
            assert_eq!(person.gets().await["result"], "there they are");
            controller.lists(tools()).await;
            person.calls("list_devices", json!({}));
            let call = controller.hears_of("tools/call").await;
            controller.replies(&call, "again").await;
            assert_eq!(person.gets().await["result"], "again");
            assert!(!log_text().contains("controller: lost"), "{}", log_text());
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn an_answer_to_a_call_of_before_the_restart_is_not_taken_for_another() {
    let ids = |seed: u64| async move {
        let world = World::new();
        let (theirs, ours) = tokio::io::duplex(64 * 1024);
        let (rx, tx) = tokio::io::split(theirs);
        let line = (
            embedded_io_adapters::tokio_1::FromTokio::new(rx),
            embedded_io_adapters::tokio_1::FromTokio::new(tx),
        );
        let network = host_sim::network::Network::Memory(world.server());
        let flash = host_sim::flash::MemoryFlash::default();
        let first = async {
            use tokio::io::AsyncBufReadExt;
            let mut text = String::new();
            tokio::io::BufReader::new(ours).read_line(&mut text).await.expect("a line");
            serde_json::from_str::<Value>(&text).expect("JSON")["id"].as_u64().expect("a number")
        };
        tokio::select! {
            never = host_sim::hub::run(&world.settings, line, network, flash, seed) => never,
            id = first => id,
        }
    };
    let (one, other) = (ids(0x1234_5678_9ABC).await, ids(0xFEDC_BA98_7654).await);
    assert!(one.abs_diff(other) > 1000, "{one} and {other}");
}

#[tokio::test(start_paused = true)]
async fn slow_is_said_to_the_millisecond() {
    let world = World::new();
    world
        .tell(async {
            let (mut controller, mut person) = a_home(&world).await;
            for (milliseconds, slow) in [(1000, false), (1001, true)] {
                person.calls("list_devices", json!({}));
                let call = controller.hears_of("tools/call").await;
                sleep(Duration::from_millis(milliseconds)).await;
                controller.replies(&call, "").await;
                assert_eq!(person.gets().await["execution_time_ms"], milliseconds);
                let event = person.hears("hearthwave/story/event/tool").await.json();
                assert_eq!(event["slow"], slow, "{event}");
                assert_eq!(log_text().contains("tool list_devices is slow"), slow, "{}", log_text());
            }
        })
        .await;
}

/// spec: gateway-19
#[tokio::test(start_paused = true)]
async fn a_controller_that_is_lost_in_the_middle_leaves_an_unknown_outcome_and_no_second_call() {
    let world = World::new();
    world
        .tell(async {
            let (mut controller, mut person) = a_home(&world).await;
            person.calls("control_zwave_device", on());
            controller.hears_of("tools/call").await;
            // It restarts: it says so, and knows nothing of a handshake any more.
            sleep(Duration::from_secs(6)).await;
            controller.says(b"*** Z-Wave controller v7, booting").await;
            let list = controller.hears_of("tools/list").await;
            controller.refuses(&list, -32002, "Server not initialized", Value::Null).await;
            let reply = person.gets().await;
            assert_eq!(reply["error_type"], "outcome_unknown", "{reply}");
            let error = reply["error"].as_str().expect("words");
            assert!(error.contains("it has restarted") && error.contains("unknown"), "{reply}");
            // Its tools are gone until it is greeted again, and are others then.
            person.sees_link("connecting").await;
            person.calls("control_zwave_device", on());
            assert_eq!(person.gets().await["error_type"], "not_found");
            controller
                .greets_with(json!([{ "name": "new_tool", "inputSchema": { "type": "object" } }]))
                .await;
            person.sees_link("ready").await;
            person.calls("control_zwave_device", on());
            assert_eq!(person.gets().await["error_type"], "not_found");
            person.calls("new_tool", json!({}));
            let call = controller.hears_of("tools/call").await;
            assert_eq!(call["params"]["name"], "new_tool", "nothing was sent again");
            controller.replies(&call, "x").await;
            assert_eq!(person.gets().await["result"], "x");
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn answers_find_their_calls_in_any_order_and_in_batches() {
    let world = World::new();
    world
        .tell(async {
            let (mut controller, mut person) = a_home(&world).await;
            let mut calls = Vec::new();
            for number in 0..limits::JOBS {
                person.calls("list_devices", json!({ "number": number }));
                calls.push(controller.hears_of("tools/call").await);
            }
            // Answers that belong to nobody, or come twice.
            let flood: Vec<_> = (0..50).map(|id| json!({ "jsonrpc": "2.0", "id": id + 70_000, "result": {} })).collect();
            let stray = json!([
                { "jsonrpc": "2.0", "id": 99_999, "result": {} },
                { "jsonrpc": "2.0", "id": "1", "result": {} },
                { "jsonrpc": "2.0", "id": null, "error": { "code": -32700, "message": "parse error" } },
                7,
            ]);
            controller.says(stray.to_string().as_bytes()).await;
            let text = |call: &Value| {
                let text = call["params"]["arguments"]["number"].to_string();
                json!({ "jsonrpc": "2.0", "id": call["id"], "result": { "content": [{ "type": "text", "text": text }] } })
            };
            controller.replies(&calls[2], "2").await;
            controller.replies(&calls[2], "again").await;
            let batch = json!([text(&calls[3]), { "jsonrpc": "2.0", "method": "notifications/progress" }, text(&calls[0])]);
            let batch = Value::from([flood, batch.as_array().expect("a list").clone()].concat());
            controller.says(batch.to_string().as_bytes()).await;
            controller.says(text(&calls[1]).to_string().as_bytes()).await;
            let mut results = Vec::new();
            for _ in 0..limits::JOBS {
                results.push(person.gets().await["result"].as_str().expect("text").to_owned());
            }
            results.sort_unstable();
            assert_eq!(results, ["0", "1", "2", "3"]);
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn structured_results_come_as_they_are_with_words_for_the_person() {
    let world = World::new();
    world
        .tell(async {
            let (mut controller, mut person) = a_home(&world).await;
            person.calls("list_devices", json!({}));
            let call = controller.hears_of("tools/call").await;
            let structured = json!({ "devices": [{ "name": "é", "level": 1.50 }] });
            let content = json!([{ "type": "text", "text": "There is one device." }]);
            controller.answers(&call, json!({ "content": content, "structuredContent": structured })).await;
            let reply = person.gets().await;
            assert_eq!((&reply["result"], &reply["message"]), (&structured, &json!("There is one device.")));
            // Nothing at all is also an answer.
            for (result, expected) in
                [(json!({}), json!("")), (json!({ "content": "x" }), json!("")), (json!(7), json!(""))]
            {
                person.calls("list_devices", json!({}));
                let call = controller.hears_of("tools/call").await;
                controller.answers(&call, result).await;
                assert_eq!(person.gets().await["result"], expected);
            }
            // The same JSON once more is nothing to say, and long words are cut.
            for (text, message) in [
                (structured.to_string(), Value::Null),
                ("w".repeat(300), json!(format!("{}…", "w".repeat(188)))),
            ] {
                person.calls("list_devices", json!({}));
                let call = controller.hears_of("tools/call").await;
                let content = json!([{ "type": "text", "text": text }]);
                controller
                    .answers(&call, json!({ "content": content, "structuredContent": structured }))
                    .await;
                assert_eq!(person.gets().await["message"], message);
            }
            // What does not fit as a structure may fit in words.
            person.calls("list_devices", json!({}));
            let call = controller.hears_of("tools/call").await;
            let large = json!({ "devices": "x".repeat(6000) });
            let content = json!([{ "type": "text", "text": "Many." }]);
            controller.answers(&call, json!({ "content": content, "structuredContent": large })).await;
            assert_eq!(person.gets().await["result"], "Many.");
            // More than a reply holds is said.
            person.calls("list_devices", json!({}));
            let call = controller.hears_of("tools/call").await;
            controller.replies(&call, &"x".repeat(8000)).await;
            let reply = person.gets().await;
            assert_eq!(reply["error_type"], "too_large");
            assert!(reply["error"].as_str().expect("words").contains("was done"), "{reply}");
            person.calls("list_devices", json!({}));
            let call = controller.hears_of("tools/call").await;
            controller.refuses(&call, 1, &"x".repeat(8000), Value::Null).await;
            assert_eq!(person.gets().await["error_type"], "too_large");
        })
        .await;
}
