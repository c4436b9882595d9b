//! The side of the link that the rest of the hub sees: calls go in here, and their answers come out.
//!
//! A call takes a place and waits for its turn; it writes its request into the one outbox, from where the wire takes it
//! as soon as it can. Many calls can then wait for their answers. An answer is read by whoever waits for it straight
//! from the line it came in: the wire lends the line out and waits until it is given back. So no call needs a buffer.

use core::cell::Cell;

use embassy_sync::blocking_mutex::raw::NoopRawMutex;
use embassy_sync::mutex::Mutex;
use embassy_sync::signal::Signal;
use embassy_time::with_timeout;

use super::line::Lines;
use super::rpc::{Id, Message};
use super::status::{Loss, Status};
use crate::json::{Value, Writer};
use crate::limits;
use crate::tool::Answer;

/// Why a call has no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallError<E> {
    /// There is nothing to send, for the caller's own reason.
    Composed(E),
    /// The controller is not there. Nothing was sent.
    Absent,
    /// Too many calls wait already. Nothing was sent.
    Busy,
    /// The request does not fit into a line. Nothing was sent.
    TooLarge,
    /// The controller left before the request was sent.
    Unsent(Loss),
    /// The request was not sent in time.
    Late,
    /// The request was sent, and the controller left. Whether it did what it was asked, nobody knows.
    Unknown(Loss),
    /// The request was sent, and no answer came in time but a line of this many bytes, which is too long to be read.
    LongAnswer(usize),
    /// The request was sent, and no answer came in time. Whether it was done, nobody knows.
    Silent,
}

// With a tag of its own, `Free` is all zeros, and so is a new hub's memory: it costs no flash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum State {
    Free,
    /// Waiting for the outbox, or writing into it.
    Taken,
    /// In the outbox.
    Queued,
    /// On the wire.
    Sending(Id),
    Sent(Id),
    /// The answer is in the line that is lent out.
    Answered(Id),
    Unsent(Loss),
    Unknown(Loss),
    /// Nobody waits for the answer any more, and the controller has not been told.
    Abandoned(Id),
}

struct Place {
    state: Cell<State>,
    moved: Signal<NoopRawMutex, ()>,
}

impl Place {
    fn settle(&self, state: State) {
        self.state.set(state);
        self.moved.signal(());
    }
}

/// Where the hub and its link meet.
pub struct Port {
    status: Status,
    is_open: Cell<bool>,
    places: [Place; limits::CALLS],
    /// Held by the call whose request is, or will be, in the outbox.
    turn: Mutex<NoopRawMutex, ()>,
    outbox: Mutex<NoopRawMutex, Outbox>,
    pub(super) lines: Mutex<NoopRawMutex, Lines>,
    /// Something waits to be sent.
    due: Signal<NoopRawMutex, ()>,
    /// The size of a line that was too long, since the last call.
    skipped: Cell<usize>,
    /// The line that was lent out is given back.
    returned: Signal<NoopRawMutex, ()>,
}

/// The parameters of one call.
pub(super) struct Outbox {
    text: [u8; limits::LINE_OUT],
    length: usize,
}

impl Outbox {
    /// As JSON.
    pub(super) fn params(&self) -> &[u8] {
        self.text.get(..self.length).unwrap_or_default()
    }
}

impl Port {
    /// Closed, with no calls.
    pub const fn new() -> Self {
        Self {
            status: Status::new(),
            is_open: Cell::new(false),
            places: [const { Place { state: Cell::new(State::Free), moved: Signal::new() } }; limits::CALLS],
            turn: Mutex::new(()),
            outbox: Mutex::new(Outbox { text: [0; limits::LINE_OUT], length: 0 }),
            lines: Mutex::new(Lines::new()),
            due: Signal::new(),
            skipped: Cell::new(0),
            returned: Signal::new(),
        }
    }

    /// What is known about the controller.
    pub const fn status(&self) -> &Status {
        &self.status
    }

