//! A flash in memory that loses power on demand, in the worst ways that its contract allows.

use std::cell::Cell;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::Poll;

use embedded_storage_async::nor_flash::{
    ErrorType, MultiwriteNorFlash, NorFlash, NorFlashError, NorFlashErrorKind, ReadNorFlash,
};

/// What a write or an erase has done when it is cut short. Every byte of it is a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tear {
    /// The bytes up to there; of the byte that was next, some bits.
    Forward,
    /// The same, from the other end.
    Backward,
    /// Any bits of it, more and more of them.
    Scattered,
    /// As above, but a page that is being erased is cleared first, as many chips do, and then holds anything.
    Cleared,
}

pub const TEARS: [Tear; 4] = [Tear::Forward, Tear::Backward, Tear::Scattered, Tear::Cleared];

/// `PAGE` bytes are erased at once, and four written.
#[derive(Clone)]
pub struct Flash<const PAGE: usize> {
    pub bytes: Vec<u8>,
    /// Steps of writes and erases so far.
    pub steps: usize,
    /// When power goes: after how many steps, and how.
    cut: Option<(usize, Tear)>,
    /// Power is gone.
    dead: bool,
    random: u64,
    /// How often each page was erased.
    pub erases: Vec<u32>,
    /// Bytes that can no longer be cleared.
    pub stuck: Vec<usize>,
    /// Is slow: every access has to be polled twice before and twice after.
    pub slow: bool,
    /// Refuses everything, for now.
    pub failing: bool,
    /// Accepts writes to places that are not erased, which happen only in a flash with foreign contents.
    pub lenient: bool,
    allowance: Option<Allowance>,
}

/// How often a flash may still be accessed. Clones are handles to the same one, for a test to hold while a store has
/// the flash.
#[derive(Clone)]
pub struct Allowance {
    left: Rc<Cell<usize>>,
    /// What one operation of the store may need at the most.
    full: usize,
}

impl Allowance {
    /// Lets one more operation of the store begin.
    pub fn renew(&self) {
        self.left.set(self.full);
    }

    fn take(&self) {
        self.left.set(self.left.get().checked_sub(1).expect("one operation goes on without end"));
    }
}

/// It lost power, or is failing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lost;

impl NorFlashError for Lost {
    fn kind(&self) -> NorFlashErrorKind {
        NorFlashErrorKind::Other
    }
}

impl<const PAGE: usize> Flash<PAGE> {
    pub fn new(pages: usize) -> Self {
        Self {
            bytes: vec![0xFF; pages * PAGE],
            steps: 0,
            cut: None,
            dead: false,
            random: 1,
            erases: vec![0; pages],
            stuck: Vec::new(),
            slow: false,
            failing: false,
            lenient: false,
            allowance: None,
        }
    }

    /// A flash with `contents`, erased behind them up to the end of the last of `pages`. It accepts any write.
    pub fn with(contents: &[u8], pages: usize) -> Self {
        let mut flash = Self { lenient: true, ..Self::new(pages) };
        flash.bytes[..contents.len()].copy_from_slice(contents);
        flash
    }

    /// Panics from now on if an operation of the store does not end: none has a reason to use each word more often
    /// than some ten times.
    pub fn limit(&mut self) -> Allowance {
        let full = 16 * self.bytes.len() / 4;
        let allowance = Allowance { left: Rc::new(Cell::new(full)), full };
        self.allowance = Some(allowance.clone());
        allowance
    }

    /// Power will go after this many more steps.
    pub fn cut_after(&mut self, steps: usize, tear: Tear, seed: u64) {
        self.cut = Some((self.steps + steps, tear));
        self.random = seed | 1;
    }

    /// Power comes back. Whether it had gone.
    pub fn restart(&mut self) -> bool {
        self.cut = None;
        std::mem::take(&mut self.dead)
    }

