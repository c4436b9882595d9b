//! Texts of any length: what fits comes through whole, what does not is cut so that the rest is still JSON.

use std::format;
use std::string::{String, ToString};
use std::vec::Vec;

use proptest::prelude::*;
use serde_json::{Value as Oracle, json};

use super::super::condense::RESERVE;
use super::super::{Condenser, Value};
use crate::limits::{LINE, LINE_DEPTH, LINE_DESCRIPTION};
use crate::text::MARK;

/// What is kept of a text or an item, and whether something is missing.
type Kept = (Vec<u8>, bool);

/// What is kept of a text, whether something is missing, and the items of its list.
fn condense(text: &[u8]) -> (Vec<u8>, bool, Vec<Kept>) {
    let mut condenser = Condenser::new();
    let mut items = Vec::new();
    for byte in text {
        if condenser.push(*byte) {
            items.push((condenser.item().to_vec(), condenser.is_cut()));
        }
    }
    assert_eq!(condenser.total(), text.len());
    (condenser.text().to_vec(), condenser.is_cut(), items)
}

fn read(text: &[u8]) -> Oracle {
    assert!(Value::parse(text).is_ok(), "{:?}", Value::parse(text));
    serde_json::from_slice(text).expect("JSON")
}

/// Whether `kept` is what is left of `whole`: nothing is invented, and what is shorter has a mark.
fn is_left_of(kept: &Oracle, whole: &Oracle) -> bool {
    match (kept, whole) {
        (Oracle::String(kept), Oracle::String(whole)) => {
            kept == whole || kept.strip_suffix(MARK).is_some_and(|kept| whole.starts_with(kept))
        }
        (Oracle::String(mark), Oracle::Array(_) | Oracle::Object(_)) => mark == "[cut: nested too deep]",
        (Oracle::Array(kept), Oracle::Array(whole)) => {
            let mut rest = whole.iter();
            kept.iter().all(|kept| rest.any(|whole| is_left_of(kept, whole)))
        }
        (Oracle::Object(kept), Oracle::Object(whole)) => {
            kept.iter().all(|(name, kept)| whole.get(name).is_some_and(|whole| is_left_of(kept, whole)))
        }
        (kept, whole) => kept == whole,
    }
}

/// A tool with its whole description, if `kept` has the beginning of it.
fn with_description_of(whole: &Oracle, kept: &Oracle) -> Oracle {
    let mut kept = kept.clone();
    if let (Some(short), Some(long)) = (kept["description"].as_str(), whole["description"].as_str())
        && short.len() <= LINE_DESCRIPTION
        && short.strip_suffix("…").is_some_and(|short| long.starts_with(short))
    {
        kept["description"] = Oracle::from(long);
    }
    kept
}

/// Values of all sizes: long texts, with escapes and wide characters, long lists, deep nests.
pub(super) fn any_value() -> impl Strategy<Value = Oracle> {
    let text = prop_oneof![
        4 => "[a-z\"\\\\{}\\[\\]:,é😀\n]{0,12}".prop_map(String::from),
        1 => ("[a-z\"\\\\é😀\n]{1,3}", 0usize..LINE).prop_map(|(text, times)| text.repeat(times / text.len())),
    ];
    let leaf = prop_oneof![
        Just(Oracle::Null),
        any::<bool>().prop_map(Oracle::from),
        any::<i32>().prop_map(Oracle::from),
        text.prop_map(Oracle::from),
    ];
    leaf.prop_recursive(5, 60, 8, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..8).prop_map(Oracle::from),
            (inner.clone(), 0usize..3000).prop_map(|(item, times)| {
                let times = times.min(20_000 / (1 + item.to_string().len()));
                Oracle::from(std::vec![item; times])
            }),
            (inner.clone(), 1usize..LINE_DEPTH + 8).prop_map(|(inner, times)| {
                (0..times).fold(
                    inner,
                    |value, level| if level % 2 == 0 { json!([value]) } else { json!({ "n": value }) },
                )
            }),
            proptest::collection::btree_map("[a-z\"]{0,6}|tools|description", inner, 0..8)
                .prop_map(|members| Oracle::Object(members.into_iter().collect())),
        ]
    })
}

/// A message with its members in any order, packed or spaced.
fn message(result: &Oracle, order: usize, is_spaced: bool) -> String {
    let result = if is_spaced { serde_json::to_string_pretty(result) } else { serde_json::to_string(result) };
    let result = result.expect("JSON").replace("\n", " ");
    let members =
        ["\"jsonrpc\":\"2.0\"".to_string(), "\"id\": 7".to_string(), format!("\"result\":{result}")];
    let [first, second, third] = [0, 1, 2].map(|place| members[(place + order) % 3].as_str());
    format!("{{{first},{second} , {third}}}\r")
}

