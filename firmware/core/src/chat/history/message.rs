//! A history as the list of messages that providers expect.

use core::fmt::{self, Display, Write};

use super::Omitted;
use super::record::{
    ARGUMENTS, DONE, FAILED, HistoryRecord, ID, INVALID, NAME, RESULT, RecordKind, Records, TEXT,
};
use crate::json::{Text, Value};
use crate::limits;
use crate::text::{Escape, Measure};
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
    first: HistoryRecord<'a>,
    rest: Records<'a>,
    /// Whether results are shown only as summaries.
    is_brief: bool,
    omitted: Omitted,
}

impl<'a> Round<'a> {
    /// The calls in order; at least one.
    pub fn calls(&self) -> impl Iterator<Item = ModelCall<'a>> + use<'a> {
        let Self { first, is_brief, omitted, .. } = *self;
        let records = self.rest.clone();
        let rest = self.rest.clone().take_while(move |record| is_same_round(&first, record));
        core::iter::once(first).chain(rest).map(move |record| {
            // The model reads the notes with the newest result.
            let omitted = if records.end_with(&record) { omitted } else { Omitted::NONE };
            ModelCall { is_brief, omitted, ..ModelCall::whole(record) }
        })
    }
}

/// Whether a record that directly follows a round is part of it.
pub(super) fn is_same_round(first: &HistoryRecord<'_>, other: &HistoryRecord<'_>) -> bool {
    other.header.kind == RecordKind::Call && other.header.iteration == first.header.iteration
}

/// A call and its result.
#[derive(Clone, Copy, Debug)]
pub struct ModelCall<'a> {
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
    is_brief: bool,
    /// The notes that the model reads with the result.
    omitted: Omitted,
}

/// The result of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallResult<'a> {
    /// The result object as JSON text, with a mark where it was cut.
    pub text: &'a str,
    /// Whether the call failed.
    pub is_error: bool,
}

impl CallResult<'_> {
    /// Whether the call failed, but may have been done.
    pub fn is_unknown(&self) -> bool {
        let object = Value::parse(self.text.as_bytes()).ok();
        let error_type = object.and_then(|object| object.get("error_type")?.as_text());
        // Of a timeout, the request may have been sent; of a result that is too large, the request was.
        let is_unknown =
            |kind| ["outcome_unknown", "timeout", "too_large"].iter().any(|known| kind == **known);
        self.is_error && error_type.is_some_and(is_unknown)
    }
}

impl<'a> ModelCall<'a> {
    /// The call in a record, with everything that is kept of it.
    pub(super) fn whole(record: HistoryRecord<'a>) -> Self {
        let result = CallResult { text: record.part(RESULT), is_error: record.has(FAILED) };
        Self {
            id: record.part(ID),
            name: record.part(NAME),
            iteration: record.header.iteration,
            is_invalid: record.has(INVALID),
            result: record.has(DONE).then_some(result),
            arguments: record.part(ARGUMENTS),
            is_brief: false,
            omitted: Omitted::NONE,
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

    /// The result as the model reads it, with notes about calls that it does not see.
    pub fn shown_result(&self) -> impl Display + use<'a> {
        ShownResult(*self)
    }
}

/// Stands for the result of a call that has none.
const NO_RESULT: &str = "(no result)";

/// See [`ModelCall::shown_result`].
struct ShownResult<'a>(ModelCall<'a>);

impl Display for ShownResult<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let call = &self.0;
        let result = call.result_text();
        if call.is_brief {
            return Summary { result, room: limits::RESULT_SUMMARY }.fmt(f);
        }
        let Omitted { succeeded, failed, unknown, left_out, .. } = call.omitted;
        let is_removed = call.omitted.removed() > 0;
        let Some(open) = result.strip_suffix('}').filter(|_| is_removed || left_out > 0) else {
            return f.write_str(result);
        };
        f.write_str(open)?;
        if is_removed {
            write!(
                f,
                ",\"earlier_calls\":\"Earlier calls of this turn that are no longer shown: {succeeded} succeeded, \
                 {failed} failed, {unknown} with unknown outcome. Do not repeat them.\""
            )?;
        }
        if left_out > 0 {
            write!(
                f,
                ",\"not_run\":\"Calls not run, because there were too many at once: {left_out}. Ask for them again.\""
            )?;
        }
        f.write_str("}")
    }
}

