//! Prompts: messages that a person calls by name, `@name arg …`. `README.md` in this folder is the template for a new one.
//!
//! The prompt's text, with the arguments in it, replaces the person's message. A prompt may run a read-only tool first:
//! through the tool's handler itself, without prefix, approval, log or result object.

mod explain;
mod goodnight;
mod status;

use core::fmt::{self, Display, Write};

use super::template;
use crate::json::Value;
use crate::tool::Example;

/// All prompts. To add one, write its file and name it here.
pub static PROMPTS: [&Prompt; 3] = [&status::PROMPT, &goodnight::PROMPT, &explain::PROMPT];

/// A prompt, declared as a `static` in a file of its own.
#[derive(Debug)]
pub struct Prompt {
    /// Without `@`.
    pub name: &'static str,
    /// What it is for. The first line says it in about fifty characters.
    pub description: &'static str,
    /// What `*args` means.
    pub args: &'static str,
    /// The general forms of a call.
    pub usage: &'static str,
    /// Calls with real arguments, each with an explanation.
    pub examples: &'static [Example],
    /// What the model reads. `{{args}}` are all arguments, `{{1}}` is the first, `{{tool_result}}` is the tool's result.
    pub template: &'static str,
    /// The value of `{{args}}` if there are none.
    pub without_args: &'static str,
    /// The tool to run first. Nobody approves the call, so a tool that is not read-only does not run.
    pub tool: Option<PromptTool>,
}

/// A tool that a prompt runs.
#[derive(Debug)]
pub struct PromptTool {
    /// The name of its handler, as [`Handlers::run`](crate::tools::Handlers::run) knows it.
    pub handler: &'static str,
    arguments: &'static str,
}

impl PromptTool {
    /// The arguments of the call.
    pub fn arguments(&self) -> Value<'static> {
        Value::parse(self.arguments.as_bytes()).unwrap_or(Value::EMPTY_OBJECT)
    }
}

/// There is no such prompt. Displayed, it lists the known ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownPrompt;

impl Display for UnknownPrompt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("There is no such prompt; there are")?;
        PROMPTS.iter().try_for_each(|prompt| write!(f, " @{}", prompt.name))
    }
}

impl core::error::Error for UnknownPrompt {}

/// A call of a prompt.
#[derive(Clone, Copy, Debug)]
pub struct Invocation<'a> {
    /// The prompt.
    pub prompt: &'static Prompt,
    pub(super) args: &'a str,
}

impl<'a> Invocation<'a> {
    /// The call in a message. `None` if it does not begin with `@` and a name.
    pub fn find(message: &'a str) -> Result<Option<Self>, UnknownPrompt> {
        let Some(call) = message.trim_start().strip_prefix('@') else { return Ok(None) };
        let is_name = |character: char| character.is_ascii_alphanumeric() || matches!(character, '_' | '-');
        let (name, rest) = call.split_at(call.find(|next| !is_name(next)).unwrap_or(call.len()));
        // As people write it: `@goodnight!`
        let args = rest.trim_start_matches(['.', ',', ':', ';', '!', '?']);
        if name.is_empty() || !(args.is_empty() || args.starts_with(char::is_whitespace)) {
            return Ok(None);
        }
        let prompt = PROMPTS.iter().find(|prompt| prompt.name.eq_ignore_ascii_case(name));
        prompt.map(|prompt| Some(Self { prompt, args })).ok_or(UnknownPrompt)
    }

    /// The arguments in order. Quotes enclose one with white space.
    pub fn args(&self) -> impl Iterator<Item = &'a str> + Clone + use<'a> {
        let mut rest = self.args;
        core::iter::from_fn(move || {
            rest = rest.trim_start();
            let (argument, after) = quoted(rest)
                .unwrap_or_else(|| rest.split_at(rest.find(char::is_whitespace).unwrap_or(rest.len())));
            let is_end = rest.is_empty();
            rest = after;
            (!is_end).then_some(argument)
        })
    }

    /// What the model reads instead of the call. `tool_result` is the result of the prompt's tool, if it has one.
    pub const fn expand(self, tool_result: &'a str) -> Expanded<'a> {
        Expanded { invocation: self, tool_result }
    }
}

/// The text in the quotes at the beginning, and the rest. `None` if they do not close, or not at the end of a word.
fn quoted(text: &str) -> Option<(&str, &str)> {
    let quote = text.chars().next().filter(|quote| matches!(quote, '"' | '\''))?;
    let (inside, after) = text.get(1..)?.split_once(quote)?;
    (after.is_empty() || after.starts_with(char::is_whitespace)).then_some((inside, after))
}

/// A prompt's text with the arguments in it.
#[derive(Clone, Copy, Debug)]
pub struct Expanded<'a> {
    invocation: Invocation<'a>,
    tool_result: &'a str,
}

impl Expanded<'_> {
    fn write_value(&self, name: &str, out: &mut dyn Write) -> Result<bool, fmt::Error> {
        let mut args = self.invocation.args();
        match (name, name.parse::<usize>()) {
            ("tool_result", _) => out.write_str(self.tool_result)?,
            ("args", _) if args.clone().next().is_none() => {
                out.write_str(self.invocation.prompt.without_args)?;
            }
            ("args", _) => {
                for (index, argument) in args.enumerate() {
                    out.write_str(if index > 0 { " " } else { "" })?;
                    out.write_str(argument)?;
                }
            }
            (_, Ok(number @ 1..)) => out.write_str(args.nth(number - 1).unwrap_or_default())?,
            _ => return Ok(false),
        }
        Ok(true)
    }
}

impl Display for Expanded<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lookup = |name: &str, out: &mut dyn Write| self.write_value(name, out);
        template::render(&mut self.invocation.prompt.template.chars(), &lookup, &mut |_| {}, f)
    }
}

/// Writes a prompt's documentation: four labelled sections, always in the same order.
pub fn describe(prompt: &Prompt, out: &mut dyn Write) -> fmt::Result {
    let Prompt { name, description, args, usage, .. } = prompt;
    write!(out, "## Description\n\n{description}\n\n")?;
    write!(out, "## Conceptual Schema\n\n```\n@{name} *args\n```\n\n- `*args`: {args}\n\n")?;
    write!(out, "## Usage Instructions\n\n```\n{usage}\n```\n\n## Concrete Examples\n")?;
    for example in prompt.examples {
        write!(out, "\n```\n{}\n```\n\n{}\n", example.code, example.explanation)?;
    }
    Ok(())
}
