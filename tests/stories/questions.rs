//! What the hub asks models has room in a packet, and for all tools if there is a way.

use host_sim::broker::{Limits, Options};
use serde_json::{Value, json};
use tokio::time::{Duration, Instant};

use crate::calls;
use crate::model::{QUESTION, REPLY, a_model, calls, stop};
use crate::world::{World, log_text};

/// The tools of both are all there: the second question waits until the first has left.
#[tokio::test(start_paused = true)]
async fn two_questions_at_once_both_have_all_tools() {
    let world = World::new();
    world
        .tell(async {
            let (_controller, mut person) = calls::a_home(&world).await;
            let mut model = a_model(&world).await;
            for id in ["one", "two"] {
                person.says(json!({ "text": "Hi", "conversation": id }));
            }
            let mut counts = Vec::new();
            for _ in 0..2 {
                let question = model.hears(QUESTION).await;
                counts.push(question.json()["tools"].as_array().expect("tools").len());
                model.answers(&question, &stop("Hello."));
                person.hears(REPLY).await;
            }
            assert_eq!(counts, [hub_core::tools::TOOLS.len() + 2; 2]);
            assert!(!log_text().contains("not all tools fit"), "{}", log_text());
        })
        .await;
}

/// A tool with much to say about itself.
fn a_tool(number: u32) -> Value {
    let (name, schema) = (format!("tool_{number}"), json!({ "type": "object" }));
    json!({ "name": name, "description": "d".repeat(300), "inputSchema": schema })
}

/// In a long conversation the oldest turns make place for tools, not the other way round.
#[tokio::test(start_paused = true)]
async fn a_long_conversation_keeps_all_its_tools() {
    let world = World::new();
    world
        .tell(async {
            let mut controller = world.controller();
            let mut person = world.person("ann").await;
            controller.greets_with((0..10).map(a_tool).collect()).await;
            person.sees_link("ready").await;
            let mut model = a_model(&world).await;
            let mut longest = 0;
            for turn in 0..12 {
                let said = format!("Turn {turn}: {}", "\"why?\" ".repeat(40));
                person.says(json!({ "text": said }));
                let question = model.hears(QUESTION).await;
                let body = question.json();
                assert_eq!(body["tools"].as_array().map(Vec::len), Some(hub_core::tools::TOOLS.len() + 10));
                let messages = body["messages"].as_array().expect("messages").clone();
                // Whole turns, from a person's words to those that were just said.
                assert!(
                    messages.len() % 2 == 1
                        && messages.iter().step_by(2).all(|message| message["role"] == "user")
                );
                assert_eq!(messages.last().expect("one")["content"], json!(said));
                longest = longest.max(messages.len());
                model.answers(&question, &stop(&"\"so\" ".repeat(60)));
                person.hears(REPLY).await;
            }
            assert!(longest >= 5, "{longest}");
            assert!(log_text().contains("oldest turns are left out"), "{}", log_text());
        })
        .await;
}

/// A question that no packet of the broker's can hold is given up at once, and nothing else stands still for it.
#[tokio::test(start_paused = true)]
async fn a_question_that_the_broker_does_not_take_is_given_up() {
    let limits = Limits { packet_size: 6000, ..Limits::default() };
    let world = World::with(Options { limits, ..Options::default() });
    world
        .tell(async {
            let mut person = world.person("ann").await;
            person.sees_online().await;
            let start = Instant::now();
            person.calls("echo", json!({ "a": 1 }));
            person.says(json!({ "text": "Hi" }));
            assert_eq!(person.gets().await["success"], true);
            let reply = person.hears(REPLY).await.json();
            assert_eq!(reply["error"], "the question is larger than the hub can send");
            assert_eq!(start.elapsed(), Duration::ZERO);
        })
        .await;
}

/// If there is no room for all tools in the end, the controller's are those that stay.
#[tokio::test(start_paused = true)]
async fn a_turn_full_of_results_keeps_the_tools_of_the_home() {
    let world = World::new();
    world
        .tell(async {
            let mut controller = world.controller();
            let mut person = world.person("ann").await;
            controller.greets_with((0..12).map(a_tool).collect()).await;
            person.sees_link("ready").await;
            let mut model = a_model(&world).await;
            person.says(json!({ "text": "Go" }));
            let question = model.hears(QUESTION).await;
            let quotes = json!({ "text": "\"".repeat(1100) });
            model.answers(&question, &calls(&[("echo", quotes.clone()), ("echo", quotes)]));
            let question = model.hears(QUESTION).await.json();
            let tools = question["tools"].as_array().expect("tools");
            let names: Vec<_> = tools.iter().map(|tool| tool["name"].as_str().expect("a name")).collect();
            assert_eq!(names.iter().filter(|name| name.starts_with("tool_")).count(), 12, "{names:?}");
            assert!(names.len() < hub_core::tools::TOOLS.len() + 12, "{names:?}");
            assert!(log_text().contains("WARN chat: not all tools fit into a question"), "{}", log_text());
        })
        .await;
}
