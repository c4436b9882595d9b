//! `datetime`: what day and what time it is. (A tool's parts are explained in this folder's README.md.)

use core::fmt;

use super::Toolbox;
use crate::json::{Value, Writer};
use crate::platform::Platform;
use crate::tool::{ErrorType, Example, Failure, Success, Tool};

pub(super) static TOOL: Tool<'static> = Tool {
    description: "Tells the date and the time.\n\nUse it whenever the answer depends on what day or what time it is at \
                  the hub; do not guess.",
    usage: "datetime({})",
    examples: &[Example {
        code: "datetime({})  ->  {\"date\": \"2026-11-16\", \"time\": \"08:30:00\", \"weekday\": \"Monday\", \"utc_offset\": \"+01:00\"}",
        explanation: "The local time at the hub, and how far it is ahead of UTC.",
    }],
    ..Tool::builtin("datetime")
};

pub(super) async fn run<P: Platform, S>(
    toolbox: &Toolbox<'_, P, S>,
    _: Value<'_>,
    result: &mut Writer<'_>,
) -> Result<Success, Failure> {
    let Some(unix_seconds) = toolbox.platform.wall_clock() else {
        return Err(Failure::new(ErrorType::Unavailable, format_args!("The clock of the hub has not been set"))
            .saying(format_args!("Sorry, I do not know what time it is."))
            .instructing("Do not guess the date or the time."));
    };
    let clock = WallClock { unix_seconds, utc_offset_minutes: 0 };
    let local = Local::new(clock);
    result.object(|object| {
        object.field("date", format_args!("{:04}-{:02}-{:02}", local.year, local.month, local.day));
        object.field("time", format_args!("{local}"));
        object.field("weekday", local.weekday);
        let offset = clock.utc_offset_minutes;
        let sign = if offset < 0 { '-' } else { '+' };
        let minutes = offset.unsigned_abs();
        object.field("utc_offset", format_args!("{sign}{:02}:{:02}", minutes / 60, minutes % 60));
    });
    Ok(Success::saying(format_args!("It is {local} on {}, {}-{:02}-{:02}.", local.weekday, local.year, local.month, local.day)))
}

/// The time of day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct WallClock {
    /// Seconds since the beginning of 1970, in UTC.
    unix_seconds: i64,
    /// Local time minus UTC.
    utc_offset_minutes: i16,
}

/// A moment in local time. By hand: this is all that the hub would use of a calendar crate.
pub(super) struct Local {
    year: i64,
    month: i64,
    day: i64,
    weekday: &'static str,
    second_of_day: i64,
}

impl Local {
    pub(super) fn new(clock: WallClock) -> Self {
        const DAY: i64 = 86_400;
        let seconds = clock.unix_seconds.saturating_add(i64::from(clock.utc_offset_minutes) * 60);
        let days = seconds.div_euclid(DAY);
        // Days since the first of March of the year 0, so that a leap day is the last day of its year; and the number
        // of days in 400 years is always the same.
        let shifted = days.saturating_add(719_468);
        let era = shifted.div_euclid(146_097);
        let day_of_era = shifted.rem_euclid(146_097);
        let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let month_from_march = (5 * day_of_year + 2) / 153;
        let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
        const WEEKDAYS: [&str; 7] =
            ["Thursday", "Friday", "Saturday", "Sunday", "Monday", "Tuesday", "Wednesday"];
        let weekday = usize::try_from(days.rem_euclid(7)).ok().and_then(|day| WEEKDAYS.get(day).copied());
        Self {
            year: year_of_era + era * 400 + i64::from(month <= 2),
            month,
            day: day_of_year - (153 * month_from_march + 2) / 5 + 1,
            weekday: weekday.unwrap_or_default(),
            second_of_day: seconds.rem_euclid(DAY),
        }
    }
}

/// The time of day.
impl fmt::Display for Local {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let second = self.second_of_day;
        write!(f, "{:02}:{:02}:{:02}", second / 3600, second / 60 % 60, second % 60)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_of_the_calendar() {
        for (unix_seconds, utc_offset_minutes, expected) in [
            (0, 0, "Thursday 1970-1-1 00:00:00"),
            (951_782_400, 0, "Tuesday 2000-2-29 00:00:00"),
            (1_794_814_200, 60, "Monday 2026-11-16 08:30:00"),
            (1_709_251_199, 0, "Thursday 2024-2-29 23:59:59"),
            (4_107_542_399, 1, "Monday 2100-3-1 00:00:59"),
            (-1, 0, "Wednesday 1969-12-31 23:59:59"),
            (0, -90, "Wednesday 1969-12-31 22:30:00"),
        ] {
            let local = Local::new(WallClock { unix_seconds, utc_offset_minutes });
            let shown = std::format!("{} {}-{}-{} {local}", local.weekday, local.year, local.month, local.day);
            assert_eq!(shown, expected);
        }
    }
}
