//! The MCP client as a state machine: what to say next, and what an answer means.

use embassy_time::Instant;
use heapless::String;

use super::rpc::{Id, Message, Outgoing};
use super::status::{Controller, Loss, State};
use crate::json::{Kind, Value};
use crate::limits;
use crate::log::{debug, error, info, warn};

/// Brings the link up, keeps it up, and counts the attempts.
///
/// Drive it so: send what [`poll`](Self::poll) returns until it returns nothing; then wait for a message or
/// for [`deadline`](Self::deadline), whichever is first; begin again.
#[derive(Debug)]
pub struct Client {
    phase: Phase,
    /// Attempts that failed since the controller was last reached.
    failures: usize,
    last_id: Id,
    controller: Controller,
    /// The controller's tools have been listed since it was greeted.
    is_listed: bool,
    listing: Listing,
}

/// A list of tools that is being asked for, page by page.
#[derive(Debug)]
struct Listing {
    pages: u8,
    tools: u32,
    cursor: Option<String<{ limits::LINK_CURSOR }>>,
    /// The tools have changed since it began.
    is_stale: bool,
}

impl Listing {
    const NEW: Self = Self { pages: 0, tools: 0, cursor: None, is_stale: false };
}

#[derive(Debug)]
enum Phase {
    /// Until the next attempt.
    Waiting { until: Instant },
    /// `initialize` was sent.
    Greeting { id: Id, until: Instant },
    /// It was answered.
    Greeted,
    /// The list of tools is wanted.
    Unlisted,
    /// `tools/list` was sent.
    Listing { id: Id, until: Instant },
    /// All is known. A ping is due when nothing was heard until then.
    Ready { until: Instant },
    /// `ping` was sent.
    Pinging { id: Id, until: Instant },
}

impl Client {
    /// Will make its first attempt at once.
    pub const fn new() -> Self {
        Self {
            phase: Phase::Waiting { until: Instant::MIN },
            failures: 0,
            last_id: 0,
            controller: Controller { name: String::new(), version: String::new(), tools: 0 },
            is_listed: false,
            listing: Listing::NEW,
        }
    }

    /// How it stands.
    pub const fn state(&self) -> State {
        match self.phase {
            _ if self.is_listed => State::Ready,
            _ if self.failures >= limits::LINK_ATTEMPTS.len() => State::Degraded,
            _ => State::Connecting,
        }
    }

    /// Who the controller is, as far as it said.
    pub const fn controller(&self) -> &Controller {
        &self.controller
    }

    /// When [`poll`](Self::poll) has something to do even if no message comes.
    pub const fn deadline(&self) -> Instant {
        match self.phase {
            Phase::Waiting { until }
            | Phase::Greeting { until, .. }
            | Phase::Listing { until, .. }
            | Phase::Ready { until }
            | Phase::Pinging { until, .. } => until,
            Phase::Greeted | Phase::Unlisted => Instant::MIN,
        }
    }

