//! The volume of the speaker, whoever changes it: applied at once, published, and kept in the store.
//!
//! Flash wears with each write, and a slider moves through many values: a changed volume is written once, some seconds
//! later ([`limits::VOLUME_DELAY`]), or before a restart. Power lost in these seconds, and it is the one before.

use core::cell::Cell;
use core::pin::{Pin, pin};

use embassy_sync::blocking_mutex::raw::NoopRawMutex;
use embassy_sync::mutex::Mutex;
use embassy_sync::signal::Signal;
use embassy_time::Timer;
use embedded_storage_async::nor_flash::MultiwriteNorFlash;

use crate::config::Config;
use crate::log::{debug, warn};
use crate::platform::Platform;
use crate::settings::VOLUME;
use crate::store::{Key, Store};
use crate::{limits, text};

/// The volume that the speaker has.
pub struct Speaker {
    level: Cell<u8>,
    is_unsaved: Cell<bool>,
    changed: Signal<NoopRawMutex, ()>,
    unsaved: Signal<NoopRawMutex, ()>,
}

impl Speaker {
    /// Silent until the first [`apply`](Self::apply).
    pub const fn new() -> Self {
        Self {
            level: Cell::new(0),
            is_unsaved: Cell::new(false),
            changed: Signal::new(),
            unsaved: Signal::new(),
        }
    }

    /// The volume in percent.
    pub fn level(&self) -> u8 {
        self.level.get()
    }

    /// The platform's volume is `level` now: it is published and soon kept, unless it was so before.
    pub fn set(&self, level: u8) {
        if self.show(level) {
            self.is_unsaved.set(true);
            self.unsaved.signal(());
        }
    }

    /// Gives the speaker the volume that is kept, or else the default. A change that is not kept yet is void.
    pub async fn apply<F: MultiwriteNorFlash>(
        &self,
        platform: &dyn Platform,
        store: &mut Store<'_, F>,
        config: &Config<'_>,
    ) {
        self.forget();
        platform.set_volume(VOLUME.get(store, config).await);
        self.show(platform.volume());
    }

    /// A change that is not kept yet never is.
    pub fn forget(&self) {
        self.is_unsaved.set(false);
    }

    /// Waits for another volume.
    pub async fn changed(&self) {
        self.changed.wait().await;
    }

    /// Waits until a changed volume is to be kept.
    pub async fn is_due(&self) {
        self.unsaved.wait().await;
        Timer::after(limits::VOLUME_DELAY).await;
    }

    /// Keeps a changed volume without a delay.
    pub async fn keep_now<F: MultiwriteNorFlash>(&self, store: &Mutex<NoopRawMutex, Store<'_, F>>) {
        let mut store = store.lock().await;
        // Only now: whoever had the store may have changed or reset the setting.
        if !self.is_unsaved.take() {
            return;
        }
        let text: heapless::String<3> = text::clip(&self.level());
        // Behind a pointer: otherwise this would bring its own copy of the store's code.
        let keeping: Pin<&mut dyn Future<Output = _>> = pin!(store.set(Key::Setting(VOLUME.key), &text));
        match keeping.await {
            Ok(()) => debug!("speaker: the volume of {} percent is kept", text.as_str()),
            Err(error) => {
                let error: heapless::String<{ limits::REFUSAL }> = text::clip(&error);
                warn!("speaker: the volume will not survive a restart: {}", error.as_str());
            }
        }
    }

    /// Has the volume published. Returns whether it is another one.
    fn show(&self, level: u8) -> bool {
        let is_new = self.level.replace(level) != level;
        if is_new {
            self.changed.signal(());
        }
        is_new
    }
}
