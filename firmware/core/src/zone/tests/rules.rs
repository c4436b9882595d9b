use jiff::Timestamp;
use jiff::tz::TimeZone;
use proptest::prelude::*;

use super::super::{Date, Rule};

const HOUR: i32 = 3600;

#[test]
fn all_notations_are_read() {
    for (text, moment, hours) in [
        // 2026-07-01 and 2026-01-15, 00:00 UTC
        ("CET-1CEST,M3.5.0,M10.5.0/3", 1_782_864_000, 2.0),
        ("CET-1CEST,M3.5.0,M10.5.0/3", 1_768_435_200, 1.0),
        ("<+03>-3", 0, 3.0),
        ("<-0330>+3:30", 0, -3.5),
        ("XXX-12:34:12", 0, 12.57),
        ("EST5EDT", 1_782_864_000, -4.0),
        ("EST5EDT", 1_768_435_200, -5.0),
        // South: summer is in January.
        ("AEST-10AEDT,M10.1.0,M4.1.0/3", 1_782_864_000, 10.0),
        ("AEST-10AEDT,M10.1.0,M4.1.0/3", 1_768_435_200, 11.0),
        // Winter as the exception.
        ("IST-1GMT0,M10.5.0,M3.5.0/1", 1_768_435_200, 0.0),
        // Two hours.
        ("<+00>0<+02>-2,M3.5.0/1,M10.5.0/3", 1_782_864_000, 2.0),
        // Days of the year, with and without the leap day. 2028-02-29 12:00, 2028-03-01 12:00.
        ("AAA0BBB,J60/0,J61/0", 1_835_438_400, 0.0),
        ("AAA0BBB,J60/0,J61/0", 1_835_524_800, 1.0),
        ("AAA0BBB,59/0,60/0", 1_835_438_400, 1.0),
        ("AAA0BBB,59/0,60/0", 1_835_524_800, 0.0),
        // The day before, and days after: 2026-03-28 23:30 and 22:30; 2026-03-28 00:30 is 50 hours after a Thursday's start.
        ("<-02>2<-01>,M3.5.0/-1,M10.5.0/0", 1_774_746_000 - 1, -2.0),
        ("<-02>2<-01>,M3.5.0/-1,M10.5.0/0", 1_774_746_000, -1.0),
        ("EET-2EEST,M3.4.4/50,M10.4.4/50", 1_774_656_000 - 1, 2.0),
        ("EET-2EEST,M3.4.4/50,M10.4.4/50", 1_774_656_000, 3.0),
        // Daylight saving all year.
        ("EST5EDT,0/0,J365/25", 1_767_225_600, -4.0),
        ("EST5EDT,0/0,J365/25", 1_767_225_600 + 5 * 3600, -4.0),
        ("EST5EDT,0/0,J365/25", 1_782_864_000, -4.0),
    ] {
        let rule = Rule::parse(text).unwrap_or_else(|| panic!("{text}"));
        assert_eq!(rule.offset_at(moment), (hours * f64::from(HOUR)) as i32, "{text} at {moment}");
    }
}

#[test]
fn what_is_no_rule_is_refused() {
    for text in [
        "",
        "CET",
        "CE-1",
        "<CET-1",
        "<+>-1",
        "-1",
        "CET-25",
        "CET-1:60",
        "CET-1CEST,",
        "CET-1CEST,M3.5.0",
        "CET-1CEST,M13.5.0,M10.5.0",
        "CET-1CEST,M3.0.0,M10.5.0",
        "CET-1CEST,M3.5.7,M10.5.0",
        "CET-1CEST,J0,J5",
        "CET-1CEST,J366,J5",
        "CET-1CEST,366,5",
        "CET-1CEST,M3.5.0/168,M10.5.0",
        "CET-1CEST,M3.5.0,M10.5.0/3 ",
        "CET-1CEST,M3.5.0,M10.5.0/3,",
        "CET-1CEST-,M3.5.0,M10.5.0",
        "CET-1000000000000000",
        "CET-1CEST;M3.5.0;M10.5.0",
    ] {
        assert_eq!(Rule::parse(text), None, "{text}");
    }
}

