//! Keeps conversations: their histories, and the turns that run in them.
//!
//! There are [`limits::CONVERSATIONS`]; a new one evicts the least recently used. At most [`limits::RUNNING_TURNS`] turns run at
//! the same time, so that the other jobs stay free for direct tool calls. Beside turns that wait for approval, one runs.

use core::cell::{Cell, RefCell};

use embassy_sync::blocking_mutex::raw::NoopRawMutex;
use embassy_sync::mutex::{Mutex, MutexGuard};
use embassy_sync::signal::Signal;
pub use hub_contract::ConversationId;

use crate::chat::{Ask, History, TurnSettings, provider};
use crate::limits;
use crate::log::warn;
use crate::notice::{Level, Notice};
use crate::questions::TurnId;
use crate::tool::{Registry, ToolNames, ToolSet};

/// A place for one conversation.
struct Conversation {
    id: RefCell<ConversationId>,
    /// The number of its last turn, counted over the whole hub; 0 if it had none.
    last_turn: Cell<u32>,
    /// The conversation that evicts this one as soon as its first turn begins.
    successor: RefCell<Option<ConversationId>>,
    /// The running turn, if any.
    running: Cell<Option<TurnId>>,
    cancelled: Signal<NoopRawMutex, ()>,
    history: Mutex<NoopRawMutex, History>,
}

impl Conversation {
    const fn new() -> Self {
        Self {
            id: RefCell::new(ConversationId::new()),
            last_turn: Cell::new(0),
            successor: RefCell::new(None),
            running: Cell::new(None),
            cancelled: Signal::new(),
            history: Mutex::new(History::new()),
        }
    }

    /// Whether this conversation is kept here.
    fn has(&self, id: &str) -> bool {
        self.last_turn.get() > 0 && self.id.try_borrow().is_ok_and(|name| name.as_str() == id)
    }

    /// Whether this conversation will evict the one that is kept here.
    fn has_successor(&self, id: &str) -> bool {
        self.successor.try_borrow().is_ok_and(|successor| successor.as_deref() == Some(id))
    }

    fn set_successor(&self, id: Option<ConversationId>) {
        if let Ok(mut successor) = self.successor.try_borrow_mut() {
            *successor = id;
        }
    }

    /// Whether a turn of this conversation runs here.
    fn runs(&self, id: &str) -> bool {
        let is_evicted = self.successor.try_borrow().is_ok_and(|successor| successor.is_some());
        let is_it = if is_evicted { self.has_successor(id) } else { self.has(id) };
        is_it && self.running.get().is_some()
    }
}

/// Why a turn cannot begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Occupied {
    /// A turn runs in this conversation.
    Conversation,
    /// The maximum number of turns runs.
    Hub,
}

/// All conversations of a hub.
pub struct Conversations {
    kept: [Conversation; limits::CONVERSATIONS],
    /// Settings of the running turns, by [`TurnId`].
    settings: [Mutex<NoopRawMutex, TurnSettings>; limits::TURNS],
    /// The number of turns so far.
    turns: Cell<u32>,
    /// The tools for which a question had no room, since others were offered.
    left_out: Cell<ToolSet>,
    /// Whether the set of left-out tools has grown since [`Conversations::take_change`].
    has_changed: Cell<bool>,
    /// Whether people still have to be notified of them.
    has_news: Cell<bool>,
}

impl Conversations {
    /// No conversations.
    pub const fn new() -> Self {
        Self {
            kept: [const { Conversation::new() }; limits::CONVERSATIONS],
            settings: [const { Mutex::new(TurnSettings::new()) }; limits::TURNS],
            turns: Cell::new(0),
            left_out: Cell::new(ToolSet::EMPTY),
            has_changed: Cell::new(false),
            has_news: Cell::new(false),
        }
    }

