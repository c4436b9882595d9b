//! The log, kept in memory for a test to look at.

use std::cell::RefCell;
use std::time::Duration;

use tokio::time::{sleep, timeout};

use crate::client::PATIENCE;

thread_local! {
    /// Who logged what on this thread, and so in this test.
    static LOG: RefCell<Vec<(String, String)>> = const { RefCell::new(Vec::new()) };
}

/// What to do when something is logged: the words, and the action.
type Watch = (String, Box<dyn FnMut()>);

thread_local! {
    static WATCH: RefCell<Option<Watch>> = const { RefCell::new(None) };
}

/// From now on, does `action` in the moment in which a line with `words` is logged on this thread. One at a time, until the
/// log begins anew.
pub fn when_logged(words: &str, action: impl FnMut() + 'static) {
    WATCH.set(Some((words.into(), Box::new(action))));
}

struct MemoryLog;

impl log::Log for MemoryLog {
    fn enabled(&self, _: &log::Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &log::Record<'_>) {
        let line = format!("{} {}", record.level(), record.args());
        LOG.with_borrow_mut(|log| log.push((record.target().to_owned(), line.clone())));
        WATCH.with_borrow_mut(|watch| match watch {
            Some((words, action)) if line.contains(words.as_str()) => action(),
            _ => {}
        });
    }

    fn flush(&self) {}
}

/// Keeps what is logged on this thread from now on, at every level.
pub fn log_to_memory() {
    static LOGGER: MemoryLog = MemoryLog;
    // Every test does this; only the first succeeds.
    let _ = log::set_logger(&LOGGER);
    log::set_max_level(log::LevelFilter::Trace);
    LOG.with_borrow_mut(Vec::clear);
    WATCH.set(None);
}

/// What modules whose path begins with `module` have logged so far; all of them if it is empty.
pub fn log_of(module: &str) -> String {
    let of = |(target, line): &(String, String)| target.starts_with(module).then(|| line.clone());
    LOG.with_borrow(|log| log.iter().filter_map(of).collect::<Vec<_>>().join("\n"))
}

/// What the hub has logged so far.
pub fn log_text() -> String {
    log_of("hub_")
}

/// Asserts that the hub has logged `words`.
#[track_caller]
pub fn assert_logged(words: &str) {
    assert!(log_text().contains(words), "{words:?} is not in the log:\n{}", log_text());
}

/// Asserts that the hub has not logged `words`.
#[track_caller]
pub fn assert_not_logged(words: &str) {
    assert!(!log_text().contains(words), "{words:?} is in the log:\n{}", log_text());
}

/// Asserts how often the hub has logged `words`.
#[track_caller]
pub fn assert_logged_times(count: usize, words: &str) {
    assert_eq!(log_text().matches(words).count(), count, "{words:?} in the log:\n{}", log_text());
}

/// Waits until the hub has logged `words`.
pub async fn logged(words: &str) {
    let found = async {
        while !log_text().contains(words) {
            sleep(Duration::from_millis(1)).await;
        }
    };
    timeout(PATIENCE, found).await.unwrap_or_else(|_| panic!("{words:?} is not in the log:\n{}", log_text()));
}
