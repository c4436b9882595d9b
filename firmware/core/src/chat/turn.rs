//! One turn of a conversation: from what a person says to the answer, with calls of tools in between.
//!
//! A state machine. It is told what happened ([`Event`]) and says what to do next ([`Step`]); it does nothing itself,
//! apart from keeping the [`History`]. Each question to the model is an iteration, counted from 0; when the last one that
//! the rule allows still ends in calls, those are made, and the turn ends without another question.

use core::fmt::Display;

use super::ending::{Ending, Failed, ISSUE, OUT_OF_ITERATIONS};
use super::history::{Call, Full, History};
use super::provider::ProviderError;
use super::reply::{Finish, Reply};
use super::rule::Rule;
use crate::log::{debug, error, info, warn};
use crate::service::Unanswered;
use crate::text::{Measure, is_blank};
use crate::tool::Registry;

/// What a model reads of a call whose arguments make no sense.
const WRONG_ARGUMENTS: &str = r#"{"success":false,"error":"Invalid parameters: the arguments are not a JSON object, or too long","error_type":"invalid_parameters"}"#;

/// What a model reads of a call that it may not make.
const NOT_ALLOWED: &str =
    r#"{"success":false,"error":"This tool is not available here","error_type":"not_found"}"#;

/// What a model reads, later, of a call that was being made when the turn ended.
const INTERRUPTED: &str = r#"{"success":false,"error":"Interrupted: nobody knows whether it was done","error_type":"outcome_unknown"}"#;

/// What a turn takes place in.
pub struct Stage<'a> {
    /// How to answer; the same from start to end.
    pub rule: &'a Rule<'a>,
    /// The tools there are.
    pub registry: &'a Registry,
    /// What was said.
    pub history: &'a mut History,
}

/// What happened.
#[derive(Clone, Copy, Debug)]
pub enum Event<'r> {
    /// The model replied, or whoever provides it did.
    Reply(Result<Reply<'r>, ProviderError<'r>>),
    /// There is no reply.
    Unanswered(Unanswered),
    /// The call that was to be run has this result, an object as JSON text.
    ToolDone {
        /// The whole of it.
        result: &'r str,
        /// Whether it failed.
        is_error: bool,
    },
    /// The person has waited long enough.
    TimedOut,
    /// Nobody wants to know any more.
    Cancelled,
}

/// What to do next.
#[derive(Clone, Copy, Debug)]
pub enum Step<'r> {
    /// Ask the model with everything in the history; then tell [`Event::Reply`] or [`Event::Unanswered`].
    Ask,
    /// Run [`Turn::call`]; then tell [`Event::ToolDone`].
    Run,
    /// The turn is over.
    Finish(Ending<'r>),
    /// Nothing: that was not what the turn waits for.
    Wait,
}

/// Why a turn does not start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotStarted {
    /// The message has no words.
    Blank,
    /// The message is longer than a history holds.
    Long,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Asking,
    Running,
    Over,
}

/// A turn that is going on.
#[derive(Debug)]
pub struct Turn {
    state: State,
    /// How often the model has been asked before.
    pub(super) iteration: u8,
    has_tools: bool,
}

impl Turn {
    /// A person says something. The first step is [`Step::Ask`].
    ///
    /// `are_tools_on` is the hub's own switch. Tools are offered if that, the rule and the registry all agree; otherwise
    /// the model answers without.
    pub fn start(
        stage: &mut Stage<'_>,
        message: &dyn Display,
        are_tools_on: bool,
    ) -> Result<Self, NotStarted> {
        Self::check(message)?;
        stage.history.begin(message).map_err(|Full| NotStarted::Long)?;
        let has_tools = are_tools_on && stage.rule.tools.enabled && stage.rule.tools.has_some(stage.registry);
        if are_tools_on && stage.rule.tools.enabled && !has_tools {
            warn!("chat: no tools are available; the model answers without");
        }
        debug!("chat: iteration 0");
        Ok(Self { state: State::Asking, iteration: 0, has_tools })
    }

    /// Whether a turn can start with this message.
    pub fn check(message: &dyn Display) -> Result<(), NotStarted> {
        if is_blank(message) {
            return Err(NotStarted::Blank);
        }
        if Measure::Plain.length(message) > History::LONGEST { Err(NotStarted::Long) } else { Ok(()) }
    }

