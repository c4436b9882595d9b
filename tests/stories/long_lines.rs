//! Lines from the controller that are longer, deeper or more broken than the hub can keep: whoever waits is told at once.

use world::prelude::*;

use crate::calls::on;

/// As the TypeScript SDK writes a reply, with its `id` at the end, or as Python's does.
fn reply(is_late: bool, id: &Value, result: &str) -> String {
    if is_late {
        format!(r#"{{"result":{result},"jsonrpc":"2.0","id":{id}}}"#)
    } else {
        format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#)
    }
}

/// A list of tools in the shape of those that public servers have: a paragraph of description and some properties each.
fn long_list(bytes: usize) -> Vec<Value> {
    let mut tools: Vec<Value> = Vec::new();
    let mut length = 0;
    while length < bytes {
        let number = tools.len();
        let property = |index: usize| {
            (
                format!("parameter_{index}"),
                json!({ "type": "string", "description": "w ".repeat(10 + 7 * index) }),
            )
        };
        let properties: serde_json::Map<_, _> = (0..number % 7).map(property).collect();
        let tool = json!({
            "name": format!("browser_action_{number}"),
            "title": format!("Action {number}"),
            "description": "Does something in a browser. ".repeat(1 + number % 12),
            "inputSchema": { "type": "object", "properties": properties, "additionalProperties": false, "$schema": "http://json-schema.org/draft-07/schema#" },
            "annotations": { "readOnlyHint": number < 9, "openWorldHint": true },
        });
        length += tool.to_string().len() + 1;
        tools.push(tool);
    }
    tools
}

#[test]
fn a_list_of_any_length_is_taken_tool_by_tool() {
    for (kilobytes, is_late) in [(20, true), (44, false), (76, true), (500, true)] {
        story(async |world| {
            let mut controller = world.controller();
            let mut person = world.person("ann").await;
            let tools = long_list(kilobytes * 1000);
            controller.says_hello().await;
            let list = controller.hears_of("tools/list").await;
            let result = json!({ "tools": tools }).to_string();
            controller.says(reply(is_late, &list["id"], &result)).await;
            let info = person.sees_link("ready").await;
            let known = info["controller"]["tools"].as_u64().expect("a number") as usize;
            let left_out = info["controller"]["left_out"].as_u64().expect("a number") as usize;
            assert_eq!(known + left_out, tools.len(), "{info}");
            assert!(known > 18, "{kilobytes} kB: {info}");
            // What does not fit is named, and what does works.
            let mut first_left_out = None;
            for tool in &tools {
                let name = tool["name"].as_str().expect("a name");
                if log_text().contains(&format!("its tool {name} is left out")) {
                    first_left_out.get_or_insert(name);
                }
            }
            assert_eq!(first_left_out.is_some(), left_out > 0);
            if let Some(name) = first_left_out {
                let reply = person.uses(name, json!({})).await;
                assert_refused(&reply, "not_found", "");
                assert_contains(&reply["message"], "had to leave out some of the controller's tools");
            }
            person.calls("browser_action_3", json!({}));
            controller.serves("done").await;
            assert_eq!(person.result().await["result"], "done");
        });
    }
}

#[test]
fn one_tool_that_is_too_long_is_left_out_by_name_and_the_others_work() {
    story(async |world| {
        let mut controller = world.controller();
        let mut person = world.person("ann").await;
        let huge =
            json!({ "inputSchema": { "type": "object", "title": "x".repeat(100_000) }, "name": "huge" });
        controller.greets_with(json!([a_tool("first"), huge, a_tool("last")])).await;
        let info = person.sees_link("ready").await;
        assert_eq!((&info["controller"]["tools"], &info["controller"]["left_out"]), (&json!(2), &json!(1)));
        assert_logged("its tool huge is left out: its definition is longer than the hub can read");
        person.calls("last", json!({}));
        controller.serves("here").await;
        assert_eq!(person.result().await["result"], "here");
    });
}

/// What does not fit takes nothing from what does, and no name goes to a tool of the hub's meanwhile.
#[test]
fn names_stay_the_controllers_while_a_list_that_does_not_fit_is_received_again() {
    story(async |world| {
        let large = |name: &str| json!({ "name": name, "inputSchema": { "type": "object", "title": "x".repeat(7000) } });
        let tools = json!([large("a"), large("b"), large("c"), a_tool("volume"), a_tool("last")]);
        let (mut controller, mut person) = world.connected_with(tools.clone()).await;
        assert_logged("its tool c is left out");
        controller.changes_its_tools().await;
        let list = controller.hears_of("tools/list").await;
        let line = reply(true, &list["id"], &json!({ "tools": tools }).to_string());
        let half = line.find("volume").expect("it is there");
        controller.sends(&line.as_bytes()[..half]).await;
        person.calls("volume", json!({ "level": 7 }));
        let call = controller.hears_call().await;
        controller.says(&line.as_bytes()[half..]).await;
        controller.replies(&call, "its own").await;
        assert_eq!(person.result().await["result"], "its own");
        person.calls("last", json!({}));
        controller.serves("here").await;
        assert_eq!(person.result().await["result"], "here");
        // It leaves in the middle of a list.
        controller.changes_its_tools().await;
        controller.hears_of("tools/list").await;
        controller.sends(&line.as_bytes()[..half]).await;
        person.sees_link("degraded").await;
        for name in ["volume", "last"] {
            assert_refused(&person.uses(name, json!({ "level": 7 })).await, "unavailable", "");
        }
        // With another list, what was only on the old one makes room.
        controller.says(b"").await;
        controller.greets_with(json!([large("d"), large("e"), large("f")])).await;
        let list = controller.hears_of("tools/list").await;
        controller.answers(&list, json!({ "tools": [large("d"), large("e"), large("f")] })).await;
        person.calls("e", json!({}));
        controller.serves("here").await;
        assert_eq!(person.result().await["result"], "here");
        assert_eq!(person.uses("hub_volume", json!({ "level": 9 })).await["success"], true);
        assert_eq!(person.uses("volume", json!({ "level": 8 })).await["success"], true, "the hub's own now");
    });
}

#[test]
fn the_name_of_a_tool_that_is_left_out_is_not_that_of_the_hubs() {
    let long = json!({ "name": "volume", "inputSchema": { "type": "object", "title": "x".repeat(100_000) } });
    let task = json!({ "name": "volume", "inputSchema": { "type": "object" }, "execution": { "taskSupport": "required" } });
    for tool in [long, task] {
        story(async |world| {
            let (mut controller, mut person) = world.connected_with(json!([tool, a_tool("good")])).await;
            for _ in 0..2 {
                let reply = person.uses("volume", json!({ "level": 7 })).await;
                assert_refused(&reply, "unavailable", "had to leave out");
                assert_contains(&reply["message"], "The setting controller.tools chooses which it keeps.");
                controller.changes_its_tools().await;
                controller.lists(json!([tool, a_tool("good")])).await;
            }
            // It becomes one that can be called, or goes.
            controller.changes_its_tools().await;
            controller.lists(json!([a_tool("volume")])).await;
            sleep(Duration::from_millis(1)).await;
            person.calls("volume", json!({}));
            controller.serves("its own").await;
            assert_eq!(person.result().await["result"], "its own");
            controller.changes_its_tools().await;
            controller.lists(json!([a_tool("good")])).await;
            sleep(Duration::from_millis(1)).await;
            assert_eq!(person.uses("volume", json!({ "level": 8 })).await["success"], true);
        });
    }
}

/// Lines that the reference server of the TypeScript SDK has sent.
#[test]
fn what_the_reference_server_sends_is_understood() {
    let lines = [
        (
            r#"{"result":{"content":[{"type":"text","text":"Here are 3 resource links to resources available in this server:"},{"name":"Blob Resource 1","uri":"demo://resource/dynamic/blob/1","description":"Resource 1: plaintext resource","mimeType":"text/plain","type":"resource_link"}]},"jsonrpc":"2.0","id":ID}"#,
            "[resource_link: Blob Resource 1, Resource 1: plaintext resource, demo://resource/dynamic/blob/1, text/plain]",
        ),
        (
            r#"{"result":{"content":[{"type":"text","text":"Returning resource reference for Resource 1:"},{"type":"resource","resource":{"uri":"demo://resource/dynamic/text/1","mimeType":"text/plain","text":"Resource 1: This is a plaintext resource created at 5:38:09 PM"}},{"type":"text","text":"You can access this resource using the URI: demo://resource/dynamic/text/1"}]},"jsonrpc":"2.0","id":ID}"#,
            "Resource 1: This is a plaintext resource created at 5:38:09 PM",
        ),
        (
            r#"{"result":{"content":[{"type":"resource","resource":{"uri":"demo://resource/session/a.gz","mimeType":"application/gzip","blob":"H4sIAAAAAAAAA8tIzcnJBwCGphA2BQAAAA=="}}]},"jsonrpc":"2.0","id":ID}"#,
            "[resource: demo://resource/session/a.gz, application/gzip, 25 bytes]",
        ),
        (
            r#"{"result":{"content":[{"type":"text","text":"Echo: \ud800 lone"}]},"jsonrpc":"2.0","id":ID}"#,
            "Echo: \u{fffd} lone",
        ),
    ];
    story(async |world| {
        let (mut controller, mut person) = world.connected().await;
        for (line, words) in lines {
            person.calls("list_devices", json!({}));
            let call = controller.hears_call().await;
            controller.notifies("resources/list_changed", Value::Null).await;
            controller.says(line.replace("ID", &call["id"].to_string())).await;
            let reply = person.result().await;
            assert_eq!(reply["success"], true, "{reply}");
            assert_contains(&reply["result"], words);
        }
        // The size of cut data is unknown.
        person.calls("list_devices", json!({}));
        let call = controller.hears_call().await;
        let image = r#"{"result":{"content":[{"type":"image","data":"DATA"}]},"jsonrpc":"2.0","id":ID}"#;
        let image = image.replace("DATA", &"A".repeat(20_000)).replace("ID", &call["id"].to_string());
        controller.says(image).await;
        assert_contains(&person.result().await["result"], "[image: more than ");
    });
}

#[test]
fn a_list_that_takes_long_on_a_slow_line_is_waited_for() {
    story(async |world| {
        let mut controller = world.controller();
        let mut person = world.person("ann").await;
        let tools = long_list(76_000);
        controller.says_hello().await;
        let list = controller.hears_of("tools/list").await;
        let line = reply(true, &list["id"], &json!({ "tools": tools }).to_string());
        // At 115200 baud it takes almost seven seconds.
        for piece in line.as_bytes().chunks(1152) {
            controller.sends(piece).await;
            sleep(Duration::from_millis(100)).await;
        }
        controller.sends(b"\n").await;
        person.sees_link("ready").await;
        assert_not_logged("attempt");
    });
}

/// spec: calls-18, calls-19
#[test]
fn an_answer_that_is_too_long_comes_at_once_to_its_caller_as_far_as_it_fits() {
    for is_late in [true, false] {
        story(async |world| {
            let (mut controller, mut person) = world.connected().await;
            person.calls("list_devices", json!({}));
            let others = controller.hears_call().await;
            person.calls("list_devices", json!({}));
            let call = controller.hears_call().await;
            let start = Instant::now();
            let text = format!("The beginning. {}", "zä\"".repeat(30_000));
            let result = json!({ "content": [{ "type": "text", "text": text }], "structuredContent": { "result": text }, "isError": false });
            controller.says(reply(is_late, &call["id"], &result.to_string())).await;
            let answer = person.result().await;
            assert_eq!((&answer["success"], start.elapsed()), (&json!(true), Duration::ZERO), "{answer}");
            let text = answer["result"].as_str().expect("a text");
            assert!(text.starts_with("The beginning. zä\"zä\""), "{text}");
            assert!(text.contains("[cut: ") && text.len() > 2500, "{text}");
            assert_contains(&answer["instruction"], "It was done, and the result is cut");
            // An error as well.
            person.calls("list_devices", json!({}));
            let call = controller.hears_call().await;
            let result =
                json!({ "content": [{ "type": "text", "text": "No. ".repeat(20_000) }], "isError": true });
            controller.says(reply(is_late, &call["id"], &result.to_string())).await;
            assert_refused(&person.result().await, "execution_error", "No. No. No.");
            // A list of many short items is cut too, and says so.
            person.calls("list_devices", json!({}));
            let call = controller.hears_call().await;
            let items = vec![json!({ "type": "text", "text": "A lamp." }); 3000];
            controller.says(reply(is_late, &call["id"], &json!({ "content": items }).to_string())).await;
            let answer = person.result().await;
            assert_contains(&answer["result"], "A lamp.\nA lamp.");
            assert_contains(&answer["result"], "[cut: ");
            // Nobody else is told anything.
            controller.replies(&others, "mine").await;
            assert_eq!(person.result().await["result"], "mine");
        });
    }
}

#[test]
fn a_result_is_nested_as_deeply_as_it_likes() {
    story(async |world| {
        let (mut controller, mut person) = world.connected().await;
        let nested = |depth: usize| (0..depth).fold(json!("core"), |value, _| json!({ "n": value }));
        person.calls("list_devices", json!({}));
        controller.serves_result(json!({ "structuredContent": nested(40) })).await;
        let reply = person.result().await;
        assert_eq!((&reply["success"], &reply["result"]), (&json!(true), &nested(40)));
        person.calls("list_devices", json!({}));
        let call = controller.hears_call().await;
        let content =
            json!({ "content": [{ "type": "text", "text": "deep" }], "structuredContent": nested(100) });
        let start = Instant::now();
        controller.answers(&call, content).await;
        let reply = person.result().await;
        assert_eq!((&reply["success"], start.elapsed()), (&json!(true), Duration::ZERO));
        assert_eq!(reply["message"], "deep");
        assert!(reply["result"].is_object(), "{reply}");
        assert_contains(&reply["instruction"], "It was done, and the result is cut");
    });
}

/// spec: calls-19
#[test]
fn a_structured_result_of_any_length_is_an_object() {
    for bytes in [5_000, 9_000, 20_000, 100_000] {
        story(async |world| {
            let (mut controller, mut person) = world.connected().await;
            let device = json!({ "name": "Living Room Lamp", "state": { "on": true, "level": 40 } });
            let devices = vec![device.clone(); bytes / device.to_string().len() + 1];
            let structured = json!({ "count": devices.len(), "devices": devices });
            for content in [json!([]), json!([{ "type": "text", "text": "Many." }])] {
                let alone = content == json!([]);
                if bytes < 8192 && !alone {
                    continue;
                }
                person.calls("list_devices", json!({}));
                controller
                    .serves_result(json!({ "content": content, "structuredContent": structured }))
                    .await;
                let reply = person.result().await;
                assert!(reply["result"].is_object(), "{bytes}: {reply}");
                assert_eq!(reply["result"]["count"], devices.len());
                let kept = reply["result"]["devices"].as_array().expect("a list");
                assert_eq!(kept[0], device);
                assert!(kept.len() > 30 && kept.len() < devices.len(), "{bytes}: {}", kept.len());
                assert_contains(
                    &json!(kept.last().expect("a mark").to_string()),
                    "[cut: the rest did not fit]",
                );
                assert_contains(&reply["instruction"], "It was done, and the result is cut");
                assert_eq!(reply.get("message"), (!alone).then_some(&json!("Many.")));
            }
        });
    }
}

/// SDKs repeat a structure as text. If the text comes second, only the structure is kept whole.
///
/// spec: calls-19
#[test]
fn a_structure_that_comes_before_its_text_is_an_object_without_a_message() {
    story(async |world| {
        let (mut controller, mut person) = world.connected().await;
        let structured = json!({ "devices": vec!["Living Room Lamp"; 300] }).to_string();
        let text = json!([{ "type": "text", "text": structured }]);
        person.calls("list_devices", json!({}));
        let call = controller.hears_call().await;
        let result = format!(r#"{{"structuredContent":{structured},"content":{text}}}"#);
        controller.says(reply(false, &call["id"], &result)).await;
        let reply = person.result().await;
        assert_eq!(reply["result"]["devices"][0], "Living Room Lamp", "{reply}");
        assert_eq!(reply.get("message"), None, "{reply}");
    });
}

#[test]
fn halves_of_characters_are_replaced_whoever_sends_them() {
    story(async |world| {
        let (mut controller, mut person) = world.connected().await;
        // JavaScript cuts a text in the middle of an emoji.
        person.calls("list_devices", json!({}));
        let call = controller.hears_call().await;
        let start = Instant::now();
        let result = r#"{"content":[{"type":"text","text":"Lamp \ud83d"}]}"#;
        controller.says(reply(true, &call["id"], result)).await;
        assert_eq!(person.result().await["result"], "Lamp \u{fffd}");
        person.calls("list_devices", json!({}));
        let call = controller.hears_call().await;
        let result = r#"{"structuredContent":{"name":"\ud83d\ude00 \ud83d","\ude00":["\\ud83d"]}}"#;
        controller.says(reply(true, &call["id"], result)).await;
        assert_eq!(
            person.result().await["result"],
            json!({ "name": "😀 \u{fffd}", "\u{fffd}": ["\\ud83d"] })
        );
        // A caller does it too.
        person.publish(person.request("tool/call", br#"{"name":"echo","arguments":{"message":"a\udc00b"}}"#));
        assert_eq!(person.result().await["result"]["echo"]["message"], "a\u{fffd}b");
        let payload =
            br#"{"name":"control_zwave_device","arguments":{"deviceName":"x\ud83d","action":"on"}}"#;
        person.publish(person.request("tool/call", payload));
        let call = controller.hears_call().await;
        assert_eq!(call["params"]["arguments"]["deviceName"], "x\u{fffd}");
        controller.replies(&call, "done").await;
        person.result().await;
        assert_eq!(start.elapsed(), Duration::ZERO);
    });
}

#[test]
fn half_a_character_of_a_models_is_replaced_in_what_is_said_and_in_what_is_called() {
    story(async |world| {
        let (mut person, mut model) = world.talking().await;
        person.says(json!({ "text": "Hi" }));
        let question = model.hears_question().await;
        let call = br#"{"content":[{"type":"tool_use","id":"t1","name":"echo","input":{"message":"\ud83d"}}],"stop_reason":"tool_use"}"#;
        model.answers_with(&question, call);
        let question = model.hears_question().await;
        let told = question.json()["messages"].to_string();
        assert!(told.contains('\u{fffd}') && !told.contains("ud83d"), "{told}");
        let answer = br#"{"content":[{"type":"text","text":"Lamp \ud83d"}],"stop_reason":"end_turn"}"#;
        model.answers_with(&question, answer);
        let reply = person.reply().await;
        assert_eq!(reply["content"], "Lamp \u{fffd}");
        assert_eq!(reply["tool_calls"][0]["params"]["message"], "\u{fffd}");
    });
}

/// Answers that are not JSON: Python writes NaN, C programs write names in Latin-1.
#[test]
fn a_broken_answer_is_reported_at_once_to_its_caller() {
    story(async |world| {
        let (mut controller, mut person) = world.connected().await;
        person.calls("list_devices", json!({}));
        let others = controller.hears_call().await;
        // More of them than calls may wait at the same time.
        for result in
            ["{\"level\":NaN}", "{\"level\" 1}", "{\"level\":.5}", "{'level':1}", "{\"a\":\"\u{1}\"}"]
        {
            person.calls("control_zwave_device", on());
            let call = controller.hears_call().await;
            let start = Instant::now();
            controller.says(reply(true, &call["id"], result)).await;
            let answer = person.result().await;
            assert_refused(&answer, "outcome_unknown", "The controller's answer cannot be read");
            assert_contains(&answer["instruction"], "Do not repeat");
            assert_eq!(start.elapsed(), Duration::ZERO, "{result}");
        }
        person.calls("list_devices", json!({}));
        let call = controller.hears_call().await;
        let mut line =
            reply(true, &call["id"], r#"{"content":[{"type":"text","text":"Kueche"}]}"#).into_bytes();
        let at = line.windows(2).position(|pair| pair == b"ue").expect("it is there");
        line.splice(at..at + 2, [0xFC]);
        controller.says(line).await;
        assert_eq!(person.result().await["result"], "K?che");
        controller.replies(&others, "mine").await;
        assert_eq!(person.result().await["result"], "mine");
    });
}
