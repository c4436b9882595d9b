//! The controller's list of tools: asked for page by page, and again when it changes.

use embassy_time::Instant;
use heapless::{String, Vec};

use super::{McpClient, News, Phase};
use crate::hash::Fingerprint;
use crate::json::{Kind, Text, Value};
use crate::limits;
use crate::link::controller::Loss;
use crate::link::rpc::{self, RpcError};
use crate::log::warn;
use crate::text::is_blank;
use crate::tool::{Discovered, Hints, LeftOut, Registry};

/// A list of tools that is being received.
#[derive(Debug)]
pub(super) struct Listing {
    /// A tool or a page of it has come.
    has_begun: bool,
    pages: u8,
    left_out: usize,
    /// Where the last page ended.
    pub(super) cursor: Option<String<{ limits::LINK_CURSOR }>>,
    /// The tools have changed since it began.
    pub(super) is_stale: bool,
}

impl Listing {
    pub(super) const NEW: Self =
        Self { has_begun: false, pages: 0, left_out: 0, cursor: None, is_stale: false };
}

impl McpClient {
    /// The list has changed: asks for it at once, or after a pause if it changes without end.
    pub(super) fn list_again(&mut self, now: Instant) {
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

    /// Whether the tools have changed since the list was complete.
    pub(crate) fn has_outdated_tools(&self) -> bool {
        let is_listing = !matches!(self.phase, Phase::Ready { .. } | Phase::Pinging { .. });
        self.is_listed && (is_listing || self.is_outdated)
    }

    /// Asks for the list, from its first page.
    pub(super) fn list(&mut self) {
        self.listing = Listing::NEW;
        self.is_outdated = false;
        self.phase = Phase::Unlisted;
    }

    /// A tool of the list came, before the page it is on is complete. `None` if it cannot be read; `is_cut` if something of
    /// it is missing.
    pub fn listed_tool(&mut self, now: Instant, tool: Option<Value<'_>>, is_cut: bool, registry: &Registry) {
        let Phase::Listing { until, .. } = &mut self.phase else { return };
        *until = (now + limits::LINK_TIMEOUT).max(*until);
        self.listing_begins(registry);
        match tool {
            Some(tool) => self.register(tool, is_cut, registry),
            None => self.listing.left_out = self.listing.left_out.saturating_add(1),
        }
    }

    fn listing_begins(&mut self, registry: &Registry) {
        if !core::mem::replace(&mut self.listing.has_begun, true) {
            registry.list_begins();
        }
    }

    /// A page is complete.
    pub(super) fn listed(&mut self, now: Instant, result: Value<'_>, registry: &Registry) {
        let Some(tools) = result.get("tools").filter(|tools| tools.kind() == Kind::Array) else {
            return self.lost(now, Loss::Unlisted, registry);
        };
        self.listing_begins(registry);
        // Most tools came one by one; what is left is not even an object.
        tools.items().for_each(|tool| self.register(tool, false, registry));
        let listing = &mut self.listing;
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
        self.ready(now, registry);
        if self.listing.is_stale {
            self.list_again(now);
        }
    }

    /// The controller answered `tools/list` with an error.
    pub(super) fn listing_refused(&mut self, now: Instant, error: &RpcError<'_>, registry: &Registry) {
        if error.code == Some(rpc::METHOD_NOT_FOUND) && self.listing.pages == 0 {
            warn!("controller: it has no tools at all");
            self.listing_begins(registry);
            self.ready(now, registry);
        } else {
            warn!("controller: refuses with \"{}\"", error.words().as_str());
            let why = if self.is_listed { Loss::Restarted } else { Loss::Refused };
            self.lost(now, why, registry);
        }
    }

    /// The list is complete.
    fn ready(&mut self, now: Instant, registry: &Registry) {
        let listed = registry.list_ends();
        self.controller.tools = listed.tools;
        self.listing.is_stale |= listed.is_worth_repeating();
        self.controller.left_out = self.listing.left_out;
        if !self.is_listed {
            self.news = Some(News::Ready { attempt: self.attempt, is_doubtful: self.short_lives > 0 });
            self.ready_since = now;
            self.recheck_after = limits::LINK_TIMEOUT;
        }
        self.failures = 0;
        self.is_listed = true;
        self.checked = now;
        self.phase = Phase::Ready { until: now + limits::LINK_PING };
    }

    /// Registers one tool of the list. A tool that `is_cut` is left out. Logs each tool that is left out, including
    /// those that make room for this one.
    fn register(&mut self, tool: Value<'_>, is_cut: bool, registry: &Registry) {
        let text = |name| tool.get(name).and_then(|value| value.as_text());
        let Self { told, listing, is_listed, .. } = self;
        let mut leave_out = |name: Option<&str>, why: LeftOut| {
            listing.left_out = listing.left_out.saturating_add(1);
            if !told.is_news(name.unwrap_or("\n"), !*is_listed) {
                return;
            }
            match name {
                Some(name) => warn!("controller: its tool {} is left out: {}", name, why.text()),
                None => warn!("controller: a tool without a name is left out"),
            }
        };
        let Some(name) = text("name") else { return leave_out(None, LeftOut::Name) };
        let task = tool.get("execution").and_then(|execution| execution.get("taskSupport")?.as_text());
        let is_task = task.is_some_and(|support| support == *"required");
        let registered = match (is_cut, is_task) {
            (true, _) => Err(LeftOut::Long),
            (_, true) => Err(LeftOut::Task),
            _ => {
                registry.learn(discovered(tool, name), &mut |name| leave_out(Some(name), LeftOut::Preferred))
            }
        };
        let shown = name.excerpt::<{ limits::QUOTE }>();
        match registered {
            Err(why) => {
                leave_out(Some(&shown), why);
                registry.reserve(name);
            }
            Ok(()) => told.forget(&shown),
        }
    }
}

/// The names of left-out tools that were logged. Each name is logged once, however often the list is received.
#[derive(Debug)]
pub(super) struct Told(Vec<u16, { limits::LEFT_OUT_TOLD }>);

impl Told {
    pub(super) const NONE: Self = Self(Vec::new());

    /// Whether a name has not been logged yet. Names beyond this capacity are new only in the `first` list of a
    /// connection.
    fn is_news(&mut self, name: &str, first: bool) -> bool {
        let digest = Self::digest(name);
        !self.0.contains(&digest) && (self.0.push(digest).is_ok() || first)
    }

    /// Forgets a tool that is no longer left out.
    fn forget(&mut self, name: &str) {
        let digest = Self::digest(name);
        self.0.retain(|told| *told != digest);
    }

    fn digest(name: &str) -> u16 {
        Fingerprint::of(&[name.as_bytes()]) as u16
    }
}

/// A tool as the controller lists it.
fn discovered<'a>(tool: Value<'a>, name: Text<'a>) -> Discovered<'a> {
    let text = |name| tool.get(name).and_then(|value| value.as_text());
    let hint = |name| {
        let hint = tool.get("annotations").and_then(|annotations| annotations.get(name))?;
        (hint.kind() == Kind::Bool).then(|| hint.text() == "true")
    };
    let hints = Hints {
        read_only: hint("readOnlyHint"),
        destructive: hint("destructiveHint"),
        idempotent: hint("idempotentHint"),
    };
    // Models choose by the description, and some providers refuse a tool without one.
    let title = || tool.get("annotations")?.get("title")?.as_text();
    let mut texts = [text("description"), text("title"), title()].into_iter().flatten();
    let description = texts.find(|text| !is_blank(text)).unwrap_or(name);
    Discovered { name, description, schema: tool.get("inputSchema"), hints }
}