    /// The tools to offer with the next question.
    pub fn tools<'a>(&self, registry: &'a Registry) -> Option<&'a Registry> {
        self.has_tools.then_some(registry)
    }

    /// After [`Step::Run`]: the call to run.
    pub fn call<'h>(&self, history: &'h History) -> Option<Call<'h>> {
        history.pending().filter(|_| self.state == State::Running)
    }

    /// Takes note of what happened, and decides.
    pub fn on<'r>(&mut self, event: Event<'r>, stage: &mut Stage<'_>) -> Step<'r> {
        match (self.state, event) {
            (State::Asking, Event::Reply(Ok(reply))) => self.replied(&reply, stage),
            (State::Asking, Event::Reply(Err(error))) => self.fail(Failed::Provider(error), stage),
            (State::Asking, Event::Unanswered(why)) => self.fail(Failed::Unanswered(why), stage),
            (State::Running, Event::ToolDone { result, is_error }) => {
                stage.history.answer(result, is_error);
                self.next_call(stage)
            }
            (State::Asking | State::Running, Event::TimedOut) => self.fail(Failed::TimedOut, stage),
            (State::Asking | State::Running, Event::Cancelled) => self.fail(Failed::Cancelled, stage),
            _ => Step::Wait,
        }
    }

    fn replied<'r>(&mut self, reply: &Reply<'r>, stage: &mut Stage<'_>) -> Step<'r> {
        let content = reply.content;
        match reply.finish {
            Finish::Stop => {
                let words: &dyn Display = if content.is_blank() { &"" } else { &content };
                self.finish(Ending::Answered(content), words, stage)
            }
            Finish::ToolCalls if self.has_tools && reply.calls().next().is_some() => {
                let count = reply.calls().count();
                info!("chat: iteration {}: tool calls: {}", self.iteration, count);
                if reply.calls_left_out() > 0 {
                    warn!("chat: {} more calls at once are left out", reply.calls_left_out());
                }
                match stage.history.request(self.iteration, content, reply.calls()) {
                    Ok(()) => self.next_call(stage),
                    Err(Full) => self.fail(Failed::Full, stage),
                }
            }
            finish => {
                warn!("chat: unexpected finish reason {}", finish.word().as_str());
                if matches!(finish, Finish::Length) && content.is_blank() {
                    warn!(
                        "chat: all {} tokens went before anything was said; raise max_tokens in the rule, or set thinking to false",
                        stage.rule.max_tokens
                    );
                }
                let words: &dyn Display = if content.is_blank() { &ISSUE } else { &content };
                self.finish(Ending::Unexpected(content), words, stage)
            }
        }
    }

    /// Goes on with the next call that can be run, or the next question.
    fn next_call<'r>(&mut self, stage: &mut Stage<'_>) -> Step<'r> {
        self.state = State::Running;
        while let Some(call) = stage.history.pending() {
            if call.is_wrong {
                error!(
                    "chat: the arguments for {} are not a JSON object, or too long: {}",
                    call.name,
                    call.arguments().text()
                );
                stage.history.answer(WRONG_ARGUMENTS, true);
            } else if !may_run(&call, stage) {
                warn!("chat: the model called {}, which the rule does not allow", call.name);
                stage.history.answer(NOT_ALLOWED, true);
            } else {
                return Step::Run;
            }
        }
        self.iteration += 1;
        if self.iteration >= stage.rule.tools.max_iterations {
            warn!("chat: the maximum of {} iterations is reached", self.iteration);
            return self.finish(Ending::OutOfIterations, &OUT_OF_ITERATIONS, stage);
        }
        debug!("chat: iteration {}", self.iteration);
        self.state = State::Asking;
        Step::Ask
    }

    fn finish<'r>(&mut self, ending: Ending<'r>, words: &dyn Display, stage: &mut Stage<'_>) -> Step<'r> {
        stage.history.say(words);
        self.state = State::Over;
        Step::Finish(ending)
    }

    fn fail<'r>(&mut self, failed: Failed<'r>, stage: &mut Stage<'_>) -> Step<'r> {
        let running = (self.state == State::Running).then_some(INTERRUPTED);
        stage.history.give_up(running, failed.spoken());
        self.state = State::Over;
        Step::Finish(Ending::Failed(failed))
    }
}

/// Whether the rule allows a call. That there is no such tool is told by who runs it.
fn may_run(call: &Call<'_>, stage: &Stage<'_>) -> bool {
    stage.registry.names(call.name, |names| stage.rule.tools.allows(names)).unwrap_or(true)
}
