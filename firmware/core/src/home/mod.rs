//! The home: the devices that the controller offers, and what the hub knows of them.
//!
//! ```text
//!   controller ──► link ──► follow ──► Table ──► outbox ──► device/<id>
//!                                        │
//!     approval ──► resolve, changes ─────┴──► device/list, device/set, home_status, undo
//! ```
//!
//! Each device is an MCP resource, `home://devices/<id>`. [`follow`] lists, subscribes to and reads them, and keeps what it
//! reads in a table of fixed size. What can be done with a device is read from its resource when it is to be done, since
//! that takes more room than all the rest; only that of guarded devices is kept, for [`approval`](crate::approval).

mod ability;
mod action;
mod changes;
mod device;
mod follow;
mod kinds;
mod measurement;
mod names;
mod publish;
mod resolve;
mod search;
mod table;

#[cfg(test)]
pub(crate) mod tests;

use core::cell::{Cell, RefCell};
use core::fmt;

use embassy_sync::blocking_mutex::raw::NoopRawMutex;
use embassy_sync::mutex::Mutex;
use embassy_sync::signal::Signal;
use embassy_time::{Duration, Instant, Timer};

pub use self::ability::{Abilities, Mode, Tenths};
pub(crate) use self::action::DeclaredAction;
pub use self::changes::ChangeId;
pub(crate) use self::changes::UndoStep;
use self::changes::{Changes, DeviceState};
pub use self::device::{Description, Device, DeviceId};
pub(crate) use self::follow::{Unread, read_actions};
pub use self::follow::{follow, read_back};
pub use self::kinds::{Kind, KindRow, Notable, Risk};
pub use self::measurement::Measurement;
use self::names::{Match, Spoken};
pub(crate) use self::publish::{Leftover, Remains};
use self::resolve::{SpokenName, Target};
use self::search::{Inspection, Search};
pub(crate) use self::search::{NotAddressed, Unkept, address_unkept, find_unkept, is_address_unique};
use self::table::{Flags, Full, Table};
use crate::json::{Value, Writer};
use crate::limits;
use crate::link::{Offer, ResourceNews};
use crate::log::{info, warn};
use crate::text::clip;
use crate::tool::Addressed;

/// What the hub knows of the home. All zeros when new.
pub struct Home {
    table: RefCell<Table>,
    /// Never [`Knowledge::Incomplete`], which follows from the table and the last list.
    knowledge: Cell<Knowledge>,
    offer: Cell<Offer>,
    /// The sum of the hashes of the devices of the last list for which there is no room.
    unkept: Cell<u32>,
    /// Those that people were told of, in the same way.
    named: Cell<u32>,
    /// People may have to be told of others.
    names_are_due: Cell<bool>,
    /// The last list did not name all devices in a form that the hub can read.
    list_is_partial: Cell<bool>,
    /// The list that is being received.
    listing: Cell<Listing>,
    /// What is done with the resources of the list that is being received.
    search: RefCell<Search>,
    /// Held by whoever receives a list.
    list_lock: Mutex<NoopRawMutex, ()>,
    /// How far the devices that have no room have been looked at, for guarded ones among them.
    inspection: Cell<Inspection>,
    /// When [`follow`] does what waits for a time.
    schedule: Cell<Schedule>,
    /// [`follow`] has something to do.
    wake: Signal<NoopRawMutex, ()>,
    /// The outbox has something to publish.
    changed: Signal<NoopRawMutex, ()>,
    /// The list has changed while it was being received.
    list_is_stale: Cell<bool>,
    /// The place of the device that was last asked for.
    last_asked: Cell<usize>,
    /// A second list has confirmed that devices are missing.
    is_confirmed: Cell<bool>,
    /// The broker's retained device states have to be compared with the devices.
    sweep_is_due: Cell<bool>,
    /// All devices have been read once.
    is_current: Cell<bool>,
    changes: RefCell<Changes>,
}

/// How much the hub knows of the devices that the controller offers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Knowledge {
    /// The controller is not connected.
    NoController,
    /// The controller is connected and offers no resources at all, so no devices either.
    NoDevices,
    /// The list of devices has not arrived yet, or has changed since.
    Unlisted,
    /// The controller could not list its devices. The hub asks again, at growing intervals.
    ListFailed,
    /// The listed devices are being read for the first time.
    Reading,
    /// Some listed devices could not be read, or the list could not be followed to its end.
    Incomplete,
    /// Every listed device has been read. An empty home is complete.
    Complete,
}

/// A list of devices that is being received.
#[derive(Clone, Copy, Debug)]
struct Listing {
    /// Devices for which there is no room.
    left_out: u16,
    /// The sum of their hashes, which does not depend on their order.
    unkept: u32,
    /// A part of it cannot be read or followed.
    is_partial: bool,
}

impl Listing {
    const NEW: Self = Self { left_out: 0, unkept: 0, is_partial: false };
}

/// When [`follow`] does what waits for a time, and how often it has failed in a row.
#[derive(Clone, Copy, Debug)]
struct Schedule {
    /// The list is requested again after it failed.
    list: Option<Instant>,
    list_failures: u8,
    /// Devices that could not be read are read again.
    read: Option<Instant>,
    read_failures: u8,
    /// The list is requested again to confirm that devices are missing.
    confirm: Option<Instant>,
    /// All devices are read again, since the controller does not notify of changes.
    poll: Option<Instant>,
}

