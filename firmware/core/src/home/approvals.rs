//! Actions that wait for a person's approval.
//!
//! Whoever wants to do something dangerous takes a place and waits. The session publishes what waits, and what became of it;
//! a request, or a PIN that is said in the same conversation, decides.

use core::cell::{Cell, RefCell};
use core::fmt::Display;

use embassy_sync::blocking_mutex::raw::NoopRawMutex;
use embassy_sync::signal::Signal;
use embassy_time::{Duration, Instant, with_deadline};
use heapless::String;

use crate::json::{Overflow, Value, Writer};
use crate::limits;
use crate::text::clip;
use crate::text::spoken::{Spoken, Voice};
use crate::tool::{Caller, Name};

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
struct Action {
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
    /// A satellite has to be told.
    is_unspoken: Cell<bool>,
    /// A model wants it.
    is_model: Cell<bool>,
    can_use_pin: Cell<bool>,
    wrong_pins: Cell<u8>,
    until: Cell<Instant>,
    action: RefCell<Action>,
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
            wrong_pins: Cell::new(0),
            until: Cell::new(Instant::MIN),
            action: RefCell::new(Action {
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
        self.is_due.set(true);
        self.decided.signal(());
    }
}

/// There are as many actions that wait as can.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooManyWait;

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
    last: Cell<u32>,
    changed: Signal<NoopRawMutex, ()>,
}

impl Approvals {
    pub(super) const fn new() -> Self {
        Self {
            places: [const { Place::new() }; limits::APPROVALS],
            last: Cell::new(0),
            changed: Signal::new(),
        }
    }

    /// Forgets what an earlier run left half done. The seed decides where the numbers begin, which have six digits: an
    /// approval that comes late finds nothing else that it could be for.
    pub(super) fn clear(&self, seed: u64) {
        self.last.set(100_000 + (seed % 800_000) as u32);
        for place in &self.places {
            place.is_taken.set(false);
            place.is_due.set(false);
            place.is_unspoken.set(false);
        }
    }

    /// Has a person asked, for `patience`. The caller [waits](Asked::decided) for what they decide.
    pub fn ask(
        &self,
        caller: &Caller<'_>,
        what: &dyn Display,
        tool: &str,
        patience: Duration,
        can_use_pin: bool,
    ) -> Result<Asked<'_>, TooManyWait> {
        // One whose end nobody was told of yet is taken only if there is no other.
        let free = || self.places.iter().filter(|place| !place.is_taken.get());
        let place = free().find(|place| !place.is_due.get()).or_else(|| free().next()).ok_or(TooManyWait)?;
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
        self.last.set(if self.last.get() >= 999_999 { 100_000 } else { self.last.get() + 1 });
        place.number.set(self.last.get());
        place.verdict.set(Verdict::Waiting);
        place.is_taken.set(true);
        place.is_due.set(true);
        place.is_unspoken.set(is_spoken);
        place.is_model.set(matches!(caller, Caller::Model { .. }));
        place.can_use_pin.set(can_use_pin && place.is_model.get());
        place.wrong_pins.set(0);
        place.until.set(Instant::now() + patience);
        place.decided.reset();
        self.changed.signal(());
        Ok(Asked { approvals: self, place })
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

    /// A wrong PIN was said where the action with this number waits. True if it was the last that is tolerated: the action is
    /// denied then.
    pub fn wrong_pin(&self, number: u32) -> bool {
        let place = self.find(number).filter(|place| place.is_waiting());
        place.is_some_and(|place| {
            place.wrong_pins.set(place.wrong_pins.get().saturating_add(1));
            let is_denied = place.wrong_pins.get() >= limits::PIN_TRIES;
            if is_denied {
                place.decide(Verdict::Denied);
            }
            is_denied
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
        self.changed.wait().await;
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
        let left = place.until.get().saturating_duration_since(Instant::now()).as_secs();
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

    /// The number of an action of which a satellite has to be told.
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
            let request = Request { what: &action.what, can_use_pin: place.can_use_pin.get() };
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

/// What a person hears who should approve of something.
pub struct Request<'a> {
    /// What it is.
    pub what: &'a str,
    /// Whether a PIN can be said.
    pub can_use_pin: bool,
}

impl Display for Request<'_> {
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
pub struct Asked<'a> {
    approvals: &'a Approvals,
    place: &'a Place,
}

impl Asked<'_> {
    /// Waits until a person decides, or the time is over.
    pub async fn decided(self) -> Verdict {
        if with_deadline(self.place.until.get(), self.place.decided.wait()).await.is_err() {
            self.place.decide(Verdict::Expired);
        }
        self.place.verdict.get()
    }
}

impl Drop for Asked<'_> {
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
