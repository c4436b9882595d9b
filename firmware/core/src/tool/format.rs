//! Definitions of tools in each provider's format.

use core::fmt::{self, Write};
use core::ops::ControlFlow;

use super::registry::name_for_models;
use super::{Hints, Implementation, Name, Registry, Tool, ToolSet};
use crate::json::{Value, Writer};
use crate::limits;
use crate::log::warn;
use crate::schema;
use crate::text::Measure;

/// Marks the description of a tool whose whole definition does not fit into a reply.
const SHORTENED: &str = " [shortened: the definition is longer than a reply]";

/// The longest description in a shortened definition.
const SHORT: usize = 1024;

/// How much of a definition is written.
#[derive(Clone, Copy)]
struct Detail {
    has_examples: bool,
    /// The maximum length of a description. A longer one is cut and marked.
    most: usize,
    has_schema: bool,
}

impl Detail {
    const ALL: Self = Self { has_examples: true, most: usize::MAX, has_schema: true };

    /// For definitions that do not fit into a reply. They are tried in this order.
    const SHORT: [Self; 2] = [
        Self { has_examples: false, most: SHORT, has_schema: true },
        Self { has_examples: false, most: SHORT, has_schema: false },
    ];

    /// Writes a description as a JSON string.
    fn write(self, text: Text, tool: &Tool<'_>, out: &mut Writer<'_>) {
        out.string(|out| match self.most {
            usize::MAX => text(tool, out),
            // Always marked, because the examples or the schema may be missing.
            most => {
                let room = most.saturating_sub(SHORTENED.len());
                Measure::Escaped.write_marked(&Described(text, tool), room, "…", out)?;
                out.write_str(SHORTENED)
            }
        });
    }
}

type Text = fn(&Tool<'_>, &mut dyn Write) -> fmt::Result;

/// Displays the description of a tool.
struct Described<'a>(Text, &'a Tool<'a>);

impl fmt::Display for Described<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(text, tool) = self;
        text(tool, f)
    }
}

/// A format for the definition of a tool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// As an MCP server lists them, with the whole description.
    #[default]
    Mcp,
    /// Anthropic's Messages.
    Anthropic,
    /// OpenAI's chat completions, and whoever follows them.
    OpenAi,
    /// Ollama's chat.
    Ollama,
    /// For people.
    Markdown,
}

impl Format {
    /// The format of this name.
    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "mcp" => Self::Mcp,
            "anthropic" => Self::Anthropic,
            "openai" => Self::OpenAi,
            "ollama" => Self::Ollama,
            "markdown" => Self::Markdown,
            _ => return None,
        })
    }

    /// Writes one definition as a value. Those for models have an example if there is room for that.
    fn write(self, name: &str, tool: &Tool<'_>, detail: Detail, out: &mut Writer<'_>) {
        let text = if detail.has_examples { with_example } else { purpose };
        match self {
            Self::Mcp => definition(name.bytes(), tool, "inputSchema", describe, detail, out),
            Self::Anthropic => {
                definition(name_for_models(name), tool, "input_schema", text, detail, out);
            }
            Self::OpenAi | Self::Ollama => {
                let object = out.open();
                out.field("type", "function");
                out.key("function");
                definition(name_for_models(name), tool, "parameters", text, detail, out);
                out.close(object);
            }
            Self::Markdown => {
                let page: Text = |tool, out| {
                    write!(out, "# {}\n\n", tool.name)?;
                    describe(tool, out)
                };
                detail.write(page, tool, out);
            }
        }
    }

    /// Whether a reader of this format can call the tool by the name in it.
    fn has(self, registry: &Registry, name: &str) -> bool {
        matches!(self, Self::Mcp | Self::Markdown)
            || !name.contains('.')
            || registry.is_callable_by_models(name)
    }

    /// Writes the tools that are allowed, by their final and undecorated names, as the items of the open array, in the order of the
    /// registry: from after the one called `after`, as many as fit. Returns the last one written, if not all fitted.
    pub fn write_all(
        self,
        registry: &Registry,
        is_allowed: &dyn Fn([&str; 2]) -> bool,
        after: Option<&str>,
        out: &mut Writer<'_>,
    ) -> Option<Name> {
        let mut last = None;
        let mut is_cut = false;
        let mut has_begun = after.is_none();
        registry.each(|name, tool| {
            if !has_begun {
                has_begun = after == Some(name) || after == Some(tool.name);
                return ControlFlow::Continue(());
            }
            if !is_allowed([name, tool.name]) || !self.has(registry, name) {
                return ControlFlow::Continue(());
            }
            let before = out.mark();
            // For what follows the list.
            let mut fits = |detail: Detail| {
                self.write(name, tool, detail, out);
                let fits = out.room() >= limits::TRANSACTION + limits::TOOL_NAME + 64;
                if !fits {
                    out.rewind(before);
                }
                fits
            };
            if !fits(Detail::ALL) {
                if last.is_some() {
                    is_cut = true;
                    return ControlFlow::Break(());
                }
                if !Detail::SHORT.into_iter().any(fits) {
                    warn!("tools: the definition of {} does not fit into a reply; left out", name);
                    return ControlFlow::Continue(());
                }
            }
            last = Name::try_from(name).ok();
            ControlFlow::Continue(())
        });
        last.filter(|_| is_cut)
    }

    /// Writes the offered tools as items of the open array, in the order of the registry: all that fit and leave
    /// `reserved` bytes. With `used_first`, tools that have been called before come first. Returns the tools that do
    /// not fit.
    pub fn write_fitting(
        self,
        registry: &Registry,
        is_offered: &dyn Fn(&str, &Tool<'_>) -> bool,
        has_examples: bool,
        used_first: bool,
        reserved: usize,
        out: &mut Writer<'_>,
    ) -> ToolSet {
        let mut left_out = ToolSet::new(registry);
        let passes: &[Option<bool>] = if used_first { &[Some(true), Some(false)] } else { &[None] };
        for pass in passes {
            let mut place = 0..;
            registry.each(|name, tool| {
                let place = place.next().unwrap_or(usize::MAX);
                let is_due = pass.is_none_or(|is_used| registry.was_called(name) == is_used);
                if is_due && is_offered(name, tool) && self.has(registry, name) {
                    let before = out.mark();
                    self.write(name, tool, Detail { has_examples, ..Detail::ALL }, out);
                    if out.room() < reserved {
                        out.rewind(before);
                        left_out.insert(place);
                    }
                }
                ControlFlow::Continue(())
            });
        }
        left_out
    }
}

