//! Expressions that select documents: the same ones as a naive matcher, and each once.
#![no_main]

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use embassy_futures::block_on;
use hub_core::limits;
use hub_core::store::{Builtin, Expression, Store, StoreBuffers};
use libfuzzer_sys::fuzz_target;
use test_flash::Flash;

fuzz_target!(init: support::stack::guard(), |input: &[u8]| {
    let Some([text, documents]) = support::input::texts(input) else { return };
    let expression = match Expression::parse(text) {
        Ok(expression) => expression,
        Err(malformed) => {
            assert!(malformed.number >= 1 && malformed.number <= text.split(',').count());
            assert!(!malformed.to_string().is_empty());
            return;
        }
    };
    assert!(text.len() <= limits::EXPRESSION);
    let builtins: Vec<_> = documents
        .lines()
        .filter_map(|line| line.split_once('/'))
        .filter(|(category, name)| !category.is_empty() && !name.is_empty())
        .map(|(category, name)| Builtin { category, name, text: name })
        .collect();
    let mut wanted = BTreeSet::new();
    for Builtin { category, name, .. } in &builtins {
        let selected = selects(text, category, name);
        assert_eq!(expression.selects(category, name), selected, "{text}: {category}/{name}");
        if selected {
            wanted.insert((category.to_string(), name.to_string()));
        }
    }
    let mut memory = Box::new(StoreBuffers::new());
    let mut flash = Flash::<256>::new(3);
    flash.limit();
    let mut store = Store::new(flash, &mut memory);
    let mut shown = BTreeSet::new();
    let count = block_on(store.content(expression, &builtins, &mut |document| {
        assert!(!document.stored && document.text == document.name);
        let is_new = shown.insert((document.category.to_string(), document.name.to_string()));
        assert!(is_new, "{document:?} comes twice");
        ControlFlow::Continue(())
    }));
    assert_eq!(count, Ok(wanted.len()));
    assert_eq!(shown, wanted, "{text}");
});

fn selects(text: &str, category: &str, name: &str) -> bool {
    text.split(',').any(|expression| {
        let (wanted, patterns) = expression.split_once('/').unwrap_or((expression, "*"));
        let name: Vec<_> = name.chars().collect();
        let fits = |pattern: &str| {
            let pattern: Vec<_> = pattern.trim().chars().collect();
            matches(&pattern, &name, &mut BTreeMap::new())
        };
        wanted.trim() == category && patterns.split('+').any(fits)
    })
}

/// A naive matcher: tries everything that a star can match, with memoization.
fn matches(pattern: &[char], name: &[char], known: &mut BTreeMap<(usize, usize), bool>) -> bool {
    let place = (pattern.len(), name.len());
    if let Some(known) = known.get(&place) {
        return *known;
    }
    let fits = match (pattern, name) {
        ([], []) => true,
        (['*', pattern @ ..], _) if matches(pattern, name, known) => true,
        (['*', ..], [_, rest @ ..]) => matches(pattern, rest, known),
        (['?', pattern @ ..], [_, rest @ ..]) => matches(pattern, rest, known),
        ([wanted, pattern @ ..], [found, rest @ ..]) if wanted == found => matches(pattern, rest, known),
        _ => false,
    };
    known.insert(place, fits);
    fits
}
