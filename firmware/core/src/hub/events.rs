//! What is published as it happens, on `event/…`.

use serde::Serialize;
use serde_json_core::to_slice;

use crate::conversations::ConversationId;
use crate::json::Overflow;
use crate::limits;
use crate::mqtt::{Topic, Topics};
use crate::queue::Queue;
use crate::tool::{self, Name};

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Event {
    /// A tool was executed.
    Tool(tool::Execution),
    /// A turn goes on.
    Chat {
        /// Of which conversation.
        conversation: ConversationId,
        /// What it does: `started`, `waiting`, `calling`, `done`.
        state: &'static str,
        /// What it calls.
        tool: Option<Name>,
    },
}

impl Event {
    pub(super) fn topic(&self, topics: &Topics<'_>) -> Topic {
        match self {
            Self::Tool(_) => topics.own("event/tool"),
            Self::Chat { .. } => topics.own("event/chat"),
        }
    }

    /// Writes the payload, and returns its length.
    pub(super) fn write(&self, buffer: &mut [u8]) -> Result<usize, Overflow> {
        #[derive(Serialize)]
        struct ToolFields<'a> {
            name: &'a str,
            success: bool,
            execution_time_ms: u64,
            slow: bool,
        }
        #[derive(Serialize)]
        struct ChatFields<'a> {
            conversation: &'a str,
            state: &'a str,
            #[serde(skip_serializing_if = "Option::is_none")]
            tool: Option<&'a str>,
        }
        let written = match self {
            Self::Tool(event) => {
                let slow = event.is_slow();
                let tool::Execution { name, success, milliseconds } = event;
                to_slice(
                    &ToolFields { name, success: *success, execution_time_ms: *milliseconds, slow },
                    buffer,
                )
            }
            Self::Chat { conversation, state, tool } => {
                to_slice(&ChatFields { conversation, state, tool: tool.as_deref() }, buffer)
            }
        };
        written.map_err(|_| Overflow)
    }
}

/// Events that wait to be published.
pub(super) type Events = Queue<Event, { limits::EVENTS }>;
