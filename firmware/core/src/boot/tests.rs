//! Starts and ends in any order against a model, and memory that holds anything.

use proptest::prelude::*;
use std::format;
use std::string::{String, ToString};
use std::vec::Vec;

use super::{BootRecord, BootReport, MAGIC, Reset, StartReason};
use crate::limits;

const RESETS: [Reset; 6] =
    [Reset::PowerOn, Reset::Software, Reset::Watchdog, Reset::Brownout, Reset::External, Reset::Other];

/// What a run does before the chip resets.
#[derive(Clone, Debug)]
enum Act {
    Settles,
    Restarts,
    Panics(String, u32),
    Excepts(String, u32),
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        Just(Act::Settles),
        Just(Act::Restarts),
        (".{0,300}", any::<u32>()).prop_map(|(message, address)| Act::Panics(message, address)),
        ("[ -~]{0,40}", any::<u32>()).prop_map(|(message, address)| Act::Excepts(message, address)),
    ]
}

fn apply(record: &mut BootRecord, act: &Act) {
    match act {
        Act::Settles => record.settled(),
        Act::Restarts => record.restarting(),
        Act::Panics(message, address) => record.panicked(format_args!("{message}"), *address),
        Act::Excepts(message, address) => record.excepted(format_args!("{message}"), *address),
    }
}

/// A message as it is reported, written the long way.
fn reported(message: &str) -> String {
    let line: String = message.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    if line.len() <= limits::BOOT_MESSAGE {
        return line;
    }
    let mut cut = limits::BOOT_MESSAGE - "…".len();
    while !line.is_char_boundary(cut) {
        cut -= 1;
    }
    format!("{}…", &line[..cut])
}

/// How a run failed, what it said, and where.
type Failure = (StartReason, String, u32);

/// Reads the whole history again for every report.
fn expected(runs: &[(Vec<Act>, Reset)]) -> (StartReason, u32, u32, Option<Failure>) {
    let since = runs.iter().rposition(|(_, reset)| *reset == Reset::PowerOn);
    let Some((acts, reset)) = runs.last() else { return (StartReason::PowerOn, 1, 0, None) };
    let lived = &runs[since.map_or(0, |at| at + 1)..];
    let mut failures = 0;
    let mut last = None;
    for (acts, reset) in lived {
        let is_settled = acts.iter().any(|act| matches!(act, Act::Settles));
        let fault = acts.iter().find(|act| matches!(act, Act::Panics(..) | Act::Excepts(..)));
        if acts.iter().any(|act| matches!(act, Act::Settles | Act::Restarts)) {
            failures = 0;
        }
        if !is_settled && (fault.is_some() || matches!(reset, Reset::Watchdog | Reset::Brownout)) {
            failures += 1;
        }
        if is_settled {
            last = None;
        }
        last = match (fault, reset) {
            (Some(Act::Panics(message, address)), _) => {
                Some((StartReason::Panic, reported(message), *address))
            }
            (Some(Act::Excepts(message, address)), _) => {
                Some((StartReason::Exception, reported(message), *address))
            }
            (_, Reset::Watchdog) => Some((StartReason::Watchdog, String::new(), 0)),
            (_, Reset::Brownout) => Some((StartReason::Brownout, String::new(), 0)),
            _ => last,
        };
    }
    let count = lived.len() as u32 + 1;
    if *reset == Reset::PowerOn {
        return (StartReason::PowerOn, 1, 0, None);
    }
    let fault = acts.iter().find_map(|act| match act {
        Act::Panics(..) => Some(StartReason::Panic),
        Act::Excepts(..) => Some(StartReason::Exception),
        _ => None,
    });
    let is_told = acts.iter().any(|act| matches!(act, Act::Restarts));
    let reason = fault.unwrap_or(match reset {
        Reset::PowerOn => StartReason::PowerOn,
        Reset::Software => StartReason::Restart,
        Reset::Watchdog => StartReason::Watchdog,
        Reset::Brownout => StartReason::Brownout,
        Reset::External => StartReason::External,
        Reset::Other if is_told => StartReason::Restart,
        Reset::Other => StartReason::Unknown,
    });
    (reason, count, failures, last)
}

/// Orders in which a firmware really calls: it settles at most once, a restart is the last act before a fault, and faults
/// come last.
fn run() -> impl Strategy<Value = (Vec<Act>, Reset)> {
    let acts = proptest::collection::vec(act(), 0..4).prop_map(|mut acts| {
        acts.sort_by_key(|act| match act {
            Act::Settles => 0,
            Act::Restarts => 1,
            Act::Panics(..) | Act::Excepts(..) => 2,
        });
        acts
    });
    (acts, proptest::sample::select(&RESETS[..]))
}

