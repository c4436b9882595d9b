//! The hub's own tools, asked over MQTT.

use std::time::Duration;

use serde_json::json;

use crate::owner::Owner;

/// spec: gateway-05, infra-19, infra-21
#[tokio::test(start_paused = true)]
async fn all_tools_are_there_from_the_start_under_the_prefix_of_the_hub() {
    Owner::of_a_hub(
        |_| {},
        async |owner| {
            let mut expected: Vec<_> =
                hub_core::tools::TOOLS.iter().map(|tool| format!("hub_{}", tool.name)).collect();
            expected.sort_unstable();
            for format in ["mcp", "anthropic"] {
                let list = owner.lists(format).await;
                let names = list.iter().map(|tool| tool["name"].as_str().expect("a name").to_owned());
                // Those of the controller keep their own.
                let mut names: Vec<_> = names.filter(|name| name.starts_with("hub_")).collect();
                names.sort_unstable();
                assert_eq!(names, expected);
            }
            for format in ["openai", "ollama"] {
                let list = owner.lists(format).await;
                let is_ours = |tool: &&serde_json::Value| {
                    tool["function"]["name"].as_str().expect("a name").starts_with("hub_")
                };
                assert_eq!(list.iter().filter(is_ours).count(), expected.len());
            }
            let markdown = owner.lists("markdown").await;
            assert!(markdown.iter().any(|text| text.as_str().expect("text").starts_with("# echo\n")));
            let wrong = owner.asks("tool/list", json!({ "format": "xml" })).await;
            assert!(
                wrong["error"].as_str().expect("words").contains("mcp, anthropic, openai, ollama, markdown"),
                "{wrong}"
            );
        },
    )
    .await;
}

/// spec: infra-20
#[tokio::test(start_paused = true)]
async fn a_prefix_that_was_set_is_kept() {
    Owner::of_a_hub(
        |settings| settings.tool_prefix = "den".into(),
        async |owner| {
            assert_eq!(
                owner.calls("den_echo", json!({ "a": 1 })).await["result"],
                json!({ "echo": { "a": 1 } })
            );
            assert_eq!(owner.calls("hub_echo", json!({})).await["error"], "Tool 'hub_echo' not found");
        },
    )
    .await;
}

/// spec: infra-23
#[tokio::test(start_paused = true)]
async fn example_tools_are_there_when_they_are_wanted() {
    let greet = async |owner: &Owner| {
        owner.calls("example_greeting", json!({ "name": "Ada", "style": "warm" })).await
    };
    let without = Owner::of_a_hub(|_| {}, greet).await;
    assert_eq!(without["error_type"], "not_found");
    let with = Owner::of_a_hub(|settings| settings.example_tools = true, greet).await;
    assert_eq!(with["result"], json!({ "greeting": "Lovely to see you, Ada!" }));
}

/// spec: gateway-28
#[tokio::test(start_paused = true)]
async fn the_hubs_own_tools_get_their_arguments_as_they_are() {
    Owner::of_a_hub(
        |_| {},
        async |owner| {
            let arguments = json!({ "device_name": "x", "new_parameter_name": { "a_b": 1 } });
            assert_eq!(owner.calls("echo", arguments.clone()).await["result"], json!({ "echo": arguments }));
        },
    )
    .await;
}

/// spec: calls-12
#[tokio::test(start_paused = true)]
async fn arithmetic() {
    Owner::of_a_hub(
        |_| {},
        async |owner| {
            let reply = owner.calls("math_eval", json!({ "expression": "2+2" })).await;
            assert_eq!(reply["result"], json!({ "result": 4 }));
            let reply =
                owner.calls("math_eval", json!({ "expression": "round((72 - 32) * 5 / 9, 1)" })).await;
            assert_eq!(reply["result"], json!({ "result": 22.2 }));
            for wrong in ["2+", "foo(1)", "1/(", "import('x')", "a = 1", "\"x\""] {
                let reply = owner.calls("math_eval", json!({ "expression": wrong })).await;
                assert_eq!(reply["success"], false, "{reply}");
                assert!(reply["error"].as_str().expect("words").contains("position"), "{reply}");
            }
        },
    )
    .await;
}

/// spec: calls-13
#[tokio::test(start_paused = true)]
async fn echo_mirrors_its_arguments() {
    Owner::of_a_hub(
        |_| {},
        async |owner| {
            let arguments = json!({ "text": "ä\"\\\n", "list": [1, null, { "deep": [true] }] });
            assert_eq!(owner.calls("echo", arguments.clone()).await["result"], json!({ "echo": arguments }));
            assert_eq!(owner.calls("echo", json!({})).await["result"], json!({ "echo": {} }));
        },
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn the_volume_is_told_and_changed() {
    Owner::of_a_hub(
        |_| {},
        async |owner| {
            assert_eq!(owner.calls("volume", json!({ "level": 30 })).await["result"], json!({ "level": 30 }));
            assert_eq!(
                owner.calls("volume", json!({ "change": -10.0 })).await["result"],
                json!({ "level": 20 })
            );
            assert_eq!(
                owner.calls("volume", json!({ "change": 100 })).await["result"],
                json!({ "level": 100 })
            );
            let reply = owner.calls("volume", json!({})).await;
            assert_eq!(
                (&reply["result"], &reply["message"]),
                (&json!({ "level": 100 }), &json!("The volume is 100 percent."))
            );
            assert_eq!(
                owner.calls("volume", json!({ "level": 101 })).await["error_type"],
                "invalid_parameters"
            );
        },
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn the_date_and_the_time() {
    Owner::of_a_hub(
        |_| {},
        async |owner| {
            let reply = owner.calls("datetime", json!({})).await;
            let date = reply["result"]["date"].as_str().expect("a date");
            assert!(date > "2026-01-01" && date.len() == 10, "{reply}");
            assert!(reply["message"].as_str().expect("words").starts_with("It is "), "{reply}");
        },
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn the_hub_restarts_when_a_person_says_so() {
    Owner::of_a_hub(
        |_| {},
        async |owner| {
            let refused = owner.calls("restart_hub", json!({})).await;
            assert_eq!(refused["error_type"], "invalid_parameters");
            owner.calls("volume", json!({ "level": 10 })).await;
            let reply = owner.calls("restart_hub", json!({ "confirm": "RESTART_HUB" })).await;
            assert_eq!(reply["result"], json!({ "restarting": true }));
            tokio::time::sleep(Duration::from_secs(5)).await;
            assert_eq!(owner.calls("echo", json!({ "back": true })).await["success"], true);
        },
    )
    .await;
}
