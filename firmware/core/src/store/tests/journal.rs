//! What a journal says, and when it says nothing.

use std::vec::Vec;

use embassy_futures::block_on;
use embedded_storage_async::nor_flash::{NorFlash as _, ReadNorFlash as _};

use super::mock::{Mock, Tear};
use crate::store::journal::{Fault, Journaled};

type Small = Mock<256>;

const MAGIC: [u8; 4] = *b"HWs1";
const NO: [u8; 4] = [0xFF; 4];
const YES: [u8; 4] = [0; 4];
const NONE: [usize; 0] = [];
const PAGE_2: [u8; 4] = [2, 0, 3, 0];

fn not(word: [u8; 4]) -> [u8; 4] {
    word.map(|byte| !byte)
}

/// A flash with four full pages and this journal.
fn flash(journal: &[[u8; 4]]) -> Small {
    let mut flash = Small::new(5);
    flash.bytes[256..].fill(0);
    for (place, word) in flash.bytes.chunks_mut(4).zip(journal) {
        place.copy_from_slice(word);
    }
    flash
}

/// With the journal in order.
fn settled(flash: &mut Small) -> Journaled<&mut Small> {
    let mut journaled = Journaled::new(flash);
    block_on(journaled.settle()).unwrap();
    journaled
}

/// The pages that are erased before the first access.
fn erased(mut flash: Small) -> Vec<usize> {
    block_on(settled(&mut flash).read(256, &mut [0; 4])).unwrap();
    (1..5).filter(|page| flash.bytes[page * 256] == 0xFF).collect()
}

#[test]
fn an_erase_that_was_begun_is_done() {
    let done = [YES, PAGE_2, not(PAGE_2)];
    let begun = [NO, [3, 0, 5, 0], not([3, 0, 5, 0])];
    let journal = [&[MAGIC, NO][..], &done, &begun].concat();
    assert_eq!(erased(flash(&journal)), [3, 4]);
    // Struck out half-way is struck out.
    let half = [[0xFE, 0xFF, 0xFF, 0xFF], PAGE_2, not(PAGE_2)];
    assert_eq!(erased(flash(&[&[MAGIC, NO][..], &half].concat())), NONE);
}

#[test]
fn what_is_not_certain_erases_nothing() {
    let begun = [NO, PAGE_2, not(PAGE_2)];
    assert_eq!(erased(flash(&[&[MAGIC, NO][..], &begun].concat())), [2], "this one is");
    for (journal, why) in [
        (&[&[MAGIC, YES][..], &begun].concat(), "retired"),
        (&[&[MAGIC, [0x7F, 0xFF, 0xFF, 0xFF]][..], &begun].concat(), "being retired"),
        (&[&[not(MAGIC), NO][..], &begun].concat(), "no journal"),
        (&[&[NO, NO][..], &begun].concat(), "half erased"),
        (&[&[MAGIC, NO][..], &begun, &begun].concat(), "two at once"),
        (&[&[MAGIC, NO][..], &begun, &[NO, NO, NO, YES]].concat(), "something after it"),
        (&[MAGIC, NO, NO, PAGE_2, NO].into(), "not complete"),
        (&[MAGIC, NO, NO, [0, 0, 1, 0], not([0, 0, 1, 0])].into(), "the journal itself"),
        (&[MAGIC, NO, NO, [2, 0, 6, 0], not([2, 0, 6, 0])].into(), "pages that are not there"),
        (&[MAGIC, NO, NO, [3, 0, 3, 0], not([3, 0, 3, 0])].into(), "no pages"),
    ] {
        assert_eq!(erased(flash(journal)), NONE, "{why}");
    }
}

#[test]
fn a_full_journal_begins_anew() {
    let mut flash = Small::new(5);
    let mut journaled = settled(&mut flash);
    for round in 1..=65 {
        block_on(journaled.erase(512, 768)).unwrap();
        block_on(journaled.write(512, &[0; 4])).unwrap();
        // It has room for twenty.
        assert_eq!(journaled.flash.erases[0], (round - 1) / 20);
    }
    assert_eq!(flash.erases[2], 65);
    // It is void before its erase begins.
    for _ in 65..80 {
        block_on(settled(&mut flash).erase(512, 768)).unwrap();
    }
    flash.cut_after(4, Tear::Forward, 1);
    block_on(settled(&mut flash).erase(512, 768)).unwrap_err();
    assert_eq!(flash.bytes[4..8], YES);
}

#[test]
fn nothing_is_touched_before_it_is_settled() {
    let begun = [NO, PAGE_2, not(PAGE_2)];
    let mut flash = flash(&[&[MAGIC, NO][..], &begun].concat());
    let before = flash.bytes.clone();
    let mut journaled = Journaled::new(&mut flash);
    assert_eq!(block_on(journaled.read(256, &mut [0; 4])), Err(Fault::Unsettled));
    assert_eq!(block_on(journaled.write(256, &[0; 4])), Err(Fault::Unsettled));
    assert_eq!(block_on(journaled.erase(256, 512)), Err(Fault::Unsettled));
    assert_eq!(flash.bytes, before);
    // Neither after an erase that failed.
    let mut flash = Small::new(5);
    let mut journaled = settled(&mut flash);
    journaled.flash.cut_after(10, Tear::Forward, 1);
    assert!(matches!(block_on(journaled.erase(512, 768)), Err(Fault::Flash(_))));
    assert!(journaled.flash.restart());
    assert_eq!(block_on(journaled.read(256, &mut [0; 4])), Err(Fault::Unsettled));
    block_on(journaled.settle()).unwrap();
    assert_eq!(block_on(journaled.read(256, &mut [0; 4])), Ok(()));
}
