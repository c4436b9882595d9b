//! The commands of the console, as a table, and what a line means.

use crate::settings::{self, SETTINGS};

/// One command.
pub struct CommandRow {
    /// How it is written. For a hyphen or a space in it, any of both and an underscore will do.
    pub name: &'static str,
    /// What follows it.
    pub arguments: &'static str,
    /// What it does.
    pub purpose: &'static str,
    command: Command,
}

/// What can be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// Lists the commands.
    Help,
    /// Shows settings.
    Show,
    /// Changes a setting.
    Set,
    /// Resets a setting.
    Unset,
    /// Lists networks.
    Scan,
    /// Tells how the hub is.
    Status,
    /// Shows what people should know.
    Log,
    /// Tests the parts of the hub.
    Selftest,
    /// Restarts the hub.
    Restart,
    /// Forgets everything.
    FactoryReset,
}

const fn row(
    command: Command,
    name: &'static str,
    arguments: &'static str,
    purpose: &'static str,
) -> CommandRow {
    CommandRow { name, arguments, purpose, command }
}

/// All commands, in the order in which `help` lists them.
pub static COMMANDS: &[CommandRow] = &[
    row(Command::Help, "help", "", "this list"),
    row(Command::Show, "show", "[KEY]", "the settings, or one of them with what it is for"),
    row(Command::Set, "set", "KEY VALUE", "changes a setting; \"\" is an empty text"),
    row(Command::Unset, "unset", "KEY", "brings back the default of a setting"),
    row(Command::Scan, "wifi scan", "", "the Wi-Fi networks in reach"),
    row(Command::Status, "status", "", "Wi-Fi, broker, controller, time"),
    row(Command::Log, "log", "", "what the hub reported lately"),
    row(Command::Selftest, "selftest", "", "tries each part, and says what to do"),
    row(Command::Restart, "restart", "", "starts the hub again"),
    row(Command::FactoryReset, "factory-reset", "confirm", "forgets settings, flags and documents"),
];

/// Other words that people try.
static ALIASES: &[(&str, Command)] =
    &[("?", Command::Help), ("scan", Command::Scan), ("get", Command::Show), ("reboot", Command::Restart)];

/// What a line means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meaning<'a> {
    /// Nothing.
    Blank,
    /// This command, with what follows it.
    Command(Command, &'a str),
    /// No command that is known, but perhaps the second.
    Unknown(&'a str, Option<&'static str>),
}

/// Reads a line. A key alone shows a setting, and one with a value sets it.
pub fn parse(line: &str) -> Meaning<'_> {
    let line = line.trim();
    if line.is_empty() {
        return Meaning::Blank;
    }
    let rows = || COMMANDS.iter().map(|row| (row.name, row.command));
    let all = rows().chain(ALIASES.iter().copied());
    if let Some((command, rest)) =
        all.into_iter().find_map(|(name, command)| Some((command, strip(line, name)?)))
    {
        return Meaning::Command(command, rest);
    }
    let (key, value) = assignment(line);
    if settings::find(key).is_some() || known_key(key).is_some() {
        return Meaning::Command(if value.is_some() { Command::Set } else { Command::Show }, line);
    }
    // People forget the second word, and mistype the first.
    let word = key;
    let commands = COMMANDS.iter().map(|row| row.name);
    Meaning::Unknown(word, nearest(line, commands.clone()).or_else(|| nearest(word, commands)))
}

/// What follows the command of this name, if the line begins with it.
fn strip<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    let is_gap = |byte: &u8| matches!(byte, b' ' | b'-' | b'_');
    let mut rest = line.as_bytes();
    for byte in name.bytes() {
        let (first, after) = rest.split_first()?;
        rest = after;
        if is_gap(&byte) {
            if !is_gap(first) {
                return None;
            }
            while let [next, after @ ..] = rest
                && is_gap(next)
            {
                rest = after;
            }
        } else if !first.eq_ignore_ascii_case(&byte) {
            return None;
        }
    }
    let rest = line.get(line.len() - rest.len()..)?;
    (rest.is_empty() || rest.starts_with(' ')).then(|| rest.trim_start())
}

/// A key and a value, with a space or `=` between them. Quotes around the value are not part of it.
pub fn assignment(text: &str) -> (&str, Option<&str>) {
    let end = text.bytes().position(|byte| byte == b' ' || byte == b'=').unwrap_or(text.len());
    let (key, rest) = text.split_at(end);
    let rest = rest.trim_start();
    let value = rest.strip_prefix('=').map_or(rest, str::trim_start).trim_end();
    (unquote(key), (!rest.is_empty()).then(|| unquote(value)))
}

fn unquote(text: &str) -> &str {
    match text.as_bytes() {
        [first @ (b'"' | b'\'' | b'`'), .., last] if first == last => {
            text.get(1..text.len() - 1).unwrap_or(text)
        }
        _ => text,
    }
}

/// The key as it is written in the list of settings, whatever the case of its letters.
pub fn known_key(typed: &str) -> Option<&'static str> {
    SETTINGS.iter().map(|row| row.key).find(|key| key.eq_ignore_ascii_case(typed))
}

/// The key that somebody meant, perhaps.
pub fn nearest_key(typed: &str) -> Option<&'static str> {
    nearest(typed, SETTINGS.iter().map(|row| row.key))
}

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
