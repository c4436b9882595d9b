//! Job slots: where a request waits, is worked on, and its reply waits to be sent.
//!
//! A slot goes round: the session fills it and rings its bell; a worker takes the job, writes the reply and says
//! so; the session sends the reply and, once the broker has it, uses the slot again. At any moment exactly one of
//! the two looks at the job.

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
    /// What is asked.
    pub request: Request,
    /// The request's payload.
    pub payload: Vec<u8, { limits::REQUEST }>,
    /// Where the reply goes.
    pub reply_to: ReplyTo,
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
            received: Instant::MIN,
            reply: [0; limits::REPLY],
            reply_len: 0,
        }
    }

    /// The payload to read, and the buffer to write the reply into; then comes [`replied`](Self::replied).
    pub fn work(&mut self) -> (&[u8], &mut [u8]) {
        self.reply_len = 0;
        (&self.payload, &mut self.reply)
    }

    /// The reply has this length.
    pub fn replied(&mut self, length: usize) {
        self.reply_len = length;
    }

    /// The reply's payload.
    pub fn reply(&self) -> &[u8] {
        self.reply.get(..self.reply_len).unwrap_or_default()
    }
}

/// One slot.
pub struct Slot {
    job: Mutex<NoopRawMutex, Job>,
    bell: Signal<NoopRawMutex, ()>,
}

impl Slot {
    const fn new() -> Self {
        Self { job: Mutex::new(Job::new()), bell: Signal::new() }
    }
}

/// All slots of a hub.
pub struct Slots {
    slots: [Slot; limits::JOBS],
    answered: Channel<NoopRawMutex, usize, { limits::JOBS }>,
}

impl Slots {
    /// All free.
    pub const fn new() -> Self {
        Self { slots: [const { Slot::new() }; limits::JOBS], answered: Channel::new() }
    }

    /// Forgets what an earlier run left half done.
    pub fn clear(&self) {
        self.slots.iter().for_each(|slot| slot.bell.reset());
        self.answered.clear();
    }

    /// Works for ever on what comes into slot `index`: `work` writes the reply of a job.
    pub async fn serve(&self, index: usize, mut work: impl AsyncFnMut(&mut Job)) -> ! {
        let Some(slot) = self.slots.get(index) else { core::future::pending().await };
        loop {
            slot.bell.wait().await;
            work(&mut *slot.job.lock().await).await;
            // As many places as slots: there is always one.
            self.answered.send(index).await;
        }
    }

    /// Fills slot `index`, which must be free, and has it worked on.
    pub(crate) fn submit(&self, index: usize, fill: impl FnOnce(&mut Job)) {
        if let Some(slot) = self.slots.get(index)
            && let Ok(mut job) = slot.job.try_lock()
        {
            fill(&mut job);
            slot.bell.signal(());
        }
    }

    /// The next slot whose reply is written, if there is one already.
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
