//! The hub's flash, in the machine's memory; on demand as slow as that of an ESP32, which stops the machine meanwhile.

use embassy_futures::yield_now;
use embassy_time::Duration;
use embedded_storage_async::nor_flash::{
    ErrorType, MultiwriteNorFlash, NorFlash, NorFlashErrorKind, ReadNorFlash,
};
use static_cell::ConstStaticCell;

use crate::uart;

const WORD: usize = 4;
const PAGE: usize = 4096;

/// As much as the ESP32's partition has.
const SIZE: usize = 32 * PAGE;

/// All bits inverted: erased flash is zeros, and so is in `.bss`.
static CELLS: ConstStaticCell<[u8; SIZE]> = ConstStaticCell::new([0; SIZE]);

/// What an ESP32's flash programs in one go, and how long that takes.
const PROGRAM_PAGE: usize = 256;
const PROGRAM: Duration = Duration::from_millis(1);
/// How long it erases a page.
const ERASE: Duration = Duration::from_millis(45);

/// A flash that is lost when the machine ends.
pub struct Flash {
    cells: &'static mut [u8; SIZE],
    is_slow: bool,
}

/// The flash. Call once.
pub fn open(is_slow: bool) -> Flash {
    Flash { cells: CELLS.take(), is_slow }
}

impl Flash {
    /// The bytes of an access in whole words or pages.
    fn cells(&mut self, from: u32, length: usize, unit: usize) -> Result<&mut [u8], NorFlashErrorKind> {
        let from = from as usize;
        if !from.is_multiple_of(unit) || !length.is_multiple_of(unit) {
            return Err(NorFlashErrorKind::NotAligned);
        }
        let end = from.saturating_add(length);
        self.cells.get_mut(from..end).ok_or(NorFlashErrorKind::OutOfBounds)
    }

    /// Takes the time that so many steps take. Others have a turn after each.
    async fn takes(&self, steps: usize, each: Duration) {
        for _ in 0..steps {
            if self.is_slow {
                uart::deaf(each);
                yield_now().await;
            }
        }
    }
}

impl ErrorType for Flash {
    type Error = NorFlashErrorKind;
}

impl ReadNorFlash for Flash {
    const READ_SIZE: usize = WORD;

    async fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), NorFlashErrorKind> {
        let cells = self.cells(offset, bytes.len(), WORD)?;
        bytes.iter_mut().zip(cells).for_each(|(byte, cell)| *byte = !*cell);
        Ok(())
    }

    fn capacity(&self) -> usize {
        SIZE
    }
}

impl NorFlash for Flash {
    const WRITE_SIZE: usize = WORD;
    const ERASE_SIZE: usize = PAGE;

    async fn erase(&mut self, from: u32, to: u32) -> Result<(), NorFlashErrorKind> {
        let length = to.checked_sub(from).ok_or(NorFlashErrorKind::OutOfBounds)?;
        self.cells(from, length as usize, PAGE)?.fill(0);
        self.takes(length as usize / PAGE, ERASE).await;
        Ok(())
    }

    async fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), NorFlashErrorKind> {
        let cells = self.cells(offset, bytes.len(), WORD)?;
        // A write can only clear bits.
        cells.iter_mut().zip(bytes).for_each(|(cell, byte)| *cell |= !byte);
        let start = offset as usize / PROGRAM_PAGE;
        let pages = (offset as usize + bytes.len()).div_ceil(PROGRAM_PAGE) - start;
        self.takes(pages, PROGRAM).await;
        Ok(())
    }
}

impl MultiwriteNorFlash for Flash {}
