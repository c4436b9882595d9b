//! `status`: how the hub is.

use embassy_time::Instant;
use embedded_io_async::Write;
use embedded_storage_async::nor_flash::MultiwriteNorFlash;
use heapless::String;

use super::Console;
use crate::limits;
use crate::platform::{Network, NetworkState};
use crate::settings::{BROKER_URL, WIFI_SSID};
use crate::store::Store;
use crate::text::one_line;

impl<W: Write, N: Network, F: MultiwriteNorFlash> Console<'_, W, N, Store<'_, F>> {
    pub(super) async fn status(&mut self) {
        let hub = self.hub;
        let config = hub.config;
        let (ssid, url) = {
            let mut store = hub.store.lock().await;
            (WIFI_SSID.value(&mut store, config).await, BROKER_URL.value(&mut store, config).await)
        };
        // The state is that of the network and the broker with which the hub has started.
        let later = |waits| if waits { " after `restart`" } else { "" };
        let ssid_later = later(self.started.waits(&WIFI_SSID, &ssid));
        let url_later = later(self.started.waits(&BROKER_URL, &url));
        let ssid: String<{ limits::SSID }> = one_line(&ssid.as_str());
        let (id, version) = (hub.identity.id().as_str(), env!("CARGO_PKG_VERSION"));
        let minutes = Instant::now().as_secs() / 60;
        let now = self.now();
        let screen = &mut *self.screen;
        screen.line(format_args!("hub         {id}, version {version} on {}", config.target));
        screen.line(format_args!("up          {} h {} min; {}", minutes / 60, minutes % 60, config.boot));
        if config.boot.is_safe_mode() {
            screen.line(format_args!(
                "safe mode   the last starts failed: only Wi-Fi and this console run; `restart` tries again"
            ));
        }
        let status = self.network.status();
        let state = match status.state {
            NetworkState::Off => "off; set wifi.ssid and wifi.password",
            NetworkState::Joining => "joining",
            NetworkState::Joined => "joined",
            NetworkState::Failed(why) => why,
        };
        screen.line(format_args!("Wi-Fi       {state}"));
        if !ssid.is_empty() {
            screen.line(format_args!("  network   {ssid}{ssid_later}"));
        }
        if let Some(signal) = status.signal {
            screen.line(format_args!("  signal    {signal} dBm"));
        }
        if let Some([a, b, c, d]) = status.address {
            screen.line(format_args!("  address   {a}.{b}.{c}.{d}"));
        }
        screen.line(format_args!("broker      {}", hub.broker.text()));
        screen.line(format_args!("  address   {url}{url_later}"));
        hub.port.status().read(|state, controller| {
            screen.line(format_args!("controller  {}", state.as_str()));
            if !controller.name.is_empty() {
                let (name, tools) = (controller.name.as_str(), controller.tools);
                screen.line(format_args!("  name      {name}, {tools} tools"));
            }
        });
        match now {
            Some(now) => {
                let minute = now.rem_euclid(86_400) as u32 / 60;
                screen.line(format_args!("time        {:02}:{:02} UTC", minute / 60, minute % 60));
            }
            None => screen.line(format_args!("time        not known yet")),
        }
    }
}