fn hostile() -> impl Strategy<Value = BootRecord> {
    let fields = (any::<[u32; 6]>(), any::<bool>(), any::<bool>());
    (fields, proptest::collection::vec(any::<u8>(), limits::BOOT_MESSAGE)).prop_map(
        |(([magic, check_sum, count, failures, end, length], is_ours, is_sealed), bytes)| {
            let mut record = BootRecord {
                magic: if is_ours { MAGIC } else { magic },
                check_sum,
                count,
                failures,
                is_settled: end >> 7,
                end: end % 9,
                failure: (end >> 4) % 9,
                address: magic,
                length: if length % 2 == 0 { length } else { length % 256 },
                message: bytes.try_into().unwrap(),
            };
            if is_sealed {
                record.seal();
            }
            record
        },
    )
}

proptest! {
    /// Any runs and resets are reported as a model reports them that reads the whole history each time.
    #[test]
    fn every_start_is_reported(runs in proptest::collection::vec(run(), 0..12)) {
        let mut record = BootRecord::new();
        let mut report = record.begin(Reset::PowerOn);
        for so_far in 0..=runs.len() {
            let (reason, count, failures, last) = expected(&runs[..so_far]);
            let (failure, message, address) =
                last.map_or((None, String::new(), 0), |(failure, message, address)| (Some(failure), message, address));
            prop_assert_eq!(report.last_failure, failure);
            prop_assert_eq!((report.reason, report.count, report.failures), (reason, count, failures));
            prop_assert_eq!((report.message(), report.address().unwrap_or(0)), (message.as_str(), address));
            prop_assert_eq!(report.is_safe_mode(), failures >= limits::FAILED_STARTS);
            if let Some((acts, reset)) = runs.get(so_far) {
                acts.iter().for_each(|act| apply(&mut record, act));
                report = record.begin(*reset);
            }
        }
    }

    /// Whatever the memory holds, a start is reported in words, and the starts after it count.
    #[test]
    fn garbage_becomes_a_record(garbage in hostile(), reset in proptest::sample::select(&RESETS[..]), act in act()) {
        let mut record = garbage;
        apply(&mut record, &act);
        let mut record = garbage;
        let report = record.begin(reset);
        prop_assert!(report.count >= 1 && report.message().len() <= limits::BOOT_MESSAGE);
        prop_assert!(!report.to_string().is_empty());
        let is_sealed = garbage.magic == MAGIC && garbage.check_sum == garbage.sum();
        if reset == Reset::PowerOn || !is_sealed {
            prop_assert_eq!((report.count, report.failures, report.message()), (1, 0, ""));
        }
        record.settled();
        prop_assert_eq!(record.begin(Reset::Watchdog).failures, 0);
        record.panicked(format_args!("again"), 1);
        let next = record.begin(Reset::Software);
        prop_assert_eq!((next.reason, next.failures, next.message()), (StartReason::Panic, 1, "again"));
    }

    /// A bit that flips in the record is noticed.
    #[test]
    fn damage_is_noticed(act in act(), bit in 0..32 * 9_u32) {
        let mut record = BootRecord::new();
        let _ = record.begin(Reset::PowerOn);
        apply(&mut record, &act);
        let fields = [
            &mut record.magic,
            &mut record.check_sum,
            &mut record.count,
            &mut record.failures,
            &mut record.is_settled,
            &mut record.end,
            &mut record.failure,
            &mut record.address,
            &mut record.length,
        ];
        *fields.into_iter().nth(bit as usize / 32).unwrap() ^= 1 << (bit % 32);
        let report = record.begin(Reset::Software);
        prop_assert_eq!(report, BootReport { reason: StartReason::Restart, ..BootReport::POWER_ON });
    }
}

#[test]
fn four_failed_starts_are_safe_mode_until_somebody_restarts_it() {
    let mut record = BootRecord::new();
    let mut report = record.begin(Reset::PowerOn);
    for number in 0..limits::FAILED_STARTS {
        assert!(!report.is_safe_mode(), "{number}");
        report = record.begin(Reset::Watchdog);
    }
    assert!(report.is_safe_mode());
    assert!(record.begin(Reset::External).is_safe_mode(), "the reset button does not leave it");
    record.restarting();
    assert!(!record.begin(Reset::Software).is_safe_mode());
}

#[test]
fn a_failure_is_one_sentence() {
    let mut record = BootRecord::new();
    let _ = record.begin(Reset::PowerOn);
    record.panicked(format_args!("panicked at src/wifi.rs:12:5:\nno heap"), 0x4200_1234);
    record.excepted(format_args!("in the panic handler"), 7);
    assert_eq!(
        record.begin(Reset::Watchdog).to_string(),
        "start 2 since power-on: the firmware failed at 0x42001234: panicked at src/wifi.rs:12:5: no heap"
    );
    assert_eq!(
        record.begin(Reset::Software).to_string(),
        "start 3 since power-on: it was told to restart; before that, the firmware failed at 0x42001234: panicked at \
         src/wifi.rs:12:5: no heap"
    );
    record.settled();
    assert_eq!(record.begin(Reset::Software).to_string(), "start 4 since power-on: it was told to restart");
}
