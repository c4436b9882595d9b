//! The state of the reply in each slot.

use minimq::Op;

use crate::limits;

#[derive(Clone, Copy, Debug)]
pub(crate) enum ReplyState {
    /// The slot is free.
    Free,
    /// The request is being worked on.
    Awaited,
    /// The reply is written, but not sent.
    Written,
    /// The session has it; `None` if the connection was lost during the send.
    Sent(Option<Op>),
}

/// The state of all slots. A reply is kept until the broker has acknowledged it, so that it can be sent again if the
/// broker loses the session.
pub struct Replies {
    states: [ReplyState; limits::JOBS],
    /// Whether others were told what they have to know besides, once.
    are_told: [bool; limits::JOBS],
}

impl Replies {
    /// All slots are free.
    pub const fn new() -> Self {
        Self { states: [ReplyState::Free; limits::JOBS], are_told: [false; limits::JOBS] }
    }

    /// A connection begins. Unacknowledged replies are sent again: by a resumed session itself, in a fresh one by the hub.
    pub(crate) fn connected(&mut self, fresh: bool) {
        for reply in &mut self.states {
            match reply {
                ReplyState::Sent(_) if fresh => *reply = ReplyState::Written,
                ReplyState::Sent(None) => *reply = ReplyState::Free,
                _ => {}
            }
        }
    }

    /// A slot for a request: a free one, or else one whose reply was sent. That reply cannot be sent again if the broker
    /// loses the session, but the new request is not refused.
    pub(crate) fn free(&self) -> Option<usize> {
        let position = |is_it: fn(&ReplyState) -> bool| self.states.iter().position(is_it);
        position(|reply| matches!(reply, ReplyState::Free))
            .or_else(|| position(|reply| matches!(reply, ReplyState::Sent(Some(_)))))
    }

    /// A slot with a reply to send.
    pub(crate) fn next_written(&self) -> Option<usize> {
        self.states.iter().position(|reply| matches!(reply, ReplyState::Written))
    }

    /// A slot whose reply the broker has acknowledged, or rejected.
    pub(crate) fn next_done(&self, is_done: impl Fn(&Op) -> bool) -> Option<usize> {
        self.states.iter().position(|reply| matches!(reply, ReplyState::Sent(Some(op)) if is_done(op)))
    }

    /// Frees the slots whose replies are acknowledged.
    pub(crate) fn acknowledged(&mut self, is_done: impl Fn(&Op) -> bool) {
        for reply in &mut self.states {
            if let ReplyState::Sent(Some(op)) = reply
                && is_done(op)
            {
                *reply = ReplyState::Free;
            }
        }
    }

    /// Keeps the new state of a slot.
    pub(crate) fn set(&mut self, slot: usize, reply: ReplyState) {
        if matches!(reply, ReplyState::Awaited) {
            self.set_told(slot, false);
        }
        if let Some(state) = self.states.get_mut(slot) {
            *state = reply;
        }
    }

    /// Whether others were told of the job in this slot. They are not told again if the reply is.
    pub(crate) fn is_told(&self, slot: usize) -> bool {
        self.are_told.get(slot).copied().unwrap_or(true)
    }

    /// Keeps whether they were.
    pub(crate) fn set_told(&mut self, slot: usize, is_told: bool) {
        if let Some(told) = self.are_told.get_mut(slot) {
            *told = is_told;
        }
    }
}
