//! How long to wait before dialling the broker again.

use embassy_time::Duration;

use crate::limits;

/// Waits that double up to a limit, each shortened by chance by up to a half, so that the hubs of a whole house
/// do not come back in step after a power cut.
#[derive(Debug)]
pub struct Backoff {
    longest: Duration,
    random: u64,
}

impl Backoff {
    /// Hubs with different seeds wait differently.
    pub const fn new(seed: u64) -> Self {
        // A generator at zero would stay there.
        Self { longest: limits::RECONNECT_FIRST, random: seed | 1 }
    }

    /// The connection was good: the next wait is a short one.
    pub const fn reset(&mut self) {
        self.longest = limits::RECONNECT_FIRST;
    }

    /// The next wait.
    pub fn next_wait(&mut self) -> Duration {
        let longest = self.longest;
        self.longest = (longest * 2).min(limits::RECONNECT_SLOWEST);
        // Marsaglia's xorshift: chance enough to fall out of step.
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        let half = longest.as_ticks() / 2;
        Duration::from_ticks(longest.as_ticks() - (self.random >> 11) % (half + 1))
    }
}
