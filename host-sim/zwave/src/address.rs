//! Finds the device or group that a caller means, and the exact value by which each device is addressed.
//!
//! People may use any spelling that fits one device ([`find`], [`named`]). Guarded commands are different: a hub asks a
//! person before it sends one, so the device that is asked about must be the device that acts. Each device therefore
//! declares one exact value ([`declared`]), and a guarded command is accepted with that value only.

use super::names::{self, Spelling};
use super::plans::{Group, Plans};
use super::resource::{group_ids, scene_ids};
use super::snapshot::Snapshot;

/// How many bytes a name may have as an address: a hub cannot keep a longer one.
const NAME: usize = 64;

/// The value by which a device is addressed: its name if it is short enough and nothing else in the home could be meant by
/// it, otherwise its id.
pub(super) fn declared(device: &Snapshot, devices: &[Snapshot], plans: &Plans) -> String {
    let Snapshot { id, name, .. } = device;
    let is_opaque = name.len() > NAME
        || devices.iter().any(|other| other.id != *id && is_meant_by(other, name))
        || plan_ids_and_spellings(plans).any(|(other, spelling)| other == name.trim() || spelling.fits(name));
    if is_opaque { id.clone() } else { name.clone() }
}

/// The value by which a group is addressed, by the same rule.
pub(super) fn declared_group(group: &Group, id: &str, devices: &[Snapshot], plans: &Plans) -> String {
    let name = &group.name;
    let is_opaque = name.len() > NAME
        || devices.iter().any(|device| is_meant_by(device, name))
        || plan_ids_and_spellings(plans)
            .any(|(other, spelling)| other != id && (other == name.trim() || spelling.fits(name)));
    if is_opaque { id.into() } else { name.clone() }
}

/// Whether a text is the id of a device, or fits its name in any way but as a beginning.
fn is_meant_by(device: &Snapshot, text: &str) -> bool {
    device.id == text.trim() || spelling(device).fits(text)
}

/// The ids and names of groups and scenes.
fn plan_ids_and_spellings(plans: &Plans) -> impl Iterator<Item = (String, Spelling)> {
    let groups = group_ids(&plans.groups).into_iter().zip(plans.groups.iter().map(|group| &group.name));
    let scenes = scene_ids(&plans.scenes).into_iter().zip(plans.scenes.iter().map(|scene| &scene.name));
    groups.chain(scenes).map(|(id, name)| (id, Spelling::plain(name)))
}

/// The device that declares exactly this value. No two devices declare the same.
fn addressed<'a>(value: &str, devices: &'a [Snapshot], plans: &Plans) -> Option<&'a Snapshot> {
    let mut candidates = devices.iter().filter(|device| device.id == value || device.name == value);
    candidates.find(|device| declared(device, devices, plans) == value)
}

/// What a name stands for.
#[derive(Debug)]
pub(super) enum Named<'a> {
    Device(&'a Snapshot),
    Group(&'a Group),
}

/// The device or group with this id or name, or a question or an error that suggests others. A group by its own name comes
/// before a device that the name merely fits: what a hub takes for the group must not drive a device.
pub(super) fn named<'a>(name: &str, devices: &'a [Snapshot], plans: &'a Plans) -> Result<Named<'a>, String> {
    if let Some(device) = addressed(name, devices, plans) {
        return Ok(Named::Device(device));
    }
    let groups = &plans.groups;
    if let Some(index) = group_ids(groups).iter().position(|id| id == name.trim()) {
        return Ok(Named::Group(&groups[index]));
    }
    let is_device = |device: &Snapshot| device.id == name.trim() || spelling(device).is_called(name);
    let spellings: Vec<_> = groups.iter().map(|group| Spelling::plain(&group.name)).collect();
    match (find(name, devices, plans), names::find(name, &spellings)) {
        (Ok(device), Ok(index)) if spellings[index].is_called(name) && !is_device(device) => {
            Ok(Named::Group(&groups[index]))
        }
        (Ok(device), _) => Ok(Named::Device(device)),
        (Err(_), Ok(index)) => Ok(Named::Group(&groups[index])),
        (Err(error), Err(_)) => Err(error),
    }
}

/// The devices of a group. The error says which is not found.
pub(super) fn members<'a>(
    group: &Group,
    devices: &'a [Snapshot],
    plans: &Plans,
) -> Result<Vec<&'a Snapshot>, String> {
    let members = group.devices.iter().map(|device| find(device, devices, plans)).collect::<Result<_, _>>();
    members.map_err(|error| format!("In the group {}: {error}", group.name))
}

/// The device with this id or name, or a question or an error that suggests others.
pub(super) fn find<'a>(name: &str, devices: &'a [Snapshot], plans: &Plans) -> Result<&'a Snapshot, String> {
    if let Some(device) = addressed(name, devices, plans) {
        return Ok(device);
    }
    let wanted = name.trim();
    if let Some(device) = devices.iter().find(|device| device.id == wanted) {
        return Ok(device);
    }
    let spellings: Vec<_> = devices.iter().map(spelling).collect();
    let index = names::find(name, &spellings);
    let full = |index: usize| full_name(&devices[index], devices);
    index.map(|index| &devices[index]).map_err(|lost| lost.words(name, full, "Device", "list_devices"))
}

fn spelling(device: &Snapshot) -> Spelling {
    let Snapshot { id, name, room, .. } = device;
    let mut others = vec![format!("{name} {id}")];
    if !room.is_empty() {
        others.extend([format!("{room} {name}"), format!("{name} {room}")]);
    }
    Spelling { name: name.clone(), others }
}

/// Its name, and what tells it apart from others of the same name.
pub(super) fn full_name(device: &Snapshot, devices: &[Snapshot]) -> String {
    let Snapshot { id, name, room, .. } = device;
    match twins(device, devices) {
        Twins::None => name.clone(),
        Twins::Elsewhere => format!("{name} ({room})"),
        Twins::Here => format!("{name} ({id})"),
    }
}

/// Other devices of the same name.
enum Twins {
    None,
    /// All of them are in other rooms.
    Elsewhere,
    Here,
}

fn twins(device: &Snapshot, devices: &[Snapshot]) -> Twins {
    let is_twin =
        |other: &&Snapshot| other.id != device.id && other.name.to_lowercase() == device.name.to_lowercase();
    let is_here = |other: &Snapshot| other.room.to_lowercase() == device.room.to_lowercase();
    match devices.iter().filter(is_twin).map(is_here).reduce(|one, other| one || other) {
        None => Twins::None,
        Some(false) if !device.room.is_empty() => Twins::Elsewhere,
        Some(_) => Twins::Here,
    }
}
