//! Notices on the topic `log`: the few things that people should know, not the whole log.

use core::fmt;

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

/// Notices that wait to be published. A hub that is offline for long keeps the newest.
pub type Notices = Queue<Notice, { limits::NOTICES }>;
