//! Actions that wait for a person's approval.
//!
//! The caller of a dangerous action takes a place and waits. The session publishes pending approvals and their outcomes;
//! a request, or a PIN that is said in the same conversation, decides.

use core::cell::{Cell, RefCell};
use core::fmt::Display;

use embassy_sync::blocking_mutex::raw::NoopRawMutex;
use embassy_sync::signal::Signal;
use embassy_time::{Duration, Instant, with_deadline};
use heapless::String;

use super::LastGuess;
use crate::hash::Fingerprint;
use crate::json::{Overflow, Value, Writer};
use crate::limits;
use crate::text::clip;
use crate::text::spoken::{Spoken, Voice};
use crate::tool::{Caller, Name};

/// The first number of an approval: all have ten digits.
const FIRST_NUMBER: u32 = 1_000_000_000;

/// What became of an action that waits. The first is all zeros, as a new hub's memory is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Verdict {
    /// Nothing yet.
    Waiting,
    /// A person allowed it.
    Allowed,
    /// A person denied it.
    Denied,
    /// Nobody said anything in time.
    Expired,
    /// Whoever wanted it has left.
    Cancelled,
}

impl Verdict {
    /// Its name in the payload.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Allowed => "allowed",
            Self::Denied => "denied",
            Self::Expired => "expired",
            Self::Cancelled => "cancelled",
        }
    }
}

/// What waits for approval.
struct PendingAction {
    what: String<{ limits::APPROVAL }>,
    tool: Name,
    /// The conversation whose model wants it; empty if a person does.
    conversation: String<{ limits::CONVERSATION }>,
    /// The satellite in which people talk, as JSON; empty if there is none.
    satellite: String<{ limits::APPROVAL_SATELLITE }>,
}

/// A place for one of them.
struct Place {
    number: Cell<u32>,
    verdict: Cell<Verdict>,
    /// Somebody waits for the verdict.
    is_taken: Cell<bool>,
    /// The session has to publish it.
    is_due: Cell<bool>,
    /// A satellite has to be notified.
    is_unspoken: Cell<bool>,
    /// A model wants it.
    is_model: Cell<bool>,
    can_use_pin: Cell<bool>,
    until: Cell<Instant>,
    /// When it was decided, or ended in another way.
    ended: Cell<Instant>,
    action: RefCell<PendingAction>,
    decided: Signal<NoopRawMutex, ()>,
}

impl Place {
    const fn new() -> Self {
        Self {
            number: Cell::new(0),
            verdict: Cell::new(Verdict::Waiting),
            is_taken: Cell::new(false),
            is_due: Cell::new(false),
            is_unspoken: Cell::new(false),
            is_model: Cell::new(false),
            can_use_pin: Cell::new(false),
            until: Cell::new(Instant::MIN),
            ended: Cell::new(Instant::MIN),
            action: RefCell::new(PendingAction {
                what: String::new(),
                tool: Name::new(),
                conversation: String::new(),
                satellite: String::new(),
            }),
            decided: Signal::new(),
        }
    }

    fn is_waiting(&self) -> bool {
        self.is_taken.get() && self.verdict.get() == Verdict::Waiting
    }

    fn decide(&self, verdict: Verdict) {
        self.verdict.set(verdict);
        self.ended.set(Instant::now());
        self.is_due.set(true);
        self.decided.signal(());
    }
}

/// There are as many actions that wait as can.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooManyPending;

/// What is waited for, for the person who talks meanwhile.
#[derive(Clone, Debug)]
pub struct Waiting {
    /// Its number.
    pub number: u32,
    /// In words.
    pub what: String<{ limits::APPROVAL }>,
    /// Whether a PIN can be said.
    pub can_use_pin: bool,
}

/// The actions that wait for approval. All zeros when new.
pub struct Approvals {
    places: [Place; limits::APPROVALS],
    seed: Cell<u64>,
    /// The number of the approval on the topic `approval`; 0 if none is shown.
    shown: Cell<u32>,
    /// When the next one may be shown there.
    show_next: Cell<Instant>,
    /// The topic `approval` has to be published.
    is_shown_due: Cell<bool>,
    changed: Signal<NoopRawMutex, ()>,
    /// Of a PIN, in any conversation.
    pub(crate) last_guess: LastGuess,
}

