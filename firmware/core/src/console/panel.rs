//! The front of the hub: a button that is watched, and a lamp that is set.

use embassy_time::{Instant, Timer};
use embedded_storage_async::nor_flash::MultiwriteNorFlash;

use crate::button::Button;
use crate::context::HubContext;
use crate::indicator;
use crate::limits;
use crate::link::LinkState;
use crate::log::{error, warn};
use crate::store::Store;

/// Watches the button and sets the lamp, for ever.
pub(crate) async fn run_panel<F: MultiwriteNorFlash>(hub: &HubContext<'_, Store<'_, F>>) -> ! {
    let mut button = Button::Ignored;
    let mut shown = None;
    loop {
        let network = (hub.network)().state;
        let is_ready = hub.port.status().read(|state, _| state == LinkState::Ready);
        let is_safe_mode = hub.config.boot.is_safe_mode();
        let pattern = indicator::pattern(is_safe_mode, network, hub.broker.is_connected(), is_ready);
        if shown.replace(pattern) != Some(pattern) {
            hub.platform.indicate(pattern);
        }
        if button.poll(hub.platform.is_button_pressed(), Instant::now()) {
            warn!("hub: the button was held; the settings are reset, and the hub restarts");
            if hub.reset_settings().await.is_err() {
                error!("hub: the settings cannot be reset: the flash does not work");
            }
        }
        Timer::after(limits::PANEL_POLL).await;
    }
}
