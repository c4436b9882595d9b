//! MQTT: the names of topics, where replies go, and the buffers of the hub's session. The session itself is in [`hub_mqtt`].

mod reached;
mod reply_to;
mod topic;

#[cfg(test)]
mod tests;

pub use hub_mqtt::{
    Backoff, Client, Connection, Lost, PacketInfo, Payload, Received, Rejection, Role, Sent, Transport, copy,
    explain,
};
pub use reached::Reached;
pub use reply_to::{ReplyTo, UnusableReplyTo};
pub use topic::{Topic, Topics};

use crate::limits;

/// The buffers of one session.
pub struct Memory {
    /// For what arrives.
    pub receive: [u8; limits::MQTT_RECEIVE],
    /// For what has been sent and not been acknowledged.
    pub send: [u8; limits::MQTT_SEND],
}

impl Memory {
    /// Empty.
    pub const fn new() -> Self {
        Self { receive: [0; limits::MQTT_RECEIVE], send: [0; limits::MQTT_SEND] }
    }
}
