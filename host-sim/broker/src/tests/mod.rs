//! Stories about the broker's core, told without clock or network.

mod bounds;
mod delivery;
mod hostile;
mod server;
mod session;
mod time;

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use mqtt5_protocol::packet::MqttPacket;
use mqtt5_protocol::packet::connack::ConnAckPacket;
use mqtt5_protocol::packet::connect::ConnectPacket;
use mqtt5_protocol::packet::puback::PubAckPacket;
use mqtt5_protocol::packet::publish::PublishPacket;
use mqtt5_protocol::packet::subscribe::SubscribePacket;
use mqtt5_protocol::{ConnectOptions, FixedHeader, Packet, QoS, ReasonCode, WillMessage};

use super::{Access, Broker, ConnectionId, Limits, Output};

const SECOND: Duration = Duration::from_secs(1);

/// A broker, its time, and clients as raw as their packets.
struct Bench {
    broker: Broker,
    now: Duration,
}

impl Bench {
    fn new() -> Self {
        Self::with(Limits::default())
    }

    fn with(limits: Limits) -> Self {
        Self { broker: Broker::new(limits, Access::Anyone), now: Duration::ZERO }
    }

    fn open(&mut self) -> ConnectionId {
        self.broker.open(self.now).expect("room for a connection")
    }

    /// Connects, and wants to be let in.
    fn connect(&mut self, options: ConnectOptions) -> ConnectionId {
        let id = self.open();
        assert_eq!(self.ask_to_connect(id, options).reason_code, ReasonCode::Success);
        id
    }

    fn ask_to_connect(&mut self, id: ConnectionId, options: ConnectOptions) -> ConnAckPacket {
        self.send(id, &ConnectPacket::new(options));
        match self.packets(id).into_iter().next() {
            Some(Packet::ConnAck(answer)) => answer,
            other => panic!("instead of CONNACK: {other:?}"),
        }
    }

    fn send(&mut self, id: ConnectionId, packet: &impl MqttPacket) {
        self.send_bytes(id, &encoded(packet));
    }

    fn send_bytes(&mut self, id: ConnectionId, bytes: &[u8]) {
        self.broker.receive(self.now, id, bytes);
    }

    fn subscribe(&mut self, id: ConnectionId, filter: &str, qos: QoS) {
        self.send(id, &SubscribePacket::new(1).add_filter(filter, qos));
        assert!(matches!(self.packets(id).first(), Some(Packet::SubAck(_))), "SUBACK");
    }

    /// Publishes with packet identifier 7, if there is to be one.
    fn publish(&mut self, id: ConnectionId, topic: &str, payload: impl Into<Bytes>, qos: QoS) {
        self.send(id, &PublishPacket::new(topic, payload, qos).with_packet_id(7));
    }

    fn acknowledge(&mut self, id: ConnectionId, message: &PublishPacket) {
        self.send(id, &PubAckPacket::new(message.packet_id.expect("a message of QoS 1")));
    }

    /// Everything that the broker has written for the connection, and whether it then closed it.
    fn read(&mut self, id: ConnectionId) -> (Vec<Packet>, bool) {
        let (bytes, is_closed) = self.read_bytes(id);
        (decoded(bytes), is_closed)
    }

    fn read_bytes(&mut self, id: ConnectionId) -> (BytesMut, bool) {
        let mut bytes = BytesMut::new();
        loop {
            match self.broker.take_output(self.now, id) {
                Output::Send(more) => bytes.extend_from_slice(&more),
                Output::Wait => return (bytes, false),
                Output::Close => return (bytes, true),
            }
        }
    }

    fn packets(&mut self, id: ConnectionId) -> Vec<Packet> {
        self.read(id).0
    }

    fn messages(&mut self, id: ConnectionId) -> Vec<PublishPacket> {
        let packets = self.packets(id).into_iter();
        packets.filter_map(|packet| if let Packet::Publish(it) = packet { Some(it) } else { None }).collect()
    }

    fn payloads(&mut self, id: ConnectionId) -> Vec<String> {
        let messages = self.messages(id).into_iter();
        messages.map(|message| String::from_utf8_lossy(&message.payload).into_owned()).collect()
    }

    /// The reason with which the broker has closed the connection.
    fn farewell(&mut self, id: ConnectionId) -> Option<ReasonCode> {
        let (packets, is_closed) = self.read(id);
        assert!(is_closed, "still open after {packets:?}");
        match packets.last() {
            Some(Packet::Disconnect(disconnect)) => Some(disconnect.reason_code),
            _ => None,
        }
    }

    /// Lets time pass, with everything that is due on the way.
    fn pass(&mut self, duration: Duration) {
        let end = self.now + duration;
        while let Some(deadline) = self.broker.deadline().filter(|deadline| *deadline <= end) {
            self.now = self.now.max(deadline);
            self.broker.tick(self.now);
            assert!(self.broker.deadline().is_none_or(|next| next > self.now), "a deadline was not met");
        }
        self.now = end;
    }
}

fn client(name: &str) -> ConnectOptions {
    ConnectOptions::new(name).with_keep_alive(Duration::ZERO)
}

/// A client that comes back to its session within `seconds`.
fn returning(name: &str, seconds: u32) -> ConnectOptions {
    client(name).with_clean_start(false).with_session_expiry_interval(seconds)
}

fn will(topic: &str, delay: u32) -> WillMessage {
    let mut will = WillMessage::new(topic, b"gone".to_vec());
    will.properties.will_delay_interval = Some(delay);
    will
}

fn encoded(packet: &impl MqttPacket) -> BytesMut {
    let mut bytes = BytesMut::new();
    packet.encode(&mut bytes).expect("a packet that can be encoded");
    bytes
}

fn decoded(mut bytes: BytesMut) -> Vec<Packet> {
    let mut packets = Vec::new();
    while !bytes.is_empty() {
        let header = FixedHeader::decode(&mut bytes).expect("a fixed header");
        let mut body = bytes.split_to(header.remaining_length as usize);
        packets.push(
            Packet::decode_from_body(header.packet_type, &header, &mut body).expect("a well-formed packet"),
        );
        assert!(body.is_empty(), "bytes after the end of a packet");
    }
    packets
}
