//! Wi-Fi networks: listed, joined, and asked for by Improv.

use embassy_time::{Instant, Timer};
use embedded_io_async::Write;
use embedded_storage_async::nor_flash::MultiwriteNorFlash;
use heapless::String;

use super::Console;
use super::improv::{self, ImprovCommand, ImprovError, ImprovState};
use crate::config::Config;
use crate::context::{NewValue, NotWritten};
use crate::limits;
use crate::log::{info, warn};
use crate::platform::{AccessPoint, Credentials, Network, NetworkState};
use crate::settings::{HUB_ID, HUB_NAME, Setting, WIFI_PASSWORD, WIFI_SSID};
use crate::store::Store;
use crate::text::{self, one_line};

/// Joins the Wi-Fi network that is set.
pub async fn join_network<N: Network, F: MultiwriteNorFlash>(
    network: &N,
    store: &mut Store<'_, F>,
    config: &Config<'_>,
) {
    let ssid = WIFI_SSID.value(store, config).await;
    let password = WIFI_PASSWORD.value(store, config).await;
    let credentials = Credentials { ssid: &ssid, password: &password };
    network.join((!ssid.is_empty()).then_some(credentials));
}

impl<W: Write, N: Network, F: MultiwriteNorFlash> Console<'_, W, N, Store<'_, F>> {
    /// Lists the networks in reach.
    pub(super) async fn scan(&mut self) {
        self.screen.line(format_args!("listening for networks..."));
        self.flush().await;
        let mut count = 0;
        let mut show = |point: &AccessPoint<'_>| {
            count += 1;
            // A name may hold anything.
            let name: String<{ limits::SSID }> = one_line(&point.ssid);
            let lock = if point.is_open { "open" } else { "locked" };
            self.screen.line(format_args!("{:4} dBm  {lock:6}  {name}", point.signal));
        };
        match self.network.scan(&mut show).await {
            Ok(()) if count == 0 => self.screen.line(format_args!("no network is in reach")),
            Ok(()) => {
                self.screen.line(format_args!("to join one: set wifi.ssid, set wifi.password, restart"))
            }
            Err(why) => self.screen.line(format_args!("no list: {why}")),
        }
    }

    /// Answers a frame.
    pub(super) async fn improv(&mut self, frame: &[u8]) {
        let request = match improv::read(frame) {
            None => return,
            Some(Err(error)) => return improv::write_error(error, self.screen),
            Some(Ok(request)) => request,
        };
        let command = request.command();
        let done = match request {
            ImprovCommand::Join { name, password } => self.provision(name, password).await,
            ImprovCommand::State => {
                let state = self.state();
                improv::write_state(state, self.screen);
                if state == ImprovState::Provisioned {
                    improv::write_result(command, &[], self.screen);
                }
                Ok(())
            }
            ImprovCommand::Info => {
                let name = HUB_NAME.value(&mut *self.hub.store.lock().await, self.hub.config).await;
                let texts = ["Hearthwave", env!("CARGO_PKG_VERSION"), self.hub.config.target, &name];
                improv::write_result(command, &texts, self.screen);
                Ok(())
            }
            ImprovCommand::Scan => self.list(command).await,
            ImprovCommand::HostName(name) => self.rename(command, &HUB_ID, name).await,
            ImprovCommand::Name(name) => self.rename(command, &HUB_NAME, name).await,
            ImprovCommand::Network => {
                // Bit 0: online; bit 1: has Wi-Fi.
                let flags = if self.state() == ImprovState::Provisioned { "3" } else { "2" };
                improv::write_result(command, &[flags], self.screen);
                Ok(())
            }
        };
        if let Err(error) = done {
            improv::write_error(error, self.screen);
        }
    }

    fn state(&self) -> ImprovState {
        match self.network.status().state {
            NetworkState::Joined => ImprovState::Provisioned,
            _ => ImprovState::Ready,
        }
    }

    /// One result for each network, and an empty one at the end.
    async fn list(&mut self, command: u8) -> Result<(), ImprovError> {
        let mut write = |point: &AccessPoint<'_>| {
            let signal: String<4> = text::clip(&point.signal);
            let is_locked = if point.is_open { "NO" } else { "YES" };
            improv::write_result(command, &[point.ssid, &signal, is_locked], self.screen);
        };
        self.network.scan(&mut write).await.map_err(|_| ImprovError::Failed)?;
        self.flush().await;
        improv::write_result(command, &[], self.screen);
        Ok(())
    }

    /// Tells a name, or gives the hub another one from the next start on.
    async fn rename(
        &mut self,
        command: u8,
        setting: &'static Setting,
        name: Option<&str>,
    ) -> Result<(), ImprovError> {
        if let Some(name) = name {
            let is_host_name = setting.key == HUB_ID.key;
            let wrong = if is_host_name { ImprovError::BadHostName } else { ImprovError::Invalid };
            let written = self.hub.write_setting(setting.key, setting, NewValue::Typed(name), &mut []).await;
            written
                .map_err(|why| if let NotWritten::Value(_) = why { wrong } else { ImprovError::Failed })?;
            info!("improv: {} was changed", setting.key);
        }
        let name = setting.value(&mut *self.hub.store.lock().await, self.hub.config).await;
        improv::write_result(command, &[&name], self.screen);
        Ok(())
    }

    /// Joins a network. If that works it is kept, and if not the hub goes back to the one before.
    async fn provision(&mut self, ssid: &str, password: &str) -> Result<(), ImprovError> {
        let (name, key) = (WIFI_SSID.check_text(ssid), WIFI_PASSWORD.check_text(password));
        let (Ok(ssid), Ok(password), false) = (name, key, ssid.is_empty()) else {
            return Err(ImprovError::Unable);
        };
        improv::write_state(ImprovState::Provisioning, self.screen);
        self.flush().await;
        let hub = self.hub;
        self.network.join(Some(Credentials { ssid: &ssid, password: &password }));
        if !is_joined(self.network).await {
            warn!("improv: the network {} could not be joined", ssid.as_str());
            join_network(self.network, &mut *hub.store.lock().await, hub.config).await;
            improv::write_state(self.state(), self.screen);
            return Err(ImprovError::Unable);
        }
        for (setting, value) in [(&WIFI_SSID, &ssid), (&WIFI_PASSWORD, &password)] {
            let written = hub.write_setting(setting.key, setting, NewValue::Typed(value), &mut []).await;
            written.map_err(|_| ImprovError::Failed)?;
            self.started.applied(setting, value);
        }
        info!("improv: joined the network {}", ssid.as_str());
        improv::write_state(ImprovState::Provisioned, self.screen);
        improv::write_result(1, &[], self.screen);
        Ok(())
    }
}

/// Waits for the network that was just joined: until there is an address, or it failed for a while.
async fn is_joined<N: Network>(network: &N) -> bool {
    let end = Instant::now() + limits::IMPROV_JOIN;
    let mut failed_since = None;
    while Instant::now() < end {
        let status = network.status();
        match status.state {
            NetworkState::Joined if status.address.is_some() => return true,
            NetworkState::Failed(_) => {
                let since = *failed_since.get_or_insert(Instant::now());
                if since.elapsed() >= limits::IMPROV_FAILING {
                    return false;
                }
            }
            _ => failed_since = None,
        }
        Timer::after(limits::IMPROV_POLL).await;
    }
    false
}
