//! Job slots: buffers for a request and its reply.
//!
//! The session fills a slot and signals its worker; the worker writes the reply and signals back; the session sends the
//! reply and, once it is acknowledged, reuses the slot. At any moment only one of the two accesses the job.

use embassy_sync::blocking_mutex::raw::NoopRawMutex;
use embassy_sync::channel::Channel;
use embassy_sync::mutex::Mutex;
use embassy_sync::signal::Signal;
use embassy_time::Instant;

use super::Request;
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
