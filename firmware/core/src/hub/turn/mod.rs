//! `request/chat` and `request/transcript`: drives a turn of a conversation, from what a person said to the reply.
//!
//! ```text
//!                        chat::Turn                      decides: ask, run, finish (pure)
//!                            ▲ │ TurnEvent, TurnStep
//!   request ─► TurnRequest ─► Driver ──► reply            drives: this module
//!                  begin ▲   │ │
//!      rule, settings ───┘   │ └──► ToolCall             runs the calls
//!                            ▼
//!   Conversations ◄──── Questions ──► outbox ──► broker ──► model
//!   keeps: history,     carries: one question and
//!   settings            its answer
//! ```
//!
//! A turn begins ([`begin`]) with the rule, which is read once into the settings that [`Conversations`] keeps beside the
//! history. From then on [`Driver`] does what [`Turn`] decides: it asks the model through [`Questions`] and waits, or
//! executes a call. The question to a model is as large as a packet may be, so it is nowhere kept: the outbox has it
//! composed from history and settings when there is room to send it. When the turn is over, its ending is the reply.
//!
//! [`Conversations`]: crate::conversations::Conversations
//! [`Questions`]: crate::questions::Questions

mod approval;
mod begin;
mod request;

use core::cell::Cell;
use core::fmt::{Display, Write as _};
use core::pin::{Pin, pin};

use embassy_futures::select::{Either, Either3, select, select3};
use embassy_time::{Duration, Instant, Timer};
use embedded_storage_async::nor_flash::MultiwriteNorFlash;
use heapless::String;

pub(super) use self::request::{TurnRequest, check_speech, voice};
use crate::approval::is_answer;
use crate::chat::{
    Context, Ending, FailureText, History, Turn, TurnEvent, TurnFailure, TurnSettings, TurnStep, provider,
    wake,
};
use crate::context::{HubContext, HubEvent};
use crate::conversations::{Occupied, Reserved};
use crate::json::{Text, Writer};
use crate::limits;
use crate::log::{error, info, warn};
use crate::notice::{Level, Notice};
use crate::questions::Recipient;
use crate::request::Refusal;
use crate::settings;
use crate::store::Store;
use crate::tool::{self, Name};
use crate::tools::ToolCall;

/// Answers what a person says. Writes the whole reply, and returns its length.
///
/// What was only heard is answered if it begins with a wake phrase, or if somebody else heard one; the answer is speech
/// then.
pub(super) async fn answer<F: MultiwriteNorFlash>(
    caller: &mut TurnRequest<'_>,
    is_heard: bool,
    hub: &HubContext<'_, Store<'_, F>>,
    reply: &mut [u8],
) -> Result<usize, Refusal> {
    let text = caller.read()?;
    let approvals = hub.approvals;
    let mut said = Said { text, skip: 0 };
    if is_heard {
        caller.read_addressed()?;
        let phrases = settings::WAKE_PHRASES.value(&mut *hub.store.lock().await, hub.config).await;
        let text = text.decode_into(reply).ok_or(Refusal::LongText("text", limits::REPLY))?;
        match wake::addressed(text, &phrases) {
            Some(skip) => said.skip = skip,
            None if caller.is_addressed => {}
            // Whoever is asked for approval need not say the phrase again.
            None if is_answer(text) && approvals.waiting_in(&caller.id).is_some() => {}
            None => return caller.write_ignored(reply),
        }
        caller.is_speech = true;
    }
    if let Some(waiting) = approvals.waiting_in(&caller.id) {
        let words = approval::answer(&said, &caller.id, &waiting, hub).await;
        return caller.write_words(&words, reply);
    }
    if approvals.has_just_ended_in(&caller.id) && approval::is_only_a_pin(&said) {
        return caller.write_words(approval::TOO_LATE, reply);
    }
    let answered = {
        let driving: Pin<&mut dyn Future<Output = _>> = pin!(drive(caller, said, hub, reply));
        driving.await
    };
    match answered {
        // Satellites say something, whatever happens.
        Err(refusal) if caller.is_speech => {
            warn!("chat: what was heard is not answered: {}", refusal.words().as_str());
            caller.write(reply, |_, out| out.field("text", spoken(&refusal)))
        }
        answered => answered,
    }
}

/// What a person hears whose request is refused.
const fn spoken(refusal: &Refusal) -> &'static str {
    match refusal {
        // Only the wake phrase was said.
        Refusal::NoText => "Yes?",
        Refusal::ConversationBusy => "One moment, I am still busy with your last question.",
        Refusal::TurnsBusy => "One moment, I am talking with others.",
        Refusal::NoPrompt => "Sorry, I do not know that prompt.",
        _ => "Sorry, something is wrong with my settings.",
    }
}

/// What is to be done next.
enum Next {
    Ask,
    Run,
    /// Nothing: the reply is written, and has this length.
    Done(usize),
}

