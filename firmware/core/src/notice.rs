//! Notices on the topic `log`: the few things that people should know, not the whole log.

use core::cell::RefCell;
use core::fmt;

use embassy_sync::blocking_mutex::Mutex;
use embassy_sync::blocking_mutex::raw::NoopRawMutex;
use embassy_time::Instant;
use heapless::String;
use serde::Serialize;

use crate::json::Overflow;
use crate::queue::Queue;
use crate::{limits, text};

/// The severity of a notice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// For information.
    Info,
    /// Something does not work for now.
    Warning,
    /// Somebody has to fix it.
    Error,
}

impl Level {
    /// Its name in the payload.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// One notice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// The severity.
    pub level: Level,
    /// A sentence or two.
    pub text: String<{ limits::NOTICE }>,
}

impl Notice {
    /// What is too long is cut.
    pub fn new(level: Level, text: fmt::Arguments<'_>) -> Self {
        Self { level, text: text::clip(&text) }
    }

    /// Writes the payload, and returns its length.
    pub(crate) fn write(&self, buffer: &mut [u8]) -> Result<usize, Overflow> {
        #[derive(Serialize)]
        struct Fields<'a> {
            level: &'a str,
            text: &'a str,
        }
        let fields = Fields { level: self.level.as_str(), text: &self.text };
        serde_json_core::to_slice(&fields, buffer).map_err(|_| Overflow)
    }
}

/// Notices that wait to be published, and the last ones as text. A hub that is offline for long keeps the newest.
pub struct Notices {
    waiting: Queue<Notice, { limits::NOTICES }>,
    recent: Mutex<NoopRawMutex, RefCell<Recent>>,
}

impl Notices {
    /// None.
    pub const fn new() -> Self {
        Self { waiting: Queue::new(), recent: Mutex::new(RefCell::new(Recent::new())) }
    }

    /// Adds a notice, to be published. A full queue evicts its oldest.
    pub fn push(&self, notice: Notice) {
        self.note(notice.level, format_args!("{}", notice.text));
        self.waiting.push(notice);
    }

    /// Remembers something that is not to be published.
    pub fn note(&self, level: Level, text: fmt::Arguments<'_>) {
        self.recent.lock(|recent| recent.borrow_mut().add(Instant::now().as_secs(), level, text));
    }

    /// Takes the oldest that waits.
    pub fn pop(&self) -> Option<Notice> {
        self.waiting.pop()
    }

    /// How many were evicted before they could be published.
    pub fn evicted(&self) -> u32 {
        self.waiting.evicted()
    }

    /// Waits until there is one to publish.
    pub async fn ready(&self) {
        self.waiting.ready().await;
    }

    /// Drops everything.
    pub fn clear(&self) {
        self.waiting.clear();
        self.recent.lock(|recent| *recent.borrow_mut() = Recent::new());
    }

    /// Calls `look` with the last ones, a line each, the oldest first. Returns how many older ones had to go.
    pub fn read(&self, look: &mut dyn FnMut(&str)) -> u32 {
        self.recent.lock(|recent| {
            let recent = recent.borrow();
            look(&recent.lines);
            recent.dropped
        })
    }
}

/// The last notices, a line each.
struct Recent {
    lines: String<{ limits::RECENT_NOTICES }>,
    dropped: u32,
}

impl Recent {
    const fn new() -> Self {
        Self { lines: String::new(), dropped: 0 }
    }

    fn add(&mut self, second: u64, level: Level, text: fmt::Arguments<'_>) {
        let text: String<{ limits::RECENT_NOTICE }> = text::one_line(&text);
        let line: String<{ limits::RECENT_NOTICE + 24 }> =
            text::clip(&format_args!("{second:>6} s {}: {text}\n", level.as_str()));
        while self.lines.capacity() - self.lines.len() < line.len() {
            let end = self.lines.bytes().position(|byte| byte == b'\n').map_or(self.lines.len(), |at| at + 1);
            self.lines.drain(..end);
            self.dropped = self.dropped.saturating_add(1);
        }
        // There is room now.
        let _ = self.lines.push_str(&line);
    }
}

#[cfg(test)]
mod tests {
    use super::{Level, Recent};

    #[test]
    fn the_newest_are_kept_as_lines_and_the_others_counted() {
        let mut recent = Recent::new();
        for number in 0..200u32 {
            let many = "x".repeat(number as usize);
            recent.add(7, Level::Warning, format_args!("number {number}\r\nof \x1b many {many}"));
            let lines: std::vec::Vec<_> = recent.lines.lines().collect();
            assert_eq!(lines.len() as u32 + recent.dropped, number + 1);
            for (line, number) in lines.iter().zip(recent.dropped..) {
                let begins = std::format!("     7 s warning: number {number}  of   many ");
                assert!(line.starts_with(&begins), "{line}");
            }
        }
        assert!(recent.dropped > 100);
    }
}
