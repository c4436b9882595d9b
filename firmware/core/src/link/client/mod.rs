//! The MCP client as a state machine: which message to send next, and what a received one means.

mod greeting;
mod listing;

use core::cmp::Ordering;

use embassy_time::{Duration, Instant};
use heapless::String;

use self::greeting::Dialect;
use self::listing::{Listing, Told};
use super::controller::{Controller, LinkState, Loss, ResourceNews, Retries};
use super::rpc::{Incoming, Outgoing, RpcError};
use crate::json::{Text, Value};
use crate::limits;
use crate::log::{debug, error, info, warn};
use crate::pending::Id;
use crate::text::one_line;
use crate::tool::Registry;

/// Brings the link up, keeps it up, and counts the attempts.
///
/// To drive it, send what [`poll`](Self::poll) returns until it returns nothing; report the [`News`]; wait for a message
/// or for [`deadline`](Self::deadline), whichever is first; begin again.
#[derive(Debug)]
pub struct McpClient {
    retries: Retries,
    phase: Phase,
    dialect: Dialect,
    /// Attempts that failed since the controller was last reached.
    failures: usize,
    /// When the last attempt began.
    attempted: Instant,
    /// The first greeting that was never answered. A slow controller may still answer it, or one that followed.
    first_greeting: Option<Id>,
    /// Connections in a row that did not hold.
    short_lives: u8,
    /// When the controller became ready, and at which attempt.
    ready_since: Instant,
    attempt: usize,
    last_id: Id,
    controller: Controller,
    /// The controller's tools have been listed since it was greeted.
    is_listed: bool,
    listing: Listing,
    told: Told,
    /// When the list of tools was last complete: the controller had not restarted.
    checked: Instant,
    /// For how long after that noise causes no check. Doubles, since some controllers print noise without end.
    recheck_after: Duration,
    /// Changed lists that were asked for without a pause.
    relists: u8,
    /// The list has changed, and is asked for after a pause.
    is_outdated: bool,
    news: Option<News>,
}

/// A change that is logged, and published if people should know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum News {
    /// The controller can be called.
    Ready {
        /// At which it was reached; the first is 1.
        attempt: usize,
        /// The connection before did not hold: [`Holds`](Self::Holds) follows if this one does.
        is_doubtful: bool,
    },
    /// An attempt failed; there will be another.
    Failed {
        /// The first is 1.
        attempt: usize,
        /// Why.
        why: Loss,
        /// Until the next one.
        delay: Duration,
    },
    /// The last of the quick attempts failed.
    Degraded(Loss),
    /// A controller that could be called is gone.
    Lost {
        /// Why.
        why: Loss,
        /// Until the next attempt.
        delay: Duration,
    },
    /// The controller has been ready for [`limits::LINK_HOLD`], after connections that were not.
    Holds {
        /// At which attempt it was reached.
        attempt: usize,
    },
}

