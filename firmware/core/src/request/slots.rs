//! Job slots: buffers for a request and its reply.
//!
//! The session fills a slot and signals its worker; the worker writes the reply and signals back; the session sends the
//! reply and, once it is acknowledged, reuses the slot. At any moment only one of the two accesses the job.

use embassy_sync::blocking_mutex::raw::NoopRawMutex;
use embassy_sync::channel::Channel;
use embassy_sync::mutex::Mutex;
use embassy_sync::signal::Signal;
use embassy_time::Instant;
use minimq::Op;

use super::Request;
use super::backlog::DeviceHash;
use crate::limits;
use crate::mqtt::{ReplyTo, Topic};

/// A request and, later, its reply. `P` is the buffer for the request's payload, which differs from slot to slot.
#[derive(Debug)]
pub struct Job<P: ?Sized = [u8]> {
    /// The kind of request.
    pub request: Request,
    /// Where the reply goes.
    pub reply_to: ReplyTo,
    /// Whether that is the request's own Response Topic.
    pub has_response_topic: bool,
    /// When it came.
    pub received: Instant,
    /// Whether it is refused.
    pub is_refused: bool,
    reply: [u8; limits::REPLY],
    reply_len: usize,
    payload_len: usize,
    payload: P,
}

impl<const N: usize> Job<[u8; N]> {
    const fn new() -> Self {
        Self {
            request: Request::Chat,
            reply_to: ReplyTo::topic(Topic::new()),
            has_response_topic: false,
            received: Instant::MIN,
            is_refused: false,
            reply: [0; limits::REPLY],
            reply_len: 0,
            payload_len: 0,
            payload: [0; N],
        }
    }
}

impl Job {
    /// Copies the request's payload, which must fit into the slot.
    pub(crate) fn set_payload(&mut self, payload: &[u8]) {
        self.payload_len = payload.len();
        if let Some(buffer) = self.payload.get_mut(..payload.len()) {
            buffer.copy_from_slice(payload);
        }
    }

    /// The request's payload.
    pub fn payload(&self) -> &[u8] {
        self.payload.get(..self.payload_len).unwrap_or_default()
    }

    /// The payload, and the buffer for the reply; call [`replied`](Self::replied) after it.
    pub fn work(&mut self) -> (&[u8], &mut [u8]) {
        (self.reply_len, self.is_refused) = (0, false);
        (self.payload.get(..self.payload_len).unwrap_or_default(), &mut self.reply)
    }

    /// Sets the length of the reply.
    pub fn replied(&mut self, length: usize) {
        self.reply_len = length;
    }

    /// The reply's payload.
    pub fn reply(&self) -> &[u8] {
        self.reply.get(..self.reply_len).unwrap_or_default()
    }
}

/// One slot.
struct JobSlot<P: ?Sized = [u8]> {
    submitted: Signal<NoopRawMutex, ()>,
    job: Mutex<NoopRawMutex, Job<P>>,
}

impl<const N: usize> JobSlot<[u8; N]> {
    const fn new() -> Self {
        Self { submitted: Signal::new(), job: Mutex::new(Job::new()) }
    }
}

/// All slots of a hub. The first [`limits::SHORT_JOBS`] take only short requests, the others any.
pub struct Slots {
    short: [JobSlot<[u8; limits::SHORT_REQUEST]>; limits::SHORT_JOBS],
    large: [JobSlot<[u8; limits::REQUEST]>; limits::LARGE_JOBS],
    answered: Channel<NoopRawMutex, usize, { limits::JOBS }>,
}

impl Slots {
    /// All free.
    pub const fn new() -> Self {
        Self {
            short: [const { JobSlot::new() }; _],
            large: [const { JobSlot::new() }; _],
            answered: Channel::new(),
        }
    }

    fn slot(&self, index: usize) -> Option<&JobSlot> {
        match index.checked_sub(limits::SHORT_JOBS) {
            None => self.short.get(index).map(|slot| slot as &JobSlot),
            Some(index) => self.large.get(index).map(|slot| slot as &JobSlot),
        }
    }

