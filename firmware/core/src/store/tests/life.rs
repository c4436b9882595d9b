//! A store from day to day: what goes in comes out, over restarts and rounds through the pages.

use std::string::{String, ToString};
use std::vec::Vec;

use embassy_futures::block_on;
use proptest::prelude::*;

use super::mock::Mock;
use super::world::{KEYS, Model, Step, contents, memory, open, text};
use crate::limits;
use crate::store::{Capacity, Key, NameFault, NamedPart, Opened, Scope, Section, Store, StoreError};

/// The geometry of an ESP32.
type Flash = Mock<4096>;

/// What an entry takes in flash.
fn size(key: &Key<'_>, text: &str) -> usize {
    8 + (2 + key.encode().unwrap().bytes().len() + text.len()).next_multiple_of(4)
}

#[derive(Clone, Debug)]
enum Day {
    Do(Step),
    Restart,
}

fn any_day() -> impl Strategy<Value = Day> {
    let length = prop_oneof![4 => 4usize..60, 1 => 60..limits::FLAG];
    let document = 400..limits::DOCUMENT;
    prop_oneof![
        8 => (0..KEYS.len(), length, any::<u32>())
            .prop_map(|(key, length, number)| Day::Do(Step::Set { key, length, number })),
        4 => (6..KEYS.len(), document, any::<u32>())
            .prop_map(|(key, length, number)| Day::Do(Step::Set { key, length, number })),
        3 => (0..KEYS.len()).prop_map(|key| Day::Do(Step::Delete(key))),
        1 => Just(Day::Restart),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_goes_in_comes_out(pages in 3usize..7, days in proptest::collection::vec(any_day(), 1..60)) {
        let (mut flash, mut model, mut memory) = (Flash::new(pages), Model::new(), memory());
        let mut store = open(&mut flash, &mut memory).0;
        for day in days {
            match day {
                Day::Restart => {
                    let (again, opened) = open(&mut flash, &mut memory);
                    store = again;
                    prop_assert!(matches!(opened, Ok(Opened::Fresh | Opened::Intact)), "{opened:?}");
                    prop_assert_eq!(&contents(&mut store), &model);
                }
                Day::Do(step) => match block_on(step.run(&mut store)) {
                    Ok(()) => step.apply(&mut model),
                    Err(StoreError::Full(Capacity::Flash)) => {
                        let Step::Set { key, length, number } = step else { panic!("{step:?} needs no room") };
                        let used: usize = model.iter().map(|(key, text)| size(key, text)).sum();
                        let new = size(&KEYS[key], &text(length, number));
                        // All but the journal and one page that is kept erased have entries. One of them has
                        // no more than its share.
                        prop_assert!(used / (pages - 2) + new > 4096 - 8, "{used} bytes used, {new} wanted");
                    }
                    Err(error) => prop_assert!(false, "{step:?}: {error}"),
                },
            }
        }
        prop_assert_eq!(&contents(&mut store), &model);
        let mut out = [0; limits::DOCUMENT];
        for key in KEYS {
            prop_assert_eq!(block_on(store.get(key, &mut out)).unwrap(), model.get(&key).map(String::as_str));
        }
    }
}

#[test]
fn the_flash_wears_evenly() {
    let (mut flash, mut memory) = (Flash::new(8), memory());
    let (mut store, opened) = open(&mut flash, &mut memory);
    assert_eq!(opened, Ok(Opened::Fresh));
    let steady = text(1000, 1);
    block_on(store.set(KEYS[6], &steady)).unwrap();
    for number in 0..10_000 {
        block_on(store.set(KEYS[2], &text(30, number))).unwrap();
    }
    let mut out = [0; limits::DOCUMENT];
    assert_eq!(block_on(store.get(KEYS[6], &mut out)).unwrap(), Some(steady.as_str()));
    let (journal, pages) = flash.erases.split_first().unwrap();
    let (least, most) = (pages.iter().min().unwrap(), pages.iter().max().unwrap());
    assert!(most - least <= 1, "{pages:?}");
    // 10,000 times 44 bytes, 4 KiB a page, one page in seven moves 1 KiB along.
    assert!(pages.iter().sum::<u32>() < 130, "{pages:?}");
    assert_eq!(*journal, 0, "it has room for 340 erases");
}

#[test]
fn nothing_is_written_when_nothing_changes() {
    let (mut flash, mut memory) = (Flash::new(4), memory());
    let mut store = open(&mut flash, &mut memory).0;
    block_on(store.set(KEYS[0], "mqtt://broker")).unwrap();
    let steps = flash.steps;
    let mut store = open(&mut flash, &mut memory).0;
    block_on(store.set(KEYS[0], "mqtt://broker")).unwrap();
    assert_eq!(block_on(store.delete(KEYS[1])), Ok(false));
    assert_eq!(flash.steps, steps);
}

#[test]
fn a_full_store_says_so_and_has_room_again_after_a_delete() {
    let (mut flash, mut memory) = (Flash::new(5), memory());
    let mut store = open(&mut flash, &mut memory).0;
    let page = "x".repeat(limits::DOCUMENT);
    let names: Vec<String> = (0..9).map(|number| number.to_string()).collect();
    let document = |number: usize| Key::Document { category: "c", name: &names[number] };
    // Four pages for entries; one of them is kept erased.
    for number in 0..3 {
        block_on(store.set(document(number), &page)).unwrap();
    }
    let full = Err(StoreError::Full(Capacity::Flash));
    assert_eq!(block_on(store.set(document(3), &page)), full);
    let erases = |store: &mut Store<'_, &mut Flash>| store.map.as_mut().unwrap().flash().flash.erases.clone();
    let worn = erases(&mut store);
    for _ in 0..100 {
        assert_eq!(block_on(store.set(document(3), &page)), full);
        assert_eq!(block_on(store.set(document(0), &page.replace('x', "y"))), full);
    }
    assert_eq!(erases(&mut store), worn, "asking again does not wear the flash");
    block_on(store.set(KEYS[0], "small things still fit")).unwrap();
    assert_eq!(block_on(store.delete(document(1))), Ok(true));
    block_on(store.set(document(3), &page)).unwrap();
    assert_eq!(contents_of(&mut store, Section::Documents), ["0", "2", "3"]);
}

fn contents_of(store: &mut Store<'_, &mut Flash>, section: Section<'_>) -> Vec<String> {
    block_on(store.names(section))
        .unwrap()
        .map(|key| match key {
            Key::Document { name, .. } | Key::Flag(_, name) | Key::Setting(name) => name.to_string(),
        })
        .collect()
}

#[test]
fn as_many_entries_as_promised_and_not_one_more() {
    let (mut flash, mut memory) = (Flash::new(16), memory());
    let mut store = open(&mut flash, &mut memory).0;
    let names: Vec<String> = (0..=limits::STORE_ENTRIES).map(|number| std::format!("{number:025}")).collect();
    let (last, names) = names.split_last().unwrap();
    for name in names {
        block_on(store.set(Key::Setting(name), "value")).unwrap();
    }
    let full = Err(StoreError::Full(Capacity::Entries));
    assert_eq!(block_on(store.set(Key::Setting(last), "value")), full);
    block_on(store.set(Key::Setting(&names[5]), "another value")).unwrap();
    assert_eq!(contents_of(&mut store, Section::Settings), names);
    block_on(store.delete(Key::Setting(&names[0]))).unwrap();
    block_on(store.set(Key::Setting(last), "value")).unwrap();
    let mut store = open(&mut flash, &mut memory).0;
    assert_eq!(contents_of(&mut store, Section::Settings).len(), limits::STORE_ENTRIES);
}

#[test]
fn a_deleted_entry_makes_room_whichever_it_was() {
    let (mut flash, mut memory) = (Flash::new(16), memory());
    let mut store = open(&mut flash, &mut memory).0;
    let name = |round: usize, number: usize| std::format!("{round}-{number:03}");
    for number in 0..limits::STORE_ENTRIES {
        block_on(store.set(Key::Setting(&name(0, number)), "first")).unwrap();
    }
    let full = Err(StoreError::Full(Capacity::Entries));
    // Each on its own, then several, then all: ids at every place of every word.
    let all: Vec<usize> = (0..limits::STORE_ENTRIES).collect();
    let mut rounds: Vec<Vec<usize>> = all.iter().map(|number| Vec::from([*number])).collect();
    rounds.push(Vec::from([1, 31, 32, 33, 63, 64, 95, 100, 127]));
    rounds.push(all);
    for (round, deleted) in rounds.iter().enumerate() {
        for number in deleted {
            // The name that it had last.
            let last =
                rounds[..round].iter().rposition(|before| before.contains(number)).map_or(0, |at| at + 1);
            assert_eq!(block_on(store.delete(Key::Setting(&name(last, *number)))), Ok(true), "{number}");
        }
        for number in deleted {
            block_on(store.set(Key::Setting(&name(round + 1, *number)), "again")).unwrap();
        }
        assert_eq!(block_on(store.set(Key::Setting("more"), "no")), full, "after {deleted:?}");
    }
    let mut store = open(&mut flash, &mut memory).0;
    let mut expected: Vec<_> = (0..limits::STORE_ENTRIES).map(|number| name(rounds.len(), number)).collect();
    expected.sort();
    assert_eq!(contents_of(&mut store, Section::Settings), expected);
    assert_eq!(block_on(store.set(Key::Setting("more"), "no")), full);
}

#[test]
fn long_names_fill_the_room_for_names() {
    let (mut flash, mut memory) = (Flash::new(16), memory());
    let mut store = open(&mut flash, &mut memory).0;
    let name = |number| std::format!("{number:0>64}");
    let mut count = 0;
    let error = loop {
        match block_on(store.set(Key::Flag(Scope::Project("a project"), &name(count)), "1")) {
            Ok(()) => count += 1,
            Err(error) => break error,
        }
    };
    assert_eq!(error, StoreError::Full(Capacity::Names));
    assert_eq!(count, limits::STORE_NAMES / (2 + 1 + 9 + 1 + 64));
    block_on(store.set(Key::Flag(Scope::Project("a project"), &name(3)), "2")).unwrap();
}

#[test]
fn everything_is_erased_at_once() {
    let (mut flash, mut memory) = (Flash::new(4), memory());
    let mut store = open(&mut flash, &mut memory).0;
    for key in KEYS {
        block_on(store.set(key, "true")).unwrap();
    }
    block_on(store.erase_all()).unwrap();
    assert!(contents(&mut store).is_empty());
    assert!(flash.bytes[4096..].iter().all(|byte| *byte == 0xFF), "no secret is left behind");
    assert_eq!(open(&mut flash, &mut memory).1, Ok(Opened::Fresh));
}

#[test]
fn what_cannot_be_stored_is_refused_by_name() {
    let (mut flash, mut memory) = (Flash::new(4), memory());
    let mut store = open(&mut flash, &mut memory).0;
    let long = "x".repeat(limits::DOCUMENT + 1);
    let name = "n".repeat(limits::NAME + 1);
    let document = |category, name| Key::Document { category, name };
    for (key, text, said) in [
        (KEYS[6], long.as_str(), "the document is too large: 3073 bytes, and 3072 are possible"),
        (KEYS[2], &long[..513], "the flag is too large: 513 bytes, and 512 are possible"),
        (Key::Setting(&name), "", "the name of a setting has at most 64 bytes"),
        (Key::Setting(""), "", "the name of a setting must not be empty"),
        (Key::Setting("a\0b"), "", "the name of a setting must not have '\\0' in it"),
        (Key::Flag(Scope::Project(&name[..33]), "f"), "1", "the name of a project has at most 32 bytes"),
        (Key::Flag(Scope::Global, " f"), "1", "the name of a flag must not start or end with a space"),
        (document("a/b", "n"), "", "the name of a category must not have '/' in it"),
        (document("a", "n*"), "", "the name of a document must not have '*' in it"),
        (KEYS[2], "yes", "the value of a flag is not valid JSON: expected a value at byte 0"),
    ] {
        let error = block_on(store.set(key, text)).unwrap_err();
        assert_eq!(error.to_string(), said);
    }
    let (part, limit) = (NamedPart::Flag, NameFault::Empty);
    assert_eq!(
        block_on(store.names(Section::Flags(Scope::Project("")))).err().map(|error| error.to_string()),
        Some("the name of a project must not be empty".into())
    );
    assert_eq!(block_on(store.delete(Key::Flag(Scope::Global, ""))), Err(StoreError::Name(part, limit)));
    block_on(store.set(KEYS[6], "four")).unwrap();
    assert_eq!(block_on(store.get(KEYS[6], &mut [0; 3])), Err(StoreError::Buffer(4)));
    assert_eq!(block_on(store.get(KEYS[6], &mut [0; 4])), Ok(Some("four")));
    block_on(store.set(KEYS[6], "")).unwrap();
    assert_eq!(block_on(store.get(KEYS[6], &mut [])), Ok(Some("")), "empty is not missing");
}

#[test]
fn the_largest_of_everything_fits() {
    let (mut flash, mut memory) = (Flash::new(3), memory());
    let mut store = open(&mut flash, &mut memory).0;
    let (category, name) = ("c".repeat(limits::GROUP), "n".repeat(limits::NAME));
    let key = Key::Document { category: &category, name: &name };
    let text = "\u{1F600}".repeat(limits::DOCUMENT / 4);
    for _ in 0..3 {
        block_on(store.set(key, &text)).unwrap();
        block_on(store.delete(key)).unwrap();
    }
    block_on(store.set(key, &text)).unwrap();
    let mut out = [0; limits::DOCUMENT];
    assert_eq!(block_on(store.get(key, &mut out)), Ok(Some(text.as_str())));
}
