//! Short requests that wait for a slot, in the order in which they came.
//!
//! Home Assistant switches all lamps of a room at once. Such requests are short, so their texts are kept one after the other in
//! one buffer, each only as long as it is.

use embassy_time::Instant;
use heapless::Vec;

use super::Request;
use crate::limits;
use crate::mqtt::{ReplyTo, Topic};

/// A request that waits for a slot. Its texts are in the buffer: the Response Topic, the Correlation Data, the payload.
#[derive(Clone, Copy, Debug)]
struct Entry {
    request: Request,
    received: Instant,
    /// Bytes of the Response Topic; `None` if the request has none.
    topic: Option<u16>,
    /// Bytes of the Correlation Data; `None` if the request has none.
    correlation: Option<u16>,
    /// Bytes of the payload.
    payload: u16,
    device: DeviceHash,
}

impl Entry {
    fn size(&self) -> usize {
        usize::from(self.topic.unwrap_or(0))
            + usize::from(self.correlation.unwrap_or(0))
            + usize::from(self.payload)
    }
}

/// A hash of the name of the device that a command is for; 0 if it is for none. Commands for one device are done in order.
pub(super) type DeviceHash = u32;

/// A request that has arrived.
pub(super) struct Arrived<'a> {
    pub(super) request: Request,
    pub(super) device: DeviceHash,
    pub(super) received: Instant,
    /// Where its caller wants the reply, if it says so.
    pub(super) reply_to: Option<ReplyTo>,
    pub(super) payload: &'a [u8],
}

/// Requests that wait for a slot.
pub(super) struct Backlog {
    /// The oldest first.
    entries: Vec<Entry, { limits::QUEUED_REQUESTS }>,
    /// In the same order.
    texts: Vec<u8, { limits::REQUEST_QUEUE }>,
}

impl Backlog {
    pub(super) const fn new() -> Self {
        Self { entries: Vec::new(), texts: Vec::new() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Adds a request. `false` if it is too long, or if there is no room for it. Nothing tells who the caller is, so room is
    /// shared by what callers may do: conversations leave a quarter of it to other requests, and the other way round.
    pub(super) fn push(&mut self, arrived: &Arrived<'_>) -> bool {
        let Arrived { request, device, received, ref reply_to, payload } = *arrived;
        let topic = reply_to.as_ref().map(|reply_to| reply_to.topic.as_bytes());
        let correlation = reply_to.as_ref().and_then(|reply_to| reply_to.correlation.as_deref());
        // All are shorter than 64 KiB.
        let length = |text: &[u8]| text.len() as u16;
        let entry = Entry {
            request,
            received,
            topic: topic.map(length),
            correlation: correlation.map(length),
            payload: length(payload),
            device,
        };
        let others = self.entries.iter();
        let others = others.filter(|other| other.request.is_conversation() == request.is_conversation());
        let (count, bytes) =
            others.fold((1, entry.size()), |(count, bytes), other| (count + 1, bytes + other.size()));
        let fits = payload.len() <= limits::QUEUED_REQUEST
            && count <= limits::QUEUED_REQUESTS / 4 * 3
            && bytes <= limits::REQUEST_QUEUE / 4 * 3
            && self.texts.len() + entry.size() <= limits::REQUEST_QUEUE;
        if !fits || self.entries.push(entry).is_err() {
            return false;
        }
        for text in [topic, correlation, Some(payload)].into_iter().flatten() {
            // There is room for it.
            let _ = self.texts.extend_from_slice(text);
        }
        true
    }

    /// The position of the oldest request that suits `is_wanted`, which gets the bytes of its payload and its device as well.
    pub(super) fn position(
        &self,
        mut is_wanted: impl FnMut(Request, usize, DeviceHash) -> bool,
    ) -> Option<usize> {
        self.entries.iter().position(|entry| is_wanted(entry.request, entry.payload.into(), entry.device))
    }

    /// The position of a request that has waited for too long.
    pub(super) fn late(&self) -> Option<usize> {
        let is_late = |entry: &Entry| {
            let turn = entry.request.is_conversation();
            let patience = if turn { limits::TURN_QUEUE_TIMEOUT } else { limits::QUEUE_TIMEOUT };
            entry.received.elapsed() > patience
        };
        self.entries.iter().position(is_late)
    }

    /// The request at a position.
    pub(super) fn get(&self, position: usize) -> Option<Arrived<'_>> {
        let entry = self.entries.get(position)?;
        let texts = self.texts.get(self.start(position)..)?;
        let (topic, rest) = texts.split_at_checked(entry.topic.unwrap_or(0).into())?;
        let (correlation, rest) = rest.split_at_checked(entry.correlation.unwrap_or(0).into())?;
        let reply_to = entry.topic.map(|_| ReplyTo {
            topic: core::str::from_utf8(topic)
                .ok()
                .and_then(|topic| Topic::try_from(topic).ok())
                .unwrap_or_default(),
            correlation: entry.correlation.and_then(|_| Vec::from_slice(correlation).ok()),
        });
        let payload = rest.get(..entry.payload.into())?;
        let Entry { request, device, received, .. } = *entry;
        Some(Arrived { request, device, received, reply_to, payload })
    }

    /// Removes it.
    pub(super) fn remove(&mut self, position: usize) {
        let start = self.start(position);
        if position < self.entries.len() {
            let size = self.entries.remove(position).size();
            self.texts.copy_within(start + size.., start);
            self.texts.truncate(self.texts.len() - size);
        }
    }

    /// Where the texts of the request at a position begin.
    fn start(&self, position: usize) -> usize {
        self.entries.iter().take(position).map(Entry::size).sum()
    }
}
