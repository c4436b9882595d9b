//! Puts the pages in order after a write or an erase that did not finish, or damage.
//!
//! Pages are used in a ring: full ones, oldest first, then the one in use, then at least one that is erased.
//! `sequential-storage` repairs what it comes across. Some repairs cannot wait for that:
//!
//! - A page that should be erased and is not, since entries written to it would be lost.
//! - A move of entries to a new page that was cut short. They are then on both pages, and deleting one can, if
//!   power is lost again, leave it on the new page alone, which the late repair then erases.
//! - A page that is not in the ring, whose entries are found by one way of looking for them and not by another.

use embedded_storage_async::nor_flash::{NorFlash, ReadNorFlash as _};

use super::journal::{Fault, Journaled};

/// The state of a page, by the marks that `sequential-storage` writes: the first word is cleared when it comes into use,
/// the last when it is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PageState {
    Erased,
    InUse,
    Full,
    /// Full but not in use: half erased.
    Malformed,
}

/// What [`tidy`] found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct PagesFound {
    /// Some pages had to be erased.
    pub(super) repaired: bool,
    /// Some of them had entries.
    pub(super) lost: bool,
    /// Some pages have entries.
    pub(super) kept: bool,
}

/// Erases those of the pages `first..end` that have to be.
pub(super) async fn tidy<F: NorFlash>(
    flash: &mut Journaled<F>,
    first: u32,
    end: u32,
) -> Result<PagesFound, Fault<F::Error>> {
    Ring { flash, first, end, repaired: false }.tidy().await
}

struct Ring<'a, F> {
    flash: &'a mut Journaled<F>,
    first: u32,
    end: u32,
    repaired: bool,
}

impl<F: NorFlash> Ring<'_, F> {
    const PAGE: u32 = F::ERASE_SIZE as u32;

    async fn tidy(mut self) -> Result<PagesFound, Fault<F::Error>> {
        for page in self.first..self.end {
            match self.state(page).await? {
                PageState::Erased if self.flash.is_page_blank(page).await? => {}
                PageState::Erased | PageState::Malformed => self.erase(page).await?,
                PageState::InUse | PageState::Full => {}
            }
        }
        let newest = self.newest().await?;
        let mut page = newest.unwrap_or(self.first);
        let mut kept = newest.is_some();
        let mut lost = false;
        for _ in self.first..self.end {
            if !kept && self.state(page).await? != PageState::Erased {
                lost = true;
                self.erase(page).await?;
            }
            page = self.previous(page);
            kept = kept && self.state(page).await? == PageState::Full;
        }
        Ok(PagesFound { repaired: self.repaired, lost, kept: newest.is_some() })
    }

    /// The page with the newest entries.
    async fn newest(&mut self) -> Result<Option<u32>, Fault<F::Error>> {
        while let Some(page) = self.find(PageState::InUse).await? {
            if self.state(self.next(page)).await? == PageState::Erased {
                return Ok(Some(page));
            }
            // Otherwise the next page's entries were being moved here.
            self.erase(page).await?;
        }
        let Some(erased) = self.find(PageState::Erased).await? else { return Ok(None) };
        let page = self.previous(erased);
        Ok((self.state(page).await? == PageState::Full).then_some(page))
    }

    async fn find(&mut self, wanted: PageState) -> Result<Option<u32>, Fault<F::Error>> {
        for page in self.first..self.end {
            if self.state(page).await? == wanted {
                return Ok(Some(page));
            }
        }
        Ok(None)
    }

    const fn next(&self, page: u32) -> u32 {
        if page + 1 < self.end { page + 1 } else { self.first }
    }

    const fn previous(&self, page: u32) -> u32 {
        if page > self.first { page - 1 } else { self.end - 1 }
    }

    async fn erase(&mut self, page: u32) -> Result<(), Fault<F::Error>> {
        self.repaired = true;
        self.flash.erase(page * Self::PAGE, (page + 1) * Self::PAGE).await
    }

    async fn state(&mut self, page: u32) -> Result<PageState, Fault<F::Error>> {
        let start = self.is_marked(page * Self::PAGE).await?;
        let end = self.is_marked((page + 1) * Self::PAGE - F::READ_SIZE as u32).await?;
        Ok(match (start, end) {
            (false, false) => PageState::Erased,
            (true, false) => PageState::InUse,
            (true, true) => PageState::Full,
            (false, true) => PageState::Malformed,
        })
    }

    /// The rule of `sequential-storage`: at least four bits of the word are cleared.
    async fn is_marked(&mut self, at: u32) -> Result<bool, Fault<F::Error>> {
        let mut word = [0xFF; 4];
        self.flash.read(at, word.get_mut(..F::READ_SIZE).unwrap_or_default()).await?;
        Ok(word.iter().map(|byte| byte.count_zeros()).sum::<u32>() >= 4)
    }
}
