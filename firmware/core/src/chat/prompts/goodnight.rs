//! `@goodnight`: everything off for the night. (A prompt's parts are explained in this folder's README.md.)

use super::{Prompt, PromptTool};
use crate::tool::Example;

pub(super) static PROMPT: Prompt = Prompt {
    name: "goodnight",
    description: "Makes the home ready for the night.\n\nThe model switches the lights off, leaves on what is asked for, and \
                  says what is still open or running.",
    args: "what is to stay on; nothing if there are none. A name of several words goes in quotes.",
    usage: "@goodnight\n@goodnight device\n@goodnight \"hall light\" fan",
    examples: &[
        Example { code: "@goodnight", explanation: "All lights off, and a word about what is still open." },
        Example {
            code: "@goodnight \"hall light\"",
            explanation: "The same, but the light in the hall stays as it is.",
        },
    ],
    template: "Good night. Switch off all lights with the tools you have, except for: {{args}}. Do not touch locks or the \
               heating. Then tell me in one or two sentences what you switched off, what failed, and what is still open \
               or running. The hub's clock says: {{tool_result}}",
    without_args: "(no exceptions)",
    tool: Some(PromptTool { handler: "datetime", arguments: "{}" }),
};
