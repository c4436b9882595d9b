//! Approvals that wait: they keep nobody else from the hub, are shown again after a restart, and bursts of commands are queued.

use std::collections::BTreeSet;

use host_zwave::{Call, Device, DeviceState, Home};
use hub_core::limits;
use world::model::{calls, stop};
use world::prelude::*;

use crate::home::at_home;

fn unlock() -> (&'static str, Value) {
    ("lock_door", json!({ "action": "unlock" }))
}

/// The next approval that waits.
async fn waits(person: &mut Client) -> Value {
    loop {
        let message = person.next(Duration::from_secs(70)).await.expect("an approval");
        if message.topic.starts_with("hearthwave/story/approval/") {
            let approval = message.json();
            if approval["state"] == "waiting" {
                return approval;
            }
        }
    }
}

/// Has a model ask for approval in a conversation.
async fn pends(ann: &mut Client, model: &mut Client, conversation: &str) -> Value {
    ann.says(json!({ "text": "Unlock it", "conversation": conversation }));
    model.serves(calls(&[unlock()])).await;
    waits(ann).await
}

#[test]
fn two_pending_approvals_leave_a_turn_and_two_calls_free() {
    at_home(async |world, home, ann| {
        let mut model = world.model().await;
        let first = pends(ann, &mut model, "porch").await;
        let second = pends(ann, &mut model, "attic").await;
        assert_ne!(first["id"], second["id"]);

        // Somebody else talks. Their turn runs for as long as the model takes.
        ann.says(json!({ "text": "Hello", "conversation": "kitchen" }));
        let question = model.hears_question().await;
        // Meanwhile two calls are in work, and a third one waits for its turn.
        for number in 0..3 {
            ann.sends("tool/call", json!({ "name": "echo", "arguments": { "number": number } }));
        }
        for number in 0..3 {
            assert_eq!(ann.result().await["result"]["echo"]["number"], number);
        }
        // A third approval is refused at once, and nothing is sent.
        model.answers(&question, calls(&[unlock()]));
        let asked = Instant::now();
        let question = model.hears_question().await;
        let said = String::from_utf8_lossy(&question.payload).into_owned();
        assert!(said.contains("too many approvals are pending; answer one first"), "{said}");
        assert!(asked.elapsed() < Duration::from_secs(1), "{:?}", asked.elapsed());
        model.answers(&question, stop("Later."));
        assert_eq!(ann.reply().await["content"], "Later.");
        assert_eq!(home.record().calls().len(), 0);

        // Those that wait are decided.
        ann.asks("approve", json!({ "id": first["id"], "allow": false })).await;
        ann.asks("approve", json!({ "id": second["id"], "allow": true })).await;
        for _ in 0..2 {
            model.serves(stop("Done.")).await;
        }
        assert_eq!(home.record().calls().len(), 1);
    });
}

#[test]
fn a_pending_approval_of_a_large_turn_leaves_room_for_large_calls() {
    at_home(async |world, home, ann| {
        let mut model = world.model().await;
        let long =
            |conversation: &str| json!({ "text": "Unlock it. ".repeat(60), "conversation": conversation });
        let large_call = || json!({ "name": "echo", "arguments": { "text": "x".repeat(600) } });
        ann.says(long("porch"));
        model.serves(calls(&[unlock()])).await;
        let approval = waits(ann).await;
        assert_eq!(ann.asks("tool/call", large_call()).await["success"], true);
        // Another large turn is refused at once. A short one runs, and beside it large and short calls.
        ann.says(long("kitchen"));
        assert_refused(&ann.reply().await, "busy", "");
        ann.says(json!({ "text": "Hello", "conversation": "kitchen" }));
        let question = model.hears_question().await;
        assert_eq!(ann.asks("tool/call", large_call()).await["success"], true);
        for number in 0..2 {
            ann.sends("tool/call", json!({ "name": "echo", "arguments": { "number": number } }));
        }
        for number in 0..2 {
            assert_eq!(ann.result().await["result"]["echo"]["number"], number);
        }
        model.answers(&question, stop("Hello."));
        assert_eq!(ann.reply().await["content"], "Hello.");
        ann.asks("approve", json!({ "id": approval["id"], "allow": false })).await;
        model.serves(stop("All right.")).await;
        ann.reply().await;
        assert_eq!(home.record().calls().len(), 0);
    });
}

