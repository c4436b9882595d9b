//! The lamp that shows how the hub is, at the pin that the setting `led.pin` names.

use defmt::warn;
use embassy_executor::Spawner;
use embassy_futures::select::{Either, select};
use embassy_sync::{blocking_mutex::raw::CriticalSectionRawMutex, signal::Signal};
use embassy_time::Timer;
use esp_hal::gpio::{AnyPin, Level, Output, OutputConfig, Pin};
use hub_core::{Pattern, panel};

static PATTERN: Signal<CriticalSectionRawMutex, Pattern> = Signal::new();

/// The numbers of the free pins, for people.
const FREE: &str = if cfg!(feature = "esp32c6") { "0 to 3, 8, 11, 15 and 18 to 23" } else { "0 to 5 and 8" };

/// Lights the lamp at pin `number`, one of the board's `free` pins. High is lit.
#[inline(never)]
pub fn open(spawner: Spawner, free: impl IntoIterator<Item = AnyPin<'static>>, number: u8) {
    match free.into_iter().find(|pin| pin.number() == number) {
        Some(pin) => {
            let lamp = Output::new(pin, Level::Low, OutputConfig::default());
            spawner.spawn(blink(lamp).expect("spawned once"));
        }
        None => warn!("led.pin: GPIO{=u8} is in use or not there; free are GPIO{=str}", number, FREE),
    }
}

/// Shows the pattern from now on, if there is a lamp.
pub fn show(pattern: Pattern) {
    PATTERN.signal(pattern);
}

#[embassy_executor::task]
async fn blink(mut lamp: Output<'static>) {
    let mut pattern = PATTERN.wait().await;
    loop {
        pattern = match select(PATTERN.wait(), play(&mut lamp, pattern)).await {
            Either::First(next) => next,
            Either::Second(()) => pattern,
        };
    }
}

/// Once through the pattern.
async fn play(lamp: &mut Output<'static>, pattern: Pattern) {
    for [lit, dark] in panel::blinks(pattern) {
        lamp.set_high();
        Timer::after_millis(u64::from(*lit)).await;
        if *dark > 0 {
            lamp.set_low();
            Timer::after_millis(u64::from(*dark)).await;
        }
    }
}
