//! Why the hub started, what it tells about its health, and safe mode.

use host_zwave::Home;
use hub_core::boot::Reset;
use hub_core::limits;
use hub_core::platform::Pattern;
use world::prelude::*;

/// What `info` says about the start.
async fn boot(person: &mut Client) -> Value {
    person.hears("info").await.json()["boot"].clone()
}

#[test]
fn info_tells_why_the_hub_started() {
    story(async |world| {
        let mut ann = world.person("ann").await;
        assert_eq!(boot(&mut ann).await, json!({ "reason": "power_on", "count": 1 }));
        assert_logged("first start after power-on");

        ann.calls("restart_hub", json!({ "confirm": "RESTART_HUB" }));
        ann.sees_online().await;
        assert_eq!(boot(&mut ann).await, json!({ "reason": "restart", "count": 2 }));

        world.settings.boot.panics("panicked at src/radio.rs:7:1:\nno more heap", 0x4200_ABCD);
        world.restarts_the_hub().await;
        ann.sees_online().await;
        let message = "panicked at src/radio.rs:7:1: no more heap";
        let expected = json!({ "reason": "panic", "count": 3, "message": message, "address": "0x4200abcd" });
        assert_eq!(boot(&mut ann).await, expected);
        assert_logged("the firmware failed at 0x4200abcd: panicked at src/radio.rs:7:1: no more heap");
        assert_eq!(ann.asks("health", json!({})).await["boot"], expected);

        world.settings.boot.resets(Reset::Watchdog);
        world.restarts_the_hub().await;
        ann.sees_online().await;
        assert_eq!(boot(&mut ann).await, json!({ "reason": "watchdog", "count": 4 }));
    });
}

#[test]
fn a_failure_is_told_on_the_topic_log() {
    story(async |world| {
        let mut ann = world.person("ann").await;
        world.settings.boot.resets(Reset::Brownout);
        world.restarts_the_hub().await;
        let notice = ann.hears("log").await.json();
        assert_eq!(notice["level"], "warning");
        assert_contains(&notice["text"], "the supply voltage fell; check power supply and cable");
    });
}

/// How long a start takes to be a good one.
const SETTLED: Duration = Duration::from_secs(limits::START_SETTLED.as_secs());

/// Has the hub fail as often as it takes, each time before the start was a good one.
async fn fails(world: &World) {
    for _ in 0..limits::FAILED_STARTS {
        sleep(SETTLED / 2).await;
        world.settings.boot.panics("it is broken", 0x42);
        world.restarts_the_hub().await;
    }
    sleep(Duration::from_secs(1)).await;
}

#[test]
fn four_failed_starts_are_safe_mode_and_a_restart_leaves_it() {
    let setup = Setup::new().home(&Home::default());
    setup.story(async |world| {
        fails(world).await;
        assert_logged("safe mode: 4 starts in a row failed");
        assert_eq!(world.settings.panel.lamp(), Some(Pattern::Safe));
        let dials = world.dials();
        sleep(Duration::from_secs(60)).await;
        assert_eq!(world.dials(), dials, "no broker in safe mode");
        let mut typist = world.console();
        let status = typist.types("status").await;
        assert_contains(&json!(status), "safe mode");
        assert_contains(&json!(status), "it is broken");
        assert_contains(&json!(typist.types("log").await), "safe mode: 4 starts in a row failed");
        assert_contains(&json!(typist.types("set hub.name Attic").await), "");
        typist.types("restart").await;
        let mut ann = world.person("ann").await;
        // The first may still be that of an earlier start.
        let told = loop {
            let boot = boot(&mut ann).await;
            if boot["reason"] == "restart" {
                break boot;
            }
        };
        let expected = json!({
            "reason": "restart", "count": told["count"], "last_failure": "panic", "message": "it is broken",
            "address": "0x00000042",
        });
        assert_eq!(told, expected, "safe mode could tell nobody");
        assert_eq!(
            world.ask("config/get", json!({ "key": "hub.name" })).await["settings"]["hub.name"],
            "Attic"
        );
        assert_ne!(world.settings.panel.lamp(), Some(Pattern::Safe));
    });
}

#[test]
fn safe_mode_ends_by_itself() {
    story(async |world| {
        fails(world).await;
        let dials = world.dials();
        sleep(Duration::from_secs(29 * 60)).await;
        assert_eq!(world.dials(), dials, "still in safe mode");
        sleep(Duration::from_secs(60)).await;
        let mut ann = world.person("ann").await;
        // The first may still be that of an earlier start.
        while boot(&mut ann).await["reason"] != "restart" {}
    });
}

#[test]
fn failures_after_a_good_start_do_not_lead_to_safe_mode() {
    story(async |world| {
        let mut ann = world.person("ann").await;
        for number in 0..2 * limits::FAILED_STARTS {
            sleep(SETTLED * 2).await;
            world.settings.boot.panics("once a day", 1);
            world.restarts_the_hub().await;
            ann.sees_online().await;
            let boot = boot(&mut ann).await;
            assert_eq!((&boot["count"], boot.get("safe_mode")), (&json!(number + 2), None));
        }
    });
}
