//! Texts are cut to size, and say so.

use proptest::prelude::*;
use std::string::String;

use super::{MARK, Measure, abbreviate, push_list};

proptest! {
    #[test]
    fn a_text_is_whole_or_its_beginning_and_a_mark(text in "(\\PC|[\n\r\t\u{1}\u{1f}\"\\\\]){0,60}", room in 0..100usize) {
        for measure in [Measure::Plain, Measure::Escaped] {
            let takes = |text: &str| match measure {
                Measure::Plain => text.len(),
                Measure::Escaped => {
                    // As the hub's own writer escapes it.
                    let mut buffer = [0; 2048];
                    let mut writer = crate::Writer::new(&mut buffer);
                    writer.value(text);
                    writer.finish().unwrap() - 2
                }
            };
            prop_assert_eq!(measure.length(&text), takes(&text));
            let mut cut = String::new();
            measure.write(&text, room, &mut cut).unwrap();
            prop_assert!(takes(&cut) <= room);
            if takes(&text) <= room {
                prop_assert_eq!(&cut, &text);
            } else if room < MARK.len() {
                prop_assert_eq!(&cut, "");
            } else {
                let kept = cut.strip_suffix(MARK).unwrap();
                prop_assert!(text.starts_with(kept));
                let next = text[kept.len()..].chars().next().unwrap();
                prop_assert!(takes(kept) + takes(next.encode_utf8(&mut [0; 4])) > room - MARK.len());
            }
        }
    }
}

#[test]
fn a_list_that_does_not_fit_ends_in_a_mark_after_its_last_whole_name() {
    let pushed = |list: &str| {
        let mut out = heapless::String::<16>::try_from("a, b: ").unwrap();
        push_list(&list, &mut out);
        out
    };
    for (list, expected) in [
        ("", "a, b: "),
        ("one, two, 3", "a, b: one, …"),
        ("one, two", "a, b: one, two"),
        ("12, 34, 56", "a, b: 12, 34, 56"),
        ("12, 34, 567", "a, b: 12, …"),
        ("one, ßßßß", "a, b: one, …"),
        // A single name is cut.
        ("very long name", "a, b: very lo…"),
    ] {
        assert_eq!(pushed(list), expected, "{list}");
    }
}

#[test]
fn long_texts_that_begin_alike_stay_apart() {
    let long = |end: &str| "ü".repeat(30) + end;
    let [one, other] = ["one", "other"].map(|end| abbreviate::<48>(&long(end)));
    assert_ne!(one, other);
    assert_eq!(one, abbreviate::<48>(&long("one")), "the same every time");
    let name = abbreviate::<48>(&"a".repeat(60));
    assert_eq!(name, *std::format!("{}~92b9e111", "a".repeat(39)), "clients know these names");
    assert!(one.starts_with(&"ü".repeat(19)) && one.len() <= 48, "{one}");
    assert_eq!(abbreviate::<48>(&"x".repeat(48)), "x".repeat(48).as_str());
}
