//! The firmware and brokers that speak TLS: what a handshake costs, and those that it does not trust.

use rcgen::date_time_ymd;
use support::certificate::{KeyKind, authority, self_signed};
use support::mosquitto::Mosquitto;

use crate::{Machine, STACK};

/// The most instructions in which the hub may not look at its serial line. An ESP32's ring takes 4096 bytes without being
/// read: 355 ms at 115200 baud, 56.8 million cycles at 160 MHz. A third of that, since an instruction is a cycle at best:
/// jumps take three, and what is not in the cache yet many.
const TURN_BUDGET: u64 = 56_800_000 / 3;

/// How deep the stack gets, how many instructions a handshake takes, and for how many of them the serial line waits.
#[test]
#[ignore = "needs qemu, mosquitto and the firmware; ./tests/run runs it"]
fn the_firmware_shakes_hands_with_every_kind_of_certificate() {
    use KeyKind::{P256, Rsa};
    // With so many certificates between the root and the broker's.
    for (kind, middle, budget) in [
        (P256, 1, 75_000_000),
        (Rsa(2048), 1, 55_000_000),
        (Rsa(4096), 1, 100_000_000),
        (P256, 3, 115_000_000),
    ] {
        let root = authority("a home", kind);
        let mut issuer = root.issues_authority("a CA", kind, |_| {});
        for number in 1..middle {
            issuer = issuer.issues_authority(&format!("CA {number}"), kind, |_| {});
        }
        let broker = Mosquitto::start_tls(&issuer.issues(kind, |_| {}), "");
        let machine = Machine::start_tls(broker.tls_port, &root, &["report=1", "icount=1"]);
        assert_eq!(broker.next_message("hearthwave/qemu/availability"), "online");
        broker.echo("qemu", "encrypted");
        machine.logs("instructions");
        let (stack, instructions, turn) =
            (machine.stack_used(), machine.reports("bytes, "), machine.reports("longest turn "));
        println!(
            "{kind:?} under {middle}: {stack} bytes of stack, {instructions} instructions to the first second, at most {turn} in one turn (budget {TURN_BUDGET})"
        );
        assert!(stack < STACK, "{stack} bytes of stack");
        assert!(instructions < budget, "{instructions} instructions");
        assert!(turn < TURN_BUDGET, "the serial line waits for {turn} instructions");
    }
}

/// A certificate that was pinned, as home brokers have it: a CA's as the broker's own, or one of version 1.
#[test]
#[ignore = "needs qemu, mosquitto and the firmware; ./tests/run runs it"]
fn the_firmware_trusts_a_certificate_that_was_pinned() {
    for broker in [authority("a home", KeyKind::P256), authority("a home", KeyKind::Rsa(2048)).as_version_1()]
    {
        let mosquitto = Mosquitto::start_tls(&broker, "");
        let _machine = Machine::start_tls(mosquitto.tls_port, &broker, &[]);
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
        let machine = Machine::start_tls(mosquitto.tls_port, &root, &[]);
        machine.logs(words);
        assert!(!machine.log().contains("connected to"), "{}", machine.log());
        // The broker's log says it, too, if the broker was told.
        support::wait_for(theirs, || mosquitto.log().contains(theirs));
    }
    let mosquitto = Mosquitto::start_tls_1_2(&good);
    let too_old = Machine::start_tls(mosquitto.tls_port, &root, &[]);
    too_old.logs("the broker speaks no TLS 1.3");
    // A port that speaks no TLS.
    let mosquitto = Mosquitto::start();
    let machine = Machine::start_tls(mosquitto.port, &root, &[]);
    machine.logs("check that this is its port for TLS");
}
