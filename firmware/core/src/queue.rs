//! A queue of fixed length that keeps the newest.

use embassy_sync::blocking_mutex::raw::NoopRawMutex;
use embassy_sync::channel::Channel;

/// Up to `N` items that wait for one reader.
pub struct Queue<T, const N: usize>(Channel<NoopRawMutex, T, N>);

impl<T, const N: usize> Queue<T, N> {
    /// Empty.
    pub const fn new() -> Self {
        Self(Channel::new())
    }

    /// Adds an item. A full queue evicts its oldest.
    pub fn push(&self, item: T) {
        if self.0.is_full() {
            let _ = self.0.try_receive();
        }
        // There is room now.
        let _ = self.0.try_send(item);
    }

    /// Takes the oldest item.
    pub fn pop(&self) -> Option<T> {
        self.0.try_receive().ok()
    }

    /// Waits until there is an item.
    pub async fn ready(&self) {
        self.0.ready_to_receive().await;
    }

    /// Drops everything.
    pub fn clear(&self) {
        self.0.clear();
    }
}
