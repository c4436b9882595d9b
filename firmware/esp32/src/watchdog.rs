//! Restarts a hub that hangs.

use embassy_time::{Duration, Timer};
use esp_hal::{
    peripherals::TIMG1,
    timer::timg::{MwdtStage, TimerGroup, Wdt},
};

/// Silence after which the chip resets. Nothing the hub does keeps the processor for a whole second.
const TIMEOUT: esp_hal::time::Duration = esp_hal::time::Duration::from_secs(20);

const FEED_INTERVAL: Duration = Duration::from_secs(5);

/// Starts the watchdog, and feeds it as long as the hub's executor runs.
#[embassy_executor::task]
pub async fn watch(timers: TIMG1<'static>) {
    let mut watchdog: Wdt<TIMG1<'static>> = TimerGroup::new(timers).wdt;
    watchdog.set_timeout(MwdtStage::Stage0, TIMEOUT);
    watchdog.enable();
    loop {
        watchdog.feed();
        Timer::after(FEED_INTERVAL).await;
    }
}