impl Approvals {
    /// No pending approvals.
    pub const fn new() -> Self {
        Self {
            places: [const { Place::new() }; limits::APPROVALS],
            seed: Cell::new(0),
            shown: Cell::new(0),
            show_next: Cell::new(Instant::MIN),
            is_shown_due: Cell::new(false),
            changed: Signal::new(),
            last_guess: LastGuess::new(),
        }
    }

    /// Forgets what an earlier run left half done. The seed differs from start to start.
    pub(crate) fn clear(&self, seed: u64) {
        self.seed.set(seed);
        self.shown.set(0);
        self.show_next.set(Instant::MIN);
        self.last_guess.restart(Instant::now());
        for place in &self.places {
            place.is_taken.set(false);
            place.is_due.set(false);
            place.is_unspoken.set(false);
        }
    }

    /// A number of ten digits for an approval. It depends on the start and on the microsecond, so that a late decision, even
    /// one from before a restart, finds nothing else that it could be for.
    fn next_number(&self) -> u32 {
        let (seed, now) = (self.seed.get(), Instant::now().as_micros());
        let mix = Fingerprint::of(&[&seed.to_le_bytes(), &now.to_le_bytes()]);
        let mut number = FIRST_NUMBER + (mix % u64::from(u32::MAX - FIRST_NUMBER)) as u32;
        while self.find(number).is_some() {
            number = if number == u32::MAX { FIRST_NUMBER } else { number + 1 };
        }
        number
    }

    /// How many turns of conversations wait for approval.
    pub fn pending_turns(&self) -> usize {
        self.places.iter().filter(|place| place.is_waiting() && place.is_model.get()).count()
    }

