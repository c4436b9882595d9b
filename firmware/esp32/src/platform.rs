//! The chip as the hub sees it.

use core::sync::atomic::{AtomicU8, Ordering};

use esp_hal::{
    efuse,
    gpio::{Input, InputConfig, Pull},
    peripherals::GPIO9,
    rng::Rng,
    system,
};
use hub_core::{Pattern, Platform, Usage, boot::BootRecord};

use crate::{boot, led, port, uart, usage};

/// The volume that the speaker is to have, in percent.
static VOLUME: AtomicU8 = AtomicU8::new(50);

/// The ESP32.
pub struct Chip {
    button: Input<'static>,
}

impl Chip {
    /// With the button that boards have at GPIO9, which chooses the boot mode only while the chip resets.
    pub fn new(button: GPIO9<'static>) -> Self {
        Self { button: Input::new(button, InputConfig::default().with_pull(Pull::Up)) }
    }
}

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
        boot::with(BootRecord::restarting);
        port::send_log_now();
        system::software_reset()
    }

    fn usage(&self) -> Usage {
        usage::usage()
    }

    fn overruns(&self) -> u32 {
        uart::overruns()
    }

    fn is_button_pressed(&self) -> bool {
        self.button.is_low()
    }

    fn indicate(&self, pattern: Pattern) {
        led::show(pattern);
    }

    fn settled(&self) {
        boot::with(BootRecord::settled);
    }
}

/// Fills `buffer` with numbers that nobody can guess, while the radio is on: its noise is where they come from.
pub fn random(buffer: &mut [u8]) {
    Rng::new().read(buffer);
}
