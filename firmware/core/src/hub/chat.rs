//! `request/chat` and `request/transcript`: drives a turn of a conversation.

use core::fmt::{Display, Write as _};
use core::ops::ControlFlow;
use core::pin::{Pin, pin};

use embassy_futures::select::{Either, select};
use embassy_time::Instant;
use embedded_storage_async::nor_flash::MultiwriteNorFlash;
use heapless::String;

use super::{rules, wake};
use crate::chat::prompts::Invocation;
use crate::chat::rule::Wanted;
use crate::chat::template::{Rendered, Variables};
use crate::chat::turn::NotStarted;
use crate::chat::{Ending, Event, History, Rule, Stage, Step, Turn, provider};
use crate::config::HubId;
use crate::json::{Text, Value, Writer};
use crate::limits;
use crate::log::{info, warn};
use crate::mqtt::{self, Happening, Refusal, Slots};
use crate::seam::Platform;
use crate::service::{Service, Unanswered};
use crate::store::{Expression, Store};
use crate::talk::{Brief, Closed, ConversationId, Seat, Talk, Talks};
use crate::tool::{self, Handlers, Name, Registry};
use crate::tools::{DOCUMENTS, Toolbox};

/// What a turn needs of the hub.
pub(super) struct Room<'a, P, S> {
    pub(super) talks: &'a Talks,
    pub(super) registry: &'a Registry,
    pub(super) toolbox: &'a Toolbox<'a, P, S>,
    pub(super) slots: &'a Slots,
    /// The rule that the hub was started with.
    pub(super) rule: &'a str,
    pub(super) id: HubId<'a>,
}

/// What comes next.
enum Next {
    Ask,
    Run,
    /// The reply is written, and has this length.
    Done(usize),
}

/// Answers what a person says. Writes the whole reply, and returns its length.
///
/// What was only heard is answered if it begins with a phrase by which people address the hub, and the answer
/// `is_speech` then.
pub(super) async fn answer<P: Platform, F: MultiwriteNorFlash>(
    request: Value<'_>,
    transaction: Option<Value<'_>>,
    is_heard: bool,
    is_speech: &mut bool,
    room: &Room<'_, P, Store<'_, F>>,
    reply: &mut [u8],
) -> Result<usize, Refusal> {
    let text = request.get("text").and_then(|text| text.as_text()).ok_or(Refusal::NoText)?;
    let mut said = Said { text, skip: 0 };
    if is_heard {
        let phrases = wake::phrases(room.toolbox.store).await;
        let text = text.decode_into(reply).ok_or(Refusal::LongText("text", limits::REPLY))?;
        let Some(skip) = wake::addressed(text, &phrases) else {
            let mut writer = Writer::new(reply);
            writer.object(|out| {
                out.field("success", true);
                out.field("addressed", false);
                if let Some(transaction) = transaction {
                    out.field("transaction", transaction);
                }
            });
            return writer.finish().map_err(|_| Refusal::Unanswerable);
        };
        said.skip = skip;
        *is_speech = true;
    }
    let id: ConversationId = mqtt::text(request, "conversation")?.unwrap_or_else(usual);
    let seat = room.talks.enter(&id).map_err(|closed| match closed {
        Closed::Waiting => Refusal::TalkWaits,
        Closed::Full => Refusal::TalksFull,
    })?;
    let conversation = Conversation { room, seat, id, request, transaction, is_speech: *is_speech };
    let mut turn = {
        let begin: Pin<&mut dyn Future<Output = _>> = pin!(conversation.begin(said, reply));
        begin.await?
    };
    conversation.tell("started", None);
    let until = Instant::now() + limits::CHAT_TIMEOUT;
    let mut next = Next::Ask;
    let length = loop {
        next = match next {
            Next::Ask => {
                // Behind a pointer, for a stack frame of its own.
                let ask: Pin<&mut dyn Future<Output = _>> = pin!(conversation.ask(&mut turn, until, reply));
                ask.await
            }
            Next::Run => {
                let run: Pin<&mut dyn Future<Output = _>> = pin!(conversation.run(&mut turn, until, reply));
                run.await
            }
            Next::Done(length) => break length,
        };
    };
    conversation.tell("done", None);
    Ok(length)
}

/// The conversation of those who name none.
fn usual() -> ConversationId {
    ConversationId::try_from("default").unwrap_or_default()
}

struct Conversation<'a, P, S> {
    room: &'a Room<'a, P, S>,
    seat: Seat<'a>,
    id: ConversationId,
    request: Value<'a>,
    transaction: Option<Value<'a>>,
    is_speech: bool,
}

