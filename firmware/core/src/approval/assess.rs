//! Assesses a call to the controller: which device it is about, and what it puts at risk.
//!
//! The hub knows no tool names. It knows the devices, and by which calls each is controlled: its `actions`. It resolves the
//! device that a call names, and compares the rest of the arguments with that device's actions. A call that is none of them
//! counts as the most dangerous one.

use core::fmt::{self, Display};

use super::ActionText;
use super::risk::{Risks, VerbForm};
use crate::home::{DeclaredAction, Device, DeviceId, Home, Resolved, Risk};
use crate::json::{Text, Value};
use crate::limits;
use crate::text::{Measure, one_line, shorten};
use crate::tool::{Addressed, ControllerCall, Hints};

/// What a call does, as far as the hub can tell.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Assessment {
    /// What it puts at risk.
    pub risks: Risks,
    /// The device that it is about; empty if there is none.
    pub device: DeviceId,
    /// The device in danger, if that is another one: the same tool may control it without a name. Otherwise empty.
    pub(super) endangered: DeviceId,
    /// Whether it may change something.
    pub(super) is_change: bool,
    /// How it compares with the device's actions.
    pub(super) action: ActionMatch,
    /// A hash of what the device is: its name may come to mean another one.
    pub(super) identity: u64,
}

/// How a call compares with the actions of a device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum ActionMatch {
    /// It is none of them, or they are not kept.
    #[default]
    Unknown,
    /// It is one of them, with a value.
    WithValue,
    /// It is one of them, and has no further arguments.
    Plain,
}

/// Why it is not known which device a call is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unresolved {
    /// Several devices have the name.
    Several,
    /// The controller may take the device's address for that of another device, and one of the two is guarded.
    Shared,
    /// No device that the tool controls has the name.
    Unknown,
}

/// Assesses a call. Its arguments have the controller's names. The second value is the argument that has to name the device by
/// its address before the call is sent.
pub(super) fn assess(
    home: &Home,
    call: &ControllerCall<'_>,
) -> Result<(Assessment, Option<Addressed>), Unresolved> {
    let mut this = Assessment::default();
    let mut replaced = None;
    match home.resolve(call.tool, call.arguments) {
        Resolved::One { device, address } => (this.device, replaced) = (device, address),
        Resolved::Unrelated => {}
        Resolved::Several => return Err(Unresolved::Several),
        Resolved::Shared => return Err(Unresolved::Shared),
        Resolved::Unknown => return Err(Unresolved::Unknown),
    }
    let mut has_unkept_actions = false;
    let mut is_guarded = false;
    // Of devices that the call does not name, by actions that it is, and by those that it may be.
    let (mut exact, mut possible) = (Other::NONE, Other::NONE);
    home.each_guarded(call.tool, |device, is_controlled_unnamed| {
        has_unkept_actions |= device.actions.is_empty();
        let is_it = device.id == this.device.as_str();
        if !is_it && !is_controlled_unnamed {
            return;
        }
        let compared = compare(device, call, replaced.as_ref().filter(|_| is_it));
        let (risks, action) = compared.unwrap_or((Risks::worst(device.kind), ActionMatch::Unknown));
        if is_it {
            is_guarded = true;
            (this.risks, this.action) = (risks, action);
        } else {
            let others = if compared.is_some() { &mut exact } else { &mut possible };
            others.add(device, risks, action);
        }
    });
    // A call that is exactly an action of the guarded device that it names is no other one's unknown action.
    if is_guarded && this.action == ActionMatch::Plain {
        possible = Other::NONE;
    }
    this.risks = this.risks.and(exact.risks).and(possible.risks);
    let other = if exact.device.is_empty() { possible } else { exact };
    if this.device.is_empty() {
        (this.device, this.action) = (other.device, other.action);
    } else if !is_guarded {
        this.endangered = other.device;
    }
    home.with(&this.device, |device| this.identity = device.identity());
    if this.device.is_empty() {
        // Any tool may unlock a lock whose actions are not kept, so what it declares does not count.
        let read_only = call.hints.read_only.filter(|_| !has_unkept_actions);
        let is_home_unclear = has_unkept_actions || home.may_leave_out_guarded();
        this.risks = this.risks.and(tool_risks(Hints { read_only, ..call.hints }, is_home_unclear));
    } else if call.hints.destructive == Some(true) && this.action == ActionMatch::Unknown {
        this.risks = this.risks.and(Risks::of(Risk::Destructive));
    }
    this.is_change = call.hints.read_only != Some(true) || !this.risks.is_empty();
    Ok((this, replaced))
}

/// What a call puts at risk of guarded devices that it does not name.
struct Other {
    risks: Risks,
    /// The first of them.
    device: DeviceId,
    action: ActionMatch,
}

impl Other {
    const NONE: Self = Self { risks: Risks::NONE, device: DeviceId::new(), action: ActionMatch::Unknown };

    fn add(&mut self, device: &Device<'_>, risks: Risks, action: ActionMatch) {
        self.risks = self.risks.and(risks);
        if self.device.is_empty() && !risks.is_empty() {
            (self.device, self.action) = (DeviceId::try_from(device.id).unwrap_or_default(), action);
        }
    }
}

/// The risks of a tool that controls no device, by what the controller declares. As in MCP, a tool may be destructive unless
/// it is declared not to be.
pub(super) const fn tool_risks(hints: Hints, is_home_unclear: bool) -> Risks {
    match (hints.read_only, hints.destructive) {
        (_, Some(true)) => Risks::of(Risk::Destructive),
        (Some(true), _) => Risks::NONE,
        // Any tool may control a lock, garage door or siren whose actions the hub could not keep.
        _ if is_home_unclear => Risks::of(Risk::Destructive),
        (_, Some(false)) => Risks::NONE,
        (_, None) => Risks::of(Risk::Unmarked),
    }
}