    /// Discards the signals of an earlier run.
    pub fn clear(&self) {
        (0..limits::JOBS).filter_map(|index| self.slot(index)).for_each(|slot| slot.submitted.reset());
        self.answered.clear();
    }

    /// Works for ever on the jobs in slot `index`: `work` writes the reply.
    pub async fn serve(&self, index: usize, mut work: impl AsyncFnMut(&mut Job)) -> ! {
        let Some(slot) = self.slot(index) else { core::future::pending().await };
        loop {
            slot.submitted.wait().await;
            work(&mut *slot.job.lock().await).await;
            // Never waits: the channel holds as many entries as there are slots.
            self.answered.send(index).await;
        }
    }

    /// Fills slot `index`, which must be free, and signals its worker.
    pub(crate) fn submit(&self, index: usize, fill: impl FnOnce(&mut Job)) {
        if let Some(slot) = self.slot(index)
            && let Ok(mut job) = slot.job.try_lock()
        {
            fill(&mut job);
            slot.submitted.signal(());
        }
    }

    /// The next slot whose reply is written, without waiting.
    pub(crate) fn try_answered(&self) -> Option<usize> {
        self.answered.try_receive().ok()
    }

    /// Waits for the next slot whose reply is written.
    pub(crate) async fn answered(&self) -> usize {
        self.answered.receive().await
    }

    /// The job in slot `index`, which must have been answered.
    pub(crate) async fn job(&self, index: usize) -> Option<impl core::ops::Deref<Target = Job> + '_> {
        Some(self.slot(index)?.job.lock().await)
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum ReplyState {
    /// The slot is free.
    Free,
    /// The request is being worked on.
    Awaited,
    /// The reply is written, but not sent.
    Written,
    /// The session has it; `None` if the connection was lost during the send.
    Sent(Option<Op>),
}

impl ReplyState {
    /// Whether the slot can take another request.
    const fn is_reusable(&self) -> bool {
        matches!(self, Self::Free | Self::Sent(Some(_)))
    }
}

/// The state of all slots. A reply is kept until the broker has acknowledged it, so that it can be sent again if the
/// broker loses the session.
pub struct Replies {
    states: [ReplyState; limits::JOBS],
    /// Whether the reply waits for its caller to reconnect.
    are_held: [bool; limits::JOBS],
    /// Whether others were told what they have to know besides, once.
    are_told: [bool; limits::JOBS],
    /// Whether the request in the slot is a turn of a conversation.
    are_turns: [bool; limits::JOBS],
    /// The devices that the commands in the slots are for.
    devices: [DeviceHash; limits::JOBS],
}

impl Replies {
    /// All slots are free.
    pub const fn new() -> Self {
        Self {
            states: [ReplyState::Free; limits::JOBS],
            are_held: [false; limits::JOBS],
            are_told: [false; limits::JOBS],
            are_turns: [false; limits::JOBS],
            devices: [0; limits::JOBS],
        }
    }

    /// A connection begins. Unacknowledged replies are sent again: by a resumed session itself, in a fresh one by the hub.
    /// Replies that have not been sent wait for their callers until [`release`](Self::release).
    pub(crate) fn connected(&mut self, fresh: bool) {
        for reply in &mut self.states {
            match reply {
                ReplyState::Sent(_) if fresh => *reply = ReplyState::Written,
                ReplyState::Sent(None) => *reply = ReplyState::Free,
                _ => {}
            }
        }
        self.are_held = self.states.map(|state| matches!(state, ReplyState::Awaited | ReplyState::Written));
    }

    /// When the hub wakes up to [release](Self::release) the held replies, if there are any: at `time`, even if it is over.
    pub(crate) fn held_until(&self, time: Instant) -> Option<Instant> {
        self.are_held.contains(&true).then_some(time)
    }

