//! A small flash in memory that counts what is done to it.

use std::cell::{Cell, RefCell};
use std::convert::Infallible;

use embedded_storage_async::nor_flash::{ErrorType, MultiwriteNorFlash, NorFlash, ReadNorFlash};

/// What is erased at once.
pub const PAGE: usize = 256;

/// What is read and written at once.
const WORD: usize = 4;

/// Written in words, which can only clear bits, and erased in pages.
pub struct Flash {
    /// What is in it.
    pub bytes: RefCell<Vec<u8>>,
    /// How often it may still be used.
    patience: Cell<usize>,
}

impl Flash {
    /// `contents`, and nothing behind them up to the end of the last of `pages`.
    pub fn new(contents: &[u8], pages: usize) -> Self {
        let mut bytes = contents.to_vec();
        bytes.resize(pages * PAGE, 0xFF);
        Self { bytes: RefCell::new(bytes), patience: Cell::new(0) }
    }

    /// Lets one more operation begin. None has a reason to use each word more often than some ten times.
    pub fn allow(&self) {
        self.patience.set(16 * self.bytes.borrow().len() / WORD);
    }

    fn count(&self) {
        let rest = self.patience.get().checked_sub(1).expect("one operation goes on without end");
        self.patience.set(rest);
    }
}

/// It is lent to the store, and looked at in between.
impl ErrorType for &Flash {
    type Error = Infallible;
}

impl ReadNorFlash for &Flash {
    const READ_SIZE: usize = WORD;

    async fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), Infallible> {
        self.count();
        let offset = offset as usize;
        assert!(offset.is_multiple_of(WORD) && bytes.len().is_multiple_of(WORD));
        bytes.copy_from_slice(&self.bytes.borrow()[offset..offset + bytes.len()]);
        Ok(())
    }

    fn capacity(&self) -> usize {
        self.bytes.borrow().len()
    }
}

impl NorFlash for &Flash {
    const WRITE_SIZE: usize = WORD;
    const ERASE_SIZE: usize = PAGE;

    async fn erase(&mut self, from: u32, to: u32) -> Result<(), Infallible> {
        self.count();
        let (from, to) = (from as usize, to as usize);
        assert!(from.is_multiple_of(PAGE) && to.is_multiple_of(PAGE) && from < to);
        self.bytes.borrow_mut()[from..to].fill(0xFF);
        Ok(())
    }

    async fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), Infallible> {
        self.count();
        let offset = offset as usize;
        assert!(offset.is_multiple_of(WORD) && bytes.len().is_multiple_of(WORD) && !bytes.is_empty());
        let cells = &mut self.bytes.borrow_mut()[offset..offset + bytes.len()];
        cells.iter_mut().zip(bytes).for_each(|(cell, byte)| *cell &= byte);
        Ok(())
    }
}

impl MultiwriteNorFlash for &Flash {}
