//! An MQTT 5 broker, small enough to live inside the simulator and strict enough to stand in for a real one.
//!
//! [`Broker`] decides and [`Server`] acts. The broker is a state machine without clock, sockets or threads:
//! it is told what has happened (a connection opened, bytes came, time passed) together with the time, and
//! then says what is to be written to whom, and whom to hang up on. So its timeouts are tested without
//! waiting, and its answers to hostile bytes without a network. The server drives it with tokio: TCP
//! listeners, connections in memory, tokio's clock.
//!
//! ```text
//!   bytes ──► connection ──packets──► handshake ──► session ◄── routing ◄── retained
//!                 ▲                                    │
//!                 └──────────── room for output ◄──────┘
//! ```
//!
//! A `connection` makes packets out of bytes and keeps what is to be written; it ends with the transport. A
//! `session` keeps what outlives a connection: subscriptions, messages waiting or unacknowledged, the will.
//! Messages move from a session to its connection only as fast as the transport takes them, so a slow client
//! costs no more than its session's queue. Every capacity is in [`Limits`]; messages that had to be dropped are
//! counted in [`Dropped`], and the log says whose they were.
//!
//! It is written by hand on the codec crate `mqtt5-protocol`, since no broker crate would do: `rumqttd` and `rmqtt` fail
//! the conformance suite (they deliver with a higher QoS than subscribed, ignore Maximum Packet Size, do not resume
//! sessions), and `mqtt5` reads the system clock, so that virtual time does not reach it.
//!
//! It speaks all of MQTT 5 but for extended authentication and topic aliases, which it does not offer.
//! Other versions of MQTT are refused in their own words. The conformance suite holds it to what mosquitto
//! does.

mod connection;
mod disconnect;
mod handshake;
mod limits;
mod message;
mod retained;
mod routing;
mod server;
mod session;
mod topic;
mod will;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use mqtt5_protocol::packet::MqttPacket;
use mqtt5_protocol::packet::pubcomp::PubCompPacket;
use mqtt5_protocol::packet::pubrel::PubRelPacket;
use mqtt5_protocol::{Packet, ReasonCode};

pub use connection::ConnectionId;
pub use handshake::{Access, Login};
pub use limits::{Dropped, Limits};
pub use server::{Options, Server};

use connection::{Connection, Input};
use disconnect::OnLeave;
use message::ClientId;
use retained::Retained;
use session::{Outlet, Pumped, Session};

const PINGRESP: [u8; 2] = [0xd0, 0];

/// How long the log is not told again that there is no room for a client.
const TELL_AGAIN: Duration = Duration::from_secs(60);

/// The broker's state and decisions.
///
/// Time is what the caller says it is: a `Duration` since a moment of its choice, the same for all calls. It
/// never goes back; an earlier time than that of a former call counts as that one.
#[derive(Debug)]
pub struct Broker {
    limits: Limits,
    access: Access,
    connections: BTreeMap<ConnectionId, Connection>,
    sessions: BTreeMap<ClientId, Session>,
    retained: Retained,
    dropped: Dropped,
    /// When the log was last told that there is no room for a client.
    told_full: Option<Duration>,
    changed: BTreeSet<ConnectionId>,
    last_connection: u64,
    last_turn: u64,
    now: Duration,
}

/// What is to be done with a connection's transport.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output {
    /// Write these bytes, then ask again.
    Send(Bytes),
    /// Nothing, until [`Broker::take_changed`] names the connection.
    Wait,
    /// Everything has been written: close the transport, and call [`Broker::closed`].
    Close,
}

impl Broker {
    /// A broker without connections.
    pub fn new(limits: Limits, access: Access) -> Self {
        Self {
            limits,
            access,
            connections: BTreeMap::new(),
            sessions: BTreeMap::new(),
            retained: Retained::default(),
            dropped: Dropped::default(),
            told_full: None,
            changed: BTreeSet::new(),
            last_connection: 0,
            last_turn: 0,
            now: Duration::ZERO,
        }
    }

    /// A connection was opened. `None` if there are too many: close the transport.
    pub fn open(&mut self, now: Duration) -> Option<ConnectionId> {
        self.advance(now);
        if self.connections.len() - self.connected() >= self.limits.handshakes {
            let most = self.limits.handshakes;
            self.tell_full(format_args!(
                "a connection is closed at once: {most} others are open that are no client's"
            ));
            return None;
        }
        self.last_connection += 1;
        let id = ConnectionId(self.last_connection);
        self.connections.insert(id, Connection::new(self.now, &self.limits));
        Some(id)
    }

