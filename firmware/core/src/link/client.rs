//! The MCP client as a state machine: what to say next, and what an answer means.

use embassy_time::{Duration, Instant};
use heapless::String;

use super::rpc::{self, Message, Outgoing};
use super::status::{Controller, Loss, State};
use crate::json::{Kind, Text, Value};
use crate::limits;
use crate::log::{debug, error, info, warn};
use crate::pending::Id;
use crate::text::one_line;
use crate::tool::{Discovered, Hints, Registry};

/// Brings the link up, keeps it up, and counts the attempts.
///
/// Drive it so: send what [`poll`](Self::poll) returns until it returns nothing; tell the [`News`]; then wait for a
/// message or for [`deadline`](Self::deadline), whichever is first; begin again.
#[derive(Debug)]
pub struct Client {
    phase: Phase,
    dialect: Dialect,
    /// Attempts that failed since the controller was last reached.
    failures: usize,
    last_id: Id,
    controller: Controller,
    /// The controller's tools have been listed since it was greeted.
    is_listed: bool,
    listing: Listing,
    /// When it was last made sure that the controller has not restarted.
    checked: Instant,
    /// How long after that noise is no reason to make sure again. Grows, since some controllers chat without end.
    doubt: Duration,
    /// Lists that were asked for at once, one after the other.
    relists: u8,
    /// A line that was too long came since the last request.
    has_long_line: bool,
    /// The list has changed, and is asked for as soon as the controller has had a pause.
    is_outdated: bool,
    news: Option<News>,
}

/// Something that a person may want to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum News {
    /// The controller can be called, reached at this attempt.
    Ready {
        /// The first is 1.
        attempt: usize,
    },
    /// An attempt failed; there will be another.
    Failed {
        /// The first is 1.
        attempt: usize,
        /// Why.
        why: Loss,
        /// When the next one is.
        delay: Duration,
    },
    /// The last of the quick attempts failed.
    Degraded(Loss),
    /// A controller that could be called is gone.
    Lost(Loss),
}

/// What comes of a message.
#[derive(Debug)]
pub enum Reaction<'m> {
    /// Nothing more.
    Done,
    /// This is to be sent.
    Reply(Outgoing<'m>),
    /// It answers this request, which the client did not make.
    Answer(Id),
}

/// How to speak with the controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Dialect {
    /// With a handshake that offers this version of MCP.
    Handshake(&'static str),
    /// Without one.
    Stateless,
}

const FIRST_DIALECT: Dialect = {
    let [newest, ..] = rpc::VERSIONS;
    Dialect::Handshake(newest)
};

/// The largest number that the first request can have: far from the end, and a number in every language.
const MOST_FIRST_ID: Id = 0x0FFF_FFFF;

/// A list of tools that is being asked for, page by page.
#[derive(Debug)]
struct Listing {
    pages: u8,
    left_out: usize,
    cursor: Option<String<{ limits::LINK_CURSOR }>>,
    /// The tools have changed since it began.
    is_stale: bool,
}

impl Listing {
    const NEW: Self = Self { pages: 0, left_out: 0, cursor: None, is_stale: false };
}

