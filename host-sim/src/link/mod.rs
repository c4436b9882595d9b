//! The far end of the hub's serial line: a simulated controller, a command, a TCP connection or a serial port.
//!
//! [`Spec`] names the far end. [`open`] gives the two halves of a line to it, for the core's link to drive. They
//! open the far end when they are first used, and again when they are used after it was lost: the core decides
//! when that is, and nothing here waits or retries by itself.

mod child;
mod far_end;
mod halves;
mod output;
mod spec;

pub use halves::{FarEnd, Rx, Tx, open, to_home};
pub use spec::Spec;
