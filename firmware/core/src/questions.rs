//! Questions that the hub asks others through the broker, a search service or a language model, and their answers.
//!
//! Whoever asks takes a slot and waits. The session publishes what is queued, and puts the answer into the one inbox,
//! where the waiting caller reads it at once. Without an answer, [`Unanswered`] says why. A late answer is dropped.
//!
//! The hub repeats a question to a model, with the same number, if a relay or the broker may have lost it. This is
//! safe: asking a model changes nothing. A relay that is still working on the first copy recognises the repetition, and
//! the hub drops a second answer.

use core::cell::{Cell, RefCell};

use embassy_futures::select::select;
use embassy_sync::blocking_mutex::raw::NoopRawMutex;
use embassy_sync::mutex::Mutex;
use embassy_time::{Duration, Instant, with_timeout};

use crate::clock::sleep_until;
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
    /// No relay is online.
    NoRelay,
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
    /// Since when it waits to be sent, or to be sent again.
    due_since: Cell<Instant>,
    until: Cell<Instant>,
    /// The question may be lost. It is sent again as soon as a relay is online.
    is_doubtful: Cell<bool>,
    /// When to send the question again, or to give it up if no relay is online.
    review_at: Cell<Option<Instant>>,
}

impl Question {
    const fn new() -> Self {
        Self {
            recipient: Cell::new(Recipient::Search),
            due_since: Cell::new(Instant::MIN),
            until: Cell::new(Instant::MIN),
            is_doubtful: Cell::new(false),
            review_at: Cell::new(None),
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

    /// Marks the question as possibly lost, to be sent again at `review_at`.
    fn doubt(&self, review_at: Instant) {
        self.is_doubtful.set(true);
        self.schedule(Some(review_at));
    }

    /// Sets when to send the question again.
    fn schedule(&self, at: Option<Instant>) {
        self.review_at.set(at);
        if let Some(at) = at {
            self.due_since.set(at);
        }
    }

    /// How long it has waited to be sent, or to be sent again.
    pub(crate) fn delay(&self) -> Duration {
        Instant::now().saturating_duration_since(self.due_since.get())
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
    /// When the last connection ended.
    lost_at: Cell<Option<Instant>>,
    /// When the relays reported that none is online. `None` if one is online or the state is unknown.
    relay_left_at: Cell<Option<Instant>>,
    /// When a relay came online again after that.
    relay_came_at: Cell<Option<Instant>>,
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
            lost_at: Cell::new(None),
            relay_left_at: Cell::new(None),
            relay_came_at: Cell::new(None),
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
        if !self.is_online_soon() {
            return Err(Unanswered::Offline);
        }
        let is_model = matches!(recipient, Recipient::Model { .. });
        if is_model && self.is_without_relay() {
            return Err(Unanswered::NoRelay);
        }
        let ticket = self.pending.take(IfDropped::Forget).ok_or(Unanswered::Busy)?;
        let (data, left_at) = (ticket.data(), self.relay_left_at.get());
        data.recipient.set(recipient);
        data.due_since.set(Instant::now());
        data.until.set(Instant::now() + patience);
        let left_at = left_at.filter(|_| is_model);
        data.is_doubtful.set(left_at.is_some());
        let review_at = left_at.map(|at| at + limits::RELAY_GRACE);
        data.review_at.set(review_at.or_else(|| self.killed_relay_expires().filter(|_| is_model)));
        let answered = async {
            if recipient == Recipient::Search {
                let lock = self.outbox_lock.lock().await;
                if !self.is_online_soon() {
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
        let nobody = |_| if self.online.get() { Unanswered::Silent } else { Unanswered::Offline };
        with_timeout(patience, answered).await.map_err(nobody)??;
        let inbox = self.inbox.try_borrow().map_err(|_| Unanswered::Lost)?;
        inbox.bytes.get(..inbox.length).map(answer).ok_or(Unanswered::Lost)
    }

    /// Whether the hub is connected, or was until a moment ago.
    fn is_online_soon(&self) -> bool {
        self.online.get() || self.lost_at.get().is_some_and(|at| at.elapsed() < limits::BROKER_RESTART)
    }

    /// When the broker drops the session of a relay that was killed, if it may still receive its share of the questions.
    fn killed_relay_expires(&self) -> Option<Instant> {
        let expires = self.relay_came_at.get().map(|at| at + limits::RELAY_EXPIRY);
        expires.filter(|at| *at > Instant::now())
    }

    /// Whether no relay has been online for [`limits::RELAY_GRACE`].
    pub(crate) fn is_without_relay(&self) -> bool {
        self.relay_left_at.get().is_some_and(|at| at.elapsed() >= limits::RELAY_GRACE)
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
        for time in [&self.lost_at, &self.relay_left_at, &self.relay_came_at] {
            time.set(None);
        }
        self.pending.clear();
    }

    /// Handles a new connection. In a fresh session, earlier answers may be lost: questions to models are sent again,
    /// other questions fail.
    pub(crate) fn connected(&self, fresh: bool) {
        self.online.set(true);
        // The broker's retained message reports the relays again.
        self.relay_left_at.set(None);
        for slot in self.sent().filter(|_| fresh) {
            match slot.data.recipient.get() {
                Recipient::Model { .. } => slot.data.doubt(Instant::now() + limits::QUESTION_AGAIN),
                Recipient::Search => slot.fail(Unanswered::Lost),
            }
        }
    }

    /// Handles the end of a connection. Queued questions wait for the next one; sent questions may still be answered.
    pub(crate) fn disconnected(&self) {
        self.online.set(false);
        self.lost_at.set(Some(Instant::now()));
    }

    /// Handles a report of whether a relay is online. `None` means that the report was removed.
    pub(crate) fn on_relay(&self, is_there: Option<bool>) {
        let now = Instant::now();
        if is_there == Some(false) {
            let is_repeated = self.relay_left_at.get().is_some();
            self.relay_left_at.set(self.relay_left_at.get().or(Some(now)));
            // A relay that was stopped finishes its questions; one that was killed has lost them. Searches are not
            // repeated, because their text is not kept.
            let is_model = |slot: &&Slot| matches!(slot.data.recipient(), Recipient::Model { .. });
            let finished = now + limits::RELAY_FINISH + limits::RELAY_GRACE;
            for question in self.sent().filter(is_model).map(|slot| &slot.data) {
                let review_at = question.review_at.get().filter(|_| is_repeated);
                question.doubt(review_at.unwrap_or(finished));
            }
            return;
        }
        if self.relay_left_at.take().is_some() {
            self.relay_came_at.set(Some(now));
        }
        let is_doubtful = |slot: &&Slot| slot.data.is_doubtful.get();
        self.sent().filter(is_doubtful).for_each(|slot| slot.data.doubt(now));
    }

    /// The questions that wait for their answers.
    fn sent(&self) -> impl Iterator<Item = &Slot> {
        self.pending.all_sent().map(|(slot, _)| slot)
    }

    /// The next question to be sent again, and its id. Fails the due questions if no relay is online.
    pub(crate) fn next_again(&self) -> Option<(&Slot, Id)> {
        let now = Instant::now();
        let is_due = |slot: &Slot| slot.data.review_at.get().is_some_and(|at| at <= now);
        if self.is_without_relay() {
            self.sent().filter(|slot| is_due(slot)).for_each(|slot| slot.fail(Unanswered::NoRelay));
        }
        self.pending.all_sent().find(|(slot, _)| is_due(slot))
    }

    /// Notes that a question was sent again, or that it `has_to_wait`. If a killed relay may still receive its share of
    /// the questions, the question is due once more after the broker has dropped that relay's session.
    pub(crate) fn sent_again(&self, question: &Question, has_to_wait: bool) {
        let now = Instant::now();
        let once_more = self.killed_relay_expires();
        question.is_doubtful.set(false);
        match has_to_wait {
            true => question.review_at.set(Some(now + limits::QUESTION_RETRY)),
            false => question.schedule(once_more),
        }
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

    /// Waits until a question is queued or has to be sent again.
    pub(crate) async fn due(&self) {
        let again = self.sent().filter_map(|slot| slot.data.review_at.get()).min();
        select(self.pending.due(), sleep_until(again)).await;
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
