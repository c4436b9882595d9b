//! Requests that wait for an answer, in a fixed number of slots.
//!
//! Two sides meet here. A caller [takes](Pending::take) a slot and holds its [`Ticket`] until it has read the answer. A
//! carrier (the serial line, the MQTT session) sends what is queued and reports the outcome.
//!
//! ```text
//!        take        queue                 the carrier's `advance`
//!   Free ──► Taken ────► Queued ─────► Sending(id) ────► Sent(id) ────► Answered(id)
//!                          ▲ └── not sent ──┘ └───► Failed ◄──┘
//! ```
//!
//! Dropping the ticket frees the slot, whatever its state. If the request was sent, the other side may have to be told: the
//! slot of a ticket taken with [`IfDropped::Cancel`] is `Abandoned` until the carrier takes its number with
//! [`next_abandoned`](Pending::next_abandoned).
//!
//! The answer itself is not kept here. The carrier leaves it in its one buffer, advances the slot to `Answered`, and does
//! not use the buffer again before [`answers_read`](Pending::answers_read) returns, which is when the ticket is dropped. So
//! a request needs no buffer for its answer. What else belongs to a request (`T`) is in [`Slot::data`].

#[cfg(test)]
mod tests;

use core::cell::Cell;

use embassy_sync::blocking_mutex::raw::NoopRawMutex;
use embassy_sync::signal::Signal;

/// The number that an answer carries to find its request.
pub type Id = u32;

/// Where a request is on its way; `E` is why it has no answer.
// `repr(u8)` makes `Free` all zeros, and so a new hub's memory: it costs no flash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Progress<E> {
    /// No request.
    Free,
    /// Being composed.
    Taken,
    /// Ready to be sent.
    Queued,
    /// Being sent.
    Sending(Id),
    /// Waiting for its answer.
    Sent(Id),
    /// The answer is in the carrier's buffer.
    Answered(Id),
    /// There will be no answer.
    Failed(E),
    /// The caller left after the request was sent; the other side has not been told.
    Abandoned(Id),
}

/// What dropping a [`Ticket`] does to a request that was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IfDropped {
    /// The slot is free at once; a late answer finds nobody.
    Forget,
    /// The slot is free when the carrier has cancelled the request.
    Cancel,
}

/// Room for one request.
pub struct Slot<T, E> {
    progress: Cell<Progress<E>>,
    moved: Signal<NoopRawMutex, ()>,
    /// What the request consists of.
    pub data: T,
}

impl<T, E: Copy + PartialEq> Slot<T, E> {
    /// Free.
    pub const fn new(data: T) -> Self {
        Self { progress: Cell::new(Progress::Free), moved: Signal::new(), data }
    }

    /// For the carrier: moves the request on, unless it is not at `from` any more, because the caller has left or the slot
    /// holds another request.
    pub fn advance(&self, from: Progress<E>, to: Progress<E>) {
        if self.progress.get() == from {
            self.progress.set(to);
            self.moved.signal(());
        }
    }

    /// Called by the carrier if there will be no answer.
    pub fn fail(&self, why: E) {
        self.advance(self.progress.get(), Progress::Failed(why));
    }
}

/// A fixed number of requests. All zeros when new, if `T` is.
pub struct Pending<T, E, const N: usize> {
    slots: [Slot<T, E>; N],
    /// A request is queued or abandoned.
    due: Signal<NoopRawMutex, ()>,
    /// An answer has been read.
    read: Signal<NoopRawMutex, ()>,
}

impl<T, E: Copy + PartialEq, const N: usize> Pending<T, E, N> {
    /// With these slots, all free.
    pub const fn new(slots: [Slot<T, E>; N]) -> Self {
        Self { slots, due: Signal::new(), read: Signal::new() }
    }

    /// Drops all requests, as after a restart.
    pub fn clear(&self) {
        self.slots.iter().for_each(|slot| slot.progress.set(Progress::Free));
        self.due.reset();
    }

