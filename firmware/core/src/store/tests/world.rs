//! A store, and a map that says what should be in it.

use std::boxed::Box;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::string::{String, ToString};
use std::vec::Vec;

use embassy_futures::block_on;

use super::mock::Mock;
use crate::store::{Key, Opened, Scope, Section, Store, StoreBuffers, StoreError};

/// What a test works with: every kind of key, and names that start alike.
pub(super) const KEYS: [Key<'static>; 9] = [
    Key::Setting("broker"),
    Key::Setting("broker.port"),
    Key::Flag(Scope::Global, "quiet"),
    Key::Flag(Scope::Global, "dark mode"),
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

pub(super) type Model = BTreeMap<Key<'static>, String>;

/// Something to do.
#[derive(Clone, Copy, Debug)]
pub(super) enum Step {
    /// Sets a key to a text that its length and number decide.
    Set {
        key: usize,
        length: usize,
        number: u32,
    },
    Delete(usize),
    EraseAll,
}

/// A text that is also JSON.
pub(super) fn text(length: usize, number: u32) -> String {
    let number = number.to_string();
    std::format!("\"{number}{}\"", "é".repeat(length.saturating_sub(number.len() + 2) / 2))
}

impl Step {
    /// What the model becomes.
    pub(super) fn apply(self, model: &mut Model) {
        match self {
            Self::Set { key, length, number } => {
                model.insert(KEYS[key], text(length, number));
            }
            Self::Delete(key) => {
                model.remove(&KEYS[key]);
            }
            Self::EraseAll => model.clear(),
        }
    }

    pub(super) async fn run<const PAGE: usize>(
        self,
        store: &mut Store<'_, &mut Mock<PAGE>>,
    ) -> Result<(), StoreError> {
        match self {
            Self::Set { key, length, number } => store.set(KEYS[key], &text(length, number)).await,
            Self::Delete(key) => store.delete(KEYS[key]).await.map(drop),
            Self::EraseAll => store.erase_all().await,
        }
    }
}

/// Everything in the store, read in both ways that there are. They have to agree.
pub(super) fn contents<const PAGE: usize>(store: &mut Store<'_, &mut Mock<PAGE>>) -> Model {
    let mut model = Model::new();
    let mut order = Vec::new();
    for section in SECTIONS {
        block_on(store.each(section, &mut |key, text| {
            let known = *KEYS.iter().find(|known| **known == key).expect("a key of this test");
            assert!(model.insert(known, text.into()).is_none(), "{key:?} comes twice");
            order.push(known);
            ControlFlow::Continue(())
        }))
        .unwrap();
    }
    let names: Vec<_> = SECTIONS
        .iter()
        .flat_map(|section| {
            let names = block_on(store.names(*section)).unwrap();
            names.map(|key| *KEYS.iter().find(|known| **known == key).unwrap()).collect::<Vec<_>>()
        })
        .collect();
    assert_eq!(names, order, "names and entries are the same, in the same order");
    assert!(order.is_sorted());
    model
}

/// A store on a flash that is running, opened.
pub(super) fn open<'a, const PAGE: usize>(
    flash: &'a mut Mock<PAGE>,
    memory: &'a mut StoreBuffers,
) -> (Store<'a, &'a mut Mock<PAGE>>, Result<Opened, StoreError>) {
    let mut store = Store::new(flash, memory);
    let opened = block_on(store.open());
    (store, opened)
}

pub(super) fn memory() -> Box<StoreBuffers> {
    Box::new(StoreBuffers::new())
}
