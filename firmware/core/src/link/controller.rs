//! What is known of the link and its controller: state, counts, resources, and the schedule of attempts.

use core::cell::RefCell;

use embassy_sync::blocking_mutex::Mutex;
use embassy_sync::blocking_mutex::raw::NoopRawMutex;
use embassy_sync::signal::Signal;
use embassy_time::Duration;
use heapless::String;

use crate::json::{Kind, Text, Value};
use crate::limits;
use crate::tool;

/// Whether the controller can be called.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LinkState {
    /// Being reached.
    #[default]
    Connecting,
    /// Reached, its tools listed.
    Ready,
    /// Not reached in several attempts. The hub goes on without it, and keeps trying.
    Degraded,
}

impl LinkState {
    /// As announced in `info`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Connecting => "connecting",
            Self::Ready => "ready",
            Self::Degraded => "degraded",
        }
    }
}

/// Why the controller is not, or no longer, reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// It does not answer.
    Silent,
    /// It answers with an error.
    Refused,
    /// It speaks a version of MCP that the hub does not.
    Version,
    /// It wants a new handshake: it has restarted.
    Restarted,
    /// Its list of tools is malformed.
    Unlisted,
    /// The line ended.
    Closed,
    /// Reading from the line fails.
    Unreadable,
    /// Writing to the line fails.
    Unwritable,
    /// The line does not take what is sent.
    Stalled,
}

impl Loss {
    /// In words, for people.
    pub const fn text(self) -> &'static str {
        match self {
            Self::Silent => "no answer",
            Self::Refused => "it refused",
            Self::Version => "it speaks another version of MCP",
            Self::Restarted => "it has restarted",
            Self::Unlisted => "its list of tools cannot be read",
            Self::Closed => "the line is closed",
            Self::Unreadable => "the line cannot be read",
            Self::Unwritable => "the line cannot be written",
            Self::Stalled => "the line does not take what is sent",
        }
    }

    /// What people should check. None if it is the line.
    pub const fn advice(self) -> Option<&'static str> {
        match self {
            Self::Refused => Some("the controller's own log: the line works, and it answers with an error"),
            Self::Version => Some("for a newer version of the controller's software, or of the hub's"),
            Self::Unlisted => {
                Some("the controller's software: the line works, and it lists its tools in a wrong way")
            }
            _ => None,
        }
    }
}

/// Who the controller says it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Controller {
    /// The name of its software.
    pub name: String<{ limits::CONTROLLER_NAME }>,
    /// The version of its software.
    pub version: String<{ limits::CONTROLLER_NAME }>,
    /// How many of its tools can be called.
    pub tools: usize,
    /// How many of its tools cannot be called.
    pub left_out: usize,
    /// Whether it has resources.
    pub offer: Offer,
}

impl Controller {
    /// Nothing is known.
    pub const UNKNOWN: Self =
        Self { name: String::new(), version: String::new(), tools: 0, left_out: 0, offer: Offer::Nothing };
}

/// The state of the link and who is at its other end, shared within one hub.
pub struct Status {
    known: Mutex<NoopRawMutex, RefCell<(LinkState, Controller)>>,
    changed: Signal<NoopRawMutex, ()>,
}

impl Status {
    /// Nothing known yet.
    pub const fn new() -> Self {
        let known = (LinkState::Connecting, Controller::UNKNOWN);
        Self { known: Mutex::new(RefCell::new(known)), changed: Signal::new() }
    }

    /// Calls `look` with the current state.
    pub fn read<T>(&self, look: impl FnOnce(LinkState, &Controller) -> T) -> T {
        self.known.lock(|known| {
            let (state, controller) = &*known.borrow();
            look(*state, controller)
        })
    }

    /// Waits until something has changed since the last call. For one waiter.
    pub async fn changed(&self) {
        self.changed.wait().await;
    }

    pub(super) fn update(&self, state: LinkState, controller: &Controller) {
        let differs = self.read(|old, known| old != state || known != controller);
        if differs {
            self.known.lock(|known| *known.borrow_mut() = (state, controller.clone()));
            self.changed.signal(());
        }
    }
}

