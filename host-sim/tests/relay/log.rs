//! The log, kept in memory: each test reads what its own thread wrote.

use std::cell::RefCell;

thread_local! {
    static LINES: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

struct Memory;

impl log::Log for Memory {
    fn enabled(&self, _: &log::Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &log::Record<'_>) {
        LINES.with_borrow_mut(|lines| lines.push(format!("{} {}", record.level(), record.args())));
    }

    fn flush(&self) {}
}

/// Keeps everything that is logged on this thread, at every level.
pub(crate) fn keep() {
    static MEMORY: Memory = Memory;
    // Every test does this; the first one wins.
    let _ = log::set_logger(&MEMORY);
    log::set_max_level(log::LevelFilter::Trace);
}

/// All of it so far.
pub(crate) fn text() -> String {
    LINES.with_borrow(|lines| lines.join("\n"))
}

/// The lines about requests.
pub(crate) fn requests() -> Vec<String> {
    LINES.with_borrow(|lines| lines.iter().filter(|line| line.contains(" asked ")).cloned().collect())
}
