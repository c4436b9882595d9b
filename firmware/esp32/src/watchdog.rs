//! Restarts a hub that hangs.

use embassy_executor::Spawner;
use embassy_time::{Duration, Timer};
use esp_hal::{
    peripherals::TIMG1,
    timer::timg::{MwdtStage, TimerGroup, Wdt},
};

/// Silence after which the chip resets. Nothing the hub does keeps the processor for a whole second.
const TIMEOUT: esp_hal::time::Duration = esp_hal::time::Duration::from_secs(20);

const FEED_INTERVAL: Duration = Duration::from_secs(5);

/// Arms the watchdog at once: a start that hangs before the first task runs is found, too. From then on it is fed
/// as long as the hub's executor runs.
pub fn arm(spawner: Spawner, timers: TIMG1<'static>) {
    let mut watchdog = TimerGroup::new(timers).wdt;
    watchdog.set_timeout(MwdtStage::Stage0, TIMEOUT);
    watchdog.enable();
    watchdog.feed();
    spawner.spawn(feed(watchdog).expect("spawned once"));
}

#[embassy_executor::task]
async fn feed(mut watchdog: Wdt<TIMG1<'static>>) {
    loop {
        watchdog.feed();
        Timer::after(FEED_INTERVAL).await;
    }
}
