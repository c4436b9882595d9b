//! The firmware fails on purpose and restarts: what it knows of it, and safe mode.

use serde_json::Value;

use crate::waits_for_info;
use crate::way::Way;

/// What `info` says about the start after a failure of this kind.
fn boot_after(way: Way, failure: &str) -> (Value, String) {
    let site = way.broker();
    let broker = &site.broker;
    let machine = site.machine(&[&format!("fail={failure}")]);
    let mut line = machine.line();
    std::thread::spawn(move || std::io::copy(&mut line, &mut std::io::sink()));
    let info = waits_for_info(broker, |info| info["boot"]["count"] == 2);
    machine.logs("start 2 since power-on: ");
    broker.echo("qemu", "it runs");
    let health: Value =
        serde_json::from_str(&broker.ask("hearthwave/qemu/request/health", b"{}")).expect("JSON");
    assert_eq!(health["boot"], info["boot"]);
    assert!(health["stack"]["peak"].as_u64() < health["stack"]["size"].as_u64(), "{health}");
    (info["boot"].clone(), machine.log())
}

#[test]
#[ignore = "needs qemu, mosquitto and the firmware; ./tests/run runs it"]
fn a_panic_is_known_after_the_restart() {
    Way::each(|way| {
        let (boot, log) = boot_after(way, "panic");
        assert_eq!(boot["reason"], "panic", "{boot}");
        let message = boot["message"].as_str().expect("a message");
        assert!(
            message.starts_with("panicked at src/boot.rs:") && message.ends_with("told to fail"),
            "{message}"
        );
        assert!(
            log.contains("FATAL panicked at")
                && log.contains("since power-on: the firmware failed: panicked")
        );
    });
}

#[test]
#[ignore = "needs qemu, mosquitto and the firmware; ./tests/run runs it"]
fn an_exception_is_known_after_the_restart() {
    Way::each(|way| {
        let (boot, log) = boot_after(way, "exception");
        assert_eq!(boot["reason"], "exception", "{boot}");
        assert_eq!(boot["message"], "exception 2, value 0x00000000", "an instruction that is none");
        let address = boot["address"].as_str().expect("an address");
        assert!(
            address.starts_with("0x800") && log.contains(&format!("exception 2 at {address}")),
            "{address}"
        );
    });
}

#[test]
#[ignore = "needs qemu, mosquitto and the firmware; ./tests/run runs it"]
fn four_failed_starts_end_in_safe_mode() {
    let site = Way::Plain.broker();
    let machine = site.machine(&["fail=starts"]);
    machine.logs("start 5 since power-on: the firmware failed: panicked at");
    machine.logs("safe mode: 4 starts in a row failed");
    let log = machine.log();
    assert_eq!(log.matches("told to fail").count(), 4 + 1, "four panics, and one report of the last: {log}");
    assert!(!log.contains("mqtt: connected"), "{log}");
}
