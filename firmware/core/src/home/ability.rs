//! What a device can do, as far as others have to be told of it in advance.
//!
//! How an action is done is read from the device's resource when it is to be done; of what there is, this keeps a summary
//! of a few bytes.

use core::fmt::{self, Display};

use super::kinds::Kind;
use crate::json::Value;

/// A thermostat mode that the hub knows by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mode {
    /// The controller's name for the mode.
    pub word: &'static str,
    /// Home Assistant's name for the mode.
    pub class: &'static str,
}

const fn mode(word: &'static str, class: &'static str) -> Mode {
    Mode { word, class }
}

/// The known modes, one bit each. If several modes have the same class, Home Assistant selects the first one that the
/// device has. The others have the names of the Z-Wave specification, with the classes that Home Assistant's own Z-Wave
/// integration uses.
const MODES: [Mode; 15] = [
    mode("off", "off"),
    mode("heat", "heat"),
    mode("cool", "cool"),
    mode("auto", "auto"),
    mode("dry", "dry"),
    mode("fan_only", "fan_only"),
    mode("heat_cool", "heat_cool"),
    mode("energy heat", "heat"),
    mode("furnace", "heat"),
    mode("full power", "heat"),
    mode("auxiliary", "heat"),
    mode("energy cool", "cool"),
    mode("fan", "fan_only"),
    mode("auto changeover", "heat_cool"),
    mode("away", "heat_cool"),
];

const _: () = assert!(MODES.len() <= u16::BITS as usize);

/// What a device can do. All zeros for nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Abilities {
    /// Bits of the actions in the row of its kind.
    actions: u16,
    /// The least and the largest value of `level`, `position` or `setpoint`, in tenths; of a device with several, of the last.
    bounds: (i16, i16),
    /// Bits of [`MODES`].
    modes: u16,
}

impl Abilities {
    pub(super) const NONE: Self = Self { actions: 0, bounds: (0, 0), modes: 0 };

    /// Reads the member `actions` of the resource of a device of this kind.
    pub(super) fn read(kind: Kind, actions: Value<'_>) -> Self {
        let mut this = Self::NONE;
        let row = kind.row();
        for (name, declared) in actions.members() {
            let Some(at) = row.actions.iter().position(|(known, _)| name == **known) else { continue };
            this.actions |= 1 << at;
            let Some(value) = declared.get("value") else { continue };
            if row.number.is_some_and(|(number, _)| name == *number) {
                let bound = |key| tenths(value.get(key)?.text());
                // As percent, if it does not say.
                this.bounds = (bound("minimum").unwrap_or(0), bound("maximum").unwrap_or(1000));
            } else if name == *"mode" {
                let offered = value.get("enum").into_iter().flat_map(|list| list.items());
                for mode in offered.filter_map(|mode| mode.as_text()?.plain()) {
                    let at = MODES.iter().position(|known| known.word == mode);
                    this.modes |= at.map_or(0, |at| 1 << at);
                }
            }
        }
        this
    }

    /// The same for the same abilities.
    pub(super) fn to_bytes(self) -> [u8; 8] {
        let ([a, b], [c, d]) = (self.actions.to_le_bytes(), self.bounds.0.to_le_bytes());
        let ([e, f], [g, h]) = (self.bounds.1.to_le_bytes(), self.modes.to_le_bytes());
        [a, b, c, d, e, f, g, h]
    }

    /// Whether a device of this kind can do this.
    pub(super) fn can(&self, kind: Kind, action: &str) -> bool {
        let at = kind.row().actions.iter().position(|(known, _)| *known == action);
        at.is_some_and(|at| self.actions & 1 << at != 0)
    }

    /// The least and the largest value of its level, position or setpoint.
    pub const fn bounds(&self) -> (Tenths, Tenths) {
        (Tenths(self.bounds.0), Tenths(self.bounds.1))
    }

    /// The modes that it has, of those that the hub knows.
    pub fn modes(&self) -> impl Iterator<Item = Mode> + use<> {
        let modes = self.modes;
        MODES.into_iter().enumerate().filter(move |(at, _)| modes & 1 << at != 0).map(|(_, mode)| mode)
    }
}

/// A JSON number in tenths; what is finer is cut. `None` if it is none that a device has.
fn tenths(number: &str) -> Option<i16> {
    let (sign, digits) = number.strip_prefix('-').map_or((1, number), |digits| (-1, digits));
    let (whole, rest) = digits.split_once('.').unwrap_or((digits, "0"));
    let whole: i16 = whole.parse().ok()?;
    if !rest.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let tenth = rest.get(..1)?.parse::<i16>().ok()?;
    whole.checked_mul(10)?.checked_add(tenth)?.checked_mul(sign)
}

/// A number of tenths. Written as a decimal number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tenths(i16);

impl Display for Tenths {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.0 < 0 { "-" } else { "" };
        let tenths = self.0.unsigned_abs();
        match tenths % 10 {
            0 => write!(f, "{sign}{}", tenths / 10),
            rest => write!(f, "{sign}{}.{rest}", tenths / 10),
        }
    }
}
