//! The session of one client, connected or not: subscriptions, messages waiting or unacknowledged, the will,
//! and when all this expires.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use mqtt5_protocol::packet::pubrel::PubRelPacket;
use mqtt5_protocol::packet::subscribe_options::SubscriptionOptions;
use mqtt5_protocol::{MqttError, QoS};

use super::connection::{Connection, ConnectionId, encode};
use super::limits::{Dropped, Limits};
use super::message::{Delivery, Message, higher, lower};
use super::topic;
use super::will::Will;

#[derive(Debug, Default)]
pub(super) struct Session {
    pub(super) connection: Option<ConnectionId>,
    /// The login that the client used last; none if the broker has no logins.
    pub(super) user: Option<String>,
    /// By the filter of the SUBSCRIBE.
    pub(super) subscriptions: BTreeMap<String, Subscription>,
    queue: VecDeque<Delivery>,
    /// In the order of sending, which is the order of sending again.
    inflight: Vec<InFlight>,
    /// Bytes of all messages in `queue` and `inflight`.
    bytes: usize,
    /// Messages that found no room since the queue was last empty.
    lost: u64,
    last_packet_id: u16,
    /// Messages of QoS 2 from the client that it has not released yet.
    pub(super) unreleased: BTreeSet<u16>,
    pub(super) will: Option<Will>,
    /// How long the session outlives its connection.
    pub(super) expiry: Duration,
    /// When the client left, if it is absent.
    pub(super) left: Option<Duration>,
    /// When the session of an absent client ends.
    pub(super) ends: Option<Duration>,
    /// Close the connection as soon as a message has been written to it.
    pub(super) cut_after_delivery: bool,
}

#[derive(Debug)]
pub(super) struct Subscription {
    /// The filter without its group.
    pub(super) topics: String,
    /// Whether a group shares the messages.
    pub(super) shared: bool,
    pub(super) options: SubscriptionOptions,
    pub(super) identifier: Option<u32>,
    /// The last turn that this member of a group had; the lowest is the next.
    pub(super) turn: u64,
}

#[derive(Debug)]
struct InFlight {
    packet_id: u16,
    packet: Unacknowledged,
    /// Whether it has been sent over the present connection.
    sent: bool,
}

/// A packet that the client has not acknowledged.
#[derive(Debug)]
enum Unacknowledged {
    Publish(Delivery),
    /// QoS 2: the client has the message, and PUBREL has taken its place.
    PubRel,
}

/// The connection that a session writes to, and its limits.
pub(super) struct Outlet<'a> {
    pub(super) connection: &'a mut Connection,
    pub(super) limits: &'a Limits,
    pub(super) dropped: &'a mut Dropped,
    pub(super) now: Duration,
}

/// Whether a packet was written.
enum Written {
    Yes,
    /// There is no room now.
    Full,
    /// The client takes no packet of this size.
    TooLarge,
}

/// A message was dropped, since too many wait already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct QueueFull;

/// What pumping ended with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pumped {
    /// Nothing is left to write, or there is no room for it.
    Done,
    /// A message has been written, and the connection is to be cut after it.
    Cut,
}

impl Subscription {
    /// The delivery of `message`, if this subscription asks for its topic.
    pub(super) fn delivery(&self, message: &Arc<Message>) -> Option<Delivery> {
        topic::matches(&message.topic, &self.topics).then(|| Delivery {
            message: Arc::clone(message),
            qos: lower(message.qos, self.options.qos),
            retain: self.options.retain_as_published && message.retain,
            identifiers: self.identifier.into_iter().collect(),
        })
    }
}

impl Outlet<'_> {
    fn write(&mut self, packet: Result<Bytes, MqttError>) -> Written {
        match packet {
            Ok(packet) if packet.len() <= self.connection.peer.packet_size => {
                if !self.connection.has_room_for(packet.len(), self.limits) {
                    return Written::Full;
                }
                self.connection.write(&packet);
                Written::Yes
            }
            _ => {
                self.dropped.too_large += 1;
                Written::TooLarge
            }
        }
    }

    /// How many messages may be unacknowledged.
    fn window(&self) -> usize {
        self.connection.peer.receive_maximum.min(self.limits.inflight.into())
    }
}

