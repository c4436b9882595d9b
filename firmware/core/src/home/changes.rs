//! What people and models changed, so that the last change can be undone.

use embassy_time::Instant;
use heapless::String;

use super::device::DeviceId;
use super::kinds::{self, Kind, KindRow};
use crate::json::{Value, Writer};
use crate::limits;

/// The state of a device, as far as it can be set.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct DeviceState {
    kind: Kind,
    /// On, or locked.
    is_on: Option<bool>,
    /// Its level, position or setpoint.
    number: Option<f64>,
    /// Its mode or colour.
    word: String<16>,
    /// On its way to its target.
    is_moving: bool,
}

impl DeviceState {
    /// The state of a device of this kind.
    pub(super) fn of(kind: Kind, state: Value<'_>) -> Self {
        let KindRow { switch, number, word, .. } = kind.row();
        Self {
            kind,
            is_on: switch.and_then(|[name, ..]| kinds::flag(state, name)),
            number: number.and_then(|(name, _)| state.get(name)?.as_f64()),
            word: word.and_then(|word| kinds::word(state, word)?.decode()).unwrap_or_default(),
            is_moving: kinds::flag(state, "moving") == Some(true),
        }
    }

    /// Whether it holds any value. It does not if the device could not be read or has nothing to set.
    pub(super) fn is_known(&self) -> bool {
        self.is_on.is_some() || self.number.is_some() || !self.word.is_empty()
    }

    /// Whether it is exactly the same, on its way or not.
    fn is_same(&self, other: &Self) -> bool {
        (self.is_on, self.number, &self.word) == (other.is_on, other.number, &other.word)
    }

    /// Whether it is the same as far as devices are exact, on its way or not.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        let tolerance = self.kind.row().number.map_or(0.0, |(_, tolerance)| tolerance);
        let is_near = match (self.number, other.number) {
            (Some(one), Some(other)) => (one - other).abs() <= tolerance,
            (one, other) => one == other,
        };
        (self.is_on, &self.word) == (other.is_on, &other.word) && is_near
    }

    /// Whether `undo` has restored this state. A lamp that was off may keep its new level, which it does not show.
    pub(super) fn is_restored(&self, now: &Self) -> bool {
        if now.hides_values_of(self) { now.is_on == Some(false) } else { now.is_like(self) }
    }

    /// The state that `undo` aims at. Without a colour for a lamp that was off and whose colour cannot be set.
    pub(super) fn target(&self, now: &Self, can_color: bool) -> Self {
        let mut target = self.clone();
        if now.hides_values_of(self) && !can_color {
            target.word.clear();
        }
        target
    }

    /// Whether the device does not show the number and the word of an earlier state, because it was off.
    fn hides_values_of(&self, before: &Self) -> bool {
        self.kind.row().is_hidden_when_off && before.is_on == Some(false)
    }

    /// The first step from the state `now` to this one. `None` if nothing is left to do.
    pub(super) fn restore(&self, now: &Self) -> Option<UndoStep> {
        let KindRow { switch, number, ends, word, is_hidden_when_off, .. } = *now.kind.row();
        let plain = |action| UndoStep { action, value: StepValue::None };
        let switch = || {
            let [_, on, off] = switch.filter(|_| self.is_on != now.is_on)?;
            Some(plain(if self.is_on == Some(false) { off } else { on }))
        };
        let number = || {
            let ((action, _), wanted) = (number?, self.number.filter(|_| self.number != now.number)?);
            Some(match ends {
                Some([zero, more]) => plain(if wanted > 0.0 { more } else { zero }),
                None => UndoStep { action, value: StepValue::Number(wanted) },
            })
        };
        let word = || {
            let action = word.filter(|_| self.word != now.word)?;
            Some(UndoStep { action, value: StepValue::Word(self.word.clone()) })
        };
        if now.hides_values_of(self) {
            // First the colour, which may switch the lamp on.
            word().filter(|_| !self.word.is_empty()).or_else(switch)
        } else if is_hidden_when_off {
            number().or_else(switch).or_else(word)
        } else {
            word().or_else(number).or_else(switch)
        }
    }

    /// The state after a step on the way to `target`.
    pub(super) fn follow(&mut self, step: &UndoStep, target: &Self) {
        match step.value {
            StepValue::None => *self = Self { kind: self.kind, ..target.clone() },
            StepValue::Number(_) => (self.number, self.is_on) = (target.number, target.is_on),
            StepValue::Word(_) => {
                self.word = target.word.clone();
                // A colour may switch a lamp on.
                if self.kind.row().is_hidden_when_off {
                    self.is_on = Some(true);
                }
            }
        }
    }
}

/// An action of a device.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct UndoStep {
    pub(crate) action: &'static str,
    pub(crate) value: StepValue,
}

/// What goes with it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum StepValue {
    None,
    Number(f64),
    Word(String<16>),
}

