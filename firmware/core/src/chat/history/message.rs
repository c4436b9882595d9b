//! A history as the list of messages that providers expect.

use super::call::FAILED_AS;
use super::record::{ARGUMENTS, DONE, FAILED, ID, INVALID, NAME, RESULT, Record, RecordKind, Records, TEXT};
use crate::json::Value;

/// One message of a conversation.
#[derive(Clone, Debug)]
pub enum Message<'a> {
    /// What a person said.
    User(&'a str),
    /// The model's answer at the end of a turn.
    Assistant(&'a str),
    /// Calls of tools with their results.
    Round(Round<'a>),
}

/// The calls that a model asked for in one reply.
#[derive(Clone, Debug)]
pub struct Round<'a> {
    /// The text beside the calls.
    pub text: Option<&'a str>,
    first: Record<'a>,
    rest: Records<'a>,
}

impl<'a> Round<'a> {
    /// The calls in order; at least one.
    pub fn calls(&self) -> impl Iterator<Item = Call<'a>> + use<'a> {
        let first = self.first;
        let rest = self.rest.clone().take_while(move |record| is_same_round(&first, record));
        core::iter::once(first).chain(rest).map(Call::new)
    }
}

/// Whether a record that directly follows a round is part of it.
fn is_same_round(first: &Record<'_>, other: &Record<'_>) -> bool {
    other.header.kind == RecordKind::Call && other.header.iteration == first.header.iteration
}

/// A call and its result.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// Unique in the history.
    pub id: &'a str,
    /// The tool.
    pub name: &'a str,
    /// The round of its turn, from 0.
    pub iteration: u8,
    /// Whether the model's arguments were not a JSON object. They are then quoted in one.
    pub is_invalid: bool,
    /// The result, once the call was run.
    pub result: Option<CallResult<'a>>,
    arguments: &'a str,
}

/// The result of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallResult<'a> {
    /// The result object as JSON text; if it was cut, it ends in a mark.
    pub text: &'a str,
    /// Whether the call failed.
    pub is_error: bool,
}

impl<'a> Call<'a> {
    pub(super) fn new(record: Record<'a>) -> Self {
        let result = CallResult { text: record.part(RESULT), is_error: record.has(FAILED) };
        Self {
            id: record.part(ID),
            name: record.part(NAME),
            iteration: record.header.iteration,
            is_invalid: record.has(INVALID),
            result: record.has(DONE).then_some(result),
            arguments: record.part(ARGUMENTS),
        }
    }

    /// The arguments, a JSON object.
    pub fn arguments(&self) -> Value<'a> {
        Value::parse(self.arguments.as_bytes()).unwrap_or(Value::EMPTY_OBJECT)
    }

    /// Whether it was not run at all, which can be seen even if the result was cut.
    pub fn is_refused(&self) -> bool {
        let error_type = self.result_text().strip_prefix(FAILED_AS);
        error_type.is_some_and(|error_type| !error_type.starts_with("outcome_unknown"))
    }

    /// The text of the result.
    pub fn result_text(&self) -> &'a str {
        self.result.map_or("(no result)", |result| result.text)
    }
}

/// The messages of a history. See [`History::messages_after`](super::History::messages_after).
#[derive(Clone, Debug)]
pub struct Messages<'a> {
    records: Records<'a>,
}

impl<'a> Messages<'a> {
    pub(super) const fn new(records: Records<'a>) -> Self {
        Self { records }
    }

    /// Takes the next record if it matches.
    fn next_if(&mut self, is_wanted: impl FnOnce(&Record<'a>) -> bool) -> Option<Record<'a>> {
        let mut after = self.records.clone();
        let record = after.next().filter(is_wanted)?;
        self.records = after;
        Some(record)
    }

    fn round(&mut self, text: Option<&'a str>, first: Record<'a>) -> Message<'a> {
        let rest = self.records.clone();
        while self.next_if(|record| is_same_round(&first, record)).is_some() {}
        Message::Round(Round { text, first, rest })
    }
}

impl<'a> Iterator for Messages<'a> {
    type Item = Message<'a>;

    fn next(&mut self) -> Option<Message<'a>> {
        let record = self.records.next()?;
        Some(match record.header.kind {
            RecordKind::User => Message::User(record.part(TEXT)),
            RecordKind::Call => self.round(None, record),
            RecordKind::Assistant => {
                let text = record.part(TEXT);
                match self.next_if(|next| next.header.kind == RecordKind::Call) {
                    Some(first) => self.round(Some(text), first),
                    None => Message::Assistant(text),
                }
            }
        })
    }
}
