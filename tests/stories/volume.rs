//! The volume of the speaker: everybody sees it, whoever changes it, and the hub remembers it.

use world::model::{calls, stop};
use world::prelude::*;

const DEFAULT: u64 = 50;

/// The next volume that is published.
async fn volume(person: &mut Client) -> u64 {
    let message = person.hears("volume").await;
    assert!(message.retained, "for those who come later");
    let payload = message.json();
    assert_eq!(payload.as_object().expect("an object").len(), 1, "{payload}");
    payload["level"].as_u64().expect("a number")
}

/// What somebody who comes now sees.
async fn seen(world: &World) -> u64 {
    volume(&mut world.client("late", &["hearthwave/story/volume"]).await).await
}

#[test]
fn the_volume_is_published_whoever_changes_it() {
    story(async |world| {
        let (mut ann, mut model) = world.talking().await;
        assert_eq!(volume(&mut ann).await, DEFAULT);
        // A person, by the tool.
        ann.calls("volume", json!({ "level": 30 }));
        assert_eq!(volume(&mut ann).await, 30);
        // A model.
        ann.says(json!({ "text": "Louder" }));
        model.serves(calls(&[("hub_volume", json!({ "change": 15 }))])).await;
        model.serves(stop("Louder now.")).await;
        assert_eq!(volume(&mut ann).await, 45);
        // A person, by the setting, which is the same volume.
        let get = async |ann: &mut Client| ann.asks("config/get", json!({ "key": "volume" })).await;
        assert_eq!(get(&mut ann).await["settings"], json!({ "volume": 45 }));
        assert_eq!(ann.sets("volume", json!(7)).await, json!({ "success": true }));
        assert_eq!(ann.uses("volume", json!({})).await["result"], json!({ "level": 7 }));
        assert_eq!(seen(world).await, 7);
        assert_refused(&ann.sets("volume", json!(101)).await, "invalid_request", "from 0 to 100");
        ann.sets("volume", json!(null)).await;
        assert_eq!(ann.uses("volume", json!({})).await["result"], json!({ "level": DEFAULT }));
        assert_eq!(seen(world).await, DEFAULT);
        // What does not change it says nothing.
        ann.hears_all("volume").await;
        ann.uses("volume", json!({ "level": DEFAULT })).await;
        ann.uses("volume", json!({})).await;
        assert!(ann.hears_all("volume").await.is_empty());
        // Nobody knows what a broker has lost.
        world.broker().forget_session(CLIENT);
        assert_eq!(volume(&mut ann).await, DEFAULT);
    });
}

#[test]
fn the_volume_survives_a_restart() {
    story(async |world| {
        let mut ann = world.person("ann").await;
        ann.uses("volume", json!({ "level": 30 })).await;
        sleep(Duration::from_secs(6)).await;
        world.restarts_the_hub().await;
        ann.sees_online().await;
        assert_eq!(volume(&mut ann).await, 30, "the plug was pulled");
        assert_eq!(ann.uses("volume", json!({})).await["result"], json!({ "level": 30 }), "it has it, too");
        // A restart that somebody asks for loses nothing, however soon it comes.
        ann.uses("volume", json!({ "level": 20 })).await;
        ann.uses("restart_hub", json!({ "confirm": "RESTART_HUB" })).await;
        ann.sees_online().await;
        world.restarts_the_hub().await;
        ann.sees_online().await;
        assert_eq!(ann.uses("volume", json!({})).await["result"], json!({ "level": 20 }));
    });
}

#[test]
fn a_reset_forgets_the_volume_even_one_that_was_just_set() {
    story(async |world| {
        let mut ann = world.person("ann").await;
        ann.uses("volume", json!({ "level": 30 })).await;
        ann.uses("factory_reset", json!({ "confirm": "FACTORY_RESET" })).await;
        ann.sees_online().await;
        assert_eq!(volume(&mut ann).await, DEFAULT);
        sleep(Duration::from_secs(60)).await;
        world.restarts_the_hub().await;
        ann.sees_online().await;
        assert_eq!(ann.uses("volume", json!({})).await["result"], json!({ "level": DEFAULT }));
    });
}

#[test]
fn a_slider_writes_little_to_the_flash() {
    story(async |world| {
        let mut ann = world.person("ann").await;
        // To and fro, ten values a second, for a minute.
        for step in 0..600 {
            ann.uses("volume", json!({ "level": step % 101 })).await;
            sleep(Duration::from_millis(100)).await;
        }
        sleep(Duration::from_secs(10)).await;
        let writes = log_text().matches("speaker: the volume of").count();
        assert!((1..=13).contains(&writes), "{writes} writes in a minute");
        assert_logged_times(1, &format!("the volume of {} percent is kept", 599 % 101));
        world.restarts_the_hub().await;
        ann.sees_online().await;
        assert_eq!(ann.uses("volume", json!({})).await["result"], json!({ "level": 599 % 101 }));
    });
}
