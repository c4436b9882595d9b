//! Follows the controller's devices: lists them, has their changes notified, and reads those that changed.

use core::convert::Infallible;

use embassy_futures::select::select;
use embassy_time::{Instant, Timer, with_timeout};
use heapless::String;
use hub_contract::DEVICE_URI;

use super::device::Description;
use super::table::Flags;
use super::{DeviceId, Home, Task};
use crate::clock::sleep_until;
use crate::json::{Value, Writer};
use crate::limits;
use crate::link::{CallError, Method, Offer, Port};
use crate::log::{debug, warn};
use crate::notice::{Level, Notice, Notices};
use crate::text::clip;
use crate::tool::Answer;

/// Where the next page begins.
type Cursor = String<{ limits::LINK_CURSOR }>;

/// Nothing can go wrong with what the hub writes here.
type ReadResult<T> = Result<T, CallError<Infallible>>;

/// Follows the devices for ever. It asks one thing at a time, so that calls wait for one answer at most.
pub async fn follow(port: &Port, home: &Home, notices: &Notices) -> ! {
    loop {
        report_losses(home, notices);
        let done = match home.next_task(Instant::now()) {
            Task::Wait(until) => {
                select(home.wake.wait(), sleep_until(until)).await;
                true
            }
            Task::List => list(port, home, notices).await,
            Task::Watch(id) => watch(port, home, &id).await,
            Task::Read(id) => read(port, home, &id).await,
            Task::Inspect => inspect(port, home, notices).await,
            Task::Name => name(port, home, notices).await,
        };
        if !done {
            // The controller is busy or gone.
            let _ = with_timeout(limits::HOME_RETRY, home.wake.wait()).await;
        }
    }
}

/// What became of a list.
pub(super) enum Outcome {
    /// All of it was received.
    Whole,
    /// A part of it was received; the rest cannot be requested.
    Partial,
    /// The controller could not list its devices, for this reason.
    Failed(String<{ limits::QUOTE }>),
    /// The controller was not asked, or left before it answered.
    Unasked,
}

/// Receives the list of resources, page by page. Each arrives by [`Home::on_resource_event`].
pub(super) async fn receive(port: &Port, home: &Home) -> Outcome {
    /// What became of a page.
    enum Page {
        Next(Cursor),
        Last,
        Stuck,
        Refused(String<{ limits::QUOTE }>),
    }
    let mut cursor: Option<Cursor> = None;
    for _ in 0..limits::HOME_PAGES {
        let compose = |params: &mut Writer<'_>| {
            params.object(|params| {
                if let Some(cursor) = &cursor {
                    params.field("cursor", cursor.as_str());
                }
            });
            Ok(())
        };
        let read = |answer: Answer<'_>| match answer {
            Answer::Result { result, .. } if result.get("resources").is_none() => {
                Page::Refused(clip(&"the answer has no resources"))
            }
            Answer::Result { result, .. } => {
                match result.get("nextCursor").and_then(|cursor| cursor.as_text()) {
                    None => Page::Last,
                    Some(next) => next.decode().map_or(Page::Stuck, Page::Next),
                }
            }
            // It has declared that it offers resources, so this is a failure whatever its code.
            Answer::Error { message, .. } => {
                Page::Refused(message.map(|words| words.excerpt()).unwrap_or_default())
            }
        };
        let asked: ReadResult<Page> = port.call(Method::ListResources, compose, read).await;
        match asked {
            Ok(_) if !home.is_followed() => return Outcome::Unasked,
            Ok(Page::Next(next)) => cursor = Some(next),
            Ok(Page::Last) => return Outcome::Whole,
            Ok(Page::Stuck) => {
                warn!(
                    "home: the list of devices continues at a cursor that is too long; the rest is left out"
                );
                return Outcome::Partial;
            }
            Ok(Page::Refused(words)) => return Outcome::Failed(words),
            Err(CallError::Silent | CallError::Malformed(_)) => {
                return Outcome::Failed(clip(&"no valid answer"));
            }
            Err(_) => {
                debug!("home: the controller was not asked for its devices");
                return Outcome::Unasked;
            }
        }
    }
    warn!("home: the list of devices has too many pages; the rest is left out");
    Outcome::Partial
}

