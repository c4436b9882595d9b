//! A set of tools, in a few bytes.

use core::fmt;
use core::ops::ControlFlow;

use super::Registry;
use crate::hash::Fnv32;
use crate::limits;
use crate::text::Measure;

/// How many tools a word of the set has a bit for.
const WORD: usize = u32::BITS as usize;

/// Some of the tools that a registry offers, by their places in its order: of use as long as it offers the same ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ToolSet {
    /// A hash of the names in the registry's order.
    offered: u32,
    places: [u32; limits::TOOLS.div_ceil(WORD)],
}

impl ToolSet {
    /// No tools, of no registry.
    pub const EMPTY: Self = Self { offered: 0, places: [0; _] };

    /// None of the tools that are offered now.
    pub fn new(registry: &Registry) -> Self {
        let mut offered = Fnv32::new();
        registry.each(|name, _| {
            offered.add(name.bytes().chain([b'\n']));
            ControlFlow::Continue(())
        });
        Self { offered: offered.finish(), ..Self::EMPTY }
    }

    /// Adds the tool at this place.
    pub fn insert(&mut self, place: usize) {
        if let Some(word) = self.places.get_mut(place / WORD) {
            *word |= 1 << (place % WORD);
        }
    }

    /// Whether it has no tool.
    pub fn is_empty(&self) -> bool {
        self.places.iter().all(|word| *word == 0)
    }

    /// Adds the tools of another set, or takes its place if that one is of other tools. Returns whether one of them is new.
    pub fn join(&mut self, other: &Self) -> bool {
        let before = if self.offered == other.offered { *self } else { Self { places: [0; _], ..*other } };
        *self = before;
        for (word, more) in self.places.iter_mut().zip(other.places) {
            *word |= more;
        }
        *self != before
    }

    /// The set, or an empty one if the registry offers other tools by now.
    #[must_use]
    pub fn if_still_offered(self, registry: &Registry) -> Self {
        let none = Self::new(registry);
        if none.offered == self.offered { self } else { none }
    }

    /// Calls `visit` with the final name of each of its tools, until it breaks.
    pub fn each(&self, registry: &Registry, mut visit: impl FnMut(&str) -> ControlFlow<()>) {
        let mut place = 0..;
        registry.each(|name, _| {
            let place = place.next().unwrap_or(usize::MAX);
            let word = self.places.get(place / WORD).copied().unwrap_or_default();
            if word >> (place % WORD) & 1 == 1 { visit(name) } else { ControlFlow::Continue(()) }
        });
    }
}

/// The names of the tools in a set, with commas between them. What is too long for a sentence is cut and marked.
pub struct ToolNames<'a>(pub &'a ToolSet, pub &'a Registry);

impl fmt::Display for ToolNames<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        struct All<'a>(&'a ToolNames<'a>);
        impl fmt::Display for All<'_> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let ToolNames(set, registry) = self.0;
                let (mut separator, mut result) = ("", Ok(()));
                set.each(registry, |name| {
                    result = f.write_str(separator).and_then(|()| f.write_str(name));
                    separator = ", ";
                    if result.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
                });
                result
            }
        }
        Measure::Plain.write_marked(&All(self), limits::NOTICE / 2, "…", f)
    }
}
