//! A question to a model fits into a packet, with all tools if possible.

use host_sim::broker::{Limits, Options};
use world::model::{calls, stop};
use world::prelude::*;

/// Both questions have all tools: the second waits until the first is acknowledged.
#[test]
fn two_questions_at_once_both_have_all_tools() {
    story(async |world| {
        // Together they are larger than what can wait for an acknowledgement.
        let (_controller, mut person) = world.connected_with((0..10).map(a_long_tool).collect()).await;
        let mut model = world.model().await;
        for id in ["one", "two"] {
            person.says(json!({ "text": "Hi", "conversation": id }));
        }
        let mut counts = Vec::new();
        for _ in 0..2 {
            let question = model.hears_question().await;
            counts.push(count(&question.json()["tools"]));
            model.answers(&question, stop("Hello."));
            person.reply().await;
        }
        assert_eq!(counts, [hub_core::tools::TOOLS.len() + 10; 2]);
        assert_not_logged("has no room for all tools");
        assert_not_logged("no room for all tools");
    });
}

/// A tool with a long description.
fn a_long_tool(number: u32) -> Value {
    let (name, schema) = (format!("tool_{number}"), json!({ "type": "object" }));
    json!({ "name": name, "description": "d".repeat(300), "inputSchema": schema })
}

/// In a long conversation the oldest turns are left out before any tool.
#[test]
fn a_long_conversation_keeps_all_its_tools() {
    story(async |world| {
        let (_controller, mut person) = world.connected_with((0..10).map(a_long_tool).collect()).await;
        let mut model = world.model().await;
        let mut longest = 0;
        for turn in 0..12 {
            let said = format!("Turn {turn}: {}", "\"why?\" ".repeat(40));
            person.says(json!({ "text": said }));
            let question = model.hears_question().await;
            let body = question.json();
            assert_eq!(count(&body["tools"]), hub_core::tools::TOOLS.len() + 10);
            let messages = body["messages"].as_array().expect("messages").clone();
            // Whole turns, up to the current message.
            assert!(
                messages.len() % 2 == 1
                    && messages.iter().step_by(2).all(|message| message["role"] == "user")
            );
            assert_eq!(messages.last().expect("one")["content"], json!(said));
            longest = longest.max(messages.len());
            model.answers(&question, stop(&"\"so\" ".repeat(60)));
            person.reply().await;
        }
        assert!(longest >= 5, "{longest}");
        assert_logged("oldest turns are left out");
    });
}

/// A question that even without tools is larger than the broker's maximum packet fails at once, and blocks nothing else.
#[test]
fn a_question_that_the_broker_does_not_take_is_given_up() {
    let limits = Limits { packet_size: 512, ..Limits::default() };
    Setup::new().broker(Options { limits, ..Options::default() }).story(async |world| {
        let mut person = world.person("ann").await;
        let start = Instant::now();
        person.calls("echo", json!({ "a": 1 }));
        person.says(json!({ "text": "Hi" }));
        assert_eq!(person.result().await["success"], true);
        let reply = person.reply().await;
        assert_eq!(reply["error"], "the question is larger than the hub can send, or than the broker takes");
        assert_eq!(start.elapsed(), Duration::ZERO);
        assert_logged("does not fit into the 512 bytes that the broker takes");
    });
}

/// If not all tools fit, those of the controller are kept.
#[test]
fn a_turn_full_of_results_keeps_the_tools_of_the_home() {
    story(async |world| {
        let (_controller, person) = world.connected_with((0..12).map(a_long_tool).collect()).await;
        let mut model = world.model().await;
        person.says(json!({ "text": "Go" }));
        let quotes = json!({ "text": "\"".repeat(1100) });
        model.serves(calls(&[("echo", quotes.clone()), ("echo", quotes)])).await;
        let question = model.hears_question().await.json();
        let tools = question["tools"].as_array().expect("tools");
        let names: Vec<_> = tools.iter().map(|tool| tool["name"].as_str().expect("a name")).collect();
        assert_eq!(names.iter().filter(|name| name.starts_with("tool_")).count(), 12, "{names:?}");
        assert!(names.len() < hub_core::tools::TOOLS.len() + 12, "{names:?}");
        assert_logged("WARN chat: a question to the model has no room for all tools");
    });
}

