//! When the controller is tried again.

use embassy_time::Duration;

use crate::limits;

/// The schedule of the attempts to reach the controller.
#[derive(Clone, Copy, Debug)]
pub struct Retries {
    /// When the quick attempts begin, counted from the first. Ascending.
    pub starts: &'static [Duration],
    /// When the last of them is given up, and the controller is reported as missing.
    pub missing: Duration,
    /// Between the attempts after that.
    pub slow: Duration,
}

impl Retries {
    /// As a hub does it.
    pub const STANDARD: Self =
        Self { starts: &limits::LINK_ATTEMPTS, missing: limits::LINK_MISSING, slow: limits::LINK_SLOW_RETRY };

    /// How many attempts are made before the controller is reported as missing.
    pub const fn quick(&self) -> usize {
        self.starts.len()
    }

    /// From the beginning of an attempt, the first of which is 0, to that of the next one.
    pub(super) fn patience(&self, attempt: usize) -> Option<Duration> {
        let start = self.starts.get(attempt)?;
        let next = self.starts.get(attempt + 1).unwrap_or(&self.missing);
        Some(next.checked_sub(*start).unwrap_or_default())
    }

    /// The pause before a controller is tried again that was lost `times` times in a row, always soon. The first time there
    /// is none: most controllers that restart are well then.
    pub(super) fn pause(&self, times: usize) -> Duration {
        match times.checked_sub(1) {
            None => Duration::from_ticks(0),
            Some(attempt) if attempt + 1 < self.starts.len() => self.patience(attempt).unwrap_or(self.slow),
            Some(_) => self.slow,
        }
    }
}
