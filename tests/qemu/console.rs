//! The firmware's serial port of people: the console, and Improv by other hands.

use std::time::Duration;

use serde_json::json;
use support::typist::Typist;
use support::{Folder, improv};
use tokio::net::UnixStream;
use tokio::time::sleep;
use world::in_real_time;

use crate::way::{Site, Way};
use support::machine::Machine;

const SSID: &str = "Simulated Home";
const PASSWORD: &str = "correct horse";

/// A machine that has joined no network, and the path of its port of people.
fn start(site: &Site, options: &[&str]) -> (Machine, String, Folder) {
    let folder = Folder::new("hearthwave-console");
    let path = folder.0.join("console").to_str().expect("text").to_owned();
    let console = format!("console=unix:{path}");
    let machine = site.machine(&[&[console.as_str(), "wifi=none"], options].concat());
    machine.logs("hub qemu: version");
    (machine, path, folder)
}

#[test]
#[ignore = "needs qemu, mosquitto and the firmware; ./tests/run runs it"]
fn the_firmware_is_set_up_from_its_console() {
    // Without a network, the way to the broker is all the same.
    let site = Way::Plain.broker();
    let (machine, path, _folder) = start(&site, &["report=1"]);
    let _line = machine.line();
    in_real_time(async {
        let mut ann = Typist::at(UnixStream::connect(&path).await.expect("QEMU listens"));
        ann.sees("help", "factory-reset confirm").await;
        ann.sees("status", "Wi-Fi       off; set wifi.ssid and wifi.password").await;
        ann.sees("wifi scan", " -52 dBm  locked  Simulated Home\n").await;
        ann.gets("set wifi.sid x", "no setting `wifi.sid`; did you mean `wifi.ssid`?").await;
        ann.gets(
            &format!("set wifi.ssid {SSID}"),
            "wifi.ssid = Simulated Home (takes effect after `restart`)",
        )
        .await;
        ann.gets(
            &format!("set wifi.password {PASSWORD}"),
            "wifi.password = *** (takes effect after `restart`)",
        )
        .await;
        ann.sees("show", "max_iterations = 5 (default)").await;
        ann.sees("selftest", "flash       ok").await;
        // A megabyte of noise, and it is still there.
        for _ in 0..32 {
            ann.sends(&[b'x'; 32 * 1024]).await;
        }
        ann.sees("", "that line is too long").await;
        ann.sees("log", "").await;
    });
    sleep_two_reports();
    let used = machine.stack_used();
    println!("the firmware's stack, deepest over the console: {used} bytes");
    assert!(used < super::STACK, "{used} bytes of stack");
    assert!(!machine.log().contains(PASSWORD), "the password is in the log");
}

/// The next report but one covers everything so far.
fn sleep_two_reports() {
    std::thread::sleep(Duration::from_millis(2100));
}

#[test]
#[ignore = "needs qemu, mosquitto, the firmware, Node and the package improv-wifi-serial-sdk; ./tests/run runs it"]
fn a_browsers_sdk_sets_the_firmware_up() {
    Way::each(|way| {
        let site = way.broker();
        let broker = &site.broker;
        let (machine, path, _folder) = start(&site, &[]);
        let _line = machine.line();
        in_real_time(async {
            let seen = improv::sets_up(&path, SSID, PASSWORD).await;
            let networks = json!([
                { "name": "Simulated Café", "rssi": -81, "secured": false },
                { "name": SSID, "rssi": -52, "secured": true },
            ]);
            improv::check(&seen, "qemu", "qemu", &networks);
            // It is online without a restart.
            assert_eq!(broker.next_message("hearthwave/qemu/availability"), "online");
            broker.echo("qemu", "here");
            let mut ann = Typist::at(UnixStream::connect(&path).await.expect("QEMU listens"));
            ann.sends(b"\x03").await;
            sleep(Duration::from_millis(200)).await;
            ann.reads("> ").await;
            ann.sees("status", "Wi-Fi       joined\n  network   Simulated Home").await;
            ann.sees("show hub.id", "hub.id = hallway (takes effect after `restart`)").await;
        });
        assert!(!machine.log().contains(PASSWORD), "the password is in the log");
    });
}