impl Schedule {
    const NEW: Self =
        Self { list: None, list_failures: 0, read: None, read_failures: 0, confirm: None, poll: None };

    /// The earliest of them.
    fn next(&self) -> Option<Instant> {
        [self.list, self.read, self.confirm, self.poll].into_iter().flatten().min()
    }
}

/// What [`follow`] has to do.
enum Task {
    /// Nothing until this time, or until something happens.
    Wait(Option<Instant>),
    List,
    Watch(DeviceId),
    Read(DeviceId),
    /// Looks for devices that matter among those that have no room.
    Inspect,
    /// Tells people which devices have no room.
    Name,
}

/// The device that a call is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Resolved {
    /// None: the tool controls no device that the hub knows.
    Unrelated,
    /// This one.
    One {
        /// Its id.
        device: DeviceId,
        /// The argument that names it and its address, if the call does not have it yet.
        address: Option<Addressed>,
    },
    /// It could be one of several.
    Several,
    /// The controller may take the device's address for that of another device, and one of the two is guarded.
    Shared,
    /// No device that the tool controls is called so.
    Unknown,
}

/// Which device was meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// This one.
    One(DeviceId),
    /// It could be one of several.
    Several,
    /// There is none.
    None,
}

/// Why there is nothing to undo.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NotUndone {
    /// Nothing was changed.
    Nothing,
    /// The call of the last change has not ended.
    Running,
    /// The last change is not of a single device whose state the hub knows.
    Untraceable,
    /// The device is not there any more, or cannot be reached.
    Unavailable,
    /// It has changed since.
    ChangedSince,
    /// The last call has changed nothing yet.
    NoEffectYet,
    /// The last call changed nothing.
    NoEffect,
}

/// A device's name in a form that no other device shares.
pub(crate) struct DistinctName<'a> {
    name: &'a str,
    /// The room or the id. Empty if the name is unique.
    mark: &'a str,
}

impl fmt::Display for DistinctName<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.mark {
            "" => f.write_str(self.name),
            mark => write!(f, "{} ({mark})", self.name),
        }
    }
}

/// Bytes of the longest distinct name, with the brackets.
pub(crate) const DISTINCT_NAME: usize = limits::DEVICE_NAME
    + 3
    + if limits::DEVICE_ID > limits::DEVICE_ROOM { limits::DEVICE_ID } else { limits::DEVICE_ROOM };

/// Which devices are looked at.
pub(crate) struct Survey<'a> {
    /// Those in this room, or all.
    pub(crate) room: Option<&'a str>,
}

impl Home {
    /// Nothing is known.
    pub const fn new() -> Self {
        Self {
            table: RefCell::new(Table::new()),
            knowledge: Cell::new(Knowledge::NoController),
            offer: Cell::new(Offer::Nothing),
            unkept: Cell::new(0),
            named: Cell::new(0),
            names_are_due: Cell::new(false),
            list_is_partial: Cell::new(false),
            listing: Cell::new(Listing::NEW),
            search: RefCell::new(Search::None),
            list_lock: Mutex::new(()),
            inspection: Cell::new(Inspection::NEW),
            schedule: Cell::new(Schedule::NEW),
            wake: Signal::new(),
            changed: Signal::new(),
            list_is_stale: Cell::new(false),
            last_asked: Cell::new(0),
            is_confirmed: Cell::new(false),
            sweep_is_due: Cell::new(false),
            is_current: Cell::new(false),
            changes: RefCell::new(Changes::new()),
        }
    }

    /// Forgets what an earlier run left.
    pub(crate) fn clear(&self) {
        self.knowledge.set(Knowledge::NoController);
        self.unkept.set(0);
        self.named.set(0);
        self.names_are_due.set(false);
        self.list_is_partial.set(false);
        self.schedule.set(Schedule::NEW);
        self.is_confirmed.set(false);
        self.sweep_is_due.set(false);
        self.is_current.set(false);
        self.change(Table::clear);
        if let Ok(mut changes) = self.changes.try_borrow_mut() {
            changes.clear();
        }
    }

    /// The number of known devices, and of those that do not fit.
    pub fn count(&self) -> (usize, usize) {
        let known = self.look(|table| table.devices().count()).unwrap_or_default();
        (known, usize::from(self.left_out()))
    }

    /// Devices of the last list for which there is no room.
    fn left_out(&self) -> u16 {
        self.look(Table::left_out).unwrap_or_default()
    }

    /// The same, as `info` tells it: nothing until all are known.
    pub(crate) fn announced(&self) -> (usize, usize) {
        if self.is_known() { self.count() } else { (0, 0) }
    }

    /// How much the hub knows of the devices that the controller offers.
    pub fn knowledge(&self) -> Knowledge {
        let is_partial = || {
            let is_read = |table: &Table| {
                table.first_unread().is_none()
                    && (table.left_out() == 0 || self.inspection.get().is_complete())
            };
            self.list_is_partial.get() || self.look(is_read) != Some(true)
        };
        match self.knowledge.get() {
            Knowledge::Complete if is_partial() => Knowledge::Incomplete,
            knowledge => knowledge,
        }
    }

    /// Whether every listed device has been read, or the attempt has failed.
    pub fn is_known(&self) -> bool {
        matches!(self.knowledge.get(), Knowledge::Complete)
    }

