//! Home Assistant: what the hub announces to it, and what it does with the hub. A real one is in `tests/home_assistant`.

use std::collections::{BTreeMap, BTreeSet};

use host_sim::wifi::{HOME, Wifi};
use host_zwave::Home;
use hub_core::Network;
use world::model::stop;
use world::prelude::*;

use crate::home::{at_home, knows_devices};

const PREFIX: &str = "homeassistant/device/story";

/// The announcements that come until there are so many, by what they are of: a device's id, or nothing for the hub.
async fn announced(client: &mut Client, count: usize) -> Vec<(String, Message)> {
    let mut found = Vec::new();
    while found.len() < count {
        let message = client.next(Duration::from_secs(20)).await.expect("an announcement");
        let of = message.topic.strip_prefix(PREFIX).and_then(|rest| rest.strip_suffix("/config"));
        if let Some(of) = of {
            found.push((of.trim_start_matches('/').to_owned(), message));
        }
    }
    found
}

/// What is retained for Home Assistant.
async fn kept(world: &World) -> BTreeMap<String, Value> {
    static COUNT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
    let name = format!("late-{}", COUNT.fetch_add(1, std::sync::atomic::Ordering::Relaxed));
    let mut late = world.client(&name, &["homeassistant/#"]).await;
    let mut kept = BTreeMap::new();
    while let Some(message) = late.next(Duration::from_secs(2)).await {
        let of = message.topic.trim_start_matches(PREFIX).trim_end_matches("/config");
        let of = of.trim_start_matches('/').to_owned();
        match message.payload.is_empty() {
            true => kept.remove(&of),
            false => kept.insert(of, message.json()),
        };
    }
    kept
}

#[test]
fn the_hub_and_every_device_are_announced() {
    let home = Home::fast(7);
    Setup::new().home(&home).story(async |world| {
        let mut assistant = world.client("assistant", &["homeassistant/#"]).await;
        let mut ann = world.person("ann").await;
        knows_devices(&mut ann).await;
        let devices = ann.asks_for_all("device/list", "devices", json!({})).await;
        let shown = |device: &&Value| device["kind"] != "unknown";
        let count = devices.iter().filter(shown).count();
        let announced = announced(&mut assistant, count + 1).await;
        assert_eq!(announced[0].0, "", "the hub is first: the others refer to it");
        let mut ids = BTreeSet::new();
        for (of, message) in &announced {
            let text = String::from_utf8_lossy(&message.payload).into_owned();
            assert!(!text.contains(['@', '$', '^']), "a mark is left: {text}");
            let announcement = message.json();
            for (name, entity) in announcement["cmps"].as_object().expect("entities") {
                let id = entity["uniq_id"].as_str().expect("an id");
                assert!(id.starts_with("hearthwave_story_") && ids.insert(id.to_owned()), "{of} {name}: {entity}");
            }
            if !of.is_empty() {
                let device = devices.iter().find(|device| device["id"] == **of).expect("one that is listed");
                assert_eq!(announcement["dev"]["name"], device["name"]);
                let room = announcement["dev"]["sa"].as_str().unwrap_or_default();
                assert_eq!(room, device["room"].as_str().unwrap_or_default());
                assert_eq!(announcement["dev"]["via_device"], "hearthwave_story");
                assert_eq!(announcement["avty_mode"], "all");
            }
        }
        let of = |id: &str| announced.iter().find(|(of, _)| of == id).expect(id).1.json();
        assert_eq!(
            of("7-0"),
            json!({
                "dev": { "ids": ["hearthwave_story_7-0"], "via_device": "hearthwave_story", "name": "Kitchen Light", "sa": "Kitchen" },
                "o": { "name": "Hearthwave", "sw": env!("CARGO_PKG_VERSION") },
                "avty": [
                    { "t": "hearthwave/story/availability" },
                    { "t": "hearthwave/story/home" },
                    { "t": "hearthwave/story/device/7-0", "val_tpl": "{{'online' if value_json.available else 'offline'}}" },
                ],
                "avty_mode": "all",
                "cmd_t": "hearthwave/story/request/device/set",
                "stat_t": "hearthwave/story/device/7-0",
                "cmps": { "main": {
                    "p": "switch", "name": null, "uniq_id": "hearthwave_story_7-0",
                    "val_tpl": "{{iif(value_json.state.on|default(none),'ON','OFF','None')}}",
                    "cmd_tpl": r#"{"device":"7-0","action":"{{value|lower}}"}"#,
                } },
            })
        );
        let platforms: BTreeSet<_> = announced
            .iter()
            .flat_map(|(_, message)| {
                let cmps = message.json()["cmps"].as_object().expect("entities").clone();
                cmps.into_iter().map(|(_, entity)| entity["p"].as_str().expect("a platform").to_owned())
            })
            .collect();
        for platform in ["switch", "light", "lock", "climate", "cover", "sensor", "binary_sensor", "scene"] {
            assert!(platforms.contains(platform), "{platform} is not among {platforms:?}");
        }
        let thermostat = &of("5-0")["cmps"]["main"];
        assert_eq!((&thermostat["min_temp"], &thermostat["temp_unit"]), (&json!(5), &json!("C")), "{thermostat}");
    });
}

