//! The time of `embassy-time`, which passes only when a target lets it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Waker;

use embassy_time::Duration;

struct Clock(AtomicU64);

embassy_time_driver::time_driver_impl!(static CLOCK: Clock = Clock(AtomicU64::new(0)));

impl embassy_time_driver::Driver for Clock {
    fn now(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// Whoever lets time pass polls afterwards.
    fn schedule_wake(&self, _: u64, _: &Waker) {}
}

/// Begins anew.
pub fn reset() {
    CLOCK.0.store(0, Ordering::Relaxed);
}

/// Lets time pass.
pub fn advance(by: Duration) {
    CLOCK.0.fetch_add(by.as_ticks(), Ordering::Relaxed);
}
