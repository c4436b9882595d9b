//! The flash is not as it should be.

use std::string::{String, ToString};
use std::vec::Vec;

use embassy_futures::block_on;
use proptest::prelude::*;

use super::mock::Mock;
use super::world::{KEYS, Step, contents, memory, open, text};
use crate::store::{Key, Opened, StoreBuffers, StoreError};

type Small = Mock<256>;

/// The store does what a store does, whatever was in the flash before.
fn works(flash: &mut Small, memory: &mut StoreBuffers) {
    let (mut store, opened) = open(flash, memory);
    opened.unwrap();
    // What was there may be in the way, but what is said to be set is set.
    let mut model = contents(&mut store);
    for number in 0..20 {
        let step = Step::Set { key: number as usize % KEYS.len(), length: 20, number };
        match block_on(step.run(&mut store)) {
            Ok(()) => step.apply(&mut model),
            Err(StoreError::Full(_) | StoreError::Worn) => {}
            Err(error) => panic!("{error}"),
        }
    }
    assert_eq!(contents(&mut store), model);
    block_on(store.erase_all()).unwrap();
    for round in 0..10 {
        for key in [0, 4, 8] {
            block_on(store.set(KEYS[key], &text(50, round))).unwrap();
        }
    }
    assert_eq!(contents(&mut store).len(), 3);
    let (mut store, opened) = open(flash, memory);
    assert_eq!(opened, Ok(Opened::Intact));
    assert_eq!(contents(&mut store).len(), 3);
}

#[test]
fn a_flash_full_of_something_else_is_formatted() {
    for (byte, pages) in [(0x00, 5), (0xA5, 5), (0xFE, 4)] {
        let (mut flash, mut memory) = (Small::new(pages), memory());
        flash.bytes.fill(byte);
        assert_eq!(open(&mut flash, &mut memory).1, Ok(Opened::Formatted), "{byte:#x}");
        assert_eq!(open(&mut flash, &mut memory).1, Ok(Opened::Fresh), "it is said once");
        works(&mut flash, &mut memory);
    }
}

#[test]
fn a_lost_journal_costs_nothing() {
    let (mut flash, mut memory) = (Small::new(5), memory());
    block_on(open(&mut flash, &mut memory).0.set(KEYS[0], "kept")).unwrap();
    flash.bytes[..256].fill(0x5A);
    let (mut store, opened) = open(&mut flash, &mut memory);
    assert_eq!(opened, Ok(Opened::Repaired));
    assert_eq!(block_on(store.get(KEYS[0], &mut [0; 9])), Ok(Some("kept")));
}

#[test]
fn a_flash_that_fails_for_a_while_loses_nothing() {
    let (mut flash, mut memory) = (Small::new(5), memory());
    block_on(open(&mut flash, &mut memory).0.set(KEYS[0], "kept")).unwrap();
    flash.failing = true;
    let (mut store, opened) = open(&mut flash, &mut memory);
    let failed = opened.unwrap_err();
    assert_eq!(failed.to_string(), "the flash failed");
    assert_eq!(block_on(store.get(KEYS[0], &mut [0; 9])), Err(failed));
    assert_eq!(block_on(store.set(KEYS[0], "lost")), Err(failed));
    store.map.as_mut().unwrap().flash().flash.failing = false;
    assert_eq!(block_on(store.get(KEYS[0], &mut [0; 9])), Ok(Some("kept")));
}

#[test]
fn a_place_that_is_worn_out_is_passed_over() {
    let (mut flash, mut memory) = (Small::new(5), memory());
    block_on(open(&mut flash, &mut memory).0.set(KEYS[0], "old")).unwrap();
    // The middle of the next two entries.
    flash.stuck = Vec::from([256 + 48, 256 + 68]);
    block_on(open(&mut flash, &mut memory).0.set(KEYS[0], "new")).unwrap();
    let (mut store, _) = open(&mut flash, &mut memory);
    assert_eq!(block_on(store.get(KEYS[0], &mut [0; 9])), Ok(Some("new")));
}

#[test]
fn a_flash_that_is_worn_out_keeps_the_old_value() {
    let (mut flash, mut memory) = (Small::new(5), memory());
    block_on(open(&mut flash, &mut memory).0.set(KEYS[0], "old")).unwrap();
    flash.stuck = (256 + 40..5 * 256).filter(|at| at % 8 == 0).collect();
    let (mut store, _) = open(&mut flash, &mut memory);
    assert_eq!(block_on(store.set(KEYS[0], "new")), Err(StoreError::Worn));
    assert_eq!(block_on(store.set(KEYS[1], "new")), Err(StoreError::Worn));
    assert_eq!(block_on(store.get(KEYS[0], &mut [0; 9])), Ok(Some("old")));
    assert_eq!(contents(&mut store).len(), 1);
}

