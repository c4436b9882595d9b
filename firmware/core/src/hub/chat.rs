//! `request/chat` and `request/transcript`: drives a turn of a conversation.

use core::fmt::{Display, Write as _};
use core::pin::{Pin, pin};

use embassy_futures::select::{Either, Either3, select, select3};
use embassy_time::{Instant, Timer};
use embedded_storage_async::nor_flash::MultiwriteNorFlash;
use heapless::String;

use super::wake;
use crate::chat::{Ending, Event, Failed, History, Reason, Rule, Stage, Step, Turn, provider};
use crate::config::HubId;
use crate::json::{Text, Value, Writer};
use crate::limits;
use crate::log::{error, info, warn};
use crate::mqtt::{self, Happening, Refusal, Slots};
use crate::notice::{Level, Notices};
use crate::seam::Platform;
use crate::service::{Service, Unanswered};
use crate::store::Store;
use crate::talk::{Closed, ConversationId, Seat, Talk, Talks};
use crate::tool::{self, Name, Registry};
use crate::tools::Toolbox;

/// What a turn needs of the hub.
pub(super) struct Room<'a, P, S> {
    pub(super) talks: &'a Talks,
    pub(super) registry: &'a Registry,
    pub(super) toolbox: &'a Toolbox<'a, P, S>,
    pub(super) slots: &'a Slots,
    pub(super) notices: &'a Notices,
    /// The rule that the hub was started with.
    pub(super) rule: &'a str,
    pub(super) id: HubId<'a>,
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
    let satellite = request.get("satellite");
    if satellite.is_some_and(|satellite| satellite.text().len() > limits::SATELLITE) {
        return Err(Refusal::LongText("satellite", limits::SATELLITE));
    }
    let id = match mqtt::text(request, "conversation")? {
        Some(id) => id,
        None => usual(satellite),
    };
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
    let caller = Caller { id, request, satellite, transaction, is_speech: *is_speech };
    let answered = {
        let turn: Pin<&mut dyn Future<Output = _>> = pin!(turn(&caller, said, room, reply));
        turn.await
    };
    match answered {
        // Satellites say something, whatever happens.
        Err(refusal) if *is_speech => {
            warn!("chat: what was heard is not answered: {}", refusal.words().as_str());
            caller.write(reply, |_, out| out.field("text", spoken(&refusal)))
        }
        answered => answered,
    }
}

/// The conversation of those who name none: people who speak from one place go on with what was said there.
fn usual(satellite: Option<Value<'_>>) -> ConversationId {
    let name = satellite.and_then(|satellite| satellite.get("id").unwrap_or(satellite).as_text());
    let name = name.and_then(|name| name.decode()).filter(|name: &ConversationId| !name.is_empty());
    name.unwrap_or_else(|| ConversationId::try_from("default").unwrap_or_default())
}

/// What a person hears who is not answered.
const fn spoken(refusal: &Refusal) -> &'static str {
    match refusal {
        // Only the hub's name was said.
        Refusal::NoText => "Yes?",
        Refusal::TalkWaits => "One moment, I am still busy with your last question.",
        Refusal::TalksFull => "One moment, I am talking with others.",
        Refusal::NoPrompt => "Sorry, I do not know that prompt.",
        _ => "Sorry, something is wrong with my settings.",
    }
}

/// Whoever waits for the reply.
pub(super) struct Caller<'a> {
    pub(super) id: ConversationId,
    pub(super) request: Value<'a>,
    satellite: Option<Value<'a>>,
    transaction: Option<Value<'a>>,
    pub(super) is_speech: bool,
}

