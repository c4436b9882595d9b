//! Adds the tools of the controller's list to the registry. If they do not all fit, descriptions are cut first; then
//! the least preferred tools are dropped.

use heapless::{String, Vec};

use super::definition::Hints;
use super::registry::{Contents, Discovered, Entry, LeftOut, Name, log_unknown_keywords, name_for_models};
use super::texts::{self, Span};
use super::{CallCounts, Tool};
use crate::hash::Fnv32;
use crate::json::Kind;
use crate::limits;
use crate::log::warn;
use crate::text::find;

/// The description lengths that are tried, in bytes. The first sentences of a description say what the tool is for.
const DESCRIPTIONS: [usize; 5] = [usize::MAX, 1024, 512, 256, SHORTEST];

const SHORTEST: usize = 128;

/// The space that a tool needs.
struct Need {
    /// For its name and its schema.
    fixed: usize,
    description: usize,
    rank: Rank,
}

impl Contents {
    /// Adds a tool of the list. Calls `dropped` with the name of each tool that makes room for it.
    pub(super) fn learn(
        &mut self,
        tool: Discovered<'_>,
        dropped: &mut dyn FnMut(&str),
    ) -> Result<(), LeftOut> {
        let name: Name = tool.name.decode().filter(|name| can_be_called(name)).ok_or(LeftOut::Name)?;
        let schema = match tool.schema {
            Some(schema) if schema.kind() == Kind::Object => schema.text(),
            Some(_) => return Err(LeftOut::Schema),
            None => Tool::PLAIN.schema,
        };
        let mut is_same = false;
        if let Some(index) = self.position(&name) {
            match self.tools.get_mut(index) {
                Some(Entry::Controllers { texts, is_old, hints, is_reserved, .. }) => {
                    let [_, description, old_schema] = self.texts.get(texts);
                    let is_cut = texts::is_cut_from(description, tool.description);
                    if !*is_old {
                        warn!("tools: {} was registered before; the new one takes its place", name.as_str());
                    }
                    is_same = (is_cut || tool.description == *description)
                        && old_schema == schema
                        && !*is_reserved
                        && *hints == tool.hints;
                    if is_same && !(is_cut && self.has_room_again) {
                        *is_old = false;
                        return Ok(());
                    }
                    self.version = self.version.wrapping_add(u32::from(!is_same));
                    let mut indices = 0..;
                    self.tools.retain(|_| indices.next() != Some(index));
                }
                _ => return Err(LeftOut::Taken),
            }
        }
        let rank = self.preference.rank(&name);
        let description = tool.description.chars().map(char::len_utf8).sum();
        let need = Need { fixed: name.len() + schema.len(), description, rank };
        let most = self
            .make_room(&need, dropped)
            .inspect_err(|_| self.note_missing(need.fixed + need.description.min(SHORTEST)))?;
        if !is_same {
            self.version = self.version.wrapping_add(1);
            log_unknown_keywords(&name, schema);
        }
        let texts = self.texts.add(&name, |room| texts::describe(tool.description, most, room), schema);
        let (hints, counts) = (tool.hints, CallCounts::NONE);
        let texts = texts.ok_or(LeftOut::Texts)?;
        let entry = Entry::Controllers { texts, counts, hints, rank, is_old: false, is_reserved: false };
        let less = |entry: &Entry| matches!(entry, Entry::Controllers { rank: other, .. } if *other < rank);
        let place = self.tools.iter().position(less).unwrap_or(self.tools.len());
        self.tools.insert(place, entry).map_err(|_| LeftOut::Count)?;
        self.log_shadowed(&name);
        Ok(())
    }

    /// Logs the tools that models cannot call because of the tool `name`. Providers allow no dots in names, so a tool
    /// with a dot is shadowed by one that has the same name with `_` for `.`.
    fn log_shadowed(&self, name: &str) {
        for (index, entry) in self.tools.iter().enumerate() {
            let Entry::Controllers { texts, is_reserved: false, .. } = entry else { continue };
            let [dotted, ..] = self.texts.get(texts);
            if dotted.contains('.')
                && name_for_models(dotted).eq(name_for_models(name))
                && self.index_for_models(dotted) != Some(index)
            {
                warn!(
                    "tools: {} cannot be called by models: another tool has that name with '_' for '.'",
                    dotted
                );
            }
        }
    }