    /// Has a person asked, for `patience`. The caller [waits](PendingApproval::decided) for what they decide. Of direct calls, one can
    /// wait at a time: the others leave their slots to conversations.
    pub fn ask(
        &self,
        caller: &Caller<'_>,
        what: &dyn Display,
        tool: &str,
        patience: Duration,
        can_use_pin: bool,
    ) -> Result<PendingApproval<'_>, TooManyPending> {
        let is_model = matches!(caller, Caller::Model { .. });
        let is_direct = |place: &Place| place.is_waiting() && !place.is_model.get();
        if !is_model && self.places.iter().any(is_direct) {
            return Err(TooManyPending);
        }
        // One whose end nobody was told of yet is taken only if there is no other.
        let free = || self.places.iter().filter(|place| !place.is_taken.get());
        let place =
            free().find(|place| !place.is_due.get()).or_else(|| free().next()).ok_or(TooManyPending)?;
        if let Ok(mut action) = place.action.try_borrow_mut() {
            action.what = clip(what);
            action.tool = clip(&tool);
            let (conversation, satellite) = match caller {
                Caller::Person => ("", None),
                Caller::Model { conversation, satellite, .. } => (*conversation, *satellite),
            };
            action.conversation = clip(&conversation);
            let satellite = satellite.map(|satellite| satellite.text()).unwrap_or_default();
            action.satellite = String::try_from(satellite).unwrap_or_default();
        }
        let is_spoken = matches!(caller, Caller::Model { is_spoken: true, .. });
        place.number.set(self.next_number());
        place.verdict.set(Verdict::Waiting);
        place.is_taken.set(true);
        place.is_due.set(true);
        place.is_unspoken.set(is_spoken);
        place.is_model.set(is_model);
        place.can_use_pin.set(can_use_pin && is_model);
        place.until.set(Instant::now() + patience);
        place.decided.reset();
        self.changed.signal(());
        Ok(PendingApproval { approvals: self, place })
    }

    /// A person decided. False if nothing with this number waits.
    pub fn decide(&self, number: u32, is_allowed: bool) -> bool {
        let place = self.places.iter().find(|place| place.is_waiting() && place.number.get() == number);
        let verdict = if is_allowed { Verdict::Allowed } else { Verdict::Denied };
        place.map(|place| place.decide(verdict)).is_some()
    }

    /// What waits in a conversation.
    pub fn waiting_in(&self, conversation: &str) -> Option<Waiting> {
        let place = self.place_in(conversation)?;
        let what = place.action.try_borrow().ok()?.what.clone();
        Some(Waiting { number: place.number.get(), what, can_use_pin: place.can_use_pin.get() })
    }

    /// Whether an action that a PIN could have approved has ended in a conversation so recently that a person may still be
    /// saying the PIN. Forgotten as soon as another action takes its place.
    pub fn has_just_ended_in(&self, conversation: &str) -> bool {
        self.places.iter().any(|place| {
            place.verdict.get() != Verdict::Waiting
                && place.can_use_pin.get()
                && Instant::now() < place.ended.get() + limits::PIN_GRACE
                && place.action.try_borrow().is_ok_and(|action| action.conversation == conversation)
        })
    }

    fn place_in(&self, conversation: &str) -> Option<&Place> {
        let is_in = |place: &&Place| {
            place.action.try_borrow().is_ok_and(|action| action.conversation == conversation)
        };
        self.places.iter().filter(|place| place.is_waiting() && place.is_model.get()).find(is_in)
    }

    /// Waits until there is something to publish.
    pub(crate) async fn changed(&self) {
        let is_next_waiting = self.shown.get() == 0 && self.places.iter().any(Place::is_waiting);
        match is_next_waiting {
            // In time or not, there is something to publish.
            true => drop(with_deadline(self.show_next.get(), self.changed.wait()).await),
            false => self.changed.wait().await,
        }
    }

    /// Everything that waits has to be published again: others may have forgotten it.
    pub(crate) fn publish_again(&self) {
        self.places.iter().filter(|place| place.is_waiting()).for_each(|place| place.is_due.set(true));
        self.is_shown_due.set(true);
        self.changed.signal(());
    }

    /// Takes whether the topic `approval` has to be published. It shows one approval at a time, the oldest. When that is
    /// decided or over, it shows none for [`limits::APPROVAL_PAUSE`], so that nobody who is about to press a button decides
    /// about another one that has just taken its place.
    pub(crate) fn take_shown_due(&self) -> bool {
        let is_over = |number| !self.find(number).is_some_and(Place::is_waiting);
        if self.shown.get() != 0 && is_over(self.shown.get()) {
            self.shown.set(0);
            self.show_next.set(Instant::now() + limits::APPROVAL_PAUSE);
            self.is_shown_due.set(true);
        }
        let waiting = self.places.iter().filter(|place| place.is_waiting());
        if self.shown.get() == 0
            && self.show_next.get() <= Instant::now()
            && let Some(oldest) = waiting.min_by_key(|place| place.until.get())
        {
            self.shown.set(oldest.number.get());
            self.is_shown_due.set(true);
        }
        self.is_shown_due.take()
    }

    /// The topic `approval` could not be published yet.
    pub(crate) fn unshown(&self) {
        self.is_shown_due.set(true);
    }

    /// For how many seconds the approval waits that is shown on the topic `approval`.
    pub(crate) fn shown_seconds(&self) -> Option<u32> {
        self.seconds_left(self.shown.get()).filter(|_| self.shown.get() != 0)
    }

    /// Writes the payload of `approval`: what is shown, or that nothing is.
    pub(crate) fn write_shown(&self, buffer: &mut [u8]) -> Result<usize, Overflow> {
        if self.shown.get() != 0 {
            return self.write(self.shown.get(), buffer);
        }
        let mut writer = Writer::new(buffer);
        writer.object(|out| {
            out.field("id", 0_u32);
            out.field("state", "none");
            out.field("what", "");
        });
        writer.finish()
    }

    /// Takes the number of an action of which something has to be published.
    pub(crate) fn take_due(&self) -> Option<u32> {
        let due = self.places.iter().find(|place| place.is_due.get())?;
        // What is decided from now on is published again.
        due.is_due.set(false);
        Some(due.number.get())
    }

    /// How long the action with this number still waits, in seconds.
    pub(crate) fn seconds_left(&self, number: u32) -> Option<u32> {
        let place = self.find(number)?;
        let left = place.until.get().saturating_duration_since(Instant::now()).as_millis().div_ceil(1000);
        Some(u32::try_from(left).unwrap_or(u32::MAX).max(1))
    }

    /// Writes the payload of `approval/<number>`.
    pub(crate) fn write(&self, number: u32, buffer: &mut [u8]) -> Result<usize, Overflow> {
        let place = self.find(number).ok_or(Overflow)?;
        let action = place.action.try_borrow().map_err(|_| Overflow)?;
        let verdict = place.verdict.get();
        let mut writer = Writer::new(buffer);
        writer.object(|out| {
            out.field("id", number);
            out.field("state", verdict.as_str());
            out.field("what", action.what.as_str());
            out.field("tool", action.tool.as_str());
            out.field("who", if place.is_model.get() { "model" } else { "person" });
            if place.is_model.get() {
                out.field("conversation", action.conversation.as_str());
            }
            if let Ok(satellite) = Value::parse(action.satellite.as_bytes()) {
                out.field("satellite", satellite);
            }
            if verdict == Verdict::Waiting {
                out.field("seconds", self.seconds_left(number));
            }
        });
        writer.finish()
    }

    /// Calls `look` with the conversation and the tool of an action that waits.
    pub(crate) fn with_waiting(&self, number: u32, look: impl FnOnce(&str, &Name)) {
        if let Some(place) = self.find(number).filter(|place| place.is_waiting())
            && let Ok(action) = place.action.try_borrow()
        {
            look(&action.conversation, &action.tool);
        }
    }

    /// It could not be published yet.
    pub(crate) fn unpublished(&self, number: u32) {
        if let Some(place) = self.find(number) {
            place.is_due.set(true);
        }
    }

    /// The number of an action about which a satellite has to be notified.
    pub(crate) fn next_unspoken(&self) -> Option<u32> {
        let mut places = self.places.iter();
        places.find(|place| place.is_unspoken.get() && place.is_waiting()).map(|place| place.number.get())
    }

    /// Writes what a satellite says while the action waits.
    pub(crate) fn write_speech(&self, number: u32, buffer: &mut [u8]) -> Result<usize, Overflow> {
        let place = self.find(number).ok_or(Overflow)?;
        let action = place.action.try_borrow().map_err(|_| Overflow)?;
        let mut writer = Writer::new(buffer);
        writer.object(|out| {
            let request = ApprovalQuestion { what: &action.what, can_use_pin: place.can_use_pin.get() };
            out.field("text", format_args!("{}", Spoken { text: &request, voice: Voice::English }));
            out.field("conversation", action.conversation.as_str());
            if let Ok(satellite) = Value::parse(action.satellite.as_bytes()) {
                out.field("satellite", satellite);
            }
        });
        writer.finish()
    }

    /// The satellite was told.
    pub(crate) fn spoken(&self, number: u32) {
        if let Some(place) = self.find(number) {
            place.is_unspoken.set(false);
        }
    }

    fn find(&self, number: u32) -> Option<&Place> {
        self.places.iter().find(|place| place.number.get() == number)
    }
}

