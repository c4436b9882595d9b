//! One turn of a conversation: from what a person says to the answer, with calls of tools in between.
//!
//! A state machine: an [`Input`] says what happened, the [`Step`] it returns what to do next. It does no I/O, and keeps the
//! [`History`]. Each question to the model is an iteration, counted from 0; when the last one that
//! the rule allows still ends in calls, those are made, and the turn ends without another question.

use core::fmt::Display;

use super::ending::{Ending, Failed, ISSUE, OUT_OF_ITERATIONS};
use super::history::{Call, Full, History};
use super::provider::ProviderError;
use super::reply::{Finish, Reply};
use super::settings::TurnSettings;
use crate::log::{debug, error, info, warn};
use crate::questions::Unanswered;
use crate::text::{Measure, is_blank};
use crate::tool::Registry;

/// What a model reads of a call whose arguments make no sense.
const WRONG_ARGUMENTS: &str = r#"{"success":false,"error":"Invalid parameters: the arguments are not a JSON object, or too long","error_type":"invalid_parameters"}"#;

/// What a model reads of a call that it may not make.
const NOT_ALLOWED: &str =
    r#"{"success":false,"error":"This tool is not available here","error_type":"not_found"}"#;

/// What a model reads, later, of a call that was being made when the turn ended.
const INTERRUPTED: &str = r#"{"success":false,"error":"Interrupted: nobody knows whether it was done","error_type":"outcome_unknown"}"#;

/// What a turn works on.
pub struct Context<'a> {
    /// The settings of the turn.
    pub settings: &'a mut TurnSettings,
    /// The tools there are.
    pub registry: &'a Registry,
    /// What was said.
    pub history: &'a mut History,
}

/// What happened.
#[derive(Clone, Copy, Debug)]
pub enum Input<'r> {
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
    /// Ask the model with everything in the history; then tell [`Input::Reply`] or [`Input::Unanswered`].
    Ask,
    /// Run [`Turn::call`]; then tell [`Input::ToolDone`].
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
enum Phase {
    Asking,
    Running,
    Over,
}

/// A running turn.
#[derive(Debug)]
pub struct Turn {
    phase: Phase,
    /// How often the model has been asked before.
    pub(super) iteration: u8,
}

impl Turn {
    /// A person says something. The first step is [`Step::Ask`].
    ///
    /// Where the settings enable tools but allow none that there is, they are disabled: the model answers without.
    pub fn start(context: &mut Context<'_>, message: &dyn Display) -> Result<Self, NotStarted> {
        Self::check(message)?;
        context.history.begin(message).map_err(|Full| NotStarted::Long)?;
        let tools = &mut context.settings.tools;
        if tools.enabled && !tools.has_some(context.registry) {
            warn!("chat: no tools are available; the model answers without");
            tools.enabled = false;
        }
        debug!("chat: iteration 0");
        Ok(Self { phase: Phase::Asking, iteration: 0 })
    }

    /// Whether a turn can start with this message.
    pub fn check(message: &dyn Display) -> Result<(), NotStarted> {
        if is_blank(message) {
            return Err(NotStarted::Blank);
        }
        if Measure::Plain.length(message) > History::LONGEST { Err(NotStarted::Long) } else { Ok(()) }
    }

    /// After [`Step::Run`]: the call to run.
    pub fn call<'h>(&self, history: &'h History) -> Option<Call<'h>> {
        history.pending().filter(|_| self.phase == Phase::Running)
    }

    /// Takes in what happened, and decides what is next.
    pub fn on<'r>(&mut self, input: Input<'r>, context: &mut Context<'_>) -> Step<'r> {
        match (self.phase, input) {
            (Phase::Asking, Input::Reply(Ok(reply))) => self.replied(&reply, context),
            (Phase::Asking, Input::Reply(Err(error))) => self.fail(Failed::Provider(error), context),
            (Phase::Asking, Input::Unanswered(why)) => self.fail(Failed::Unanswered(why), context),
            (Phase::Running, Input::ToolDone { result, is_error }) => {
                context.history.answer(result, is_error);
                self.next_call(context)
            }
            (Phase::Asking | Phase::Running, Input::TimedOut) => self.fail(Failed::TimedOut, context),
            (Phase::Asking | Phase::Running, Input::Cancelled) => self.fail(Failed::Cancelled, context),
            _ => Step::Wait,
        }
    }

    fn replied<'r>(&mut self, reply: &Reply<'r>, context: &mut Context<'_>) -> Step<'r> {
        let content = reply.content;
        match reply.finish {
            Finish::Stop => {
                let words: &dyn Display = if content.is_blank() { &"" } else { &content };
                self.finish(Ending::Answered(content), words, context)
            }
            Finish::ToolCalls if context.settings.tools.enabled && reply.calls().next().is_some() => {
                let count = reply.calls().count();
                info!("chat: iteration {}: tool calls: {}", self.iteration, count);
                if reply.calls_left_out() > 0 {
                    warn!("chat: {} more calls at once are left out", reply.calls_left_out());
                }
                match context.history.request(self.iteration, content, reply.calls()) {
                    Ok(()) => self.next_call(context),
                    Err(Full) => self.fail(Failed::Full, context),
                }
            }
            finish => {
                warn!("chat: unexpected finish reason {}", finish.word().as_str());
                if matches!(finish, Finish::Length) && content.is_blank() {
                    warn!(
                        "chat: all {} tokens went before anything was said; raise max_tokens in the rule, or set thinking to false",
                        context.settings.max_tokens
                    );
                }
                let words: &dyn Display = if content.is_blank() { &ISSUE } else { &content };
                self.finish(Ending::Unexpected(content), words, context)
            }
        }
    }

    /// Goes on with the next call that can be run, or the next question.
    fn next_call<'r>(&mut self, context: &mut Context<'_>) -> Step<'r> {
        self.phase = Phase::Running;
        while let Some(call) = context.history.pending() {
            if call.is_wrong {
                error!(
                    "chat: the arguments for {} are not a JSON object, or too long: {}",
                    call.name,
                    call.arguments().text()
                );
                context.history.answer(WRONG_ARGUMENTS, true);
            } else if !may_run(&call, context) {
                warn!("chat: the model called {}, which the rule does not allow", call.name);
                context.history.answer(NOT_ALLOWED, true);
            } else {
                return Step::Run;
            }
        }
        self.iteration += 1;
        if self.iteration >= context.settings.tools.max_iterations {
            warn!("chat: the maximum of {} iterations is reached", self.iteration);
            return self.finish(Ending::OutOfIterations, &OUT_OF_ITERATIONS, context);
        }
        debug!("chat: iteration {}", self.iteration);
        self.phase = Phase::Asking;
        Step::Ask
    }

    fn finish<'r>(&mut self, ending: Ending<'r>, words: &dyn Display, context: &mut Context<'_>) -> Step<'r> {
        context.history.say(words);
        self.phase = Phase::Over;
        Step::Finish(ending)
    }

    fn fail<'r>(&mut self, failed: Failed<'r>, context: &mut Context<'_>) -> Step<'r> {
        let running = (self.phase == Phase::Running).then_some(INTERRUPTED);
        context.history.give_up(running, failed.spoken());
        self.phase = Phase::Over;
        Step::Finish(Ending::Failed(failed))
    }
}

/// Whether the settings allow a call. An unknown tool is left to the executor, which says so.
fn may_run(call: &Call<'_>, context: &Context<'_>) -> bool {
    context.registry.names(call.name, |names| context.settings.tools.allows(names)).unwrap_or(true)
}