impl StepValue {
    /// Writes it as a value, if there is one.
    pub(crate) fn write(&self, out: &mut Writer<'_>) {
        match self {
            Self::None => out.value(Value::NULL),
            Self::Number(number) => out.value(*number),
            Self::Word(word) => out.value(word.as_str()),
        }
    }
}

/// A call that changes something, from before it is sent.
#[derive(Clone, Debug)]
pub(super) struct DeviceChange {
    /// By which its call finds it again.
    number: u32,
    /// The device. Empty if the hub cannot follow the call's effect: the call is for several devices, for none, or for
    /// a device that is not kept or whose state is unknown.
    pub(super) device: DeviceId,
    pub(super) before: DeviceState,
    pub(super) after: DeviceState,
    /// When its call ended; none while it runs.
    ended: Option<Instant>,
    /// Its call ended with an error.
    has_failed: bool,
    /// The device sleeps, and gets the command when it wakes up.
    is_pending: bool,
    /// The device's state could not be read since the call.
    is_unread: bool,
    /// A person has been told that the call had no effect, or that it cannot be undone.
    is_told: bool,
}

impl DeviceChange {
    pub(super) const fn id(&self) -> ChangeId {
        ChangeId(self.number)
    }

    /// Whether its call did something that was seen.
    pub(super) fn has_effect(&self) -> bool {
        !self.after.is_same(&self.before)
    }

    /// Whether the hub cannot know what its call did.
    pub(super) fn is_untraceable(&self) -> bool {
        self.device.is_empty()
    }

    /// Whether the device's state could not be read since the call.
    pub(super) const fn is_unread(&self) -> bool {
        self.is_unread
    }

    /// Whether its call has ended and may still do something.
    fn is_recent(&self, now: Instant) -> bool {
        let is_settling = |ended| now.saturating_duration_since(ended) < limits::CHANGE_SETTLES;
        self.ended.is_some_and(|ended| self.is_pending || self.is_unread || is_settling(ended))
    }

    /// Whether its call has not ended.
    pub(super) const fn is_running(&self) -> bool {
        self.ended.is_none()
    }

    /// Whether its call is over without an effect.
    pub(super) fn is_void(&self, now: Instant) -> bool {
        !self.is_running() && !self.has_effect() && !self.is_untraceable() && !self.is_recent(now)
    }

    /// Whether `undo` skips it.
    fn is_passed_over(&self, now: Instant) -> bool {
        let is_over = self.is_told || self.has_failed && self.is_void(now);
        !self.is_running() && !self.has_effect() && is_over
    }
}

/// A running change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChangeId(u32);

/// The last changes, the oldest first. All zeros when new.
pub(super) struct Changes {
    kept: heapless::Vec<DeviceChange, { limits::CHANGES }>,
    count: u32,
}

impl Changes {
    pub(super) const fn new() -> Self {
        Self { kept: heapless::Vec::new(), count: 0 }
    }

    pub(super) fn clear(&mut self) {
        self.kept.clear();
    }

    /// Records a call that may change this device; an empty id stands for anything else. If there is no room, evicts a
    /// change that `undo` does not need, or else the oldest one.
    pub(super) fn begin(&mut self, device: DeviceId, state: DeviceState, now: Instant) -> ChangeId {
        if self.kept.is_full() {
            let is_spent = |change: &DeviceChange| change.is_void(now) || change.is_passed_over(now);
            let spent = self.kept.iter().position(is_spent);
            self.kept.remove(spent.unwrap_or_default());
        }
        self.count = self.count.wrapping_add(1);
        let change = DeviceChange {
            number: self.count,
            device,
            before: state.clone(),
            after: state,
            ended: None,
            has_failed: false,
            is_pending: false,
            is_unread: false,
            is_told: false,
        };
        // There is room now.
        let _ = self.kept.push(change);
        ChangeId(self.count)
    }

    /// The call has ended. If nothing was done, it changed nothing.
    pub(super) fn end(&mut self, id: ChangeId, is_done: bool, now: Instant) {
        if !is_done {
            return self.forget(id);
        }
        if let Some(change) = self.kept.iter_mut().find(|change| change.number == id.0) {
            change.ended = Some(now);
        }
    }

    /// The call has ended with an error. It may have done something all the same.
    pub(super) fn fail(&mut self, id: ChangeId, now: Instant) {
        if let Some(change) = self.kept.iter_mut().find(|change| change.number == id.0) {
            (change.ended, change.has_failed) = (Some(now), true);
        }
    }

    /// The state of a device has changed. A call that is running or has just ended did it; a later change is somebody
    /// else's.
    pub(super) fn seen(&mut self, device: &str, state: &DeviceState, now: Instant) {
        let Some(change) = self.kept.iter_mut().rev().find(|change| change.device == device) else { return };
        // A light that is dimmed slowly, or a shutter, tells several times where it is.
        let is_on_its_way = (state.is_on, &state.word) == (change.after.is_on, &change.after.word);
        let is_its = change.ended.is_none()
            || change.after.is_moving
            || change.is_recent(now) && (!change.has_effect() || is_on_its_way);
        if !state.is_known() {
            // The effect becomes visible when the device can be read again.
            change.is_unread |= is_its;
            return;
        }
        if change.is_unread {
            (change.is_unread, change.ended) = (false, change.ended.map(|_| now));
        }
        if is_its {
            change.after = state.clone();
        }
    }

