//! Expressions that select documents.
//!
//! `lang/python+rust*,guidelines` is two expressions: the documents `python` and those that start with `rust` in the
//! category `lang`, and all of the category `guidelines`. `*` stands for any characters and `?` for one. Documents
//! come in the order in which the expression names them, those of one pattern sorted by name, and none twice.

use core::fmt;
use core::ops::ControlFlow;

use embedded_storage_async::nor_flash::MultiwriteNorFlash;

use super::error::{NameFault, NamedPart};
use super::key::{self, Key};
use super::name_index::{NameIndex, NameRecord};
use super::{Store, StoreError, read, readable};
use crate::limits;

/// A document that comes with the firmware.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Builtin<'a> {
    /// The group it belongs to.
    pub category: &'a str,
    /// Unique in its category. A stored document of the same name replaces it.
    pub name: &'a str,
    /// Its content.
    pub text: &'a str,
}

/// A document that was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Document<'a> {
    /// The group it belongs to.
    pub category: &'a str,
    /// Unique in its category.
    pub name: &'a str,
    /// Its content.
    pub text: &'a str,
    /// Whether it is from the store, and not built in.
    pub stored: bool,
}

/// A checked expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expression<'a> {
    text: &'a str,
}

/// Why an expression is malformed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed {
    /// Which of the expressions between commas, from 1.
    pub number: usize,
    /// What is wrong with it.
    pub reason: ExpressionFault,
}

/// What is wrong with an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExpressionFault {
    /// All of them together are longer than [`limits::EXPRESSION`].
    TooLong,
    /// There is nothing between two commas, or nothing at all.
    Empty,
    /// The name of the category is malformed.
    Category(NameFault),
    /// A pattern is missing after `/`, or before or after `+`.
    NoPattern,
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = self.number;
        match self.reason {
            ExpressionFault::TooLong => {
                write!(f, "the expression has more than {} bytes", limits::EXPRESSION)
            }
            ExpressionFault::Empty => write!(f, "expression {number} is empty"),
            ExpressionFault::Category(fault) => {
                write!(f, "expression {number}: {}", StoreError::Name(NamedPart::Category, fault))
            }
            ExpressionFault::NoPattern => {
                write!(f, "expression {number} lacks a pattern: write category/pattern")
            }
        }
    }
}

impl core::error::Error for Malformed {}

/// A category and one pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Term<'a> {
    category: &'a str,
    pattern: &'a str,
}

impl Term<'_> {
    fn matches(&self, category: &str, name: &str) -> bool {
        self.category == category && matches(self.pattern, name)
    }
}

impl<'a> Expression<'a> {
    /// Checks an expression. White space around its parts does not count.
    pub fn parse(text: &'a str) -> Result<Self, Malformed> {
        if text.len() > limits::EXPRESSION {
            return Err(Malformed { number: 1, reason: ExpressionFault::TooLong });
        }
        for (index, expression) in text.split(',').enumerate() {
            let malformed = |reason| Malformed { number: index + 1, reason };
            if expression.trim().is_empty() {
                return Err(malformed(ExpressionFault::Empty));
            }
            for term in terms(expression) {
                if let Err(fault) = key::check(NamedPart::Category, term.category) {
                    return Err(malformed(ExpressionFault::Category(fault)));
                }
                if term.pattern.is_empty() {
                    return Err(malformed(ExpressionFault::NoPattern));
                }
            }
        }
        Ok(Self { text })
    }

    /// As it was written.
    pub const fn text(&self) -> &'a str {
        self.text
    }

    /// Whether it selects a document.
    pub fn selects(&self, category: &str, name: &str) -> bool {
        self.terms().any(|term| term.matches(category, name))
    }

    fn terms(&self) -> impl Iterator<Item = Term<'a>> + use<'a> {
        self.text.split(',').flat_map(terms)
    }
}

/// The terms of an expression between commas.
fn terms(expression: &str) -> impl Iterator<Item = Term<'_>> {
    let (category, patterns) = expression.split_once('/').unwrap_or((expression, "*"));
    let category = category.trim();
    patterns.split('+').map(move |pattern| Term { category, pattern: pattern.trim() })
}

