//! Questions that the hub itself asks others, through the broker: a search service, a language model.
//!
//! Whoever asks takes a place and waits. The MQTT session sends what is due, and puts the answer into the one inbox,
//! where whoever waits for it reads it at once. A question is sent once: if its answer does not come, whoever asked is
//! told why, and an answer that comes late finds nobody.

use core::cell::{Cell, RefCell};

use embassy_sync::blocking_mutex::raw::NoopRawMutex;
use embassy_sync::signal::Signal;
use embassy_time::{Duration, Instant, with_timeout};

use crate::json::Writer;
use crate::limits;

/// Who is asked. The first is all zeros, so that a new hub's memory is, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Service {
    /// A search service; the question is kept in the place.
    Search,
    /// A language model.
    Model {
        /// Who provides it, as it stands in the topic.
        provider: &'static str,
        /// The conversation that the question is made of when it is sent.
        talk: usize,
    },
}

impl Service {
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
    /// All places are taken.
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
enum State {
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

/// One question.
struct Place {
    service: Cell<Service>,
    state: Cell<State>,
    asked: Cell<Instant>,
    until: Cell<Instant>,
    text: RefCell<[u8; limits::QUESTION]>,
    length: Cell<usize>,
    done: Signal<NoopRawMutex, ()>,
}

impl Place {
    const fn new() -> Self {
        Self {
            service: Cell::new(Service::Search),
            state: Cell::new(State::Free),
            asked: Cell::new(Instant::MIN),
            until: Cell::new(Instant::MIN),
            text: RefCell::new([0; limits::QUESTION]),
            length: Cell::new(0),
            done: Signal::new(),
        }
    }

    fn settle(&self, state: State) {
        self.state.set(state);
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

/// All places of a hub.
pub struct Services {
    places: [Place; limits::QUESTIONS],
    inbox: RefCell<Inbox>,
    /// Whether the inbox holds an answer that has not been read.
    is_full: Cell<bool>,
    emptied: Signal<NoopRawMutex, ()>,
    due: Signal<NoopRawMutex, ()>,
    online: Cell<bool>,
    last: Cell<Number>,
}

impl Services {
    /// All free.
    pub const fn new() -> Self {
        Self {
            places: [const { Place::new() }; limits::QUESTIONS],
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
        service: Service,
        patience: Duration,
        question: impl FnOnce(&mut Writer<'_>),
        answer: impl FnOnce(&[u8]) -> T,
    ) -> Result<T, Unanswered> {
        if !self.online.get() {
            return Err(Unanswered::Offline);
        }
        let is_free = |place: &&Place| place.state.get() == State::Free;
        let place = self.places.iter().find(is_free).ok_or(Unanswered::Busy)?;
        place.state.set(State::Taken);
        let _guard = Guard { services: self, place };
        place.service.set(service);
        place.asked.set(Instant::now());
        place.until.set(Instant::now() + patience);
        place.done.reset();
        place.write(question)?;
        let number = self.last.get().wrapping_add(1);
        self.last.set(number);
        place.state.set(State::Due(number));
        self.due.signal(());
        with_timeout(patience, place.done.wait()).await.map_err(|_| Unanswered::Silent)?;
        match place.state.get() {
            State::Answered => {
                let inbox = self.inbox.try_borrow().map_err(|_| Unanswered::Lost)?;
                inbox.bytes.get(..inbox.length).map(answer).ok_or(Unanswered::Lost)
            }
            State::Failed(why) => Err(why),
            _ => Err(Unanswered::Lost),
        }
    }

    /// Forgets what an earlier run left half done. The seed decides where the numbers begin: an answer to what was asked
    /// before a restart finds nobody.
    pub(crate) fn clear(&self, seed: u64) {
        self.last.set(seed as Number);
        self.online.set(false);
        self.is_full.set(false);
        self.places.iter().for_each(|place| place.state.set(State::Free));
    }

    /// A session with the broker begins. What a session that is lost had sent is not answered any more.
    pub(crate) fn connected(&self, fresh: bool) {
        self.online.set(true);
        if fresh {
            for place in &self.places {
                if let State::Sent(_) = place.state.get() {
                    place.settle(State::Failed(Unanswered::Lost));
                }
            }
        }
    }

    /// The connection ended. Nothing more is asked until the next; answers to what was asked may still come.
    pub(crate) fn disconnected(&self) {
        self.online.set(false);
        for place in &self.places {
            if let State::Due(_) = place.state.get() {
                place.settle(State::Failed(Unanswered::Offline));
            }
        }
    }

    /// Waits until a question is due.
    pub(crate) async fn due(&self) {
        self.due.wait().await;
    }

    /// The questions that are to be sent.
    pub(crate) fn all_due(&self) -> impl Iterator<Item = Due<'_>> {
        self.places.iter().filter_map(|place| match place.state.get() {
            State::Due(number) => Some(Due { place, number }),
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
        let asked = |place: &&Place| place.state.get() == State::Sent(number);
        let Some(place) = self.places.iter().find(asked) else { return false };
        let taken = self.inbox.try_borrow_mut().ok().and_then(|mut inbox| {
            let most = place.service.get().longest_answer();
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
        place.settle(match taken {
            Some(()) => State::Answered,
            None => State::Failed(Unanswered::LongAnswer(size)),
        });
        true
    }
}

impl Default for Services {
    fn default() -> Self {
        Self::new()
    }
}

/// Gives a place back, also when whoever asks is dropped.
struct Guard<'a> {
    services: &'a Services,
    place: &'a Place,
}

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        if self.place.state.replace(State::Free) == State::Answered {
            self.services.is_full.set(false);
            self.services.emptied.signal(());
        }
    }
}

/// A question that is to be sent.
pub(crate) struct Due<'a> {
    place: &'a Place,
    number: Number,
}

impl Due<'_> {
    /// Who is asked.
    pub(crate) fn service(&self) -> Service {
        self.place.service.get()
    }

    /// The number that the answer has to carry.
    pub(crate) fn number(&self) -> Number {
        self.number
    }

    /// How long the answer is waited for.
    pub(crate) fn patience(&self) -> Duration {
        self.place.until.get().saturating_duration_since(Instant::now())
    }

    /// How long it has been due.
    pub(crate) fn age(&self) -> Duration {
        self.place.asked.get().elapsed()
    }

    /// Copies the text of the question into `buffer`. `None` if it does not fit.
    pub(crate) fn copy(&self, buffer: &mut [u8]) -> Option<usize> {
        let text = self.place.text.try_borrow().ok()?;
        let text = text.get(..self.place.length.get())?;
        buffer.get_mut(..text.len())?.copy_from_slice(text);
        Some(text.len())
    }

    /// It is on its way.
    pub(crate) fn sent(self) {
        if self.place.state.get() == State::Due(self.number) {
            self.place.state.set(State::Sent(self.number));
        }
    }

    /// It will never be on its way.
    pub(crate) fn failed(self, why: Unanswered) {
        if self.place.state.get() == State::Due(self.number) {
            self.place.settle(State::Failed(why));
        }
    }
}
