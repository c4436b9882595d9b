//! Makes an erase all or nothing.
//!
//! When power is lost during an erase, what the page holds then is undefined: anything from its old contents to
//! all ones. `sequential-storage` survives that if a page loses its first word first, which no flash promises.
//! So every erase is announced in a journal before it starts, and struck out when it is done; one that is
//! announced and not struck out is done again before anything else is read: [`Journaled::settle`] does that, and until it
//! has, every access is refused. (It is not a part of every access, since then its future would be one of each of theirs.)
//!
//! The journal is the first page of the flash:
//!
//! ```text
//! │ magic │ retired │ done │ range │ !range │ done │ range │ !range │ … erased
//! ```
//!
//! All fields are words of four bytes. `range` is the first page and the one after the last, two bytes each.
//! `done` and `retired` are erased until they become true. A full journal is retired, which makes everything in
//! it void, and erased. `done` stands before its range so that no half-erased journal looks like one with an
//! erase to do: whichever end goes first takes the magic or the range with it.

use embedded_storage_async::nor_flash::{
    ErrorType, MultiwriteNorFlash, NorFlash, NorFlashError, NorFlashErrorKind, ReadNorFlash,
};

/// Also says how entries are laid out: change it when that changes.
const MAGIC: [u8; 4] = *b"HWs1";
const ERASED: [u8; 4] = [0xFF; 4];
const TRUE: [u8; 4] = [0; 4];
const HEADER: u32 = 8;
const RECORD: u32 = 12;

/// Words are four bytes or fewer, so that every field can be written on its own.
pub(super) const fn fits<F: NorFlash>() -> bool {
    F::WRITE_SIZE <= 4 && F::READ_SIZE <= 4 && F::ERASE_SIZE >= (HEADER + RECORD) as usize
}

/// Aligned bytes: flash drivers want whole words.
#[repr(align(4))]
struct AlignedBytes<const N: usize>([u8; N]);

/// A flash whose erases are all or nothing. Its first page is reserved for the journal.
///
/// Dropping the future of an erase is like losing power: it has to be settled before the next access.
pub(super) struct Journaled<F> {
    pub(super) flash: F,
    /// Where the next record goes. Unknown at first, and from an erase's beginning to its end.
    next: Option<u32>,
    repairs: Repairs,
}

/// Why an access failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault<E> {
    /// The flash says so.
    Flash(E),
    /// An erase may have been cut short.
    Unsettled,
}

impl<E> From<E> for Fault<E> {
    fn from(error: E) -> Self {
        Self::Flash(error)
    }
}

impl<E: NorFlashError> NorFlashError for Fault<E> {
    fn kind(&self) -> NorFlashErrorKind {
        match self {
            Self::Flash(error) => error.kind(),
            Self::Unsettled => NorFlashErrorKind::Other,
        }
    }
}

/// What had to be repaired.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Repairs {
    /// An erase that had been cut short was finished.
    pub(super) pending: bool,
    /// The journal was malformed, and was started again.
    pub(super) void: bool,
}

/// The state of the journal.
enum Journal {
    /// Erased.
    Blank,
    /// Malformed: it was being erased, or something else was here.
    Void,
    /// All erases are done; the next record goes here.
    Settled(u32),
    /// The record here was not completed, so its erase was not begun.
    Torn(u32),
    /// The erase in the record here was begun.
    Pending { at: u32, from: u32, to: u32 },
}

impl<F: NorFlash> Journaled<F> {
    const PAGE: u32 = F::ERASE_SIZE as u32;

    pub(super) const fn new(flash: F) -> Self {
        Self { flash, next: None, repairs: Repairs { pending: false, void: false } }
    }

    /// What was repaired since the last call.
    pub(super) fn take_repairs(&mut self) -> Repairs {
        core::mem::take(&mut self.repairs)
    }

    /// Whether it can be accessed.
    pub(super) const fn is_settled(&self) -> bool {
        self.next.is_some()
    }

    /// Where the next record goes.
    fn settled(&self) -> Result<u32, Fault<F::Error>> {
        self.next.ok_or(Fault::Unsettled)
    }

    /// Finishes an erase that was cut short.
    pub(super) async fn settle(&mut self) -> Result<(), F::Error> {
        if self.is_settled() {
            return Ok(());
        }
        let next = match self.look().await? {
            Journal::Settled(next) => next,
            Journal::Blank => self.begin().await?,
            Journal::Void => {
                self.repairs.void = true;
                self.flash.erase(0, Self::PAGE).await?;
                self.begin().await?
            }
            Journal::Torn(at) => self.strike(at).await?,
            Journal::Pending { at, from, to } => {
                self.flash.erase(from, to).await?;
                self.repairs.pending = true;
                self.strike(at).await?
            }
        };
        self.next = Some(next);
        Ok(())
    }