/// Whether a pattern matches a name.
///
/// Goes back to the last `*` alone, which is enough, so the work is at most the product of the lengths. By hand: crates
/// for globs match paths, or need a heap.
pub(super) fn matches(pattern: &str, name: &str) -> bool {
    let (mut pattern, mut name) = (pattern.chars(), name.chars());
    // After the last `*`: the pattern from there, and the name from where that is tried.
    let mut star = None;
    loop {
        let wanted = pattern.next();
        if wanted == Some('*') {
            star = Some((pattern.clone(), name.clone()));
            continue;
        }
        match (wanted, name.next()) {
            (None, None) => return true,
            (Some(_), None) => return false,
            (Some(wanted), Some(found)) if wanted == '?' || wanted == found => {}
            (_, Some(_)) => {
                let Some((after, from)) = &mut star else { return false };
                // The star takes one character more.
                from.next();
                (pattern, name) = (after.clone(), from.clone());
            }
        }
    }
}

/// Stored and built-in documents together.
struct Library<'a> {
    names: &'a NameIndex,
    builtins: &'a [Builtin<'a>],
}

/// A document and where its text is.
#[derive(Clone, Copy)]
struct Located<'a> {
    category: &'a str,
    name: &'a str,
    source: Source<'a>,
}

#[derive(Clone, Copy)]
enum Source<'a> {
    Stored(NameRecord<'a>),
    Builtin(&'a str),
}

impl<'a> Library<'a> {
    /// The first document after one, or of all.
    fn after(&self, last: Option<(&str, &str)>) -> Option<Located<'a>> {
        let stored = self.names.iter().filter_map(|record| match Key::decode(record.key)? {
            Key::Document { category, name } => {
                Some(Located { category, name, source: Source::Stored(record) })
            }
            Key::Flag(..) | Key::Setting(_) => None,
        });
        let builtin = self.builtins.iter().map(|builtin| Located {
            category: builtin.category,
            name: builtin.name,
            source: Source::Builtin(builtin.text),
        });
        // Of two with the same name the first counts.
        stored
            .chain(builtin)
            .filter(|document| last.is_none_or(|last| (document.category, document.name) > last))
            .min_by_key(|document| (document.category, document.name))
    }
}

impl<F: MultiwriteNorFlash> Store<'_, F> {
    /// Calls `visit` with the documents that `expression` selects, in its order, until it breaks. Returns how
    /// many there were. Damaged documents are skipped.
    pub async fn content(
        &mut self,
        expression: Expression<'_>,
        builtins: &[Builtin<'_>],
        visit: &mut dyn FnMut(Document<'_>) -> ControlFlow<()>,
    ) -> Result<usize, StoreError> {
        let (map, memory) = self.ready().await?;
        let library = Library { names: &memory.names, builtins };
        let mut shown = 0;
        // By number: the iterator itself would take a part of the future.
        for index in 0..expression.terms().count() {
            let Some(term) = expression.terms().nth(index) else { break };
            // No name is empty, so this is before all of them.
            let mut last = "";
            while let Some(document) = library.after(Some((term.category, last))) {
                let Located { category, name, source } = document;
                if category != term.category {
                    break;
                }
                last = name;
                let first = expression.terms().position(|term| term.matches(category, name));
                if first != Some(index) {
                    continue;
                }
                let text = match source {
                    Source::Builtin(text) => text,
                    Source::Stored(record) => match readable(read(map, &mut memory.buffer, record).await)? {
                        Some(text) => text,
                        None => continue,
                    },
                };
                shown += 1;
                let stored = matches!(source, Source::Stored(_));
                if visit(Document { category, name, text, stored }).is_break() {
                    return Ok(shown);
                }
            }
        }
        Ok(shown)
    }

    /// Calls `visit` with the category and name of every document, sorted, and whether it is stored, until it breaks.
    pub async fn documents(
        &mut self,
        builtins: &[Builtin<'_>],
        mut visit: impl FnMut(&str, &str, bool) -> ControlFlow<()>,
    ) -> Result<(), StoreError> {
        let (_, memory) = self.ready().await?;
        let library = Library { names: &memory.names, builtins };
        let mut last = None;
        while let Some(Located { category, name, source }) = library.after(last) {
            last = Some((category, name));
            if visit(category, name, matches!(source, Source::Stored(_))).is_break() {
                break;
            }
        }
        Ok(())
    }
}
