//! Devices that the controller lists and the hub has no room for: found by name when they are needed, and looked through for
//! those that must not be left out.

use embassy_time::Instant;
use heapless::{String, Vec};

use super::action::DeclaredAction;
use super::device::Description;
use super::follow::{Outcome, read_description, receive};
use super::names::{Spoken, is_same};
use super::resolve::{self, Address, address_of, naming_argument};
use super::table::{Flags, Table};
use super::{Device, DeviceId, Found, Home, Kind, back_off};
use crate::json::Value;
use crate::limits;
use crate::link::Port;
use crate::log::warn;
use crate::notice::{Level, Notice, Notices};
use crate::text::clip;
use crate::tool::Addressed;

/// What is done with the resources of a list that is being received.
pub(super) enum Search {
    /// They are the devices of the home.
    None,
    /// Some that have no room are collected: those with the lowest hashes from `from` on, in their order. So each has its turn,
    /// in whatever order the controller lists them.
    Collect { from: u32, ids: Vec<DeviceId, { limits::INSPECTED }> },
    /// Those that have no room are named.
    Name(UnkeptNames),
    /// One of this name is looked for.
    Find { spoken: String<{ limits::DEVICE_NAME }>, found: Option<DeviceId>, is_ambiguous: bool },
}

/// The devices that have no room, for people.
pub(super) struct UnkeptNames {
    text: String<{ limits::UNKEPT_NAMES }>,
    /// How many there are.
    count: u16,
    /// How many of them are in the text.
    fitting: u16,
    /// The sum of their hashes.
    hash: u32,
}

impl UnkeptNames {
    const NEW: Self = Self { text: String::new(), count: 0, fitting: 0, hash: 0 };

    fn add(&mut self, name: &str, hash: u32) {
        self.hash = self.hash.wrapping_add(hash);
        let separator = if self.count == 0 { "" } else { ", " };
        // After one that does not fit, none is added.
        if self.fitting == self.count
            && separator.len() + name.len() <= self.text.capacity() - self.text.len()
        {
            // It fits.
            let _ = self.text.push_str(separator).and_then(|()| self.text.push_str(name));
            self.fitting += 1;
        }
        self.count = self.count.saturating_add(1);
    }
}

/// What a search by name among the devices without room has found.
enum Sought {
    One(DeviceId),
    None,
    /// Several are called so, or the controller does not tell.
    Unclear,
}

/// Looks for a device that the hub has no room for, by its id or its exact name, ignoring case. Asks the controller for its
/// list.
async fn seek(port: &Port, home: &Home, spoken: &str) -> Sought {
    let Some(spoken) = String::try_from(spoken.trim()).ok().filter(|spoken| !spoken.is_empty()) else {
        return Sought::None;
    };
    let _lock = home.list_lock.lock().await;
    home.search.replace(Search::Find { spoken, found: None, is_ambiguous: false });
    let outcome = receive(port, home).await;
    match (home.search.replace(Search::None), outcome) {
        (Search::Find { found: Some(found), is_ambiguous: false, .. }, Outcome::Whole) => Sought::One(found),
        (Search::Find { found: None, is_ambiguous: false, .. }, Outcome::Whole) => Sought::None,
        _ => Sought::Unclear,
    }
}

/// Finds a device whose exact name no kept device has: one that the hub has no room for, by its exact name, or else a kept one
/// by a similar name.
pub(crate) async fn find_unkept(port: &Port, home: &Home, spoken: &str) -> Found {
    if home.left_out() == 0 {
        return Found::None;
    }
    match seek(port, home, spoken).await {
        Sought::One(id) => Found::One(id),
        Sought::None => home.find_similar(spoken),
        Sought::Unclear => Found::None,
    }
}

/// A device that the hub has no room for.
pub(crate) struct Unkept {
    /// What it is.
    pub(crate) kind: Kind,
    /// The argument that names it in calls of the tool it was looked for.
    pub(crate) address: Addressed,
    /// Whether the call that it was looked for is one of its actions.
    pub(crate) is_action: bool,
}

/// Why an unkept device cannot be addressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NotAddressed {
    /// No device has this name.
    Unknown,
    /// The controller may take the device's address for that of another device, and one of the two is guarded.
    Shared,
}

