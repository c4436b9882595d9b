//! The home: the devices that the controller offers, and what the hub knows of them.
//!
//! ```text
//!   controller ──► link ──► follow ──► Table ──► publisher ──► device/<id>
//!                                        │
//!     tool::execute ──► gate, changes ───┴──► device/list, device/set, home_status, undo
//! ```
//!
//! Each device is an MCP resource, `home://devices/<id>`. [`follow`] lists, subscribes to and reads them, and keeps what it
//! reads in a table of fixed size. What can be done with a device is read from its resource when it is to be done, since
//! that takes more room than all the rest; only that of guarded devices is kept, for the [`gate`].

mod ability;
mod approvals;
mod changes;
mod device;
mod follow;
pub mod gate;
mod kind;
mod names;
mod publish;
mod reading;
mod table;

#[cfg(test)]
pub(crate) mod tests;

use core::cell::{Cell, RefCell};
use core::fmt::{self, Display};

use embassy_sync::blocking_mutex::raw::NoopRawMutex;
use embassy_sync::signal::Signal;
use embassy_time::{Instant, Timer};

pub use self::ability::{Abilities, MODES, Tenths};
pub use self::approvals::{Approvals, Asked, Request, TooManyWait, Verdict, Waiting};
pub use self::changes::ChangeId;
pub(crate) use self::changes::Step;
use self::changes::{Changes, Stand};
pub use self::device::{Description, Device, DeviceId};
pub(crate) use self::follow::{Unread, read_actions};
pub use self::follow::{follow, read_back};
use self::gate::{Concerns, What};
pub use self::kind::{Kind, Notable};
use self::names::Meant;
pub(crate) use self::publish::Leftover;
pub use self::reading::Reading;
use self::table::{Flags, Table};
use crate::json::{Text, Value, Writer};
use crate::limits;
use crate::link::{Offer, ResourceNews};
use crate::log::{info, warn};
use crate::tool::Hints;

/// What the hub knows of the home. All zeros when new.
pub struct Home {
    table: RefCell<Table>,
    phase: Cell<Phase>,
    offer: Cell<Offer>,
    /// Devices of the list for which there is no room.
    left_out: Cell<u16>,
    /// [`follow`] has something to do.
    wake: Signal<NoopRawMutex, ()>,
    /// The publisher has something to do.
    changed: Signal<NoopRawMutex, ()>,
    /// The list has changed while it was being received.
    list_is_stale: Cell<bool>,
    /// The place of the device that was last asked for.
    last_asked: Cell<usize>,
    /// What the broker keeps of earlier runs has to be looked at.
    sweep_is_due: Cell<bool>,
    /// All devices have been read once.
    is_current: Cell<bool>,
    changes: RefCell<Changes>,
    /// What waits for approval.
    pub approvals: Approvals,
}

/// How far the hub is in knowing the home.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum Phase {
    /// The controller is not there.
    Away,
    /// It offers no devices.
    Empty,
    /// Its list of devices is wanted.
    Unlisted,
    /// The devices of its list are being read for the first time.
    Reading,
    /// All have been read.
    Known,
}

/// What [`follow`] has to do.
enum Task {
    Wait,
    List,
    Watch(DeviceId),
    Read(DeviceId),
}

/// What a call of a controller's tool is about, as far as the hub can tell.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Weighed {
    /// What needs approval.
    pub concerns: Concerns,
    /// The guarded device, if it can be only one.
    guarded: DeviceId,
    /// The device that the call names; empty if there is none, or more than one.
    pub device: DeviceId,
    /// Whether it may change something.
    pub is_change: bool,
}

/// Which device was meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// This one.
    One(DeviceId),
    /// It could be one of several: see [`Home::write_candidates`].
    Several,
    /// There is none.
    None,
}