    /// The next message to send, if one is due.
    pub fn poll(&mut self, now: Instant) -> Option<Outgoing<'_>> {
        match self.phase {
            Phase::Greeting { until, .. } | Phase::Listing { until, .. } | Phase::Pinging { until, .. }
                if now >= until =>
            {
                self.lost(now, Loss::Silent);
            }
            _ => {}
        }
        let id = self.last_id.wrapping_add(1);
        let until = now + limits::LINK_TIMEOUT;
        match self.phase {
            Phase::Waiting { until: start } if now >= start => {
                self.last_id = id;
                self.phase = Phase::Greeting { id, until };
                Some(Outgoing::Initialize(id))
            }
            Phase::Greeted => {
                self.phase = Phase::Unlisted;
                Some(Outgoing::Initialized)
            }
            Phase::Unlisted => {
                self.last_id = id;
                self.phase = Phase::Listing { id, until };
                Some(Outgoing::ListTools(id, self.listing.cursor.as_deref()))
            }
            Phase::Ready { until: ping } if now >= ping => {
                self.last_id = id;
                self.phase = Phase::Pinging { id, until };
                Some(Outgoing::Ping(id))
            }
            _ => None,
        }
    }

    /// A message came. Returns the answer to it, if it wants one.
    pub fn receive<'m>(&mut self, now: Instant, message: Message<'m>) -> Option<Outgoing<'m>> {
        if let Phase::Ready { until } = &mut self.phase {
            *until = now + limits::LINK_PING;
        }
        match message {
            Message::Request { id, method } if method == *"ping" => return Some(Outgoing::Pong(id)),
            Message::Request { id, .. } => return Some(Outgoing::Unknown(id)),
            Message::Notification { method } => self.notified(&method),
            Message::Result { id, result } => self.answered(now, id, result),
            Message::Error { id, message } => {
                let words: String<{ limits::QUOTE }> =
                    message.map(|message| message.excerpt()).unwrap_or_default();
                self.refused(now, id, &words);
            }
        }
        None
    }

    /// The line to the controller is gone, or does not take what is sent.
    pub fn lost(&mut self, now: Instant, why: Loss) {
        let was_ready = core::mem::take(&mut self.is_listed);
        self.controller = Controller::default();
        let why = why.text();
        let delay = match self.phase {
            _ if was_ready => {
                warn!("controller: lost ({}); connecting again", why);
                self.failures = 0;
                limits::LINK_ATTEMPTS.first().copied()
            }
            Phase::Waiting { .. } => return,
            _ => {
                self.failures = self.failures.saturating_add(1);
                let attempts = limits::LINK_ATTEMPTS.len();
                match limits::LINK_ATTEMPTS.get(self.failures) {
                    Some(delay) => {
                        let seconds = delay.as_secs();
                        let attempt = self.failures;
                        warn!(
                            "controller: attempt {} of {} failed ({}); again in {} s",
                            attempt, attempts, why, seconds
                        );
                        Some(*delay)
                    }
                    None if self.failures == attempts => {
                        error!(
                            "controller: MCP connection failed after {} attempts ({}). Check its power, RX and TX \
                             (crossed?), the ground wire and 115200 baud. The hub goes on with its own tools and tries \
                             again every {} s",
                            attempts,
                            why,
                            limits::LINK_SLOW_RETRY.as_secs()
                        );
                        None
                    }
                    None => {
                        debug!("controller: still not reached ({})", why);
                        None
                    }
                }
            }
        };
        self.phase = Phase::Waiting { until: now + delay.unwrap_or(limits::LINK_SLOW_RETRY) };
    }

    fn notified(&mut self, method: &crate::json::Text<'_>) {
        if *method != *"notifications/tools/list_changed" {
            return;
        }
        match self.phase {
            Phase::Ready { .. } | Phase::Pinging { .. } => self.list(),
            // Asked for anyway, or again once this list is complete.
            _ => self.listing.is_stale = true,
        }
    }

    fn list(&mut self) {
        self.listing = Listing::NEW;
        self.phase = Phase::Unlisted;
    }

    fn answered(&mut self, now: Instant, id: Id, result: Value<'_>) {
        match self.phase {
            Phase::Greeting { id: asked, .. } if asked == id => {
                let about = result.get("serverInfo");
                let text = |name| {
                    let text = about.and_then(|about| about.get(name)).and_then(|value| value.as_text());
                    text.map(|text| text.excerpt()).unwrap_or_default()
                };
                self.controller = Controller { name: text("name"), version: text("version"), tools: 0 };
                self.listing = Listing::NEW;
                self.phase = Phase::Greeted;
            }
            Phase::Listing { id: asked, .. } if asked == id => self.listed(now, result),
            Phase::Pinging { id: asked, .. } if asked == id => {
                self.phase = Phase::Ready { until: now + limits::LINK_PING };
            }
            _ => debug!("controller: an answer to request {}, which nobody waits for", id),
        }
    }

    fn listed(&mut self, now: Instant, result: Value<'_>) {
        let Some(tools) = result.get("tools").filter(|tools| tools.kind() == Kind::Array) else {
            return self.lost(now, Loss::Unlisted);
        };
        let count = u32::try_from(tools.items().count()).unwrap_or(u32::MAX);
        let listing = &mut self.listing;
        listing.tools = listing.tools.saturating_add(count);
        listing.pages = listing.pages.saturating_add(1);
        let more = result.get("nextCursor").and_then(|cursor| cursor.as_text());
        listing.cursor = more.and_then(|cursor| cursor.decode());
        if listing.cursor.is_some() && listing.pages < limits::LINK_PAGES {
            self.phase = Phase::Unlisted;
            return;
        }
        if more.is_some() {
            warn!("controller: its list of tools goes on too long; the rest is left out");
        }
        if listing.is_stale {
            return self.list();
        }
        self.controller.tools = listing.tools;
        if self.failures > 0 {
            info!("controller: MCP connection succeeded on attempt {}", self.failures.saturating_add(1));
        }
        let Controller { name, version, tools } = &self.controller;
        info!("controller: {} {} is ready with {} tools", name.as_str(), version.as_str(), tools);
        self.failures = 0;
        self.is_listed = true;
        self.phase = Phase::Ready { until: now + limits::LINK_PING };
    }

    fn refused(&mut self, now: Instant, id: Option<Id>, words: &str) {
        match self.phase {
            Phase::Greeting { id: asked, .. } | Phase::Listing { id: asked, .. }
                if id.is_none_or(|id| id == asked) =>
            {
                warn!("controller: refuses with \"{}\"", words);
                self.lost(now, Loss::Refused);
            }
            // Whoever refuses a ping is alive.
            Phase::Pinging { id: asked, .. } if id.is_none_or(|id| id == asked) => {
                self.phase = Phase::Ready { until: now + limits::LINK_PING };
            }
            _ => warn!("controller: reports \"{}\"", words),
        }
    }
}

impl Default for Client {
    fn default() -> Self {
        Self::new()
    }
}
