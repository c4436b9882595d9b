//! One call of a tool, from its name and arguments to the result object.

use core::cell::Cell;
use core::fmt;
use core::pin::{Pin, pin};

use embassy_time::{Instant, with_timeout};

use super::answer::Answer;
use super::definition::{Hints, Implementation};
use super::names::{TooMany, distinct, normalise};
use super::outcome::{ErrorType, Failure, Success};
use super::registry::Name;
use super::{Registry, Tool};
use crate::json::{Mark, Value, Writer};
use crate::limits;
use crate::log::{debug, error, info, trace, warn};
use crate::schema::{self, Unknown};
use crate::text::quote;

/// Room that a reply needs after the result. A tool whose result is a list stops before it.
pub(crate) const EPILOGUE: usize = 2 * limits::OUTCOME_TEXT + limits::TOOL_NAME + limits::TRANSACTION + 128;

/// Runs the implementations of tools.
#[allow(async_fn_in_trait, reason = "the hub runs in one task: its futures need not be Send")]
pub trait Handlers {
    /// Runs the handler `name`: it reads the arguments, an object that fits the tool's schema, and writes one value as
    /// the result. `None` if there is no such handler.
    ///
    /// Dropping the future cancels the call; a handler says in its own documentation what that leaves behind.
    async fn run(
        &self,
        name: &str,
        arguments: Value<'_>,
        result: &mut Writer<'_>,
    ) -> Option<Result<Success, Failure>>;

    /// What is known of a call to the controller while it is made.
    type Admitted;

    /// Why a call is not admitted.
    type Denial;

    /// Why a call has no answer.
    type Unanswered;