impl Caller<'_> {
    /// Writes a reply: what `write` adds, which has to leave room for so many bytes, and what the caller gets back.
    fn write(&self, reply: &mut [u8], write: impl FnOnce(usize, &mut Writer<'_>)) -> Result<usize, Refusal> {
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

    fn write_back(&self, out: &mut Writer<'_>) {
        out.field("conversation", self.id.as_str());
        if let Some(satellite) = self.satellite {
            out.field("satellite", satellite);
        }
        if let Some(transaction) = self.transaction {
            out.field("transaction", transaction);
        }
    }
}

/// What comes next.
enum Next {
    Ask,
    Run,
    /// The reply is written, and has this length.
    Done(usize),
}

/// Takes a turn from what was said to the reply.
async fn turn<P: Platform, F: MultiwriteNorFlash>(
    caller: &Caller<'_>,
    said: Said<'_>,
    room: &Room<'_, P, Store<'_, F>>,
    reply: &mut [u8],
) -> Result<usize, Refusal> {
    let seat = room.talks.enter(&caller.id).map_err(|closed| match closed {
        Closed::Waiting => Refusal::TalkWaits,
        Closed::Full => Refusal::TalksFull,
    })?;
    let conversation = Conversation { room, seat, caller };
    // Each behind a pointer, for stack frames of their own.
    let mut turn = {
        let begin: Pin<&mut dyn Future<Output = _>> = pin!(conversation.begin(said, reply));
        begin.await?
    };
    conversation.tell("started", None);
    let until = Instant::now() + limits::CHAT_TIMEOUT;
    let mut next = Ok(Next::Ask);
    let answered = loop {
        next = match next {
            Ok(Next::Ask) => {
                let ask: Pin<&mut dyn Future<Output = _>> = pin!(conversation.ask(&mut turn, until, reply));
                ask.await
            }
            Ok(Next::Run) => {
                let run: Pin<&mut dyn Future<Output = _>> = pin!(conversation.run(&mut turn, until, reply));
                run.await
            }
            Ok(Next::Done(length)) => break Ok(length),
            Err(refusal) => break Err(refusal),
        };
    };
    conversation.tell("done", None);
    answered
}

/// A conversation with a turn going on.
pub(super) struct Conversation<'a, P, S> {
    pub(super) room: &'a Room<'a, P, S>,
    pub(super) seat: Seat<'a>,
    pub(super) caller: &'a Caller<'a>,
}

impl<P: Platform, F: MultiwriteNorFlash> Conversation<'_, P, Store<'_, F>> {
    /// Asks the model, and takes its answer in.
    async fn ask(&self, turn: &mut Turn, until: Instant, reply: &mut [u8]) -> Result<Next, Refusal> {
        self.tell("waiting", None);
        let provider = {
            let talk = self.seat.talk().await;
            Rule::parse(&talk.brief.rule).map_err(Refusal::WrongRule)?.service.name()
        };
        let service = Service::Model { provider, talk: self.seat.index };
        let left = until.saturating_duration_since(Instant::now());
        let patience = left.min(limits::LLM_TIMEOUT);
        let asked = {
            let answer = |payload: &[u8]| self.take(turn, Heard::Payload(payload), reply);
            let asking = self.room.toolbox.services.ask(service, patience, |_| {}, answer);
            match select(self.seat.cancelled(), asking).await {
                Either::First(()) => Err(Heard::Cancelled),
                Either::Second(asked) => asked.map_err(Heard::Unanswered),
            }
        };
        asked.unwrap_or_else(|heard| self.take(turn, heard, reply))
    }

    /// Runs the call that is due, with the reply's room for its result.
    async fn run(&self, turn: &mut Turn, until: Instant, reply: &mut [u8]) -> Result<Next, Refusal> {
        let outcome = {
            let talk = self.seat.talk().await;
            let call = turn.call(&talk.history).ok_or(Refusal::Unanswerable)?;
            self.tell("calling", Some(call.name));
            let name = Name::try_from(call.name).unwrap_or_default();
            let started = Instant::now();
            let mut writer = Writer::new(reply);
            let opened = writer.open();
            let running =
                tool::execute(self.room.registry, self.room.toolbox, &name, call.arguments(), &mut writer);
            // In this order, so that nothing begins that is not wanted any more.
            let (event, outcome) = match select3(self.seat.cancelled(), Timer::at(until), running).await {
                Either3::Third(event) => {
                    writer.close(opened);
                    let is_error = !event.success;
                    (event, Ok((writer.finish().unwrap_or_default(), is_error)))
                }
                ended => {
                    let milliseconds = started.elapsed().as_millis();
                    warn!("chat: the call of {} was ended after {} ms", name.as_str(), milliseconds);
                    let why = if let Either3::First(()) = ended { Heard::Cancelled } else { Heard::TimedOut };
                    (tool::Execution { name, success: false, milliseconds }, Err(why))
                }
            };
            self.room.slots.tell(Happening::Tool(event));
            outcome
        };
        let (length, is_error) = match outcome {
            Err(heard) => return self.take(turn, heard, reply),
            Ok(outcome) => outcome,
        };
        let step = {
            let mut talk = self.seat.try_talk().ok_or(Refusal::Unanswerable)?;
            let Talk { history, brief } = &mut talk;
            let rule = Rule::parse(&brief.rule).map_err(Refusal::WrongRule)?;
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
            Some(_) if Instant::now() >= until => self.take(turn, Heard::TimedOut, reply),
            Some(next) => Ok(next),
            None => {
                // The last round of calls is over, and the model is not asked again.
                let talk = self.seat.try_talk().ok_or(Refusal::Unanswerable)?;
                let rule = Rule::parse(&talk.brief.rule).map_err(Refusal::WrongRule)?;
                self.finish(&Ending::OutOfIterations, &rule, &talk.history, reply)
            }
        }
    }

