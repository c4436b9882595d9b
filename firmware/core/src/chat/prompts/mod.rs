//! Prompts: messages that a person calls by a name, `@name arg …`. `README.md` in this folder is the template for a new one.
//!
//! What the person said is replaced by the prompt's text with the arguments in it, and that is what the model reads. A
//! prompt may have a tool run before: through the tool's handler itself, without prefix, log or result object.

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
    /// As a person calls it, without `@`.
    pub name: &'static str,
    /// What it is for. The first line says it in about fifty characters.
    pub description: &'static str,
    /// What `*args` stands for.
    pub args: &'static str,
    /// How it is called in general.
    pub usage: &'static str,
    /// Calls with real arguments, each with what it shows.
    pub examples: &'static [Example],
    /// What the model reads. `{{args}}` stands for all arguments, `{{1}}` for the first, `{{tool_result}}` for what the
    /// tool says.
    pub template: &'static str,
    /// What `{{args}}` stands for if there are none.
    pub without_args: &'static str,
    /// What is run before.
    pub tool: Option<Direct>,
}

/// A tool that a prompt runs by itself.
#[derive(Debug)]
pub struct Direct {
    /// The name of its handler, as [`Handlers::run`](crate::tool::Handlers::run) knows it.
    pub handler: &'static str,
    arguments: &'static str,
}

impl Direct {
    /// What it is run with.
    pub fn arguments(&self) -> Value<'static> {
        Value::parse(self.arguments.as_bytes()).unwrap_or(Value::EMPTY_OBJECT)
    }
}

/// There is no such prompt. Shown, it says which there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownPrompt;

impl Display for UnknownPrompt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("There is no such prompt; there are")?;
        PROMPTS.iter().try_for_each(|prompt| write!(f, " @{}", prompt.name))
    }
}

impl core::error::Error for UnknownPrompt {}

/// A prompt that was called.
#[derive(Clone, Copy, Debug)]
pub struct Invocation<'a> {
    /// Which.
    pub prompt: &'static Prompt,
    args: &'a str,
}

impl<'a> Invocation<'a> {
    /// Looks whether a message calls a prompt. `None` if it does not begin with `@` and a name.
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

    /// The arguments in order. One in quotes may have white space in it.
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

    /// What the model reads instead of the call. `tool_result` is what the prompt's tool says, if it has one.
    pub const fn expand(self, tool_result: &'a str) -> Expanded<'a> {
        Expanded { invocation: self, tool_result }
    }
}

/// What is in the quotes at the beginning, and what follows them. Quotes that do not close, or not at the end of a word,
/// are none.
fn quoted(text: &str) -> Option<(&str, &str)> {
    let quote = text.chars().next().filter(|quote| matches!(quote, '"' | '\''))?;
    let (inside, after) = text.get(1..)?.split_once(quote)?;
    (after.is_empty() || after.starts_with(char::is_whitespace)).then_some((inside, after))
}

/// A prompt with its arguments in place, as a text.
#[derive(Clone, Copy, Debug)]
pub struct Expanded<'a> {
    invocation: Invocation<'a>,
    tool_result: &'a str,
}

impl Expanded<'_> {
    fn look(&self, name: &str, out: &mut dyn Write) -> Result<bool, fmt::Error> {
        let mut args = self.invocation.args();
        match (name, name.parse::<usize>()) {
            ("tool_result", _) => out.write_str(self.tool_result)?,
            ("args", _) if args.clone().next().is_none() => {
                out.write_str(self.invocation.prompt.without_args)?;
            }
            ("args", _) => {
                for (place, argument) in args.enumerate() {
                    out.write_str(if place > 0 { " " } else { "" })?;
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
        let look = |name: &str, out: &mut dyn Write| self.look(name, out);
        template::render(&mut self.invocation.prompt.template.chars(), &look, &mut |_| {}, f)
    }
}

/// Writes what a prompt is: four labelled sections, always in the same order.
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
