//! Reports about the controller, for people: what happened, and what to check.

use core::fmt::Display;
use core::ops::ControlFlow;

use embassy_time::Duration;
use heapless::{HistoryBuf, String};

use super::client::News;
use super::controller::Controller;
use super::wire::LinkContext;
use crate::limits;
use crate::log::{error, info, warn};
use crate::notice::{Level, Notice, Notices};
use crate::text::{Lossy, clip, one_line};
use crate::tool::{Implementation, Registry};

/// The beginning of a line, fit for the log.
pub(super) type Quote = String<{ limits::QUOTE }>;

/// The controller's last unusable output: refusals, and lines that are not JSON-RPC, such as boot messages and stack
/// traces.
#[derive(Debug)]
pub(super) struct Recent(HistoryBuf<Quote, { limits::RECENT_LINES }>);

impl Recent {
    pub(super) const fn new() -> Self {
        Self(HistoryBuf::new())
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// Keeps a line, unless it repeats the last one, and returns how the log shows it.
    pub(super) fn add(&mut self, line: &[u8]) -> Quote {
        let quote = one_line(&Lossy(line));
        if self.0.recent() != Some(&quote) {
            self.0.write(quote.clone());
        }
        quote
    }
}

/// What the last notice said of the controller. None repeats it, however often the controller comes and goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LastNotice {
    /// That it is connected, or there was none.
    Connected,
    /// That it is lost.
    Lost,
    /// That it is not reached.
    Degraded,
}

/// Logs news, and queues a notice unless the last one said the same. Returns what the last notice says now.
pub(super) fn report(
    news: News,
    last_notice: LastNotice,
    controller: &Controller,
    recent: &Recent,
    context: &LinkContext<'_>,
) -> LastNotice {
    let LinkContext { registry, notices, hint, retries, .. } = *context;
    let attempts = retries.quick();
    match news {
        News::Ready { attempt, is_doubtful } => {
            if attempt > 1 {
                info!("controller: MCP connection succeeded on attempt {}", attempt);
            }
            let Controller { name, version, tools, left_out, .. } = controller;
            info!("controller: {} {} is ready with {} tools", name.as_str(), version.as_str(), tools);
            if *left_out > 0 {
                warn!("controller: {} of its tools cannot be used", left_out);
            }
            if is_doubtful {
                return last_notice;
            }
            notice_return(last_notice, attempt, controller, notices)
        }
        News::Holds { attempt } => notice_return(last_notice, attempt, controller, notices),
        News::Failed { attempt, why, delay } => {
            let (why, [seconds, tenths]) = (why.text(), in_tenths(delay));
            warn!(
                "controller: attempt {} of {} failed ({}); retrying in {}.{} s",
                attempt, attempts, why, seconds, tenths
            );
            last_notice
        }
        News::Degraded(why) => {
            let pause = retries.slow.as_secs();
            let advice = why.advice();
            let hint: &dyn Display = advice.as_ref().map_or(hint, |advice| advice);
            error!("controller: MCP connection failed after {} attempts", attempts);
            error!("controller:   reason: {}", why.text());
            for line in recent.0.oldest_ordered() {
                error!("controller:   it said: {}", line.as_str());
            }
            let words: String<{ limits::NOTICE }> = clip(hint);
            error!("controller:   check: {}", words.as_str());
            let local = local_tools(registry);
            warn!("controller: continuing with local tools only ({})", local.as_str());
            info!("controller: retrying every {} s", pause);
            if last_notice == LastNotice::Degraded {
                return last_notice;
            }
            let last = recent.0.recent().map_or("", |line| line.as_str());
            let (quote, end) = if last.is_empty() { ("", "") } else { ("It said last: \"", "\". ") };
            notices.push(Notice::new(
                Level::Error,
                format_args!(
                    "MCP connection failed after {attempts} attempts: {}. {quote}{last}{end}Check: {hint}. Continuing \
                     with local tools only; the controller is tried again every {pause} s.",
                    why.text()
                ),
            ));
            LastNotice::Degraded
        }
        News::Lost { why, delay } => {
            let [seconds, tenths] = in_tenths(delay);
            warn!("controller: lost ({}); retrying in {}.{} s", why.text(), seconds, tenths);
            if last_notice != LastNotice::Connected {
                return last_notice;
            }
            let text = format_args!("The controller is lost: {}. The hub is connecting again.", why.text());
            notices.push(Notice::new(Level::Warning, text));
            LastNotice::Lost
        }
    }
}

/// A duration in whole seconds and tenths.
fn in_tenths(time: Duration) -> [u64; 2] {
    let tenths = time.as_millis() / 100;
    [tenths / 10, tenths % 10]
}

/// Queues the notice that the controller is back, if the last one said that it was gone.
fn notice_return(
    last_notice: LastNotice,
    attempt: usize,
    controller: &Controller,
    notices: &Notices,
) -> LastNotice {
    if last_notice != LastNotice::Connected {
        let Controller { name, tools, .. } = controller;
        let text =
            format_args!("The controller {name} is connected again, with {tools} tools (attempt {attempt}).");
        notices.push(Notice::new(Level::Info, text));
    }
    LastNotice::Connected
}

/// The names of the tools that need no controller, as many as fit.
fn local_tools(registry: &Registry) -> String<{ limits::NOTICE }> {
    let mut names = String::new();
    registry.each(|_, tool| {
        if tool.implementation == Implementation::Mcp {
            return ControlFlow::Continue(());
        }
        let before = names.len();
        let comma = if before > 0 { ", " } else { "" };
        if names.push_str(comma).and_then(|()| names.push_str(tool.name)).is_err() {
            names.truncate(before);
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    });
    names
}
