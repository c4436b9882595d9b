//! The chip as the hub sees it, and what happens when the firmware itself fails.

use core::sync::atomic::{AtomicU8, Ordering};

use esp_hal::{delay::Delay, efuse, rng::Rng, system};
use hub_core::Platform;

/// Time for the last log lines to leave through USB, and a pause between restarts after a fault at start-up.
const LAST_WORDS_MILLISECONDS: u32 = 2000;

/// The volume that the speaker is to have, in percent.
static VOLUME: AtomicU8 = AtomicU8::new(50);

/// The ESP32.
#[derive(Clone, Copy)]
pub struct Chip;

impl Platform for Chip {
    fn seed(&self) -> u64 {
        // While the radio is off, the generator is weak. The address at least differs from chip to chip.
        let mut bytes = [0; 8];
        Rng::new().read(&mut bytes);
        let mac = efuse::base_mac_address();
        for (byte, address) in bytes.iter_mut().zip(mac.as_bytes()) {
            *byte ^= address;
        }
        u64::from_le_bytes(bytes)
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

/// Fills `buffer` with numbers that nobody can guess, while the radio is on: its noise is where they come from.
pub fn random(buffer: &mut [u8]) {
    Rng::new().read(buffer);
}

/// Called by esp-backtrace after it has printed a panic. Restarts, since nobody may be there to pull the plug.
#[unsafe(no_mangle)]
extern "Rust" fn custom_halt() -> ! {
    Delay::new().delay_millis(LAST_WORDS_MILLISECONDS);
    system::software_reset()
}
