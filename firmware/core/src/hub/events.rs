//! What is published as it happens, on `event/…`.

use embassy_sync::blocking_mutex::raw::NoopRawMutex;
use embassy_sync::channel::Channel;
use serde::Serialize;
use serde_json_core::to_slice;

use crate::conversations::ConversationId;
use crate::json::Overflow;
use crate::limits;
use crate::mqtt::{Topic, Topics};
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
            Self::Tool(_) => topics.tool_events(),
            Self::Chat { .. } => topics.chat_events(),
        }
    }

    /// Writes the payload, and returns its length.
    pub(super) fn write(&self, buffer: &mut [u8]) -> Result<usize, Overflow> {
        #[derive(Serialize)]
        struct Tool<'a> {
            name: &'a str,
            success: bool,
            execution_time_ms: u64,
            slow: bool,
        }
        #[derive(Serialize)]
        struct Chat<'a> {
            conversation: &'a str,
            state: &'a str,
            #[serde(skip_serializing_if = "Option::is_none")]
            tool: Option<&'a str>,
        }
        let written = match self {
            Self::Tool(event) => {
                let slow = event.is_slow();
                let tool::Execution { name, success, milliseconds } = event;
                to_slice(&Tool { name, success: *success, execution_time_ms: *milliseconds, slow }, buffer)
            }
            Self::Chat { conversation, state, tool } => {
                to_slice(&Chat { conversation, state, tool: tool.as_deref() }, buffer)
            }
        };
        written.map_err(|_| Overflow)
    }
}

/// Events that wait to be published.
pub(super) struct Events(Channel<NoopRawMutex, Event, { limits::EVENTS }>);

impl Events {
    pub(super) const fn new() -> Self {
        Self(Channel::new())
    }

    /// Has an event published. If too many wait, the oldest is evicted.
    pub(super) fn push(&self, event: Event) {
        if self.0.is_full() {
            let _ = self.0.try_receive();
        }
        // There is room now.
        let _ = self.0.try_send(event);
    }

    /// The next event to publish.
    pub(super) fn next(&self) -> Option<Event> {
        self.0.try_receive().ok()
    }

    /// Waits until there is one.
    pub(super) async fn ready(&self) {
        self.0.ready_to_receive().await;
    }

    /// Forgets what an earlier run left.
    pub(super) fn clear(&self) {
        self.0.clear();
    }
}
