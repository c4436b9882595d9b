//! The buttons of scene controllers, and what people do to them.

use serde_json::{Map, Value};

/// How a button was pressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Press {
    /// Once.
    Single,
    /// Twice in a row.
    Double,
    /// Three times in a row.
    Triple,
    /// Four times in a row.
    Quadruple,
    /// Five times in a row.
    Quintuple,
    /// Pressed, and not let go.
    Hold,
    /// Let go after it was held.
    Release,
}

impl Press {
    /// All of them, by the key attributes of Central Scene.
    const BY_ATTRIBUTE: [Self; 7] = [
        Self::Single,
        Self::Release,
        Self::Hold,
        Self::Double,
        Self::Triple,
        Self::Quadruple,
        Self::Quintuple,
    ];

    /// What a key attribute of Central Scene means.
    pub(super) fn of_attribute(attribute: u64) -> Option<Self> {
        Self::BY_ATTRIBUTE.get(usize::try_from(attribute).ok()?).copied()
    }

    /// Its name in the state of a device.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Single => "single",
            Self::Double => "double",
            Self::Triple => "triple",
            Self::Quadruple => "quadruple",
            Self::Quintuple => "quintuple",
            Self::Hold => "hold",
            Self::Release => "release",
        }
    }
}

/// The buttons of a device that sends scenes: Z-Wave numbers them from 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Buttons {
    /// How many there are, if it has said so.
    pub count: Option<u16>,
    /// How often any was pressed, held or let go since the program started. Two equal presses in a row differ in nothing else.
    pub presses: u64,
    /// The last one, and how it was pressed.
    pub last: Option<(u16, Press)>,
}

impl Buttons {
    /// After one more press.
    #[must_use]
    pub const fn pressed(self, button: u16, press: Press) -> Self {
        Self { presses: self.presses.saturating_add(1), last: Some((button, press)), ..self }
    }

    /// Adds what was pressed to the state of the device, whose own members take precedence.
    pub(super) fn tell(&self, state: &mut Map<String, Value>) {
        if let Some((button, press)) = self.last {
            state.entry("button").or_insert_with(|| button.into());
            state.entry("press").or_insert_with(|| press.word().into());
        }
        state.entry("presses").or_insert_with(|| self.presses.into());
    }

    /// Its state in words, after "is".
    pub(super) fn words(&self) -> String {
        match self.last {
            None => "idle, not pressed yet".into(),
            Some((button, press)) => format!("idle, last press: button {button}, {}", press.word()),
        }
    }
}
