//! The retained messages.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::limits::Limits;
use super::message::Message;
use super::topic;

/// At most one message a topic, bounded in number and bytes.
#[derive(Debug, Default)]
pub(super) struct Retained {
    messages: BTreeMap<String, Arc<Message>>,
    bytes: usize,
}

impl Retained {
    /// Keeps `message` in place of the topic's former one; an empty message only takes the former one away.
    /// `false`, and nothing is changed, if there is no room for it.
    pub(super) fn store(&mut self, message: &Arc<Message>, limits: &Limits, now: Duration) -> bool {
        if message.payload.is_empty() {
            self.remove(&message.topic);
            return true;
        }
        if !self.has_room_for(message, limits) {
            self.evict_expired(now);
        }
        let has_room = self.has_room_for(message, limits);
        if has_room {
            self.remove(&message.topic);
            self.bytes += message.size();
            self.messages.insert(message.topic.clone(), Arc::clone(message));
        }
        has_room
    }

    /// The messages that a subscriber to `filter` gets, in the order of their topics.
    pub(super) fn matching(&self, filter: &str, now: Duration) -> impl Iterator<Item = &Arc<Message>> {
        self.messages
            .values()
            .filter(move |message| !message.has_expired(now) && topic::matches(&message.topic, filter))
    }

    fn has_room_for(&self, message: &Message, limits: &Limits) -> bool {
        let (messages, bytes) = match self.messages.get(&message.topic) {
            Some(former) => (self.messages.len() - 1, self.bytes - former.size()),
            None => (self.messages.len(), self.bytes),
        };
        messages < limits.retained_messages && bytes + message.size() <= limits.retained_bytes
    }

    fn evict_expired(&mut self, now: Duration) {
        self.messages.retain(|_, message| !message.has_expired(now));
        self.bytes = self.messages.values().map(|message| message.size()).sum();
    }

    fn remove(&mut self, topic: &str) {
        if let Some(former) = self.messages.remove(topic) {
            self.bytes -= former.size();
        }
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.messages.len()
    }

    #[cfg(test)]
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }
}