    /// For the caller: takes a free slot. `None` if there is none.
    pub fn take(&self, if_dropped: IfDropped) -> Option<Ticket<'_, T, E, N>> {
        let slot = self.find(|progress| matches!(progress, Progress::Free))?;
        slot.progress.set(Progress::Taken);
        Some(Ticket { pending: self, slot, if_dropped })
    }

    /// Waits until a request is queued or abandoned.
    pub async fn due(&self) {
        self.due.wait().await;
    }

    /// The requests to send.
    pub fn queued(&self) -> impl Iterator<Item = &Slot<T, E>> {
        self.slots.iter().filter(|slot| matches!(slot.progress.get(), Progress::Queued))
    }

    /// The number of a request that the other side should be told to cancel. Its slot is free now.
    pub fn next_abandoned(&self) -> Option<Id> {
        self.slots.iter().find_map(|slot| match slot.progress.get() {
            Progress::Abandoned(id) => {
                slot.progress.set(Progress::Free);
                Some(id)
            }
            _ => None,
        })
    }

    /// The requests that wait for their answers, with their ids.
    pub fn all_sent(&self) -> impl Iterator<Item = (&Slot<T, E>, Id)> {
        self.slots.iter().filter_map(|slot| match slot.progress.get() {
            Progress::Sent(id) => Some((slot, id)),
            _ => None,
        })
    }

    /// The request that waits for the answer with this number.
    pub fn sent(&self, id: Id) -> Option<&Slot<T, E>> {
        self.find(|progress| matches!(progress, Progress::Sent(sent) if sent == id))
    }

    /// Fails every request for which `why` returns a reason. `why` sees requests that are queued, being sent or sent.
    pub fn fail(&self, why: impl Fn(Progress<E>) -> Option<E>) {
        for slot in &self.slots {
            let progress = slot.progress.get();
            if let Progress::Queued | Progress::Sending(_) | Progress::Sent(_) = progress
                && let Some(why) = why(progress)
            {
                slot.advance(progress, Progress::Failed(why));
            }
        }
    }

    /// Waits until the carrier's buffer is free: no caller has an answer still to read.
    pub async fn answers_read(&self) {
        while self.find(|progress| matches!(progress, Progress::Answered(_))).is_some() {
            self.read.wait().await;
        }
    }

    /// The first slot whose request is at a wanted point.
    pub fn find(&self, is_wanted: impl Fn(Progress<E>) -> bool) -> Option<&Slot<T, E>> {
        self.slots.iter().find(|slot| is_wanted(slot.progress.get()))
    }
}

/// The caller's hold on a slot. Dropping it gives the request up, or the answer's buffer back.
pub struct Ticket<'a, T, E: Copy + PartialEq, const N: usize> {
    pending: &'a Pending<T, E, N>,
    slot: &'a Slot<T, E>,
    if_dropped: IfDropped,
}

impl<'a, T, E: Copy + PartialEq, const N: usize> Ticket<'a, T, E, N> {
    /// What the request consists of.
    pub const fn data(&self) -> &'a T {
        &self.slot.data
    }

    /// Hands the request to the carrier.
    pub fn queue(&self) {
        self.slot.progress.set(Progress::Queued);
        self.pending.due.signal(());
    }

    /// Whether the carrier has not begun to send it.
    pub fn is_unsent(&self) -> bool {
        matches!(self.slot.progress.get(), Progress::Taken | Progress::Queued)
    }

    /// Waits until a queued request is sent, or has failed.
    pub async fn sent(&self) {
        while let Progress::Queued | Progress::Sending(_) = self.slot.progress.get() {
            self.slot.moved.wait().await;
        }
    }

    /// Waits for the answer, and returns the number it carries.
    pub async fn answered(&self) -> Result<Id, E> {
        loop {
            match self.slot.progress.get() {
                Progress::Answered(id) => return Ok(id),
                Progress::Failed(why) => return Err(why),
                _ => self.slot.moved.wait().await,
            }
        }
    }
}

impl<T, E: Copy + PartialEq, const N: usize> Drop for Ticket<'_, T, E, N> {
    fn drop(&mut self) {
        let after = match self.slot.progress.get() {
            Progress::Sending(id) | Progress::Sent(id) if self.if_dropped == IfDropped::Cancel => {
                self.pending.due.signal(());
                Progress::Abandoned(id)
            }
            Progress::Answered(_) => {
                self.pending.read.signal(());
                Progress::Free
            }
            _ => Progress::Free,
        };
        self.slot.progress.set(after);
    }
}