    /// Whether the controller is connected and offers devices.
    fn is_followed(&self) -> bool {
        !matches!(self.knowledge.get(), Knowledge::NoController | Knowledge::NoDevices)
    }

    /// Whether the controller is there, and offers no devices.
    pub fn is_unsupported(&self) -> bool {
        matches!(self.knowledge.get(), Knowledge::NoDevices)
    }

    /// Whether the devices are being listed and read, or will be by `until`.
    pub(crate) fn is_being_read(&self, until: Instant) -> bool {
        match self.knowledge() {
            Knowledge::Unlisted | Knowledge::Reading => true,
            // Without a time, the list is being requested again.
            Knowledge::ListFailed => self.schedule.get().list.is_none_or(|again| again <= until),
            Knowledge::NoController | Knowledge::NoDevices | Knowledge::Incomplete | Knowledge::Complete => {
                false
            }
        }
    }

    /// Waits while the devices are being listed and read, which may be for ever: the caller limits the time. Returns whether
    /// the hub then knows every device that the controller offers.
    pub async fn settled(&self) -> bool {
        loop {
            match self.knowledge() {
                // Several callers may wait, so a signal would not do.
                Knowledge::Unlisted | Knowledge::ListFailed | Knowledge::Reading => {
                    Timer::after(limits::HOME_POLL_SETTLED).await;
                }
                Knowledge::NoController | Knowledge::Incomplete => return false,
                Knowledge::NoDevices | Knowledge::Complete => return true,
            }
        }
    }

    /// The link has news of the controller's resources.
    pub fn on_resource_event(&self, news: ResourceNews<'_>) {
        match news {
            ResourceNews::Opened(offer) => {
                self.offer.set(offer);
                self.schedule.set(Schedule::NEW);
                self.is_confirmed.set(false);
                self.change(|table| {
                    table.set_all(Flags::MISSED, false);
                    table.set_all(Flags::LISTED, false);
                });
                // One that offered devices before may offer them again: those that are known stay, unavailable.
                let is_empty = offer == Offer::Nothing;
                self.enter(if is_empty { Knowledge::NoDevices } else { Knowledge::Unlisted });
            }
            ResourceNews::Closed => {
                self.change(|table| {
                    for place in 0..table.len() {
                        let was_known = table.has(place, Flags::KNOWN);
                        table.set(place, Flags::DUE, was_known || table.has(place, Flags::DUE));
                        table.set(place, Flags::KNOWN, false);
                        table.set(place, Flags::UNREAD, false);
                        table.set(place, Flags::WATCHED, false);
                        table.set(place, Flags::STALE, true);
                    }
                });
                self.enter(Knowledge::NoController);
            }
            ResourceNews::Listed(resource) => self.listed(resource),
            ResourceNews::Updated(uri) => {
                if let Some(id) = device::id_in(&uri) {
                    self.change(|table| {
                        if let Some(place) = table.place(&id) {
                            table.set(place, Flags::STALE, true);
                        }
                    });
                    self.wake.signal(());
                }
            }
            ResourceNews::ListedUnread => self.listed_unread(0),
            ResourceNews::ListChanged => match self.knowledge.get() {
                Knowledge::NoController | Knowledge::NoDevices => {}
                // While it is being received: it is received again.
                Knowledge::Unlisted => self.list_is_stale.set(true),
                Knowledge::ListFailed | Knowledge::Reading | Knowledge::Incomplete | Knowledge::Complete => {
                    self.reschedule(|schedule| (schedule.list, schedule.list_failures) = (None, 0));
                    self.knowledge.set(Knowledge::Unlisted);
                    self.wake.signal(());
                }
            },
        }
    }

    fn enter(&self, knowledge: Knowledge) {
        self.knowledge.set(knowledge);
        self.wake.signal(());
        self.changed.signal(());
    }

    fn reschedule(&self, change: impl FnOnce(&mut Schedule)) {
        let mut schedule = self.schedule.get();
        change(&mut schedule);
        self.schedule.set(schedule);
    }

    /// There is no room for a device of the list.
    fn leave_out(&self, hash: u32) {
        let Listing { left_out, unkept, is_partial } = self.listing.get();
        let left_out = left_out.saturating_add(1);
        self.listing.set(Listing { left_out, unkept: unkept.wrapping_add(hash), is_partial });
    }

    /// A part of the list cannot be read or followed. There may be any device in it.
    fn listed_unread(&self, hash: u32) {
        self.leave_out(hash);
        self.listing.set(Listing { is_partial: true, ..self.listing.get() });
    }

    /// A listed device with this hash was removed, since there is no room for it. What the broker has retained of it is
    /// dealt with.
    fn evicted(&self, hash: u32) {
        self.unkept.set(self.unkept.get().wrapping_add(hash));
        self.names_are_due.set(true);
        self.sweep_is_due.set(true);
    }

    fn list_begins(&self) {
        self.search.replace(Search::None);
        self.listing.set(Listing::NEW);
        self.list_is_stale.set(false);
        self.change(|table| table.set_all(Flags::SEEN, false));
    }

