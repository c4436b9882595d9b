//! The start of a hub: says why it happened, and when it counts as a good one.

use core::future::pending;
use core::ops::ControlFlow;

use embassy_time::Timer;
use embedded_storage_async::nor_flash::MultiwriteNorFlash;

use crate::boot::Report;
use crate::config::Config;
use crate::json::Value;
use crate::limits;
use crate::log::{info, warn};
use crate::notice::{Level, Notice, Notices};
use crate::platform::Platform;
use crate::settings::{CONTROLLER_TOOLS, RULE_PREFIX};
use crate::store::{Key, Section, Store};
use crate::tool::Registry;

/// Logs why the hub started, and tells people if that was a failure.
#[inline(never)]
pub(super) fn report(boot: &Report, notices: &Notices) {
    let notice = Notice::new(Level::Warning, format_args!("{boot}"));
    if boot.reason.is_failure() {
        warn!("hub: {}", notice.text.as_str());
        notices.push(notice);
    } else {
        info!("hub: {}", notice.text.as_str());
    }
}

/// Tells the registry which of the controller's tools to prefer: those of the setting, and those that rules allow.
pub(super) async fn prefer_tools<F: MultiwriteNorFlash>(
    registry: &Registry,
    store: &mut Store<'_, F>,
    config: &Config<'_>,
) {
    registry.prefer(&CONTROLLER_TOOLS.value(store, config).await);
    let allow = |rule: &str| {
        let allowed =
            Value::parse(rule.as_bytes()).ok().and_then(|rule| rule.get("tools")?.get("allowed_tools"));
        let names = allowed.iter().flat_map(|allowed| allowed.items());
        names.filter_map(|name| name.as_text()).for_each(|name| registry.prefer_allowed(name));
    };
    allow(config.rule);
    let mut visit = |key: Key<'_>, text: &str| {
        if matches!(key, Key::Setting(key) if key.starts_with(RULE_PREFIX)) {
            allow(text);
        }
        ControlFlow::Continue(())
    };
    // If the store fails, there are no rules.
    let _ = store.each(Section::Settings, &mut visit).await;
}

/// Calls the start a good one once the hub has run for a while.
pub(super) async fn settle(platform: &dyn Platform) -> ! {
    Timer::after(limits::START_SETTLED).await;
    platform.settled();
    pending().await
}
