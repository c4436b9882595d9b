//! All tools, by their final names.

use core::cell::{Cell, RefCell};
use core::fmt;
use core::ops::ControlFlow;

use super::definition::Hints;
use super::learn::{Preference, Rank};
use super::texts::{Span, TextArena};
use super::{CallCounts, Execution, Implementation, Tool};
use crate::json::{Text, Value};
use crate::limits;
use crate::log::{debug, info, warn};
use crate::schema;

/// A tool's final name: the prefix, an underscore, its own name.
pub type Name = heapless::String<{ limits::TOOL_NAME }>;

/// The tool was refused: there is no room, or its final name is too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;

/// Why tools of the controller may be missing while it is connected, for a person.
pub(crate) const LEFT_OUT: &str = "The hub had to leave out some of the controller's tools. The setting controller.tools \
     chooses which it keeps.";

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
    /// The name is empty, longer than [`limits::TOOL_NAME`], or contains characters other than letters, digits, `_`,
    /// `-` and `.`.
    Name,
    /// The hub has a tool of that name itself.
    Taken,
    /// Its schema is not an object.
    Schema,
    /// It runs only as a task of MCP's, which is asked for its result later.
    Task,
    /// It is longer than [`limits::LINE`], even with a description of [`limits::LINE_DESCRIPTION`].
    Long,
    /// There are as many tools as there can be.
    Count,
    /// Its texts do not fit beside those of the others.
    Texts,
    /// The tool had to make room for a preferred one.
    Preferred,
}

