//! The hub's own tools, asked over MQTT.

use world::prelude::*;

use crate::owner::a_hub;

/// spec: gateway-05, infra-19, infra-21
#[test]
fn all_tools_are_there_from_the_start_under_the_prefix_of_the_hub() {
    a_hub().story(async |world| {
        let mut owner = world.person("owner").await;
        let mut expected: Vec<_> =
            hub_core::tools::TOOLS.iter().map(|tool| format!("hub_{}", tool.name)).collect();
        expected.sort_unstable();
        for format in ["mcp", "anthropic"] {
            let list = owner.asks_for_all("tool/list", "tools", json!({ "format": format })).await;
            let names = list.iter().map(|tool| tool["name"].as_str().expect("a name").to_owned());
            // Those of the controller keep their own.
            let mut names: Vec<_> = names.filter(|name| name.starts_with("hub_")).collect();
            names.sort_unstable();
            assert_eq!(names, expected);
        }
        for format in ["openai", "ollama"] {
            let list = owner.asks_for_all("tool/list", "tools", json!({ "format": format })).await;
            let is_ours =
                |tool: &&Value| tool["function"]["name"].as_str().expect("a name").starts_with("hub_");
            assert_eq!(list.iter().filter(is_ours).count(), expected.len());
        }
        let markdown = owner.asks_for_all("tool/list", "tools", json!({ "format": "markdown" })).await;
        assert!(markdown.iter().any(|text| text.as_str().expect("text").starts_with("# echo\n")));
        // Each tool was registered once.
        assert_not_logged("was registered before");
        let wrong = owner.asks("tool/list", json!({ "format": "xml" })).await;
        assert_contains(&wrong["error"], "mcp, anthropic, openai, ollama, markdown");
    });
}

/// spec: infra-20
#[test]
fn a_prefix_that_was_set_is_kept() {
    a_hub().hub(|settings| settings.tool_prefix = "den".into()).story(async |world| {
        let mut owner = world.person("owner").await;
        assert_eq!(owner.uses("den_echo", json!({ "a": 1 })).await["result"], json!({ "echo": { "a": 1 } }));
        assert_eq!(owner.uses("hub_echo", json!({})).await["error"], "Tool 'hub_echo' not found");
    });
}

/// spec: infra-23
#[test]
fn example_tools_are_there_when_they_are_wanted() {
    let greeted = |with_examples: bool| {
        a_hub().hub(|settings| settings.example_tools = with_examples).story(async |world| {
            let arguments = json!({ "name": "Ada", "style": "warm" });
            world.person("owner").await.uses("example_greeting", arguments).await
        })
    };
    assert_refused(&greeted(false), "not_found", "");
    assert_eq!(greeted(true)["result"], json!({ "greeting": "Lovely to see you, Ada!" }));
}

