//! `selftest`: tries the parts of the hub, one line each.

use core::fmt::Display;

use embassy_time::Instant;
use embedded_io_async::Write;
use embedded_storage_async::nor_flash::MultiwriteNorFlash;
use heapless::String;

use super::Console;
use crate::link::LinkState;
use crate::platform::{Network, NetworkState};
use crate::store::{Key, Store, StoreError};
use crate::text;

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
