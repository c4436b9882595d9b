//! The Gregorian calendar. By hand: this is all that the hub would use of a crate.

use heapless::String;

use crate::text;

/// The last moment of the year 9999.
const LAST: i64 = 253_402_300_799;
const SECONDS_OF_DAY: i64 = 86_400;

/// A moment as people write it, in the local time that it was made from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Date {
    /// From 1970 to 9999.
    pub year: i32,
    /// From 1 to 12.
    pub month: u8,
    /// From 1 to 31.
    pub day: u8,
    /// Days since Sunday.
    pub weekday: u8,
    /// Since midnight.
    pub second: u32,
}

impl Date {
    /// The date that is `seconds` after the beginning of 1970. What is before that or after 9999 counts as the nearest.
    pub fn new(seconds: i64) -> Self {
        let seconds = seconds.clamp(0, LAST);
        let days = (seconds / SECONDS_OF_DAY) as i32;
        // Counted from the first of March of the year 0, so that a leap day is the last day of its year; and 400 years
        // always have the same number of days.
        let shifted = days + 719_468;
        let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
        let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let from_march = (5 * day_of_year + 2) / 153;
        let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
        Self {
            year: year_of_era + era * 400 + i32::from(month <= 2),
            month: month as u8,
            day: (day_of_year - (153 * from_march + 2) / 5 + 1) as u8,
            weekday: weekday(days),
            second: (seconds % SECONDS_OF_DAY) as u32,
        }
    }

    /// `2026-11-16`
    pub fn day_text(&self) -> String<10> {
        text::clip(&format_args!("{:04}-{:02}-{:02}", self.year, self.month, self.day))
    }

    /// `08:30:00`
    pub fn time_text(&self) -> String<8> {
        let second = self.second;
        text::clip(&format_args!("{:02}:{:02}:{:02}", second / 3600, second / 60 % 60, second % 60))
    }

    /// The name of the day.
    pub fn weekday_name(&self) -> &'static str {
        const NAMES: [&str; 7] =
            ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
        NAMES.get(usize::from(self.weekday)).copied().unwrap_or_default()
    }
}

/// Days since Sunday of the day that is so many days after the beginning of 1970.
pub(super) fn weekday(days: i32) -> u8 {
    (days + 4).rem_euclid(7) as u8
}

/// Days from the beginning of 1970 to the first of a month. `month` is 1 to 13.
pub(super) fn days_before(year: i32, month: i32) -> i32 {
    let (year, from_march) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    365 * year + year / 4 - year / 100 + year / 400 + (153 * from_march + 2) / 5 - 719_468
}
