//! How much a check may still do.

use crate::limits::SCHEMA_STEPS;

/// The steps that are left. One is about one byte of text looked at.
#[derive(Debug)]
pub(super) struct Work(u32);

/// There was more to do than is allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Exhausted;

impl Work {
    /// Everything is still allowed.
    pub(super) const fn new() -> Self {
        Self(SCHEMA_STEPS)
    }

    /// Takes the cost of looking at `bytes` of text; a value costs a little even if it is short.
    pub(super) fn spend(&mut self, bytes: usize) -> Result<(), Exhausted> {
        const EACH: u32 = 16;
        let steps = u32::try_from(bytes).unwrap_or(u32::MAX).saturating_add(EACH);
        self.0 = self.0.checked_sub(steps).ok_or(Exhausted)?;
        Ok(())
    }
}
