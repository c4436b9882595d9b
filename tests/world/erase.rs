//! A board whose flash stops everything while it erases a page: of what the serial line brings meanwhile, only as much is
//! kept as the receiver has room for.

use std::cell::Cell;
use std::collections::VecDeque;
use std::io;
use std::rc::Rc;
use std::time::Duration;

use embedded_io_async::{ErrorType, Read};
use embedded_storage_async::nor_flash::{self, MultiwriteNorFlash, NorFlash, ReadNorFlash};
use tokio::sync::Notify;
use tokio::time::sleep;

/// How long an ESP32 erases a page.
const ERASE: Duration = Duration::from_millis(45);

/// What its receiver has room for.
const FIFO: usize = 128;

/// Where flash and line meet.
#[derive(Default)]
pub struct Stop {
    /// Whether erases take time.
    is_slow: bool,
    is_erasing: Cell<bool>,
    changed: Notify,
    erases: Cell<usize>,
    lost: Cell<usize>,
}

impl Stop {
    pub(crate) fn new(is_slow: bool) -> Self {
        Self { is_slow, ..Self::default() }
    }

    /// Pages that were erased.
    pub fn erases(&self) -> usize {
        self.erases.get()
    }

    /// Bytes that came while a page was being erased, and for which there was no room.
    pub fn lost(&self) -> usize {
        self.lost.get()
    }

    /// Waits until a page is being erased.
    pub async fn erasing(&self) {
        while !self.is_erasing.get() {
            self.changed.notified().await;
        }
    }

    fn set(&self, is_erasing: bool) {
        self.is_erasing.set(is_erasing);
        self.changed.notify_waiters();
    }
}

/// The receiving half of the line.
pub(crate) struct Fifo<R> {
    line: R,
    stop: Rc<Stop>,
    kept: VecDeque<u8>,
}

impl<R> Fifo<R> {
    pub(crate) fn new(line: R, stop: Rc<Stop>) -> Self {
        Self { line, stop, kept: VecDeque::new() }
    }
}

impl<R: ErrorType> ErrorType for Fifo<R> {
    type Error = R::Error;
}

impl<R: Read<Error = io::Error>> Read for Fifo<R> {
    async fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let Self { line, stop, kept } = self;
        if !stop.is_slow {
            return line.read(buf).await;
        }
        loop {
            if !stop.is_erasing.get() && !kept.is_empty() {
                return io::Read::read(kept, buf);
            }
            let changed = stop.changed.notified();
            let mut bytes = [0; 64];
            let count = tokio::select! {
                biased;
                () = changed => continue,
                count = line.read(&mut bytes) => count?,
            };
            if count == 0 {
                return Ok(0);
            }
            let room = if stop.is_erasing.get() { FIFO - kept.len() } else { usize::MAX };
            kept.extend(bytes[..count].iter().take(room));
            stop.lost.set(stop.lost.get() + count.saturating_sub(room));
        }
    }
}

/// The flash.
pub(crate) struct Slow<'a, F> {
    pub(crate) flash: &'a mut F,
    pub(crate) stop: &'a Stop,
}

impl<F: nor_flash::ErrorType> nor_flash::ErrorType for Slow<'_, F> {
    type Error = F::Error;
}

impl<F: ReadNorFlash> ReadNorFlash for Slow<'_, F> {
    const READ_SIZE: usize = F::READ_SIZE;

    async fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), F::Error> {
        self.flash.read(offset, bytes).await
    }

    fn capacity(&self) -> usize {
        self.flash.capacity()
    }
}

impl<F: NorFlash> NorFlash for Slow<'_, F> {
    const WRITE_SIZE: usize = F::WRITE_SIZE;
    const ERASE_SIZE: usize = F::ERASE_SIZE;

    async fn erase(&mut self, from: u32, to: u32) -> Result<(), F::Error> {
        let pages = (to - from) / F::ERASE_SIZE as u32;
        self.stop.erases.set(self.stop.erases.get() + pages as usize);
        if self.stop.is_slow {
            self.stop.set(true);
            sleep(ERASE * pages).await;
            self.stop.set(false);
        }
        self.flash.erase(from, to).await
    }

    async fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), F::Error> {
        self.flash.write(offset, bytes).await
    }
}

impl<F: MultiwriteNorFlash> MultiwriteNorFlash for Slow<'_, F> {}