/// What a person hears who says something else while their conversation waits for approval.
pub struct Reminder<'a> {
    /// What is to be approved.
    pub what: &'a str,
    /// Whether a PIN can be said.
    pub can_use_pin: bool,
}

impl Display for Reminder<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let how = if self.can_use_pin { "Say the PIN, say no" } else { "Say no" };
        write!(f, "I am waiting for approval to {}. {how}, or allow it in your app.", self.what)
    }
}

/// What a person hears who should approve of something.
pub struct ApprovalQuestion<'a> {
    /// What it is.
    pub what: &'a str,
    /// Whether a PIN can be said.
    pub can_use_pin: bool,
}

impl Display for ApprovalQuestion<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let how = if self.can_use_pin {
            "Say the PIN, or allow it in your app."
        } else {
            "Please allow it in your app."
        };
        write!(f, "I need your approval to {}. {how}", self.what)
    }
}

/// A person was asked. Dropped before they decided, it is cancelled.
pub struct PendingApproval<'a> {
    approvals: &'a Approvals,
    place: &'a Place,
}

impl PendingApproval<'_> {
    /// Waits until a person decides, or the time is over.
    pub async fn decided(self) -> Verdict {
        if with_deadline(self.place.until.get(), self.place.decided.wait()).await.is_err() {
            self.place.decide(Verdict::Expired);
        }
        self.place.verdict.get()
    }
}

impl Drop for PendingApproval<'_> {
    fn drop(&mut self) {
        if self.place.verdict.get() == Verdict::Waiting {
            self.place.decide(Verdict::Cancelled);
        }
        self.place.is_taken.set(false);
        self.place.is_unspoken.set(false);
        // Whoever had this one before their eyes is shown the others.
        for other in self.approvals.places.iter().filter(|place| place.is_waiting()) {
            other.is_due.set(true);
        }
        self.approvals.changed.signal(());
    }
}
