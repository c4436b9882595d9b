//! Where in a text the next byte is.

use super::{ItemOf, SHALLOW};

/// Where in the text the next byte is.
#[derive(Debug)]
pub(super) struct State {
    /// How many bytes have come.
    pub(super) total: usize,
    pub(super) root: Root,
    pub(super) depth: usize,
    /// One bit for each open bracket, the innermost last: whether it opened an object.
    pub(super) objects: u64,
    pub(super) string: StringState,
    pub(super) position: Position,
    /// Where the last escape in a string begins.
    pub(super) escape: usize,
    /// Where the current member or item begins, with its comma.
    pub(super) start: usize,
    /// The open object or array has no members or items yet, or had none before the current one.
    pub(super) is_empty: bool,
    pub(super) was_empty: bool,
    /// Where the names of the current members are, down to the list.
    pub(super) names: [(usize, usize); SHALLOW],
    /// The current member or item of this depth is skipped.
    pub(super) skipped: Option<usize>,
    /// Something did not fit. From now on only short members are kept.
    pub(super) is_full: bool,
    /// Something was left out: of the text, or of the current item of the list.
    pub(super) is_cut: bool,
    pub(super) list: List,
}

/// What the text is, as far as its first byte shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Root {
    /// There was nothing but white space.
    Blank,
    /// Neither an object nor an array. It is kept as it is.
    Plain,
    Object,
    /// An array of messages.
    Batch,
}

/// The list.
// Not an `Option`: nothing would not be all zeros, and a new hub's memory is.
#[derive(Clone, Copy, Debug)]
pub(super) struct List {
    /// Of its items. Zero while it is not open.
    pub(super) depth: usize,
    /// Where the current item begins, with its comma.
    pub(super) start: usize,
    /// There is none before it in the kept text.
    pub(super) was_empty: bool,
    /// The kept text ends with an item that was handed out.
    pub(super) has_item: bool,
    /// Something was left out of the text, items aside.
    pub(super) is_cut: bool,
    /// Which one it is.
    pub(super) of: ItemOf,
    /// Where the name of the current item's description ends. Zero if there is no description that can be shortened.
    pub(super) description: usize,
}

impl List {
    pub(super) const CLOSED: Self = Self {
        depth: 0,
        start: 0,
        was_empty: false,
        has_item: false,
        is_cut: false,
        of: ItemOf::Tools,
        description: 0,
    };
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StringState {
    Outside,
    Inside,
    /// After a backslash.
    Escaped,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Position {
    /// Before a member or an item.
    Between,
    /// In the name of a member.
    Name,
    /// In a value.
    Value,
}

impl State {
    pub(super) const NEW: Self = Self {
        total: 0,
        root: Root::Blank,
        depth: 0,
        objects: 0,
        string: StringState::Outside,
        position: Position::Between,
        escape: 0,
        start: 0,
        is_empty: false,
        was_empty: false,
        names: [(0, 0); SHALLOW],
        skipped: None,
        is_full: false,
        is_cut: false,
        list: List::CLOSED,
    };

    /// How deep a member of this depth is in its message; those of the message itself are at 1.
    pub(super) fn level(&self) -> usize {
        self.depth.saturating_sub(usize::from(self.root == Root::Batch))
    }

    /// Whether an item of the list is the current one.
    pub(super) const fn is_in_list(&self) -> bool {
        self.depth > 0 && self.list.depth == self.depth
    }

    /// Whether the current member is one of an item of the list.
    pub(super) const fn is_in_item(&self) -> bool {
        self.list.depth > 0 && self.depth == self.list.depth + 1
    }

    pub(super) fn is_in_object(&self) -> bool {
        self.objects & 1 == 1
    }

    /// Whether short values are always kept here. Items are not: there may be any number of them.
    pub(super) fn is_shallow(&self) -> bool {
        let is_near = self.level() <= SHALLOW || self.is_in_item();
        is_near && (self.is_in_object() || self.level() == 0)
    }
}