#[test]
fn days_of_the_calendar() {
    for (seconds, expected) in [
        (0, "Thursday 1970-1-1 0"),
        (951_782_400, "Tuesday 2000-2-29 0"),
        (1_794_817_800, "Monday 2026-11-16 30600"),
        (1_709_251_199, "Thursday 2024-2-29 86399"),
        (4_107_542_459, "Monday 2100-3-1 59"),
        (-1, "Thursday 1970-1-1 0"),
        (i64::MAX, "Friday 9999-12-31 86399"),
        (i64::MIN, "Thursday 1970-1-1 0"),
    ] {
        let date = Date::new(seconds);
        let shown =
            std::format!("{} {}-{}-{} {}", date.weekday_name(), date.year, date.month, date.day, date.second);
        assert_eq!(shown, expected);
    }
}

/// Offsets, start and end of rules as countries could make them: the two changes are in different months.
fn rules() -> impl Strategy<Value = std::string::String> {
    let day = |months: std::ops::RangeInclusive<i32>| {
        let (first, last) = (*months.start(), *months.end());
        prop_oneof![
            (months, 1..=5, 0..=6).prop_map(|(month, week, day)| std::format!("M{month}.{week}.{day}")),
            (first * 30 - 20..=last * 30 - 10).prop_map(|day| std::format!("J{day}")),
            (first * 30 - 20..=last * 30 - 10).prop_map(|day| std::format!("{day}")),
        ]
    };
    let time =
        || (-30..=60_i32, 0..60_i32).prop_map(|(hours, minutes)| std::format!("/{hours}:{minutes:02}"));
    let offset =
        || (-13..=13_i32, 0..60_i32).prop_map(|(hours, minutes)| std::format!("{hours}:{minutes:02}"));
    (offset(), proptest::option::of(offset()), day(2..=5), time(), day(8..=11), time(), any::<bool>())
        .prop_map(|(standard, other, spring, spring_time, autumn, autumn_time, is_south)| {
            let (spring, autumn) = (spring + &spring_time, autumn + &autumn_time);
            let (start, end) = if is_south { (autumn, spring) } else { (spring, autumn) };
            std::format!("<AA+1>{standard}BBB{},{start},{end}", other.unwrap_or_default())
        })
}

proptest! {
    /// jiff reads the same rule.
    #[test]
    fn offsets_are_those_of_another_hand(text in rules(), moments in prop::collection::vec(0..7_258_118_400_i64, 20)) {
        let rule = Rule::parse(&text).unwrap();
        let zone = TimeZone::posix(&text).unwrap();
        for moment in moments {
            let expected = zone.to_offset(Timestamp::from_second(moment).unwrap()).seconds();
            prop_assert_eq!(rule.offset_at(moment), expected, "{} at {}", text, moment);
        }
    }

    #[test]
    fn any_text_is_a_rule_or_not(
        text in "[A-Z<>]{0,4}[-+0-9:]{0,9}[A-Z<>]{0,4}[-+0-9:]{0,5}(,[MJ]?[-0-9./:]{0,9}){0,3}",
        moment: i64,
    ) {
        if let Some(rule) = Rule::parse(&text) {
            prop_assert!(rule.offset_at(moment).abs() <= 25 * HOUR);
        }
    }

    #[test]
    fn dates_are_those_of_another_hand(second in 0..253_402_207_200_i64) {
        let date = Date::new(second);
        let expected = Timestamp::from_second(second).unwrap().to_zoned(TimeZone::UTC);
        prop_assert_eq!(
            (date.year, date.month, date.day, i32::from(date.weekday)),
            (
                i32::from(expected.year()),
                expected.month() as u8,
                expected.day() as u8,
                i32::from(expected.weekday().to_sunday_zero_offset()),
            )
        );
    }
}