/// Whether a list of names, if there is one, holds one of the tool's: final, undecorated, or as models see one of the two.
pub fn is_listed(list: Option<Value<'_>>, names: [&str; 2]) -> bool {
    list.is_none_or(|list| {
        let mut listed = list.items().filter_map(|item| item.as_text());
        listed.any(|item| {
            names.iter().any(|name| item == **name || item.chars().eq(name_for_models(name).map(char::from)))
        })
    })
}

/// Writes a definition as an object. The name is ASCII.
fn definition(
    mut name: impl Iterator<Item = u8>,
    tool: &Tool<'_>,
    schema_key: &str,
    text: Text,
    detail: Detail,
    out: &mut Writer<'_>,
) {
    out.object(|out| {
        out.key("name");
        out.string(|out| name.try_for_each(|byte| out.write_char(char::from(byte))));
        out.key("description");
        detail.write(text, tool, out);
        out.key(schema_key);
        match Value::parse(tool.schema.as_bytes()) {
            Ok(schema) if detail.has_schema => out.value(schema),
            _ => out.object(|schema| schema.field("type", "object")),
        }
        if schema_key == "inputSchema" && tool.hints != Hints::NONE {
            out.key("annotations");
            out.object(|out| {
                let Hints { read_only, destructive, idempotent } = tool.hints;
                for (name, hint) in [
                    ("readOnlyHint", read_only),
                    ("destructiveHint", destructive),
                    ("idempotentHint", idempotent),
                ] {
                    if let Some(hint) = hint {
                        out.field(name, hint);
                    }
                }
            });
        }
    });
}

/// The first words about a tool that needs consent.
const CONSENT: &str = "REQUIRES EXPLICIT USER INSTRUCTION";

/// Writes what the tool is for, with the warning if it needs consent.
pub(super) fn purpose(tool: &Tool<'_>, out: &mut dyn Write) -> fmt::Result {
    if let Some(why) = tool.consent {
        write!(
            out,
            "{CONSENT}: {why} Call it only when a person has asked for exactly this, never on your own account and \
             never to try something out.\n\n"
        )?;
    }
    out.write_str(tool.description)
}

/// Writes what a model reads beside the schema: the purpose, and one call as an example.
pub(super) fn with_example(tool: &Tool<'_>, out: &mut dyn Write) -> fmt::Result {
    purpose(tool, out)?;
    match tool.examples.first() {
        Some(example) => write!(out, "\n\nExample: {}", example.call()),
        None => Ok(()),
    }
}

/// Writes the whole description: purpose, arguments, usage, and examples. A tool of the controller's has the controller's
/// own description.
pub fn describe(tool: &Tool<'_>, out: &mut dyn Write) -> fmt::Result {
    if tool.implementation == Implementation::Mcp {
        return purpose(tool, out);
    }
    out.write_str("## Description\n\n")?;
    purpose(tool, out)?;
    write!(out, "\n\n## JSON Schema\n\n```json\n{}\n```\n\n", tool.schema)?;
    if let Ok(schema) = Value::parse(tool.schema.as_bytes()) {
        schema::write_markdown(schema, out)?;
    }
    write!(out, "\n## Usage Instructions\n\n```\n{}\n```\n\n## Concrete Examples\n", tool.usage)?;
    for example in tool.examples {
        write!(out, "\n```\n{}\n```\n\n{}\n", example.code, example.explanation)?;
    }
    Ok(())
}
