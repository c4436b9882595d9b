//! Begins a turn: finds its rule, fills in the system prompt, and checks what was said.

use core::cell::Cell;
use core::fmt::Display;
use core::ops::ControlFlow;

use embassy_time::{Duration, Instant, Timer};
use embedded_storage_async::nor_flash::MultiwriteNorFlash;
use heapless::String;

use super::{Driver, Said};
use crate::chat::prompts::Invocation;
use crate::chat::rule::{BUILT_IN, DEFAULT, is_for};
use crate::chat::template::{Rendered, Variables};
use crate::chat::turn::NotStarted;
use crate::chat::{Context, History, Rule, Turn, TurnSettings};
use crate::json::{Value, Writer};
use crate::limits;
use crate::link::LinkState;
use crate::log::warn;
use crate::request::{self, Refusal};
use crate::settings::{self, RULE_PREFIX};
use crate::store::{Document, Expression, Key, Section, Store};
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
        let wanted = Wanted { name: name.as_deref(), intent };
        let mut store = self.hub.store.lock().await;
        let (rule, rest) = choose(wanted, config.rule, &mut store, scratch).await?;
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
    rendered.unknown(&mut |name| warn!("chat: the prompt has an unknown placeholder: {}", name));
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

const DEFAULT_KEY: &str = "rule.default";

/// Which rule a request wants.
#[derive(Clone, Copy)]
pub(super) struct Wanted<'a> {
    /// The one of this name.
    pub(super) name: Option<&'a str>,
    /// Or one for this intent.
    pub(super) intent: Option<&'a str>,
}

// A turn begins with the reply's buffer as scratch: for the rule, the one it inherits from, and the documents that it selects.
const _: () = assert!(limits::REPLY >= 2 * limits::RULE + limits::PROMPT);

/// Finds the rule that is wanted, and reads it. `firmware` is the default rule that the hub was started with, if any. The
/// texts are kept in `scratch`; what is left of it comes back.
pub(super) async fn choose<'s, F: MultiwriteNorFlash>(
    wanted: Wanted<'_>,
    firmware: &'s str,
    store: &mut Store<'_, F>,
    scratch: &'s mut [u8],
) -> Result<(Rule<'s>, &'s mut [u8]), Refusal> {
    let (base, scratch) = base_rule(firmware, store, scratch).await?;
    let (text, rest) = match wanted {
        Wanted { name: Some("default"), .. } | Wanted { name: None, intent: None } => {
            return Ok((base, scratch));
        }
        Wanted { name: Some(name), .. } => {
            let mut key = String::<{ limits::NAME }>::new();
            key.push_str(RULE_PREFIX).and_then(|()| key.push_str(name)).map_err(|_| Refusal::NoRule)?;
            let (kept, rest) = load(&key, store, scratch).await;
            let built_in = BUILT_IN.into_iter().find(|(known, _)| *known == name).map(|(_, text)| text);
            (Some(kept.or(built_in).ok_or(Refusal::NoRule)?), rest)
        }
        Wanted { intent: Some(intent), .. } => for_intent(intent, store, scratch).await,
    };
    match text {
        Some(text) => Ok((base.derive(text).map_err(Refusal::WrongRule)?, rest)),
        None => Ok((base, rest)),
    }
}

/// The text of a setting, and what is left of the buffer. Without the store there is none.
async fn load<'s, F: MultiwriteNorFlash>(
    key: &str,
    store: &mut Store<'_, F>,
    buffer: &'s mut [u8],
) -> (Option<&'s str>, &'s mut [u8]) {
    let kept = store.get(Key::Setting(key), buffer).await.ok().flatten().map(str::len);
    split_text(kept, buffer)
}

/// Splits a text of this length off a buffer.
fn split_text(length: Option<usize>, buffer: &mut [u8]) -> (Option<&str>, &mut [u8]) {
    let length = length.filter(|length| *length <= buffer.len());
    let (text, rest) = buffer.split_at_mut(length.unwrap_or(0));
    (length.and_then(|_| core::str::from_utf8(text).ok()), rest)
}

/// The default rule, from which all others inherit.
async fn base_rule<'s, F: MultiwriteNorFlash>(
    firmware: &'s str,
    store: &mut Store<'_, F>,
    buffer: &'s mut [u8],
) -> Result<(Rule<'s>, &'s mut [u8]), Refusal> {
    let firmware = if firmware.is_empty() { DEFAULT } else { firmware };
    let (kept, rest) = load(DEFAULT_KEY, store, buffer).await;
    let rule = Rule::parse(kept.unwrap_or(firmware)).or_else(|error| {
        let error = Refusal::WrongRule(error).words();
        warn!("chat: the default rule is malformed, and the built-in one is used: {}", error.as_str());
        Rule::parse(DEFAULT)
    });
    Ok((rule.map_err(Refusal::WrongRule)?, rest))
}

/// A rule for an intent: the first that somebody set, or else one that is built in and whose name nobody has taken.
async fn for_intent<'s, F: MultiwriteNorFlash>(
    intent: &str,
    store: &mut Store<'_, F>,
    buffer: &'s mut [u8],
) -> (Option<&'s str>, &'s mut [u8]) {
    let mut length = None;
    let mut built_in = BUILT_IN.map(Some);
    let mut visit = |key: Key<'_>, text: &str| {
        let Key::Setting(key) = key else { return ControlFlow::Continue(()) };
        let Some(name) = key.strip_prefix(RULE_PREFIX) else { return ControlFlow::Continue(()) };
        for rule in &mut built_in {
            let _ = rule.take_if(|(taken, _)| *taken == name);
        }
        match buffer.get_mut(..text.len()) {
            Some(room) if is_for(text, intent) => {
                room.copy_from_slice(text.as_bytes());
                length = Some(text.len());
                ControlFlow::Break(())
            }
            _ => ControlFlow::Continue(()),
        }
    };
    let _ = store.each(Section::Settings, &mut visit).await;
    let (kept, rest) = split_text(length, buffer);
    let mut built_in = built_in.into_iter().flatten().map(|(_, text)| text);
    (kept.or_else(|| built_in.find(|text| is_for(text, intent))), rest)
}
