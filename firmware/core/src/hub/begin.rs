//! How a turn begins: the rule is chosen, the system prompt written, and what was said looked at.

use core::fmt::Display;
use core::ops::ControlFlow;

use embedded_storage_async::nor_flash::MultiwriteNorFlash;

use super::chat::{Conversation, Said};
use super::{rules, settings};
use crate::chat::prompts::Invocation;
use crate::chat::template::{Rendered, Variables};
use crate::chat::turn::NotStarted;
use crate::chat::{History, Rule, Stage, Turn};
use crate::json::{Value, Writer};
use crate::limits;
use crate::log::warn;
use crate::mqtt::{self, Refusal};
use crate::seam::Platform;
use crate::store::{Document, Expression, Store};
use crate::talk::{Brief, Talk};
use crate::text::Measure;
use crate::tool::{Handlers, Name};
use crate::tools::DOCUMENTS;

/// What people want who speak to a satellite, if nobody says what else.
const VOICE: &str = "voice";

impl<P: Platform, F: MultiwriteNorFlash> Conversation<'_, P, Store<'_, F>> {
    /// Begins the turn. If it is refused, nothing is changed. `scratch` is for rules and documents.
    pub(super) async fn begin(&self, said: Said<'_>, scratch: &mut [u8]) -> Result<Turn, Refusal> {
        let request = self.caller.request;
        let rule: Option<Name> = mqtt::text(request, "rule")?;
        let intent: Option<Name> = mqtt::text(request, "intent")?;
        let intent = intent.as_deref().or(self.caller.is_speech.then_some(VOICE));
        let wanted = rules::Wanted { name: rule.as_deref(), intent };
        let mut talk = self.seat.talk().await;
        let Talk { history, brief } = &mut talk;
        let Brief { system, rule, has_tools } = &mut **brief;
        let are_tools_on = {
            let mut store = self.room.toolbox.store.lock().await;
            rules::choose(wanted, self.room.rule, &mut store, scratch, rule).await?;
            settings::tools_are_on(&mut store).await
        };
        let rule = Rule::parse(rule).map_err(Refusal::WrongRule)?;
        let documents = match rule.context {
            Some(expression) => self.documents(expression, scratch).await,
            None => "",
        };
        let variables = Variables {
            rag_context: &documents,
            intent: &intent.unwrap_or_default(),
            service: rule.service.name(),
            user_message: &said,
            request,
        };
        let lookup = |name: &str, out: &mut dyn core::fmt::Write| variables.write(name, out);
        let rendered = Rendered { template: rule.prompt, lookup: &lookup };
        rendered.unknown(&mut |name| warn!("chat: the prompt has {}, which stands for nothing", name));
        if Measure::Plain.length(&rendered) > limits::PROMPT {
            warn!("chat: the prompt with its documents is longer than {} bytes, and cut", limits::PROMPT);
        }
        system.clear();
        // There is as much room as it may take.
        let _ = Measure::Plain.write(&rendered, limits::PROMPT, system);
        let text = said.text.decode_into(scratch).ok_or(Refusal::LongText("text", limits::REPLY))?;
        let text = text.char_indices().nth(said.skip).and_then(|(at, _)| text.get(at..)).unwrap_or_default();
        let invocation = Invocation::find(text).map_err(|_| Refusal::NoPrompt)?;
        let mut told = [0; limits::OUTCOME_TEXT * 2];
        let expanded;
        let message: &dyn Display = match &invocation {
            None => &text,
            Some(invocation) => {
                let length = match &invocation.prompt.tool {
                    Some(direct) => self.direct(direct.handler, direct.arguments(), &mut told).await,
                    None => 0,
                };
                let told = told.get(..length).and_then(|text| core::str::from_utf8(text).ok());
                expanded = invocation.expand(told.unwrap_or_default());
                &expanded
            }
        };
        Turn::check(message).map_err(|why| match why {
            NotStarted::Blank => Refusal::NoText,
            NotStarted::Long => Refusal::LongText("text", History::LONGEST),
        })?;
        self.seat.begin(history);
        let mut stage = Stage { rule: &rule, registry: self.room.registry, history };
        let turn = Turn::start(&mut stage, message, are_tools_on).map_err(|_| Refusal::NoText)?;
        *has_tools = turn.tools(self.room.registry).is_some();
        Ok(turn)
    }

    /// Runs a tool's function itself, without a log or a name. Returns how much it wrote.
    async fn direct(&self, handler: &str, arguments: Value<'_>, out: &mut [u8]) -> usize {
        let mut writer = Writer::new(out);
        match self.room.toolbox.run(handler, arguments, &mut writer).await {
            Some(Ok(_)) => writer.finish().unwrap_or_default(),
            _ => 0,
        }
    }

    /// The documents that the rule wants the model to know, one after the other.
    async fn documents<'s>(&self, expression: Expression<'_>, scratch: &'s mut [u8]) -> &'s str {
        let mut length = 0;
        let mut store = self.room.toolbox.store.lock().await;
        let mut visit = |document: Document<'_>| {
            for part in [document.text, "\n\n"] {
                let Some(room) = scratch.get_mut(length..length + part.len()) else {
                    return ControlFlow::Break(());
                };
                room.copy_from_slice(part.as_bytes());
                length += part.len();
            }
            ControlFlow::Continue(())
        };
        if store.content(expression, DOCUMENTS, &mut visit).await.is_err() {
            warn!("chat: the documents of the rule cannot be read");
        }
        scratch.get(..length).and_then(|text| core::str::from_utf8(text).ok()).unwrap_or_default()
    }
}
