//! Patterns, held against those of the crate `jsonschema`.

use std::format;
use std::string::{String, ToString};

use proptest::prelude::*;
use serde_json::json;

use super::generate::Choices;
use super::json;
use crate::Work;
use crate::pattern::{Match, is_understood, search};
use hub_json::{Text, Value};

fn quoted(text: &str) -> String {
    json!(text).to_string()
}

fn text(quoted: &str) -> Text<'_> {
    json(quoted).as_text().unwrap()
}

fn matches(pattern: &str, value: &str) -> Match {
    search(text(&quoted(pattern)), text(&quoted(value)), &mut Work::new())
}

#[test]
fn what_all_engines_agree_on_is_decided() {
    for (pattern, yes, no) in [
        ("", &["", "x"][..], &[][..]),
        ("b", &["abc"], &["ac", ""]),
        ("^b", &["bc"], &["ab"]),
        ("^(?:a|bc|)$", &["a", "bc", ""], &["b", "abc"]),
        ("^[^a-c-]+$", &["xyz", "é"], &["x-", "xa", ""]),
        (r"^[\w.-]+@\w+\.(?:org|net)$", &["a.b-c@d.org"], &["@d.org", "a@d.com", "a@d.org "]),
        (r"^\d{2,4}$", &["12", "1234"], &["1", "12345", "a2"]),
        (r"^\d{2,}$", &["12", "123456"], &["1"]),
        (r"^(ab){2}$", &["abab"], &["ab", "ababab"]),
        (r"^a{0}b{0,1}c*?d+?$", &["d", "bccdd"], &["ad", "bbd", "c"]),
        (r"\bcat\b", &["a cat!", "cat"], &["concat", "cats"]),
        (r"a\Bb", &["ab"], &["a b"]),
        (r"^[\s\S]$", &["a", " "], &["", "ab"]),
        (r"^.$", &["a", "é"], &["\n", "", "ab"]),
        (r"^\x41\u0042\t\/\.\-$", &["AB\t/.-"], &["AB\t/x-"]),
        (r"^[\]\\^]+$", &["]\\^"], &["a"]),
        (r"^[\w-.]+$", &["a-.b"], &["a/b"]),
        (r"^(a|(b|(c|d)))*$", &["abcd", ""], &["abe"]),
        (r"^((a*)*)*$", &["", "aaaa"], &["ab"]),
        (r"^(^a|b$)+$", &["a", "b", "ab"], &["ba", "bb"]),
        (r"^()*x(|y){2}$", &["x", "xyy"], &["xyyy"]),
        (r"é+$", &["caféé"], &["cafe"]),
    ] {
        for value in yes {
            assert_eq!(matches(pattern, value), Match::Yes, "{value:?} by {pattern}");
        }
        for value in no {
            assert_eq!(matches(pattern, value), Match::No, "{value:?} by {pattern}");
        }
    }
}

#[test]
fn what_engines_disagree_on_is_unclear() {
    for pattern in [
        "(?=a)",
        "(?!a)",
        "(?<=a)",
        "(?<n>a)",
        "(?P<n>a)",
        "(?i)a",
        r"(a)\1",
        r"\p{L}",
        r"\A",
        r"\Z",
        r"\u{41}",
        r"\ud83d\ude00",
        r"\cA",
        r"\0",
        r"\<",
        "[]",
        "[^]",
        "[]a]",
        "[[:alpha:]]",
        "[a&&b]",
        "[a--b]",
        "[b-a]",
        r"[a-\d]",
        r"[\b]",
        "a**",
        "a++",
        "a{2}{3}",
        "*a",
        "a{",
        "a{,2}",
        "a{2,1}",
        "{",
        "(",
        ")",
        "a)",
        "[a",
        "\\",
        "a{1000}",
        "a{99999999999}",
    ] {
        assert!(!is_understood(text(&quoted(pattern))), "{pattern}");
        assert_eq!(matches(pattern, "a"), Match::Unclear, "{pattern}");
    }
    // By the characters of the value: letters, ends of lines, and what UTF-16 writes as two.
    for (pattern, value) in
        [(r"^\w+$", "Küche"), (r"^\S$", "\u{a0}"), (r"\b$", "é"), ("^.$", "\r"), ("^..$", "😀")]
    {
        assert_eq!(matches(pattern, value), Match::Unclear, "{value:?} by {pattern}");
    }
    assert_eq!(matches(r"^\w*x", "éé"), Match::Unclear);
    assert_eq!(matches("^[a-z]+$", "Küche"), Match::No);
}