    /// Bytes have come. They may be anything, cut anywhere.
    pub fn receive(&mut self, now: Duration, id: ConnectionId, bytes: &[u8]) {
        self.advance(now);
        match self.connections.get_mut(&id) {
            Some(connection) if !connection.is_closing() => connection.receive(bytes),
            _ => return,
        }
        while let Some(connection) = self.connections.get_mut(&id) {
            if connection.is_closing() {
                return;
            }
            match connection.next_packet(&self.limits) {
                Input::Incomplete => return,
                Input::Broken(reason) => return self.close(id, reason),
                Input::ForeignConnect { level } => return self.refuse_version(id, level),
                Input::Packet(packet) => {
                    connection.restart_keep_alive(self.now);
                    match (connection.client.clone(), packet) {
                        (None, Packet::Connect(connect)) => self.connect(id, &connect),
                        (None, _) => self.close(id, ReasonCode::ProtocolError),
                        (Some(client), packet) => self.handle(id, &client, packet),
                    }
                }
            }
        }
    }

    /// What is to be done for a connection. One that the broker does not know, or has cut, is to be closed.
    pub fn take_output(&mut self, now: Duration, id: ConnectionId) -> Output {
        self.advance(now);
        let Some(connection) = self.connections.get_mut(&id) else { return Output::Close };
        let bytes = connection.take_output();
        if bytes.is_empty() {
            return if connection.is_closing() { Output::Close } else { Output::Wait };
        }
        if let Some(client) = connection.client.clone() {
            self.pump(&client);
        }
        Output::Send(bytes)
    }

    /// The connections that something has changed for since the last call: ask for their output.
    pub fn take_changed(&mut self) -> impl Iterator<Item = ConnectionId> + use<> {
        std::mem::take(&mut self.changed).into_iter()
    }

    /// Whether the transport is still wanted. If not, close it at once, whatever is left to write.
    pub fn is_open(&self, id: ConnectionId) -> bool {
        self.connections.contains_key(&id)
    }

    /// The transport was closed, with or without a DISCONNECT.
    pub fn closed(&mut self, now: Duration, id: ConnectionId) {
        self.advance(now);
        self.cut(id);
    }

    /// When [`Broker::tick`] has something to do, unless something else happens before.
    pub fn deadline(&self) -> Option<Duration> {
        let connections = self.connections.values().filter_map(|connection| connection.deadline);
        let sessions = self.sessions.values().filter_map(|session| session.ends);
        let wills = self.sessions.values().filter_map(|session| session.will.as_ref()?.due);
        connections.chain(sessions).chain(wills).min()
    }

    /// Time has passed.
    pub fn tick(&mut self, now: Duration) {
        self.advance(now);
        let due = |deadline: Option<Duration>| deadline.is_some_and(|deadline| deadline <= self.now);
        let connections: Vec<_> = self
            .connections
            .iter()
            .filter(|(_, connection)| due(connection.deadline))
            .map(|(id, connection)| (*id, connection.client.is_some()))
            .collect();
        for (id, is_connected) in connections {
            match is_connected {
                true => self.close(id, ReasonCode::KeepAliveTimeout),
                false => self.cut(id),
            }
        }
        let clients: Vec<_> = self.sessions.keys().cloned().collect();
        for client in clients {
            self.settle(&client);
        }
    }

    /// Tells all clients that the broker shuts down, and closes their connections. All sessions are
    /// forgotten, and no wills are published.
    pub fn shutdown(&mut self, now: Duration) {
        self.advance(now);
        self.sessions.clear();
        let connections: Vec<_> = self.connections.keys().copied().collect();
        for id in connections {
            self.close(id, ReasonCode::ServerShuttingDown);
        }
    }

    /// Cuts the connection of a client, without a DISCONNECT. `false` if it is not connected.
    pub fn kick(&mut self, now: Duration, client: &str) -> bool {
        self.advance(now);
        let connection = self.sessions.get(client).and_then(|session| session.connection);
        if let Some(id) = connection {
            self.cut(id);
        }
        connection.is_some()
    }

