//! Flags of projects and global ones.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::string::{String, ToString};
use std::vec::Vec;

use embassy_futures::block_on;
use proptest::prelude::*;

use super::mock::Mock;
use super::world::{memory, open};
use crate::store::{Key, Scope, Section, Store, StoreError, flags};

type Flash = Mock<4096>;

fn list(store: &mut Store<'_, &mut Flash>, project: &str) -> Vec<(String, String, bool)> {
    let mut flags = Vec::new();
    let all = block_on(store.flags(project, |name, value, scope| {
        flags.push((name.into(), value.into(), scope == Scope::Global));
        ControlFlow::Continue(())
    }));
    all.unwrap();
    flags
}

/// spec: infra-28
#[test]
fn a_project_overrides_what_is_global_and_falls_back_to_it() {
    let (mut flash, mut memory) = (Flash::new(4), memory());
    let mut store = open(&mut flash, &mut memory).0;
    let (home, away) = (Scope::Project("home"), Scope::Project("away"));
    for (scope, name, value) in [
        (Scope::Global, "quiet", "false"),
        (Scope::Global, "theme", r#""dark""#),
        (home, "quiet", "true"),
        (home, "beta", "[1]"),
        (away, "theme", r#""light""#),
    ] {
        block_on(store.set(Key::Flag(scope, name), value)).unwrap();
    }
    let flag = |store: &mut Store<'_, _>, project: &str, name: &str| {
        let found = block_on(store.flag(project, name)).unwrap();
        found.map(|(scope, value)| (value.to_string(), scope == Scope::Global))
    };
    assert_eq!(flag(&mut store, "home", "quiet"), Some(("true".into(), false)));
    assert_eq!(flag(&mut store, "home", "theme"), Some(("\"dark\"".into(), true)));
    assert_eq!(flag(&mut store, "away", "quiet"), Some(("false".into(), true)));
    assert_eq!(flag(&mut store, "away", "beta"), None);
    assert_eq!(
        list(&mut store, "home"),
        [
            ("beta".into(), "[1]".into(), false),
            ("quiet".into(), "true".into(), false),
            ("theme".into(), "\"dark\"".into(), true),
        ]
    );
    // What is deleted in the project is global again.
    block_on(store.delete(Key::Flag(home, "quiet"))).unwrap();
    assert_eq!(flag(&mut store, "home", "quiet"), Some(("false".into(), true)));
}

/// spec: infra-30
#[test]
fn what_is_global_knows_nothing_of_projects() {
    let (mut flash, mut memory) = (Flash::new(4), memory());
    let mut store = open(&mut flash, &mut memory).0;
    let ours = Key::Flag(Scope::Project("home"), "quiet");
    let global = Key::Flag(Scope::Global, "quiet");
    block_on(store.set(ours, "true")).unwrap();
    let mut out = [0; 64];
    assert_eq!(block_on(store.get(global, &mut out)), Ok(None));
    assert_eq!(block_on(store.names(Section::Flags(Scope::Global))).unwrap().count(), 0);
    block_on(store.set(global, "false")).unwrap();
    assert_eq!(block_on(store.get(global, &mut out)), Ok(Some("false")));
    assert_eq!(block_on(store.get(ours, &mut out)), Ok(Some("true")), "set in its own scope alone");
    assert_eq!(block_on(store.delete(global)), Ok(true));
    assert_eq!(block_on(store.get(ours, &mut out)), Ok(Some("true")), "deleted in its own scope alone");
    assert_eq!(block_on(store.delete(global)), Ok(false));
}

#[test]
fn names_that_cannot_be_are_refused_and_a_list_can_be_left() {
    let (mut flash, mut memory) = (Flash::new(4), memory());
    let mut store = open(&mut flash, &mut memory).0;
    assert!(matches!(block_on(store.flag("", "a")), Err(StoreError::Name(..))));
    assert!(matches!(block_on(store.flag("home", "")), Err(StoreError::Name(..))));
    for name in ["a", "b", "c"] {
        block_on(store.set(Key::Flag(Scope::Global, name), "1")).unwrap();
    }
    let mut seen = 0;
    let left = block_on(store.flags("home", |_, _, _| {
        seen += 1;
        if seen == 2 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }));
    left.unwrap();
    assert_eq!(seen, 2);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn resolving_is_putting_one_map_over_the_other(
        project: BTreeMap<u8, u16>,
        global: BTreeMap<u8, u16>,
    ) {
        let joined: Vec<_> = flags::resolve(&project, &global, |(name, _)| **name).collect();
        let mut expected = global.clone();
        expected.extend(&project);
        prop_assert_eq!(joined, expected.iter().collect::<Vec<_>>());
    }
}
