//! Conversations as the hub keeps them: what was said in each, and who is in one right now.
//!
//! There are [`limits::TALKS`] of them; the one that was silent for longest makes place for a new one. In
//! [`limits::TALKS_AT_ONCE`] somebody can wait for an answer at the same time, so that the other jobs stay free for those
//! who call tools directly.

use core::cell::{Cell, RefCell};

use embassy_sync::blocking_mutex::raw::NoopRawMutex;
use embassy_sync::mutex::{Mutex, MutexGuard};
use embassy_sync::signal::Signal;
use heapless::String;

use crate::chat::{Ask, History, Rule, provider};
use crate::json::Writer;
use crate::limits;
use crate::log::warn;
use crate::tool::Registry;

/// The name of a conversation.
pub type ConversationId = String<{ limits::CONVERSATION }>;

/// One conversation.
pub struct Talk {
    /// What was said.
    pub history: History,
    /// The system prompt of the turn that is going on.
    pub system: String<{ limits::PROMPT }>,
    /// The rule of that turn, as JSON.
    pub rule: String<{ limits::RULE }>,
    /// Whether that turn has tools.
    pub has_tools: bool,
}

impl Talk {
    const fn new() -> Self {
        Self { history: History::new(), system: String::new(), rule: String::new(), has_tools: false }
    }
}

struct Place {
    id: RefCell<ConversationId>,
    /// When it was last entered, in turns of the whole hub; 0 if never.
    entered: Cell<u32>,
    is_busy: Cell<bool>,
    cancelled: Signal<NoopRawMutex, ()>,
    talk: Mutex<NoopRawMutex, Talk>,
}

/// Why nobody can enter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Closed {
    /// Somebody waits for an answer in that very conversation.
    Waiting,
    /// As many as can be are waiting for answers.
    Full,
}

/// All conversations of a hub.
pub struct Talks {
    places: [Place; limits::TALKS],
    turns: Cell<u32>,
}

impl Talks {
    /// None yet.
    pub const fn new() -> Self {
        Self {
            places: [const {
                Place {
                    id: RefCell::new(ConversationId::new()),
                    entered: Cell::new(0),
                    is_busy: Cell::new(false),
                    cancelled: Signal::new(),
                    talk: Mutex::new(Talk::new()),
                }
            }; limits::TALKS],
            turns: Cell::new(0),
        }
    }

    /// Enters a conversation, which is a new one if there is none of that name.
    pub fn enter(&self, id: &ConversationId) -> Result<Seat<'_>, Closed> {
        if self.places.iter().filter(|place| place.is_busy.get()).count() >= limits::TALKS_AT_ONCE {
            return Err(Closed::Full);
        }
        let known = self.places.iter().position(|place| place.has(id));
        if known.and_then(|index| self.places.get(index)).is_some_and(|place| place.is_busy.get()) {
            return Err(Closed::Waiting);
        }
        let silent = || {
            let free = self.places.iter().enumerate().filter(|(_, place)| !place.is_busy.get());
            free.min_by_key(|(_, place)| place.entered.get()).map(|(index, _)| index)
        };
        let index = known.or_else(silent).ok_or(Closed::Full)?;
        let place = self.places.get(index).ok_or(Closed::Full)?;
        let mut talk = place.talk.try_lock().map_err(|_| Closed::Waiting)?;
        if known.is_none() {
            talk.history.clear();
            if let Ok(mut name) = place.id.try_borrow_mut() {
                name.clone_from(id);
            }
        }
        self.turns.set(self.turns.get().saturating_add(1));
        place.entered.set(self.turns.get());
        place.is_busy.set(true);
        place.cancelled.reset();
        Ok(Seat { index, place })
    }

    /// Ends the turn that is going on in a conversation. Returns whether there is one.
    pub fn cancel(&self, id: &str) -> bool {
        let waiting = self.places.iter().find(|place| place.has(id) && place.is_busy.get());
        waiting.map(|place| place.cancelled.signal(())).is_some()
    }

    /// Writes what the model is asked in conversation `index`. `None` if it does not fit.
    pub(crate) fn question(&self, index: usize, registry: &Registry, buffer: &mut [u8]) -> Option<usize> {
        let talk = self.places.get(index)?.talk.try_lock().ok()?;
        let rule = Rule::parse(&talk.rule).ok()?;
        let tools = talk.has_tools.then_some(registry);
        let ask = Ask { rule: &rule, system: &talk.system, history: &talk.history, tools };
        let mut writer = Writer::new(buffer);
        if let Some(last) = provider::write(&ask, &mut writer).ok()? {
            warn!("chat: not all tools fit into a question; those after {} are left out", last.as_str());
        }
        writer.finish().ok()
    }

    /// Forgets everything.
    pub(crate) fn clear(&self) {
        for place in &self.places {
            place.entered.set(0);
            place.is_busy.set(false);
            if let Ok(mut id) = place.id.try_borrow_mut() {
                id.clear();
            }
        }
    }
}

impl Default for Talks {
    fn default() -> Self {
        Self::new()
    }
}

impl Place {
    fn has(&self, id: &str) -> bool {
        self.entered.get() > 0 && self.id.try_borrow().is_ok_and(|name| name.as_str() == id)
    }
}

/// Somebody in a conversation, until it is dropped.
pub struct Seat<'a> {
    /// Which one.
    pub index: usize,
    place: &'a Place,
}

impl Seat<'_> {
    /// The conversation. Nobody else changes it; it must not be held while the model is asked.
    pub async fn talk(&self) -> MutexGuard<'_, NoopRawMutex, Talk> {
        self.place.talk.lock().await
    }

    /// The conversation, if nobody looks at it.
    pub fn try_talk(&self) -> Option<MutexGuard<'_, NoopRawMutex, Talk>> {
        self.place.talk.try_lock().ok()
    }

    /// Waits until somebody wants the turn to end.
    pub async fn cancelled(&self) {
        self.place.cancelled.wait().await;
    }
}

impl Drop for Seat<'_> {
    fn drop(&mut self) {
        self.place.is_busy.set(false);
    }
}
