//! The controller's answer to a call, and its form in the reply.

use core::fmt::{self, Display};

use super::call::{EPILOGUE, Failed};
use super::outcome::{ErrorType, Failure, Success};
use crate::json::{Cut, Kind, Mark, Text, Value, Writer};
use crate::limits;
use crate::log::error;
use crate::text::{MARK, Measure, is_blank, quote, shorten};

/// For the model, when it does not see all of a result.
pub(crate) const CUT: &str =
    "It was done, and the result is cut. Do not repeat the call; ask for less, if you can.";

/// The room that a refusal's message leaves to the controller's words.
const REASON: usize = limits::OUTCOME_TEXT - 32;

/// The controller's answer to a call.
#[derive(Clone, Copy, Debug)]
pub enum Answer<'a> {
    /// MCP's `CallToolResult`.
    Result {
        /// What was kept of it.
        result: Value<'a>,
        /// How long the answer was, if it was too long to keep all of it.
        cut_from: Option<usize>,
    },
    /// A JSON-RPC error.
    Error {
        /// Its code.
        code: Option<i64>,
        /// Its message.
        message: Option<Text<'a>>,
    },
}

impl Answer<'_> {
    /// Writes the answer to a call of the tool `name` into the reply: `success` and `result`, or all that a failure has.
    #[inline(never)]
    pub(crate) fn write(&self, name: &str, before: Mark, reply: &mut Writer<'_>) -> Result<Success, Failed> {
        let (result, cut_from) = match *self {
            Answer::Error { message, .. } => {
                refuse(message.as_ref().map_or(&"", |message| message), name, reply);
                return Err(Failed { is_unknown: false });
            }
            Answer::Result { result, cut_from } => (result, cut_from),
        };
        match Undone::of(result) {
            Some(Undone::InputRequired(wanted)) => {
                write_refusal(&wanted, name, reply);
                wanted.write_guidance(reply);
                return Err(Failed { is_unknown: false });
            }
            Some(Undone::Unknown(kind)) => {
                return Err(Failed::write(&unknown_kind(&kind), name, before, reply));
            }
            None => {}
        }
        let words = ResultText::of(result, cut_from);
        if result.get("isError").is_some_and(|is_error| is_error.text() == "true") {
            if is_unknown(result) {
                return Err(Failed::write(&Failure::unknown_outcome(&words), name, before, reply));
            }
            refuse(&words, name, reply);
            return Err(Failed { is_unknown: false });
        }
        reply.field("success", true);
        if let Some(structured) = words.structured {
            if cut_from.is_none() {
                let before = reply.mark();
                reply.field("result", structured);
                if reply.room() >= EPILOGUE {
                    return Ok(words.beside());
                }
                reply.rewind(before);
            }
            if let Some(cut) = words.cut_structure(structured, reply) {
                reply.key("result");
                reply.json(&cut);
                return Ok(Success { instruction: Some(CUT), ..words.beside() });
            }
        }
        reply.key("result");
        let is_whole = write_words(&words, reply) && cut_from.is_none();
        Ok(if is_whole { Success::PLAIN } else { Success { instruction: Some(CUT), ..Success::PLAIN } })
    }
}

impl Answer<'_> {
    /// Whether it was done; `words` takes why it was not.
    pub(crate) fn refusal(
        &self,
        words: &mut heapless::String<{ limits::OUTCOME_TEXT }>,
    ) -> Result<Success, Failed> {
        let mut refuse = |why: &dyn Display| *words = shorten(why);
        match *self {
            Answer::Error { message, .. } => refuse(message.as_ref().map_or(&"", |message| message)),
            Answer::Result { result, cut_from } => match Undone::of(result) {
                Some(Undone::InputRequired(wanted)) => refuse(&wanted),
                Some(Undone::Unknown(kind)) => {
                    refuse(&unknown_kind(&kind).error);
                    return Err(Failed { is_unknown: true });
                }
                None if result.get("isError").is_none_or(|is_error| is_error.text() != "true") => {
                    return Ok(Success::PLAIN);
                }
                None => {
                    refuse(&ResultText::of(result, cut_from));
                    return Err(Failed { is_unknown: is_unknown(result) });
                }
            },
        }
        Err(Failed { is_unknown: false })
    }
}

