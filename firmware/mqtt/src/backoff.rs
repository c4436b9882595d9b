//! How long to wait before trying again.

use embassy_time::Duration;

use crate::limits;

/// Waits that double up to a limit, each shortened by chance by up to a half, so that the hubs of a whole house
/// do not come back in step after a power cut.
#[derive(Debug)]
pub struct Backoff {
    first: Duration,
    slowest: Duration,
    longest: Duration,
    random: u64,
}

impl Backoff {
    /// For connections to the broker. Hubs with different seeds wait differently.
    pub const fn new(seed: u64) -> Self {
        Self::between(limits::RECONNECT_FIRST, limits::RECONNECT_SLOWEST, seed)
    }

    /// Waits that begin with `first` and grow to `slowest`.
    pub const fn between(first: Duration, slowest: Duration, seed: u64) -> Self {
        // A generator at zero would stay there.
        Self { first, slowest, longest: first, random: seed | 1 }
    }

    /// The last try was good: the next wait is a short one.
    pub const fn reset(&mut self) {
        self.longest = self.first;
    }

    /// The next wait.
    pub fn next_wait(&mut self) -> Duration {
        let longest = self.longest;
        self.longest = (longest * 2).min(self.slowest);
        self.shorten(longest, 2)
    }

    /// A wait, shortened by chance by up to one part of so many.
    pub fn shorten(&mut self, wait: Duration, parts: u64) -> Duration {
        let part = wait.as_ticks() / parts;
        Duration::from_ticks(wait.as_ticks() - (self.random() >> 11) % (part + 1))
    }

    /// A random number, by Marsaglia's xorshift: chance enough to fall out of step.
    pub const fn random(&mut self) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random
    }
}
