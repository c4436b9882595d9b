//! One call of a tool, from its name and arguments to the result object.

use core::cell::Cell;
use core::fmt;
use core::pin::{Pin, pin};

use embassy_time::{Duration, Instant, with_timeout};
use embedded_storage_async::nor_flash::MultiwriteNorFlash;

use crate::approval::{ApprovalPolicy, Approver, Denial, Unanswered};
use crate::home::Home;
use crate::json::{Kind, Mark, Value, Writer};
use crate::limits;
use crate::log::{debug, error, info, trace, warn};
use crate::schema::{self, Invalid, Unknown};
use crate::store::Store;
use crate::text::{Measure, quote};
use crate::tool::{
    Addressed, Answer, CUT, ControllerCall, EPILOGUE, ErrorType, Execution, Failed, Failure, Hints,
    Implementation, LEFT_OUT, Name, Registry, Success, TooMany, Tool, ToolResult, Withdrawn, distinct,
    normalise,
};

/// What an error about arguments leaves in its message for the required parameters, if they need it.
const REQUIRED: usize = 256;

/// Runs the handlers of tools.
#[allow(async_fn_in_trait, reason = "the hub runs in one task: its futures need not be Send")]
pub trait Handlers {
    /// Runs the handler `name`: it reads the arguments, an object that fits the tool's schema, and writes one value as
    /// the result. `None` if there is no such handler.
    ///
    /// Dropping the future cancels the call; a handler says in its own documentation what that leaves behind.
    async fn run(&self, name: &str, arguments: Value<'_>, result: &mut Writer<'_>) -> Option<ToolResult>;
}

/// Calls the tool `name` with `arguments`, where `null` means none, and writes the members of the result object into
/// the open object of `reply`: `success`, `result` or `error` and `error_type`, further members of the outcome,
/// `tool_name`, `execution_time_ms`.
///
/// Always ends. Its time is limited by [`limits::TOOL_TIMEOUT`] for the tool, by the settings for a person who has to
/// approve, and by [`limits::READ_BACK`] for a device whose state is unconfirmed. Dropping the future cancels the call.
///
/// `approver` decides about calls to the controller and about destructive tools of the hub's own.
pub async fn execute<F: MultiwriteNorFlash>(
    handlers: &impl Handlers,
    approver: &Approver<'_, Store<'_, F>>,
    name: &Name,
    arguments: Value<'_>,
    reply: &mut Writer<'_>,
) -> Execution {
    let registry = approver.registry;
    let before = reply.mark();
    let arguments = if arguments.kind() == Kind::Null { Value::EMPTY_OBJECT } else { arguments };
    let start = Instant::now();
    let mut call = Call { registry, name, arguments, before, result: None, reply, start };
    let mut outcome = match registry.look(name, |tool| (tool.implementation, tool.hints)) {
        Some((implementation, hints)) if arguments.kind() == Kind::Object => {
            trace!("Tool called: {}", name.as_str());
            call.run(implementation, hints, handlers, approver).await
        }
        Some(_) => Err(call.fail_no_object()),
        None => Err(call.fail_unknown()),
    };
    if call.reply.room() < EPILOGUE {
        outcome = outcome.and_then(|success| call.cut_result(success));
    }
    let Call { reply, .. } = call;
    let worked_since = start + approver.decision_time.map_or(Duration::MIN, Cell::get);
    let milliseconds = Instant::now().saturating_duration_since(worked_since).as_millis();
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
    /// Where the result of a tool of the hub begins.
    result: Option<Mark>,
    reply: &'a mut Writer<'b>,
    /// When the call began.
    start: Instant,
}