    /// Reserves a conversation for a turn, a new one if the id is unknown. The eviction for a new one happens when the turn
    /// [begins](Reserved::begin). Of the turns that run, so many are `pending`: they wait for approval, and do not keep others
    /// from talking.
    pub fn reserve(&self, id: &ConversationId, pending: usize) -> Result<Reserved<'_>, Occupied> {
        let known = self.kept.iter().find(|kept| kept.has(id) || kept.has_successor(id));
        if known.is_some_and(|known| known.running.get().is_some()) {
            return Err(Occupied::Conversation);
        }
        let running = self.kept.iter().filter(|kept| kept.running.get().is_some()).count();
        if running >= pending + if pending == 0 { limits::RUNNING_TURNS } else { 1 } {
            return Err(Occupied::Hub);
        }
        let is_free = |turn: &TurnId| self.kept.iter().all(|kept| kept.running.get() != Some(*turn));
        let (turn, settings) =
            (0..).map(TurnId).zip(&self.settings).find(|(turn, _)| is_free(turn)).ok_or(Occupied::Hub)?;
        let idle = self.kept.iter().filter(|kept| kept.running.get().is_none());
        let oldest = || idle.min_by_key(|kept| kept.last_turn.get());
        let conversation = known.or_else(oldest).ok_or(Occupied::Hub)?;
        conversation.set_successor(known.is_none().then(|| id.clone()));
        conversation.running.set(Some(turn));
        conversation.cancelled.reset();
        self.turns.set(self.turns.get().saturating_add(1));
        Ok(Reserved { turn, conversation, settings, number: self.turns.get() })
    }

    /// Cancels the running turn of a conversation. Returns whether there is one.
    pub fn cancel(&self, id: &str) -> bool {
        let running = self.kept.iter().find(|kept| kept.runs(id));
        running.map(|running| running.cancelled.signal(())).is_some()
    }

    /// Writes the next question of a running turn to its model; see [`provider::write_to_fit`].
    pub(crate) fn compose(
        &self,
        turn: TurnId,
        registry: &Registry,
        require_all_tools: bool,
        buffer: &mut [u8],
    ) -> Option<usize> {
        let conversation = self.kept.iter().find(|kept| kept.running.get() == Some(turn))?;
        let settings = self.settings.get(usize::from(turn.0))?.try_lock().ok()?;
        let history = conversation.history.try_lock().ok()?;
        let ask = Ask::new(&settings, &history, registry);
        let (length, left_out) = provider::write_to_fit(ask, require_all_tools, buffer)?;
        if !left_out.is_empty() {
            let mut known = self.left_out(registry);
            self.has_news.set(known.is_empty() || self.has_news.get());
            self.has_changed.set(known.join(&left_out) || self.has_changed.get());
            self.left_out.set(known);
        }
        Some(length)
    }

    /// The tools for which a question had no room, since others were offered.
    pub(crate) fn left_out(&self, registry: &Registry) -> ToolSet {
        self.left_out.get().if_still_offered(registry)
    }

    /// Whether more tools have been left out since the last call. Clears the flag.
    pub(crate) fn take_change(&self) -> bool {
        self.has_changed.take()
    }

    /// The notice about left-out tools. Returns it once, until other tools are offered.
    pub(crate) fn take_news(&self, registry: &Registry) -> Option<Notice> {
        let left_out = self.has_news.take().then(|| self.left_out(registry))?;
        let names = ToolNames(&left_out, registry);
        let notice = Notice::new(
            Level::Warning,
            format_args!(
                "chat: the tool list does not fit into one request; allow only the needed tools in the rule \
                 (allowed_tools). Left out: {names}"
            ),
        );
        warn!("{}", notice.text.as_str());
        Some(notice)
    }

    /// Forgets everything.
    pub(crate) fn clear(&self) {
        self.left_out.set(ToolSet::EMPTY);
        self.has_changed.set(false);
        self.has_news.set(false);
        for conversation in &self.kept {
            conversation.last_turn.set(0);
            conversation.running.set(None);
            conversation.set_successor(None);
        }
    }
}

/// A conversation that is reserved for a turn until this is dropped.
pub struct Reserved<'a> {
    /// The turn.
    pub turn: TurnId,
    conversation: &'a Conversation,
    settings: &'a Mutex<NoopRawMutex, TurnSettings>,
    /// The number of the turn, counted over the whole hub.
    number: u32,
}

/// The data of a turn, locked.
pub type Locked<'a> = (MutexGuard<'a, NoopRawMutex, History>, MutexGuard<'a, NoopRawMutex, TurnSettings>);

impl Reserved<'_> {
    /// Begins the turn, and evicts the conversation that was kept here.
    pub fn begin(&self, history: &mut History) {
        let successor = self.conversation.successor.try_borrow_mut().ok().and_then(|mut id| id.take());
        if let (Some(successor), Ok(mut id)) = (successor, self.conversation.id.try_borrow_mut()) {
            history.clear();
            *id = successor;
        }
        self.conversation.last_turn.set(self.number);
    }

    /// Locks the history and the settings of the turn. They must not stay locked while the model is asked.
    pub async fn lock(&self) -> Locked<'_> {
        (self.conversation.history.lock().await, self.settings.lock().await)
    }

    /// The same, if they are not locked already.
    pub fn try_lock(&self) -> Option<Locked<'_>> {
        Some((self.conversation.history.try_lock().ok()?, self.settings.try_lock().ok()?))
    }

    /// Whether the turn is cancelled and nobody has [waited](Self::cancelled) for that yet.
    pub fn is_cancelled(&self) -> bool {
        self.conversation.cancelled.signaled()
    }

    /// Cancels the turn. The next call that waits for the cancellation returns at once.
    pub fn cancel(&self) {
        self.conversation.cancelled.signal(());
    }

    /// Waits until the turn is cancelled.
    pub async fn cancelled(&self) {
        self.conversation.cancelled.wait().await;
    }
}

impl Drop for Reserved<'_> {
    fn drop(&mut self) {
        self.conversation.running.set(None);
        self.conversation.set_successor(None);
    }
}
