//! The request that a turn answers: reads it, and writes the reply.

use core::fmt::Display;

use hub_contract::conversation_of;

use crate::conversations::ConversationId;
use crate::json::{Text, Value, Writer};
use crate::limits;
use crate::request::{self, Refusal};
use crate::text::spoken::{Spoken, Voice};
use crate::text::{Measure, is_blank};
use crate::tool;

/// A request for a turn of a conversation.
pub(in crate::hub) struct TurnRequest<'a> {
    /// The conversation.
    pub(super) id: ConversationId,
    pub(super) request: Value<'a>,
    satellite: Option<Value<'a>>,
    transaction: Option<Value<'a>>,
    /// Whether the answer is spoken by a satellite.
    pub(in crate::hub) is_speech: bool,
    /// Whether somebody else heard the wake word.
    pub(in crate::hub) is_addressed: bool,
}

impl<'a> TurnRequest<'a> {
    /// As far as is known without reading the request.
    pub(in crate::hub) const fn new(request: Value<'a>, transaction: Option<Value<'a>>) -> Self {
        let id = ConversationId::new();
        Self { id, request, satellite: None, transaction, is_speech: false, is_addressed: false }
    }

    /// Reads the request. Returns what the person says.
    pub(super) fn read(&mut self) -> Result<Text<'a>, Refusal> {
        let text = self.request.get("text").and_then(|text| text.as_text()).ok_or(Refusal::NoText)?;
        self.satellite = check_satellite(self.request)?;
        self.id = match request::text(self.request, "conversation")? {
            Some(id) => id,
            None => self.usual_conversation(),
        };
        Ok(text)
    }

    /// Reads whether something that was heard is known to be said to the hub.
    pub(super) fn read_addressed(&mut self) -> Result<(), Refusal> {
        self.is_addressed = match self.request.get("addressed").map(|addressed| addressed.text()) {
            None | Some("false") => false,
            Some("true") => true,
            Some(_) => return Err(Refusal::NotOneOf("addressed", "true, false")),
        };
        Ok(())
    }

    /// How the answer is said, if it is.
    pub(super) fn voice(&self) -> Voice {
        if self.is_speech { voice(self.request) } else { Voice::None }
    }

    /// The conversation of those who name none: people who speak from one place go on with what was said there.
    fn usual_conversation(&self) -> ConversationId {
        let name = self.satellite.and_then(|satellite| satellite.get("id").unwrap_or(satellite).as_text());
        conversation_of(name.as_ref().map(|name| name as &dyn Display))
    }

    /// The model that talks with the caller.
    pub(super) fn as_model(&self) -> tool::Caller<'_> {
        let Self { id, satellite, is_speech, .. } = self;
        tool::Caller::Model { conversation: id, satellite: *satellite, is_spoken: *is_speech }
    }

    /// Writes a reply: what `write` adds, which has to leave room for so many bytes, and what the caller gets back.
    pub(super) fn write(
        &self,
        reply: &mut [u8],
        write: impl FnOnce(usize, &mut Writer<'_>),
    ) -> Result<usize, Refusal> {
        let mut writer = Writer::new(reply);
        let object = writer.open();
        let before = writer.mark();
        self.write_back(&mut writer);
        let reserved = writer.since(before).len() + 8;
        writer.rewind(before);
        write(reserved, &mut writer);
        self.write_back(&mut writer);
        writer.close(object);
        writer.finish().map_err(|_| Refusal::Unanswerable)
    }

    /// Writes a reply of the hub's own, without a model.
    pub(super) fn write_words(&self, words: &str, reply: &mut [u8]) -> Result<usize, Refusal> {
        self.write(reply, |_, out| match self.is_speech {
            true => out.field("text", format_args!("{}", Spoken { text: &words, voice: self.voice() })),
            false => {
                out.field("content", words);
                out.field("service", "hub");
                out.key("tool_calls");
                out.array(|_| {});
            }
        })
    }

    fn write_back(&self, out: &mut Writer<'_>) {
        out.field("conversation", self.id.as_str());
        if let Some(satellite) = self.satellite {
            out.field("satellite", satellite);
        }
        if let Some(transaction) = self.transaction {
            out.field("transaction", transaction);
        }
    }

    /// Writes the reply to what was heard and not said to the hub.
    pub(super) fn write_ignored(&self, reply: &mut [u8]) -> Result<usize, Refusal> {
        let mut writer = Writer::new(reply);
        writer.object(|out| {
            out.field("success", true);
            out.field("addressed", false);
            if let Some(transaction) = self.transaction {
                out.field("transaction", transaction);
            }
        });
        writer.finish().map_err(|_| Refusal::Unanswerable)
    }
}

/// How something is said: in English, unless the request names another `language`.
pub(in crate::hub) fn voice(request: Value<'_>) -> Voice {
    let language = request.get("language").and_then(|language| language.as_text());
    let is_english = |language: Text<'_>| {
        language.escaped().get(..2).is_some_and(|first| first.eq_ignore_ascii_case("en"))
    };
    if language.is_none_or(is_english) { Voice::English } else { Voice::Other }
}

/// Checks `{"text", "satellite"?, "language"?}`: what somebody wants to have said.
pub(in crate::hub) fn check_speech(request: Value<'_>) -> Result<(), Refusal> {
    let text = request.get("text").and_then(|text| text.as_text()).ok_or(Refusal::NothingToSay)?;
    let spoken = Spoken { text: &text, voice: voice(request) };
    if is_blank(&spoken) {
        return Err(Refusal::NothingToSay);
    }
    if Measure::Escaped.length(&spoken) > limits::REPLY {
        return Err(Refusal::LongText("text", limits::REPLY));
    }
    check_satellite(request).map(drop)
}

fn check_satellite<'a>(request: Value<'a>) -> Result<Option<Value<'a>>, Refusal> {
    let satellite = request.get("satellite");
    match satellite.is_some_and(|satellite| satellite.text().len() > limits::SATELLITE) {
        true => Err(Refusal::LongText("satellite", limits::SATELLITE)),
        false => Ok(satellite),
    }
}
