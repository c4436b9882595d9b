//! Finds names as people say them: in any case, without articles, by their beginning, and with suggestions for what is
//! misspelt.

use std::collections::BTreeSet;

use hub_contract::FILLERS;

/// How many candidates a question names.
const CANDIDATES: usize = 6;

/// Shorter beginnings of a name are taken for a slip.
const PREFIX: usize = 3;

/// How something can be called.
#[derive(Debug)]
pub(super) struct Spelling {
    /// Its own name.
    pub(super) name: String,
    /// What else fits it, and counts only if no name does.
    pub(super) others: Vec<String>,
}

impl Spelling {
    /// Of something that only has a name.
    pub(super) fn plain(name: &str) -> Self {
        Self { name: name.into(), others: Vec::new() }
    }

    /// Whether that is its own name, and not only the beginning of it or what else fits.
    pub(super) fn is_called(&self, wanted: &str) -> bool {
        plain(&self.name) == plain(wanted)
    }

    /// Whether a text fits it as a whole: its name or what else fits it, in any case and in any order of words.
    pub(super) fn fits(&self, wanted: &str) -> bool {
        let said = plain(wanted);
        let is_same = |name: &String| {
            let name = plain(name);
            name == said || (!said.is_empty() && words(&name) == words(&said))
        };
        self.name == wanted.trim() || is_same(&self.name) || self.others.iter().any(is_same)
    }
}

/// Why nothing was found.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Lost {
    /// It could be any of these.
    Several(Vec<usize>),
    /// It is none; these names are similar.
    None(Vec<String>),
}

/// The index of the one that is `wanted`: exactly, or without case and articles, or by a beginning that no other has.
pub(super) fn find(wanted: &str, all: &[Spelling]) -> Result<usize, Lost> {
    let (exact, said) = (wanted.trim(), plain(wanted));
    let is_long = said.chars().count() >= PREFIX;
    let named = |spelling: &Spelling| plain(&spelling.name);
    let words = words(&said);
    let stages: [&dyn Fn(&Spelling) -> bool; 6] = [
        &|spelling| spelling.name == exact,
        &|spelling| named(spelling) == said,
        &|spelling| spelling.others.iter().any(|other| plain(other) == said),
        // "The light in the hall" is the Hall Light.
        &|spelling| {
            let is_same = |name: &String| self::words(&plain(name)) == words;
            !words.is_empty() && (is_same(&spelling.name) || spelling.others.iter().any(is_same))
        },
        &|spelling| is_long && named(spelling).starts_with(&said),
        &|spelling| is_long && spelling.others.iter().any(|other| plain(other).starts_with(&said)),
    ];
    for fits in stages {
        let fitting = all.iter().enumerate().filter(|(_, spelling)| fits(spelling));
        let fitting: Vec<usize> = fitting.map(|(index, _)| index).collect();
        match fitting[..] {
            [] => {}
            [index] => return Ok(index),
            _ => return Err(Lost::Several(fitting)),
        }
    }
    let near = near(wanted, all.iter().map(|spelling| spelling.name.as_str()));
    Err(Lost::None(near.into_iter().map(Into::into).collect()))
}

impl Lost {
    /// A question, or that there is no such thing. `full` tells the candidates apart, `what` is the noun, and the tool
    /// `lister` lists all.
    pub(super) fn words(
        self,
        wanted: &str,
        full: impl Fn(usize) -> String,
        what: &str,
        lister: &str,
    ) -> String {
        let name: String = wanted.trim().chars().take(64).collect();
        match self {
            Self::Several(candidates) => {
                let more = if candidates.len() > CANDIDATES { ", or another" } else { "" };
                let named: Vec<_> = candidates.into_iter().take(CANDIDATES).map(full).collect();
                format!("'{name}' could be {}{more}; which one?", named.join(", "))
            }
            Self::None(near) if near.is_empty() => {
                format!("{what} '{name}' not found; {lister} lists what there is")
            }
            Self::None(near) => format!("{what} '{name}' not found; did you mean {}?", near.join(", ")),
        }
    }
}

/// The words of a plain name, in no order.
fn words(plain: &str) -> BTreeSet<&str> {
    plain.split_whitespace().collect()
}

