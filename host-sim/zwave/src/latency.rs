//! How long operations take in a Z-Wave network.

use std::sync::Mutex;
use std::time::Duration;

use host_desktop::random::Random;

/// What the controller has in memory, in milliseconds.
const CACHED: (u64, u64) = (2, 15);

/// A command over the radio and back, through a repeater or two.
const RADIO: (u64, u64) = (50, 300);

/// Three tries, after which the controller gives a node up.
const DEAD: (u64, u64) = (1900, 2300);

/// What the controller does.
#[derive(Clone, Copy, Debug)]
pub(super) enum Operation {
    /// Reads what it has in memory.
    Cached,
    /// Asks a node that answers.
    Radio,
    /// Asks a node that does not.
    Dead,
}

/// How long operations take.
#[derive(Debug)]
pub(super) struct Latency {
    /// None if nothing takes time.
    random: Option<Mutex<Random>>,
}

impl Latency {
    /// As in a real network; the seed decides how long exactly.
    pub(super) const fn real(seed: u64) -> Self {
        Self { random: Some(Mutex::new(Random::new(seed))) }
    }

    /// Nothing takes time.
    pub(super) const fn fast() -> Self {
        Self { random: None }
    }

    /// The time that an operation takes.
    pub(super) fn time(&self, operation: Operation) -> Duration {
        let Some(random) = &self.random else { return Duration::ZERO };
        let (least, most) = match operation {
            Operation::Cached => CACHED,
            Operation::Radio => RADIO,
            Operation::Dead => DEAD,
        };
        let more = random.lock().expect("no holder panics").below(most - least + 1);
        Duration::from_millis(least + more)
    }

    /// Waits as long as an operation takes.
    pub(super) async fn wait(&self, operation: Operation) {
        let time = self.time(operation);
        if !time.is_zero() {
            tokio::time::sleep(time).await;
        }
    }
}
