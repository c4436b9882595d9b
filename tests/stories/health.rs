//! `request/health`: what the hub counts.

use host_zwave::Home;
use hub_core::limits;
use world::prelude::*;

/// The counts of one tool.
fn of(health: &Value, name: &str) -> Value {
    let tools = health["tools"].as_array().expect("tools");
    tools.iter().find(|tool| tool["name"] == name).cloned().unwrap_or_default()
}

#[test]
fn a_new_hub_has_nothing_to_tell() {
    story(async |world| {
        let mut ann = world.person("ann").await;
        sleep(Duration::from_secs(90)).await;
        let health = ann.asks("health", json!({ "transaction": "t" })).await;
        assert_eq!((&health["success"], &health["transaction"]), (&json!(true), &json!("t")));
        assert!((90..100).contains(&health["uptime"].as_u64().expect("seconds")), "{health}");
        assert_eq!(health["boot"], json!({ "reason": "power_on", "count": 1 }));
        assert_eq!(health["link"]["state"], "degraded");
        for count in ["calls", "failures", "timeouts", "losses", "lines_ignored", "unanswered", "overruns"] {
            assert_eq!(health["link"][count], 0, "{count}: {health}");
        }
        assert_eq!(health["mqtt"], json!({ "reconnects": 0, "events_dropped": 0, "notices_dropped": 0 }));
        assert_eq!(health["network"], json!({ "state": "joined" }));
        assert_eq!(health["time"], "machine");
        assert_eq!(health["store"]["entries_free"], limits::STORE_ENTRIES);
        assert_eq!(health["tools"], json!([]));
    });
}

#[test]
fn calls_are_counted_by_tool_and_on_the_line() {
    story(async |world| {
        let (mut controller, mut ann) = world.connected_with(json!([a_tool("one"), a_tool("two")])).await;
        for pause in [100, 300] {
            ann.calls("one", json!({}));
            let call = controller.hears_call().await;
            sleep(Duration::from_millis(pause)).await;
            controller.replies(&call, "done").await;
            assert_eq!(ann.result().await["success"], true);
        }
        ann.calls("one", json!({}));
        let call = controller.hears_call().await;
        sleep(Duration::from_millis(50)).await;
        controller.refuses(&call, -32000, "no", Value::Null).await;
        assert_eq!(ann.result().await["success"], false);
        assert_eq!(ann.uses("math_eval", json!({ "expression": "1/" })).await["success"], false);
        ann.gets_an_echo().await;
        controller.says("noise").await;
        // A ping, which is answered, and a tool that nobody has.
        assert_refused(&ann.uses("nothing", json!({})).await, "not_found", "");

        let health = ann.asks("health", json!({})).await;
        let one = json!({ "name": "one", "calls": 3, "failures": 1, "average_ms": 150, "slowest_ms": 300 });
        assert_eq!(of(&health, "one"), one);
        assert_eq!(of(&health, "two"), Value::Null, "it was never called");
        let math = of(&health, "hub_math_eval");
        assert_eq!((&math["calls"], &math["failures"]), (&json!(1), &json!(1)));
        assert_eq!(of(&health, "hub_echo")["failures"], 0);
        let link = &health["link"];
        assert_eq!(link["state"], "ready");
        assert_eq!((&link["calls"], &link["failures"]), (&json!(3), &json!(0)), "a refusal is an answer");
        assert_eq!((&link["average_ms"], &link["slowest_ms"]), (&json!(150), &json!(300)));
        assert_eq!(link["lines_ignored"], 1);

        // One that is never answered.
        ann.calls("two", json!({}));
        controller.hears_call().await;
        let ping = controller.hears_of("ping").await;
        controller.answers(&ping, json!({})).await;
        assert_refused(&ann.result().await, "timeout", "");
        let health = ann.asks("health", json!({})).await;
        let link = &health["link"];
        assert_eq!((&link["calls"], &link["failures"], &link["timeouts"]), (&json!(4), &json!(1), &json!(1)));
        assert_eq!(of(&health, "two")["slowest_ms"], 30_000);

        // A tool that leaves the list takes its counts along.
        controller.changes_its_tools().await;
        controller.lists(json!([a_tool("two"), a_tool("three")])).await;
        sleep(Duration::from_millis(1)).await;
        let health = ann.asks("health", json!({})).await;
        assert_eq!(of(&health, "one"), Value::Null);
        assert_eq!(of(&health, "two")["calls"], 1, "{health}");
    });
}

#[test]
fn losses_and_reconnects_are_counted() {
    Setup::new().home(&Home::default()).story(async |world| {
        let mut ann = world.person("ann").await;
        ann.sees_link("ready").await;
        world.broker().kick(CLIENT);
        ann.sees_online().await;
        assert_eq!(ann.asks("health", json!({})).await["mqtt"]["reconnects"], 1);
    });
    story(async |world| {
        let (mut controller, mut ann) = world.connected().await;
        controller.forgets_the_handshake(&mut ann, "list_devices").await;
        ann.sees_link("connecting").await;
        assert_eq!(ann.asks("health", json!({})).await["link"]["losses"], 1);
    });
}

#[test]
fn more_tools_than_a_reply_holds_come_in_pages() {
    story(async |world| {
        let most = limits::TOOLS - hub_core::tools::TOOLS.len();
        let name = |number: usize| format!("{}_{number}", "a_tool_with_a_long_name".repeat(2));
        let tools: Vec<Value> = (0..most).map(|number| a_tool(&name(number))).collect();
        let (mut controller, mut ann) = world.connected_with(json!(tools)).await;
        for number in 0..most {
            ann.calls(&name(number), json!({}));
            controller.serves("done").await;
            assert_eq!(ann.result().await["success"], true);
        }
        let first = ann.asks("health", json!({})).await;
        assert!(first["next"].is_string(), "{first}");
        let all = ann.asks_for_all("health", "tools", json!({})).await;
        let names: Vec<&str> = all.iter().filter_map(|tool| tool["name"].as_str()).collect();
        assert_eq!(names, (0..most).map(name).collect::<Vec<_>>());
    });
}
