//! The part of the chip's flash where the hub keeps settings, flags and documents: the partition `store`.
//!
//! While the flash is written to or erased, the chip runs nothing else: its code is in the same flash. So it is done in
//! pieces, and what waits has its turn in between. A piece of a write takes about a millisecond; a page takes some 45 ms
//! to erase, longer than the UART's FIFO lasts, so the hub erases none while it waits for the controller.

use defmt::{error, info};
use embedded_storage_async::nor_flash::{ErrorType, MultiwriteNorFlash, NorFlash, ReadNorFlash};
use esp_bootloader_esp_idf::partitions::{PARTITION_TABLE_MAX_LEN, read_partition_table};
use esp_hal::peripherals::FLASH;
use esp_storage::{FlashStorage, FlashStorageError};

/// Its name in `partitions.csv`.
const LABEL: &str = "store";

/// What the flash programs in one go. Pieces begin and end where its pages do.
const PROGRAM_PAGE: usize = 256;

/// A range of the flash. Dropping the future of a write or an erase ends it between two pieces.
pub struct Partition {
    flash: FlashStorage<'static>,
    start: u32,
    length: usize,
}

/// Finds the partition. Without one the hub runs, but remembers nothing.
pub fn open(flash: FLASH<'static>) -> Partition {
    let mut flash = FlashStorage::new(flash);
    let mut table = [0; PARTITION_TABLE_MAX_LEN];
    let found = read_partition_table(&mut flash, &mut table)
        .ok()
        .and_then(|table| table.iter().find(|partition| partition.label_as_str() == LABEL))
        .map(|partition| (partition.offset(), partition.len() as usize));
    match found {
        Some((start, length)) => {
            info!("flash: the store has {} bytes at {:#x}", length, start);
            Partition { flash, start, length }
        }
        None => {
            error!(
                "flash: no partition `store`, so the hub remembers nothing; flash it again with `cargo run --release`"
            );
            Partition { flash, start: 0, length: 0 }
        }
    }
}

impl Partition {
    /// Where a range lies in the flash, if all of it belongs to the partition.
    fn locate(&self, from: u32, length: usize) -> Result<u32, FlashStorageError> {
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
        let at = self.locate(offset, bytes.len())?;
        self.flash.read_nor(at, bytes)
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
            let (piece, after) = rest.split_at(room.min(rest.len()));
            self.flash.write_nor(at, piece)?;
            embassy_futures::yield_now().await;
            at += piece.len() as u32;
            rest = after;
        }
        Ok(())
    }
}

impl MultiwriteNorFlash for Partition {}
