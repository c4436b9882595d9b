//! The side of the link that the rest of the hub sees: calls go in, answers come out.
//!
//! One call at a time writes its parameters into the outbox and holds it until the wire has sent them; many calls wait for
//! their answers ([`pending`](crate::pending)). A caller reads its answer from the line it came in, and the wire waits
//! until it has.

use core::cell::Cell;
use core::pin::pin;

use embassy_sync::blocking_mutex::raw::NoopRawMutex;
use embassy_sync::mutex::Mutex;
use embassy_time::{Instant, with_deadline};

use super::controller::{LinkCounts, Loss, Status};
use super::line::Lines;
use super::rpc::{Incoming, Method};
use crate::json::{self, Writer};
use crate::limits;
use crate::pending::{Id, IfDropped, Pending, Progress, Slot};
use crate::store::EraseInterlock;
use crate::tool::Answer;

/// Why a call has no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallError<E> {
    /// The caller had nothing to send, for this reason.
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
    /// The request was sent, and the controller left. Whether it was done is unknown.
    Unknown(Loss),
    /// The request was sent, and the answer is malformed. Whether it was done is unknown.
    Malformed(json::Error),
    /// The request was sent, and no answer came in time. Whether it was done is unknown.
    Silent,
}

impl<E> CallError<E> {
    /// Whether the request was sent, so that it may have been done.
    pub const fn is_unknown(&self) -> bool {
        matches!(self, Self::Unknown(_) | Self::Malformed(_) | Self::Silent)
    }
}

/// Why the controller's answer will not come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    Unsent(Loss),
    Unknown(Loss),
}