    /// Calls a tool: `compose` writes the parameters, `read` reads the answer. Gives up after
    /// [`limits::TOOL_TIMEOUT`]. The request is sent at most once.
    ///
    /// Dropping the future gives the call up; if its request was sent, the controller is told.
    pub async fn call<T, E>(
        &self,
        compose: impl FnOnce(&mut Writer<'_>) -> Result<(), E>,
        read: impl FnOnce(Answer<'_>) -> T,
    ) -> Result<T, CallError<E>> {
        if !self.is_open.get() {
            return Err(CallError::Absent);
        }
        let is_free = |place: &&Place| place.state.get() == State::Free;
        let place = self.places.iter().find(is_free).ok_or(CallError::Busy)?;
        place.state.set(State::Taken);
        place.moved.reset();
        let _guard = Guard { port: self, place };
        let answered = async {
            let mut turn = Some(self.turn.lock().await);
            self.compose(compose).await?;
            if !self.is_open.get() {
                return Err(CallError::Absent);
            }
            place.state.set(State::Queued);
            self.skipped.set(0);
            self.due.signal(());
            loop {
                place.moved.wait().await;
                match place.state.get() {
                    State::Answered(id) => return Ok(id),
                    State::Unsent(loss) => return Err(CallError::Unsent(loss)),
                    State::Unknown(loss) => return Err(CallError::Unknown(loss)),
                    // The outbox is free for the next.
                    _ => drop(turn.take()),
                }
            }
        };
        let id = match with_timeout(limits::TOOL_TIMEOUT, answered).await {
            Ok(answered) => answered?,
            Err(_) => {
                return Err(match place.state.get() {
                    State::Taken | State::Queued => CallError::Late,
                    _ if self.skipped.get() > 0 => CallError::LongAnswer(self.skipped.get()),
                    _ => CallError::Silent,
                });
            }
        };
        let lines = self.lines.lock().await;
        let answer = Value::parse(lines.current()).ok().and_then(|line| {
            Message::all(line).find_map(|message| match message {
                Message::Result { id: Some(answered), result } if answered == id => {
                    Some(Answer::Result(result))
                }
                Message::Error { id: Some(answered), message, .. } if answered == id => {
                    Some(Answer::Error(message))
                }
                _ => None,
            })
        });
        // It was there a moment ago.
        answer.map(read).ok_or(CallError::Unknown(Loss::Unreadable))
    }

    async fn compose<E>(
        &self,
        compose: impl FnOnce(&mut Writer<'_>) -> Result<(), E>,
    ) -> Result<(), CallError<E>> {
        let mut outbox = self.outbox.lock().await;
        let mut writer = Writer::new(&mut outbox.text);
        compose(&mut writer).map_err(CallError::Composed)?;
        outbox.length = writer.finish().map_err(|_| CallError::TooLarge)?;
        Ok(())
    }

    /// Forgets what an earlier run left half done.
    pub(crate) fn clear(&self) {
        self.is_open.set(false);
        self.places.iter().for_each(|place| place.state.set(State::Free));
        self.due.reset();
        self.returned.reset();
    }

    /// The controller can be called.
    pub(super) fn open(&self) {
        self.is_open.set(true);
    }

    /// The controller is gone. Whoever waits is told, and whether their request was sent.
    pub(super) fn close(&self, why: Loss) {
        self.is_open.set(false);
        for place in &self.places {
            match place.state.get() {
                State::Queued => place.settle(State::Unsent(why)),
                State::Sending(_) | State::Sent(_) => place.settle(State::Unknown(why)),
                // There is nobody to tell any more.
                State::Abandoned(_) => place.state.set(State::Free),
                State::Free | State::Taken | State::Answered(_) | State::Unsent(_) | State::Unknown(_) => {}
            }
        }
    }

    /// Whether an answer is waited for.
    pub(super) fn is_waiting(&self) -> bool {
        self.places.iter().any(|place| matches!(place.state.get(), State::Sending(_) | State::Sent(_)))
    }

    /// Whether the answer to this request is waited for.
    pub(super) fn waits_for(&self, id: Id) -> bool {
        self.places.iter().any(|place| place.state.get() == State::Sent(id))
    }

    /// A line of this size was too long to be read. Whoever gets no answer learns that it may have been that.
    pub(super) fn skipped(&self, size: usize) {
        self.skipped.set(size);
    }

    /// Waits until something is to be sent.
    pub(super) async fn due(&self) {
        self.due.wait().await;
    }

    /// A call that is to be sent, as number `id`.
    pub(super) fn next_queued(&self, id: impl FnOnce() -> Id) -> Option<Sending<'_>> {
        let place = self.places.iter().find(|place| place.state.get() == State::Queued)?;
        let id = id();
        place.state.set(State::Sending(id));
        Some(Sending { port: self, place, id })
    }

    /// A call that was given up after it was sent. It is forgotten.
    pub(super) fn next_abandoned(&self) -> Option<Id> {
        self.places.iter().find_map(|place| match place.state.get() {
            State::Abandoned(id) => {
                place.state.set(State::Free);
                Some(id)
            }
            _ => None,
        })
    }

    /// The answer to request `id` is in the current line, which is not locked. Returns when whoever waits for it has read
    /// it; at once if nobody does.
    pub(super) async fn answered(&self, id: Id) {
        let Some(place) = self.places.iter().find(|place| place.state.get() == State::Sent(id)) else {
            return;
        };
        self.returned.reset();
        place.settle(State::Answered(id));
        self.returned.wait().await;
    }
}

impl Default for Port {
    fn default() -> Self {
        Self::new()
    }
}

/// A call on its way to the wire.
pub(super) struct Sending<'a> {
    port: &'a Port,
    place: &'a Place,
    /// Its number.
    pub(super) id: Id,
}

impl<'a> Sending<'a> {
    /// What to send.
    pub(super) async fn outbox(&self) -> impl core::ops::Deref<Target = Outbox> + use<'a> {
        self.port.outbox.lock().await
    }

    /// It was written whole.
    pub(super) fn sent(self) {
        if self.place.state.get() == State::Sending(self.id) {
            self.place.settle(State::Sent(self.id));
        }
    }
}

/// Gives a place back, also when the call is dropped.
struct Guard<'a> {
    port: &'a Port,
    place: &'a Place,
}

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        match self.place.state.get() {
            State::Sending(id) | State::Sent(id) => {
                self.place.state.set(State::Abandoned(id));
                self.port.due.signal(());
            }
            State::Answered(_) => {
                self.place.state.set(State::Free);
                self.port.returned.signal(());
            }
            _ => self.place.state.set(State::Free),
        }
    }
}
