//! The set of declared tools, which can be taken once.

use core::cell::Cell;

use embassy_sync::blocking_mutex::Mutex;
use embassy_sync::blocking_mutex::raw::CriticalSectionRawMutex;

use super::Tool;

/// Tools that wait to be registered. Whoever takes them first has them; the second time there are none, even if two
/// threads race for them.
pub struct DeclaredTools(Mutex<CriticalSectionRawMutex, Cell<&'static [&'static Tool<'static>]>>);

impl DeclaredTools {
    /// These, not taken yet.
    pub const fn new(tools: &'static [&'static Tool<'static>]) -> Self {
        Self(Mutex::new(Cell::new(tools)))
    }

    /// Takes them all, in the order of their declaration.
    pub fn take(&self) -> &'static [&'static Tool<'static>] {
        self.0.lock(|tools| tools.replace(&[]))
    }
}
