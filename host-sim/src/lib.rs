//! The hub on a desktop: an MQTT broker, a simulated controller, and the very core that boards run.

pub mod broker;
pub mod caller;
pub mod clock;
pub mod demo;
pub mod flash;
pub mod hub;
pub mod link;
pub mod network;
pub mod options;
pub mod relay;
pub mod tty;
pub mod zwave;

// Linked for what it provides.
use critical_section as _;
