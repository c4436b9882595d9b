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
        assert_not_logged("not all tools fit");
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
        assert_eq!(reply["error"], "the question is larger than the hub can send");
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
        assert_logged("WARN chat: not all tools fit into a question");
    });
}
