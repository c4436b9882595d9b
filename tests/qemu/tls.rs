//! The firmware and brokers that speak TLS: what a handshake costs, and those that it does not trust.

use rcgen::date_time_ymd;
use support::certificate::{Issued, KeyKind, authority, self_signed};
use support::mosquitto::Mosquitto;
use support::wait_for;

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
        (P256, 1, 80_000_000),
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

/// The firmware, which trusts `root`, refuses a broker with this certificate and says why. So does the broker's log, if the
/// broker was told.
fn refuses(root: &Issued, broker: &Issued, words: &str, theirs: &str) {
    let mosquitto = Mosquitto::start_tls(broker, "");
    let machine = Machine::start_tls(mosquitto.tls_port, root, &[]);
    // Either of them ends the wait.
    wait_for("a verdict", || [words, "connected to"].iter().any(|words| machine.log().contains(words)));
    let log = machine.log();
    assert!(log.contains(words) && !log.contains("connected to"), "{log}");
    wait_for(theirs, || mosquitto.log().contains(theirs));
}

#[test]
#[ignore = "needs qemu, mosquitto and the firmware; ./tests/run runs it"]
fn a_broker_with_another_name_is_refused() {
    let root = authority("a home", KeyKind::P256);
    let elsewhere = root.issues(KeyKind::P256, |params| {
        let names = rcgen::CertificateParams::new(["example.org".into()]).expect("a name");
        params.subject_alt_names = names.subject_alt_names;
    });
    refuses(&root, &elsewhere, "is for another name", "bad certificate");
}

#[test]
#[ignore = "needs qemu, mosquitto and the firmware; ./tests/run runs it"]
fn a_broker_whose_certificate_has_expired_is_refused() {
    let root = authority("a home", KeyKind::P256);
    let expired = root.issues(KeyKind::P256, |params| params.not_after = date_time_ymd(2024, 1, 1));
    refuses(&root, &expired, "the broker's certificate has expired", "certificate expired");
}

#[test]
#[ignore = "needs qemu, mosquitto and the firmware; ./tests/run runs it"]
fn a_broker_that_signed_its_certificate_itself_is_refused() {
    let (root, itself) = (authority("a home", KeyKind::P256), self_signed(KeyKind::P256));
    refuses(&root, &itself, "is self-signed and not the one in broker.ca", "unknown ca");
}

#[test]
#[ignore = "needs qemu, mosquitto and the firmware; ./tests/run runs it"]
fn a_broker_under_another_ca_is_refused() {
    let (root, another) = (authority("a home", KeyKind::P256), authority("another", KeyKind::P256));
    refuses(&root, &another.issues(KeyKind::P256, |_| {}), "from another CA", "unknown ca");
}

#[test]
#[ignore = "needs qemu, mosquitto and the firmware; ./tests/run runs it"]
fn a_broker_without_tls_1_3_is_refused_whatever_its_certificate() {
    let root = authority("a home", KeyKind::P256);
    let mosquitto = Mosquitto::start_tls_1_2(&root.issues(KeyKind::P256, |_| {}));
    let too_old = Machine::start_tls(mosquitto.tls_port, &root, &[]);
    too_old.logs("the broker speaks no TLS 1.3");
    // A port that speaks no TLS.
    let mosquitto = Mosquitto::start();
    let machine = Machine::start_tls(mosquitto.port, &root, &[]);
    machine.logs("check that this is its port for TLS");
    for log in [too_old.log(), machine.log()] {
        assert!(!log.contains("connected to"), "{log}");
    }
}
