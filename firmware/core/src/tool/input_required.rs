//! A controller that did not do what it was asked, since it wants to know more: MCP's `InputRequiredResult`.

use core::fmt;

use crate::json::{Value, Writer};
use crate::limits;
use crate::text::Measure;

/// For the model that called.
const INSTRUCTION: &str =
    "It is not done. Ask the person, and call again only if an argument has room for the answer.";

/// Such a result, in words.
pub(super) struct InputRequired<'a>(pub(super) Value<'a>);

impl InputRequired<'_> {
    /// What the person and the model hear.
    pub(super) fn write_guidance(&self, reply: &mut Writer<'_>) {
        reply.key("message");
        reply.string(|out| Measure::Escaped.write_marked(self, limits::OUTCOME_TEXT, "…", out));
        reply.field("instruction", INSTRUCTION);
    }
}

impl fmt::Display for InputRequired<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("The controller wants to know more first")?;
        let requests = self.0.get("inputRequests").unwrap_or(Value::NULL);
        if requests.members().next().is_none() {
            return f.write_str(", and does not say what");
        }
        for (index, (_, request)) in requests.members().enumerate() {
            let separator = if index == 0 { ": " } else { "; " };
            let text = |name| request.get("params")?.get(name)?.as_text();
            let method = || request.get("method")?.as_text();
            match text("message").or_else(method) {
                Some(words) => write!(f, "{separator}{words}")?,
                None => write!(f, "{separator}{}", request.text())?,
            }
            if let Some(url) = text("url") {
                write!(f, " ({url})")?;
            }
        }
        Ok(())
    }
}