/// Why there is nothing to undo.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NotUndone {
    /// Nothing was changed.
    Nothing,
    /// The last change is not of one device.
    Untraceable,
    /// The device is not there any more, or cannot be reached.
    Unavailable,
    /// It has changed since.
    ChangedSince,
    /// The last call changed nothing.
    NoEffect,
}

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
            phase: Cell::new(Phase::Away),
            offer: Cell::new(Offer::Nothing),
            left_out: Cell::new(0),
            wake: Signal::new(),
            changed: Signal::new(),
            list_is_stale: Cell::new(false),
            last_asked: Cell::new(0),
            sweep_is_due: Cell::new(false),
            is_current: Cell::new(false),
            changes: RefCell::new(Changes::new()),
            approvals: Approvals::new(),
        }
    }

    /// Forgets what an earlier run left.
    pub(crate) fn clear(&self, seed: u64) {
        self.phase.set(Phase::Away);
        self.left_out.set(0);
        self.sweep_is_due.set(false);
        self.is_current.set(false);
        self.change(Table::clear);
        if let Ok(mut changes) = self.changes.try_borrow_mut() {
            changes.clear();
        }
        self.approvals.clear(seed);
    }

    /// How many devices are known, and how many there are besides.
    pub fn count(&self) -> (usize, usize) {
        let known = self.look(|table| table.devices().count()).unwrap_or_default();
        (known, usize::from(self.left_out.get()))
    }

    /// The same, as `info` tells it: nothing until all are known.
    pub(crate) fn announced(&self) -> (usize, usize) {
        if self.is_known() { self.count() } else { (0, 0) }
    }

    /// Whether all devices that the controller offers are known.
    pub fn is_known(&self) -> bool {
        matches!(self.phase.get(), Phase::Known)
    }

    /// Whether the controller is there, and offers devices.
    fn is_followed(&self) -> bool {
        matches!(self.phase.get(), Phase::Unlisted | Phase::Reading | Phase::Known)
    }

    /// Whether the controller is there, and offers no devices.
    pub fn is_unsupported(&self) -> bool {
        matches!(self.phase.get(), Phase::Empty)
    }

    /// Waits until calls can be judged: until the devices are known, if the controller offers any.
    pub async fn settled(&self) {
        // Several may wait, so that no signal would do.
        while matches!(self.phase.get(), Phase::Unlisted | Phase::Reading) {
            Timer::after(limits::HOME_POLL_SETTLED).await;
        }
    }

    /// The link has news of the controller's resources.
    pub fn hears(&self, news: ResourceNews<'_>) {
        match news {
            ResourceNews::Opened(offer) => {
                self.offer.set(offer);
                let is_empty = offer == Offer::Nothing;
                if is_empty {
                    self.leave_all();
                }
                self.enter(if is_empty { Phase::Empty } else { Phase::Unlisted });
            }
            ResourceNews::Closed => {
                self.change(|table| {
                    for place in 0..table.len() {
                        let was_known = table.has(place, Flags::KNOWN);
                        table.set(place, Flags::DUE, was_known || table.has(place, Flags::DUE));
                        table.set(place, Flags::KNOWN, false);
                        table.set(place, Flags::WATCHED, false);
                        table.set(place, Flags::STALE, true);
                    }
                });
                self.enter(Phase::Away);
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
            ResourceNews::ListedUnread => self.leave_out(),
            ResourceNews::ListChanged => match self.phase.get() {
                Phase::Reading | Phase::Known => {
                    self.phase.set(Phase::Unlisted);
                    self.wake.signal(());
                }
                // While it is being received: it is received again.
                Phase::Unlisted => self.list_is_stale.set(true),
                Phase::Away | Phase::Empty => {}
            },
        }
    }

    fn enter(&self, phase: Phase) {
        self.phase.set(phase);
        self.wake.signal(());
        self.changed.signal(());
    }

    /// All devices have left.
    fn leave_all(&self) {
        self.change(|table| (0..table.len()).for_each(|place| table.leave(place)));
    }

    /// A device of the list cannot be taken in.
    fn leave_out(&self) {
        self.left_out.set(self.left_out.get().saturating_add(1));
    }

    fn list_begins(&self) {
        self.left_out.set(0);
        self.list_is_stale.set(false);
        self.change(|table| table.set_all(Flags::LISTED, false));
    }

    fn listed(&self, resource: Value<'_>) {
        let Some(uri) = resource.get("uri").and_then(|uri| uri.as_text()) else { return };
        let id = match device::id_in(&uri) {
            Some(id) => id,
            None if device::is_device(&uri) => return self.leave_out(),
            None => return,
        };
        let added = self.change(|table| match table.place(&id) {
            Some(place) => {
                let has_returned = table.has(place, Flags::GONE);
                table.set(place, Flags::LISTED, true);
                table.set(place, Flags::GONE, false);
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
            self.leave_out();
        }
    }

    fn list_ends(&self) {
        self.change(|table| {
            for place in 0..table.len() {
                if !table.has(place, Flags::LISTED) && !table.has(place, Flags::GONE) {
                    table.leave(place);
                }
            }
        });
        self.phase.set(Phase::Reading);
        self.changed.signal(());
    }

    /// What [`follow`] has to do next.
    fn next_task(&self) -> Task {
        match self.phase.get() {
            Phase::Away | Phase::Empty => return Task::Wait,
            Phase::Unlisted => return Task::List,
            Phase::Reading | Phase::Known => {}
        }
        let stale = self.look(|table| {
            // One after the other, so that none that changes all the time keeps others from being read.
            let place = table.next(Flags::STALE, Flags::GONE, self.last_asked.get())?;
            self.last_asked.set(place);
            let id = DeviceId::try_from(table.get(place)?.id).ok()?;
            Some((id, table.has(place, Flags::WATCHED)))
        });
        match stale.flatten() {
            Some((id, false)) if self.offer.get() == Offer::Subscriptions => Task::Watch(id),
            Some((id, _)) => Task::Read(id),
            None => {
                if self.phase.get() == Phase::Reading {
                    let (count, left_out) = self.count();
                    info!("home: {} devices are known, {} more do not fit", count, left_out);
                    self.sweep_is_due.set(true);
                    self.is_current.set(true);
                    self.enter(Phase::Known);
                    if self.list_is_stale.get() {
                        self.phase.set(Phase::Unlisted);
                    }
                }
                Task::Wait
            }
        }
    }

    /// Reads the controller's answer to `resources/read` of a device. Returns whether it describes one.
    pub fn read(&self, id: &str, result: Value<'_>, now: Instant) -> bool {
        let mut room = [0; limits::DEVICE];
        let description = Description::read(result, &mut room);
        description.inspect(|description| self.describe(id, description, now)).is_some()
    }

    /// The device is as the controller describes it.
    fn describe(&self, id: &str, description: &Description<'_>, now: Instant) {
        let stand = Stand::of(description.kind, description.state);
        let described = self.change(|table| {
            let place = table.place(id)?;
            let before = table.get(place);
            let fingerprint = before.map(|device| device.fingerprint());
            let is_pressed = before.is_some_and(|device| is_pressed(|| device.state(), description.state));
            let before = before.map(|device| Stand::of(device.kind, device.state()));
            let was_known = table.has(place, Flags::KNOWN);
            let described = table.describe(place, description);
            if described == Ok(true) && table.get(place).map(|device| device.fingerprint()) != fingerprint {
                table.set(place, Flags::UNANNOUNCED, true);
            }
            if is_pressed && was_known {
                table.set(place, Flags::PRESSED, true);
            }
            table.set(place, Flags::KNOWN, described.is_ok());
            let is_due = described != Ok(false) || !was_known;
            table.set(place, Flags::DUE, is_due || table.has(place, Flags::DUE));
            Some((described.is_ok(), before))
        });
        match described.flatten() {
            Some((true, before)) if before.as_ref() != Some(&stand) => {
                if let Ok(mut changes) = self.changes.try_borrow_mut() {
                    changes.seen(id, &stand, now);
                }
            }
            Some((false, _)) => warn!("home: there is no room for how {} stands", id),
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

    /// The device that a person calls so.
    pub fn find(&self, said: &str) -> Found {
        let found = self.look(|table| match names::find(table, said) {
            Meant::One(place) => {
                table.get(place).and_then(|device| DeviceId::try_from(device.id).ok()).map(Found::One)
            }
            Meant::Several(_) => Some(Found::Several),
            Meant::None => None,
        });
        found.flatten().unwrap_or(Found::None)
    }

    /// Writes the devices that could have been meant.
    pub fn write_candidates(&self, said: &str, out: &mut dyn fmt::Write) -> fmt::Result {
        let written = self.look(|table| {
            let Meant::Several(stage) = names::find(table, said) else { return Ok(()) };
            let mut separator = "";
            for device in names::candidates(table, said, stage).take(6) {
                write!(out, "{separator}{}", device.name)?;
                if names::has_twin(table, &device) {
                    write!(out, " ({})", if device.room.is_empty() { device.id } else { device.room })?;
                }
                separator = ", ";
            }
            Ok(())
        });
        written.unwrap_or(Ok(()))
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

    /// What a call of a controller's tool is about. The arguments have the controller's names.
    pub fn weigh(&self, tool: &str, hints: Hints, arguments: Value<'_>) -> Weighed {
        let is_change = hints.read_only != Some(true);
        let weighed = self.look(|table| {
            let id = |place: usize| table.get(place).and_then(|device| DeviceId::try_from(device.id).ok());
            // Of a device that could not be read, nobody knows what it is.
            let is_blind = self.left_out.get() > 0 || table.first_unlike(Flags::KNOWN, Flags::GONE).is_some();
            let weighed = gate::weigh(table, is_blind && self.is_followed(), tool, hints, arguments);
            Weighed {
                concerns: weighed.concerns,
                guarded: weighed.device.and_then(id).unwrap_or_default(),
                device: if is_change {
                    target(table, arguments).and_then(id).unwrap_or_default()
                } else {
                    DeviceId::new()
                },
                is_change,
            }
        });
        weighed.unwrap_or_default()
    }

    /// Calls `look` with what a call is to do, in words.
    pub(crate) fn explain<T>(
        &self,
        weighed: &Weighed,
        tool: &str,
        arguments: Value<'_>,
        look: impl FnOnce(&dyn Display) -> T,
    ) -> Option<T> {
        self.look(|table| {
            let device = table.place(&weighed.guarded).and_then(|place| table.get(place));
            look(&What { concerns: weighed.concerns, device, tool, arguments })
        })
    }

    /// A call begins that changes something.
    pub(crate) fn change_begins(&self, weighed: &Weighed) -> Option<ChangeId> {
        let stand = self.with(&weighed.device, |device| Stand::of(device.kind, device.state()));
        let mut changes = self.changes.try_borrow_mut().ok()?;
        weighed.is_change.then(|| changes.begin(weighed.device.clone(), stand.unwrap_or_default()))
    }

    /// It has ended. `is_done` unless it is known that nothing was done.
    pub(crate) fn change_ends(&self, id: Option<ChangeId>, is_done: bool) {
        if let (Some(id), Ok(mut changes)) = (id, self.changes.try_borrow_mut()) {
            changes.end(id, is_done, Instant::now());
        }
    }

    /// The last change, its device, and the steps that take it back.
    pub(crate) fn undo_steps(&self) -> Result<(ChangeId, DeviceId, heapless::Vec<Step, 3>), NotUndone> {
        let changes = self.changes.try_borrow().map_err(|_| NotUndone::Nothing)?;
        let change = changes.last().ok_or(NotUndone::Nothing)?;
        if change.device.is_empty() {
            return Err(NotUndone::Untraceable);
        }
        let now = self.with(&change.device, |device| {
            device.is_available.then(|| (device.kind, Stand::of(device.kind, device.state())))
        });
        let Some(Some((kind, mut now))) = now else { return Err(NotUndone::Unavailable) };
        if !change.has_effect() {
            return Err(NotUndone::NoEffect);
        }
        if !now.is_like(&change.after) {
            return Err(NotUndone::ChangedSince);
        }
        let mut steps = heapless::Vec::new();
        while let Some(step) = change.before.restore(kind, &now) {
            now.follow(&step, &change.before);
            if steps.push(step).is_err() {
                break;
            }
        }
        Ok((change.id(), change.device.clone(), steps))
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
        let now = self.with(&change.device, |device| Stand::of(device.kind, device.state()));
        now.is_none_or(|now| !now.is_like(&change.after))
    }

    /// The last change's device, by name.
    pub(crate) fn last_changed<T>(&self, look: impl FnOnce(&Device<'_>) -> T) -> Option<T> {
        let device = self.changes.try_borrow().ok()?.last()?.device.clone();
        self.with(&device, look)
    }

    fn look<T>(&self, look: impl FnOnce(&Table) -> T) -> Option<T> {
        self.table.try_borrow().ok().map(|table| look(&table))
    }

    fn change<T>(&self, change: impl FnOnce(&mut Table) -> T) -> Option<T> {
        self.table.try_borrow_mut().ok().map(|mut table| change(&mut table))
    }
}

/// Writes the arguments of an action's call: those that the controller gave, and the value that the action takes.
pub(crate) fn write_arguments(action: Value<'_>, value: Value<'_>, out: &mut Writer<'_>) {
    out.object(|out| {
        for (name, given) in action.get("arguments").unwrap_or(Value::EMPTY_OBJECT).members() {
            out.key_text(name);
            out.value(given);
        }
        if let Some(name) = action.get("value").and_then(|value| value.get("argument")?.as_text()) {
            out.key_text(name);
            out.value(value);
        }
    });
}

/// The one device that a call names.
fn target(table: &Table, arguments: Value<'_>) -> Option<usize> {
    // Scenes and groups are many.
    let is_one = |device: &Device<'_>| !matches!(device.kind, Kind::Scene | Kind::Group);
    let certain = |text: Text<'_>| {
        let said = text.decode::<{ limits::DEVICE_NAME }>()?;
        let mut meant = table.devices().filter(|(_, device)| is_one(device) && names::names(device, &said));
        meant.next().filter(|_| meant.next().is_none()).map(|(place, _)| place)
    };
    let likely = |text: Text<'_>| match names::find(table, &text.decode::<{ limits::DEVICE_NAME }>()?) {
        Meant::One(place) => table.get(place).filter(is_one).map(|_| place),
        _ => None,
    };
    only(gate::named(arguments).filter_map(certain))
        .or_else(|| only(gate::named(arguments).filter_map(likely)))
}

/// The place that all are, if there is one.
fn only(mut places: impl Iterator<Item = usize>) -> Option<usize> {
    let first = places.next()?;
    places.all(|place| place == first).then_some(first)
}

/// Whether somebody has pressed a device between these states: it counts the presses.
fn is_pressed<'a>(before: impl FnOnce() -> Value<'a>, after: Value<'_>) -> bool {
    fn presses<'a>(state: Value<'a>) -> Option<&'a str> {
        state.get("presses").map(|count| count.text()).filter(|count| *count != "0")
    }
    presses(after).is_some_and(|count| presses(before()) != Some(count))
}