/// Receives the list of devices. Returns whether the controller was asked.
async fn list(port: &Port, home: &Home, notices: &Notices) -> bool {
    let _lock = home.list_lock.lock().await;
    home.list_begins();
    match receive(port, home).await {
        Outcome::Whole => home.list_ends(Instant::now()),
        Outcome::Partial => {
            home.listed_unread(0);
            home.list_ends(Instant::now());
        }
        Outcome::Failed(why) => report_failure(home, notices, &why),
        Outcome::Unasked => return false,
    }
    true
}

/// Looks at some of the devices that have no room. Those that matter more replace others. Returns whether the controller was
/// asked.
async fn inspect(port: &Port, home: &Home, notices: &Notices) -> bool {
    let unkept = {
        let _lock = home.list_lock.lock().await;
        home.collect_unkept();
        match receive(port, home).await {
            Outcome::Whole | Outcome::Partial => home.collected(),
            Outcome::Failed(why) => {
                report_failure(home, notices, &why);
                return true;
            }
            Outcome::Unasked => return false,
        }
    };
    for id in &unkept {
        let look = |answer: Answer<'_>| {
            let Answer::Result { result, .. } = answer else { return false };
            let mut room = [0; limits::DEVICE];
            let description = Description::read(result, &mut room);
            description.map(|description| home.replace_by(id, description.kind)).is_some()
        };
        let is_read = match port.call(Method::ReadResource, |params| uri(id, params), look).await {
            Ok(is_read) => is_read,
            Err(CallError::Silent | CallError::Malformed(_)) => false,
            unasked => return note(id, unasked.map(drop)),
        };
        if home.has_inspected(id, is_read) {
            warn!("home: {}, which has no room, could not be read; the hub keeps trying", id.as_str());
        }
    }
    if !unkept.is_full() {
        home.inspection_ends(Instant::now());
    }
    true
}

/// Tells people the names of the devices that have no room. Returns whether the controller was asked.
async fn name(port: &Port, home: &Home, notices: &Notices) -> bool {
    let _lock = home.list_lock.lock().await;
    home.name_unkept();
    match receive(port, home).await {
        Outcome::Whole | Outcome::Partial => home.report_unkept(notices),
        Outcome::Failed(why) => report_failure(home, notices, &why),
        Outcome::Unasked => return false,
    }
    true
}

/// Tells people that the list of devices failed, unless they know.
fn report_failure(home: &Home, notices: &Notices, why: &str) {
    if home.list_fails(Instant::now()) {
        let notice = Notice::new(
            Level::Warning,
            format_args!("The controller could not list its devices: {why}. The hub keeps trying."),
        );
        warn!("home: {}", notice.text.as_str());
        notices.push(notice);
    }
}

/// Tells people of commands that were lost before a device woke up.
fn report_losses(home: &Home, notices: &Notices) {
    while let Some(id) = home.take_loss() {
        home.with(&id, |device| {
            notices.push(Notice::new(
                Level::Warning,
                format_args!(
                    "The command to {} was lost before the device woke up. Send it again.",
                    device.name
                ),
            ));
        });
    }
}

/// Has changes of a device notified. Returns whether it was asked for.
async fn watch(port: &Port, home: &Home, id: &DeviceId) -> bool {
    let refused = |answer: Answer<'_>| matches!(answer, Answer::Error { .. });
    match port.call(Method::Subscribe, |params| uri(id, params), refused).await {
        Ok(is_refused) => {
            if is_refused {
                warn!(
                    "home: the controller does not notify of changes of {}; it is asked now and then",
                    id.as_str()
                );
                home.offer.set(Offer::Resources);
            }
            set(home, id, Flags::WATCHED, true);
            true
        }
        unasked => note(id, unasked.map(drop)),
    }
}

