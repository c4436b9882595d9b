//! `@status`: how things are at home. (A prompt's parts are explained in this folder's README.md.)

use super::{Prompt, PromptTool};
use crate::tool::Example;

pub(super) static PROMPT: Prompt = Prompt {
    name: "status",
    description: "Tells how things are at home.\n\nThe model looks at the devices with the tools it has, and sums up what \
                  is worth knowing: what is on, open, or not answering.",
    args: "rooms or devices to look at; the whole home if there are none. A name of several words goes in quotes.",
    usage: "@status\n@status room\n@status \"living room\" device",
    examples: &[
        Example { code: "@status", explanation: "What is on, open or out of order in the whole home." },
        Example { code: "@status kitchen \"living room\"", explanation: "The same for two rooms." },
    ],
    template: "Tell me the status of {{args}}. Look at the devices with the tools you have, do not change anything, and \
               sum up in a few sentences what is on, what is open, and what does not answer. The hub's clock says: \
               {{tool_result}}",
    without_args: "the whole home",
    tool: Some(PromptTool { handler: "datetime", arguments: "{}" }),
};
