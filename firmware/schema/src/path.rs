//! The path from the parameters to a value inside them.

use crate::limits::PATH;
use hub_json::Text;

/// A path such as `target.rooms[2]`. Empty for the parameters as a whole; what does not fit is cut and marked
/// with `…`.
#[derive(Clone, Debug)]
pub struct Path {
    text: heapless::String<PATH>,
    cut: bool,
    /// Whether it leads to the name of the last member, not to its value.
    to_name: bool,
}

/// A length to go back to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mark {
    len: usize,
    cut: bool,
    to_name: bool,
}

impl Path {
    const MORE: char = '…';

    pub(super) const fn new() -> Self {
        Self { text: heapless::String::new(), cut: false, to_name: false }
    }

    /// The path as text.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    pub(super) fn mark(&self) -> Mark {
        Mark { len: self.text.len(), cut: self.cut, to_name: self.to_name }
    }

    /// Goes back to `mark`, which is a part of this path.
    pub(super) fn rewind(&mut self, mark: Mark) {
        self.text.truncate(mark.len);
        self.cut = mark.cut;
        self.to_name = mark.to_name;
    }

    /// Goes on to the member `name`, and there to the name itself.
    pub(super) fn enter_name(&mut self, name: Text<'_>) {
        self.enter(name);
        self.to_name = true;
    }

    /// Whether it leads to the name of a member, not to its value.
    pub(super) const fn is_to_name(&self) -> bool {
        self.to_name
    }

    /// Goes on to the member `name`.
    pub(super) fn enter(&mut self, name: Text<'_>) {
        if !self.text.is_empty() {
            self.push('.');
        }
        for character in name.chars() {
            if self.cut {
                break;
            }
            self.push(character);
        }
    }

    /// Goes on to the item at `index`.
    pub(super) fn enter_item(&mut self, index: usize) {
        let mut unit = 1;
        while index / unit >= 10 {
            unit *= 10;
        }
        self.push('[');
        // No `core::fmt`: this is done for every item, and hardly ever shown.
        while unit > 0 {
            self.push(char::from(b'0' + (index / unit % 10) as u8));
            unit /= 10;
        }
        self.push(']');
    }

    fn push(&mut self, character: char) {
        let room = PATH.saturating_sub(self.text.len());
        if self.cut {
            return;
        }
        self.cut = room < character.len_utf8() + Self::MORE.len_utf8();
        // There is always room for the mark, because it was left free.
        let _ = self.text.push(if self.cut { Self::MORE } else { character });
    }
}
