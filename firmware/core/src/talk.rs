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
use crate::json::{Overflow, Writer};
use crate::limits;
use crate::log::{debug, warn};
use crate::tool::Registry;

/// The name of a conversation.
pub type ConversationId = String<{ limits::CONVERSATION }>;

/// What a turn that is going on goes by.
pub struct Brief {
    /// The system prompt.
    pub system: String<{ limits::PROMPT }>,
    /// The rule, as JSON.
    pub rule: String<{ limits::RULE }>,
    /// Whether the turn has tools.
    pub has_tools: bool,
}

impl Brief {
    const fn new() -> Self {
        Self { system: String::new(), rule: String::new(), has_tools: false }
    }
}

/// A conversation with a turn going on.
pub struct Talk<'a> {
    /// What was said.
    pub history: MutexGuard<'a, NoopRawMutex, History>,
    /// What the turn goes by.
    pub brief: MutexGuard<'a, NoopRawMutex, Brief>,
}

/// One conversation.
struct Place {
    id: RefCell<ConversationId>,
    /// When it was last entered, in turns of the whole hub; 0 if never.
    entered: Cell<u32>,
    /// The conversation that is to have the place, until its turn begins.
    newcomer: RefCell<Option<ConversationId>>,
    /// Which brief its turn has, if one is going on.
    turn: Cell<Option<usize>>,
    cancelled: Signal<NoopRawMutex, ()>,
    history: Mutex<NoopRawMutex, History>,
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
    briefs: [Mutex<NoopRawMutex, Brief>; limits::TALKS_AT_ONCE],
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
                    newcomer: RefCell::new(None),
                    turn: Cell::new(None),
                    cancelled: Signal::new(),
                    history: Mutex::new(History::new()),
                }
            }; limits::TALKS],
            briefs: [const { Mutex::new(Brief::new()) }; limits::TALKS_AT_ONCE],
            turns: Cell::new(0),
        }
    }

    /// Enters a conversation, which is a new one if there is none of that name. Nothing is forgotten for it before a turn
    /// [begins](Seat::begin).
    pub fn enter(&self, id: &ConversationId) -> Result<Seat<'_>, Closed> {
        let is_taken = |turn: usize| self.places.iter().any(|place| place.turn.get() == Some(turn));
        let known = self.places.iter().position(|place| place.has(id) || place.awaits(id));
        if known.and_then(|index| self.places.get(index)).is_some_and(|place| place.turn.get().is_some()) {
            return Err(Closed::Waiting);
        }
        let turn = (0..limits::TALKS_AT_ONCE).find(|turn| !is_taken(*turn)).ok_or(Closed::Full)?;
        let silent = || {
            let free = self.places.iter().enumerate().filter(|(_, place)| place.turn.get().is_none());
            free.min_by_key(|(_, place)| place.entered.get()).map(|(index, _)| index)
        };
        let index = known.or_else(silent).ok_or(Closed::Full)?;
        let (place, brief) = self.places.get(index).zip(self.briefs.get(turn)).ok_or(Closed::Full)?;
        let mut newcomer = place.newcomer.try_borrow_mut().map_err(|_| Closed::Waiting)?;
        *newcomer = known.is_none().then(|| id.clone());
        self.turns.set(self.turns.get().saturating_add(1));
        place.turn.set(Some(turn));
        place.cancelled.reset();
        Ok(Seat { index, place, brief, number: self.turns.get() })
    }

    /// Ends the turn that is going on in a conversation. Returns whether there is one.
    pub fn cancel(&self, id: &str) -> bool {
        let is_it = |place: &&Place| place.turn.get().is_some() && place.serves(id);
        let waiting = self.places.iter().find(is_it);
        waiting.map(|place| place.cancelled.signal(())).is_some()
    }

    /// Writes what the model is asked in conversation `index`. If it does not fit with all tools, then with `all_tools`
    /// there is `None`; otherwise the oldest turns are left out, and at last tools.
    pub(crate) fn question(
        &self,
        index: usize,
        registry: &Registry,
        all_tools: bool,
        buffer: &mut [u8],
    ) -> Option<usize> {
        let place = self.places.get(index)?;
        let brief = self.briefs.get(place.turn.get()?)?.try_lock().ok()?;
        let history = place.history.try_lock().ok()?;
        let rule = Rule::parse(&brief.rule).ok()?;
        // They may all have left in the middle of the turn.
        let tools = (brief.has_tools && rule.tools.has_some(registry)).then_some(registry);
        let mut ask = Ask { rule: &rule, system: &brief.system, history: &history, forgotten: 0, tools };
        loop {
            let mut writer = Writer::new(buffer);
            let last = match provider::write(&ask, &mut writer) {
                Ok(None) => break writer.finish().ok(),
                Ok(Some(last)) => Some(last),
                Err(Overflow) => None,
            };
            if all_tools {
                break None;
            }
            // What was said long ago makes place for what can be done now.
            let left = history.turns().saturating_sub(ask.forgotten);
            if left > 1 {
                ask.forgotten += left.div_ceil(4);
                debug!(
                    "chat: the {} oldest turns are left out of a question that is too long",
                    ask.forgotten
                );
                continue;
            }
            let last = last?;
            warn!("chat: not all tools fit into a question; those after {} are left out", last.as_str());
            break writer.finish().ok();
        }
    }

    /// Forgets everything.
    pub(crate) fn clear(&self) {
        for place in &self.places {
            place.entered.set(0);
            place.turn.set(None);
            if let Ok(mut newcomer) = place.newcomer.try_borrow_mut() {
                *newcomer = None;
            }
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
    /// Whether what was said in this conversation is kept here.
    fn has(&self, id: &str) -> bool {
        self.entered.get() > 0 && self.id.try_borrow().is_ok_and(|name| name.as_str() == id)
    }

    /// Whether this conversation is to have the place.
    fn awaits(&self, id: &str) -> bool {
        self.newcomer.try_borrow().is_ok_and(|newcomer| newcomer.as_deref() == Some(id))
    }

    /// Whether the turn that is going on is one of this conversation.
    fn serves(&self, id: &str) -> bool {
        let has_newcomer = self.newcomer.try_borrow().is_ok_and(|newcomer| newcomer.is_some());
        if has_newcomer { self.awaits(id) } else { self.has(id) }
    }
}

/// Somebody in a conversation, until it is dropped.
pub struct Seat<'a> {
    /// Which one.
    pub index: usize,
    place: &'a Place,
    brief: &'a Mutex<NoopRawMutex, Brief>,
    /// Which turn of the whole hub it is.
    number: u32,
}

