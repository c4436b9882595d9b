//! What devices measure: the members of their states that are numbers with a unit.

use core::fmt::{self, Display};

use crate::json::{Text, Value};

/// Something that devices measure, by its name in their states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Measurement {
    /// The member of the state.
    pub name: &'static str,
    /// What Home Assistant calls it; empty if it has no word for it.
    pub class: &'static str,
    /// The units it comes in. The first is the usual one: a device that says nothing else means it.
    pub units: &'static [&'static str],
    /// Whether it only ever grows, as on a meter.
    pub is_total: bool,
}

const fn row(name: &'static str, class: &'static str, units: &'static [&'static str]) -> Measurement {
    Measurement { name, class, units, is_total: false }
}

/// All that the hub knows by name. Another one is a number with the unit that the device gives.
const READINGS: [Measurement; 16] = [
    row("temperature", "temperature", &["°C", "°F"]),
    row("humidity", "humidity", &["%"]),
    row("illuminance", "illuminance", &["lx"]),
    row("luminance", "illuminance", &["lx"]),
    row("power", "power", &["W", "kW"]),
    Measurement { is_total: true, ..row("energy", "energy", &["kWh", "Wh"]) },
    row("voltage", "voltage", &["V", "mV"]),
    row("current", "current", &["A", "mA"]),
    row("carbon_dioxide", "carbon_dioxide", &["ppm"]),
    row("carbon_monoxide", "carbon_monoxide", &["ppm"]),
    row("atmospheric_pressure", "atmospheric_pressure", &["hPa", "kPa", "inHg"]),
    row("barometric_pressure", "atmospheric_pressure", &["kPa", "hPa", "inHg"]),
    row("dew_point", "temperature", &["°C", "°F"]),
    row("moisture", "moisture", &["%"]),
    row("loudness", "sound_pressure", &["dB", "dBA"]),
    row("wind_speed", "wind_speed", &["m/s", "km/h", "mph"]),
];

impl Measurement {
    /// The reading of this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        READINGS.iter().find(|reading| reading.name == name)
    }
}

/// The members of `units` in a resource that are not the usual ones, as JSON; empty if there is none.
pub(super) struct UnusualUnits<'a>(pub(super) Value<'a>);

impl<'a> UnusualUnits<'a> {
    pub(super) fn is_empty(&self) -> bool {
        self.members().next().is_none()
    }

    fn members(&self) -> impl Iterator<Item = (Text<'a>, Text<'a>)> + use<'a> {
        let units = self.0.members().filter_map(|(name, unit)| Some((name, unit.as_text()?)));
        units.filter(|(name, unit)| {
            let usual = match name.plain() {
                // What a thermostat is set to is in degrees as people there count them.
                Some("setpoint") => Some(&"°C"),
                name => name.and_then(Measurement::named).and_then(|reading| reading.units.first()),
            };
            // As Z-Wave spells it.
            let spelled = if unit.plain() == Some("Lux") { Some("lx") } else { unit.plain() };
            spelled.is_none() || spelled != usual.copied()
        })
    }
}

impl Display for UnusualUnits<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "{";
        for (name, unit) in self.members() {
            write!(f, "{separator}\"{}\":\"{}\"", name.escaped(), unit.escaped())?;
            separator = ",";
        }
        if separator == "," { f.write_str("}") } else { Ok(()) }
    }
}
