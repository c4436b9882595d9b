//! Notices on the topic `log`: the few things that people should know, not the whole log. In a storm of them most are left
//! out and counted, so that whoever causes it can neither fill the topic nor hide what came before. Alarms are never left out:
//! whoever causes them must not be able to hide them in a storm of other notices.

use core::cell::{Cell, RefCell};
use core::fmt;

use embassy_sync::blocking_mutex::Mutex;
use embassy_sync::blocking_mutex::raw::NoopRawMutex;
use embassy_time::Instant;
use heapless::String;

use crate::json::{Overflow, Writer};
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
    /// Whether it is published however many others there are.
    pub is_alarm: bool,
}

impl Notice {
    /// What is too long is cut.
    pub fn new(level: Level, text: fmt::Arguments<'_>) -> Self {
        Self { level, text: text::clip(&text), is_alarm: false }
    }

    /// A notice that no storm of others suppresses. Its cause must be rare in itself.
    pub fn alarm(level: Level, text: fmt::Arguments<'_>) -> Self {
        Self { is_alarm: true, ..Self::new(level, text) }
    }

    /// Writes the payload, and returns its length.
    pub(crate) fn write(&self, buffer: &mut [u8]) -> Result<usize, Overflow> {
        let mut writer = Writer::new(buffer);
        writer.object(|out| {
            out.field("level", self.level.as_str());
            out.field("text", self.text.as_str());
        });
        writer.finish()
    }
}

/// Notices that wait to be published, and the last ones as text. A hub that is offline for long keeps the newest.
pub struct Notices {
    waiting: Queue<Notice, { limits::NOTICES }>,
    allowance: Cell<Allowance>,
    recent: Mutex<NoopRawMutex, RefCell<Recent>>,
}

impl Notices {
    /// None.
    pub const fn new() -> Self {
        Self {
            waiting: Queue::new(),
            allowance: Cell::new(Allowance::new()),
            recent: Mutex::new(RefCell::new(Recent::new())),
        }
    }

    /// Adds a notice, to be published, unless there are too many and it is no alarm. A full queue evicts its oldest that is none.
    pub fn push(&self, notice: Notice) {
        if notice.is_alarm {
            return self.add(notice);
        }
        let mut allowance = self.allowance.get();
        let left_out = allowance.take(Instant::now().as_secs());
        self.allowance.set(allowance);
        match left_out {
            None => return,
            Some(0) => {}
            Some(count) => {
                let words = format_args!("{count} notices were left out: too many at once.");
                self.add(Notice::new(Level::Warning, words));
            }
        }
        self.add(notice);
    }

    fn add(&self, notice: Notice) {
        self.note(notice.level, format_args!("{}", notice.text));
        self.waiting.push_evicting(notice, |waiting| !waiting.is_alarm);
    }

    /// Remembers something that is not to be published.
    pub fn note(&self, level: Level, text: fmt::Arguments<'_>) {
        self.recent.lock(|recent| recent.borrow_mut().add(Instant::now().as_secs(), level, text));
    }

    /// Takes the oldest that waits.
    pub fn pop(&self) -> Option<Notice> {
        self.waiting.pop()
    }

    /// How many were evicted before they could be published, or left out in a storm.
    pub fn dropped(&self) -> u32 {
        let Allowance { left_out, left_out_before, .. } = self.allowance.get();
        self.waiting.evicted().saturating_add(left_out.saturating_add(left_out_before).into())
    }

    /// Waits until there is one to publish.
    pub async fn ready(&self) {
        self.waiting.ready().await;
    }

    /// Drops everything.
    pub fn clear(&self) {
        self.waiting.clear();
        self.allowance.set(Allowance::new());
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

/// How many notices may come now. All zeros when new.
#[derive(Clone, Copy)]
struct Allowance {
    /// Notices of late, one less after each pause.
    used: u8,
    /// Left out since the last one.
    left_out: u16,
    /// Left out before that.
    left_out_before: u16,
    /// The second in which `used` was right.
    second: u32,
}

impl Allowance {
    const fn new() -> Self {
        Self { used: 0, left_out: 0, left_out_before: 0, second: 0 }
    }

    /// Allows a notice, and returns how many were left out before it; `None` if it is left out, too.
    fn take(&mut self, second: u64) -> Option<u16> {
        // After 136 years the allowance stays what it is.
        let second = u32::try_from(second).unwrap_or(u32::MAX);
        let pause = limits::NOTICE_PAUSE.as_secs() as u32;
        let pauses = second.saturating_sub(self.second) / pause;
        self.used = self.used.saturating_sub(u8::try_from(pauses).unwrap_or(u8::MAX));
        self.second = if self.used == 0 { second } else { self.second.saturating_add(pauses * pause) };
        if self.used >= limits::NOTICE_BURST {
            self.left_out = self.left_out.saturating_add(1);
            return None;
        }
        self.used += 1;
        self.left_out_before = self.left_out_before.saturating_add(self.left_out);
        Some(core::mem::take(&mut self.left_out))
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
    use super::{Allowance, Level, Recent};
    use crate::limits;

    #[test]
    fn a_storm_passes_a_burst_and_then_one_after_each_pause() {
        let (burst, pause) = (u64::from(limits::NOTICE_BURST), limits::NOTICE_PAUSE.as_secs());
        let mut allowance = Allowance::new();
        let start = 1_000_003;
        let passed = |allowance: &mut Allowance, from: u64, seconds: u64| {
            let tries = (from..from + seconds).flat_map(|second| [second; 50]);
            let taken: std::vec::Vec<_> = tries.filter_map(|second| allowance.take(second)).collect();
            (taken.len() as u64, taken.iter().map(|count| u64::from(*count)).sum::<u64>())
        };
        // In an hour of fifty a second, each that did not pass is counted.
        let (count, left_out) = passed(&mut allowance, start, 3600);
        assert_eq!(count, burst + 3599 / pause);
        assert_eq!(count + left_out + u64::from(allowance.left_out), 3600 * 50);
        // An hour later there may be a burst again.
        assert_eq!(passed(&mut allowance, start + 7200, 1).0, burst);
        // One in each pause passes for ever.
        let mut allowance = Allowance::new();
        assert!((0..1000).all(|number| allowance.take(start + number * pause) == Some(0)));
    }

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
