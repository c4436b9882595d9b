//! Power is lost, and everything is still there.

use std::vec::Vec;

use embassy_futures::{block_on, poll_once};
use proptest::prelude::*;

use super::mock::{Mock, TEARS, Tear};
use super::world::{KEYS, Model, Step, contents, memory, open};
use crate::store::{Capacity, Opened, StoreBuffers, StoreError};

/// Small pages, so that all that happens to pages happens soon: four entries fill one, and twenty erases the
/// journal.
type Small = Mock<256>;

/// Does a step with power lost after `cut`, and checks what is left. `false` if the step needed fewer.
fn survives(
    before: &Small,
    model: &Model,
    step: Step,
    (cut, tear, seed): (usize, Tear, u64),
    memory: &mut StoreBuffers,
) -> bool {
    let mut flash = before.clone();
    let mut after = model.clone();
    step.apply(&mut after);
    let context = || std::format!("{step:?} cut after {cut} steps, {tear:?}, seed {seed}");
    {
        flash.cut_after(cut, tear, seed);
        let (mut store, _) = open(&mut flash, memory);
        let done = block_on(step.run(&mut store));
        if done == Err(StoreError::Full(Capacity::Flash)) {
            after = model.clone();
        }
    }
    let was_cut = flash.restart();
    // Power is lost again while the store is put in order, at a place that the seed decides.
    if seed % 3 == 0 {
        flash.cut_after((seed / 3) as usize % 700, tear, seed);
        let _ = open(&mut flash, memory);
        flash.restart();
    }
    let (mut store, opened) = open(&mut flash, memory);
    assert_ne!(opened.unwrap(), Opened::Formatted, "{}", context());
    let found = contents(&mut store);
    assert!(
        found == *model || found == after,
        "{}\n{found:?}\nis neither\n{model:?}\nnor\n{after:?}",
        context()
    );
    if !was_cut {
        assert_eq!(found, after, "{}", context());
    }
    // And it goes on, now and after another start.
    let mut goes_on = found;
    for step in [Step::Set { key: (seed % 9) as usize, length: 40, number: u32::MAX }, Step::Delete(cut % 9)]
    {
        match block_on(step.run(&mut store)) {
            Ok(()) => step.apply(&mut goes_on),
            Err(StoreError::Full(Capacity::Flash)) => {}
            Err(error) => panic!("{}, then {step:?}: {error}", context()),
        }
    }
    assert_eq!(contents(&mut store), goes_on, "{}, and on", context());
    let (mut store, opened) = open(&mut flash, memory);
    assert_ne!(opened, Ok(Opened::Formatted), "{}", context());
    assert_eq!(contents(&mut store), goes_on, "{}, after another start", context());
    was_cut
}

/// How many steps of writing and erasing a step takes, and what the flash is like then.
fn rehearse(flash: &mut Small, model: &mut Model, step: Step, memory: &mut StoreBuffers) -> usize {
    let before = flash.steps;
    let (mut store, _) = open(flash, memory);
    match block_on(step.run(&mut store)) {
        Ok(()) => step.apply(model),
        Err(StoreError::Full(_)) => {}
        Err(error) => panic!("{step:?}: {error}"),
    }
    flash.steps - before
}

/// A life of a store: entries come, change and go.
fn life() -> Vec<Step> {
    let mut steps = Vec::new();
    for number in 0..50 {
        let key = (number as usize * 4) % KEYS.len();
        steps.push(Step::Set { key, length: 20 + (number as usize * 7) % 30, number });
        if number % 5 == 4 {
            steps.push(Step::Delete((number as usize * 2) % KEYS.len()));
        }
    }
    steps.push(Step::EraseAll);
    steps.push(Step::Set { key: 0, length: 100, number: 0 });
    steps
}

/// Cuts at every byte of every write and erase: at the start of a life, and at its end, where every page is
/// erased once more, the journal is, too, and finally everything.
fn every_cut(tear: Tear) {
    let (mut flash, mut model, mut memory) = (Small::new(5), Model::new(), memory());
    let (mut cuts, mut erased) = (0, Vec::new());
    let life = life();
    for (index, step) in life.iter().enumerate() {
        let before = flash.clone();
        let known = model.clone();
        let steps = rehearse(&mut flash, &mut model, *step, &mut memory);
        if (3..life.len() - 18).contains(&index) {
            erased.clone_from(&flash.erases);
            continue;
        }
        for cut in 0..steps {
            assert!(survives(&before, &known, *step, (cut, tear, (cuts * 7) as u64), &mut memory));
            cuts += 1;
        }
    }
    for (page, (now, then)) in flash.erases.iter().zip(erased).enumerate() {
        assert!(*now > then, "page {page} was not erased");
    }
    assert!(cuts > 3000, "{cuts} cuts");
}

#[test]
fn power_is_lost_at_every_byte_forward() {
    every_cut(Tear::Forward);
}

#[test]
fn power_is_lost_at_every_byte_backward() {
    every_cut(Tear::Backward);
}

#[test]
fn power_is_lost_at_every_byte_with_any_bits_done() {
    every_cut(Tear::Scattered);
}