impl Session {
    /// How `message` reaches this client through subscriptions of its own: once, as well as the best of them
    /// asks for, and with the identifiers of all.
    pub(super) fn delivery(&self, message: &Arc<Message>, is_publisher: bool) -> Option<Delivery> {
        self.subscriptions
            .values()
            .filter(|subscription| !subscription.shared)
            .filter(|subscription| !is_publisher || !subscription.options.no_local)
            .filter_map(|subscription| subscription.delivery(message))
            .reduce(|mut all, one| {
                all.qos = higher(all.qos, one.qos);
                all.retain |= one.retain;
                all.identifiers.extend(one.identifiers);
                all
            })
    }

    /// A client has connected. What was in flight goes out again.
    pub(super) fn attach(&mut self, connection: ConnectionId) {
        self.connection = Some(connection);
        self.left = None;
        self.ends = None;
        self.inflight.iter_mut().for_each(|entry| entry.sent = false);
    }

    /// Queues a message for the client. To make room, expired messages are dropped, then the oldest of QoS 0;
    /// an absent client gets no QoS 0 at all.
    pub(super) fn enqueue(
        &mut self,
        delivery: Delivery,
        now: Duration,
        limits: &Limits,
        dropped: &mut Dropped,
    ) -> Result<(), QueueFull> {
        if self.connection.is_none() && delivery.qos == QoS::AtMostOnce {
            return Ok(());
        }
        let size = delivery.message.size();
        if !self.has_room_for(size, limits) {
            self.drop_expired(now, dropped);
        }
        while !self.has_room_for(size, limits) {
            dropped.queue_full += 1;
            let oldest = self.queue.iter().position(|waiting| waiting.qos == QoS::AtMostOnce);
            let oldest = oldest.filter(|_| size <= limits.queued_bytes).ok_or(QueueFull)?;
            self.take_waiting(oldest);
        }
        self.bytes += size;
        self.queue.push_back(delivery);
        Ok(())
    }

    /// Counts messages that found no room, and logs the first: `client` is whose session this is.
    pub(super) fn note_lost(&mut self, client: &str, lost: u64) {
        if self.lost == 0 && lost > 0 {
            let why = if self.connection.is_some() { "reads too slowly" } else { "is away" };
            log::warn!(
                "broker: messages for '{}' are dropped: it {why}, and {} messages of {} bytes wait for it; of \
                 QoS 0 the oldest go, then new ones",
                client.escape_debug(),
                self.queue.len(),
                self.bytes
            );
        }
        self.lost += lost;
    }

    /// Logs how many messages were lost, once nothing waits any more.
    pub(super) fn tell_lost(&mut self, client: &str) {
        if self.lost > 0 && self.queue.is_empty() {
            let (client, lost) = (client.escape_debug(), self.lost);
            log::warn!("broker: '{client}' has caught up; {lost} messages for it were dropped");
            self.lost = 0;
        }
    }

    fn has_room_for(&self, size: usize, limits: &Limits) -> bool {
        self.queue.len() < limits.queued_messages && self.bytes + size <= limits.queued_bytes
    }

    fn drop_expired(&mut self, now: Duration, dropped: &mut Dropped) {
        while let Some(index) = self.queue.iter().position(|waiting| waiting.message.has_expired(now)) {
            self.take_waiting(index);
            dropped.expired += 1;
        }
    }

    fn take_waiting(&mut self, index: usize) -> Option<Delivery> {
        let delivery = self.queue.remove(index)?;
        self.bytes -= delivery.message.size();
        Some(delivery)
    }

    /// Writes what the outlet has room for and the client's Receive Maximum lets through: first what was in
    /// flight when it connected, then what waits, in the order of publishing.
    pub(super) fn pump(&mut self, outlet: &mut Outlet<'_>) -> Pumped {
        match self.send_again(outlet) {
            Pumped::Done => self.send_waiting(outlet),
            Pumped::Cut => Pumped::Cut,
        }
    }

    fn send_again(&mut self, outlet: &mut Outlet<'_>) -> Pumped {
        let mut index = 0;
        while let Some(entry) = self.inflight.get_mut(index).filter(|_| index < outlet.window()) {
            if entry.sent {
                index += 1;
                continue;
            }
            let (packet, is_message) = match &entry.packet {
                Unacknowledged::Publish(delivery) => {
                    (delivery.encode(Some(entry.packet_id), true, outlet.now), true)
                }
                Unacknowledged::PubRel => (encode(&PubRelPacket::new(entry.packet_id)), false),
            };
            match outlet.write(packet) {
                Written::Full => break,
                Written::TooLarge => self.remove(index),
                Written::Yes => {
                    entry.sent = true;
                    if is_message && self.takes_cut() {
                        return Pumped::Cut;
                    }
                }
            }
        }
        Pumped::Done
    }

