//! A queue of fixed length that keeps the newest.

use core::cell::Cell;
use core::future::poll_fn;

use embassy_sync::blocking_mutex::raw::NoopRawMutex;
use embassy_sync::channel::Channel;

/// Up to `N` items that wait for one reader.
pub struct Queue<T, const N: usize> {
    items: Channel<NoopRawMutex, T, N>,
    evicted: Cell<u32>,
}

impl<T, const N: usize> Queue<T, N> {
    /// Empty.
    pub const fn new() -> Self {
        Self { items: Channel::new(), evicted: Cell::new(0) }
    }

    /// Adds an item. A full queue evicts its oldest.
    pub fn push(&self, item: T) {
        self.push_evicting(item, |_| true);
    }

    /// Adds an item. A full queue evicts the oldest that `may_go`, or the oldest of all if none may.
    pub fn push_evicting(&self, item: T, may_go: impl Fn(&T) -> bool) {
        if self.items.is_full() {
            let mut is_evicted = false;
            // Once round the queue, which keeps the order of the others.
            for _ in 0..N {
                if let Some(oldest) = self.pop() {
                    match !is_evicted && may_go(&oldest) {
                        true => is_evicted = true,
                        false => drop(self.items.try_send(oldest)),
                    }
                }
            }
            if !is_evicted {
                self.pop();
            }
            self.evicted.set(self.evicted.get().saturating_add(1));
        }
        // There is room now.
        let _ = self.items.try_send(item);
    }

    /// Whether adding an item evicts another one.
    pub fn is_full(&self) -> bool {
        self.items.is_full()
    }

    /// Waits until an item can be added without evicting one. This holds until the caller next awaits.
    pub async fn has_room(&self) {
        poll_fn(|context| self.items.poll_ready_to_send(context)).await;
    }

    /// Takes the oldest item.
    pub fn pop(&self) -> Option<T> {
        self.items.try_receive().ok()
    }

    /// Waits until there is an item.
    pub async fn ready(&self) {
        self.items.ready_to_receive().await;
    }

    /// How many were evicted.
    pub fn evicted(&self) -> u32 {
        self.evicted.get()
    }

    /// Drops everything.
    pub fn clear(&self) {
        self.items.clear();
        self.evicted.set(0);
    }
}

#[cfg(test)]
mod tests {
    use core::pin::pin;
    use core::task::{Context, Poll, Waker};
    use std::vec::Vec;

    use super::Queue;

    /// Both waiters are woken, and only one of them gets the room.
    #[test]
    fn two_waiters_for_one_place_evict_nothing() {
        let queue = &Queue::<u8, 2>::new();
        [1, 2].into_iter().for_each(|item| queue.push(item));
        let add = async |item| {
            queue.has_room().await;
            queue.push(item);
        };
        let (mut one, mut other) = (pin!(add(3)), pin!(add(4)));
        let context = &mut Context::from_waker(Waker::noop());
        assert!(one.as_mut().poll(context).is_pending() && other.as_mut().poll(context).is_pending());
        queue.pop();
        assert_eq!((one.poll(context), other.as_mut().poll(context)), (Poll::Ready(()), Poll::Pending));
        queue.pop();
        assert_eq!((other.poll(context), queue.pop(), queue.pop()), (Poll::Ready(()), Some(3), Some(4)));
        assert_eq!(queue.evicted(), 0);
    }

    #[test]
    fn what_may_not_go_stays_and_the_order_is_kept() {
        let queue = Queue::<u8, 4>::new();
        let push = |item| queue.push_evicting(item, |item| item % 2 == 0);
        let left = || core::iter::from_fn(|| queue.pop()).collect::<Vec<_>>();
        [1, 2, 3, 4, 6, 8, 10].into_iter().for_each(push);
        assert_eq!(left(), [1, 3, 8, 10]);
        // If none may go, the oldest does.
        [1, 3, 5, 7, 9, 2].into_iter().for_each(push);
        assert_eq!(left(), [5, 7, 9, 2]);
        assert_eq!(queue.evicted(), 5);
    }
}