impl LeftOut {
    /// In words, for people.
    pub const fn text(self) -> &'static str {
        match self {
            Self::Name => "providers refuse its name",
            Self::Taken => "the hub has a tool of that name itself",
            Self::Schema => "its schema is not an object",
            Self::Task => "it runs only as a task, and the hub waits for results",
            Self::Long => "its definition is longer than the hub can read",
            Self::Count => "there are too many tools",
            Self::Preferred => "it makes room for a tool that the settings prefer",
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
    is_outdated: Cell<bool>,
}

#[derive(Debug)]
pub(super) struct Contents {
    /// The controller's tools are in the order of their ranks.
    pub(super) tools: heapless::Vec<Entry, { limits::TOOLS }>,
    pub(super) texts: TextArena,
    pub(super) preference: Preference,
    prefix: Prefix,
    /// Why tools may be missing, for a person. The controller is away then, and its tools only keep their names.
    absence: Option<&'static str>,
    /// A tool of the list that is being received had no room.
    pub(super) lacked_room: bool,
    /// The smallest length of a tool that is missing from this list for lack of room, or zero.
    pub(super) least_missing: usize,
    /// The last list was requested again because a tool that it left out would fit.
    is_repeated: bool,
    /// Descriptions were cut.
    pub(super) has_cut: bool,
    /// Tools of the previous list took up room during the last one. Cut descriptions may fit now.
    pub(super) has_room_again: bool,
    /// Some of the controller's tools are left out.
    pub(super) has_left_out: bool,
    /// No list of the controller's tools has been complete since the link started, so any unknown name may be one of
    /// them.
    pub(super) is_awaited: bool,
    /// Counts the changes of what tools of the controller do.
    pub(super) version: u32,
}

#[derive(Debug)]
pub(super) enum Entry {
    Own(&'static Tool<'static>, CallCounts),
    Controllers {
        texts: Span,
        counts: CallCounts,
        hints: Hints,
        /// How much the tool is preferred.
        rank: Rank,
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
    /// Tools that are not in the list any more took the room of others, which were left out or cut. Now there is room:
    /// the list should be requested again.
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
                preference: Preference::new(),
                prefix: Prefix::new(),
                absence: None,
                lacked_room: false,
                least_missing: 0,
                is_repeated: false,
                has_cut: false,
                has_room_again: false,
                has_left_out: false,
                is_awaited: false,
                version: 0,
            }),
            is_outdated: Cell::new(false),
        }
    }

    /// The controller has notified of other tools, or its list is complete again.
    pub(crate) fn set_outdated(&self, is_outdated: bool) {
        self.is_outdated.set(is_outdated);
    }

    /// Whether the controller's tools have changed and are not known yet.
    pub(crate) fn is_outdated(&self) -> bool {
        self.is_outdated.get()
    }

    /// Removes all tools, and sets the prefix for those to come. One that is too long is ignored and logged.
    pub fn reset(&self, prefix: &str) {
        self.is_outdated.set(false);
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

    /// Whether models can call the tool, that is, the name under which they see it belongs to no other tool.
    pub(super) fn is_callable_by_models(&self, name: &str) -> bool {
        let contents = self.contents.try_borrow();
        contents.is_ok_and(|contents| contents.index_for_models(name) == contents.index(name))
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

    /// Changes whenever the controller defines one of its tools in another way.
    pub fn version(&self) -> u32 {
        self.contents.try_borrow().map_or(0, |contents| contents.version)
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

    /// Whether the tool of this name was ever called.
    pub fn was_called(&self, name: &str) -> bool {
        let contents = self.contents.try_borrow();
        contents.is_ok_and(|contents| {
            let Some(Entry::Own(_, counts) | Entry::Controllers { counts, .. }) = contents.find(name) else {
                return false;
            };
            counts.calls > 0
        })
    }

    /// Calls `visit` with the final name of every tool that was called, and its counts, until it breaks. A tool that left
    /// has none any more.
    pub fn each_count(&self, visit: &mut dyn FnMut(&str, &CallCounts) -> ControlFlow<()>) {
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
        contents.absence.or(contents.has_left_out.then_some(LEFT_OUT))
    }

    /// Whether a tool that is not offered may be one of the connected controller's that the hub had to leave out.
    pub(crate) fn has_left_out(&self) -> bool {
        self.contents.try_borrow().is_ok_and(|contents| contents.absence.is_none() && contents.has_left_out)
    }

    /// A list of the controller's tools begins. The old ones stay until it is complete.
    pub fn list_begins(&self) {
        self.change(|contents| {
            contents.lacked_room = false;
            contents.least_missing = 0;
            contents.has_left_out = false;
            for entry in &mut contents.tools {
                if let Entry::Controllers { is_old, .. } = entry {
                    *is_old = true;
                }
            }
        });
    }

    /// Sets the names or patterns, separated by commas, of the controller's tools to keep first. This takes effect with
    /// the controller's next list.
    pub fn prefer(&self, patterns: &str) {
        self.change(|contents| contents.preference.set_patterns(patterns));
    }

    /// Notes that a rule allows this tool. A tool of the controller is then kept before those that are not preferred.
    pub fn prefer_allowed(&self, name: Text<'_>) {
        self.change(|contents| contents.preference.allow(name.chars()));
    }

    /// Adds a tool of the list. It replaces a tool of the same name. Calls `dropped` with the name of each less
    /// preferred tool that makes room for it.
    pub fn learn(&self, tool: Discovered<'_>, dropped: &mut dyn FnMut(&str)) -> Result<(), LeftOut> {
        self.change(|contents| contents.learn(tool, dropped)).unwrap_or(Err(LeftOut::Count))
    }

    /// A tool of the list is left out: whoever calls it must not reach one of the hub's own.
    pub fn reserve(&self, name: Text<'_>) {
        self.change(|contents| {
            contents.has_left_out = true;
            if let Some(name) = name.decode::<{ limits::TOOL_NAME }>() {
                contents.reserve(&name);
            }
        });
    }

    /// The list is complete: what was not in it is gone.
    pub fn list_ends(&self) -> Listed {
        self.change(|contents| {
            contents.absence = None;
            contents.is_awaited = false;
            let before = contents.tools.len();
            contents.tools.retain(|entry| !matches!(entry, Entry::Controllers { is_old: true, .. }));
            let is_short = contents.lacked_room || contents.has_cut;
            // A preferred tool may have pushed out more than it needed. That is tried once, so that it ends.
            let would_fit = contents.least_missing > 0 && contents.has_room_for(contents.least_missing);
            contents.is_repeated = would_fit && !contents.is_repeated;
            let has_room_now = is_short && contents.tools.len() < before || contents.is_repeated;
            // The next list cuts descriptions again if necessary.
            contents.has_cut &= !has_room_now;
            contents.has_room_again = has_room_now;
            let is_callable = |entry: &&Entry| matches!(entry, Entry::Controllers { is_reserved: false, .. });
            Listed { tools: contents.tools.iter().filter(is_callable).count(), has_room_now }
        })
        .unwrap_or(Listed { tools: 0, has_room_now: false })
    }

    /// Called when the link starts. Until the controller's first list is complete or the controller is missing, any
    /// name may belong to one of its tools.
    pub(crate) fn await_controller(&self) {
        self.change(|contents| contents.is_awaited = true);
        self.controller_left("The controller is not connected yet.");
    }

    /// The controller is missing. From now on, names that it never listed are unknown.
    pub(crate) fn controller_is_missing(&self) {
        self.change(|contents| contents.is_awaited = false);
    }

    /// Whether any name may belong to a tool of the controller, because it has not sent a list since the link started.
    pub(crate) fn awaits_controller(&self) -> bool {
        self.contents.try_borrow().is_ok_and(|contents| contents.is_awaited)
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
                *entry = Entry::Own(tool, CallCounts::NONE);
            }
            return Ok(());
        }
        if self.tools.push(Entry::Own(tool, CallCounts::NONE)).is_err() {
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
    pub(super) fn position(&self, name: &str) -> Option<usize> {
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

    pub(super) fn find(&self, name: &str) -> Option<&Entry> {
        self.index(name).and_then(|index| self.tools.get(index))
    }

    /// The index of the tool with this final name, or else with this undecorated name, or else with this name for
    /// models.
    fn index(&self, name: &str) -> Option<usize> {
        let undecorated = |has_own_prefix: bool| {
            self.tools.iter().position(|entry| {
                matches!(entry, Entry::Own(tool, _) if tool.name == name && tool.prefix.is_some() == has_own_prefix)
            })
        };
        let for_models = || {
            self.tools.iter().position(|entry| {
                let is_it = |texts| name.bytes().eq(name_for_models(self.texts.get(texts)[0]));
                matches!(entry, Entry::Controllers { texts, is_reserved: false, .. } if is_it(texts))
            })
        };
        self.position(name).or_else(|| undecorated(false)).or_else(|| undecorated(true)).or_else(for_models)
    }

    /// The index of the tool that runs if a model calls this name.
    pub(super) fn index_for_models(&self, name: &str) -> Option<usize> {
        self.index(&model_name(name)?)
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
}

/// Logs which keywords of a schema are not checked.
pub(super) fn log_unknown_keywords(name: &str, schema: &str) {
    if let Ok(schema) = Value::parse(schema.as_bytes()) {
        for keyword in schema::unknown_keywords(schema) {
            let keyword = keyword.excerpt::<{ limits::QUOTE }>();
            info!("tools: {} has a schema with {}, which is not checked", name, keyword.as_str());
        }
    }
}

/// The name under which models see a tool. Their providers allow no dots.
pub(super) fn name_for_models(name: &str) -> impl Iterator<Item = u8> {
    name.bytes().map(|byte| if byte == b'.' { b'_' } else { byte })
}

/// A name as models see it. `None` if it is too long for a name.
pub fn model_name(name: &str) -> Option<Name> {
    let mut seen = Name::new();
    name_for_models(name).try_for_each(|byte| seen.push(char::from(byte))).ok()?;
    Some(seen)
}
