//! A history as the list of messages that providers expect.

use core::fmt::{self, Display};

use super::record::{ARGUMENTS, DONE, FAILED, ID, INVALID, NAME, RESULT, Record, RecordKind, Records, TEXT};
use crate::json::Value;
use crate::limits;
use crate::tool::Summary;

/// How much of the earlier turns a question includes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum EarlierTurns {
    /// Everything that is kept.
    Whole,
    /// Results only as summaries.
    Summaries,
    /// The words of people and the model, without calls.
    Words,
}

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
    /// Whether results are shown only as summaries.
    is_brief: bool,
}

impl<'a> Round<'a> {
    /// The calls in order; at least one.
    pub fn calls(&self) -> impl Iterator<Item = Call<'a>> + use<'a> {
        let (first, is_brief) = (self.first, self.is_brief);
        let rest = self.rest.clone().take_while(move |record| is_same_round(&first, record));
        core::iter::once(first).chain(rest).map(move |record| Call { is_brief, ..Call::whole(record) })
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
    /// The number of further calls in the same reply of the model that were not run.
    pub not_run: u8,
    arguments: &'a str,
    is_brief: bool,
}

/// The result of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallResult<'a> {
    /// The result object as JSON text, with a mark where it was cut.
    pub text: &'a str,
    /// Whether the call failed.
    pub is_error: bool,
}

impl<'a> Call<'a> {
    /// The call in a record, with everything that is kept of it.
    pub(super) fn whole(record: Record<'a>) -> Self {
        let result = CallResult { text: record.part(RESULT), is_error: record.has(FAILED) };
        Self {
            id: record.part(ID),
            name: record.part(NAME),
            iteration: record.header.iteration,
            is_invalid: record.has(INVALID),
            result: record.has(DONE).then_some(result),
            not_run: record.header.not_run,
            arguments: record.part(ARGUMENTS),
            is_brief: false,
        }
    }

    /// The arguments, a JSON object.
    pub fn arguments(&self) -> Value<'a> {
        Value::parse(self.arguments.as_bytes()).unwrap_or(Value::EMPTY_OBJECT)
    }

    /// The text of the result.
    pub fn result_text(&self) -> &'a str {
        self.result.map_or(NO_RESULT, |result| result.text)
    }

    /// The result as the model reads it, with a note about calls that were not run.
    pub fn shown_result(&self) -> impl Display + use<'a> {
        ShownResult(*self)
    }
}

/// Stands for the result of a call that has none.
const NO_RESULT: &str = "(no result)";

/// See [`Call::shown_result`].
struct ShownResult<'a>(Call<'a>);

impl Display for ShownResult<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let call = &self.0;
        let result = call.result_text();
        let (shown, end) = match result.strip_suffix('}').filter(|_| call.not_run > 0) {
            Some(open) => (open, "}"),
            None => (result, ""),
        };
        if call.is_brief {
            // Calls of earlier turns that were not run no longer matter.
            return Summary { result, room: limits::RESULT_SUMMARY }.fmt(f);
        }
        f.write_str(shown)?;
        if !end.is_empty() {
            let count = call.not_run;
            write!(
                f,
                ",\"not_run\":\"Calls not run, because there were too many at once: {count}. Ask for them again.\""
            )?;
        }
        f.write_str(end)
    }
}

/// The messages of a history. See [`History::messages_after`](super::History::messages_after).
#[derive(Clone, Debug)]
pub struct Messages<'a> {
    records: Records<'a>,
    /// The position where the current turn begins.
    current: usize,
    earlier: EarlierTurns,
}

impl<'a> Messages<'a> {
    pub(super) const fn new(records: Records<'a>, current: usize, earlier: EarlierTurns) -> Self {
        Self { records, current, earlier }
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
        let is_brief = self.earlier == EarlierTurns::Summaries && first.at < self.current;
        Message::Round(Round { text, first, rest, is_brief })
    }

    fn next_message(&mut self) -> Option<(usize, Message<'a>)> {
        let record = self.records.next()?;
        let message = match record.header.kind {
            RecordKind::User => Message::User(record.part(TEXT)),
            RecordKind::Call => self.round(None, record),
            RecordKind::Assistant => {
                let text = record.part(TEXT);
                match self.next_if(|next| next.header.kind == RecordKind::Call) {
                    Some(first) => self.round(Some(text), first),
                    None => Message::Assistant(text),
                }
            }
        };
        Some((record.at, message))
    }
}

impl<'a> Iterator for Messages<'a> {
    type Item = Message<'a>;

    fn next(&mut self) -> Option<Message<'a>> {
        loop {
            let (at, message) = self.next_message()?;
            let is_left_out = self.earlier == EarlierTurns::Words && at < self.current;
            if !(is_left_out && matches!(message, Message::Round(_))) {
                return Some(message);
            }
        }
    }
}
