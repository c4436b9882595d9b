//! Finds names as people say them: in any case, and with suggestions for what is misspelt.

/// The one of `names` that is `wanted`, whatever the case and the space around it.
pub(super) fn find<'a>(wanted: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let wanted = wanted.trim().to_lowercase();
    names.into_iter().find(|name| name.to_lowercase() == wanted)
}

/// At most three of `names` that are similar to `wanted`, the best first.
pub(super) fn near<'a>(wanted: &str, names: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
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
    use super::{distance, find, near};

    const NAMES: [&str; 4] = ["Switch One", "Kitchen Light", "Porch Light", "Front Door"];

    #[test]
    fn the_case_does_not_matter() {
        assert_eq!(find(" kitchen LIGHT ", NAMES), Some("Kitchen Light"));
        assert_eq!(find("kitchen", NAMES), None);
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
