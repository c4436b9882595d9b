//! What the programs for a desktop have in common.
//!
//! Command lines ([`options`]), the log ([`logging`]), serial ports ([`tty`]), random numbers and the time of day.

pub mod clock;
pub mod logging;
pub mod options;
pub mod random;
pub mod tty;
