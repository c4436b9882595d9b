//! The part of the chip's flash where the hub keeps settings, flags and documents: the partition `store`.
//!
//! While the flash is written to or erased, the chip runs nothing else: its code is in the same flash. So it is done in
//! pieces, and what waits has its turn in between. A piece of a write takes about a millisecond; a page takes some 45 ms
//! to erase, longer than the UART's FIFO lasts, so the hub erases none while it waits for the controller.

use defmt::{error, info};
use embedded_storage_async::nor_flash::{ErrorType, MultiwriteNorFlash, NorFlash, ReadNorFlash};
use esp_hal::peripherals::FLASH;
use esp_storage::{FlashStorage, FlashStorageError, ll};

/// Its name in `partitions.csv`.
const LABEL: &[u8] = b"store";

/// Where the partition table lies, how long it is, and what each of its entries is: a mark, type, offset, length and label.
const TABLE: u32 = 0x8000;
const TABLE_LENGTH: u32 = 0xC00;
const ENTRY: usize = 32;
const ENTRY_MARK: [u8; 2] = [0xAA, 0x50];

/// What the flash programs in one go. Pieces begin and end where its pages do.
const PROGRAM_PAGE: usize = 256;

/// A range of the flash. Dropping the future of a write or an erase ends it between two pieces.
pub struct Partition {
    flash: FlashStorage<'static>,
    start: u32,
    length: usize,
    piece: Piece,
}

/// What is read and written goes through it, since the flash wants whole words. The driver's own buffer for that takes
/// 4 KiB of stack.
#[repr(align(4))]
struct Piece([u8; PROGRAM_PAGE]);

impl Piece {
    /// Reads the first `length` bytes.
    ///
    /// # Safety
    ///
    /// At `at` there are that many bytes of flash, and both are multiples of 4.
    unsafe fn read(&mut self, at: u32, length: usize) -> Result<&[u8], FlashStorageError> {
        let piece = &mut self.0[..length];
        // SAFETY: the caller's, and the piece is aligned and long enough.
        unsafe { ll::spiflash_read(at, piece.as_mut_ptr().cast(), length as u32) }
            .map_err(FlashStorageError::Other)?;
        Ok(piece)
    }

    /// Writes `bytes`, at most as many as there are in a piece.
    ///
    /// # Safety
    ///
    /// Like [`read`](Self::read).
    unsafe fn write(&mut self, at: u32, bytes: &[u8]) -> Result<(), FlashStorageError> {
        let piece = &mut self.0[..bytes.len()];
        piece.copy_from_slice(bytes);
        // SAFETY: the caller's, and the piece is aligned and long enough.
        unsafe {
            ll::spiflash_unlock()
                .and_then(|()| ll::spiflash_write(at, piece.as_ptr().cast(), bytes.len() as u32))
        }
        .map_err(FlashStorageError::Other)
    }
}

/// Finds the partition. Without one the hub runs, but remembers nothing.
pub fn open(flash: FLASH<'static>) -> Partition {
    let flash = FlashStorage::new(flash);
    let mut piece = Piece([0; _]);
    let is_there = |(start, length): &(u32, u32)| {
        start.checked_add(*length).is_some_and(|end| end as usize <= flash.capacity())
    };
    let (start, length) = find(&mut piece).filter(is_there).unwrap_or_default();
    if length > 0 {
        info!("flash: the store has {} bytes at {:#x}", length, start);
    } else {
        error!(
            "flash: no partition `store` in its 4 MiB, so the hub remembers nothing; flash it again with `cargo run --release`"
        );
    }
    Partition { flash, start, length: length as usize, piece }
}

/// Where the partition begins, and its length. By hand: `read_partition_table` takes 3 KB of stack for the whole table, and
/// 1 KB of flash.
fn find(piece: &mut Piece) -> Option<(u32, u32)> {
    for at in (TABLE..TABLE + TABLE_LENGTH).step_by(ENTRY) {
        // SAFETY: any flash that the chip has started from has as much.
        let entry = unsafe { piece.read(at, ENTRY) }.ok()?;
        if !entry.starts_with(&ENTRY_MARK) {
            return None;
        }
        let word = |at: usize| u32::from_le_bytes([entry[at], entry[at + 1], entry[at + 2], entry[at + 3]]);
        if entry[12..28].split(|byte| *byte == 0).next() == Some(LABEL) {
            return Some((word(4), word(8)));
        }
    }
    None
}

impl Partition {
    /// Where a range lies in the flash, if it is one of whole words and all of it belongs to the partition.
    fn locate(&self, from: u32, length: usize) -> Result<u32, FlashStorageError> {
        if !(from as usize | length).is_multiple_of(Self::WRITE_SIZE) {
            return Err(FlashStorageError::NotAligned);
        }
        let end = (from as usize).checked_add(length).ok_or(FlashStorageError::OutOfBounds)?;
        if end > self.length { Err(FlashStorageError::OutOfBounds) } else { Ok(self.start + from) }
    }
}

impl ErrorType for Partition {
    type Error = FlashStorageError;
}

impl ReadNorFlash for Partition {
    const READ_SIZE: usize = FlashStorage::READ_SIZE;

    async fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), Self::Error> {
        let mut at = self.locate(offset, bytes.len())?;
        for to in bytes.chunks_mut(PROGRAM_PAGE) {
            // SAFETY: a part of the range.
            to.copy_from_slice(unsafe { self.piece.read(at, to.len()) }?);
            at += to.len() as u32;
        }
        Ok(())
    }

    fn capacity(&self) -> usize {
        self.length
    }
}

impl NorFlash for Partition {
    const WRITE_SIZE: usize = FlashStorage::WRITE_SIZE;
    const ERASE_SIZE: usize = FlashStorage::ERASE_SIZE;

    async fn erase(&mut self, from: u32, to: u32) -> Result<(), Self::Error> {
        let length = to.checked_sub(from).ok_or(FlashStorageError::OutOfBounds)?;
        let at = self.locate(from, length as usize)?;
        // Page by page, so that the radio and the serial line get their turn in between.
        for page in (at..at + length).step_by(Self::ERASE_SIZE) {
            self.flash.erase(page, page + Self::ERASE_SIZE as u32)?;
            embassy_futures::yield_now().await;
        }
        Ok(())
    }

    async fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), Self::Error> {
        let mut at = self.locate(offset, bytes.len())?;
        let mut rest = bytes;
        while !rest.is_empty() {
            let room = PROGRAM_PAGE - at as usize % PROGRAM_PAGE;
            let (from, after) = rest.split_at(room.min(rest.len()));
            // SAFETY: a part of the range.
            unsafe { self.piece.write(at, from) }?;
            embassy_futures::yield_now().await;
            at += from.len() as u32;
            rest = after;
        }
        Ok(())
    }
}

impl MultiwriteNorFlash for Partition {}
