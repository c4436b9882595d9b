//! Goes through a schema and the schemas inside it.

use super::Work;
use super::keyword::Keyword;
use super::reference::resolve;
use crate::limits::UNKNOWN;
use hub_json::limits::JSON_DEPTH;
use hub_json::{Items, Kind, Members, Text, Value};

/// The keywords that [`validate`](super::validate) does not check, each once, up to
/// [`UNKNOWN`] of them. What says nothing about valid values, such as `title` or `format`, is not
/// among them.
pub fn unknown_keywords(schema: Value<'_>) -> impl Iterator<Item = Text<'_>> {
    let mut seen = heapless::Vec::<Text<'_>, UNKNOWN>::new();
    let mut work = Work::new();
    let mut leads_out = move |name: Text<'_>, value: Value<'_>| {
        name == *"$ref"
            && value
                .as_text()
                .is_some_and(|reference| !matches!(resolve(schema, reference, &mut work), Ok(Some(_))))
    };
    Walk::new(schema)
        .flat_map(|(_, schema)| schema.members())
        .filter(move |(name, value)| !Keyword::covers(*name, *value) || leads_out(*name, *value))
        .map(|(name, _)| name)
        .filter(move |name| !seen.contains(name) && seen.push(*name).is_ok())
}

/// The parameters without a description, those inside others included.
pub fn undescribed(schema: Value<'_>) -> impl Iterator<Item = Text<'_>> {
    Walk::new(schema).filter_map(|(name, schema)| {
        let description = schema.get("description").and_then(|description| description.as_text());
        let empty = description.is_none_or(|text| text.chars().all(char::is_whitespace));
        name.filter(|_| empty)
    })
}

/// Every schema of a schema, itself first, with its name if it is that of a parameter. Costs a pass over the text for
/// each level.
struct Walk<'s> {
    start: Option<Value<'s>>,
    /// A level of this is at least a level of the text, so that it is never full.
    open: heapless::Vec<Level<'s>, JSON_DEPTH>,
}

/// What is left of an opened array or object.
enum Level<'s> {
    Keywords(Members<'s>),
    Parameters(Members<'s>),
    Named(Members<'s>),
    Alternatives(Items<'s>),
}

impl<'s> Walk<'s> {
    const fn new(schema: Value<'s>) -> Self {
        Self { start: Some(schema), open: heapless::Vec::new() }
    }

    fn enter(&mut self, level: Level<'s>) {
        let entered = self.open.push(level);
        debug_assert!(entered.is_ok(), "a level of a walk is a level of the text");
    }
}

impl<'s> Iterator for Walk<'s> {
    type Item = (Option<Text<'s>>, Value<'s>);

    fn next(&mut self) -> Option<Self::Item> {
        let found = match self.start.take() {
            Some(schema) => (None, schema),
            None => loop {
                let next = match self.open.last_mut()? {
                    Level::Keywords(members) => match members.next() {
                        Some((keyword, value)) => match (Keyword::named(keyword), value.kind()) {
                            (Some(Keyword::Properties), Kind::Object) => {
                                self.enter(Level::Parameters(value.members()));
                                continue;
                            }
                            (Some(Keyword::PatternProperties | Keyword::Definitions), Kind::Object) => {
                                self.enter(Level::Named(value.members()));
                                continue;
                            }
                            (Some(keyword), Kind::Array) if keyword.has_schemas() => {
                                self.enter(Level::Alternatives(value.items()));
                                continue;
                            }
                            (Some(keyword), Kind::Object) if keyword.has_schemas() => Some((None, value)),
                            _ => continue,
                        },
                        None => None,
                    },
                    Level::Parameters(members) => members.next().map(|(name, schema)| (Some(name), schema)),
                    Level::Named(members) => members.next().map(|(_, schema)| (None, schema)),
                    Level::Alternatives(items) => items.next().map(|schema| (None, schema)),
                };
                match next {
                    Some(found) => break found,
                    None => self.open.pop(),
                };
            },
        };
        if found.1.kind() == Kind::Object {
            self.enter(Level::Keywords(found.1.members()));
        }
        Some(found)
    }
}
