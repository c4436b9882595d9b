//! What the link has seen so far.

use crate::tool;

/// Counts since the start. All zeros when new; they stop at the largest number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counts {
    /// Calls that were sent, and their times from the last byte sent to the answer. Those without an answer failed.
    pub calls: tool::Counts,
    /// Calls without an answer in time.
    pub timeouts: u32,
    /// How often the controller was lost.
    pub losses: u32,
    /// Lines from the controller that were not JSON-RPC, and were ignored.
    pub lines_ignored: u32,
    /// Requests of the controller's that could not be answered, because it did not read.
    pub unanswered: u32,
}

impl Counts {
    pub(super) const NONE: Self =
        Self { calls: tool::Counts::NONE, timeouts: 0, losses: 0, lines_ignored: 0, unanswered: 0 };
}
