//! The far end of the hub's serial line: a simulated controller, a command, a TCP connection or a serial port.
//!
//! [`Spec`] is what a person chose. [`open`] gives the two halves of a line to it, for the core's link to drive. They
//! open the far end when they are first used, and again when they are used after it was lost: the core decides
//! when that is, and nothing here waits or retries by itself.

mod chatter;
mod child;
mod far;
mod halves;
mod spec;

pub use halves::{Rx, Tx, open, to_home};
pub use spec::Spec;
