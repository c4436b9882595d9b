//! How long things take in a Z-Wave network.

use std::sync::Mutex;
use std::time::Duration;

use crate::random::Random;

/// What the controller knows by itself, in milliseconds.
const KNOWN: (u64, u64) = (2, 15);

/// A command over the radio and back, through a repeater or two.
const RADIO: (u64, u64) = (50, 300);

/// Until the controller gives a node up: three tries.
const DEAD: (u64, u64) = (1900, 2300);

/// What is waited for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Errand {
    /// Something that the controller knows by itself.
    Known,
    /// A node that answers.
    Radio,
    /// A node that does not.
    Dead,
}

/// How long things take; the seed decides.
#[derive(Debug)]
pub(super) struct Pace {
    /// None for a home in which nothing takes time.
    random: Option<Mutex<Random>>,
}

impl Pace {
    pub(super) const fn real(seed: u64) -> Self {
        Self { random: Some(Mutex::new(Random::new(seed))) }
    }

    pub(super) const fn fast() -> Self {
        Self { random: None }
    }

    /// The time that this errand takes.
    pub(super) fn time(&self, errand: Errand) -> Duration {
        let Some(random) = &self.random else { return Duration::ZERO };
        let (least, most) = match errand {
            Errand::Known => KNOWN,
            Errand::Radio => RADIO,
            Errand::Dead => DEAD,
        };
        let more = random.lock().expect("no holder panics").below(most - least + 1);
        Duration::from_millis(least + more)
    }

    /// Waits as long as this errand takes.
    pub(super) async fn wait(&self, errand: Errand) {
        let time = self.time(errand);
        if !time.is_zero() {
            tokio::time::sleep(time).await;
        }
    }
}
