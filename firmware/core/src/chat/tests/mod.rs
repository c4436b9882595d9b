//! What the parts of a conversation do, alone and together.

mod prompts;
mod rule;
mod template;
