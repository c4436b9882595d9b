//! A time zone's rule, in the notation of POSIX: `std offset [dst [offset] [,start[/time],end[/time]]]`.

use super::calendar::{Date, days_before, weekday};

/// For whoever names no dates (`EST5EDT`): those of the United States, as everywhere.
const USUAL_DATES: &str = ",M3.2.0,M11.1.0";

const HOUR: i32 = 3600;
const DAY: i32 = 24 * HOUR;

/// How far local time is ahead of UTC, at any moment from 1970 to 9999.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    /// Seconds ahead of UTC.
    standard: i32,
    daylight: Option<Daylight>,
}

/// The part of the year with another offset: usually the summer, in Ireland the winter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Daylight {
    /// Seconds ahead of UTC.
    offset: i32,
    start: ClockChange,
    end: ClockChange,
}

/// When the clocks change, each year.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ClockChange {
    day: Day,
    /// Since midnight, by the clock before the change. Can be days away.
    second: i32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Day {
    /// `Mm.w.d`: the nth weekday of a month; the fifth is the last.
    Weekday { month: i32, week: i32, weekday: i32 },
    /// `Jn`: the nth day of a year, not counting leap days.
    Julian(i32),
    /// `n`: so many days after the first of January.
    After(i32),
}

impl Rule {
    /// The same everywhere.
    pub const UTC: Self = Self { standard: 0, daylight: None };

    /// So many seconds ahead of UTC, always.
    pub(super) const fn fixed(seconds: i32) -> Self {
        Self { standard: seconds, daylight: None }
    }

    /// Reads a rule. The names in it (`CET`) have to be there, and mean nothing.
    pub fn parse(text: &str) -> Option<Self> {
        Cursor { rest: text.as_bytes(), is_named: true }.rule()
    }

    /// Reads a rule of the table, which has no names.
    pub(super) fn parse_unnamed(text: &str) -> Option<Self> {
        Cursor { rest: text.as_bytes(), is_named: false }.rule()
    }

    /// The local date and time at a moment.
    pub fn date_at(&self, unix_seconds: i64) -> Date {
        Date::new(unix_seconds.saturating_add(self.offset_at(unix_seconds).into()))
    }

    /// Whether the clocks never change.
    pub const fn is_fixed(&self) -> bool {
        self.daylight.is_none()
    }

    /// How many seconds local time is ahead of UTC at a moment.
    pub fn offset_at(&self, unix_seconds: i64) -> i32 {
        let Some(Daylight { offset, start, end }) = self.daylight else { return self.standard };
        let year = Date::new(unix_seconds).year;
        // The last change decides. A change can be some days outside of its year, so those of the neighbours count, too.
        // If one period ends when the next begins, it is daylight saving all year: the start comes second, and wins.
        let mut last = (i64::MIN, self.standard);
        for year in year - 1..=year + 1 {
            for (change, before, after) in [(end, offset, self.standard), (start, self.standard, offset)] {
                let moment = change.local(year) - i64::from(before);
                if moment <= unix_seconds && moment >= last.0 {
                    last = (moment, after);
                }
            }
        }
        last.1
    }
}

impl ClockChange {
    /// In seconds since 1970, by the local clock before the change.
    fn local(self, year: i32) -> i64 {
        let first = days_before(year, 1);
        let day = match self.day {
            Day::Weekday { month, week, weekday: wanted } => {
                let (first, next) = (days_before(year, month), days_before(year, month + 1));
                let ahead = (wanted - i32::from(weekday(first))).rem_euclid(7);
                let day = first + ahead + 7 * (week - 1);
                if day < next { day } else { day - 7 }
            }
            Day::Julian(number) => {
                let has_leap_day = days_before(year, 3) - first == 60;
                first + number - 1 + i32::from(has_leap_day && number > 59)
            }
            Day::After(days) => first + days,
        };
        i64::from(day) * i64::from(DAY) + i64::from(self.second)
    }
}

/// What is left of a rule's text. Each method reads one part; `None` if it is not there.
struct Cursor<'a> {
    rest: &'a [u8],
    is_named: bool,
}

impl Cursor<'_> {
    fn rule(&mut self) -> Option<Rule> {
        self.name()?;
        // POSIX counts to the west.
        let standard = -self.time(24)?;
        if self.rest.is_empty() {
            return Some(Rule::fixed(standard));
        }
        self.name()?;
        let offset = match self.rest {
            [] | [b',', ..] => standard + HOUR,
            _ => -self.time(24)?,
        };
        if self.rest.is_empty() {
            self.rest = USUAL_DATES.as_bytes();
        }
        let (start, end) = (self.change()?, self.change()?);
        self.rest.is_empty().then_some(Rule { standard, daylight: Some(Daylight { offset, start, end }) })
    }

    /// Three letters or more, or between angle brackets also digits and signs.
    fn name(&mut self) -> Option<()> {
        if !self.is_named {
            return Some(());
        }
        let is_quoted = self.take(b'<');
        let is_part = |byte: &u8| {
            byte.is_ascii_alphabetic() || is_quoted && (byte.is_ascii_digit() || matches!(byte, b'+' | b'-'))
        };
        let length = self.rest.iter().take_while(|byte| is_part(byte)).count();
        self.rest = self.rest.get(length..)?;
        (length >= 3 && (!is_quoted || self.take(b'>'))).then_some(())
    }

    /// `,day[/time]`. Without a time, two in the morning.
    fn change(&mut self) -> Option<ClockChange> {
        self.expect(b',')?;
        let day = if self.take(b'M') {
            let month = self.number(1, 12)?;
            self.expect(b'.')?;
            let week = self.number(1, 5)?;
            self.expect(b'.')?;
            Day::Weekday { month, week, weekday: self.number(0, 6)? }
        } else if self.take(b'J') {
            Day::Julian(self.number(1, 365)?)
        } else {
            Day::After(self.number(0, 365)?)
        };
        let second = if self.take(b'/') { self.time(167)? } else { 2 * HOUR };
        Some(ClockChange { day, second })
    }

    /// `[+|-]hh[:mm[:ss]]`, in seconds.
    fn time(&mut self, most_hours: i32) -> Option<i32> {
        let is_negative = self.take(b'-');
        if !is_negative {
            self.take(b'+');
        }
        let mut seconds = self.number(0, most_hours)? * HOUR;
        if self.take(b':') {
            seconds += self.number(0, 59)? * 60;
            if self.take(b':') {
                seconds += self.number(0, 59)?;
            }
        }
        Some(if is_negative { -seconds } else { seconds })
    }

    /// At most three digits.
    fn number(&mut self, least: i32, most: i32) -> Option<i32> {
        let mut number = None;
        for _ in 0..3 {
            let [digit @ b'0'..=b'9', rest @ ..] = self.rest else { break };
            number = Some(number.unwrap_or(0) * 10 + i32::from(digit - b'0'));
            self.rest = rest;
        }
        number.filter(|number| (least..=most).contains(number))
    }

    fn expect(&mut self, byte: u8) -> Option<()> {
        self.take(byte).then_some(())
    }

    fn take(&mut self, byte: u8) -> bool {
        match self.rest {
            [first, rest @ ..] if *first == byte => {
                self.rest = rest;
                true
            }
            _ => false,
        }
    }
}