    /// Decides whether a call may be made. That may take until a person has approved of it. Nothing has been sent if it
    /// may not, or if the future is dropped.
    async fn admit(&self, call: &ControllerCall<'_>) -> Result<Self::Admitted, Self::Denial>;

    /// The failure of a call that is not admitted.
    fn denied(&self, call: &ControllerCall<'_>, why: Self::Denial) -> Failure;

    /// Makes an admitted call: `compose` writes its parameters, an object with `name` and `arguments`, or says that there is
    /// nothing to call any more; `read` reads the answer.
    ///
    /// Ends by itself. The request is sent at most once, within [`limits::TOOL_TIMEOUT`], and [`unanswered`](Self::unanswered)
    /// says whether it was. Dropping the future cancels the call; the controller may have done it.
    async fn call(
        &self,
        admitted: Self::Admitted,
        compose: impl FnOnce(&mut Writer<'_>) -> Result<(), Gone>,
        read: impl FnOnce(Answer<'_>) -> Result<Success, Failed>,
    ) -> Result<Result<Success, Failed>, Self::Unanswered>;

    /// The failure of a call that has no answer.
    fn unanswered(&self, name: &str, why: Self::Unanswered) -> Failure;
}

/// The tool left while it was being called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gone;

impl Gone {
    /// The failure of the call.
    pub fn failure(self, name: &str) -> Failure {
        Failure::new(ErrorType::NotFound, format_args!("Tool '{name}' not found"))
    }
}

/// A call failed. The reply and the log tell why: a [`Failure`] is large, and is not carried through the stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failed {
    /// Whether it may have been done all the same.
    pub is_unknown: bool,
}

impl Failed {
    /// Writes the failure of the call of `name` into the reply, in place of what came after `before`, and logs it.
    #[inline(never)]
    pub(super) fn write(failure: &Failure, name: &str, before: Mark, reply: &mut Writer<'_>) -> Self {
        reply.rewind(before);
        failure.write(reply);
        error!("Tool {} failed: {}", name, failure.error.as_str());
        Self { is_unknown: failure.is_unknown }
    }
}

/// A call to the controller that is about to be made.
#[derive(Clone, Copy, Debug)]
pub struct ControllerCall<'a> {
    /// The controller's own name of the tool.
    pub tool: &'a str,
    /// Its effects.
    pub hints: Hints,
    /// The arguments, which suit the tool.
    pub arguments: Value<'a>,
}

/// An executed call, for the topic `event/tool`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Execution {
    /// The tool, as it was called.
    pub name: Name,
    /// Whether it succeeded.
    pub success: bool,
    /// How long it took, checks included.
    pub milliseconds: u64,
}

impl Execution {
    /// Whether it took too long.
    pub const fn is_slow(&self) -> bool {
        self.milliseconds > limits::TOOL_SLOW.as_millis()
    }
}

/// Calls the tool `name`, and writes the members of the result object into the open object of `reply`: `success`,
/// `result` or `error` and `error_type`, what else the outcome has to say, `tool_name`, `execution_time_ms`.
///
/// Always ends: the tool has [`limits::TOOL_TIMEOUT`], a person who has to approve the time that the settings give them, and a
/// device of which nobody knows whether it obeyed [`limits::READ_BACK`]. Dropping it cancels the call.
pub async fn execute<H: Handlers>(
    registry: &Registry,
    handlers: &H,
    name: &Name,
    arguments: Value<'_>,
    reply: &mut Writer<'_>,
) -> Execution {
    let before = reply.mark();
    let mut call = Call { registry, name, arguments, before, reply, start: Instant::now() };
    let mut outcome = match registry.look(name, |tool| (tool.implementation, tool.hints)) {
        Some((implementation, hints)) => {
            trace!("Tool called: {}", name.as_str());
            call.run(implementation, hints, handlers).await
        }
        None => Err(call.is_not_known()),
    };
    if outcome.is_ok() && call.reply.room() < EPILOGUE {
        outcome = Err(call.is_too_large());
    }
    let Call { reply, start, .. } = call;
    let milliseconds = start.elapsed().as_millis();
    let [arguments, more] = quote(arguments.text());
    match &outcome {
        Ok(success) => {
            let result = reply.since(before);
            let result = result.strip_prefix("\"success\":true,\"result\":").unwrap_or(result);
            let [result, rest] = quote(result);
            info!("tool {} {}{} in {} ms: {}{}", name.as_str(), arguments, more, milliseconds, result, rest);
            success.write(reply);
        }
        Err(_) => info!("tool {} {}{} in {} ms: failed", name.as_str(), arguments, more, milliseconds),
    }
    let execution = Execution { name: name.clone(), success: outcome.is_ok(), milliseconds };
    if execution.is_slow() {
        warn!("tool {} is slow: {} ms", name.as_str(), milliseconds);
    }
    registry.count(&execution);
    reply.field("tool_name", name.as_str());
    reply.field("execution_time_ms", milliseconds);
    execution
}

/// A call that is being made.
struct Call<'a, 'b> {
    registry: &'a Registry,
    name: &'a Name,
    arguments: Value<'a>,
    /// Where its outcome begins in the reply.
    before: Mark,
    reply: &'a mut Writer<'b>,
    /// When it began, after a person has decided about it: that is not the tool's time.
    start: Instant,
}

impl Call<'_, '_> {
    async fn run<H: Handlers>(
        &mut self,
        implementation: Implementation,
        hints: Hints,
        handlers: &H,
    ) -> Result<Success, Failed> {
        let name = self.name;
        let handler = match implementation {
            Implementation::Mcp => {
                // Behind a pointer, for a stack frame of its own.
                let call: Pin<&mut dyn Future<Output = _>> = pin!(self.controller(handlers));
                return call.await;
            }
            Implementation::Mock(response) => {
                self.check()?;
                return self.mock(response);
            }
            Implementation::Builtin(handler)
            | Implementation::Internal(handler)
            | Implementation::Patient(handler) => handler,
        };
        self.check()?;
        if hints.destructive == Some(true) {
            let judging: Pin<&mut dyn Future<Output = _>> = pin!(self.own(hints, handlers));
            judging.await?;
        }
        self.reply.field("success", true);
        self.reply.key("result");
        let limit = match implementation {
            Implementation::Patient(_) => limits::TOOL_LONGEST,
            _ => limits::TOOL_TIMEOUT,
        };
        let running = with_timeout(limit, handlers.run(handler, self.arguments, self.reply));
        let success = match running.await {
            Ok(Some(Ok(success))) => success,
            Ok(Some(Err(failure))) => return Err(self.fail(&failure)),
            Ok(None) => return Err(self.has_no_handler(implementation, handler)),
            Err(_) => return Err(self.is_late()),
        };
        // Internal ones are logged at a lower level: they are many, and the other side logs too.
        match implementation {
            Implementation::Internal(_) => trace!("Tool {} completed successfully", name.as_str()),
            _ => debug!("Tool {} completed successfully", name.as_str()),
        }
        Ok(success)
    }

    fn fail(&mut self, failure: &Failure) -> Failed {
        Failed::write(failure, self.name, self.before, self.reply)
    }

    #[inline(never)]
    fn is_not_known(&mut self) -> Failed {
        let Self { registry, name, .. } = *self;
        warn!("Tool {} is not known", name.as_str());
        let failure = Gone.failure(name);
        match registry.absence() {
            Some(absence) => self.fail(&failure.saying(format_args!("I have no tool for that. {absence}"))),
            None => self.fail(&failure),
        }
    }

