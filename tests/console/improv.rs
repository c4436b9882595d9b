//! Improv Wi-Fi over serial, frame by frame.

use host_sim::wifi::{HOME, Wifi};
use support::typist::Typist;
use world::prelude::*;

use super::new_hub;

const STATE: u8 = 1;
const ERROR: u8 = 2;
const RESULT: u8 = 4;

async fn provisions(browser: &mut Typist, ssid: &str, password: &str) -> Vec<Vec<u8>> {
    let data = [&[ssid.len() as u8], ssid.as_bytes(), &[password.len() as u8], password.as_bytes()].concat();
    browser.commands(1, &data, &[ERROR, RESULT]).await
}

#[test]
fn a_browser_gives_a_new_hub_its_network() {
    let wifi = Wifi::default();
    new_hub(&wifi).story(async |world| {
        let mut browser = world.console();
        assert_eq!(browser.commands(2, b"", &[STATE]).await, [vec![STATE, 2]]);
        let info = browser.commands(3, b"", &[RESULT]).await;
        let version = env!("CARGO_PKG_VERSION");
        let words: Vec<u8> = ["Hearthwave", version, "sim", "Hearthwave"]
            .iter()
            .flat_map(|text| [&[text.len() as u8], text.as_bytes()].concat())
            .collect();
        assert_eq!(info, [[&[RESULT, 3, words.len() as u8], &words[..]].concat()]);
        // A wrong password: an error, and nothing is kept.
        let (ssid, password) = HOME;
        let start = Instant::now();
        assert_eq!(
            provisions(&mut browser, ssid, "wrong password").await,
            [vec![STATE, 3], vec![STATE, 2], vec![ERROR, 3]]
        );
        assert!(start.elapsed() < Duration::from_secs(30), "browsers wait no longer");
        assert_eq!(browser.commands(2, b"", &[STATE]).await.last(), Some(&vec![STATE, 2]));
        sleep(Duration::from_secs(60)).await;
        assert_eq!((wifi.joined(), world.dials()), (None, 0));
        // The right one, and the hub is online without a restart.
        let frames = provisions(&mut browser, ssid, password).await;
        assert_eq!(frames, [vec![STATE, 3], vec![STATE, 4], vec![RESULT, 1, 0]]);
        let mut ben = world.person("ben").await;
        ben.gets_an_echo().await;
        assert_eq!(browser.commands(2, b"", &[RESULT]).await, [vec![STATE, 4], vec![RESULT, 2, 0]]);
        // It is kept, and waits for nothing.
        browser.sends(b"\x03").await;
        browser.reads("> ").await;
        browser.sees("show", "wifi.ssid = Simulated Home\n").await;
        browser.types("restart").await;
        sleep(Duration::from_secs(5)).await;
        assert_eq!(wifi.joined().as_deref(), Some(ssid));
        assert!(!browser.seen.contains(password), "{}", browser.seen);
        assert_not_logged(password);
        assert_not_logged("wrong password");
    });
}

#[test]
fn a_network_that_cannot_be_joined_leaves_the_old_one() {
    let wifi = Wifi::default();
    let (ssid, password) = HOME;
    new_hub(&wifi).hub(|hub| hub.wifi = (ssid.into(), password.into())).story(async |world| {
        let mut browser = world.console();
        world.person("ben").await;
        for (ssid, password) in [("Nowhere", "long enough"), (ssid, "too short"), (ssid, "short"), ("", "")] {
            let frames = provisions(&mut browser, ssid, password).await;
            assert_eq!(frames.last(), Some(&vec![ERROR, 3]), "{ssid}");
            sleep(Duration::from_secs(5)).await;
            assert_eq!(wifi.joined().as_deref(), Some(HOME.0));
        }
        assert_eq!(browser.commands(2, b"", &[RESULT]).await.first(), Some(&vec![STATE, 4]));
    });
}

#[test]
fn names_are_told_and_given() {
    let wifi = Wifi::default();
    new_hub(&wifi).story(async |world| {
        let mut browser = world.console();
        let text = |command: u8, text: &str| {
            vec![[&[RESULT, command, text.len() as u8 + 1, text.len() as u8], text.as_bytes()].concat()]
        };
        assert_eq!(browser.commands(5, b"", &[RESULT]).await, text(5, "story"));
        assert_eq!(browser.commands(5, b"no name", &[ERROR]).await, [vec![ERROR, 5]]);
        assert_eq!(browser.commands(5, b"attic", &[RESULT]).await, text(5, "attic"));
        assert_eq!(browser.commands(6, b"", &[RESULT]).await, text(6, "Hearthwave"));
        assert_eq!(browser.commands(6, b"The attic", &[RESULT]).await, text(6, "The attic"));
        assert_eq!(browser.commands(6, &[b'x'; 49], &[ERROR]).await, [vec![ERROR, 1]]);
        assert_eq!(browser.commands(7, b"", &[RESULT]).await, text(7, "2"));
        assert_eq!(browser.commands(99, b"", &[ERROR]).await, [vec![ERROR, 2]]);
        let networks = browser.commands(4, b"", &[RESULT]).await;
        assert_eq!(networks[0], b"\x04\x04\x17\x0eSimulated Home\x03-52\x03YES");
    });
}

#[test]
fn a_frame_that_is_cut_short_does_not_swallow_what_is_typed_later() {
    story(async |world| {
        let mut ann = world.console();
        ann.sends(b"IMPROV\x01\x03\xf0half").await;
        sleep(Duration::from_secs(1)).await;
        ann.gets("unset volume", "volume = 50 (default)").await;
    });
}