    fn listed(&self, resource: Value<'_>) {
        let Some(uri) = resource.get("uri").and_then(|uri| uri.as_text()) else { return };
        let id = device::id_in(&uri);
        if id.is_none() && !device::is_device(&uri) || self.search(id.as_ref(), resource) {
            return;
        }
        let Some(id) = id else { return self.listed_unread(search::hash_of_uri(resource)) };
        let added = self.change(|table| match table.place(&id) {
            Some(place) => {
                let has_returned = table.has(place, Flags::GONE) || table.has(place, Flags::MISSED);
                // Not all controllers notify of the renamed device itself.
                let name = resource.get("name").and_then(|name| name.as_text());
                let kept = table.get(place).map(|device| device.name);
                if !name.is_some_and(|name| kept.is_some_and(|kept| name == *kept)) {
                    table.set(place, Flags::STALE, true);
                }
                table.set(place, Flags::LISTED, true);
                table.set(place, Flags::SEEN, true);
                table.set(place, Flags::GONE, false);
                table.set(place, Flags::MISSED, false);
                if has_returned {
                    table.set(place, Flags::UNANNOUNCED, true);
                    table.set(place, Flags::STALE, true);
                    table.set(place, Flags::WATCHED, false);
                }
                true
            }
            None => table.add(&id).is_ok(),
        });
        if added != Some(true) {
            if self.knowledge.get() != Knowledge::Complete {
                let name = resource.get("name").and_then(|name| name.as_text());
                let name = name.map(|name| name.excerpt::<{ limits::QUOTE }>()).unwrap_or_default();
                warn!("home: {} ({}) does not fit and is not kept", name.as_str(), id.as_str());
            }
            self.leave_out(resolve::hash(id.chars()));
        }
    }

    /// The whole list has been received, or as much of it as can be.
    ///
    /// A device that is missing from it becomes unavailable. It is removed when it is still missing from a second whole list
    /// some time later: controllers that have just started list fewer devices than they have, or none.
    fn list_ends(&self, now: Instant) {
        let listing = self.listing.get();
        self.list_is_partial.set(listing.is_partial);
        let has_other_unkept = self.unkept.replace(listing.unkept) != listing.unkept;
        let is_whole = !listing.is_partial && !self.list_is_stale.get();
        let confirms = is_whole && self.schedule.get().confirm.is_some_and(|due| now >= due);
        let missing = self.change(|table| {
            table.set_left_out(listing.left_out);
            let (mut has_missing, mut has_new) = (false, false);
            for place in 0..table.len() {
                let is_listed = table.has(place, Flags::SEEN);
                table.set(place, Flags::LISTED, is_listed);
                if is_listed || table.has(place, Flags::GONE) {
                    continue;
                }
                let was_missed = table.has(place, Flags::MISSED);
                if !is_whole {
                    // It may be in the part that is not there: it is read.
                    table.set(place, Flags::LISTED, !was_missed);
                } else if was_missed && confirms {
                    table.leave(place);
                    if let (Some(device), Ok(mut changes)) = (table.get(place), self.changes.try_borrow_mut())
                    {
                        changes.forget_device(device.id);
                    }
                } else {
                    (has_missing, has_new) = (true, has_new || !was_missed);
                    table.set(place, Flags::MISSED, true);
                    table.set(place, Flags::STALE, false);
                    table.set(
                        place,
                        Flags::DUE,
                        table.has(place, Flags::KNOWN) || table.has(place, Flags::DUE),
                    );
                    table.set(place, Flags::KNOWN, false);
                }
            }
            (has_missing, has_new)
        });
        let (has_missing, has_new) = missing.unwrap_or_default();
        if confirms {
            self.is_confirmed.set(true);
            self.sweep_is_due.set(true);
        }
        let is_confirmed = self.is_confirmed.get() && !has_missing;
        self.reschedule(|schedule| {
            (schedule.list, schedule.list_failures) = (None, 0);
            schedule.confirm = match schedule.confirm {
                _ if is_confirmed => None,
                Some(due) if now < due && !has_new => Some(due),
                _ => Some(now + limits::HOME_CONFIRM),
            };
        });
        self.names_are_due.set(listing.left_out > 0 && (has_other_unkept || self.names_are_due.get()));
        if has_other_unkept || self.knowledge.get() != Knowledge::Complete {
            // One of them may be guarded.
            self.inspection.set(Inspection::NEW);
            self.knowledge.set(Knowledge::Reading);
        }
        self.changed.signal(());
    }

    /// The controller could not list its devices. Returns whether it could before.
    fn list_fails(&self, now: Instant) -> bool {
        let was_failed = self.knowledge.get() == Knowledge::ListFailed;
        self.reschedule(|schedule| {
            schedule.list = Some(now + back_off(schedule.list_failures));
            schedule.list_failures = schedule.list_failures.saturating_add(1);
        });
        self.enter(Knowledge::ListFailed);
        !was_failed
    }

    /// A device could not be read. Returns whether it could before.
    fn read_fails(&self, id: &str, now: Instant) -> bool {
        let was_read = self.change(|table| {
            let place = table.place(id)?;
            let was_read = !table.has(place, Flags::UNREAD);
            let is_due = was_read || table.has(place, Flags::DUE);
            table.set(place, Flags::UNREAD, true);
            table.set(place, Flags::KNOWN, false);
            table.set(place, Flags::DUE, is_due);
            Some(was_read)
        });
        let was_read = was_read.flatten().unwrap_or_default();
        self.reschedule(|schedule| {
            if was_read {
                schedule.read_failures = 0;
            }
            let due = now + back_off(schedule.read_failures);
            schedule.read = Some(schedule.read.map_or(due, |earlier| earlier.min(due)));
        });
        self.changed.signal(());
        was_read
    }

