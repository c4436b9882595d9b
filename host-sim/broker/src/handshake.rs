//! CONNECT: which clients are accepted, under which name, and with which session.

use std::cmp::Reverse;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use mqtt5_protocol::packet::connack::ConnAckPacket;
use mqtt5_protocol::packet::connect::ConnectPacket;
use mqtt5_protocol::{Properties, ReasonCode};

use super::connection::Peer;
use super::disconnect::OnLeave;
use super::message::ClientId;
use super::will::Will;
use super::{Broker, ConnectionId};

/// CONNACK as MQTT 3.1 and 3.1.1 write it: "unacceptable protocol version".
const CONNACK_3_UNACCEPTABLE_VERSION: [u8; 4] = [0x20, 2, 0, 1];

/// Who may connect to the broker.
#[derive(Clone, Debug, Default)]
pub enum Access {
    /// Everybody, with whatever user name and password, or none.
    #[default]
    Anyone,
    /// Only those who give one of these user names with its password.
    Logins(Vec<Login>),
}

/// A user name and its password.
#[derive(Clone, PartialEq, Eq)]
pub struct Login {
    /// Compared byte by byte.
    pub user: String,
    /// Compared byte by byte; shown nowhere.
    pub password: String,
}

impl Access {
    pub(super) fn admits(&self, user: Option<&str>, password: Option<&[u8]>) -> bool {
        match self {
            Self::Anyone => true,
            Self::Logins(logins) => logins.iter().any(|login| {
                user == Some(login.user.as_str()) && password == Some(login.password.as_bytes())
            }),
        }
    }
}

impl fmt::Debug for Login {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Login").field("user", &self.user).finish_non_exhaustive()
    }
}

impl Broker {
    /// Refuses a client of another version of MQTT, in that version.
    pub(super) fn refuse_version(&mut self, id: ConnectionId, level: u8) {
        match level {
            ..5 => {
                self.answer(id, &CONNACK_3_UNACCEPTABLE_VERSION);
                self.hang_up(id, OnLeave::DiscardWill);
            }
            _ => self.refuse(id, ReasonCode::UnsupportedProtocolVersion),
        }
    }

    fn refuse(&mut self, id: ConnectionId, reason: ReasonCode) {
        self.send(id, &ConnAckPacket::new(false, reason));
        self.hang_up(id, OnLeave::DiscardWill);
    }

    pub(super) fn connect(&mut self, id: ConnectionId, connect: &ConnectPacket) {
        match self.admit(id, connect) {
            Ok(client) => self.pump(&client),
            Err(reason) => self.refuse(id, reason),
        }
    }

    fn admit(&mut self, id: ConnectionId, connect: &ConnectPacket) -> Result<ClientId, ReasonCode> {
        let peer = peer(&connect.properties)?;
        if connect.properties.get_authentication_method().is_some() {
            return Err(ReasonCode::BadAuthenticationMethod);
        }
        if !self.access.admits(connect.username.as_deref(), connect.password.as_deref()) {
            return Err(ReasonCode::BadUsernameOrPassword);
        }
        if connect.client_id.len() > self.limits.client_id_length {
            return Err(ReasonCode::ClientIdentifierNotValid);
        }
        let client: ClientId = match connect.client_id.as_str() {
            "" => self.unused_client_id(id),
            given => given.into(),
        };
        let will = Will::of(connect, &client, &self.limits)?;
        let wanted_expiry =
            Duration::from_secs(connect.properties.get_session_expiry_interval().unwrap_or(0).into());
        let expiry = wanted_expiry.min(self.limits.session_expiry);

        self.take_over(&client);
        let most = self.limits.connections;
        if self.connected() >= most {
            self.tell_full(format_args!(
                "'{}' is refused: {most} clients are connected, which is the most; for more, use a broker of its \
                 own (--broker)",
                client.escape_debug()
            ));
            return Err(ReasonCode::QuotaExceeded);
        }
        if connect.clean_start {
            self.end_session(&client);
        }
        let session_present = self.sessions.contains_key(&client);
        let most = self.limits.sessions;
        if !session_present && self.sessions.len() >= most && !self.evict_session(&client) {
            self.tell_full(format_args!(
                "'{}' is refused: {most} sessions are in use, which is the most",
                client.escape_debug()
            ));
            return Err(ReasonCode::QuotaExceeded);
        }
        let session = self.sessions.entry(Arc::clone(&client)).or_default();
        session.attach(id);
        // Without logins a user name is any text, and one client could have many.
        session.user = connect.username.clone().filter(|_| matches!(self.access, Access::Logins(_)));
        session.expiry = expiry;
        session.will = will;
        if let Some(connection) = self.connections.get_mut(&id) {
            connection.accept(Arc::clone(&client), peer, connect.keep_alive, self.now);
        }

        let mut accepted = ConnAckPacket::new(session_present, ReasonCode::Success)
            .with_maximum_packet_size(self.limits.packet_size)
            .with_receive_maximum(self.limits.receive_maximum);
        if connect.client_id.is_empty() {
            accepted = accepted.with_assigned_client_id(client.to_string());
        }
        if expiry < wanted_expiry {
            let seconds = expiry.as_secs().try_into().unwrap_or(u32::MAX);
            accepted = accepted.with_session_expiry_interval(seconds);
        }
        self.send(id, &accepted);
        Ok(client)
    }

    /// A client that connects again replaces its former connection.
    fn take_over(&mut self, client: &ClientId) {
        if let Some(former) = self.sessions.get(client).and_then(|session| session.connection) {
            self.close(former, ReasonCode::SessionTakenOver);
        }
    }

    /// Ends the session of an absent client to make room for `client`: of the user with the most of them, so that nobody can
    /// evict those of others by leaving many, the one that has been absent the longest. `false` if all are connected.
    fn evict_session(&mut self, client: &ClientId) -> bool {
        let absent =
            || self.sessions.iter().filter_map(|(name, session)| Some((session.left?, name, &session.user)));
        let of_user = |user: &Option<String>| absent().filter(|(_, _, other)| *other == user).count();
        let evicted = absent().max_by_key(|(left, _, user)| (of_user(user), Reverse(*left)));
        let Some(evicted) = evicted.map(|(_, name, _)| Arc::clone(name)) else { return false };
        let (name, evicted_name) = (client.escape_debug(), evicted.escape_debug());
        let words = format_args!(
            "the session of '{evicted_name}', who is away, ends early to make room for '{name}'"
        );
        self.tell_full(words);
        self.end_session(&evicted);
        true
    }

    /// A client id for a client without one.
    fn unused_client_id(&self, id: ConnectionId) -> ClientId {
        let mut name = format!("auto-{}", id.0);
        while self.sessions.contains_key(name.as_str()) {
            name.push('\'');
        }
        name.into()
    }
}

/// The limits in CONNECT for packets to the client. Zero is malformed.
fn peer(properties: &Properties) -> Result<Peer, ReasonCode> {
    let packet_size = match properties.get_maximum_packet_size() {
        None => usize::MAX,
        Some(0) => return Err(ReasonCode::ProtocolError),
        Some(size) => size as usize,
    };
    let receive_maximum = match properties.get_receive_maximum() {
        None => u16::MAX,
        Some(0) => return Err(ReasonCode::ProtocolError),
        Some(maximum) => maximum,
    };
    Ok(Peer { packet_size, receive_maximum: receive_maximum.into() })
}
