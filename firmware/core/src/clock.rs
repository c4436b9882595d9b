//! The time of day: the machine's own clock, if it has one, or else what a time server or the broker said last, counted on.

use core::cell::Cell;

use embassy_sync::blocking_mutex::raw::NoopRawMutex;
use embassy_sync::signal::Signal;
use embassy_time::Instant;
pub use hub_mqtt::sleep_until;

use crate::limits;

/// 2025-01-01: this firmware is younger.
const EARLIEST: i64 = 1_735_689_600;
/// 2100-01-01.
const LATEST: i64 = 4_102_444_800;

/// Who said what time it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Source {
    /// Nobody yet.
    None,
    /// Somebody at the broker.
    Broker,
    /// A time server.
    Sntp,
    /// The machine's own clock.
    Machine,
}

impl Source {
    /// As replies show it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Broker => "broker",
            Self::Sntp => "sntp",
            Self::Machine => "machine",
        }
    }
}

/// What time it is, and who said so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeOfDay {
    /// Seconds since the beginning of 1970, in UTC.
    pub unix_seconds: i64,
    /// Never [`Source::None`].
    pub source: Source,
}

/// A time that cannot be: before 2025 or after 2099.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AbsurdTime;

/// Keeps the time between two synchronisations. All zeros when new: the time is not known.
pub struct Clock {
    source: Cell<Source>,
    /// In milliseconds since 1970, when the hub's ticks were at zero.
    start: Cell<i64>,
    set_at: Cell<Instant>,
    is_wanted: Signal<NoopRawMutex, ()>,
}

impl Clock {
    /// One that does not know the time.
    pub const fn new() -> Self {
        Self {
            source: Cell::new(Source::None),
            start: Cell::new(0),
            set_at: Cell::new(Instant::MIN),
            is_wanted: Signal::new(),
        }
    }

    /// It was `unix_milliseconds` when the hub's ticks were at `now`. The broker does not overrule a time server that
    /// answered within [`limits::SNTP_TRUSTED`]: a message travels longer, and whoever sent it may be wrong.
    pub fn set(&self, source: Source, unix_milliseconds: i64, now: Instant) -> Result<(), AbsurdTime> {
        if !(EARLIEST * 1000..LATEST * 1000).contains(&unix_milliseconds) {
            return Err(AbsurdTime);
        }
        if source == Source::Broker && self.source.get() == Source::Sntp {
            let age = now.saturating_duration_since(self.set_at.get());
            if age < limits::SNTP_TRUSTED {
                return Ok(());
            }
        }
        self.source.set(source);
        self.start.set(unix_milliseconds - now.as_millis() as i64);
        self.set_at.set(now);
        Ok(())
    }

    /// The time when the hub's ticks are at `now`. A machine that has a clock of its own says what that shows.
    pub fn read(&self, machine: Option<i64>, now: Instant) -> Option<TimeOfDay> {
        if let Some(unix_seconds) = machine {
            return Some(TimeOfDay { unix_seconds, source: Source::Machine });
        }
        let source = self.source.get();
        let unix_seconds = (self.start.get() + now.as_millis() as i64) / 1000;
        (source != Source::None).then_some(TimeOfDay { unix_seconds, source })
    }

    /// Has the time servers asked now: they may be others.
    pub fn want(&self) {
        self.is_wanted.signal(());
    }

    /// Waits until the time servers are to be asked.
    pub async fn wanted(&self) {
        self.is_wanted.wait().await;
    }
}

#[cfg(test)]
mod tests {
    use embassy_time::Duration;

    use super::*;

    const NOW: i64 = 1_794_945_600;

    fn at(seconds: u64) -> Instant {
        Instant::from_secs(seconds)
    }

    #[test]
    fn the_time_is_not_known_until_somebody_says_it_and_then_goes_on() {
        let clock = Clock::new();
        assert_eq!(clock.read(None, at(5)), None);
        clock.set(Source::Sntp, NOW * 1000 + 999, at(100)).unwrap();
        let reading = |seconds| clock.read(None, at(seconds)).unwrap();
        assert_eq!(reading(100), TimeOfDay { unix_seconds: NOW, source: Source::Sntp });
        assert_eq!(reading(3700).unix_seconds, NOW + 3600);
        let soon = at(100) + Duration::from_millis(1);
        assert_eq!(clock.read(None, soon).unwrap().unix_seconds, NOW + 1);
    }

    #[test]
    fn a_clock_of_the_machines_own_comes_first() {
        let clock = Clock::new();
        let own = TimeOfDay { unix_seconds: 7, source: Source::Machine };
        assert_eq!(clock.read(Some(7), at(0)), Some(own));
        clock.set(Source::Sntp, NOW * 1000, at(0)).unwrap();
        assert_eq!(clock.read(Some(7), at(0)), Some(own));
    }

    #[test]
    fn a_time_that_cannot_be_is_refused() {
        let clock = Clock::new();
        for seconds in [0, -1, EARLIEST - 1, LATEST, i64::MAX / 1000, i64::MIN / 1000] {
            assert_eq!(clock.set(Source::Broker, seconds * 1000, at(0)), Err(AbsurdTime));
        }
        assert_eq!(clock.read(None, at(0)), None);
        clock.set(Source::Broker, EARLIEST * 1000, at(0)).unwrap();
        clock.set(Source::Broker, (LATEST - 1) * 1000, at(0)).unwrap();
    }

    #[test]
    fn a_time_server_overrules_the_broker_until_it_is_silent_for_long() {
        let clock = Clock::new();
        clock.set(Source::Broker, NOW * 1000, at(0)).unwrap();
        clock.set(Source::Sntp, (NOW + 60) * 1000, at(0)).unwrap();
        clock.set(Source::Broker, NOW * 1000, at(1)).unwrap();
        assert_eq!(
            clock.read(None, at(1)).unwrap(),
            TimeOfDay { unix_seconds: NOW + 61, source: Source::Sntp }
        );
        let late = at(limits::SNTP_TRUSTED.as_secs());
        clock.set(Source::Broker, NOW * 1000, late).unwrap();
        assert_eq!(clock.read(None, late).unwrap(), TimeOfDay { unix_seconds: NOW, source: Source::Broker });
    }
}