#[test]
fn power_is_lost_at_every_byte_with_pages_cleared_first() {
    every_cut(Tear::Cleared);
}

/// Power is lost while entries move to another page, and again while one of them is deleted, before anything else
/// is written. What was seen in between stays.
#[test]
fn power_is_lost_in_a_move_and_in_a_delete() {
    let (mut flash, mut model, mut memory) = (Small::new(5), Model::new(), memory());
    let mut moves = 0;
    for step in life().into_iter().take(24) {
        let before = flash.clone();
        let steps = rehearse(&mut flash, &mut model, step, &mut memory);
        for cut in (0..steps).step_by(9) {
            let mut moving = before.clone();
            moving.cut_after(cut, Tear::Forward, 1);
            let _ = block_on(step.run(&mut open(&mut moving, &mut memory).0));
            moving.restart();
            if !is_moving(&moving) {
                continue;
            }
            moves += 1;
            for (key, cut) in (0..KEYS.len()).flat_map(|key| [(key, 5), (key, 13), (key, 21)]) {
                let mut flash = moving.clone();
                let steps = flash.steps;
                let found = contents(&mut open(&mut flash, &mut memory).0);
                // The cut is in the delete, not in what opening has to do first.
                let opening = flash.steps - steps;
                flash = moving.clone();
                flash.cut_after(opening + cut, Tear::Forward, 1);
                let delete = Step::Delete(key);
                let _ = block_on(delete.run(&mut open(&mut flash, &mut memory).0));
                flash.restart();
                let mut store = open(&mut flash, &mut memory).0;
                let mut left = contents(&mut store);
                let mut deleted = found.clone();
                delete.apply(&mut deleted);
                assert!(left == found || left == deleted, "{step:?}, then {delete:?}");
                let last = Step::Set { key: 0, length: 20, number: 99 };
                block_on(last.run(&mut store)).unwrap();
                last.apply(&mut left);
                assert_eq!(contents(&mut store), left, "{step:?}, then {delete:?}, then {last:?}");
            }
        }
    }
    assert!(moves > 50, "{moves}");
}

/// Whether the page after the one in use is full.
fn is_moving(flash: &Small) -> bool {
    let marks: Vec<_> = flash.bytes[256..].chunks(256).map(|page| (page[0] == 0, page[255] == 0)).collect();
    (0..marks.len())
        .any(|page| marks[page] == (true, false) && marks[(page + 1) % marks.len()] == (true, true))
}

pub(super) fn any_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        12 => (0..KEYS.len(), 4usize..130, any::<u32>())
            .prop_map(|(key, length, number)| Step::Set { key, length, number }),
        4 => (0..KEYS.len()).prop_map(Step::Delete),
        1 => Just(Step::EraseAll),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Any steps; each is cut short at a few places, and at one of them the story goes on from there.
    #[test]
    fn power_is_lost_anywhere_in_any_life(
        pages in 3usize..6,
        steps in proptest::collection::vec((any_step(), any::<u64>()), 1..16),
    ) {
        let (mut flash, mut model, mut memory) = (Small::new(pages), Model::new(), memory());
        for (step, seed) in steps {
            let before = flash.clone();
            let known = model.clone();
            let length = rehearse(&mut flash, &mut model, step, &mut memory);
            let tear = TEARS[seed as usize % TEARS.len()];
            let cut = (seed >> 8) as usize % length.max(1);
            survives(&before, &known, step, (cut, tear, seed >> 16), &mut memory);
            if seed % 5 == 0 {
                // From here on the cut one is the one that was.
                flash = before;
                flash.cut_after(cut, tear, seed);
                let (mut store, _) = open(&mut flash, &mut memory);
                let _ = block_on(step.run(&mut store));
                flash.restart();
                model = contents(&mut open(&mut flash, &mut memory).0);
            }
        }
    }

    /// A future is dropped at any of its waits. The same store goes on, without a restart.
    #[test]
    fn an_operation_is_dropped_anywhere(
        steps in proptest::collection::vec((any_step(), any::<u16>()), 1..12),
    ) {
        let (mut flash, mut model, mut memory) = (Small::new(5), Model::new(), memory());
        flash.slow = true;
        let (mut store, _) = open(&mut flash, &mut memory);
        for (step, polls) in steps {
            let mut after = model.clone();
            step.apply(&mut after);
            let mut done = None;
            {
                let mut running = std::pin::pin!(step.run(&mut store));
                for _ in 0..polls % 2000 {
                    if let std::task::Poll::Ready(result) = poll_once(running.as_mut()) {
                        done = Some(result);
                        break;
                    }
                }
            }
            let found = contents(&mut store);
            match done {
                Some(Ok(())) => prop_assert_eq!(&found, &after),
                Some(Err(_)) => prop_assert_eq!(&found, &model),
                None => prop_assert!(found == model || found == after, "{:?} after {} polls", step, polls),
            }
            model = found;
        }
        let (mut store, _) = open(&mut flash, &mut memory);
        prop_assert_eq!(contents(&mut store), model);
    }
}
