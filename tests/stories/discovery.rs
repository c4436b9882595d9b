//! The handshake with a controller: versions, lists of tools, and noise in between.

use world::prelude::*;

use crate::calls::on;

#[test]
fn a_list_that_changes_without_end_does_not_keep_the_hub_from_its_work() {
    story(async |world| {
        let mut controller = world.controller();
        let mut person = world.person("ann").await;
        controller.says_hello().await;
        let start = Instant::now();
        let mut lists = 0;
        while start.elapsed() < Duration::from_secs(60) {
            let list = controller.hears().await;
            match list["method"].as_str() {
                Some("tools/list") => {
                    lists += 1;
                    controller.changes_its_tools().await;
                    controller.answers(&list, json!({ "tools": zwave_tools() })).await;
                    controller.changes_its_tools().await;
                }
                Some("ping") => controller.answers(&list, json!({})).await,
                _ => {}
            }
            assert!(lists < 40, "{lists} lists in {:?}", start.elapsed());
        }
        person.sees_link("ready").await;
    });
}

#[test]
fn a_controller_that_refuses_every_version_is_an_attempt_that_failed() {
    story(async |world| {
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
        assert_logged("MCP connection failed after 3 attempts");
    });
}

#[test]
fn a_controller_that_restarts_unseen_is_noticed_at_the_next_call() {
    story(async |world| {
        let (mut controller, mut person) = world.connected().await;
        let words = "Received request before initialization was complete";
        person.calls("list_devices", json!({}));
        let call = controller.hears_call().await;
        controller.refuses(&call, -32600, words, Value::Null).await;
        assert_contains(&person.result().await["error"], "before initialization");
        let list = controller.hears_of("tools/list").await;
        controller.refuses(&list, -32600, words, Value::Null).await;
        controller.greets_with(zwave_tools()).await;
        sleep(Duration::from_millis(1)).await;
        person.calls("list_devices", json!({}));
        controller.serves("here").await;
        assert_eq!(person.result().await["result"], "here");
    });
}

#[test]
fn tools_that_cannot_be_used_are_left_out_by_name_and_the_rest_works() {
    story(async |world| {
        let mut controller = world.controller();
        let mut person = world.person("ann").await;
        let huge =
            json!({ "name": "huge", "description": "x".repeat(7_000), "inputSchema": { "type": "object" } });
        let good = json!({ "name": "good", "description": "Ä \"q\"", "inputSchema": { "type": "object", "x-odd": "x" } });
        let list = json!([
            a_tool("a.b"),
            a_tool(""),
            a_tool(&"n".repeat(65)),
            a_tool("hub_echo"),
            json!({ "inputSchema": {} }),
            json!(7),
            json!({ "name": "odd", "inputSchema": [] }),
            good,
            json!({ "name": "bare" }),
        ]);
        controller.says_hello().await;
        // A known server sends this before the handshake has ended.
        controller.changes_its_tools().await;
        // So the list is requested twice.
        for _ in 0..2 {
            let first = controller.hears_of("tools/list").await;
            controller.answers(&first, json!({ "tools": list, "nextCursor": "p2" })).await;
            let second = controller.hears_of("tools/list").await;
            assert_eq!(second["params"]["cursor"], "p2");
            controller.answers(&second, json!({ "tools": [huge] })).await;
        }
        let info = person.sees_link("ready").await;
        assert_eq!(
            (&info["controller"]["tools"], &info["controller"]["left_out"]),
            (&json!(3), &json!(7)),
            "{info}"
        );
        for words in [
            "its tool a.b is left out: providers refuse its name",
            "its tool hub_echo is left out: the hub has a tool of that name itself",
            "its tool odd is left out: its schema is not an object",
            "a tool without a name is left out",
            "7 of its tools cannot be used",
            "good has a schema with x-odd, which is not checked",
        ] {
            assert_logged(words);
        }
        for name in ["good", "bare", "huge"] {
            person.calls(name, json!({}));
            let call = controller.hears_call().await;
            assert_eq!(call["params"]["name"], name);
            controller.replies(&call, name).await;
            assert_eq!(person.result().await["result"], name);
        }
        // The list changes: tools that do not fit are reported, and removed ones are gone.
        controller.changes_its_tools().await;
        let large = |name: &str| json!({ "name": name, "description": "y".repeat(6000), "inputSchema": { "type": "object" } });
        controller.lists(json!([large("l1"), large("l2")])).await;
        sleep(Duration::from_millis(1)).await;
        for name in ["l1", "l2"] {
            person.calls(name, json!({}));
            controller.serves(name).await;
            assert_eq!(person.result().await["result"], name, "the new texts fit where the old ones were");
        }
        let many: Vec<_> = (0..70).map(|number| a_tool(&format!("t{number}"))).collect();
        controller.changes_its_tools().await;
        controller.lists(json!(many)).await;
        logged("its tool t69 is left out: there are too many tools").await;
        assert_refused(&person.uses("good", json!({})).await, "not_found", "");
        person.calls("t0", json!({}));
        controller.hears_call().await;
    });
}

#[test]
fn a_tool_that_runs_only_as_a_task_is_left_out_by_name() {
    story(async |world| {
        let tool = |name: &str, support: &str| json!({ "name": name, "inputSchema": { "type": "object" }, "execution": { "taskSupport": support } });
        let tools =
            json!([tool("heal_network", "required"), tool("ping_node", "optional"), tool("on", "forbidden")]);
        let mut controller = world.controller();
        let mut person = world.person("ann").await;
        controller.greets_with(tools).await;
        let info = person.sees_link("ready").await;
        assert_eq!(
            (&info["controller"]["tools"], &info["controller"]["left_out"]),
            (&json!(2), &json!(1)),
            "{info}"
        );
        assert_logged("its tool heal_network is left out: it runs only as a task");
        assert_refused(&person.uses("heal_network", json!({})).await, "not_found", "");
    });
}

