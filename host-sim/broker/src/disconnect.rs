//! DISCONNECT, from either side: how connections and sessions end.

use std::time::Duration;

use mqtt5_protocol::ReasonCode;
use mqtt5_protocol::packet::disconnect::DisconnectPacket;

use super::message::ClientId;
use super::{Broker, ConnectionId};

/// What becomes of the will of a client whose connection ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OnLeave {
    PublishWill,
    DiscardWill,
}

impl Broker {
    /// The client disconnects.
    pub(super) fn disconnect(&mut self, id: ConnectionId, client: &ClientId, packet: &DisconnectPacket) {
        if let (Some(seconds), Some(session)) =
            (packet.properties.get_session_expiry_interval(), self.sessions.get_mut(client))
        {
            if session.expiry.is_zero() && seconds > 0 {
                return self.close(id, ReasonCode::ProtocolError);
            }
            session.expiry = Duration::from_secs(seconds.into()).min(self.limits.session_expiry);
        }
        let on_leave = match packet.reason_code {
            ReasonCode::Success => OnLeave::DiscardWill,
            _ => OnLeave::PublishWill,
        };
        self.hang_up(id, on_leave);
    }

    /// Tells a connected client why, and closes the connection once that has been written.
    pub(super) fn close(&mut self, id: ConnectionId, reason: ReasonCode) {
        let Some(connection) = self.connections.get_mut(&id) else { return };
        if connection.client.is_some() {
            self.send(id, &DisconnectPacket::new(reason));
        }
        self.hang_up(id, OnLeave::PublishWill);
    }

    /// Closes the connection once everything has been written. The client counts as gone at once.
    pub(super) fn hang_up(&mut self, id: ConnectionId, on_leave: OnLeave) {
        let Some(connection) = self.connections.get_mut(&id) else { return };
        if connection.is_closing() {
            return;
        }
        self.changed.insert(id);
        if let Some(client) = connection.close(self.now + self.limits.close_within) {
            self.leave(&client, on_leave);
        }
    }

    /// Gives up the connection at once.
    pub(super) fn cut(&mut self, id: ConnectionId) {
        let Some(connection) = self.connections.remove(&id) else { return };
        self.changed.insert(id);
        if let Some(client) = connection.client {
            self.leave(&client, OnLeave::PublishWill);
        }
    }

    /// The client is no longer connected.
    fn leave(&mut self, client: &ClientId, on_leave: OnLeave) {
        let Some(session) = self.sessions.get_mut(client) else { return };
        session.connection = None;
        session.left = Some(self.now);
        session.ends = Some(self.now + session.expiry);
        match (on_leave, &mut session.will) {
            (OnLeave::PublishWill, Some(will)) => will.client_gone(self.now, session.expiry),
            (_, will) => *will = None,
        }
        self.settle(client);
    }

    /// Publishes the will if it is due, and ends the session if its time has come.
    pub(super) fn settle(&mut self, client: &ClientId) {
        let Some(session) = self.sessions.get_mut(client) else { return };
        if session.ends.is_some_and(|ends| ends <= self.now) {
            return self.end_session(client);
        }
        let due = session.will.take_if(|will| will.due.is_some_and(|due| due <= self.now));
        if let Some(will) = due {
            self.publish_will(will);
        }
    }

    /// A will that has not been published yet is published when its session ends.
    pub(super) fn end_session(&mut self, client: &str) {
        if let Some(will) = self.sessions.remove(client).and_then(|session| session.will) {
            self.publish_will(will);
        }
    }
}
