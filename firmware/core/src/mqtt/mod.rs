//! MQTT: the names of topics, where replies go, and the buffers of the hub's session. The session itself is in [`hub_mqtt`].

mod topic;

#[cfg(test)]
mod tests;

use core::cell::Cell;

use crate::limits;

pub use hub_mqtt::{
    Backoff, Client, Connection, Lost, PacketInfo, Payload, Received, Rejection, Role, Sent, Transport, copy,
    explain,
};
pub use topic::{ReplyTo, Topic, Topics, UnusableReplyTo};

/// The buffers of one session.
pub struct SessionBuffers {
    /// For what arrives.
    pub receive: [u8; limits::MQTT_RECEIVE],
    /// For what has been sent and not been acknowledged.
    pub send: [u8; limits::MQTT_SEND],
}

impl SessionBuffers {
    /// Empty.
    pub const fn new() -> Self {
        Self { receive: [0; limits::MQTT_RECEIVE], send: [0; limits::MQTT_SEND] }
    }
}

/// The state of the connection, or why there is none.
pub struct BrokerStatus {
    state: Cell<Result<(), &'static str>>,
    connections: Cell<u32>,
}

impl BrokerStatus {
    /// Not yet.
    pub const fn new() -> Self {
        Self { state: Cell::new(Err("connecting")), connections: Cell::new(0) }
    }

    /// There is a connection.
    pub fn connected(&self) {
        self.state.set(Ok(()));
        self.connections.set(self.connections.get().saturating_add(1));
    }

    /// How often the connection was made again.
    pub fn reconnects(&self) -> u32 {
        self.connections.get().saturating_sub(1)
    }

    /// There is none, for this reason. Returns whether that is news.
    pub fn lost(&self, why: &'static str) -> bool {
        self.state.replace(Err(why)) != Err(why)
    }

    /// Whether there is a connection.
    pub fn is_connected(&self) -> bool {
        self.state.get().is_ok()
    }

    /// The state in words.
    pub fn text(&self) -> &'static str {
        match self.state.get() {
            Ok(()) => "connected",
            Err(why) => why,
        }
    }
}