proptest! {
    // The texts are long.
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        cases: ProptestConfig::default().cases / 8,
        ..ProptestConfig::default()
    })]

    #[test]
    fn what_fits_is_whole_and_what_does_not_is_still_json(
        result in any_value(),
        order in 0usize..3,
        is_spaced in any::<bool>(),
        is_batch in any::<bool>(),
    ) {
        // The list has a test of its own.
        prop_assume!(result.get("tools").is_none_or(|tools| !tools.is_array()));
        let mut text = message(&result, order, is_spaced);
        if is_batch {
            text = format!("[{text},{text}]");
        }
        // The oracle has a limit of its own.
        let Ok(whole) = serde_json::from_str::<Oracle>(&text) else { return Ok(()) };
        let (kept, is_cut, items) = condense(text.as_bytes());
        prop_assert!(items.is_empty());
        let kept = read(&kept);
        prop_assert_eq!(is_cut, kept != whole);
        prop_assert!(is_left_of(&kept, &whole), "{}", kept);
        let first = if is_batch { &kept[0] } else { &kept };
        prop_assert_eq!((&first["id"], &first["jsonrpc"]), (&json!(7), &json!("2.0")));
    }

    #[test]
    fn a_list_of_any_length_comes_out_item_by_item(
        tools in proptest::collection::vec(any_value(), 0..12),
        repeat in 1usize..20,
        order in 0usize..3,
        is_spaced in any::<bool>(),
    ) {
        let tools: Vec<_> = tools.iter().cycle().take(tools.len() * repeat).cloned().collect();
        let text = message(&json!({ "tools": tools, "nextCursor": "n" }), order, is_spaced);
        let (kept, is_cut, items) = condense(text.as_bytes());
        let kept = read(&kept);
        prop_assert_eq!((&kept["id"], &kept["result"]["nextCursor"]), (&json!(7), &json!("n")));
        // What is neither an object nor an array stays where it was.
        let (containers, scalars): (Vec<_>, Vec<_>) = tools.into_iter().partition(|tool| tool.is_object() || tool.is_array());
        if is_cut {
            prop_assert!(is_left_of(&kept["result"]["tools"], &json!(scalars)));
        } else {
            prop_assert_eq!(items.len(), containers.len());
            prop_assert_eq!(&kept["result"]["tools"], &json!(scalars));
        }
        let mut wholes = containers.iter();
        for (item, is_cut) in &items {
            let item = read(item);
            let of = |whole: &&Oracle| is_left_of(&with_description_of(whole, &item), whole);
            let whole = wholes.find(of).expect("an item of the list");
            prop_assert_eq!(*is_cut, with_description_of(whole, &item) != *whole);
        }
    }

    #[test]
    fn a_long_description_takes_no_room_from_the_rest_of_its_tool(
        (words, length) in ("[a-z\"\\\\é😀\n]{1,5}", 0usize..2 * LINE),
        (other, other_length) in ("[a-z\"\\\\é😀\n]{1,5}", 0usize..LINE),
        order in 0usize..3,
        space in prop::sample::select(&["", " ", "  "][..]),
        is_ascii in any::<bool>(),
    ) {
        let written = |text: &str| {
            let text = json!(text).to_string();
            if is_ascii { text.replace('😀', "\\ud83d\\ude00").replace('é', "\\u00e9") } else { text }
        };
        let words = written(&words.repeat(length / words.len()));
        let other = json!(other.repeat(other_length / other.len())).to_string();
        let members = [
            "\"name\":\"n\"".to_string(),
            format!("\"description\"{space}:{space}{words}"),
            format!("\"inputSchema\":{{\"description\":{other},\"list\":[1,{{}}]}}"),
        ];
        let [first, second, third] = [0, 1, 2].map(|place| members[(place + order) % 3].as_str());
        let tool = format!("{{{first},{second}{space},{third}}}");
        let before = "{\"result\":{\"tools\":[";
        // White space and closing brackets.
        const SPARED: usize = 10;
        let (kept, is_cut, items) = condense(format!("{before}{tool}]}},\"id\":7}}").as_bytes());
        prop_assert_eq!((read(&kept), is_cut), (json!({ "result": { "tools": [] }, "id": 7 }), false));
        let [(item, is_cut)] = &items[..] else { panic!("{} items", items.len()) };
        let short = before.len() + tool.len() - words.len() + words.len().min(LINE_DESCRIPTION + 2);
        if is_ascii && short > LINE - RESERVE {
            // A cut may separate the halves of a character, which the oracle refuses.
            prop_assert!(Value::parse(item).is_ok());
            return Ok(());
        }
        let (item, whole) = (read(item), read(tool.as_bytes()));
        if before.len() + tool.len() <= LINE - RESERVE {
            prop_assert_eq!((&item, *is_cut), (&whole, false));
        } else if before.len() + tool.len() > LINE - RESERVE + SPARED && short <= LINE - RESERVE {
            prop_assert_ne!(&item, &whole);
            prop_assert_eq!((&with_description_of(&whole, &item), *is_cut), (&whole, false));
            // It is no shorter than necessary: a character less, however it is written.
            let kept = item["description"].as_str().and_then(|kept| kept.strip_suffix('…')).expect("a mark");
            let kept = written(kept).len() - 2 + "…".len();
            prop_assert!((LINE_DESCRIPTION - 12..=LINE_DESCRIPTION).contains(&kept), "{}", kept);
        } else {
            prop_assert!(is_left_of(&with_description_of(&whole, &item), &whole), "{}", item);
        }
        prop_assert_eq!(&item["name"], "n");
    }

    #[test]
    fn bytes_that_are_not_json_do_no_harm(bytes in proptest::collection::vec(
        prop::sample::select(&b"{}[]\",:\\ \t\rabt\xff\xc3\x00019-.eu"[..]), 0..2000), times in 1usize..12) {
        let text = bytes.repeat(times);
        let (kept, _, items) = condense(&text);
        prop_assert!(kept.len() <= LINE && items.iter().all(|(item, _)| item.len() <= LINE));
        if text.len() < LINE / 2 && serde_json::from_slice::<Oracle>(&text).is_err() {
            prop_assert!(Value::parse(&kept).is_err() || !items.is_empty() || text.len() > 48, "{:?}", String::from_utf8_lossy(&text));
        }
    }
}

