//! From nothing to online, by hand.

use host_sim::wifi::{CAFE, HOME, Wifi};
use world::prelude::*;

use super::new_hub;

/// Everything that is set here and must never be shown.
const BROKER_PASSWORD: &str = "hunter2-hunter2";

#[test]
fn a_new_hub_is_set_up_by_hand() {
    let wifi = Wifi::default();
    new_hub(&wifi).story(async |world| {
        let mut ann = world.console();
        ann.sees("status", "Wi-Fi       off; set wifi.ssid and wifi.password").await;
        ann.sees("", "").await;
        let list = ann.types("wifi scan").await;
        assert_contains_all(
            &list,
            &[" -52 dBm  locked  Simulated Home\n", " -81 dBm  open    Simulated Café\n"],
        );
        let (ssid, password) = HOME;
        ann.gets(
            &format!("set wifi.ssid {ssid}"),
            "wifi.ssid = Simulated Home (takes effect after `restart`)",
        )
        .await;
        ann.gets(
            &format!("set wifi.password {password}"),
            "wifi.password = *** (takes effect after `restart`)",
        )
        .await;
        ann.gets(
            &format!("broker.password = '{BROKER_PASSWORD}'"),
            "broker.password = *** (takes effect after `restart`)",
        )
        .await;
        ann.gets("set hub.name \"The hall\"", "hub.name = The hall (takes effect after `restart`)").await;
        assert_eq!(world.dials(), 0, "nothing is joined before the restart");
        ann.gets("restart", "the hub restarts now").await;

        sleep(Duration::from_secs(1)).await;
        let mut person = world.person("ben").await;
        person.gets_an_echo().await;
        // Wait until the radio has measured the signal.
        sleep(Duration::from_secs(5)).await;
        let status = ann.types("status").await;
        for words in [
            "Wi-Fi       joined\n  network   Simulated Home",
            "  signal    -52 dBm",
            "  address   192.168.4.20",
            "broker      connected\n  address   mqtt://in-memory:1883",
            "UTC",
            "up          0 h 0 min; start 2 since power-on: it was told to restart",
        ] {
            assert!(status.contains(words), "{words} is not in\n{status}");
        }
        let shown = ann.types("show").await;
        assert_contains_all(
            &shown,
            &["wifi.ssid = Simulated Home\n", "wifi.password = ***\n", "hub.name = The hall\n"],
        );
        assert_contains_all(&shown, &["volume = 50 (default)\n", "broker.user =  (default)\n"]);
        // The echo of what was typed is all that there is of them.
        for secret in [password, BROKER_PASSWORD] {
            assert_eq!(ann.seen.matches(secret).count(), 1, "{}", ann.seen);
            assert_not_logged(secret);
        }
    });
}

fn assert_contains_all(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "{part} is not in\n{text}");
    }
}

#[test]
fn an_open_network_needs_no_password_and_a_wrong_one_is_named() {
    let wifi = Wifi::default();
    let home = HOME.0.to_owned();
    new_hub(&wifi).hub(|hub| hub.wifi = (home, "wrong password".into())).story(async |world| {
        let mut ann = world.console();
        sleep(Duration::from_secs(3)).await;
        ann.sees("status", "Wi-Fi       it does not let the hub in; check wifi.password").await;
        ann.sees("selftest", "Wi-Fi       failed: it does not let the hub in").await;
        ann.types(&format!("set wifi.ssid {CAFE}")).await;
        ann.types("set wifi.password \"\"").await;
        ann.types("restart").await;
        sleep(Duration::from_secs(5)).await;
        ann.sees("status", "Wi-Fi       joined\n  network   Simulated Café").await;
        world.person("ben").await;
        // Gone again, and what the firmware was built with is back.
        ann.gets("unset wifi.ssid", "wifi.ssid = Simulated Home (takes effect after `restart`)").await;
    });
}