/// Compares a call with the actions of a device. None if it is none of them.
fn compare(
    device: &Device<'_>,
    call: &ControllerCall<'_>,
    replaced: Option<&Addressed>,
) -> Option<(Risks, ActionMatch)> {
    let mut found = None;
    let is_address = |value: Value<'_>| device.is_addressed_by(value);
    for (name, action) in device.actions().members() {
        let Some(how) = compare_action(action, &is_address, call, replaced) else { continue };
        let risk = match how {
            ActionMatch::Plain => Risks::of_action(device.kind, &name),
            // What a value means is up to the controller.
            ActionMatch::WithValue | ActionMatch::Unknown => Risks::worst(device.kind),
        };
        let (risks, _) = found.unwrap_or((Risks::NONE, how));
        found = Some((risks.and(risk), how));
    }
    found
}

/// The names of an unkept device and of a lock, garage door or siren with the same address, which would act in its
/// place. `None` if there is no such device.
#[inline(never)]
pub(crate) fn guarded_namesake(
    home: &Home,
    id: &DeviceId,
    tool: &str,
    arguments: Value<'_>,
) -> Option<heapless::String<{ limits::CANDIDATES }>> {
    if home.with(id, |_| ()).is_some() {
        return None;
    }
    let Resolved::One { device: other, .. } = home.resolve(tool, arguments) else { return None };
    let names = |other: &Device<'_>| {
        other.kind.is_guarded().then(|| shorten(&format_args!("{0} ({id}), {0} ({1})", other.name, other.id)))
    };
    home.with(&other, names).flatten()
}

/// Whether a call is this action: the same tool and arguments, and no others than the action's value. The argument that is going
/// to be `replaced` by the address of the device counts as if it had been.
pub(super) fn compare_action(
    action: Value<'_>,
    is_address: &dyn Fn(Value<'_>) -> bool,
    call: &ControllerCall<'_>,
    replaced: Option<&Addressed>,
) -> Option<ActionMatch> {
    let action = DeclaredAction(action);
    let declared = || action.arguments();
    let value = action.value_argument();
    let is_given = |name: &Text<'_>, wanted: Value<'_>| {
        if replaced.is_some_and(|replaced| *name == *replaced.argument) {
            return is_address(wanted);
        }
        let given = call.arguments.members().filter(|(given, _)| given == name).last();
        given.is_some_and(|(_, value)| is_same(value, wanted))
    };
    if !action.is_of(call.tool) || !declared().all(|(name, wanted)| is_given(&name, wanted)) {
        return None;
    }
    let mut how = ActionMatch::Plain;
    for (name, _) in call.arguments.members() {
        if declared().any(|(known, _)| known == name) {
            continue;
        }
        if value.is_none_or(|value| value != name) {
            return None;
        }
        how = ActionMatch::WithValue;
    }
    Some(how)
}

fn is_same(one: Value<'_>, other: Value<'_>) -> bool {
    match (one.as_text(), other.as_text()) {
        (Some(one), Some(other)) => one == other,
        _ => one.text() == other.text(),
    }
}

/// What a person is asked to approve: the action and the device, and the arguments unless these say it all.
pub(super) struct Summary<'a> {
    pub(super) assessment: &'a Assessment,
    /// The device that the call is about.
    pub(super) device: Option<Device<'a>>,
    /// Whether another device has its name.
    pub(super) has_namesake: bool,
    pub(super) call: &'a ControllerCall<'a>,
    /// The form of the verb that it begins with.
    pub(super) form: VerbForm,
}

impl Display for Summary<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Assessment { risks, action, .. } = self.assessment;
        let before: ActionText = one_line(&Beginning(self));
        f.write_str(&before)?;
        let end = match self.device {
            Some(_) if *action == ActionMatch::Plain && risks.only().is_some_and(Risk::is_of_device) => {
                return Ok(());
            }
            Some(_) if risks.worst_of_device().is_some() => ")",
            _ => "",
        };
        f.write_str(" with ")?;
        let used = before.len() + " with ".len() + CUT.len() + end.len();
        write_cut(self.call.arguments.text(), limits::APPROVAL.saturating_sub(used), f)?;
        f.write_str(end)
    }
}

/// What a summary says before the arguments: the action and the device, and the tool unless these say it all.
struct Beginning<'s, 'a>(&'s Summary<'a>);

impl Display for Beginning<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Summary { assessment, device, has_namesake, form, call } = self.0;
        let risks = assessment.risks;
        let risk = risks.worst_of_device().filter(|_| device.is_some());
        f.write_str(risk.unwrap_or(Risk::Destructive).verb(*form))?;
        if risk.is_none() {
            write!(f, " {}", call.tool)?;
        }
        if let Some(device) = device {
            write!(f, " {}{}", if risk.is_none() { "for " } else { "" }, device.name)?;
            if *has_namesake {
                write!(f, " ({})", device.id)?;
            }
        }
        match risk {
            Some(_) if assessment.action == ActionMatch::Plain && risks.only().is_some() => Ok(()),
            Some(_) => write!(f, " ({}", call.tool),
            None => Ok(()),
        }
    }
}

/// What stands behind arguments that are cut, at most.
const CUT: &str = "… (9999 bytes in all)";

/// Writes as much of a text as fits, and how long it is if it does not.
fn write_cut(text: &str, room: usize, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    if text.len() <= room {
        return f.write_str(text);
    }
    Measure::Plain.write_marked(&text, room, "…", f)?;
    write!(f, " ({} bytes in all)", text.len())
}
