//! The state of the link, for the rest of the hub.

use core::cell::RefCell;

use embassy_sync::blocking_mutex::Mutex;
use embassy_sync::blocking_mutex::raw::NoopRawMutex;
use embassy_sync::signal::Signal;
use heapless::String;

use super::resource::Offer;
use crate::limits;

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
