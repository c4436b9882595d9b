//! Reads a JSON text of any length into a buffer of fixed size.
//!
//! Bytes are kept as they come. What does not fit is left out so that the rest is still JSON: a long string keeps its
//! beginning and gets a mark, and values after it are skipped, except for short ones near the root. So of a message that is
//! far too long, the id and the error flag are found wherever they stand. And the items of one list are handed out as they
//! come, so that it may be longer than any buffer:
//!
//! ```text
//!   {"jsonrpc":"2.0","result":{"tools":[{…},{…},{…}]},"id":7}          comes in
//!                                       └─┘ └─┘ └─┘                    handed out, each as it ends
//!   {"jsonrpc":"2.0","result":{"tools":[]},"id":7}                     is left when the text ends
//! ```
//!
//! The description of a tool that does not fit is shortened first. That does not count as a cut, because the tool can
//! still be called.
//!
//! Nothing is checked here: [`Value::parse`](super::Value::parse) does that with what was kept. A comma too many is not seen
//! by either. Written by hand because the
//! incremental parsers without `alloc` return events, and a message has to be read whole once its id is known.

mod state;

use self::state::{List, Position, Root, State, StringState};
use super::cut::escape_length;
use crate::limits;
use crate::text::{MARK, replace_invalid};

/// Where the lists are whose items are handed out: a member of the message, and its members.
const LISTS_IN: &str = "result";

/// A list whose items are handed out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ItemOf {
    /// The tools of the controller.
    Tools,
    /// Its resources.
    Resources,
}

