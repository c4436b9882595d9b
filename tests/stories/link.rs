//! The controller connects, disappears, restarts and sends noise.

use host_zwave::Home;
use hub_core::limits;
use world::model::{calls, stop};
use world::prelude::*;

#[test]
fn the_controller_is_greeted_and_announced() {
    story(async |world| {
        let mut controller = world.controller();
        let mut person = world.person("ann").await;
        controller.greets().await;
        let info = person.sees_link("ready").await;
        assert_eq!(info["controller"]["name"], "played");
        assert_eq!(info["controller"]["tools"], 2);
    });
}

#[test]
fn the_real_sdk_is_greeted_too() {
    Setup::new().home(&Home::default()).story(async |world| {
        let mut person = world.person("ann").await;
        let info = person.sees_link("ready").await;
        assert_eq!(info["controller"]["name"], "simulated-zwave");
        assert_eq!(info["controller"]["tools"], 9);
        // Through many pings.
        sleep(Duration::from_secs(600)).await;
        person.gets_an_echo().await;
        assert_not_logged("controller: lost");
    });
}

/// spec: gateway-34
#[test]
fn a_controller_that_answers_is_ready_at_the_first_attempt() {
    story(async |world| {
        let start = Instant::now();
        let mut controller = world.controller();
        let mut person = world.person("ann").await;
        controller.greets().await;
        let info = person.sees_link("ready").await;
        assert!(start.elapsed() < Duration::from_millis(100), "{:?}", start.elapsed());
        assert_eq!(info["controller"]["tools"], 2);
        person.calls("two", json!({}));
        controller.serves("done").await;
        assert_eq!(person.result().await["result"], "done");
        assert_not_logged("attempt");
    });
}

/// spec: gateway-35
#[test]
fn a_controller_that_answers_the_second_attempt_is_ready_then() {
    story(async |world| {
        let mut controller = world.controller();
        let mut person = world.person("ann").await;
        let first = controller.hears_of("initialize").await;
        let start = Instant::now();
        controller.refuses(&first, -32000, "the broker is restarting", Value::Null).await;
        controller.greets().await;
        assert_eq!(start.elapsed(), Duration::from_millis(2000), "the second attempt");
        let info = person.sees_link("ready").await;
        assert_eq!(info["controller"]["tools"], 2);
        assert_logged("attempt 1 of 3 failed (it refused); retrying in 2.0 s");
        assert_logged("refuses with \"the broker is restarting\"");
        assert_logged("MCP connection succeeded on attempt 2");
    });
}

/// spec: gateway-37, gateway-41
#[test]
fn attempts_are_made_when_the_limits_say_so() {
    story(async |world| {
        let mut controller = world.controller();
        let mut at = Vec::new();
        let start = Instant::now();
        for _ in 0..limits::LINK_ATTEMPTS.len() + 2 {
            let hello = controller.hears_of("initialize").await;
            at.push(start.elapsed());
            controller.refuses(&hello, -32000, "not now", Value::Null).await;
        }
        // The numbers are all in `limits`.
        let mut expected = limits::LINK_ATTEMPTS.map(Duration::from).to_vec();
        expected.extend([1, 2].map(|times| expected[2] + times * Duration::from(limits::LINK_SLOW_RETRY)));
        assert_eq!(at, expected);
        assert_eq!(at[..3], [0, 2000, 6000].map(Duration::from_millis));
        assert_logged("attempt 1 of 3 failed (it refused); retrying in 2.0 s");
        assert_logged("attempt 2 of 3 failed (it refused); retrying in 4.0 s");
    });
}

/// spec: gateway-37
#[test]
fn a_silent_controller_is_reported_as_missing_before_people_lose_patience() {
    story(async |world| {
        let start = Instant::now();
        let mut person = world.person("ann").await;
        let mut controller = world.controller();
        let mut greetings = Vec::new();
        for seconds in [0, 2, 6] {
            greetings.push(controller.hears_of("initialize").await);
            assert_eq!(start.elapsed().as_secs(), seconds);
        }
        person.sees_link("degraded").await;
        assert_eq!(start.elapsed().as_secs(), 8);
        assert_logged("attempt 1 of 3 failed (no answer); retrying in 0.0 s");
        assert_logged("attempt 2 of 3 failed (no answer); retrying in 0.0 s");
        // It was only slow to start, and answers what it was asked first.
        sleep(Duration::from_secs(5)).await;
        for greeting in &greetings {
            controller.answers(greeting, about_it(&greeting["params"]["protocolVersion"])).await;
        }
        controller.lists(zwave_tools()).await;
        person.sees_link("ready").await;
        assert!(start.elapsed().as_secs() < 14, "{:?}", start.elapsed());
        assert_logged("MCP connection succeeded on attempt 3");
    });
}