    /// Whether a command waits until the device wakes up: that of a call which is running or has just ended. Once the device
    /// has it, it needs time to report.
    pub(super) fn set_pending(&mut self, device: &str, is_pending: bool, now: Instant) {
        let mut changes = self.kept.iter_mut().rev().filter(|change| change.device == device);
        if !is_pending {
            for change in changes.filter(|change| change.is_pending) {
                (change.is_pending, change.ended) = (false, change.ended.map(|_| now));
            }
        } else if let Some(change) = changes.next() {
            change.is_pending = change.ended.is_none() || change.is_recent(now);
        }
    }

    /// Whether a command waits until the device wakes up.
    pub(super) fn is_pending(&self, device: &str) -> bool {
        self.kept.iter().any(|change| change.device == device && change.is_pending)
    }

    /// The last change. Skips calls without a visible effect if they have failed and are over, or if a person has been
    /// told of them.
    pub(super) fn last(&self, now: Instant) -> Option<&DeviceChange> {
        self.kept.iter().rev().find(|change| !change.is_passed_over(now))
    }

    /// Marks the last calls, which had no visible effect, as told to a person. From then on `undo` skips them.
    pub(super) fn pass_over_last(&mut self) {
        let over = self.kept.iter_mut().rev().filter(|change| change.ended.is_some());
        over.take_while(|change| !change.has_effect()).for_each(|change| change.is_told = true);
    }

    /// The last change of this device.
    pub(super) fn last_of(&self, device: &str) -> Option<ChangeId> {
        self.kept.iter().rev().find(|change| change.device == device).map(DeviceChange::id)
    }

    /// Merges the last change of the device with this earlier change of the same device.
    pub(super) fn join(&mut self, earlier: ChangeId, device: &str) {
        let Some(before) = self.find(earlier).map(|change| change.before.clone()) else { return };
        let last = self.kept.iter_mut().rev().find(|change| change.device == device);
        if let Some(last) = last.filter(|last| last.id() != earlier) {
            last.before = before;
            self.forget(earlier);
        }
    }

    pub(super) fn find(&self, id: ChangeId) -> Option<&DeviceChange> {
        self.kept.iter().find(|change| change.number == id.0)
    }

    pub(super) fn forget(&mut self, id: ChangeId) {
        self.kept.retain(|change| change.number != id.0);
    }

    /// A device has left. Another one may get its id.
    pub(super) fn forget_device(&mut self, device: &str) {
        self.kept.retain(|change| change.device != device);
    }
}

#[cfg(test)]
mod tests {
    use embassy_time::{Duration, Instant};

    use super::{Changes, DeviceState, Kind};
    use crate::home::DeviceId;
    use crate::json::Value;
    use crate::limits;

    #[test]
    fn a_change_stays_open_while_its_device_sleeps_and_settles_when_it_has_woken() {
        let state_of = |state: &str| DeviceState::of(Kind::Climate, Value::parse(state.as_bytes()).unwrap());
        let (cold, warm) = (state_of(r#"{"setpoint":17}"#), state_of(r#"{"setpoint":21}"#));
        let at = |seconds| Instant::MIN + Duration::from_secs(seconds);
        let day = 86_400;
        for is_slept_on in [true, false] {
            let mut changes = Changes::new();
            let id = changes.begin(DeviceId::try_from("9-0").unwrap(), cold.clone(), at(0));
            changes.end(id, true, at(1));
            changes.set_pending("9-0", is_slept_on, at(2));
            assert_eq!(changes.find(id).unwrap().is_void(at(day)), !is_slept_on);
            changes.set_pending("9-0", false, at(day));
            // It tells what it did a moment after it got the command.
            changes.seen("9-0", &warm, at(day + 5));
            assert_eq!(changes.find(id).unwrap().has_effect(), is_slept_on);
            // What comes later is somebody else's doing.
            let later = day + limits::CHANGE_SETTLES.as_secs() + 1;
            changes.seen("9-0", &cold, at(later));
            assert_eq!(changes.find(id).unwrap().has_effect(), is_slept_on);
        }
        // A command of somebody else's makes an old change nobody's again.
        let mut changes = Changes::new();
        let id = changes.begin(DeviceId::try_from("9-0").unwrap(), cold.clone(), at(0));
        changes.end(id, true, at(1));
        changes.set_pending("9-0", true, at(day));
        changes.seen("9-0", &warm, at(day + 1));
        assert!(!changes.find(id).unwrap().has_effect());
    }
}
