//! Questions that the hub asks others through the broker, a search service or a language model, and their answers.
//!
//! Whoever asks takes a slot and waits. The session publishes what is queued, and puts the answer into the one inbox, where
//! whoever waits for it reads it at once. A question is sent once: if no answer comes, [`Unanswered`] says why, and one that
//! comes late is dropped.

use core::cell::{Cell, RefCell};

use embassy_sync::blocking_mutex::raw::NoopRawMutex;
use embassy_sync::mutex::Mutex;
use embassy_time::{Duration, Instant, with_timeout};

use crate::json::Writer;
use crate::limits;
use crate::pending::{self, Id, IfDropped, Pending, Progress};

/// Who is asked. The first is all zeros, so that a new hub's memory is, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Recipient {
    /// A search service. The question is kept until it is sent.
    Search,
    /// A language model. The question is as large as a packet may be, so it is not kept: it is composed from the
    /// conversation when it is sent.
    Model {
        /// Who provides the model, as named in the topic.
        provider: &'static str,
        /// The running turn whose conversation the question is composed from.
        turn: TurnId,
    },
}

/// One of the turns that run at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TurnId(pub u8);

impl Recipient {
    /// The longest answer that it may give.
    pub const fn longest_answer(self) -> usize {
        match self {
            Self::Search => limits::SEARCH,
            Self::Model { .. } => limits::LLM_REPLY,
        }
    }
}

/// Why there is no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unanswered {
    /// The hub has no connection to the broker.
    Offline,
    /// The broker lost track of the hub before the answer came.
    Lost,
    /// All slots are taken.
    Busy,
    /// The question does not fit.
    LongQuestion,
    /// The answer has this many bytes, which do not fit.
    LongAnswer(usize),
    /// Nobody answered in time.
    Silent,
}

/// A question.
pub struct Question {
    recipient: Cell<Recipient>,
    asked: Cell<Instant>,
    until: Cell<Instant>,
}

impl Question {
    const fn new() -> Self {
        Self {
            recipient: Cell::new(Recipient::Search),
            asked: Cell::new(Instant::MIN),
            until: Cell::new(Instant::MIN),
        }
    }

    /// Who is asked.
    pub(crate) fn recipient(&self) -> Recipient {
        self.recipient.get()
    }

    /// How long the answer is waited for.
    pub(crate) fn patience(&self) -> Duration {
        self.until.get().saturating_duration_since(Instant::now())
    }

    /// How long ago it was asked.
    pub(crate) fn age(&self) -> Duration {
        self.asked.get().elapsed()
    }
}

/// The question to a search service that is to be sent.
struct Outbox {
    text: [u8; limits::QUESTION],
    length: usize,
}

/// The answer that came last.
struct Inbox {
    bytes: [u8; limits::LLM_REPLY],
    length: usize,
}

type Slot = pending::Slot<Question, Unanswered>;

/// All questions of a hub.
pub struct Questions {
    pending: Pending<Question, Unanswered, { limits::QUESTIONS }>,
    /// Held by the search that uses the outbox, until its question is sent.
    outbox_lock: Mutex<NoopRawMutex, ()>,
    outbox: RefCell<Outbox>,
    inbox: RefCell<Inbox>,
    online: Cell<bool>,
    last: Cell<Id>,
}

impl Questions {
    /// None yet.
    pub const fn new() -> Self {
        Self {
            pending: Pending::new([const { Slot::new(Question::new()) }; limits::QUESTIONS]),
            outbox_lock: Mutex::new(()),
            outbox: RefCell::new(Outbox { text: [0; limits::QUESTION], length: 0 }),
            inbox: RefCell::new(Inbox { bytes: [0; limits::LLM_REPLY], length: 0 }),
            online: Cell::new(false),
            last: Cell::new(0),
        }
    }

