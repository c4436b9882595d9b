//! Safe mode: after failed starts, only what is needed to find out why.

use core::pin::pin;

use embassy_futures::join::join4;
use embassy_sync::mutex::Mutex;
use embassy_time::Timer;
use embedded_io_async::{Read, Write};
use embedded_storage_async::nor_flash::MultiwriteNorFlash;

use super::{ControllerHint, Hub, Memory, keep_and_restart, open_store, start};
use crate::context::{HubContext, RunState};
use crate::log::error;
use crate::notice::{Level, Notice};
use crate::platform::{Network, Platform};
use crate::store::{Gated, Store};
use crate::{console, limits};

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
        let mut store = Store::new(Gated::new(flash, context.port.gate()), store);
        open_store(&mut store).await;
        context.identity.read(&mut store, config, &mut mqtt.send).await;
        console::join_network(&network, &mut store, config).await;
        let notices = &context.notices;
        start::report(&config.boot, notices);
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
        join4(console, console::run_panel(hub), restarting, try_again).await.0
    }
}
