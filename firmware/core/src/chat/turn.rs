//! One turn of a conversation: from a person's message to the answer, with tool calls in between.
//!
//! A state machine without I/O: it takes a [`TurnEvent`], updates the [`History`] and returns the next [`TurnStep`]. Each
//! question
//! to the model is an iteration, counted from 0. If the last iteration that the rule allows still asks for calls, they are
//! run, and the turn ends without another question.

use core::fmt::Display;
use core::ops::ControlFlow;

use heapless::{String, Vec};

use super::Provider;
use super::ending::{Ending, OUT_OF_ITERATIONS, TurnFailure};
use super::history::{History, HistoryFull, ModelCall, NoResult};
use super::provider::ProviderError;
use super::reply::{FinishReason, ModelReply};
use super::rule::{Rule, RuleTools};
use crate::hash::Fingerprint;
use crate::limits;
use crate::log::{debug, error, info, warn};
use crate::questions::Unanswered;
use crate::text::{Measure, is_blank};
use crate::tool::{Registry, Tool, model_name};

/// The failure of a call with invalid arguments.
const INVALID_ARGUMENTS: NoResult = NoResult {
    error: "Invalid parameters: the arguments are not a JSON object, or too long",
    error_type: "invalid_parameters",
    milliseconds: 0,
};

/// The failure of a call that the rule does not allow.
const NOT_ALLOWED: NoResult =
    NoResult { error: "This tool is not available here", error_type: "not_found", milliseconds: 0 };

/// The failure of a call that was running when the turn ended.
const INTERRUPTED: NoResult = NoResult {
    error: "Interrupted: nobody knows whether it was done",
    error_type: "outcome_unknown",
    milliseconds: 0,
};

/// The data that a turn works on.
pub struct Context<'a> {
    /// The settings of the turn.
    pub settings: &'a mut TurnSettings,
    /// The registered tools.
    pub registry: &'a Registry,
    /// The history of the conversation.
    pub history: &'a mut History,
}

/// What happened since the last step.
#[derive(Clone, Copy, Debug)]
pub enum TurnEvent<'r> {
    /// The model replied, or the provider or relay reported an error.
    Reply(Result<ModelReply<'r>, ProviderError<'r>>),
    /// The question got no reply.
    Unanswered(Unanswered),
    /// The call has ended.
    ToolDone {
        /// The result object as JSON text.
        result: &'r str,
        /// Whether the call failed.
        is_error: bool,
    },
    /// The time for the turn is over.
    TimedOut,
    /// Somebody cancelled the turn.
    Cancelled,
}

/// What to do next.
#[derive(Clone, Copy, Debug)]
pub enum TurnStep<'r> {
    /// Ask the model; then pass [`TurnEvent::Reply`] or [`TurnEvent::Unanswered`].
    Ask,
    /// Run [`Turn::call`]; then pass [`TurnEvent::ToolDone`].
    Run,
    /// The turn is over.
    Finish(Ending<'r>),
    /// Nothing: the turn did not expect that input.
    Wait,
}

/// Why a turn cannot start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotStarted {
    /// The message is blank.
    Blank,
    /// The message does not fit into a history.
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
    /// How often the model was asked before.
    pub(super) iteration: u8,
    /// How many milliseconds the call has run that the next input interrupts, if one has begun. A turn is over long before
    /// they are more than fit.
    running: Option<u32>,
}

impl Turn {
    /// Starts with a person's message. The first step is [`TurnStep::Ask`].
    ///
    /// If the settings allow no registered tool, tools are disabled for the turn.
    pub fn start(context: &mut Context<'_>, message: &dyn Display) -> Result<Self, NotStarted> {
        Self::check(message)?;
        context.history.begin(message).map_err(|HistoryFull| NotStarted::Long)?;
        let tools = &mut context.settings.tools;
        if tools.enabled && !tools.has_some(context.registry) {
            warn!("chat: no tools are available; the model answers without");
            tools.enabled = false;
        }
        debug!("chat: iteration 0");
        Ok(Self { phase: Phase::Asking, iteration: 0, running: None })
    }

    /// Whether a turn can start with this message.
    pub fn check(message: &dyn Display) -> Result<(), NotStarted> {
        if is_blank(message) {
            return Err(NotStarted::Blank);
        }
        if Measure::Plain.length(message) > History::LONGEST { Err(NotStarted::Long) } else { Ok(()) }
    }

