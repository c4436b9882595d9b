//! What people and models changed, so that the last change can be undone.

use embassy_time::Instant;
use heapless::String;

use super::device::DeviceId;
use super::kind::Kind;
use crate::json::{Value, Writer};
use crate::limits;

/// How a device stands, as far as it can be set.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Stand {
    /// On, or locked.
    is_on: Option<bool>,
    /// Its level, position or setpoint.
    number: Option<f64>,
    /// Its mode or colour.
    word: String<16>,
    /// On its way to where it will stand.
    is_moving: bool,
}

impl Stand {
    /// How a device of this kind stands, by its state.
    pub(super) fn of(kind: Kind, state: Value<'_>) -> Self {
        let get = |name: &str| state.get(name);
        let is_true = |name: &str| get(name).map(|value| value.text() == "true");
        let number = |name: &str| get(name).and_then(|value| value.as_f64());
        let word = |name: &str| get(name).and_then(|value| value.as_text()?.decode()).unwrap_or_default();
        let (is_on, number, word) = match kind {
            Kind::Switch | Kind::Siren => (is_true("on"), None, String::new()),
            Kind::Light => (is_true("on"), number("level"), word("color")),
            Kind::Lock => (is_true("locked"), None, String::new()),
            Kind::Climate => (None, number("setpoint"), word("mode")),
            Kind::Cover | Kind::Garage => (None, number("position"), String::new()),
            _ => return Self::default(),
        };
        Self { is_on, number, word, is_moving: is_true("moving") == Some(true) }
    }

    /// Whether it is the same, on its way or not.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        (self.is_on, self.number, &self.word) == (other.is_on, other.number, &other.word)
    }

    /// The first thing to do with a device of this kind that stands like `now` so that it stands like this. None if nothing
    /// is left to do.
    pub(super) fn restore(&self, kind: Kind, now: &Self) -> Option<Step> {
        let set = |action, value| Some(Step { action, value });
        let number = self.number.filter(|_| self.number != now.number);
        match kind {
            Kind::Switch | Kind::Siren if self.is_on != now.is_on => {
                set(if self.is_on? { "on" } else { "off" }, StepValue::None)
            }
            Kind::Lock if self.is_on != now.is_on => {
                set(if self.is_on? { "lock" } else { "unlock" }, StepValue::None)
            }
            Kind::Light if self.is_on == Some(false) => {
                (now.is_on != Some(false)).then_some(Step { action: "off", value: StepValue::None })
            }
            Kind::Light => match number {
                Some(level) => set("level", StepValue::Number(level)),
                None if now.is_on != self.is_on => set("on", StepValue::None),
                None if self.word != now.word => set("color", StepValue::Word(self.word.clone())),
                None => None,
            },
            Kind::Climate if self.word != now.word => set("mode", StepValue::Word(self.word.clone())),
            Kind::Climate => set("setpoint", StepValue::Number(number?)),
            // A garage door is open or closed; some cannot stand between.
            Kind::Garage => set(if number? > 0.0 { "open" } else { "close" }, StepValue::None),
            Kind::Cover => set("position", StepValue::Number(number?)),
            _ => None,
        }
    }
}

impl Stand {
    /// How a device that stands so stands after a step on its way to `target`.
    pub(super) fn follow(&mut self, step: &Step, target: &Self) {
        match step.action {
            "mode" | "color" => self.word = target.word.clone(),
            "level" | "setpoint" => (self.number, self.is_on) = (target.number, target.is_on),
            _ => *self = target.clone(),
        }
    }
}

/// An action of a device.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Step {
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
pub(super) struct Change {
    /// By which its call finds it again.
    number: u32,
    /// The device; empty if it is not one, or not known which.
    pub(super) device: DeviceId,
    pub(super) before: Stand,
    pub(super) after: Stand,
    /// When its call ended; none while it runs.
    ended: Option<Instant>,
}

impl Change {
    pub(super) const fn id(&self) -> ChangeId {
        ChangeId(self.number)
    }

    /// Whether its call did something that was seen.
    pub(super) fn has_effect(&self) -> bool {
        !self.after.is_like(&self.before)
    }
}

/// A running change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChangeId(u32);

/// The last changes, the oldest first. All zeros when new.
pub(super) struct Changes {
    kept: heapless::Vec<Change, { limits::CHANGES }>,
    count: u32,
}

impl Changes {
    pub(super) const fn new() -> Self {
        Self { kept: heapless::Vec::new(), count: 0 }
    }

    pub(super) fn clear(&mut self) {
        self.kept.clear();
    }

    /// A call begins that may change this device, or something else. The oldest change is evicted.
    pub(super) fn begin(&mut self, device: DeviceId, stand: Stand) -> ChangeId {
        if self.kept.is_full() {
            self.kept.remove(0);
        }
        self.count = self.count.wrapping_add(1);
        let change = Change { number: self.count, device, before: stand.clone(), after: stand, ended: None };
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

    /// A device stands otherwise than before. That is what a call did which is running or has just ended; what comes later
    /// is somebody else's doing.
    pub(super) fn seen(&mut self, device: &str, stand: &Stand, now: Instant) {
        let Some(change) = self.kept.iter_mut().rev().find(|change| change.device == device) else { return };
        let is_recent = |ended: Instant| now.saturating_duration_since(ended) < limits::CHANGE_SETTLES;
        let is_its = match change.ended {
            None => true,
            Some(ended) => change.after.is_moving || !change.has_effect() && is_recent(ended),
        };
        if is_its {
            change.after = stand.clone();
        }
    }

    /// The last change that is over.
    pub(super) fn last(&self) -> Option<&Change> {
        self.kept.iter().rev().find(|change| change.ended.is_some())
    }

    pub(super) fn find(&self, id: ChangeId) -> Option<&Change> {
        self.kept.iter().find(|change| change.number == id.0)
    }

    pub(super) fn forget(&mut self, id: ChangeId) {
        self.kept.retain(|change| change.number != id.0);
    }
}