/// The notice does not predict when the controller will be ready, but says why it is not.
///
/// spec: gateway-38, gateway-39
#[test]
fn notice_quotes_a_refusing_controller() {
    story(async |world| {
        let mut controller = world.controller();
        let mut person = world.person("ann").await;
        for _ in limits::LINK_ATTEMPTS {
            let hello = controller.hears_of("initialize").await;
            controller.says("a line of its log").await;
            controller.refuses(&hello, -32000, "the Z-Wave stick is missing", Value::Null).await;
        }
        let notice = person.hears("log").await.json();
        assert_contains(&notice["text"], "it refused. It said last: \"the Z-Wave stick is missing\"");
    });
}

/// spec: gateway-39
#[test]
fn connection_hint_states_the_baud_rate() {
    story(async |world| {
        let mut person = world.person("ann").await;
        person.sets("controller.baud", json!(9600)).await;
        world.restarts_the_hub().await;
        let words = "the ground wire, 9600 baud";
        loop {
            let text = person.hears("log").await.json()["text"].to_string();
            if text.contains("MCP connection failed") {
                break assert!(text.contains(words), "{text}");
            }
        }
        assert_logged(&format!(
            "ERROR controller:   check: the controller's power, RX and TX (crossed?), {words}"
        ));
    });
}

/// What people are told to check is what can be wrong.
#[test]
fn a_controller_that_answers_wrongly_is_not_blamed_on_its_wires() {
    let refuse = json!({ "error": { "code": -32000, "message": "no" } });
    let old = json!({ "result": { "protocolVersion": "1999-01-01" } });
    let mut unlisted = about_it(&json!("2025-06-18"));
    unlisted = json!({ "result": unlisted });
    for (answer, advice) in [
        (refuse, "Check: the controller's own log"),
        (old, "Check: for a newer version of the controller's software"),
        (unlisted, "it lists its tools in a wrong way"),
    ] {
        story(async |world| {
            let mut controller = world.controller();
            let mut person = world.person("ann").await;
            let plays = async {
                loop {
                    let request = controller.hears().await;
                    let mut reply = answer.clone();
                    if request["method"] == "tools/list" {
                        reply = json!({ "result": { "tools": 7 } });
                    }
                    reply["jsonrpc"] = json!("2.0");
                    reply["id"] = request["id"].clone();
                    if !request["id"].is_null() {
                        controller.says(reply.to_string()).await;
                    }
                }
            };
            tokio::select! {
                () = plays => {}
                notice = person.hears("log") => assert_contains(&notice.json()["text"], advice),
            }
            assert_not_logged("RX and TX");
        });
    }
}

/// spec: gateway-36, gateway-39
#[test]
fn a_controller_that_cannot_be_reached_is_reported_with_what_to_do() {
    story(async |world| {
        let mut controller = world.controller();
        let mut person = world.person("ann").await;
        controller.says(b"Error: Cannot find module 'zwave-js'").await;
        controller.says(b"    at Module.load (node:internal)").await;
        let notice = person.hears("log").await.json();
        assert_eq!(notice["level"], "error");
        let text = notice["text"].as_str().expect("words").to_owned();
        for words in [
            "MCP connection failed after 3 attempts",
            "no answer",
            "It said last: \"    at Module.load (node:internal)\"",
            "Check: the controller's power, RX and TX",
            "local tools only",
            "every 30 s",
        ] {
            assert!(text.contains(words), "{words} is not in: {text}");
        }
        for words in [
            "ERROR controller: MCP connection failed after 3 attempts",
            "ERROR controller:   reason: no answer",
            "ERROR controller:   it said: Error: Cannot find module 'zwave-js'",
            "ERROR controller:   check: the controller's power",
            "WARN controller: continuing with local tools only (datetime, volume, search,",
        ] {
            assert_logged(words);
        }
        person.gets_an_echo().await;
        let reply = person.uses("two", json!({})).await;
        assert_refused(&reply, "not_found", "Tool 'two' not found");
        assert_contains(&reply["message"], "controller is not connected");
    });
}

/// spec: gateway-40
#[test]
fn a_controller_that_never_answers_keeps_nobody_waiting() {
    story(async |world| {
        let start = Instant::now();
        let mut person = world.person("ann").await;
        person.gets_an_echo().await;
        assert!(start.elapsed() < Duration::from_millis(100), "{:?}", start.elapsed());
        person.sees_link("degraded").await;
        person.gets_an_echo().await;
        // Much later somebody plugs it in.
        sleep(Duration::from_secs(1000)).await;
        let mut controller = world.controller();
        controller.comes_late().await;
        controller.greets().await;
        person.sees_link("ready").await;
        let mut text = String::new();
        while !text.contains("connected again, with 2 tools (attempt ") {
            text = person.hears("log").await.json().to_string();
        }
    });
}