    /// Tells the turn what happened, and writes the reply if it is over.
    fn take(&self, turn: &mut Turn, heard: Heard<'_>, reply: &mut [u8]) -> Result<Next, Refusal> {
        // Nobody else holds it: the question was written long ago.
        let mut talk = self.seat.try_talk().ok_or(Refusal::Unanswerable)?;
        let Talk { history, brief } = &mut talk;
        let rule = Rule::parse(&brief.rule).map_err(Refusal::WrongRule)?;
        let event = match heard {
            Heard::Payload(payload) => Event::Reply(provider::read(rule.service, payload)),
            Heard::Unanswered(why) => Event::Unanswered(why),
            Heard::TimedOut => Event::TimedOut,
            Heard::Cancelled => Event::Cancelled,
        };
        let mut stage = Stage { rule: &rule, registry: self.room.registry, history };
        match turn.on(event, &mut stage) {
            Step::Ask => Ok(Next::Ask),
            Step::Run => Ok(Next::Run),
            Step::Finish(ending) => self.finish(&ending, &rule, history, reply),
            Step::Wait => Err(Refusal::Unanswerable),
        }
    }

    /// Writes the reply around what the turn ended with.
    fn finish(
        &self,
        ending: &Ending<'_>,
        rule: &Rule<'_>,
        history: &History,
        reply: &mut [u8],
    ) -> Result<Next, Refusal> {
        match ending {
            Ending::Failed(failed) => self.explain(&Reason { failed, rule }),
            _ => info!("chat: conversation {} is answered", self.caller.id.as_str()),
        }
        let written = self.caller.write(reply, |reserved, out| match self.caller.is_speech {
            true => ending.speak(reserved, out),
            false => ending.write(rule, history, reserved, out),
        });
        written.map(Next::Done)
    }

    /// Tells why a turn failed, which whoever asked may not get to see.
    fn explain(&self, reason: &Reason<'_>) {
        let mut words = String::<{ limits::NOTICE }>::new();
        // A text that is cut says enough.
        let _ = write!(words, "chat: conversation {} has no answer: {reason}", self.caller.id);
        if let Failed::Cancelled = reason.failed {
            info!("{}", words.as_str());
        } else {
            error!("{}", words.as_str());
            self.room.notices.tell(Level::Error, format_args!("{words}"));
        }
    }

    /// Lets satellites show how it stands.
    fn tell(&self, state: &'static str, tool: Option<&str>) {
        let tool = tool.and_then(|tool| Name::try_from(tool).ok());
        self.room.slots.tell(Happening::Chat { conversation: self.caller.id.clone(), state, tool });
    }
}

/// What became of a question, or a call.
enum Heard<'r> {
    Payload(&'r [u8]),
    Unanswered(Unanswered),
    TimedOut,
    Cancelled,
}

/// What a person says, from some character on.
#[derive(Clone, Copy)]
pub(super) struct Said<'a> {
    pub(super) text: Text<'a>,
    pub(super) skip: usize,
}

impl Display for Said<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        self.text.chars().skip(self.skip).try_for_each(|character| f.write_char(character))
    }
}
