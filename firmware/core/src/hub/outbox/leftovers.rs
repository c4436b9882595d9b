//! Retained messages of earlier runs, which the broker still has and the hub has to clear.

use super::Outbox;
use crate::home::{DeviceId, Leftover, Remains};
use crate::log::debug;
use crate::mqtt::Topic;

impl<S> Outbox<'_, S> {
    /// The broker keeps a state of a device.
    pub(in crate::hub) fn found_state(&mut self, id: &str, payload: &[u8]) {
        let home = self.hub.home;
        match (home.leftover(id, payload), DeviceId::try_from(id)) {
            (Leftover::Keep, _) => {}
            (leftover, Ok(id)) if self.leftover.is_none() => {
                self.leftover = Some(Remains::new(id, leftover, payload));
            }
            // One at a time: the rest comes again.
            (_, Ok(_)) => home.sweep_later(),
            (_, Err(_)) => debug!("mqtt: the broker keeps the state of a device whose id is too long"),
        }
    }

    /// Whether the last state that was found has been dealt with.
    pub(in crate::hub) const fn has_swept(&self) -> bool {
        self.leftover.is_none()
    }

    /// Handles an announcement that the broker retains.
    pub(in crate::hub) fn found_announcement(&mut self, topic: &str, payload: &[u8]) {
        let (home, discovery, hub) = (self.hub.home, self.hub.discovery, self.hub.identity.id());
        let Some(of) = discovery.announced_on(hub, topic).filter(|_| !payload.is_empty()) else { return };
        if of.is_empty() {
            if !discovery.is_on() {
                discovery.hub_is_left();
            }
            return;
        }
        // A topic does not contain every id unchanged. For an unknown device, the id is taken from the topic as it is.
        let known = home.id_where(|id| *discovery.device_topic(hub, id) == *topic);
        match known.or_else(|| DeviceId::try_from(of).ok()) {
            Some(id) if !self.is_to_be_announced(&id) => {
                if self.leftover.is_none() {
                    self.leftover = Some(Remains::new(id, Leftover::Unannounce, b"{}"));
                } else {
                    // One at a time: the next sweep receives the others again.
                    discovery.sweep_later();
                }
            }
            Some(_) => {}
            None => debug!("mqtt: the broker keeps the announcement of a device whose id is too long"),
        }
    }

    /// Whether the announcement of a device may stay at the broker.
    fn is_to_be_announced(&self, id: &str) -> bool {
        self.hub.discovery.announces_devices() && self.hub.home.leftover(id, b"{}") != Leftover::Clear
    }

    /// Whether a leftover has to be cleared. One that has become current again is forgotten.
    pub(super) fn has_leftover(&mut self) -> bool {
        let home = self.hub.home;
        // Meanwhile the device may have been listed, or the controller lost.
        let is_still = |remains: &Remains| match remains.leftover {
            Leftover::Unannounce => !self.is_to_be_announced(&remains.id),
            leftover => home.leftover(&remains.id, b"{}") == leftover,
        };
        if !(self.is_retaining && self.leftover.as_ref().is_some_and(is_still)) {
            self.leftover = None;
        }
        self.leftover.is_some()
    }

    /// The topic of the leftover.
    pub(super) fn leftover_topic(&self) -> Topic {
        let Some(Remains { id, leftover, .. }) = &self.leftover else { return Topic::new() };
        match leftover {
            Leftover::Unannounce => self.hub.discovery.device_topic(self.hub.identity.id(), id),
            Leftover::Keep | Leftover::Unavailable | Leftover::Clear => self.topics.device(id),
        }
    }
}
