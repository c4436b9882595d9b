//! Begins a turn: finds its rule, fills in the system prompt, and checks what was said.

use core::cell::Cell;
use core::fmt::Display;
use core::ops::ControlFlow;

use embassy_time::{Duration, Instant, Timer};
use embedded_storage_async::nor_flash::MultiwriteNorFlash;

use super::{Driver, Said, choose_rule};
use crate::chat::prompts::Invocation;
use crate::chat::template::{Rendered, Variables};
use crate::chat::turn::NotStarted;
use crate::chat::{Context, History, Rule, Turn, TurnSettings};
use crate::json::{Value, Writer};
use crate::limits;
use crate::link::LinkState;
use crate::log::warn;
use crate::request::{self, Refusal};
use crate::settings;
use crate::store::{Document, Expression, Store};
use crate::text::Measure;
use crate::tool::{Caller, Name};
use crate::tools::{DOCUMENTS, ToolCall};

/// The intent of what is spoken to a satellite, if nobody names another.
const VOICE: &str = "voice";

// Behind what is said, which comes in a request, there is room for the result of a tool.
const _: () = assert!(limits::REPLY >= limits::REQUEST + limits::OUTCOME_TEXT * 2);

impl<F: MultiwriteNorFlash> Driver<'_, Store<'_, F>> {
    /// Begins the turn. If it is refused, the conversation stays as it is. `scratch` is for rules, documents and what was
    /// said.
    pub(super) async fn begin(&self, said: Said<'_>, scratch: &mut [u8]) -> Result<Turn, Refusal> {
        let (mut history, mut settings) = self.conversation.lock().await;
        self.configure(said, &mut settings, scratch).await?;
        if settings.tools.enabled {
            self.controller_settles().await;
        }
        let length = said.text.decode_into(scratch).map(str::len);
        let length = length.ok_or(Refusal::LongText("text", limits::REPLY))?;
        let (text, result) = scratch.split_at_mut_checked(length).unwrap_or_default();
        let text = core::str::from_utf8(text).unwrap_or_default();
        let text = text.char_indices().nth(said.skip).and_then(|(at, _)| text.get(at..)).unwrap_or_default();
        let invocation = Invocation::find(text).map_err(|_| Refusal::NoPrompt)?;
        let expanded;
        let message: &dyn Display = match &invocation {
            None => &text,
            Some(invocation) => {
                let length = match &invocation.prompt.tool {
                    Some(direct) => self.run_handler(direct.handler, direct.arguments(), result).await,
                    None => 0,
                };
                let result = result.get(..length).and_then(|text| core::str::from_utf8(text).ok());
                expanded = invocation.expand(result.unwrap_or_default());
                &expanded
            }
        };
        Turn::check(message).map_err(|why| match why {
            NotStarted::Blank => Refusal::NoText,
            NotStarted::Long => Refusal::LongText("text", History::LONGEST),
        })?;
        self.conversation.begin(&mut history);
        let registry = self.hub.registry;
        let mut context = Context { settings: &mut settings, registry, history: &mut history };
        Turn::start(&mut context, message).map_err(|_| Refusal::NoText)
    }

    /// Waits while the controller is connecting, because the turn may need its tools. Does not wait if the controller
    /// is missing, the turn is cancelled, or no relay is available.
    async fn controller_settles(&self) {
        let until = Instant::now() + limits::LINK_SETTLES;
        let is_connecting = || self.hub.port.status().read(|state, _| state == LinkState::Connecting);
        let is_in_vain = || self.conversation.is_cancelled() || self.hub.questions.is_without_relay();
        while is_connecting() && !is_in_vain() && Instant::now() < until {
            // Several turns may wait, so a signal, which wakes only one of them, does not suffice.
            Timer::after(limits::HOME_POLL_SETTLED).await;
        }
    }

    /// Reads the rule of the turn, once, into its settings.
    async fn configure(
        &self,
        said: Said<'_>,
        settings: &mut TurnSettings,
        scratch: &mut [u8],
    ) -> Result<(), Refusal> {
        let (config, request) = (self.hub.config, self.caller.request);
        let name: Option<Name> = request::text(request, "rule")?;
        let intent: Option<Name> = request::text(request, "intent")?;
        let intent = intent.as_deref().or(self.caller.is_speech.then_some(VOICE));
        let wanted = choose_rule::Wanted { name: name.as_deref(), intent };
        let mut store = self.hub.store.lock().await;
        let (rule, rest) = choose_rule::choose(wanted, config.rule, &mut store, scratch).await?;
        let max_iterations = settings::MAX_ITERATIONS.get(&mut store, config).await;
        settings.apply(&rule, max_iterations);
        settings.tools.enabled &= settings::TOOLS.get(&mut store, config).await;
        let documents = match rule.context {
            Some(expression) => documents(expression, &mut store, rest).await,
            None => "",
        };
        let variables = Variables {
            rag_context: &documents,
            intent: &intent.unwrap_or_default(),
            service: rule.provider.name(),
            user_message: &said,
            request,
        };
        fill_in(&rule, &variables, settings);
        Ok(())
    }

    /// Runs the handler of a prompt's tool, without a log or a result object. Nobody approves it, so the tool has to be
    /// read-only. Returns how much it wrote.
    async fn run_handler(&self, handler: &str, arguments: Value<'_>, out: &mut [u8]) -> usize {
        let mut writer = Writer::new(out);
        let decision_time = Cell::new(Duration::MIN);
        let call = ToolCall { hub: self.hub, caller: Caller::Person, decision_time: &decision_time };
        match call.run_read_only(handler, arguments, &mut writer).await {
            Some(Ok(_)) => writer.finish().unwrap_or_default(),
            _ => 0,
        }
    }
}

/// Writes the system prompt from the rule's template.
fn fill_in(rule: &Rule<'_>, variables: &Variables<'_>, settings: &mut TurnSettings) {
    let lookup = |name: &str, out: &mut dyn core::fmt::Write| variables.write(name, out);
    let rendered = Rendered { template: rule.prompt, lookup: &lookup };
    rendered.unknown(&mut |name| warn!("chat: the prompt has {}, which stands for nothing", name));
    if Measure::Plain.length(&rendered) > limits::PROMPT {
        warn!("chat: the prompt with its documents is longer than {} bytes, and cut", limits::PROMPT);
    }
    settings.system.clear();
    // There is as much room as it may take.
    let _ = Measure::Plain.write(&rendered, limits::PROMPT, &mut settings.system);
}

/// The documents that the rule wants the model to know, one after the other, as far as they fit.
async fn documents<'s, F: MultiwriteNorFlash>(
    expression: Expression<'_>,
    store: &mut Store<'_, F>,
    scratch: &'s mut [u8],
) -> &'s str {
    let mut length = 0;
    let mut visit = |document: Document<'_>| {
        for part in [document.text, "\n\n"] {
            let room = scratch.get_mut(length..).unwrap_or_default();
            let fits = part.floor_char_boundary(room.len());
            room.iter_mut().zip(part.bytes().take(fits)).for_each(|(to, from)| *to = from);
            length += fits;
            if fits < part.len() {
                return ControlFlow::Break(());
            }
        }
        ControlFlow::Continue(())
    };
    if store.content(expression, DOCUMENTS, &mut visit).await.is_err() {
        warn!("chat: the documents of the rule cannot be read");
    }
    scratch.get(..length).and_then(|text| core::str::from_utf8(text).ok()).unwrap_or_default()
}