#[test]
fn a_damaged_entry_is_named_left_out_and_made_good() {
    let (mut flash, mut memory) = (Small::new(5), memory());
    let (mut store, _) = open(&mut flash, &mut memory);
    block_on(store.set(KEYS[0], "one")).unwrap();
    block_on(store.set(KEYS[1], "two")).unwrap();
    let bytes = &mut store.map.as_mut().unwrap().flash().flash.bytes;
    let at = bytes.windows(3).position(|bytes| bytes == b"one").unwrap();
    bytes[at] ^= 1;
    assert_eq!(block_on(store.get(KEYS[0], &mut [0; 9])), Err(StoreError::Corrupt));
    let mut seen = Vec::new();
    let all = block_on(store.each(crate::store::Section::Settings, &mut |key, text| {
        seen.push((std::format!("{key:?}"), String::from(text)));
        std::ops::ControlFlow::Continue(())
    }));
    all.unwrap();
    assert_eq!(seen, [(std::format!("{:?}", KEYS[1]), "two".into())]);
    block_on(store.set(KEYS[0], "six")).unwrap();
    assert_eq!(block_on(store.get(KEYS[0], &mut [0; 9])), Ok(Some("six")));
}

#[test]
fn a_damaged_entry_that_comes_back_is_older_than_the_one_in_its_place() {
    let (mut flash, mut memory) = (Small::new(5), memory());
    let (mut store, _) = open(&mut flash, &mut memory);
    block_on(store.set(KEYS[0], "one")).unwrap();
    block_on(store.set(KEYS[1], "two")).unwrap();
    let at = |flash: &Small, text: &str| {
        flash.bytes.windows(3).position(|bytes| bytes == text.as_bytes()).unwrap()
    };
    let (one, two) = (at(&flash, "one"), at(&flash, "two"));
    flash.bytes[one] ^= 1;
    flash.bytes[two] ^= 1;
    block_on(open(&mut flash, &mut memory).0.set(KEYS[1], "new")).unwrap();
    flash.bytes[two] ^= 1;
    let (mut store, _) = open(&mut flash, &mut memory);
    assert_eq!(contents(&mut store).into_iter().collect::<Vec<_>>(), [(KEYS[1], "new".into())]);
}

#[test]
fn a_flash_that_is_too_small_is_refused() {
    let mut memory = memory();
    for pages in 0..3 {
        let mut flash = Small::new(pages);
        let (mut store, opened) = open(&mut flash, &mut memory);
        assert_eq!(opened, Err(StoreError::Unsuitable(pages * 256)));
        assert_eq!(block_on(store.set(KEYS[0], "")), Err(StoreError::Unsuitable(pages * 256)));
        assert_eq!(block_on(store.erase_all()), Err(StoreError::Unsuitable(pages * 256)));
    }
    let mut flash = Mock::<64>::new(50);
    assert!(open(&mut flash, &mut memory).1.is_err(), "a page has to hold the longest key");
}

#[test]
fn entries_of_another_version_are_left_alone() {
    let (mut flash, mut memory) = (Small::new(5), memory());
    let (mut store, _) = open(&mut flash, &mut memory);
    let id = 0u8;
    let later = b"\x05zlater and its text".as_slice();
    let map = store.map.as_mut().unwrap();
    block_on(map.store_item(&mut [0; 64], &id, &later)).unwrap();
    let (mut store, opened) = open(&mut flash, &mut memory);
    assert_eq!(opened, Ok(Opened::Intact));
    for (number, key) in (0..).zip(KEYS).cycle().take(60) {
        block_on(store.set(key, &text(10, number))).unwrap();
    }
    let map = store.map.as_mut().unwrap();
    assert_eq!(block_on(map.fetch_item::<&[u8]>(&mut [0; 256], &id)).unwrap(), Some(later));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever is in the flash, opening ends well.
    #[test]
    fn any_contents_can_be_opened(
        pages in proptest::collection::vec((any::<[u8; 2]>(), any::<u64>()), 4..7),
        journal: bool,
    ) {
        let (mut flash, mut memory) = (Small::new(pages.len()), memory());
        let intact = flash.clone();
        for (page, (marks, mut random)) in flash.bytes.chunks_mut(256).zip(pages) {
            for byte in page.iter_mut() {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                *byte = (random >> 56) as u8;
            }
            // Marked in each of the four ways, as often as not.
            page[..4].fill(if marks[0] % 2 == 0 { 0xFF } else { 0 });
            page[252..].fill(if marks[1] % 2 == 0 { 0xFF } else { 0 });
        }
        if journal {
            flash.bytes[..256].copy_from_slice(&intact.bytes[..256]);
        }
        flash.lenient = true;
        works(&mut flash, &mut memory);
    }

    /// A few bits turn. What is left was once written, and the store goes on.
    #[test]
    fn bits_that_turn_make_nothing_up(
        steps in proptest::collection::vec(super::power::any_step(), 1..20),
        flips in proptest::collection::vec(any::<(prop::sample::Index, u8)>(), 1..8),
    ) {
        let (mut flash, mut memory) = (Small::new(6), memory());
        let mut store = open(&mut flash, &mut memory).0;
        let mut history: Vec<(Key<'_>, String)> = Vec::new();
        for step in steps {
            if block_on(step.run(&mut store)).is_ok() && let Step::Set { key, length, number } = step {
                history.push((KEYS[key], text(length, number)));
            }
        }
        for (at, bits) in flips {
            let at = at.index(flash.bytes.len());
            flash.bytes[at] ^= bits;
        }
        flash.lenient = true;
        let (mut store, opened) = open(&mut flash, &mut memory);
        prop_assert!(opened.is_ok());
        for entry in contents(&mut store) {
            prop_assert!(history.contains(&entry), "{:?}", entry);
        }
        works(&mut flash, &mut memory);
    }
}
