//! Documents, and expressions that select them.

use std::ops::ControlFlow;
use std::string::{String, ToString};
use std::vec::Vec;

use embassy_futures::block_on;
use proptest::prelude::*;

use super::mock::Mock;
use super::world::{memory, open};
use crate::store::documents::matches;
use crate::store::{Builtin, Expression, Key, Store};

type Flash = Mock<4096>;

const BUILTINS: [Builtin<'static>; 5] = [
    Builtin { category: "lang", name: "rust", text: "built-in rust" },
    Builtin { category: "docs", name: "api", text: "built-in api" },
    Builtin { category: "lang", name: "python", text: "built-in python" },
    Builtin { category: "docs", name: "faq", text: "built-in faq" },
    Builtin { category: "guidelines", name: "tone", text: "built-in tone" },
];

fn put(store: &mut Store<'_, &mut Flash>, category: &str, name: &str) {
    let text = std::format!("stored {name}");
    block_on(store.set(Key::Document { category, name }, &text)).unwrap();
}

fn get(store: &mut Store<'_, &mut Flash>, expression: &str) -> Vec<String> {
    let mut texts = Vec::new();
    let expression = Expression::parse(expression).unwrap();
    let shown = block_on(store.content(expression, &BUILTINS, &mut |document| {
        assert_eq!(document.stored, document.text.starts_with("stored"));
        assert!(document.text.ends_with(document.name));
        texts.push(document.text.to_string());
        ControlFlow::Continue(())
    }));
    assert_eq!(shown, Ok(texts.len()));
    texts
}

#[test]
fn documents_are_selected_by_category_and_pattern() {
    let (mut flash, mut memory) = (Flash::new(4), memory());
    let mut store = open(&mut flash, &mut memory).0;
    for (category, name) in [("lang", "java"), ("lang", "python"), ("mine", "a/b"), ("docs", "zoo")] {
        put(&mut store, category, name);
    }
    for (expression, expected) in [
        ("lang/rust", &["built-in rust"][..]),
        // What is stored replaces what is built in.
        ("lang/python", &["stored python"]),
        ("lang/python+java+rust", &["stored python", "stored java", "built-in rust"]),
        ("lang/python,docs/api,guidelines", &["stored python", "built-in api", "built-in tone"]),
        ("lang", &["stored java", "stored python", "built-in rust"]),
        // Nothing twice, and where it is named first.
        (
            "lang/r*+*,lang/python,docs",
            &["built-in rust", "stored java", "stored python", "built-in api", "built-in faq", "stored zoo"],
        ),
        ("docs/???", &["built-in api", "built-in faq", "stored zoo"]),
        ("mine/a/*", &["stored a/b"]),
        (" lang / java + rust , mine ", &["stored java", "built-in rust", "stored a/b"]),
        ("nowhere,lang/nothing", &[]),
        ("la", &[]),
    ] {
        assert_eq!(get(&mut store, expression), expected, "{expression}");
    }
    block_on(store.delete(Key::Document { category: "lang", name: "python" })).unwrap();
    assert_eq!(get(&mut store, "lang/python"), ["built-in python"], "built in again");
}

#[test]
fn a_visit_can_end_early_and_all_documents_can_be_listed() {
    let (mut flash, mut memory) = (Flash::new(4), memory());
    let mut store = open(&mut flash, &mut memory).0;
    put(&mut store, "docs", "faq");
    block_on(store.set(Key::Setting("no document"), "")).unwrap();
    let expression = Expression::parse("lang,docs").unwrap();
    assert_eq!(block_on(store.content(expression, &BUILTINS, &mut |_| ControlFlow::Break(()))), Ok(1));
    let mut all = Vec::new();
    let listed = block_on(store.documents(&BUILTINS, |category, name, stored| {
        all.push(std::format!("{category}/{name} {stored}"));
        ControlFlow::Continue(())
    }));
    listed.unwrap();
    let expected =
        ["docs/api false", "docs/faq true", "guidelines/tone false", "lang/python false", "lang/rust false"];
    assert_eq!(all, expected);
}