    #[inline(never)]
    fn is_too_large(&mut self) -> Failed {
        let name = self.name;
        let words = format_args!("'{name}' was done, but its result is too large to send");
        let failure = Failure::new(ErrorType::TooLarge, words);
        self.fail(&failure.instructing("It was done; do not repeat the call. Ask for less, if you can."))
    }

    #[inline(never)]
    fn has_no_handler(&mut self, implementation: Implementation, handler: &str) -> Failed {
        let kind = if let Implementation::Internal(_) = implementation { "Internal" } else { "Builtin" };
        self.fail(&Failure::failed(format_args!("{kind} handler '{handler}' not found")))
    }

    #[inline(never)]
    fn is_late(&mut self) -> Failed {
        let (name, seconds) = (self.name, limits::TOOL_TIMEOUT.as_secs());
        let words = format_args!("Tool '{name}' timed out after {seconds} s and was cancelled");
        self.fail(&Failure::new(ErrorType::Timeout, words))
    }

    #[inline(never)]
    fn mock(&mut self, response: &str) -> Result<Success, Failed> {
        let name = self.name;
        let [arguments, more] = quote(self.arguments.text());
        debug!("tool {} is a mock; its arguments {}{} are not used", name.as_str(), arguments, more);
        match Value::parse(response.as_bytes()) {
            Ok(response) => {
                self.reply.field("success", true);
                self.reply.field("result", response);
                debug!("Tool {} completed successfully", name.as_str());
                Ok(Success::PLAIN)
            }
            Err(error) => {
                Err(self.fail(&Failure::failed(format_args!("The mock of '{name}' is broken: {error}"))))
            }
        }
    }

    /// Whether the arguments fit.
    #[inline(never)]
    fn check(&mut self) -> Result<(), Failed> {
        match self.registry.look(self.name, |tool| check(tool, self.arguments)) {
            Some(Ok(())) => Ok(()),
            Some(Err(failure)) => Err(self.fail(&failure)),
            None => Err(self.fail(&Gone.failure(self.name))),
        }
    }

    /// Writes the arguments into the reply as the controller takes them, until they are sent. Returns the controller's own
    /// name of the tool.
    #[inline(never)]
    fn translate(&mut self) -> Result<(Name, Hints), Failed> {
        let Self { registry, name, arguments, .. } = *self;
        if registry.is_left_out(name) {
            let words = format_args!(
                "'{name}' is a tool of the controller's that the hub had to leave out; nothing was sent"
            );
            return Err(self.fail(&Failure::new(ErrorType::Unavailable, words)));
        }
        let translated = registry.look(name, |tool| {
            let own_name = Name::try_from(tool.name).map_err(|_| Gone.failure(name))?;
            translate(tool, arguments, self.reply).map(|()| (own_name, tool.hints))
        });
        match translated {
            Some(Ok(translated)) => Ok(translated),
            Some(Err(failure)) => Err(self.fail(&failure)),
            None => Err(self.fail(&Gone.failure(name))),
        }
    }

    /// Has a call of one of the hub's own tools admitted that may destroy something.
    async fn own<H: Handlers>(&mut self, hints: Hints, handlers: &H) -> Result<(), Failed> {
        let call = ControllerCall { tool: self.name, hints, arguments: self.arguments };
        let admitted = handlers.admit(&call).await;
        self.start = Instant::now();
        match admitted {
            Ok(_) => Ok(()),
            Err(why) => {
                let failure = handlers.denied(&call, why);
                Err(self.fail(&failure))
            }
        }
    }