#[test]
fn of_a_message_that_is_far_too_long_the_short_members_are_kept_wherever_they_stand() {
    let long = "x".repeat(100_000);
    for text in [
        format!(
            r#"{{"result":{{"content":[{{"type":"text","text":"{long}"}}],"isError":true}},"jsonrpc":"2.0","id":7}}"#
        ),
        format!(
            r#"{{"id":7,"jsonrpc":"2.0","result":{{"isError":true,"content":[{{"text":"{long}","type":"text"}}]}}}}"#
        ),
    ] {
        let (kept, is_cut, _) = condense(text.as_bytes());
        let kept = read(&kept);
        assert!(is_cut);
        assert_eq!((&kept["id"], &kept["result"]["isError"]), (&json!(7), &json!(true)));
        let text = kept["result"]["content"][0]["text"].as_str().unwrap();
        assert!(text.len() > LINE / 2 && text.ends_with(MARK), "{}", text.len());
    }
}

#[test]
fn many_short_members_do_not_take_the_room_of_the_id() {
    for count in [10, 100, 5000] {
        let short: String = (0..count).map(|number| format!(r#","m{number}":{number}"#)).collect();
        let text = format!(r#"{{"result":{{"text":"{}"{short}}},"jsonrpc":"2.0","id":7}}"#, "x".repeat(LINE));
        let (kept, _, _) = condense(text.as_bytes());
        assert_eq!(read(&kept)["id"], 7);
    }
}

#[test]
fn the_name_of_a_tool_that_is_too_long_is_kept_wherever_it_stands() {
    let long = "x".repeat(100_000);
    for tool in [
        json!({ "title": long, "name": "late" }),
        json!({ "description": long, "inputSchema": { "title": long }, "name": "late" }),
        json!({ "annotations": { "title": long }, "name": "late", "inputSchema": {} }),
        json!({ "inputSchema": { "properties": { long.clone(): 1 } }, "name": "late" }),
    ] {
        let text = json!({ "result": { "tools": [tool, { "name": "next" }] }, "jsonrpc": "2.0" }).to_string();
        let (_, is_cut, items) = condense(text.as_bytes());
        let names: Vec<_> =
            items.iter().map(|(item, is_cut)| (read(item)["name"].clone(), *is_cut)).collect();
        assert_eq!((names, is_cut), (std::vec![(json!("late"), true), (json!("next"), false)], false));
    }
}