impl ItemOf {
    const ALL: [(&'static str, Self); 2] = [("tools", Self::Tools), ("resources", Self::Resources)];
}

/// In place of a value that is nested deeper than [`limits::LINE_DEPTH`].
const TOO_DEEP: &[u8] = b"\"[cut: nested too deep]\"";

/// The member of a tool that is shortened, with its quotes.
const DESCRIPTION: &[u8] = b"\"description\"";

/// Marks the end of a description that was shortened.
const SHORTENED: &str = "…";

/// Short members of the message and of its members are always kept.
const SHALLOW: usize = 2;

/// The largest of them, with its name: `id`, `isError`, the name of a tool.
const SHORT: usize = 160;

/// Room that long values leave for short ones and for what ends the text.
pub(super) const RESERVE: usize = 512;

/// Room that nothing but marks and closing brackets take.
const ENDING: usize = limits::LINE_DEPTH + MARK.len() + TOO_DEEP.len() + 2;

const _: () = assert!(ENDING + 2 * SHORT < RESERVE && RESERVE < limits::LINE);
// One bit a level says whether it is an object.
const _: () = assert!(limits::LINE_DEPTH < u64::BITS as usize && limits::LINE_DEPTH <= limits::JSON_DEPTH);

/// Keeps as much of one JSON text as fits.
#[derive(Debug)]
pub struct Condenser {
    kept: [u8; limits::LINE],
    length: usize,
    state: State,
}

impl Condenser {
    /// Nothing has come yet.
    pub const fn new() -> Self {
        Self { kept: [0; limits::LINE], length: 0, state: State::NEW }
    }

    /// Begins another text.
    pub const fn clear(&mut self) {
        self.length = 0;
        self.state = State::NEW;
    }

    /// How many bytes have come.
    pub const fn total(&self) -> usize {
        self.state.total
    }

    /// Whether something was left out: of the [`item`](Self::item), if one just ended, or else of the text.
    pub const fn is_cut(&self) -> bool {
        self.state.is_cut
    }

    /// What was kept.
    pub fn text(&self) -> &[u8] {
        self.kept.get(..self.length).unwrap_or_default()
    }

    /// The item of the list that just ended. The next byte drops it.
    pub fn item(&self) -> &[u8] {
        let start = if self.state.list.has_item { self.state.list.start } else { self.length };
        let item = self.kept.get(start..self.length).unwrap_or_default();
        item.strip_prefix(b",").unwrap_or(item)
    }

    /// Which list the [`item`](Self::item) is of.
    pub const fn item_of(&self) -> ItemOf {
        self.state.list.of
    }

    /// Replaces what is not UTF-8 by question marks, unless the text is neither an object nor an array: a name in another
    /// encoding is no reason to lose an answer.
    pub fn mend(&mut self) {
        if self.state.root != Root::Plain {
            replace_invalid(self.kept.get_mut(..self.length).unwrap_or_default());
        }
    }

    /// Whether there was nothing but white space.
    pub fn is_blank(&self) -> bool {
        self.state.root == Root::Blank
    }

    /// Takes the next byte. Returns whether an [`item`](Self::item) of the list ends with it, which is an object or array.
    pub fn push(&mut self, byte: u8) -> bool {
        self.drop_item();
        self.state.total = self.state.total.saturating_add(1);
        match (self.state.root, byte) {
            (Root::Blank, b' ' | b'\t' | b'\r') | (Root::Plain, _) => {}
            (Root::Blank, b'{') => self.state.root = Root::Object,
            (Root::Blank, b'[') => self.state.root = Root::Batch,
            (Root::Blank, _) => self.state.root = Root::Plain,
            _ => {}
        }
        if let Root::Blank | Root::Plain = self.state.root {
            self.state.is_cut |= !self.keep(byte, limits::LINE);
            return false;
        }
        match (self.state.string, byte) {
            (StringState::Outside, _) => return self.push_outside(byte),
            (StringState::Inside, b'"') => self.state.string = StringState::Outside,
            (StringState::Inside, b'\\') => {
                self.state.string = StringState::Escaped;
                self.state.escape = self.length;
            }
            _ => self.state.string = StringState::Inside,
        }
        if self.state.skipped.is_none() {
            let is_text = self.state.position == Position::Value;
            self.keep_or_cut(byte, is_text);
            if self.state.skipped.is_none()
                && self.state.string == StringState::Outside
                && self.state.position == Position::Name
            {
                self.name_ended();
            }
        }
        false
    }

    /// A byte that is not in a string.
    fn push_outside(&mut self, byte: u8) -> bool {
        if byte == b'"' {
            self.state.string = StringState::Inside;
            self.state.escape = usize::MAX;
        }
        if let Some(depth) = self.state.skipped {
            match byte {
                b',' | b'}' | b']' if self.state.depth == depth => self.state.skipped = None,
                b'{' | b'[' => self.state.depth = self.state.depth.saturating_add(1),
                b'}' | b']' => self.state.depth = self.state.depth.saturating_sub(1),
                _ => {}
            }
            if self.state.skipped.is_some() {
                return false;
            }
        }
        match byte {
            // Of white space, only what the log may quote.
            b' ' | b'\t' | b'\r' => {
                let _ = self.keep(byte, limits::QUOTE);
            }
            b',' => self.state.position = Position::Between,
            b':' => {
                self.state.position = Position::Value;
                self.keep_or_cut(byte, false);
            }
            b'}' | b']' => return self.close(byte),
            _ => {
                if self.state.position == Position::Between {
                    self.begin();
                }
                match byte {
                    b'{' | b'[' => self.open(byte),
                    _ if self.state.skipped.is_none() => self.keep_or_cut(byte, false),
                    _ => {}
                }
            }
        }
        false
    }

    /// A member or an item begins.
    fn begin(&mut self) {
        let is_member = self.state.is_in_object();
        self.state.position = if is_member { Position::Name } else { Position::Value };
        let (start, was_empty, is_cut) = (self.length, self.state.is_empty, self.state.is_cut);
        (self.state.start, self.state.was_empty) = (start, was_empty);
        if self.state.is_in_list() {
            let list = self.state.list;
            self.state.list = List { start, was_empty, is_cut: list.is_cut | is_cut, description: 0, ..list };
            self.state.is_cut = false;
        }
        if self.state.is_full && !self.state.is_shallow() {
            return self.skip();
        }
        if self.state.depth > 0 && !self.state.is_empty {
            self.keep_or_cut(b',', false);
        }
        if self.state.skipped.is_none() {
            self.state.is_empty = false;
        }
    }

    fn open(&mut self, byte: u8) {
        let list = if byte == b'[' { self.list_here() } else { None };
        if self.state.skipped.is_none() {
            if self.state.is_full && self.state.level() >= SHALLOW {
                // In the reserve, only what leads to short members.
                self.skip();
            } else if self.state.depth == limits::LINE_DEPTH {
                self.replace(TOO_DEEP);
            } else {
                self.keep_or_cut(byte, false);
            }
        }
        self.state.depth = self.state.depth.saturating_add(1);
        if self.state.skipped.is_some() {
            return;
        }
        self.state.objects = self.state.objects << 1 | u64::from(byte == b'{');
        self.state.is_empty = true;
        self.state.position = Position::Between;
        if let Some(of) = list {
            let State { depth, is_cut, .. } = self.state;
            self.state.list = List { depth, is_cut, of, ..List::CLOSED };
        }
    }

    /// Returns whether an item of the list ends.
    fn close(&mut self, byte: u8) -> bool {
        if self.state.is_in_list() {
            self.state.is_cut |= self.state.list.is_cut;
            self.state.list = List::CLOSED;
        }
        // There is room, unless the text closes what was never open.
        let _ = self.keep(byte, limits::LINE);
        self.state.depth = self.state.depth.saturating_sub(1);
        self.state.objects >>= 1;
        self.state.is_empty = false;
        self.state.position = Position::Value;
        self.state.list.has_item = self.state.is_in_list();
        self.state.list.has_item
    }

    fn drop_item(&mut self) {
        let List { has_item, start, was_empty, .. } = self.state.list;
        if has_item {
            self.state.list.has_item = false;
            self.length = start;
            self.state.is_empty = was_empty;
            (self.state.is_cut, self.state.is_full) = (false, false);
        }
    }

    /// Keeps the byte, or leaves out what does not fit with it.
    fn keep_or_cut(&mut self, byte: u8, is_text: bool) {
        // The last of the room is for the members of the message itself.
        let last = if self.state.level() > 1 { SHORT } else { 0 };
        let short = (self.state.start + SHORT).min(limits::LINE - ENDING - last);
        let was_full = self.state.is_full;
        if !was_full && self.keep(byte, limits::LINE - RESERVE) {
            return;
        }
        if !was_full
            && self.shorten_description()
            && (self.state.skipped.is_some() || self.keep(byte, limits::LINE - RESERVE))
        {
            return;
        }
        self.state.is_full = true;
        if self.state.is_shallow() && self.keep(byte, short) {
            return;
        }
        if is_text && !was_full { self.cut_string() } else { self.skip() }
    }

    /// Ends the string here, with a mark.
    fn cut_string(&mut self) {
        // An escape is at most `\u` and four digits long.
        if self.length.saturating_sub(self.state.escape) < 6 {
            self.length = self.length.min(self.state.escape);
        }
        // Nor is half a character left.
        while let Some(0x80..0xC0) = self.text().last() {
            self.length -= 1;
        }
        if let Some(0xC0..) = self.text().last() {
            self.length -= 1;
        }
        for byte in MARK.bytes().chain([b'"']) {
            // There is room, which nothing else takes.
            let _ = self.keep(byte, limits::LINE);
        }
        self.leave_rest();
    }

    /// Shortens the description of the current item to [`limits::LINE_DESCRIPTION`] bytes. Returns whether that freed
    /// room.
    fn shorten_description(&mut self) -> bool {
        let name_end = core::mem::take(&mut self.state.list.description);
        let value = self.text().get(name_end..).unwrap_or_default();
        let before = value.iter().take_while(|byte| b": \t\r".contains(byte)).count();
        let Some((b'"', text)) = value.get(before..).and_then(<[u8]>::split_first).filter(|_| name_end > 0)
        else {
            return false;
        };
        let most = limits::LINE_DESCRIPTION - SHORTENED.len();
        // The last place for the mark, and the end of the text.
        let (mut cut, mut end) = (0, 0);
        let is_whole = loop {
            match text.get(end) {
                None => break false,
                Some(b'"') => break true,
                // Inside a character.
                Some(0x80..0xC0) => end += 1,
                Some(byte) => {
                    if end <= most {
                        cut = end;
                    }
                    let rest = text.get(end..).unwrap_or_default();
                    end += if *byte == b'\\' { escape_length(rest) } else { 1 };
                }
            }
        };
        let start = name_end + before + 1;
        let (cut, end) = (start + cut, (start + end).min(self.length));
        let marked = cut + SHORTENED.len();
        if end <= start + limits::LINE_DESCRIPTION {
            return false;
        }
        if let Some(mark) = self.kept.get_mut(cut..marked) {
            mark.copy_from_slice(SHORTENED.as_bytes());
        }
        self.kept.copy_within(end..self.length, marked);
        self.length -= end - marked;
        if is_whole {
            // The current member or item comes after the description.
            self.state.start = self.state.start.saturating_sub(end - marked);
            self.state.escape = self.state.escape.saturating_sub(end - marked);
        } else {
            let _ = self.keep(b'"', limits::LINE);
            self.state.skipped = Some(self.state.depth);
        }
        true
    }

    /// Leaves out the current member or item.
    fn skip(&mut self) {
        self.length = self.state.start;
        self.state.is_empty = self.state.was_empty;
        self.leave_rest();
    }

    /// Keeps `instead` in place of the current value.
    fn replace(&mut self, instead: &[u8]) {
        for byte in instead {
            if self.state.skipped.is_none() {
                self.keep_or_cut(*byte, false);
            }
        }
        self.leave_rest();
    }

    fn leave_rest(&mut self) {
        self.state.is_cut = true;
        self.state.skipped = Some(self.state.depth);
    }

    /// Keeps the byte if fewer than `most` are kept already.
    fn keep(&mut self, byte: u8, most: usize) -> bool {
        match self.kept.get_mut(..most).and_then(|room| room.get_mut(self.length)) {
            Some(room) => {
                *room = byte;
                self.length += 1;
                true
            }
            None => false,
        }
    }

    /// The name of a member was kept.
    fn name_ended(&mut self) {
        let index = self.state.level().wrapping_sub(1);
        // From after the comma, with its quotes.
        let start = self.state.start + usize::from(!self.state.was_empty);
        let is_of_tool = self.state.is_in_item() && self.state.list.of == ItemOf::Tools;
        if is_of_tool && self.text().get(start..) == Some(DESCRIPTION) {
            self.state.list.description = self.length;
        }
        if let Some(name) = self.state.names.get_mut(index) {
            *name = (start, self.length);
        }
    }

    /// The list that the array which opens here is, if it is one whose items are handed out.
    fn list_here(&self) -> Option<ItemOf> {
        let is_possible = self.state.level() == SHALLOW
            && self.state.is_in_object()
            && self.state.skipped.is_none()
            && self.state.position == Position::Value;
        let [outer, inner] = self.state.names.map(|(start, end)| {
            let name = self.kept.get(start..end).unwrap_or_default();
            name.strip_prefix(b"\"").and_then(|name| name.strip_suffix(b"\"")).unwrap_or_default()
        });
        let mut lists = ItemOf::ALL.into_iter().filter(|_| is_possible && outer == LISTS_IN.as_bytes());
        lists.find(|(name, _)| inner == name.as_bytes()).map(|(_, of)| of)
    }
}
