//! Templates: texts with variables in double braces.
//!
//! `{{intent}}`, `{{ satellite.room }}`: white space around a name is ignored. An unknown variable is replaced by nothing,
//! and reported. Braces that do not close, or contain more than the longest name, are plain text. Values are not rendered
//! again: braces in a person's message stay braces.

use core::fmt::{self, Display, Write};

use crate::json::{Kind, Text, Value};
use crate::limits;

/// Writes the value of a variable. `Ok(false)` if it is unknown.
pub type Lookup<'a> = dyn Fn(&str, &mut dyn Write) -> Result<bool, fmt::Error> + 'a;

/// Writes the template to `out`, each variable replaced by its value. Calls `unknown` for each unknown one. One pass over
/// any template.
pub fn render(
    template: &mut dyn Iterator<Item = char>,
    lookup: &Lookup<'_>,
    unknown: &mut dyn FnMut(&str),
    out: &mut dyn Write,
) -> fmt::Result {
    let mut braces = Braces::Closed;
    let mut name = VariableName::new();
    for character in template {
        braces = match (braces, character) {
            (Braces::Closed, '{') => Braces::Half,
            (Braces::Closed, _) => {
                out.write_char(character)?;
                Braces::Closed
            }
            (Braces::Half, '{') => Braces::Open,
            (Braces::Half, _) => {
                out.write_char('{')?;
                out.write_char(character)?;
                Braces::Closed
            }
            (Braces::Open, '}') => Braces::HalfClosed,
            // Of three in a row the first is plain text.
            (Braces::Open, '{') if name.is_empty() => {
                out.write_char('{')?;
                Braces::Open
            }
            (Braces::Open, '{') => {
                write_plain(&mut name, "", out)?;
                Braces::Half
            }
            (Braces::Open, _) => match name.push(character) {
                Ok(()) => Braces::Open,
                Err(_) => {
                    write_plain(&mut name, "", out)?;
                    out.write_char(character)?;
                    Braces::Closed
                }
            },
            (Braces::HalfClosed, '}') => {
                let known = name.trim();
                if !lookup(known, out)? {
                    unknown(known);
                }
                name.clear();
                Braces::Closed
            }
            (Braces::HalfClosed, '{') => {
                write_plain(&mut name, "}", out)?;
                Braces::Half
            }
            (Braces::HalfClosed, _) => {
                write_plain(&mut name, "}", out)?;
                out.write_char(character)?;
                Braces::Closed
            }
        };
    }
    match braces {
        Braces::Closed => Ok(()),
        Braces::Half => out.write_char('{'),
        Braces::Open => write_plain(&mut name, "", out),
        Braces::HalfClosed => write_plain(&mut name, "}", out),
    }
}

type VariableName = heapless::String<{ limits::TEMPLATE_NAME }>;

/// The state of the renderer.
#[derive(Clone, Copy)]
enum Braces {
    Closed,
    /// After `{`.
    Half,
    /// After `{{`.
    Open,
    /// After `{{` and then one `}`.
    HalfClosed,
}

/// Writes braces that enclose no variable as plain text.
fn write_plain(name: &mut VariableName, after: &str, out: &mut dyn Write) -> fmt::Result {
    out.write_str("{{")?;
    out.write_str(name)?;
    name.clear();
    out.write_str(after)
}

/// A rendered template.
#[derive(Clone, Copy)]
pub struct Rendered<'a> {
    /// The template.
    pub template: Text<'a>,
    /// The values of its variables.
    pub lookup: &'a Lookup<'a>,
}

impl Rendered<'_> {
    /// Calls `report` for each unknown variable, as often as it occurs.
    pub fn unknown(&self, report: &mut dyn FnMut(&str)) {
        // Writing to a sink cannot fail.
        let _ = render(&mut self.template.chars(), self.lookup, report, &mut Sink);
    }
}

impl Display for Rendered<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        render(&mut self.template.chars(), self.lookup, &mut |_| {}, f)
    }
}

struct Sink;

impl Write for Sink {
    fn write_str(&mut self, _: &str) -> fmt::Result {
        Ok(())
    }
}

/// The variables of a rule's prompt.
#[derive(Clone, Copy)]
pub struct Variables<'a> {
    /// `{{rag_context}}`: the documents that the rule selects.
    pub rag_context: &'a dyn Display,
    /// `{{intent}}`: the request's intent.
    pub intent: &'a dyn Display,
    /// `{{service}}`: the provider's name.
    pub service: &'a str,
    /// `{{user_message}}`: the person's message.
    pub user_message: &'a dyn Display,
    /// All others are paths into the request: `{{satellite.room}}` is the member `room` of its member `satellite`.
    pub request: Value<'a>,
}

impl Variables<'_> {
    /// Writes the value of a variable, as a [`Lookup`] does.
    pub fn write(&self, name: &str, out: &mut dyn Write) -> Result<bool, fmt::Error> {
        match name {
            "rag_context" => write!(out, "{}", self.rag_context)?,
            "intent" => write!(out, "{}", self.intent)?,
            "service" => out.write_str(self.service)?,
            "user_message" => write!(out, "{}", self.user_message)?,
            _ => match name.split('.').try_fold(self.request, |value, member| value.get(member)) {
                Some(value) => write_value(value, out)?,
                None => return Ok(false),
            },
        }
        Ok(true)
    }
}

/// Writes a text decoded, nothing for `null`, and anything else as JSON.
fn write_value(value: Value<'_>, out: &mut dyn Write) -> fmt::Result {
    match (value.kind(), value.as_text()) {
        (_, Some(text)) => write!(out, "{text}"),
        (Kind::Null, _) => Ok(()),
        _ => out.write_str(value.text()),
    }
}