#[derive(Debug)]
enum Phase {
    /// Until the next attempt.
    Waiting { until: Instant },
    /// `initialize` or `server/discover` was sent.
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
    /// Will make its first attempt at once. The seed decides where its numbers begin: a controller that answers late to
    /// what a hub asked before it restarted must not be taken at its word.
    pub const fn new(seed: u64) -> Self {
        Self {
            phase: Phase::Waiting { until: Instant::MIN },
            dialect: FIRST_DIALECT,
            failures: 0,
            last_id: (seed as Id) & MOST_FIRST_ID,
            controller: Controller::UNKNOWN,
            is_listed: false,
            listing: Listing::NEW,
            checked: Instant::MIN,
            doubt: limits::LINK_TIMEOUT,
            relists: 0,
            has_long_line: false,
            is_outdated: false,
            news: None,
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

    /// Whether every request has to say who asks.
    pub fn is_stateless(&self) -> bool {
        self.dialect == Dialect::Stateless
    }

    /// What has happened since the last call.
    pub const fn take_news(&mut self) -> Option<News> {
        self.news.take()
    }

    /// A number for a request.
    pub const fn next_id(&mut self) -> Id {
        self.has_long_line = false;
        self.last_id = self.last_id.wrapping_add(1);
        self.last_id
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

    /// The next message to send, if one is due. A controller that is `busy` with a call has as long to give a sign of life
    /// as a call may take: some do one thing after the other.
    pub fn poll(&mut self, now: Instant, busy: bool, registry: &Registry) -> Option<Outgoing<'_>> {
        match self.phase {
            // The old list counts as long as there is no other.
            Phase::Listing { until, .. } if now >= until && self.is_listed && self.has_long_line => {
                warn!("controller: its list of tools is too long to be read; the one from before counts");
                self.phase = Phase::Ready { until: now + limits::LINK_PING };
            }
            Phase::Greeting { until, .. } | Phase::Listing { until, .. } | Phase::Pinging { until, .. }
                if now >= until =>
            {
                let why = if self.has_long_line { Loss::TooLong } else { Loss::Silent };
                self.lost(now, why, registry);
                // What happened is told before the next attempt.
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
                self.phase = Phase::Greeting { id, until };
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
    pub fn receive<'m>(&mut self, now: Instant, message: Message<'m>, registry: &Registry) -> Reaction<'m> {
        if let Phase::Ready { until } = &mut self.phase
            && !self.is_outdated
        {
            *until = now + limits::LINK_PING;
        }
        match message {
            Message::Request { id, method } if method == *"ping" => {
                return Reaction::Reply(Outgoing::Pong(id));
            }
            Message::Request { id, .. } => return Reaction::Reply(Outgoing::Unknown(id)),
            Message::Notification { method, params } => self.notified(now, &method, params),
            Message::Result { id: Some(id), result } => return self.answered(now, id, result, registry),
            Message::Result { id: None, .. } => {
                debug!("controller: an answer that nobody can have asked for")
            }
            Message::Error { id, code, message, data } => {
                return self.refused(now, id, Refusal { code, message, data }, registry);
            }
        }
        Reaction::Done
    }

    /// The controller said something that is not JSON-RPC. If it could be called, it may have restarted and have
    /// forgotten the hub: its list of tools, which it then cannot give, tells.
    pub fn noticed_noise(&mut self, now: Instant) {
        if now.saturating_duration_since(self.checked) >= self.doubt {
            self.doubt = (self.doubt * 2).min(limits::LINK_DOUBT_LONGEST);
            self.make_sure();
        }
    }

    /// A line came that was too long to be read. If no answer comes to what the client asked, that was it.
    pub const fn noticed_long_line(&mut self) {
        self.has_long_line = true;
    }

    fn make_sure(&mut self) {
        if let Phase::Ready { .. } | Phase::Pinging { .. } = self.phase {
            debug!("controller: making sure that it has not restarted");
            self.list();
        }
    }

    /// The line to the controller is gone, or does not take what is sent. Its tools leave `registry`.
    pub fn lost(&mut self, now: Instant, why: Loss, registry: &Registry) {
        let was_ready = core::mem::take(&mut self.is_listed);
        self.controller = Controller::default();
        self.dialect = FIRST_DIALECT;
        self.is_outdated = false;
        registry.controller_left("The controller is not connected.");
        let delay = match self.phase {
            _ if was_ready => {
                self.failures = 0;
                self.news = Some(News::Lost(why));
                limits::LINK_ATTEMPTS.first().copied()
            }
            Phase::Waiting { .. } => return,
            _ => {
                self.failures = self.failures.saturating_add(1);
                let next = limits::LINK_ATTEMPTS.get(self.failures).copied();
                match next {
                    Some(delay) => self.news = Some(News::Failed { attempt: self.failures, why, delay }),
                    None if self.failures == limits::LINK_ATTEMPTS.len() => {
                        self.news = Some(News::Degraded(why))
                    }
                    None => debug!("controller: still not reached ({})", why.text()),
                }
                next
            }
        };
        self.phase = Phase::Waiting { until: now + delay.unwrap_or(limits::LINK_SLOW_RETRY) };
    }

    fn notified(&mut self, now: Instant, method: &Text<'_>, params: Option<Value<'_>>) {
        if *method == *"notifications/message" {
            return log_message(params);
        }
        if *method != *"notifications/tools/list_changed" {
            return;
        }
        match self.phase {
            Phase::Ready { .. } | Phase::Pinging { .. } => self.list_again(now),
            // Asked for anyway, or again once this list is complete.
            _ => self.listing.is_stale = true,
        }
    }

    /// The list has changed: asks for it at once, or after a pause if it changes without end.
    fn list_again(&mut self, now: Instant) {
        if now.saturating_duration_since(self.checked) >= limits::LINK_PING {
            self.relists = 0;
        }
        if self.relists < limits::LINK_RELISTS {
            self.relists += 1;
            self.list();
        } else {
            self.is_outdated = true;
            self.phase = Phase::Ready { until: now + limits::LINK_PING };
        }
    }

    fn list(&mut self) {
        self.listing = Listing::NEW;
        self.is_outdated = false;
        self.phase = Phase::Unlisted;
    }

    fn answered<'m>(&mut self, now: Instant, id: Id, result: Value<'m>, registry: &Registry) -> Reaction<'m> {
        match self.phase {
            Phase::Greeting { id: asked, .. } if asked == id => self.greeted(now, result, registry),
            Phase::Listing { id: asked, .. } if asked == id => self.listed(now, result, registry),
            Phase::Pinging { id: asked, .. } if asked == id => {
                self.phase = Phase::Ready { until: now + limits::LINK_PING };
            }
            _ => return Reaction::Answer(id),
        }
        Reaction::Done
    }

    fn greeted(&mut self, now: Instant, result: Value<'_>, registry: &Registry) {
        if let Dialect::Handshake(offered) = self.dialect {
            let version = result.get("protocolVersion").and_then(|version| version.as_text());
            match version.map(|version| rpc::VERSIONS.iter().any(|known| version == **known)) {
                Some(true) => {}
                Some(false) => {
                    let version =
                        version.map(|version| version.excerpt::<{ limits::QUOTE }>()).unwrap_or_default();
                    warn!("controller: it wants MCP {}, which the hub does not speak", version.as_str());
                    return self.lost(now, Loss::Version, registry);
                }
                None => {
                    debug!("controller: it does not say which MCP it speaks; it is taken for {}", offered)
                }
            }
        }
        let about = result.get("serverInfo");
        let text = |name| {
            let text = about.and_then(|about| about.get(name)).and_then(|value| value.as_text());
            text.map(|text| text.excerpt()).unwrap_or_default()
        };
        self.controller = Controller { name: text("name"), version: text("version"), ..Controller::UNKNOWN };
        self.listing = Listing::NEW;
        self.phase = if self.is_stateless() { Phase::Unlisted } else { Phase::Greeted };
    }

    fn listed(&mut self, now: Instant, result: Value<'_>, registry: &Registry) {
        let Some(tools) = result.get("tools").filter(|tools| tools.kind() == Kind::Array) else {
            return self.lost(now, Loss::Unlisted, registry);
        };
        let listing = &mut self.listing;
        if listing.pages == 0 {
            registry.list_begins();
        }
        for tool in tools.items() {
            if !learn(tool, registry) {
                listing.left_out = listing.left_out.saturating_add(1);
            }
        }
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
        let is_stale = listing.is_stale;
        self.ready(now, registry);
        if is_stale {
            self.list_again(now);
        }
    }

    fn ready(&mut self, now: Instant, registry: &Registry) {
        self.controller.tools = registry.list_ends();
        self.controller.left_out = self.listing.left_out;
        if !self.is_listed {
            self.news = Some(News::Ready { attempt: self.failures.saturating_add(1) });
            self.doubt = limits::LINK_TIMEOUT;
        }
        self.failures = 0;
        self.is_listed = true;
        self.checked = now;
        self.phase = Phase::Ready { until: now + limits::LINK_PING };
    }

    fn refused<'m>(
        &mut self,
        now: Instant,
        id: Option<Id>,
        refusal: Refusal<'_>,
        registry: &Registry,
    ) -> Reaction<'m> {
        let words: String<{ limits::QUOTE }> =
            refusal.message.map(|message| message.excerpt()).unwrap_or_default();
        // Without a number it may be about a call; before there can be any, it is about the handshake.
        let is_about = |asked| id.map_or(!self.is_listed, |id| id == asked);
        match self.phase {
            Phase::Greeting { id: asked, .. } if is_about(asked) => {
                if let Some(other) = refusal.wants(self.dialect) {
                    info!("controller: \"{}\"; trying another version of MCP", words.as_str());
                    self.dialect = other;
                    self.phase = Phase::Waiting { until: now };
                } else {
                    warn!("controller: refuses with \"{}\"", words.as_str());
                    self.lost(now, Loss::Refused, registry);
                }
            }
            Phase::Listing { id: asked, .. } if is_about(asked) => {
                if refusal.code == Some(rpc::METHOD_NOT_FOUND) && self.listing.pages == 0 {
                    warn!("controller: it has no tools at all");
                    registry.list_begins();
                    self.ready(now, registry);
                } else {
                    warn!("controller: refuses with \"{}\"", words.as_str());
                    let why = if self.is_listed { Loss::Restarted } else { Loss::Refused };
                    self.lost(now, why, registry);
                }
            }
            // Whoever refuses a ping is alive.
            Phase::Pinging { id: asked, .. } if is_about(asked) => {
                self.phase = Phase::Ready { until: now + limits::LINK_PING };
            }
            _ => match id {
                Some(id) => {
                    if refusal.is_stranger() {
                        // The call was refused, so nothing has happened; the next one needs a handshake first.
                        self.make_sure();
                    }
                    return Reaction::Answer(id);
                }
                None => error!("controller: reports \"{}\"", words.as_str()),
            },
        }
        Reaction::Done
    }
}

