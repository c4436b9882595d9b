//! A time driver for `embassy-time` that targets advance.

use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Waker;

use embassy_time::Duration;

struct Clock(AtomicU64);

embassy_time_driver::time_driver_impl!(static CLOCK: Clock = Clock(AtomicU64::new(0)));

impl embassy_time_driver::Driver for Clock {
    fn now(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// Nothing to do: targets poll after they advance the time.
    fn schedule_wake(&self, _: u64, _: &Waker) {}
}

/// Resets the time.
pub fn reset() {
    CLOCK.0.store(0, Ordering::Relaxed);
}

/// Advances the time.
pub fn advance(by: Duration) {
    CLOCK.0.fetch_add(by.as_ticks(), Ordering::Relaxed);
}
