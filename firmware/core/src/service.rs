//! Questions that the hub itself asks others, through the broker.
//!
//! Whoever asks takes a place, writes the question into its buffer and waits. The MQTT session sends what is due, and
//! puts the answer into the same buffer. A question is sent once: if its answer does not come, whoever asked is told
//! why, and an answer that comes late finds nobody.

use core::cell::{Cell, RefCell};

use embassy_sync::blocking_mutex::raw::NoopRawMutex;
use embassy_sync::signal::Signal;
use embassy_time::{Duration, with_timeout};

use crate::json::Writer;
use crate::limits;

/// Who is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Service {
    /// `service/search/request`.
    Search,
}

impl Service {
    /// As it stands in a topic.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Search => "search",
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

// With a tag of its own, `Free` is all zeros, and so is a new hub's memory: it costs no flash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum State {
    Free,
    /// Being written.
    Taken,
    /// To be sent.
    Due(Number),
    Sent(Number),
    Answered,
    Failed(Unanswered),
}

/// One question and, later, its answer.
struct Place<B: ?Sized = [u8]> {
    service: Cell<Service>,
    state: Cell<State>,
    length: Cell<usize>,
    done: Signal<NoopRawMutex, ()>,
    buffer: RefCell<B>,
}

impl<const N: usize> Place<[u8; N]> {
    const fn new() -> Self {
        Self {
            service: Cell::new(Service::Search),
            state: Cell::new(State::Free),
            length: Cell::new(0),
            done: Signal::new(),
            buffer: RefCell::new([0; N]),
        }
    }
}

impl Place {
    fn settle(&self, state: State) {
        self.state.set(state);
        self.done.signal(());
    }

    fn write(&self, question: impl FnOnce(&mut Writer<'_>)) -> Result<(), Unanswered> {
        let mut buffer = self.buffer.try_borrow_mut().map_err(|_| Unanswered::Busy)?;
        let mut writer = Writer::new(&mut buffer);
        question(&mut writer);
        self.length.set(writer.finish().map_err(|_| Unanswered::LongQuestion)?);
        Ok(())
    }

    fn read<T>(&self, look: impl FnOnce(&[u8]) -> T) -> Option<T> {
        let buffer = self.buffer.try_borrow().ok()?;
        buffer.get(..self.length.get()).map(look)
    }
}

/// Gives a place back, also when whoever asks is dropped.
struct Guard<'a>(&'a Place);

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        self.0.state.set(State::Free);
    }
}

/// All places of a hub.
pub struct Services {
    searches: [Place<[u8; limits::SEARCH]>; limits::SEARCHES],
    due: Signal<NoopRawMutex, ()>,
    online: Cell<bool>,
    last: Cell<Number>,
}

impl Services {
    /// All free.
    pub const fn new() -> Self {
        Self {
            searches: [const { Place::new() }; limits::SEARCHES],
            due: Signal::new(),
            online: Cell::new(false),
            last: Cell::new(0),
        }
    }

    /// Asks: `question` writes the payload, `answer` reads the reply's. Gives up after `patience`.
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
        let place = self.places().find(|place| place.state.get() == State::Free).ok_or(Unanswered::Busy)?;
        place.state.set(State::Taken);
        let _guard = Guard(place);
        place.service.set(service);
        place.done.reset();
        place.write(question)?;
        let number = self.last.get().wrapping_add(1);
        self.last.set(number);
        place.state.set(State::Due(number));
        self.due.signal(());
        with_timeout(patience, place.done.wait()).await.map_err(|_| Unanswered::Silent)?;
        match place.state.get() {
            State::Answered => place.read(answer).ok_or(Unanswered::Lost),
            State::Failed(why) => Err(why),
            _ => Err(Unanswered::Lost),
        }
    }

    /// Forgets what an earlier run left half done. The seed decides where the numbers begin: an answer to what was asked
    /// before a restart finds nobody.
    pub(crate) fn clear(&self, seed: u64) {
        self.last.set(seed as Number);
        self.online.set(false);
        self.places().for_each(|place| place.state.set(State::Free));
    }

    /// A session with the broker begins. What a session that is lost had sent is not answered any more.
    pub(crate) fn connected(&self, fresh: bool) {
        self.online.set(true);
        if fresh {
            for place in self.places() {
                if let State::Sent(_) = place.state.get() {
                    place.settle(State::Failed(Unanswered::Lost));
                }
            }
        }
    }

    /// The connection ended. Nothing more is asked until the next; answers to what was asked may still come.
    pub(crate) fn disconnected(&self) {
        self.online.set(false);
        for place in self.places() {
            if let State::Due(_) = place.state.get() {
                place.settle(State::Failed(Unanswered::Offline));
            }
        }
    }

    /// Waits until a question is due.
    pub(crate) async fn due(&self) {
        self.due.wait().await;
    }

    /// A question that is to be sent.
    pub(crate) fn next_due(&self) -> Option<Due<'_>> {
        self.places().find_map(|place| match place.state.get() {
            State::Due(number) => Some(Due { place, number }),
            _ => None,
        })
    }

    /// An answer came to the question with this number. Returns whether somebody waited for it.
    pub(crate) fn answer(&self, number: Number, payload: &[u8], size: usize) -> bool {
        let asked = |place: &&Place| place.state.get() == State::Sent(number);
        let Some(place) = self.places().find(asked) else { return false };
        let taken = place.buffer.try_borrow_mut().ok().and_then(|mut buffer| {
            // What was cut on the way in has another size than it arrives with.
            let room = buffer.get_mut(..size).filter(|room| room.len() == payload.len())?;
            room.copy_from_slice(payload);
            place.length.set(size);
            Some(())
        });
        place.settle(match taken {
            Some(()) => State::Answered,
            None => State::Failed(Unanswered::LongAnswer(size)),
        });
        true
    }

    fn places(&self) -> impl Iterator<Item = &Place> {
        self.searches.iter().map(|place| -> &Place { place })
    }
}

impl Default for Services {
    fn default() -> Self {
        Self::new()
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

    /// Copies the question into `buffer`. `None` if it does not fit.
    pub(crate) fn copy(&self, buffer: &mut [u8]) -> Option<usize> {
        self.place.read(|question| {
            buffer.get_mut(..question.len())?.copy_from_slice(question);
            Some(question.len())
        })?
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