#[test]
fn an_approval_of_a_direct_call_waits_beside_that_of_a_conversation() {
    at_home(async |world, home, ann| {
        let mut model = world.model().await;
        ann.sets("gate.direct", json!("on")).await;
        ann.sends("device/set", json!({ "device": "front door", "action": "unlock" }));
        let direct = waits(ann).await;
        assert_eq!(direct["who"], "person");
        let refused = ann.uses("lock_door", json!({ "action": "unlock" })).await;
        assert_refused(&refused, "denied", "too many approvals are pending; answer one first");
        let turn = pends(ann, &mut model, "porch").await;
        assert_eq!(turn["who"], "model");
        ann.says(json!({ "text": "Hello", "conversation": "kitchen" }));
        model.serves(stop("Hello.")).await;
        assert_eq!(ann.reply().await["content"], "Hello.");
        ann.gets_an_echo().await;
        ann.asks("approve", json!({ "id": direct["id"], "allow": true })).await;
        assert_eq!(ann.gets("device/set").await["success"], true);
        ann.asks("approve", json!({ "id": turn["id"], "allow": false })).await;
        model.serves(stop("All right.")).await;
        assert_eq!(home.record().calls().len(), 1);
    });
}

#[test]
fn whoever_says_something_else_is_told_what_is_pending_and_how_to_answer() {
    at_home(async |world, _, ann| {
        let mut model = world.model().await;
        let approval = pends(ann, &mut model, "porch").await;
        ann.says(json!({ "text": "What is the weather?", "conversation": "porch" }));
        assert_eq!(
            ann.reply().await["content"],
            "I am waiting for approval to unlock Front Door. Say no, or allow it in your app."
        );
        ann.sets("gate.pin", json!("4711")).await;
        ann.says(json!({ "text": "no", "conversation": "porch" }));
        ann.reply().await;
        model.serves(stop("All right.")).await;
        ann.reply().await;
        let again = pends(ann, &mut model, "porch").await;
        assert_ne!(approval["id"], again["id"]);
        ann.says(json!({ "text": "What is the weather?", "conversation": "porch" }));
        assert_eq!(
            ann.reply().await["content"],
            "I am waiting for approval to unlock Front Door. Say the PIN, say no, or allow it in your app."
        );
    });
}

#[test]
fn a_decision_gets_through_however_busy_the_hub_is() {
    story(async |world| {
        let (mut controller, mut ann) = world.connected().await;
        ann.sets("gate.direct", json!("on")).await;
        ann.sets("gate.tools", json!("ask")).await;
        // The controller does not answer: every slot is taken, and the queue is full.
        for _ in 0..60 {
            ann.sends("tool/call", json!({ "name": "list_devices", "arguments": {} }));
        }
        controller.hears_call().await;
        let decision = json!({ "id": 1, "allow": true });
        let asked = Instant::now();
        assert_refused(
            &ann.asks("approve", decision).await,
            "not_found",
            "No approval with this 'id' is pending",
        );
        assert!(asked.elapsed() < Duration::from_secs(1), "{:?}", asked.elapsed());
    });
}

#[test]
fn pending_approvals_are_published_again_when_home_assistant_or_the_broker_restarts() {
    at_home(async |world, _, ann| {
        let mut model = world.model().await;
        let approval = pends(ann, &mut model, "porch").await;
        let assistant = world.client("assistant", &[]).await;
        assistant.publish(Publish::new("homeassistant/status", "online"));
        assert_eq!(waits(ann).await["id"], approval["id"]);
        // The broker forgets the hub's session.
        world.broker().forget_session(CLIENT);
        assert_eq!(waits(ann).await["id"], approval["id"]);
        // Whoever comes late finds it on the retained topic.
        let mut late = world.client("late", &["hearthwave/story/approval"]).await;
        let message = late.next(Duration::from_secs(5)).await.expect("what is pending");
        assert_eq!(
            (&message.json()["id"], &message.json()["what"]),
            (&approval["id"], &json!("unlock Front Door"))
        );
    });
}

