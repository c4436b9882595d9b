//! The chip as the hub sees it, and what happens when the firmware itself fails.

use core::sync::atomic::{AtomicU8, Ordering};

use esp_hal::{delay::Delay, efuse, rng::Rng, system};
use hub_core::{Platform, WallClock};

/// Time for the last words to leave through USB, and a pause so that a fault at start-up does not become a
/// storm of restarts.
const LAST_WORDS_MILLISECONDS: u32 = 2000;

/// The volume that the speaker is to have, in percent.
static VOLUME: AtomicU8 = AtomicU8::new(50);

/// The ESP32.
#[derive(Clone, Copy)]
pub struct Chip;

impl Platform for Chip {
    fn seed(&self) -> u64 {
        // The generator alone tells starts apart only weakly while the radio is off; the address tells chips
        // apart for certain.
        let mut bytes = [0; 8];
        Rng::new().read(&mut bytes);
        let mac = efuse::base_mac_address();
        for (byte, address) in bytes.iter_mut().zip(mac.as_bytes()) {
            *byte ^= address;
        }
        u64::from_le_bytes(bytes)
    }

    /// Nobody sets the clock yet.
    fn wall_clock(&self) -> Option<WallClock> {
        None
    }

    fn volume(&self) -> u8 {
        VOLUME.load(Ordering::Relaxed)
    }

    fn set_volume(&self, percent: u8) {
        VOLUME.store(percent, Ordering::Relaxed);
    }

    fn restart(&self) {
        system::software_reset()
    }
}

/// Called by esp-backtrace after it has printed a panic: a hub that restarts is worth more than one that
/// stands still until somebody pulls the plug.
#[unsafe(no_mangle)]
extern "Rust" fn custom_halt() -> ! {
    Delay::new().delay_millis(LAST_WORDS_MILLISECONDS);
    system::software_reset()
}