/// spec: gateway-08
#[test]
fn a_tool_without_a_description_is_described_by_its_title_or_name() {
    story(async |world| {
        let tool = |name: &str, more: Value| {
            let mut tool = a_tool(name);
            tool.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
            tool
        };
        let annotated = json!({ "title": "Annotated \"title\"" });
        let tools = json!([
            tool("described", json!({ "description": "Does it.", "title": "Title" })),
            tool("titled", json!({ "title": "Tïtle", "annotations": annotated })),
            tool("annotated", json!({ "description": "", "title": " ", "annotations": annotated })),
            tool("bare", json!({ "description": null })),
        ]);
        let (mut controller, mut person) = world.connected_with(tools.clone()).await;
        for _ in 0..2 {
            let names = json!({ "allowed": ["described", "titled", "annotated", "bare"] });
            let list = person.asks("tool/list", names).await;
            let described: Vec<_> = list["tools"].as_array().expect("tools").iter().collect();
            let described: Vec<_> = described.iter().map(|tool| &tool["description"]).collect();
            assert_eq!(described, ["Does it.", "Tïtle", "Annotated \"title\"", "bare"]);
            // The same when it is listed again.
            controller.changes_its_tools().await;
            controller.lists(tools.clone()).await;
        }
    });
}

#[test]
fn annotations_are_kept_and_listed() {
    story(async |world| {
        let (_controller, mut person) = world.connected().await;
        let allowed = json!({ "allowed": ["control_zwave_device", "list_devices"] });
        let list = person.asks("tool/list", allowed).await;
        assert_eq!(list["tools"][0]["inputSchema"], zwave_tools()[0]["inputSchema"]);
        assert_eq!(list["tools"][0]["description"], "Controls a device.");
        assert_eq!(
            list["tools"][0]["annotations"],
            json!({ "destructiveHint": false, "readOnlyHint": false })
        );
        assert_eq!(list["tools"][1]["annotations"], json!({ "readOnlyHint": true }));
    });
}

#[test]
fn what_the_controller_logs_is_in_the_hubs_log() {
    story(async |world| {
        let (mut controller, _person) = world.connected().await;
        for (level, data) in [
            ("debug", json!("d1")),
            ("info", json!("i1")),
            ("warning", json!("node 7 is \"dead\"")),
            ("error", json!({ "code": 5 })),
            ("odd", json!([1])),
        ] {
            controller.notifies("message", json!({ "level": level, "data": data })).await;
        }
        logged("INFO controller says: [1]").await;
        for words in [
            "DEBUG controller says: d1",
            "INFO controller says: i1",
            "WARN controller says: node 7 is \"dead\"",
            "ERROR controller says: {\"code\":5}",
        ] {
            assert_logged(words);
        }
    });
}

/// A controller that supports only one version of MCP, and says so in one of two ways.
#[test]
fn every_version_with_a_handshake_is_spoken() {
    for version in hub_core::link::VERSIONS {
        story(async |world| {
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
            controller.lists(zwave_tools()).await;
            person.sees_link("ready").await;
        });
    }
}

#[test]
fn a_version_that_the_hub_does_not_speak_is_named() {
    story(async |world| {
        let mut controller = world.controller();
        let hello = controller.hears_of("initialize").await;
        controller.answers(&hello, about_it(&json!("1999-01-01"))).await;
        logged("it wants MCP 1999-01-01, which the hub does not speak").await;
        logged("attempt 1 of 3 failed (it speaks another version of MCP)").await;
    });
}

#[test]
fn a_controller_without_a_handshake_is_spoken_to_without_one() {
    story(async |world| {
        let mut controller = world.controller();
        let mut person = world.person("ann").await;
        let hello = controller.hears_of("initialize").await;
        controller.refuses(&hello, -32601, "Method not found", Value::Null).await;
        let meta =
            |request: &Value| request["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"].clone();
        let discover = controller.hears_of("server/discover").await;
        assert_eq!(meta(&discover), "2026-07-28");
        // Who it is stands beside the result.
        let about = json!({ "name": "discovered", "version": "3" });
        let result = json!({
            "resultType": "complete",
            "supportedVersions": ["2026-07-28"],
            "capabilities": { "tools": {} },
            "ttlMs": 0,
            "cacheScope": "private",
            "_meta": { "io.modelcontextprotocol/serverInfo": about },
        });
        controller.answers(&discover, result).await;
        let list = controller.hears_of("tools/list").await;
        assert_eq!(meta(&list), "2026-07-28");
        controller.answers(&list, json!({ "tools": zwave_tools() })).await;
        assert_eq!(person.sees_link("ready").await["controller"]["name"], "discovered");
        person.calls("control_zwave_device", on());
        let call = controller.hears_call().await;
        assert_eq!(meta(&call), "2026-07-28");
        assert_eq!(call["params"]["name"], "control_zwave_device");
        assert_eq!(call["params"]["arguments"], json!({ "deviceName": "Switch One", "action": "on" }));
        controller.replies(&call, "on").await;
        assert_eq!(person.result().await["result"], "on");
    });
}
