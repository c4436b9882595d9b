//! The limits of the broker, and the messages that it dropped because of them.

use std::time::Duration;

/// Every bound of the broker.
///
/// The defaults suit a home: a hub, a few relays, Home Assistant and a handful of satellites. Together they
/// also bound the broker's memory, whatever the clients do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Clients that are connected. One more is refused with the reason Quota exceeded, and the log says so.
    /// Default 128.
    pub connections: usize,
    /// Open connections without a client: before CONNECT, or being closed. One more is closed at once. Default 128.
    pub handshakes: usize,
    /// Time from the opening of a connection to its complete CONNECT. Default 10 s.
    pub connect_within: Duration,
    /// Time for a connection that the broker closes to take what was written for it. Default 2 s.
    pub close_within: Duration,
    /// Largest packet from a client in bytes, told to it in CONNACK. Default 1 MiB.
    pub packet_size: u32,
    /// Longest client identifier in bytes. Default 128.
    pub client_id_length: usize,
    /// Longest topic name or filter in bytes. Default 1024.
    pub topic_length: usize,
    /// Sessions, of connected clients and of absent ones. For one more, that of an absent client ends early: of the
    /// login with the most of them, the one that has been absent the longest. At a broker without logins it is the one
    /// that has been absent the longest of all. If all are connected, the client is refused. Default 256.
    pub sessions: usize,
    /// Longest time that the session of an absent client is kept. Clients that ask for more are told so in
    /// CONNACK. Default one day.
    pub session_expiry: Duration,
    /// Subscriptions of one session, and filters in one SUBSCRIBE. Default 512.
    pub subscriptions: usize,
    /// Messages waiting for one session, absent or slow. For a new one the oldest of QoS 0 goes; when there
    /// is none, the new one is dropped. The log says whose messages are dropped; the publisher of one that nobody
    /// gets is told Quota exceeded. Default 2000.
    pub queued_messages: usize,
    /// Bytes of topics, payloads and properties waiting or unacknowledged in one session. Default 4 MiB.
    pub queued_bytes: usize,
    /// Messages sent to a client and not yet acknowledged by it, should its Receive Maximum allow more.
    /// Default 32.
    pub inflight: u16,
    /// Messages of QoS 2 that a client may have sent and not yet released, told to it in CONNACK. Default 32.
    pub receive_maximum: u16,
    /// Retained messages. One more is not accepted. Default 2000.
    pub retained_messages: usize,
    /// Bytes of all retained messages. Default 8 MiB.
    pub retained_bytes: usize,
    /// Bytes written for a connection that its transport has not yet taken. Beyond this, messages wait in
    /// the session; a single packet may be larger. A client that keeps asking without reading the answers
    /// is cut off when they amount to as much again. Default 256 KiB.
    pub backlog: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 128,
            handshakes: 128,
            connect_within: Duration::from_secs(10),
            close_within: Duration::from_secs(2),
            packet_size: 1024 * 1024,
            client_id_length: 128,
            topic_length: 1024,
            sessions: 256,
            session_expiry: Duration::from_secs(24 * 60 * 60),
            subscriptions: 512,
            queued_messages: 2000,
            queued_bytes: 4 * 1024 * 1024,
            inflight: 32,
            receive_maximum: 32,
            retained_messages: 2000,
            retained_bytes: 8 * 1024 * 1024,
            backlog: 256 * 1024,
        }
    }
}

/// Messages that did not reach one of their subscribers, by cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dropped {
    /// The session's queue was full.
    pub queue_full: u64,
    /// The packet would have been larger than the client accepts.
    pub too_large: u64,
    /// The message's own expiry interval had passed.
    pub expired: u64,
    /// There was no room to retain the message.
    pub not_retained: u64,
}