/// Drives a turn from what was said to the reply.
async fn drive<F: MultiwriteNorFlash>(
    caller: &TurnRequest<'_>,
    said: Said<'_>,
    hub: &HubContext<'_, Store<'_, F>>,
    reply: &mut [u8],
) -> Result<usize, Refusal> {
    let pending = hub.approvals.pending_turns();
    let conversation = hub.conversations.reserve(&caller.id, pending).map_err(|occupied| match occupied {
        Occupied::Conversation => Refusal::ConversationBusy,
        Occupied::Hub => Refusal::TurnsBusy,
    })?;
    let event_patience = Cell::new(limits::EVENT_WAIT);
    let driver = Driver { hub, conversation, caller, event_patience };
    let until = Instant::now() + limits::CHAT_TIMEOUT;
    // Each behind a pointer, for stack frames of their own.
    let mut turn = {
        let begin: Pin<&mut dyn Future<Output = _>> = pin!(driver.begin(said, reply));
        begin.await?
    };
    driver.tell("started", None).await;
    let mut next = Next::Ask;
    let answered = loop {
        let step = match next {
            Next::Ask => {
                let ask: Pin<&mut dyn Future<Output = _>> = pin!(driver.ask(&mut turn, until, reply));
                ask.await
            }
            Next::Run => {
                let run: Pin<&mut dyn Future<Output = _>> = pin!(driver.run(&mut turn, until, reply));
                run.await
            }
            Next::Done(length) => break Ok(length),
        };
        match step {
            Ok(step) => next = step,
            Err(refusal) => break Err(refusal),
        }
    };
    // The reply does not wait for this event.
    driver.push_event("done", None);
    answered
}

/// Drives one turn.
struct Driver<'a, S> {
    hub: &'a HubContext<'a, S>,
    conversation: Reserved<'a>,
    caller: &'a TurnRequest<'a>,
    /// How much longer the turn waits for the broker to take events.
    event_patience: Cell<Duration>,
}

impl<F: MultiwriteNorFlash> Driver<'_, Store<'_, F>> {
    /// Asks the model, and takes its answer in.
    async fn ask(&self, turn: &mut Turn, until: Instant, reply: &mut [u8]) -> Result<Next, Refusal> {
        self.tell("waiting", None).await;
        let provider = self.conversation.lock().await.1.provider;
        let recipient = Recipient::Model { provider: provider.name(), turn: self.conversation.turn };
        let left = until.saturating_duration_since(Instant::now());
        let patience = left.min(limits::LLM_TIMEOUT);
        let asked = {
            let answer =
                |payload: &[u8]| self.feed(turn, TurnEvent::Reply(provider::read(provider, payload)), reply);
            let asking = self.hub.questions.ask(recipient, patience, |_| {}, answer);
            match select(self.conversation.cancelled(), asking).await {
                Either::First(()) => Err(TurnEvent::Cancelled),
                Either::Second(asked) => asked.map_err(TurnEvent::Unanswered),
            }
        };
        asked.unwrap_or_else(|input| self.feed(turn, input, reply))
    }

    /// Runs the call that is due. The reply's buffer is scratch for its result.
    async fn run(&self, turn: &mut Turn, until: Instant, reply: &mut [u8]) -> Result<Next, Refusal> {
        let outcome = {
            let (history, _settings) = self.conversation.lock().await;
            let call = turn.call(&history).ok_or(Refusal::Unanswerable)?;
            self.tell("calling", Some(call.name)).await;
            let name = Name::try_from(call.name).unwrap_or_default();
            let started = Instant::now();
            let mut writer = Writer::new(reply);
            let opened = writer.open();
            let has_begun = Cell::new(false);
            let decision_time = Cell::new(Duration::MIN);
            let tool_call =
                &ToolCall { hub: self.hub, caller: self.caller.as_model(), decision_time: &decision_time };
            let running = async {
                has_begun.set(true);
                tool_call.execute(&name, call.arguments(), &mut writer).await
            };
            // A call that waits for approval has not been sent.
            let is_unsent = || self.hub.approvals.waiting_in(&self.caller.id).is_some();
            let cancelled = async {
                self.conversation.cancelled().await;
                is_unsent()
            };
            let timed_out = async {
                Timer::at(until).await;
                is_unsent()
            };
            // In this order, so that nothing begins that is not wanted any more.
            let ended = select3(cancelled, timed_out, running).await;
            let (execution, outcome) = match ended {
                Either3::Third(event) => {
                    writer.close(opened);
                    let is_error = !event.success;
                    (Some(event), Ok((writer.finish().unwrap_or_default(), is_error)))
                }
                Either3::First(is_unsent) | Either3::Second(is_unsent) => {
                    let is_cancelled = matches!(ended, Either3::First(_));
                    let why = if is_cancelled { TurnEvent::Cancelled } else { TurnEvent::TimedOut };
                    let event = (has_begun.get() && !is_unsent).then(|| {
                        let worked_since = started + decision_time.get();
                        let worked = Instant::now().saturating_duration_since(worked_since);
                        let milliseconds = worked.as_millis();
                        warn!("chat: the call of {} was ended after {} ms", name.as_str(), milliseconds);
                        turn.interrupted_after(milliseconds);
                        tool::Execution { name, success: false, milliseconds }
                    });
                    (event, Err(why))
                }
            };
            (execution, outcome)
        };
        // Moved as a whole: a value that is used across several awaits occupies space in the future throughout.
        let (execution, outcome) = outcome;
        if let Some(execution) = execution {
            self.push_execution(execution, outcome.is_ok()).await;
        }
        let (length, is_error) = match outcome {
            Err(input) => return self.feed(turn, input, reply),
            Ok(outcome) => outcome,
        };
        let (mut history, mut settings) = self.conversation.try_lock().ok_or(Refusal::Unanswerable)?;
        let result = reply.get(..length).and_then(|text| core::str::from_utf8(text).ok());
        let input = TurnEvent::ToolDone { result: result.unwrap_or_default(), is_error };
        let registry = self.hub.registry;
        let step = turn.on(input, &mut Context { settings: &mut settings, registry, history: &mut history });
        let next = match step {
            TurnStep::Ask => Next::Ask,
            TurnStep::Run => Next::Run,
            // The last round of calls is over, and the model is not asked again. This ending borrows nothing from the
            // reply's buffer, where the result was.
            TurnStep::Finish(_) | TurnStep::Wait => {
                return self.finish(&Ending::OutOfIterations, &settings, &history, reply);
            }
        };
        drop((history, settings));
        if Instant::now() < until { Ok(next) } else { self.feed(turn, TurnEvent::TimedOut, reply) }
    }