/// Calls to the controller, and what is known about it.
pub struct Port {
    status: Status,
    is_open: Cell<bool>,
    erase_interlock: EraseInterlock,
    counts: Cell<LinkCounts>,
    pub(super) calls: Pending<Cell<Method>, Ended, { limits::CALLS }>,
    /// Held by the call that uses the outbox, until its request is sent.
    outbox_lock: Mutex<NoopRawMutex, ()>,
    outbox: Mutex<NoopRawMutex, Outbox>,
    pub(super) lines: Mutex<NoopRawMutex, Lines>,
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
            erase_interlock: EraseInterlock::new(),
            counts: Cell::new(LinkCounts::NONE),
            calls: Pending::new([const { Slot::new(Cell::new(Method::CallTool)) }; limits::CALLS]),
            outbox_lock: Mutex::new(()),
            outbox: Mutex::new(Outbox { text: [0; limits::LINE_OUT], length: 0 }),
            lines: Mutex::new(Lines::new()),
        }
    }

    /// What is known about the controller.
    pub const fn status(&self) -> &Status {
        &self.status
    }

    /// What has happened so far.
    pub fn counts(&self) -> LinkCounts {
        self.counts.get()
    }

    /// Changes the counts.
    pub(super) fn count(&self, change: impl FnOnce(&mut LinkCounts)) {
        let mut counts = self.counts.get();
        change(&mut counts);
        self.counts.set(counts);
    }

    /// Keeps the flash from being erased while an answer is expected.
    pub const fn erase_interlock(&self) -> &EraseInterlock {
        &self.erase_interlock
    }

    /// Asks the controller: `compose` writes the parameters, `read` reads the answer. Gives up after
    /// [`limits::TOOL_TIMEOUT`], in which the time that an erase holds it back does not count. The request is sent at most once.
    ///
    /// Dropping the future gives the call up; if its request was sent, it is cancelled at the controller.
    pub async fn call<T, E>(
        &self,
        method: Method,
        compose: impl FnOnce(&mut Writer<'_>) -> Result<(), E>,
        read: impl FnOnce(Answer<'_>) -> T,
    ) -> Result<T, CallError<E>> {
        if !self.is_open.get() {
            return Err(CallError::Absent);
        }
        let call = self.calls.take(IfDropped::Cancel).ok_or(CallError::Busy)?;
        call.data().set(method);
        // For how long erases have held this call back.
        let held_before = self.erase_interlock.held();
        let held = Cell::new(None);
        let answered = async {
            let lock = self.outbox_lock.lock().await;
            self.compose(compose).await?;
            if !self.is_open.get() {
                return Err(CallError::Absent);
            }
            call.queue();
            call.sent().await;
            held.set(Some(self.erase_interlock.held()));
            let sent = Instant::now();
            // The outbox is free for the next call.
            drop(lock);
            let answer = call.answered().await;
            if method == Method::CallTool && !matches!(answer, Err(Ended::Unsent(_))) {
                self.count(|counts| counts.calls.add(answer.is_ok(), sent.elapsed().as_millis()));
            }
            answer.map_err(|ended| match ended {
                Ended::Unsent(loss) => CallError::Unsent(loss),
                Ended::Unknown(loss) => CallError::Unknown(loss),
            })
        };
        let mut answered = pin!(answered);
        let (start, mut patience) = (Instant::now(), limits::TOOL_TIMEOUT);
        let id = loop {
            if let Ok(answered) = with_deadline(start + patience, answered.as_mut()).await {
                break answered?;
            }
            let held = held.get().unwrap_or_else(|| self.erase_interlock.held()) - held_before;
            if patience == limits::TOOL_TIMEOUT + held {
                let is_unsent = call.is_unsent();
                self.count(|counts| {
                    counts.timeouts = counts.timeouts.saturating_add(1);
                    if method == Method::CallTool && !is_unsent {
                        counts.calls.add(false, limits::TOOL_TIMEOUT.as_millis());
                    }
                });
                return Err(if is_unsent { CallError::Late } else { CallError::Silent });
            }
            patience = limits::TOOL_TIMEOUT + held;
        };
        let lines = self.lines.lock().await;
        let line = lines.current();
        let cut_from = line.is_cut.then_some(line.length);
        let answer =
            Incoming::all(line.value().map_err(CallError::Malformed)?).find_map(|message| match message {
                Incoming::Result { id: Some(answered), result } if answered == id => {
                    Some(Answer::Result { result, cut_from })
                }
                Incoming::Error { id: Some(answered), error } if answered == id => {
                    Some(Answer::Error { code: error.code, message: error.message })
                }
                _ => None,
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

    /// Drops what an earlier run left half done.
    pub(crate) fn clear(&self) {
        self.is_open.set(false);
        self.calls.clear();
        self.erase_interlock.clear();
        self.counts.set(LinkCounts::NONE);
    }

    /// The controller can be called.
    pub(super) fn open(&self) {
        self.is_open.set(true);
    }

    /// The controller is gone: all calls fail, with the reason and whether their request was sent.
    pub(super) fn close(&self, why: Loss) {
        self.is_open.set(false);
        self.calls.fail(|progress| {
            Some(match progress {
                Progress::Queued => Ended::Unsent(why),
                _ => Ended::Unknown(why),
            })
        });
        // Nobody is left to be told of a cancelled call.
        while self.calls.next_abandoned().is_some() {}
    }

    /// The parameters of the queued call.
    pub(super) async fn outbox(&self) -> impl core::ops::Deref<Target = Outbox> {
        self.outbox.lock().await
    }

    /// Whether the answer to a call is expected.
    pub(super) fn is_busy(&self) -> bool {
        self.calls.find(|call| matches!(call, Progress::Sending(_) | Progress::Sent(_))).is_some()
    }

    /// Request `id` was sent.
    pub(super) fn sent(&self, id: Id) {
        if let Some(call) = self.expecting(id) {
            call.advance(Progress::Sending(id), Progress::Sent(id));
        }
    }

    /// Whether somebody waits for the answer to request `id`. A fast controller may answer before the hub notices that it
    /// has sent all of it.
    pub(super) fn expects(&self, id: Id) -> bool {
        self.expecting(id).is_some()
    }

    fn expecting(&self, id: Id) -> Option<&Slot<Cell<Method>, Ended>> {
        self.calls.find(|call| call == Progress::Sent(id) || call == Progress::Sending(id))
    }

    /// The answer to request `id` is in the current line, which is not locked. Returns when its caller has read it; at
    /// once if nobody waits for it.
    pub(super) async fn answered(&self, id: Id) {
        if let Some(call) = self.expecting(id) {
            call.advance(Progress::Sending(id), Progress::Sent(id));
            call.advance(Progress::Sent(id), Progress::Answered(id));
            self.calls.answers_read().await;
        }
    }
}
