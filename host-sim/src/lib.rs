//! The hub on a desktop: an MQTT broker, a simulated controller, and the same core that boards run.

pub mod boot;
pub mod caller;
pub mod console;
pub mod flash;
pub mod hub;
pub mod link;
pub mod network;
pub mod options;
pub mod private;
pub mod udp;
pub mod wifi;