#[test]
fn what_is_no_expression_is_explained() {
    for (expression, said) in [
        ("", "expression 1 is empty"),
        ("lang,,docs", "expression 2 is empty"),
        ("lang/rust, ", "expression 2 is empty"),
        ("lang/", "expression 1 lacks a pattern: write category/pattern"),
        ("docs,lang/rust++java", "expression 2 lacks a pattern: write category/pattern"),
        ("/rust", "expression 1: the name of a category must not be empty"),
        ("lang+docs", "expression 1: the name of a category must not have '+' in it"),
        ("*/rust", "expression 1: the name of a category must not have '*' in it"),
        (&"x".repeat(257), "the expression has more than 256 bytes"),
    ] {
        assert_eq!(Expression::parse(expression).unwrap_err().to_string(), said);
    }
}

#[test]
fn hostile_patterns_take_no_time() {
    let name = "a".repeat(64);
    let pattern = "*a".repeat(120) + "b";
    let begun = std::time::Instant::now();
    for _ in 0..100 {
        assert!(!matches(&pattern, &name));
    }
    assert!(begun.elapsed().as_secs() < 5);
}

/// The definition, with no thought for its cost.
fn naive(pattern: &[char], name: &[char]) -> bool {
    match (pattern.split_first(), name.split_first()) {
        (None, _) => name.is_empty(),
        (Some(('*', rest)), _) => (0..=name.len()).any(|taken| naive(rest, &name[taken..])),
        (Some(('?', rest)), Some((_, name))) => naive(rest, name),
        (Some((wanted, rest)), Some((found, name))) => wanted == found && naive(rest, name),
        (Some(_), None) => false,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn matching_is_what_its_definition_says(pattern in "[abé*?]{0,9}", name in "[abé]{0,9}") {
        let chars = |text: &str| text.chars().collect::<Vec<_>>();
        prop_assert_eq!(matches(&pattern, &name), naive(&chars(&pattern), &chars(&name)));
    }

    #[test]
    fn selecting_is_going_through_the_expression(
        stored in proptest::collection::btree_set(("[ab]", "[ab]{1,3}"), 0..8),
        builtin in proptest::collection::btree_set(("[ab]", "[ab]{1,3}"), 0..8),
        expressions in proptest::collection::vec(
            ("[abc]", proptest::collection::vec("[ab*?]{1,3}", 0..4)),
            1..4,
        ),
    ) {
        let (mut flash, mut memory) = (Flash::new(4), memory());
        let mut store = open(&mut flash, &mut memory).0;
        for (category, name) in &stored {
            block_on(store.set(Key::Document { category, name }, "stored")).unwrap();
        }
        // Those built in are in no order.
        let builtins: Vec<_> =
            builtin.iter().rev().map(|(category, name)| Builtin { category, name, text: "built in" }).collect();
        let text: Vec<_> = expressions
            .iter()
            .map(|(category, patterns)| match patterns.join("+") {
                none if none.is_empty() => category.clone(),
                patterns => std::format!("{category}/{patterns}"),
            })
            .collect();

        let mut expected: Vec<(String, String, &str)> = Vec::new();
        for (category, patterns) in &expressions {
            let all = [String::from("*")];
            for pattern in if patterns.is_empty() { &all[..] } else { patterns } {
                let pattern: Vec<_> = pattern.chars().collect();
                for document in stored.union(&builtin) {
                    let (of, name) = document;
                    let selected = of == category && naive(&pattern, &name.chars().collect::<Vec<_>>());
                    if selected && !expected.iter().any(|(c, n, _)| (c, n) == (of, name)) {
                        let text = if stored.contains(document) { "stored" } else { "built in" };
                        expected.push((of.clone(), name.clone(), text));
                    }
                }
            }
        }

        let mut found = Vec::new();
        let text = text.join(",");
        let expression = Expression::parse(&text).unwrap();
        let shown = block_on(store.content(expression, &builtins, &mut |document| {
            let text = if document.stored { "stored" } else { "built in" };
            assert_eq!(document.text, text);
            assert!(expression.selects(document.category, document.name));
            found.push((document.category.to_string(), document.name.to_string(), text));
            ControlFlow::Continue(())
        }));
        prop_assert_eq!(shown, Ok(found.len()));
        prop_assert_eq!(found, expected, "{}", text);
    }
}