/// What to do about a message.
#[derive(Debug)]
pub enum Reaction<'m> {
    /// Nothing.
    Done,
    /// Send this.
    Reply(Outgoing<'m>),
    /// Hand it to the caller of this request, which is not the client's own.
    Answer(Id),
    /// Tell whoever follows the controller's resources.
    Watch(ResourceNews<'m>),
}

/// The largest number of a first request: all that follow are still exact in every JSON reader.
const MOST_FIRST_ID: Id = 0x0FFF_FFFF;

#[derive(Debug)]
enum Phase {
    /// For the next attempt.
    Waiting { until: Instant },
    /// `initialize` or `server/discover` was sent.
    Greeting { id: Id, until: Instant },
    /// It was answered.
    Greeted,
    /// The list of tools is wanted.
    Unlisted,
    /// `tools/list` was sent.
    Listing { id: Id, until: Instant },
    /// The list is complete. If nothing is received until then, a ping is due.
    Ready { until: Instant },
    /// `ping` was sent.
    Pinging { id: Id, until: Instant },
}

impl McpClient {
    /// Makes its first attempt at once. Its numbers begin at a random place, which `seed` decides: a late answer to what a
    /// hub asked before it restarted must not match.
    pub const fn new(seed: u64, retries: Retries) -> Self {
        Self {
            retries,
            attempted: Instant::MIN,
            first_greeting: None,
            attempt: 0,
            phase: Phase::Waiting { until: Instant::MIN },
            dialect: Dialect::FIRST,
            failures: 0,
            short_lives: 0,
            ready_since: Instant::MIN,
            last_id: (seed as Id) & MOST_FIRST_ID,
            controller: Controller::UNKNOWN,
            is_listed: false,
            listing: Listing::NEW,
            told: Told::NONE,
            checked: Instant::MIN,
            recheck_after: limits::LINK_TIMEOUT,
            relists: 0,
            is_outdated: false,
            news: None,
        }
    }

    /// Whether the controller can be called.
    pub const fn state(&self) -> LinkState {
        if self.is_listed {
            LinkState::Ready
        } else if self.failures >= self.retries.quick() {
            LinkState::Degraded
        } else {
            LinkState::Connecting
        }
    }

    /// Who the controller is, as far as it said.
    pub const fn controller(&self) -> &Controller {
        &self.controller
    }

    /// Whether every request has to name the client.
    pub fn is_stateless(&self) -> bool {
        self.dialect == Dialect::Stateless
    }

    /// What has happened since the last call.
    pub const fn take_news(&mut self) -> Option<News> {
        self.news.take()
    }

    /// A number for a request.
    pub const fn next_id(&mut self) -> Id {
        self.last_id = self.last_id.wrapping_add(1);
        self.last_id
    }

    /// Whether the controller's answer to the client itself is on its way, which must not be lost. A greeting is repeated
    /// if it is.
    pub const fn expects_answer(&self) -> bool {
        matches!(self.phase, Phase::Listing { .. } | Phase::Pinging { .. })
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

    /// The next message to send, if one is due. A controller that is `busy` with a call may answer as late as a call: some
    /// do one thing after the other.
    pub fn poll(&mut self, now: Instant, busy: bool, registry: &Registry) -> Option<Outgoing<'_>> {
        if self.is_listed && self.short_lives > 0 && self.news.is_none() && self.holds(now) {
            self.short_lives = 0;
            self.news = Some(News::Holds { attempt: self.attempt });
        }
        match self.phase {
            Phase::Greeting { until, .. } | Phase::Listing { until, .. } | Phase::Pinging { until, .. }
                if now >= until =>
            {
                self.lost(now, Loss::Silent, registry);
                // The news is reported before the next attempt.
                return None;
            }
            Phase::Ready { until } if now >= until && self.is_outdated => self.list(),
            _ => {}
        }
        let patience = if busy { limits::TOOL_TIMEOUT } else { limits::LINK_TIMEOUT };
        let until = now + if self.is_listed { patience } else { limits::LINK_TIMEOUT };
        match self.phase {
            Phase::Waiting { until: start } if now >= start => {
                let id = self.next_id();
                if self.dialect == Dialect::FIRST {
                    self.attempted = now;
                    self.first_greeting.get_or_insert(id);
                }
                self.attempt = self.failures.saturating_add(1);
                let patience = self.retries.patience(self.failures).unwrap_or(limits::LINK_TIMEOUT);
                self.phase = Phase::Greeting { id, until: self.attempted + patience };
                Some(match self.dialect {
                    Dialect::Handshake(version) => Outgoing::Initialize(id, version),
                    Dialect::Stateless => Outgoing::Discover(id),
                })
            }
            Phase::Greeted => {
                self.phase = Phase::Unlisted;
                Some(Outgoing::Initialized)
            }
            Phase::Unlisted => {
                let id = self.next_id();
                self.phase = Phase::Listing { id, until };
                let stateless = self.is_stateless();
                Some(Outgoing::ListTools { id, cursor: self.listing.cursor.as_deref(), stateless })
            }
            Phase::Ready { until: ping } if now >= ping => {
                let id = self.next_id();
                self.phase = Phase::Pinging { id, until };
                Some(Outgoing::Ping(id))
            }
            _ => None,
        }
    }

    /// A message came. The tools it lists go into `registry`.
    pub fn receive<'m>(&mut self, now: Instant, message: Incoming<'m>, registry: &Registry) -> Reaction<'m> {
        if let Phase::Ready { until } = &mut self.phase
            && !self.is_outdated
        {
            *until = now + limits::LINK_PING;
        }
        match message {
            Incoming::Request { id, method } if method == *"ping" => {
                return Reaction::Reply(Outgoing::Pong(id));
            }
            Incoming::Request { id, .. } => return Reaction::Reply(Outgoing::Unknown(id)),
            Incoming::Notification { method, params } => return self.notified(now, &method, params),
            Incoming::Result { id: Some(id), result } => return self.answered(now, id, result, registry),
            Incoming::Result { id: None, .. } => {
                debug!("controller: an answer without a number of the hub's")
            }
            Incoming::Error { id, error } => return self.refused(now, id, &error, registry),
        }
        Reaction::Done
    }

    /// A line came that is not JSON-RPC. The controller may have restarted and need a new handshake: asking for its list
    /// of tools shows it.
    pub fn noticed_noise(&mut self, now: Instant) {
        if now.saturating_duration_since(self.checked) >= self.recheck_after {
            self.recheck_after = (self.recheck_after * 2).min(limits::LINK_DOUBT_LONGEST);
            self.check();
        }
    }

    fn check(&mut self) {
        if let Phase::Ready { .. } | Phase::Pinging { .. } = self.phase {
            debug!("controller: checking that it has not restarted");
            self.list();
        }
    }

    /// The line to the controller is gone, or does not take what is sent. Its tools leave `registry`.
    pub fn lost(&mut self, now: Instant, why: Loss, registry: &Registry) {
        let was_ready = core::mem::take(&mut self.is_listed);
        self.controller = Controller::default();
        self.dialect = Dialect::FIRST;
        self.is_outdated = false;
        registry.controller_left("The controller is not connected.");
        if why != Loss::Silent || !matches!(self.phase, Phase::Greeting { .. }) {
            self.first_greeting = None;
        }
        let next = match self.phase {
            _ if was_ready => {
                self.failures = 0;
                let is_short = !self.holds(now);
                let before = if is_short { self.short_lives } else { 0 };
                self.short_lives = before.saturating_add(u8::from(is_short));
                let delay = self.retries.pause(usize::from(before));
                self.news = Some(News::Lost { why, delay });
                now + delay
            }
            Phase::Waiting { .. } => return,
            _ => {
                let patience = self.retries.patience(self.failures);
                self.failures = self.failures.saturating_add(1);
                let next = patience.map_or(now, |patience| now.max(self.attempted + patience));
                let delay = next.saturating_duration_since(now);
                match self.failures.cmp(&self.retries.quick()) {
                    Ordering::Less => {
                        self.news = Some(News::Failed { attempt: self.failures, why, delay });
                        next
                    }
                    Ordering::Equal => {
                        registry.controller_is_missing();
                        self.news = Some(News::Degraded(why));
                        now + self.retries.slow
                    }
                    Ordering::Greater => {
                        let pause = self.retries.slow.as_secs();
                        debug!("controller: still not reached ({}); retrying in {} s", why.text(), pause);
                        now + self.retries.slow
                    }
                }
            }
        };
        self.phase = Phase::Waiting { until: next };
    }

    /// Whether the controller has been ready for long enough.
    fn holds(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.ready_since) >= limits::LINK_HOLD
    }

    fn notified<'m>(&mut self, now: Instant, method: &Text<'_>, params: Option<Value<'m>>) -> Reaction<'m> {
        if let Some(news) = ResourceNews::notified(method, params) {
            return Reaction::Watch(news);
        }
        if *method == *"notifications/message" {
            log_message(params);
        }
        if *method == *"notifications/tools/list_changed" {
            match self.phase {
                Phase::Ready { .. } | Phase::Pinging { .. } => self.list_again(now),
                // Not asked for yet, or asked for again once this list is complete.
                _ => self.listing.is_stale = true,
            }
        }
        Reaction::Done
    }

    fn answered<'m>(&mut self, now: Instant, id: Id, result: Value<'m>, registry: &Registry) -> Reaction<'m> {
        match self.phase {
            Phase::Greeting { id: asked, .. } if asked == id => self.greeted(now, result, registry),
            Phase::Greeting { .. } | Phase::Waiting { .. }
                if self.first_greeting.is_some_and(|first| first <= id) && id <= self.last_id =>
            {
                self.dialect = Dialect::FIRST;
                self.greeted(now, result, registry);
            }
            Phase::Listing { id: asked, .. } if asked == id => self.listed(now, result, registry),
            Phase::Pinging { id: asked, .. } if asked == id => {
                self.phase = Phase::Ready { until: now + limits::LINK_PING };
            }
            _ => {
                // A late list: some of its tools may have been taken for those of the one that is being received.
                self.listing.is_stale |= result.get("tools").is_some();
                return Reaction::Answer(id);
            }
        }
        Reaction::Done
    }

    fn refused<'m>(
        &mut self,
        now: Instant,
        id: Option<Id>,
        error: &RpcError<'_>,
        registry: &Registry,
    ) -> Reaction<'m> {
        // Without a number it may be about a call; before there can be any, it is about the handshake.
        let is_about = |asked| id.map_or(!self.is_listed, |id| id == asked);
        match self.phase {
            Phase::Greeting { id: asked, .. } if is_about(asked) => {
                self.greeting_refused(now, error, registry);
            }
            Phase::Listing { id: asked, .. } if is_about(asked) => self.listing_refused(now, error, registry),
            // An error is a sign of life, too.
            Phase::Pinging { id: asked, .. } if is_about(asked) => {
                self.phase = Phase::Ready { until: now + limits::LINK_PING };
            }
            _ => match id {
                Some(id) => {
                    if error.wants_handshake() {
                        // The call was refused, so nothing has happened; the next one needs a handshake first.
                        self.check();
                    }
                    return Reaction::Answer(id);
                }
                None => error!("controller: reports \"{}\"", error.words().as_str()),
            },
        }
        Reaction::Done
    }
}

/// Logs a message that the controller has for the hub's log.
fn log_message(params: Option<Value<'_>>) {
    let Some(params) = params else { return };
    let data = params.get("data").unwrap_or(params);
    let words: String<{ limits::QUOTE }> = match data.as_text() {
        Some(text) => text.excerpt(),
        None => one_line(&data.text()),
    };
    let level: String<16> = params
        .get("level")
        .and_then(|level| level.as_text())
        .map(|level| level.excerpt())
        .unwrap_or_default();
    match level.as_str() {
        "debug" => debug!("controller says: {}", words.as_str()),
        "warning" => warn!("controller says: {}", words.as_str()),
        "error" | "critical" | "alert" | "emergency" => error!("controller says: {}", words.as_str()),
        _ => info!("controller says: {}", words.as_str()),
    }
}