impl Call<'_, '_> {
    async fn run<F: MultiwriteNorFlash>(
        &mut self,
        implementation: Implementation,
        hints: Hints,
        handlers: &impl Handlers,
        approver: &Approver<'_, Store<'_, F>>,
    ) -> Result<Success, Failed> {
        let name = self.name;
        let handler = match implementation {
            Implementation::Mcp => {
                let settings = approver.settings().await;
                // Behind a pointer, for a stack frame of its own.
                let call: Pin<&mut dyn Future<Output = _>> = pin!(self.controller(&settings, approver));
                return call.await;
            }
            Implementation::Mock(response) => {
                self.check()?;
                return self.mock(response);
            }
            Implementation::Builtin(handler)
            | Implementation::Internal(handler)
            | Implementation::LongRunning(handler) => handler,
        };
        self.check()?;
        if hints.destructive == Some(true) {
            let settings = approver.settings().await;
            let judging: Pin<&mut dyn Future<Output = _>> =
                pin!(self.admit_builtin(&settings, hints, approver));
            judging.await?;
        }
        self.reply.field("success", true);
        self.reply.key("result");
        self.result = Some(self.reply.mark());
        let limit = match implementation {
            Implementation::LongRunning(_) => limits::TOOL_LONGEST,
            _ => limits::TOOL_TIMEOUT,
        };
        let running = with_timeout(limit, handlers.run(handler, self.arguments, self.reply));
        let success = match running.await {
            Ok(Some(Ok(success))) => success,
            Ok(Some(Err(failure))) => return Err(self.fail(&failure)),
            Ok(None) => return Err(self.fail_no_handler(implementation, handler)),
            Err(_) => return Err(self.fail_timeout(limit)),
        };
        // Calls that leave the hub are logged at a lower level: they are frequent, and the other side logs them too.
        match implementation {
            Implementation::Internal(_) | Implementation::LongRunning(_) => {
                trace!("Tool {} completed successfully", name.as_str());
            }
            _ => debug!("Tool {} completed successfully", name.as_str()),
        }
        Ok(success)
    }

    fn fail(&mut self, failure: &Failure) -> Failed {
        Failed::write(failure, self.name, self.before, self.reply)
    }

    #[inline(never)]
    fn fail_unknown(&mut self) -> Failed {
        let Self { registry, name, .. } = *self;
        match registry.has_left_out() {
            true => warn!(
                "Tool {} is unknown or left out; the setting controller.tools chooses which tools of the controller are kept",
                name.as_str()
            ),
            false => warn!("Tool {} is not known", name.as_str()),
        }
        let failure = match registry.awaits_controller() {
            true => Failure::new(
                ErrorType::Unavailable,
                format_args!(
                    "Tool '{name}' not found among the hub's own, and the controller is not connected yet"
                ),
            ),
            false => Withdrawn::Gone.failure(name),
        };
        match registry.absence() {
            Some(absence) => self.fail(&failure.saying(format_args!("I have no tool for that. {absence}"))),
            None => self.fail(&failure),
        }
    }

    #[inline(never)]
    fn fail_no_object(&mut self) -> Failed {
        self.fail(&Failure::new(ErrorType::InvalidRequest, format_args!("'arguments' must be an object")))
    }

    /// Cuts a result that leaves too little room for the members after it.
    #[inline(never)]
    fn cut_result(&mut self, success: Success) -> Result<Success, Failed> {
        if self.result.is_some_and(|result| self.reply.cut(result, EPILOGUE)) {
            return Ok(Success { instruction: Some(CUT), ..success });
        }
        let name = self.name;
        let words = format_args!("'{name}' was done, but its result is too large to send");
        let failure = Failure::new(ErrorType::TooLarge, words)
            .saying(format_args!("That was done, but its result is too large to send."));
        Err(self.fail(&failure.instructing("It was done; do not repeat the call. Ask for less, if you can.")))
    }

    #[inline(never)]
    fn fail_no_handler(&mut self, implementation: Implementation, handler: &str) -> Failed {
        let kind = if let Implementation::Internal(_) = implementation { "Internal" } else { "Builtin" };
        self.fail(&Failure::failed(format_args!("{kind} handler '{handler}' not found")))
    }

    #[inline(never)]
    fn fail_timeout(&mut self, limit: Duration) -> Failed {
        let (name, seconds) = (self.name, limit.as_secs());
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
        let Self { registry, name, arguments, before, .. } = *self;
        let checked = registry.look(name, |tool| match schema_of(tool) {
            Ok(schema) => fits(tool, schema, arguments)
                .map_err(|invalid| write_invalid(&invalid, schema, name, before, self.reply)),
            Err(failure) => Err(Failed::write(&failure, name, before, self.reply)),
        });
        checked.unwrap_or_else(|| Err(self.fail(&Withdrawn::Gone.failure(name))))
    }