/// spec: gateway-28
#[test]
fn the_hubs_own_tools_get_their_arguments_as_they_are() {
    a_hub().story(async |world| {
        let mut owner = world.person("owner").await;
        let arguments = json!({ "device_name": "x", "new_parameter_name": { "a_b": 1 } });
        assert_eq!(owner.uses("echo", arguments.clone()).await["result"], json!({ "echo": arguments }));
        // The question to the service has the tool's own names of the arguments, and no others.
        let mut service = world.client("service", &[&owner.topic("service/search/request")]).await;
        owner.calls("search", json!({ "query": "sunset_in_oslo", "max_results": 1 }));
        let question = service.hears("service/search/request").await;
        assert_eq!(question.json(), json!({ "query": "sunset_in_oslo" }));
        service.answers_with(&question, br#"{"results":["15:50"]}"#);
        let reply = owner.result().await;
        assert_eq!(
            (&reply["tool_name"], &reply["result"]),
            (&json!("search"), &json!({ "results": ["15:50"] }))
        );
        let reply = owner.uses("volume", json!({ "level": 40, "some_thing": true })).await;
        assert_eq!(reply["result"], json!({ "level": 40 }));
        let reply = owner.uses("datetime", json!({ "time_zone": "x" })).await;
        assert_eq!(reply["tool_name"], "datetime");
        for name in ["max_results", "some_thing", "time_zone"] {
            assert_not_logged(&format!("{name} ->"));
        }
    });
}

/// spec: calls-12
#[test]
fn arithmetic() {
    a_hub().story(async |world| {
        let mut owner = world.person("owner").await;
        let reply = owner.uses("math_eval", json!({ "expression": "2+2" })).await;
        assert_eq!(reply["result"], json!({ "result": 4 }));
        let reply = owner.uses("math_eval", json!({ "expression": "round((72 - 32) * 5 / 9, 1)" })).await;
        assert_eq!(reply["result"], json!({ "result": 22.2 }));
        for wrong in ["2+", "foo(1)", "1/(", "import('x')", "a = 1", "\"x\""] {
            let reply = owner.uses("math_eval", json!({ "expression": wrong })).await;
            assert_eq!(reply["success"], false, "{reply}");
            assert_contains(&reply["error"], "position");
        }
    });
}

/// spec: calls-13
#[test]
fn echo_mirrors_its_arguments() {
    a_hub().story(async |world| {
        let mut owner = world.person("owner").await;
        let arguments = json!({ "text": "ä\"\\\n", "list": [1, null, { "deep": [true] }] });
        assert_eq!(owner.uses("echo", arguments.clone()).await["result"], json!({ "echo": arguments }));
        assert_eq!(owner.uses("echo", json!({})).await["result"], json!({ "echo": {} }));
    });
}

#[test]
fn the_volume_is_told_and_changed() {
    a_hub().story(async |world| {
        let mut owner = world.person("owner").await;
        assert_eq!(owner.uses("volume", json!({ "level": 30 })).await["result"], json!({ "level": 30 }));
        assert_eq!(owner.uses("volume", json!({ "change": -10.0 })).await["result"], json!({ "level": 20 }));
        assert_eq!(owner.uses("volume", json!({ "change": 100 })).await["result"], json!({ "level": 100 }));
        let reply = owner.uses("volume", json!({})).await;
        assert_eq!(
            (&reply["result"], &reply["message"]),
            (&json!({ "level": 100 }), &json!("The volume is 100 percent."))
        );
        assert_refused(&owner.uses("volume", json!({ "level": 101 })).await, "invalid_parameters", "");
    });
}

#[test]
fn the_date_and_the_time() {
    a_hub().story(async |world| {
        let mut owner = world.person("owner").await;
        let reply = owner.uses("datetime", json!({})).await;
        let date = reply["result"]["date"].as_str().expect("a date");
        assert!(date > "2026-01-01" && date.len() == 10, "{reply}");
        assert!(reply["message"].as_str().expect("words").starts_with("It is "), "{reply}");
    });
}

#[test]
fn the_hub_restarts_when_a_person_says_so() {
    a_hub().story(async |world| {
        let mut owner = world.person("owner").await;
        assert_refused(&owner.uses("restart_hub", json!({})).await, "invalid_parameters", "");
        owner.uses("volume", json!({ "level": 10 })).await;
        let reply = owner.uses("restart_hub", json!({ "confirm": "RESTART_HUB" })).await;
        assert_eq!(reply["result"], json!({ "restarting": true }));
        sleep(Duration::from_secs(5)).await;
        assert_eq!(owner.uses("echo", json!({ "back": true })).await["success"], true);
    });
}

/// spec: infra-26
#[test]
fn no_text_of_the_hub_has_the_prefix_in_it() {
    a_hub().hub(|settings| settings.tool_prefix = "zq".into()).story(async |world| {
        let (mut owner, mut model) = world.talking().await;
        let assert_plain = |text: &Value| assert!(!text.to_string().contains("zq"), "{text}");
        for format in ["mcp", "anthropic"] {
            for tool in owner.asks_for_all("tool/list", "tools", json!({ "format": format })).await {
                assert_plain(&tool["description"]);
            }
        }
        let markdown = owner.asks_for_all("tool/list", "tools", json!({ "format": "markdown" })).await;
        markdown.iter().for_each(assert_plain);
        assert_plain(&owner.asks("prompt/list", json!({})).await);
        // Errors name a tool as it was called.
        for tool in hub_core::tools::TOOLS {
            for arguments in
                [json!({ "confirm": 7, "level": "x", "expression": [], "name": 1, "value": {} }), json!([])]
            {
                assert_plain(
                    &owner.asks("tool/call", json!({ "name": tool.name, "arguments": arguments })).await,
                );
            }
        }
        assert_plain(&owner.uses("no_such_tool", json!({})).await);
        // What a model is told, apart from the names of the tools.
        owner.says(json!({ "text": "@status kitchen" }));
        let mut question = model.hears_question().await.json();
        for tool in question["tools"].as_array_mut().expect("tools") {
            assert!(tool["name"].take().is_string());
        }
        assert_plain(&question);
    });
}