    /// Makes room for a tool. Returns the length to which its description has to be cut. On failure, nothing has
    /// changed.
    ///
    /// Tools of the previous list may take up the room. They stay until the new list is complete, because it may
    /// contain them.
    fn make_room(&mut self, need: &Need, dropped: &mut dyn FnMut(&str)) -> Result<usize, LeftOut> {
        let suits = |contents: &Self, most| contents.length(0, most, need) <= limits::TOOL_TEXTS;
        if self.tools.len() < limits::TOOLS && suits(self, usize::MAX) {
            self.compact_for(need.fixed + need.description);
            return Ok(usize::MAX);
        }
        self.lacked_room = true;
        let droppable = self.tools.iter().filter(|entry| entry.is_below(need.rank)).count();
        if self.tools.len() - droppable >= limits::TOOLS {
            return Err(LeftOut::Count);
        }
        if self.length(need.rank, SHORTEST, need) > limits::TOOL_TEXTS {
            return Err(LeftOut::Texts);
        }
        // Ends at the latest when all droppable tools are dropped.
        for _ in 0..=droppable {
            let most = DESCRIPTIONS.into_iter().find(|most| suits(self, *most));
            match most.filter(|_| self.tools.len() < limits::TOOLS) {
                Some(most) => {
                    self.has_cut |= most < usize::MAX;
                    self.cut_descriptions(most);
                    self.compact_for(limits::TOOL_TEXTS);
                    return Ok(most);
                }
                None => self.drop_least(need.rank, dropped),
            }
        }
        Err(LeftOut::Texts)
    }

    /// The length of all texts including the new tool's, if descriptions are cut to `most` bytes and tools with a rank
    /// below `least` are dropped.
    fn length(&self, least: Rank, most: usize, need: &Need) -> usize {
        let lengths = self.tools.iter().filter(|entry| !entry.is_below(least)).map(|entry| match entry {
            Entry::Controllers { texts, .. } => texts.length_with(most),
            Entry::Own(..) => 0,
        });
        lengths.sum::<usize>() + need.fixed + need.description.min(most)
    }

    /// Notes that a tool which needs this room is missing.
    fn note_missing(&mut self, length: usize) {
        self.least_missing = match self.least_missing {
            0 => length,
            least => least.min(length),
        };
    }

    /// Whether there is room for another tool of this length if descriptions are cut.
    pub(super) fn has_room_for(&self, length: usize) -> bool {
        let need = Need { fixed: length, description: 0, rank: Rank::MIN };
        self.tools.len() < limits::TOOLS && self.length(0, SHORTEST, &need) <= limits::TOOL_TEXTS
    }

    fn cut_descriptions(&mut self, most: usize) {
        for entry in &mut self.tools {
            if let Entry::Controllers { texts, .. } = entry {
                self.texts.cut_description(texts, most);
            }
        }
    }

    /// Drops the least preferred tool if its rank is below `rank`.
    fn drop_least(&mut self, rank: Rank, dropped: &mut dyn FnMut(&str)) {
        let Some(index) = self.tools.iter().rposition(|entry| entry.is_below(rank)) else { return };
        let Entry::Controllers { texts, .. } = self.tools.remove(index) else { return };
        self.note_missing(texts.length_with(SHORTEST));
        let [name, ..] = self.texts.get(&texts);
        dropped(name);
        let name = Name::try_from(name).unwrap_or_default();
        self.reserve(&name);
    }

    /// Notes that a tool of this name is left out, and keeps its name reserved if the name is in use.
    pub(super) fn reserve(&mut self, name: &str) {
        self.has_left_out = true;
        if let Some(index) = self.position(name) {
            match self.tools.get_mut(index) {
                // It was also left out before.
                Some(Entry::Controllers { is_old, is_reserved: true, .. }) => *is_old = false,
                // It could be called before, but its definition has changed.
                Some(Entry::Controllers { is_reserved, is_old, .. }) => {
                    (*is_reserved, *is_old) = (true, false)
                }
                _ => {}
            }
        } else if self.find(name).is_some()
            && let Some(texts) = self.texts.add(name, |_| Some(0), "")
        {
            let (hints, counts) = (Hints::default(), CallCounts::NONE);
            let entry =
                Entry::Controllers { texts, counts, hints, rank: 0, is_old: false, is_reserved: true };
            // If there is no room, the hub's own tool keeps the name.
            let _ = self.tools.push(entry);
        }
    }

    /// Closes the gaps between the texts unless `length` bytes fit behind them.
    fn compact_for(&mut self, length: usize) {
        if self.texts.room() >= length {
            return;
        }
        let mut wanted: heapless::Vec<&mut Span, { limits::TOOLS }> = self
            .tools
            .iter_mut()
            .filter_map(|entry| match entry {
                Entry::Controllers { texts, .. } => Some(texts),
                Entry::Own(..) => None,
            })
            .collect();
        self.texts.compact(&mut wanted);
    }
}

impl Entry {
    /// Whether the entry may be dropped for a tool of this rank.
    const fn is_below(&self, than: Rank) -> bool {
        matches!(self, Self::Controllers { rank, is_old: false, is_reserved: false, .. } if *rank < than)
    }
}

/// Whether the name consists of characters that model providers allow, or dots, which models see as `_`.
fn can_be_called(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte))
}

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
