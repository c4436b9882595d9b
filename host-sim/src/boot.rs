//! The memory of a simulated board that outlives its restarts.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hub_core::boot::{BootRecord, BootReport, Reset};

/// A boot record, and how the next start comes about: by power, unless something else happens first. Clones are the same
/// one.
#[derive(Clone, Debug)]
pub struct BootMemory(Arc<Mutex<(BootRecord, Reset)>>);

impl Default for BootMemory {
    fn default() -> Self {
        Self(Arc::new(Mutex::new((BootRecord::new(), Reset::PowerOn))))
    }
}

impl BootMemory {
    /// The firmware panics at `address`. The start that follows knows.
    pub fn panics(&self, message: &str, address: u32) {
        let mut state = self.state();
        state.0.panicked(format_args!("{message}"), address);
        state.1 = Reset::Software;
    }

    /// The next start comes about in this way.
    pub fn resets(&self, reset: Reset) {
        self.state().1 = reset;
    }

    pub(crate) fn restarting(&self) {
        let mut state = self.state();
        state.0.restarting();
        state.1 = Reset::Software;
    }

    pub(crate) fn settled(&self) {
        self.state().0.settled();
    }

    pub(crate) fn begin(&self) -> BootReport {
        let mut state = self.state();
        let reset = std::mem::replace(&mut state.1, Reset::PowerOn);
        state.0.begin(reset)
    }

    fn state(&self) -> MutexGuard<'_, (BootRecord, Reset)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
