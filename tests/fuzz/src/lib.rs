//! What the targets share: a stack with an end, a clock that stands still, long inputs out of short ones, and the
//! things that the hub is connected to.

// It brings what a desktop does instead of turning interrupts off.
use critical_section as _;

pub mod broker;
pub mod clock;
pub mod input;
pub mod journal;
pub mod stack;
pub mod wire;
