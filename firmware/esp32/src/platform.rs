//! The chip as the hub sees it.

use core::sync::atomic::{AtomicU8, Ordering};

use esp_hal::{efuse, rng::Rng, system};
use hub_core::{Platform, WallClock, boot::Record};

use crate::{boot, port};

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
        boot::with(Record::restarting);
        port::send_log_now();
        system::software_reset()
    }
}
