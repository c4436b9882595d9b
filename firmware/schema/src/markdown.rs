//! A schema as Markdown, for people and models.

use core::fmt::{self, Write};

use super::equal::has;
use super::keyword::{Keyword, Keywords, literals_of};
use super::reference::References;
use super::types::Types;
use super::{Exhausted, Work};
use crate::limits::DEPTH;
use hub_json::{Text, Value};

/// Writes the parameters as a list, one line each, those inside an object or an array indented under it:
///
/// ```text
/// - `action` (string, required): What to do. One of: `on`, `off`, `toggle`
/// ```
///
/// Nothing for a schema without parameters. A schema beyond the limits of the [module](super) is cut, and the
/// list ends with `…`.
pub fn write_markdown(schema: Value<'_>, out: &mut dyn Write) -> fmt::Result {
    let mut outline =
        Outline { out, work: Work::new(), references: References::new(schema), open: heapless::Vec::new() };
    match outline.schema(schema, 0, DEPTH) {
        Ok(()) => Ok(()),
        Err(Stop::Full) => Err(fmt::Error),
        Err(Stop::Exhausted) => outline.out.write_str("- …\n"),
    }
}

struct Outline<'w, 's> {
    out: &'w mut dyn Write,
    work: Work,
    references: References<'s>,
    /// The schemas that are being listed.
    open: heapless::Vec<&'s str, { DEPTH as usize }>,
}

/// Why the list ends early. Only between two lines is it ever [`Exhausted`](Stop::Exhausted).
enum Stop {
    Full,
    Exhausted,
}

impl From<fmt::Error> for Stop {
    fn from(_: fmt::Error) -> Self {
        Self::Full
    }
}

impl From<Exhausted> for Stop {
    fn from(_: Exhausted) -> Self {
        Self::Exhausted
    }
}

/// The parts of a schema that can have parameters. This stays on the stack while they are listed.
struct ParameterSources<'s> {
    properties: Value<'s>,
    required: Option<Value<'s>>,
    items: Option<Value<'s>>,
    lists: [Option<Value<'s>>; 3],
}