    /// What [`follow`] has to do next.
    fn next_task(&self, now: Instant) -> Task {
        let is_due = |time: Option<Instant>| time.is_some_and(|time| now >= time);
        let schedule = self.schedule.get();
        match self.knowledge.get() {
            Knowledge::NoController | Knowledge::NoDevices => return Task::Wait(None),
            Knowledge::Unlisted => return Task::List,
            Knowledge::ListFailed if is_due(schedule.list) => return Task::List,
            Knowledge::ListFailed | Knowledge::Reading | Knowledge::Incomplete | Knowledge::Complete => {}
        }
        if is_due(schedule.poll) {
            self.reschedule(|schedule| schedule.poll = None);
            self.change(|table| table.set_all(Flags::STALE, true));
            return Task::List;
        }
        if is_due(schedule.read) {
            self.reschedule(|schedule| {
                schedule.read = None;
                schedule.read_failures = schedule.read_failures.saturating_add(1);
            });
            self.change(Table::retry_unread);
            self.inspection.set(self.inspection.get().retry());
        }
        let stale = self.look(|table| {
            // One after the other, so that none that changes all the time keeps others from being read.
            let place = table.next_stale(self.last_asked.get())?;
            self.last_asked.set(place);
            let id = DeviceId::try_from(table.get(place)?.id).ok()?;
            Some((id, table.has(place, Flags::WATCHED)))
        });
        match stale.flatten() {
            Some((id, false)) if self.offer.get() == Offer::Subscriptions => return Task::Watch(id),
            Some((id, _)) => return Task::Read(id),
            None => {}
        }
        let is_listed = matches!(self.knowledge.get(), Knowledge::Reading | Knowledge::Complete);
        if is_listed && self.left_out() > 0 && !self.inspection.get().is_over() {
            return Task::Inspect;
        }
        if self.knowledge.get() == Knowledge::Reading {
            let (count, left_out) = self.count();
            match left_out {
                0 => {
                    self.named.set(0);
                    info!("home: {} devices are known", count);
                }
                _ => info!("home: {} devices are known, {} more do not fit", count, left_out),
            }
            self.is_current.set(true);
            self.enter(Knowledge::Complete);
            if self.list_is_stale.get() {
                self.knowledge.set(Knowledge::Unlisted);
                return Task::List;
            }
        }
        if is_due(schedule.confirm) {
            return Task::List;
        }
        if self.knowledge.get() == Knowledge::Complete && self.names_are_due.get() {
            return Task::Name;
        }
        if self.offer.get() == Offer::Resources {
            self.reschedule(|schedule| schedule.poll = schedule.poll.or(Some(now + limits::HOME_POLL)));
        }
        Task::Wait(self.schedule.get().next())
    }

    /// Reads the controller's answer to `resources/read` of a device. Returns whether it describes one.
    pub fn read(&self, id: &str, result: Value<'_>, now: Instant) -> bool {
        let mut room = [0; limits::DEVICE];
        let description = Description::read(result, &mut room);
        description.inspect(|description| self.describe(id, description, now)).is_some()
    }

    /// The device is as the controller describes it.
    fn describe(&self, id: &str, description: &Description<'_>, now: Instant) {
        let after = DeviceState::of(description.kind, description.state);
        let was_pending = self.changes.try_borrow().is_ok_and(|changes| changes.is_pending(id));
        let described = self.change(|table| {
            let mut place = table.place(id)?;
            let before = table.get(place);
            let fingerprint = before.map(|device| device.fingerprint());
            let is_pressed = before.is_some_and(|device| is_pressed(|| device.state(), description.state));
            let before = before.map(|device| DeviceState::of(device.kind, device.state()));
            let was_known = table.has(place, Flags::KNOWN);
            let mut described = table.describe(place, description);
            while described == Err(Full)
                && let Some(hash) = table.make_room_for(description.kind)
            {
                self.evicted(hash);
                place = table.place(id)?;
                described = table.describe(place, description);
            }
            if described == Err(Full) {
                table.remove(place);
                table.set_left_out(table.left_out().saturating_add(1));
                self.evicted(resolve::hash(id.chars()));
                return Some((false, None));
            }
            if described == Ok(true) && table.get(place).map(|device| device.fingerprint()) != fingerprint {
                table.set(place, Flags::UNANNOUNCED, true);
            }
            if is_pressed && was_known {
                table.set(place, Flags::PRESSED, true);
            }
            // A controller that was restarted together with the network does not know what it has promised.
            let is_forgotten =
                was_pending && !description.is_pending && !was_known && before.as_ref() == Some(&after);
            if (description.is_lost || is_forgotten) && !table.has(place, Flags::LOST) {
                table.set(place, Flags::LOSS_UNTOLD, true);
                self.wake.signal(());
            }
            table.set(place, Flags::LOST, description.is_lost);
            table.set(place, Flags::KNOWN, described.is_ok());
            table.set(place, Flags::UNREAD, false);
            let is_due = described != Ok(false) || !was_known;
            table.set(place, Flags::DUE, is_due || table.has(place, Flags::DUE));
            Some((described.is_ok(), before))
        });
        if let Ok(mut changes) = self.changes.try_borrow_mut() {
            changes.set_pending(id, description.is_pending, now);
        }
        match described.flatten() {
            Some((true, before)) if before.as_ref() != Some(&after) => {
                if let Ok(mut changes) = self.changes.try_borrow_mut() {
                    changes.seen(id, &after, now);
                }
            }
            Some((false, _)) => warn!("home: {} ({}) does not fit and is not kept", description.name(), id),
            _ => {}
        }
        self.changed.signal(());
    }

