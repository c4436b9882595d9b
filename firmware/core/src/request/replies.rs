//! Where the reply of each slot stands.

use minimq::Op;

use crate::limits;

#[derive(Clone, Copy, Debug)]
enum Reply {
    /// The slot is free.
    Free,
    /// The request is being worked on.
    Awaited,
    /// The reply is written and not sent.
    Written,
    /// The session has it. Without an operation its connection broke while it was being sent.
    Sent(Option<Op>),
}

/// Keeps count of the slots. A reply is kept until the broker has acknowledged it, so that it can be sent again if
/// the broker forgets the session.
pub struct Replies([Reply; limits::JOBS]);

impl Replies {
    /// All slots are free.
    pub const fn new() -> Self {
        Self([Reply::Free; limits::JOBS])
    }

    /// A connection begins. A fresh session has lost what the last one had not sent; a resumed one repeats it.
    pub(crate) fn connected(&mut self, fresh: bool) {
        for reply in &mut self.0 {
            match reply {
                Reply::Sent(_) if fresh => *reply = Reply::Written,
                Reply::Sent(None) => *reply = Reply::Free,
                _ => {}
            }
        }
    }

    /// A slot for a request: a free one, or else one whose reply is on its way. That reply then cannot be sent again
    /// should the broker forget the session, but nobody is turned away for it.
    pub(crate) fn free(&self) -> Option<usize> {
        let position = |is_it: fn(&Reply) -> bool| self.0.iter().position(is_it);
        position(|reply| matches!(reply, Reply::Free))
            .or_else(|| position(|reply| matches!(reply, Reply::Sent(Some(_)))))
    }

    /// A slot whose reply is to be sent.
    pub(crate) fn next_written(&self) -> Option<usize> {
        self.0.iter().position(|reply| matches!(reply, Reply::Written))
    }

    /// The slot has a request.
    pub(crate) fn taken(&mut self, slot: usize) {
        self.set(slot, Reply::Awaited);
    }

    /// The slot has a reply.
    pub(crate) fn written(&mut self, slot: usize) {
        self.set(slot, Reply::Written);
    }

    /// The session has the reply.
    pub(crate) fn sent(&mut self, slot: usize, op: Option<Op>) {
        self.set(slot, Reply::Sent(op));
    }

    /// The slot is free again.
    pub(crate) fn release(&mut self, slot: usize) {
        self.set(slot, Reply::Free);
    }

    /// Frees the slots whose replies the broker has.
    pub(crate) fn acknowledged(&mut self, is_done: impl Fn(&Op) -> bool) {
        for reply in &mut self.0 {
            if let Reply::Sent(Some(op)) = reply
                && is_done(op)
            {
                *reply = Reply::Free;
            }
        }
    }

    fn set(&mut self, slot: usize, reply: Reply) {
        if let Some(place) = self.0.get_mut(slot) {
            *place = reply;
        }
    }
}
