//! The start of a hub: says why it happened, and when it counts as a good one.

use core::future::pending;

use embassy_time::Timer;

use crate::boot::Report;
use crate::limits;
use crate::log::{info, warn};
use crate::notice::{Level, Notice, Notices};
use crate::platform::Platform;

/// Logs why the hub started, and tells people if that was a failure.
pub(super) fn report(boot: &Report, notices: &Notices) {
    let notice = Notice::new(Level::Warning, format_args!("{boot}"));
    if boot.reason.is_failure() {
        warn!("hub: {}", notice.text.as_str());
        notices.push(notice);
    } else {
        info!("hub: {}", notice.text.as_str());
    }
}

/// Calls the start a good one once the hub has run for a while.
pub(super) async fn settle<P: Platform>(platform: &P) -> ! {
    Timer::after(limits::START_SETTLED).await;
    platform.settled();
    pending().await
}