/// A JSON-RPC error.
struct Refusal<'a> {
    code: Option<i64>,
    message: Option<Text<'a>>,
    data: Option<Value<'a>>,
}

impl Refusal<'_> {
    /// The way to speak that the controller wants instead, if it says so and the hub knows it.
    fn wants(&self, tried: Dialect) -> Option<Dialect> {
        let Dialect::Handshake(offered) = tried else { return None };
        let supported = self.data.and_then(|data| data.get("supported"));
        let supports = |version: &str| {
            supported.is_some_and(|list| {
                list.items().filter_map(|item| item.as_text()).any(|item| item == *version)
            })
        };
        // An older one each time, so that this ends.
        let older = rpc::VERSIONS.iter().skip_while(|version| **version != offered).skip(1);
        let other = older.into_iter().find(|version| supports(version));
        if let Some(version) = other {
            return Some(Dialect::Handshake(version));
        }
        let is_modern = supports(rpc::STATELESS) || self.code == Some(rpc::METHOD_NOT_FOUND);
        is_modern.then_some(Dialect::Stateless)
    }

    /// Whether it says that there was no handshake.
    fn is_stranger(&self) -> bool {
        // There is no code for it that all agree on; "initialized" is in what they say.
        let words: String<{ limits::QUOTE }> =
            self.message.map(|message| message.excerpt()).unwrap_or_default();
        // Searched for by hand: `contains` brings 1.5 KB for long texts.
        words.as_bytes().windows(8).any(|part| part == b"nitializ")
    }
}

/// Registers one tool of a list. What is left out is said, by name.
fn learn(tool: Value<'_>, registry: &Registry) -> bool {
    let text = |name| tool.get(name).and_then(|value| value.as_text());
    let Some(name) = text("name") else {
        warn!("controller: a tool without a name is left out");
        return false;
    };
    let hint = |name| {
        let hint = tool.get("annotations").and_then(|annotations| annotations.get(name))?;
        (hint.kind() == Kind::Bool).then(|| hint.text() == "true")
    };
    let hints = Hints {
        read_only: hint("readOnlyHint"),
        destructive: hint("destructiveHint"),
        idempotent: hint("idempotentHint"),
    };
    let discovered =
        Discovered { name, description: text("description"), schema: tool.get("inputSchema"), hints };
    match registry.learn(discovered) {
        Ok(()) => true,
        Err(why) => {
            let name = name.excerpt::<{ limits::QUOTE }>();
            warn!("controller: its tool {} is left out: {}", name.as_str(), why.text());
            false
        }
    }
}

/// What the controller writes into the hub's log.
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
