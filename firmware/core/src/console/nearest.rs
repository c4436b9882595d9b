//! Finds the word that somebody meant.

/// Longer words are not compared.
const LONGEST: usize = 32;

/// The one of `words` that is most like `typed`: spelled with a few mistakes, or with a part left out at its beginning or
/// end. `None` if none is like it.
pub fn nearest<'w>(typed: &str, words: impl Iterator<Item = &'w str>) -> Option<&'w str> {
    let typed = typed.as_bytes();
    // One mistake in four characters.
    let most = typed.len().div_ceil(4);
    let judged = words.filter_map(|word| Some((cost(typed, word.as_bytes())?, word)));
    let (cost, word) = judged.min_by_key(|(cost, _)| *cost)?;
    (cost <= most).then_some(word)
}

/// How many mistakes away a word is. One that begins or ends with what was typed is one away.
fn cost(typed: &[u8], word: &[u8]) -> Option<usize> {
    let is_part = |part: Option<&[u8]>| part.is_some_and(|part| part.eq_ignore_ascii_case(typed));
    if typed.len() > 2 && (is_part(word.get(..typed.len())) || is_part(word.rchunks(typed.len()).next())) {
        return Some(usize::from(typed.len() != word.len()));
    }
    distance(typed, word)
}

/// The number of characters to add, remove, replace or swap with the next, whatever their case. `None` if a word is too
/// long.
fn distance(one: &[u8], other: &[u8]) -> Option<usize> {
    if one.len() > LONGEST || other.len() > LONGEST {
        return None;
    }
    // Distances of the beginnings of `one`, up to the last three characters, to all beginnings of `other`.
    let mut rows = [[0u8; LONGEST + 1]; 3];
    let [_, _, first] = &mut rows;
    first.iter_mut().zip(0..).for_each(|(cell, index)| *cell = index);
    let mut before = 0;
    for (index, &byte) in (1..).zip(one) {
        rows.rotate_left(1);
        let [older, old, new] = &mut rows;
        let mut left = index;
        let mut last = 0;
        if let Some(cell) = new.first_mut() {
            *cell = index;
        }
        for (at, &with) in other.iter().enumerate() {
            let old_at = |at: usize| old.get(at).copied().unwrap_or(u8::MAX);
            let is_same = byte.eq_ignore_ascii_case(&with);
            let is_swap =
                at > 0 && index > 1 && byte.eq_ignore_ascii_case(&last) && with.eq_ignore_ascii_case(&before);
            let mut best = (old_at(at + 1) + 1).min(left + 1).min(old_at(at) + u8::from(!is_same));
            if is_swap {
                best = best.min(older.get(at - 1).copied().unwrap_or(u8::MAX).saturating_add(1));
            }
            if let Some(cell) = new.get_mut(at + 1) {
                *cell = best;
            }
            (left, last) = (best, with);
        }
        before = byte;
    }
    rows.last().and_then(|row| row.get(other.len())).map(|cell| usize::from(*cell))
}

#[cfg(test)]
mod tests {
    use super::{distance, nearest};
    use proptest::prelude::*;
    use std::string::String;
    use std::vec::Vec;

    const KEYS: [&str; 8] =
        ["wifi.ssid", "wifi.password", "broker.url", "broker.user", "hub.id", "hub.name", "volume", "tools"];

    fn find(typed: &str) -> Option<&'static str> {
        nearest(typed, KEYS.into_iter())
    }

    #[test]
    fn a_typo_finds_the_key() {
        for (typed, meant) in [
            ("wifi.sid", "wifi.ssid"),
            ("wfii.ssid", "wifi.ssid"),
            ("WIFI_SSID", "wifi.ssid"),
            ("ssid", "wifi.ssid"),
            ("wifi.pass", "wifi.password"),
            ("password", "wifi.password"),
            ("broker.usr", "broker.user"),
            ("brokr.ulr", "broker.url"),
            ("volum", "volume"),
            ("hubid", "hub.id"),
        ] {
            assert_eq!(find(typed), Some(meant), "{typed}");
        }
        for typed in ["", "x", "zwave", "a quick brown fox", "ïïïïï"] {
            assert_eq!(find(typed), None, "{typed}");
        }
        assert_eq!(find(&"w".repeat(5000)), None);
    }

    /// By the definition, for short words: the optimal string alignment.
    fn slow(one: &[u8], other: &[u8]) -> usize {
        match (one, other) {
            ([], rest) | (rest, []) => rest.len(),
            ([one @ .., a], [other @ .., b]) => {
                let mut least = slow(one, other) + usize::from(a != b);
                least = least.min(slow(one, &[other, &[*b]].concat()) + 1);
                least = least.min(slow(&[one, &[*a]].concat(), other) + 1);
                if let ([one @ .., c], [other @ .., d]) = (one, other)
                    && (a, c) == (d, b)
                {
                    least = least.min(slow(one, other) + 1);
                }
                least
            }
        }
    }

    proptest! {
        #[test]
        fn distances_are_those_of_the_definition(one in "[abc]{0,5}", other in "[abc]{0,5}") {
            prop_assert_eq!(distance(one.as_bytes(), other.as_bytes()), Some(slow(one.as_bytes(), other.as_bytes())));
        }

        #[test]
        fn one_mistake_in_any_key_is_forgiven(
            key in 0..KEYS.len(), at in 0usize..32, kind in 0..4u8, with in "[a-z.]", upper: bool,
        ) {
            let mut typed: Vec<char> = KEYS[key].chars().collect();
            let at = at % typed.len();
            let with = with.chars().next().expect("one");
            match kind {
                0 => typed.insert(at, with),
                1 => typed[at] = with,
                2 if typed.len() > 4 => drop(typed.remove(at)),
                _ => typed.swap(at, (at + 1).min(KEYS[key].len() - 1)),
            }
            let typed: String = typed.into_iter().collect();
            let typed = if upper { typed.to_uppercase() } else { typed };
            let found = find(&typed).expect("a key");
            // Another key may be as near.
            prop_assert!(distance(found.as_bytes(), typed.as_bytes()) <= Some(1) || found.ends_with(&typed));
        }
    }
}
