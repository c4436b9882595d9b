//! What the hub tells people about itself, on the topic `log`: the few things they should know of, not the whole log.

use core::fmt;

use heapless::String;
use serde::Serialize;

use crate::json::Overflow;
use crate::queue::Queue;
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

/// Notices that wait to be published. A hub that is offline for long keeps the newest.
pub type Notices = Queue<Notice, { limits::NOTICES }>;
