//! The firmware and brokers that speak TLS: what a handshake costs, and those that it does not trust.

use rcgen::date_time_ymd;
use support::certificate::{KeyKind, authority, self_signed};
use support::mosquitto::Mosquitto;

use crate::STACK;
use crate::way::Ca;

/// How deep the stack gets, and how many instructions a handshake takes.
#[test]
#[ignore = "needs qemu, mosquitto and the firmware; ./tests/run runs it"]
fn the_firmware_shakes_hands_with_every_kind_of_certificate() {
    for (kind, budget) in
        [(KeyKind::P256, 75_000_000), (KeyKind::Rsa(2048), 50_000_000), (KeyKind::Rsa(4096), 90_000_000)]
    {
        let root = authority("a home", kind);
        let middle = root.issues_authority("a CA", kind, |_| {});
        let broker = Mosquitto::start_tls(&middle.issues(kind, |_| {}), "");
        let machine = Ca::new(&root).machine(broker.tls_port, &["report=1", "icount=1"]);
        assert_eq!(broker.next_message("hearthwave/qemu/availability"), "online");
        broker.echo("qemu", "encrypted");
        machine.logs("instructions");
        let log = machine.log();
        let report = log.lines().find(|line| line.contains("instructions")).expect("a report");
        let instructions = report.rsplit(", ").next().and_then(|rest| rest.split(' ').next());
        let instructions: u64 = instructions.and_then(|count| count.parse().ok()).expect("a number");
        let stack = machine.stack_used();
        println!("{kind:?}: {stack} bytes of stack, {instructions} instructions to the first second");
        assert!(stack < STACK, "{stack} bytes of stack");
        assert!(instructions < budget, "{instructions} instructions");
    }
}

/// A certificate that was pinned, as home brokers have it: a CA's as the broker's own, or one of version 1.
#[test]
#[ignore = "needs qemu, mosquitto and the firmware; ./tests/run runs it"]
fn the_firmware_trusts_a_certificate_that_was_pinned() {
    for broker in [authority("a home", KeyKind::P256), authority("a home", KeyKind::Rsa(2048)).as_version_1()]
    {
        let mosquitto = Mosquitto::start_tls(&broker, "");
        let ca = Ca::new(&broker);
        let _machine = ca.machine(mosquitto.tls_port, &[]);
        assert_eq!(mosquitto.next_message("hearthwave/qemu/availability"), "online");
        mosquitto.echo("qemu", "pinned");
    }
}

#[test]
#[ignore = "needs qemu, mosquitto and the firmware; ./tests/run runs it"]
fn the_firmware_refuses_a_broker_that_it_cannot_trust_and_says_why() {
    let root = authority("a home", KeyKind::P256);
    let elsewhere = |params: &mut rcgen::CertificateParams| {
        params.subject_alt_names =
            rcgen::CertificateParams::new(["example.org".into()]).unwrap().subject_alt_names;
    };
    let good = root.issues(KeyKind::P256, |_| {});
    let expired = root.issues(KeyKind::P256, |params| params.not_after = date_time_ymd(2024, 1, 1));
    for (broker, words, theirs) in [
        (root.issues(KeyKind::P256, elsewhere), "is for another name", "bad certificate"),
        (expired, "the broker's certificate has expired", "certificate expired"),
        (self_signed(KeyKind::P256), "is self-signed and not the one in broker.ca", "unknown ca"),
        (authority("another", KeyKind::P256).issues(KeyKind::P256, |_| {}), "from another CA", "unknown ca"),
    ] {
        let mosquitto = Mosquitto::start_tls(&broker, "");
        let machine = Ca::new(&root).machine(mosquitto.tls_port, &[]);
        machine.logs(words);
        assert!(!machine.log().contains("connected to"), "{}", machine.log());
        // The broker's log says it, too, if the broker was told.
        support::wait_for(theirs, || mosquitto.log().contains(theirs));
    }
    let mosquitto = Mosquitto::start_tls_1_2(&good);
    let too_old = Ca::new(&root).machine(mosquitto.tls_port, &[]);
    too_old.logs("the broker speaks no TLS 1.3");
    // A port that speaks no TLS.
    let mosquitto = Mosquitto::start();
    let machine = Ca::new(&root).machine(mosquitto.port, &[]);
    machine.logs("check that this is its port for TLS");
}