/// The messages of a history. See [`History::messages_after`](super::History::messages_after).
#[derive(Clone, Debug)]
pub struct Messages<'a> {
    records: Records<'a>,
    /// The position where the current turn begins.
    current: usize,
    earlier: EarlierTurns,
    omitted: Omitted,
}

impl<'a> Messages<'a> {
    pub(super) const fn new(
        records: Records<'a>,
        current: usize,
        earlier: EarlierTurns,
        omitted: Omitted,
    ) -> Self {
        Self { records, current, earlier, omitted }
    }

    /// Takes the next record if it matches.
    fn next_if(&mut self, is_wanted: impl FnOnce(&HistoryRecord<'a>) -> bool) -> Option<HistoryRecord<'a>> {
        let mut after = self.records.clone();
        let record = after.next().filter(is_wanted)?;
        self.records = after;
        Some(record)
    }

    fn round(&mut self, text: Option<&'a str>, first: HistoryRecord<'a>) -> Message<'a> {
        let rest = self.records.clone();
        while self.next_if(|record| is_same_round(&first, record)).is_some() {}
        let is_brief = self.earlier == EarlierTurns::Summaries && first.at < self.current;
        Message::Round(Round { text, first, rest, is_brief, omitted: self.omitted })
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

/// The id of a call.
pub(super) enum CallId<'a> {
    /// Given by the model.
    Given(Text<'a>),
    /// Generated by the hub: some providers give none.
    Generated(u32),
}

impl<'a> CallId<'a> {
    /// A model's id, if every provider accepts it.
    pub(super) fn given(id: Text<'a>) -> Option<Self> {
        let is_short = (1..=limits::CALL_ID).contains(&id.escaped().len());
        (is_short && id.escaped().chars().all(is_allowed)).then_some(Self::Given(id))
    }

    pub(super) fn is(&self, other: &str) -> bool {
        match self {
            Self::Given(id) => *id == *other,
            Self::Generated(number) => {
                other.strip_prefix(GENERATED).and_then(|other| other.parse().ok()) == Some(*number)
            }
        }
    }
}

const GENERATED: &str = "call_";

impl Display for CallId<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Given(id) => id.fmt(f),
            Self::Generated(number) => write!(f, "{GENERATED}{number}"),
        }
    }
}

/// The name of a tool with the characters that providers accept: a model may have invented it.
pub(super) struct ToolName<'a>(pub(super) Text<'a>);

impl Display for ToolName<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut characters = self.0.chars().take(limits::TOOL_NAME).peekable();
        if characters.peek().is_none() {
            return f.write_char('_');
        }
        characters.try_for_each(|character| f.write_char(if is_allowed(character) { character } else { '_' }))
    }
}

const fn is_allowed(character: char) -> bool {
    character.is_ascii_alphanumeric() || character == '_' || character == '-'
}

/// Arguments that are not a JSON object, quoted in one.
pub(super) struct QuotedArguments<'a>(pub(super) &'a dyn Display);

impl Display for QuotedArguments<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("{\"invalid_arguments\":\"")?;
        Measure::Escaped.write(self.0, limits::QUOTED_ARGUMENTS, &mut Escape(f))?;
        f.write_str("\"}")
    }
}

/// Why a call has no result of its tool's.
#[derive(Clone, Copy, Debug)]
pub struct NoResult {
    /// For the model. Needs no escapes.
    pub error: &'static str,
    /// Its kind.
    pub error_type: &'static str,
    /// How long the tool ran.
    pub milliseconds: u64,
}

/// The failed result of a tool call, in the executor's format.
pub(super) struct FailureResult<'a> {
    pub(super) failure: &'a NoResult,
    pub(super) name: heapless::String<{ limits::TOOL_NAME }>,
}

impl Display for FailureResult<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let NoResult { error, error_type, milliseconds } = self.failure;
        write!(
            f,
            r#"{{"success":false,"error_type":"{error_type}","error":"{error}","tool_name":"{}","execution_time_ms":{milliseconds}}}"#,
            self.name
        )
    }
}
