//! What the programs for a desktop have in common.
//!
//! Command lines ([`options`]), the log ([`logging`]), serial ports ([`tty`]), random numbers and the time of day. With the
//! feature `broker` also the way to a broker ([`broker`]), and the clock on which `hub-mqtt` stands.

#[cfg(feature = "broker")]
pub mod broker;
pub mod clock;
#[cfg(feature = "broker")]
mod driver;
pub mod logging;
pub mod options;
pub mod random;
#[cfg(feature = "broker")]
pub mod tls;
pub mod tty;

// Linked for the critical sections that it implements.
#[cfg(feature = "broker")]
use critical_section as _;
