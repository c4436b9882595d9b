//! `@explain`: what something is, or why it happened. (A prompt's parts are explained in this folder's README.md.)

use super::Prompt;
use crate::tool::Example;

pub(super) static PROMPT: Prompt = Prompt {
    name: "explain",
    description: "Explains a device, a setting or an event.\n\nThe model answers in plain words, from the documents and the \
                  tools it has, without changing anything.",
    args: "what to explain, in words; what the hub has just done if there are none. Quotes are not needed.",
    usage: "@explain\n@explain what you want to know",
    examples: &[
        Example { code: "@explain", explanation: "What the hub did last, and why." },
        Example {
            code: "@explain why the heating is off",
            explanation: "Looks at the heating and says what it finds.",
        },
    ],
    template: "Explain to me in plain words, without changing anything: {{args}}",
    without_args: "what you have just done, and why",
    tool: None,
};
