//! The button and the lamp.

use host_sim::hub::Panel;
use host_sim::wifi::{HOME, Wifi};
use host_zwave::Home;
use hub_core::platform::Pattern;
use world::prelude::*;

use super::new_hub;

#[test]
fn a_button_that_is_held_resets_the_settings_and_nothing_else() {
    let panel = Panel::default();
    Setup::new().hub(|hub| hub.panel = panel.clone()).story(async |world| {
        let mut ann = world.console();
        let mut ben = world.person("ben").await;
        ann.types("set volume 30").await;
        ann.types("set hub.name Attic").await;
        ben.uses("set_feature_flag", json!({ "name": "lamp", "value": 7 })).await;
        // Not long enough.
        panel.press(true);
        sleep(Duration::from_millis(4900)).await;
        panel.press(false);
        sleep(Duration::from_secs(5)).await;
        ann.sees("show volume", "volume = 30").await;
        panel.press(true);
        sleep(Duration::from_secs(8)).await;
        assert_logged("the button was held");
        // Held on, it does nothing more, not even after the restart.
        sleep(Duration::from_secs(20)).await;
        assert_logged_times(1, "the button was held");
        panel.press(false);
        let shown = ann.types("show").await;
        assert!(shown.contains("volume = 50 (default)") && shown.contains("Hearthwave (default)"), "{shown}");
        let reply = ben.uses("get_feature_flag", json!({ "name": "lamp" })).await;
        assert_eq!(reply["result"]["value"], 7, "{reply}");
    });
}

#[test]
fn the_lamp_tells_how_the_hub_is() {
    let (panel, wifi, home) = (Panel::default(), Wifi::default(), Home::default());
    new_hub(&wifi).home(&home).hub(|hub| hub.panel = panel.clone()).story(async |world| {
        let mut ann = world.console();
        sleep(Duration::from_secs(1)).await;
        assert_eq!(panel.lamp(), Some(Pattern::Waiting));
        ann.types(&format!("set wifi.ssid {}", HOME.0)).await;
        ann.types(&format!("set wifi.password {}", HOME.1)).await;
        ann.types("restart").await;
        world.person("ben").await.sees_link("ready").await;
        sleep(Duration::from_secs(1)).await;
        assert_eq!(panel.lamp(), Some(Pattern::Well));
        // The controller alone is away, for long enough to be missed.
        home.faults().unplug();
        sleep(Duration::from_secs(180)).await;
        assert_eq!(panel.lamp(), Some(Pattern::Missing));
        home.faults().plug();
        sleep(Duration::from_secs(180)).await;
        assert_eq!(panel.lamp(), Some(Pattern::Well));
        world.wire.reach.set(Reach::Fails(hub_core::DialError::Refused));
        world.broker().kick(CLIENT);
        sleep(Duration::from_secs(1)).await;
        assert_eq!(panel.lamp(), Some(Pattern::Missing));
        wifi.replace(Vec::new());
        sleep(Duration::from_secs(1)).await;
        assert_eq!(panel.lamp(), Some(Pattern::Waiting));
    });
}
