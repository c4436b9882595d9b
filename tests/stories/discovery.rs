//! The handshake with a controller: versions, lists of tools, and noise in between.

use world::model::{calls, stop};
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
            a_tool("a b"),
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
            "its tool a b is left out: providers refuse its name",
            "its tool hub_echo is left out: the hub has a tool of that name itself",
            "its tool odd is left out: its schema is not an object",
            "a tool without a name is left out",
            "7 of its tools cannot be used",
            "good has a schema with x-odd, which is not checked",
        ] {
            assert_logged(words);
        }
        // Logged once, although the list came twice.
        assert_eq!(log_text().matches("its tool odd is left out").count(), 1);
        assert_eq!(log_text().matches("a tool without a name is left out").count(), 1);
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

/// The names of the controller's tools, as a client lists them.
async fn listed(ann: &mut Client, format: &str) -> Vec<Value> {
    let mut tools = ann.asks_for_all("tool/list", "tools", json!({ "format": format })).await;
    tools.retain(|tool| !tool["name"].as_str().expect("a name").starts_with("hub_"));
    tools
}

fn with_description(name: &str, description: &str) -> Value {
    json!({ "name": name, "description": description, "inputSchema": { "type": "object" } })
}

#[test]
fn long_descriptions_are_cut_before_tools_are_left_out_and_restored_later() {
    story(async |world| {
        let mut controller = world.controller();
        let mut ann = world.person("ann").await;
        let words = "Lämpchen ".repeat(300);
        let tools: Vec<_> = (0..14).map(|n| with_description(&format!("wordy_{n}"), &words)).collect();
        controller.greets_with(json!(tools)).await;
        let info = ann.sees_link("ready").await;
        let counts =
            |info: &Value| (info["controller"]["tools"].clone(), info["controller"]["left_out"].clone());
        assert_eq!(counts(&info), (json!(14), json!(0)));
        assert_not_logged("left out");
        let cut = listed(&mut ann, "anthropic").await;
        assert_eq!(cut.len(), 14);
        for tool in &cut {
            let description = tool["description"].as_str().expect("words");
            let kept = description.strip_suffix("…").expect("a mark");
            assert!(words.starts_with(kept) && (1000..=1024).contains(&description.len()), "{description}");
        }
        // The same list again changes nothing.
        controller.changes_its_tools().await;
        controller.lists(json!(tools)).await;
        ann.calls("wordy_11", json!({}));
        controller.serves("done").await;
        assert_eq!(ann.result().await["success"], true);
        assert_eq!(listed(&mut ann, "anthropic").await, cut);
        // With fewer tools, whole descriptions fit.
        for _ in 0..2 {
            controller.changes_its_tools().await;
            controller.lists(json!(tools[..2])).await;
        }
        sleep(Duration::from_millis(10)).await;
        for tool in listed(&mut ann, "anthropic").await {
            assert_eq!(tool["description"], words.as_str());
        }
    });
}

