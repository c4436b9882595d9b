//! Where tools are kept, by their final names.

use heapless::index_map::FnvIndexMap;

use super::Tool;
use crate::json::Value;
use crate::limits;
use crate::log::{debug, info, warn};
use crate::schema;

/// A tool's final name: the prefix, an underscore, its own name.
pub type Name = heapless::String<{ limits::TOOL_NAME }>;

/// The tool was refused: there is no room, or its final name is too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;

/// All tools that can be called. Finding one takes the same time however many there are.
#[derive(Debug)]
pub struct Registry {
    tools: FnvIndexMap<Name, &'static Tool, { limits::TOOLS }>,
    prefix: Prefix,
}

type Prefix = heapless::String<{ limits::TOOL_PREFIX }>;

impl Registry {
    /// No tools, and no prefix.
    pub const fn new() -> Self {
        Self { tools: FnvIndexMap::new(), prefix: Prefix::new() }
    }

    /// Begins anew, with the prefix for the tools to come. One that is too long is left out, and that is said.
    pub fn reset(&mut self, prefix: &str) {
        self.tools.clear();
        self.prefix = Prefix::try_from(prefix).unwrap_or_else(|_| {
            warn!("tools: the prefix {} is too long and left out", prefix);
            Prefix::new()
        });
    }

    /// Takes a tool in. One of the same final name makes place for it, and that is said; if there is no room, that is
    /// said too, and the others stay.
    pub fn register(&mut self, tool: &'static Tool) -> Result<(), Full> {
        let prefix = tool.prefix.unwrap_or(&self.prefix);
        let Some(name) = decorate(prefix, tool.name) else {
            warn!("tools: {} is left out, its name is too long", tool.name);
            return Err(Full);
        };
        if let Ok(schema) = Value::parse(tool.schema.as_bytes()) {
            for keyword in schema::unknown_keywords(schema) {
                let keyword = keyword.excerpt::<{ limits::QUOTE }>();
                info!("tools: {} has a schema with {}, which is not checked", tool.name, keyword.as_str());
            }
        }
        match self.tools.insert(name, tool) {
            Ok(None) => {
                debug!("tools: {} registered", tool.name);
                Ok(())
            }
            Ok(Some(_)) => {
                warn!("tools: {} was registered before; the new one takes its place", tool.name);
                Ok(())
            }
            Err(_) => {
                warn!("tools: {} is left out, there is room for {} only", tool.name, limits::TOOLS);
                Err(Full)
            }
        }
    }

    /// The tool of this final name, or else of this undecorated one.
    pub fn find(&self, name: &str) -> Option<&'static Tool> {
        let by_final = Name::try_from(name).ok().and_then(|name| self.tools.get(&name));
        let decorated = || decorate(&self.prefix, name).and_then(|name| self.tools.get(&name));
        // The few tools with a prefix of their own are looked for one by one.
        let with_own_prefix = || self.tools.values().find(|tool| tool.prefix.is_some() && tool.name == name);
        by_final.or_else(decorated).or_else(with_own_prefix).copied()
    }

    /// All tools with their final names, in the order in which they came.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &'static Tool)> {
        self.tools.iter().map(|(name, tool)| (name.as_str(), *tool))
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.tools.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.tools.is_empty()
    }
}

impl Default for Registry {
    fn default() -> Self {
        Self::new()
    }
}

fn decorate(prefix: &str, name: &str) -> Option<Name> {
    let mut decorated = Name::new();
    if !prefix.is_empty() {
        decorated.push_str(prefix).ok()?;
        decorated.push('_').ok()?;
    }
    decorated.push_str(name).ok()?;
    Some(decorated)
}
