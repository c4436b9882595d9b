//! Questions that the hub asks others through the broker, a search service or a language model, and their answers.
//!
//! Whoever asks takes a slot and waits. The session publishes what is due, and puts the answer into the one inbox, where
//! whoever waits for it reads it at once. A question is sent once: if no answer comes, [`Unanswered`] says why, and one that
//! comes late is dropped.

use core::cell::{Cell, RefCell};

use embassy_sync::blocking_mutex::raw::NoopRawMutex;
use embassy_sync::signal::Signal;
use embassy_time::{Duration, Instant, with_timeout};

use crate::json::Writer;
use crate::limits;

/// Who is asked. The first is all zeros, so that a new hub's memory is, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Recipient {
    /// A search service. The question is kept in its slot.
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

/// The number by which an answer finds its question.
pub type Number = u32;

// With a tag of its own, `Free` is all zeros.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum Progress {
    Free,
    /// Being written.
    Taken,
    /// To be sent.
    Due(Number),
    Sent(Number),
    /// The answer is in the inbox.
    Answered,
    Failed(Unanswered),
}

/// Room for one question.
struct Slot {
    recipient: Cell<Recipient>,
    progress: Cell<Progress>,
    asked: Cell<Instant>,
    until: Cell<Instant>,
    text: RefCell<[u8; limits::QUESTION]>,
    length: Cell<usize>,
    done: Signal<NoopRawMutex, ()>,
}

impl Slot {
    const fn new() -> Self {
        Self {
            recipient: Cell::new(Recipient::Search),
            progress: Cell::new(Progress::Free),
            asked: Cell::new(Instant::MIN),
            until: Cell::new(Instant::MIN),
            text: RefCell::new([0; limits::QUESTION]),
            length: Cell::new(0),
            done: Signal::new(),
        }
    }

    fn settle(&self, progress: Progress) {
        self.progress.set(progress);
        self.done.signal(());
    }

    fn write(&self, question: impl FnOnce(&mut Writer<'_>)) -> Result<(), Unanswered> {
        let mut text = self.text.try_borrow_mut().map_err(|_| Unanswered::Busy)?;
        let mut writer = Writer::new(&mut *text);
        question(&mut writer);
        self.length.set(writer.finish().map_err(|_| Unanswered::LongQuestion)?);
        Ok(())
    }
}

/// The answer that came last.
struct Inbox {
    bytes: [u8; limits::LLM_REPLY],
    length: usize,
}

/// All questions of a hub.
pub struct Questions {
    slots: [Slot; limits::QUESTIONS],
    inbox: RefCell<Inbox>,
    /// Whether the inbox holds an answer that has not been read.
    is_full: Cell<bool>,
    emptied: Signal<NoopRawMutex, ()>,
    due: Signal<NoopRawMutex, ()>,
    online: Cell<bool>,
    last: Cell<Number>,
}

impl Questions {
    /// All free.
    pub const fn new() -> Self {
        Self {
            slots: [const { Slot::new() }; limits::QUESTIONS],
            inbox: RefCell::new(Inbox { bytes: [0; limits::LLM_REPLY], length: 0 }),
            is_full: Cell::new(false),
            emptied: Signal::new(),
            due: Signal::new(),
            online: Cell::new(false),
            last: Cell::new(0),
        }
    }

    /// Asks: `question` writes the payload, unless the question is made when it is sent, and `answer` reads the reply's.
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
        let is_free = |slot: &&Slot| slot.progress.get() == Progress::Free;
        let slot = self.slots.iter().find(is_free).ok_or(Unanswered::Busy)?;
        slot.progress.set(Progress::Taken);
        let _guard = Guard { questions: self, slot };
        slot.recipient.set(recipient);
        slot.asked.set(Instant::now());
        slot.until.set(Instant::now() + patience);
        slot.done.reset();
        slot.write(question)?;
        let number = self.last.get().wrapping_add(1);
        self.last.set(number);
        slot.progress.set(Progress::Due(number));
        self.due.signal(());
        with_timeout(patience, slot.done.wait()).await.map_err(|_| Unanswered::Silent)?;
        match slot.progress.get() {
            Progress::Answered => {
                let inbox = self.inbox.try_borrow().map_err(|_| Unanswered::Lost)?;
                inbox.bytes.get(..inbox.length).map(answer).ok_or(Unanswered::Lost)
            }
            Progress::Failed(why) => Err(why),
            _ => Err(Unanswered::Lost),
        }
    }

