//! A tool in words, for agents and people: four labelled sections, always in the same order.

use core::fmt::{self, Write};

use super::{Implementation, Tool};
use crate::json::Value;
use crate::schema;

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