    async fn look(&mut self) -> Result<Journal, F::Error> {
        let [magic, retired] = self.words(0).await?;
        if magic == ERASED && self.is_blank(4, Self::PAGE).await? {
            return Ok(Journal::Blank);
        }
        if magic != MAGIC || retired != ERASED {
            return Ok(Journal::Void);
        }
        let mut at = HEADER;
        while at + RECORD <= Self::PAGE {
            let [done, range, check] = self.words(at).await?;
            if done == ERASED {
                if !self.is_blank(at + RECORD, Self::PAGE).await? {
                    return Ok(Journal::Void);
                }
                if range == ERASED && check == ERASED {
                    return Ok(Journal::Settled(at));
                }
                return Ok(match self.range(range, check) {
                    Some((from, to)) => Journal::Pending { at, from, to },
                    None => Journal::Torn(at),
                });
            }
            at += RECORD;
        }
        Ok(Journal::Settled(at))
    }

    /// The addresses in a record, if it is complete.
    fn range(&self, range: [u8; 4], check: [u8; 4]) -> Option<(u32, u32)> {
        let [a, b, c, d] = range;
        let (from, to) = (u16::from_le_bytes([a, b]), u16::from_le_bytes([c, d]));
        let pages = self.flash.capacity() / F::ERASE_SIZE;
        let good = check == range.map(|byte| !byte) && 0 < from && from < to && usize::from(to) <= pages;
        good.then_some((u32::from(from) * Self::PAGE, u32::from(to) * Self::PAGE))
    }

    async fn begin(&mut self) -> Result<u32, F::Error> {
        self.flash.write(0, &AlignedBytes(MAGIC).0).await?;
        Ok(HEADER)
    }

    async fn strike(&mut self, at: u32) -> Result<u32, F::Error> {
        self.flash.write(at, &AlignedBytes(TRUE).0).await?;
        Ok(at + RECORD)
    }

    async fn words<const N: usize>(&mut self, at: u32) -> Result<[[u8; 4]; N], F::Error> {
        let mut words = [ERASED; N];
        let mut word = AlignedBytes(ERASED);
        for (copy, offset) in words.iter_mut().zip((at..).step_by(4)) {
            self.flash.read(offset, &mut word.0).await?;
            *copy = word.0;
        }
        Ok(words)
    }

    /// Whether everything from `from` to `to` is erased.
    async fn is_blank(&mut self, from: u32, to: u32) -> Result<bool, F::Error> {
        let mut chunk = AlignedBytes([0; 64]);
        let mut at = from;
        while at < to {
            let count = chunk.0.len().min((to - at) as usize);
            let chunk = chunk.0.get_mut(..count).unwrap_or_default();
            self.flash.read(at, chunk).await?;
            if chunk.iter().any(|byte| *byte != 0xFF) {
                return Ok(false);
            }
            at += count as u32;
        }
        Ok(true)
    }

    /// Whether a page is erased.
    pub(super) async fn is_page_blank(&mut self, page: u32) -> Result<bool, Fault<F::Error>> {
        self.settled()?;
        Ok(self.is_blank(page * Self::PAGE, (page + 1) * Self::PAGE).await?)
    }
}

impl<F: ErrorType> ErrorType for Journaled<F> {
    type Error = Fault<F::Error>;
}

impl<F: NorFlash> ReadNorFlash for Journaled<F> {
    const READ_SIZE: usize = F::READ_SIZE;

    async fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), Self::Error> {
        self.settled()?;
        Ok(self.flash.read(offset, bytes).await?)
    }

    fn capacity(&self) -> usize {
        self.flash.capacity()
    }
}

impl<F: NorFlash> NorFlash for Journaled<F> {
    const WRITE_SIZE: usize = F::WRITE_SIZE;
    const ERASE_SIZE: usize = F::ERASE_SIZE;

    async fn erase(&mut self, from: u32, to: u32) -> Result<(), Self::Error> {
        let mut at = self.settled()?;
        self.next = None;
        if at + RECORD > Self::PAGE {
            self.flash.write(4, &AlignedBytes(TRUE).0).await?;
            self.flash.erase(0, Self::PAGE).await?;
            at = self.begin().await?;
        }
        let pages = [(from / Self::PAGE) as u16, (to / Self::PAGE) as u16];
        let [[a, b], [c, d]] = pages.map(u16::to_le_bytes);
        self.flash.write(at + 4, &AlignedBytes([a, b, c, d, !a, !b, !c, !d]).0).await?;
        self.flash.erase(from, to).await?;
        self.next = Some(self.strike(at).await?);
        Ok(())
    }

    async fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), Self::Error> {
        self.settled()?;
        Ok(self.flash.write(offset, bytes).await?)
    }
}

impl<F: MultiwriteNorFlash> MultiwriteNorFlash for Journaled<F> {}
