//! Lists that are longer than a reply: as many items as fit, for any sizes, and what to ask for next.

use std::collections::BTreeMap;

use hub_core::limits;
use world::prelude::*;

use crate::owner::{a_hub, succeeds};

/// The longest result that leaves a reply room for what follows it: a message, an instruction, the tool's name and the
/// caller's transaction.
const RESULT: usize = limits::REPLY
    - r#"{"success":true,"result":"#.len()
    - (2 * limits::OUTCOME_TEXT + limits::TOOL_NAME + limits::TRANSACTION + 128);

/// The length of a value as the hub writes it.
fn length(value: &Value) -> usize {
    value.to_string().len()
}

/// Puts documents of these sizes, and asserts that those come that fit, whatever their sizes.
async fn documents_come(owner: &mut Client, texts: [String; 3]) {
    let mut whole = r#"{"documents":[],"omitted":9999}"#.len();
    let mut expected = vec![];
    for (name, text) in ["a", "b", "c"].into_iter().zip(texts) {
        let document = json!({ "category": "long", "name": name, "text": text });
        assert_eq!(owner.asks("content/put", document.clone()).await["success"], true);
        let more = length(&document) + usize::from(!expected.is_empty());
        if whole + more <= RESULT {
            whole += more;
            expected.push(document);
        }
    }
    let omitted = 3 - expected.len();
    let reply = owner.uses("get_content", json!({ "expression": "long" })).await;
    if expected.is_empty() {
        return assert_refused(&reply, "too_large", "None of the 3 documents");
    }
    let mut expected = json!({ "documents": expected });
    if omitted > 0 {
        expected["omitted"] = json!(omitted);
    }
    assert_eq!((&reply["success"], &reply["result"]), (&json!(true), &expected), "{reply}");
}

#[test]
fn documents_of_any_size_come_or_are_omitted() {
    a_hub().story(async |world| {
        let owner = &mut world.person("owner").await;
        // Two fill a page, to the byte, and one byte more and less.
        for size in 1680..1820 {
            documents_come(owner, [2000, size, 2000].map(|size| "x".repeat(size))).await;
        }
        // What needs escapes takes more room than it has bytes.
        for size in (0..limits::DOCUMENT / 2).step_by(61) {
            documents_come(owner, ["\u{1}".repeat(size / 3), "\"é".repeat(size / 2), "z".repeat(size)]).await;
        }
    });
}

/// Lists all flags, and asserts that every page but the last has no room for the flag that follows.
async fn pages_are_full(owner: &mut Client, tool: &str, expected: &BTreeMap<String, Value>) {
    let mut flags = BTreeMap::new();
    let mut arguments = json!({ "transaction": 1 });
    loop {
        let page = succeeds(owner, tool, arguments).await;
        let shown = page["flags"].as_object().expect("flags").clone();
        assert!(!shown.is_empty() && length(&page) <= RESULT, "{page}");
        flags.extend(shown);
        let next = &page["next"];
        let Some(last) = next.as_str() else { break };
        assert_eq!(flags.keys().next_back().map(String::as_str), Some(last));
        let (name, value) = expected.range(last.to_owned()..).nth(1).expect("another flag");
        let name = json!(name);
        let with_it = length(&page) + ",:".len() + length(&name) + length(value) + length(&name);
        assert!(with_it - length(next) > RESULT, "{name} fits too: {page}");
        arguments = json!({ "after": last });
    }
    assert_eq!(flags, *expected);
}

#[test]
fn every_page_of_flags_is_as_full_as_it_can_be() {
    for (tool, letter) in
        [("feature", "\""), ("feature", "n"), ("feature", "\\é"), ("project", "\""), ("project", "n\"")]
    {
        a_hub().story(async |world| {
            let owner = &mut world.person("owner").await;
            let [set, list] = [format!("set_{tool}_flag"), format!("list_{tool}_flags")];
            let mut expected = BTreeMap::new();
            for number in 0..40 {
                let name = format!("{number:02}{}", letter.repeat((limits::NAME - 2) / letter.len()));
                succeeds(owner, &set, json!({ "name": name, "value": number })).await;
                expected.insert(name, json!(number));
            }
            // One more in front shifts all the others, byte by byte.
            for shift in 0..140 {
                let (name, value) = ("!", json!("v".repeat(shift)));
                succeeds(owner, &set, json!({ "name": name, "value": value })).await;
                expected.insert(name.to_owned(), value);
                pages_are_full(owner, &list, &expected).await;
            }
        });
    }
}

/// spec: calls-19
#[test]
fn a_result_is_whole_up_to_the_announced_size_and_cut_beyond_it() {
    a_hub().story(async |world| {
        let owner = &mut world.person("owner").await;
        let longest = RESULT - r#"{"echo":{"text":""}}"#.len();
        for size in longest - 40..longest + 40 {
            let arguments = json!({ "text": "x".repeat(size) });
            let reply = owner.uses("echo", arguments.clone()).await;
            if size <= longest {
                assert_eq!(
                    (&reply["success"], &reply["result"]["echo"]),
                    (&json!(true), &arguments),
                    "{size}"
                );
            } else {
                let kept = reply["result"]["echo"]["text"].as_str().expect("a text");
                let beginning = kept.strip_suffix("... [cut: the rest did not fit]").expect("a mark");
                assert!(beginning.len() > longest - 60 && "x".repeat(size).starts_with(beginning), "{reply}");
                assert_contains(&reply["instruction"], "Do not repeat the call");
            }
        }
        let announced = hub_core::hub::LIMITS.iter().find(|(name, _)| *name == "tool_result").expect("it").1;
        assert_eq!(announced, RESULT + r#"{"success":true,"result":"#.len());
    });
}