    /// Releases the held replies: their callers have had time to reconnect.
    pub(crate) fn release(&mut self) {
        self.are_held = [false; limits::JOBS];
    }

    /// A slot for a request of so many bytes: a free one, or else one whose reply was sent. That reply cannot be sent again if
    /// the broker loses the session, but the new request is not refused.
    ///
    /// The first slot is taken, so that requests that come together are worked on in their order. Short requests leave the large
    /// slots, which are the last, to others, as far as they can. Large turns, which may wait for approval, leave one of those to
    /// calls. Calls leave one slot to conversations, unless a turn runs that does not wait for approval. A command for a device
    /// has none while another one for it is in work.
    pub(super) fn free(
        &self,
        request: Request,
        size: usize,
        device: DeviceHash,
        pending_turns: usize,
    ) -> Option<usize> {
        let in_work =
            || self.states.iter().zip(self.devices).filter(|(state, _)| matches!(state, ReplyState::Awaited));
        if device != 0 && in_work().any(|(_, other)| other == device) {
            return None;
        }
        let first = match size {
            ..=limits::SHORT_REQUEST => 0,
            _ if request.is_turn() => limits::SHORT_JOBS + 1,
            _ => limits::SHORT_JOBS,
        };
        let slots = || self.states.iter().enumerate().skip(first);
        let is_free = |(_, state): &(usize, &ReplyState)| matches!(state, ReplyState::Free);
        let is_reusable = |(_, state): &(usize, &ReplyState)| state.is_reusable();
        let (slot, _) = slots().find(is_free).or_else(|| slots().find(is_reusable))?;
        let turns = self.states.iter().zip(self.are_turns);
        let turns = turns.filter(|(state, is_turn)| *is_turn && matches!(state, ReplyState::Awaited)).count();
        let count = self.states.iter().filter(|state| state.is_reusable()).count();
        (request.is_conversation() || turns > pending_turns || count > 1).then_some(slot)
    }

    /// A request takes the slot.
    pub(super) fn await_reply(&mut self, slot: usize, request: Request, device: DeviceHash) {
        self.set(slot, ReplyState::Awaited);
        self.set_told(slot, false);
        if let Some(is_held) = self.are_held.get_mut(slot) {
            *is_held = false;
        }
        if let Some(is_turn) = self.are_turns.get_mut(slot) {
            *is_turn = request.is_turn();
        }
        if let Some(other) = self.devices.get_mut(slot) {
            *other = device;
        }
    }

    /// A slot with a reply to send.
    pub(crate) fn next_written(&self) -> Option<usize> {
        let mut slots = self.states.iter().zip(self.are_held);
        slots.position(|(reply, is_held)| matches!(reply, ReplyState::Written) && !is_held)
    }

    /// A slot whose reply the broker has acknowledged, or rejected.
    pub(crate) fn next_done(&self, is_done: impl Fn(&Op) -> bool) -> Option<usize> {
        self.states.iter().position(|reply| matches!(reply, ReplyState::Sent(Some(op)) if is_done(op)))
    }

    /// Frees the slots whose replies are acknowledged.
    pub(crate) fn acknowledged(&mut self, is_done: impl Fn(&Op) -> bool) {
        for reply in &mut self.states {
            if let ReplyState::Sent(Some(op)) = reply
                && is_done(op)
            {
                *reply = ReplyState::Free;
            }
        }
    }

    /// Keeps the new state of a slot.
    pub(crate) fn set(&mut self, slot: usize, reply: ReplyState) {
        if let Some(state) = self.states.get_mut(slot) {
            *state = reply;
        }
    }

    /// Whether others were told of the job in this slot. They are not told again if the reply is.
    pub(crate) fn is_told(&self, slot: usize) -> bool {
        self.are_told.get(slot).copied().unwrap_or(true)
    }

    /// Keeps whether they were.
    pub(crate) fn set_told(&mut self, slot: usize, is_told: bool) {
        if let Some(told) = self.are_told.get_mut(slot) {
            *told = is_told;
        }
    }
}
