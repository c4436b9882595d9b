//! `status` and `selftest`: the state of the hub, and a test of each part.

use core::fmt::Display;

use embassy_time::Instant;
use embedded_io_async::Write;
use embedded_storage_async::nor_flash::MultiwriteNorFlash;
use heapless::String;

use super::Console;
use crate::limits;
use crate::link::LinkState;
use crate::platform::{Network, NetworkState};
use crate::settings::{BROKER_URL, WIFI_SSID};
use crate::store::{Key, Store, StoreError};
use crate::text::{self, one_line};

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

/// An entry that is there only for the test. No setting is called so.
const SCRATCH: Key<'static> = Key::Setting("selftest");

impl<W: Write, N: Network, F: MultiwriteNorFlash> Console<'_, W, N, Store<'_, F>> {
    pub(super) async fn selftest(&mut self) {
        let hub = self.hub;
        let flash = self.try_flash().await;
        self.verdict("flash", flash.as_ref().err().map(|error| error as &dyn Display));
        let network = match self.network.status().state {
            NetworkState::Joined => None,
            NetworkState::Off => Some("set wifi.ssid and wifi.password, then restart"),
            NetworkState::Joining => Some("it is still joining; try again in some seconds"),
            NetworkState::Failed(why) => Some(why),
        };
        self.verdict("Wi-Fi", network.as_ref().map(|why| why as &dyn Display));
        let broker = hub.broker.text();
        self.verdict("broker", (!hub.broker.is_connected()).then_some(&broker as &dyn Display));
        let is_ready = hub.port.status().read(|state, _| state == LinkState::Ready);
        let hint = self.hint;
        self.verdict("controller", (!is_ready).then_some(&format_args!("check {hint}") as &dyn Display));
        let is_known = self.now().is_some();
        let why = "the time is not known; check time.server, and that the network lets NTP through";
        self.verdict("time", (!is_known).then_some(&why as &dyn Display));
    }

    fn verdict(&mut self, part: &str, failure: Option<&dyn Display>) {
        match failure {
            None => self.screen.line(format_args!("{part:11} ok")),
            Some(why) => self.screen.line(format_args!("{part:11} failed: {why}")),
        }
    }

    /// Writes an entry, reads it back and deletes it.
    async fn try_flash(&mut self) -> Result<(), StoreError> {
        let text: String<20> = text::clip(&Instant::now().as_ticks());
        let mut read = [0; 20];
        let mut store = self.hub.store.lock().await;
        store.set(SCRATCH, &text).await?;
        let is_same = store.get(SCRATCH, &mut read).await? == Some(text.as_str());
        store.delete(SCRATCH).await?;
        if is_same { Ok(()) } else { Err(StoreError::Worn) }
    }
}
