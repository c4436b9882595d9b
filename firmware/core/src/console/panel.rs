//! The front of the hub: a button that is watched, and a lamp that is set.

use embassy_time::{Instant, Timer};
use embedded_storage_async::nor_flash::MultiwriteNorFlash;

use super::Resources;
use crate::button::{self, Button};
use crate::indicator;
use crate::limits;
use crate::link::LinkState;
use crate::log::{error, warn};
use crate::platform::{Network, Platform};
use crate::store::Store;

/// Watches the button and sets the lamp, for ever.
pub async fn run_panel<N: Network, P: Platform, F: MultiwriteNorFlash>(
    hub: &Resources<'_, N, P, Store<'_, F>>,
) -> ! {
    let mut button = Button::Ignored;
    let mut shown = None;
    loop {
        let network = hub.network.status().state;
        let is_ready = hub.link.read(|state, _| state == LinkState::Ready);
        let is_safe_mode = hub.config.boot.is_safe_mode();
        let pattern = indicator::pattern(is_safe_mode, network, hub.broker.is_connected(), is_ready);
        if shown.replace(pattern) != Some(pattern) {
            hub.platform.indicate(pattern);
        }
        if button.poll(hub.platform.is_button_pressed(), Instant::now()) {
            warn!("hub: the button was held; the settings are reset, and the hub restarts");
            match button::reset_settings(hub.store).await {
                Ok(()) => {
                    hub.speaker.forget();
                    hub.restart.signal(());
                }
                Err(_) => error!("hub: the settings cannot be reset: the flash does not work"),
            }
        }
        Timer::after(limits::PANEL_POLL).await;
    }
}
