//! PUBLISH, SUBSCRIBE, UNSUBSCRIBE: which message goes to whom.

use std::collections::BTreeMap;
use std::sync::Arc;

use mqtt5_protocol::packet::puback::PubAckPacket;
use mqtt5_protocol::packet::publish::PublishPacket;
use mqtt5_protocol::packet::pubrec::PubRecPacket;
use mqtt5_protocol::packet::suback::{SubAckPacket, SubAckReasonCode};
use mqtt5_protocol::packet::subscribe::{SubscribePacket, TopicFilter};
use mqtt5_protocol::packet::subscribe_options::RetainHandling;
use mqtt5_protocol::packet::unsuback::{UnsubAckPacket, UnsubAckReasonCode};
use mqtt5_protocol::packet::unsubscribe::UnsubscribePacket;
use mqtt5_protocol::{PropertyId, QoS, ReasonCode};

use super::message::{self, ClientId, Delivery, Message, lower};
use super::session::{QueueFull, Subscription};
use super::topic::{self, Filter};
use super::will::Will;
use super::{Broker, ConnectionId};

/// The member of a group that gets the next message.
struct Member {
    client: ClientId,
    delivery: Delivery,
    /// Absent members come last, then those whose last message is the most recent.
    order: (bool, u64),
}

impl Broker {
    pub(super) fn publish(&mut self, id: ConnectionId, client: &ClientId, publish: PublishPacket) {
        let properties = match message::forwarded(&publish.properties, &[PropertyId::MessageExpiryInterval]) {
            Ok(properties) => properties,
            Err(reason) => return self.close(id, reason),
        };
        if !topic::is_valid_name(&publish.topic_name) || publish.topic_name.len() > self.limits.topic_length {
            return self.close(id, ReasonCode::TopicNameInvalid);
        }
        let packet_id = publish.packet_id.unwrap_or(0);
        if publish.qos != QoS::AtMostOnce && packet_id == 0 {
            return self.close(id, ReasonCode::ProtocolError);
        }
        let message = Message {
            publisher: Arc::clone(client),
            expires: message::expiry(&publish.properties, self.now),
            topic: publish.topic_name,
            payload: publish.payload,
            qos: publish.qos,
            retain: publish.retain,
            properties,
        };
        match message.qos {
            QoS::AtMostOnce => {
                self.route(message);
            }
            QoS::AtLeastOnce => {
                let reason = self.route(message);
                self.send(id, &PubAckPacket::new_with_reason(packet_id, reason));
            }
            QoS::ExactlyOnce => self.publish_once(id, client, packet_id, message),
        }
    }

    /// QoS 2: the same identifier is the same message, until the client releases it.
    fn publish_once(&mut self, id: ConnectionId, client: &ClientId, packet_id: u16, message: Message) {
        let Some(session) = self.sessions.get_mut(client) else { return };
        let mut reason = ReasonCode::Success;
        if !session.unreleased.contains(&packet_id) {
            if session.unreleased.len() >= self.limits.receive_maximum.into() {
                return self.close(id, ReasonCode::ReceiveMaximumExceeded);
            }
            session.unreleased.insert(packet_id);
            reason = self.route(message);
        }
        if reason.is_error()
            && let Some(session) = self.sessions.get_mut(client)
        {
            session.unreleased.remove(&packet_id);
        }
        self.send(id, &PubRecPacket::new_with_reason(packet_id, reason));
    }

    pub(super) fn publish_will(&mut self, will: Will) {
        self.route(will.into_message(self.now));
    }

    /// Delivers a message to its subscribers, and retains it if it says so. The reason is one for PUBACK and
    /// PUBREC.
    fn route(&mut self, message: Message) -> ReasonCode {
        let message = Arc::new(message);
        if message.retain && !self.retained.store(&message, &self.limits, self.now) {
            self.dropped.not_retained += 1;
            return ReasonCode::QuotaExceeded;
        }
        let deliveries = self.deliveries(&message);
        if deliveries.is_empty() {
            return ReasonCode::NoMatchingSubscribers;
        }
        let mut is_kept = message.retain;
        for (client, delivery) in deliveries {
            is_kept |= self.deliver(&client, delivery).is_ok();
        }
        // A message that reached one of them is not to be published again for the others.
        if is_kept { ReasonCode::Success } else { ReasonCode::QuotaExceeded }
    }

