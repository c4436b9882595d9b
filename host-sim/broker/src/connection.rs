//! One connection: its input, from bytes to packets, and its output.

use std::time::Duration;

use bytes::{Buf, Bytes, BytesMut};
use mqtt5_protocol::packet::MqttPacket;
use mqtt5_protocol::{FixedHeader, MqttError, Packet, ReasonCode};

use super::limits::Limits;
use super::message::ClientId;

/// Names one connection for as long as the broker lives: no two ever have the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectionId(pub(super) u64);

/// The most that a transport is given to write at a time.
const CHUNK: usize = 16 * 1024;

/// The first byte of CONNECT, with which every connection begins.
const CONNECT: u8 = 0x10;

/// The client's limits for packets to it, from CONNECT.
#[derive(Clone, Copy, Debug)]
pub(super) struct Peer {
    pub(super) packet_size: usize,
    pub(super) receive_maximum: usize,
}

#[derive(Debug)]
pub(super) struct Connection {
    input: BytesMut,
    output: BytesMut,
    /// From the accepted CONNECT until the broker begins to close.
    pub(super) client: Option<ClientId>,
    pub(super) peer: Peer,
    /// How long the client may be silent.
    keep_alive: Option<Duration>,
    /// When the connection is closed: without CONNECT, without a sign of life, or with output that is not taken.
    pub(super) deadline: Option<Duration>,
    closing: bool,
}

/// What the bytes received so far begin with.
#[derive(Debug)]
pub(super) enum Input {
    Packet(Packet),
    /// A CONNECT of another version of MQTT.
    ForeignConnect {
        level: u8,
    },
    /// The next packet is not complete yet.
    Incomplete,
    /// Not a packet, and why the client is disconnected.
    Broken(ReasonCode),
}

impl Connection {
    pub(super) fn new(now: Duration, limits: &Limits) -> Self {
        Self {
            input: BytesMut::new(),
            output: BytesMut::new(),
            client: None,
            peer: Peer { packet_size: usize::MAX, receive_maximum: usize::from(u16::MAX) },
            keep_alive: None,
            deadline: Some(now + limits.connect_within),
            closing: false,
        }
    }

    /// The client has been accepted.
    pub(super) fn accept(&mut self, client: ClientId, peer: Peer, keep_alive: u16, now: Duration) {
        self.client = Some(client);
        self.peer = peer;
        self.keep_alive = (keep_alive > 0).then(|| Duration::from_millis(u64::from(keep_alive) * 1500));
        self.restart_keep_alive(now);
    }

    /// A packet has come, so the keepalive begins again.
    pub(super) fn restart_keep_alive(&mut self, now: Duration) {
        self.deadline = self.keep_alive.map(|keep_alive| now + keep_alive);
    }

    pub(super) fn is_closing(&self) -> bool {
        self.closing
    }

    /// From now on input is ignored; the connection ends once the output has been taken, or at `deadline`.
    pub(super) fn close(&mut self, deadline: Duration) -> Option<ClientId> {
        self.closing = true;
        self.deadline = Some(deadline);
        self.input = BytesMut::new();
        self.client.take()
    }

    pub(super) fn receive(&mut self, bytes: &[u8]) {
        self.input.extend_from_slice(bytes);
    }

    /// Takes the next packet out of what has been received. No more than `limits.packet_size` bytes, and
    /// what came together with them, are ever kept.
    pub(super) fn next_packet(&mut self, limits: &Limits) -> Input {
        let Some(first) = self.input.first() else { return Input::Incomplete };
        if self.client.is_none() && *first != CONNECT {
            return Input::Broken(ReasonCode::ProtocolError);
        }
        let Ok(length) = packet_length(&self.input) else {
            return Input::Broken(ReasonCode::MalformedPacket);
        };
        let Some(length) = length else { return Input::Incomplete };
        if length > limits.packet_size as usize {
            return Input::Broken(ReasonCode::PacketTooLarge);
        }
        // Decoded from a slice, nothing shares memory with the input: a small retained message does not
        // keep a large buffer alive.
        let Some(packet) = self.input.get(..length) else { return Input::Incomplete };
        let decoded = match foreign_level(packet) {
            Some(level) if self.client.is_none() => Input::ForeignConnect { level },
            _ => decode(packet),
        };
        self.input.advance(length);
        decoded
    }

    /// Whether a message of this length may be written now, rather than wait in the session.
    pub(super) fn has_room_for(&self, length: usize, limits: &Limits) -> bool {
        self.output.is_empty() || self.output.len() + length <= limits.backlog
    }

    pub(super) fn write(&mut self, packet: &[u8]) {
        self.output.extend_from_slice(packet);
    }

    /// Bytes that the transport has not taken.
    pub(super) fn backlog(&self) -> usize {
        self.output.len()
    }

    /// The next bytes for the transport; none if everything has been taken.
    pub(super) fn take_output(&mut self) -> Bytes {
        let chunk = self.output.split_to(self.output.len().min(CHUNK)).freeze();
        if self.output.is_empty() {
            self.output = BytesMut::new();
        }
        chunk
    }

    #[cfg(test)]
    pub(super) fn buffered_input(&self) -> usize {
        self.input.len()
    }
}

/// The length of the packet that `input` begins with, once its header is complete. The codec does not tell an incomplete
/// header from a malformed one.
fn packet_length(input: &[u8]) -> Result<Option<usize>, MqttError> {
    let mut remaining = 0;
    for (index, byte) in input.iter().skip(1).take(4).enumerate() {
        remaining |= usize::from(byte & 0x7f) << (7 * index);
        if byte & 0x80 == 0 {
            return Ok(Some(2 + index + remaining));
        }
    }
    match input.len() {
        ..5 => Ok(None),
        _ => Err(MqttError::MalformedPacket(String::new())),
    }
}

/// The protocol level of a CONNECT that is not one of MQTT 5.
fn foreign_level(packet: &[u8]) -> Option<u8> {
    let body = packet.get(1..)?;
    let name_at = body.iter().position(|byte| byte & 0x80 == 0)? + 1;
    let (name, rest) = match body.get(name_at..)? {
        [0, 4, b'M', b'Q', b'T', b'T', rest @ ..] => ("MQTT", rest),
        [0, 6, b'M', b'Q', b'I', b's', b'd', b'p', rest @ ..] => ("MQIsdp", rest),
        _ => return None,
    };
    match (name, rest.first()?) {
        ("MQTT", 5) => None,
        (_, level) => Some(*level),
    }
}

fn decode(mut packet: &[u8]) -> Input {
    let decoded = FixedHeader::decode(&mut packet)
        .and_then(|header| Packet::decode_from_body(header.packet_type, &header, &mut packet));
    match decoded {
        Ok(decoded) if packet.is_empty() => Input::Packet(decoded),
        Ok(_) => Input::Broken(ReasonCode::MalformedPacket),
        Err(MqttError::ProtocolError(_) | MqttError::DuplicatePropertyId(_)) => {
            Input::Broken(ReasonCode::ProtocolError)
        }
        Err(_) => Input::Broken(ReasonCode::MalformedPacket),
    }
}

/// The packet's bytes. Fails if they cannot be encoded, such as strings beyond 65,535 bytes.
pub(super) fn encode(packet: &impl MqttPacket) -> Result<Bytes, MqttError> {
    let mut encoded = BytesMut::new();
    packet.encode(&mut encoded)?;
    Ok(encoded.freeze())
}
