//! A stream of bytes that comes in pieces.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::task::Poll;

/// Bytes on their way to the hub.
#[derive(Default)]
pub struct Inbox {
    bytes: VecDeque<u8>,
    /// The sizes of the pieces, repeated; a zero makes the reader wait. All at once if there are none.
    pieces: Vec<u8>,
    next: usize,
    /// Nothing more will come.
    pub closed: bool,
}

impl Inbox {
    /// An empty one with pieces of these sizes.
    pub fn in_pieces(pieces: &[u8]) -> Self {
        // Only zeros would never make progress.
        let pieces = if pieces.iter().any(|piece| *piece > 0) { pieces.to_vec() } else { Vec::new() };
        Self { pieces, ..Self::default() }
    }

    /// Adds bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend(bytes);
    }

    /// Whether everything has arrived.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The next piece, as far as it fits into `buf`. `None` if the reader has to wait.
    pub fn take(&mut self, buf: &mut [u8]) -> Option<usize> {
        assert!(!buf.is_empty(), "nothing to read into");
        let piece = match self.pieces.get(self.next) {
            // Small pieces split headers, large ones are like those of a network.
            Some(piece @ 0..=127) => usize::from(*piece),
            Some(piece) => usize::from(piece - 127) * 64,
            None => usize::MAX,
        };
        self.next = (self.next + 1) % self.pieces.len().max(1);
        let size = piece.min(buf.len()).min(self.bytes.len());
        for (to, from) in buf.iter_mut().zip(self.bytes.drain(..size)) {
            *to = from;
        }
        (size > 0 || self.bytes.is_empty() && self.closed).then_some(size)
    }
}

/// Waits until it is polled again or dropped.
pub async fn pause() {
    let mut polled = false;
    poll_fn(|context| {
        context.waker().wake_by_ref();
        if std::mem::replace(&mut polled, true) { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
}
