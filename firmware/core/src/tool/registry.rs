//! All tools, by their final names.

use core::cell::RefCell;
use core::fmt;
use core::ops::ControlFlow;

use super::definition::Hints;
use super::texts::{Span, TextArena};
use super::{Counts, Execution, Implementation, Tool};
use crate::json::{Kind, Text, Value};
use crate::limits;
use crate::log::{debug, info, warn};
use crate::schema;

/// A tool's final name: the prefix, an underscore, its own name.
pub type Name = heapless::String<{ limits::TOOL_NAME }>;

/// The tool was refused: there is no room, or its final name is too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;

/// A tool in the controller's list.
#[derive(Clone, Copy, Debug)]
pub struct Discovered<'a> {
    /// As it is called.
    pub name: Text<'a>,
    /// What it is for.
    pub description: Text<'a>,
    /// What arguments it takes.
    pub schema: Option<Value<'a>>,
    /// Its effects.
    pub hints: Hints,
}

/// Why a tool of the controller's is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeftOut {
    /// Its name is empty, longer than [`limits::TOOL_NAME`], or has other characters than letters, digits, `_` and
    /// `-`: the providers of models refuse it.
    Name,
    /// The hub has a tool of that name itself.
    Taken,
    /// Its schema is not an object.
    Schema,
    /// It runs only as a task of MCP's, which is asked for its result later.
    Task,
    /// It is longer than [`limits::LINE`].
    Long,
    /// There are as many tools as there can be.
    Count,
    /// Its texts do not fit beside those of the others.
    Texts,
}

impl LeftOut {
    /// In words, for people.
    pub const fn text(self) -> &'static str {
        match self {
            Self::Name => "providers refuse its name",
            Self::Taken => "the hub has a tool of that name itself",
            Self::Schema => "its schema is not an object",
            Self::Task => "it runs only as a task, and the hub waits for results",
            Self::Long => "its description and schema are longer than the hub can read",
            Self::Count => "there are too many tools",
            Self::Texts => "its description and schema do not fit beside those of the other tools",
        }
    }
}

/// All tools that can be called. A lookup is a linear search: with [`limits::TOOLS`] of them that takes less time than
/// reading the call, and no memory for an index.
///
/// Shared within one hub: tools are read in a closure, which must not change them.
pub struct Registry {
    contents: RefCell<Contents>,
}

#[derive(Debug)]
struct Contents {
    tools: heapless::Vec<Entry, { limits::TOOLS }>,
    texts: TextArena,
    prefix: Prefix,
    /// Why tools may be missing, for a person. The controller is away then, and its tools only keep their names.
    absence: Option<&'static str>,
    /// A tool of the list that is being received had no room.
    lacked_room: bool,
    /// Some of the controller's tools are left out.
    has_left_out: bool,
}

#[derive(Debug)]
enum Entry {
    Own(&'static Tool<'static>, Counts),
    Controllers {
        texts: Span,
        counts: Counts,
        hints: Hints,
        /// Not in the list that is being received, so far.
        is_old: bool,
        /// Left out. It only keeps its name from being that of one of the hub's own tools.
        is_reserved: bool,
    },
}

/// A list of the controller's tools that is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Listed {
    /// How many of its tools can be called.
    pub tools: usize,
    /// Tools of the list before took the room of some that were left out. They are gone now: receiving the list again helps.
    has_room_now: bool,
}

impl Listed {
    /// Whether there would be room for more of its tools if it were received again.
    pub const fn is_worth_repeating(&self) -> bool {
        self.has_room_now
    }
}

type Prefix = heapless::String<{ limits::TOOL_PREFIX }>;

impl Registry {
    /// No tools, and no prefix.
    pub const fn new() -> Self {
        Self {
            contents: RefCell::new(Contents {
                tools: heapless::Vec::new(),
                texts: TextArena::new(),
                prefix: Prefix::new(),
                absence: None,
                lacked_room: false,
                has_left_out: false,
            }),
        }
    }

    /// Removes all tools, and sets the prefix for those to come. One that is too long is ignored and logged.
    pub fn reset(&self, prefix: &str) {
        self.change(|contents| {
            contents.tools.clear();
            contents.texts.compact(&mut []);
            contents.absence = None;
            contents.prefix = Prefix::try_from(prefix).unwrap_or_else(|_| {
                warn!("tools: the prefix {} is too long and left out", prefix);
                Prefix::new()
            });
        });
    }