impl Seat<'_> {
    /// A turn begins. Now, and not before, another conversation that had the place is forgotten.
    pub fn begin(&self, history: &mut History) {
        let newcomer = self.place.newcomer.try_borrow_mut().ok().and_then(|mut newcomer| newcomer.take());
        if let (Some(newcomer), Ok(mut id)) = (newcomer, self.place.id.try_borrow_mut()) {
            history.clear();
            *id = newcomer;
        }
        self.place.entered.set(self.number);
    }

    /// The conversation. Nobody else changes it; it must not be held while the model is asked.
    pub async fn talk(&self) -> Talk<'_> {
        Talk { history: self.place.history.lock().await, brief: self.brief.lock().await }
    }

    /// The conversation, if nobody looks at it.
    pub fn try_talk(&self) -> Option<Talk<'_>> {
        Some(Talk { history: self.place.history.try_lock().ok()?, brief: self.brief.try_lock().ok()? })
    }

    /// Waits until somebody wants the turn to end.
    pub async fn cancelled(&self) {
        self.place.cancelled.wait().await;
    }
}

impl Drop for Seat<'_> {
    fn drop(&mut self) {
        self.place.turn.set(None);
        if let Ok(mut newcomer) = self.place.newcomer.try_borrow_mut() {
            *newcomer = None;
        }
    }
}
