//! Whether the broker is reached, for the rest of the hub.

use core::cell::Cell;

/// The state of the connection, or why there is none.
pub struct Reached(Cell<Result<(), &'static str>>);

impl Reached {
    /// Not yet.
    pub const fn new() -> Self {
        Self(Cell::new(Err("connecting")))
    }

    /// There is a connection.
    pub fn connected(&self) {
        self.0.set(Ok(()));
    }

    /// There is none, for this reason. Returns whether that is news.
    pub fn lost(&self, why: &'static str) -> bool {
        self.0.replace(Err(why)) != Err(why)
    }

    /// Whether there is a connection.
    pub fn is_connected(&self) -> bool {
        self.0.get().is_ok()
    }

    /// The state in words.
    pub fn text(&self) -> &'static str {
        match self.0.get() {
            Ok(()) => "connected",
            Err(why) => why,
        }
    }
}
