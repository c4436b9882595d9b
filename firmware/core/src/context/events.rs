//! What is published as it happens, on `event/…`.

use core::cell::Cell;

use embassy_time::{Duration, with_timeout};

use crate::conversations::ConversationId;
use crate::json::{Overflow, Writer};
use crate::limits;
use crate::mqtt::{BrokerStatus, Topic, Topics};
use crate::queue::Queue;
use crate::tool::{self, Name};

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum HubEvent {
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

impl HubEvent {
    pub(crate) fn topic(&self, topics: &Topics<'_>) -> Topic {
        match self {
            Self::Tool(_) => topics.own("event/tool"),
            Self::Chat { .. } => topics.own("event/chat"),
        }
    }

    /// Writes the payload, and returns its length.
    pub(crate) fn write(&self, buffer: &mut [u8]) -> Result<usize, Overflow> {
        let mut writer = Writer::new(buffer);
        writer.object(|out| match self {
            Self::Tool(event) => {
                out.field("name", event.name.as_str());
                out.field("success", event.success);
                out.field("execution_time_ms", event.milliseconds);
                out.field("slow", event.is_slow());
            }
            Self::Chat { conversation, state, tool } => {
                out.field("conversation", conversation.as_str());
                out.field("state", *state);
                if let Some(tool) = tool {
                    out.field("tool", tool.as_str());
                }
            }
        });
        writer.finish()
    }
}

/// Events that wait to be published.
pub(crate) struct Events {
    queue: Queue<HubEvent, { limits::EVENTS }>,
    /// The number of turn events in the queue.
    chats: Cell<usize>,
    /// Whether the broker took no event during a whole wait.
    is_stuck: Cell<bool>,
    /// The number of events that were dropped before they were queued.
    dropped: Cell<u32>,
}

impl Events {
    pub(crate) const fn new() -> Self {
        Self { queue: Queue::new(), chats: Cell::new(0), is_stuck: Cell::new(false), dropped: Cell::new(0) }
    }

    /// Waits until there is room for one more event, so that none is lost in a burst. Returns at once without a
    /// connection, or if the broker takes no events.
    ///
    /// The room is guaranteed until the caller next awaits: it has to [`push`](Self::push) before that.
    pub(crate) async fn has_room(&self, broker: &BrokerStatus, patience: Duration) {
        if broker.is_connected() && !self.is_stuck.get() {
            let is_late = with_timeout(patience, self.queue.has_room()).await.is_err();
            self.is_stuck.set(is_late && patience >= limits::EVENT_WAIT);
        }
    }

    /// Whether [`push`](Self::push) would lose a tool event.
    pub(crate) fn is_full_of_tools(&self) -> bool {
        self.queue.is_full() && self.chats.get() == 0
    }

    /// Adds an event. If the queue is full, the oldest turn event is dropped. If only tool events are queued, a new tool event
    /// replaces the oldest one, and a new turn event is dropped.
    pub(crate) fn push(&self, event: HubEvent) {
        let is_chat = matches!(event, HubEvent::Chat { .. });
        if is_chat && self.is_full_of_tools() {
            return self.dropped.set(self.dropped.get().saturating_add(1));
        }
        let chats = self.chats.get() + usize::from(is_chat);
        self.chats.set(chats - usize::from(self.queue.is_full()).min(self.chats.get()));
        self.queue.push_evicting(event, |event| matches!(event, HubEvent::Chat { .. }));
    }

    /// Removes and returns the oldest event.
    pub(crate) fn pop(&self) -> Option<HubEvent> {
        self.is_stuck.set(false);
        let event = self.queue.pop();
        if let Some(HubEvent::Chat { .. }) = event {
            self.chats.set(self.chats.get().saturating_sub(1));
        }
        event
    }

    /// Waits until there is an event.
    pub(crate) async fn ready(&self) {
        self.queue.ready().await;
    }

    /// The number of lost events.
    pub(crate) fn evicted(&self) -> u32 {
        self.queue.evicted().saturating_add(self.dropped.get())
    }

    pub(crate) fn clear(&self) {
        self.queue.clear();
        self.chats.set(0);
        self.dropped.set(0);
    }
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use super::*;

    fn tool() -> HubEvent {
        HubEvent::Tool(tool::Execution { name: Name::new(), success: true, milliseconds: 0 })
    }

    fn chat(state: &'static str) -> HubEvent {
        HubEvent::Chat { conversation: ConversationId::new(), state, tool: None }
    }

    fn names(events: &Events) -> Vec<&'static str> {
        let name = |event| match event {
            HubEvent::Tool(_) => "tool",
            HubEvent::Chat { state, .. } => state,
        };
        core::iter::from_fn(|| events.pop().map(name)).collect()
    }

    #[test]
    fn turn_events_never_evict_tool_events() {
        let events = Events::new();
        (1..limits::EVENTS).for_each(|_| events.push(tool()));
        for state in ["waiting", "calling"] {
            events.push(chat(state));
        }
        assert!(!events.is_full_of_tools());
        events.push(tool());
        assert!(events.is_full_of_tools());
        events.push(chat("done"));
        assert_eq!(names(&events), ["tool"; limits::EVENTS]);
        assert_eq!(events.evicted(), 3);
        // With only tool events in the queue, the oldest of them is evicted.
        (0..=limits::EVENTS).for_each(|_| events.push(tool()));
        assert_eq!((names(&events).len(), events.evicted()), (limits::EVENTS, 4));
        [chat("waiting"), tool(), chat("done")].into_iter().for_each(|event| events.push(event));
        assert_eq!(names(&events), ["waiting", "tool", "done"]);
    }
}