    /// Forgets what an earlier run left half done. The seed decides where the numbers begin: an answer to what was asked
    /// before a restart finds nobody.
    pub(crate) fn clear(&self, seed: u64) {
        self.last.set(seed as Number);
        self.online.set(false);
        self.is_full.set(false);
        self.slots.iter().for_each(|slot| slot.progress.set(Progress::Free));
    }

    /// A session with the broker begins. What a session that is lost had sent is not answered any more.
    pub(crate) fn connected(&self, fresh: bool) {
        self.online.set(true);
        if fresh {
            for slot in &self.slots {
                if let Progress::Sent(_) = slot.progress.get() {
                    slot.settle(Progress::Failed(Unanswered::Lost));
                }
            }
        }
    }

    /// The connection ended. Nothing more is asked until the next; answers to what was asked may still come.
    pub(crate) fn disconnected(&self) {
        self.online.set(false);
        for slot in &self.slots {
            if let Progress::Due(_) = slot.progress.get() {
                slot.settle(Progress::Failed(Unanswered::Offline));
            }
        }
    }

    /// Waits until a question is due.
    pub(crate) async fn due(&self) {
        self.due.wait().await;
    }

    /// The questions that are to be sent.
    pub(crate) fn all_due(&self) -> impl Iterator<Item = Due<'_>> {
        self.slots.iter().filter_map(|slot| match slot.progress.get() {
            Progress::Due(number) => Some(Due { slot, number }),
            _ => None,
        })
    }

    /// Waits until the inbox is empty, which is at once: whoever got the last answer reads it as soon as it can run.
    pub(crate) async fn ready(&self) {
        while self.is_full.get() {
            self.emptied.wait().await;
        }
    }

    /// An answer of `size` bytes came to the question with this number; the inbox is [`ready`](Self::ready). Returns
    /// whether somebody waited for it.
    pub(crate) fn answer(&self, number: Number, payload: &[u8], size: usize) -> bool {
        let asked = |slot: &&Slot| slot.progress.get() == Progress::Sent(number);
        let Some(slot) = self.slots.iter().find(asked) else { return false };
        let taken = self.inbox.try_borrow_mut().ok().and_then(|mut inbox| {
            let most = slot.recipient.get().longest_answer();
            // What was cut on the way in has another size than it arrives with.
            let fits = size <= most && payload.len() == size;
            let room = inbox.bytes.get_mut(..size).filter(|_| fits)?;
            room.copy_from_slice(payload);
            inbox.length = size;
            Some(())
        });
        if taken.is_some() {
            self.is_full.set(true);
            self.emptied.reset();
        }
        slot.settle(match taken {
            Some(()) => Progress::Answered,
            None => Progress::Failed(Unanswered::LongAnswer(size)),
        });
        true
    }
}

impl Default for Questions {
    fn default() -> Self {
        Self::new()
    }
}

/// Gives a slot back, also when whoever asks is dropped.
struct Guard<'a> {
    questions: &'a Questions,
    slot: &'a Slot,
}

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        if self.slot.progress.replace(Progress::Free) == Progress::Answered {
            self.questions.is_full.set(false);
            self.questions.emptied.signal(());
        }
    }
}

/// A question that is to be sent.
pub(crate) struct Due<'a> {
    slot: &'a Slot,
    number: Number,
}

impl Due<'_> {
    /// Who is asked.
    pub(crate) fn recipient(&self) -> Recipient {
        self.slot.recipient.get()
    }

    /// The number that the answer has to carry.
    pub(crate) fn number(&self) -> Number {
        self.number
    }

    /// How long the answer is waited for.
    pub(crate) fn patience(&self) -> Duration {
        self.slot.until.get().saturating_duration_since(Instant::now())
    }

    /// How long it has been due.
    pub(crate) fn age(&self) -> Duration {
        self.slot.asked.get().elapsed()
    }

    /// Copies the text of the question into `buffer`. `None` if it does not fit.
    pub(crate) fn copy(&self, buffer: &mut [u8]) -> Option<usize> {
        let text = self.slot.text.try_borrow().ok()?;
        let text = text.get(..self.slot.length.get())?;
        buffer.get_mut(..text.len())?.copy_from_slice(text);
        Some(text.len())
    }

    /// It is on its way.
    pub(crate) fn sent(self) {
        if self.slot.progress.get() == Progress::Due(self.number) {
            self.slot.progress.set(Progress::Sent(self.number));
        }
    }

    /// It will never be on its way.
    pub(crate) fn failed(self, why: Unanswered) {
        if self.slot.progress.get() == Progress::Due(self.number) {
            self.slot.settle(Progress::Failed(why));
        }
    }
}
