//! What a call puts at risk, and the setting that decides about it.

use crate::home::{Kind, Risk};
use crate::json::Text;
use crate::settings::{
    GATE_CLOSE, GATE_LOCK, GATE_OPEN, GATE_SIREN, GATE_TOOLS, GATE_UNLOCK, GATE_UNMARKED, Policy,
    TypedSetting,
};

impl Risk {
    /// All risks.
    pub const ALL: [Self; 7] =
        [Self::Unlock, Self::Lock, Self::Open, Self::Close, Self::Alarm, Self::Destructive, Self::Unmarked];

    /// The verb for it, before the name of the device or the tool.
    pub(super) const fn verb(self, form: VerbForm) -> &'static str {
        match (self, form) {
            (Self::Unlock, VerbForm::Infinitive) => "unlock",
            (Self::Unlock, VerbForm::Gerund) => "Unlocking",
            (Self::Lock, VerbForm::Infinitive) => "lock",
            (Self::Lock, VerbForm::Gerund) => "Locking",
            (Self::Open, VerbForm::Infinitive) => "open",
            (Self::Open, VerbForm::Gerund) => "Opening",
            (Self::Close, VerbForm::Infinitive) => "close",
            (Self::Close, VerbForm::Gerund) => "Closing",
            (Self::Alarm, VerbForm::Infinitive) => "switch on",
            (Self::Alarm, VerbForm::Gerund) => "Switching on",
            (Self::Destructive | Self::Unmarked, VerbForm::Infinitive) => "call",
            (Self::Destructive | Self::Unmarked, VerbForm::Gerund) => "Calling",
        }
    }

    /// Whether it is an action of a device.
    pub(super) const fn is_of_device(self) -> bool {
        !matches!(self, Self::Destructive | Self::Unmarked)
    }

    /// The setting that decides whether a model may do it.
    pub(super) const fn setting(self) -> &'static TypedSetting<Policy> {
        match self {
            Self::Unlock => &GATE_UNLOCK,
            Self::Lock => &GATE_LOCK,
            Self::Open => &GATE_OPEN,
            Self::Close => &GATE_CLOSE,
            Self::Alarm => &GATE_SIREN,
            Self::Destructive => &GATE_TOOLS,
            Self::Unmarked => &GATE_UNMARKED,
        }
    }
}

/// A form of a verb.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum VerbForm {
    /// "unlock"
    Infinitive,
    /// "Unlocking"
    Gerund,
}

/// A set of risks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Risks(u8);

impl Risks {
    /// No risk.
    pub const NONE: Self = Self(0);

    pub(super) const fn of(risk: Risk) -> Self {
        Self(1 << risk as u8)
    }

    pub(super) const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether there is none.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Each of them.
    pub fn each(self) -> impl Iterator<Item = Risk> {
        Risk::ALL.into_iter().filter(move |risk| self.0 & Self::of(*risk).0 != 0)
    }

    /// The only one, if there is exactly one.
    pub(super) fn only(self) -> Option<Risk> {
        let mut all = self.each();
        all.next().filter(|_| all.next().is_none())
    }

    /// The most dangerous action of a device.
    pub(super) fn worst_of_device(self) -> Option<Risk> {
        let order = [Risk::Unlock, Risk::Open, Risk::Alarm, Risk::Lock, Risk::Close];
        order.into_iter().find(|risk| self.0 & Self::of(*risk).0 != 0)
    }

    /// The risk of an action of a device. An action that the hub does not know counts as the most dangerous one.
    pub(super) fn of_action(kind: Kind, action: &Text<'_>) -> Self {
        kind.risk(action).map_or(Self::NONE, Self::of)
    }

    /// The most dangerous thing that can be done with a device of this kind.
    pub(super) fn worst(kind: Kind) -> Self {
        kind.row().worst.map_or(Self::NONE, Self::of)
    }
}
