//! The hub's flash, in the machine's memory.

use embedded_storage_async::nor_flash::{
    ErrorType, MultiwriteNorFlash, NorFlash, NorFlashErrorKind, ReadNorFlash,
};
use static_cell::ConstStaticCell;

const WORD: usize = 4;
const PAGE: usize = 4096;

/// As much as the ESP32's partition has.
const SIZE: usize = 16 * PAGE;

/// All bits inverted: erased flash is zeros, and so is in `.bss`.
static CELLS: ConstStaticCell<[u8; SIZE]> = ConstStaticCell::new([0; SIZE]);

/// A flash that is lost when the machine ends.
pub struct Flash(&'static mut [u8; SIZE]);

/// The flash. Call once.
pub fn open() -> Flash {
    Flash(CELLS.take())
}

impl Flash {
    /// The bytes of an access in whole words or pages.
    fn cells(&mut self, from: u32, length: usize, unit: usize) -> Result<&mut [u8], NorFlashErrorKind> {
        let from = from as usize;
        if !from.is_multiple_of(unit) || !length.is_multiple_of(unit) {
            return Err(NorFlashErrorKind::NotAligned);
        }
        let end = from.saturating_add(length);
        self.0.get_mut(from..end).ok_or(NorFlashErrorKind::OutOfBounds)
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
        Ok(())
    }

    async fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), NorFlashErrorKind> {
        let cells = self.cells(offset, bytes.len(), WORD)?;
        // A write can only clear bits.
        cells.iter_mut().zip(bytes).for_each(|(cell, byte)| *cell |= !byte);
        Ok(())
    }
}

impl MultiwriteNorFlash for Flash {}