/// Writes a text as far as the reply has room for it. Returns whether that is all.
fn write_words(words: &dyn Display, reply: &mut Writer<'_>) -> bool {
    // With its quotes, and with what follows it.
    let room = reply.room().saturating_sub(EPILOGUE + 2);
    reply.string(|out| Measure::Escaped.write(words, room, out));
    Measure::Escaped.length(words) <= room
}

/// Writes and logs that the controller did not do it, and why.
fn write_refusal(words: &dyn Display, name: &str, reply: &mut Writer<'_>) {
    reply.field("success", false);
    reply.key("error");
    let before = reply.mark();
    write_words(words, reply);
    let [words, rest] = quote(reply.since(before).trim_matches('"'));
    error!("Tool {} failed: {}{}", name, words, rest);
    reply.field("error_type", ErrorType::ExecutionError.as_str());
}

/// Like [`write_refusal`], with a sentence for the person, and words if the controller has none.
fn refuse(words: &dyn Display, name: &str, reply: &mut Writer<'_>) {
    let is_silent = is_blank(words);
    let silence = "The controller reports an error without a word";
    write_refusal(if is_silent { &silence } else { words }, name, reply);
    reply.key("message");
    reply.string(|out| {
        out.write_str("Sorry, that did not work")?;
        if is_silent || is_json(words) {
            return out.write_char('.');
        }
        out.write_str(": ")?;
        Measure::Escaped.write_marked(words, REASON, "…", out)
    });
}

/// A result that is not final. MCP has several kinds.
enum Undone<'a> {
    /// The controller needs more input first.
    InputRequired(InputRequired<'a>),
    /// A kind that is newer than this code.
    Unknown(Text<'a>),
}

impl<'a> Undone<'a> {
    fn of(result: Value<'a>) -> Option<Self> {
        let kind = result.get("resultType").and_then(|kind| kind.as_text())?;
        if kind == *"complete" {
            return None;
        }
        if kind == *"input_required" {
            return Some(Self::InputRequired(InputRequired(result)));
        }
        Some(Self::Unknown(kind))
    }
}

fn unknown_kind(kind: &Text<'_>) -> Failure {
    let kind = kind.excerpt::<{ limits::QUOTE }>();
    let words = format_args!(
        "The controller answered with a result of the kind '{kind}', which the hub does not know: whether it was done is \
         unknown"
    );
    Failure::new(ErrorType::OutcomeUnknown, words).unknown()
}

/// Whether a failed call may have been done all the same: the controller says so by `{"outcome":"unknown"}` in its structured
/// content.
fn is_unknown(result: Value<'_>) -> bool {
    let outcome = result.get("structuredContent").and_then(|content| content.get("outcome"));
    outcome.and_then(|outcome| outcome.as_text()).is_some_and(|outcome| outcome == *"unknown")
}

/// A result in words: its content, a line for each item, or else its structure.
struct ResultText<'a> {
    content: Value<'a>,
    structured: Option<Value<'a>>,
    cut_from: Option<usize>,
}

impl<'a> ResultText<'a> {
    fn of(result: Value<'a>, cut_from: Option<usize>) -> Self {
        let content = result.get("content").unwrap_or(Value::NULL);
        let is_alone = content.items().next().is_none();
        // MCP has objects here; others are taken where there is nothing else.
        let suits = |value: &Value<'_>| match value.kind() {
            Kind::Object => true,
            Kind::Null => false,
            _ => is_alone,
        };
        Self { content, structured: result.get("structuredContent").filter(suits), cut_from }
    }

    /// The structured content, cut to fit into the reply. `None` if the text fits whole and is not JSON. Of an answer that
    /// is cut already, at least the end: it may lack items without a mark.
    fn cut_structure(&self, structured: Value<'a>, reply: &Writer<'_>) -> Option<Cut<'a>> {
        let room = reply.room().saturating_sub(EPILOGUE + ",\"result\":".len());
        if self.cut_from.is_some() {
            return Cut::new(structured.text(), room.min(structured.text().len().saturating_sub(1)));
        }
        let has_short_words = !is_json(self) && Measure::Escaped.length(self) + 2 <= room;
        if has_short_words { None } else { Cut::new(structured.text(), room) }
    }

    /// The message beside a structured result: its content, without what repeats the JSON.
    fn beside(&self) -> Success {
        let mut message = heapless::String::new();
        let items = ContentText { content: self.content, has_json: false };
        // It fits.
        let _ = Measure::Plain.write_marked(&items, limits::OUTCOME_TEXT - 1, "…", &mut message);
        Success { message: Some(message).filter(|message| !message.is_empty()), ..Success::PLAIN }
    }
}