    /// Calls `look` with the device of this id.
    pub fn with<T>(&self, id: &str, look: impl FnOnce(&Device<'_>) -> T) -> Option<T> {
        self.look(|table| {
            let place = table.place(id).filter(|place| !table.has(*place, Flags::GONE))?;
            table.get(place).map(|device| look(&device))
        })?
    }

    /// Like [`with`](Self::with), but the device has its [distinct name](Self::distinct_name).
    pub(crate) fn with_distinct<T>(&self, id: &str, look: impl FnOnce(&Device<'_>) -> T) -> Option<T> {
        self.with(id, |device| {
            let name = clip::<DISTINCT_NAME>(&self.distinct_name(device));
            look(&Device { name: &name, ..*device })
        })
    }

    /// The device that a person calls so.
    pub fn find(&self, spoken: &str) -> Found {
        self.find_by(resolve::find, spoken)
    }

    /// The device with the most similar name, if no device that the hub has no room for is called so.
    fn find_similar(&self, spoken: &str) -> Found {
        self.find_by(resolve::find_loosely, spoken)
    }

    fn find_by(
        &self,
        find: impl FnOnce(&Table, resolve::ToolBits, &Spoken<'_>) -> resolve::Found,
        spoken: &str,
    ) -> Found {
        let found = self.look(|table| match find(table, resolve::ANY, &Spoken::new(spoken)) {
            resolve::Found::One(place) => {
                table.get(place).and_then(|device| DeviceId::try_from(device.id).ok()).map(Found::One)
            }
            resolve::Found::Several(_) => Some(Found::Several),
            resolve::Found::None => None,
        });
        found.flatten().unwrap_or(Found::None)
    }

    /// Writes the names of the devices that somebody may have meant by a name: those that match it equally well, or else those
    /// that are nearest to it, or all if there is no name. Only of the devices that this tool controls, if one is given.
    /// After [`limits::NEAREST`] names it writes `…` for the others.
    pub fn write_nearest(&self, tool: Option<&str>, spoken: &str, out: &mut dyn fmt::Write) -> fmt::Result {
        let spoken = Spoken::new(spoken);
        let written = self.look(|table| {
            let bits = tool.map(|tool| table.tools_named(tool).fold(0, |bits, (bit, _)| bits | bit));
            let bits = bits.unwrap_or(resolve::ANY);
            let devices = || table.places_controlled_by(bits).filter_map(|place| table.get(place));
            let matched = match resolve::find_loosely(table, bits, &spoken) {
                resolve::Found::Several(quality) => Some(quality),
                _ => None,
            };
            let nearest = devices().map(|device| spoken.nearness(&device)).max().unwrap_or_default();
            let is_meant = |device: &Device<'_>| match matched {
                _ if spoken.text().is_empty() => true,
                Some(quality) => spoken.matches(device).or(spoken.begins(device)) == Some(quality),
                None => nearest > 0 && spoken.nearness(device) == nearest,
            };
            for (at, device) in devices().filter(is_meant).enumerate() {
                if at == limits::NEAREST {
                    return out.write_str(", …");
                }
                write!(out, "{}{}", if at > 0 { ", " } else { "" }, self.distinct_name(&device))?;
            }
            Ok(())
        });
        written.unwrap_or(Ok(()))
    }

    /// Whether another device has the same name, or one that a person may take for the same.
    pub(crate) fn has_namesake(&self, device: &Device<'_>) -> bool {
        self.has_namesake_where(device, |_| true)
    }

    /// The same, among the devices for which `is_there` holds.
    fn has_namesake_where(&self, device: &Device<'_>, is_there: impl Fn(&Device<'_>) -> bool) -> bool {
        let name = Spoken::new(device.name);
        let is_called_so = |other: &Device<'_>| name.matches(other).is_some_and(|how| how <= Match::Words);
        let is_one = |other: &Device<'_>| other.id != device.id && is_called_so(other) && is_there(other);
        let may_be_one = |table: &Table, place| table.may_be_called(&name, place);
        self.look(|table| table.devices().any(|(place, other)| may_be_one(table, place) && is_one(&other)))
            == Some(true)
    }

    /// The device's name. If other devices have the same name, the room is added, or the id if they also share the
    /// room.
    pub(crate) fn distinct_name<'d>(&self, device: &Device<'d>) -> DistinctName<'d> {
        let is_there = |other: &Device<'_>| names::is_room(other.room, device.room);
        let mark = match self.has_namesake(device) {
            false => "",
            true if device.room.is_empty() || self.has_namesake_where(device, is_there) => device.id,
            true => device.room,
        };
        DistinctName { name: device.name, mark }
    }

    /// Writes devices as the items of the open array, from after the one with the id `after`: as many as leave `reserved`
    /// bytes. Returns the last one, if not all fitted.
    pub(crate) fn write_list(
        &self,
        room: Option<&str>,
        after: Option<&str>,
        reserved: usize,
        out: &mut Writer<'_>,
    ) -> Option<DeviceId> {
        self.look(|table| {
            let first = after.and_then(|after| table.place(after)).map_or(0, |place| place + 1);
            let mut last = None;
            for (_, device) in table.devices().filter(|(place, _)| *place >= first) {
                if room.is_some_and(|room| !names::is_room(device.room, room)) {
                    continue;
                }
                let before = out.mark();
                out.object(|out| device.write(out));
                if out.room() < reserved {
                    out.rewind(before);
                    return last;
                }
                last = DeviceId::try_from(device.id).ok();
            }
            None
        })?
    }

    /// Calls `visit` with each device in the survey.
    pub(crate) fn survey(&self, survey: &Survey<'_>, visit: &mut dyn FnMut(&Device<'_>)) {
        self.look(|table| {
            for (_, device) in table.devices() {
                if survey.room.is_none_or(|room| names::is_room(device.room, room)) {
                    visit(&device);
                }
            }
        });
    }

    /// The device that a call of this tool is about. The arguments have the controller's names.
    pub fn resolve(&self, tool: &str, arguments: Value<'_>) -> Resolved {
        let resolved = self.look(|table| match resolve::resolve(table, tool, arguments) {
            Target::One(place, tool) => {
                let device = table.get(place)?;
                let address = device.address_unless_given(arguments, &tool.argument);
                Some(Resolved::One { device: DeviceId::try_from(device.id).ok()?, address })
            }
            Target::Unrelated => Some(Resolved::Unrelated),
            Target::Several => Some(Resolved::Several),
            Target::Shared(_) => Some(Resolved::Shared),
            Target::Unknown => Some(Resolved::Unknown),
        });
        resolved.flatten().unwrap_or(Resolved::Unknown)
    }

    /// Writes the names of the devices that share the address of the device that a call names.
    pub(crate) fn write_sharing(
        &self,
        tool: &str,
        arguments: Value<'_>,
        out: &mut dyn fmt::Write,
    ) -> fmt::Result {
        let written = self.look(|table| {
            let Target::Shared(place) = resolve::resolve(table, tool, arguments) else { return Ok(()) };
            let Some(device) = table.get(place) else { return Ok(()) };
            let address = Spoken::new(device.address_text().unwrap_or_default());
            let places = resolve::namesakes(table, tool, &address, device.kind.is_guarded());
            write!(out, "{} ({})", device.name, device.id)?;
            for other in places.filter(|other| *other != place).filter_map(|other| table.get(other)) {
                write!(out, ", {} ({})", other.name, other.id)?;
            }
            Ok(())
        });
        written.unwrap_or(Ok(()))
    }

    /// The name by which a call names a device.
    pub(crate) fn spoken_name(&self, tool: &str, arguments: Value<'_>) -> Option<SpokenName> {
        self.look(|table| {
            table.tools_named(tool).find_map(|(_, tool)| resolve::spoken_name(arguments, &tool.argument))
        })?
    }

    /// Calls `visit` with each lock, garage door and siren, and whether this tool controls it by calls that do not name it.
    pub(crate) fn each_guarded(&self, tool: &str, mut visit: impl FnMut(&Device<'_>, bool)) {
        self.look(|table| {
            for place in table.guarded_places() {
                let Some(device) = table.get(place) else { continue };
                visit(&device, table.is_controlled_unnamed_by(tool, place));
            }
        });
    }

    /// Whether a lock, garage door or siren may have no room: they make room for each other last of all.
    pub(crate) fn may_leave_out_guarded(&self) -> bool {
        let is_full = |table: &Table| table.left_out() > 0 && table.guarded_places().count() == table.len();
        self.look(is_full).unwrap_or(true)
    }

    /// Whether the device has been read since the controller was last connected.
    pub(crate) fn is_read(&self, id: &str) -> bool {
        self.has(id, Flags::KNOWN)
    }

    /// Waits until all devices have been read that the controller has notified of until now: the name of one may have become
    /// that of another.
    pub(crate) async fn refreshed(&self) {
        if self.offer.get() != Offer::Subscriptions {
            return;
        }
        self.change(Table::await_stale);
        while self.is_followed() && self.look(Table::is_awaited) == Some(true) {
            Timer::after(limits::HOME_POLL_SETTLED).await;
        }
    }

    fn has(&self, id: &str, flag: Flags) -> bool {
        self.look(|table| table.place(id).is_some_and(|place| table.has(place, flag))) == Some(true)
    }

    /// The device, unless it stands for several: a scene or a group.
    pub(crate) fn single_device(&self, id: &DeviceId) -> DeviceId {
        let is_single = self.with(id, |device| !device.kind.row().is_several);
        if is_single == Some(true) { id.clone() } else { DeviceId::new() }
    }

    /// Records a call that changes this device; an empty id stands for anything else.
    pub(crate) fn change_begins(&self, device: &DeviceId) -> Option<ChangeId> {
        let state =
            self.with(device, |device| DeviceState::of(device.kind, device.state())).unwrap_or_default();
        // A device can be set back only to a known state.
        let device = if state.is_known() { device.clone() } else { DeviceId::new() };
        let mut changes = self.changes.try_borrow_mut().ok()?;
        Some(changes.begin(device, state, Instant::now()))
    }

    /// It has ended with an error of the controller's, and may have done something all the same.
    pub(crate) fn change_fails(&self, id: Option<ChangeId>) {
        if let (Some(id), Ok(mut changes)) = (id, self.changes.try_borrow_mut()) {
            changes.fail(id, Instant::now());
        }
    }

    /// It has ended. `is_done` unless it is known that nothing was done.
    pub(crate) fn change_ends(&self, id: Option<ChangeId>, is_done: bool) {
        if let (Some(id), Ok(mut changes)) = (id, self.changes.try_borrow_mut()) {
            changes.end(id, is_done, Instant::now());
        }
    }

    /// The last change of this device.
    pub(crate) fn last_change_of(&self, device: &DeviceId) -> Option<ChangeId> {
        self.changes.try_borrow().ok()?.last_of(device)
    }

    /// Merges the last change of this device with this earlier one: `undo` then takes back both at once.
    pub(crate) fn join_changes(&self, earlier: ChangeId, device: &DeviceId) {
        if let Ok(mut changes) = self.changes.try_borrow_mut() {
            changes.join(earlier, device);
        }
    }

    /// The last change, its device, and the steps that take it back.
    pub(crate) fn undo_steps(&self) -> Result<(ChangeId, DeviceId, heapless::Vec<UndoStep, 3>), NotUndone> {
        let changes = self.changes.try_borrow().map_err(|_| NotUndone::Nothing)?;
        let now = Instant::now();
        let change = changes.last(now).ok_or(NotUndone::Nothing)?;
        if change.is_running() {
            return Err(NotUndone::Running);
        }
        if change.is_untraceable() {
            return Err(NotUndone::Untraceable);
        }
        if change.is_void(now) {
            return Err(NotUndone::NoEffect);
        }
        let now = self.with(&change.device, |device| {
            let can_color = device.can("color");
            device.is_available.then(|| (can_color, DeviceState::of(device.kind, device.state())))
        });
        let now = now.flatten().filter(|(_, now)| now.is_known());
        if !change.has_effect() && (now.is_some() || !change.is_unread()) {
            return Err(NotUndone::NoEffectYet);
        }
        let Some((can_color, mut now)) = now else { return Err(NotUndone::Unavailable) };
        if !now.is_like(&change.after) {
            return Err(NotUndone::ChangedSince);
        }
        let mut steps = heapless::Vec::new();
        let target = change.before.target(&now, can_color);
        while let Some(step) = target.restore(&now) {
            now.follow(&step, &target);
            if steps.push(step).is_err() {
                break;
            }
        }
        Ok((change.id(), change.device.clone(), steps))
    }

    /// Marks the last calls, which had no effect or cannot be undone, as told to a person. The next `undo` skips them.
    pub(crate) fn pass_over_last_change(&self) {
        if let Ok(mut changes) = self.changes.try_borrow_mut() {
            changes.pass_over_last();
        }
    }

    /// Forgets a change that is undone.
    pub(crate) fn forget_change(&self, id: ChangeId) {
        if let Ok(mut changes) = self.changes.try_borrow_mut() {
            changes.forget(id);
        }
    }

    /// Whether the device of a change has changed since.
    pub(crate) fn has_changed_since(&self, id: ChangeId) -> bool {
        let change = self.changes.try_borrow().ok().and_then(|changes| changes.find(id).cloned());
        let Some(change) = change else { return true };
        let now = self.with(&change.device, |device| DeviceState::of(device.kind, device.state()));
        now.is_none_or(|now| !now.is_like(&change.after))
    }

    /// Whether the device of a change is as it was before.
    pub(crate) fn is_restored(&self, id: ChangeId) -> bool {
        let change = self.changes.try_borrow().ok().and_then(|changes| changes.find(id).cloned());
        let Some(change) = change else { return false };
        let is_restored =
            |device: &Device<'_>| change.before.is_restored(&DeviceState::of(device.kind, device.state()));
        self.with(&change.device, is_restored) == Some(true)
    }

    /// The last change's device, by its [distinct name](Self::distinct_name).
    pub(crate) fn last_changed<T>(&self, look: impl FnOnce(&Device<'_>) -> T) -> Option<T> {
        let device = self.changes.try_borrow().ok()?.last(Instant::now())?.device.clone();
        self.with_distinct(&device, look)
    }

    fn look<T>(&self, look: impl FnOnce(&Table) -> T) -> Option<T> {
        self.table.try_borrow().ok().map(|table| look(&table))
    }

    fn change<T>(&self, change: impl FnOnce(&mut Table) -> T) -> Option<T> {
        self.table.try_borrow_mut().ok().map(|mut table| change(&mut table))
    }
}

/// How long to wait before something is asked again that has failed so many times before.
fn back_off(failures: u8) -> Duration {
    let factor = 1 << failures.min(8);
    (limits::HOME_RETRY * factor).min(limits::HOME_RETRY_SLOWEST)
}

/// Whether somebody has pressed a device between these states: it counts the presses.
fn is_pressed<'a>(before: impl FnOnce() -> Value<'a>, after: Value<'_>) -> bool {
    fn presses<'a>(state: Value<'a>) -> Option<&'a str> {
        state.get("presses").map(|count| count.text()).filter(|count| *count != "0")
    }
    presses(after).is_some_and(|count| presses(before()) != Some(count))
}