    /// Kicks the client and forgets its session, as if the session had expired. `false` if there is none.
    pub fn forget_session(&mut self, now: Duration, client: &str) -> bool {
        let is_known = self.sessions.contains_key(client);
        self.kick(now, client);
        self.end_session(client);
        is_known
    }

    /// Closes the connection of a client right after the next message has been written to it, and ignores
    /// whatever it says from then on: its acknowledgement is lost. `false` if there is no such session.
    pub fn cut_after_next_delivery(&mut self, client: &str) -> bool {
        let session = self.sessions.get_mut(client);
        session.map(|session| session.cut_after_delivery = true).is_some()
    }

    /// The messages dropped so far.
    pub fn dropped(&self) -> Dropped {
        self.dropped
    }

    /// How many clients are connected.
    fn connected(&self) -> usize {
        self.connections.values().filter(|connection| connection.client.is_some()).count()
    }

    /// Logs that somebody was turned away. Refused clients try again soon, so one line is enough for some time.
    fn tell_full(&mut self, what: fmt::Arguments<'_>) {
        if self.told_full.is_none_or(|told| self.now >= told + TELL_AGAIN) {
            self.told_full = Some(self.now);
            log::warn!("broker: {what}");
        }
    }

    fn advance(&mut self, now: Duration) {
        self.now = self.now.max(now);
    }

    /// Handles a packet of a connected client.
    fn handle(&mut self, id: ConnectionId, client: &ClientId, packet: Packet) {
        let Some(session) = self.sessions.get_mut(client) else { return };
        match packet {
            Packet::Publish(publish) => return self.publish(id, client, publish),
            Packet::Subscribe(subscribe) => return self.subscribe(id, client, subscribe),
            Packet::Unsubscribe(unsubscribe) => return self.unsubscribe(id, client, &unsubscribe),
            Packet::Disconnect(disconnect) => return self.disconnect(id, client, &disconnect),
            Packet::PingReq => return self.answer(id, &PINGRESP),
            Packet::PubAck(ack) => session.acknowledge(ack.packet_id),
            Packet::PubRec(ack) if ack.reason_code.is_error() => session.reject(ack.packet_id),
            Packet::PubRec(ack) => {
                let reason = found(session.release(ack.packet_id));
                return self.send(id, &PubRelPacket::new_with_reason(ack.packet_id, reason));
            }
            Packet::PubRel(ack) => {
                let reason = found(session.unreleased.remove(&ack.packet_id));
                return self.send(id, &PubCompPacket::new_with_reason(ack.packet_id, reason));
            }
            Packet::PubComp(ack) => session.complete(ack.packet_id),
            _ => return self.close(id, ReasonCode::ProtocolError),
        }
        self.pump(client);
    }

    fn send(&mut self, id: ConnectionId, packet: &impl MqttPacket) {
        match connection::encode(packet) {
            Ok(packet) => self.answer(id, &packet),
            Err(_) => self.close(id, ReasonCode::ImplementationSpecificError),
        }
    }

    /// Writes a packet that is not a message. A client that does not take its answers is cut off, since
    /// neither can they be dropped nor does anything else bound them.
    fn answer(&mut self, id: ConnectionId, packet: &[u8]) {
        let Some(connection) = self.connections.get_mut(&id) else { return };
        if connection.is_closing() {
            return;
        }
        self.changed.insert(id);
        if packet.len() > connection.peer.packet_size {
            self.hang_up(id, OnLeave::PublishWill);
        } else if connection.backlog() + packet.len() > self.limits.backlog.saturating_mul(2) {
            self.cut(id);
        } else {
            connection.write(packet);
        }
    }

    /// Writes messages of the client's session to its connection, as far as there is room.
    fn pump(&mut self, client: &ClientId) {
        let Some(session) = self.sessions.get_mut(client) else { return };
        let Some(id) = session.connection else { return };
        let Some(connection) = self.connections.get_mut(&id) else { return };
        self.changed.insert(id);
        let (limits, dropped) = (&self.limits, &mut self.dropped);
        let pumped = session.pump(&mut Outlet { connection, limits, dropped, now: self.now });
        session.tell_lost(client);
        if pumped == Pumped::Cut {
            self.hang_up(id, OnLeave::PublishWill);
        }
    }
}

fn found(known: bool) -> ReasonCode {
    if known { ReasonCode::Success } else { ReasonCode::PacketIdentifierNotFound }
}
