//! What was done in a turn, for a person who gets no answer of the model's about it.

use core::fmt::{self, Display, Write};

use super::history::{Call, History};
use crate::json::{Text, Value};
use crate::limits;
use crate::text::{Measure, is_blank};

/// What the calls of the current turn did, or may have done, in the tools' own words. Displayed, it is empty if there is
/// nothing to tell: what failed was not done.
pub(super) struct Report<'a>(pub(super) &'a History);

impl Display for Report<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut sentences = self.0.calls().filter_map(|call| Sentence::about(&call)).peekable();
        let mut separator = "";
        while let Some(sentence) = sentences.next() {
            let mut times = 1;
            while sentences.next_if_eq(&sentence).is_some() {
                times += 1;
            }
            write!(f, "{separator}{sentence}")?;
            if times > 1 {
                write!(f, " ({times} times)")?;
            }
            separator = " ";
        }
        Ok(())
    }
}

/// What is said about one call.
#[derive(Clone, Copy, PartialEq)]
enum Sentence<'a> {
    /// The tool's own words.
    Words(Text<'a>),
    /// The tool of this name has nothing to say, but succeeded.
    Done(&'a str),
    /// Whether the tool of this name succeeded is unknown.
    Unknown(&'a str),
}

impl<'a> Sentence<'a> {
    fn about(call: &Call<'a>) -> Option<Self> {
        let result = call.result?;
        let object = Value::parse(result.text.as_bytes()).ok();
        let text = |name| object?.get(name)?.as_text().filter(|text| !is_blank(text));
        if !result.is_error {
            let words = text("message").or_else(|| text("result").filter(|text| !is_json(text)));
            return Some(words.map_or(Self::Done(call.name), Self::Words));
        }
        let is = |error_type: &str| text("error_type").is_some_and(|text| text == *error_type);
        match object {
            // The call may have been sent.
            Some(_) if is("outcome_unknown") || is("timeout") => {
                Some(text("message").map_or(Self::Unknown(call.name), Self::Words))
            }
            // The error says what of it is too large: what was sent or what came back.
            Some(_) if is("too_large") => text("error").map(Self::Words),
            Some(_) => None,
            None => Some(Self::Unknown(call.name)).filter(|_| !call.is_refused()),
        }
    }
}

/// Whether a text is JSON, which is not for people.
fn is_json(text: &Text<'_>) -> bool {
    text.chars().find(|next| !next.is_whitespace()).is_some_and(|next| matches!(next, '{' | '['))
}

impl Display for Sentence<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            Self::Words(text) => Trimmed(*text),
            Self::Done(name) => return write!(f, "{name} was done."),
            Self::Unknown(name) => return write!(f, "I do not know whether {name} was done."),
        };
        Measure::Plain.write_marked(&text, limits::OUTCOME_TEXT, CUT, f)?;
        let is_cut = Measure::Plain.length(&text) > limits::OUTCOME_TEXT;
        let has_end = text.chars().last().is_some_and(|last| matches!(last, '.' | '!' | '?' | '…'));
        if is_cut || has_end { Ok(()) } else { f.write_char('.') }
    }
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
