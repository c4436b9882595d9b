//! The chip as the hub sees it, and what happens when the firmware itself fails.

use esp_hal::{delay::Delay, efuse, rng::Rng, system};
use hub_core::Platform;

/// Time for the last words to leave through USB, and a pause so that a fault at start-up does not become a
/// storm of restarts.
const LAST_WORDS_MILLISECONDS: u32 = 2000;

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
}

/// Called by esp-backtrace after it has printed a panic: a hub that restarts is worth more than one that
/// stands still until somebody pulls the plug.
#[unsafe(no_mangle)]
extern "Rust" fn custom_halt() -> ! {
    Delay::new().delay_millis(LAST_WORDS_MILLISECONDS);
    system::software_reset()
}
