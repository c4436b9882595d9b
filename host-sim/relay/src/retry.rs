//! When to ask a server again.

use std::time::Duration;

use host_desktop::random::Random;
use tokio::time::Instant;

use super::http::Advice;

/// Attempts in all. With the waits between them they take a quarter of a minute; a server that is down for longer stays so.
const ATTEMPTS: u32 = 6;
/// The longest first wait. It doubles each time.
const FIRST: Duration = Duration::from_millis(500);
/// The longest wait of all.
const SLOWEST: Duration = Duration::from_secs(8);

/// The retries of one request.
#[derive(Debug)]
pub(super) struct Retries {
    until: Instant,
    made: u32,
    random: Random,
}

impl Retries {
    /// For a request that is no longer wanted after `until`. Relays with different seeds wait differently.
    pub(super) fn new(until: Instant, seed: u64) -> Self {
        Self { until, made: 0, random: Random::new(seed) }
    }

    /// The number of retries so far.
    pub(super) fn made(&self) -> u32 {
        self.made
    }

    /// An attempt failed: the wait before the next. None if there is no point in another.
    pub(super) fn next(&mut self, now: Instant, advice: Advice) -> Option<Duration> {
        if advice.never || self.made + 1 >= ATTEMPTS {
            return None;
        }
        let longest = (FIRST * 2_u32.pow(self.made)).min(SLOWEST);
        let own = longest - longest.mul_f64(self.random.fraction() / 2.0);
        // The server knows best when it is ready; it may not be asked earlier.
        let wait = advice.wait.map_or(own, |asked| asked.max(own.min(FIRST / 2)));
        if now.checked_add(wait)? >= self.until {
            return None;
        }
        self.made += 1;
        Some(wait)
    }
}

/// Whether a status says that the same request may work later.
pub(super) fn is_transient(status: u16) -> bool {
    // 529 is Anthropic's "overloaded".
    status == 429 || (500..=599).contains(&status)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn advice(seconds: u64) -> Advice {
        Advice { wait: Some(Duration::from_secs(seconds)), never: false }
    }

    #[tokio::test(start_paused = true)]
    async fn waits_grow_and_end() {
        let now = Instant::now();
        for seed in 0..100 {
            let mut retries = Retries::new(now + Duration::from_secs(60), seed * 7919);
            let mut longest = FIRST;
            for made in 1..ATTEMPTS {
                let wait = retries.next(now, Advice::default()).expect("a wait");
                assert!(wait <= longest && wait >= longest / 2, "{wait:?} of {longest:?}");
                assert_eq!(retries.made(), made);
                longest = (longest * 2).min(SLOWEST);
            }
            assert_eq!(retries.next(now, Advice::default()), None);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn the_server_says_when_and_the_hub_how_long() {
        let now = Instant::now();
        let mut retries = Retries::new(now + Duration::from_secs(10), 1);
        assert_eq!(retries.next(now, advice(7)), Some(Duration::from_secs(7)));
        assert_eq!(retries.next(now, advice(10)), None, "nobody waits that long");
        assert_eq!(retries.next(now, advice(u64::MAX)), None);
        assert_eq!(retries.next(now, Advice { wait: None, never: true }), None);
        let wait = retries.next(now, advice(0)).expect("at once, but not in a tight loop");
        assert!(wait >= FIRST / 4, "{wait:?}");
        assert_eq!(retries.made(), 2);
    }

    #[test]
    fn which_failures_are_transient() {
        for status in [429, 500, 502, 503, 504, 529] {
            assert!(is_transient(status), "{status}");
        }
        for status in [301, 400, 401, 403, 404, 413, 422] {
            assert!(!is_transient(status), "{status}");
        }
    }
}