    fn next_random(&mut self) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 16
    }

    /// A byte in which each bit is set with a probability of `done` in `all`.
    fn some_bits(&mut self, done: usize, all: usize) -> u8 {
        (0..8).fold(0, |bits, _| bits << 1 | u8::from(self.next_random() as usize % all.max(1) < done))
    }

    /// Takes `steps`. If power goes on the way: how many were taken, and how it goes.
    fn advance(&mut self, steps: usize) -> Option<(usize, Tear)> {
        let (at, tear) = self.cut.unwrap_or((usize::MAX, Tear::Forward));
        if self.steps + steps <= at {
            self.steps += steps;
            return None;
        }
        let taken = at.saturating_sub(self.steps);
        self.steps = at;
        self.dead = true;
        Some((taken, tear))
    }

    fn erase_page(&mut self, page: usize) -> Result<(), Lost> {
        let start = page * PAGE;
        let Some((taken, tear)) = self.advance(PAGE) else {
            self.bytes[start..start + PAGE].fill(0xFF);
            self.erases[page] += 1;
            return Ok(());
        };
        for index in 0..PAGE {
            let at = start + index;
            let set = match tear {
                Tear::Forward | Tear::Backward => {
                    let order = if tear == Tear::Forward { index } else { PAGE - 1 - index };
                    match order.cmp(&taken) {
                        std::cmp::Ordering::Less => 0xFF,
                        std::cmp::Ordering::Equal => self.some_bits(1, 2),
                        std::cmp::Ordering::Greater => 0,
                    }
                }
                Tear::Scattered => self.some_bits(taken, PAGE),
                Tear::Cleared => {
                    // The first quarter of the time goes into clearing.
                    let clear = self.some_bits(taken.min(PAGE / 4), PAGE / 4);
                    self.bytes[at] &= !clear;
                    self.some_bits(taken.saturating_sub(PAGE / 4), PAGE - PAGE / 4)
                }
            };
            self.bytes[at] |= set;
        }
        Err(Lost)
    }

    async fn begin(&self) -> Result<(), Lost> {
        if let Some(allowance) = &self.allowance {
            allowance.take();
        }
        self.access().await
    }

    async fn access(&self) -> Result<(), Lost> {
        for _ in 0..if self.slow { 2 } else { 0 } {
            let mut polled = false;
            poll_fn(|_| if std::mem::replace(&mut polled, true) { Poll::Ready(()) } else { Poll::Pending })
                .await;
        }
        if self.dead || self.failing { Err(Lost) } else { Ok(()) }
    }
}

impl<const PAGE: usize> ErrorType for Flash<PAGE> {
    type Error = Lost;
}

impl<const PAGE: usize> ReadNorFlash for Flash<PAGE> {
    const READ_SIZE: usize = 4;

    async fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), Lost> {
        self.begin().await?;
        let offset = offset as usize;
        assert!(offset.is_multiple_of(4) && bytes.len().is_multiple_of(4));
        bytes.copy_from_slice(&self.bytes[offset..offset + bytes.len()]);
        self.access().await
    }

    fn capacity(&self) -> usize {
        self.bytes.len()
    }
}

impl<const PAGE: usize> NorFlash for Flash<PAGE> {
    const WRITE_SIZE: usize = 4;
    const ERASE_SIZE: usize = PAGE;

    async fn erase(&mut self, from: u32, to: u32) -> Result<(), Lost> {
        self.begin().await?;
        let (from, to) = (from as usize, to as usize);
        assert!(from.is_multiple_of(PAGE) && to.is_multiple_of(PAGE) && from < to && to <= self.bytes.len());
        for page in from / PAGE..to / PAGE {
            self.erase_page(page)?;
        }
        self.access().await
    }

    async fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), Lost> {
        self.begin().await?;
        let (offset, length) = (offset as usize, bytes.len());
        assert!(offset.is_multiple_of(4) && length.is_multiple_of(4) && length > 0);
        assert_eq!(offset / PAGE, (offset + length - 1) / PAGE, "a write stays in its page");
        assert!(bytes.as_ptr().addr().is_multiple_of(4), "drivers copy what is not aligned");
        let cut = self.advance(length);
        for (index, byte) in bytes.iter().enumerate() {
            let kept = match cut {
                None => 0,
                Some((taken, Tear::Scattered | Tear::Cleared)) => self.some_bits(length - taken, length),
                Some((taken, tear)) => {
                    let order = if tear == Tear::Forward { index } else { length - 1 - index };
                    match order.cmp(&taken) {
                        std::cmp::Ordering::Less => 0,
                        std::cmp::Ordering::Equal => self.some_bits(1, 2),
                        std::cmp::Ordering::Greater => 0xFF,
                    }
                }
            };
            let at = offset + index;
            assert!(self.lenient || self.bytes[at] & byte == *byte, "bits can only be cleared, at {at:#x}");
            if !self.stuck.contains(&at) {
                self.bytes[at] &= byte | kept;
            }
        }
        if cut.is_some() { Err(Lost) } else { self.access().await }
    }
}

impl<const PAGE: usize> MultiwriteNorFlash for Flash<PAGE> {}
