//! Decides which of the controller's tools are kept if they do not all fit.

use heapless::{String, Vec};

use crate::hash::Fnv32;
use crate::limits;
use crate::text::find;

/// The preferred tools: first those of the setting `controller.tools`, then those that rules allow.
#[derive(Debug)]
pub(super) struct Preference {
    /// Names, or patterns with `*`, separated by commas. Earlier ones rank higher.
    patterns: String<{ limits::SETTING }>,
    /// Digests of the names that rules allow. A collision affects only the order.
    allowed: Vec<u16, { limits::PREFERRED_TOOLS }>,
}

/// How much a tool is preferred. Zero means not at all.
pub(super) type Rank = u8;

/// The rank of a tool that a rule allows.
const ALLOWED: Rank = 1;

impl Preference {
    /// No tool is preferred.
    pub(super) const fn new() -> Self {
        Self { patterns: String::new(), allowed: Vec::new() }
    }

    /// Sets the patterns from the setting's value. Excess text is dropped.
    pub(super) fn set_patterns(&mut self, patterns: &str) {
        self.patterns = String::try_from(patterns).unwrap_or_default();
        self.allowed.clear();
    }

    /// Notes that a rule allows this tool. If there is no room, the tool is not preferred.
    pub(super) fn allow(&mut self, name: impl Iterator<Item = char>) {
        let digest = digest(name);
        if !self.allowed.contains(&digest) {
            let _ = self.allowed.push(digest);
        }
    }

    pub(super) fn rank(&self, name: &str) -> Rank {
        let mut patterns = self.patterns.split(',').map(str::trim).filter(|pattern| !pattern.is_empty());
        match patterns.position(|pattern| matches(pattern, name)) {
            Some(place) => {
                Rank::MAX.saturating_sub(u8::try_from(place).unwrap_or(Rank::MAX)).max(ALLOWED + 1)
            }
            None if self.allowed.contains(&digest(name.chars())) => ALLOWED,
            None => 0,
        }
    }
}

/// A hash of the name as models see it, folded to 16 bits.
fn digest(name: impl Iterator<Item = char>) -> u16 {
    let hash = Fnv32::of(name.map(|letter| if letter == '.' { '_' } else { letter }));
    (hash >> 16 ^ hash & 0xFFFF) as u16
}

/// Whether a name matches a pattern, in which each `*` stands for any text.
fn matches(pattern: &str, name: &str) -> bool {
    let Some((head, tail)) = pattern.split_once('*') else { return pattern == name };
    let Some(mut rest) = name.strip_prefix(head) else { return false };
    let (middle, end) = tail.rsplit_once('*').unwrap_or(("", tail));
    for part in middle.split('*').filter(|part| !part.is_empty()) {
        let Some(at) = find(rest.as_bytes(), part.as_bytes()) else { return false };
        rest = rest.get(at + part.len()..).unwrap_or_default();
    }
    rest.ends_with(end)
}

#[cfg(test)]
mod tests {
    use super::{ALLOWED, Preference, matches};

    #[test]
    fn the_first_pattern_counts_most_and_rules_come_after_the_setting() {
        let mut preference = Preference::new();
        assert_eq!(preference.rank("light_on"), 0);
        preference.set_patterns("light_on , scene_*,, *_status");
        preference.allow("get_map".chars());
        preference.allow("files_read".chars());
        let ranks =
            ["light_on", "scene_x", "home_status", "get_map", "reboot"].map(|name| preference.rank(name));
        assert!(ranks.is_sorted_by(|one, next| one > next), "{ranks:?}");
        assert_eq!(ranks[3..], [ALLOWED, 0]);
        // A rule may name a tool as models see it.
        assert_eq!(preference.rank("files.read"), ALLOWED);
    }

    #[test]
    fn a_star_is_any_text() {
        for (pattern, name) in [
            ("*", ""),
            ("*", "a.b"),
            ("ha_*", "ha_"),
            ("*light*", "ha_light_on"),
            ("ha_*_on", "ha_light_on"),
            ("a*b*c", "a-b-b-c"),
            ("a**c", "abc"),
        ] {
            assert!(matches(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in
            [("", "a"), ("ha_*", "ha"), ("a*a", "a"), ("*on", "only"), ("a*b*c", "acb"), ("A*", "a")]
        {
            assert!(!matches(pattern, name), "{pattern} {name}");
        }
    }
}