/// A name without case, punctuation and the words that people add or leave out.
fn plain(name: &str) -> String {
    let lower = name.to_lowercase();
    let words = lower.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty());
    let bare: Vec<&str> = words.clone().filter(|word| !FILLERS.contains(word)).collect();
    if !bare.is_empty() {
        return bare.join(" ");
    }
    // "The A" is a name, too, and so is "🚗".
    let words: Vec<&str> = words.collect();
    if words.is_empty() { lower.trim().into() } else { words.join(" ") }
}

/// At most three of `names` that are similar to `wanted`, the best first.
fn near<'a>(wanted: &str, names: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    // Longer texts are not names.
    let wanted: Vec<char> = wanted.trim().to_lowercase().chars().take(64).collect();
    let text: String = wanted.iter().collect();
    let mut ranked: Vec<(usize, &str)> = names
        .into_iter()
        .filter_map(|name| {
            let lower = name.to_lowercase();
            let shares_a_word = text
                .split_whitespace()
                .any(|word| word.chars().count() > 2 && lower.split_whitespace().any(|other| other == word));
            let distance = distance(&wanted, &lower.chars().collect::<Vec<_>>());
            let is_near = distance <= 2 + wanted.len() / 4;
            (shares_a_word || is_near).then_some((distance, name))
        })
        .collect();
    ranked.sort();
    ranked.dedup();
    ranked.into_iter().take(3).map(|(_, name)| name).collect()
}

/// The Levenshtein distance. A dozen lines are less than a dependency on `strsim`.
fn distance(one: &[char], other: &[char]) -> usize {
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (i, a) in one.iter().enumerate() {
        let mut diagonal = i;
        let mut left = i + 1;
        row[0] = left;
        for (cell, b) in row[1..].iter_mut().zip(other) {
            let best = (diagonal + usize::from(a != b)).min(left + 1).min(*cell + 1);
            diagonal = std::mem::replace(cell, best);
            left = best;
        }
    }
    row.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::{Spelling, distance, find, near};

    const NAMES: [&str; 4] = ["Switch One", "Kitchen Light", "Porch Light", "Front Door"];

    fn device(name: &str, room: &str) -> Spelling {
        Spelling { name: name.into(), others: vec![format!("{room} {name}"), format!("{name} {room}")] }
    }

    #[test]
    fn a_name_is_found_as_people_say_it() {
        let all = [
            device("Lamp", "Kitchen"),
            device("Lamp", "Hall"),
            device("Front Door", "Hall"),
            device("Front Door Contact", "Hall"),
            device("Thermostat", "Living Room"),
        ];
        for (said, index) in [
            ("Front Door", 2),
            (" the FRONT door ", 2),
            ("kitchen lamp", 0),
            ("the lamp in the hall", 1),
            ("Lamp (Hall)", 1),
            ("front door con", 3),
            ("therm", 4),
            ("living room", 4),
            ("the contact of the front door", 3),
        ] {
            assert_eq!(find(said, &all), Ok(index), "{said}");
        }
        for (said, words) in [
            ("lamp", "'lamp' could be Lamp Kitchen, Lamp Hall; which one?"),
            ("front", "'front' could be Front Door Hall, Front Door Contact Hall; which one?"),
            ("t", "Device 't' not found; list_devices lists what there is"),
            ("", "Device '' not found; list_devices lists what there is"),
            ("submarine", "Device 'submarine' not found; list_devices lists what there is"),
        ] {
            let lost = find(said, &all).expect_err(said);
            let full = |index: usize| all[index].others[1].clone();
            assert_eq!(lost.words(said, full, "Device", "list_devices"), words);
        }
    }

    #[test]
    fn a_name_of_its_own_comes_before_that_of_a_room() {
        let all = [device("Lamp", "Kitchen"), device("Kitchen Lamp", "Hall")];
        assert_eq!(find("kitchen lamp", &all), Ok(1));
        assert_eq!(find("lamp in the kitchen", &all), Ok(0));
    }

    #[test]
    fn near_names_are_suggested() {
        assert_eq!(near("swich one", NAMES), ["Switch One"]);
        assert_eq!(near("bedroom light", NAMES), ["Porch Light", "Kitchen Light"]);
        assert_eq!(near("submarine", NAMES), [""; 0]);
        assert_eq!(near(&"x".repeat(100_000), NAMES), [""; 0]);
    }

    #[test]
    fn distances_count_letters() {
        let distance =
            |a: &str, b: &str| distance(&a.chars().collect::<Vec<_>>(), &b.chars().collect::<Vec<_>>());
        assert_eq!((distance("", "abc"), distance("kitten", "sitting"), distance("ä", "a")), (3, 3, 1));
    }
}
