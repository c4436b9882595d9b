//! One call of a tool, from its name and arguments to the result object.

use core::fmt;
use core::pin::{Pin, pin};

use embassy_time::{Instant, with_timeout};

use super::definition::Implementation;
use super::input_required::InputRequired;
use super::names::{TooMany, normalise};
use super::outcome::{ErrorType, Failure, Success};
use super::registry::Name;
use super::{Registry, Tool};
use crate::json::{Kind, Text, Value, Writer};
use crate::limits;
use crate::log::{debug, error, info, trace, warn};
use crate::schema::{self, Unknown};
use crate::text::{Measure, head};

/// Room that a reply needs after the result. A tool whose result is a list stops before it.
pub(crate) const EPILOGUE: usize = 2 * limits::OUTCOME_TEXT + limits::TOOL_NAME + limits::TRANSACTION + 128;

/// The controller's answer to a call.
#[derive(Clone, Copy, Debug)]
pub enum Answer<'a> {
    /// MCP's `CallToolResult`.
    Result(Value<'a>),
    /// A JSON-RPC error, with its message.
    Error(Option<Text<'a>>),
}

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

    /// Calls a tool of the controller's: `compose` writes the parameters of the call, an object with `name` and
    /// `arguments`, or says why there is nothing to call; `read` reads the answer.
    ///
    /// Ends by itself within [`limits::TOOL_TIMEOUT`]. The request is sent at most once, and an error says whether it
    /// was. Dropping the future cancels the call; the controller may have done it.
    async fn call<T>(
        &self,
        compose: impl FnOnce(&mut Writer<'_>) -> Result<(), Failure>,
        read: impl FnOnce(Answer<'_>) -> T,
    ) -> Result<T, Failure>;
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
/// Always ends, within [`limits::TOOL_TIMEOUT`]; dropping it cancels the call.
pub async fn execute<H: Handlers>(
    registry: &Registry,
    handlers: &H,
    name: &Name,
    arguments: Value<'_>,
    reply: &mut Writer<'_>,
) -> Execution {
    let start = Instant::now();
    let before = reply.mark();
    let called = match registry.look(name, |tool| tool.implementation) {
        Some(implementation) => {
            trace!("Tool called: {}", name.as_str());
            let mut call = Call { registry, name, arguments, reply };
            call.run(implementation, handlers).await
        }
        None => {
            warn!("Tool {} is not known", name.as_str());
            let failure = Failure::new(ErrorType::NotFound, format_args!("Tool '{name}' not found"));
            Err(CallFailure::Unwritten(match registry.absence() {
                Some(absence) => failure.saying(format_args!("I have no tool for that. {absence}")),
                None => failure,
            }))
        }
    };
    let outcome = match called {
        Ok(_) if reply.room() < EPILOGUE => {
            let words = format_args!("'{name}' was done, but its result is too large to send");
            let failure = Failure::new(ErrorType::TooLarge, words);
            Err(CallFailure::Unwritten(
                failure.instructing("It was done; do not repeat the call. Ask for less, if you can."),
            ))
        }
        Err(CallFailure::Written) if reply.room() < EPILOGUE => {
            let words = format_args!("'{name}' failed, and what the controller says is too long to send");
            Err(CallFailure::Unwritten(Failure::new(ErrorType::TooLarge, words)))
        }
        called => called,
    };
    let milliseconds = start.elapsed().as_millis();
    let arguments = head(arguments.text(), limits::QUOTE);
    match &outcome {
        Ok(success) => {
            let result = head(reply.since(before), limits::QUOTE);
            let result = result.strip_prefix("\"success\":true,\"result\":").unwrap_or(result);
            info!("tool {} {} in {} ms: {}", name.as_str(), arguments, milliseconds, result);
            success.write(reply);
        }
        Err(fault) => {
            if let CallFailure::Unwritten(failure) = fault {
                reply.rewind(before);
                failure.write(reply);
                error!("Tool {} failed: {}", name.as_str(), failure.error.as_str());
            }
            info!("tool {} {} in {} ms: failed", name.as_str(), arguments, milliseconds);
        }
    }
    let execution = Execution { name: name.clone(), success: outcome.is_ok(), milliseconds };
    if execution.is_slow() {
        warn!("tool {} is slow: {} ms", name.as_str(), milliseconds);
    }
    reply.field("tool_name", name.as_str());
    reply.field("execution_time_ms", milliseconds);
    execution
}

/// A call that did not succeed.
#[expect(clippy::large_enum_variant, reason = "it is looked at once, where it is made")]
enum CallFailure {
    /// Not in the reply yet.
    Unwritten(Failure),
    /// In the reply and the log already, since its text may be long.
    Written,
}

impl From<Failure> for CallFailure {
    fn from(failure: Failure) -> Self {
        Self::Unwritten(failure)
    }
}

/// A call that is being made.
struct Call<'a, 'b> {
    registry: &'a Registry,
    name: &'a Name,
    arguments: Value<'a>,
    reply: &'a mut Writer<'b>,
}

impl Call<'_, '_> {
    async fn run<H: Handlers>(
        &mut self,
        implementation: Implementation,
        handlers: &H,
    ) -> Result<Success, CallFailure> {
        let name = self.name;
        let (handler, kind) = match implementation {
            Implementation::Mcp => {
                // Behind a pointer, for a stack frame of its own.
                let call: Pin<&mut dyn Future<Output = _>> = pin!(self.controller(handlers));
                return call.await;
            }
            Implementation::Mock(response) => {
                self.check()?;
                return self.mock(response);
            }
            Implementation::Builtin(handler) => (handler, "Builtin"),
            Implementation::Internal(handler) => (handler, "Internal"),
        };
        self.check()?;
        self.reply.field("success", true);
        self.reply.key("result");
        let running = with_timeout(limits::TOOL_TIMEOUT, handlers.run(handler, self.arguments, self.reply));
        let success = match running.await {
            Ok(Some(outcome)) => outcome?,
            Ok(None) => {
                return Err(Failure::failed(format_args!("{kind} handler '{handler}' not found")).into());
            }
            Err(_) => {
                let seconds = limits::TOOL_TIMEOUT.as_secs();
                let failure = format_args!("Tool '{name}' timed out after {seconds} s and was cancelled");
                return Err(Failure::new(ErrorType::Timeout, failure).into());
            }
        };
        // Internal ones are logged at a lower level: they are many, and the other side logs too.
        match implementation {
            Implementation::Internal(_) => trace!("Tool {} completed successfully", name.as_str()),
            _ => debug!("Tool {} completed successfully", name.as_str()),
        }
        Ok(success)
    }

    fn mock(&mut self, response: &str) -> Result<Success, CallFailure> {
        let name = self.name;
        let arguments = head(self.arguments.text(), limits::QUOTE);
        debug!("tool {} is a mock; its arguments {} are not used", name.as_str(), arguments);
        let response = Value::parse(response.as_bytes())
            .map_err(|error| Failure::failed(format_args!("The mock of '{name}' is broken: {error}")))?;
        self.reply.field("success", true);
        self.reply.field("result", response);
        debug!("Tool {} completed successfully", name.as_str());
        Ok(Success::PLAIN)
    }

    /// Whether the arguments fit.
    fn check(&self) -> Result<(), Failure> {
        self.registry
            .look(self.name, |tool| check(tool, self.arguments))
            .unwrap_or_else(|| Err(gone(self.name)))
    }

    async fn controller<H: Handlers>(&mut self, handlers: &H) -> Result<Success, CallFailure> {
        let Self { registry, name, arguments, .. } = *self;
        let compose = |params: &mut Writer<'_>| {
            let composed = registry.look(name, |tool| {
                params.object(|params| {
                    params.field("name", tool.name);
                    params.key("arguments");
                    translate(tool, arguments, params)
                })
            });
            composed.unwrap_or_else(|| Err(gone(name)))
        };
        let success = handlers.call(compose, |answer| self.read(answer)).await??;
        trace!("Tool {} completed successfully", name.as_str());
        Ok(success)
    }

    /// Writes the controller's answer into the reply.
    fn read(&mut self, answer: Answer<'_>) -> Result<Success, CallFailure> {
        match answer {
            Answer::Error(Some(message)) => {
                self.refused(|reply| reply.value(message));
                Err(CallFailure::Written)
            }
            Answer::Error(None) => {
                Err(Failure::failed(format_args!("The controller reports an error without a word")).into())
            }
            Answer::Result(result) => {
                match result.get("resultType").and_then(|kind| kind.as_text()) {
                    Some(kind) if kind == *"input_required" => {
                        let wanted = InputRequired(result);
                        self.refused(|reply| wanted.write_error(reply));
                        wanted.write_guidance(self.reply);
                        return Err(CallFailure::Written);
                    }
                    // MCP has results to come that are no results yet.
                    Some(kind) if kind != *"complete" => return Err(unknown_kind(&kind).into()),
                    _ => {}
                }
                let content = result.get("content").unwrap_or(Value::NULL);
                if result.get("isError").is_some_and(|is_error| is_error.text() == "true") {
                    self.refused(|reply| reply.value(format_args!("{}", ContentText(content))));
                    return Err(CallFailure::Written);
                }
                self.reply.field("success", true);
                let structured = result.get("structuredContent").filter(|value| value.kind() == Kind::Object);
                if let Some(structured) = structured {
                    let before = self.reply.mark();
                    self.reply.field("result", structured);
                    if self.reply.room() >= EPILOGUE {
                        return Ok(spoken(content));
                    }
                    // The words may be shorter.
                    self.reply.rewind(before);
                }
                self.reply.field("result", format_args!("{}", ContentText(content)));
                Ok(Success::PLAIN)
            }
        }
    }

    /// Writes and logs an error of the controller's, whose text `error` writes.
    fn refused(&mut self, error: impl FnOnce(&mut Writer<'_>)) {
        self.reply.field("success", false);
        self.reply.key("error");
        let before = self.reply.mark();
        error(self.reply);
        let words = head(self.reply.since(before), limits::QUOTE).trim_matches('"');
        error!("Tool {} failed: {}", self.name.as_str(), words);
        self.reply.field("error_type", ErrorType::ExecutionError.as_str());
    }
}

/// The controller answered with another kind of result than MCP had when this was written.
fn unknown_kind(kind: &Text<'_>) -> Failure {
    let kind = kind.excerpt::<{ limits::QUOTE }>();
    let words = format_args!(
        "The controller answered with a result of the kind '{kind}', which the hub does not know: whether it was done is \
         unknown"
    );
    Failure::new(ErrorType::OutcomeUnknown, words)
        .instructing("Do not repeat the call. Look at the state of the device first, or ask the person.")
}

/// The message for the person beside a structured result: its text, unless that repeats the JSON.
fn spoken(content: Value<'_>) -> Success {
    let mut texts = content.items().filter_map(|item| item.get("text")?.as_text());
    let is_json = |text: &Text<'_>| {
        text.chars().find(|next| !next.is_whitespace()).is_some_and(|next| matches!(next, '{' | '['))
    };
    match texts.next() {
        Some(text) if !is_json(&text) => {
            let mut words = heapless::String::new();
            // It fits.
            let _ = Measure::Plain.write_marked(&text, limits::OUTCOME_TEXT - 1, "…", &mut words);
            Success { message: Some(words), ..Success::PLAIN }
        }
        _ => Success::PLAIN,
    }
}

/// The tool left while it was being called.
fn gone(name: &str) -> Failure {
    Failure::new(ErrorType::NotFound, format_args!("Tool '{name}' not found"))
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
        info!(
            "tool {}: {} -> {}",
            tool.name,
            head(arguments.text(), limits::QUOTE),
            head(translated, limits::QUOTE)
        );
    }
    let translated = Value::parse(translated.as_bytes()).map_err(|error| {
        Failure::failed(format_args!("The arguments of '{}' are broken: {error}", tool.name))
    })?;
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

/// The texts of MCP's content, a line each. Of what is not text, only the type.
struct ContentText<'a>(Value<'a>);

impl fmt::Display for ContentText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, item) in self.0.items().enumerate() {
            let text = |name| item.get(name).and_then(|text| text.as_text());
            let separator = if index > 0 { "\n" } else { "" };
            match (text("text"), text("type")) {
                (Some(text), _) => write!(f, "{separator}{text}")?,
                (None, Some(kind)) => write!(f, "{separator}[{kind}]")?,
                (None, None) => {}
            }
        }
        Ok(())
    }
}
