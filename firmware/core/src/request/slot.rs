//! Job slots: buffers for a request and its reply.
//!
//! The session fills a slot and signals its worker; the worker writes the reply and signals back; the session sends the
//! reply and, once it is acknowledged, reuses the slot. At any moment only one of the two accesses the job.

use embassy_sync::blocking_mutex::raw::NoopRawMutex;
use embassy_sync::channel::Channel;
use embassy_sync::mutex::Mutex;
use embassy_sync::signal::Signal;
use embassy_time::Instant;
use heapless::Vec;

use super::Request;
use crate::limits;
use crate::mqtt::{ReplyTo, Topic};

/// A request and, later, its reply.
#[derive(Debug)]
pub struct Job {
    /// The kind of request.
    pub request: Request,
    /// The request's payload.
    pub payload: Vec<u8, { limits::REQUEST }>,
    /// Where the reply goes.
    pub reply_to: ReplyTo,
    /// Whether that is the request's own Response Topic.
    pub has_response_topic: bool,
    /// When it came.
    pub received: Instant,
    reply: [u8; limits::REPLY],
    reply_len: usize,
}

impl Job {
    const fn new() -> Self {
        Self {
            request: Request::Chat,
            payload: Vec::new(),
            reply_to: ReplyTo::topic(Topic::new()),
            has_response_topic: false,
            received: Instant::MIN,
            reply: [0; limits::REPLY],
            reply_len: 0,
        }
    }

    /// The payload, and the buffer for the reply; call [`replied`](Self::replied) after it.
    pub fn work(&mut self) -> (&[u8], &mut [u8]) {
        self.reply_len = 0;
        (&self.payload, &mut self.reply)
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
struct JobSlot {
    job: Mutex<NoopRawMutex, Job>,
    submitted: Signal<NoopRawMutex, ()>,
}

impl JobSlot {
    const fn new() -> Self {
        Self { job: Mutex::new(Job::new()), submitted: Signal::new() }
    }
}

/// All slots of a hub.
pub struct Slots {
    slots: [JobSlot; limits::JOBS],
    answered: Channel<NoopRawMutex, usize, { limits::JOBS }>,
}

impl Slots {
    /// All free.
    pub const fn new() -> Self {
        Self { slots: [const { JobSlot::new() }; limits::JOBS], answered: Channel::new() }
    }

    /// Discards the signals of an earlier run.
    pub fn clear(&self) {
        self.slots.iter().for_each(|slot| slot.submitted.reset());
        self.answered.clear();
    }

    /// Works for ever on the jobs in slot `index`: `work` writes the reply.
    pub async fn serve(&self, index: usize, mut work: impl AsyncFnMut(&mut Job)) -> ! {
        let Some(slot) = self.slots.get(index) else { core::future::pending().await };
        loop {
            slot.submitted.wait().await;
            work(&mut *slot.job.lock().await).await;
            // Never waits: the channel holds as many entries as there are slots.
            self.answered.send(index).await;
        }
    }

    /// Fills slot `index`, which must be free, and signals its worker.
    pub(crate) fn submit(&self, index: usize, fill: impl FnOnce(&mut Job)) {
        if let Some(slot) = self.slots.get(index)
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
        Some(self.slots.get(index)?.job.lock().await)
    }
}
