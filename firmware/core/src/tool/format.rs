//! Definitions of tools in each provider's format.

use core::ops::ControlFlow;

use super::describe::{describe, purpose, with_example};
use super::{Hints, Name, Registry, Tool, ToolSet};
use crate::json::{Value, Writer};
use crate::limits;
use crate::log::warn;

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
    fn write(self, name: &str, tool: &Tool<'_>, has_examples: bool, out: &mut Writer<'_>) {
        let text = if has_examples { with_example } else { purpose };
        match self {
            Self::Mcp => definition(name, tool, "inputSchema", describe, out),
            Self::Anthropic => definition(name, tool, "input_schema", text, out),
            Self::OpenAi | Self::Ollama => {
                let object = out.open();
                out.field("type", "function");
                out.key("function");
                definition(name, tool, "parameters", text, out);
                out.close(object);
            }
            Self::Markdown => out.string(|text| {
                write!(text, "# {}\n\n", tool.name)?;
                describe(tool, text)
            }),
        }
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
            if !is_allowed([name, tool.name]) {
                return ControlFlow::Continue(());
            }
            let before = out.mark();
            self.write(name, tool, true, out);
            // For what follows the list.
            if out.room() < limits::TRANSACTION + limits::TOOL_NAME + 64 {
                out.rewind(before);
                if last.is_some() {
                    is_cut = true;
                    return ControlFlow::Break(());
                }
                warn!("tools: the definition of {} alone is more than a reply holds; left out", name);
                return ControlFlow::Continue(());
            }
            last = Name::try_from(name).ok();
            ControlFlow::Continue(())
        });
        last.filter(|_| is_cut)
    }

    /// Writes the tools that are allowed as the items of the open array, in the order of the registry: all that fit and leave
    /// `reserved` bytes. Returns the others.
    pub fn write_fitting(
        self,
        registry: &Registry,
        is_allowed: &dyn Fn([&str; 2]) -> bool,
        has_examples: bool,
        reserved: usize,
        out: &mut Writer<'_>,
    ) -> ToolSet {
        let mut left_out = ToolSet::new(registry);
        let mut place = 0;
        registry.each(|name, tool| {
            if is_allowed([name, tool.name]) {
                let before = out.mark();
                self.write(name, tool, has_examples, out);
                if out.room() < reserved {
                    out.rewind(before);
                    left_out.insert(place);
                }
            }
            place += 1;
            ControlFlow::Continue(())
        });
        left_out
    }
}

/// Whether a list of names, if there is one, holds one of the tool's: final or undecorated.
pub fn is_listed(list: Option<Value<'_>>, names: [&str; 2]) -> bool {
    list.is_none_or(|list| {
        let mut listed = list.items().filter_map(|item| item.as_text());
        listed.any(|item| names.iter().any(|name| item == **name))
    })
}

fn definition(
    name: &str,
    tool: &Tool<'_>,
    schema_key: &str,
    text: fn(&Tool<'_>, &mut dyn core::fmt::Write) -> core::fmt::Result,
    out: &mut Writer<'_>,
) {
    out.object(|out| {
        out.field("name", name);
        out.key("description");
        out.string(|description| text(tool, description));
        out.key(schema_key);
        match Value::parse(tool.schema.as_bytes()) {
            Ok(schema) => out.value(schema),
            Err(_) => out.value(Value::EMPTY_OBJECT),
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
