//! How often a tool was called, and what came of it.

/// Counts of one tool since it was registered. All zeros when new; they stop at the largest number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Calls, failed ones included.
    pub calls: u32,
    /// Calls that failed.
    pub failures: u32,
    /// The longest call, in milliseconds.
    pub slowest: u32,
    /// All calls together, in milliseconds.
    total: u32,
}

impl Counts {
    /// No calls.
    pub const NONE: Self = Self { calls: 0, failures: 0, slowest: 0, total: 0 };

    /// Adds a call.
    pub fn add(&mut self, is_success: bool, milliseconds: u64) {
        let milliseconds = u32::try_from(milliseconds).unwrap_or(u32::MAX);
        self.calls = self.calls.saturating_add(1);
        self.failures = self.failures.saturating_add(u32::from(!is_success));
        self.slowest = self.slowest.max(milliseconds);
        self.total = self.total.saturating_add(milliseconds);
    }

    /// How long a call takes on average, in milliseconds.
    pub fn average(&self) -> u32 {
        self.total.checked_div(self.calls).unwrap_or_default()
    }
}