#[test]
fn after_a_restart_of_the_hub_nothing_is_shown_as_pending_and_ids_are_new() {
    at_home(async |world, _, ann| {
        let mut model = world.model().await;
        let approval = pends(ann, &mut model, "porch").await;
        let mut panel = world.client("panel", &["hearthwave/story/approval"]).await;
        let next = async |panel: &mut Client| panel.next(Duration::from_secs(20)).await.expect("news").json();
        assert_eq!(next(&mut panel).await["id"], approval["id"]);
        world.restarts_the_hub().await;
        assert_eq!(next(&mut panel).await, json!({ "id": 0, "state": "none", "what": "" }));
        let mut late = world.client("late", &["hearthwave/story/approval"]).await;
        assert_eq!(next(&mut late).await["id"], 0, "nothing is retained as pending");
        ann.sees_online().await;
        crate::home::knows_devices(ann).await;
        let stale = ann.asks("approve", json!({ "id": approval["id"], "allow": true })).await;
        assert_refused(&stale, "not_found", "");
        let again = pends(ann, &mut model, "porch").await;
        assert_ne!(again["id"], approval["id"]);
        let stale = ann.asks("approve", json!({ "id": approval["id"], "allow": true })).await;
        assert_refused(&stale, "not_found", "");
    });
}

#[test]
fn a_press_never_allows_what_has_just_taken_the_place_of_what_was_shown() {
    at_home(async |world, _, ann| {
        let mut model = world.model().await;
        let mut panel = world.client("panel", &["hearthwave/story/approval"]).await;
        let next = async |panel: &mut Client| panel.next(Duration::from_secs(70)).await.expect("news").json();
        assert_eq!(next(&mut panel).await["id"], 0);
        let first = pends(ann, &mut model, "porch").await;
        let second = pends(ann, &mut model, "attic").await;
        assert_eq!(next(&mut panel).await["id"], first["id"], "the oldest is shown");
        ann.asks("approve", json!({ "id": first["id"], "allow": false })).await;
        assert_eq!(next(&mut panel).await["id"], 0, "then nothing is, for a moment");
        let blank = Instant::now();
        assert_eq!(next(&mut panel).await["id"], second["id"]);
        assert!(blank.elapsed() >= Duration::from_millis(2900), "{:?}", blank.elapsed());
    });
}

#[test]
fn a_burst_of_commands_is_executed_in_order() {
    let home = Home::fast(7);
    Setup::new().home(&home).story(async |world| {
        let mut ann = world.person("ann").await;
        crate::home::knows_devices(&mut ann).await;
        // As Home Assistant sends them: without acknowledgement and without a Response Topic.
        for number in 0..16 {
            let set =
                json!({ "device": "Hall Light", "action": "level", "value": 20 + number, "transaction": number });
            let payload = set.to_string();
            ann.publish(ann.request("device/set", payload).qos(QoS::AtMostOnce));
        }
        let mut done = Vec::new();
        for _ in 0..16 {
            let reply = ann.gets("device/set").await;
            assert_eq!(reply["success"], true, "{reply}");
            done.push(reply["transaction"].as_u64().expect("a number"));
        }
        done.sort_unstable();
        assert_eq!(done, (0..16).collect::<Vec<_>>());
        let made = home.record().calls();
        let level = |call: &Call| call.arguments.as_ref().and_then(|arguments| arguments["level"].as_u64());
        assert_eq!(made.iter().map(level).collect::<Vec<_>>(), (20..36).map(Some).collect::<Vec<_>>());
    });
}

/// Home Assistant switches on a whole house, with the commands from the announcements. Each light has its own command.
#[test]
fn a_burst_of_commands_to_different_devices_is_executed() {
    const LIGHTS: [&str; 16] = [
        "Spot A", "Spot B", "Spot C", "Spot D", "Spot E", "Spot F", "Spot G", "Spot H", "Spot I", "Spot J",
        "Spot K", "Spot L", "Spot M", "Spot N", "Spot O", "Spot P",
    ];
    let room = "Gallery";
    let light = |(node, name)| {
        let state = DeviceState::Switch(false);
        Device { node, name, room, state, battery: None, is_alive: true }
    };
    // A fast network, and a realistic one in which a command takes time.
    for home in [Home::fast(7), Home::new(7)] {
        let home = (100..).zip(LIGHTS).map(light).fold(home, Home::with_device);
        Setup::new().home(&home).story(async |world| {
            let mut ann = world.person("ann").await;
            crate::home::knows_devices(&mut ann).await;
            let mut assistant = world.client("assistant", &["homeassistant/device/story/+/config"]).await;
            let mut commands = Vec::new();
            while commands.len() < LIGHTS.len() {
                let announced =
                    assistant.next(Duration::from_secs(20)).await.expect("an announcement").json();
                if announced["dev"]["sa"] == room {
                    let command = announced["cmps"]["main"]["cmd_tpl"].as_str().expect("a template");
                    let payload = command.replace("{{value|lower}}", "on");
                    let topic = announced["cmd_t"].as_str().expect("a topic").to_owned();
                    commands.push((topic, payload));
                }
            }
            for (topic, payload) in &commands {
                assistant.publish(Publish::new(topic, payload).qos(QoS::AtMostOnce));
            }
            let mut done = BTreeSet::new();
            for _ in LIGHTS {
                let reply = ann.gets("device/set").await;
                assert_eq!(reply["success"], true, "{reply}");
                done.insert(reply["device"].to_string());
            }
            assert_eq!(done.len(), LIGHTS.len());
            for name in LIGHTS {
                assert_eq!(home.device(name).expect(name).state, DeviceState::Switch(true), "{name}");
            }
            assert_not_logged("Too many requests at once");
        });
    }
}