    /// Writes the arguments into the reply as the controller takes them, until they are sent; one may be `replaced`. Returns the
    /// controller's own name of the tool.
    #[inline(never)]
    fn translate(&mut self, replaced: Option<&Addressed>) -> Result<(Name, Hints), Failed> {
        let Self { registry, name, arguments, before, .. } = *self;
        if registry.is_left_out(name) {
            let words = format_args!(
                "'{name}' is a tool of the controller's that the hub had to leave out; nothing was sent"
            );
            let failure = Failure::new(ErrorType::Unavailable, words);
            return Err(self.fail(&failure.saying(format_args!("{LEFT_OUT}"))));
        }
        self.reply.rewind(before);
        let translated = registry.look(name, |tool| {
            let reply = &mut *self.reply;
            let schema = match translate(tool, arguments, replaced, reply) {
                Ok(schema) => schema,
                Err(failure) => return Err(Failed::write(&failure, name, before, reply)),
            };
            match fits(tool, schema, written(reply, before)) {
                // A registered name always fits.
                Ok(()) => Ok((Name::try_from(tool.name).unwrap_or_default(), tool.hints)),
                Err(invalid) => Err(write_invalid(&invalid, schema, name, before, reply)),
            }
        });
        translated.unwrap_or_else(|| Err(self.fail(&Withdrawn::Gone.failure(name))))
    }

    /// Has a call of one of the hub's own tools admitted that may destroy something.
    async fn admit_builtin<F: MultiwriteNorFlash>(
        &mut self,
        settings: &ApprovalPolicy,
        hints: Hints,
        approver: &Approver<'_, Store<'_, F>>,
    ) -> Result<(), Failed> {
        let call = ControllerCall { tool: self.name, hints, arguments: self.arguments };
        let admitted = approver.admit_builtin(settings, &call).await;
        admitted.map_err(|why| self.fail(&why.explain(approver.home, &call)))
    }

    async fn controller<F: MultiwriteNorFlash>(
        &mut self,
        settings: &ApprovalPolicy,
        approver: &Approver<'_, Store<'_, F>>,
    ) -> Result<Success, Failed> {
        let start = self.start;
        let definitions = self.registry.version();
        let (tool, hints) = self.translate(None)?;
        let Self { registry, name, before, .. } = *self;
        // Each behind a pointer, for a stack frame of its own.
        let assessment = {
            let assessed = {
                let call = ControllerCall { tool: &tool, hints, arguments: written(self.reply, before) };
                let assessing: Pin<&mut dyn Future<Output = _>> = pin!(approver.assess(settings, &call));
                assessing.await
            };
            match assessed {
                Ok((assessment, address)) => {
                    if address.is_some() {
                        self.translate(address.as_ref())?;
                    }
                    assessment
                }
                Err(why) => return Err(self.fail_denied(approver.home, &tool, hints, why)),
            }
        };
        let admitted = {
            let call = ControllerCall { tool: &tool, hints, arguments: written(self.reply, before) };
            let admitting: Pin<&mut dyn Future<Output = _>> =
                pin!(approver.admit(settings, &call, &assessment));
            admitting.await
        };
        let admitted = match admitted {
            Ok(admitted) => admitted,
            Err(why) => return Err(self.fail_denied(approver.home, &tool, hints, why)),
        };
        let reply = Cell::new(Some(&mut *self.reply));
        let compose = |params: &mut Writer<'_>| {
            let text = reply.take().ok_or(Withdrawn::Gone)?;
            params.object(|params| {
                params.field("name", tool.as_str());
                params.field("arguments", written(text, before));
            });
            text.rewind(before);
            reply.set(Some(text));
            // The tools may have changed while somebody was asked.
            match registry.look(name, |_| ()) {
                None => Err(Withdrawn::Gone),
                Some(()) if registry.version() != definitions => Err(Withdrawn::Redefined),
                Some(()) => {
                    debug!("tool {} is sent after {} us", name.as_str(), start.elapsed().as_micros());
                    Ok(())
                }
            }
        };
        let read = |answer: Answer<'_>| match reply.take() {
            Some(reply) => answer.write(name, before, reply),
            None => Err(Failed { is_unknown: true }),
        };
        match admitted.call(approver.port, compose, read).await {
            Ok(outcome) => {
                if outcome.is_ok() {
                    trace!("Tool {} completed successfully", name.as_str());
                }
                outcome
            }
            Err(why) => Err(self.fail_unanswered(approver.home, why)),
        }
    }

    #[inline(never)]
    fn fail_denied(&mut self, home: &Home, tool: &str, hints: Hints, why: Denial) -> Failed {
        let call = ControllerCall { tool, hints, arguments: written(self.reply, self.before) };
        let failure = why.explain(home, &call);
        self.fail(&failure)
    }

    #[inline(never)]
    fn fail_unanswered(&mut self, home: &Home, why: Unanswered) -> Failed {
        let failure = why.failure(home, self.name);
        self.fail(&failure)
    }
}