impl<P: Platform, F: MultiwriteNorFlash> Conversation<'_, P, Store<'_, F>> {
    /// Chooses the rule, writes the system prompt, and begins the turn. `scratch` is for the documents.
    async fn begin(&self, said: Said<'_>, scratch: &mut [u8]) -> Result<Turn, Refusal> {
        let rule: Option<Name> = mqtt::text(self.request, "rule")?;
        let intent: Option<Name> = mqtt::text(self.request, "intent")?;
        let wanted = Wanted { name: rule.as_deref(), intent: intent.as_deref() };
        let mut talk = self.seat.talk().await;
        let Talk { history, brief } = &mut talk;
        let Brief { system, rule, has_tools } = &mut **brief;
        {
            let mut store = self.room.toolbox.store.lock().await;
            rules::choose(wanted, self.room.rule, &mut store, scratch, rule).await?;
        }
        let rule = Rule::parse(rule).map_err(|_| Refusal::NoRule)?;
        let documents = match rule.context {
            Some(expression) => self.documents(expression, scratch).await,
            None => "",
        };
        let service = rule.service.name();
        let variables = Variables {
            rag_context: &documents,
            intent: &intent.as_deref().unwrap_or_default(),
            service,
            user_message: &said,
            request: self.request,
        };
        let lookup = |name: &str, out: &mut dyn core::fmt::Write| variables.write(name, out);
        let rendered = Rendered { template: rule.prompt, lookup: &lookup };
        rendered.unknown(&mut |name| warn!("chat: the prompt has {}, which stands for nothing", name));
        system.clear();
        if write!(Cut(system), "{rendered}").is_err() {
            warn!("chat: the prompt with its documents is longer than {} bytes, and cut", limits::PROMPT);
        }
        let text = said.text.decode_into(scratch).ok_or(Refusal::LongText("text", limits::REPLY))?;
        let text = text.char_indices().nth(said.skip).and_then(|(at, _)| text.get(at..)).unwrap_or_default();
        let invocation = Invocation::find(text).map_err(|_| Refusal::NoPrompt)?;
        let mut stage = Stage { rule: &rule, registry: self.room.registry, history };
        let turn = match invocation {
            None => Turn::start(&mut stage, &text, true),
            Some(invocation) => {
                let mut told = [0; limits::OUTCOME_TEXT * 2];
                let length = match &invocation.prompt.tool {
                    Some(direct) => self.direct(direct.handler, direct.arguments(), &mut told).await,
                    None => 0,
                };
                let told =
                    told.get(..length).and_then(|text| core::str::from_utf8(text).ok()).unwrap_or_default();
                Turn::start(&mut stage, &invocation.expand(told), true)
            }
        };
        let turn = turn.map_err(|why| match why {
            NotStarted::Blank => Refusal::NoText,
            NotStarted::Long => Refusal::LongText("text", limits::HISTORY / 2),
        })?;
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
        let visit = |document: crate::store::Document<'_>| {
            for part in [document.text, "\n\n"] {
                let Some(room) = scratch.get_mut(length..length + part.len()) else {
                    return ControlFlow::Break(());
                };
                room.copy_from_slice(part.as_bytes());
                length += part.len();
            }
            ControlFlow::Continue(())
        };
        if store.content(expression, DOCUMENTS, visit).await.is_err() {
            warn!("chat: the documents of the rule cannot be read");
        }
        scratch.get(..length).and_then(|text| core::str::from_utf8(text).ok()).unwrap_or_default()
    }

    /// Asks the model, and takes its answer in.
    async fn ask(&self, turn: &mut Turn, until: Instant, reply: &mut [u8]) -> Next {
        self.tell("waiting", None);
        let provider = {
            let talk = self.seat.talk().await;
            Rule::parse(&talk.brief.rule).map_or("", |rule| rule.service.name())
        };
        let service = Service::Model { provider, talk: self.seat.index };
        let left = until.saturating_duration_since(Instant::now());
        let patience = left.min(limits::LLM_TIMEOUT);
        let asked = {
            let answer = |payload: &[u8]| self.take(turn, Heard::Payload(payload), reply);
            let asking = self.room.toolbox.services.ask(service, patience, |_| {}, answer);
            match select(asking, self.seat.cancelled()).await {
                Either::First(asked) => asked.map_err(Heard::Unanswered),
                Either::Second(()) => Err(Heard::Cancelled),
            }
        };
        match asked {
            Ok(next) => next,
            Err(heard) => self.take(turn, heard, reply),
        }
    }

    /// Runs the call that is due, with the reply's room for its result.
    async fn run(&self, turn: &mut Turn, until: Instant, reply: &mut [u8]) -> Next {
        let outcome = {
            let talk = self.seat.talk().await;
            let Some(call) = turn.call(&talk.history) else {
                drop(talk);
                return self.take(turn, Heard::Cancelled, reply);
            };
            self.tell("calling", Some(call.name));
            let name = Name::try_from(call.name).unwrap_or_default();
            let mut writer = Writer::new(reply);
            let opened = writer.open();
            let running =
                tool::execute(self.room.registry, self.room.toolbox, &name, call.arguments(), &mut writer);
            match select(running, self.seat.cancelled()).await {
                Either::Second(()) => Err(Heard::Cancelled),
                Either::First(event) => {
                    let is_error = !event.success;
                    self.room.slots.tell(Happening::Tool(event));
                    writer.close(opened);
                    Ok((writer.finish().unwrap_or_default(), is_error))
                }
            }
        };
        match outcome {
            Err(heard) => self.take(turn, heard, reply),
            Ok((length, is_error)) => {
                let step = {
                    let Some(mut talk) = self.seat.try_talk() else { return Next::Done(0) };
                    let Talk { history, brief } = &mut talk;
                    let Ok(rule) = Rule::parse(&brief.rule) else { return Next::Done(0) };
                    let mut stage = Stage { rule: &rule, registry: self.room.registry, history };
                    let result = reply.get(..length).and_then(|text| core::str::from_utf8(text).ok());
                    let event = Event::ToolDone { result: result.unwrap_or_default(), is_error };
                    match turn.on(event, &mut stage) {
                        Step::Ask => Some(Next::Ask),
                        Step::Run => Some(Next::Run),
                        // What it ends with does not lie in the reply's room.
                        Step::Finish(_) | Step::Wait => None,
                    }
                };
                match step {
                    Some(Next::Ask) if Instant::now() >= until => self.take(turn, Heard::TimedOut, reply),
                    Some(next) => next,
                    None => self.out_of_iterations(reply),
                }
            }
        }
    }

    /// Tells the turn what happened, and writes the reply if it is over.
    fn take(&self, turn: &mut Turn, heard: Heard<'_>, reply: &mut [u8]) -> Next {
        // Nobody else holds it: the question was written long ago.
        let Some(mut talk) = self.seat.try_talk() else { return Next::Done(0) };
        let Talk { history, brief } = &mut talk;
        let Ok(rule) = Rule::parse(&brief.rule) else { return Next::Done(0) };
        let event = match heard {
            Heard::Payload(payload) => Event::Reply(provider::read(rule.service, payload)),
            Heard::Unanswered(why) => Event::Unanswered(why),
            Heard::TimedOut => Event::TimedOut,
            Heard::Cancelled => Event::Cancelled,
        };
        let mut stage = Stage { rule: &rule, registry: self.room.registry, history };
        match turn.on(event, &mut stage) {
            Step::Ask => Next::Ask,
            Step::Run => Next::Run,
            Step::Finish(ending) => {
                info!("chat: conversation {} is answered", self.id.as_str());
                Next::Done(self.write(reply, &ending, &rule, history))
            }
            Step::Wait => Next::Done(0),
        }
    }

    /// The last round of calls is over, and the model is not asked again.
    fn out_of_iterations(&self, reply: &mut [u8]) -> Next {
        let Some(talk) = self.seat.try_talk() else { return Next::Done(0) };
        let Ok(rule) = Rule::parse(&talk.brief.rule) else { return Next::Done(0) };
        let ending = Ending::OutOfIterations;
        Next::Done(self.write(reply, &ending, &rule, &talk.history))
    }

    /// Writes the reply around what the turn ended with.
    fn write(&self, reply: &mut [u8], ending: &Ending<'_>, rule: &Rule<'_>, history: &History) -> usize {
        let mut writer = Writer::new(reply);
        writer.object(|out| {
            if self.is_speech {
                out.field("text", format_args!("{ending}"));
            } else {
                ending.write(rule, history, out);
            }
            out.field("conversation", self.id.as_str());
            if let Some(satellite) = self.request.get("satellite") {
                out.field("satellite", satellite);
            }
            if let Some(transaction) = self.transaction {
                out.field("transaction", transaction);
            }
        });
        writer.finish().unwrap_or_default()
    }

    /// Lets satellites show how it stands.
    fn tell(&self, state: &'static str, tool: Option<&str>) {
        let tool = tool.and_then(|tool| Name::try_from(tool).ok());
        self.room.slots.tell(Happening::Chat { conversation: self.id.clone(), state, tool });
    }
}

/// What became of a question.
enum Heard<'r> {
    Payload(&'r [u8]),
    Unanswered(Unanswered),
    TimedOut,
    Cancelled,
}

/// Takes as much of a text as fits.
struct Cut<'a, const N: usize>(&'a mut String<N>);

impl<const N: usize> core::fmt::Write for Cut<'_, N> {
    fn write_str(&mut self, text: &str) -> core::fmt::Result {
        text.chars().try_for_each(|character| self.0.push(character).map_err(|_| core::fmt::Error))
    }
}

/// What a person says, from some character on.
#[derive(Clone, Copy)]
struct Said<'a> {
    text: Text<'a>,
    skip: usize,
}

impl Display for Said<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        self.text.chars().skip(self.skip).try_for_each(|character| f.write_char(character))
    }
}