#[test]
fn preferred_tools_are_kept_if_not_all_fit() {
    story(async |world| {
        let mut ann = world.person("ann").await;
        let set = ann.sets("controller.tools", json!("tool_3*, tool_25")).await;
        assert_eq!((&set["success"], &set["restart_required"]), (&json!(true), &json!(true)));
        let allowed = json!({ "enabled": true, "allowed_tools": ["tool_20", "hub_echo"] });
        ann.sets_rule(json!({ "name": "few", "tools": allowed })).await;
        world.restarts_the_hub().await;
        ann.sees_online().await;
        let mut controller = world.controller();
        let tool = |number: usize| {
            let schema = json!({ "type": "object", "title": "s".repeat(900) });
            json!({ "name": format!("tool_{number:02}"), "description": "d".repeat(700), "inputSchema": schema })
        };
        let tools: Vec<_> = (0..40).map(tool).collect();
        controller.greets_with(json!(tools)).await;
        let info = ann.sees_link("ready").await;
        let count = |name: &str| info["controller"][name].as_u64().expect("a number");
        assert_eq!(count("tools") + count("left_out"), 40, "{info}");
        assert!(count("tools") > 15, "{info}");
        let names: Vec<_> =
            listed(&mut ann, "anthropic").await.iter().map(|tool| tool["name"].clone()).collect();
        assert_eq!(names.len() as u64, count("tools"));
        // The preferred tools come first, in the order of the preferences, followed by the first others of the list.
        let mut expected: Vec<_> = (30..40).map(|number| format!("tool_{number}")).collect();
        expected.extend(["tool_25", "tool_20", "tool_00", "tool_01"].map(str::to_owned));
        assert_eq!(names[..expected.len()], expected);
        for name in ["tool_39", "tool_25", "tool_20", "tool_00"] {
            ann.calls(name, json!({}));
            assert_eq!(controller.serves("done").await["params"]["name"], name);
            assert_eq!(ann.result().await["success"], true);
        }
        let reply = ann.uses("tool_19", json!({})).await;
        assert_refused(&reply, "not_found", "");
        assert_contains(&reply["message"], "The setting controller.tools chooses which it keeps.");
        assert_logged("Tool tool_19 is unknown or left out; the setting controller.tools chooses");
        assert_logged("is left out: it makes room for a tool that the settings prefer");
        assert_logged("its tool tool_29 is left out: its description and schema do not fit");
        // Each tool is logged once, and the same list leaves out the same tools.
        let named = log_text().matches("is left out").count() as u64;
        assert_eq!(named, count("left_out"));
        controller.changes_its_tools().await;
        controller.lists(json!(tools)).await;
        sleep(Duration::from_millis(10)).await;
        assert_eq!(log_text().matches("is left out").count() as u64, named);
        let again: Vec<_> =
            listed(&mut ann, "anthropic").await.iter().map(|tool| tool["name"].clone()).collect();
        assert_eq!(again, names);
    });
}

/// The list is requested once more, because the dropped tool came too early for the room that was left in the end.
#[test]
fn a_small_tool_that_was_dropped_for_preferred_ones_is_kept_if_it_fits_in_the_end() {
    story(async |world| {
        let mut ann = world.person("ann").await;
        ann.sets("controller.tools", json!("preferred_*")).await;
        world.restarts_the_hub().await;
        ann.sees_online().await;
        let mut controller = world.controller();
        let tool = |name: &str, length: usize| {
            let schema = json!({ "type": "object", "title": "s".repeat(length) });
            json!({ "name": name, "description": "d", "inputSchema": schema })
        };
        let preferred = ["preferred_0", "preferred_1", "preferred_2"].map(|name| tool(name, 5000));
        // The preferred tools push out both: the small one first, because it comes last.
        let mut tools = vec![tool("large", 5500), tool("small", 500)];
        tools.extend(preferred);
        controller.greets_with(json!(tools)).await;
        controller.lists(json!(tools)).await;
        sleep(Duration::from_millis(10)).await;
        let names: Vec<_> =
            listed(&mut ann, "anthropic").await.iter().map(|tool| tool["name"].clone()).collect();
        assert_eq!(names, ["preferred_0", "preferred_1", "preferred_2", "small"]);
        assert_logged_times(1, "its tool large is left out");
        ann.calls("small", json!({}));
        assert_eq!(controller.hears().await["method"], "tools/call", "the list is not requested again");
    });
}