/// The names of the tools in a question.
fn names(question: &Value) -> Vec<String> {
    let tools = question["tools"].as_array().expect("tools");
    tools.iter().map(|tool| tool["name"].as_str().expect("a name").to_owned()).collect()
}

/// What is left out is said once, by name, wherever people look; and the conversation does not pay for it.
#[test]
fn tools_without_room_are_named_once() {
    story(async |world| {
        let many: Vec<_> = (0..30).map(a_long_tool).collect();
        let (mut controller, mut ann) = world.connected_with(json!(many)).await;
        let mut model = world.model().await;
        let mut bob = world.person("bob").await;
        bob.sees_link("ready").await;
        let (mut left_out, mut times) = (Vec::new(), 1);
        for turn in 0..12 {
            let said = format!("Turn {turn}: {}", "why? ".repeat(60));
            ann.says(json!({ "text": said }));
            let question = model.serves(stop(&"so ".repeat(90))).await.json();
            ann.reply().await;
            let offered = names(&question);
            assert!((0..30).all(|number| offered.contains(&format!("tool_{number}"))), "{offered:?}");
            let own = hub_core::tools::TOOLS.iter().map(|tool| format!("hub_{}", tool.name));
            let missing: Vec<_> = own.filter(|name| !offered.contains(name)).collect();
            if turn == 0 {
                assert!(!missing.is_empty());
                left_out = missing.clone();
                let info = bob.hears("info").await.json();
                assert_eq!(info["tools_left_out"], json!(left_out), "{info}");
                let notice = bob.hears("log").await.json();
                let words = format!(
                    "chat: a question to the model has no room for all tools; allow only those it needs in the rule \
                     (allowed_tools). Left out: {}",
                    left_out.join(", ")
                );
                assert_eq!(notice, json!({ "level": "warning", "text": words }));
                assert_logged(&format!("WARN {words}"));
            }
            // Two turns of 600 bytes are among the last 2048, beside the current one.
            let messages = question["messages"].as_array().expect("messages");
            assert_eq!(messages.len(), 2 * turn.min(2) + 1, "{turn}");
            assert_eq!(messages.last().expect("one")["content"], json!(said));
            if missing.iter().any(|name| !left_out.contains(name)) {
                // A longer conversation needs more room: what is new is said, once.
                left_out.extend(missing);
                times += 1;
                assert_contains(&bob.hears("log").await.json()["text"], "Left out: ");
            }
        }
        assert_logged_times(times, "no room for all tools");
        assert!(times < 4, "a set that grows a little with the first turns");
        // A rule that names its tools has room for them, and nothing is to be said.
        let tools = json!({ "enabled": true, "allowed_tools": ["tool_7", "hub_factory_reset"] });
        ann.sets_rule(json!({ "name": "few", "tools": tools })).await;
        ann.says(json!({ "text": "Hi", "rule": "few" }));
        let question = model.serves(stop("Hello.")).await.json();
        assert_eq!(names(&question), ["tool_7", "hub_factory_reset"]);
        assert!(count(&question["messages"]) > 5, "there is room for more");
        ann.reply().await;
        // With other tools it is another matter, and said again.
        let more: Vec<_> = (0..32).map(a_long_tool).collect();
        controller.changes_its_tools().await;
        controller.lists(json!(more)).await;
        sleep(Duration::from_secs(1)).await;
        ann.says(json!({ "text": "Hi" }));
        model.serves(stop("Hello.")).await;
        assert_contains(&bob.hears("log").await.json()["text"], "Left out: ");
        assert_logged_times(times + 1, "no room for all tools");
    });
}
