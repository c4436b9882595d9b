//! A history as the messages that a provider wants.

use super::record::{ARGUMENTS, CUT, DONE, FAILED, ID, Kind, NAME, RESULT, Record, Records, TEXT, WRONG};
use crate::json::Value;

/// One thing that was said or done.
#[derive(Clone, Debug)]
pub enum Message<'a> {
    /// A person said it.
    User(&'a str),
    /// The model said it, at the end of a turn.
    Said(&'a str),
    /// The model had tools called.
    Round(Round<'a>),
}

/// Calls that a model asked for at once.
#[derive(Clone, Debug)]
pub struct Round<'a> {
    /// What it said beside them.
    pub text: Option<&'a str>,
    first: Record<'a>,
    rest: Records<'a>,
}

impl<'a> Round<'a> {
    /// The calls in order; at least one.
    pub fn calls(&self) -> impl Iterator<Item = Call<'a>> + use<'a> {
        let first = self.first;
        let rest = self.rest.clone().take_while(move |record| is_beside(&first, record));
        core::iter::once(first).chain(rest).map(Call::new)
    }
}

/// Whether two calls were asked for at once, if nothing is between them.
fn is_beside(first: &Record<'_>, other: &Record<'_>) -> bool {
    other.header.kind == Kind::Call && other.header.iteration == first.header.iteration
}

/// A call, and what came of it.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// Unique in the history.
    pub id: &'a str,
    /// The tool.
    pub name: &'a str,
    /// In which round of its turn it was asked for, from 0.
    pub iteration: u8,
    /// Whether the model gave no JSON object as arguments. They are then quoted in one.
    pub is_wrong: bool,
    /// The result, once there is one.
    pub outcome: Option<Outcome<'a>>,
    arguments: &'a str,
}

/// What came of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome<'a> {
    /// The result object, as JSON text unless it was cut.
    pub text: &'a str,
    /// Whether it failed.
    pub is_error: bool,
    /// Whether the end is missing.
    pub is_cut: bool,
}

impl<'a> Call<'a> {
    pub(super) fn new(record: Record<'a>) -> Self {
        let outcome = record.has(DONE).then(|| Outcome {
            text: record.part(RESULT),
            is_error: record.has(FAILED),
            is_cut: record.has(CUT),
        });
        Self {
            id: record.part(ID),
            name: record.part(NAME),
            iteration: record.header.iteration,
            is_wrong: record.has(WRONG),
            outcome,
            arguments: record.part(ARGUMENTS),
        }
    }

    /// The arguments, an object.
    pub fn arguments(&self) -> Value<'a> {
        Value::parse(self.arguments.as_bytes()).unwrap_or(Value::EMPTY_OBJECT)
    }

    /// The result as a text; it has none for a call that is still to be made.
    pub fn result(&self) -> &'a str {
        self.outcome.map_or("(no result)", |outcome| outcome.text)
    }
}

/// The messages of a history. See [`History::messages`](super::History::messages).
#[derive(Clone, Debug)]
pub struct Messages<'a> {
    records: Records<'a>,
}

impl<'a> Messages<'a> {
    pub(super) const fn new(records: Records<'a>) -> Self {
        Self { records }
    }

    /// Takes the next record, if it is such a one.
    fn next_if(&mut self, is_wanted: impl FnOnce(&Record<'a>) -> bool) -> Option<Record<'a>> {
        let mut after = self.records.clone();
        let record = after.next().filter(is_wanted)?;
        self.records = after;
        Some(record)
    }

    fn round(&mut self, text: Option<&'a str>, first: Record<'a>) -> Message<'a> {
        let rest = self.records.clone();
        while self.next_if(|record| is_beside(&first, record)).is_some() {}
        Message::Round(Round { text, first, rest })
    }
}

impl<'a> Iterator for Messages<'a> {
    type Item = Message<'a>;

    fn next(&mut self) -> Option<Message<'a>> {
        let record = self.records.next()?;
        Some(match record.header.kind {
            Kind::User => Message::User(record.part(TEXT)),
            Kind::Call => self.round(None, record),
            Kind::Said => {
                let text = record.part(TEXT);
                match self.next_if(|next| next.header.kind == Kind::Call) {
                    Some(first) => self.round(Some(text), first),
                    None => Message::Said(text),
                }
            }
        })
    }
}