/// Reads a device. Returns whether it was asked for.
async fn read(port: &Port, home: &Home, id: &DeviceId) -> bool {
    // What changes from now on is read again.
    set(home, id, Flags::STALE, false);
    set(home, id, Flags::READING, true);
    let taken =
        port.call(Method::ReadResource, |params| uri(id, params), |answer| take(home, id, answer)).await;
    set(home, id, Flags::READING, false);
    // What was notified while it was read still has to be read.
    if !(matches!(taken, Ok(true)) && home.has(id, Flags::STALE)) {
        set(home, id, Flags::AWAITED, false);
    }
    match taken {
        Ok(true) => true,
        // It is tried again now and then; the others do not wait for it.
        Ok(false) | Err(CallError::Silent | CallError::Malformed(_)) => {
            if home.read_fails(id, Instant::now()) {
                warn!("home: {} could not be read; the hub keeps trying", id.as_str());
            }
            true
        }
        unasked => {
            set(home, id, Flags::STALE, true);
            note(id, unasked.map(drop))
        }
    }
}

/// Reads a device after a call whose outcome is unknown. Waits a little for a controller that was lost. Returns whether it
/// told how the device is now.
pub async fn read_back(port: &Port, home: &Home, id: &DeviceId) -> bool {
    let reading = async {
        loop {
            let compose = |params: &mut Writer<'_>| uri(id, params);
            match port.call(Method::ReadResource, compose, |answer| take(home, id, answer)).await {
                Ok(true) => return true,
                // It may have restarted, and need a handshake first.
                Ok(false) | Err(CallError::Absent | CallError::Unsent(_) | CallError::Busy) => {
                    Timer::after(limits::HOME_RETRY / 4).await;
                }
                Err(_) => return false,
            }
        }
    };
    with_timeout(limits::READ_BACK, reading).await.unwrap_or_default()
}

/// Why it is not known what can be done with a device.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Unread {
    /// The controller was not asked, or did not answer.
    Unasked,
    /// It does not describe the device.
    Refused,
}

/// Reads a device, and calls `look` with what can be done with it: an object with a call for each action.
pub(crate) async fn read_actions<T>(
    port: &Port,
    home: &Home,
    id: &DeviceId,
    look: impl FnOnce(Value<'_>) -> T,
) -> Result<T, Unread> {
    read_description(port, home, id, |description| look(description.actions)).await
}

/// Reads a device, and calls `look` with its description.
pub(super) async fn read_description<T>(
    port: &Port,
    home: &Home,
    id: &DeviceId,
    look: impl FnOnce(&Description<'_>) -> T,
) -> Result<T, Unread> {
    let read = |answer: Answer<'_>| {
        let Answer::Result { result, .. } = answer else { return Err(Unread::Refused) };
        let mut room = [0; limits::DEVICE];
        let description = Description::read(result, &mut room).ok_or(Unread::Refused)?;
        home.describe(id, &description, Instant::now());
        Ok(look(&description))
    };
    let compose = |params: &mut Writer<'_>| uri(id, params);
    port.call(Method::ReadResource, compose, read).await.unwrap_or(Err(Unread::Unasked))
}

/// Takes the description of a device. Returns whether it is one; otherwise the device stays as it is.
fn take(home: &Home, id: &DeviceId, answer: Answer<'_>) -> bool {
    let start = Instant::now();
    let result = match answer {
        Answer::Result { result, .. } => result,
        Answer::Error { message, .. } => {
            let words = message.map(|words| words.excerpt::<{ limits::QUOTE }>()).unwrap_or_default();
            debug!("home: the controller does not describe {}: {}", id.as_str(), words.as_str());
            return false;
        }
    };
    let is_described = home.read(id, result, start);
    if is_described {
        debug!("home: {} was read in {} us", id.as_str(), start.elapsed().as_micros());
    } else {
        debug!("home: {} is described in a way that the hub cannot read", id.as_str());
    }
    is_described
}

fn uri(id: &DeviceId, params: &mut Writer<'_>) -> Result<(), Infallible> {
    params.object(|params| params.field("uri", format_args!("{DEVICE_URI}{id}")));
    Ok(())
}

fn set(home: &Home, id: &DeviceId, flag: Flags, value: bool) {
    home.change(|table| {
        if let Some(place) = table.place(id) {
            table.set(place, flag, value);
        }
    });
}

/// Logs that something was not asked, or not answered.
fn note<T>(what: &str, asked: ReadResult<T>) -> bool {
    if asked.is_err() {
        debug!("home: the controller did not tell about {}", what);
    }
    false
}