    /// Publishes the event of an executed call. If the call has ended, waits briefly for room.
    async fn push_execution(&self, execution: tool::Execution, has_ended: bool) {
        let HubContext { events, broker, .. } = self.hub;
        if has_ended {
            self.events_have_room().await;
            if events.is_full_of_tools() {
                self.unless_cancelled(events.has_room(broker, limits::EVENT_WAIT)).await;
            }
        }
        events.push(HubEvent::Tool(execution));
    }

    /// Tells the turn what happened, and writes the reply if it is over.
    fn feed(&self, turn: &mut Turn, input: TurnEvent<'_>, reply: &mut [u8]) -> Result<Next, Refusal> {
        // Nobody else holds them: the question was written long ago.
        let (mut history, mut settings) = self.conversation.try_lock().ok_or(Refusal::Unanswerable)?;
        let registry = self.hub.registry;
        let step = turn.on(input, &mut Context { settings: &mut settings, registry, history: &mut history });
        match step {
            TurnStep::Ask => Ok(Next::Ask),
            TurnStep::Run => Ok(Next::Run),
            TurnStep::Finish(ending) => self.finish(&ending, &settings, &history, reply),
            TurnStep::Wait => Err(Refusal::Unanswerable),
        }
    }

    /// Writes the reply from the turn's ending.
    fn finish(
        &self,
        ending: &Ending<'_>,
        settings: &TurnSettings,
        history: &History,
        reply: &mut [u8],
    ) -> Result<Next, Refusal> {
        match ending {
            Ending::Failed(failed) => self.log_failure(&FailureText { failed, settings }),
            _ => info!("chat: conversation {} is answered", self.caller.id.as_str()),
        }
        let written = self.caller.write(reply, |reserved, out| match self.caller.is_speech {
            true => ending.speak(history, self.caller.voice(), reserved, out),
            false => ending.write(settings, history, reserved, out),
        });
        written.map(Next::Done)
    }

    /// Logs why a turn failed, also for people: whoever asked may not get to see it.
    fn log_failure(&self, reason: &FailureText<'_>) {
        let mut words = String::<{ limits::NOTICE }>::new();
        // A text that is cut says enough.
        let _ = write!(words, "chat: conversation {} has no answer: {reason}", self.caller.id);
        if let TurnFailure::Cancelled = reason.failed {
            info!("{}", words.as_str());
        } else {
            error!("{}", words.as_str());
            self.hub.notices.push(Notice::new(Level::Error, format_args!("{words}")));
        }
    }

    /// Publishes the state of the turn, for satellites to show. In a burst, waits for room.
    async fn tell(&self, state: &'static str, tool: Option<&str>) {
        self.events_have_room().await;
        self.push_event(state, tool);
    }

    /// Waits until there is room for an event. All waits of a turn together last no longer than the wait for one event.
    async fn events_have_room(&self) {
        let (start, patience) = (Instant::now(), self.event_patience.get());
        self.unless_cancelled(self.hub.events.has_room(self.hub.broker, patience)).await;
        self.event_patience.set(patience.checked_sub(start.elapsed()).unwrap_or(Duration::MIN));
    }

    /// Waits, unless the turn is cancelled.
    async fn unless_cancelled(&self, waiting: impl Future<Output = ()>) {
        if let Either::First(()) = select(self.conversation.cancelled(), waiting).await {
            // Passes the cancellation on to the code that ends the turn.
            self.conversation.cancel();
        }
    }

    /// The same as [`tell`](Self::tell), without waiting.
    fn push_event(&self, state: &'static str, tool: Option<&str>) {
        let tool = tool.and_then(|tool| Name::try_from(tool).ok());
        self.hub.events.push(HubEvent::Chat { conversation: self.caller.id.clone(), state, tool });
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