impl Display for ResultText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.content.items().next(), self.structured) {
            (None, Some(structured)) => f.write_str(structured.text())?,
            _ => ContentText { content: self.content, has_json: true }.fmt(f)?,
        }
        match self.cut_from {
            Some(length) => write!(f, "\n[cut: the controller's answer has {length} bytes]"),
            None => Ok(()),
        }
    }
}

/// The items of MCP's content, a line each.
struct ContentText<'a> {
    content: Value<'a>,
    /// Texts that are JSON are among them.
    has_json: bool,
}

impl Display for ContentText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_wanted = |item: &Value<'_>| {
            self.has_json
                || !item.get("text").and_then(|text| text.as_text()).is_some_and(|text| is_json(&text))
        };
        for (index, item) in self.content.items().filter(is_wanted).enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            write_item(item, f)?;
        }
        Ok(())
    }
}

/// Writes a text, or in brackets what it is instead.
fn write_item(item: Value<'_>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let resource = item.get("resource");
    let text = |name| resource.unwrap_or(item).get(name).and_then(|text| text.as_text());
    if let Some(text) = text("text") {
        write!(f, "{text}")?;
        if resource.is_none() {
            return Ok(());
        }
        // Where it is from.
        f.write_str("\n")?;
    }
    let Some(kind) = item.get("type").and_then(|kind| kind.as_text()) else {
        return f.write_str(item.text());
    };
    write!(f, "[{kind}")?;
    let mut separator = ": ";
    for name in ["title", "name", "description", "uri", "mimeType"] {
        if let Some(text) = text(name) {
            write!(f, "{separator}{text}")?;
            separator = ", ";
        }
    }
    if let Some(data) = text("data").or_else(|| text("blob")) {
        // Four Base64 characters are three bytes. Padding and the mark of a cut do not count.
        let is_base64 = |character: &char| character.is_ascii_alphanumeric() || "+/-_".contains(*character);
        let digits = data.chars().filter(|character| !character.is_whitespace()).take_while(is_base64);
        let more = if data.escaped().ends_with(MARK) { "more than " } else { "" };
        write!(f, "{separator}{more}{} bytes", digits.count() * 3 / 4)?;
    }
    f.write_str("]")
}

/// Whether a text looks like a JSON object or array, by its first and its last character. The mark of a cut ends in a
/// bracket.
fn is_json(text: &dyn Display) -> bool {
    struct Ends(Option<(char, char)>);
    impl fmt::Write for Ends {
        fn write_str(&mut self, text: &str) -> fmt::Result {
            for character in text.chars().filter(|character| !character.is_whitespace()) {
                let (first, _) = self.0.unwrap_or((character, character));
                self.0 = Some((first, character));
            }
            Ok(())
        }
    }
    let mut ends = Ends(None);
    // It never fails.
    let _ = fmt::write(&mut ends, format_args!("{text}"));
    matches!(ends.0, Some(('{' | '[', '}' | ']')))
}

/// For the model that called.
const INSTRUCTION: &str =
    "It is not done. Ask the person, and call again only if an argument has room for the answer.";

/// Such a result, in words.
pub(super) struct InputRequired<'a>(pub(super) Value<'a>);

impl InputRequired<'_> {
    /// What the person and the model hear.
    pub(super) fn write_guidance(&self, reply: &mut Writer<'_>) {
        reply.key("message");
        reply.string(|out| Measure::Escaped.write_marked(self, limits::OUTCOME_TEXT, "…", out));
        reply.field("instruction", INSTRUCTION);
    }
}

impl fmt::Display for InputRequired<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("The controller wants to know more first")?;
        let requests = self.0.get("inputRequests").unwrap_or(Value::NULL);
        if requests.members().next().is_none() {
            return f.write_str(", and does not say what");
        }
        for (index, (_, request)) in requests.members().enumerate() {
            let separator = if index == 0 { ": " } else { "; " };
            let text = |name| request.get("params")?.get(name)?.as_text();
            let method = || request.get("method")?.as_text();
            match text("message").or_else(method) {
                Some(words) => write!(f, "{separator}{words}")?,
                None => write!(f, "{separator}{}", request.text())?,
            }
            if let Some(url) = text("url") {
                write!(f, " ({url})")?;
            }
        }
        Ok(())
    }
}
