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
use minimq::Publication;

use super::request::{Refusal, Request};
use super::topic::Topic;
use crate::limits;
use crate::talk::ConversationId;
use crate::tool::{Execution, Name};

/// Where a reply goes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReplyTo {
    /// The topic.
    pub topic: Topic,
    /// What the caller wants back with the reply.
    pub correlation: Option<Vec<u8, { limits::CORRELATION }>>,
}

impl ReplyTo {
    /// To `topic`, with nothing to give back.
    pub const fn topic(topic: Topic) -> Self {
        Self { topic, correlation: None }
    }

    /// What the caller asked for, if anything, and if it can be gone.
    pub fn asked(topic: Option<&str>, correlation: Option<&[u8]>) -> Result<Option<Self>, Refusal> {
        let Some(topic) = topic else { return Ok(None) };
        if topic.is_empty() || topic.contains(['+', '#', '\0']) {
            // Publishing there would cost the hub its connection.
            return Err(Refusal::ResponseTopic);
        }
        let topic = Topic::try_from(topic).map_err(|_| Refusal::LongResponseTopic)?;
        let correlation = correlation.map(Vec::try_from).transpose().map_err(|_| Refusal::LongCorrelation)?;
        Ok(Some(Self { topic, correlation }))
    }

    /// A publication that goes there.
    pub(super) fn publication<P>(&self, payload: P) -> Publication<'_, P> {
        let publication = Publication::new(&self.topic, payload);
        match &self.correlation {
            Some(data) => publication.correlate(data),
            None => publication,
        }
    }
}

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
            request: Request::ToolCall,
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

/// Something that is told as it happens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Happening {
    /// A tool was executed.
    Tool(Execution),
    /// A conversation goes on.
    Chat {
        /// Which.
        conversation: ConversationId,
        /// What it does: `started`, `waiting`, `calling`, `done`.
        state: &'static str,
        /// What it calls.
        tool: Option<Name>,
    },
}

/// All slots of a hub, and what is to be told about the work in them.
pub struct Slots {
    slots: [Slot; limits::JOBS],
    answered: Channel<NoopRawMutex, usize, { limits::JOBS }>,
    events: Channel<NoopRawMutex, Happening, { limits::EVENTS }>,
}

impl Slots {
    /// All free.
    pub const fn new() -> Self {
        Self {
            slots: [const { Slot::new() }; limits::JOBS],
            answered: Channel::new(),
            events: Channel::new(),
        }
    }

    /// Forgets what an earlier run left half done.
    pub fn clear(&self) {
        self.slots.iter().for_each(|slot| slot.bell.reset());
        self.answered.clear();
        self.events.clear();
    }

    /// Has an event told. If too many wait, the oldest is not.
    pub fn tell(&self, event: Happening) {
        if self.events.is_full() {
            let _ = self.events.try_receive();
        }
        // There is room now.
        let _ = self.events.try_send(event);
    }

    /// The next event to be told.
    pub(super) fn next_event(&self) -> Option<Happening> {
        self.events.try_receive().ok()
    }

    /// Waits until there is one.
    pub(super) async fn has_event(&self) {
        self.events.ready_to_receive().await;
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
    pub(super) fn submit(&self, index: usize, fill: impl FnOnce(&mut Job)) {
        if let Some(slot) = self.slots.get(index)
            && let Ok(mut job) = slot.job.try_lock()
        {
            fill(&mut job);
            slot.bell.signal(());
        }
    }

    /// The next slot whose reply is written, if there is one already.
    pub(super) fn try_answered(&self) -> Option<usize> {
        self.answered.try_receive().ok()
    }

    /// Waits for the next slot whose reply is written.
    pub(super) async fn answered(&self) -> usize {
        self.answered.receive().await
    }

    /// The job in slot `index`, which must have been answered.
    pub(super) async fn job(&self, index: usize) -> Option<impl core::ops::Deref<Target = Job> + '_> {
        Some(self.slots.get(index)?.job.lock().await)
    }
}

impl Default for Slots {
    fn default() -> Self {
        Self::new()
    }
}
