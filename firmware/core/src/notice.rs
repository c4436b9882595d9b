//! Notices on the topic `log`: the few things that people should know, not the whole log.

use core::fmt;

use embassy_sync::blocking_mutex::raw::NoopRawMutex;
use embassy_sync::channel::Channel;
use heapless::String;
use serde::Serialize;

use crate::json::Overflow;
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

/// Notices that wait to be published.
pub struct Notices(Channel<NoopRawMutex, Notice, { limits::NOTICES }>);

impl Notices {
    /// None yet.
    pub const fn new() -> Self {
        Self(Channel::new())
    }

    /// Queues a notice. What is too long is cut; if too many wait, the oldest is evicted.
    pub fn push(&self, level: Level, text: fmt::Arguments<'_>) {
        let notice = Notice { level, text: text::clip(&text) };
        if self.0.is_full() {
            let _ = self.0.try_receive();
        }
        // It fits now.
        let _ = self.0.try_send(notice);
    }

    /// Discards the notices of an earlier run.
    pub(crate) fn clear(&self) {
        self.0.clear();
    }

    /// The next notice to publish.
    pub(crate) fn next(&self) -> Option<Notice> {
        self.0.try_receive().ok()
    }

    /// Waits until a notice is queued.
    pub(crate) async fn ready(&self) {
        self.0.ready_to_receive().await;
    }
}

impl Default for Notices {
    fn default() -> Self {
        Self::new()
    }
}