/// A definition in the size of a public server's. Its description alone is shorter than what the hub reads of a tool.
#[test]
fn a_long_description_does_not_cost_the_tool() {
    story(async |world| {
        let words = "Scrapes “a page”.\n".repeat(287);
        let schema = json!({ "type": "object", "properties": { "url": { "type": "string", "title": "t".repeat(1800) } } });
        // The members in this order.
        let tool = |name: &str, members: [(&str, Value); 2]| {
            let [first, second] = members.map(|(member, value)| format!("\"{member}\":{value}"));
            format!("{{\"name\":\"{name}\",{first},{second},\"annotations\":{{\"readOnlyHint\":true}}}}")
        };
        let (description, input) = (("description", json!(words)), ("inputSchema", schema.clone()));
        let late = tool("late_schema", [description.clone(), input.clone()]);
        assert!((8200..9000).contains(&late.len()), "{}", late.len());
        let early = tool("early_schema", [input, description]);
        let mut controller = world.controller();
        let mut ann = world.person("ann").await;
        controller.says_hello().await;
        let list = controller.hears_of("tools/list").await;
        let line = format!(
            "{{\"result\":{{\"tools\":[{late},{early}]}},\"jsonrpc\":\"2.0\",\"id\":{}}}",
            list["id"]
        );
        controller.says(line).await;
        let info = ann.sees_link("ready").await;
        assert_eq!(
            (&info["controller"]["tools"], &info["controller"]["left_out"]),
            (&json!(2), &json!(0)),
            "{info}"
        );
        for tool in listed(&mut ann, "mcp").await {
            assert_eq!(tool["inputSchema"], schema);
            assert_eq!(tool["annotations"], json!({ "readOnlyHint": true }));
            let description = tool["description"].as_str().expect("words");
            let kept = description.strip_suffix("…").expect("a mark");
            assert!(words.starts_with(kept) && (950..=1024).contains(&description.len()), "{description}");
        }
        ann.calls("late_schema", json!({ "url": "a" }));
        controller.serves("done").await;
        assert_eq!(ann.result().await["result"], "done");
    });
}

#[test]
fn a_tool_with_a_dot_in_its_name_can_be_called_by_people_and_by_models() {
    story(async |world| {
        let tool = |name: &str| json!({ "name": name, "inputSchema": { "type": "object" }, "annotations": { "readOnlyHint": true } });
        let mut controller = world.controller();
        let mut ann = world.person("ann").await;
        let tools = ["files.read", "files.list", "files_list", "hub.echo", "get.content"].map(tool);
        controller.greets_with(json!(tools)).await;
        let info = ann.sees_link("ready").await;
        let shadowed = || {
            for name in ["files.list", "hub.echo", "get.content"] {
                assert_logged_times(1, &format!("WARN tools: {name} cannot be called by models"));
            }
            assert_logged_times(3, "cannot be called by models");
        };
        shadowed();
        assert_eq!(
            (&info["controller"]["tools"], &info["controller"]["left_out"]),
            (&json!(5), &json!(0)),
            "{info}"
        );
        for name in ["files.read", "files.list", "files_list"] {
            ann.calls(name, json!({}));
            assert_eq!(controller.serves("done").await["params"]["name"], name);
            let reply = ann.result().await;
            assert_eq!((&reply["success"], &reply["tool_name"]), (&json!(true), &json!(name)));
        }
        let names = |tools: Vec<Value>| tools.iter().map(|tool| tool["name"].clone()).collect::<Vec<_>>();
        assert_eq!(
            names(listed(&mut ann, "mcp").await),
            ["files.read", "files.list", "files_list", "hub.echo", "get.content"]
        );
        // Providers allow no dots. A tool whose name would then be that of another one is not offered, and this is
        // logged.
        assert_eq!(names(listed(&mut ann, "anthropic").await), ["files_read", "files_list"]);
        let mut model = world.model().await;
        ann.says(json!({ "text": "Go" }));
        let question =
            model.serves(calls(&[("files_read", json!({})), ("files_list", json!({}))])).await.json();
        let offered = question["tools"]
            .as_array()
            .expect("tools")
            .iter()
            .filter(|tool| tool["name"].as_str().is_some_and(|name| name.starts_with("files")));
        assert_eq!(offered.count(), 2);
        for name in ["files.read", "files_list"] {
            assert_eq!(controller.serves("done").await["params"]["name"], name);
        }
        model.serves(stop("Done.")).await;
        assert_eq!(ann.reply().await["content"], "Done.");
        // It is logged once, however often the tools are listed.
        controller.changes_its_tools().await;
        controller.lists(json!(tools)).await;
        sleep(Duration::from_millis(10)).await;
        shadowed();
    });
}

