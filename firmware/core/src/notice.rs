//! What the hub tells people about itself, on the topic `log`: the few things they should know of, not the whole log.

use core::fmt;

use embassy_sync::blocking_mutex::raw::NoopRawMutex;
use embassy_sync::channel::Channel;
use heapless::String;
use serde::Serialize;

use crate::json::Overflow;
use crate::{limits, text};

/// How much it matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Good to know.
    Info,
    /// Something is missing, for now.
    Warning,
    /// Somebody has to look after it.
    Error,
}

impl Level {
    /// As it stands in a message.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// One thing to tell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// How much it matters.
    pub level: Level,
    /// What it is, in a sentence or two.
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

/// Notices that wait to be published. A hub that is offline for long keeps the newest.
pub struct Notices(Channel<NoopRawMutex, Notice, { limits::NOTICES }>);

impl Notices {
    /// None yet.
    pub const fn new() -> Self {
        Self(Channel::new())
    }

    /// Has a notice published. What is too long is cut; if too many wait, the oldest is evicted.
    pub fn push(&self, level: Level, text: fmt::Arguments<'_>) {
        let notice = Notice { level, text: text::clip(&text) };
        if self.0.is_full() {
            let _ = self.0.try_receive();
        }
        // There is room now.
        let _ = self.0.try_send(notice);
    }

    /// Forgets what an earlier run left.
    pub(crate) fn clear(&self) {
        self.0.clear();
    }

    /// The next notice to publish.
    pub(crate) fn next(&self) -> Option<Notice> {
        self.0.try_receive().ok()
    }

    /// Waits until there is one.
    pub(crate) async fn ready(&self) {
        self.0.ready_to_receive().await;
    }
}

impl Default for Notices {
    fn default() -> Self {
        Self::new()
    }
}
