//! A flash with arbitrary contents, or with a damaged store: it opens, invents no entries, and works.
#![no_main]

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use embassy_futures::block_on;
use hub_core::store::{Expression, Key, Opened, Scope, Section, Store, StoreBuffers, StoreError};
use libfuzzer_sys::fuzz_target;
use test_flash::{Allowance, Flash as AnyFlash};

/// Small pages, so that pages fill up soon.
type Flash = AnyFlash<PAGE>;

const PAGE: usize = 256;

const KEYS: [Key<'static>; 8] = [
    Key::Setting("broker"),
    Key::Setting("broker.port"),
    Key::Flag(Scope::Global, "quiet"),
    Key::Flag(Scope::Project("home"), "quiet"),
    Key::Flag(Scope::Project("home office"), "quiet"),
    Key::Document { category: "lang", name: "python" },
    Key::Document { category: "language", name: "a/b.md" },
    Key::Document { category: "lang", name: "ünïcode" },
];

const SECTIONS: [Section<'static>; 5] = [
    Section::Documents,
    Section::Flags(Scope::Global),
    Section::Flags(Scope::Project("home")),
    Section::Flags(Scope::Project("home office")),
    Section::Settings,
];

/// Keys and texts.
type Contents = BTreeMap<String, String>;

fuzz_target!(init: support::stack::guard(), |input: &[u8]| {
    let Some((mode, rest)) = input.split_first() else { return };
    let pages = 3 + usize::from(mode >> 1) % 4;
    let mut memory = Box::new(StoreBuffers::new());
    let is_alive = mode % 2 != 0;
    let contents = if is_alive { &[] } else { &rest[..rest.len().min(pages * PAGE)] };
    let mut flash = Flash::with(contents, pages);
    let allowance = flash.limit();
    if is_alive {
        live(&mut flash, &allowance, &mut memory, rest);
    }
    work(&mut flash, &allowance, &mut memory);
});

/// Sets and deletes entries, reopens the store and damages the flash, in steps of four bytes.
fn live(flash: &mut Flash, allowance: &Allowance, memory: &mut StoreBuffers, steps: &[u8]) {
    let mut model = Contents::new();
    let mut history = BTreeSet::new();
    let mut is_damaged = false;
    let mut store = open(flash, allowance, memory).0;
    for step in steps.chunks_exact(4).take(40) {
        let &[what, one, two, three] = step else { return };
        let key = KEYS[usize::from(one) % KEYS.len()];
        let name = format!("{key:?}");
        match what % 6 {
            0..3 => {
                let text = text(usize::from(two), three);
                history.insert((name.clone(), text.clone()));
                if set(allowance, &mut store, key, &text) {
                    model.insert(name, text);
                }
            }
            3 => {
                allowance.renew();
                let known = block_on(store.delete(key)).expect("a flash that does not fail");
                assert!(is_damaged || known == model.contains_key(&name));
                model.remove(&name);
            }
            4 => {
                let opened;
                (store, opened) = open(flash, allowance, memory);
                assert!(is_damaged || matches!(opened, Opened::Fresh | Opened::Intact), "{opened:?}");
            }
            _ => {
                let at = usize::from(u16::from_be_bytes([one, two])) % flash.bytes.len();
                flash.bytes[at] ^= three;
                is_damaged = true;
                store = open(flash, allowance, memory).0;
            }
        }
    }
    let contents = contents(allowance, &mut store);
    if is_damaged {
        for entry in contents {
            assert!(history.contains(&entry), "nobody wrote {entry:?}");
        }
    } else {
        assert_eq!(contents, model);
    }
}

/// Checks that the store works with any earlier contents of the flash.
fn work(flash: &mut Flash, allowance: &Allowance, memory: &mut StoreBuffers) {
    let (mut store, _) = open(flash, allowance, memory);
    let mut model = contents(allowance, &mut store);
    for (key, number) in KEYS.into_iter().zip(0..) {
        let text = text(20, number);
        if set(allowance, &mut store, key, &text) {
            model.insert(format!("{key:?}"), text);
        }
    }
    assert_eq!(contents(allowance, &mut store), model);
    allowance.renew();
    let everything = Expression::parse("lang,language/*").expect("an expression");
    let count = block_on(store.content(everything, &[], &mut |document| {
        assert!(document.stored);
        ControlFlow::Continue(())
    }));
    assert!(count.is_ok_and(|count| count <= model.len()));

    allowance.renew();
    block_on(store.erase_all()).expect("a flash that does not fail");
    assert!(set(allowance, &mut store, KEYS[0], "kept"));
    let (mut store, opened) = open(flash, allowance, memory);
    assert_eq!(opened, Opened::Intact);
    assert_eq!(contents(allowance, &mut store).len(), 1);
}

fn open<'a>(
    flash: &'a mut Flash,
    allowance: &Allowance,
    memory: &'a mut StoreBuffers,
) -> (Store<'a, &'a mut Flash>, Opened) {
    allowance.renew();
    let mut store = Store::new(flash, memory);
    let opened = block_on(store.open()).expect("a flash that does not fail");
    (store, opened)
}

/// Sets an entry, and returns whether there was space. If so, it must be readable.
fn set(allowance: &Allowance, store: &mut Store<'_, &mut Flash>, key: Key<'_>, text: &str) -> bool {
    allowance.renew();
    match block_on(store.set(key, text)) {
        Ok(()) => {}
        Err(StoreError::Full(_) | StoreError::Worn | StoreError::TooLarge { .. }) => return false,
        Err(error) => panic!("{error}"),
    }
    allowance.renew();
    assert_eq!(block_on(store.get(key, &mut [0; 512])), Ok(Some(text)));
    true
}

/// Everything in the store, read in both ways, which have to agree.
fn contents(allowance: &Allowance, store: &mut Store<'_, &mut Flash>) -> Contents {
    let mut contents = Contents::new();
    for section in SECTIONS {
        let mut last = None;
        allowance.renew();
        let all = block_on(store.each(section, &mut |key, text| {
            let name = format!("{key:?}");
            assert!(contents.insert(name.clone(), text.into()).is_none(), "{name} comes twice");
            last = Some(name);
            ControlFlow::Continue(())
        }));
        all.expect("a flash that does not fail");
        let names = block_on(store.names(section)).expect("names");
        assert!(last.is_none_or(|last| names.into_iter().any(|key| format!("{key:?}") == last)));
    }
    contents
}

/// A text that is also JSON.
fn text(length: usize, number: u8) -> String {
    format!("\"{number}{}\"", "é".repeat(length / 2))
}