/// People copy names from `tool/list`, which shows them in the formats of providers without dots.
#[test]
fn lists_of_allowed_tools_take_a_dotted_name_as_models_see_it() {
    story(async |world| {
        let mut controller = world.controller();
        let mut ann = world.person("ann").await;
        let tool = |name: &str| json!({ "name": name, "inputSchema": { "type": "object" }, "annotations": { "readOnlyHint": true } });
        let tools = ["files.read", "files.list", "mail_send"].map(tool);
        controller.greets_with(json!(tools)).await;
        ann.sees_link("ready").await;
        for (allowed, seen) in [("files_read", "files.read"), ("files.list", "files.list")] {
            let list = ann.asks("tool/list", json!({ "allowed": [allowed] })).await;
            let names: Vec<_> =
                list["tools"].as_array().expect("tools").iter().map(|tool| tool["name"].clone()).collect();
            assert_eq!(names, [seen], "{allowed}");
        }
        // A dot in the list is a dot in the name.
        let list = ann.asks("tool/list", json!({ "allowed": ["mail.send"] })).await;
        assert_eq!(list["tools"], json!([]), "{list}");
        let tools = json!({ "enabled": true, "allowed_tools": ["files_read", "mail.send"] });
        ann.sets_rule(json!({ "name": "few", "tools": tools })).await;
        let mut model = world.model().await;
        ann.says(json!({ "text": "Go", "rule": "few" }));
        let question = model.serves(calls(&[("files_read", json!({}))])).await.json();
        assert_eq!((count(&question["tools"]), &question["tools"][0]["name"]), (1, &json!("files_read")));
        assert_eq!(controller.serves("done").await["params"]["name"], "files.read");
        model.serves(stop("Done.")).await;
        assert_eq!(ann.reply().await["content"], "Done.");
    });
}

#[test]
fn a_definition_that_does_not_fit_into_a_reply_is_listed_in_short() {
    story(async |world| {
        let mark = "[shortened: the definition is longer than a reply]";
        let schema = json!({ "type": "object", "properties": { "a": { "type": "string", "title": "t".repeat(5000) } } });
        let tools = json!([
            a_tool("first"),
            with_description("wordy", &"\"w\" ".repeat(1100)),
            { "name": "large", "description": "Short.", "inputSchema": schema },
            a_tool("last"),
        ]);
        let mut controller = world.controller();
        let mut ann = world.person("ann").await;
        controller.greets_with(tools).await;
        ann.sees_link("ready").await;
        for (format, schema) in [("mcp", "inputSchema"), ("anthropic", "input_schema")] {
            let list = listed(&mut ann, format).await;
            let names: Vec<_> = list.iter().map(|tool| &tool["name"]).collect();
            assert_eq!(names, ["first", "wordy", "large", "last"], "{format}");
            assert!(!list[0].to_string().contains("[shortened"));
            for tool in &list[1..3] {
                assert!(tool["description"].as_str().is_some_and(|text| text.ends_with(mark)), "{tool}");
                assert_eq!(tool[schema], json!({ "type": "object" }));
            }
            assert!(list[1]["description"].as_str().is_some_and(|text| text.starts_with("\"w\" \"w\"")));
            assert_eq!(list[2]["description"], format!("Short. {mark}"), "the description itself is whole");
        }
        let pages = ann.asks_for_all("tool/list", "tools", json!({ "format": "markdown" })).await;
        let page =
            |name: &str| pages.iter().find(|page| page.as_str().is_some_and(|page| page.starts_with(name)));
        assert!(page("# wordy\n").and_then(Value::as_str).is_some_and(|page| page.ends_with(mark)));
        assert!(page("# last\n").is_some());
    });
}
