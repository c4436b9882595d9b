//! Texts with names in double braces, which stand for something else.
//!
//! `{{intent}}`, `{{ satellite.room }}`: white space around a name does not count. A name that stands for nothing leaves
//! nothing behind, and is told. Braces that do not close, or hold more than a name can have, are what they are. What a
//! name stands for is not looked at again: braces in a person's message stay braces.

use core::fmt::{self, Display, Write};

use crate::json::{Kind, Text, Value};
use crate::limits;

/// Writes what a name stands for. `Ok(false)` if it stands for nothing.
pub type Lookup<'a> = dyn Fn(&str, &mut dyn Write) -> Result<bool, fmt::Error> + 'a;

/// Writes the template to `out`, each name replaced by what it stands for. Those that stand for nothing are told to
/// `unknown`. One pass, whatever the template is.
pub fn render(
    template: &mut dyn Iterator<Item = char>,
    lookup: &Lookup<'_>,
    unknown: &mut dyn FnMut(&str),
    out: &mut dyn Write,
) -> fmt::Result {
    let mut braces = Braces::Closed;
    let mut name = Name::new();
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
            // Of three in a row the first is a brace like any other.
            (Braces::Open, '{') if name.is_empty() => {
                out.write_char('{')?;
                Braces::Open
            }
            (Braces::Open, '{') => {
                give_up(&mut name, "", out)?;
                Braces::Half
            }
            (Braces::Open, _) => match name.push(character) {
                Ok(()) => Braces::Open,
                Err(_) => {
                    give_up(&mut name, "", out)?;
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
                give_up(&mut name, "}", out)?;
                Braces::Half
            }
            (Braces::HalfClosed, _) => {
                give_up(&mut name, "}", out)?;
                out.write_char(character)?;
                Braces::Closed
            }
        };
    }
    match braces {
        Braces::Closed => Ok(()),
        Braces::Half => out.write_char('{'),
        Braces::Open => give_up(&mut name, "", out),
        Braces::HalfClosed => give_up(&mut name, "}", out),
    }
}

type Name = heapless::String<{ limits::TEMPLATE_NAME }>;

/// Where in a template it is.
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

/// It was no name: writes it as it stands.
fn give_up(name: &mut Name, after: &str, out: &mut dyn Write) -> fmt::Result {
    out.write_str("{{")?;
    out.write_str(name)?;
    name.clear();
    out.write_str(after)
}

/// A template with its names replaced, as a text.
#[derive(Clone, Copy)]
pub struct Rendered<'a> {
    /// The template.
    pub template: Text<'a>,
    /// What its names stand for.
    pub lookup: &'a Lookup<'a>,
}

impl Rendered<'_> {
    /// Tells the names that stand for nothing, once each time they occur.
    pub fn unknown(&self, tell: &mut dyn FnMut(&str)) {
        // Nothing is written, so nothing can fail.
        let _ = render(&mut self.template.chars(), self.lookup, tell, &mut Nowhere);
    }
}

impl Display for Rendered<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        render(&mut self.template.chars(), self.lookup, &mut |_| {}, f)
    }
}

struct Nowhere;

impl Write for Nowhere {
    fn write_str(&mut self, _: &str) -> fmt::Result {
        Ok(())
    }
}

/// What the names in a rule's prompt stand for.
#[derive(Clone, Copy)]
pub struct Variables<'a> {
    /// `{{rag_context}}`: the documents that the rule selects.
    pub rag_context: &'a dyn Display,
    /// `{{intent}}`: what the person wants, if somebody found out.
    pub intent: &'a dyn Display,
    /// `{{service}}`: who answers.
    pub service: &'a str,
    /// `{{user_message}}`: what the person says.
    pub user_message: &'a dyn Display,
    /// All others are looked for in the request: `{{satellite.room}}` is the member `room` of its member `satellite`.
    pub request: Value<'a>,
}

impl Variables<'_> {
    /// Writes what a name stands for, as a [`Lookup`] does.
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

/// A text as it is meant, and nothing for `null`; anything else as JSON.
fn write_value(value: Value<'_>, out: &mut dyn Write) -> fmt::Result {
    match (value.kind(), value.as_text()) {
        (_, Some(text)) => write!(out, "{text}"),
        (Kind::Null, _) => Ok(()),
        _ => out.write_str(value.text()),
    }
}
