//! What the targets share: a limited stack, a manual clock, expanded inputs, and the peers of the hub.

// Linked for its critical sections on a desktop.
use critical_section as _;

pub mod broker;
pub mod clock;
pub mod input;
pub mod journal;
pub mod stack;
pub mod wire;
