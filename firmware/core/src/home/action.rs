//! One action of a device, as the controller declares it: `{"tool", "arguments"?, "value"?: {"argument", …}}`.

use crate::json::{Text, Value, Writer};

/// A declared action.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DeclaredAction<'a>(pub(crate) Value<'a>);

impl<'a> DeclaredAction<'a> {
    /// The tool that it calls.
    pub(crate) fn tool(self) -> Option<Text<'a>> {
        self.0.get("tool")?.as_text()
    }

    /// Whether it calls this tool.
    pub(crate) fn is_of(self, tool: &str) -> bool {
        self.tool().is_some_and(|name| name == *tool)
    }

    /// The arguments that the controller gave.
    pub(crate) fn arguments(self) -> impl Iterator<Item = (Text<'a>, Value<'a>)> {
        self.0.get("arguments").unwrap_or(Value::EMPTY_OBJECT).members()
    }

    /// The argument that takes the value, if the action has one.
    pub(crate) fn value_argument(self) -> Option<Text<'a>> {
        self.0.get("value")?.get("argument")?.as_text()
    }

    /// Writes the arguments of its call.
    pub(crate) fn write_arguments(self, value: Value<'_>, out: &mut Writer<'_>) {
        out.object(|out| {
            for (name, given) in self.arguments() {
                out.key_text(name);
                out.value(given);
            }
            if let Some(name) = self.value_argument() {
                out.key_text(name);
                out.value(value);
            }
        });
    }
}
