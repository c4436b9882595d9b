//! The hub on a desktop: an MQTT broker, a simulated controller, and the same core that boards run.

pub mod boot;
pub mod caller;
pub mod clock;
pub mod console;
pub mod demo;
pub mod flash;
pub mod hub;
pub mod link;
pub mod network;
pub mod options;
pub mod private;
pub mod relay;
pub mod tls;
pub mod udp;
pub mod voice;
pub mod wifi;

// Linked for the critical sections that it implements.
use critical_section as _;
