//! The machine itself, as the hub's [`Platform`].

use hub_core::Platform;

/// The emulated machine.
#[derive(Clone, Copy)]
pub struct Machine {
    seed: u64,
}

impl Machine {
    /// A machine with this `seed`, or one from its clock, which shows the nanoseconds of the real time.
    pub fn new(seed: Option<u64>) -> Self {
        Self { seed: seed.unwrap_or_else(nanoseconds) }
    }
}

impl Platform for Machine {
    fn seed(&self) -> u64 {
        self.seed
    }
}

/// Nanoseconds since 1970.
fn nanoseconds() -> u64 {
    const CLOCK: *const u32 = 0x10_1000 as *const u32;
    // SAFETY: the machine's clock, which may be read at any time. Reading the low word keeps the high one.
    let (low, high) = unsafe { (CLOCK.read_volatile(), CLOCK.add(1).read_volatile()) };
    u64::from(high) << 32 | u64::from(low)
}