#[test]
fn a_controller_that_dies_is_noticed_and_welcomed_back() {
    story(async |world| {
        let mut controller = world.controller();
        let mut person = world.person("ann").await;
        controller.greets().await;
        person.sees_link("ready").await;
        // It falls silent, even to a ping.
        controller.hears_of("ping").await;
        let info = person.sees_link("connecting").await;
        assert!(info["controller"].is_null());
        controller.greets().await;
        person.sees_link("ready").await;
    });
}

#[test]
fn a_controller_that_dies_again_and_again_is_tried_less_and_less_and_reported_once() {
    story(async |world| {
        let mut controller = world.controller();
        let mut person = world.person("ann").await;
        let mut bob = world.person("bob").await;
        let mut waits = Vec::new();
        let mut since = Instant::now();
        for _ in 0..7 {
            controller.greets().await;
            waits.push(since.elapsed().as_secs());
            controller.forgets_the_handshake(&mut person, "one").await;
            since = Instant::now();
        }
        assert_eq!(waits, [0, 0, 2, 4, 30, 30, 30]);
        assert_logged("controller: lost (it has restarted); retrying in 4.0 s");
        let log = bob.topic("log");
        let mut reads_the_log = async || {
            let mut notices = Vec::new();
            while let Some(message) = bob.next(Duration::from_millis(1)).await {
                notices.extend((message.topic == log).then(|| message.json()["text"].to_string()));
            }
            notices
        };
        let notices = reads_the_log().await;
        assert!(notices.len() == 1 && notices[0].contains("The controller is lost"), "{notices:?}");
        // It holds, and people are told so once.
        controller.greets().await;
        let answers_pings = async |controller: &mut Controller| {
            for _ in 0..4 {
                let ping = controller.hears_of("ping").await;
                controller.answers(&ping, json!({})).await;
            }
        };
        answers_pings(&mut controller).await;
        let notices = reads_the_log().await;
        assert!(notices.len() == 1 && notices[0].contains("connected again, with 2 tools"), "{notices:?}");
        // When it dies after that, it is welcomed back at once.
        controller.forgets_the_handshake(&mut person, "one").await;
        let start = Instant::now();
        controller.greets().await;
        assert_eq!(start.elapsed().as_secs(), 0);
        answers_pings(&mut controller).await;
        let notices = reads_the_log().await;
        assert!(notices.len() == 2 && notices[1].contains("connected again"), "{notices:?}");
    });
}

/// spec: gateway-25, gateway-26
#[test]
fn noise_on_the_line_is_said_and_survived() {
    let noise: &[(Vec<u8>, &str)] = &[
        (b"Z-Wave JS Server starting...".to_vec(), "not JSON-RPC: Z-Wave JS Server starting..."),
        (b"\xff\xfe\x80 garbage \xc3".to_vec(), "not JSON-RPC: \u{fffd}\u{fffd}\u{fffd} garbage \u{fffd}"),
        (b"{\"jsonrpc\":\"2.0\",\"id\":".to_vec(), "not JSON-RPC: {\"jsonrpc\""),
        (b"{\"jsonrpc\":\"1.0\",\"method\":\"x\"}".to_vec(), "not JSON-RPC: {\"jsonrpc\":\"1.0\""),
        (b"[1,2,3]".to_vec(), "not JSON-RPC: [1,2,3]"),
        (b"\x1b[31mred\x07\x1b[0m".to_vec(), "not JSON-RPC:  [31mred"),
        (vec![b'x'; 100_000], "not JSON-RPC: xxxxxxxx"),
        (vec![0; limits::LINE], "not JSON-RPC:      "),
        (b"\r".to_vec(), ""),
        (b"".to_vec(), ""),
    ];
    story(async |world| {
        let mut controller = world.controller();
        let mut person = world.person("ann").await;
        for (line, words) in noise {
            controller.says(line).await;
            logged(words).await;
        }
        controller.greets().await;
        person.sees_link("ready").await;
        for (line, _) in noise {
            controller.says(line).await;
        }
        controller.says(b"{\"jsonrpc\":\"2.0\",\"id\":\"q\",\"method\":\"ping\"}").await;
        let mut answer = controller.hears().await;
        while answer["id"] != "q" {
            answer = controller.hears().await;
        }
        assert_eq!(answer["result"], serde_json::json!({}));
        person.gets_an_echo().await;
    });
}