    /// Adds one of the hub's own tools. It replaces one of the same final name, which is logged; so is a lack of room.
    pub fn register(&self, tool: &'static Tool<'static>) -> Result<(), Full> {
        self.change(|contents| contents.register(tool)).unwrap_or(Err(Full))
    }

    /// Calls `look` with the tool of this final name, or else of this undecorated one.
    pub fn look<T>(&self, name: &str, look: impl FnOnce(&Tool<'_>) -> T) -> Option<T> {
        let contents = self.contents.try_borrow().ok()?;
        contents.find(name).map(|entry| look(&contents.tool(entry)))
    }

    /// The names of the tool that is run if this one is called, final and undecorated.
    pub fn names<T>(&self, name: &str, look: impl FnOnce([&str; 2]) -> T) -> Option<T> {
        let contents = self.contents.try_borrow().ok()?;
        contents.find(name).map(|entry| contents.show(entry, |name, tool| look([name, tool.name])))
    }

    /// Calls `visit` with all tools that are offered and their final names, until it breaks. Those of the controller come
    /// first: where not all fit, some of the hub's own are missed least.
    pub fn each(&self, mut visit: impl FnMut(&str, &Tool<'_>) -> ControlFlow<()>) {
        let Ok(contents) = self.contents.try_borrow() else { return };
        let is_own = |entry: &&Entry| matches!(entry, Entry::Own(..));
        let controllers = contents.offered().filter(|entry| !is_own(entry));
        for entry in controllers.chain(contents.offered().filter(is_own)) {
            if contents.show(entry, &mut visit).is_break() {
                break;
            }
        }
    }

    /// Counts an executed call.
    pub fn count(&self, execution: &Execution) {
        self.change(|contents| {
            let entry = contents.index(&execution.name).and_then(|index| contents.tools.get_mut(index));
            if let Some(Entry::Own(_, counts) | Entry::Controllers { counts, .. }) = entry {
                counts.add(execution.success, execution.milliseconds);
            }
        });
    }

    /// Calls `visit` with the final name of every tool that was called, and its counts, until it breaks. A tool that left
    /// has none any more.
    pub fn each_count(&self, visit: &mut dyn FnMut(&str, &Counts) -> ControlFlow<()>) {
        let Ok(contents) = self.contents.try_borrow() else { return };
        for entry in &contents.tools {
            let (Entry::Own(_, counts) | Entry::Controllers { counts, .. }) = entry;
            if counts.calls > 0 && contents.show(entry, |name, _| visit(name, counts)).is_break() {
                break;
            }
        }
    }

    /// Whether a call of this name can be answered now: it is neither unknown nor of a controller that is away.
    pub fn offers(&self, name: &str) -> bool {
        let contents = self.contents.try_borrow();
        contents.is_ok_and(|contents| contents.find(name).is_some_and(|entry| contents.is_offered(entry)))
    }

    /// Whether it is a tool of the controller's that is left out.
    pub fn is_left_out(&self, name: &str) -> bool {
        let is_reserved = |entry: &Entry| matches!(entry, Entry::Controllers { is_reserved: true, .. });
        self.contents.try_borrow().is_ok_and(|contents| contents.find(name).is_some_and(is_reserved))
    }

    /// How many are offered.
    pub fn len(&self) -> usize {
        self.contents.try_borrow().map_or(0, |contents| contents.offered().count())
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Why a tool may be missing, for a person.
    pub fn absence(&self) -> Option<&'static str> {
        let contents = self.contents.try_borrow().ok()?;
        let left_out = "The hub had to leave out some of the controller's tools; its log names them.";
        contents.absence.or(contents.has_left_out.then_some(left_out))
    }

    /// A list of the controller's tools begins. The old ones stay until it is complete.
    pub fn list_begins(&self) {
        self.change(|contents| {
            contents.lacked_room = false;
            contents.has_left_out = false;
            for entry in &mut contents.tools {
                if let Entry::Controllers { is_old, .. } = entry {
                    *is_old = true;
                }
            }
        });
    }

    /// Adds a tool of the list. It replaces one of the same name.
    pub fn learn(&self, tool: Discovered<'_>) -> Result<(), LeftOut> {
        self.change(|contents| contents.learn(tool)).unwrap_or(Err(LeftOut::Count))
    }

    /// A tool of the list is left out: whoever calls it must not reach one of the hub's own.
    pub fn reserve(&self, name: Text<'_>) {
        self.change(|contents| contents.reserve(name));
    }

    /// The list is complete: what was not in it is gone.
    pub fn list_ends(&self) -> Listed {
        self.change(|contents| {
            contents.absence = None;
            let before = contents.tools.len();
            contents.tools.retain(|entry| !matches!(entry, Entry::Controllers { is_old: true, .. }));
            let has_room_now = contents.lacked_room && contents.tools.len() < before;
            let is_callable = |entry: &&Entry| matches!(entry, Entry::Controllers { is_reserved: false, .. });
            Listed { tools: contents.tools.iter().filter(is_callable).count(), has_room_now }
        })
        .unwrap_or(Listed { tools: 0, has_room_now: false })
    }

    /// The controller is gone, and its tools are offered no more; `absence` says so to a person. Their names stay its own
    /// until its next list is complete: whoever calls one must not reach another tool.
    pub fn controller_left(&self, absence: &'static str) {
        self.list_begins();
        self.change(|contents| contents.absence = Some(absence));
    }

    fn change<T>(&self, change: impl FnOnce(&mut Contents) -> T) -> Option<T> {
        self.contents.try_borrow_mut().ok().map(|mut contents| change(&mut contents))
    }
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registry").field("tools", &self.len()).finish_non_exhaustive()
    }
}

impl Contents {
    fn register(&mut self, tool: &'static Tool<'static>) -> Result<(), Full> {
        let Some(name) = self.decorated(tool) else {
            warn!("tools: {} is left out, its name is too long", tool.name);
            return Err(Full);
        };
        log_unknown_keywords(tool.name, tool.schema);
        if let Some(index) = self.position(&name) {
            warn!("tools: {} was registered before; the new one takes its place", tool.name);
            if let Some(entry) = self.tools.get_mut(index) {
                *entry = Entry::Own(tool, Counts::NONE);
            }
            return Ok(());
        }
        if self.tools.push(Entry::Own(tool, Counts::NONE)).is_err() {
            warn!("tools: {} is left out, there is room for {} only", tool.name, limits::TOOLS);
            return Err(Full);
        }
        debug!("tools: {} registered", tool.name);
        Ok(())
    }