    /// After [`TurnStep::Run`]: the call to run.
    pub fn call<'h>(&self, history: &'h History) -> Option<ModelCall<'h>> {
        history.pending().filter(|_| self.phase == Phase::Running)
    }

    /// The next input interrupts the call, which has run for so long: the turn has no clock. A call of which this is not
    /// said has not begun.
    pub fn interrupted_after(&mut self, milliseconds: u64) {
        self.running = Some(u32::try_from(milliseconds).unwrap_or(u32::MAX));
    }

    /// Handles an input, and decides the next step.
    pub fn on<'r>(&mut self, input: TurnEvent<'r>, context: &mut Context<'_>) -> TurnStep<'r> {
        match (self.phase, input) {
            (Phase::Asking, TurnEvent::Reply(Ok(reply))) => self.replied(&reply, context),
            (Phase::Asking, TurnEvent::Reply(Err(error))) => self.fail(TurnFailure::Provider(error), context),
            (Phase::Asking, TurnEvent::Unanswered(why)) => self.fail(TurnFailure::Unanswered(why), context),
            (Phase::Running, TurnEvent::ToolDone { result, is_error }) => {
                context.history.set_result(result, is_error);
                self.next_call(context)
            }
            (Phase::Asking | Phase::Running, TurnEvent::TimedOut) => {
                self.fail(TurnFailure::TimedOut, context)
            }
            (Phase::Asking | Phase::Running, TurnEvent::Cancelled) => {
                self.fail(TurnFailure::Cancelled, context)
            }
            _ => TurnStep::Wait,
        }
    }

    fn replied<'r>(&mut self, reply: &ModelReply<'r>, context: &mut Context<'_>) -> TurnStep<'r> {
        let (content, finish) = (reply.content, reply.finish);
        match finish {
            FinishReason::Stop if !content.is_blank() => {
                self.finish(Ending::Answered(content), &content, context)
            }
            FinishReason::ToolCalls if context.settings.tools.enabled && reply.calls().next().is_some() => {
                let count = reply.calls().count();
                info!("chat: iteration {}: tool calls: {}", self.iteration, count);
                match context.history.add_calls(self.iteration, content, reply.calls()) {
                    Ok(left_out) => {
                        if left_out > 0 {
                            warn!("chat: {} of them are not run: too many at once", left_out);
                        }
                        self.next_call(context)
                    }
                    Err(HistoryFull) => self.fail(TurnFailure::HistoryFull, context),
                }
            }
            _ => {
                if !matches!(finish, FinishReason::Stop) {
                    warn!("chat: unexpected finish reason {}", finish.name().as_str());
                }
                match finish {
                    FinishReason::Length if !content.is_blank() => {
                        self.finish(Ending::Cut(content), &content, context)
                    }
                    FinishReason::ToolCalls | FinishReason::Other(_) if !content.is_blank() => {
                        self.finish(Ending::Unexpected(content), &content, context)
                    }
                    _ => self.fail(TurnFailure::NoAnswer { finish, words: content }, context),
                }
            }
        }
    }

    /// Proceeds to the next call that can be run, or to the next question.
    fn next_call<'r>(&mut self, context: &mut Context<'_>) -> TurnStep<'r> {
        self.phase = Phase::Running;
        while let Some(call) = context.history.pending() {
            if call.is_invalid {
                error!(
                    "chat: the arguments for {} are not a JSON object, or too long: {}",
                    call.name,
                    call.arguments().text()
                );
                context.history.set_failure(&INVALID_ARGUMENTS);
            } else if !may_run(&call, context) {
                warn!("chat: the model called {}, which the rule does not allow", call.name);
                context.history.set_failure(&NOT_ALLOWED);
            } else {
                return TurnStep::Run;
            }
        }
        self.iteration += 1;
        if self.iteration >= context.settings.tools.max_iterations {
            warn!("chat: the maximum of {} iterations is reached", self.iteration);
            return self.finish(Ending::OutOfIterations, &OUT_OF_ITERATIONS, context);
        }
        debug!("chat: iteration {}", self.iteration);
        self.phase = Phase::Asking;
        TurnStep::Ask
    }

    fn finish<'r>(
        &mut self,
        ending: Ending<'r>,
        words: &dyn Display,
        context: &mut Context<'_>,
    ) -> TurnStep<'r> {
        context.history.set_answer(words);
        self.phase = Phase::Over;
        TurnStep::Finish(ending)
    }

    fn fail<'r>(&mut self, failed: TurnFailure<'r>, context: &mut Context<'_>) -> TurnStep<'r> {
        let running =
            self.running.map(|milliseconds| NoResult { milliseconds: milliseconds.into(), ..INTERRUPTED });
        context.history.abort(running, failed.spoken());
        self.phase = Phase::Over;
        TurnStep::Finish(Ending::Failed(failed))
    }
}

