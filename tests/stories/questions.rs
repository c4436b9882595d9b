//! A question to a model fits into a packet, with all tools if possible.

use host_broker::{Limits, Options};
use host_zwave::Home;
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
        assert_eq!(counts, [everyday().len() + 10; 2]);
        assert_not_logged("does not fit into one request");
        assert_not_logged("does not fit into one request");
    });
}

/// So it is if a relay comes back, and both are asked again.
#[test]
fn two_repeated_questions_both_have_all_tools() {
    story(async |world| {
        let (_controller, mut person) = world.connected_with((0..16).map(a_long_tool).collect()).await;
        let mut model = world.model().await;
        let mut first = Vec::new();
        for id in ["one", "two"] {
            person.says(json!({ "text": "Hi", "conversation": id }));
            first.push(model.hears_question().await);
        }
        let relays_are = |state: &str| {
            let told = json!({ "state": state }).to_string();
            model.publish(Publish::new("hearthwave/relay/availability", told).retained());
        };
        relays_are("offline");
        sleep(Duration::from_secs(1)).await;
        relays_are("online");
        let back = Instant::now();
        for question in first {
            let again = model.hears_question().await;
            assert_eq!(again.correlation, question.correlation);
            assert_eq!(count(&again.json()["tools"]), everyday().len() + 16);
            model.answers(&again, stop("Hello."));
            person.reply().await;
        }
        assert!(back.elapsed() < Duration::from_secs(2), "after {:?}", back.elapsed());
        assert_not_logged("does not fit into one request");
    });
}

/// A tool with a long description.
fn a_long_tool(number: u32) -> Value {
    let (name, schema) = (format!("tool_{number}"), json!({ "type": "object" }));
    json!({ "name": name, "description": "d".repeat(300), "inputSchema": schema })
}

/// The hub's tools that models are offered unless a rule names others.
fn everyday() -> Vec<String> {
    let tools = hub_core::tools::TOOLS.iter().filter(|tool| !tool.on_request);
    tools.map(|tool| format!("hub_{}", tool.name)).collect()
}

/// A long conversation keeps its words and its tools: the person does not have to repeat anything, and the simulator
/// does not log warnings about its own defaults.
#[test]
fn a_long_conversation_keeps_its_words_and_its_tools() {
    Setup::new().home(&Home::default()).story(async |world| {
        let mut person = world.person("ann").await;
        let controllers = person.sees_link("ready").await["controller"]["tools"].clone();
        let tools = everyday().len() + controllers.as_u64().expect("a number") as usize;
        let mut model = world.model().await;
        for turn in 0..12 {
            let said = format!("Turn {turn}: {}", "\"why?\" ".repeat(15));
            person.says(json!({ "text": said }));
            let question = model.hears_question().await;
            let body = question.json();
            assert_eq!(count(&body["tools"]), tools);
            let messages = body["messages"].as_array().expect("messages").clone();
            assert_eq!(messages.len(), 2 * turn + 1);
            assert_eq!(messages.last().expect("one")["content"], json!(said));
            model.answers(&question, stop(&"\"so\" ".repeat(20)));
            person.reply().await;
        }
        assert_not_logged("has no room");
    });
}

/// When a person asks about a turn with many devices, the model still knows what was said.
#[test]
fn a_person_can_ask_about_a_turn_with_many_devices() {
    story(async |world| {
        let (mut controller, mut ann) = world.connected_with((0..30).map(a_long_tool).collect()).await;
        let mut model = world.model().await;
        ann.sets("gate.unmarked", json!("allow")).await;
        ann.says(json!({ "text": "Good night, everything off" }));
        let round: Vec<_> = (0..8).map(|lamp| (format!("tool_{lamp}"), json!({ "lamp": lamp }))).collect();
        let round: Vec<_> =
            round.iter().map(|(name, arguments)| (name.as_str(), arguments.clone())).collect();
        model.serves(calls(&round)).await;
        for _ in 0..8 {
            let call = controller.hears_call().await;
            controller
                .answers(&call, json!({ "content": [{ "type": "text", "text": "off ".repeat(100) }] }))
                .await;
        }
        model.serves(stop("I switched off eight lamps.")).await;
        ann.reply().await;
        ann.says(json!({ "text": "why did you do that?" }));
        let question = model.serves(stop("Because you said good night.")).await.json();
        ann.reply().await;
        let said: Vec<_> = question["messages"]
            .as_array()
            .expect("messages")
            .iter()
            .map(|message| message["content"].clone())
            .collect();
        for words in ["Good night, everything off", "I switched off eight lamps.", "why did you do that?"] {
            assert!(said.contains(&json!(words)), "{said:#?}");
        }
    });
}

