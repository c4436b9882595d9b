//! What a person is told about the controller: what happened, and what to do.

use core::ops::ControlFlow;

use heapless::String;

use super::client::News;
use super::recent::Recent;
use super::status::Controller;
use crate::limits;
use crate::log::{error, info, warn};
use crate::notice::{Level, Notices};
use crate::tool::{Implementation, Registry};

/// Tells news, in the log and on the topic `log`. `hint` is what to check when the controller is not reached, and it has
/// `recovered` if people were told that it was gone.
pub(super) fn tell(
    news: News,
    recovered: bool,
    controller: &Controller,
    recent: &Recent,
    hint: &str,
    registry: &Registry,
    notices: &Notices,
) {
    match news {
        News::Ready { attempt } => {
            if attempt > 1 {
                info!("controller: MCP connection succeeded on attempt {}", attempt);
            }
            let Controller { name, version, tools, left_out } = controller;
            info!("controller: {} {} is ready with {} tools", name.as_str(), version.as_str(), tools);
            if *left_out > 0 {
                warn!("controller: {} of its tools cannot be used", left_out);
            }
            // People are told that it is there if they were told that it was not.
            if recovered {
                let text = format_args!("The controller {name} is connected again, with {tools} tools.");
                notices.push(Level::Info, text);
            }
        }
        News::Failed { attempt, why, delay } => {
            warn!(
                "controller: attempt {} of {} failed ({}); again in {} s",
                attempt,
                limits::LINK_ATTEMPTS.len(),
                why.text(),
                delay.as_secs()
            );
        }
        News::Degraded(why) => {
            let attempts = limits::LINK_ATTEMPTS.len();
            let pause = limits::LINK_SLOW_RETRY.as_secs();
            error!("controller: MCP connection failed after {} attempts", attempts);
            error!("controller:   reason: {}", why.text());
            for line in recent.iter() {
                error!("controller:   it said: {}", line);
            }
            error!("controller:   check: {}", hint);
            let local = local_tools(registry);
            warn!("controller: continuing with local tools only ({})", local.as_str());
            info!("controller: it is tried again every {} s", pause);
            let (quote, end) = if recent.last().is_some() { ("It said last: \"", "\". ") } else { ("", "") };
            let last = recent.last().unwrap_or_default();
            notices.push(
                Level::Error,
                format_args!(
                    "MCP connection failed after {attempts} attempts: {}. {quote}{last}{end}Check: {hint}. Continuing \
                     with local tools only; the controller is tried again every {pause} s.",
                    why.text()
                ),
            );
        }
        News::Lost(why) => {
            warn!("controller: lost ({}); connecting again", why.text());
            notices.push(
                Level::Warning,
                format_args!("The controller is lost: {}. The hub is connecting again.", why.text()),
            );
        }
    }
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
