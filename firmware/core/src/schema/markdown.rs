//! A schema as Markdown, for people and models.

use core::fmt::{self, Write};

use super::equal::has;
use super::keyword::{Keyword, Keywords};
use super::types::Types;
use super::{Exhausted, Work};
use crate::json::{Text, Value};
use crate::limits::SCHEMA_DEPTH;

/// Writes the parameters as a list, one line each, those inside an object or an array indented under it:
///
/// ```text
/// - `action` (string, required): What to do. One of: `on`, `off`, `toggle`
/// ```
///
/// Nothing for a schema without parameters. A schema beyond the limits of the [module](super) is cut, and the
/// list ends with `…`.
pub fn write_markdown(schema: Value<'_>, out: &mut dyn Write) -> fmt::Result {
    let mut outline = Outline { out, work: Work::new() };
    match outline.schema(schema, 0, SCHEMA_DEPTH) {
        Ok(()) => Ok(()),
        Err(Stop::Full) => Err(fmt::Error),
        Err(Stop::Exhausted) => outline.out.write_str("- …\n"),
    }
}

struct Outline<'w> {
    out: &'w mut dyn Write,
    work: Work,
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

impl Outline<'_> {
    /// Lists the parameters in `schema`, and calls itself for those inside them; at most `depth` levels.
    fn schema(&mut self, schema: Value<'_>, indent: usize, depth: u8) -> Result<(), Stop> {
        let depth = depth.checked_sub(1).ok_or(Exhausted)?;
        let inside = self.open(schema)?;
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
        Ok(())
    }

    /// Not inlined, because all keywords together take much stack.
    #[inline(never)]
    fn open<'s>(&mut self, schema: Value<'s>) -> Result<ParameterSources<'s>, Exhausted> {
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
        schema: Value<'_>,
        required: Option<Value<'_>>,
        indent: usize,
    ) -> Result<(), Stop> {
        // Its type and its literals are looked up several times.
        self.work.spend(schema.text().len().saturating_mul(16))?;
        self.work.spend(required.map_or(0, |required| required.text().len()))?;
        let required = required.is_some_and(|names| names.items().any(|item| item.as_text() == Some(name)));
        for _ in 0..indent {
            self.out.write_str("  ")?;
        }
        self.out.write_str("- ")?;
        self.code(name.chars())?;
        self.out.write_str(" (")?;
        self.types(schema)?;
        self.out.write_str(if required { ", required)" } else { ", optional)" })?;
        let last = match schema.get("description").and_then(|description| description.as_text()) {
            Some(description) => self.sentence(description)?,
            None => None,
        };
        self.literals(schema, last)?;
        self.out.write_char('\n')?;
        Ok(())
    }

    /// Such as `string`, `integer or null`, `array of string`.
    fn types(&mut self, mut schema: Value<'_>) -> fmt::Result {
        for of in ["", " of ", " of ", " of "] {
            let types = types_of(schema);
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
            match with_alternatives(schema).find_map(|schema| schema.get("items")) {
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
    fn literals(&mut self, schema: Value<'_>, last: Option<char>) -> fmt::Result {
        let own = || with_alternatives(schema).flat_map(literals_of);
        let of_items = || schema.get("items").into_iter().flat_map(literals_of);
        let count = own().take(2).count();
        let of_items_count = of_items().take(2).count();
        let words = match (count, of_items_count) {
            (0, 0) => return Ok(()),
            (0, 1) => "Each must be ",
            (0, _) => "Each one of: ",
            (1, _) => "Must be ",
            _ => "One of: ",
        };
        self.out.write_str(match last {
            None => ": ",
            Some('.' | '!' | '?' | ':' | '…') => " ",
            Some(_) => ". ",
        })?;
        self.out.write_str(words)?;
        for (at, value) in own().chain(of_items().filter(|_| count == 0)).enumerate() {
            self.out.write_str(if at > 0 { ", " } else { "" })?;
            match value.as_text() {
                Some(text) => self.code(text.chars())?,
                None => self.code(value.text().chars())?,
            }
        }
        Ok(())
    }

    /// A code span, with a fence that does not occur inside.
    fn code(&mut self, characters: impl Iterator<Item = char> + Clone) -> fmt::Result {
        let (longest, _) = characters.clone().fold((0, 0), |(longest, run), character| {
            let run = if character == '`' { run + 1 } else { 0 };
            (run.max(longest), run)
        });
        let fence = |out: &mut dyn Write| (0..=longest).try_for_each(|_| out.write_char('`'));
        fence(self.out)?;
        self.out.write_str(if longest > 0 { " " } else { "" })?;
        for character in characters {
            self.out.write_char(if character.is_control() { ' ' } else { character })?;
        }
        self.out.write_str(if longest > 0 { " " } else { "" })?;
        fence(self.out)
    }
}

/// The schema itself, and those inside it that say what else the value may be.
fn with_alternatives(schema: Value<'_>) -> impl Iterator<Item = Value<'_>> {
    let lists = ["anyOf", "oneOf"].into_iter().filter_map(move |name| schema.get(name));
    core::iter::once(schema).chain(lists.flat_map(|list| list.items()))
}

/// The values that a schema names.
fn literals_of(schema: Value<'_>) -> impl Iterator<Item = Value<'_>> {
    let options = schema.get("enum").into_iter().flat_map(|options| options.items());
    schema.get("const").into_iter().chain(options)
}

/// The types a value may have, as far as its schema says.
fn types_of(schema: Value<'_>) -> Types {
    let stated = |schema: Value<'_>| {
        let literals = || literals_of(schema).map(Types::of).reduce(Types::with);
        let shape = || match (schema.get("properties"), schema.get("items")) {
            (Some(_), _) => Some(Types::OBJECT),
            (None, Some(_)) => Some(Types::ARRAY),
            (None, None) => None,
        };
        schema.get("type").and_then(Types::named).or_else(literals).or_else(shape)
    };
    let alternatives =
        || with_alternatives(schema).skip(1).map(|schema| stated(schema).unwrap_or(Types::ANY));
    stated(schema).or_else(|| alternatives().reduce(Types::with)).unwrap_or(Types::ANY)
}
