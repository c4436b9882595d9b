//! People call tools of the controller, which answers, or does not.

use std::time::Duration;

use hub_core::limits;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::world::{Controller, Person, World, about_it, log_text, logged};

/// What a Z-Wave controller offers.
fn tools() -> Value {
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

fn on() -> Value {
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
async fn a_list_that_changes_without_end_does_not_keep_the_hub_from_its_work() {
    let world = World::new();
    world
        .tell(async {
            let mut controller = world.controller();
            let mut person = world.person("ann").await;
            let hello = controller.hears_of("initialize").await;
            controller.answers(&hello, about_it(&hello["params"]["protocolVersion"])).await;
            let changed = b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}";
            let start = Instant::now();
            let mut lists = 0;
            while start.elapsed() < Duration::from_secs(60) {
                let list = controller.hears().await;
                match list["method"].as_str() {
                    Some("tools/list") => {
                        lists += 1;
                        controller.says(changed).await;
                        controller.answers(&list, json!({ "tools": tools() })).await;
                        controller.says(changed).await;
                    }
                    Some("ping") => controller.answers(&list, json!({})).await,
                    _ => {}
                }
                assert!(lists < 40, "{lists} lists in {:?}", start.elapsed());
            }
            person.sees_link("ready").await;
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_controller_that_refuses_every_version_is_an_attempt_that_failed() {
    let world = World::new();
    world
        .tell(async {
            let mut controller = world.controller();
            let mut person = world.person("ann").await;
            let story = async {
                let mut greetings = 0;
                loop {
                    let hello = controller.hears().await;
                    greetings += 1;
                    assert!(greetings < 100, "it never gives up");
                    let supported =
                        json!({ "supported": ["2025-11-25", "2025-06-18", "2025-03-26", "2026-07-28"] });
                    controller.refuses(&hello, -32602, "Unsupported protocol version", supported).await;
                }
            };
            tokio::select! {
                () = story => {}
                _ = person.sees_link("degraded") => {}
            }
            assert!(log_text().contains("MCP connection failed after 3 attempts"), "{}", log_text());
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn lines_that_are_too_long_are_named_as_the_reason() {
    let world = World::new();
    world
        .tell(async {
            let mut controller = world.controller();
            let mut person = world.person("ann").await;
            let long = json!([{ "name": "x", "description": "y".repeat(20_000), "inputSchema": {} }]);
            controller.greets_with(long).await;
            logged("attempt 1 of 3 failed (its answer is longer than a line may be)").await;
            controller.greets_with(tools()).await;
            person.sees_link("ready").await;
            // A list that grows too long later leaves the old one.
            controller.says(b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}").await;
            controller
                .lists(json!([{ "name": "x", "description": "y".repeat(20_000), "inputSchema": {} }]))
                .await;
            logged("its list of tools is too long to be read; the one from before counts").await;
            let start = Instant::now();
            person.calls("list_devices", json!({}));
            let call = controller.hears_of("tools/call").await;
            controller.replies(&call, &"z".repeat(20_000)).await;
            let reply = person.gets().await;
            assert_eq!(reply["error_type"], "too_large", "{reply}");
            assert!(reply["instruction"].as_str().expect("words").contains("Do not repeat"), "{reply}");
            assert_eq!(start.elapsed(), Duration::from_secs(30));
        })
        .await;
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
async fn a_controller_that_restarts_unseen_is_noticed_at_the_next_call() {
    let world = World::new();
    world
        .tell(async {
            let (mut controller, mut person) = a_home(&world).await;
            person.calls("list_devices", json!({}));
            let call = controller.hears_of("tools/call").await;
            controller
                .refuses(&call, -32600, "Received request before initialization was complete", Value::Null)
                .await;
            assert!(person.gets().await["error"].as_str().expect("words").contains("before initialization"));
            let list = controller.hears_of("tools/list").await;
            controller
                .refuses(&list, -32600, "Received request before initialization was complete", Value::Null)
                .await;
            controller.greets_with(tools()).await;
            sleep(Duration::from_millis(1)).await;
            person.calls("list_devices", json!({}));
            let call = controller.hears_of("tools/call").await;
            controller.replies(&call, "here").await;
            assert_eq!(person.gets().await["result"], "here");
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

#[tokio::test(start_paused = true)]
async fn tools_that_cannot_be_used_are_left_out_by_name_and_the_rest_works() {
    let world = World::new();
    world
        .tell(async {
            let mut controller = world.controller();
            let mut person = world.person("ann").await;
            let tool = |name: &str| json!({ "name": name, "inputSchema": { "type": "object" } });
            let huge = json!({ "name": "huge", "description": "x".repeat(15_000), "inputSchema": { "type": "object" } });
            let good = json!({ "name": "good", "description": "Ä \"q\"", "inputSchema": { "type": "object", "x-odd": "x" } });
            let list = json!([
                tool("a.b"), tool(""), tool(&"n".repeat(65)), tool("hub_echo"), json!({ "inputSchema": {} }), json!(7),
                json!({ "name": "odd", "inputSchema": [] }), good, json!({ "name": "bare" }),
            ]);
            let hello = controller.hears_of("initialize").await;
            controller.answers(&hello, about_it(&hello["params"]["protocolVersion"])).await;
            // A known server says so before the handshake has ended.
            controller.says(b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}").await;
            // So the list is asked for twice.
            for _ in 0..2 {
                let first = controller.hears_of("tools/list").await;
                controller.answers(&first, json!({ "tools": list, "nextCursor": "p2" })).await;
                let second = controller.hears_of("tools/list").await;
                assert_eq!(second["params"]["cursor"], "p2");
                controller.answers(&second, json!({ "tools": [huge] })).await;
            }
            let info = person.sees_link("ready").await;
            assert_eq!((&info["controller"]["tools"], &info["controller"]["left_out"]), (&json!(3), &json!(7)), "{info}");
            for words in [
                "its tool a.b is left out: providers refuse its name",
                "its tool hub_echo is left out: the hub has a tool of that name itself",
                "its tool odd is left out: its schema is not an object",
                "a tool without a name is left out",
                "7 of its tools cannot be used",
                "good has a schema with x-odd, which is not checked",
            ] {
                assert!(log_text().contains(words), "{words} is not in:\n{}", log_text());
            }
            for name in ["good", "bare", "huge"] {
                person.calls(name, json!({}));
                let call = controller.hears_of("tools/call").await;
                assert_eq!(call["params"]["name"], name);
                controller.replies(&call, name).await;
                assert_eq!(person.gets().await["result"], name);
            }
            // The list changes: what does not fit beside the rest is said, what is gone is gone.
            controller.says(b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}").await;
            let large = |name: &str| json!({ "name": name, "description": "y".repeat(6000), "inputSchema": { "type": "object" } });
            controller.lists(json!([large("l1"), large("l2")])).await;
            sleep(Duration::from_millis(1)).await;
            for name in ["l1", "l2"] {
                person.calls(name, json!({}));
                let call = controller.hears_of("tools/call").await;
                controller.replies(&call, name).await;
                assert_eq!(person.gets().await["result"], name, "the new texts fit where the old ones were");
            }
            let many: Vec<_> = (0..70).map(|number| tool(&format!("t{number}"))).collect();
            controller.says(b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}").await;
            controller.lists(json!(many)).await;
            logged("its tool t69 is left out: there are too many tools").await;
            person.calls("good", json!({}));
            assert_eq!(person.gets().await["error_type"], "not_found");
            person.calls("t0", json!({}));
            controller.hears_of("tools/call").await;
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn annotations_are_kept_and_listed() {
    let world = World::new();
    world
        .tell(async {
            let (_controller, mut person) = a_home(&world).await;
            let allowed = json!({ "allowed": ["control_zwave_device", "list_devices"] }).to_string();
            person.asks(crate::world::Request::new("tool/list", allowed.as_bytes()));
            let list = person.hears("hearthwave/story/response/tool/list").await.json();
            assert_eq!(list["tools"][0]["inputSchema"], tools()[0]["inputSchema"]);
            assert_eq!(list["tools"][0]["description"], "Controls a device.");
            assert_eq!(
                list["tools"][0]["annotations"],
                json!({ "destructiveHint": false, "readOnlyHint": false })
            );
            assert_eq!(list["tools"][1]["annotations"], json!({ "readOnlyHint": true }));
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn what_the_controller_logs_is_in_the_hubs_log() {
    let world = World::new();
    world
        .tell(async {
            let (mut controller, _person) = a_home(&world).await;
            for (level, data) in [
                ("debug", json!("d1")),
                ("info", json!("i1")),
                ("warning", json!("node 7 is \"dead\"")),
                ("error", json!({ "code": 5 })),
                ("odd", json!([1])),
            ] {
                let params = json!({ "level": level, "data": data });
                let message =
                    json!({ "jsonrpc": "2.0", "method": "notifications/message", "params": params });
                controller.says(message.to_string().as_bytes()).await;
            }
            logged("INFO controller says: [1]").await;
            for words in [
                "DEBUG controller says: d1",
                "INFO controller says: i1",
                "WARN controller says: node 7 is \"dead\"",
                "ERROR controller says: {\"code\":5}",
            ] {
                assert!(log_text().contains(words), "{}", log_text());
            }
        })
        .await;
}

/// A controller that speaks only one version of MCP, and says so in one way or the other.
#[tokio::test(start_paused = true)]
async fn every_version_with_a_handshake_is_spoken() {
    for version in hub_core::link::VERSIONS {
        let world = World::new();
        world
            .tell(async {
                let mut controller = world.controller();
                let mut person = world.person("ann").await;
                let hello = controller.hears_of("initialize").await;
                assert_eq!(hello["params"]["protocolVersion"], hub_core::link::VERSIONS[0]);
                if hello["params"]["protocolVersion"] == version {
                    controller.answers(&hello, about_it(&json!(version))).await;
                } else {
                    let supported = json!({ "supported": [version], "requested": "x" });
                    controller.refuses(&hello, -32602, "Unsupported protocol version", supported).await;
                    let start = Instant::now();
                    let hello = controller.hears_of("initialize").await;
                    assert_eq!(hello["params"]["protocolVersion"], version);
                    assert_eq!(start.elapsed(), Duration::ZERO, "that is no failed attempt");
                    controller.answers(&hello, about_it(&json!(version))).await;
                }
                controller.lists(tools()).await;
                person.sees_link("ready").await;
            })
            .await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_version_that_the_hub_does_not_speak_is_named() {
    let world = World::new();
    world
        .tell(async {
            let mut controller = world.controller();
            let hello = controller.hears_of("initialize").await;
            controller.answers(&hello, about_it(&json!("1999-01-01"))).await;
            logged("it wants MCP 1999-01-01, which the hub does not speak").await;
            logged("attempt 1 of 3 failed (it speaks another version of MCP)").await;
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_controller_without_a_handshake_is_spoken_to_without_one() {
    let world = World::new();
    world
        .tell(async {
            let mut controller = world.controller();
            let mut person = world.person("ann").await;
            let hello = controller.hears_of("initialize").await;
            controller.refuses(&hello, -32601, "Method not found", Value::Null).await;
            let meta = |request: &Value| {
                request["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"].clone()
            };
            let discover = controller.hears_of("server/discover").await;
            assert_eq!(meta(&discover), "2026-07-28");
            controller.answers(&discover, about_it(&json!("2026-07-28"))).await;
            let list = controller.hears_of("tools/list").await;
            assert_eq!(meta(&list), "2026-07-28");
            controller.answers(&list, json!({ "tools": tools() })).await;
            person.sees_link("ready").await;
            person.calls("control_zwave_device", on());
            let call = controller.hears_of("tools/call").await;
            assert_eq!(meta(&call), "2026-07-28");
            assert_eq!(call["params"]["name"], "control_zwave_device");
            assert_eq!(call["params"]["arguments"], json!({ "deviceName": "Switch One", "action": "on" }));
            controller.replies(&call, "on").await;
            assert_eq!(person.gets().await["result"], "on");
        })
        .await;
}