/// spec: gateway-25
#[test]
fn a_controller_that_prints_its_log_does_not_fill_the_hubs() {
    story(async |world| {
        let mut controller = world.controller();
        let mut person = world.person("ann").await;
        controller.greets().await;
        person.sees_link("ready").await;
        for number in 1..=30 {
            controller.says(format!("log line {number}")).await;
        }
        logged("DEBUG controller: ignored a line that is not JSON-RPC: log line 30").await;
        assert_logged_times(8, "WARN controller: ignored a line that is not JSON-RPC");
        assert_logged("WARN controller: ignored a line that is not JSON-RPC: log line 8");
        assert_logged_times(1, "WARN controller: further lines that are not JSON-RPC are only counted");
        let health = person.asks("health", json!({})).await;
        assert_eq!(health["link"]["lines_ignored"], 30, "{health}");
    });
}

/// spec: gateway-40
#[test]
fn question_in_the_first_second_gets_the_controllers_tools() {
    story(async |world| {
        let mut controller = world.controller();
        let (mut ann, mut model) = world.talking().await;
        sleep(Duration::from_millis(600)).await;
        // The controller's tools are not known yet.
        let reply = ann.uses("two", json!({})).await;
        assert_refused(&reply, "unavailable", "the controller is not connected yet");
        assert_contains(&reply["message"], "I have no tool for that. The controller is not connected yet.");
        let tools = json!({ "enabled": true, "allowed_tools": ["list_devices"] });
        ann.sets_rule(json!({ "name": "list", "service": "anthropic", "model": "m", "tools": tools })).await;
        ann.says(json!({ "text": "What is there?", "rule": "list" }));
        sleep(Duration::from_secs(1)).await;
        controller.greets_with(zwave_tools()).await;
        let question = model.serves(calls(&[("list_devices", json!({}))])).await.json();
        assert_eq!(question["tools"][0]["name"], "list_devices", "{question}");
        controller.serves("a lamp").await;
        model.serves(stop("A lamp.")).await;
        assert_eq!(ann.reply().await["content"], "A lamp.");
        assert_refused(&ann.uses("three", json!({})).await, "not_found", "Tool 'three' not found");
    });
}

/// spec: gateway-40
#[test]
fn questions_wait_for_a_missing_controller_only_until_it_is_known_to_be_missing() {
    story(async |world| {
        let start = Instant::now();
        let mut controller = world.controller();
        let (mut ann, mut model) = world.talking().await;
        // Without tools, there is nothing to wait for.
        ann.sets_rule(json!({ "name": "plain", "service": "anthropic", "model": "m" })).await;
        ann.says(json!({ "text": "Hello", "rule": "plain" }));
        model.serves(stop("Hello.")).await;
        ann.reply().await;
        // A cancelled turn does not wait.
        ann.says(json!({ "text": "What time is it?" }));
        sleep(Duration::from_secs(1)).await;
        assert_eq!(ann.asks("cancel", json!({ "conversation": "default" })).await["cancelled"], true);
        assert_eq!(ann.reply().await["error_type"], "cancelled");
        assert!(start.elapsed() < Duration::from_secs(2), "{:?}", start.elapsed());
        ann.says(json!({ "text": "What time is it?" }));
        model.serves(stop("Late.")).await;
        assert_eq!(ann.reply().await["content"], "Late.");
        assert_eq!(start.elapsed().as_secs(), 8);
        ann.says(json!({ "text": "And now?" }));
        model.serves(stop("Later.")).await;
        ann.reply().await;
        assert_eq!(start.elapsed().as_secs(), 8, "it is known to be missing");
        let reply = ann.uses("two", json!({})).await;
        assert_refused(&reply, "not_found", "Tool 'two' not found");
        assert_contains(&reply["message"], "I have no tool for that. The controller is not connected.");
        // The controller comes after all, and leaves again. Its tools are now known to be its own.
        controller.greets_with(zwave_tools()).await;
        ann.sees_link("ready").await;
        drop(controller);
        ann.sees_link("degraded").await;
        assert_refused(&ann.uses("list_devices", json!({})).await, "unavailable", "");
        assert_refused(&ann.uses("two", json!({})).await, "not_found", "");
    });
}

#[test]
fn a_closed_line_is_tried_again_for_ever() {
    story(async |world| {
        drop(world.controller());
        let mut person = world.person("ann").await;
        person.sees_link("degraded").await;
        sleep(Duration::from_secs(3600)).await;
        person.gets_an_echo().await;
    });
    // A closed line fails at once, and must neither make the hub spin nor flood the log.
    assert!(log_text().lines().count() < 300, "{} lines", log_text().lines().count());
}