/// A question that even without tools is larger than the broker's maximum packet fails at once, and blocks nothing else.
#[test]
fn a_question_that_the_broker_does_not_take_is_given_up() {
    let limits = Limits { packet_size: 512, ..Limits::default() };
    Setup::new().broker(Options { limits, ..Options::default() }).story(async |world| {
        let mut person = world.person("ann").await;
        while !log_text().contains("MCP connection failed") {
            sleep(Duration::from_secs(1)).await;
        }
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
        let (_controller, person) = world.connected_with((0..20).map(a_long_tool).collect()).await;
        let mut model = world.model().await;
        person.says(json!({ "text": "Go" }));
        let quotes = json!({ "text": "\"".repeat(1100) });
        model.serves(calls(&[("echo", quotes.clone()), ("echo", quotes)])).await;
        let question = model.hears_question().await.json();
        let tools = question["tools"].as_array().expect("tools");
        let names: Vec<_> = tools.iter().map(|tool| tool["name"].as_str().expect("a name")).collect();
        assert_eq!(names.iter().filter(|name| name.starts_with("tool_")).count(), 20, "{names:?}");
        assert!(names.len() < everyday().len() + 20, "{names:?}");
        assert_logged("WARN chat: the tool list does not fit into one request");
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
        let many: Vec<_> = (0..32).map(a_long_tool).collect();
        let all = [(0..32).map(|number| format!("tool_{number}")).collect(), everyday()].concat();
        let (mut controller, mut ann) = world.connected_with(json!(many)).await;
        let mut model = world.model().await;
        let mut bob = world.person("bob").await;
        bob.sees_link("ready").await;
        let mut left_out: Vec<String> = Vec::new();
        for turn in 0..8 {
            let said = format!("Turn {turn}: {}", "why? ".repeat(60));
            ann.says(json!({ "text": said }));
            let question = model.serves(stop(&"so ".repeat(90))).await.json();
            ann.reply().await;
            let offered = names(&question);
            let is_missing = |name: &&String| !offered.contains(name) || left_out.contains(name);
            let missing: Vec<_> = all.iter().filter(is_missing).cloned().collect();
            assert!(missing.len() < 20, "{missing:?}");
            // Words are never left out to make room for tools.
            let messages = question["messages"].as_array().expect("messages");
            assert_eq!(messages.len(), 2 * turn + 1, "{turn}");
            assert_eq!(messages.last().expect("one")["content"], json!(said));
            if missing.len() > left_out.len() {
                let info = bob.hears("info").await.json();
                assert_eq!(info["tools_left_out"], json!(missing), "{info}");
            }
            if turn == 0 {
                assert!(
                    !missing.is_empty() && missing.iter().all(|name| name.starts_with("hub_")),
                    "{missing:?}"
                );
                let notice = bob.hears("log").await.json();
                let words = format!(
                    "chat: the tool list does not fit into one request; allow only the needed tools in the rule \
                     (allowed_tools). Left out: {}",
                    missing.join(", ")
                );
                assert_eq!(notice, json!({ "level": "warning", "text": words }));
                assert_logged(&format!("WARN {words}"));
            }
            left_out = missing;
        }
        assert_logged_times(1, "does not fit into one request");
        // A rule that names its tools has room for them, and nothing is to be said.
        let tools = json!({ "enabled": true, "allowed_tools": ["tool_7", "hub_factory_reset"] });
        ann.sets_rule(json!({ "name": "few", "tools": tools })).await;
        ann.says(json!({ "text": "Hi", "rule": "few" }));
        let question = model.serves(stop("Hello.")).await.json();
        assert_eq!(names(&question), ["tool_7", "hub_factory_reset"]);
        assert!(count(&question["messages"]) > 5, "there is room for more");
        ann.reply().await;
        // With other tools it is another matter, and said again.
        let more: Vec<_> = (0..34).map(a_long_tool).collect();
        controller.changes_its_tools().await;
        controller.lists(json!(more)).await;
        sleep(Duration::from_secs(1)).await;
        ann.says(json!({ "text": "Hi" }));
        model.serves(stop("Hello.")).await;
        assert_contains(&bob.hears("log").await.json()["text"], "Left out: ");
        assert_logged_times(2, "does not fit into one request");
    });
}
