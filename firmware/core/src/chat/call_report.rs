//! What was done in a turn, for a person who gets no answer of the model's about it.

use core::fmt::{self, Display, Write};

use super::history::{History, ModelCall};
use crate::json::{Text, Value};
use crate::limits;
use crate::text::{MARK, Measure, is_blank};

/// Reports what the calls of the current turn did, or may have done: the tools' own words, and the number of calls that
/// have none. People never hear names of tools. Failed calls are not reported, because they did nothing. Without
/// anything to report, the displayed text is empty.
pub(super) struct CallReport<'a>(pub(super) &'a History);

impl Display for CallReport<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let outcomes = || self.0.calls().filter_map(|call| Outcome::of(&call));
        let count = |wanted| outcomes().filter(|outcome| *outcome == wanted).count();
        let words = |outcome| match outcome {
            Outcome::Words(words) => Some(words),
            Outcome::Done | Outcome::Unknown => None,
        };
        let mut words = outcomes().filter_map(words).peekable();
        let mut more = "";
        let mut separator = "";
        while let Some(sentence) = words.next() {
            let mut times = 1;
            while words.next_if_eq(&sentence).is_some() {
                times += 1;
            }
            f.write_str(separator)?;
            write_sentence(sentence, f)?;
            if times > 1 {
                write!(f, " ({times} times)")?;
            }
            (more, separator) = (" more", " ");
        }
        let omitted = self.0.omitted();
        let done = count(Outcome::Done) + usize::from(omitted.succeeded);
        let unknown = count(Outcome::Unknown) + usize::from(omitted.unknown);
        match done {
            0 => {}
            1 => write!(f, "{separator}I completed one{more} step.")?,
            steps => write!(f, "{separator}I completed {steps}{more} steps.")?,
        }
        if done > 0 {
            (more, separator) = (" more", " ");
        }
        match unknown {
            0 => Ok(()),
            1 => write!(f, "{separator}I do not know whether one{more} step was completed."),
            steps => write!(f, "{separator}I do not know whether {steps}{more} steps were completed."),
        }
    }
}

/// The outcome of one call, as reported to a person.
#[derive(Clone, Copy, PartialEq)]
enum Outcome<'a> {
    /// The tool's own words.
    Words(Text<'a>),
    /// The tool succeeded without a message.
    Done,
    /// It is unknown whether the tool succeeded.
    Unknown,
}

impl<'a> Outcome<'a> {
    fn of(call: &ModelCall<'a>) -> Option<Self> {
        let result = call.result?;
        let object = Value::parse(result.text.as_bytes()).ok();
        let text = |name| object?.get(name)?.as_text().filter(|text| !is_blank(text));
        if !result.is_error {
            let words = text("message")
                .or_else(|| text("result").filter(|text| !is_json(text) && !text.escaped().ends_with(MARK)));
            return Some(words.map_or(Self::Done, Self::Words));
        }
        // The only text of a failed summary is its `error`, which holds the words for the person.
        let is_summary = object.is_some_and(|object| object.get("tool_name").is_none());
        let words = || text("message").or_else(|| text("error").filter(|_| is_summary));
        result.is_unknown().then(|| words().map_or(Self::Unknown, Self::Words))
    }
}

/// Whether a text is JSON, which is not for people.
fn is_json(text: &Text<'_>) -> bool {
    text.chars().find(|next| !next.is_whitespace()).is_some_and(|next| matches!(next, '{' | '['))
}

/// Writes the words of a tool as a sentence, or as the beginning of one.
fn write_sentence(words: Text<'_>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let text = Trimmed(words);
    Measure::Plain.write_marked(&text, limits::OUTCOME_TEXT, CUT, f)?;
    let is_cut = Measure::Plain.length(&text) > limits::OUTCOME_TEXT;
    let has_end = text.chars().last().is_some_and(|last| matches!(last, '.' | '!' | '?' | '…'));
    if is_cut || has_end { Ok(()) } else { f.write_char('.') }
}

/// At the end of words that are cut.
const CUT: &str = "…";

/// A text without white space around it.
#[derive(Clone, Copy)]
struct Trimmed<'a>(Text<'a>);

impl Trimmed<'_> {
    fn chars(&self) -> impl Iterator<Item = char> {
        let characters = self.0.chars();
        let end = characters.clone().enumerate().filter(|(_, next)| !next.is_whitespace()).last();
        characters.take(end.map_or(0, |(last, _)| last + 1)).skip_while(|next| next.is_whitespace())
    }
}

impl Display for Trimmed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.chars().try_for_each(|character| f.write_char(character))
    }
}