/// Whether the settings allow a call. Unknown tools are allowed: the executor reports them.
fn may_run(call: &ModelCall<'_>, context: &Context<'_>) -> bool {
    context.registry.names(call.name, |names| context.settings.tools.allows(names)).unwrap_or(true)
}

/// The settings of a running turn. All zeros when new.
#[derive(Clone, Debug)]
pub struct TurnSettings {
    /// The provider of the model.
    pub provider: Provider,
    /// The model.
    pub model: String<{ limits::MODEL }>,
    /// The system prompt, rendered.
    pub system: String<{ limits::PROMPT }>,
    /// Most tokens of an answer.
    pub max_tokens: u32,
    /// See [`Rule::temperature`].
    pub temperature: Option<f64>,
    /// See [`Rule::thinking`].
    pub thinking: Option<bool>,
    /// What the model may call.
    pub tools: ToolAccess,
}

impl TurnSettings {
    /// Before any turn.
    pub const fn new() -> Self {
        Self {
            provider: Provider::Anthropic,
            model: String::new(),
            system: String::new(),
            max_tokens: 0,
            temperature: None,
            // `None` is not all zeros.
            thinking: Some(false),
            tools: ToolAccess::OFF,
        }
    }

    /// Copies everything from `rule` but the system prompt. `max_iterations` counts if the rule sets no limit.
    pub fn apply(&mut self, rule: &Rule<'_>, max_iterations: u8) {
        self.provider = rule.provider;
        // It fits: the parser checked its length.
        self.model = String::try_from(rule.model.escaped()).unwrap_or_default();
        self.max_tokens = rule.max_tokens;
        self.temperature = rule.temperature;
        self.thinking = rule.thinking;
        self.tools.apply(&rule.tools, max_iterations);
    }
}

/// Which tools the model may call, and how often.
#[derive(Clone, Debug)]
pub struct ToolAccess {
    /// Whether it may call any.
    pub enabled: bool,
    /// Whether it may call only those in `names`.
    is_limited: bool,
    /// The fingerprints of the names of those it may call.
    names: Vec<u32, { limits::ALLOWED_TOOLS }>,
    /// How many rounds of calls it may ask for.
    pub max_iterations: u8,
}

impl ToolAccess {
    const OFF: Self = Self { enabled: false, is_limited: false, names: Vec::new(), max_iterations: 0 };

    fn apply(&mut self, tools: &RuleTools<'_>, max_iterations: u8) {
        self.enabled = tools.enabled;
        self.max_iterations = tools.max_iterations.unwrap_or(max_iterations);
        self.is_limited = tools.allowed.is_some();
        self.names.clear();
        let names = tools.allowed.iter().flat_map(|allowed| allowed.items());
        // What is longer is no tool's name.
        for name in names.filter_map(|name| name.as_text()?.decode::<{ limits::TOOL_NAME }>()) {
            if self.names.push(fingerprint(&name)).is_err() {
                warn!("chat: the rule allows more tools than fit; {} is left out", name.as_str());
            }
        }
    }

    /// Whether the model is offered any registered tool.
    pub fn has_some(&self, registry: &Registry) -> bool {
        let mut has_some = false;
        registry.each(|name, tool| {
            has_some = self.offers(name, tool);
            if has_some { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        has_some
    }

    /// Whether the model is offered the tool with this final name. The model must be allowed to call it, and it must be
    /// an everyday tool or named by the rule.
    pub fn offers(&self, name: &str, tool: &Tool<'_>) -> bool {
        (self.is_limited || !tool.on_request) && self.allows([name, tool.name])
    }

    /// Whether the model may call the tool with these names, with prefix and without. A rule can name a tool as models see
    /// it, too.
    pub fn allows(&self, names: [&str; 2]) -> bool {
        let is_named = |name: &str| self.names.contains(&fingerprint(name));
        let is_allowed = |name: &&str| {
            is_named(name) || name.contains('.') && model_name(name).is_some_and(|name| is_named(&name))
        };
        self.enabled && (!self.is_limited || names.iter().any(is_allowed))
    }
}

/// Half of a fingerprint. Collisions do no harm: a controller that can choose a colliding name can also choose the
/// allowed name itself.
fn fingerprint(name: &str) -> u32 {
    Fingerprint::of(&[name.as_bytes()]) as u32
}