#[test]
fn a_fresh_hub_is_announced_completely_at_once() {
    let wifi = Wifi::default();
    let (ssid, password) = HOME;
    let joins = Setup::new().wifi(&wifi).hub(|hub| hub.wifi = (ssid.into(), password.into()));
    joins.story(async |world| {
        let mut assistant = world.client("assistant", &["homeassistant/#"]).await;
        let (of, first) = announced(&mut assistant, 1).await.remove(0);
        assert_eq!(of, "");
        assert_eq!(wifi.status().signal, None, "the radio has not measured anything yet");
        let first = first.json();
        assert_eq!(first["cmps"]["signal"]["name"], "Signal");
        // A default name, which other hubs may share, is followed by the id.
        assert_eq!(first["dev"]["name"], "Hearthwave story");
        let mut ann = world.person("ann").await;
        ann.sets("hub.name", json!("The hall")).await;
        world.restarts_the_hub().await;
        assert_eq!(announced(&mut assistant, 1).await[0].1.json()["dev"]["name"], "The hall");
    });
}

#[test]
fn home_assistant_starts_and_everything_is_announced_again() {
    at_home(async |world, _, ann| {
        let before = kept(world).await;
        let mut assistant = world.client("assistant", &["homeassistant/#"]).await;
        announced(&mut assistant, before.len()).await;
        ann.hears("health").await;
        assistant.publish(Publish::new("homeassistant/status", "online"));
        let again = announced(&mut assistant, before.len()).await;
        let again: BTreeMap<_, _> = again.into_iter().map(|(of, message)| (of, message.json())).collect();
        assert_eq!(again, before);
        let health = ann.hears("health").await.json();
        assert!(health["uptime"].is_u64() && health["calls"].is_u64(), "{health}");
        // It is about to stop, which is nobody's business.
        assistant.publish(Publish::new("homeassistant/status", "offline"));
        assert!(
            assistant.next(Duration::from_secs(5)).await.is_none_or(|message| message.payload == b"offline")
        );
    });
}

#[test]
fn what_is_turned_off_is_removed_and_comes_back() {
    at_home(async |world, _, ann| {
        let all = kept(world).await;
        assert!(all.len() > 20, "{all:?}");
        ann.sets("homeassistant.devices", json!("off")).await;
        ann.gets_an_echo().await;
        assert_eq!(kept(world).await.keys().collect::<Vec<_>>(), [""], "the hub alone");
        ann.sets("homeassistant.discovery", json!("off")).await;
        ann.gets_an_echo().await;
        assert_eq!(kept(world).await.len(), 0);
        ann.sets("homeassistant.devices", json!("on")).await;
        ann.sets("homeassistant.discovery", json!("on")).await;
        ann.gets_an_echo().await;
        assert_eq!(kept(world).await, all);
        // Also if that was while the broker was away, or the hub off.
        ann.sets("homeassistant.discovery", json!("off")).await;
        world
            .client("other", &[])
            .await
            .publish(Publish::new(&format!("{PREFIX}/7-0/config"), "{}").retained());
        world.restarts_the_hub().await;
        ann.sees_online().await;
        knows_devices(ann).await;
        ann.gets_an_echo().await;
        assert_eq!(kept(world).await.len(), 0);
    });
}

