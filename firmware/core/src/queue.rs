//! A queue of fixed length that keeps the newest.

use core::cell::Cell;

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
        if self.items.is_full() {
            let _ = self.items.try_receive();
            self.evicted.set(self.evicted.get().saturating_add(1));
        }
        // There is room now.
        let _ = self.items.try_send(item);
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