/// Finds the unkept device that this call of a tool names. If there is none, this may be a kept device with a similar
/// name, unless that one is guarded: a guarded device needs its exact name. `is_action` compares the call with an
/// action.
pub(crate) async fn address_unkept(
    port: &Port,
    home: &Home,
    (tool, arguments): (&str, Value<'_>),
    is_action: &dyn Fn(Value<'_>, &Addressed) -> bool,
) -> Result<Unkept, NotAddressed> {
    if home.left_out() == 0 {
        return Err(NotAddressed::Unknown);
    }
    // A block, so that the name does not outlive the search.
    let id = {
        let spoken = home.spoken_name(tool, arguments).ok_or(NotAddressed::Unknown)?;
        match seek(port, home, &spoken).await {
            Sought::One(id) => id,
            Sought::None => return home.address_similar(tool, &spoken),
            Sought::Unclear => return Err(NotAddressed::Unknown),
        }
    };
    let address = |description: &Description<'_>| {
        let is_tool = |action: &Value<'_>| DeclaredAction(*action).is_of(tool);
        let action = description.actions.members().map(|(_, action)| action).find(is_tool)?;
        let (argument, address) =
            naming_argument(description.actions, action, &|value| address_of(value, description.name, &id))?;
        let value = match address {
            Address::Name => description.name?.decode()?,
            Address::Id | Address::Number => id.as_str().try_into().ok()?,
            Address::Opaque => return None,
        };
        let address =
            Addressed { argument: argument.decode()?, value, is_number: address == Address::Number };
        let is_action = description.actions.members().any(|(_, action)| is_action(action, &address));
        Some(Unkept { kind: description.kind, address, is_action })
    };
    let unkept = read_description(port, home, &id, address).await.ok().flatten();
    let unkept = unkept.ok_or(NotAddressed::Unknown)?;
    let is_unique = !home.has_namesake_of_address(tool, &unkept)
        && (!home.may_leave_out_guarded() || is_listed_once(port, home, &unkept.address.value, &id).await);
    if is_unique { Ok(unkept) } else { Err(NotAddressed::Shared) }
}

/// Whether the controller lists no other device by the name or id that is the address of this one. Asks the controller
/// for its list, because there may be guarded devices that are unread or unkept.
pub(crate) async fn is_address_unique(port: &Port, home: &Home, id: &DeviceId) -> bool {
    let address =
        |device: &Device<'_>| String::<{ limits::DEVICE_NAME }>::try_from(device.address_text()?).ok();
    match home.with(id, address).flatten() {
        Some(address) => is_listed_once(port, home, &address, id).await,
        None => true,
    }
}

async fn is_listed_once(port: &Port, home: &Home, address: &str, id: &DeviceId) -> bool {
    matches!(seek(port, home, address).await, Sought::One(found) if found == *id)
}

impl Home {
    /// The kept device that this tool controls and that has a similar name, unless it is guarded.
    fn address_similar(&self, tool: &str, spoken: &str) -> Result<Unkept, NotAddressed> {
        let similar = self.look(|table| {
            let spoken = Spoken::new(spoken);
            table.tools_named(tool).find_map(|(bit, known)| {
                let resolve::Found::One(place) = resolve::find_loosely(table, bit, &spoken) else {
                    return None;
                };
                let is_clear =
                    |device: &Device<'_>| !device.kind.is_guarded() && !table.has(place, Flags::STALE);
                let device = table.get(place).filter(is_clear)?;
                let address = device.address_unless_given(Value::EMPTY_OBJECT, &known.argument)?;
                if resolve::shares_address(table, tool, place) {
                    return Some(Err(NotAddressed::Shared));
                }
                Some(Ok(Unkept { kind: device.kind, address, is_action: false }))
            })
        });
        similar.flatten().unwrap_or(Err(NotAddressed::Unknown))
    }

    /// Whether the controller may take the address of an unkept device for that of a kept one, and one of the two is
    /// guarded.
    fn has_namesake_of_address(&self, tool: &str, unkept: &Unkept) -> bool {
        let address = Spoken::new(&unkept.address.value);
        let has_one = |table: &Table| {
            resolve::namesakes(table, tool, &address, unkept.kind.is_guarded()).next().is_some()
        };
        self.look(has_one).unwrap_or(true)
    }

    /// A device of the list has arrived, with its id if the hub can use that. Returns whether it was for a search.
    pub(super) fn search(&self, id: Option<&DeviceId>, resource: Value<'_>) -> bool {
        let is_kept = |id: &DeviceId| self.look(|table| table.place(id).is_some()) != Some(false);
        let Ok(mut search) = self.search.try_borrow_mut() else { return true };
        match &mut *search {
            Search::None => return false,
            Search::Collect { from, ids } => {
                if let Some(id) = id.filter(|id| hash(id) >= *from && !is_kept(id) && !ids.contains(id)) {
                    let place = ids.iter().position(|other| hash(other) > hash(id)).unwrap_or(ids.len());
                    // The rest is for the next time.
                    if ids.is_full() && place < ids.len() {
                        ids.pop();
                    }
                    drop(ids.insert(place, id.clone()));
                }
            }
            Search::Name(names) => {
                let hash = match id {
                    Some(id) if is_kept(id) => return true,
                    Some(id) => hash(id),
                    None => hash_of_uri(resource),
                };
                let name = resource.get("name").and_then(|name| name.as_text());
                let name = name.map(|name| name.excerpt::<{ limits::DEVICE_NAME }>());
                let id = id.map_or("a device without a usable id", |id| id.as_str());
                names.add(name.as_deref().filter(|name| !name.is_empty()).unwrap_or(id), hash);
            }
            Search::Find { spoken, found, is_ambiguous } => {
                let name = resource.get("name").and_then(|name| name.as_text());
                let is_called = name.is_some_and(|name| {
                    name.decode::<{ limits::DEVICE_NAME }>().is_some_and(|name| is_same(name.trim(), spoken))
                });
                let Some(id) = id else {
                    *is_ambiguous |= is_called;
                    return true;
                };
                if (is_called || id == spoken) && found.as_ref() != Some(id) {
                    *is_ambiguous |= found.is_some();
                    *found = Some(id.clone());
                }
            }
        }
        true
    }

    /// The next list is searched for devices that have no room and were not looked at.
    pub(super) fn collect_unkept(&self) {
        self.search.replace(Search::Collect { from: self.inspection.get().from, ids: Vec::new() });
    }

    /// Those that were found.
    pub(super) fn collected(&self) -> Vec<DeviceId, { limits::INSPECTED }> {
        match self.search.replace(Search::None) {
            Search::Collect { ids, .. } => ids,
            Search::None | Search::Find { .. } | Search::Name(_) => Vec::new(),
        }
    }

    /// The next list is searched for the names of all devices that have no room.
    pub(super) fn name_unkept(&self) {
        self.search.replace(Search::Name(UnkeptNames::NEW));
    }

    /// Tells people which devices have no room, unless they know.
    pub(super) fn report_unkept(&self, notices: &Notices) {
        self.names_are_due.set(false);
        let Search::Name(UnkeptNames { text, count, fitting, hash }) = self.search.replace(Search::None)
        else {
            return;
        };
        if count == 0 || self.named.replace(hash) == hash {
            return;
        }
        let devices = if count == 1 { "device" } else { "devices" };
        let more = count - fitting;
        let more: String<16> = if more > 0 { clip(&format_args!(" and {more} more")) } else { String::new() };
        let notice = Notice::new(
            Level::Warning,
            format_args!(
                "There is no room for {count} {devices}: {text}{more}. They can be used by their exact names."
            ),
        );
        warn!("home: {}", notice.text.as_str());
        notices.push(notice);
    }

    /// A device of this kind has no room. It replaces one that matters less, if there is one.
    pub(super) fn replace_by(&self, id: &str, kind: Kind) {
        let mut unkept = self.unkept.get();
        let is_kept = self.change(|table| {
            while let Some(victim) = table.make_room_for(kind) {
                unkept = unkept.wrapping_add(victim);
                if table.add_kind(id, kind).is_ok() {
                    unkept = unkept.wrapping_sub(resolve::hash(id.chars()));
                    table.set_left_out(table.left_out().saturating_sub(1));
                    return true;
                }
            }
            false
        });
        if is_kept == Some(true) {
            warn!("home: {} is kept instead of another device", id);
        }
        if self.unkept.replace(unkept) != unkept {
            self.names_are_due.set(true);
            self.sweep_is_due.set(true);
        }
    }

    /// A device without room was looked at, or could not be read. Returns whether this is the first time that it could not.
    pub(super) fn has_inspected(&self, id: &DeviceId, is_read: bool) -> bool {
        let inspection = self.inspection.get();
        let failed = inspection.failed.or((!is_read).then(|| hash(id)));
        self.inspection.set(Inspection { from: hash(id).saturating_add(1), failed, ..inspection });
        !is_read && !inspection.is_retry
    }

    /// All devices without room were looked at. Those that could not be read are looked at again later.
    pub(super) fn inspection_ends(&self, now: Instant) {
        let inspection = Inspection { is_over: true, ..self.inspection.get() };
        self.inspection.set(inspection);
        if inspection.failed.is_some() {
            self.reschedule(|schedule| {
                if !inspection.is_retry {
                    schedule.read_failures = 0;
                }
                let due = now + back_off(schedule.read_failures);
                schedule.read = Some(schedule.read.map_or(due, |earlier| earlier.min(due)));
            });
        }
    }
}

fn hash(id: &DeviceId) -> u32 {
    resolve::hash(id.chars())
}

/// The hash of a device whose id the hub cannot use.
pub(super) fn hash_of_uri(resource: Value<'_>) -> u32 {
    let uri = resource.get("uri").and_then(|uri| uri.as_text());
    uri.map_or(0, |uri| resolve::hash(uri.chars()))
}

/// How far the devices without room have been looked at.
#[derive(Clone, Copy, Debug)]
pub(super) struct Inspection {
    /// Those with lower hashes have been looked at.
    from: u32,
    /// The hash of the first one that could not be read.
    failed: Option<u32>,
    is_over: bool,
    /// It is for devices that could not be read before.
    is_retry: bool,
}

impl Inspection {
    pub(super) const NEW: Self = Self { from: 0, failed: None, is_over: false, is_retry: false };

    pub(super) const fn is_over(&self) -> bool {
        self.is_over
    }

    /// Whether all were read.
    pub(super) const fn is_complete(&self) -> bool {
        self.is_over && self.failed.is_none()
    }

    /// From the first one on that could not be read.
    pub(super) const fn retry(self) -> Self {
        match self.failed {
            Some(from) => Self { from, is_retry: true, ..Self::NEW },
            None => self,
        }
    }
}