    /// Asks: `question` writes the payload for a search service, and `answer` reads the reply's.
    /// Gives up after `patience`.
    ///
    /// Dropping the future gives the question up; it may have been sent.
    pub async fn ask<T>(
        &self,
        recipient: Recipient,
        patience: Duration,
        question: impl FnOnce(&mut Writer<'_>),
        answer: impl FnOnce(&[u8]) -> T,
    ) -> Result<T, Unanswered> {
        if !self.online.get() {
            return Err(Unanswered::Offline);
        }
        let ticket = self.pending.take(IfDropped::Forget).ok_or(Unanswered::Busy)?;
        let data = ticket.data();
        data.recipient.set(recipient);
        data.asked.set(Instant::now());
        data.until.set(Instant::now() + patience);
        let answered = async {
            if recipient == Recipient::Search {
                let lock = self.outbox_lock.lock().await;
                if !self.online.get() {
                    return Err(Unanswered::Offline);
                }
                self.compose(question)?;
                ticket.queue();
                ticket.sent().await;
                // The outbox is free for the next search.
                drop(lock);
            } else {
                ticket.queue();
            }
            ticket.answered().await
        };
        with_timeout(patience, answered).await.map_err(|_| Unanswered::Silent)??;
        let inbox = self.inbox.try_borrow().map_err(|_| Unanswered::Lost)?;
        inbox.bytes.get(..inbox.length).map(answer).ok_or(Unanswered::Lost)
    }

    fn compose(&self, question: impl FnOnce(&mut Writer<'_>)) -> Result<(), Unanswered> {
        let mut outbox = self.outbox.try_borrow_mut().map_err(|_| Unanswered::Busy)?;
        let mut writer = Writer::new(&mut outbox.text);
        question(&mut writer);
        outbox.length = writer.finish().map_err(|_| Unanswered::LongQuestion)?;
        Ok(())
    }

    /// Copies the queued question to a search service into `buffer`. `None` if it does not fit.
    pub(crate) fn copy(&self, buffer: &mut [u8]) -> Option<usize> {
        let outbox = self.outbox.try_borrow().ok()?;
        let text = outbox.text.get(..outbox.length)?;
        buffer.get_mut(..text.len())?.copy_from_slice(text);
        Some(text.len())
    }

    /// Forgets what an earlier run left half done. The seed decides where the numbers begin: an answer to what was asked
    /// before a restart finds nobody.
    pub(crate) fn clear(&self, seed: u64) {
        self.last.set(seed as Id);
        self.online.set(false);
        self.pending.clear();
    }

    /// A connection begins. A fresh session has lost the answers to what the last one had sent.
    pub(crate) fn connected(&self, fresh: bool) {
        self.online.set(true);
        if fresh {
            self.pending.fail(|progress| matches!(progress, Progress::Sent(_)).then_some(Unanswered::Lost));
        }
    }

    /// The connection ended. Nothing more is asked until the next; answers to what was asked may still come.
    pub(crate) fn disconnected(&self) {
        self.online.set(false);
        self.pending.fail(|progress| matches!(progress, Progress::Queued).then_some(Unanswered::Offline));
    }

    /// The broker rejected something as too large that can only have been a question. With several it is not known which
    /// one, and all of them wait on.
    pub(crate) fn rejected(&self) {
        let count = Cell::new(0);
        self.pending.fail(|progress| {
            count.set(count.get() + u8::from(matches!(progress, Progress::Sent(_))));
            None
        });
        if count.get() == 1 {
            let why = Unanswered::LongQuestion;
            self.pending.fail(|progress| matches!(progress, Progress::Sent(_)).then_some(why));
        }
    }

    /// Waits until a question is queued.
    pub(crate) async fn due(&self) {
        self.pending.due().await;
    }

    /// The questions that are to be sent.
    pub(crate) fn queued(&self) -> impl Iterator<Item = &Slot> {
        self.pending.queued()
    }

    /// A number for a question, by which its answer finds it.
    pub(crate) fn next_id(&self) -> Id {
        self.last.set(self.last.get().wrapping_add(1));
        self.last.get()
    }

    /// Waits until the inbox is empty, which is at once: whoever got the last answer reads it as soon as it can run.
    pub(crate) async fn ready(&self) {
        self.pending.answers_read().await;
    }

    /// An answer of `size` bytes came to the question with this number; the inbox is [`ready`](Self::ready). Returns
    /// whether somebody waited for it.
    pub(crate) fn answer(&self, id: Id, payload: &[u8], size: usize) -> bool {
        let Some(slot) = self.pending.sent(id) else { return false };
        let taken = self.inbox.try_borrow_mut().ok().and_then(|mut inbox| {
            // What was cut on the way in has another size than it arrives with.
            let fits = size <= slot.data.recipient().longest_answer() && payload.len() == size;
            inbox.bytes.get_mut(..size).filter(|_| fits)?.copy_from_slice(payload);
            inbox.length = size;
            Some(())
        });
        let too_long = Progress::Failed(Unanswered::LongAnswer(size));
        slot.advance(Progress::Sent(id), taken.map_or(too_long, |()| Progress::Answered(id)));
        true
    }
}