#[test]
fn no_pattern_takes_long() {
    let long = "a".repeat(3000) + "!";
    for pattern in [
        "(a+)+$",
        "((?:){65535}){65535}b",
        "^(a|a)*$",
        "^(a|aa)+$",
        "(a*)*b",
        "^(([a-z])+.)+[A-Z]([a-z])+$",
        "(.*.*.*)x",
    ] {
        let mut work = Work::new();
        let before = work.0;
        let found = search(text(&quoted(pattern)), text(&quoted(&long)), &mut work);
        assert_eq!(found, Match::No, "{pattern}");
        assert!(work.0 >= before / 2, "{pattern}");
    }
    // States that are reached one after the other, and a text that keeps all of them.
    let nested = "(".repeat(12) + "a*" + &")*".repeat(12) + &"(a|b)?".repeat(30) + "c";
    let mut work = Work::new();
    assert_ne!(search(text(&quoted(&nested)), text(&quoted(&long)), &mut work), Match::Yes);
    assert!(!work.is_spent());
    for huge in ["a".repeat(600), "(".repeat(13) + "a" + &")".repeat(13), "(a|b){100}".to_string()] {
        assert!(!is_understood(text(&quoted(&huge))), "{huge}");
    }
}

fn generate(choices: &mut Choices<'_>, depth: usize) -> String {
    let mut pattern = String::new();
    for _ in 0..choices.below(4) {
        let atom = match choices.below(if depth == 0 { 5 } else { 8 }) {
            0 => choices.one(&["a", "b", "1", "-", "_", " "]).to_string(),
            1 => {
                choices.one(&[r"\d", r"\w", r"\s", r"\D", r"\W", r"\S", ".", r"\.", r"\-", r"\n"]).to_string()
            }
            2 => choices.one(&["[ab]", "[^a]", "[a-b1]", r"[\d_-]", r"[^\s-]", "[-a]", r"[\w ]"]).to_string(),
            3 => choices.one(&["^", "$", r"\b", r"\B"]).to_string(),
            4 => choices.one(&["ab", "é", "b1"]).to_string(),
            5 => format!("({})", generate(choices, depth - 1)),
            6 => format!("(?:{}|{})", generate(choices, depth - 1), generate(choices, depth - 1)),
            _ => format!("({}|{}|a)", generate(choices, depth - 1), generate(choices, depth - 1)),
        };
        let repeat = ["", "", "", "*", "+", "?", "{2}", "{1,3}", "{0,2}", "{2,}", "*?", "{1,2}?"];
        let is_place = ["^", "$", r"\b", r"\B"].contains(&atom.as_str());
        pattern += &atom;
        pattern += if is_place { "" } else { choices.one(&repeat) };
    }
    pattern
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn patterns_match_what_the_oracle_matches(bytes in super::agreement::bytes(), value in "[ab1 _é\n-]{0,6}") {
        let pattern = generate(&mut Choices(bytes.iter()), 3);
        let oracle = jsonschema::draft202012::new(&json!({ "pattern": pattern })).unwrap();
        let valid = oracle.is_valid(&json!(value));
        match matches(&pattern, &value) {
            Match::Yes => prop_assert!(valid, "{:?} by {}", value, pattern),
            Match::No => prop_assert!(!valid, "{:?} by {}", value, pattern),
            Match::Unclear => {
                let is_long = !is_understood(text(&quoted(&pattern)));
                prop_assert!(is_long || !value.is_ascii(), "{:?} by {}", value, pattern);
            }
        }
    }

    /// Any text is a pattern that is either understood or not.
    #[test]
    fn no_pattern_is_too_strange(pattern in r"[\\\[\](){}|*+?^$.,:ab0-9wdsbux-]{0,24}", value in "[ab0]{0,5}") {
        let _ = matches(&pattern, &value);
        let _ = Value::parse(pattern.as_bytes());
    }
}
