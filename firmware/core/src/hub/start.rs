//! The start of a hub: why it happened, when it counts as a good one, and safe mode after failed starts.

use core::future::pending;
use core::ops::ControlFlow;
use core::pin::pin;

use embassy_futures::join::join4;
use embassy_sync::mutex::Mutex;
use embassy_time::Timer;
use embedded_io_async::{Read, Write};
use embedded_storage_async::nor_flash::MultiwriteNorFlash;

use super::{ControllerHint, Hub, Memory, keep_and_restart, open_store};
use crate::boot::BootReport;
use crate::config::Config;
use crate::console;
use crate::context::{HubContext, RunState};
use crate::json::Value;
use crate::limits;
use crate::log::{error, info, warn};
use crate::notice::{Level, Notice, Notices};
use crate::panel;
use crate::platform::{Network, Platform};
use crate::settings::{CONTROLLER_TOOLS, RULE_PREFIX};
use crate::store::{InterlockedFlash, Key, Section, Store};
use crate::tool::Registry;

/// Logs why the hub started, and tells people if that was a failure.
#[inline(never)]
pub(super) fn report(boot: &BootReport, notices: &Notices) {
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

impl Hub<'_> {
    /// Runs in place of [`run`](Self::run) if [`boot`](crate::Config::boot) says safe mode: joins the Wi-Fi network and
    /// serves `console`, so that settings can be changed, and nothing else: no broker, no controller, no tools. It ends
    /// in a restart, which tries a normal start: when somebody asks for it, or by itself after
    /// [`limits::SAFE_MODE`].
    pub async fn run_safe<CR, CW, N, F, P>(
        &mut self,
        console: (CR, CW),
        network: N,
        flash: &mut F,
        platform: P,
    ) -> !
    where
        CR: Read,
        CW: Write,
        N: Network,
        F: MultiwriteNorFlash,
        P: Platform,
    {
        let Self { config, memory, .. } = self;
        let Memory { context, mqtt, store, console: console_memory } = &mut **memory;
        context.clear(platform.seed());
        let mut store = Store::new(InterlockedFlash::new(flash, context.port.erase_interlock()), store);
        open_store(&mut store).await;
        context.identity.read(&mut store, config, &mut mqtt.send).await;
        console::join_network(&network, &mut store, config).await;
        let notices = &context.notices;
        report(&config.boot, notices);
        let words = format_args!(
            "safe mode: {} starts in a row failed, so only Wi-Fi and the console run. Change what may be wrong, then \
             `restart`; by itself the hub tries again in {} minutes",
            config.boot.failures,
            limits::SAFE_MODE.as_secs() / 60
        );
        let notice = Notice::new(Level::Error, words);
        error!("hub: {}", notice.text.as_str());
        notices.push(notice);
        let hint = &ControllerHint::read(&mut store, config).await;
        let store = &Mutex::new(store);
        let state = &RunState::new();
        let network_status = || network.status();
        let hub = &HubContext::new(config, context, state, &platform, &network_status, store);
        let try_again = async {
            Timer::after(limits::SAFE_MODE).await;
            hub.restart.signal(());
            core::future::pending::<core::convert::Infallible>().await
        };
        let console = pin!(console::run(console, console_memory, hub, &network, hint));
        let restarting = keep_and_restart(hub);
        join4(console, panel::run_panel(hub), restarting, try_again).await.0
    }
}