fn list_devices() -> Value {
    json!({ "name": "list_devices", "arguments": {} })
}

/// Takes every slot: one with a turn, whose question this returns, and the others with calls that the controller does not answer.
async fn takes_all_slots(ann: &mut Client, model: &mut Client) -> Message {
    ann.says(json!({ "text": "Hello", "conversation": "porch" }));
    let question = model.hears_question().await;
    for _ in 1..limits::JOBS {
        ann.sends("tool/call", list_devices());
    }
    question
}

#[test]
fn a_flood_of_turns_leaves_room_for_commands_and_is_refused_in_words() {
    story(async |world| {
        let (mut controller, mut ann) = world.connected().await;
        let mut model = world.model().await;
        takes_all_slots(&mut ann, &mut model).await;
        let call = controller.hears_call().await;
        // A satellite can do no more than talk, on as many Response Topics as it likes and on none, in short and long texts.
        let mallory = world.client("mallory", &[]).await;
        for number in 0..60 {
            let text = "x".repeat(number % 4 * 50);
            let chat = json!({ "text": text, "conversation": format!("c{number}") }).to_string();
            let chat = mallory.request("chat", chat);
            mallory.publish(match number % 3 {
                0 => chat,
                _ => chat.reply_to(&format!("reply/mallory/{number}")),
            });
        }
        let text = ann.hears("log").await.json()["text"].to_string();
        assert!(text.contains("Too many requests at once"), "{text}");
        // Commands of others are queued, not refused, though they have no Response Topic either.
        for number in 0..5 {
            ann.sends("tool/call", json!({ "name": "echo", "arguments": { "number": number } }));
        }
        // The controller answers all that it is asked.
        controller.replies(&call, "nothing").await;
        let serves = async {
            loop {
                controller.serves("nothing").await;
            }
        };
        let hears = async {
            let mut echoed = 0;
            while echoed < 5 {
                let reply = ann.result().await;
                assert_eq!(reply["success"], true, "{reply}");
                if let Some(number) = reply["result"]["echo"]["number"].as_u64() {
                    assert_eq!(number, echoed);
                    echoed += 1;
                }
            }
        };
        tokio::select! {
            () = serves => {}
            () = hears => {}
        }
    });
}

#[test]
fn a_flood_of_calls_leaves_room_for_turns() {
    story(async |world| {
        let (mut controller, mut ann) = world.connected().await;
        let mut model = world.model().await;
        let question = takes_all_slots(&mut ann, &mut model).await;
        controller.hears_call().await;
        let mallory = world.client("mallory", &[]).await;
        for _ in 0..60 {
            mallory.publish(mallory.request("tool/call", list_devices().to_string()));
        }
        assert_contains(&ann.hears("log").await.json()["text"], "Too many requests at once");
        let begun = Instant::now();
        ann.says(json!({ "text": "Hello", "conversation": "attic" }));
        ann.sends("cancel", json!({ "conversation": "kitchen" }));
        // As soon as the first turn has ended, the others have its slot: the queued calls have to leave it to them.
        model.answers(&question, stop("Hello."));
        assert_eq!(ann.reply().await["content"], "Hello.");
        model.serves(stop("Hello again.")).await;
        assert_eq!(ann.reply().await["content"], "Hello again.");
        assert_eq!(ann.gets("cancel").await["success"], true);
        assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
    });
}
