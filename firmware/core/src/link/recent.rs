//! The last things the controller said that were not JSON-RPC: boot messages, error traces, noise.

use heapless::{HistoryBuf, String};

use crate::limits;
use crate::text::{Lossy, one_line};

/// The beginning of a line, fit to be shown.
pub(super) type Quote = String<{ limits::QUOTE }>;

/// The last few lines.
#[derive(Debug)]
pub(super) struct Recent(HistoryBuf<Quote, { limits::RECENT_LINES }>);

impl Recent {
    pub(super) const fn new() -> Self {
        Self(HistoryBuf::new())
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// Remembers a line, and returns how it is shown. The same again is remembered once.
    pub(super) fn add(&mut self, line: &[u8]) -> Quote {
        let quote: Quote = one_line(&Lossy(line));
        if self.last() != Some(quote.as_str()) {
            self.0.write(quote.clone());
        }
        quote
    }

    /// All of them, oldest first.
    pub(super) fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.oldest_ordered().map(|quote| quote.as_str())
    }

    /// The last one.
    pub(super) fn last(&self) -> Option<&str> {
        self.0.recent().map(|quote| quote.as_str())
    }
}