    /// The final name of one of the hub's own tools, unless it is too long.
    fn decorated(&self, tool: &Tool<'_>) -> Option<Name> {
        let mut name = Name::new();
        for part in self.parts(tool) {
            name.push_str(part).ok()?;
        }
        Some(name)
    }

    /// The parts of the final name of one of the hub's own tools.
    fn parts<'a>(&'a self, tool: &Tool<'a>) -> [&'a str; 3] {
        match tool.prefix.unwrap_or(&self.prefix) {
            "" => ["", "", tool.name],
            prefix => [prefix, "_", tool.name],
        }
    }

    /// The index of the tool of this final name.
    fn position(&self, name: &str) -> Option<usize> {
        self.tools.iter().position(|entry| match entry {
            Entry::Own(tool, _) => {
                // From the end, where most names differ.
                let [prefix, separator, own] = self.parts(tool);
                name.strip_suffix(own).and_then(|rest| rest.strip_suffix(separator)) == Some(prefix)
            }
            Entry::Controllers { texts, .. } => self.texts.get(texts)[0] == name,
        })
    }

    const fn is_offered(&self, entry: &Entry) -> bool {
        match entry {
            Entry::Own(..) => true,
            Entry::Controllers { is_reserved, .. } => !*is_reserved && self.absence.is_none(),
        }
    }

    fn offered(&self) -> impl Iterator<Item = &Entry> {
        self.tools.iter().filter(|entry| self.is_offered(entry))
    }

    fn find(&self, name: &str) -> Option<&Entry> {
        self.index(name).and_then(|index| self.tools.get(index))
    }

    /// The index of the tool of this final name, or else of this undecorated one.
    fn index(&self, name: &str) -> Option<usize> {
        let undecorated = |has_own_prefix: bool| {
            self.tools.iter().position(|entry| {
                matches!(entry, Entry::Own(tool, _) if tool.name == name && tool.prefix.is_some() == has_own_prefix)
            })
        };
        self.position(name).or_else(|| undecorated(false)).or_else(|| undecorated(true))
    }