/// Home Assistant logs a warning if an unknown device is removed.
#[test]
fn nothing_is_removed_that_is_not_retained() {
    let home = Home::fast(7);
    Setup::new().home(&home).story(async |world| {
        // The device left while the hub was away, and was never announced.
        let other = world.client("other", &[]).await;
        other.publish(
            Publish::new("hearthwave/story/device/99-0", r#"{"name":"Old","available":true}"#).retained(),
        );
        let mut assistant = world.client("assistant", &["homeassistant/device/#"]).await;
        let mut ann = world.person("ann").await;
        knows_devices(&mut ann).await;
        sleep(Duration::from_secs(80)).await;
        for key in ["homeassistant.devices", "homeassistant.discovery"] {
            ann.sets(key, json!("off")).await;
            ann.gets_an_echo().await;
            sleep(Duration::from_secs(5)).await;
            assistant.publish(Publish::new("homeassistant/status", "online"));
            sleep(Duration::from_secs(5)).await;
        }
        world.restarts_the_hub().await;
        ann.sees_online().await;
        knows_devices(&mut ann).await;
        sleep(Duration::from_secs(80)).await;
        let (mut retained, mut removed) = (BTreeSet::new(), 0);
        while let Some(message) = assistant.next(Duration::from_secs(1)).await {
            if !message.payload.is_empty() {
                retained.insert(message.topic);
            } else {
                assert!(retained.remove(&message.topic), "{} was not there", message.topic);
                removed += 1;
            }
        }
        assert_eq!(retained, BTreeSet::new());
        assert!(removed > 20, "{removed}");
    });
}

#[test]
fn another_prefix_is_used_after_a_restart() {
    at_home(async |world, _, ann| {
        let reply = ann.sets("homeassistant.prefix", json!("ha")).await;
        assert_eq!(reply["restart_required"], true, "{reply}");
        let mut assistant = world.client("assistant", &["ha/#"]).await;
        world.restarts_the_hub().await;
        let message = assistant.next(Duration::from_secs(20)).await.expect("an announcement");
        assert_eq!(message.topic, "ha/device/story/config");
        // Home Assistant says that it has started where it always does.
        assistant.publish(Publish::new("homeassistant/status", "online"));
        while assistant.next(Duration::from_secs(20)).await.expect("it again").topic
            != "ha/device/story/config"
        {}
    });
}

#[test]
fn a_device_that_left_leaves_home_assistant_before_its_state() {
    let home = Home::fast(7);
    Setup::new().home(&home).story(async |world| {
        let other = world.client("other", &[]).await;
        let topics = ["homeassistant/device/story/99-0/config", "hearthwave/story/device/99-0"];
        let mut assistant = world.client("assistant", &topics).await;
        for topic in topics {
            other.publish(Publish::new(topic, r#"{"state":{},"available":false}"#).retained());
            assistant.hears_at(topic).await;
        }
        let mut emptied = Vec::new();
        while emptied.len() < 2 {
            // A second list confirms that it is gone.
            let message = assistant.next(Duration::from_secs(80)).await.expect("both are removed");
            if message.payload.is_empty() {
                emptied.push(message.topic);
            }
        }
        assert_eq!(emptied, topics);
    });
}

#[test]
fn somebody_wants_something_said() {
    story(async |world| {
        let (_controller, mut ann) = world.connected().await;
        let request = json!({ "text": "Dinner is ready", "satellite": "kitchen" });
        ann.sends("speak", request.clone());
        assert_eq!(ann.hears("speech").await.json(), request);
        assert_eq!(ann.gets("speak").await, json!({ "success": true }));
        for request in [json!({}), json!({ "text": 7 }), json!({ "text": " " })] {
            assert_refused(&ann.asks("speak", request).await, "invalid_request", "what is to be said");
        }
        let long = json!({ "text": "x", "satellite": "s".repeat(300) });
        assert_refused(&ann.asks("speak", long).await, "invalid_request", "'satellite' is too long");
        assert!(ann.hears_all("speech").await.is_empty(), "what is refused is not said");
    });
}

#[test]
fn every_answer_is_an_event() {
    story(async |world| {
        let (_controller, mut ann) = world.connected().await;
        let mut model = world.model().await;
        ann.says(json!({ "text": "Hello", "conversation": "home-assistant" }));
        model.serves(stop("Good evening.")).await;
        let expected =
            json!({ "event_type": "answer", "text": "Good evening.", "conversation": "home-assistant" });
        assert_eq!(ann.hears("event/answer").await.json(), expected);
        assert_eq!(ann.reply().await["content"], "Good evening.");
        assert_refused(&ann.asks("chat", json!({})).await, "invalid_request", "");
        assert!(ann.hears_all("event/answer").await.is_empty(), "what is refused is no answer");
    });
}

/// Until the devices are known, what the broker keeps of an earlier run is not taken for what is now.
#[test]
fn nothing_is_available_before_it_is_known() {
    at_home(async |world, home, ann| {
        home.faults().unplug();
        let topics = ["home", "availability"].map(|name| ann.topic(name));
        let mut assistant = world.client("assistant", &[&topics[0], &topics[1]]).await;
        for _ in topics.iter() {
            assert_eq!(
                assistant.next(Duration::from_secs(5)).await.expect("what is retained").payload,
                b"online"
            );
        }
        world.restarts_the_hub().await;
        let mut seen = Vec::new();
        while seen.last().map(Vec::as_slice) != Some(b"online") {
            let message = assistant.next(Duration::from_secs(60)).await.expect("the hub is back");
            if message.topic == topics[0] || message.payload == b"online" {
                seen.push(message.payload);
            }
        }
        let words: Vec<_> = seen.iter().map(|word| String::from_utf8_lossy(word).into_owned()).collect();
        assert!(
            words.ends_with(&["offline".into(), "online".into()]),
            "first of the home, then of the hub: {words:?}"
        );
        home.faults().plug();
        assert_eq!(assistant.hears_at(&topics[0]).await.payload, b"online");
    });
}

#[test]
fn discovery_is_turned_off_at_the_console() {
    at_home(async |world, _, ann| {
        assert!(!kept(world).await.is_empty());
        let mut console = world.console();
        console.types("set homeassistant.discovery off").await;
        sleep(Duration::from_secs(1)).await;
        ann.gets_an_echo().await;
        assert_eq!(kept(world).await.len(), 0);
    });
}
