//! Cut texts are valid JSON, contain only parts of the original, and carry a mark at the cut.

use std::format;
use std::string::{String, ToString};

use proptest::prelude::*;
use serde_json::{Value as Oracle, json};

use super::super::{Cut, Ending};
use super::condensed::any_value;
use crate::text::MARK;

/// Counts the marks in `kept`. Returns `None` unless `kept` equals `whole` up to the marks.
fn marks(kept: &Oracle, whole: &Oracle) -> Option<usize> {
    match (kept, whole) {
        (Oracle::String(kept), Oracle::String(whole)) => match kept.strip_suffix(MARK) {
            Some(beginning) if kept != whole => whole.starts_with(beginning).then_some(1),
            _ => (kept == whole).then_some(0),
        },
        (Oracle::Array(kept), Oracle::Array(whole)) => {
            let (last, rest) = match kept.split_last() {
                Some((last, rest)) if *last == json!(MARK) && whole.get(rest.len()) != Some(last) => {
                    (1, rest)
                }
                _ => (0, &kept[..]),
            };
            let inner =
                rest.iter().zip(whole).map(|(kept, whole)| marks(kept, whole)).sum::<Option<usize>>()?;
            (inner + last > 0 || rest.len() == whole.len()).then_some(inner + last)
        }
        (Oracle::Object(kept), Oracle::Object(whole)) => {
            let has_mark = kept.get("...") == Some(&json!(MARK)) && !whole.contains_key("...");
            let members = kept.iter().filter(|(name, _)| !has_mark || *name != "...");
            let inner = members.map(|(name, kept)| marks(kept, whole.get(name)?)).sum::<Option<usize>>()?;
            let count = inner + usize::from(has_mark);
            (count > 0 || kept.len() == whole.len()).then_some(count)
        }
        (kept, whole) => (kept == whole).then_some(0),
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        cases: ProptestConfig::default().cases / 4,
        ..ProptestConfig::default()
    })]

    #[test]
    fn cut_result_is_json_that_fits(result in any_value(), room in 0..4000usize, is_pretty in any::<bool>()) {
        let whole = json!({ "success": true, "result": result, "tool_name": "echo", "execution_time_ms": 7 });
        let text = if is_pretty { serde_json::to_string_pretty(&whole) } else { serde_json::to_string(&whole) }.unwrap();
        match Cut::new(&text, room).map(|cut| cut.to_string()) {
            None => {
                let rest = text.len() - if is_pretty { 0 } else { result.to_string().len() };
                let is_scalar = !result.is_string() && !result.is_array() && !result.is_object();
                prop_assert!(text.len() <= room || is_scalar || is_pretty || room < rest + 48, "{text}");
            }
            Some(left) => {
                prop_assert!(left.len() <= room && room < text.len());
                // serde_json has a nesting limit of its own.
                let Ok(kept) = serde_json::from_str::<Oracle>(&left) else {
                    prop_assert!(serde_json::from_str::<Oracle>(&text).is_err(), "{left}");
                    return Ok(());
                };
                prop_assert_eq!(marks(&kept, &whole), Some(1), "{}", left);
                prop_assert_eq!(&kept["success"], &json!(true));
            }
        }
    }

    #[test]
    fn cut_text_may_lack_its_end(value in any_value(), missing in 0..300usize, room in 0..3000usize) {
        let text = value.to_string();
        let end = text.floor_char_boundary(text.len().saturating_sub(missing));
        let Some((kept, ending)) = Ending::of(&text[..end], room) else { return Ok(()) };
        let left = format!("{}{ending}", &text[..kept]);
        prop_assert!(left.len() <= room);
        if let Ok(kept) = serde_json::from_str::<Oracle>(&left) {
            prop_assert_eq!(marks(&kept, &value), Some(1), "{}", left);
        } else {
            prop_assert!(serde_json::from_str::<Oracle>(&text).is_err(), "{left}");
        }
    }

    #[test]
    fn any_bytes_are_cut_to_size(text in "[{}\\[\\]\":,\\\\ud8a1 é😀]{0,60}", room in 0..80usize) {
        if let Some(cut) = Cut::new(&text, room) {
            prop_assert!(cut.to_string().len() <= room);
        }
    }
}

#[test]
fn the_longest_member_gives_way() {
    let text = r#"{"success":true,"result":{"lamps":["Kitchen Light","Hall Light","Porch Light"],"more":1},"tool_name":"list"}"#;
    let cut = |room| Cut::new(text, room).map(|cut| cut.to_string());
    assert_eq!(cut(text.len()), None);
    assert_eq!(
        cut(text.len() - 1).as_deref(),
        Some(
            r#"{"success":true,"result":{"lamps":["Kitchen Light","H... [cut: the rest did not fit]"]},"tool_name":"list"}"#
        )
    );
    assert_eq!(
        cut(87).as_deref(),
        Some(r#"{"success":true,"result":{"...":"... [cut: the rest did not fit]"},"tool_name":"list"}"#)
    );
    assert_eq!(cut(60), None);
    // Neither an escape nor a surrogate pair is split.
    for room in 33..60 {
        let text: String = format!("\"{}\"", r"\ud83d\ude00\n".repeat(9));
        let cut = Cut::new(&text, room).unwrap().to_string();
        let kept: String = serde_json::from_str(&cut).unwrap();
        assert!(kept.ends_with(MARK), "{kept}");
    }
}
