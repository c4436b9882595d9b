//! The machine itself, as the hub's [`Platform`].

use core::sync::atomic::{AtomicU8, Ordering};

use hub_core::Platform;

use crate::console;

/// The volume of the absent speaker, in percent.
static VOLUME: AtomicU8 = AtomicU8::new(50);

/// The emulated machine.
#[derive(Clone, Copy)]
pub struct Machine {
    seed: u64,
}

impl Machine {
    /// A machine with this `seed`, or else with one from the real-time clock.
    pub fn new(seed: Option<u64>) -> Self {
        Self { seed: seed.unwrap_or_else(nanoseconds) }
    }
}

impl Platform for Machine {
    fn seed(&self) -> u64 {
        self.seed
    }

    fn wall_clock(&self) -> Option<i64> {
        (nanoseconds() / 1_000_000_000).try_into().ok()
    }

    fn volume(&self) -> u8 {
        VOLUME.load(Ordering::Relaxed)
    }

    fn set_volume(&self, percent: u8) {
        VOLUME.store(percent, Ordering::Relaxed);
    }

    fn restart(&self) {
        console::restart()
    }
}

/// Fills `buffer` with numbers that differ from run to run. Whoever knows when it ran can guess them, which is all the same
/// to a machine that is there for tests.
pub fn random(buffer: &mut [u8]) {
    for chunk in buffer.chunks_mut(8) {
        // SplitMix64.
        let mut number = nanoseconds().wrapping_mul(0x9e37_79b9_7f4a_7c15);
        number = (number ^ number >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        number = (number ^ number >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        let bytes = (number ^ number >> 31).to_be_bytes();
        chunk.iter_mut().zip(bytes).for_each(|(place, byte)| *place = byte);
    }
}

/// Nanoseconds since 1970.
fn nanoseconds() -> u64 {
    const CLOCK: *const u32 = 0x10_1000 as *const u32;
    // SAFETY: the machine's clock, which may be read at any time. Reading the low word keeps the high one.
    let (low, high) = unsafe { (CLOCK.read_volatile(), CLOCK.add(1).read_volatile()) };
    u64::from(high) << 32 | u64::from(low)
}