    fn deliveries(&mut self, message: &Arc<Message>) -> Vec<(ClientId, Delivery)> {
        let mut deliveries = Vec::new();
        let mut members: BTreeMap<&str, Member> = BTreeMap::new();
        for (client, session) in &self.sessions {
            if let Some(delivery) = session.delivery(message, *client == message.publisher) {
                deliveries.push((Arc::clone(client), delivery));
            }
            let shared = session.subscriptions.iter().filter(|(_, subscription)| subscription.shared);
            for (filter, subscription) in shared {
                let order = (session.connection.is_none(), subscription.turn);
                if members.get(filter.as_str()).is_none_or(|first| order < first.order)
                    && let Some(delivery) = subscription.delivery(message)
                {
                    members.insert(filter, Member { client: Arc::clone(client), delivery, order });
                }
            }
        }
        let members: Vec<_> =
            members.into_iter().map(|(filter, member)| (filter.to_owned(), member)).collect();
        for (filter, Member { client, delivery, .. }) in members {
            self.last_turn += 1;
            let session = self.sessions.get_mut(&client);
            if let Some(subscription) = session.and_then(|session| session.subscriptions.get_mut(&filter)) {
                subscription.turn = self.last_turn;
            }
            deliveries.push((client, delivery));
        }
        deliveries
    }

    fn deliver(&mut self, client: &ClientId, delivery: Delivery) -> Result<(), QueueFull> {
        let Some(session) = self.sessions.get_mut(client) else { return Ok(()) };
        let before = self.dropped.queue_full;
        let queued = session.enqueue(delivery, self.now, &self.limits, &mut self.dropped);
        session.note_lost(client, self.dropped.queue_full - before);
        self.pump(client);
        queued
    }

    pub(super) fn subscribe(&mut self, id: ConnectionId, client: &ClientId, subscribe: SubscribePacket) {
        let identifiers = subscribe.properties.subscription_identifiers();
        let no_local_in_a_group = subscribe
            .filters
            .iter()
            .any(|wanted| wanted.options.no_local && wanted.filter.starts_with("$share/"));
        if subscribe.packet_id == 0
            || identifiers.len() > 1
            || identifiers.contains(&0)
            || no_local_in_a_group
        {
            return self.close(id, ReasonCode::ProtocolError);
        }
        if subscribe.filters.len() > self.limits.subscriptions {
            return self.close(id, ReasonCode::QuotaExceeded);
        }
        let identifier = identifiers.first().copied();
        let mut answer = SubAckPacket::new(subscribe.packet_id);
        let mut retained = Vec::new();
        for wanted in subscribe.filters {
            answer.reason_codes.push(self.subscribe_to(client, wanted, identifier, &mut retained));
        }
        self.send(id, &answer);
        for delivery in retained {
            // The subscriber is told of nothing that it misses; the log is.
            let _ = self.deliver(client, delivery);
        }
    }

    fn subscribe_to(
        &mut self,
        client: &ClientId,
        wanted: TopicFilter,
        identifier: Option<u32>,
        retained: &mut Vec<Delivery>,
    ) -> SubAckReasonCode {
        let options = wanted.options;
        let filter = match Filter::parse(&wanted.filter) {
            Some(filter) if wanted.filter.len() <= self.limits.topic_length => filter,
            _ => return SubAckReasonCode::TopicFilterInvalid,
        };
        let Some(session) = self.sessions.get_mut(client) else {
            return SubAckReasonCode::UnspecifiedError;
        };
        let former_turn = session.subscriptions.get(&wanted.filter).map(|former| former.turn);
        if former_turn.is_none() && session.subscriptions.len() >= self.limits.subscriptions {
            return SubAckReasonCode::QuotaExceeded;
        }
        let wants_retained = match options.retain_handling {
            RetainHandling::SendAtSubscribe => true,
            RetainHandling::SendAtSubscribeIfNew => former_turn.is_none(),
            RetainHandling::DoNotSend => false,
        };
        if wants_retained && filter.group.is_none() {
            // More than this would not find room in the session anyway.
            let room = self.limits.queued_messages.saturating_sub(retained.len());
            let mut matching = self.retained.matching(filter.topics, self.now);
            retained.extend(matching.by_ref().take(room).map(|message| Delivery {
                message: Arc::clone(message),
                qos: lower(message.qos, options.qos),
                retain: true,
                identifiers: identifier.into_iter().collect(),
            }));
            let lost = matching.count() as u64;
            self.dropped.queue_full += lost;
            session.note_lost(client, lost);
        }
        let subscription = Subscription {
            topics: filter.topics.to_owned(),
            shared: filter.group.is_some(),
            options,
            identifier,
            turn: former_turn.unwrap_or(0),
        };
        session.subscriptions.insert(wanted.filter, subscription);
        SubAckReasonCode::from_qos(options.qos)
    }

    pub(super) fn unsubscribe(
        &mut self,
        id: ConnectionId,
        client: &ClientId,
        unsubscribe: &UnsubscribePacket,
    ) {
        if unsubscribe.packet_id == 0 {
            return self.close(id, ReasonCode::ProtocolError);
        }
        let Some(session) = self.sessions.get_mut(client) else { return };
        let mut answer = UnsubAckPacket::new(unsubscribe.packet_id);
        for filter in &unsubscribe.filters {
            answer.reason_codes.push(match session.subscriptions.remove(filter) {
                Some(_) => UnsubAckReasonCode::Success,
                None => UnsubAckReasonCode::NoSubscriptionExisted,
            });
        }
        self.send(id, &answer);
    }
}
