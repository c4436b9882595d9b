//! The hub's log, kept in memory for a test to look at.

use std::cell::RefCell;

thread_local! {
    static LOG: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

struct MemoryLog;

impl log::Log for MemoryLog {
    fn enabled(&self, metadata: &log::Metadata<'_>) -> bool {
        metadata.target().starts_with("hub_core")
    }

    fn log(&self, record: &log::Record<'_>) {
        if self.enabled(record.metadata()) {
            LOG.with_borrow_mut(|log| log.push(format!("{} {}", record.level(), record.args())));
        }
    }

    fn flush(&self) {}
}

/// Keeps what is logged on this thread from now on.
pub fn log_to_memory() {
    static LOGGER: MemoryLog = MemoryLog;
    // Every test does this; the first one wins.
    let _ = log::set_logger(&LOGGER);
    log::set_max_level(log::LevelFilter::Trace);
    LOG.with_borrow_mut(Vec::clear);
}

/// What has been logged so far.
pub fn log_text() -> String {
    LOG.with_borrow(|log| log.join("\n"))
}