    fn send_waiting(&mut self, outlet: &mut Outlet<'_>) -> Pumped {
        while let Some(next) = self.queue.front() {
            if next.message.has_expired(outlet.now) {
                outlet.dropped.expired += 1;
                self.take_waiting(0);
                continue;
            }
            let packet_id = match next.qos {
                QoS::AtMostOnce => None,
                _ if self.inflight.len() >= outlet.window() => break,
                _ => Some(self.free_packet_id()),
            };
            match outlet.write(next.encode(packet_id, false, outlet.now)) {
                Written::Full => break,
                Written::TooLarge => {
                    self.take_waiting(0);
                }
                Written::Yes => {
                    if let (Some(delivery), Some(packet_id)) = (self.take_waiting(0), packet_id) {
                        self.bytes += delivery.message.size();
                        self.last_packet_id = packet_id;
                        let packet = Unacknowledged::Publish(delivery);
                        self.inflight.push(InFlight { packet_id, packet, sent: true });
                    }
                    if self.takes_cut() {
                        return Pumped::Cut;
                    }
                }
            }
        }
        Pumped::Done
    }

    fn takes_cut(&mut self) -> bool {
        std::mem::take(&mut self.cut_after_delivery)
    }

    /// The next identifier that is not in flight. There is one: the window is smaller than their number.
    fn free_packet_id(&self) -> u16 {
        let mut packet_id = self.last_packet_id;
        loop {
            packet_id = packet_id.checked_add(1).unwrap_or(1);
            if self.inflight.iter().all(|entry| entry.packet_id != packet_id) {
                return packet_id;
            }
        }
    }

    /// PUBACK: the client has the message of QoS 1.
    pub(super) fn acknowledge(&mut self, packet_id: u16) {
        self.remove_where(
            packet_id,
            |packet| matches!(packet, Unacknowledged::Publish(delivery) if delivery.qos == QoS::AtLeastOnce),
        );
    }

    /// PUBREC with a failure: the client does not want the message of QoS 2.
    pub(super) fn reject(&mut self, packet_id: u16) {
        self.remove_where(
            packet_id,
            |packet| matches!(packet, Unacknowledged::Publish(delivery) if delivery.qos == QoS::ExactlyOnce),
        );
    }

    /// PUBREC: the client has the message of QoS 2. `false` if nothing is known of it.
    pub(super) fn release(&mut self, packet_id: u16) -> bool {
        let Some(entry) = self.inflight.iter_mut().find(|entry| entry.packet_id == packet_id) else {
            return false;
        };
        match &entry.packet {
            Unacknowledged::PubRel => true,
            Unacknowledged::Publish(delivery) if delivery.qos == QoS::ExactlyOnce => {
                self.bytes -= delivery.message.size();
                entry.packet = Unacknowledged::PubRel;
                true
            }
            Unacknowledged::Publish(_) => false,
        }
    }

    /// PUBCOMP: the client is done with the message of QoS 2.
    pub(super) fn complete(&mut self, packet_id: u16) {
        self.remove_where(packet_id, |packet| matches!(packet, Unacknowledged::PubRel));
    }

    fn remove_where(&mut self, packet_id: u16, is_due: impl Fn(&Unacknowledged) -> bool) {
        let found =
            self.inflight.iter().position(|entry| entry.packet_id == packet_id && is_due(&entry.packet));
        if let Some(index) = found {
            self.remove(index);
        }
    }

    fn remove(&mut self, index: usize) {
        if let Unacknowledged::Publish(delivery) = self.inflight.remove(index).packet {
            self.bytes -= delivery.message.size();
        }
    }

    #[cfg(test)]
    pub(super) fn waiting(&self) -> usize {
        self.queue.len()
    }

    #[cfg(test)]
    pub(super) fn inflight(&self) -> usize {
        self.inflight.len()
    }

    #[cfg(test)]
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }
}
