//! Keeps the flash from being erased while an answer is on its way over the serial line.
//!
//! On a board an erase stops everything for some 45 ms, and of what arrives meanwhile only the first bytes are kept: an
//! answer would be lost, and whether a door was locked would not be known. So an erase holds new calls back, waits until
//! no answer is expected, erases one page, and lets the calls go. What it cannot know of is what a controller sends
//! unasked.

use core::cell::Cell;

use embassy_futures::yield_now;
use embassy_sync::blocking_mutex::raw::NoopRawMutex;
use embassy_sync::signal::Signal;
use embassy_time::{Duration, Instant, with_timeout};
use embedded_storage_async::nor_flash::{ErrorType, MultiwriteNorFlash, NorFlash, ReadNorFlash};

use crate::limits;
use crate::log::warn;

/// Between the flash and the link: one of them at a time. All zeros when new.
pub struct EraseInterlock {
    /// An answer is expected.
    is_busy: Cell<bool>,
    /// An erase waits or runs.
    is_held: Cell<bool>,
    quiet: Signal<NoopRawMutex, ()>,
    released: Signal<NoopRawMutex, ()>,
    /// For how long calls were held back, without the current time.
    held: Cell<Duration>,
    held_since: Cell<Instant>,
    erases: Cell<u32>,
    forced: Cell<u32>,
}

/// What has happened at an [`EraseInterlock`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EraseCounts {
    /// Pages that were erased.
    pub erases: u32,
    /// How many of them while an answer was still expected.
    pub forced: u32,
}

impl EraseInterlock {
    /// Open.
    pub const fn new() -> Self {
        Self {
            is_busy: Cell::new(false),
            is_held: Cell::new(false),
            quiet: Signal::new(),
            released: Signal::new(),
            held: Cell::new(Duration::MIN),
            held_since: Cell::new(Instant::MIN),
            erases: Cell::new(0),
            forced: Cell::new(0),
        }
    }

    /// Drops what an earlier run left half done.
    pub fn clear(&self) {
        self.is_busy.set(false);
        self.is_held.set(false);
    }

    /// For the link: whether nothing may be asked now.
    pub fn is_held(&self) -> bool {
        self.is_held.get()
    }

    /// For the link: waits until it may ask again. For one waiter.
    pub async fn released(&self) {
        self.released.wait().await;
    }

    /// For the link: whether an answer is expected.
    pub fn set_busy(&self, is_busy: bool) {
        self.is_busy.set(is_busy);
        if !is_busy {
            self.quiet.signal(());
        }
    }

    /// For how long calls have been held back, in all. It does not count as time of a caller's.
    pub fn held(&self) -> Duration {
        let now = if self.is_held.get() { self.held_since.get().elapsed() } else { Duration::MIN };
        self.held.get() + now
    }

    /// What has happened so far.
    pub fn counts(&self) -> EraseCounts {
        EraseCounts { erases: self.erases.get(), forced: self.forced.get() }
    }

    /// Holds new calls back and waits until none is open; dropping what it returns lets them go. Gives up waiting after
    /// [`limits::ERASE_WAIT`], when every call has timed out. For one waiter.
    async fn hold(&self) -> Hold<'_> {
        self.is_held.set(true);
        self.held_since.set(Instant::now());
        let hold = Hold(self);
        let quiet = async {
            while self.is_busy.get() {
                self.quiet.wait().await;
            }
        };
        self.erases.set(self.erases.get().saturating_add(1));
        if with_timeout(limits::ERASE_WAIT, quiet).await.is_err() {
            self.forced.set(self.forced.get().saturating_add(1));
            warn!("store: a page is erased although the controller has not answered: the answer may be lost");
        }
        hold
    }
}

struct Hold<'a>(&'a EraseInterlock);

impl Drop for Hold<'_> {
    fn drop(&mut self) {
        let Self(interlock) = self;
        interlock.held.set(interlock.held());
        interlock.is_held.set(false);
        interlock.released.signal(());
    }
}

/// A flash whose pages are erased one by one, behind an [`EraseInterlock`].
pub struct InterlockedFlash<'a, F> {
    flash: F,
    interlock: &'a EraseInterlock,
}

impl<'a, F> InterlockedFlash<'a, F> {
    /// `flash` behind `interlock`.
    pub const fn new(flash: F, interlock: &'a EraseInterlock) -> Self {
        Self { flash, interlock }
    }
}

impl<F: ErrorType> ErrorType for InterlockedFlash<'_, F> {
    type Error = F::Error;
}

impl<F: ReadNorFlash> ReadNorFlash for InterlockedFlash<'_, F> {
    const READ_SIZE: usize = F::READ_SIZE;

    async fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), F::Error> {
        self.flash.read(offset, bytes).await
    }

    fn capacity(&self) -> usize {
        self.flash.capacity()
    }
}

impl<F: NorFlash> NorFlash for InterlockedFlash<'_, F> {
    const WRITE_SIZE: usize = F::WRITE_SIZE;
    const ERASE_SIZE: usize = F::ERASE_SIZE;

    async fn erase(&mut self, from: u32, to: u32) -> Result<(), F::Error> {
        let size = F::ERASE_SIZE as u32;
        let mut page = from;
        while page < to {
            // What is no whole page is refused by the flash.
            let end = page.saturating_add(size).min(to);
            let hold = self.interlock.hold().await;
            self.flash.erase(page, end).await?;
            drop(hold);
            // Those who were held back go before the next page.
            yield_now().await;
            page = end;
        }
        Ok(())
    }

    async fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), F::Error> {
        self.flash.write(offset, bytes).await
    }
}

impl<F: MultiwriteNorFlash> MultiwriteNorFlash for InterlockedFlash<'_, F> {}