/// Writes and logs the failure of a call whose arguments do not match the `schema`. Writes straight into the reply, because a [`Failure`] has
/// no room for long lists of allowed values and required parameters.
#[inline(never)]
fn write_invalid(
    invalid: &Invalid<'_>,
    schema: Value<'_>,
    name: &str,
    before: Mark,
    reply: &mut Writer<'_>,
) -> Failed {
    reply.rewind(before);
    let room = (reply.room().saturating_sub(EPILOGUE) / 2).min(limits::INVALID);
    let write = |member: &str, words: &dyn fmt::Display, reply: &mut Writer<'_>| {
        reply.key(member);
        reply.string(|out| Measure::Escaped.write_marked(words, room, "…", out));
    };
    let error = format_args!("Invalid parameters: {invalid}");
    reply.field("success", false);
    let before = reply.mark();
    write("error", &error, reply);
    let words = reply.since(before).trim_start_matches(",\"error\":\"").trim_end_matches('"');
    error!("Tool {} failed: {}", name, words);
    reply.field("error_type", ErrorType::InvalidParameters.as_str());
    match schema.get("required").filter(|required| required.items().next().is_some()) {
        Some(required) => {
            // A long error leaves room for the required parameters, and they for it.
            let list = List(required);
            let required = format_args!(". Required: {list}");
            let length = Measure::Escaped.length(&required);
            let room_for_error = room.saturating_sub(length.min(REQUIRED));
            reply.key("message");
            reply.string(|out| {
                Measure::Escaped.write_marked(&error, room_for_error, "…", out)?;
                let used = Measure::Escaped.length(&error).min(room_for_error);
                Measure::Escaped.write_marked(&required, room.saturating_sub(used), "…", out)
            });
        }
        None => write("message", &error, reply),
    }
    Failed { is_unknown: false }
}

/// The arguments that were written into the reply.
fn written<'a>(reply: &'a Writer<'_>, before: Mark) -> Value<'a> {
    Value::unchecked(reply.since(before).as_bytes()).unwrap_or(Value::EMPTY_OBJECT)
}

/// Writes the arguments under the controller's names, one of them `replaced`. Returns the schema that they have to
/// match.
fn translate<'s>(
    tool: &Tool<'s>,
    arguments: Value<'_>,
    replaced: Option<&Addressed>,
    out: &mut Writer<'_>,
) -> Result<Value<'s>, Failure> {
    let schema = schema_of(tool)?;
    let before = out.mark();
    let differs = normalise(tool.name, schema, arguments, replaced, out).map_err(|TooMany| {
        let most = limits::ARGUMENTS;
        let words = format_args!("Invalid parameters: there are more than {most} of them");
        Failure::new(ErrorType::InvalidParameters, words)
    })?;
    if out.overflowed() {
        let words = format_args!("The arguments of '{}' are too large to send", tool.name);
        return Err(Failure::new(ErrorType::TooLarge, words)
            .saying(format_args!("That is too much for the controller; nothing was sent to it.")));
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
    Ok(schema)
}

fn schema_of<'a>(tool: &Tool<'a>) -> Result<Value<'a>, Failure> {
    Value::parse(tool.schema.as_bytes())
        .map_err(|error| Failure::failed(format_args!("The schema of '{}' is broken: {error}", tool.name)))
}

fn fits<'s>(tool: &Tool<'_>, schema: Value<'s>, arguments: Value<'_>) -> Result<(), Invalid<'s>> {
    let unknown = if tool.forbids_unknown() { Unknown::Forbid } else { Unknown::Ignore };
    schema::validate(schema, arguments, unknown)
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