impl<'s> Outline<'_, 's> {
    /// Lists the parameters in `schema`, and calls itself for those inside them; at most `depth` levels. A schema inside
    /// itself is not listed again.
    fn schema(&mut self, schema: Value<'s>, indent: usize, depth: u8) -> Result<(), Stop> {
        let depth = depth.checked_sub(1).ok_or(Exhausted)?;
        let schema = self.references.follow(schema, &mut self.work)?;
        if self.open.iter().any(|open| core::ptr::eq(*open, schema.text())) {
            return Ok(());
        }
        // There is room: it is as deep as this.
        let _ = self.open.push(schema.text());
        let inside = self.sources(schema)?;
        let mut members = inside.properties.members();
        while let Some((name, parameter)) = members.next() {
            if has(members.clone(), name, &mut self.work)? {
                continue;
            }
            self.parameter(name, parameter, inside.required, indent)?;
            self.schema(parameter, indent + 1, depth)?;
        }
        if let Some(schema) = inside.items {
            self.schema(schema, indent, depth)?;
        }
        for list in inside.lists.into_iter().flatten() {
            for schema in list.items() {
                self.schema(schema, indent, depth)?;
            }
        }
        self.open.pop();
        Ok(())
    }

    /// Not inlined, because all keywords together take much stack.
    #[inline(never)]
    fn sources(&mut self, schema: Value<'s>) -> Result<ParameterSources<'s>, Exhausted> {
        self.work.spend(schema.text().len())?;
        let keywords = Keywords::read(schema);
        Ok(ParameterSources {
            properties: keywords.get(Keyword::Properties).unwrap_or(Value::EMPTY_OBJECT),
            required: keywords.get(Keyword::Required),
            items: keywords.get(Keyword::Items),
            lists: [Keyword::AnyOf, Keyword::OneOf, Keyword::AllOf].map(|keyword| keywords.get(keyword)),
        })
    }

    /// One line.
    #[inline(never)]
    fn parameter(
        &mut self,
        name: Text<'_>,
        schema: Value<'s>,
        required: Option<Value<'_>>,
        indent: usize,
    ) -> Result<(), Stop> {
        let target = self.references.follow(schema, &mut self.work)?;
        // Its type and its literals are looked up several times.
        self.work.spend((schema.text().len() + target.text().len()).saturating_mul(8))?;
        self.work.spend(required.map_or(0, |required| required.text().len()))?;
        let required = required.is_some_and(|names| names.items().any(|item| item.as_text() == Some(name)));
        for _ in 0..indent {
            self.out.write_str("  ")?;
        }
        self.out.write_str("- ")?;
        code(self.out, name.chars())?;
        self.out.write_str(" (")?;
        self.types(schema)?;
        self.out.write_str(if required { ", required)" } else { ", optional)" })?;
        let described = |schema: Value<'s>| schema.get("description")?.as_text();
        let last = match described(schema).or_else(|| described(target)) {
            Some(description) => self.sentence(description)?,
            None => None,
        };
        self.literals(schema, target.get("items"), last)?;
        self.out.write_char('\n')?;
        Ok(())
    }

    /// Hands out the schema itself, and those inside it that say what else the value may be. Never in the middle of a
    /// line is it [`Exhausted`]: then a reference stays what it is.
    fn forms(&mut self, schema: Value<'s>, to: &mut dyn FnMut(&mut dyn Write, Value<'s>)) {
        let schema = self.references.follow(schema, &mut self.work).unwrap_or(schema);
        to(self.out, schema);
        let lists = ["anyOf", "oneOf"].into_iter().filter_map(|name| schema.get(name));
        for form in lists.flat_map(|list| list.items()) {
            to(self.out, self.references.follow(form, &mut self.work).unwrap_or(form));
        }
    }

    /// Such as `string`, `integer or null`, `array of string`.
    fn types(&mut self, mut schema: Value<'s>) -> fmt::Result {
        for of in ["", " of ", " of ", " of "] {
            // What the schema itself says, and all that its alternatives say.
            let (mut own, mut others, mut items) = (None, Types::NONE, None);
            self.forms(schema, &mut |_, form| {
                let stated = types_of(form);
                match own {
                    None => own = Some(stated),
                    Some(_) => others = others.with(stated.unwrap_or(Types::ANY)),
                }
                items = items.or_else(|| form.get("items"));
            });
            let types = own.flatten().unwrap_or(if others == Types::NONE { Types::ANY } else { others });
            if types == Types::ANY {
                // A list of anything is just a list.
                return self.out.write_str(if of.is_empty() { "any" } else { "" });
            }
            self.out.write_str(of)?;
            let mut separator = "";
            for (_, word) in types.words().filter(|(one, _)| *one != Types::ARRAY) {
                self.out.write_str(separator)?;
                self.out.write_str(word)?;
                separator = " or ";
            }
            if !types.meets(Types::ARRAY) {
                break;
            }
            // The list comes last, so that "of" belongs to it.
            self.out.write_str(separator)?;
            self.out.write_str("array")?;
            match items {
                Some(items) => schema = items,
                None => break,
            }
        }
        Ok(())
    }

    /// The text in one line, and how it ended.
    fn sentence(&mut self, text: Text<'_>) -> Result<Option<char>, fmt::Error> {
        let mut last = None;
        let mut space = false;
        for character in text.chars() {
            if character.is_whitespace() || character.is_control() {
                space = true;
                continue;
            }
            match last {
                None => self.out.write_str(": ")?,
                Some(_) if space => self.out.write_char(' ')?,
                Some(_) => {}
            }
            space = false;
            self.out.write_char(character)?;
            last = Some(character);
        }
        Ok(last)
    }

    /// The values that `enum` and `const` allow, after a description that ended with `last`.
    fn literals(&mut self, schema: Value<'s>, items: Option<Value<'s>>, last: Option<char>) -> fmt::Result {
        let mut count = 0;
        self.forms(schema, &mut |_, form| count += literals_of(form).count());
        let (words, from) = match (count, items) {
            (0, None) => return Ok(()),
            (0, Some(items)) => {
                self.forms(items, &mut |_, form| count += literals_of(form).count());
                (if count == 1 { "Each must be " } else { "Each one of: " }, items)
            }
            (1, _) => ("Must be ", schema),
            _ => ("One of: ", schema),
        };
        if count == 0 {
            return Ok(());
        }
        self.out.write_str(match last {
            None => ": ",
            Some('.' | '!' | '?' | ':' | '…') => " ",
            Some(_) => ". ",
        })?;
        self.out.write_str(words)?;
        let mut separator = "";
        let mut written = Ok(());
        self.forms(from, &mut |out, form| {
            for value in literals_of(form) {
                written =
                    written.and_then(|()| out.write_str(separator)).and_then(|()| match value.as_text() {
                        Some(text) => code(out, text.chars()),
                        None => code(out, value.text().chars()),
                    });
                separator = ", ";
            }
        });
        written
    }
}

/// A code span, with a fence that does not occur inside.
fn code(out: &mut dyn Write, characters: impl Iterator<Item = char> + Clone) -> fmt::Result {
    let (longest, _) = characters.clone().fold((0, 0), |(longest, run), character| {
        let run = if character == '`' { run + 1 } else { 0 };
        (run.max(longest), run)
    });
    let fence = |out: &mut dyn Write| (0..=longest).try_for_each(|_| out.write_char('`'));
    fence(out)?;
    out.write_str(if longest > 0 { " " } else { "" })?;
    for character in characters {
        out.write_char(if character.is_control() { ' ' } else { character })?;
    }
    out.write_str(if longest > 0 { " " } else { "" })?;
    fence(out)
}

/// The types a value may have, if its schema says so.
fn types_of(schema: Value<'_>) -> Option<Types> {
    let literals = || literals_of(schema).map(Types::of).reduce(Types::with);
    let shape = || match (schema.get("properties"), schema.get("items")) {
        (Some(_), _) => Some(Types::OBJECT),
        (None, Some(_)) => Some(Types::ARRAY),
        (None, None) => None,
    };
    schema.get("type").and_then(Types::named).or_else(literals).or_else(shape)
}
