//! Follows the controller's devices: lists them, has their changes notified, and reads those that changed.

use core::convert::Infallible;

use embassy_futures::select::{Either, select};
use embassy_time::{Instant, Timer, with_timeout};
use heapless::String;

use super::device::{Description, URI};
use super::table::Flags;
use super::{DeviceId, Home, Phase, Task};
use crate::json::{Value, Writer};
use crate::limits;
use crate::link::{CallError, Method, Offer, Port};
use crate::log::{debug, warn};
use crate::tool::Answer;

/// Where the next page begins.
type Cursor = String<{ limits::LINK_CURSOR }>;

/// Nothing can go wrong with what the hub writes here.
type Asked<T> = Result<T, CallError<Infallible>>;

/// Follows the devices for ever. It asks one thing at a time, so that calls wait for one answer at most.
pub async fn follow(port: &Port, home: &Home) -> ! {
    loop {
        let done = match home.next_task() {
            Task::Wait => {
                // Those that could not be read are tried again.
                let is_polled = home.is_known()
                    && (home.offer.get() == Offer::Resources
                        || home.look(|table| table.first_unlike(Flags::KNOWN, Flags::GONE).is_some())
                            == Some(true));
                let poll = async {
                    match is_polled {
                        true => Timer::after(limits::HOME_POLL).await,
                        false => core::future::pending().await,
                    }
                };
                if let Either::Second(()) = select(home.wake.wait(), poll).await {
                    home.change(|table| table.set_all(Flags::STALE, true));
                    home.phase.set(Phase::Unlisted);
                }
                true
            }
            Task::List => list(port, home).await,
            Task::Watch(id) => watch(port, home, &id).await,
            Task::Read(id) => read(port, home, &id).await,
        };
        if !done {
            // The controller is busy, silent or gone.
            let _ = with_timeout(limits::HOME_RETRY, home.wake.wait()).await;
        }
    }
}

/// Receives the list of devices, page by page. Each arrives by [`Home::hears`]. Returns whether that worked.
async fn list(port: &Port, home: &Home) -> bool {
    home.list_begins();
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
            Answer::Result { result, .. } => {
                let next = result.get("nextCursor").and_then(|cursor| cursor.as_text());
                let cursor: Option<Cursor> = next.and_then(|next| next.decode());
                if next.is_some() && cursor.is_none() {
                    warn!("home: the list of devices goes on in a way that the hub cannot follow");
                    home.leave_out();
                }
                Some(cursor)
            }
            Answer::Error(_) => None,
        };
        match port.call(Method::ListResources, compose, read).await {
            Ok(Some(Some(next))) => cursor = Some(next),
            Ok(Some(None)) => {
                // The controller may have left while it came.
                if home.phase.get() == Phase::Unlisted {
                    home.list_ends();
                }
                return true;
            }
            Ok(None) => {
                // Of a first page: it works without. Of a later one: the list has changed, and begins anew.
                if cursor.is_none() {
                    warn!("home: the controller does not list its devices; the hub works without them");
                    home.enter(Phase::Empty);
                }
                return false;
            }
            unasked => return note("the list of devices", unasked),
        }
    }
    warn!("home: the list of devices goes on too long; the rest is left out");
    home.leave_out();
    home.list_ends();
    true
}

/// Has changes of a device notified. Returns whether it was asked for.
async fn watch(port: &Port, home: &Home, id: &DeviceId) -> bool {
    let refused = |answer: Answer<'_>| matches!(answer, Answer::Error(_));
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
    let taken =
        port.call(Method::ReadResource, |params| uri(id, params), |answer| take(home, id, answer)).await;
    match taken {
        Ok(true) => true,
        // It is tried again now and then; the others do not wait for it.
        Ok(false) | Err(CallError::Silent | CallError::Malformed(_)) => {
            warn!("home: the controller does not tell how {} is", id.as_str());
            set(home, id, Flags::KNOWN, false);
            set(home, id, Flags::DUE, true);
            home.publish_soon();
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
    let read = |answer: Answer<'_>| {
        let Answer::Result { result, .. } = answer else { return Err(Unread::Refused) };
        let mut room = [0; limits::DEVICE];
        let description = Description::read(result, &mut room).ok_or(Unread::Refused)?;
        home.describe(id, &description, Instant::now());
        Ok(look(description.actions))
    };
    let compose = |params: &mut Writer<'_>| uri(id, params);
    port.call(Method::ReadResource, compose, read).await.unwrap_or(Err(Unread::Unasked))
}

/// Takes the description of a device. Returns whether it is one; otherwise the device stays as it is.
fn take(home: &Home, id: &DeviceId, answer: Answer<'_>) -> bool {
    let start = Instant::now();
    let result = match answer {
        Answer::Result { result, .. } => result,
        Answer::Error(words) => {
            let words = words.map(|words| words.excerpt::<{ limits::QUOTE }>()).unwrap_or_default();
            warn!("home: the controller does not describe {}: {}", id.as_str(), words.as_str());
            return false;
        }
    };
    let is_described = home.read(id, result, start);
    if is_described {
        debug!("home: {} was read in {} us", id.as_str(), start.elapsed().as_micros());
    } else {
        warn!("home: {} is described in a way that the hub cannot read", id.as_str());
    }
    is_described
}

fn uri(id: &DeviceId, params: &mut Writer<'_>) -> Result<(), Infallible> {
    params.object(|params| params.field("uri", format_args!("{URI}{id}")));
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
fn note<T>(what: &str, asked: Asked<T>) -> bool {
    if asked.is_err() {
        debug!("home: the controller did not tell about {}", what);
    }
    false
}
