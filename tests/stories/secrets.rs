//! Secrets go in and never come out: not in replies, not on any topic, not on the console, not in the log.

use host_zwave::Home;
use hub_core::settings::SETTINGS;
use support::log::log_of;
use world::model::{calls, stop};
use world::prelude::*;

/// A value that each secret takes, and that is nowhere else.
fn secret(key: &str) -> &'static str {
    match key {
        "gate.pin" => "907153862417",
        "wifi.password" => "qvx-wifi-3141592",
        "broker.password" => "qvx-broker-2718281",
        other => panic!("the story needs a value for the secret {other}"),
    }
}

#[test]
fn secrets_are_never_read_back_logged_or_announced() {
    let home = Home::fast(7);
    Setup::new().home(&home).story(async |world| {
        let keys: Vec<_> =
            SETTINGS.iter().filter(|setting| setting.is_secret).map(|setting| setting.key).collect();
        assert_eq!(keys.len(), 3, "{keys:?}");
        let mut everybody = world.client("everybody", &["#"]).await;
        let (mut ann, mut model) = world.talking().await;
        crate::home::knows_devices(&mut ann).await;
        let mut console = world.console();
        for key in &keys {
            assert_eq!(ann.sets(key, json!(secret(key))).await["success"], true);
            // Wrong ones are refused without being repeated.
            for wrong in [json!({ "x": secret(key) }), json!([secret(key)]), json!(secret(key).repeat(30))] {
                let reply = ann.sets(key, wrong).await;
                assert_refused(&reply, "invalid_request", "");
            }
            let wrong = format!("{{\"key\":\"{key}\",\"value\":\"{}\"", secret(key));
            ann.publish(ann.request("config/set", wrong));
            assert_refused(&ann.gets("config/set").await, "invalid_json", "");
            let reply = ann.asks("config/get", json!({ "key": key })).await;
            assert_eq!(reply["success"], true, "{reply}");
        }
        ann.sets("broker.user", json!("story")).await;
        for name in ["config/get", "config/list", "health", "tool/list", "content/list", "device/list"] {
            ann.asks(name, json!({})).await;
        }
        // The PIN is said in a conversation: first a wrong one, then the right one. No model hears it.
        let heard = |text: &str| json!({ "text": text, "satellite": "porch" });
        ann.sends("transcript", heard("Hearthwave, unlock the front door"));
        model
            .serves(calls(&[("lock_door", json!({ "deviceName": "Front Door", "action": "unlock" }))]))
            .await;
        assert_contains(&ann.hears("speech").await.json()["text"], "Say the PIN");
        for (pin, answer) in [("907153862418", "That is not the PIN"), (secret("gate.pin"), "Thank you")] {
            ann.sends("transcript", heard(pin));
            assert_contains(&ann.hears("speech").await.json()["text"], answer);
        }
        model.serves(stop("It is open.")).await;
        ann.sends("transcript", heard("Hearthwave, what did I say?"));
        model.serves(stop("That I do not know.")).await;
        while ann.hears("speech").await.json()["text"] != "That I do not know." {}
        assert_eq!(home.device("Front Door").expect("it").state.to_string(), "unlocked");

        for key in &keys {
            console.types(&format!("show {key}")).await;
        }
        for line in ["show", "status", "log", "selftest", "help"] {
            console.types(line).await;
        }
        // With all of them in use.
        world.restarts_the_hub().await;
        sleep(Duration::from_secs(30)).await;
        ann.gets_an_echo().await;
        ann.asks("config/get", json!({})).await;

        let mut seen = 0;
        while let Some(message) = everybody.next(Duration::from_secs(5)).await {
            // What Ann sent is hers.
            if message.topic.contains("/request/") && !message.topic.contains("/llm/request/") {
                continue;
            }
            seen += 1;
            let text = String::from_utf8_lossy(&message.payload).into_owned();
            for key in &keys {
                assert!(!text.contains(secret(key)), "{key} is on {}: {text}", message.topic);
            }
        }
        assert!(seen > 20, "{seen} messages");
        for key in &keys {
            assert!(!console.seen.contains(secret(key)), "{key} is on the console:\n{}", console.seen);
            assert!(!log_text().contains(secret(key)), "{key} is in the log");
            assert!(!log_of("host_").contains(secret(key)), "{key} is in the simulator's log");
        }
    });
}