    async fn controller<H: Handlers>(&mut self, handlers: &H) -> Result<Success, Failed> {
        let (tool, hints) = self.translate()?;
        let Self { registry, name, before, .. } = *self;
        let admitted = {
            let call = ControllerCall { tool: &tool, hints, arguments: written(self.reply, before) };
            // Behind a pointer, for a stack frame of its own.
            let admitting: Pin<&mut dyn Future<Output = _>> = pin!(handlers.admit(&call));
            admitting.await
        };
        self.start = Instant::now();
        let admitted = match admitted {
            Ok(admitted) => admitted,
            Err(why) => return Err(self.is_denied(handlers, &tool, hints, why)),
        };
        let reply = Cell::new(Some(&mut *self.reply));
        let compose = |params: &mut Writer<'_>| {
            // The tool may have left while somebody was asked.
            let is_gone = registry.look(name, |_| ()).is_none();
            let text = reply.take().ok_or(Gone)?;
            params.object(|params| {
                params.field("name", tool.as_str());
                params.field("arguments", written(text, before));
            });
            text.rewind(before);
            reply.set(Some(text));
            if is_gone { Err(Gone) } else { Ok(()) }
        };
        let read = |answer: Answer<'_>| match reply.take() {
            Some(reply) => answer.write(name, before, reply),
            None => Err(Failed { is_unknown: true }),
        };
        match handlers.call(admitted, compose, read).await {
            Ok(outcome) => {
                if outcome.is_ok() {
                    trace!("Tool {} completed successfully", name.as_str());
                }
                outcome
            }
            Err(why) => Err(self.is_unanswered(handlers, why)),
        }
    }

    #[inline(never)]
    fn is_denied<H: Handlers>(&mut self, handlers: &H, tool: &str, hints: Hints, why: H::Denial) -> Failed {
        let call = ControllerCall { tool, hints, arguments: written(self.reply, self.before) };
        let failure = handlers.denied(&call, why);
        self.fail(&failure)
    }

    #[inline(never)]
    fn is_unanswered<H: Handlers>(&mut self, handlers: &H, why: H::Unanswered) -> Failed {
        let failure = handlers.unanswered(self.name, why);
        self.fail(&failure)
    }
}

/// The arguments that were written into the reply.
fn written<'a>(reply: &'a Writer<'_>, before: Mark) -> Value<'a> {
    Value::unchecked(reply.since(before).as_bytes()).unwrap_or(Value::EMPTY_OBJECT)
}

/// Writes the arguments with the controller's names for them, and checks them.
fn translate(tool: &Tool<'_>, arguments: Value<'_>, out: &mut Writer<'_>) -> Result<(), Failure> {
    let schema = schema_of(tool)?;
    let before = out.mark();
    let differs = normalise(tool.name, schema, arguments, out).map_err(|TooMany| {
        let most = limits::ARGUMENTS;
        let words = format_args!("Invalid parameters: there are more than {most} of them");
        Failure::new(ErrorType::InvalidParameters, words)
    })?;
    if out.overflowed() {
        let words = format_args!("The arguments of '{}' are too large to send", tool.name);
        return Err(Failure::new(ErrorType::TooLarge, words));
    }
    let translated = out.since(before);
    if differs {
        let [from, more] = quote(arguments.text());
        let [to, rest] = quote(translated);
        info!("tool {}: {}{} -> {}{}", tool.name, from, more, to, rest);
    }
    let translated = Value::parse(translated.as_bytes()).map_err(|error| {
        Failure::failed(format_args!("The arguments of '{}' are broken: {error}", tool.name))
    })?;
    if differs && out.since(before).len() > limits::QUOTE {
        // The line above may not show them.
        for ((from, _), (to, _)) in distinct(arguments).zip(translated.members()) {
            if from != to {
                let [from, to] = [from, to].map(|name| name.excerpt::<{ limits::TOOL_NAME }>());
                info!("tool {}: {} -> {}", tool.name, from.as_str(), to.as_str());
            }
        }
    }
    fits(tool, schema, translated)
}

fn schema_of<'a>(tool: &Tool<'a>) -> Result<Value<'a>, Failure> {
    Value::parse(tool.schema.as_bytes())
        .map_err(|error| Failure::failed(format_args!("The schema of '{}' is broken: {error}", tool.name)))
}

fn check(tool: &Tool<'_>, arguments: Value<'_>) -> Result<(), Failure> {
    fits(tool, schema_of(tool)?, arguments)
}

fn fits(tool: &Tool<'_>, schema: Value<'_>, arguments: Value<'_>) -> Result<(), Failure> {
    let unknown = if tool.forbids_unknown() { Unknown::Forbid } else { Unknown::Ignore };
    schema::validate(schema, arguments, unknown).map_err(|invalid| {
        let error = format_args!("Invalid parameters: {invalid}");
        let failure = Failure::new(ErrorType::InvalidParameters, error);
        match schema.get("required").filter(|required| required.items().next().is_some()) {
            Some(required) => {
                failure.saying(format_args!("Invalid parameters: {invalid}. Required: {}", List(required)))
            }
            None => failure,
        }
    })
}

/// The texts in an array, separated by commas.
struct List<'a>(Value<'a>);

impl fmt::Display for List<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, name) in self.0.items().filter_map(|item| item.as_text()).enumerate() {
            let comma = if index > 0 { ", " } else { "" };
            write!(f, "{comma}{name}")?;
        }
        Ok(())
    }
}