/// Counts since the start. All zeros when new; they stop at the largest number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkCounts {
    /// Calls that were sent, and their times from the last byte sent to the answer. Those without an answer failed.
    pub calls: tool::CallCounts,
    /// Calls without an answer in time.
    pub timeouts: u32,
    /// How often the controller was lost.
    pub losses: u32,
    /// Lines from the controller that were not JSON-RPC, and were ignored.
    pub lines_ignored: u32,
    /// Requests of the controller's that could not be answered, because it did not read.
    pub unanswered: u32,
}

impl LinkCounts {
    pub(super) const NONE: Self =
        Self { calls: tool::CallCounts::NONE, timeouts: 0, losses: 0, lines_ignored: 0, unanswered: 0 };
}

/// Whether a controller offers resources.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Offer {
    /// It does not.
    #[default]
    Nothing,
    /// It does, and does not notify of changes.
    Resources,
    /// It does, and notifies of changes of those that are subscribed to.
    Subscriptions,
}

impl Offer {
    /// As the answer to a greeting tells it.
    pub(super) fn of(greeting: Value<'_>) -> Self {
        let resources = greeting.get("capabilities").and_then(|offered| offered.get("resources"));
        match resources.filter(|resources| resources.kind() == Kind::Object) {
            None => Self::Nothing,
            Some(resources) => match resources.get("subscribe") {
                Some(subscribe) if subscribe.text() == "true" => Self::Subscriptions,
                _ => Self::Resources,
            },
        }
    }
}

/// What happens to the controller's resources.
#[derive(Clone, Copy, Debug)]
pub enum ResourceNews<'a> {
    /// The controller can be asked, and offers this.
    Opened(Offer),
    /// It is gone.
    Closed,
    /// A list of resources is being received, and this is one of them.
    Listed(Value<'a>),
    /// The same, and it cannot be read.
    ListedUnread,
    /// The resource with this URI has changed.
    Updated(Text<'a>),
    /// There are others now.
    ListChanged,
}

impl<'a> ResourceNews<'a> {
    /// A notification that is about resources.
    pub(super) fn notified(method: &Text<'_>, params: Option<Value<'a>>) -> Option<Self> {
        if *method == *"notifications/resources/updated" {
            params?.get("uri")?.as_text().map(Self::Updated)
        } else {
            (*method == *"notifications/resources/list_changed").then_some(Self::ListChanged)
        }
    }
}

/// The schedule of the attempts to reach the controller.
#[derive(Clone, Copy, Debug)]
pub struct Retries {
    /// When the quick attempts begin, counted from the first. Ascending.
    pub starts: &'static [Duration],
    /// When the last of them is given up, and the controller is reported as missing.
    pub missing: Duration,
    /// Between the attempts after that.
    pub slow: Duration,
}

impl Retries {
    /// As a hub does it.
    pub const STANDARD: Self =
        Self { starts: &limits::LINK_ATTEMPTS, missing: limits::LINK_MISSING, slow: limits::LINK_SLOW_RETRY };

    /// How many attempts are made before the controller is reported as missing.
    pub const fn quick(&self) -> usize {
        self.starts.len()
    }

    /// From the beginning of an attempt, the first of which is 0, to that of the next one.
    pub(super) fn patience(&self, attempt: usize) -> Option<Duration> {
        let start = self.starts.get(attempt)?;
        let next = self.starts.get(attempt + 1).unwrap_or(&self.missing);
        Some(next.checked_sub(*start).unwrap_or_default())
    }

    /// The pause before a controller is tried again that was lost `times` times in a row, always soon. The first time there
    /// is none: most controllers that restart are well then.
    pub(super) fn pause(&self, times: usize) -> Duration {
        match times.checked_sub(1) {
            None => Duration::from_ticks(0),
            Some(attempt) if attempt + 1 < self.starts.len() => self.patience(attempt).unwrap_or(self.slow),
            Some(_) => self.slow,
        }
    }
}