    /// Calls `visit` with a tool and its final name.
    fn show<T>(&self, entry: &Entry, visit: impl FnOnce(&str, &Tool<'_>) -> T) -> T {
        let tool = self.tool(entry);
        let decorated = match entry {
            Entry::Own(tool, _) => self.decorated(tool),
            Entry::Controllers { .. } => None,
        };
        visit(decorated.as_deref().unwrap_or(tool.name), &tool)
    }

    fn tool<'a>(&'a self, entry: &'a Entry) -> Tool<'a> {
        match entry {
            Entry::Own(tool, _) => Tool { ..**tool },
            Entry::Controllers { texts, hints, .. } => {
                let [name, description, schema] = self.texts.get(texts);
                let implementation = Implementation::Mcp;
                Tool { name, description, schema, hints: *hints, implementation, ..Tool::PLAIN }
            }
        }
    }

    fn learn(&mut self, tool: Discovered<'_>) -> Result<(), LeftOut> {
        let name: Name = tool.name.decode().filter(|name| suits_providers(name)).ok_or(LeftOut::Name)?;
        let schema = match tool.schema {
            Some(schema) if schema.kind() == Kind::Object => schema.text(),
            Some(_) => return Err(LeftOut::Schema),
            None => Tool::PLAIN.schema,
        };
        if let Some(index) = self.position(&name) {
            match self.tools.get_mut(index) {
                Some(Entry::Controllers { texts, is_old, hints, is_reserved, .. }) => {
                    let [_, description, old_schema] = self.texts.get(texts);
                    let same = tool.description == *description;
                    if !*is_old {
                        warn!("tools: {} was registered before; the new one takes its place", name.as_str());
                    }
                    if same && old_schema == schema && !*is_reserved {
                        *hints = tool.hints;
                        *is_old = false;
                        return Ok(());
                    }
                    let mut indices = 0..;
                    self.tools.retain(|_| indices.next() != Some(index));
                }
                _ => return Err(LeftOut::Taken),
            }
        }
        // Tools of the list before may take up the room. They stay until this one is complete: they may be on it.
        if self.tools.len() == limits::TOOLS {
            self.lacked_room = true;
            return Err(LeftOut::Count);
        }
        log_unknown_keywords(&name, schema);
        let add = |texts: &mut TextArena| {
            let describe = |room: &mut [u8]| Some(tool.description.decode_into(room)?.len());
            texts.add(&name, describe, schema)
        };
        let mut texts = add(&mut self.texts);
        if texts.is_none() {
            // Gaps may take up the room.
            self.compact();
            texts = add(&mut self.texts);
        }
        self.lacked_room |= texts.is_none();
        let texts = texts.ok_or(LeftOut::Texts)?;
        let (hints, counts) = (tool.hints, Counts::NONE);
        let entry = Entry::Controllers { texts, counts, hints, is_old: false, is_reserved: false };
        self.tools.push(entry).map_err(|_| LeftOut::Count)
    }

    fn reserve(&mut self, name: Text<'_>) {
        self.has_left_out = true;
        let Some(name) = name.decode::<{ limits::TOOL_NAME }>() else { return };
        if let Some(index) = self.position(&name) {
            match self.tools.get_mut(index) {
                // It was left out before.
                Some(Entry::Controllers { is_old, is_reserved: true, .. }) => *is_old = false,
                // It could be called before, and is another one now.
                Some(Entry::Controllers { is_reserved, is_old, .. }) => {
                    (*is_reserved, *is_old) = (true, false)
                }
                _ => {}
            }
        } else if self.find(&name).is_some()
            && let Some(texts) = self.texts.add(&name, |_| Some(0), "")
        {
            let (hints, counts) = (Hints::default(), Counts::NONE);
            let entry = Entry::Controllers { texts, counts, hints, is_old: false, is_reserved: true };
            // Without room the hub's own tool keeps the name.
            let _ = self.tools.push(entry);
        }
    }

    fn compact(&mut self) {
        let mut wanted: heapless::Vec<&mut Span, { limits::TOOLS }> = self
            .tools
            .iter_mut()
            .filter_map(|entry| match entry {
                Entry::Controllers { texts, .. } => Some(texts),
                Entry::Own(..) => None,
            })
            .collect();
        self.texts.compact(&mut wanted);
    }
}

/// Logs which keywords of a schema are not checked.
fn log_unknown_keywords(name: &str, schema: &str) {
    if let Ok(schema) = Value::parse(schema.as_bytes()) {
        for keyword in schema::unknown_keywords(schema) {
            let keyword = keyword.excerpt::<{ limits::QUOTE }>();
            info!("tools: {} has a schema with {}, which is not checked", name, keyword.as_str());
        }
    }
}

fn suits_providers(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-')
}
