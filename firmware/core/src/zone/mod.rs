//! Time zones: which hour it is where the hub stands.
//!
//! People write a name of the IANA database (`Europe/Berlin`), or a rule in the notation of POSIX
//! (`CET-1CEST,M3.5.0,M10.5.0/3`). Both become a [`Rule`], which knows the distance to UTC at any moment; daylight saving
//! follows. A table of all names is built in. It has only the rule that each zone follows in the end: nothing of the past,
//! and no exceptions that no rule can express, such as clocks that change for Ramadan or a summer time that is to last
//! until the next one. Who lives with one writes a rule of his own for that while.
//!
//! No crate: `jiff-core` takes 19 kB for rules alone, without the names; all of this takes 8.

mod calendar;
mod names;
mod rule;
mod table;

#[cfg(test)]
mod tests;

use core::fmt::{self, Display};

pub use self::calendar::Date;
pub use self::names::ZoneName;
pub use self::rule::Rule;

/// A time zone that somebody chose.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Zone {
    /// As the database spells it. Empty if it was written as a rule.
    pub name: ZoneName,
    /// The distance to UTC.
    pub rule: Rule,
}

impl Zone {
    /// Understands what a person wrote: a name, in any case and with spaces (`europe/berlin`), its last part if that is
    /// clear (`New York`), or a rule.
    pub fn find(text: &str) -> Result<Self, UnknownZone> {
        if let Some(zone) = names::find(text) {
            return Ok(zone);
        }
        // In a rule, `UTC+2` is west of Greenwich. Whoever writes it means east.
        let start = text.as_bytes().first_chunk::<3>();
        let is_trap =
            start.is_some_and(|name| matches!(&name.map(|byte| byte.to_ascii_uppercase()), b"UTC" | b"GMT"));
        match Rule::parse(text) {
            Some(rule) if !is_trap || !rule.is_fixed() || rule == Rule::UTC => {
                Ok(Self { name: ZoneName::new(), rule })
            }
            _ => Err(UnknownZone { nearest: names::nearest(text) }),
        }
    }
}

/// A text that is no time zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownZone {
    /// The name that was perhaps meant, as an index into the table.
    nearest: Option<u16>,
}

impl UnknownZone {
    /// The name that was perhaps meant. Empty if none is like it.
    pub fn nearest(self) -> ZoneName {
        self.nearest.and_then(names::nth).unwrap_or_default()
    }
}

/// The end of a sentence that says what was expected.
impl Display for UnknownZone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nearest = self.nearest();
        if nearest.is_empty() { Ok(()) } else { write!(f, "; did you mean {nearest}?") }
    }
}
